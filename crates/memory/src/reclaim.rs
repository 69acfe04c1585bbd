//! How pages are gained: carries out what the policy of reclaim chooses, as far as nothing has to be waited for.

use crate::{cache::Evicted, pages::Memory};
use schedlab_model::{
    Nanos,
    page::{Home, PageId, SpaceId, SwapSlot},
};
use schedlab_policies::{
    caches::Slot,
    reclaim::{Choice, Mapped, Shrink, Walk},
};

/// The outcome of a search step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// A page is free now; the search is over.
    Page,
    /// This page must be written to that slot of the swap area. If [`Memory::waits`], the search continues with
    /// [`Memory::left`] when it is written; else immediately.
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
    /// Nothing can be reclaimed.
    Nothing,
}

impl Memory {
    /// Begins a search.
    pub fn begin(&mut self, now: Nanos) -> Walk {
        self.refresh(now);
        self.with_policy(|policy, cx| policy.begin(cx))
    }

    /// Whether the task that pages out waits for the write.
    pub fn waits(&self) -> bool {
        self.policy.waits()
    }

    /// Pages below which the daemon begins, and up to which it goes on.
    pub fn watermarks(&self) -> Option<[u32; 2]> {
        self.policy.watermarks(self.setup.pages?)
    }

    /// Brings the policy's counters up to date, if it is time.
    #[inline]
    pub(crate) fn refresh(&mut self, now: Nanos) {
        if now >= self.next_refresh
            && let Some(period) = self.policy.refresh_period()
        {
            self.next_refresh = now - now % period + period;
            self.with_policy(|policy, cx| policy.refresh(cx));
        }
    }

    /// Goes on until a page is gained or something must be waited for. Blocks that are to be written are added to `write`.
    pub fn search(&mut self, now: Nanos, walk: &mut Walk, write: &mut Vec<Slot>) -> Found {
        self.refresh(now);
        loop {
            let choice = self.with_policy(|policy, cx| policy.next(cx, walk));
            let gained = match choice {
                Choice::Shrink(how) => self.shrink(how, walk, write),
                Choice::Drop { space, page } => u32::from(self.drop_page(space, page)),
                Choice::PageOut { space, page } => match self.page_out(space, page) {
                    Some(slot) => return Found::PageOut { space, page, slot },
                    None => 0,
                },
                Choice::Wait => return Found::Wait,
                Choice::Enough => return Found::Page,
                Choice::GiveUp => return Found::Nothing,
            };
            walk.gained += gained;
            if gained > 0 && !self.policy.in_batches() {
                if matches!(choice, Choice::Drop { .. }) {
                    self.with_policy(|policy, cx| policy.gained(cx, walk, false));
                }
                return Found::Page;
            }
        }
    }

    /// The cache gives pages up, if blocks that it looks at can go. Says how many were gained.
    fn shrink(&mut self, how: Shrink, walk: &mut Walk, write: &mut Vec<Slot>) -> u32 {
        let gained = self.look_through(how, walk, write);
        self.cache.put_back();
        gained
    }

    fn look_through(&mut self, how: Shrink, walk: &mut Walk, write: &mut Vec<Slot>) -> u32 {
        if how.write_all {
            write.extend(self.cache.to_write().map(|(_, slot)| slot));
        }
        // While the drive is at work on every block, none needs to be looked at to know that it cannot go.
        if self.cache.at_drive() == self.cache.len() {
            walk.at_drive += self.cache.len();
            return 0;
        }
        let mut gained = 0;
        for _ in 0..how.looks.min(self.cache.len()) {
            match self.cache.evict(None) {
                Evicted::Clean(slot) => gained += self.give_up(slot, how.mapped),
                Evicted::Changed(slot) => {
                    walk.at_drive += 1;
                    if !write.contains(&slot) {
                        write.push(slot);
                    }
                }
                Evicted::Busy(_) => walk.at_drive += 1,
                Evicted::Nothing => break,
            }
            if gained >= how.gain {
                break;
            }
        }
        gained
    }

    /// A clean victim goes, if its page's tasks let it. Says how many pages were gained.
    fn give_up(&mut self, slot: Slot, how: Mapped) -> u32 {
        let name = self.cache.block(slot).name;
        let stays = match how {
            Mapped::Keep => self.is_mapped(name),
            Mapped::Unmap => self.touched(name),
            Mapped::Detach => false,
        };
        if stays {
            self.cache.set_aside(slot);
            return 0;
        }
        if how == Mapped::Unmap {
            self.unmap_all(name);
        }
        self.uncache(slot)
    }

    /// A clean page goes: the swap area has it already, or the program file. Says whether a page was gained.
    fn drop_page(&mut self, space: SpaceId, page: PageId) -> bool {
        let Some(slot) = self.kept.remove(&(space, page)) else { return self.unmap(space, page) };
        self.spaces[space as usize].pages[page as usize].home = Home::Swapped(slot);
        self.give(1);
        true
    }

    /// A page of a task leaves for the swap area, if that has a place. What it kept there is of no use any more; if all places are
    /// taken, another page loses the one that it kept.
    fn page_out(&mut self, space: SpaceId, page: PageId) -> Option<SwapSlot> {
        if let Some(slot) = self.kept.remove(&(space, page)) {
            self.swap.give_back(slot);
        } else if self.swap.free() == 0 {
            let ((space, page), slot) = self.kept.pop_first()?;
            self.spaces[space as usize].pages[page as usize].dirty = true;
            self.swap.give_back(slot);
        }
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
