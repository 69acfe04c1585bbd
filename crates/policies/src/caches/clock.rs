//! # clock
//!
//! Promises a second chance to every key requested since the hand last passed it.
//!
//! ## The idea
//!
//!     Slots form a ring with a hand. A hit sets a mark at the slot and moves nothing.
//!     The hand looks for a victim: at a marked slot it clears the mark and continues; the first without one is the
//!     victim.
//!     A new key is placed right behind the hand, so the hand reaches it last, without a mark.
//!     With more bits a slot counts its hits, and the hand takes one away.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 4 2 5
//! hit   . . . * . . .
//! out   . . . . 2 3 1
//! ```
//!
//! The hand spares 1 once, for its hit.
//!
//! ## Cost
//!
//! A hit writes one byte. A miss goes past as many slots as there were hits, on average at most one for each hit
//! before.
//!
//! ## Good for, not for
//!
//! What `lru` is good for, with hits almost free; so most kernels have had a form of it. It has the weakness of `lru`
//! against scans.
//!
//! ## Departures
//!
//! The ring is a list whose back is at the hand ("second chance"): the same order, and a slot freed from outside
//! leaves no gap.
//!
//! ## References
//!
//! - F. Corbató, A paging experiment with the Multics system, MIT Project MAC report MAC-M-384, 1968.

use super::{Context, Entry, Eviction, Key, Slot, kit::links::Lists};
use schedlab_model::info::{Domain, Info, Parameter, Params};

/// Not since the hand was here.
#[derive(Debug)]
pub struct Clock {
    /// Slots, that under the hand last.
    ring: Lists<1>,
    /// For each slot the hits since the hand passed, up to `most`.
    marks: Vec<u8>,
    most: u8,
}

impl Entry for Clock {
    const INFO: Info = Info {
        name: "clock",
        summary: "the first that was not asked for since the hand came by goes",
        year: 1968,
        origin: "Multics",
        promises: &[],
        parameters: &[Parameter {
            name: "bits",
            meaning: "bits of a slot's counter of hits",
            domain: Domain::Count { low: 1, high: 8 },
            default: Some("1"),
            logarithmic: false,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("clock.rs"),
    };

    fn new(params: &Params, slots: u32) -> Self {
        let most = u8::MAX >> (8 - params.whole("bits"));
        Clock { ring: Lists::new(slots), marks: vec![0; slots as usize], most }
    }
}

impl Eviction for Clock {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        let mark = &mut self.marks[slot as usize];
        if *mark < self.most {
            *mark += 1;
        }
    }

    #[inline(always)]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        loop {
            let slot = self.ring.last(0);
            let mark = &mut self.marks[slot as usize];
            if *mark == 0 {
                self.ring.remove(0, slot);
                return slot;
            }
            *mark -= 1;
            self.ring.touch(0, slot);
        }
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.ring.push(0, slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.ring.remove(0, slot);
        self.marks[slot as usize] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn one_bit_gives_one_more_chance_however_many_hits() {
        let asked = [1, 2, 1, 1, 1, 3, 4];
        assert_eq!(Trial::<Clock>::new(2).ask(&asked).out, [2, 1]);
    }

    #[test]
    fn two_bits_count_three_hits() {
        let asked = [1, 2, 1, 1, 1, 1, 3, 4, 5, 6];
        assert_eq!(Trial::<Clock>::with(2, &[("bits", "2")]).ask(&asked).out, [2, 3, 4, 1]);
    }

    #[test]
    fn when_all_are_marked_the_first_in_is_the_first_out() {
        assert_eq!(Trial::<Clock>::new(3).ask(&[1, 2, 3, 3, 2, 1, 4]).out, [1]);
    }

    #[test]
    fn a_freed_slot_loses_its_mark() {
        let mut trial = Trial::<Clock>::new(2);
        trial.ask(&[1, 2, 2]);
        trial.delete(2);
        assert_eq!(trial.ask(&[3, 4, 5]).out, [1, 3]);
    }
}
