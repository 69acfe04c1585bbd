//! A cache with a capacity in bytes, run by one eviction policy whose type the compiler knows. A slot is the number of a key.

use schedlab_model::{info::Params, rng::Rng};
use schedlab_policies::caches::{Context, InBytes, Key, NOTHING};

/// A cache with a capacity in bytes under one policy.
#[derive(Debug)]
pub struct ByteStore<E: InBytes> {
    policy: E,
    /// Bytes of each key in the cache; 0 for a key that is not held.
    held: Vec<u64>,
    /// The key in each slot: its own number.
    keys: Vec<Key>,
    capacity: u64,
    occupied: u64,
    rng: Rng,
    requests: u64,
    misses: u64,
    missed_bytes: u64,
}

impl<E: InBytes> ByteStore<E> {
    /// An empty cache of that capacity, bytes, for keys from 0 to below `keys`; `seed` is for randomised policies.
    ///
    /// # Panics
    /// If a key would have the number [`NOTHING`].
    pub fn new(params: &Params, capacity: u64, keys: u32, seed: u64) -> Self {
        assert!(keys < NOTHING, "{keys} keys: fewer than {NOTHING} are possible");
        ByteStore {
            policy: E::in_bytes(params, capacity, keys),
            held: vec![0; keys as usize],
            keys: (0..keys).collect(),
            capacity,
            occupied: 0,
            rng: Rng::stream(seed, 0),
            requests: 0,
            misses: 0,
            missed_bytes: 0,
        }
    }

    /// Requests `key`, whose size in bytes is at least 1; returns whether it was a hit. Afterwards it is cached unless it is too large.
    /// `next_use` is as for [`crate::store::Store::request`].
    ///
    /// # Panics
    /// If `key` is not below the number of keys given to [`ByteStore::new`].
    #[inline]
    pub fn request(&mut self, key: Key, size: u64, next_use: u64) -> bool {
        self.requests += 1;
        let ByteStore { policy, held, keys, rng, .. } = self;
        let mut cx = Context { now: self.requests, keys, next_use, rng };
        if held[key as usize] != 0 {
            policy.hit(&mut cx, key);
            return true;
        }
        self.misses += 1;
        self.missed_bytes = self.missed_bytes.saturating_add(size);
        if !policy.takes(key, size) || size > self.capacity {
            return false;
        }
        while size > self.capacity - self.occupied {
            let victim = policy.victim(&mut cx, key);
            self.occupied -= std::mem::take(&mut held[victim as usize]);
        }
        while let Some(out) = policy.crowded_out(key, size) {
            self.occupied -= std::mem::take(&mut held[out as usize]);
        }
        if policy.keeps(key, size) {
            held[key as usize] = size;
            self.occupied += size;
            policy.admit(&mut cx, key, key);
        }
        false
    }

    /// Whether `key` is in the cache.
    pub fn holds(&self, key: Key) -> bool {
        self.held[key as usize] != 0
    }

    /// Bytes in the cache.
    pub fn occupied(&self) -> u64 {
        self.occupied
    }

    /// Requests that did not find their key.
    pub fn misses(&self) -> u64 {
        self.misses
    }

    /// Bytes that they requested.
    pub fn missed_bytes(&self) -> u64 {
        self.missed_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_policies::caches::Lru;

    #[test]
    fn a_large_object_evicts_as_many_as_it_needs_and_one_too_large_none() {
        let mut store = ByteStore::<Lru>::new(&Params::default(), 100, 5, 0);
        let asked = [(0, 40), (1, 30), (2, 30), (0, 40), (3, 60), (4, 101), (0, 40), (3, 60), (1, 30)];
        let hits = asked.map(|(key, size)| store.request(key, size, u64::MAX));
        assert_eq!(hits, [false, false, false, true, false, false, true, true, false]);
        assert_eq!((store.misses(), store.missed_bytes()), (6, 40 + 30 + 30 + 60 + 101 + 30));
        assert_eq!((store.occupied(), store.holds(0), store.holds(3)), (90, false, true));
    }

    #[test]
    fn an_object_keeps_the_size_with_which_it_came() {
        let mut store = ByteStore::<Lru>::new(&Params::default(), 100, 2, 0);
        assert!(!store.request(0, 50, u64::MAX) && store.request(0, 90, u64::MAX));
        assert_eq!(store.occupied(), 50);
    }
}
