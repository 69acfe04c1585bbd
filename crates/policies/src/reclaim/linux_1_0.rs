//! # linux_1_0
//!
//! Promises that a task with frequent faults loses few pages at a time, and a second chance to a page touched since the
//! last scan.
//!
//! ## The idea
//!
//!     For p = 5, 4, ... 0, until a page is gained:
//!         ask the block cache: it scans 1/2^p of its blocks (for p < 2 it first starts to write all that are changed);
//!         ask 256/2^p tasks that have pages, one after the other, from where the last search ended:
//!             a task whose quota is used up gets a new one, from its faults;
//!             scan its pages from where the last search ended:
//!                 touched: forget that, keep it; young: keep it;
//!                 changed: write it to the swap area, wait, gained;
//!                 else: unmap it, gained unless another has it;
//!             gained: remember the place, quota less one, at 0 the next task is next;
//!             no page left: the next task.
//!
//! Pages do not age, no pages are kept free, there is no daemon: a task that needs a page searches for one.
//!
//! ## The formula
//!
//!     d      =  3/4 d + f           d decayed faults of the task, at most 32; f faults that waited for the drive since the last
//!                                   quota
//!     quota  =  4        d >= 32
//!               32       d <= 4
//!               128 / d  else       pages that the task may lose before the next one is searched
//!
//! ## The race
//!
//! The place, the quota and the task that is next are brought up to date only *after* the write has been waited for. Meanwhile
//! others search from the old place: they find the pages there no longer touched, since the first search has cleared that, and
//! the second chance is lost. And each of them takes one from the same quota: below 0 it becomes the largest number
//! there is, and the task loses a whole pass of its pages. `race = false` brings them up to date before the write.
//!
//! ## Cost
//!
//! A search scans pages until one is gained, at worst every page of every task.
//!
//! ## Good for, not for
//!
//! A few tasks that run alternately. When all thrash, the race takes pages that were just fetched.
//!
//! ## Departures
//!
//! Shared memory segments are not modelled. A page's block stays in the cache, as in the kernel when the four blocks of 1 KiB
//! are read as one; blocks of different files do not share a page.
//!
//! ## References
//!
//! - Linux 1.0, mm/swap.c: try_to_free_page, swap_out, try_to_swap_out; fs/buffer.c: shrink_buffers.

use super::{Choice, Context, Entry, Mapped, Reclaim, Shrink, Stage, Walk};
use schedlab_model::{
    info::{Domain, Info, Parameter, Params},
    page::{Home, PageId, Space, SpaceId},
};

/// Where the priority begins.
const GENTLEST: u8 = 5;
/// Tasks asked at priority 0: twice the 128 that the kernel has room for.
const TASKS: u32 = 256;
/// Pages so young are kept.
const YOUNG: u32 = 32;
/// Decayed faults that count; more are forgotten.
const MANY_FAULTS: u32 = 32;

/// The state of `swap_out`, and of each task in it.
#[derive(Debug)]
pub struct Linux10 {
    race: bool,
    /// The task that is next.
    turn: SpaceId,
    tasks: Vec<Turn>,
}

/// A task's own part.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    /// Where the next search begins.
    position: PageId,
    /// Pages that it may still lose before the next task is searched. Unsigned, as in the kernel: 0 less 1 is the largest
    /// number.
    quota: u32,
    decayed_faults: u32,
    faults_before: u32,
}

impl Linux10 {
    /// The next task with pages, one of the `left` that may still be searched. Those without pages in memory do not count
    /// as asked.
    fn task(&mut self, cx: &Context<'_>, left: &mut u32) -> Option<SpaceId> {
        self.tasks.resize(cx.spaces.len(), Turn::default());
        *left = left.checked_sub(1)?;
        let spaces = cx.spaces.len() as SpaceId;
        let from = if self.turn < spaces { self.turn } else { 0 };
        let in_turn = (from..spaces).chain(0..from);
        self.turn = in_turn.into_iter().find(|&space| has_pages(&cx.spaces[space as usize]))?;
        let task = &mut self.tasks[self.turn as usize];
        if task.quota == 0 {
            task.renew(cx.spaces[self.turn as usize].major_faults);
        }
        Some(self.turn)
    }

    /// Looks at pages of one task, from `page` on.
    fn look(
        &mut self,
        cx: &mut Context<'_>,
        walk: &mut Walk,
        space: SpaceId,
        page: PageId,
        left: u32,
    ) -> Option<Choice> {
        let pages = &mut cx.spaces[space as usize].pages;
        for (index, page) in pages.iter_mut().enumerate().skip(page as usize) {
            // The kernel goes through all entries of a page table, and so pays for absent pages too.
            walk.looked += 1;
            if page.home != Home::Present {
                continue;
            }
            let accessed = std::mem::take(&mut page.accessed);
            if accessed || cx.born.wrapping_sub(page.born) <= YOUNG || page.dirty && cx.swap_free == 0 {
                continue;
            }
            let (dirty, page) = (page.dirty, index as PageId);
            walk.stage = Stage::Pages { space, page: page + 1, left };
            if !dirty {
                return Some(Choice::Drop { space, page });
            }
            if !self.race {
                self.lost(walk);
            }
            return Some(Choice::PageOut { space, page });
        }
        None
    }

    /// The task has lost a page: its place and quota, and which task is next.
    fn lost(&mut self, walk: &Walk) {
        let Stage::Pages { space, page, .. } = walk.stage else { return };
        let task = &mut self.tasks[space as usize];
        task.position = page;
        task.quota = task.quota.wrapping_sub(1);
        if task.quota == 0 {
            self.turn = space + 1;
        }
    }
}

/// Whether a task has pages that may be taken.
fn has_pages(space: &Space) -> bool {
    space.swappable && space.pages.iter().any(|page| page.home == Home::Present)
}

impl Turn {
    fn renew(&mut self, faults: u32) {
        let since = faults - self.faults_before;
        self.faults_before = faults;
        self.decayed_faults = (self.decayed_faults * 3 / 4 + since).min(MANY_FAULTS);
        self.quota = match self.decayed_faults {
            MANY_FAULTS.. => 4,
            0..=4 => 32,
            some => 128 / some,
        };
    }
}

impl Entry for Linux10 {
    const INFO: Info = Info {
        name: "linux_1_0",
        summary: "tasks give up pages in turn, by a quota from their faults; page-out is synchronous",
        year: 1994,
        origin: "Linux 1.0",
        promises: &[],
        parameters: &[Parameter {
            name: "race",
            meaning: "whether a search's place is remembered only after its write, as in the kernel",
            domain: Domain::Switch,
            default: Some("true"),
            logarithmic: false,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("linux_1_0.rs"),
    };

    fn new(params: &Params) -> Self {
        Linux10 { race: params.switch("race"), turn: 0, tasks: Vec::new() }
    }
}

impl Reclaim for Linux10 {
    fn begin(&mut self, _: &mut Context<'_>) -> Walk {
        Walk { priority: GENTLEST, stage: Stage::Cache, looked: 0, gained: 0, at_drive: 0 }
    }

    fn next(&mut self, cx: &mut Context<'_>, walk: &mut Walk) -> Choice {
        loop {
            match walk.stage {
                Stage::Cache => {
                    // One more than it says: the kernel counts down to 0 and asks at 0 too.
                    walk.stage = Stage::Tasks((TASKS >> walk.priority) + 1);
                    return Choice::Shrink(Shrink {
                        looks: cx.cached[0] >> walk.priority,
                        gain: 1,
                        write_all: walk.priority < 2,
                        mapped: if walk.priority >= GENTLEST { Mapped::Keep } else { Mapped::Detach },
                    });
                }
                Stage::Tasks(mut left) => match self.task(cx, &mut left) {
                    Some(space) => {
                        walk.stage = Stage::Pages { space, page: self.tasks[space as usize].position, left };
                    }
                    None if walk.priority == 0 => return Choice::GiveUp,
                    None => {
                        walk.priority -= 1;
                        walk.stage = Stage::Cache;
                    }
                },
                Stage::Lists(_) => unreachable!("this policy has no lists"),
                Stage::Pages { space, page, left } => {
                    if let Some(choice) = self.look(cx, walk, space, page, left) {
                        return choice;
                    }
                    self.tasks[space as usize].position = 0;
                    self.turn = space + 1;
                    walk.stage = Stage::Tasks(left);
                }
            }
        }
    }

    fn gained(&mut self, _: &mut Context<'_>, walk: &Walk, written: bool) {
        // Without the race, a page-out was accounted for before its write.
        if self.race || !written {
            self.lost(walk);
        }
    }

    fn waits(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::page::{Page, Segment, Space};

    /// Tasks with the given numbers of old pages, changed and not touched.
    fn tasks(pages: &[u32]) -> Vec<Space> {
        let page = Page { home: Home::Present, dirty: true, ..Page::default() };
        let space = |&pages: &u32| Space {
            segments: vec![Segment { image: None, first: 0, pages }],
            pages: vec![page; pages as usize],
            major_faults: 0,
            swappable: true,
        };
        pages.iter().map(space).collect()
    }

    fn policy(race: &str) -> Linux10 {
        Linux10::new(&Params::check(&Linux10::INFO, [("race", race.to_owned())]).unwrap())
    }

    fn context(spaces: &mut [Space]) -> Context<'_> {
        Context {
            spaces,
            born: 1000,
            pages: 1000,
            free: 0,
            cached: [0, 0],
            files: Default::default(),
            leaving: 0,
            swap_free: 1000,
        }
    }

    /// A new search up to its page-out, which the kernel begins.
    fn search(policy: &mut Linux10, spaces: &mut [Space]) -> (Walk, SpaceId, PageId) {
        let mut walk = policy.begin(&mut context(spaces));
        loop {
            match policy.next(&mut context(spaces), &mut walk) {
                Choice::PageOut { space, page } => {
                    spaces[space as usize].pages[page as usize].home = Home::Leaving(0);
                    return (walk, space, page);
                }
                Choice::Shrink(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Pages that leave one after the other, each waited for.
    fn losses(policy: &mut Linux10, spaces: &mut [Space], count: usize) -> Vec<(SpaceId, PageId)> {
        let one = |_| {
            let (walk, space, page) = search(policy, spaces);
            policy.gained(&mut context(spaces), &walk, true);
            (space, page)
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn a_quiet_task_loses_thirty_two_pages_and_then_the_next_is_asked() {
        let mut spaces = tasks(&[100, 100]);
        let lost = losses(&mut policy("true"), &mut spaces, 33);
        let expected = (0..32).map(|page| (0, page)).chain([(1, 0)]).collect::<Vec<_>>();
        assert_eq!(lost, expected);
    }

    #[test]
    fn a_frequent_faulter_loses_four() {
        let mut spaces = tasks(&[100, 100]);
        spaces[0].major_faults = 40;
        assert_eq!(losses(&mut policy("true"), &mut spaces, 5), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)]);
    }

    #[test]
    fn quotas_follow_the_decayed_faults() {
        let mut turn = Turn::default();
        let quotas = [0, 8, 12, 70, 70].map(|faults| {
            turn.renew(faults);
            (turn.decayed_faults, turn.quota)
        });
        // No more than 32 are remembered.
        assert_eq!(quotas, [(0, 32), (8, 16), (10, 12), (32, 4), (24, 5)]);
    }

    #[test]
    fn a_touched_page_stays_until_it_is_looked_at_again() {
        let mut spaces = tasks(&[3]);
        spaces[0].pages[0].accessed = true;
        assert_eq!(losses(&mut policy("true"), &mut spaces, 3), [(0, 1), (0, 2), (0, 0)]);
    }

    #[test]
    fn young_pages_stay() {
        let mut spaces = tasks(&[40]);
        (0..40).for_each(|page| spaces[0].pages[page].born = 950 + page as u32);
        let lost = losses(&mut policy("true"), &mut spaces, 18);
        assert_eq!(lost.last(), Some(&(0, 17)), "967 is not among the last 32 of 1000");
    }

    #[test]
    fn two_searches_at_once_take_more_than_the_quota() {
        let mut spaces = tasks(&[100, 100]);
        spaces[0].major_faults = 40; // a quota of 4
        let mut policy = policy("true");
        losses(&mut policy, &mut spaces, 3);
        let (first, ..) = search(&mut policy, &mut spaces);
        let (second, space, _) = search(&mut policy, &mut spaces);
        assert_eq!(space, 0, "the quota of one is not used up before the first write is done");
        policy.gained(&mut context(&mut spaces), &first, true);
        policy.gained(&mut context(&mut spaces), &second, true);
        assert_eq!(policy.tasks[0].quota, u32::MAX);
    }

    #[test]
    fn without_the_race_the_second_search_goes_to_the_next_task() {
        let mut spaces = tasks(&[100, 100]);
        spaces[0].major_faults = 40;
        let mut policy = policy("false");
        losses(&mut policy, &mut spaces, 3);
        search(&mut policy, &mut spaces);
        let (_, space, _) = search(&mut policy, &mut spaces);
        assert_eq!((space, policy.tasks[0].quota), (1, 0));
    }
}
