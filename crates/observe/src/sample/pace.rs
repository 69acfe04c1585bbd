//! When samples are taken: at whole multiples of the interval after the first, whatever the ones before took. A time that
//! has passed is counted as missed.

use nix::{
    poll::{PollFd, PollFlags, ppoll},
    sys::{
        signal::{SigSet, SigmaskHow, sigprocmask},
        time::TimeSpec,
    },
};
use schedlab_linux::{
    Fault,
    clock::{exact_timers, now},
    pidfd,
    signals::{has_stopped, note_stops},
};
use schedlab_model::Nanos;
use std::{
    os::fd::{AsFd, OwnedFd},
    time::Duration,
};

/// Why a wait was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Woken {
    /// A sample is due.
    Due {
        /// Samples before it that were not taken.
        missed: u64,
    },
    /// The process that was watched has ended.
    Ended {
        /// Samples that were due by then and not taken.
        missed: u64,
    },
    /// A signal came.
    Stopped,
}

/// The times of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    first: Nanos,
    every: Nanos,
    taken: u64,
}

impl Times {
    /// Samples after the first one, at multiples of an interval.
    pub fn new(first: Nanos, every: Nanos) -> Times {
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
pub struct Pace {
    times: Times,
    watched: Option<OwnedFd>,
    /// The signals that are unblocked only during the wait: none is delivered between the check and the wait.
    waiting: SigSet,
}

impl Pace {
    /// From that time on; a process to end with, if one is given.
    pub fn new(times: Times, until: Option<u32>) -> Result<Pace, Fault> {
        let watch = |pid: u32| {
            let opened = pidfd::open(pid as i32);
            opened.map_err(|why| Fault::Call { doing: format!("watching process {pid}"), why })
        };
        let watched = until.map(watch).transpose()?;
        let call = |why| Fault::Call { doing: "listening to signals".to_owned(), why };
        let stopping = note_stops().map_err(call)?;
        let mut waiting = SigSet::empty();
        let blocked = sigprocmask(SigmaskHow::SIG_BLOCK, Some(&stopping), Some(&mut waiting));
        blocked.map_err(|why| call(why.into()))?;
        for signal in &stopping {
            waiting.remove(signal);
        }
        // Without them a sample is late by up to 50 us, which its timestamp shows.
        let _ = exact_timers();
        Ok(Pace { times, watched, waiting })
    }

    /// Waits until the next sample is due, or what else ends the wait.
    pub fn wait(&mut self) -> Woken {
        loop {
            if has_stopped() {
                return Woken::Stopped;
            }
            let time = now();
            let left = self.times.next().saturating_sub(time);
            if left == 0 {
                return Woken::Due { missed: self.times.take(time) };
            }
            let left = TimeSpec::from_duration(Duration::from_nanos(left));
            let mut end = self.watched.as_ref().map(|process| PollFd::new(process.as_fd(), PollFlags::POLLIN));
            let ready = ppoll(end.as_mut_slice(), Some(left), Some(self.waiting));
            if ready.is_ok_and(|ready| ready > 0) {
                return Woken::Ended { missed: self.times.passed(now()) };
            }
        }
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
