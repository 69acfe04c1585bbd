//! How a processor pulls tasks from others, as Linux has it since 5.5: when, which of them, and what follows for the next time.

use super::{
    balancer::{ATTEMPTS, Amount, MIGRATION_COST, NewIdle, Pull},
    hierarchy::FairClass,
    linux::Linux,
};
use crate::schedulers::{Balance, Context};
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos, SECOND,
    task::{CpuId, TaskId},
};

/// The factor by which a busy processor balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// The interval of an idle processor grows to this while it finds bound tasks only (MAX_PINNED_INTERVAL).
const LONGEST_PINNED: Nanos = 512 * MILLISECOND;
/// The longest interval that is used, for each processor (max_load_balance_interval).
const LONGEST: Nanos = 100 * MILLISECOND;
/// After more failures than that, even what is in the cache is pulled (cache_nice_tries).
const PATIENCE: u32 = 1;
/// Of a processor's tasks, at most as many are looked at (sysctl_sched_nr_migrate).
const MOST: u32 = 32;
/// What a look at a processor costs one that becomes idle.
const LOOK: Nanos = 2 * MICROSECOND;
/// Once a second, what looking has cost is lowered to this many parts of 256.
const LOWERED: Nanos = 253;
/// What looking costs at most where failures make it dearer (sysctl_sched_migration_cost + 200).
const DEAREST: Nanos = MIGRATION_COST + 200;

/// How an attempt to pull ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Moved,
    /// There was something to pull, but nothing that may move.
    Failed,
    Balanced,
    AllPinned,
}

impl<L: FairClass> Linux<L> {
    pub fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if !self.several() {
            return None;
        }
        self.tree.now = cx.now;
        if self.realtime.known
            && let Some(task) = self.realtime.pull(cx, cpu)
        {
            return Some(task);
        }
        match why {
            Balance::Idle => self.newidle_balance(cx, cpu),
            Balance::Tick => self.rebalance_domains(cx, cpu),
        }
    }

    /// A processor that has nothing to run pulls a task from the one with the most.
    fn newidle_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let state = &mut self.balancer.states[cpu as usize];
        state.idle_since = Some(cx.now);
        if !self.balancer.overloaded {
            return None;
        }
        while cx.now - state.lowered > SECOND && state.cost > 0 {
            (state.cost, state.lowered) =
                (state.cost * LOWERED / 256, state.lowered.max(cx.now.saturating_sub(2 * SECOND)) + SECOND);
        }
        if state.mean_idle < state.cost {
            return None;
        }
        let chance = state.chance;
        let drawn = if self.balancer.version.newidle == NewIdle::Proportional { cx.rng.below(1024) } else { 0 };
        let looks = drawn <= chance + 1;
        let mut pull = Pull::begin(true);
        let found = if looks {
            self.tree.update_blocked_averages(cpu);
            self.load_balance(cx, cpu, &mut pull)
        } else {
            Err(Outcome::Failed)
        };
        self.learn(cpu, looks, found.is_ok());
        let shortest = self.cpus.len() as u64 * MILLISECOND;
        let state = &mut self.balancer.states[cpu as usize];
        match found {
            Ok(_) => (state.idle_since, state.failures, state.interval) = (None, 0, shortest),
            Err(Outcome::Balanced | Outcome::AllPinned) => state.failures = 0,
            Err(_) if looks => state.interval = shortest,
            Err(_) => {}
        }
        found.ok()
    }

    /// What an attempt when becoming idle has cost, and whether it paid.
    fn learn(&mut self, cpu: CpuId, looked: bool, found: bool) {
        let (count, version) = (self.cpus.len() as u64, self.balancer.version);
        let state = &mut self.balancer.states[cpu as usize];
        if looked {
            state.cost = state.cost.max(count * LOOK);
        }
        match version.newidle {
            NewIdle::Affordable => {}
            NewIdle::Dearer if found => {}
            NewIdle::Dearer => state.cost = (state.cost * 3 / 2).min(DEAREST),
            NewIdle::Proportional => {
                let weight = state.chance + 1;
                state.attempts += 1;
                state.successes += if found { (1024 + weight / 2) / weight } else { 0 };
                if state.attempts >= ATTEMPTS {
                    (state.chance, state.attempts) = (state.successes, state.attempts / 2);
                    state.successes /= 2;
                }
            }
        }
    }

    /// A processor whose time has come evens out what it and the busiest one have to do. Asked until there is no more.
    fn rebalance_domains(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let mut pull = match self.balancer.states[cpu as usize].pulling.take() {
            Some(pull) => pull,
            None => {
                let idle = self.available_idle_cpu(cx, cpu);
                if !self.is_due(cx, cpu, idle) {
                    return None;
                }
                self.tree.update_blocked_averages(cpu);
                Pull::begin(idle)
            }
        };
        match self.load_balance(cx, cpu, &mut pull) {
            Ok(task) => {
                self.balancer.states[cpu as usize].pulling = Some(pull);
                Some(task)
            }
            Err(outcome) => {
                self.rest_until_next(cx.now, cpu, outcome);
                if !pull.idle && matches!(outcome, Outcome::Moved | Outcome::Failed) {
                    self.vary_interval(cx, cpu);
                }
                None
            }
        }
    }

    /// Whether a processor's interval is over. For an idle one another must have something to give, or none would send for it
    /// (nohz_balancer_kick).
    fn is_due(&self, cx: &Context<'_>, cpu: CpuId, idle: bool) -> bool {
        if idle && !self.balancer.overloaded {
            return false;
        }
        let balanced = self.balancer.states[cpu as usize].balanced;
        cx.now + self.balancer.tick / 2 >= balanced + self.interval(cx, cpu, idle)
    }

    /// A processor's interval, in whole ticks. (get_sd_balance_interval)
    fn interval(&self, cx: &Context<'_>, cpu: CpuId, idle: bool) -> Nanos {
        let (state, tick) = (&self.balancer.states[cpu as usize], self.balancer.tick);
        let busy = !idle && !self.is_idle(cx, cpu);
        let interval = if busy { state.interval * BUSY_FACTOR } else { state.interval };
        let longest = (LONGEST * self.cpus.len() as u64 / tick).max(1);
        (interval.div_ceil(tick) - u64::from(busy)).clamp(1, longest) * tick
    }

    /// The interval is short where something was to do, and grows as long as there is nothing.
    fn rest_until_next(&mut self, now: Nanos, cpu: CpuId, outcome: Outcome) {
        let shortest = self.cpus.len() as u64 * MILLISECOND;
        let state = &mut self.balancer.states[cpu as usize];
        state.balanced = now;
        state.failures = if outcome == Outcome::Failed { state.failures + 1 } else { 0 };
        let longest = match outcome {
            Outcome::Moved | Outcome::Failed => 0,
            Outcome::Balanced => 2 * shortest,
            Outcome::AllPinned => LONGEST_PINNED,
        };
        if longest == 0 {
            state.interval = shortest;
        } else if state.interval < longest {
            state.interval *= 2;
        }
    }

    /// Each processor sees the common count of ticks a little earlier or later than it is changed.
    fn vary_interval(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let (tick, state) = (self.balancer.tick, &mut self.balancer.states[cpu as usize]);
        state.balanced = (state.balanced + cx.rng.below(3) * tick).saturating_sub(tick);
    }

    /// A task to pull, or why there is none. Where all tasks of the busiest processor are bound, another one is looked for.
    fn load_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &mut Pull) -> Result<TaskId, Outcome> {
        let others = (u64::MAX >> (64 - self.cpus.len().min(64))) & !(1 << cpu);
        loop {
            if pull.from.is_none() {
                pull.from = self.find_busiest(cx, cpu, pull.idle, pull.excluded);
                pull.looked = 0;
                let Some((from, _)) = pull.from else {
                    return Err(if pull.all_pinned { Outcome::AllPinned } else { Outcome::Balanced });
                };
                pull.all_pinned = self.nr_running(from) > 1;
            }
            if let Some(task) = self.detach_task(cx, cpu, pull) {
                (pull.pulled, pull.all_pinned) = (true, false);
                return Ok(task);
            }
            if pull.pulled || !pull.all_pinned {
                return Err(if pull.pulled { Outcome::Moved } else { Outcome::Failed });
            }
            pull.excluded |= pull.from.take().map_or(0, |(from, _)| 1 << from);
            if others & !pull.excluded == 0 {
                return Err(Outcome::AllPinned);
            }
        }
    }

    /// Of the tasks of a processor, from the one that came or ran least recently, the next that may move. (detach_tasks)
    fn detach_task(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &mut Pull) -> Option<TaskId> {
        let (from, mut amount) = pull.from?;
        if amount.is_nothing() {
            return None;
        }
        loop {
            let tasks = self.nr_running(from);
            let beyond = pull.all_pinned && self.balancer.version.all_pinned;
            if tasks < 2 || pull.looked >= if beyond { tasks } else { MOST.min(tasks) } {
                return None;
            }
            pull.looked += 1;
            let task = self.balancer.oldest(from)?;
            if self.can_migrate_task(cx, cpu, from, task, pull)
                && let Some(rest) = self.fits(cx.now, cpu, task, amount)
            {
                amount = rest;
                pull.from = Some((from, amount));
                return Some(task);
            }
            self.balancer.unlist(from, task);
            self.balancer.put_first(from, task);
        }
    }

    /// What is left of an imbalance when a task has moved, if the task is not more than it. After each failure tasks may be twice as
    /// heavy.
    fn fits(&self, now: Nanos, cpu: CpuId, task: TaskId, amount: Amount) -> Option<Amount> {
        let left = match amount {
            Amount::Tasks(left) => return Some(Amount::Tasks(left - 1)),
            Amount::Load(left) => left,
        };
        let failures = self.balancer.states[cpu as usize].failures;
        let load = self.tree.task_h_load(now, self.tree.of_task(task)).max(1);
        let light = load >> failures.min(63) <= left;
        light.then(|| Amount::Load(left.saturating_sub(load)))
    }

    /// Whether a task may move and is worth it.
    fn can_migrate_task(&mut self, cx: &Context<'_>, cpu: CpuId, from: CpuId, task: TaskId, pull: &mut Pull) -> bool {
        let entity = self.tree.of_task(task);
        if self.tree.pools.exist() && self.tree.throttled_hierarchy(entity) {
            return false;
        }
        let (failures, others) = (self.balancer.states[cpu as usize].failures, self.tree.h_nr_running(cpu) > 0);
        if failures == 0 && others && self.class.is_ineligible(&mut self.tree, entity) {
            return false;
        }
        if cx.tasks[task as usize].allowed >> cpu & 1 == 0 {
            return false;
        }
        pull.all_pinned = false;
        if cx.processors[from as usize].running == Some(task) {
            return false;
        }
        failures > PATIENCE || !self.task_hot(cx.now, task, others)
    }

    /// Whether what a task uses is likely to be in its processor's cache.
    fn task_hot(&self, now: Nanos, task: TaskId, others: bool) -> bool {
        let entity = &self.tree.entities[self.tree.of_task(task) as usize];
        let ran = self.balancer.tasks[task as usize].ran;
        if entity.is_idle() {
            return false;
        }
        let next = self.tree.queues[entity.queue as usize].next == self.tree.of_task(task);
        others && next || ran > 0 && now - ran < MIGRATION_COST
    }
}
