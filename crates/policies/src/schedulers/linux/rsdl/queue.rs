//! What is remembered of a task, and the lists of a processor in which it may be: real time, the slots of the two arrays,
//! and SCHED_IDLEPRIO.

use super::rotation::{Rotation, SLOTS, WORST, quota, slots_of};
use crate::schedulers::{
    kit::{
        priority_array::PriorityArray,
        queue::{Links, List},
    },
    linux::domain::Share,
};
use schedlab_model::{
    Nanos,
    task::{CpuId, Policy, TaskId},
};

/// List of SCHED_ISO, just below real time, whose lists are 0 to 98; behind it come the slots.
pub const ISO: u8 = 99;
/// List of slot 0; of all slots, where an entity says in which list it is.
pub const FIRST: u8 = ISO + 1;
/// Behind the last slot: the expired array.
pub const EXPIRED: u8 = FIRST + SLOTS as u8;
/// List of SCHED_IDLEPRIO, below everything.
pub const IDLE: u8 = EXPIRED + 1;
/// The rotation of a task that has not been in one.
pub const NEVER: u64 = u64::MAX;

/// What the policy remembers of a task.
#[derive(Debug, Clone, Copy, Default)]
pub struct Entity {
    pub policy: Policy,
    /// 0 to 39 for nice -20 to 19.
    pub level: u8,
    /// What it may use in a slot (0: the task is unknown), in all its slots, and what is left of the former, in us; less than
    /// nothing if it went over.
    pub quota: i64,
    pub whole: i64,
    pub left: i64,
    /// Processor time not taken from `left` yet, ns.
    pub ran: Nanos,
    /// The rotation in which it has had these slots, a bit each.
    pub rotation: u64,
    pub granted: u64,
    /// Its list, its slot, and in which of the two arrays that is.
    pub list: u8,
    pub slot: u8,
    pub array: u8,
    /// It is in a list.
    pub queued: bool,
    /// It is still in the quota that its parent gave it.
    pub newborn: bool,
    /// It is queued before its parent, and has not run.
    pub ahead: bool,
    /// It last waited for a drive.
    pub from_disk: bool,
    /// The task that wakes it is about to leave its processor.
    pub sync: bool,
    /// When it last ran, where there are several processors, or fell asleep.
    pub last_ran: Nanos,
    /// Where it was last queued, and, if it is moving, whether it is in the rotation under way there and in which array.
    pub cpu: CpuId,
    pub moving: Option<bool>,
}

impl Entity {
    /// A task of that nice level, of which 20 counts as 19; `interval` in ms.
    pub fn new(policy: Policy, nice: i8, interval: i64) -> Entity {
        let mut entity = Entity { left: i64::MAX, rotation: NEVER, ..Entity::default() };
        entity.read(policy, nice, interval);
        entity
    }

    /// The quotas of that policy and nice level.
    pub fn read(&mut self, policy: Policy, nice: i8, interval: i64) {
        let level = ((nice + 20) as u8).min(WORST);
        let real_time = matches!(policy, Policy::Fifo | Policy::Rr);
        self.policy = policy;
        // If SCHED_IDLEPRIO is queued in a slot, it is that of nice 19.
        self.level = if policy == Policy::Idle { WORST } else { level };
        self.quota = 1000 * if real_time { interval } else { quota(level, interval) };
        self.whole = self.quota * (SLOTS as i64 - i64::from(level));
        self.left = self.left.min(self.quota);
    }

    /// Takes what it ran from its quota, in whole us.
    #[inline]
    pub fn settle(&mut self) {
        self.left -= (std::mem::take(&mut self.ran) / 1000) as i64;
    }

    /// As [`Entity::settle`] at the end of each of n ticks in a row, which are as long as `tick` says or a ns longer.
    #[inline]
    pub fn settle_ticks(&mut self, ticks: u64, tick: Nanos) {
        let longer = std::mem::take(&mut self.ran) - ticks * tick;
        self.left -= ((ticks - longer) * (tick / 1000) + longer * ((tick + 1) / 1000)) as i64;
    }

    /// The number of ticks that at least leave something of the quota.
    #[inline]
    pub fn ticks_within_quota(&self, tick: Nanos) -> u64 {
        (self.left - 1).max(0) as u64 / ((tick + 1) / 1000).max(1)
    }

    /// A normal task is queued: on in its slot, one slot down, or to the next rotation.
    #[inline]
    fn step(&mut self, rotation: &mut Rotation, interactive: bool) {
        self.list = FIRST;
        if self.rotation != rotation.count {
            self.rotation = rotation.count;
            self.array = rotation.active;
            self.granted = 0;
        } else if self.array != rotation.active {
            return self.expire(rotation);
        } else if self.left > 0 {
            return;
        }
        self.left = self.quota;
        match rotation.next_slot(self.level, self.policy == Policy::Batch, self.granted, interactive) {
            Some(slot) => {
                self.slot = slot;
                self.granted |= 1 << slot;
            }
            None => self.expire(rotation),
        }
    }

    /// It is to wait for the next rotation, in the first slot of its level there, which is not counted as granted.
    pub fn expire(&mut self, rotation: &mut Rotation) {
        self.list = FIRST;
        self.rotation = rotation.count;
        self.array = 1 - rotation.active;
        self.granted = 0;
        self.left = self.quota;
        self.slot = slots_of(self.level, self.policy == Policy::Batch).trailing_zeros() as u8;
        let best = &mut rotation.expired().best;
        *best = self.level.min(*best);
    }
}

/// The runqueue of a processor. The running task stays in it.
#[derive(Debug)]
pub struct Queue {
    /// Real time and SCHED_ISO.
    urgent: PriorityArray<{ FIRST as usize }>,
    pub rotation: Rotation,
    pub idle: List,
    /// Use of the processor by real time and SCHED_ISO, as the kernel's rolling average counts it.
    iso_use: u64,
    /// SCHED_ISO has had enough and is normal meanwhile.
    pub refractory: bool,
    /// When the clock last ticked.
    pub ticked: Nanos,
    pub share: Share,
}

impl Queue {
    pub fn new() -> Queue {
        Queue {
            urgent: PriorityArray::default(),
            rotation: Rotation::new(),
            idle: List::default(),
            iso_use: 0,
            refractory: false,
            ticked: Nanos::MAX,
            share: Share::default(),
        }
    }

    /// Chooses the list of a task that joins one, and what it may use there.
    #[inline]
    pub fn choose_list(&mut self, entity: &mut Entity, priority: u8, interactive: bool) {
        entity.list = match entity.policy {
            Policy::Fifo | Policy::Rr => ISO - priority.max(1),
            Policy::Iso if !self.refractory => ISO,
            Policy::Idle if !entity.from_disk => IDLE,
            Policy::Idle => return entity.expire(&mut self.rotation),
            _ => return entity.step(&mut self.rotation, interactive),
        };
        if entity.list == IDLE {
            entity.left = entity.whole;
        } else if entity.left <= 0 {
            entity.left = entity.quota;
        }
    }

    /// Puts a task into the list that was chosen, before another one that is there or behind all.
    #[inline(always)]
    pub fn insert(&mut self, links: &mut Links, entity: &Entity, task: TaskId, before: Option<TaskId>) {
        match (entity.list, before) {
            (FIRST, _) => self.rotation.arrays[entity.array as usize].insert(links, entity.slot, task, before),
            (IDLE, Some(mark)) => self.idle.insert_before(links, mark, task),
            (IDLE, None) => self.idle.push_tail(links, task),
            (list, Some(mark)) => self.urgent.insert_before(links, list.into(), mark, task),
            (list, None) => self.urgent.push_tail(links, list.into(), task),
        }
    }

    /// The first of real time and SCHED_ISO, and its list.
    #[inline]
    pub fn urgent(&self) -> Option<(u8, TaskId)> {
        let list = self.urgent.first()?;
        Some((list as u8, self.urgent.list(list).head()?))
    }

    /// Goes through the tasks as others take them, until one is taken: the array of real time is the active one, and SCHED_IDLEPRIO
    /// comes last.
    pub fn visit(&self, links: &Links, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        let array = |array: u8| &self.rotation.arrays[usize::from(array)];
        let active = self.rotation.active;
        array(1 - active)
            .find_from_tails(links, &mut |task, slot| takes(task, usize::from(FIRST) + slot))
            .or_else(|| self.urgent.find_from_tails(links, takes))
            .or_else(|| array(active).find_from_tails(links, &mut |task, slot| takes(task, usize::from(FIRST) + slot)))
            .or_else(|| self.idle.iter(links).find(|&task| takes(task, IDLE.into())))
    }

    /// Takes a task out of its list.
    #[inline(always)]
    pub fn remove(&mut self, links: &mut Links, entity: &Entity, task: TaskId) {
        match entity.list {
            FIRST => self.rotation.arrays[entity.array as usize].remove(links, entity.slot, task),
            IDLE => self.idle.remove(links, task),
            list => self.urgent.remove(links, list.into(), task),
        }
    }

    /// How soon a queued task comes, 0 first.
    #[inline]
    pub fn rank(&self, entity: &Entity) -> u8 {
        match entity.list {
            FIRST if entity.array != self.rotation.active => EXPIRED,
            FIRST => FIRST + entity.slot,
            list => list,
        }
    }

    /// Whether there is something to count or to forget; most often there is not.
    #[inline]
    pub fn watches(&self, urgent: bool) -> bool {
        urgent || self.iso_use > 0 || self.refractory
    }

    /// Counts a tick in which real time or SCHED_ISO was `urgent`, or was not; `limit` in percent, `period` in ticks.
    pub fn watch(&mut self, urgent: bool, limit: u64, period: u64) {
        if !self.watches(urgent) {
            return;
        }
        self.iso_use = match urgent {
            true => (self.iso_use + 100).min(100 * period),
            false => self.iso_use * (period - 1) / period,
        };
        let percent = self.iso_use / period;
        self.refractory = if self.refractory { percent >= limit * 9 / 10 } else { percent > limit };
    }

    /// As many ticks in which neither was urgent.
    pub fn forget(&mut self, ticks: u64, limit: u64, period: u64) {
        let mut left = ticks;
        while left > 0 && self.watches(false) {
            self.watch(false, limit, period);
            left -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_that_are_passed_over_take_from_a_quota_what_each_takes() {
        // One of these becomes a whole us by the ns by which some ticks are longer.
        for tick in [999, 1_999, 976_562, 999_999, 1_000_000, 3_333_333] {
            for longer in [[0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1]] {
                let fresh = Entity::new(Policy::Other, 0, 50);
                let (mut one_by_one, mut at_once) = (fresh, fresh);
                for more in longer {
                    one_by_one.ran += tick + more;
                    at_once.ran += tick + more;
                    one_by_one.settle();
                }
                at_once.settle_ticks(3, tick);
                assert_eq!((at_once.left, at_once.ran), (one_by_one.left, one_by_one.ran), "{tick} {longer:?}");
            }
        }
    }

    #[test]
    fn within_a_quota_are_the_ticks_before_the_one_that_ends_it() {
        let fresh = Entity::new(Policy::Other, 0, 8);
        assert_eq!((fresh.ticks_within_quota(1_000_000), fresh.ticks_within_quota(999_999)), (7, 7));
        assert_eq!((fresh.ticks_within_quota(976_562), fresh.ticks_within_quota(10_000_000)), (8, 0));
        assert_eq!(Entity { left: -5, ..fresh }.ticks_within_quota(1_000_000), 0);
    }
}
