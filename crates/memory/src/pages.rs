//! Pages: their owners, and what a task that touches one must wait for.
//!
//! Every page of memory is free, in the block cache, a task's own, or a page of a program file that tasks have in their
//! tables; the numbers add up at any time ([`Memory::check`]). A page of a program file may at the same time be a block of the
//! cache, where blocks are as large as pages.
//!
//! Long, because every way of a page between these states changes the same few counts.

use crate::{
    cache::{BlockCache, Name, Part, State},
    swap::SwapArea,
};
use schedlab_model::{
    Nanos,
    page::{Home, Page, PageId, Segment, Space, SpaceId, SwapSlot},
};
use schedlab_policies::{
    caches::Slot,
    reclaim::{Context, FileLists, Reclaim},
};
use std::collections::BTreeMap;

/// What memory is made from.
#[derive(Debug)]
pub struct Setup {
    /// Pages that programs and the cache share; none: unlimited.
    pub pages: Option<u32>,
    /// Pages that a block of the cache takes.
    pub pages_per_block: u32,
    /// Whether pages of program files are blocks of the cache.
    pub caches_images: bool,
    /// The cache takes a page only while more pages than this are free.
    pub cache_leaves: u32,
    /// Places of the swap area.
    pub swap: u32,
    /// Pages of each program file.
    pub images: Vec<u32>,
}

/// A page of a program file.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ImagePage {
    /// Tasks that have it in their tables.
    pub maps: u32,
    /// The slot of its block, if the cache has it.
    pub cached: Option<Slot>,
    /// Whether it is on its way from the drive, without being a block of the cache.
    coming: bool,
}

/// What a task that touched a page must do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Go on: the page is there now.
    Served,
    /// Wait until the page, which is on its way, has arrived or left.
    AwaitPage,
    /// Wait until this block has been read.
    AwaitBlock(Slot),
    /// Read this block into the cache, and try again.
    ReadBlock(Name),
    /// Have this page of the program file read; memory for it has been taken.
    ReadImage {
        /// The program file.
        image: u16,
        /// Its page.
        index: u32,
    },
    /// Have this place of the swap area read; memory for it has been taken.
    SwapIn(SwapSlot),
    /// Gain a page, and try again.
    NoPage,
}

/// How memory is used, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Free pages.
    pub free: u32,
    /// The block cache's.
    pub cached: u32,
    /// Of the swap area.
    pub swapped: u32,
}

/// All memory.
#[derive(Debug)]
pub struct Memory {
    /// The block cache.
    pub cache: BlockCache,
    pub(crate) setup: Setup,
    pub(crate) spaces: Vec<Space>,
    pub(crate) images: Vec<Vec<ImagePage>>,
    pub(crate) swap: SwapArea,
    /// Places of the swap area that pages in memory have kept.
    pub(crate) kept: BTreeMap<(SpaceId, PageId), SwapSlot>,
    pub(crate) policy: Box<dyn Reclaim>,
    pub(crate) free: u32,
    /// Pages of blocks of the cache.
    pub(crate) cached: u32,
    pub(crate) leaving: u32,
    /// The next block may take of the pages that the cache leaves.
    pub(crate) reserve_open: bool,
    /// When the policy's counters are brought up to date next.
    pub(crate) next_refresh: Nanos,
    born: u32,
}

impl Memory {
    /// Memory with nothing in it.
    pub fn new(setup: Setup, cache: BlockCache, policy: Box<dyn Reclaim>) -> Memory {
        Memory {
            cache,
            spaces: Vec::new(),
            images: setup.images.iter().map(|&pages| vec![ImagePage::default(); pages as usize]).collect(),
            next_refresh: policy.refresh_period().unwrap_or(Nanos::MAX),
            swap: SwapArea::new(setup.swap),
            kept: BTreeMap::new(),
            policy,
            free: setup.pages.unwrap_or(u32::MAX),
            cached: 0,
            leaving: 0,
            reserve_open: false,
            born: 0,
            setup,
        }
    }

    /// Whether there is an end to it.
    pub fn limited(&self) -> bool {
        self.setup.pages.is_some()
    }

    /// How it is used.
    pub fn usage(&self) -> Usage {
        Usage { free: self.free, cached: self.cached, swapped: self.swap.used() }
    }

    /// Pages free, and those that will be when they have been written.
    pub fn to_be_free(&self) -> u32 {
        self.free + self.leaving
    }

    /// Blocks that the cache could hold without reclaim: a share of these may be dirty.
    pub fn changeable(&self) -> u32 {
        match self.setup.pages {
            Some(_) => ((self.free + self.cached) / self.setup.pages_per_block).min(self.cache.capacity()),
            None => self.cache.capacity(),
        }
    }

    pub(crate) fn take(&mut self, pages: u32) {
        if self.limited() {
            self.free -= pages;
        }
    }

    pub(crate) fn give(&mut self, pages: u32) {
        if self.limited() {
            self.free += pages;
        }
    }

    /// What the policy of reclaim sees, borrowed apart from the policy.
    pub(crate) fn with_policy<T>(&mut self, ask: impl FnOnce(&mut dyn Reclaim, &mut Context<'_>) -> T) -> T {
        let files = self.file_lists();
        let mut cx = Context {
            spaces: &mut self.spaces,
            born: self.born,
            pages: self.setup.pages.unwrap_or(u32::MAX),
            free: self.free,
            cached: [self.cache.len(), self.cached],
            files,
            leaving: self.leaving,
            swap_free: self.swap.free() + self.kept.len() as u32,
        };
        ask(&mut *self.policy, &mut cx)
    }

    /// The cache's lists in pages; all of them are inactive if its policy has no active list.
    fn file_lists(&self) -> FileLists {
        let Some(lists) = self.cache.lists() else {
            return FileLists { inactive: self.cached, ..FileLists::default() };
        };
        let pages = self.setup.pages_per_block;
        FileLists {
            inactive: lists.inactive * pages,
            active: lists.active * pages,
            activated: lists.activated,
            age: lists.age * u64::from(pages),
        }
    }

    /// A task's space, empty if it is new.
    fn space(&mut self, space: SpaceId) -> &mut Space {
        if self.spaces.len() <= space as usize {
            self.spaces.resize(space as usize + 1, Space::default());
        }
        &mut self.spaces[space as usize]
    }

    /// The first page of that part of a task's memory, which has at least that many pages.
    pub fn segment(&mut self, space: SpaceId, image: Option<u16>, pages: u32) -> PageId {
        let space = self.space(space);
        space.swappable = true;
        let known = space.segments.iter().find(|segment| segment.image == image && segment.pages >= pages);
        if let Some(segment) = known {
            return segment.first;
        }
        let first = space.pages.len() as PageId;
        space.segments.push(Segment { image, first, pages });
        space.pages.resize((first + pages) as usize, Page::default());
        first
    }

    /// The task touches a page. Says whether that is all.
    #[inline]
    pub fn touch(&mut self, space: SpaceId, page: PageId, write: bool) -> bool {
        let page = &mut self.spaces[space as usize].pages[page as usize];
        if page.home != Home::Present {
            return false;
        }
        page.accessed = true;
        page.dirty |= write;
        true
    }

    /// What a task that touched a page must do. Asked again after each wait: much may have happened.
    pub fn fault(&mut self, space: SpaceId, page: PageId) -> Fault {
        let segment = *self.spaces[space as usize].segment(page);
        match (self.spaces[space as usize].pages[page as usize].home, segment.image) {
            (Home::Present, _) => Fault::Served,
            (Home::Leaving(_) | Home::Coming, _) => Fault::AwaitPage,
            (_, Some(image)) => self.image_fault(space, page, image, page - segment.first),
            (Home::Swapped(_) | Home::Absent, None) if self.free == 0 => Fault::NoPage,
            (Home::Swapped(slot), None) => {
                self.take(1);
                self.spaces[space as usize].pages[page as usize].home = Home::Coming;
                Fault::SwapIn(slot)
            }
            (Home::Absent, None) => {
                self.take(1);
                self.enter(space, page);
                self.spaces[space as usize].pages[page as usize].dirty = true;
                self.with_policy(|policy, cx| policy.brought_in(cx, space, page));
                Fault::Served
            }
        }
    }

    fn image_fault(&mut self, space: SpaceId, page: PageId, image: u16, index: u32) -> Fault {
        let state = self.images[usize::from(image)][index as usize];
        match state.cached {
            Some(slot) if self.cache.block(slot).state == State::Reading => return Fault::AwaitBlock(slot),
            None if state.coming => return Fault::AwaitPage,
            None if state.maps == 0 && self.setup.caches_images => {
                return Fault::ReadBlock((image, Part::Image(index)));
            }
            None if state.maps == 0 => {
                if self.free == 0 {
                    return Fault::NoPage;
                }
                self.take(1);
                self.images[usize::from(image)][index as usize].coming = true;
                self.spaces[space as usize].pages[page as usize].home = Home::Coming;
                return Fault::ReadImage { image, index };
            }
            _ => {}
        }
        self.images[usize::from(image)][index as usize].maps += 1;
        if let Some(slot) = state.cached {
            self.cache.hit(slot);
        }
        self.enter(space, page);
        Fault::Served
    }

    /// The page is now in the task's table.
    fn enter(&mut self, space: SpaceId, page: PageId) {
        self.born = self.born.wrapping_add(1);
        let born = self.born;
        self.spaces[space as usize].pages[page as usize] =
            Page { home: Home::Present, accessed: true, dirty: false, mark: 0, born };
    }

    /// A fault has waited for the drive.
    pub fn count_major(&mut self, space: SpaceId) {
        self.spaces[space as usize].major_faults += 1;
    }

    /// The drive has read a page from the swap area, whose place there is free again unless the policy has it kept.
    pub fn swapped_in(&mut self, space: SpaceId, page: PageId, slot: SwapSlot) {
        let here = self.spaces[space as usize].swappable;
        let keeps = here && self.policy.keeps_places() && self.swap.used() <= self.swap.free();
        if keeps {
            self.kept.insert((space, page), slot);
        } else {
            self.swap.give_back(slot);
        }
        if !here {
            self.spaces[space as usize].pages[page as usize].home = Home::Absent;
            return self.give(1);
        }
        self.enter(space, page);
        self.spaces[space as usize].pages[page as usize].dirty = !keeps;
        self.with_policy(|policy, cx| policy.brought_in(cx, space, page));
    }

    /// The drive has read a page of a program file that is no block of the cache.
    pub fn image_read(&mut self, space: SpaceId, page: PageId, image: u16, index: u32) {
        self.images[usize::from(image)][index as usize].coming = false;
        if !self.spaces[space as usize].swappable {
            self.spaces[space as usize].pages[page as usize].home = Home::Absent;
            return self.give(1);
        }
        self.images[usize::from(image)][index as usize].maps += 1;
        self.enter(space, page);
    }

    /// A task takes a page of a program file out of its table. Says whether a page was gained.
    pub(crate) fn unmap(&mut self, space: SpaceId, page: PageId) -> bool {
        let segment = *self.spaces[space as usize].segment(page);
        let own = &mut self.spaces[space as usize].pages[page as usize];
        own.home = Home::Absent;
        let Some(image) = segment.image else {
            let mark = own.mark;
            self.policy.gone(mark);
            if let Some(slot) = self.kept.remove(&(space, page)) {
                self.swap.give_back(slot);
            }
            self.give(1);
            return true;
        };
        let of_image = &mut self.images[usize::from(image)][(page - segment.first) as usize];
        of_image.maps -= 1;
        let last = of_image.maps == 0 && of_image.cached.is_none();
        self.give(u32::from(last));
        last
    }

    /// Whether a task has the block's page in its table.
    pub(crate) fn is_mapped(&self, name: Name) -> bool {
        matches!(name, (image, Part::Image(index)) if self.images[usize::from(image)][index as usize].maps > 0)
    }

    /// Whether a task has touched the block's page since this was last asked.
    pub(crate) fn touched(&mut self, name: Name) -> bool {
        let (image, Part::Image(index)) = name else { return false };
        let mut touched = false;
        for_mappings(&mut self.spaces, image, index, |page| touched |= std::mem::take(&mut page.accessed));
        touched
    }

    /// Takes the block's page out of all tables.
    pub(crate) fn unmap_all(&mut self, name: Name) {
        let (image, Part::Image(index)) = name else { return };
        for_mappings(&mut self.spaces, image, index, |page| page.home = Home::Absent);
        self.images[usize::from(image)][index as usize].maps = 0;
    }

    /// The task has ended: its memory is free. What is on its way to or from the drive will be when it arrives.
    pub fn end(&mut self, space: SpaceId) {
        let Some(own) = self.spaces.get_mut(space as usize) else { return };
        own.swappable = false;
        for page in 0..own.pages.len() as PageId {
            match self.spaces[space as usize].pages[page as usize].home {
                Home::Present => {
                    self.unmap(space, page);
                }
                Home::Swapped(slot) => {
                    self.swap.give_back(slot);
                    self.spaces[space as usize].pages[page as usize].home = Home::Absent;
                }
                Home::Absent | Home::Leaving(_) | Home::Coming => {}
            }
        }
    }

    /// Counts every page again, and says what does not add up.
    pub fn check(&self) -> Result<(), String> {
        let Some(pages) = self.setup.pages else { return Ok(()) };
        let all = || self.spaces.iter().flat_map(|space| space.segments.iter().map(move |segment| (space, segment)));
        let own = all().filter(|(_, segment)| segment.image.is_none());
        let own: usize = own
            .map(|(space, segment)| {
                let range = segment.first as usize..(segment.first + segment.pages) as usize;
                let held = |page: &&Page| matches!(page.home, Home::Present | Home::Leaving(_) | Home::Coming);
                space.pages[range].iter().filter(held).count()
            })
            .sum();
        let mapped_only = |page: &&ImagePage| page.cached.is_none() && (page.maps > 0 || page.coming);
        let images: usize = self.images.iter().flatten().filter(mapped_only).count();
        let sum = u64::from(self.free) + u64::from(self.cached) + own as u64 + images as u64;
        if sum != u64::from(pages) {
            let (free, cached) = (self.free, self.cached);
            return Err(format!(
                "{free} free + {cached} cached + {own} own + {images} of programs are not {pages} pages"
            ));
        }
        if self.cached != self.cache.len() * self.setup.pages_per_block {
            return Err(format!("{} blocks do not take {} pages", self.cache.len(), self.cached));
        }
        Ok(())
    }
}

/// Visits the page of a program file in every table that has it.
fn for_mappings(spaces: &mut [Space], image: u16, index: u32, mut visit: impl FnMut(&mut Page)) {
    for space in spaces {
        for segment in space.segments.iter().filter(|segment| segment.image == Some(image) && index < segment.pages) {
            let page = &mut space.pages[(segment.first + index) as usize];
            if page.home == Home::Present {
                visit(page);
            }
        }
    }
}
