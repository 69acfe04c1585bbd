//! What tasks of a run synchronise with: words of shared memory, and the kernel's futex to wait with.
//!
//!   mutex        a lock that no program takes for reading
//!   inheriting   a lock whose protocol is priority inheritance
//!   read_write   a lock that some program does
//!   locks        the locks of a run, each one of these three
//!   semaphore    permits; also the room of a bounded queue
//!   barrier      a number of tasks that wait for each other
//!   condition    a condition variable
//!   turns        a counter, and waiters that each wait for a number of it
//!   pipes        pipes and bounded queues, and the messages in them
//!
//! A task may be killed at any instruction. The supervisor reads these words when all tasks have ended, and never waits for one. A
//! task that is killed while it holds a lock keeps it, as a mutex of POSIX that is not robust. The supervisor, or the parent of a killed
//! child, passes on what a killed waiter leaves: its turn at a reader-writer lock, the signal of a condition that has chosen it or will, a
//! wakeup. A task that was killed at a barrier has come there.

mod barrier;
mod condition;
mod inheriting;
mod locks;
mod mutex;
mod pipes;
mod read_write;
mod semaphore;
mod turns;

pub(crate) use barrier::TaskBarrier;
pub(crate) use condition::{Condition, ConditionWords};
pub(crate) use locks::{Hold, Locks, Taker};
pub(crate) use pipes::{Message, Pipe, Traffic};
pub(crate) use semaphore::Semaphore;

#[cfg(test)]
mod tests;
