//! # sieve
//!
//! Promises to evict early the keys that are requested only once, without moving those requested often.
//!
//! ## The idea
//!
//!     One list by arrival, and a hand that moves from the oldest to the youngest, then begins again at the oldest.
//!     A hit sets a mark at the slot and moves nothing.
//!     The hand clears marks as it passes; the first slot without one is the victim. A key that is spared keeps its place.
//!     A new key is placed first. So the hand soon reaches the new keys, and checks them while the old ones are left in place.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 4 5 2
//! hit   . . . * . . .
//! out   . . . . 2 3 4
//! ```
//!
//! After 1 is spared the hand is among the young ones: at the last request `clock` would evict 1.
//!
//! ## Cost
//!
//! A hit writes one byte. A miss goes past as many slots as were hit since, on average at most one for each hit
//! before.
//!
//! ## Good for, not for
//!
//! Skewed loads with many keys requested once, as in web caches. Not for loops, nor where the popular keys change: an old
//! one stays as long as it is requested once a round of the hand.
//!
//! ## Departures
//!
//! None. Misses equal those of libCacheSim 0.3.5 on all sequences of `bench/cache_exactness.py`.
//!
//! ## References
//!
//! - Y. Zhang, J. Yang, Y. Yue, Y. Vigfusson, K. Rashmi, SIEVE is simpler than LRU, NSDI 2024, algorithm 1.

use super::{Context, Entry, Eviction, Key, NOTHING, Slot, kit::links::Lists};
use schedlab_model::info::{Info, Params};

/// Not since the hand was here, and the spared stay in place.
#[derive(Debug)]
pub struct Sieve {
    /// Slots, the youngest first.
    arrivals: Lists<1>,
    /// Whether each slot was hit since the hand passed.
    marked: Vec<bool>,
    /// Where the hand looks next; [`NOTHING`]: at the oldest.
    hand: Slot,
}

impl Entry for Sieve {
    const INFO: Info = Info {
        name: "sieve",
        summary: "a hand sifts by arrival, and a spared object keeps its place",
        year: 2024,
        origin: "web caches",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("sieve.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Sieve { arrivals: Lists::new(slots), marked: vec![false; slots as usize], hand: NOTHING }
    }
}

impl Eviction for Sieve {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.marked[slot as usize] = true;
    }

    #[inline(always)]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        let mut at = self.hand;
        loop {
            if at == NOTHING {
                at = self.arrivals.last(0);
            }
            let younger = self.arrivals.before(at);
            if !std::mem::replace(&mut self.marked[at as usize], false) {
                self.hand = younger;
                self.arrivals.remove(0, at);
                return at;
            }
            at = younger;
        }
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.arrivals.push(0, slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        if self.hand == slot {
            self.hand = self.arrivals.before(slot);
        }
        self.arrivals.remove(0, slot);
        self.marked[slot as usize] = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn who_is_spared_is_not_met_again_before_the_young() {
        assert_eq!(Trial::<Sieve>::new(3).ask(&[1, 2, 3, 1, 4, 5, 6, 7]).out, [2, 3, 4, 5]);
    }

    #[test]
    fn past_the_youngest_the_hand_begins_at_the_oldest() {
        let mut trial = Trial::<Sieve>::new(2);
        assert_eq!(trial.ask(&[1, 2, 1, 2, 3]).out, [1], "a full round takes both marks away");
        assert_eq!(trial.ask(&[4, 5]).out, [2, 3]);
    }

    #[test]
    fn the_hand_steps_off_a_slot_that_is_freed() {
        let mut trial = Trial::<Sieve>::new(4);
        trial.ask(&[1, 2, 3, 4, 1, 5]);
        trial.delete(3);
        assert_eq!(trial.ask(&[6, 7, 8, 9]).out, [4, 5, 6]);
    }
}
