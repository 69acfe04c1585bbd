//! A counter that only goes up, and waiters that each wait until it has come to a number of their own. A waiter sleeps on one of the
//! futex's 32 bits, that of its number: a wakeup reaches it and every 32nd other one. Numbers wrap around; those that are compared are
//! less than 2^31 apart.

use schedlab_linux::futex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Whether the counter has come to that number.
pub(super) fn has_come(counter: &AtomicU32, number: u32) -> bool {
    is_at(counter.load(SeqCst), number)
}

fn is_at(count: u32, number: u32) -> bool {
    count.wrapping_sub(number).cast_signed() >= 0
}

fn bit(number: u32) -> u32 {
    1 << (number % u32::BITS)
}

/// Waits until the counter has come to that number.
pub(super) fn wait(counter: &AtomicU32, number: u32) {
    loop {
        let count = counter.load(SeqCst);
        if is_at(count, number) {
            return;
        }
        futex::wait_for(counter, count, bit(number));
    }
}

/// The counter has come to that number, of which there is one waiter or none.
pub(super) fn wake(counter: &AtomicU32, number: u32) {
    futex::wake_some(counter, bit(number));
}

/// The counter has gone up: wakes all waiters.
pub(super) fn wake_all(counter: &AtomicU32) {
    futex::wake_some(counter, u32::MAX);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_around() {
        assert!(is_at(5, 5) && is_at(6, 5) && !is_at(5, 6));
        assert!(is_at(0, u32::MAX) && is_at(3, u32::MAX - 3) && !is_at(u32::MAX, 0));
    }
}
