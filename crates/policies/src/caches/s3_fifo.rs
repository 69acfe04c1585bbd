//! # s3_fifo
//!
//! Promises to evict keys requested only once before they can displace others, with queues only.
//!
//! ## The idea
//!
//!     Small: a queue for a tenth of the slots, where new keys begin. Main: a queue for the others.
//!     Ghost: keys evicted from small, without their contents; a key requested while it is there is admitted to main.
//!     A hit counts, up to 3, and moves nothing.
//!     While small has its share or more: its oldest moves to main if it was hit twice or more, else it is the
//!     victim.
//!     Else the oldest of main: with hits counted it goes to the front for one of them, without it is the victim.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 1 4 2 5 3
//! hit   . . . * * . . . *
//! out   . . . . . 2 4 2 .
//! ```
//!
//! Small has one slot, that of 1; 2 and 3, which came while there was room, stood in main. For 4, small is looked at
//! first: 1 was hit twice and moves to main, which evicts 2. Then 4 is evicted, which was not requested again.
//!
//! ## Cost
//!
//! A hit writes one byte. A miss goes past one slot for each hit before, at most three for a slot. Eight bytes for
//! each key, for the ghosts.
//!
//! ## Good for, not for
//!
//! Skewed loads with many keys requested once, as in web and block caches; scans. A key whose second request comes just
//! after its eviction from small has one miss more than under `lru`.
//!
//! ## Departures
//!
//! As in libCacheSim since 2024, and not in the paper: until the first eviction, what finds small full goes to main.
//! The paper fills small beyond its share, so its first victims come late. As there, too: one request has one victim;
//! the paper also evicts from main each time that a key going on from small finds it full. A share of less than one
//! slot counts as one; libCacheSim then caches nothing. Else misses equal those of libCacheSim 0.3.5 on all sequences
//! of `bench/cache_exactness.py`.
//!
//! ## References
//!
//! - J. Yang, Y. Zhang, Z. Qiu, Y. Yue, K. Rashmi, FIFO queues are all you need for cache eviction, SOSP 2023,
//!   algorithm 1.

use super::{
    Context, Entry, Eviction, InBytes, Key, NOTHING, Slot,
    kit::ghosts::Ghosts,
    kit::share::{share, share_of_bytes},
    kit::weights::{Bytes, Ones, Weighed, Weights},
};
use schedlab_model::info::{Domain, Info, Parameter, Params};

/// Small, main and ghost queue.
#[derive(Debug)]
pub struct S3Fifo<W = Ones> {
    /// Slots: `SMALL` and `MAIN`, the youngest first.
    queues: Weighed<2, W>,
    /// Whether each slot is in `MAIN`.
    in_main: Vec<bool>,
    /// Hits of each slot that still count.
    hits: Vec<u8>,
    ghosts: Ghosts<W>,
    share_of_small: u64,
    /// What main may come to before it gives the victim, where bytes count.
    share_of_main: u64,
    /// Hits in small that lead on to main.
    enough: u8,
    /// Whether no key was evicted yet.
    filling: bool,
    /// The key for which the last victim was evicted, if it was among the ghosts.
    recalled: Key,
}

const SMALL: usize = 0;
const MAIN: usize = 1;
/// Two bits count the hits, as in the paper.
const MOST_HITS: u8 = 3;

impl<W: Weights> S3Fifo<W> {
    /// Whether small gives the victim. Where bytes count, the cache is seldom quite full, and main is what is looked at.
    #[inline]
    fn is_small_too_large(&self) -> bool {
        if W::BYTES {
            return self.queues.sum(MAIN) <= self.share_of_main && !self.queues.is_empty(SMALL);
        }
        self.queues.sum(SMALL) >= self.share_of_small || self.queues.is_empty(MAIN)
    }

    /// The victim in small; `None` if all went on to main.
    #[inline]
    fn victim_in_small(&mut self, keys: &[Key]) -> Option<Slot> {
        while !self.queues.is_empty(SMALL) {
            let slot = self.queues.pop(SMALL);
            if self.hits[slot as usize] < self.enough {
                self.ghosts.remember(keys[slot as usize], self.queues.of(slot));
                return Some(slot);
            }
            self.hits[slot as usize] = 0;
            self.in_main[slot as usize] = true;
            self.queues.push(MAIN, slot);
        }
        None
    }

    #[inline]
    fn victim_in_main(&mut self) -> Slot {
        loop {
            let slot = self.queues.last(MAIN);
            if self.hits[slot as usize] == 0 {
                self.queues.remove(MAIN, slot);
                return slot;
            }
            self.hits[slot as usize] -= 1;
            self.queues.touch(MAIN, slot);
        }
    }
}

impl<W: Weights> Entry for S3Fifo<W> {
    const INFO: Info = Info {
        name: "s3_fifo",
        summary: "new ones pass through a small queue, and only those hit there reach the main one",
        year: 2023,
        origin: "web caches",
        promises: &[],
        parameters: &[
            Parameter {
                name: "small",
                meaning: "share of the slots for what is new, in %",
                domain: Domain::Count { low: 1, high: 99 },
                default: Some("10"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "ghost",
                meaning: "keys remembered after they fell out of the small queue, in % of the slots",
                domain: Domain::Count { low: 0, high: 1000 },
                default: Some("90"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "enough",
                meaning: "hits in the small queue that lead on to the main one",
                domain: Domain::Count { low: 1, high: 3 },
                default: Some("2"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("s3_fifo.rs"),
    };

    fn new(params: &Params, slots: u32) -> Self {
        S3Fifo {
            queues: Weighed::new(slots),
            in_main: vec![false; slots as usize],
            hits: vec![0; slots as usize],
            ghosts: Ghosts::new(share(slots, params.whole("ghost")).into()),
            share_of_small: share(slots, params.whole("small")).max(1).into(),
            share_of_main: u64::MAX,
            enough: params.whole("enough") as u8,
            filling: true,
            recalled: NOTHING,
        }
    }
}

impl<W: Weights> Eviction for S3Fifo<W> {
    #[inline]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        let hits = &mut self.hits[slot as usize];
        *hits = (*hits + 1).min(MOST_HITS);
    }

    #[inline]
    fn victim(&mut self, cx: &mut Context<'_>, incoming: Key) -> Slot {
        self.filling = false;
        // First, so that the victim's key does not push the incoming one out of memory.
        if !W::BYTES {
            self.recalled = if self.ghosts.recall(incoming) { incoming } else { NOTHING };
        }
        while self.is_small_too_large() {
            if let Some(slot) = self.victim_in_small(cx.keys) {
                return slot;
            }
        }
        self.victim_in_main()
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        let overflow = self.filling && self.queues.sum(SMALL) >= self.share_of_small;
        let recalled = self.recalled == key;
        if recalled {
            self.recalled = NOTHING;
        }
        let in_main = overflow || recalled || self.ghosts.recall(key);
        self.in_main[slot as usize] = in_main;
        self.hits[slot as usize] = 0;
        self.queues.push(usize::from(in_main), slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.queues.remove(usize::from(self.in_main[slot as usize]), slot);
    }
}

impl InBytes for S3Fifo<Bytes> {
    fn in_bytes(params: &Params, capacity: u64, keys: u32) -> Self {
        let share_of_small = share_of_bytes(capacity, params.whole("small"));
        S3Fifo {
            ghosts: Ghosts::new(share_of_bytes(capacity, params.whole("ghost"))),
            share_of_small,
            share_of_main: capacity - share_of_small,
            ..Self::new(params, keys)
        }
    }

    #[inline]
    fn takes(&mut self, key: Key, size: u64) -> bool {
        self.recalled = if self.ghosts.recall(key) { key } else { NOTHING };
        self.queues.weigh(key, size);
        size <= self.share_of_small
    }

    /// An object that fills all of small would leave no other key there; only main admits it.
    #[inline]
    fn keeps(&self, key: Key, size: u64) -> bool {
        self.recalled == key || size < self.share_of_small
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn a_scan_goes_through_the_small_queue_only() {
        let mut trial = Trial::<S3Fifo>::new(10);
        trial.ask(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0]);
        trial.ask(&(100..300).collect::<Vec<Key>>());
        assert_eq!(trial.held().iter().filter(|&&key| key < 10).count(), 9, "one slot takes the whole scan");
    }

    #[test]
    fn one_hit_in_the_small_queue_is_not_enough_and_two_are() {
        let mut trial = Trial::<S3Fifo>::new(10);
        trial.ask(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0]);
        assert_eq!(trial.ask(&[20]).out, [0]);
        assert_eq!(trial.ask(&[20, 20, 21]).out, [1], "20 went on to main, whose oldest left");
    }

    #[test]
    fn a_ghost_comes_back_to_the_main_queue() {
        let mut trial = Trial::<S3Fifo>::new(10);
        trial.ask(&(0..10).collect::<Vec<Key>>());
        assert_eq!(trial.ask(&[10, 0]).out, [0, 10]);
        assert_eq!(trial.ask(&[11, 12]).out, [1, 11], "small was empty, so main gave a slot; then small gives its own");
    }

    #[test]
    fn hits_beyond_three_do_not_count() {
        let mut trial = Trial::<S3Fifo>::new(2);
        trial.ask(&[1, 2, 2, 2, 2, 2, 2, 2]);
        // 2 is in main. Each ghost that returns costs it one of its three hits.
        let out = trial.ask(&[3, 1, 4, 3, 5, 4, 6, 5, 7, 6]).out;
        assert!(out.contains(&2), "{out:?}");
    }
}
