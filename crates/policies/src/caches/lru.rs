//! # lru
//!
//! Promises to keep what was asked for last.
//!
//! ## The idea
//!
//!     One list. What is asked for goes to its front; the victim is at its back.
//!
//! ## A schedule
//!
//! Three slots, requests 1 2 3 1 4 2: after each, the cache from front to back, `*` a hit.
//!
//! ```text
//! 1: 1      2: 2 1      3: 3 2 1      1*: 1 3 2      4: 4 1 3      2: 2 4 1
//! ```
//!
//! ## Cost
//!
//! Hit, victim and admission: constant. A larger cache always holds what a smaller one holds (a stack algorithm).
//!
//! ## Good for, not for
//!
//! Loads whose recent past resembles their near future. One scan over more than the cache empties it; a loop over a little
//! more than the cache never hits.
//!
//! ## Departures
//!
//! None.
//!
//! ## References
//!
//! - R. Mattson, J. Gecsei, D. Slutz, I. Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2), 1970.

use super::{Context, Entry, Eviction, Key, NOTHING, Slot};
use schedlab_model::info::{Info, Params};

/// Least recently used goes.
#[derive(Debug)]
pub struct Lru {
    /// For each slot the ones before and after it; the last entry is the ring's anchor.
    links: Vec<[Slot; 2]>,
}

const BEFORE: usize = 0;
const AFTER: usize = 1;

impl Lru {
    fn anchor(&self) -> Slot {
        self.links.len() as Slot - 1
    }

    fn unlink(&mut self, slot: Slot) {
        let [before, after] = self.links[slot as usize];
        self.links[before as usize][AFTER] = after;
        self.links[after as usize][BEFORE] = before;
    }

    fn link_first(&mut self, slot: Slot) {
        let anchor = self.anchor();
        let first = std::mem::replace(&mut self.links[anchor as usize][AFTER], slot);
        self.links[first as usize][BEFORE] = slot;
        self.links[slot as usize] = [anchor, first];
    }
}

impl Entry for Lru {
    const INFO: Info = Info {
        name: "lru",
        summary: "the least recently used goes",
        year: 1965,
        origin: "paging",
        promises: &[],
        parameters: &[],
        source: include_str!("lru.rs"),
    };
    const STACK: bool = true;

    fn new(_: &Params, slots: u32) -> Self {
        let mut links = vec![[NOTHING; 2]; slots as usize + 1];
        links[slots as usize] = [slots; 2];
        Lru { links }
    }
}

impl Eviction for Lru {
    #[inline(always)]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.unlink(slot);
        self.link_first(slot);
    }

    #[inline(always)]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        let last = self.links[self.anchor() as usize][BEFORE];
        self.unlink(last);
        last
    }

    #[inline(always)]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        self.link_first(slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.unlink(slot);
    }
}
