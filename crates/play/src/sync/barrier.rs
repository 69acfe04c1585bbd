//! A barrier for a number of tasks: the last to come lets all go on, and it is as new.
//!
//!   came     tasks that have come so far; it never wraps around
//!   gone     groups of tasks that have gone on; the futex
//!
//! Which group a task belongs to is known when it comes, so that it does not matter how many tasks use the barrier.

use super::turns;
use schedlab_linux::shareable;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

shareable! {
    /// The barrier. Barriers do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct TaskBarrier {
        came: AtomicU64,
        gone: AtomicU32,
    }
}

impl TaskBarrier {
    /// Waits until that many tasks are there. `on_group` is called with the group's number, for [`TaskBarrier::has_gone`].
    pub fn come(&self, parties: u32, on_group: impl FnOnce(u32)) {
        let parties = u64::from(parties.max(1));
        let before = self.came.fetch_add(1, SeqCst);
        let group = (before / parties) as u32;
        on_group(group);
        if (before + 1).is_multiple_of(parties) {
            // If the next group is faster, it lets this one go, whose last task has come by then; that is no harm.
            self.gone.fetch_add(1, SeqCst);
            turns::wake_all(&self.gone);
        } else {
            turns::wait(&self.gone, group.wrapping_add(1));
        }
    }

    /// Whether that group has gone on.
    pub fn has_gone(&self, group: u32) -> bool {
        turns::has_come(&self.gone, group.wrapping_add(1))
    }
}
