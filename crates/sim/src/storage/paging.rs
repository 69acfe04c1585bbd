//! Page faults, and the search for a page when none is free.

use super::{Outcome, Owner, Storage, Transfer};
use schedlab_memory::Part;
use schedlab_memory::{Fault, Found};
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Kind, NO_TASK},
    page::{PageId, SpaceId, SwapSlot},
    request::{Direction, SECTOR_SIZE, Sector},
};
use schedlab_policies::reclaim::Walk;

/// Flags of a [`Kind::Fault`]: what was waited for.
const MINOR: u8 = 0;
const FROM_FILE: u8 = 1;
const FROM_SWAP: u8 = 2;

/// How long the daemon sleeps when it has found nothing: Linux's congestion_wait(HZ / 10) in balance_pgdat.
const REST: Nanos = 100 * MILLISECOND;

/// A page that a task has touched and that was not there.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PageWork {
    page: PageId,
    waited: u8,
    walk: Option<Walk>,
}

impl PageWork {
    pub fn new(page: PageId) -> PageWork {
        PageWork { page, waited: MINOR, walk: None }
    }
}

impl Storage {
    /// Brings a page in, as far as it goes without waiting.
    pub(super) fn make_present(&mut self, now: Nanos, owner: Owner, work: &mut PageWork) -> Outcome {
        loop {
            match self.bring_in(now, owner, work) {
                Ok(true) => break,
                Ok(false) => {}
                Err(outcome) => return outcome,
            }
        }
        let (space, page) = (owner.task, work.page);
        if work.waited > MINOR {
            self.memory.count_major(space);
        }
        self.record(Kind::Fault, work.waited, space, page.into(), 0);
        self.tell_usage();
        Outcome::Done
    }

    /// One step of it; says whether the page is there.
    fn bring_in(&mut self, now: Nanos, owner: Owner, work: &mut PageWork) -> Result<bool, Outcome> {
        let (space, page) = (owner.task, work.page);
        let token = match self.memory.fault(space, page) {
            Fault::Served => return Ok(true),
            Fault::NoPage => return self.gain(now, owner, &mut work.walk).map(|()| false),
            Fault::ReadBlock(name) => return self.read_for_fault(now, owner, name, &mut work.walk).map(|()| false),
            Fault::AwaitBlock(slot) => {
                work.waited = work.waited.max(FROM_FILE);
                self.of_block(slot)
            }
            Fault::AwaitPage => self.of_page(space, page),
            Fault::ReadImage { image, index } => {
                work.waited = work.waited.max(FROM_FILE);
                let what = Transfer::Image { space, page, image, index };
                Some(self.transfer(now, owner, what, Direction::Read, true))
            }
            Fault::SwapIn(slot) => {
                work.waited = FROM_SWAP;
                Some(self.transfer(now, owner, Transfer::SwapIn { space, page, slot }, Direction::Read, true))
            }
        };
        Err(match token {
            Some(token) => self.wait_for(token, space),
            None => self.wait_for_any(space),
        })
    }

    /// Searches for a page on behalf of a task: one is free now, or the state of the work.
    pub(super) fn gain(&mut self, now: Nanos, owner: Owner, walk: &mut Option<Walk>) -> Result<(), Outcome> {
        loop {
            let mut search = walk.take().unwrap_or_else(|| self.memory.begin(now));
            match self.search(now, &mut search) {
                Found::Page => return Ok(()),
                Found::Nothing => {
                    let hopeless = self.wait_for_any(owner.task);
                    // If there is nothing to wait for, the reserve is used, if it has a page.
                    let helps = hopeless == Outcome::Hopeless && self.memory.open_reserve();
                    return if helps { Ok(()) } else { Err(hopeless) };
                }
                Found::Wait => {
                    *walk = Some(search);
                    return Err(self.wait_for_any(owner.task));
                }
                Found::PageOut { space, page, slot } if self.memory.waits() => {
                    let what = Transfer::PageOut { space, page, slot, walk: Some(search) };
                    let token = self.transfer(now, owner, what, Direction::Write, true);
                    return Err(self.wait_for(token, owner.task));
                }
                Found::PageOut { space, page, slot } => {
                    self.page_out(now, space, page, slot);
                    *walk = Some(search);
                }
            }
        }
    }

    /// Continues a search, has the dirty blocks in its way written, and counts its time.
    fn search(&mut self, now: Nanos, search: &mut Walk) -> Found {
        let mut write = Vec::new();
        let found = self.memory.search(now, search, &mut write);
        self.write(now, &write);
        self.searched += self.scan * Nanos::from(std::mem::take(&mut search.looked));
        found
    }

    fn page_out(&mut self, now: Nanos, space: SpaceId, page: PageId, slot: SwapSlot) {
        let what = Transfer::PageOut { space, page, slot, walk: None };
        self.transfer(now, Owner::KERNEL, what, Direction::Write, false);
    }

    /// The daemon that keeps pages free, where there is one: from the low mark to the high mark, without waiting.
    pub(super) fn daemon(&mut self, now: Nanos) {
        let Some([low, high]) = self.memory.watermarks() else { return };
        if self.memory.usage().free >= low || now < self.daemon_rests {
            return;
        }
        while self.memory.to_be_free() < high {
            let mut search = self.memory.begin(now);
            match self.search(now, &mut search) {
                Found::Page => {}
                Found::PageOut { space, page, slot } => self.page_out(now, space, page, slot),
                Found::Wait | Found::Nothing => {
                    self.daemon_rests = now + REST;
                    return;
                }
            }
        }
    }

    pub(super) fn swap_place(&self, slot: SwapSlot) -> Sector {
        let first = self.disk.as_ref().map_or(0, |disk| disk.swap);
        first + Sector::from(slot) * Sector::from(self.page_sectors)
    }

    /// Where a page of a program file lies, which need not be as large as a block.
    pub(super) fn image_place(&self, image: u16, index: u32) -> Sector {
        let byte = u64::from(index) * u64::from(self.page_sectors) * SECTOR_SIZE;
        let block = Part::Image((byte / self.layout.block) as u32);
        self.layout.sector((image, block)) + byte % self.layout.block / SECTOR_SIZE
    }

    /// The first page of a part of a task's memory with that size in bytes.
    pub fn segment(&mut self, space: SpaceId, image: Option<u16>, bytes: u64) -> PageId {
        let pages = bytes.div_ceil(u64::from(self.page_sectors) * SECTOR_SIZE) as u32;
        self.memory.segment(space, image, pages)
    }

    /// The pages of that range of bytes, where memory is paged.
    pub fn pages_of(&self, from: u64, bytes: u64) -> Option<std::ops::Range<PageId>> {
        let page = u64::from(self.page_sectors) * SECTOR_SIZE;
        let pages = (from / page) as PageId..(from + bytes).div_ceil(page) as PageId;
        self.memory.limited().then_some(pages)
    }

    /// How memory is used when the run begins.
    pub fn tell_beginning(&mut self) {
        self.tell_usage();
        debug_assert!(self.events.iter().all(|event| event.task == NO_TASK));
    }
}
