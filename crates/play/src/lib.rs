//! Real tasks: the step language as work on files, pipes, timers and memory.
//!
//! ```text
//! plan -> workload (tasks and programs) -> setup (what they share) -> workers at the barrier -> they run -> rows
//! ```
//!
//! Everything is allocated, made and filled before the tasks begin; between then and the end nothing allocates, and the supervisor
//! sleeps.

mod attention;
mod attributes;
mod awaited;
mod calibrate;
mod changes;
mod chase;
mod finished;
mod groups;
mod guard;
mod launch;
mod outcome;
pub mod plan;
mod processors;
mod reads;
mod records;
mod requests;
mod rows;
mod setup;
mod shared;
mod steps;
mod stopped;
mod store;
mod stuck;
mod supervisor;
mod sync;
mod tally;
pub mod volume;
mod waits;
mod warnings;
mod work;
mod worker;
mod workload;

pub use calibrate::calibrate;
pub use guard::{files_of, guarded};
pub use supervisor::supervise;
