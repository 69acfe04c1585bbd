//! The block cache: which blocks are in memory, which of them are dirty, and which one is evicted.
//!
//! ```text
//!   begin_read -> READING -> read -> CLEAN -> change -> CHANGED -> begin_write -> WRITING -> written -> CLEAN
//!                                      ^                                            | change
//!   begin_change -> CHANGED            '-- taken out by evict                       '-> WRITING, CHANGED AGAIN
//! ```
//!
//! Order is kept by an eviction policy over slots; the cache itself knows names, places and states. A block that is being
//! transferred is never evicted; a changed one not before it was written.

use rustc_hash::FxHashMap;
use schedlab_model::{Nanos, request::Sector, rng::Rng};
use schedlab_policies::caches::{ActiveInactive, Context, Eviction, NOTHING, Slot};
use std::collections::BTreeSet;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// The n-th block of inodes of the set.
    Inodes(u32),
    /// The n-th indirect block of the file.
    Indirect(u32, u32),
    /// The n-th data block of the file.
    Data(u32, u32),
    /// The n-th page of the program file; the set is the file.
    Image(u32),
}

/// A block by its name: the set of files it belongs to, and its place there.
pub type Name = (u16, Part);

/// What is going on with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It comes from the drive.
    Reading,
    /// As it is on the drive.
    Clean,
    /// Not on the drive in this form.
    Changed,
    /// On its way to the drive.
    Writing,
    /// On its way, and changed since it left.
    ChangedAgain,
}

/// A block in the cache.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// What it holds.
    pub name: Name,
    /// Where it lies on the drive.
    pub place: Sector,
    /// What is going on with it.
    pub state: State,
    /// Since when it has been changed.
    since: Nanos,
    /// The number of its name.
    key: u32,
    /// Whether it was deleted while the drive was at work on it.
    doomed: bool,
    /// Whether the task for which it was read has not used it yet.
    unused: bool,
}

/// What evicting came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evicted {
    /// This slot is clean. It is still in the cache: the caller takes it out or sets it aside.
    Clean(Slot),
    /// This one is changed and stays.
    Changed(Slot),
    /// The drive is at work on this one; it stays.
    Busy(Slot),
    /// There are no others.
    Nothing,
}

/// The cache.
#[derive(Debug)]
pub struct BlockCache {
    policy: Box<dyn Eviction>,
    /// For each name ever met its number; for each number the slot, or [`NOTHING`].
    numbers: FxHashMap<Name, u32>,
    slots: Vec<Slot>,
    /// For each slot the number, as the policy wants it, and the block.
    keys: Vec<u32>,
    blocks: Vec<Option<Block>>,
    free: Vec<Slot>,
    capacity: u32,
    used: u32,
    /// Used slots whose blocks were deleted and only wait for the drive: the policy has forgotten them.
    doomed: u32,
    /// Victims that cannot go, out of the policy's order until the search for one is over.
    aside: Vec<Slot>,
    /// Changed blocks, those that changed first before others.
    changed: BTreeSet<(Nanos, Slot)>,
    /// Blocks on their way to the drive, and those that the drive is at work on in either direction.
    writing: u32,
    at_drive: u32,
    requests: u64,
    rng: Rng,
}

impl BlockCache {
    /// An empty cache with `capacity` slots.
    pub fn new(policy: Box<dyn Eviction>, capacity: u32, rng: Rng) -> BlockCache {
        BlockCache {
            policy,
            numbers: FxHashMap::default(),
            slots: Vec::new(),
            keys: Vec::new(),
            blocks: Vec::new(),
            free: Vec::new(),
            capacity,
            used: 0,
            doomed: 0,
            aside: Vec::new(),
            changed: BTreeSet::new(),
            writing: 0,
            at_drive: 0,
            requests: 0,
            rng,
        }
    }

    /// Blocks that it holds.
    pub fn len(&self) -> u32 {
        self.used
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Whether another block needs another's slot.
    pub fn is_full(&self) -> bool {
        self.used == self.capacity
    }

    /// Blocks that it can hold.
    pub fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Blocks that are not on the drive in their present form.
    pub fn changed(&self) -> u32 {
        self.changed.len() as u32
    }

    /// Blocks on their way to the drive.
    pub fn writing(&self) -> u32 {
        self.writing
    }

    /// The block in a slot.
    ///
    /// # Panics
    /// If there is none: the caller holds a stale slot.
    pub fn block(&self, slot: Slot) -> &Block {
        self.blocks[slot as usize].as_ref().expect("a slot in use")
    }

    fn block_mut(&mut self, slot: Slot) -> &mut Block {
        self.blocks[slot as usize].as_mut().expect("a slot in use")
    }

    /// The slot of that block, if it is here.
    pub fn find(&self, name: Name) -> Option<Slot> {
        let number = *self.numbers.get(&name)?;
        let slot = self.slots[number as usize];
        (slot != NOTHING).then_some(slot)
    }

    /// What the policy sees of the cache, borrowed apart from the policy.
    fn with_policy<T>(&mut self, ask: impl FnOnce(&mut dyn Eviction, &mut Context<'_>) -> T) -> T {
        let mut cx = Context { now: self.requests, keys: &self.keys, next_use: u64::MAX, rng: &mut self.rng };
        ask(&mut *self.policy, &mut cx)
    }

    /// The block in the slot is used.
    pub fn hit(&mut self, slot: Slot) {
        self.requests += 1;
        match std::mem::take(&mut self.block_mut(slot).unused) {
            true => self.with_policy(|policy, cx| policy.first_use(cx, slot)),
            false => self.with_policy(|policy, cx| policy.hit(cx, slot)),
        }
    }

    /// The block in the slot is being read for a task, which uses it on arrival.
    pub fn expect_use(&mut self, slot: Slot) {
        self.block_mut(slot).unused = true;
    }

    /// The state of the policy's lists, if it has an active and an inactive list.
    pub fn lists(&self) -> Option<ActiveInactive> {
        self.policy.lists()
    }

    /// Reports to the policy the pages that share memory with the cache.
    pub fn share_with(&mut self, pages: u32, age: u64) {
        self.policy.share_with(pages, age);
    }

    /// A block that is not here comes in; there is a free slot. It is `Reading` or `Changed`.
    pub fn admit(&mut self, name: Name, place: Sector, state: State, now: Nanos) -> Slot {
        debug_assert!(!self.is_full() && self.find(name).is_none());
        self.requests += 1;
        let next = self.numbers.len() as u32;
        let key = *self.numbers.entry(name).or_insert(next);
        if key == next {
            self.slots.push(NOTHING);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.keys.push(NOTHING);
            self.blocks.push(None);
            self.blocks.len() as Slot - 1
        });
        self.slots[key as usize] = slot;
        self.keys[slot as usize] = key;
        self.blocks[slot as usize] = Some(Block { name, place, state, since: now, key, doomed: false, unused: false });
        self.used += 1;
        match state {
            State::Changed => _ = self.changed.insert((now, slot)),
            State::Reading => self.at_drive += 1,
            State::Clean | State::Writing | State::ChangedAgain => {
                debug_assert!(false, "a block comes in as {state:?}")
            }
        }
        self.with_policy(|policy, cx| policy.admit(cx, slot, key));
        slot
    }

    /// The policy's next victim. A clean one has left the policy's order: the caller takes it out or sets it aside. Others are set
    /// aside. When the search is over, [`BlockCache::put_back`] ends it.
    pub fn evict(&mut self, incoming: Option<Name>) -> Evicted {
        if self.used == self.doomed + self.aside.len() as u32 {
            return Evicted::Nothing;
        }
        // A block that has not been requested yet has the next number.
        let incoming = incoming.and_then(|name| self.numbers.get(&name).copied()).unwrap_or(self.numbers.len() as u32);
        let slot = self.with_policy(|policy, cx| policy.victim(cx, incoming));
        let found = match self.block(slot).state {
            State::Clean => return Evicted::Clean(slot),
            State::Changed => Evicted::Changed(slot),
            State::Reading | State::Writing | State::ChangedAgain => Evicted::Busy(slot),
        };
        self.aside.push(slot);
        found
    }

    /// Blocks that the drive is reading or has to write; they cannot be evicted, nor written again.
    pub fn at_drive(&self) -> u32 {
        self.at_drive
    }

    /// The victim stays after all.
    pub fn set_aside(&mut self, slot: Slot) {
        self.aside.push(slot);
    }

    /// The search for a victim is over: those set aside are in the policy's order again, as if just admitted.
    pub fn put_back(&mut self) {
        for at in 0..self.aside.len() {
            let slot = self.aside[at];
            let key = self.block(slot).key;
            self.with_policy(|policy, cx| policy.returned(cx, slot, key));
        }
        self.aside.clear();
    }

    /// The victim goes.
    pub fn take_out(&mut self, slot: Slot) {
        debug_assert_eq!(self.block(slot).state, State::Clean);
        self.unname(slot);
        self.free_slot(slot);
    }

    /// The block can no longer be found.
    fn unname(&mut self, slot: Slot) {
        let key = self.block(slot).key;
        self.slots[key as usize] = NOTHING;
        self.keys[slot as usize] = NOTHING;
    }

    fn free_slot(&mut self, slot: Slot) {
        self.blocks[slot as usize] = None;
        self.free.push(slot);
        self.used -= 1;
    }

    /// The block's file is deleted: its changes are never written. Returns whether the slot is free now; if not, it becomes free
    /// when the drive has finished with it.
    pub fn delete(&mut self, slot: Slot) -> bool {
        let since = self.block(slot).since;
        self.changed.remove(&(since, slot));
        self.with_policy(|policy, cx| policy.remove(cx, slot));
        self.unname(slot);
        let block = self.block_mut(slot);
        block.doomed = true;
        let at_rest = matches!(block.state, State::Clean | State::Changed);
        if at_rest {
            self.free_slot(slot);
        } else {
            self.doomed += 1;
        }
        at_rest
    }

    /// The program has changed the block.
    pub fn change(&mut self, slot: Slot, now: Nanos) {
        let block = self.block_mut(slot);
        match block.state {
            State::Clean => {
                (block.state, block.since) = (State::Changed, now);
                self.changed.insert((now, slot));
            }
            State::Writing => {
                (block.state, block.since) = (State::ChangedAgain, now);
                self.changed.insert((now, slot));
            }
            State::Changed | State::ChangedAgain | State::Reading => {}
        }
    }

    /// The block goes to the drive as it is now.
    pub fn begin_write(&mut self, slot: Slot) {
        let block = self.block_mut(slot);
        debug_assert_eq!(block.state, State::Changed);
        block.state = State::Writing;
        let since = block.since;
        self.changed.remove(&(since, slot));
        self.writing += 1;
        self.at_drive += 1;
    }

    /// The drive has finished with the block. Says whether the slot is free now, the block having been deleted meanwhile.
    pub fn transferred(&mut self, slot: Slot) -> bool {
        let block = self.block_mut(slot);
        let before = block.state;
        block.state = if before == State::ChangedAgain { State::Changed } else { State::Clean };
        let doomed = block.doomed;
        self.writing -= u32::from(matches!(before, State::Writing | State::ChangedAgain));
        self.at_drive -= u32::from(!matches!(before, State::Clean | State::Changed));
        if doomed {
            self.doomed -= 1;
            self.free_slot(slot);
        }
        doomed
    }

    /// Changed blocks that are not on their way, the oldest first, with the time since when.
    pub fn to_write(&self) -> impl Iterator<Item = (Nanos, Slot)> + '_ {
        let waits = |&(_, slot): &(Nanos, Slot)| self.block(slot).state == State::Changed;
        self.changed.iter().copied().filter(waits)
    }

    /// Blocks that the drive is at work on or still has to write.
    pub fn unwritten(&self) -> impl Iterator<Item = Slot> + '_ {
        let pending = |block: &Option<Block>| {
            block.as_ref().is_some_and(|block| !matches!(block.state, State::Clean | State::Reading))
        };
        (0..).zip(&self.blocks).filter(move |(_, block)| pending(block)).map(|(slot, _)| slot)
    }
}
