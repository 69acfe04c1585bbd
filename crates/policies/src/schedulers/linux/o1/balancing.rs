//! Tasks between processors: a processor that has less load than another pulls from it, when idle and periodically.

use super::{
    O1, Queue,
    credit::{MAX_PRIO, SCHED_LOAD_SCALE},
};
use crate::schedulers::{Balance, Context};
use schedlab_model::{
    Nanos,
    task::{CpuId, Task, TaskId},
};

/// A processor pulls from one that has more than this many hundredths of its load.
const IMBALANCE_PCT: u64 = 125;
/// The interval between two looks of an idle processor, ms; it doubles after a failure and falls back after a success.
const MIN_INTERVAL: u64 = 1;
const MAX_INTERVAL: u64 = 4;
/// The factor by which a busy processor balances less often.
const BUSY_FACTOR: u64 = 64;
/// A task that ran less than this ago has its data in the cache, and stays (the default of a domain of processors).
const CACHE_HOT: Nanos = 2_500_000;
/// After more failed looks than this, a cache-hot task is moved nevertheless.
const CACHE_NICE_TRIES: u32 = 1;
/// Which average of the load a look goes by: see [`Load::low`].
const BUSY_INDEX: usize = 2;
const IDLE_INDEX: usize = 1;
const NEWLY_IDLE_INDEX: usize = 2;
const WAKE_INDEX: usize = 1;

/// The load of a processor: weights of its tasks, now and averaged over ticks.
#[derive(Debug, Clone, Default)]
pub struct Load {
    pub now: u64,
    /// cpu_load: as of the last tick, and averaged over about two of them.
    averaged: [u64; 2],
}

impl Load {
    /// A tick.
    pub fn age(&mut self) {
        self.averaged[0] = self.now;
        // The average is rounded up while it grows.
        self.averaged[1] = (self.averaged[1] + self.now + u64::from(self.now > self.averaged[1])) / 2;
    }

    /// Accounts for n ticks, and stops when the values no longer change.
    pub fn age_by(&mut self, ticks: u64) {
        let settled = [self.now; 2];
        let mut left = ticks;
        while left > 0 && self.averaged != settled {
            self.age();
            left -= 1;
        }
    }

    /// source_load: a low estimate, where a task may be pulled from here.
    fn low(&self, index: usize) -> u64 {
        self.now.min(self.averaged[index - 1])
    }

    /// target_load: a high estimate, where a task may be put.
    fn high(&self, index: usize) -> u64 {
        self.now.max(self.averaged[index - 1])
    }
}

/// When a processor looks, and what it is about to pull.
#[derive(Debug, Clone)]
pub struct Balancing {
    last: u64,
    interval: u64,
    failed: u32,
    pull: Option<Pull>,
}

/// Load to pull, and from where.
#[derive(Debug, Clone, Copy)]
struct Pull {
    from: CpuId,
    load: u64,
    tasks: usize,
    pulled: bool,
}

impl Default for Balancing {
    fn default() -> Self {
        Balancing { last: 0, interval: MIN_INTERVAL, failed: 0, pull: None }
    }
}

impl Queue {
    /// The mean load of its tasks.
    fn load_per_task(&self) -> u64 {
        if self.count == 0 { SCHED_LOAD_SCALE } else { self.load.now / self.count as u64 }
    }

    /// The best priority of any task, running or not.
    fn best(&self) -> usize {
        self.arrays.iter().filter_map(|array| array.first()).min().unwrap_or(MAX_PRIO)
    }
}

impl O1 {
    /// A processor for a program that starts: the least loaded one; where it is, among equals.
    pub(super) fn idlest(&self, task: &Task) -> CpuId {
        let allowed = (0..self.queues.len() as CpuId).filter(|cpu| task.allowed >> cpu & 1 == 1);
        let load = |cpu: CpuId| (self.queues[cpu as usize].load.now, cpu != task.cpu);
        allowed.min_by_key(|&cpu| load(cpu)).unwrap_or(task.cpu)
    }

    /// Whether a woken task is better off on its waker's processor than where it was; a waker that `leaves` is about to sleep.
    pub(super) fn affine(&self, task: TaskId, was: CpuId, waker: TaskId, here: CpuId, leaves: bool) -> bool {
        let (there, queue) = (&self.queues[was as usize], &self.queues[here as usize]);
        let weight = |task: TaskId| self.tasks[task as usize].weight;
        let load = there.load.low(WAKE_INDEX);
        let here = queue.load.high(WAKE_INDEX).saturating_sub(if leaves { weight(waker) } else { 0 });
        here <= load && here + there.load.high(WAKE_INDEX) <= queue.load_per_task()
            || 100 * (here + weight(task)) <= (100 + (IMBALANCE_PCT - 100) / 2) * load
    }

    /// A task for a processor that looks for work.
    pub(super) fn pull(&mut self, cx: &Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle {
            let pull = self.busiest(cpu, NEWLY_IDLE_INDEX)?;
            return self.movable(cx, cpu, &pull);
        }
        let idle = cx.processors[cpu as usize].running.is_none();
        let at = cpu as usize;
        if self.queues[at].balancing.pull.is_none() && !self.look(cpu, idle) {
            return None;
        }
        let mut pull = self.queues[at].balancing.pull.take()?;
        let task = if pull.tasks > 0 && pull.load > 0 { self.movable(cx, cpu, &pull) } else { None };
        let Some(task) = task else {
            self.looked(cpu, pull.pulled);
            return None;
        };
        pull.load = pull.load.saturating_sub(self.tasks[task as usize].weight);
        pull.tasks -= 1;
        pull.pulled = true;
        self.queues[at].balancing.pull = Some(pull);
        Some(task)
    }

    /// A task comes from another processor, to an array of the same kind.
    pub(super) fn pulled(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let active = self.queues[cpu as usize].active;
        let entity = &self.tasks[task as usize];
        let (prio, expired) = (entity.prio, entity.moves_expired);
        self.insert(cpu, task, if expired { 1 - active } else { active });
        self.arrive(cpu, task);
        if cx.processors[cpu as usize].running.is_some_and(|running| prio < self.tasks[running as usize].prio) {
            cx.resched(cpu);
        }
    }

    /// Looks for a processor to pull from, if it is time; whether there is one.
    fn look(&mut self, cpu: CpuId, idle: bool) -> bool {
        let (jiffies, balancing) = (self.jiffies, &self.queues[cpu as usize].balancing);
        let factor = if idle { 1 } else { BUSY_FACTOR };
        if jiffies < balancing.last + self.credit.ticks_of(balancing.interval * factor) {
            return false;
        }
        let pull = self.busiest(cpu, if idle { IDLE_INDEX } else { BUSY_INDEX });
        let balancing = &mut self.queues[cpu as usize].balancing;
        (balancing.last, balancing.pull) = (jiffies, pull);
        if pull.is_none() {
            balancing.failed = 0;
            balancing.interval = (balancing.interval * 2).min(MAX_INTERVAL);
        }
        pull.is_some()
    }

    /// A look at a busier processor is over.
    fn looked(&mut self, cpu: CpuId, pulled: bool) {
        let balancing = &mut self.queues[cpu as usize].balancing;
        balancing.failed = if pulled { 0 } else { balancing.failed + 1 };
        balancing.interval = MIN_INTERVAL;
    }

    /// find_busiest_group, each processor a group of its own: where there is enough more load that some should be moved here.
    fn busiest(&self, cpu: CpuId, index: usize) -> Option<Pull> {
        let this = &self.queues[cpu as usize];
        let this_load = this.load.high(index);
        let (mut total, mut max_load, mut from) = (this_load, 0, cpu);
        for other in (0..self.queues.len() as CpuId).filter(|&other| other != cpu) {
            let load = self.queues[other as usize].load.low(index);
            total += load;
            if load > max_load {
                (max_load, from) = (load, other);
            }
        }
        let busiest = &self.queues[from as usize];
        let average = total / self.queues.len() as u64;
        if from == cpu || busiest.count < 2 || this_load >= max_load || this_load >= average {
            return None;
        }
        let per_task = busiest.load_per_task();
        if 100 * max_load <= IMBALANCE_PCT * this_load || max_load <= per_task {
            return None;
        }
        let most = max_load.saturating_sub(average).min(max_load - per_task);
        let load = match most.min(average - this_load) {
            enough if enough >= per_task => enough,
            _ => small_imbalance(per_task, max_load, this, this_load)?,
        };
        Some(Pull { from, load, tasks: busiest.count - 1, pulled: false })
    }

    /// move_tasks: the expired ones first, the best priority first, from the tail of its list; no task that weighs more than
    /// what is to be moved, unless it would be the best on its new processor and is not the last of the best where it is.
    fn movable(&self, cx: &Context<'_>, cpu: CpuId, pull: &Pull) -> Option<TaskId> {
        let from = &self.queues[pull.from as usize];
        let (this_best, best) = (self.queues[cpu as usize].best(), from.best());
        let running = cx.processors[pull.from as usize].running;
        let mut seen = running.is_some_and(|task| usize::from(self.tasks[task as usize].prio) == best);
        for array in [1 - from.active, from.active].map(|array| &from.arrays[usize::from(array)]) {
            let mut priority = array.first();
            while let Some(prio) = priority {
                let list = array.list(prio);
                let mut next = list.tail();
                while let Some(task) = next {
                    let heavy = self.tasks[task as usize].weight > pull.load;
                    let skip = heavy && (prio >= this_best || !seen && prio == best);
                    if !skip && self.may_move(cx, cpu, task, running) {
                        return Some(task);
                    }
                    seen |= prio == best;
                    next = list.before(&self.links, task);
                }
                priority = array.first_from(prio + 1);
            }
        }
        None
    }

    /// can_migrate_task.
    fn may_move(&self, cx: &Context<'_>, to: CpuId, task: TaskId, running: Option<TaskId>) -> bool {
        let hot = cx.now - self.tasks[task as usize].last_ran < CACHE_HOT;
        let patient = self.queues[to as usize].balancing.failed <= CACHE_NICE_TRIES;
        running != Some(task) && cx.tasks[task as usize].allowed >> to & 1 == 1 && !(hot && patient)
    }
}

/// Where a task's load is more than what should be moved: one nevertheless, if the difference is two tasks of the busier
/// processor (or one that is heavier than those here), or if more load would be served.
fn small_imbalance(per_task: u64, max_load: u64, this: &Queue, this_load: u64) -> Option<u64> {
    let this_per_task = this.load_per_task();
    let wanted = if this.count > 0 && per_task > this_per_task { per_task } else { 2 * per_task };
    let now = per_task.min(max_load) + this_per_task.min(this_load);
    let moved = per_task.min(max_load.saturating_sub(per_task)) + this_per_task.min(this_load + per_task.min(max_load));
    (max_load - this_load >= wanted || moved > now).then_some(per_task)
}
