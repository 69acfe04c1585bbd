//! The runqueue of the fair schedulers: entities in the order of a key (a deadline, a virtual time), those of equal keys in
//! the order of arrival, and for each a virtual time by which it may be passed over.
//!
//! The kernel keeps them in a red-black tree whose nodes know the least virtual time below them. Here they stand in sorted
//! blocks of at most [`MOST`]; each block knows a lower bound of its virtual times. Few tasks are one or two blocks, which
//! is a sorted array; of ten thousand tasks a search looks at some hundreds of blocks' heads, which lie side by side.

/// Index of a task's or a group's entity.
pub(super) type EntityId = u32;

/// Entries of a full block.
const MOST: usize = 32;

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: i64,
    vruntime: i64,
    entity: EntityId,
}

#[derive(Debug)]
struct Block {
    /// No virtual time here is less.
    low: i64,
    /// No key here is greater, and none in later blocks is less.
    last: i64,
    entries: Vec<Entry>,
}

/// Where an entry stands, until the next change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    block: u32,
    index: u32,
}

/// Entities in order.
#[derive(Debug, Default)]
pub(super) struct Timeline {
    blocks: Vec<Block>,
    /// Room of blocks that became empty.
    spare: Vec<Vec<Entry>>,
}

impl Timeline {
    /// Puts an entity behind those of the same key.
    #[inline]
    pub fn insert(&mut self, key: i64, vruntime: i64, entity: EntityId) {
        let entry = Entry { key, vruntime, entity };
        let at = match &self.blocks[..] {
            [only] if only.entries.len() < MOST => 0,
            _ => self.room_for(key),
        };
        let block = &mut self.blocks[at];
        let index = block.entries.partition_point(|other| other.key <= key);
        block.entries.insert(index, entry);
        block.low = block.low.min(vruntime);
        block.last = block.last.max(key);
    }

    /// The block to which a key belongs, which has room.
    fn room_for(&mut self, key: i64) -> usize {
        let count = self.blocks.len();
        let at = self.blocks.partition_point(|block| block.last <= key);
        if at == count && (count == 0 || self.blocks[count - 1].entries.len() == MOST) {
            self.open(count); // what grows at its end has full blocks
            return count;
        }
        let at = at.min(count - 1);
        if self.blocks[at].entries.len() < MOST { at } else { self.split(at, key) }
    }

    #[cold]
    fn open(&mut self, at: usize) {
        let entries = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(MOST));
        self.blocks.insert(at, Block { low: i64::MAX, last: i64::MIN, entries });
    }

    /// Halves a full block; gives the half to which the key belongs.
    #[cold]
    fn split(&mut self, at: usize, key: i64) -> usize {
        self.open(at + 1);
        let (front, back) = self.blocks.split_at_mut(at + 1);
        let (front, back) = (&mut front[at], &mut back[0]);
        back.entries.extend(front.entries.drain(MOST / 2..));
        (back.low, back.last) = (front.low, front.last);
        front.last = front.entries[MOST / 2 - 1].key;
        at + usize::from(front.last <= key)
    }

    /// Takes out what stands at a spot.
    #[inline]
    pub fn take(&mut self, spot: Spot) {
        let at = spot.block as usize;
        let entries = &mut self.blocks[at].entries;
        entries.remove(spot.index as usize);
        if entries.is_empty() {
            self.close(at);
        }
    }

    /// A block has become empty: it goes, unless it is the only one.
    fn close(&mut self, at: usize) {
        if let [only] = &mut self.blocks[..] {
            (only.low, only.last) = (i64::MAX, i64::MIN);
        } else {
            let block = self.blocks.remove(at);
            self.spare.push(block.entries);
        }
    }

    /// Takes out an entity that was put in with this key.
    pub fn remove(&mut self, key: i64, entity: EntityId) {
        let first = self.blocks.partition_point(|block| block.last < key);
        for (at, block) in self.blocks.iter().enumerate().skip(first) {
            let start = block.entries.partition_point(|entry| entry.key < key);
            if let Some(index) = block.entries[start..].iter().position(|entry| entry.entity == entity) {
                self.take(Spot { block: at as u32, index: (start + index) as u32 });
                return;
            }
        }
        debug_assert!(false, "{entity} is not queued with key {key}");
    }

    /// The first entity whose virtual time is at most so much, with its key.
    #[inline]
    pub fn first_within(&mut self, vruntime: i64) -> Option<(EntityId, i64, Spot)> {
        for (at, block) in self.blocks.iter_mut().enumerate() {
            if block.low > vruntime {
                continue;
            }
            let mut low = i64::MAX;
            for (index, entry) in block.entries.iter().enumerate() {
                if entry.vruntime <= vruntime {
                    return Some((entry.entity, entry.key, Spot { block: at as u32, index: index as u32 }));
                }
                low = low.min(entry.vruntime);
            }
            block.low = low; // the bound was stale: whoever had it has left
        }
        None
    }

    /// The first entity, with its key.
    #[inline]
    pub fn first(&self) -> Option<(EntityId, i64, Spot)> {
        let entry = self.blocks.first()?.entries.first()?;
        Some((entry.entity, entry.key, Spot { block: 0, index: 0 }))
    }

    /// The second entity, with its key.
    pub fn second(&self) -> Option<(EntityId, i64)> {
        self.entries().nth(1).map(|entry| (entry.entity, entry.key))
    }

    fn entries(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.blocks.iter().flat_map(|block| &block.entries)
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
            let (mut line, mut list, mut state) = (Timeline::default(), Vec::<Entry>::new(), keys);
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
        let mut line = Timeline::default();
        (0..100).for_each(|entity| line.insert(i64::from(entity % 10), i64::from(100 - entity), entity));
        while let Some((_, _, spot)) = line.first_within(50) {
            line.take(spot);
        }
        assert_eq!(line.entities().count(), 50);
        assert!(line.entities().all(|entity| entity < 50));
    }
}
