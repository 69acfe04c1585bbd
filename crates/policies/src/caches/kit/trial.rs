//! A small cache for the tests of the policies: records the evicted keys.

use crate::caches::{Context, Entry, Key, NOTHING, Slot};
use schedlab_model::{info::Params, rng::Rng};
use std::collections::BTreeMap;

/// A policy at work.
pub(in crate::caches) struct Trial<E> {
    /// The policy.
    pub policy: E,
    held: BTreeMap<Key, Slot>,
    keys: Vec<Key>,
    free: Vec<Slot>,
    rng: Rng,
    now: u64,
}

/// What came of some requests.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::caches) struct Outcome {
    /// Requests that found nothing.
    pub misses: usize,
    /// The evicted keys, in order.
    pub out: Vec<Key>,
}

/// Random numbers for the keys of a test.
pub(in crate::caches) fn draws(seed: u64) -> Rng {
    Rng::stream(seed, 1)
}

impl<E: Entry> Trial<E> {
    /// With the given number of slots and the default parameters.
    pub fn new(slots: u32) -> Self {
        Self::with(slots, &[])
    }

    /// With these parameters.
    pub fn with(slots: u32, given: &[(&str, &str)]) -> Self {
        let given = given.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let params = Params::check(&E::INFO, given).expect("known parameters");
        Trial {
            policy: E::new(&params, slots),
            held: BTreeMap::new(),
            keys: vec![NOTHING; slots as usize],
            free: (0..slots).rev().collect(),
            rng: Rng::stream(1, 0),
            now: 0,
        }
    }

    /// Requests these keys in order; no request after them is known.
    pub fn ask(&mut self, asked: &[Key]) -> Outcome {
        let mut outcome = Outcome { misses: 0, out: Vec::new() };
        for (at, &key) in asked.iter().enumerate() {
            let ahead = asked[at + 1..].iter().position(|&later| later == key);
            let next = ahead.map_or(u64::MAX, |distance| self.now + 2 + distance as u64);
            self.ask_one(key, next, &mut outcome);
        }
        outcome
    }

    fn ask_one(&mut self, key: Key, next_use: u64, outcome: &mut Outcome) {
        self.now += 1;
        let mut cx = Context { now: self.now, keys: &self.keys, next_use, rng: &mut self.rng };
        if let Some(&slot) = self.held.get(&key) {
            return self.policy.hit(&mut cx, slot);
        }
        outcome.misses += 1;
        let slot = self.free.pop().unwrap_or_else(|| self.policy.victim(&mut cx, key));
        let old = std::mem::replace(&mut self.keys[slot as usize], key);
        if self.held.remove(&old).is_some() {
            outcome.out.push(old);
        }
        self.held.insert(key, slot);
        let mut cx = Context { now: self.now, keys: &self.keys, next_use, rng: &mut self.rng };
        self.policy.admit(&mut cx, slot, key);
    }

    /// Deletes a key that is held.
    pub fn delete(&mut self, key: Key) {
        let slot = self.held.remove(&key).expect("the key is held");
        let mut cx = Context { now: self.now, keys: &self.keys, next_use: u64::MAX, rng: &mut self.rng };
        self.policy.remove(&mut cx, slot);
        self.keys[slot as usize] = NOTHING;
        self.free.push(slot);
    }

    /// What is held, in order of the keys.
    pub fn held(&self) -> Vec<Key> {
        self.held.keys().copied().collect()
    }
}
