//! The tasks' own pages on an active and an inactive list, as Linux has them, and what is kept of a page that was written out.
//!
//! A page is on a list as long as it is in its task's table; an entry whose page has left in another way is stale, and is not
//! counted from that moment on.

use super::Context;
use schedlab_model::page::{Home, Page, PageId, SpaceId};
use std::collections::VecDeque;

/// Marks of a page: its list, that it was found touched once, and that it has been in use long enough to be active.
pub(super) const INACTIVE: u8 = 1;
pub(super) const ACTIVE: u8 = 2;
const LIST: u8 = 3;
const REFERENCED: u8 = 4;
const WORKINGSET: u8 = 8;

/// A page on a list; stale if the page has another birth or is on another list by now.
#[derive(Debug, Clone, Copy)]
struct Entered {
    space: SpaceId,
    page: PageId,
    born: u32,
}

/// What a page leaves behind: the age at its eviction, and whether it had been active. Nothing, if it is here or was never.
#[derive(Debug, Clone, Copy, Default)]
struct Shadow {
    age: Option<u64>,
    in_use: bool,
}

/// What came of looking at the oldest inactive page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// It stays, on this list or the other.
    Stays,
    /// It goes out.
    Out(SpaceId, PageId),
    /// It goes, and the swap area has it already.
    Clean(SpaceId, PageId),
    /// There is none.
    Nothing,
}

/// The lists.
#[derive(Debug, Default)]
pub(super) struct OwnPages {
    inactive: VecDeque<Entered>,
    active: VecDeque<Entered>,
    /// Entries that are not stale: inactive, active.
    live: [u32; 2],
    shadows: Vec<Vec<Shadow>>,
    /// Pages that went out or became active, so far.
    pub age: u64,
    /// Pages that became active because they came back soon, so far.
    pub activated: u64,
}

impl OwnPages {
    /// Pages on the inactive list.
    pub fn inactive(&self) -> u32 {
        self.live[0]
    }

    /// Pages on the active list.
    pub fn active(&self) -> u32 {
        self.live[1]
    }

    /// The oldest page that is still on a list; it is taken off.
    fn oldest<'a>(&mut self, cx: &'a mut Context<'_>, list: u8) -> Option<(Entered, &'a mut Page)> {
        let entries = if list == ACTIVE { &mut self.active } else { &mut self.inactive };
        while let Some(entry) = entries.pop_front() {
            let page = cx.spaces.get(entry.space as usize).and_then(|space| space.pages.get(entry.page as usize));
            let listed = |page: &Page| page.born == entry.born && page.mark & LIST == list;
            if page.is_some_and(|page| page.home == Home::Present && listed(page)) {
                self.live[usize::from(list == ACTIVE)] -= 1;
                return Some((entry, &mut cx.spaces[entry.space as usize].pages[entry.page as usize]));
            }
        }
        None
    }

    fn enter(&mut self, entry: Entered, page: &mut Page, list: u8) {
        page.mark = page.mark & !LIST | list;
        self.live[usize::from(list == ACTIVE)] += 1;
        let entries = if list == ACTIVE { &mut self.active } else { &mut self.inactive };
        entries.push_back(entry);
    }

    /// A page is in its task's table: a new one is inactive, also one that comes back, unless so soon that lists of `kept` pages
    /// would have kept it. Says whether such a one had been in use before.
    pub fn brought_in(&mut self, cx: &mut Context<'_>, space: SpaceId, number: PageId, kept: u64) -> bool {
        let shadow = std::mem::take(self.shadow(space, number));
        let soon = shadow.age.is_some_and(|age| self.age + cx.files.age - age <= kept);
        let page = &mut cx.spaces[space as usize].pages[number as usize];
        let entry = Entered { space, page: number, born: page.born };
        page.mark = 0;
        if !soon {
            self.enter(entry, page, INACTIVE);
            return false;
        }
        self.age += 1;
        self.activated += 1;
        page.mark = if shadow.in_use { WORKINGSET } else { 0 };
        self.enter(entry, page, ACTIVE);
        shadow.in_use
    }

    fn shadow(&mut self, space: SpaceId, page: PageId) -> &mut Shadow {
        let (space, page) = (space as usize, page as usize);
        if self.shadows.len() <= space {
            self.shadows.resize(space + 1, Vec::new());
        }
        let own = &mut self.shadows[space];
        if own.len() <= page {
            own.resize(page + 1, Shadow::default());
        }
        &mut own[page]
    }

    /// A page with that mark is gone with its task.
    pub fn gone(&mut self, mark: u8) {
        match mark & LIST {
            ACTIVE => self.live[1] -= 1,
            INACTIVE => self.live[0] -= 1,
            _ => {}
        }
    }

    /// Looks at the oldest inactive page: touched, it stays; found touched a second time, it is active; else it goes.
    pub fn look(&mut self, cx: &mut Context<'_>) -> Looked {
        let files = cx.files.age;
        let Some((entry, page)) = self.oldest(cx, INACTIVE) else { return Looked::Nothing };
        if std::mem::take(&mut page.accessed) {
            let again = page.mark & REFERENCED != 0;
            page.mark |= REFERENCED;
            self.age += u64::from(again);
            self.enter(entry, page, if again { ACTIVE } else { INACTIVE });
            return Looked::Stays;
        }
        let (in_use, dirty) = (page.mark & WORKINGSET != 0, page.dirty);
        *self.shadow(entry.space, entry.page) = Shadow { age: Some(self.age + files), in_use };
        self.age += 1;
        if dirty { Looked::Out(entry.space, entry.page) } else { Looked::Clean(entry.space, entry.page) }
    }

    /// Makes the oldest active pages inactive, touched or not: at most the given number.
    pub fn deactivate(&mut self, cx: &mut Context<'_>, pages: u32) {
        for _ in 0..pages {
            let Some((entry, page)) = self.oldest(cx, ACTIVE) else { return };
            page.accessed = false;
            page.mark |= WORKINGSET;
            self.enter(entry, page, INACTIVE);
        }
    }
}
