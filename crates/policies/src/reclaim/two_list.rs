//! # two_list
//!
//! Promises files and programs a share of memory by what each costs when it is missing, and what was used twice a longer stay.
//!
//! ## The idea
//!
//!     The tasks' own pages stand on two lists, active and inactive. New ones are active.
//!     A search works in rounds of priority 12, 11, ... 0, each through 1/2^priority of the cache and of the lists, 32 at a time:
//!         the cache evicts by its own policy, and takes pages of program files from tasks that have not touched them;
//!         own pages: the oldest active ones become inactive while the inactive are too few;
//!         of the inactive, the oldest: touched since, active again; else out to the swap area, not waited for.
//!     A daemon begins when fewer pages are free than the low mark, and goes on to the high mark.
//!
//! ## The formula
//!
//!     ap  =  swappiness * (T + 1) / (A + 1)              weight of own pages
//!     fp  =  (200 - swappiness) * (T + 1) / (F + 1)      weight of files
//!     T   =  A + F        A pages in and out of the swap area, F blocks fetched again after eviction; both are halved when
//!                         T exceeds a quarter of memory
//!     inactive are too few    while  inactive * ratio < active,   ratio = sqrt(10 * GiB on the lists), at least 1
//!
//! ## Cost
//!
//! Constant for each page looked at.
//!
//! ## Good for, not for
//!
//! Machines whose files and programs compete for memory. `swappiness` says how dear a page-out is beside a read: 0 spares
//! programs as long as there are files, 100 treats both alike, 200 spares files.
//!
//! ## Departures
//!
//! One node, one zone, one control group. Pages of program files stand in the block cache's own order, not on lists of their
//! own. A page that comes from the swap area gives its place there up at once (the kernel keeps it while the area is less
//! than half full). The marks are 1/64 and 3/128 of memory (the kernel computes them from min_free_kbytes).
//!
//! ## References
//!
//! - Linux 6.18, mm/vmscan.c: get_scan_count, shrink_lruvec, shrink_active_list, inactive_is_low; mm/swap.c: lru_note_cost.

use super::{Choice, Context, Entry, Mapped, Reclaim, Shrink, Stage, Walk};
use schedlab_model::{
    info::{Domain, Info, Parameter, Params},
    page::{Home, Page, PageId, SpaceId},
};
use std::collections::VecDeque;

/// DEF_PRIORITY.
const GENTLEST: u8 = 12;
/// SWAP_CLUSTER_MAX: looked at in one go, and on their way out at most.
const BATCH: u32 = 32;
/// Marks of a page: the list on which it stands.
const ACTIVE: u8 = 1;
const INACTIVE: u8 = 2;
const PAGES_PER_GIB: f64 = (1u64 << 18) as f64;

/// A page on a list; stale if the page has another birth or another mark by now.
#[derive(Debug, Clone, Copy)]
struct Entered {
    space: SpaceId,
    page: PageId,
    born: u32,
}

/// One list, oldest first, and how many of its entries are not stale.
#[derive(Debug, Default)]
struct List {
    entries: VecDeque<Entered>,
}

/// The lists of the tasks' own pages, and what each side has cost.
#[derive(Debug)]
pub struct TwoList {
    swappiness: u64,
    active: List,
    inactive: List,
    own_cost: u64,
    file_cost: u64,
    pages: u64,
    /// Weight by which own pages are behind files in being looked at; negative if they are ahead.
    owed: i64,
}

impl List {
    /// The oldest page that still stands on this list.
    fn oldest<'a>(&mut self, cx: &'a mut Context<'_>, mark: u8) -> Option<(Entered, &'a mut Page)> {
        while let Some(entry) = self.entries.pop_front() {
            let page = cx.spaces.get(entry.space as usize).and_then(|space| space.pages.get(entry.page as usize));
            if page.is_some_and(|page| page.home == Home::Present && page.born == entry.born && page.mark == mark) {
                return Some((entry, &mut cx.spaces[entry.space as usize].pages[entry.page as usize]));
            }
        }
        None
    }
}

impl TwoList {
    /// Moves the oldest active pages over while the inactive are too few.
    fn refill(&mut self, cx: &mut Context<'_>, walk: &mut Walk) {
        for _ in 0..BATCH {
            let (active, inactive) = (self.active.entries.len(), self.inactive.entries.len());
            let gib = (active + inactive) as f64 / PAGES_PER_GIB;
            let ratio = (10.0 * gib).sqrt().max(1.0);
            if inactive as f64 * ratio >= active as f64 {
                return;
            }
            let Some((entry, page)) = self.active.oldest(cx, ACTIVE) else { return };
            (page.mark, page.accessed) = (INACTIVE, false);
            walk.looked += 1;
            self.inactive.entries.push_back(entry);
        }
    }

    /// The next own page to go out, if one of the oldest has not been touched.
    fn victim(&mut self, cx: &mut Context<'_>, walk: &mut Walk) -> Option<(SpaceId, PageId)> {
        for _ in 0..BATCH {
            let (entry, page) = self.inactive.oldest(cx, INACTIVE)?;
            walk.looked += 1;
            if !std::mem::take(&mut page.accessed) {
                return Some((entry.space, entry.page));
            }
            page.mark = ACTIVE;
            self.active.entries.push_back(entry);
        }
        None
    }

    /// Whether own pages are to be looked at next, rather than files.
    fn own_next(&mut self, cx: &Context<'_>) -> bool {
        let own_pages = (self.active.entries.len() + self.inactive.entries.len()) as u64;
        if own_pages == 0 || cx.swap_free == 0 || self.swappiness == 0 && cx.cached[1] > 0 {
            return false;
        }
        if cx.cached[1] == 0 {
            return true;
        }
        let total = self.own_cost + self.file_cost + 1;
        let own = self.swappiness * total / (self.own_cost + 1) * own_pages;
        let files = (200 - self.swappiness) * total / (self.file_cost + 1) * u64::from(cx.cached[1]);
        // Both sides are served in proportion to weight times size.
        let sum = (own + files).max(1);
        self.owed += (own * 1024 / sum) as i64;
        let own_now = self.owed >= 512;
        self.owed -= if own_now { 1024 } else { 0 };
        own_now
    }
}

impl Entry for TwoList {
    const INFO: Info = Info {
        name: "two_list",
        summary: "active and inactive pages, files against programs by what each costs (swappiness)",
        year: 2020,
        origin: "Linux 5.8 to 6.18",
        promises: &[],
        parameters: &[Parameter {
            name: "swappiness",
            meaning: "weight of programs' own pages against files, of 200",
            domain: Domain::Count { low: 0, high: 200 },
            default: Some("60"),
            logarithmic: false,
            host: Some("swappiness"),
        }],
        source: include_str!("two_list.rs"),
    };

    fn new(params: &Params) -> Self {
        TwoList {
            swappiness: params.whole("swappiness"),
            active: List::default(),
            inactive: List::default(),
            own_cost: 0,
            file_cost: 0,
            pages: 0,
            owed: 0,
        }
    }
}

impl Reclaim for TwoList {
    fn begin(&mut self, cx: &mut Context<'_>) -> Walk {
        self.pages = cx.pages.into();
        Walk { priority: GENTLEST, stage: Stage::Cache, looked: 0 }
    }

    fn next(&mut self, cx: &mut Context<'_>, walk: &mut Walk) -> Choice {
        if cx.leaving >= BATCH {
            return Choice::Wait;
        }
        let left = match walk.stage {
            Stage::Tasks(left) => left,
            // A round: so many looks, in batches.
            _ => (cx.pages >> walk.priority) / BATCH + 1,
        };
        if left == 0 {
            if walk.priority == 0 {
                return if cx.leaving > 0 { Choice::Wait } else { Choice::GiveUp };
            }
            walk.priority -= 1;
            walk.stage = Stage::Cache;
            return self.next(cx, walk);
        }
        walk.stage = Stage::Tasks(left - 1);
        if self.own_next(cx) {
            self.refill(cx, walk);
            if let Some((space, page)) = self.victim(cx, walk) {
                self.paid(true);
                return Choice::PageOut { space, page };
            }
        }
        Choice::Shrink(Shrink { looks: BATCH, write_all: false, mapped: Mapped::Unmap })
    }

    fn brought_in(&mut self, cx: &mut Context<'_>, space: SpaceId, page: PageId) {
        let own = &mut cx.spaces[space as usize].pages[page as usize];
        own.mark = ACTIVE;
        self.active.entries.push_back(Entered { space, page, born: own.born });
    }

    fn paid(&mut self, swap: bool) {
        *if swap { &mut self.own_cost } else { &mut self.file_cost } += 1;
        if self.own_cost + self.file_cost > self.pages / 4 {
            self.own_cost /= 2;
            self.file_cost /= 2;
        }
    }

    fn waits(&self) -> bool {
        false
    }

    fn watermarks(&self, pages: u32) -> Option<[u32; 2]> {
        Some([(pages / 64).max(8), (pages * 3 / 128).max(12)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::page::Space;

    const PAGES: u32 = 6400;

    fn policy(swappiness: u64) -> TwoList {
        TwoList::new(&Params::check(&TwoList::INFO, [("swappiness", swappiness.to_string())]).unwrap())
    }

    fn context(spaces: &mut [Space]) -> Context<'_> {
        Context { spaces, born: 0, pages: PAGES, free: 0, cached: [3200, 3200], leaving: 0, swap_free: 1000 }
    }

    /// A policy that knows 3200 own pages of one task, and the task.
    fn loaded(swappiness: u64) -> (TwoList, Vec<Space>) {
        let mut policy = policy(swappiness);
        let page = Page { home: Home::Present, dirty: true, ..Page::default() };
        let mut spaces = vec![Space { pages: vec![page; 3200], swappable: true, ..Space::default() }];
        for page in 0..3200 {
            policy.brought_in(&mut context(&mut spaces), 0, page);
        }
        (policy, spaces)
    }

    /// Of so many choices, how many are page-outs.
    fn page_outs(swappiness: u64, choices: usize) -> usize {
        let (mut policy, mut spaces) = loaded(swappiness);
        let mut walk = policy.begin(&mut context(&mut spaces));
        walk.priority = 0;
        let mut chosen = (0..choices).map(|_| policy.next(&mut context(&mut spaces), &mut walk));
        chosen.by_ref().filter(|choice| matches!(choice, Choice::PageOut { .. })).count()
    }

    #[test]
    fn swappiness_nothing_spares_programs_while_there_are_files() {
        assert_eq!(page_outs(0, 100), 0);
    }

    #[test]
    fn swappiness_two_hundred_spares_files() {
        assert_eq!(page_outs(200, 100), 100);
    }

    #[test]
    fn more_swappiness_takes_more_from_programs() {
        let taken = [20, 60, 100, 160].map(|swappiness| page_outs(swappiness, 100));
        assert!(taken.is_sorted() && taken[0] > 0 && taken[0] < taken[3], "{taken:?}");
    }

    #[test]
    fn a_page_touched_while_inactive_is_active_again() {
        let (mut policy, mut spaces) = loaded(200);
        let mut walk = policy.begin(&mut context(&mut spaces));
        policy.refill(&mut context(&mut spaces), &mut walk);
        assert_eq!((spaces[0].pages[0].mark, spaces[0].pages[1].mark), (INACTIVE, INACTIVE));
        spaces[0].pages[0].accessed = true;
        assert_eq!(policy.victim(&mut context(&mut spaces), &mut walk), Some((0, 1)));
        assert_eq!(spaces[0].pages[0].mark, ACTIVE);
    }

    #[test]
    fn no_more_than_a_batch_is_on_its_way() {
        let (mut policy, mut spaces) = loaded(200);
        let mut walk = policy.begin(&mut context(&mut spaces));
        let mut cx = Context { leaving: BATCH, ..context(&mut spaces) };
        assert_eq!(policy.next(&mut cx, &mut walk), Choice::Wait);
    }
}
