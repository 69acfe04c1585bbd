//! Room for blocks: the cache grows, or a block is evicted.

use crate::{
    cache::{Evicted, Name, Part, State},
    pages::Memory,
};
use schedlab_model::{Nanos, request::Sector};
use schedlab_policies::caches::Slot;

/// Victims looked at for one block, at most: in a cache of any size, and in one so small that all can be looked at.
const MOST_LOOKS: u32 = 64;
const MOST_LOOKS_IN_A_SMALL_CACHE: u32 = 1024;

/// What there is for a block that comes in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// A slot is free, and memory for it has been taken.
    Free,
    /// None yet: these are to be written first. The drive may already be at work on some.
    After(Vec<Slot>),
    /// None: a page must be gained first.
    NoPage,
}

impl Memory {
    /// The cache gives a clean block up. Says how many pages were gained: none if a task keeps its page.
    pub(crate) fn uncache(&mut self, slot: Slot) -> u32 {
        let name = self.cache.block(slot).name;
        self.cache.take_out(slot);
        self.cached -= self.setup.pages_per_block;
        if let (image, Part::Image(index)) = name {
            let page = &mut self.images[usize::from(image)][index as usize];
            page.cached = None;
            if page.maps > 0 {
                return 0;
            }
        }
        self.give(self.setup.pages_per_block);
        self.setup.pages_per_block
    }

    /// Room for a block that is not in the cache. The cache grows while memory is plentiful, else a victim's page is used again; a
    /// cache that grows at the cost of all tasks ([`schedlab_policies::reclaim::Reclaim::watermarks`]) takes its victims only when it
    /// is full. A page of a program file is a task's as well: it is taken from whatever is free, and gained as any other.
    pub fn room(&mut self, name: Name) -> Room {
        let room = self.look_for_room(name);
        self.cache.put_back();
        room
    }

    fn look_for_room(&mut self, name: Name) -> Room {
        let mut unwritten = Vec::new();
        for _ in 0..MOST_LOOKS.max(self.cache.len().min(MOST_LOOKS_IN_A_SMALL_CACHE)) {
            if !self.cache.is_full() {
                if self.may_grow(name) {
                    return self.make_room();
                }
                if self.shares() || is_image(name) {
                    return Room::NoPage;
                }
            }
            match self.cache.evict(Some(name)) {
                Evicted::Clean(slot) => {
                    let block = self.cache.block(slot).name;
                    if !self.cache.is_full() && self.is_mapped(block) {
                        self.cache.set_aside(slot);
                    } else if self.uncache(slot) > 0 && !self.shares() {
                        return self.make_room();
                    }
                }
                Evicted::Changed(slot) | Evicted::Busy(slot) => unwritten.push(slot),
                Evicted::Nothing => break,
            }
        }
        if unwritten.is_empty() { Room::NoPage } else { Room::After(unwritten) }
    }

    /// Nothing more can be reclaimed, and nothing is being written: the next block may take from the pages that the cache
    /// leaves free. Returns whether there are any and the last block has not failed to use them.
    pub fn open_reserve(&mut self) -> bool {
        self.reserve_open = !self.reserve_open && self.free >= self.setup.pages_per_block;
        self.reserve_open
    }

    fn make_room(&mut self) -> Room {
        self.reserve_open = false;
        self.take(self.setup.pages_per_block);
        self.cached += self.setup.pages_per_block;
        Room::Free
    }

    /// Whether programs give pages up for the cache.
    fn shares(&self) -> bool {
        self.setup.pages.is_some_and(|pages| self.policy.watermarks(pages).is_some())
    }

    fn may_grow(&self, name: Name) -> bool {
        let wanted = self.setup.pages_per_block;
        // A cache without any block would never read: it takes what there is.
        let all = self.cache.is_empty() || is_image(name) || self.reserve_open;
        let left = if all { 0 } else { self.setup.cache_leaves };
        self.free >= wanted.saturating_add(left)
    }

    /// A block comes in, for which there is room.
    pub fn admit(&mut self, name: Name, place: Sector, state: State, now: Nanos) -> Slot {
        self.refresh(now);
        let (pages, age) = self.policy.own_pages();
        let per_block = self.setup.pages_per_block;
        self.cache.share_with(pages / per_block, age / u64::from(per_block));
        let restored = self.cache.lists().unwrap_or_default().restored;
        let slot = self.cache.admit(name, place, state, now);
        if state == State::Reading {
            self.cache.expect_use(slot);
        }
        if self.cache.lists().unwrap_or_default().restored > restored {
            self.with_policy(|policy, cx| policy.file_refaulted(cx));
        }
        if let (image, Part::Image(index)) = name {
            self.images[usize::from(image)][index as usize].cached = Some(slot);
        }
        slot
    }

    /// A block's file is deleted.
    pub fn delete(&mut self, slot: Slot) {
        if self.cache.delete(slot) {
            self.cached -= self.setup.pages_per_block;
            self.give(self.setup.pages_per_block);
        }
    }

    /// The drive has finished with a block.
    pub fn transferred(&mut self, slot: Slot) {
        if self.cache.transferred(slot) {
            self.cached -= self.setup.pages_per_block;
            self.give(self.setup.pages_per_block);
        }
    }
}

fn is_image((_, part): Name) -> bool {
    matches!(part, Part::Image(_))
}
