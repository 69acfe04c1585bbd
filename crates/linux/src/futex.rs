//! Waiting on a word of shared memory.

use crate::{call::checked, clock::timespec};
use std::{io, sync::atomic::AtomicU32};

/// Waits while the word has that value, for at most `at_most` ns. It may return early without a cause.
pub fn wait(word: &AtomicU32, value: u32, at_most: Option<u64>) {
    let limit = at_most.map(timespec);
    let limit = limit.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: the word is alive for the call, and the limit is null or lives until it returns.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, limit) };
}

/// Wakes up to `count` waiters of the word.
pub fn wake(word: &AtomicU32, count: i32) {
    // SAFETY: the word is alive for the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, count) };
}

/// Waits as [`wait`] does, to be woken by a [`wake_some`] that names one of the same bits.
pub fn wait_for(word: &AtomicU32, value: u32, bits: u32) {
    let (limit, other) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
    let call = libc::FUTEX_WAIT_BITSET;
    // SAFETY: the word is alive for the call; without a limit and a second word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), call, value, limit, other, bits) };
}

/// Wakes all waiters of the word that wait for one of these bits, and those of [`wait`].
pub fn wake_some(word: &AtomicU32, bits: u32) {
    let (limit, other) = (std::ptr::null::<libc::timespec>(), std::ptr::null::<u32>());
    let call = libc::FUTEX_WAKE_BITSET;
    // SAFETY: the word is alive for the call; without a limit and a second word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), call, i32::MAX, limit, other, bits) };
}

/// Takes a word that holds the number of the thread that has it, or 0: waits until the kernel has put the calling thread's there. Meanwhile
/// the thread that has it runs with the priority of its first waiter, if that is higher than its own.
pub fn lock_pi(word: &AtomicU32) -> io::Result<()> {
    let no_limit = std::ptr::null::<libc::timespec>();
    // SAFETY: the word is alive for the call; without a limit.
    checked(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_LOCK_PI, 0, no_limit) }).map(drop)
}

/// Gives such a word to its first waiter; only for the thread whose number it holds.
pub fn unlock_pi(word: &AtomicU32) -> io::Result<()> {
    // SAFETY: the word is alive for the call.
    checked(unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_UNLOCK_PI) }).map(drop)
}
