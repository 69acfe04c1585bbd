//! Events of several buffers in order of time, with bounded memory.
//!
//! A recorder writes what its buffers hold, one processor's after another's, in rounds. What is older than the newest event of the round
//! before was in the buffers then and has been written: perf says where a round ends (PERF_RECORD_FINISHED_ROUND). Where no round
//! ends for long, the older half is given out, and what turns out to be older still is counted as lost.

use super::{Event, Listener};

/// Lets events through that are in order of time.
#[derive(Debug, Default)]
pub(super) struct Gate {
    first: Option<u64>,
    last: u64,
    /// Events that came too late and were dropped.
    pub late: u64,
}

impl Gate {
    /// First and last time of what came through.
    pub fn span(&self) -> Option<(u64, u64)> {
        Some((self.first?, self.last))
    }

    /// Lets an event through. One without a time (0) takes that of the last, or of the one that will be the first.
    #[inline]
    pub fn pass(&mut self, mut event: Event, earliest: u64, listener: &mut impl Listener) {
        if self.first.is_none() {
            (self.first, self.last) = (Some(earliest), earliest);
        }
        if event.time == 0 {
            event.time = self.last;
        } else if event.time < self.last {
            self.late += 1;
            return;
        }
        self.last = event.time;
        listener.event(&event);
    }
}

/// Events that wait at most: 64 MB, and half as much again while they are sorted.
const MOST: usize = 1 << 21;

/// An event that is so much later than all others, ns, does not say by itself how far the recorder has come: its time may be damaged.
const LONE: u64 = 1_000_000_000;

/// Events that wait for older ones.
#[derive(Debug, Default)]
pub(super) struct Order {
    waiting: Vec<Event>,
    /// Events before this were looked at by `settle`.
    settled: usize,
    newest: u64,
    newest_before: u64,
    gate: Gate,
}

impl Order {
    /// Where events are to be added, of any time. A time of 0 means that the recorder did not know it: before all that follows.
    #[inline]
    pub fn waiting(&mut self) -> &mut Vec<Event> {
        &mut self.waiting
    }

    /// Whether too many events wait, and [`Order::relieve`] should be called.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.waiting.len() >= MOST
    }

    /// First and last time of what was given out.
    pub fn span(&self) -> Option<(u64, u64)> {
        self.gate.span()
    }

    /// Events that came too late and were dropped.
    pub fn late(&self) -> u64 {
        self.gate.late
    }

    /// A round ends.
    pub fn round(&mut self, listener: &mut impl Listener) {
        let limit = self.newest_before;
        self.settle();
        self.newest_before = self.newest;
        self.give(limit, listener);
    }

    /// Gives out the older half of what waits.
    pub fn relieve(&mut self, listener: &mut impl Listener) {
        self.settle();
        if let Some(&middle) = self.waiting.get(self.waiting.len() / 2) {
            self.give(middle.time, listener);
        }
    }

    /// Gives out all of it.
    pub fn finish(&mut self, listener: &mut impl Listener) {
        self.settle();
        self.give(u64::MAX, listener);
    }

    /// Sorts what waits. The sort keeps the order of equal times and merges what is in order already, as each buffer is.
    fn settle(&mut self) {
        if self.settled < self.waiting.len() {
            self.waiting.sort_by_key(|event| event.time);
            self.settled = self.waiting.len();
        }
        self.newest = self.newest.max(self.newest_in_company());
    }

    /// The latest time of what waits that has another soon before it.
    fn newest_in_company(&self) -> u64 {
        let mut waiting = &self.waiting[..];
        while let [rest @ .., last] = waiting {
            let before = rest.last().map(|event| event.time).or(self.gate.span().map(|(_, last)| last));
            if before.is_none_or(|before| last.time.saturating_sub(before) <= LONE) {
                return last.time;
            }
            waiting = rest;
        }
        0
    }

    fn give(&mut self, limit: u64, listener: &mut impl Listener) {
        let count = self.waiting.partition_point(|event| event.time <= limit);
        let timeless = self.waiting.partition_point(|event| event.time == 0);
        let earliest = match self.waiting.get(timeless) {
            Some(event) => event.time,
            None if limit == u64::MAX => 0,
            // Nothing that waits has a time yet.
            None => return,
        };
        self.waiting.drain(..count).for_each(|event| self.gate.pass(event, earliest, listener));
        self.settled = self.waiting.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kind;

    #[derive(Default)]
    struct Times(Vec<u64>);

    impl Listener for Times {
        fn event(&mut self, event: &Event) {
            self.0.push(event.time);
        }

        fn name(&mut self, _: u64, _: &str) {}
    }

    /// Gives out rounds of events with these times.
    fn given(rounds: &[&[u64]]) -> (Vec<u64>, u64) {
        let (mut order, mut times) = (Order::default(), Times::default());
        for round in rounds {
            let event =
                |&time| Event { time, value: 0, task: 1, other: 1, extra: 0, cpu: 0, kind: Kind::Waking, bits: 0 };
            order.waiting().extend(round.iter().map(event));
            order.round(&mut times);
        }
        order.finish(&mut times);
        (times.0, order.late())
    }

    #[test]
    fn what_a_later_round_may_still_precede_waits() {
        let rounds: &[&[u64]] = &[&[10, 30, 20, 40], &[35, 50, 45, 60], &[55, 70]];
        assert_eq!(given(rounds), (vec![10, 20, 30, 35, 40, 45, 50, 55, 60, 70], 0));
    }

    #[test]
    fn what_comes_more_than_a_round_late_is_dropped_and_counted() {
        assert_eq!(given(&[&[10, 20], &[30, 40], &[15, 50]]), (vec![10, 20, 30, 40, 50], 1));
    }

    #[test]
    fn events_without_a_time_take_that_of_the_first() {
        assert_eq!(given(&[&[0, 0], &[30, 40], &[0, 50]]), (vec![30, 30, 30, 30, 40, 50], 0));
    }

    #[test]
    fn a_damaged_time_far_ahead_makes_no_other_event_late() {
        let rounds: &[&[u64]] = &[&[10, 1 << 60, 20], &[30, 40], &[50, 60], &[70]];
        assert_eq!(given(rounds), (vec![10, 20, 30, 40, 50, 60, 70, 1 << 60], 0));
    }

    #[test]
    fn a_recording_goes_on_after_a_pause() {
        let later = 10 * LONE;
        let rounds: &[&[u64]] = &[&[10, 20], &[later, later + 5], &[later + 3, later + 10], &[later + 9]];
        assert_eq!(given(rounds), (vec![10, 20, later, later + 3, later + 5, later + 9, later + 10], 0));
    }

    #[test]
    fn a_round_that_does_not_end_is_given_out_in_halves() {
        let (mut order, mut times) = (Order::default(), Times::default());
        let event = |time| Event { time, value: 0, task: 1, other: 1, extra: 0, cpu: 0, kind: Kind::Waking, bits: 0 };
        let most = MOST as u64;
        for time in 1..=most + 10 {
            order.waiting().push(event(time ^ 1));
            if order.is_full() {
                order.relieve(&mut times);
            }
        }
        assert!(order.waiting().len() < MOST);
        order.finish(&mut times);
        assert!(times.0.is_sorted() && order.late() <= 4, "{} late", order.late());
        assert_eq!(times.0.len() as u64 + order.late(), most + 10);
    }
}
