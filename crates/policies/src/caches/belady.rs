//! # belady
//!
//! Promises that no other policy that admits every key has fewer misses. It is clairvoyant.
//!
//! ## The idea
//!
//!     The victim is the key whose next request is farthest away, or that is never requested again.
//!     A heap has the next use of every slot, the farthest on top. A hit adds the slot's new next use and leaves the
//!     old entry, which is known by not being the slot's next use any more; when such entries are most of the heap,
//!     it is built anew.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 4 1 2 5 1 2 3 4 5
//! hit   . . . . * * . * * . . *
//! out   . . . 3 . . 4 . . 2 3 .
//! ```
//!
//! Seven misses, where `fifo` has nine and `lru` ten. When no key is requested again, the one in the higher slot is evicted.
//!
//! ## Cost
//!
//! Hit: the logarithm of the slots, mostly less. Miss: the logarithm of the slots.
//!
//! ## Good for, not for
//!
//! The bound below which no curve can fall. Only for recorded traces, whose future requests are known.
//!
//! ## Departures
//!
//! Every key is admitted, as a page that was requested must be. A cache that may refuse a key could miss less.
//!
//! ## References
//!
//! - L. Belady, A study of replacement algorithms for a virtual-storage computer, IBM Systems Journal 5(2), 1966,
//!   "MIN".
//! - R. Mattson and others, 1970 (see `lru`): proof that the farthest next use is best ("OPT").

use super::{Context, Entry, Eviction, Key, Slot};
use schedlab_model::info::{Info, Params, Promise};
use std::collections::BinaryHeap;

/// Farthest next use goes.
#[derive(Debug)]
pub struct Belady {
    /// Next use and slot; the entry of a slot counts only if it is the slot's `next_use`.
    heap: BinaryHeap<(u64, Slot)>,
    /// For each slot its next use; 0 for a free one.
    next_use: Vec<u64>,
}

impl Belady {
    #[inline]
    fn expect(&mut self, slot: Slot, next_use: u64) {
        self.next_use[slot as usize] = next_use;
        self.heap.push((next_use, slot));
        if self.heap.len() > 2 * self.next_use.len() {
            self.drop_old_entries();
        }
    }

    #[cold]
    fn drop_old_entries(&mut self) {
        let next_use = &self.next_use;
        self.heap.retain(|&(next, slot)| next_use[slot as usize] == next);
        // An old entry can equal the new one where the next use is not known.
        if self.heap.len() > self.next_use.len() {
            let mut entries = std::mem::take(&mut self.heap).into_vec();
            entries.sort_unstable();
            entries.dedup();
            self.heap = entries.into();
        }
    }
}

impl Entry for Belady {
    const INFO: Info = Info {
        name: "belady",
        summary: "evicts the object whose next request is farthest away (clairvoyant)",
        year: 1966,
        origin: "theory",
        promises: &[Promise::Clairvoyant],
        parameters: &[],
        source: schedlab_model::documentation!("belady.rs"),
    };
    const CLAIRVOYANT: bool = true;

    fn new(_: &Params, slots: u32) -> Self {
        Belady { heap: BinaryHeap::with_capacity(2 * slots as usize + 1), next_use: vec![0; slots as usize] }
    }
}

impl Eviction for Belady {
    #[inline]
    fn hit(&mut self, cx: &mut Context<'_>, slot: Slot) {
        self.expect(slot, cx.next_use);
    }

    #[inline]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        while let Some((next, slot)) = self.heap.pop() {
            if self.next_use[slot as usize] == next {
                self.next_use[slot as usize] = 0;
                return slot;
            }
        }
        unreachable!("every slot in use has an entry")
    }

    #[inline]
    fn admit(&mut self, cx: &mut Context<'_>, slot: Slot, _: Key) {
        self.expect(slot, cx.next_use);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.next_use[slot as usize] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn what_is_never_asked_for_again_goes_first() {
        assert_eq!(Trial::<Belady>::new(3).ask(&[1, 2, 3, 4, 1, 3, 4]).out, [2]);
    }

    #[test]
    fn no_choice_of_victims_misses_less_on_any_short_sequence() {
        // All 4^8 sequences of eight requests for four keys in two slots, against the best of all choices.
        fn fewest(asked: &[Key], held: [Key; 2]) -> usize {
            let Some((&key, rest)) = asked.split_first() else { return 0 };
            if held.contains(&key) {
                return fewest(rest, held);
            }
            1 + fewest(rest, [key, held[1]]).min(fewest(rest, [held[0], key]))
        }
        for number in 0..4_u32.pow(8) {
            let asked: Vec<Key> = (0..8).map(|place| number >> (2 * place) & 3).collect();
            assert_eq!(Trial::<Belady>::new(2).ask(&asked).misses, fewest(&asked, [99, 98]), "{asked:?}");
        }
    }

    #[test]
    fn what_was_known_of_a_slot_before_it_was_freed_does_not_count() {
        let mut trial = Trial::<Belady>::new(2);
        trial.ask(&[1, 5]); // neither is requested again, as far as is known
        trial.delete(5);
        assert_eq!(trial.ask(&[2, 1, 3, 2, 1]).out[0], 1, "of 1 and 2, 1 is asked for last");
    }

    #[test]
    fn the_heap_stays_small_however_many_hits() {
        let mut trial = Trial::<Belady>::new(4);
        trial.ask(&(0..4).cycle().take(2000).collect::<Vec<Key>>());
        for _ in 0..100 {
            trial.ask(&[1]); // nothing known of the next use
        }
        assert!(trial.policy.heap.len() <= 8);
    }
}
