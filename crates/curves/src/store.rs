//! A cache run by one eviction policy whose type the compiler knows: which key is in which slot, and what was hit.
//! Finding a key is one look into an array, for keys are dense numbers; nothing is hashed.

use schedlab_model::{info::Params, rng::Rng};
use schedlab_policies::caches::{Context, Entry, Key, NOTHING, Slot};

/// A cache with a capacity in slots under one policy.
#[derive(Debug)]
pub struct Store<E: Entry> {
    policy: E,
    /// The slot of each key; [`NOTHING`] for a key that is not held.
    slot_of: Vec<Slot>,
    /// The key in each slot. That of a free slot means nothing.
    keys: Vec<Key>,
    /// The next free slot is the last of these.
    free: Vec<Slot>,
    rng: Rng,
    requests: u64,
    misses: u64,
}

impl<E: Entry> Store<E> {
    /// An empty cache for keys from 0 to below `keys`; `seed` is for randomised policies.
    ///
    /// # Panics
    /// If there is no slot, or a slot or key would have the number [`NOTHING`].
    pub fn new(params: &Params, slots: u32, keys: u32, seed: u64) -> Self {
        assert!(slots > 0, "a cache has at least one slot");
        assert!(slots < NOTHING && keys < NOTHING, "{slots} slots and {keys} keys: fewer than {NOTHING} are possible");
        Store {
            policy: E::new(params, slots),
            slot_of: vec![NOTHING; keys as usize],
            keys: vec![NOTHING; slots as usize],
            free: (0..slots).rev().collect(),
            rng: Rng::stream(seed, 0),
            requests: 0,
            misses: 0,
        }
    }

    /// Requests `key`; returns whether it was a hit. Afterwards it is cached. `next_use` is the number (from 1) of the next
    /// request for this key, `u64::MAX` if there is none or it is unknown.
    ///
    /// # Panics
    /// If `key` is not below the number of keys given to [`Store::new`].
    #[inline]
    pub fn request(&mut self, key: Key, next_use: u64) -> bool {
        self.requests += 1;
        let Store { policy, slot_of, keys, free, rng, .. } = self;
        let held = slot_of[key as usize];
        let mut cx = Context { now: self.requests, keys, next_use, rng };
        if held != NOTHING {
            policy.hit(&mut cx, held);
            return true;
        }
        self.misses += 1;
        let slot = free.pop().unwrap_or_else(|| {
            let victim = policy.victim(&mut cx, key);
            slot_of[cx.keys[victim as usize] as usize] = NOTHING;
            victim
        });
        keys[slot as usize] = key;
        slot_of[key as usize] = slot;
        policy.admit(&mut Context { now: self.requests, keys, next_use, rng }, slot, key);
        false
    }

    /// Drops `key` as if its file had been deleted; whether it was there.
    pub fn remove(&mut self, key: Key) -> bool {
        let slot = std::mem::replace(&mut self.slot_of[key as usize], NOTHING);
        if slot == NOTHING {
            return false;
        }
        let Store { policy, keys, rng, .. } = self;
        policy.remove(&mut Context { now: self.requests, keys, next_use: u64::MAX, rng }, slot);
        self.free.push(slot);
        true
    }

    /// Whether `key` is in the cache.
    pub fn holds(&self, key: Key) -> bool {
        self.slot_of[key as usize] != NOTHING
    }

    /// Keys in the cache.
    pub fn held(&self) -> u32 {
        (self.keys.len() - self.free.len()) as u32
    }

    /// The key in each slot, `None` where it is free.
    pub fn slots(&self) -> impl Iterator<Item = Option<Key>> {
        let held = |slot: Slot, key: Key| key != NOTHING && self.slot_of[key as usize] == slot;
        (0..).zip(&self.keys).map(move |(slot, &key)| held(slot, key).then_some(key))
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Requests that found their key.
    pub fn hits(&self) -> u64 {
        self.requests - self.misses
    }

    /// Requests that did not.
    pub fn misses(&self) -> u64 {
        self.misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policies::caches::Lru;

    fn lru(slots: u32, keys: u32) -> Store<Lru> {
        Store::new(&Params::default(), slots, keys, 0)
    }

    #[test]
    fn hits_and_misses_are_those_of_the_worked_schedule() {
        let mut store = lru(3, 5);
        let hits: Vec<bool> = [1, 2, 3, 1, 4, 2].map(|key| store.request(key, u64::MAX)).to_vec();
        assert_eq!(hits, [false, false, false, true, false, false]);
        assert_eq!((store.requests(), store.hits(), store.misses(), store.held()), (6, 1, 5, 3));
        assert_eq!([0, 1, 2, 3, 4].map(|key| store.holds(key)), [false, true, true, false, true]);
    }

    #[test]
    fn a_removed_key_frees_its_slot_for_the_next() {
        let mut store = lru(2, 4);
        store.request(0, u64::MAX);
        store.request(1, u64::MAX);
        assert!(store.remove(0));
        assert!(!store.remove(0));
        assert_eq!(store.held(), 1);
        assert_eq!(store.slots().collect::<Vec<_>>(), [None, Some(1)]);
        store.request(2, u64::MAX);
        assert!(store.holds(1), "no key was evicted");
        store.request(3, u64::MAX);
        assert!(!store.holds(1));
    }

    #[test]
    #[should_panic(expected = "at least one slot")]
    fn a_cache_without_slots_is_refused() {
        lru(0, 1);
    }
}
