//! A lock between processes: a word that states its holder and whether there are waiters, and the kernel's futex to wait with.
//!
//!   word = 0              free
//!   word = holder         held, no waiters
//!   word = holder + W     held, there may be waiters
//!
//! Departure from the simulated lock, which goes to the longest waiter: as with every lock of the C library, a
//! running task takes it first.

use schedlab_linux::futex;
use std::sync::atomic::{AtomicU32, Ordering};

/// There may be waiters.
const WAITED_FOR: u32 = 1 << 31;

/// Takes the lock for `holder`, a number from 1, waiting as long as it takes.
pub(crate) fn take(word: &AtomicU32, holder: u32) {
    let mut mine = holder;
    loop {
        match word.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return,
            Err(held) => {
                let marked = held | WAITED_FOR;
                let still =
                    held == marked || word.compare_exchange(held, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok();
                if still {
                    futex::wait(word, marked, None);
                    // There may be more waiters: a task that has waited must wake the next one later.
                    mine = holder | WAITED_FOR;
                }
            }
        }
    }
}

/// Gives the lock back. Giving back what one does not hold changes nothing.
pub(crate) fn give_back(word: &AtomicU32, holder: u32) {
    let held = word.load(Ordering::Relaxed);
    if held & !WAITED_FOR == holder && word.swap(0, Ordering::Release) & WAITED_FOR != 0 {
        futex::wake(word, 1);
    }
}

/// Its holder: a number from 1; 0 if it is free.
pub(crate) fn holder(word: &AtomicU32) -> u32 {
    word.load(Ordering::Relaxed) & !WAITED_FOR
}
