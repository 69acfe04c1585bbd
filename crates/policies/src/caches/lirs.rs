//! # lirs
//!
//! Promises to keep the keys whose last two requests are closest together.
//!
//! ## The idea
//!
//!     The span between the last two requests for a key predicts its next request better than the time since the last one.
//!     LIR: nearly all slots, for keys with short spans. HIR: the few other slots, and keys that are remembered
//!     without a slot.
//!     Stack S: keys by last request, down to the oldest LIR key. A key that is found in S was requested within a
//!     shorter span than the oldest LIR key can show; so an HIR key found there becomes LIR, and the oldest LIR key becomes HIR.
//!     Queue Q: HIR keys with a slot. The victim is the oldest in Q; it stays in S, as a memory, if it is there.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 4 5 4 1 2 4
//! hit   . . . . . . * * *
//! out   . . . 3 4 5 . . .
//! ```
//!
//! 1 and 2 are LIR, the others share one slot. 4 is requested again while S remembers it, and is LIR from then on; 1, the
//! oldest LIR key, becomes HIR and is in the queue, where its next request finds it.
//!
//! ## Cost
//!
//! Hit and miss: constant on average (each key is pruned from the stack once for each time that it was put there). 24
//! bytes a key.
//!
//! ## Good for, not for
//!
//! Loops larger than the cache, of which it keeps a part; scans. It adapts slowly when the popular keys change, as all new
//! keys share the few HIR slots.
//!
//! ## Departures
//!
//! The paper does not bound S. Here, as in libCacheSim, it has at most `stack` % of the slots (200): the key that was
//! without a slot for longest is forgotten. libCacheSim 0.3.5 also makes an LIR key HIR when an HIR key is hit that is in
//! Q only, and leaves its place empty; the paper (section 3) and this implementation do not. In the million requests of
//! each sequence of `bench/cache_exactness.py` it misses up to 258 times less and 3616 times more for it; a model with and
//! without that step (`bench/lirs_peer.py`) counts the misses of both.
//!
//! ## References
//!
//! - S. Jiang, X. Zhang, LIRS: an efficient low inter-reference recency set replacement policy, SIGMETRICS 2002,
//!   section 3.

use super::{Context, Entry, Eviction, Key, NOTHING, Slot, kit::links::Lists, share};
use schedlab_model::info::{Domain, Info, Parameter, Params};

/// Low inter-reference recency set.
#[derive(Debug)]
pub struct Lirs {
    /// S: keys, the most recently requested first.
    stack: Lists<1>,
    /// Keys: `QUEUE` (Q) and `GONE`, those in S without a slot, the last to lose it first.
    lists: Lists<2>,
    known: Vec<Known>,
    /// LIR keys, and how many there may be.
    lir: u32,
    most_lir: u32,
    /// Keys in S, at most.
    most_in_stack: u32,
}

/// What is known of a key.
#[derive(Debug, Clone, Copy)]
struct Known {
    status: Status,
    slot: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// Neither in the cache nor in S.
    Unknown,
    /// In the cache and in S.
    Lir,
    /// In the cache and in Q, perhaps in S.
    Hir,
    /// In S only.
    Gone,
}

const QUEUE: usize = 0;
const GONE: usize = 1;
const UNKNOWN: Known = Known { status: Status::Unknown, slot: NOTHING };

impl Lirs {
    #[inline]
    fn status(&self, key: Key) -> Status {
        self.known[key as usize].status
    }

    #[inline]
    fn set(&mut self, key: Key, status: Status) {
        self.known[key as usize].status = status;
    }

    fn reach(&mut self, key: Key) {
        self.stack.reach(key);
        self.lists.reach(key);
        if key as usize >= self.known.len() {
            self.known.resize((key as usize + 1).max(2 * self.known.len()), UNKNOWN);
        }
    }

    /// Makes a key LIR that is first in S, and the oldest LIR key HIR if there are too many.
    #[inline]
    fn promote(&mut self, key: Key) {
        self.set(key, Status::Lir);
        self.lir += 1;
        while self.lir > self.most_lir {
            self.demote();
        }
    }

    /// Makes the oldest LIR key HIR: there are too many, or a victim is wanted of a cache that has no others yet.
    #[inline]
    fn demote(&mut self) {
        self.prune(); // does nothing but where there is only one LIR key
        let oldest = self.stack.pop(0);
        self.set(oldest, Status::Hir);
        self.lists.push(QUEUE, oldest);
        self.lir -= 1;
        self.prune();
    }

    /// Takes all that is below the oldest LIR key out of S.
    #[inline]
    fn prune(&mut self) {
        loop {
            let last = self.stack.last(0);
            if last == NOTHING || self.status(last) == Status::Lir {
                return;
            }
            self.stack.remove(0, last);
            if self.status(last) == Status::Gone {
                self.lists.remove(GONE, last);
                self.set(last, Status::Unknown);
            }
        }
    }

    /// Forgets the key that was without a slot for longest, while S is too large.
    #[inline]
    fn bound_stack(&mut self) {
        while self.stack.len(0) > self.most_in_stack && self.lists.len(GONE) > 0 {
            let oldest = self.lists.pop(GONE);
            self.stack.remove(0, oldest);
            self.set(oldest, Status::Unknown);
        }
    }
}

impl Entry for Lirs {
    const INFO: Info = Info {
        name: "lirs",
        summary: "the span between the last two requests for a key decides, not the time since the last",
        year: 2002,
        origin: "block caches",
        promises: &[],
        parameters: &[
            Parameter {
                name: "hir",
                meaning: "share of the slots for HIR keys, at least one, in %",
                domain: Domain::Count { low: 0, high: 99 },
                default: Some("1"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "stack",
                meaning: "keys in the stack at most, those without a slot too, in % of the slots",
                domain: Domain::Count { low: 100, high: 10_000 },
                default: Some("200"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("lirs.rs"),
    };

    fn new(params: &Params, slots: u32) -> Self {
        Lirs {
            stack: Lists::new(0),
            lists: Lists::new(0),
            known: Vec::new(),
            lir: 0,
            most_lir: slots - share(slots, params.whole("hir")).max(1),
            most_in_stack: share(slots, params.whole("stack")),
        }
    }
}

impl Eviction for Lirs {
    #[inline]
    fn hit(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let key = cx.keys[slot as usize];
        if self.status(key) == Status::Lir {
            let was_last = self.stack.last(0) == key;
            self.stack.touch(0, key);
            if was_last {
                self.prune();
            }
        } else if self.stack.contains(key) {
            self.stack.touch(0, key);
            self.lists.remove(QUEUE, key);
            self.promote(key);
        } else {
            self.stack.push(0, key);
            self.lists.touch(QUEUE, key);
            self.bound_stack();
        }
    }

    /// The order of stack and queue, and no second request: a key that was not in the stack stays HIR.
    #[inline]
    fn first_use(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let key = cx.keys[slot as usize];
        if self.status(key) == Status::Lir {
            return self.hit(cx, slot);
        }
        if self.stack.contains(key) {
            self.stack.touch(0, key);
        }
        self.lists.touch(QUEUE, key);
    }

    #[inline]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        if self.lists.len(QUEUE) == 0 {
            self.demote();
        }
        let key = self.lists.pop(QUEUE);
        if self.stack.contains(key) {
            self.set(key, Status::Gone);
            self.lists.push(GONE, key);
        } else {
            self.set(key, Status::Unknown);
        }
        self.known[key as usize].slot
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        self.reach(key);
        self.known[key as usize].slot = slot;
        if self.status(key) == Status::Gone {
            self.lists.remove(GONE, key);
            self.stack.touch(0, key);
            self.promote(key);
        } else {
            self.stack.push(0, key);
            if self.lir < self.most_lir {
                self.promote(key);
            } else {
                self.set(key, Status::Hir);
                self.lists.push(QUEUE, key);
            }
        }
        self.bound_stack();
    }

    fn remove(&mut self, cx: &mut Context<'_>, slot: Slot) {
        let key = cx.keys[slot as usize];
        if self.stack.contains(key) {
            self.stack.remove(0, key);
        }
        if self.status(key) == Status::Lir {
            self.lir -= 1;
            self.prune();
        } else {
            self.lists.remove(QUEUE, key);
        }
        self.set(key, Status::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::{self, Trial};

    #[test]
    fn a_loop_larger_than_the_cache_hits_on_all_lir_keys() {
        let mut trial = Trial::<Lirs>::new(100);
        let round: Vec<Key> = (0..110).collect();
        trial.ask(&round);
        for _ in 0..20 {
            assert_eq!(trial.ask(&round).misses, 110 - 99);
        }
    }

    #[test]
    fn the_bottom_of_the_stack_is_an_lir_key_and_the_stack_is_bounded() {
        let mut draws = trial::draws(7);
        let mut trial = Trial::<Lirs>::with(20, &[("hir", "10")]);
        for _ in 0..5000 {
            trial.ask(&[(draws.below(30) * draws.below(9)) as Key]);
            let policy = &trial.policy;
            let last = policy.stack.last(0);
            assert_eq!(policy.status(last), Status::Lir);
            assert!(policy.stack.len(0) <= 40 && policy.lir <= 18);
        }
    }

    #[test]
    fn a_hit_in_the_queue_alone_makes_no_key_lir() {
        let mut trial = Trial::<Lirs>::with(4, &[("hir", "50")]);
        // 1 and 2 are LIR, 3 and 4 HIR; the hits on 1 and 2 leave 3 and 4 below them, so S loses both.
        trial.ask(&[1, 2, 3, 4, 1, 2]);
        trial.ask(&[3]);
        assert_eq!(trial.policy.status(3), Status::Hir);
        trial.ask(&[3]);
        assert_eq!(trial.policy.status(3), Status::Lir, "by now S knows it");
        assert_eq!(trial.policy.status(1), Status::Hir);
    }

    #[test]
    fn a_freed_lir_slot_makes_the_next_new_key_lir() {
        let mut trial = Trial::<Lirs>::new(3);
        trial.ask(&[1, 2, 3]);
        trial.delete(1);
        trial.ask(&[9]);
        assert_eq!(trial.policy.status(9), Status::Lir);
    }
}
