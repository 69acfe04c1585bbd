//! A condition variable. A waiter draws a ticket before it gives its lock back, so that no signal after that is lost; a signal lets the
//! holder of the oldest ticket go on, and no other. A signal without a waiter is not remembered.
//!
//!   tickets      drawn so far
//!   signalled    of these, those whose tasks may go on; the futex

use super::turns;
use schedlab_linux::shareable;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

shareable! {
    /// The condition variable. They do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct Condition {
        tickets: AtomicU32,
        signalled: AtomicU32,
    }
}

impl Condition {
    /// The calling task begins to wait.
    pub fn draw(&self) -> u32 {
        self.tickets.fetch_add(1, SeqCst)
    }

    /// Waits for the signal to the task with that ticket.
    pub fn wait(&self, ticket: u32) {
        turns::wait(&self.signalled, ticket.wrapping_add(1));
    }

    /// Lets the task go on that has waited longest, if one waits.
    pub fn signal(&self) {
        let one = |signalled: u32| (self.tickets.load(SeqCst) != signalled).then(|| signalled.wrapping_add(1));
        if let Ok(before) = self.signalled.fetch_update(SeqCst, SeqCst, one) {
            turns::wake(&self.signalled, before.wrapping_add(1));
        }
    }

    /// Lets all go on that wait.
    pub fn broadcast(&self) {
        let all = self.tickets.load(SeqCst);
        let up = |signalled: u32| (all.wrapping_sub(signalled).cast_signed() > 0).then_some(all);
        if self.signalled.fetch_update(SeqCst, SeqCst, up).is_ok() {
            turns::wake_all(&self.signalled);
        }
    }

    /// Whether the task with that ticket may go on.
    pub fn is_signalled(&self, ticket: u32) -> bool {
        turns::has_come(&self.signalled, ticket.wrapping_add(1))
    }
}
