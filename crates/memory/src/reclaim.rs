//! How pages are gained: carries out what the policy of reclaim chooses, as far as nothing has to be waited for.

use crate::{cache::Evicted, pages::Memory};
use schedlab_model::page::{Home, PageId, SpaceId, SwapSlot};
use schedlab_policies::{
    caches::Slot,
    reclaim::{Choice, Mapped, Shrink, Walk},
};

/// What a step of a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A page is free now; the search is over.
    Page,
    /// This page must be written to that place of the swap area. If [`Memory::waits`], the search goes on with
    /// [`Memory::left`] when it is there; else at once.
    PageOut {
        /// Whose.
        space: SpaceId,
        /// Which.
        page: PageId,
        /// Where to.
        slot: SwapSlot,
    },
    /// Wait until any page or block has been written, and go on.
    Wait,
    /// There is nothing to be had.
    Nothing,
}

impl Memory {
    /// Begins a search.
    pub fn begin(&mut self) -> Walk {
        self.with_policy(|policy, cx| policy.begin(cx))
    }

    /// Whether whoever pages out waits for the write.
    pub fn waits(&self) -> bool {
        self.policy.waits()
    }

    /// Pages below which the daemon begins, and up to which it goes on.
    pub fn watermarks(&self) -> Option<[u32; 2]> {
        self.policy.watermarks(self.setup.pages?)
    }

    /// Goes on until a page is gained or something must be waited for. Blocks that are to be written are added to `write`.
    pub fn search(&mut self, walk: &mut Walk, write: &mut Vec<Slot>) -> Found {
        loop {
            let choice = self.with_policy(|policy, cx| policy.next(cx, walk));
            let gained = match choice {
                Choice::Shrink(how) => self.shrink(how, write),
                Choice::Drop { space, page } => self.unmap(space, page),
                Choice::PageOut { space, page } => match self.page_out(space, page) {
                    Some(slot) => return Found::PageOut { space, page, slot },
                    None => false,
                },
                Choice::Wait => return Found::Wait,
                Choice::GiveUp => return Found::Nothing,
            };
            if gained {
                if matches!(choice, Choice::Drop { .. }) {
                    self.with_policy(|policy, cx| policy.gained(cx, walk, false));
                }
                return Found::Page;
            }
        }
    }

    /// The cache gives a page up, if one of the blocks it looks at can go.
    fn shrink(&mut self, how: Shrink, write: &mut Vec<Slot>) -> bool {
        let gained = self.look_through(how, write);
        self.cache.put_back();
        gained
    }

    fn look_through(&mut self, how: Shrink, write: &mut Vec<Slot>) -> bool {
        if how.write_all {
            write.extend(self.cache.to_write().map(|(_, slot)| slot));
        }
        for _ in 0..how.looks.min(self.cache.len()) {
            match self.cache.evict(None) {
                Evicted::Clean(slot) => {
                    if self.give_up(slot, how.mapped) {
                        return true;
                    }
                }
                Evicted::Changed(slot) => {
                    if !write.contains(&slot) {
                        write.push(slot);
                    }
                }
                Evicted::Busy(_) => {}
                Evicted::Nothing => return false,
            }
        }
        false
    }

    /// A clean victim goes, if its page's tasks let it. Says whether a page was gained.
    fn give_up(&mut self, slot: Slot, how: Mapped) -> bool {
        let name = self.cache.block(slot).name;
        let stays = match how {
            Mapped::Keep => self.is_mapped(name),
            Mapped::Unmap => self.touched(name),
            Mapped::Detach => false,
        };
        if stays {
            self.cache.set_aside(slot);
            return false;
        }
        if how == Mapped::Unmap {
            self.unmap_all(name);
        }
        self.uncache(slot) > 0
    }

    /// A page of a task leaves for the swap area, if that has a place.
    fn page_out(&mut self, space: SpaceId, page: PageId) -> Option<SwapSlot> {
        let slot = self.swap.take()?;
        self.spaces[space as usize].pages[page as usize].home = Home::Leaving(slot);
        self.leaving += 1;
        Some(slot)
    }

    /// A page has arrived in the swap area, and its memory is free. `walk`: the search that waited for it.
    pub fn left(&mut self, space: SpaceId, page: PageId, walk: Option<&Walk>) {
        self.leaving -= 1;
        self.give(1);
        let own = &mut self.spaces[space as usize];
        let Home::Leaving(slot) = own.pages[page as usize].home else { return };
        if own.swappable {
            own.pages[page as usize].home = Home::Swapped(slot);
        } else {
            own.pages[page as usize].home = Home::Absent;
            self.swap.give_back(slot);
        }
        if let Some(walk) = walk {
            self.with_policy(|policy, cx| policy.gained(cx, walk, true));
        }
    }
}
