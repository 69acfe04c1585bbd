//! When bfq raises a queue's weight: a queue that becomes active after a long pause is assumed to be an application that
//! starts, and one that takes little and pauses after each batch, to be a media player.

use schedlab_model::{MILLISECOND, Nanos, SECOND};

/// By how much; bfq_wr_coeff, and the factor of soft real-time.
const INTERACTIVE: u64 = 30;
const SOFT_REAL_TIME: u64 = 30 * 100;
/// After so long without requests, a queue may belong to an application that starts.
const LONG_IDLE: Nanos = 2 * SECOND;
/// For how long soft real-time is raised at a time.
const SOFT_LASTS: Nanos = 300 * MILLISECOND;
/// Sectors a second that soft real-time may take at most.
const SOFT_RATE: u64 = 7000;
/// Sectors after which a queue does more than any application that starts.
const ENOUGH: u64 = 120_000;
/// Beyond slice_idle, for a greedy task not to seem to pause: four ticks of 4 ms.
const MARGIN: Nanos = 16 * MILLISECOND;

/// How much a queue is raised, and what decides that.
#[derive(Debug)]
pub(in crate::elevators) struct Raising {
    /// The factor, 1 if it is not raised.
    pub(in crate::elevators) factor: u64,
    since: Nanos,
    lasts: Nanos,
    sectors: u64,
    /// Since when it has had nothing queued or in the drive; `None` if it is new.
    empty_since: Option<Nanos>,
    soft_not_before: Nanos,
    backlogged_since: Nanos,
    backlogged_sectors: u64,
}

impl Raising {
    pub(in crate::elevators) fn new(now: Nanos) -> Self {
        Raising {
            factor: 1,
            since: now,
            lasts: 0,
            sectors: 0,
            empty_since: None,
            soft_not_before: now,
            backlogged_since: now,
            backlogged_sectors: 0,
        }
    }

    /// How many times longer its turns may be: as often as its weight counts, but once in soft real-time.
    /// (bfq_set_budget_timeout)
    pub(in crate::elevators) fn longer_turns(&self) -> u64 {
        if self.factor == SOFT_REAL_TIME { 1 } else { self.factor }
    }

    /// A request comes to a queue that had none. `for_long` is how long an application that starts is helped, `burst`
    /// whether it was created together with many, `soft` whether it can be soft real-time: nothing in the drive, and
    /// not only seeks.
    pub(in crate::elevators) fn woken(&mut self, now: Nanos, for_long: Nanos, burst: bool, calm: bool, soft: bool) {
        let idle_long = calm && self.empty_since.is_none_or(|since| now > since + LONG_IDLE);
        let (interactive, soft) = (!burst && idle_long, !burst && soft && calm && now > self.soft_not_before);
        let was = self.factor;
        if interactive {
            (self.factor, self.lasts, self.sectors) = (INTERACTIVE, for_long, 0);
        } else if was > 1 && burst {
            self.factor = 1;
        } else if soft {
            (self.factor, self.lasts) = (SOFT_REAL_TIME, SOFT_LASTS);
        }
        if interactive || was == 1 || self.factor == SOFT_REAL_TIME {
            self.since = now;
        }
        (self.backlogged_since, self.backlogged_sectors) = (now, 0);
    }

    pub(in crate::elevators) fn served(&mut self, now: Nanos, sectors: u32, burst: bool) {
        self.sectors += u64::from(sectors);
        self.backlogged_sectors += u64::from(sectors);
        let spent = self.factor == INTERACTIVE && self.sectors > ENOUGH;
        if self.factor > 1 && (burst || now > self.since + self.lasts || spent) {
            (self.factor, self.since) = (1, now);
        }
    }

    /// Nothing is queued or in the drive any more.
    pub(in crate::elevators) fn emptied(&mut self, now: Nanos, slice_idle: Nanos) {
        self.empty_since = Some(now);
        let by_rate = self.backlogged_since + self.backlogged_sectors * SECOND / SOFT_RATE;
        self.soft_not_before = self.soft_not_before.max(by_rate).max(now + slice_idle + MARGIN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_application_that_starts_has_turns_30_times_as_long_and_soft_real_time_none_longer() {
        let mut queue = Raising::new(0);
        queue.woken(0, SECOND, false, true, true);
        assert_eq!((queue.factor, queue.longer_turns()), (30, 30));
        queue.served(2 * SECOND, 8, false);
        assert_eq!((queue.factor, queue.longer_turns()), (1, 1));
        queue.emptied(2 * SECOND, 0);
        queue.woken(3 * SECOND, SECOND, false, true, true);
        assert_eq!((queue.factor, queue.longer_turns()), (3000, 1));
    }
}
