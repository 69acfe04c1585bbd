//! # random
//!
//! Promises nothing: it is the baseline of a policy without any information.
//!
//! ## The idea
//!
//!     The victim is drawn at random among all slots in use.
//!
//! ## A schedule
//!
//! With one slot there is no choice:
//!
//! ```text
//! slots 1
//! ask   1 1 2 1
//! hit   . * . .
//! out   . . 1 2
//! ```
//!
//! ## Cost
//!
//! A hit costs nothing; a miss draws one number, and moves one slot in the list of those in use.
//!
//! ## Good for, not for
//!
//! A loop over n keys with s slots, where `lru` never hits. It has no worst case of its own, and no best one.
//!
//! ## Departures
//!
//! None. The numbers come from the seed of the run.
//!
//! ## References
//!
//! - L. Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2), 1966,
//!   "class 1".

use super::{Context, Entry, Eviction, Key, Slot};
use schedlab_model::info::{Info, Params};

/// Any key may be evicted.
#[derive(Debug)]
pub struct Random {
    /// Slots in use, in any order, and each one's place there.
    used: Vec<Slot>,
    places: Vec<u32>,
}

impl Random {
    /// The last one takes the place of the one that goes.
    #[inline(always)]
    fn take_out(&mut self, place: u32) -> Slot {
        let slot = self.used.swap_remove(place as usize);
        if let Some(&moved) = self.used.get(place as usize) {
            self.places[moved as usize] = place;
        }
        slot
    }
}

impl Entry for Random {
    const INFO: Info = Info {
        name: "random",
        summary: "one drawn by lot goes",
        year: 1966,
        origin: "paging",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("random.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Random { used: Vec::with_capacity(slots as usize), places: vec![0; slots as usize] }
    }
}

impl Eviction for Random {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, _: Slot) {}

    #[inline(always)]
    fn victim(&mut self, cx: &mut Context<'_>, _: Key) -> Slot {
        let place = cx.rng.below(self.used.len() as u64) as u32;
        self.take_out(place)
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.places[slot as usize] = self.used.len() as u32;
        self.used.push(slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.take_out(self.places[slot as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::{self, Trial};

    #[test]
    fn every_slot_is_drawn_about_as_often() {
        // Keys from 4 on are new each time: each evicts one of the four slots; the stay of a key is geometric, so the first four
        // are gone after some hundred draws, and a thousand draws leave none of the first hundred.
        let mut trial = Trial::<Random>::new(4);
        trial.ask(&(0..1000).collect::<Vec<Key>>());
        assert!(trial.held().iter().all(|&key| key > 100), "{:?}", trial.held());
    }

    #[test]
    fn uniform_requests_hit_in_proportion_to_the_slots() {
        // Independent uniform requests over n keys hit s / n whatever the policy: 250 of 1000 here. A hit count of 20000 such
        // requests has a deviation of 61; five of them are allowed.
        let mut draws = trial::draws(3);
        let asked: Vec<Key> = (0..20_000).map(|_| draws.below(1000) as Key).collect();
        let mut trial = Trial::<Random>::new(250);
        trial.ask(&(0..250).collect::<Vec<Key>>());
        let hits = 20_000 - trial.ask(&asked).misses;
        assert!(hits.abs_diff(5000) < 306, "{hits}");
    }
}
