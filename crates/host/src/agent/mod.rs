//! Real tasks: the step language as work on files, pipes, timers and memory.
//!
//! ```text
//! plan -> company (who runs what) -> stage (what they share) -> processes, ready -> they run -> rows
//! ```
//!
//! Everything is allocated, made and filled before the tasks begin; between then and the end nobody allocates, and the agent
//! itself sleeps.

mod arena;
mod attributes;
mod calibrate;
mod chase;
pub mod command;
mod company;
mod conduct;
mod files;
mod groups;
mod guard;
mod launch;
mod lock;
mod memory;
mod noise;
mod outcome;
mod player;
mod reads;
mod records;
mod signals;
mod stage;
mod stat;
mod steps;
mod stopped;
mod stuck;
mod system;
mod tally;
mod warnings;
mod work;

pub use calibrate::calibrate;
pub use guard::files_of;

/// The clock of all measurements, and sleeping by it.
pub(crate) mod on_time {
    pub(crate) use super::system::{now, sleep_until};
}

/// For a process of its own that has to be on time beside the tasks.
pub(crate) fn raise_self() {
    // What is refused makes it late at times, which its own numbers show.
    let _ = attributes::exact_timers();
    attributes::raise(0);
}
