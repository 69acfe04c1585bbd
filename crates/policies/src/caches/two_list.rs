//! # two_list
//!
//! Promises what Linux does with the pages of files that are read and written: a page requested twice is kept longer, one
//! requested once is not.
//!
//! ## The idea
//!
//!     Inactive: new pages, first in first out. Active: pages requested again while they were inactive.
//!     A page has a mark, *referenced*. A request sets it; a request for an inactive page that has it makes the page
//!     active, without it.
//!     The victim is the last inactive page, marked or not.
//!     While the inactive list is too short compared with the active one, the last active page becomes inactive.
//!     An evicted page leaves its *age*: how many pages were evicted or made active before. If it is requested again so
//!     soon that an inactive list longer by the active one would have kept it, it is active at once (a *refault*), and one
//!     active page must become inactive.
//!
//! ## The formula
//!
//! ```text
//! too short:  inactive * ratio < active         inactive, active: pages in each list
//! refault:    age - age when evicted <= active  age: pages evicted or made active so far
//! ratio = floor(sqrt(10 * GiB of both lists)), 1 below 1 GiB; a slot is a page of 4 KiB
//! ```
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 4 5 6 2
//! hit   . . . * . . . .
//! out   . . . . 2 3 4 5
//! ```
//!
//! ## Cost
//!
//! Hit and miss: constant on average. Eight bytes for each key, for its age.
//!
//! ## Good for, not for
//!
//! Files read once alongside a working set. A working set larger than the inactive list is detected only by its refaults.
//!
//! ## Departures
//!
//! Linux reclaims in batches of 32, scans both lists by priority, and activates through per-processor batches; here one
//! page is freed when one is needed, one is deactivated for each refault, and the lists are balanced at once. Pages here
//! are clean, unmapped and read by `read`: the request that brings a page in marks it referenced, as `filemap_read` does.
//! `refaults = false` is Linux before 3.15, but with today's ratio.
//!
//! ## References
//!
//! - Linux 6.x: `mm/vmscan.c` (`inactive_is_low`, `shrink_active_list`, `folio_check_references`), `mm/swap.c`
//!   (`folio_mark_accessed`), `mm/workingset.c` (`workingset_eviction`, `workingset_refault`,
//!   `workingset_activation`), `mm/filemap.c` (`filemap_read`).
//! - J. Weiner, "Thrash detection-based file cache sizing", in Linux 3.15.

use super::{ActiveInactive, Context, Entry, Eviction, Key, Slot, kit::links::Lists};
use schedlab_model::info::{Domain, Info, Parameter, Params};

/// Inactive and active.
#[derive(Debug)]
pub struct TwoList {
    /// Slots: `INACTIVE` and `ACTIVE`, the last to come first.
    lists: Lists<2>,
    active: Vec<bool>,
    referenced: Vec<bool>,
    /// How many times the inactive list the active one may be.
    ratio: u64,
    /// Pages evicted or made active so far.
    age: u64,
    /// For each key the age at which it was evicted; [`NEVER`] for one that was not, or is back.
    evicted: Vec<u64>,
    sees_refaults: bool,
    /// Refaults since the last victim.
    refaults: u32,
    /// Slots whose key has been active, and for each key whether it was when it was evicted.
    in_use: Vec<bool>,
    was_in_use: Vec<bool>,
    /// Refaults so far, and those of keys that had been active.
    activated: u64,
    restored: u64,
    /// Pages outside that can leave memory, and the age that these add.
    outside: u64,
    outside_age: u64,
}

const INACTIVE: usize = 0;
const ACTIVE: usize = 1;
const NEVER: u64 = u64::MAX;
/// Pages of 4 KiB in a GiB, as a power of two.
const GIB_SHIFT: u32 = 18;

/// How many times the inactive list the active one may be, as `inactive_is_low` has it.
fn inactive_ratio(slots: u32) -> u64 {
    (10 * u64::from(slots >> GIB_SHIFT)).isqrt().max(1)
}

impl TwoList {
    /// Makes the last active page inactive; its mark stays, as in `shrink_active_list`.
    #[inline]
    fn deactivate_one(&mut self) {
        let slot = self.lists.pop(ACTIVE);
        self.active[slot as usize] = false;
        self.in_use[slot as usize] = true;
        self.lists.push(INACTIVE, slot);
    }

    #[inline]
    fn inactive_is_low(&self) -> bool {
        u64::from(self.lists.len(INACTIVE)) * self.ratio < u64::from(self.lists.len(ACTIVE))
    }

    /// Whether an evicted key that comes back now is active at once. Its age is forgotten.
    #[inline]
    fn is_refault(&mut self, key: Key) -> bool {
        let evicted = self.evicted.get_mut(key as usize).map_or(NEVER, |age| std::mem::replace(age, NEVER));
        let kept = u64::from(self.lists.len(ACTIVE)) + self.outside;
        self.sees_refaults && evicted != NEVER && self.age + self.outside_age - evicted <= kept
    }

    #[inline]
    fn remember(&mut self, key: Key, in_use: bool) {
        let place = key as usize;
        if place >= self.evicted.len() {
            self.evicted.resize((place + 1).max(2 * self.evicted.len()), NEVER);
            self.was_in_use.resize(self.evicted.len(), false);
        }
        self.evicted[place] = self.age + self.outside_age;
        self.was_in_use[place] = in_use;
        self.age += 1;
    }
}

impl Entry for TwoList {
    const INFO: Info = Info {
        name: "two_list",
        summary: "an active and an inactive list; two requests, or a refault, make a page active",
        year: 2014,
        origin: "Linux",
        promises: &[],
        parameters: &[Parameter {
            name: "refaults",
            meaning: "whether a page that returns soon after its eviction is active immediately (Linux 3.15 and later)",
            domain: Domain::Switch,
            default: Some("true"),
            logarithmic: false,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("two_list.rs"),
    };

    fn new(params: &Params, slots: u32) -> Self {
        TwoList {
            lists: Lists::new(slots),
            active: vec![false; slots as usize],
            referenced: vec![false; slots as usize],
            ratio: inactive_ratio(slots),
            age: 0,
            evicted: Vec::new(),
            sees_refaults: params.switch("refaults"),
            refaults: 0,
            in_use: vec![false; slots as usize],
            was_in_use: Vec::new(),
            activated: 0,
            restored: 0,
            outside: 0,
            outside_age: 0,
        }
    }
}

impl Eviction for TwoList {
    #[inline]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        let referenced = &mut self.referenced[slot as usize];
        if self.active[slot as usize] || !*referenced {
            *referenced = true;
            return;
        }
        *referenced = false;
        self.active[slot as usize] = true;
        self.lists.remove(INACTIVE, slot);
        self.lists.push(ACTIVE, slot);
        self.age += 1;
    }

    #[inline]
    fn victim(&mut self, cx: &mut Context<'_>, _: Key) -> Slot {
        for _ in 0..std::mem::take(&mut self.refaults).min(self.lists.len(ACTIVE)) {
            self.deactivate_one();
        }
        while self.inactive_is_low() {
            self.deactivate_one();
        }
        let slot = self.lists.pop(INACTIVE);
        self.remember(cx.keys[slot as usize], self.in_use[slot as usize]);
        slot
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        let active = self.is_refault(key);
        let restored = active && self.was_in_use[key as usize];
        self.active[slot as usize] = active;
        self.in_use[slot as usize] = restored;
        self.activated += u64::from(active);
        self.restored += u64::from(restored);
        self.referenced[slot as usize] = true;
        self.lists.push(usize::from(active), slot);
        self.age += u64::from(active);
        self.refaults += u32::from(active);
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.lists.remove(usize::from(self.active[slot as usize]), slot);
    }

    /// A page that reclaim cannot take is made active, and is no refault.
    fn returned(&mut self, _: &mut Context<'_>, slot: Slot, key: Key) {
        self.evicted[key as usize] = NEVER;
        self.active[slot as usize] = true;
        self.lists.push(ACTIVE, slot);
    }

    fn lists(&self) -> Option<ActiveInactive> {
        Some(ActiveInactive {
            inactive: self.lists.len(INACTIVE),
            active: self.lists.len(ACTIVE),
            activated: self.activated,
            restored: self.restored,
            age: self.age,
        })
    }

    fn share_with(&mut self, pages: u32, age: u64) {
        (self.outside, self.outside_age) = (pages.into(), age);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn a_scan_leaves_pages_asked_for_twice_alone() {
        let mut trial = Trial::<TwoList>::new(8);
        trial.ask(&[1, 2, 1, 2]);
        trial.ask(&(100..1000).collect::<Vec<Key>>());
        assert_eq!(trial.held()[..2], [1, 2]);
    }

    #[test]
    fn below_a_gib_the_active_list_is_at_most_half() {
        let mut trial = Trial::<TwoList>::new(10);
        let asked: Vec<Key> = (0..10).chain(0..10).collect();
        trial.ask(&asked);
        assert_eq!(trial.policy.lists.len(ACTIVE), 10);
        trial.ask(&[99]);
        assert_eq!((trial.policy.lists.len(ACTIVE), trial.policy.lists.len(INACTIVE)), (5, 5));
    }

    #[test]
    fn the_ratio_is_that_of_the_kernel_s_table() {
        // Above `inactive_is_low` in mm/vmscan.c: 100 MB, 1 GB, 10 GB, 100 GB, 1 TB, 10 TB.
        assert_eq!(inactive_ratio(100 << (GIB_SHIFT - 10)), 1);
        assert_eq!([1, 10, 100, 1024, 10_240].map(|gib| inactive_ratio(gib << GIB_SHIFT)), [3, 10, 31, 101, 320]);
    }

    #[test]
    fn a_page_that_comes_back_within_the_active_list_is_active_at_once() {
        let mut trial = Trial::<TwoList>::new(4);
        trial.ask(&[1, 2, 1, 2, 3, 4]); // 1 and 2 are active
        trial.ask(&[5]); // 3 leaves
        trial.ask(&[3]); // 4 leaves; the distance is 2: 3 and 4
        assert_eq!(trial.policy.lists.len(ACTIVE), 3);
        let mut without = Trial::<TwoList>::with(4, &[("refaults", "false")]);
        without.ask(&[1, 2, 1, 2, 3, 4, 5, 3]);
        assert_eq!(without.policy.lists.len(ACTIVE), 2);
    }

    #[test]
    fn a_page_that_comes_back_too_late_is_inactive() {
        let mut trial = Trial::<TwoList>::new(4);
        trial.ask(&[1, 2, 1, 2, 3, 4, 5, 6, 3]);
        assert_eq!(trial.policy.lists.len(ACTIVE), 2);
    }
}
