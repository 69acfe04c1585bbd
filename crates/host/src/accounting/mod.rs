//! Where the time of a command went: its own and its children's, from what the kernel keeps of each task (taskstats,
//! delay accounting), read as the tasks end.
//!
//!   run       starts the command, passes signals on, waits for it, reads what the kernel tells meanwhile
//!   exits     the kernel's messages about tasks that end (generic netlink)
//!   record    one task's numbers in such a message
//!   parts     these numbers as parts of an elapsed time
//!
//! The parts of the first task add up to its elapsed time exactly; those of all tasks together, which overlap in time, to
//! the sum of theirs. What the kernel does not tell is named in each answer, never put as zero.

pub mod command;
mod exits;
pub mod parts;
pub mod record;
mod run;
