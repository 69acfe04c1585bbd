//! A lock that one task holds at a time.
//!
//!   word = 0              free
//!   word = holder         held, no waiters
//!   word = holder + W     held, there may be waiters
//!
//! As with every lock of the C library, a running task takes it before one that has to be woken; so it is where the machine of a
//! simulated run has futexes.

use schedlab_linux::{futex, shareable};
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

/// There may be waiters.
const WAITED_FOR: u32 = 1 << 31;

shareable! {
    /// The lock. Locks do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct Mutex {
        word: AtomicU32,
    }
}

impl Mutex {
    /// Takes the lock for `holder`, a number from 1, waiting as long as it takes.
    pub fn take(&self, holder: u32) {
        let mut mine = holder;
        loop {
            match self.word.compare_exchange(0, mine, Acquire, Relaxed) {
                Ok(_) => return,
                Err(held) => {
                    let marked = held | WAITED_FOR;
                    let still = held == marked || self.word.compare_exchange(held, marked, Relaxed, Relaxed).is_ok();
                    if still {
                        futex::wait(&self.word, marked, None);
                        // There may be more waiters: a task that has waited must wake the next one later.
                        mine = holder | WAITED_FOR;
                    }
                }
            }
        }
    }

    /// Gives the lock back. Giving back what one does not hold changes nothing.
    pub fn give_back(&self, holder: u32) {
        let held = self.word.load(Relaxed);
        if held & !WAITED_FOR == holder && self.word.swap(0, Release) & WAITED_FOR != 0 {
            futex::wake(&self.word, 1);
        }
    }

    /// A task was killed while it waited: the wakeup that it may have had is another's.
    pub fn wake_another(&self) {
        futex::wake(&self.word, 1);
    }

    /// Its holder: a number from 1; 0 if it is free.
    pub fn holder(&self) -> u32 {
        self.word.load(Relaxed) & !WAITED_FOR
    }
}
