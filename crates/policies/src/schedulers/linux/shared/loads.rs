//! The recent loads of queues, entities and groups, where there are several processors: what is kept. Every entity has an average of the
//! time for which it could run; times its weight, that is its load. A queue's load is the sum of its entities' loads, of those
//! that sleep too.

use super::pelt::{Averages, FRACTION, Parts};
use schedlab_model::{Nanos, task::CpuId};

/// Weight times the time able to run; of an entity, that time alone.
pub const LOAD: usize = 0;
/// Time able to run, and of it time on a processor, of all tasks of a processor or of one. Not kept for groups.
pub const RUNNABLE: usize = 1;
pub const UTIL: usize = 2;
/// Time that tasks of the real-time class had the processor.
pub const REALTIME: usize = 3;
/// What a processor can do, and a task that always runs has done.
pub const FULL: u64 = 1024;
/// That, scaled as averages are.
pub const WHOLE: i64 = (FULL << FRACTION) as i64;
/// A queue reports a change of its load to its group if it is more than this part of what it reported last.
pub const REPORTED: u64 = 64;

/// What is kept of a queue.
#[derive(Debug, Default, Clone, Copy)]
pub struct QueueLoad {
    pub averages: Averages<4>,
    /// What is in the sum of its group's loads.
    pub reported: u64,
    /// Of the tasks that came less those that left: their time able to run, as far as the group's entity does not have it yet.
    pub moved: i64,
    /// A task of the real-time class runs.
    pub realtime: bool,
    /// Of tasks that have ended, or were woken on another processor: what the averages still have of them.
    pub removed: Contribution,
    /// When the last of them left, if any of it is left.
    pub removed_at: Option<Nanos>,
}

/// What tasks add to the averages of their queue and of their processor, scaled.
#[derive(Debug, Default, Clone, Copy)]
pub struct Contribution {
    pub load: i64,
    /// Their time able to run, without weights, which the group's entity follows.
    pub able: i64,
    pub runnable: i64,
    pub util: i64,
}

impl std::ops::Neg for Contribution {
    type Output = Contribution;

    fn neg(self) -> Contribution {
        Contribution { load: -self.load, able: -self.able, runnable: -self.runnable, util: -self.util }
    }
}

impl std::ops::AddAssign for Contribution {
    fn add_assign(&mut self, more: Contribution) {
        self.load += more.load;
        self.able += more.able;
        self.runnable += more.runnable;
        self.util += more.util;
    }
}

/// The clock of a processor's averages. While the processor is busy, it advances by the work that is done, so that a task counts the same
/// on a small core as on a large one; when the processor becomes idle it catches up, unless it has been busy for so long that
/// it is unknown how much there would have been to do. (update_rq_clock_pelt, update_idle_rq_clock_pelt)
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    capacity: u64,
    idle: bool,
    /// When it was last set, to what, and by how much it will stay behind.
    since: Nanos,
    clock: Nanos,
    lost: Nanos,
}

impl Clock {
    fn at(&self, now: Nanos) -> Nanos {
        self.clock_pelt(now) - self.lost
    }

    fn clock_pelt(&self, now: Nanos) -> Nanos {
        if self.idle { now } else { self.clock + (now - self.since) * self.capacity / FULL }
    }
}

/// All of them. Empty where there is one processor.
#[derive(Debug, Default)]
pub struct Loads {
    /// Of processors, where their capacities differ.
    pub clocks: Vec<Clock>,
    /// Of all queues.
    pub queues: Vec<QueueLoad>,
    /// Of groups' entities, and of those of tasks.
    pub entities: Vec<Parts>,
    /// For each group, the sum of the loads of its queues, as reported.
    pub groups: Vec<u64>,
}

impl Loads {
    pub fn new(capacities: &[u64]) -> Loads {
        let clock = |&capacity| Clock { capacity, idle: true, since: 0, clock: 0, lost: 0 };
        let even = capacities.iter().all(|&capacity| capacity == FULL);
        Loads { clocks: if even { Vec::new() } else { capacities.iter().map(clock).collect() }, ..Loads::default() }
    }

    /// The time of a processor's averages.
    #[inline]
    pub fn clock(&self, now: Nanos, cpu: usize) -> Nanos {
        self.clocks.get(cpu).map_or(now, |clock| clock.at(now))
    }

    /// What a processor can do.
    pub fn capacity(&self, cpu: usize) -> u64 {
        self.clocks.get(cpu).map_or(FULL, |clock| clock.capacity)
    }

    /// A processor becomes busy or idle.
    pub fn turn(&mut self, now: Nanos, cpu: CpuId, idle: bool) {
        let Some(before) = self.clocks.get(usize::from(cpu)).filter(|clock| clock.idle != idle) else { return };
        let at = before.at(now);
        let [_, _, util, realtime] = self.queues[usize::from(cpu)].averages.values_at(at);
        let behind = now - before.clock_pelt(now);
        let lost = before.lost + if util + realtime + 1 >= FULL { behind } else { 0 };
        self.clocks[usize::from(cpu)] = Clock { idle, since: now, clock: now, lost, ..*before };
    }

    /// Makes room.
    pub fn admit(&mut self, queues: usize, entities: usize, groups: usize) {
        self.queues.resize(queues, QueueLoad::default());
        self.entities.resize(entities, Parts::default());
        self.groups.resize(groups, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = 1_000_000;

    /// Two processors, the second of half the size, which has been busy since 0; its averages say that they are what they are.
    fn busy(util: u64) -> Loads {
        let mut loads = Loads::new(&[FULL, FULL / 2]);
        loads.admit(2, 0, 0);
        loads.queues[1].averages.set(UTIL, util << FRACTION);
        loads.turn(0, 1, false);
        loads
    }

    #[test]
    fn half_a_processor_gets_through_half_the_work_and_catches_up_when_it_is_idle() {
        let mut loads = busy(300);
        assert_eq!((loads.clock(10 * MS, 0), loads.clock(10 * MS, 1)), (10 * MS, 5 * MS));
        loads.queues[1].averages.rebase(5 * MS);
        loads.turn(10 * MS, 1, true);
        assert_eq!((loads.clock(10 * MS, 1), loads.clock(12 * MS, 1)), (10 * MS, 12 * MS));
    }

    #[test]
    fn what_a_processor_that_was_always_busy_did_not_do_is_lost() {
        let mut loads = busy(FULL);
        loads.queues[1].averages.rebase(5 * MS);
        loads.turn(10 * MS, 1, true);
        assert_eq!((loads.clock(10 * MS, 1), loads.clock(12 * MS, 1)), (5 * MS, 7 * MS));
    }

    #[test]
    fn where_all_are_equal_there_is_one_clock() {
        assert!(Loads::new(&[FULL; 4]).clocks.is_empty());
    }
}
