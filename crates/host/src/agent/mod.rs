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
pub mod command;
mod company;
mod conduct;
mod files;
mod groups;
mod guard;
mod lock;
mod memory;
mod noise;
mod outcome;
mod player;
mod records;
mod stage;
mod stat;
mod steps;
mod system;
mod tally;
mod warnings;
mod work;

pub use calibrate::calibrate;
