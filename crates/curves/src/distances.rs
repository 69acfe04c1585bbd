//! Stack distances: the misses of an LRU cache of every size, in one pass (Mattson and others, 1970).
//!
//!     The distance of a request is the number of other keys requested since the last request of its key. LRU holds a key
//!     in a cache of n slots as long as fewer than n others came after it: so a request hits exactly where its distance is
//!     below n, and
//!
//!         misses(n) = requests - sum over d < n of count(d)        count(d): requests of distance d
//!
//! Each key that was met has a mark at the place of its last request in a row of places; the distance is the number of marks
//! behind its own. Marks are bits, counted in blocks of 512 whose sums are a Fenwick tree (Bennett and Kruskal's
//! method, 1975): O(log n) a request. When the row is full, the marks move up to its beginning in their order; as the row is twice
//! as long as there are keys, that costs a constant a request. Memory: 16.3 bytes a key, whatever the number of requests.

use schedlab_policies::caches::{Key, NOTHING};

/// Words of 64 bits in a block.
const BLOCK: usize = 8;
/// Marks in a block.
const MARKS: usize = BLOCK * 64;

/// For each of the sizes the misses of LRU.
pub(crate) fn misses(keys: &[Key], objects: u32, slots: &[u32]) -> Vec<u64> {
    let counts = distances(keys, objects);
    let below: Vec<u64> = counts
        .iter()
        .scan(0, |sum, count| {
            *sum += u64::from(*count);
            Some(*sum)
        })
        .collect();
    let hits = |slots: u32| match slots {
        0 => 0,
        some => below.get(some as usize - 1).or(below.last()).copied().unwrap_or(0),
    };
    slots.iter().map(|&slots| keys.len() as u64 - hits(slots)).collect()
}

/// How many requests have each distance; first requests have none.
fn distances(keys: &[Key], objects: u32) -> Vec<u32> {
    let mut counts = vec![0u32; objects as usize];
    let mut last = vec![NOTHING; objects as usize];
    let mut row = Row::new(keys.len().min(2 * objects as usize));
    for &key in keys {
        if row.next == row.length {
            row.close_up(&mut last);
        }
        let place = std::mem::replace(&mut last[key as usize], row.next as u32);
        if place != NOTHING {
            counts[(row.marks - row.up_to(place as usize)) as usize] += 1;
            row.clear(place as usize);
        }
        row.set();
    }
    counts
}

/// A row of places with marks.
struct Row {
    bits: Vec<u64>,
    /// Fenwick tree over the blocks: entry i (from 1) has the marks of the blocks from i - (its lowest bit) to i - 1.
    sums: Vec<u32>,
    /// Where the next mark goes.
    next: usize,
    length: usize,
    /// All marks.
    marks: u32,
}

impl Row {
    fn new(length: usize) -> Self {
        let blocks = length.div_ceil(MARKS);
        Row { bits: vec![0; blocks * BLOCK], sums: vec![0; blocks + 1], next: 0, length, marks: 0 }
    }

    fn set(&mut self) {
        self.bits[self.next / 64] |= 1 << (self.next % 64);
        self.add(self.next / MARKS, 1);
        self.next += 1;
        self.marks += 1;
    }

    fn clear(&mut self, place: usize) {
        self.bits[place / 64] &= !(1 << (place % 64));
        self.add(place / MARKS, u32::MAX);
        self.marks -= 1;
    }

    /// Adds to the sum of a block; wraps, so that the largest number means -1.
    fn add(&mut self, block: usize, what: u32) {
        let mut at = block + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add(what);
            at += at & at.wrapping_neg();
        }
    }

    /// Marks up to a place and on it.
    fn up_to(&self, place: usize) -> u32 {
        let (mut at, word) = (place / MARKS, place / 64);
        let mut marks = (self.bits[word] << (63 - place % 64)).count_ones();
        marks += self.bits[at * BLOCK..word].iter().map(|word| word.count_ones()).sum::<u32>();
        while at > 0 {
            marks += self.sums[at];
            at &= at - 1;
        }
        marks
    }

    /// Moves all marks to the beginning, in their order, and updates the position of each key.
    fn close_up(&mut self, last: &mut [u32]) {
        for place in last.iter_mut().filter(|place| **place != NOTHING) {
            *place = self.up_to(*place as usize) - 1;
        }
        let marks = std::mem::take(&mut self.marks);
        self.bits.fill(0);
        self.sums.fill(0);
        self.next = 0;
        (0..marks).for_each(|_| self.set());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use proptest::prelude::*;
    use schedlab_model::{info::Params, rng::Rng};
    use schedlab_policies::caches::Lru;

    /// The distances by their definition.
    fn by_definition(keys: &[Key], objects: u32) -> Vec<u32> {
        let mut counts = vec![0; objects as usize];
        for (at, key) in keys.iter().enumerate() {
            if let Some(before) = keys[..at].iter().rposition(|other| other == key) {
                let others: std::collections::BTreeSet<_> = keys[before + 1..at].iter().collect();
                counts[others.len()] += 1;
            }
        }
        counts
    }

    #[test]
    fn one_pass_over_a_long_trace_is_the_same_as_a_run_for_each_size() {
        // Long enough that the row is closed up many times and has many blocks.
        let mut rng = Rng::stream(1, 0);
        let keys: Vec<Key> = (0..60_000).map(|_| rng.below(1 + rng.clone().below(5000)) as Key).collect();
        let slots = [1, 2, 3, 100, 511, 512, 513, 2000, 4999, 5000, 6000];
        let runs = slots.map(|slots| {
            let mut store = Store::<Lru>::new(&Params::default(), slots, 5000, 0);
            keys.iter().filter(|&&key| !store.request(key, u64::MAX)).count() as u64
        });
        assert_eq!(misses(&keys, 5000, &slots), runs);
    }

    #[test]
    fn a_loop_over_more_than_the_cache_never_hits() {
        let keys: Vec<Key> = (0..10).cycle().take(1000).collect();
        assert_eq!(misses(&keys, 10, &[1, 9, 10, 11]), [1000, 1000, 10, 10]);
    }

    proptest! {
        #[test]
        fn distances_are_those_of_their_definition(keys in prop::collection::vec(0..12u32, 0..120)) {
            prop_assert_eq!(distances(&keys, 12), by_definition(&keys, 12));
        }
    }
}
