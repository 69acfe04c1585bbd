//! The settings of a host: what there is, what it is now, how it is changed and always put back.

pub mod command;

use std::path::PathBuf;

/// Where changed settings are remembered, if nobody says otherwise: it survives a reboot.
pub fn journal_folder() -> PathBuf {
    PathBuf::from("/var/lib/schedlab/journal")
}
