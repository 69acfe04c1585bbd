//! The queue that a request belongs to, for elevators that keep one for each task.
//!
//! ```text
//!   0 .. 23   write-back, by class and level        24   the kernel's own        25 + t   task t
//! ```

use schedlab_model::{
    event::NO_TASK,
    request::{Direction, Request},
    task::TaskId,
};

/// Queues that tasks share: one of write-back for each class and level.
const SHARED: usize = 3 * 8;

/// Whether a task waits for it, or may be about to: all reads count, as in Linux.
pub(in crate::elevators) fn is_sync(request: &Request) -> bool {
    request.sync || request.direction == Direction::Read
}

/// The number of a task's own queue.
pub(in crate::elevators) fn own(task: TaskId) -> usize {
    if task == NO_TASK { SHARED } else { SHARED + 1 + task as usize }
}

/// The number of a request's queue.
pub(in crate::elevators) fn queue_of(request: &Request) -> usize {
    if is_sync(request) { own(request.owner) } else { request.class as usize * 8 + usize::from(request.level.min(7)) }
}

/// Whether that queue holds requests that a task waits for.
pub(in crate::elevators) fn waited_for(queue: usize) -> bool {
    queue >= SHARED
}
