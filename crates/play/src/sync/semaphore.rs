//! A counting semaphore.
//!
//!   permits    those that are free; the futex
//!   waiters    tasks that look for one while there is none; one that was killed stays counted, which costs a call
//!
//! As with the locks, a running task takes a permit before one that has to be woken.

use schedlab_linux::{futex, shareable};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

shareable! {
    /// The semaphore. Semaphores do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct Semaphore {
        permits: AtomicU32,
        waiters: AtomicU32,
    }
}

impl Semaphore {
    /// Its permits at the start, before any task uses it.
    pub fn begin(&self, permits: u32) {
        self.permits.store(permits, SeqCst);
    }

    /// Takes a permit, waiting as long as it takes.
    pub fn take(&self) {
        while self.permits.fetch_update(SeqCst, SeqCst, |permits| permits.checked_sub(1)).is_err() {
            self.waiters.fetch_add(1, SeqCst);
            futex::wait(&self.permits, 0, None);
            self.waiters.fetch_sub(1, SeqCst);
        }
    }

    /// Gives a permit; never more than the number can say.
    pub fn give(&self) {
        let _ = self.permits.fetch_update(SeqCst, SeqCst, |permits| permits.checked_add(1));
        if self.waiters.load(SeqCst) > 0 {
            futex::wake(&self.permits, 1);
        }
    }

    /// A task was killed while it waited: the wakeup that it may have had is another's.
    pub fn wake_another(&self) {
        futex::wake(&self.permits, 1);
    }

    /// The free ones.
    pub fn permits(&self) -> u32 {
        self.permits.load(SeqCst)
    }
}
