//! When samples are taken: at whole multiples of the interval after the first, whatever the ones before took. A time that
//! has passed is counted as missed.

use crate::Fault;
use nix::{
    sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction, sigprocmask},
    time::{ClockId, clock_gettime},
};
use schedlab_model::{Nanos, SECOND};
use std::{
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
};

static STOPPED: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: libc::c_int) {
    STOPPED.store(true, Ordering::Relaxed);
}

/// Now, ns of the monotonic clock.
pub(super) fn now() -> Nanos {
    clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(0, |time| time.tv_sec() as Nanos * SECOND + time.tv_nsec() as Nanos)
}

/// Why a wait was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Woken {
    /// A sample is due; so many before it were not taken.
    Due { missed: u64 },
    /// The process that was watched has ended; so many samples were due by then and not taken.
    Ended { missed: u64 },
    /// A signal came.
    Stopped,
}

/// The times of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    first: Nanos,
    every: Nanos,
    taken: u64,
}

impl Times {
    pub(super) fn new(first: Nanos, every: Nanos) -> Times {
        Times { first, every, taken: 0 }
    }

    /// When the next one is due.
    fn next(&self) -> Nanos {
        self.first.saturating_add(self.every.saturating_mul(self.taken + 1))
    }

    /// Takes the one that is due now; how many before it have passed by.
    fn take(&mut self, now: Nanos) -> u64 {
        let missed = self.passed(now).saturating_sub(1);
        self.taken += 1 + missed;
        missed
    }

    /// How many have become due that were not taken.
    fn passed(&self, now: Nanos) -> u64 {
        (now.saturating_sub(self.first) / self.every).saturating_sub(self.taken)
    }
}

/// Waits for the times of samples.
#[derive(Debug)]
pub(super) struct Pace {
    times: Times,
    watched: Option<OwnedFd>,
    /// The signals that are heard while waiting, and only then: none comes between looking and waiting.
    waiting: SigSet,
}

impl Pace {
    /// From that time on; a process to end with, if one is given.
    pub(super) fn new(times: Times, until: Option<u32>) -> Result<Pace, Fault> {
        let watched = until.map(watched).transpose()?;
        let call = |why: nix::Error| Fault::Call { doing: "listening to signals".to_owned(), why: why.into() };
        let mut stopping = SigSet::empty();
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            stopping.add(signal);
            let action = SigAction::new(SigHandler::Handler(stop), SaFlags::empty(), SigSet::empty());
            // SAFETY: the handler stores to an atomic and does nothing else.
            unsafe { sigaction(signal, &action) }.map_err(call)?;
        }
        let mut waiting = SigSet::empty();
        sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stopping), Some(&mut waiting)).map_err(call)?;
        for signal in &stopping {
            waiting.remove(signal);
        }
        // SAFETY: prctl with these takes numbers only. The default slack would delay every sample by up to 50 us.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
        Ok(Pace { times, watched, waiting })
    }

    /// Waits until the next sample is due, or what else ends the wait.
    pub(super) fn wait(&mut self) -> Woken {
        loop {
            if STOPPED.load(Ordering::Relaxed) {
                return Woken::Stopped;
            }
            let time = now();
            let left = self.times.next().saturating_sub(time);
            if left == 0 {
                return Woken::Due { missed: self.times.take(time) };
            }
            let time = libc::timespec { tv_sec: (left / SECOND) as i64, tv_nsec: (left % SECOND) as i64 };
            let process = self.watched.as_ref().map_or(-1, AsRawFd::as_raw_fd);
            let mut ends = libc::pollfd { fd: process, events: libc::POLLIN, revents: 0 };
            // SAFETY: one pollfd, a time and a mask, all living on this stack or in self while the call lasts.
            let ready = unsafe { libc::ppoll(&mut ends, 1, &time, self.waiting.as_ref()) };
            if ready > 0 {
                return Woken::Ended { missed: self.times.passed(now()) };
            }
        }
    }
}

/// A descriptor that can be read when the process has ended.
fn watched(pid: u32) -> Result<OwnedFd, Fault> {
    // SAFETY: pidfd_open takes two numbers; a descriptor that it gives is new and ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    match i32::try_from(fd) {
        // SAFETY: as above, nobody else has it.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(Fault::last(format!("watching process {pid}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_at_multiples_of_the_interval_and_passed_ones_are_missed() {
        let mut times = Times::new(1000, 100);
        assert_eq!(times.next(), 1100);
        assert_eq!(times.take(1101), 0);
        // Late, but before the next: nothing is missed and the times do not shift.
        assert_eq!((times.next(), times.take(1299)), (1200, 0));
        assert_eq!((times.next(), times.take(1650)), (1300, 3));
        assert_eq!(times.next(), 1700);
        // What comes to its end late leaves the last ones untaken.
        assert_eq!((times.passed(1699), times.passed(1700), times.passed(1950)), (0, 1, 3));
    }
}
