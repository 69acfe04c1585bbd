//! # arc
//!
//! Promises to adapt by itself the shares of the cache for keys requested once and for the rest.
//!
//! ## The idea
//!
//!     T1: requested once recently. T2: requested at least twice. Both least recently used.
//!     B1, B2: keys evicted from T1 and T2, without their contents; T1 with B1 has at most as many as there are
//!     slots, all four twice that.
//!     A hit, or a key found in B1 or B2, goes to the front of T2; any other to the front of T1.
//!     p is how large T1 should be. A key found in B1 indicates that T1 was too small: p grows. One found in B2 shrinks it.
//!     The victim is the last of T1 if T1 is larger than p, else the last of T2.
//!
//! ## The formula
//!
//! ```text
//! found in B1: p := min(c, p + max(1, |B2| / |B1|))      c: slots; |B1|, |B2|: keys there, the found one counted
//! found in B2: p := max(0, p - max(1, |B1| / |B2|))
//! ```
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 1 3 4 2 5 1
//! hit   . . * . . . . .
//! out   . . . . 2 3 1 4
//! ```
//!
//! 2 is found in B1, and p becomes 1: so T2 gives up a slot for 5. 1 is found in B2, and p is 0 again.
//!
//! ## Cost
//!
//! Hit and miss: constant. Sixteen bytes for each key, for B1 and B2.
//!
//! ## Good for, not for
//!
//! Loads that change between scans, loops and popular keys, without a parameter to tune. It learns only from keys
//! requested again while they are remembered: from a loop over more than twice the cache it learns nothing.
//!
//! ## Departures
//!
//! If T1 has its size but T2 is empty (only after deletions), T1 gives the victim. p is a fraction, as in the paper;
//! it is a share of slots, not a time. Misses equal those of libCacheSim 0.3.5 on all sequences of
//! `bench/cache_exactness.py`.
//!
//! ## References
//!
//! - N. Megiddo, D. Modha, ARC: a self-tuning, low overhead replacement cache, FAST 2003, figure 4.

use super::{
    Context, Entry, Eviction, InBytes, Key, NOTHING, Slot,
    kit::ghosts::Ghosts,
    kit::weights::{Bytes, Ones, Weighed, Weights},
};
use schedlab_model::info::{Info, Params};

/// Adaptive replacement.
#[derive(Debug)]
pub struct Arc<W = Ones> {
    /// Slots: `ONCE` (T1) and `OFTEN` (T2), the last used first.
    lists: Weighed<2, W>,
    /// Whether each slot is in `OFTEN`.
    often: Vec<bool>,
    /// Keys evicted from `ONCE` (B1) and from `OFTEN` (B2).
    ghosts: [Ghosts<W>; 2],
    /// How large `ONCE` should be (p).
    target: f64,
    /// Slots, or bytes.
    capacity: u64,
    /// The key that comes in, if it was found among the ghosts, and where.
    returns: Key,
    found_in: Option<usize>,
    /// What the key that comes in counts for.
    incoming: u64,
}

const ONCE: usize = 0;
const OFTEN: usize = 1;

impl<W: Weights> Arc<W> {
    /// Whether a key is among the ghosts, and among which. Forgets it, and learns from it.
    #[inline]
    fn recall(&mut self, key: Key) -> Option<usize> {
        let from = [ONCE, OFTEN].into_iter().find(|&list| self.ghosts[list].contains(key))?;
        let step = (self.ghosts[1 - from].sum() as f64 / self.ghosts[from].sum() as f64).max(1.0);
        self.target = match from {
            ONCE => (self.target + step).min(self.capacity as f64),
            _ => (self.target - step).max(0.0),
        };
        self.ghosts[from].recall(key);
        Some(from)
    }

    /// The last of the list that is too large (REPLACE in the paper).
    #[inline]
    fn replace(&mut self, keys: &[Key], found_in: Option<usize>) -> Slot {
        let once = self.lists.sum(ONCE) as f64;
        let too_large = once > self.target || (found_in == Some(OFTEN) && once == self.target);
        let list = if (once > 0.0 && too_large) || self.lists.is_empty(OFTEN) { ONCE } else { OFTEN };
        let slot = self.lists.pop(list);
        self.ghosts[list].remember(keys[slot as usize], self.lists.of(slot));
        slot
    }
}

impl<W: Weights> Entry for Arc<W> {
    const INFO: Info = Info {
        name: "arc",
        summary: "divides the slots between once and often by which would have hit more",
        year: 2003,
        origin: "storage controllers",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("arc.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Arc {
            lists: Weighed::new(slots),
            often: vec![false; slots as usize],
            // B2 can hold twice the slots when T1, B1 and T2 are emptied from outside.
            ghosts: [Ghosts::new(slots.into()), Ghosts::new(2 * u64::from(slots))],
            target: 0.0,
            capacity: slots.into(),
            returns: NOTHING,
            found_in: None,
            incoming: 1,
        }
    }
}

impl<W: Weights> Eviction for Arc<W> {
    #[inline]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        if std::mem::replace(&mut self.often[slot as usize], true) {
            self.lists.touch(OFTEN, slot);
        } else {
            self.lists.remove(ONCE, slot);
            self.lists.push(OFTEN, slot);
        }
    }

    /// The order of its list, and no second request.
    #[inline]
    fn first_use(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.lists.touch(if self.often[slot as usize] { OFTEN } else { ONCE }, slot);
    }

    #[inline]
    fn victim(&mut self, cx: &mut Context<'_>, incoming: Key) -> Slot {
        if !W::BYTES {
            self.found_in = self.recall(incoming);
            self.returns = if self.found_in.is_some() { incoming } else { NOTHING };
        }
        if self.found_in.is_some() {
            return self.replace(cx.keys, self.found_in);
        }
        let known_once = self.lists.sum(ONCE) + self.ghosts[ONCE].sum();
        if known_once + self.incoming > self.capacity {
            if self.ghosts[ONCE].sum() == 0 {
                return self.lists.pop(ONCE); // nor is it remembered: T1 and B1 are one list of that many
            }
            self.ghosts[ONCE].forget_oldest();
        } else if known_once + self.lists.sum(OFTEN) + self.ghosts[OFTEN].sum() >= 2 * self.capacity {
            self.ghosts[OFTEN].forget_oldest();
        }
        self.replace(cx.keys, None)
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        // Between a victim and the key that it made room for, slots may come back that could not be freed.
        let returns = self.returns == key;
        if returns {
            self.returns = NOTHING;
        }
        let often = returns || self.recall(key).is_some();
        self.often[slot as usize] = often;
        self.lists.push(usize::from(often), slot);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.lists.remove(usize::from(self.often[slot as usize]), slot);
    }
}

impl InBytes for Arc<Bytes> {
    fn in_bytes(params: &Params, capacity: u64, keys: u32) -> Self {
        // B1 and B2 are only bounded where a victim is chosen.
        let ghosts = [Ghosts::new(u64::MAX / 2), Ghosts::new(u64::MAX / 2)];
        Arc { capacity, ghosts, ..Self::new(params, keys) }
    }

    #[inline]
    fn takes(&mut self, key: Key, size: u64) -> bool {
        self.found_in = self.recall(key);
        self.returns = if self.found_in.is_some() { key } else { NOTHING };
        self.lists.weigh(key, size);
        self.incoming = size;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::{self, Trial};

    #[test]
    fn a_scan_leaves_what_was_hit_alone() {
        let mut trial = Trial::<Arc>::new(8);
        trial.ask(&[1, 2, 1, 2]);
        trial.ask(&(100..1000).collect::<Vec<Key>>());
        assert_eq!(trial.held()[..2], [1, 2]);
    }

    #[test]
    fn the_target_follows_the_ghosts() {
        let mut trial = Trial::<Arc>::new(4);
        trial.ask(&[1, 2, 1, 2, 3, 4, 5]); // 3 goes to B1
        assert_eq!(trial.policy.target, 0.0);
        trial.ask(&[3]);
        assert_eq!(trial.policy.target, 1.0);
        trial.ask(&[4, 6, 7]);
        let before = trial.policy.target;
        let remembered = (1..8).find(|&key| trial.policy.ghosts[OFTEN].contains(key)).expect("T2 gave a slot");
        trial.ask(&[remembered]);
        assert!(trial.policy.target < before);
    }

    #[test]
    fn it_never_remembers_more_than_twice_its_slots() {
        let mut draws = trial::draws(5);
        let mut trial = Trial::<Arc>::new(16);
        for _ in 0..5000 {
            let key = (draws.below(8) * draws.below(12)) as Key;
            trial.ask(&[key]);
            let policy = &trial.policy;
            let once = policy.lists.sum(ONCE) + policy.ghosts[ONCE].sum();
            assert!(once <= 16 && once + policy.lists.sum(OFTEN) + policy.ghosts[OFTEN].sum() <= 32);
        }
    }
}
