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
mod awaited;
mod calibrate;
mod chase;
mod company;
mod conduct;
mod files;
mod finished;
mod groups;
mod guard;
mod launch;
mod lock;
mod outcome;
pub mod plan;
mod player;
mod reads;
mod records;
mod rows;
mod stage;
mod steps;
mod stopped;
mod stuck;
mod tally;
pub mod volume;
mod warnings;
mod work;

pub use calibrate::calibrate;
pub use conduct::conduct;
pub use guard::{files_of, guarded};
