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
        self.newest = self.newest.max(self.waiting.last().map_or(0, |event| event.time));
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
