//! Reclaim: which pages are freed when memory is short. The interface between the kernel's memory and the policy that chooses,
//! and the table of all of them.
//!
//! ```text
//!   a page is wanted, none is free
//!     begin -> Walk -> next -> Choice, carried out by the kernel
//!                       ^        '-> a page was gained -> gained; the walk is over
//!                       '----------- else
//! ```
//!
//! A walk belongs to the task that needs the page, and several may be under way: while one waits for a page to be written,
//! others begin. They share the policy's own state, and the time at which it is updated is a part of the algorithm.

use schedlab_model::{
    Nanos,
    info::{Info, Params},
    page::{PageId, Space, SpaceId},
};

mod linux_1_0;
mod own_pages;
mod two_list;

pub use linux_1_0::Linux10;
pub use two_list::TwoList;

/// What a policy may see and, in the pages' marks, change.
#[derive(Debug)]
pub struct Context<'a> {
    /// The tasks' memory, by task.
    pub spaces: &'a mut [Space],
    /// Pages given out so far; see [`schedlab_model::page::Page::born`].
    pub born: u32,
    /// Pages in all.
    pub pages: u32,
    /// Free pages.
    pub free: u32,
    /// Blocks in the cache, and pages that it takes.
    pub cached: [u32; 2],
    /// How those pages are divided among the cache's own lists.
    pub files: FileLists,
    /// Pages on their way to the swap area.
    pub leaving: u32,
    /// Places free in the swap area.
    pub swap_free: u32,
}

/// The pages of the block cache as its eviction policy has them; one without an active list has all of them inactive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileLists {
    /// First in line to go.
    pub inactive: u32,
    /// In use.
    pub active: u32,
    /// Blocks made active because they came back soon after their eviction, so far.
    pub activated: u64,
    /// Pages evicted or made active, so far.
    pub age: u64,
}

/// How far a task has come in its search for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Walk {
    /// How gentle the search still is: it begins high and ends at 0.
    pub priority: u8,
    /// What the policy keeps of its own.
    pub stage: Stage,
    /// Pages looked at since the kernel last asked; it costs time.
    pub looked: u32,
    /// Pages that this search has gained so far; the kernel counts them.
    pub gained: u32,
    /// Blocks that the cache could not give up because they must be written or are at the drive; the kernel counts them.
    pub at_drive: u32,
}

/// Where in its round a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The cache is asked next.
    Cache,
    /// Tasks are scanned next: the number left.
    Tasks(u32),
    /// This task's pages are being scanned, from that one on; and the number of tasks that may follow.
    Pages {
        /// The task.
        space: SpaceId,
        /// The next page.
        page: PageId,
        /// Tasks left.
        left: u32,
    },
    /// Lists are being scanned.
    Lists(Scan),
}

/// How far a round of scanning has come: the inactive and the active list of the tasks' own pages, then those of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scan {
    /// Pages of each list still to be scanned in this round.
    pub left: [u32; 4],
    /// What they were in the beginning.
    pub wanted: [u32; 4],
    /// The list that comes next.
    pub list: usize,
    /// The list of the present batch, and pages of it that are left.
    pub of: usize,
    /// See `of`.
    pub batch: u32,
    /// Pages of the batch that went out, and that stayed. Of files: pages gained before it, and all of it.
    pub out: u32,
    /// See `out`.
    pub stayed: u32,
    /// Whether active pages become inactive: own ones, files.
    pub deactivates: [bool; 2],
    /// Whether that was forbidden to any list that was to be scanned.
    pub skipped: bool,
    /// Whether the rest of the round was cut in proportion, or is not to be.
    pub adjusted: bool,
    /// Searches through all priorities that freed nothing.
    pub failed: u32,
}

/// What the kernel is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Ask the block cache for a page.
    Shrink(Shrink),
    /// Take a clean page out of its task's table; it is gained if no other task has it. A page of a task's own memory is
    /// clean while its place in the swap area is kept ([`Reclaim::keeps_places`]) and it has not been written to.
    Drop {
        /// The task whose page it is.
        space: SpaceId,
        /// Which.
        page: PageId,
    },
    /// Write a page to the swap area; it is gained when it is there.
    PageOut {
        /// The task whose page it is.
        space: SpaceId,
        /// Which.
        page: PageId,
    },
    /// Wait until a page that is on its way has been written.
    Wait,
    /// Enough was gained: the search is over. Only of policies that gain in batches ([`Reclaim::in_batches`]).
    Enough,
    /// There is nothing to be had.
    GiveUp,
}

/// How the block cache is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrink {
    /// Blocks that it looks at, at most.
    pub looks: u32,
    /// Pages that are enough.
    pub gain: u32,
    /// Whether every changed block is to be written first.
    pub write_all: bool,
    /// What happens to a block whose page a task has in its table.
    pub mapped: Mapped,
}

/// What happens to a block of the cache whose page a task has in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mapped {
    /// It stays.
    Keep,
    /// The cache gives it up, the task keeps the page: nothing is gained.
    Detach,
    /// It is taken from the tasks too, unless one of them has touched it since it was last looked at.
    Unmap,
}

/// A policy of reclaim at work.
pub trait Reclaim: std::fmt::Debug + Send {
    /// A task wants a page.
    fn begin(&mut self, cx: &mut Context<'_>) -> Walk;

    /// What to try next.
    fn next(&mut self, cx: &mut Context<'_>, walk: &mut Walk) -> Choice;

    /// The last choice has gained a page, and the walk is over. `written`: it was a page-out that the task has waited for.
    fn gained(&mut self, _: &mut Context<'_>, _: &Walk, _written: bool) {}

    /// Whether a search goes on after its first page, until the policy has [`Choice::Enough`].
    fn in_batches(&self) -> bool {
        false
    }

    /// A page of a task's own memory is now in its table: a new one, or one from the swap area.
    fn brought_in(&mut self, _: &mut Context<'_>, _: SpaceId, _: PageId) {}

    /// A present page of a task's own memory is gone with its task; its [`Page::mark`](schedlab_model::page::Page::mark)
    /// was this.
    fn gone(&mut self, _mark: u8) {}

    /// A block came back from the drive that had been in use when the cache gave it up.
    fn file_refaulted(&mut self, _: &mut Context<'_>) {}

    /// For the eviction policy of the cache: the tasks' own pages, if they can go to the swap area, and how many of them were
    /// evicted or made active so far.
    fn own_pages(&self) -> (u32, u64) {
        (0, 0)
    }

    /// Whether a page that was read from the swap area keeps its place there, while less than half of the area is taken.
    fn keeps_places(&self) -> bool {
        false
    }

    /// How often the policy's counters are brought up to date, if it does not look at the lists themselves.
    fn refresh_period(&self) -> Option<Nanos> {
        None
    }

    /// That time has come.
    fn refresh(&mut self, _: &mut Context<'_>) {}

    /// Whether the task that pages out waits for the write. If not, the walk goes on at once.
    fn waits(&self) -> bool;

    /// Pages free below which the kernel begins to reclaim in the background, and up to which it goes on; `None` if it has
    /// no such daemon.
    fn watermarks(&self, _pages: u32) -> Option<[u32; 2]> {
        None
    }
}

/// A policy's entry in the table.
pub trait Entry: Reclaim + Sized + 'static {
    /// Its description.
    const INFO: Info;

    /// A new one.
    fn new(params: &Params) -> Self;
}

macro_rules! table {
    ($($policy:ty),* $(,)?) => {
        /// The table of policies of reclaim.
        pub const RECLAIMS: &[Info] = &[$(<$policy as Entry>::INFO),*];

        /// A new policy of that name; `None` if there is none.
        pub fn build(name: &str, params: &Params) -> Option<Box<dyn Reclaim>> {
            $(if name == <$policy as Entry>::INFO.name {
                return Some(Box::new(<$policy as Entry>::new(params)));
            })*
            None
        }
    };
}

table![Linux10, TwoList];
