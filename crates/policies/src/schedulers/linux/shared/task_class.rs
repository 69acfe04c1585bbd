//! Of which class a task is: deadline before real-time before fair.

use schedlab_model::task::{Policy, Task};

/// Whether a task is of the deadline class: only with a reservation that was granted.
#[inline(always)]
pub fn is_deadline(task: &Task) -> bool {
    task.policy == Policy::Deadline && task.reservation.is_some()
}

/// Whether a task is of the real-time class.
#[inline(always)]
pub fn is_realtime(task: &Task) -> bool {
    matches!(task.policy, Policy::Fifo | Policy::Rr)
}

/// Whether a task is of the fair class.
#[inline(always)]
pub fn is_fair(task: &Task) -> bool {
    !is_realtime(task) && !is_deadline(task)
}
