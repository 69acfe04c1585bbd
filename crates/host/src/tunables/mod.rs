//! The settings of a host: what there is, what it is now, how it is changed and always put back.
//!
//! [`Held::apply`] sets and [`Held::restore`] puts back; between them stands the journal on disk ([`journal`]) and a process
//! that outlives us ([`warden`]). Whoever makes something else on the host that has to go again (a group, a mount, a loop
//! device, a file, a process) says so first with [`remember`].

pub mod check;
pub mod command;
pub mod entry;
pub mod held;
pub mod journal;
mod listing;
pub mod owner;
pub mod place;
mod reading;
mod script;
mod steps;
mod stop;
pub mod table;
pub mod thing;
pub mod trial;
pub mod warden;

pub use held::{Held, Memory, remember};
pub use journal::{Undo, recover};
pub use table::TUNABLES;
pub use thing::{Mismatch, Thing};

use std::path::PathBuf;

/// Where changed settings are remembered, if nobody says otherwise: it survives a reboot.
pub fn journal_folder() -> PathBuf {
    if nix::unistd::geteuid().is_root() {
        return PathBuf::from("/var/lib/schedlab/journal");
    }
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")));
    state.unwrap_or_else(std::env::temp_dir).join("schedlab/journal")
}
