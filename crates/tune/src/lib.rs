//! The settings of a host: what there is, what it is now, how it is changed and always put back.
//!
//! [`AppliedSettings::apply`] sets and [`AppliedSettings::restore`] restores. In between, the old values are in the journal on disk
//! ([`journal`]); if this process dies, another one ([`restorer`]) restores them. What else a run makes on the host and must remove
//! again (a group, a tracing instance, a mount, a loop device, a swap area, a folder, a process) is entered into the same journal
//! first, by its [`RunJournal`]. Settings that are to stay for good are a profile's ([`stay`]).

pub mod applied;
mod change;
pub mod check;
pub mod entry;
pub mod journal;
pub mod listing;
pub mod marker;
pub mod object;
pub mod owner;
pub mod place;
pub mod program;
mod reading;
mod remove;
pub mod restorer;
pub mod run_journal;
pub mod script;
pub mod stay;
pub mod steps;
pub mod stop;
pub mod strays;
pub mod table;
pub mod treatment;
pub mod trial;
pub mod undo;
pub mod undone;

pub use applied::AppliedSettings;
pub use change::Change;
pub use object::Object;
pub use run_journal::{Cleanup, RunJournal};
pub use table::TUNABLES;
pub use undo::{Undo, recover};
pub use undone::Mismatch;

use std::path::PathBuf;

/// The default folder of the journal; it survives a reboot.
pub fn journal_folder() -> PathBuf {
    if nix::unistd::geteuid().is_root() {
        return PathBuf::from("/var/lib/schedlab/journal");
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(std::env::temp_dir).join("schedlab/journal")
}
