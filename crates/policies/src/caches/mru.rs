//! # mru
//!
//! Promises a loop over more keys than the cache holds as many hits as possible.
//!
//! ## The idea
//!
//!     One list. A requested key goes to its front; the victim is also at its front.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 4 1 2 3 4
//! hit   . . . . * * . *
//! out   . . . 3 . . 2 .
//! ```
//!
//! `lru` would not hit once here.
//!
//! ## Cost
//!
//! Hit, victim and admission: constant.
//!
//! ## Good for, not for
//!
//! Loops: over n keys with s slots it hits (s - 1) / (n - 1) of the requests, which is the most possible. Nothing else:
//! a key requested once at the start stays indefinitely.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - H. Chou, D. DeWitt, An evaluation of buffer management strategies for relational database systems, VLDB 1985.

use super::{Context, Entry, Eviction, Key, Slot, kit::links::Lists};
use schedlab_model::info::{Info, Params};

/// Most recently used goes.
#[derive(Debug)]
pub struct Mru {
    /// Slots, the last used first.
    uses: Lists<1>,
}

impl Entry for Mru {
    const INFO: Info = Info {
        name: "mru",
        summary: "the most recently used goes",
        year: 1985,
        origin: "databases",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("mru.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Mru { uses: Lists::new(slots) }
    }
}

impl Eviction for Mru {
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
        let first = self.uses.first(0);
        self.uses.remove(0, first);
        first
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
    use crate::caches::{Belady, kit::trial::Trial};

    #[test]
    fn a_loop_hits_as_often_as_with_foresight() {
        let asked: Vec<Key> = (0..1000).map(|at| at % 10).collect();
        let misses = Trial::<Mru>::new(7).ask(&asked).misses;
        assert_eq!(misses, Trial::<Belady>::new(7).ask(&asked).misses);
    }

    #[test]
    fn what_was_asked_for_once_stays_for_ever() {
        let mut trial = Trial::<Mru>::new(2);
        trial.ask(&[1]);
        trial.ask(&(2..50).collect::<Vec<Key>>());
        assert_eq!(trial.held(), [1, 49]);
    }
}
