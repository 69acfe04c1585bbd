//! The runqueue of the fair schedulers: entities in the order of a key (a deadline, a virtual time), those of equal keys in
//! the order of arrival, and for each a virtual time by which it may be passed over. Also below [`super::ordered`], where
//! no entity is passed over.
//!
//! The kernel keeps them in a red-black tree whose nodes know the least virtual time below them. Here they are in sorted
//! blocks of at most [`MOST`]; each block knows a lower bound of its virtual times. Few tasks are one or two blocks, which
//! is a sorted array; of ten thousand tasks a search looks at some hundreds of blocks' heads, which are adjacent in memory.

/// Index of a task's or a group's entity.
pub type EntityId = u32;

/// Entries of a full block.
const MOST: usize = 32;

#[derive(Debug, Default, Clone, Copy)]
struct Entry<K> {
    key: K,
    vruntime: i64,
    entity: EntityId,
}

#[derive(Debug)]
struct Block<K> {
    /// No virtual time here is less.
    low: i64,
    /// No key here is greater, and none in later blocks is less. Means nothing while the block is empty.
    last: K,
    /// The places that are taken; there may be free ones before and after them.
    start: usize,
    end: usize,
    places: Box<[Entry<K>; MOST]>,
}

impl<K: Ord + Copy + Default> Block<K> {
    fn new(places: Box<[Entry<K>; MOST]>) -> Self {
        Block { low: i64::MAX, last: K::default(), start: 0, end: 0, places }
    }

    #[inline(always)]
    fn entries(&self) -> &[Entry<K>] {
        self.places.get(self.start..self.end).unwrap_or_default()
    }

    #[inline(always)]
    fn first(&self) -> Option<&Entry<K>> {
        (!self.is_empty()).then(|| &self.places[self.start % MOST])
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.start == self.end
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.end - self.start == MOST
    }

    /// Puts an entry at the end. There must be a place.
    #[inline(always)]
    fn push(&mut self, key: K, vruntime: i64, entity: EntityId) {
        self.places[self.end % MOST] = Entry { key, vruntime, entity };
        self.end += 1;
        self.low = self.low.min(vruntime);
        self.last = key;
    }

    /// Puts an entry behind those of the same key. There must be room.
    #[inline(always)]
    fn insert(&mut self, key: K, vruntime: i64, entity: EntityId) {
        if self.end == MOST {
            self.gather();
        }
        if self.is_empty() || key >= self.last {
            return self.push(key, vruntime, entity);
        }
        let mut at = self.end;
        // Most often its place is near the end.
        while at > self.start
            && let Some([before, free]) = self.places.get_mut(at - 1..=at)
            && before.key > key
        {
            *free = *before;
            at -= 1;
        }
        self.places[at % MOST] = Entry { key, vruntime, entity };
        self.end += 1;
        self.low = self.low.min(vruntime);
    }

    /// Moves all entries to the first places.
    #[cold]
    fn gather(&mut self) {
        self.places.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
    }

    /// Takes out the entry at a place.
    #[inline(always)]
    fn take(&mut self, mut at: usize) {
        // Most often it is near the start.
        while at > self.start {
            self.places[at % MOST] = self.places[(at - 1) % MOST];
            at -= 1;
        }
        self.start += 1;
    }
}

/// The position of an entry, until the next change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    block: u32,
    place: u32,
}

/// Entities in order.
#[derive(Debug, Default)]
pub struct Timeline<K = i64> {
    blocks: Vec<Block<K>>,
    /// Room of blocks that became empty.
    #[allow(clippy::vec_box, reason = "spare blocks go back into use as they are")]
    spare: Vec<Box<[Entry<K>; MOST]>>,
}

impl<K: Ord + Copy + Default> Timeline<K> {
    /// Puts an entity behind those of the same key.
    #[inline(always)]
    pub fn insert(&mut self, key: K, vruntime: i64, entity: EntityId) {
        match &mut self.blocks[..] {
            // An entity that has just run often goes to the end.
            [.., last] if last.end < MOST && (key >= last.last || last.is_empty()) => last.push(key, vruntime, entity),
            [only] if !only.is_full() => only.insert(key, vruntime, entity),
            _ => self.insert_anywhere(key, vruntime, entity),
        }
    }

    #[inline(never)]
    fn insert_anywhere(&mut self, key: K, vruntime: i64, entity: EntityId) {
        let at = self.room_for(key);
        self.blocks[at].insert(key, vruntime, entity);
    }

    /// The block to which a key belongs, which has room.
    fn room_for(&mut self, key: K) -> usize {
        let count = self.blocks.len();
        let at = self.blocks.partition_point(|block| block.last <= key);
        if at == count && (count == 0 || self.blocks[count - 1].is_full()) {
            self.open(count); // what grows at its end has full blocks
            return count;
        }
        let at = at.min(count - 1);
        if self.blocks[at].is_full() { self.split(at, key) } else { at }
    }

    #[cold]
    fn open(&mut self, at: usize) {
        let places = self.spare.pop().unwrap_or_else(|| Box::new([Entry::default(); MOST]));
        self.blocks.insert(at, Block::new(places));
    }

    /// Halves a full block; gives the half to which the key belongs.
    #[cold]
    fn split(&mut self, at: usize, key: K) -> usize {
        self.open(at + 1);
        let (front, back) = self.blocks.split_at_mut(at + 1);
        let (front, back) = (&mut front[at], &mut back[0]);
        back.places[..MOST / 2].copy_from_slice(&front.places[MOST / 2..]);
        (back.low, back.last, back.end) = (front.low, front.last, MOST / 2);
        (front.last, front.end) = (front.places[MOST / 2 - 1].key, MOST / 2);
        at + usize::from(front.last <= key)
    }

    /// Takes out the entry at a spot.
    #[inline(always)]
    pub fn take(&mut self, spot: Spot) {
        let block = &mut self.blocks[spot.block as usize];
        block.take(spot.place as usize);
        if block.is_empty() {
            self.close(spot.block as usize);
        }
    }

    /// Takes out the first entity.
    #[inline(always)]
    pub fn take_first(&mut self) -> Option<EntityId> {
        let block = self.blocks.first_mut()?;
        let first = block.first()?.entity;
        block.start += 1;
        if block.is_empty() {
            self.close(0);
        }
        Some(first)
    }

    /// A block has become empty: it goes, unless it is the only one.
    #[inline(never)]
    fn close(&mut self, at: usize) {
        if let [only] = &mut self.blocks[..] {
            (only.low, only.start, only.end) = (i64::MAX, 0, 0);
        } else {
            let block = self.blocks.remove(at);
            self.spare.push(block.places);
        }
    }

    /// Takes out an entity that was put in with this key.
    pub fn remove(&mut self, key: K, entity: EntityId) {
        let first = if self.blocks.len() == 1 { 0 } else { self.blocks.partition_point(|block| block.last < key) };
        for (at, block) in self.blocks.iter().enumerate().skip(first) {
            if let Some(index) = block.entries().iter().position(|entry| entry.entity == entity) {
                self.take(Spot { block: at as u32, place: (block.start + index) as u32 });
                return;
            }
        }
        debug_assert!(false, "{entity} is not queued where its key belongs");
    }

    /// The first entity whose virtual time is at most the given one, with its key.
    #[inline]
    pub fn first_within(&mut self, vruntime: i64) -> Option<(EntityId, K, Spot)> {
        for (at, block) in self.blocks.iter_mut().enumerate() {
            if block.low > vruntime {
                continue;
            }
            let mut low = i64::MAX;
            for place in block.start..block.end {
                let entry = &block.places[place % MOST];
                if entry.vruntime <= vruntime {
                    return Some((entry.entity, entry.key, Spot { block: at as u32, place: place as u32 }));
                }
                low = low.min(entry.vruntime);
            }
            block.low = low; // the bound was stale: the entry that had it has left
        }
        None
    }

    /// The first entity, with its key.
    #[inline(always)]
    pub fn first(&self) -> Option<(EntityId, K, Spot)> {
        let block = self.blocks.first()?;
        let entry = block.first()?;
        Some((entry.entity, entry.key, Spot { block: 0, place: block.start as u32 }))
    }

    /// The second entity, with its key.
    pub fn second(&self) -> Option<(EntityId, K)> {
        self.entries().nth(1).map(|entry| (entry.entity, entry.key))
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry<K>> {
        self.blocks.iter().flat_map(Block::entries)
    }

    /// All entities, in order.
    pub fn entities(&self) -> impl DoubleEndedIterator<Item = EntityId> {
        self.entries().map(|entry| entry.entity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random.
    fn noise(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn it_does_what_a_sorted_list_does() {
        for keys in [3, 40, 100_000] {
            let (mut line, mut list, mut state) = (Timeline::default(), Vec::<Entry<i64>>::new(), keys);
            for entity in 0..20_000 {
                let grows = noise(&mut state) % 100 < if entity < 10_000 { 55 } else { 48 };
                if grows || list.is_empty() {
                    let (key, vruntime) = ((noise(&mut state) % keys) as i64, noise(&mut state) as i64 % 1000);
                    line.insert(key, vruntime, entity);
                    let at = list.partition_point(|other| other.key <= key);
                    list.insert(at, Entry { key, vruntime, entity });
                } else {
                    let gone = list.remove(noise(&mut state) as usize % list.len());
                    line.remove(gone.key, gone.entity);
                }
                let limit = noise(&mut state) as i64 % 1100 - 50;
                let found = line.first_within(limit).map(|(entity, key, _)| (entity, key));
                let expected = list.iter().find(|e| e.vruntime <= limit).map(|e| (e.entity, e.key));
                assert_eq!(found, expected);
                assert_eq!(line.first().map(|found| found.0), list.first().map(|e| e.entity));
                assert_eq!(line.second(), list.get(1).map(|e| (e.entity, e.key)));
            }
            assert!(line.entities().eq(list.iter().map(|e| e.entity)));
        }
    }

    #[test]
    fn what_was_found_can_be_taken() {
        let mut line = Timeline::<i64>::default();
        (0..100).for_each(|entity| line.insert(i64::from(entity % 10), i64::from(100 - entity), entity));
        while let Some((_, _, spot)) = line.first_within(50) {
            line.take(spot);
        }
        assert_eq!(line.entities().count(), 50);
        assert!(line.entities().all(|entity| entity < 50));
    }
}
