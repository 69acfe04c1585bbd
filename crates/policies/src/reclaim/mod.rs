//! Reclaim: who gives pages up when memory is short. The interface between the kernel's memory and the policy that chooses,
//! and the table of all of them.
//!
//! ```text
//!   a page is wanted, none is free
//!     begin -> Walk -> next -> Choice, carried out by the kernel
//!                       ^        '-> a page was gained -> gained; the walk is over
//!                       '----------- else
//! ```
//!
//! A walk belongs to the task that wants the page, and several may be under way: while one waits for a page to be written,
//! others begin. What they share is the policy's own state, and when it is brought up to date is a part of the algorithm.

use schedlab_model::{
    info::{Info, Params},
    page::{PageId, Space, SpaceId},
};

mod linux_1_0;
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
    /// Pages that nobody has.
    pub free: u32,
    /// Blocks in the cache, and pages that it takes.
    pub cached: [u32; 2],
    /// Pages on their way to the swap area.
    pub leaving: u32,
    /// Places free in the swap area.
    pub swap_free: u32,
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
}

/// Where in its round a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The cache is asked next.
    Cache,
    /// Tasks are asked next: so many more of them.
    Tasks(u32),
    /// This task's pages are being looked at, from that one on; so many tasks may follow.
    Pages {
        /// The task.
        space: SpaceId,
        /// The next page.
        page: PageId,
        /// Tasks left.
        left: u32,
    },
}

/// What the kernel shall do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Ask the block cache for a page.
    Shrink(Shrink),
    /// Take a clean page out of its task's table; it is gained if nobody else has it.
    Drop {
        /// Whose.
        space: SpaceId,
        /// Which.
        page: PageId,
    },
    /// Write a page to the swap area; it is gained when it is there.
    PageOut {
        /// Whose.
        space: SpaceId,
        /// Which.
        page: PageId,
    },
    /// Wait until a page that is on its way has been written.
    Wait,
    /// There is nothing to be had.
    GiveUp,
}

/// How the block cache is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shrink {
    /// Blocks that it looks at, at most.
    pub looks: u32,
    /// Whether every changed block shall be written first.
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

    /// A page of a task's own memory is now in its table.
    fn brought_in(&mut self, _: &mut Context<'_>, _: SpaceId, _: PageId) {}

    /// A page came from the swap area (`true`), or a block from the drive that the cache once held.
    fn paid(&mut self, _swap: bool) {}

    /// Whether the task that pages out waits for the write. If not, the walk goes on at once.
    fn waits(&self) -> bool;

    /// Pages free below which the kernel begins to reclaim in the background, and up to which it goes on; `None` if it has no such
    /// daemon.
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
