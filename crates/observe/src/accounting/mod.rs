//! Where the time of a command went: its own and its children's, from what the kernel keeps of each task (taskstats,
//! delay accounting), read as the tasks end.
//!
//!   run        starts the command, passes signals on, waits for it, reads what the kernel reports meanwhile
//!   exits      the kernel's messages about tasks that end (generic netlink)
//!   record     one task's numbers in such a message
//!   usage      processor time by the counters that are exact
//!   enclosure  a control group around the command, for its counter
//!   living     processes that outlive the command
//!   timed      all of it put together
//!   parts      a task's numbers as parts of an elapsed time
//!   system     what happened on the host meanwhile
//!
//! The parts of the first task add up to its elapsed time exactly; those of all tasks together, which overlap in time, to
//! the sum of theirs. What the kernel does not report is named in each answer, never given as zero.

mod enclosure;
pub mod exits;
mod living;
pub mod parts;
pub mod record;
pub mod run;
mod system;
mod timed;
mod usage;
