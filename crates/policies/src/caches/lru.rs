//! # lru
//!
//! Promises to keep the most recently requested keys.
//!
//! ## The idea
//!
//!     One list. A requested key goes to its front; the victim is at its back.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 4 2
//! hit   . . . * . .
//! out   . . . . 2 3
//! ```
//!
//! ## Cost
//!
//! Hit, victim and admission: constant. A larger cache always holds what a smaller one holds (a stack algorithm).
//!
//! ## Good for, not for
//!
//! Loads whose recent past resembles their near future. One scan over more than the cache empties it; a loop over a
//! little more than the cache never hits.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - R. Mattson, J. Gecsei, D. Slutz, I. Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal
//!   9(2), 1970.

use super::{Context, Entry, Eviction, Key, Slot, kit::links::Lists};
use schedlab_model::info::{Info, Params};

/// Least recently used goes.
#[derive(Debug)]
pub struct Lru {
    /// Slots, the last used first.
    uses: Lists<1>,
}

impl Entry for Lru {
    const INFO: Info = Info {
        name: "lru",
        summary: "the least recently used goes",
        year: 1965,
        origin: "paging",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("lru.rs"),
    };
    const STACK: bool = true;

    fn new(_: &Params, slots: u32) -> Self {
        Lru { uses: Lists::new(slots) }
    }
}

impl Eviction for Lru {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.uses.touch(0, slot);
    }

    #[inline]
    fn first_use(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.hit(cx, slot);
    }

    #[inline(always)]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        self.uses.pop(0)
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.uses.push(0, slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.uses.remove(0, slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn a_loop_over_one_more_than_the_cache_never_hits() {
        let asked: Vec<Key> = (0..40).map(|at| at % 4).collect();
        assert_eq!(Trial::<Lru>::new(3).ask(&asked).misses, 40);
        assert_eq!(Trial::<Lru>::new(4).ask(&asked).misses, 4);
    }

    #[test]
    fn the_sequence_of_belady_s_anomaly_misses_less_with_more_slots() {
        let asked = [1, 2, 3, 4, 1, 2, 5, 1, 2, 3, 4, 5];
        assert_eq!(Trial::<Lru>::new(3).ask(&asked).misses, 10);
        assert_eq!(Trial::<Lru>::new(4).ask(&asked).misses, 8);
    }
}
