//! # two_q
//!
//! Promises to keep the keys that are requested again after their first burst of requests is over.
//!
//! ## The idea
//!
//!     A1in: new keys, first in first out; a hit there changes nothing, as it belongs to the same burst.
//!     A1out: keys evicted from A1in, without their contents.
//!     Am: keys requested while they were in A1out; least recently used.
//!     If A1in has more than its share, the victim is its oldest, whose key goes to A1out; else the last of Am.
//!
//! ## A schedule
//!
//! ```text
//! slots 4
//! ask   1 2 3 4 5 1 6 7 1
//! hit   . . . . . . . . *
//! out   . . . . 1 2 3 4 .
//! ```
//!
//! A1in has a share of one slot, A1out room for two keys. 1 is requested again while A1out remembers it, and from then on
//! is kept in Am.
//!
//! ## Cost
//!
//! Hit and miss: constant. Eight bytes for each key, for A1out.
//!
//! ## Good for, not for
//!
//! Scans through a working set: what is read once never enters Am. A loop over more than A1in and A1out together
//! never hits.
//!
//! ## Departures
//!
//! None from "full 2Q" with the paper's shares of 25 % and 50 %. Misses equal those of libCacheSim 0.3.5 on all
//! sequences of `bench/cache_exactness.py`.
//!
//! ## References
//!
//! - T. Johnson, D. Shasha, 2Q: a low overhead high performance buffer management replacement algorithm, VLDB 1994,
//!   the full version.

use super::{
    Context, Entry, Eviction, InBytes, Key, NOTHING, Slot,
    kit::ghosts::Ghosts,
    kit::share::{share, share_of_bytes},
    kit::weights::{Bytes, Ones, Weighed, Weights},
};
use schedlab_model::info::{Domain, Info, Parameter, Params};

/// New, remembered, lasting.
#[derive(Debug)]
pub struct TwoQ<W = Ones> {
    /// Slots: `IN`, the youngest first, and `MAIN`, the last used first.
    lists: Weighed<2, W>,
    /// Whether each slot is in `MAIN`.
    lasting: Vec<bool>,
    /// Keys that fell out of `IN`.
    out: Ghosts<W>,
    share_of_in: u64,
    /// What `MAIN` may come to where bytes count.
    share_of_main: u64,
    /// The key for which the last victim was evicted, if it was among the ghosts.
    recalled: Key,
}

const IN: usize = 0;
const MAIN: usize = 1;

impl<W: Weights> Entry for TwoQ<W> {
    const INFO: Info = Info {
        name: "two_q",
        summary: "new ones queue, and last only if asked for again after that",
        year: 1994,
        origin: "databases",
        promises: &[],
        parameters: &[
            Parameter {
                name: "in",
                meaning: "share of the slots for what is new (Kin), in %",
                domain: Domain::Count { low: 1, high: 99 },
                default: Some("25"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "out",
                meaning: "keys remembered after they fell out (Kout), in % of the slots",
                domain: Domain::Count { low: 0, high: 1000 },
                default: Some("50"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("two_q.rs"),
    };

    fn new(params: &Params, slots: u32) -> Self {
        TwoQ {
            lists: Weighed::new(slots),
            lasting: vec![false; slots as usize],
            out: Ghosts::new(share(slots, params.whole("out")).into()),
            share_of_in: share(slots, params.whole("in")).into(),
            share_of_main: u64::MAX,
            recalled: NOTHING,
        }
    }
}

impl<W: Weights> Eviction for TwoQ<W> {
    #[inline]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        if self.lasting[slot as usize] {
            self.lists.touch(MAIN, slot);
        }
    }

    #[inline]
    fn first_use(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.hit(cx, slot);
    }

    #[inline]
    fn victim(&mut self, cx: &mut Context<'_>, incoming: Key) -> Slot {
        // First, so that the victim's key does not push the incoming one out of memory.
        if !W::BYTES {
            self.recalled = if self.out.recall(incoming) { incoming } else { NOTHING };
        }
        if self.lists.sum(IN) <= self.share_of_in && !self.lists.is_empty(MAIN) {
            return self.lists.pop(MAIN);
        }
        let oldest = self.lists.pop(IN);
        self.out.remember(cx.keys[oldest as usize], self.lists.of(oldest));
        oldest
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        let recalled = self.recalled == key;
        if recalled {
            self.recalled = NOTHING;
        }
        let lasting = recalled || self.out.recall(key);
        self.lasting[slot as usize] = lasting;
        self.lists.push(usize::from(lasting), slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.lists.remove(usize::from(self.lasting[slot as usize]), slot);
    }
}

impl InBytes for TwoQ<Bytes> {
    fn in_bytes(params: &Params, capacity: u64, keys: u32) -> Self {
        let share_of_in = share_of_bytes(capacity, params.whole("in"));
        TwoQ {
            out: Ghosts::new(share_of_bytes(capacity, params.whole("out"))),
            share_of_in,
            share_of_main: capacity - share_of_in,
            ..Self::new(params, keys)
        }
    }

    #[inline]
    fn takes(&mut self, key: Key, size: u64) -> bool {
        self.recalled = if self.out.recall(key) { key } else { NOTHING };
        self.lists.weigh(key, size);
        size <= self.share_of_in
    }

    #[inline]
    fn crowded_out(&mut self, key: Key, size: u64) -> Option<Slot> {
        let crowded = self.recalled == key && self.lists.sum(MAIN) + size > self.share_of_main;
        (crowded && !self.lists.is_empty(MAIN)).then(|| self.lists.pop(MAIN))
    }

    #[inline]
    fn keeps(&self, key: Key, size: u64) -> bool {
        self.recalled != key || size <= self.share_of_main
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn a_scan_leaves_the_lasting_ones_alone() {
        let mut trial = Trial::<TwoQ>::new(8);
        trial.ask(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]);
        trial.ask(&(100..1000).collect::<Vec<Key>>());
        assert_eq!(trial.held()[..2], [1, 2]);
    }

    #[test]
    fn a_burst_of_requests_does_not_make_a_key_last() {
        let mut trial = Trial::<TwoQ>::new(4);
        trial.ask(&[1, 1, 1, 1, 2, 3, 4]);
        assert_eq!(trial.ask(&[5]).out, [1]);
    }

    #[test]
    fn a_key_that_was_deleted_is_not_remembered() {
        let mut trial = Trial::<TwoQ>::new(4);
        trial.ask(&[1, 2, 3, 4]);
        trial.delete(1);
        trial.ask(&[1]);
        assert_eq!(trial.ask(&[5, 6, 7, 8]).out, [2, 3, 4, 1]);
    }
}
