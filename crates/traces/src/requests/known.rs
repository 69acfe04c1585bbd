//! The numbers of keys that are numbers: open addressing in one array, so that a lookup touches one cache line, and keys looked
//! up in batches, so that the cache misses overlap.

use std::hash::{BuildHasher, Hasher};

/// Keys that are looked up together.
const TOGETHER: usize = 64;
/// Places of a table at the beginning, as a power of two. At most half of them are taken.
const FIRST_SHIFT: u32 = 12;
/// Marks a free place.
const FREE: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u64,
    number: u32,
}

/// Keys with their numbers, and keys that wait for theirs.
#[derive(Debug)]
pub(super) struct Known {
    table: Vec<Entry>,
    shift: u32,
    taken: usize,
    /// Random, so that no file can be written whose keys all collide.
    seed: u64,
    waiting: Vec<(u64, u64)>,
}

impl Default for Known {
    fn default() -> Self {
        let seed = hashbrown::DefaultHashBuilder::default().build_hasher().finish();
        Known { table: empty(FIRST_SHIFT), shift: FIRST_SHIFT, taken: 0, seed, waiting: Vec::with_capacity(TOGETHER) }
    }
}

fn empty(shift: u32) -> Vec<Entry> {
    vec![Entry { key: 0, number: FREE }; 1 << shift]
}

impl Known {
    /// Takes a key, and what comes with it; whether [`Known::number`] is to be called, before anything else is.
    #[inline(always)]
    pub fn wait(&mut self, key: u64, with: u64) -> bool {
        self.waiting.push((key, with));
        self.waiting.len() == TOGETHER
    }

    /// Hands over the numbers of the keys that wait, in their order. New ones get `next`, and so on.
    pub fn number(&mut self, next: &mut u32, mut give: impl FnMut(u32, u64, bool)) {
        let mut found = [FREE; TOGETHER];
        for (found, &(key, _)) in found.iter_mut().zip(&self.waiting) {
            let entry = self.table[self.place(key)];
            if entry.key == key {
                *found = entry.number;
            }
        }
        for (at, found) in found.into_iter().enumerate().take(self.waiting.len()) {
            let (key, with) = self.waiting[at];
            if found != FREE {
                give(found, with, false);
                continue;
            }
            let number = self.find_or_add(key, *next);
            let new = number == *next;
            *next += u32::from(new);
            give(number, with, new);
        }
        self.waiting.clear();
    }

    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        // Both halves of a product with a constant of many bits (the golden ratio's) depend on all bits of the key.
        let product = u128::from(key ^ self.seed) * 0x9E37_79B9_7F4A_7C15;
        let mixed = (product >> 64) as u64 ^ product as u64;
        (mixed.wrapping_mul(0xBF58_476D_1CE4_E5B9) >> (64 - self.shift)) as usize
    }

    fn find_or_add(&mut self, key: u64, new: u32) -> u32 {
        let mask = self.table.len() - 1;
        let mut at = self.place(key);
        while self.table[at].number != FREE {
            if self.table[at].key == key {
                return self.table[at].number;
            }
            at = (at + 1) & mask;
        }
        self.table[at] = Entry { key, number: new };
        self.taken += 1;
        if 2 * self.taken > self.table.len() {
            self.grow();
        }
        new
    }

    #[cold]
    fn grow(&mut self) {
        self.shift += 1;
        let old = std::mem::replace(&mut self.table, empty(self.shift));
        let mask = self.table.len() - 1;
        for entry in old.into_iter().filter(|entry| entry.number != FREE) {
            let mut at = self.place(entry.key);
            while self.table[at].number != FREE {
                at = (at + 1) & mask;
            }
            self.table[at] = entry;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn keys_are_numbered_in_the_order_in_which_they_come(keys in prop::collection::vec(0..5000u64, 0..9000), shift in 0..50u32) {
            let (mut known, mut next, mut numbers) = (Known::default(), 0, Vec::new());
            for (at, key) in keys.iter().enumerate() {
                if known.wait(key << shift, at as u64) {
                    known.number(&mut next, |number, with, new| numbers.push((number, with, new)));
                }
            }
            known.number(&mut next, |number, with, new| numbers.push((number, with, new)));
            let mut met = std::collections::HashMap::new();
            for (at, key) in keys.iter().enumerate() {
                let (count, new) = (met.len() as u32, !met.contains_key(key));
                prop_assert_eq!(numbers[at], (*met.entry(key).or_insert(count), at as u64, new));
            }
            prop_assert_eq!((next as usize, numbers.len()), (met.len(), keys.len()));
        }
    }
}
