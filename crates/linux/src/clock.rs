//! Clocks, in whole ns, and sleeping by the monotonic one.

use crate::process::prctl;
use std::io;

const SECOND: u64 = 1_000_000_000;

fn ns(time: libc::timespec) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// A length as the kernel takes it.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as _, tv_nsec: (ns % SECOND) as libc::c_long }
}

fn read(which: libc::clockid_t) -> Option<u64> {
    let mut time = timespec(0);
    // SAFETY: the pointer is to a timespec that lives until the call returns.
    let failed = unsafe { libc::clock_gettime(which, &mut time) };
    (failed == 0).then(|| ns(time))
}

/// The monotonic clock, ns.
#[inline]
pub fn now() -> u64 {
    let mut time = timespec(0);
    // SAFETY: the pointer is to a timespec that lives until the call returns; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    ns(time)
}

/// CPU time of this thread so far, ns.
pub fn thread_time() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or(0)
}

/// CPU time of this process so far, ns.
pub fn process_time() -> u64 {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).unwrap_or(0)
}

/// Wall-clock time, ns since 1970.
pub fn wall_clock() -> u64 {
    read(libc::CLOCK_REALTIME).unwrap_or(0)
}

/// Time since boot, suspended time included, ns.
pub fn since_boot() -> u64 {
    read(libc::CLOCK_BOOTTIME).unwrap_or(0)
}

/// CPU time of another process so far, that of its ended threads included and that of its children not, ns.
pub fn time_of(pid: i32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a number that lives until the call returns.
    let failed = unsafe { libc::clock_getcpuclockid(pid, &mut clock) };
    if failed == 0 { read(clock) } else { None }
}

/// Length of a clock tick, ns: what the coarse monotonic clock advances by.
pub fn tick() -> Option<u64> {
    let resolution = nix::time::clock_getres(nix::time::ClockId::CLOCK_MONOTONIC_COARSE).ok()?;
    u64::try_from(resolution.tv_sec()).ok()?.checked_mul(SECOND)?.checked_add(u64::try_from(resolution.tv_nsec()).ok()?)
}

/// Sleeps until that time of the monotonic clock; a signal ends the sleep early.
pub fn sleep_until(time: u64) {
    let until = timespec(time);
    // SAFETY: the pointer is to a timespec that lives until the call returns; no remaining time is written.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &until, std::ptr::null_mut()) };
}

/// Sets this thread's timer slack to 1 ns, so that timers expire when they are due. The default slack of 50 us would otherwise be
/// part of every latency measured.
pub fn exact_timers() -> io::Result<()> {
    prctl(libc::PR_SET_TIMERSLACK, 1)
}
