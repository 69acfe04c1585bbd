//! # lfu
//!
//! Promises to keep the keys requested most often since their admission.
//!
//! ## The idea
//!
//!     One list, sorted: the most often used first; among equals the last used first. The victim is at its back.
//!     Equals are adjacent in a *group*, which knows its first member.
//!     A hit lifts a slot from the group of n uses to the front of the group of n + 1, which is the one before, or
//!     new.
//!     So nothing is ever searched for.
//!
//! ## A schedule
//!
//! ```text
//! slots 3
//! ask   1 2 3 1 2 4 5 1
//! hit   . . . * * . . *
//! out   . . . . . 3 4 .
//! ```
//!
//! ## Cost
//!
//! Hit, victim and admission: constant.
//!
//! ## Good for, not for
//!
//! Loads whose popular keys stay the same. A key that was popular once stays long after; new keys displace each other.
//!
//! ## Departures
//!
//! A key's count begins again when it is admitted again, as in most implementations ("in-cache LFU"); counts never age.
//!
//! ## References
//!
//! - K. Shah, A. Mitra, D. Matani, An O(1) algorithm for implementing the LFU cache eviction scheme, 2010.

use super::{Context, Entry, Eviction, Key, NOTHING, Slot, kit::links::Lists};
use schedlab_model::info::{Info, Params};

/// Least frequently used goes.
#[derive(Debug)]
pub struct Lfu {
    /// Slots, by uses and then by last use, the highest first.
    order: Lists<1>,
    /// The group of each slot.
    group_of: Vec<u32>,
    groups: Vec<Group>,
    /// Numbers of groups without members.
    spare: Vec<u32>,
}

/// Slots used equally often.
#[derive(Debug, Clone, Copy, Default)]
struct Group {
    uses: u64,
    first: Slot,
    members: u32,
}

impl Lfu {
    /// The group before this one, if its slots were used one time more than these.
    #[inline]
    fn one_more(&self, group: Group) -> Option<u32> {
        let ahead = self.order.before(group.first);
        if ahead == NOTHING {
            return None;
        }
        let above = self.group_of[ahead as usize];
        (self.groups[above as usize].uses == group.uses + 1).then_some(above)
    }

    /// Puts a slot that is in no group at the front of a group that has members.
    #[inline]
    fn join(&mut self, group: u32, slot: Slot) {
        let joined = &mut self.groups[group as usize];
        self.order.push_before(0, joined.first, slot);
        joined.first = slot;
        joined.members += 1;
        self.group_of[slot as usize] = group;
    }

    /// Makes a slot that is in no group a group of its own, right before the slot `behind`, or last of all.
    #[inline]
    fn found(&mut self, uses: u64, behind: Slot, slot: Slot) {
        let group = self.spare.pop().expect("there are as many groups as slots");
        self.groups[group as usize] = Group { uses, first: slot, members: 1 };
        self.group_of[slot as usize] = group;
        self.order.push_before(0, behind, slot);
    }

    /// Takes a slot out of the order and its group.
    #[inline]
    fn leave(&mut self, slot: Slot) {
        let number = self.group_of[slot as usize];
        let group = &mut self.groups[number as usize];
        group.members -= 1;
        if group.members == 0 {
            self.spare.push(number);
        } else if group.first == slot {
            group.first = self.order.after(slot);
        }
        self.order.remove(0, slot);
    }
}

impl Entry for Lfu {
    const INFO: Info = Info {
        name: "lfu",
        summary: "the least often used goes, among equals the least recently used",
        year: 1971,
        origin: "paging",
        promises: &[],
        parameters: &[],
        source: schedlab_model::documentation!("lfu.rs"),
    };

    fn new(_: &Params, slots: u32) -> Self {
        Lfu {
            order: Lists::new(slots),
            group_of: vec![0; slots as usize],
            groups: vec![Group::default(); slots as usize],
            spare: (0..slots).rev().collect(),
        }
    }
}

impl Eviction for Lfu {
    #[inline]
    fn hit(&mut self, _: &mut Context<'_>, slot: Slot) {
        let number = self.group_of[slot as usize];
        let group = self.groups[number as usize];
        match self.one_more(group) {
            Some(above) => {
                self.leave(slot);
                self.join(above, slot);
            }
            None if group.members == 1 => self.groups[number as usize].uses += 1,
            None => {
                self.leave(slot);
                self.found(group.uses + 1, self.groups[number as usize].first, slot);
            }
        }
    }

    /// The last used of those used as often.
    #[inline]
    fn first_use(&mut self, _: &mut Context<'_>, slot: Slot) {
        let group = self.group_of[slot as usize];
        if self.groups[group as usize].members > 1 {
            self.leave(slot);
            self.join(group, slot);
        }
    }

    #[inline]
    fn victim(&mut self, _: &mut Context<'_>, _: Key) -> Slot {
        let last = self.order.last(0);
        self.leave(last);
        last
    }

    #[inline]
    fn admit(&mut self, _: &mut Context<'_>, slot: Slot, _: Key) {
        let last = self.order.last(0);
        let lowest = self.group_of.get(last as usize).copied();
        match lowest.filter(|&group| self.groups[group as usize].uses == 1) {
            Some(once) => self.join(once, slot),
            None => self.found(1, NOTHING, slot),
        }
    }

    fn remove(&mut self, _: &mut Context<'_>, slot: Slot) {
        self.leave(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caches::kit::trial::Trial;

    #[test]
    fn among_equals_the_last_used_stays() {
        assert_eq!(Trial::<Lfu>::new(3).ask(&[1, 2, 3, 2, 1, 3, 4, 5, 6, 6, 7]).out, [2, 4, 5, 1]);
    }

    #[test]
    fn a_lone_slot_of_its_group_meets_the_next_group_in_time() {
        // 1 rises alone past a gap: 3 uses, and then into the group of 2, which has 4.
        let mut trial = Trial::<Lfu>::new(2);
        trial.ask(&[2, 2, 2, 2, 1, 1, 1, 1]);
        assert_eq!(trial.policy.groups[trial.policy.group_of[0] as usize].members, 2);
        assert_eq!(trial.ask(&[3]).out, [2]);
    }

    #[test]
    fn a_key_that_comes_back_is_new() {
        let mut trial = Trial::<Lfu>::new(2);
        trial.ask(&[1, 1, 1, 2, 2]);
        trial.delete(1);
        assert_eq!(trial.ask(&[1, 3]).out, [1]);
    }
}
