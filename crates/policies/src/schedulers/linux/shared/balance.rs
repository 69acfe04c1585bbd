//! How a processor pulls tasks from others, as Linux has it since 5.5: when, in which of its domains, which tasks, and what follows for
//! the next time.

use super::{
    balancer::{ATTEMPTS, Amount, MIGRATION_COST, NewIdle, Pull},
    domains::{self, Domain},
    hierarchy::FairClass,
    linux::Linux,
    loads::UTIL,
};
use crate::schedulers::{Balance, Context};
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The factor by which a busy processor balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// The interval of an idle processor grows to this while it finds bound tasks only (MAX_PINNED_INTERVAL).
const LONGEST_PINNED: Nanos = 512 * MILLISECOND;
/// The longest interval that is used, for each processor (max_load_balance_interval).
const LONGEST: Nanos = 100 * MILLISECOND;
/// After so much more failures than it takes to pull what is in the cache, even a running task is moved (need_active_balance).
const DESPAIR: u32 = 2;
/// Of a processor's tasks, at most as many are looked at (sysctl_sched_nr_migrate).
const MOST: u32 = 32;
/// What a look at a processor costs one that becomes idle.
const LOOK: Nanos = 2 * MICROSECOND;
/// What looking costs at most where failures make it dearer (sysctl_sched_migration_cost + 200).
const DEAREST: Nanos = MIGRATION_COST + 200;

/// How an attempt to pull ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Moved,
    /// There was something to pull, but nothing that may move.
    Failed,
    /// As before, and a running task is being moved.
    Begun,
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

    /// A processor that has nothing to run pulls a task from the one with the most, in the smallest domain where there is one, as long as
    /// looking costs less than it is idle on average.
    fn newidle_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let state = &mut self.balancer.states[cpu as usize];
        state.idle_since = Some(cx.now);
        if !self.balancer.overloaded {
            return None;
        }
        let mut spent = 0;
        for level in 0..state.levels.len() {
            let state = &mut self.balancer.states[cpu as usize];
            state.levels[level].forget_cost(cx.now);
            if state.mean_idle < spent + state.levels[level].cost {
                return None;
            }
            let found = self.newidle_level(cx, cpu, level);
            if found.is_some() {
                self.balancer.states[cpu as usize].idle_since = None;
                return found;
            }
            spent += self.domain(cpu, level).weight() * LOOK;
        }
        None
    }

    fn newidle_level(&mut self, cx: &mut Context<'_>, cpu: CpuId, level: usize) -> Option<TaskId> {
        let chance = self.balancer.states[cpu as usize].levels[level].chance;
        let drawn = if self.balancer.version.newidle == NewIdle::Proportional { cx.rng.below(1024) } else { 0 };
        let looks = drawn <= chance + 1;
        let mut pull = Pull::begin(level, true);
        let found = if looks {
            self.tree.update_blocked_averages(cpu);
            self.load_balance(cx, cpu, &mut pull)
        } else {
            Err(Outcome::Failed)
        };
        self.learn(cpu, level, looks, found.is_ok());
        let shortest = self.domain(cpu, level).weight() * MILLISECOND;
        if looks && found == Err(Outcome::Balanced) {
            self.set_hidden(cpu, level, false);
        }
        let state = &mut self.balancer.states[cpu as usize].levels[level];
        match found {
            Ok(_) => (state.failures, state.interval) = (0, shortest),
            Err(Outcome::Balanced | Outcome::AllPinned) => state.failures = 0,
            Err(_) if looks => state.interval = shortest,
            Err(_) => {}
        }
        found.ok()
    }

    /// What an attempt when becoming idle has cost, and whether it paid.
    fn learn(&mut self, cpu: CpuId, level: usize, looked: bool, found: bool) {
        let (count, version) = (self.domain(cpu, level).weight(), self.balancer.version);
        let state = &mut self.balancer.states[cpu as usize].levels[level];
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

    /// In each of its domains whose time has come, the smallest first, a processor evens out what its group and the busiest one have to
    /// do. Where it is another one's turn, the walk ends. Asked until there is no more.
    fn rebalance_domains(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let under_way = self.balancer.states[cpu as usize].pulling.take();
        let first = under_way.map_or(0, |pull| pull.level);
        let idle = self.available_idle_cpu(cx, cpu);
        let mut pull = under_way;
        for level in first..self.balancer.states[cpu as usize].levels.len() {
            if pull.is_none() && !self.is_due(cx, cpu, level, idle) {
                continue;
            }
            let mut now = pull.take().unwrap_or_else(|| Pull::begin(level, idle));
            let begins = under_way.is_none_or(|pull| pull.level != level);
            if begins {
                self.tree.update_blocked_averages(cpu);
            }
            let turn = !begins || self.is_its_turn(cx, cpu, level);
            let found = if turn { self.load_balance(cx, cpu, &mut now) } else { Err(Outcome::Balanced) };
            let outcome = match found {
                Ok(task) => {
                    self.balancer.states[cpu as usize].pulling = Some(now);
                    return Some(task);
                }
                Err(outcome) => outcome,
            };
            let begun = outcome == Outcome::Failed && self.active_balance(cx, cpu, &now);
            self.rest_until_next(cx.now, cpu, level, if begun { Outcome::Begun } else { outcome });
            if outcome == Outcome::Balanced {
                self.set_hidden(cpu, level, false);
            }
            if !now.idle && matches!(outcome, Outcome::Moved | Outcome::Failed) {
                self.vary_interval(cx, cpu, level);
            }
            if !turn {
                break;
            }
        }
        None
    }

    /// One of a processor's domains.
    pub fn domain(&self, cpu: CpuId, level: usize) -> &Domain {
        &self.balancer.domains.chains[usize::from(cpu)][level]
    }

    /// Whether an interval is over. For an idle processor of a single domain another must have something to give, or none would send
    /// for it (nohz_balancer_kick); in several domains, running tasks may have to be spread, but it takes a busy processor to send.
    fn is_due(&self, cx: &Context<'_>, cpu: CpuId, level: usize, idle: bool) -> bool {
        let state = &self.balancer.states[cpu as usize];
        let single = state.levels.len() == 1;
        if idle && single && !self.balancer.overloaded {
            return false;
        }
        let over =
            cx.now + self.balancer.tick / 2 >= state.levels[level].balanced + self.interval(cx, cpu, level, idle);
        over && (!idle || single || cx.processors.iter().any(|processor| processor.running.is_some()))
    }

    /// Whether processors look for work at a tick while all of them are idle.
    pub fn looks_while_idle(&self) -> bool {
        self.balancer.overloaded && self.balancer.states.iter().any(|state| state.levels.len() == 1)
    }

    /// An interval, in whole ticks. (get_sd_balance_interval)
    fn interval(&self, cx: &Context<'_>, cpu: CpuId, level: usize, idle: bool) -> Nanos {
        let (own, tick) = (self.balancer.states[cpu as usize].levels[level].interval, self.balancer.tick);
        let busy = !idle && !self.is_idle(cx, cpu);
        let interval = if busy { own * BUSY_FACTOR } else { own };
        let longest = (LONGEST * self.cpus.len() as u64 / tick).max(1);
        (interval.div_ceil(tick) - u64::from(busy)).clamp(1, longest) * tick
    }

    /// The interval is short where something was to do, and grows as long as there is nothing.
    fn rest_until_next(&mut self, now: Nanos, cpu: CpuId, level: usize, outcome: Outcome) {
        let shortest = self.domain(cpu, level).weight() * MILLISECOND;
        let state = &mut self.balancer.states[cpu as usize].levels[level];
        state.balanced = now;
        state.failures = if outcome == Outcome::Failed { state.failures + 1 } else { 0 };
        match outcome {
            Outcome::Begun => {}
            Outcome::Moved | Outcome::Failed => state.interval = shortest,
            Outcome::Balanced if state.interval < 2 * shortest => state.interval *= 2,
            Outcome::AllPinned if state.interval < LONGEST_PINNED => state.interval *= 2,
            Outcome::Balanced | Outcome::AllPinned => {}
        }
    }

    /// Each processor sees the common count of ticks a little earlier or later than it is changed.
    fn vary_interval(&mut self, cx: &mut Context<'_>, cpu: CpuId, level: usize) {
        let (tick, state) = (self.balancer.tick, &mut self.balancer.states[cpu as usize].levels[level]);
        state.balanced = (state.balanced + cx.rng.below(3) * tick).saturating_sub(tick);
    }

    /// Bound tasks that could not be moved within a group hide an imbalance from the domain above, which is noted in the group.
    fn note_hidden(&mut self, cpu: CpuId, pull: &Pull) {
        let left = pull.from.is_some_and(|(_, amount)| !amount.is_nothing());
        if pull.some_pinned && left {
            self.set_hidden(cpu, pull.level, true);
        }
    }

    /// It is forgotten when the group is balanced and not all of its tasks are bound.
    fn set_hidden(&mut self, cpu: CpuId, level: usize, hidden: bool) {
        let chain = &self.balancer.domains.chains[usize::from(cpu)];
        if let Some(above) = chain.get(level + 1) {
            self.balancer.domains.hidden[above.groups[0].id] = hidden;
        }
    }

    /// After many failures the stopper of the busiest processor takes the running task away and moves the first of its tasks that may go.
    /// (need_active_balance, active_load_balance_cpu_stop)
    fn active_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &Pull) -> bool {
        let Some((from, Amount::Tasks(_))) = pull.from else { return false };
        let tries = self.domain(cpu, pull.level).cache_nice_tries();
        let failures = self.balancer.states[cpu as usize].levels[pull.level].failures + 1;
        let running = cx.processors[from as usize].running;
        let may = |task: TaskId| cx.tasks[task as usize].allowed >> cpu & 1 == 1;
        if failures <= tries + DESPAIR || !running.is_some_and(may) {
            return false;
        }
        let throttled = |task| self.tree.pools.exist() && self.tree.throttled_hierarchy(self.tree.of_task(task));
        let goes =
            self.balancer.oldest_first(from).find(|&task| may(task) && !throttled(task) && !self.is_delayed(task));
        if let Some(task) = goes {
            cx.move_to(task, cpu);
        }
        true
    }

    /// Whether a task sleeps, but stays in its queue.
    fn is_delayed(&self, task: TaskId) -> bool {
        L::sleeps(&self.tree.entities[self.tree.of_task(task) as usize].claim)
    }

    /// A task to pull, or why there is none. Where all tasks of the busiest processor are bound, another one is looked for.
    fn load_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &mut Pull) -> Result<TaskId, Outcome> {
        let domain = self.domain(cpu, pull.level);
        let others = domain.span & !domain.groups[0].span;
        loop {
            if pull.from.is_none() {
                pull.from = self.find_busiest(cx, cpu, (pull.level, pull.idle), pull.excluded);
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
            self.note_hidden(cpu, pull);
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
                && let Some(rest) = self.fits(cx.now, (cpu, pull.level), task, amount)
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
    fn fits(&self, now: Nanos, (cpu, level): (CpuId, usize), task: TaskId, amount: Amount) -> Option<Amount> {
        let failures = self.balancer.states[cpu as usize].levels[level].failures.min(63);
        let entity = self.tree.of_task(task);
        match amount {
            Amount::Tasks(left) => Some(Amount::Tasks(left - 1)),
            Amount::Util(left) => {
                let util = self.tree.loads.entities[entity as usize].values_at(now)[UTIL];
                (util >> failures <= left).then(|| Amount::Util(left.saturating_sub(util)))
            }
            Amount::Load(left) => {
                let load = self.tree.task_h_load(now, entity).max(1);
                (load >> failures <= left).then(|| Amount::Load(left.saturating_sub(load)))
            }
        }
    }

    /// Whether a task may move and is worth it.
    fn can_migrate_task(&mut self, cx: &Context<'_>, cpu: CpuId, from: CpuId, task: TaskId, pull: &mut Pull) -> bool {
        let entity = self.tree.of_task(task);
        if self.tree.pools.exist() && self.tree.throttled_hierarchy(entity) {
            return false;
        }
        let failures = self.balancer.states[cpu as usize].levels[pull.level].failures;
        let others = self.tree.h_nr_running(cpu) > 0;
        if failures == 0 && others && self.class.is_ineligible(&mut self.tree, entity) {
            return false;
        }
        if cx.tasks[task as usize].allowed >> cpu & 1 == 0 {
            pull.some_pinned = true;
            return false;
        }
        pull.all_pinned = false;
        if cx.processors[from as usize].running == Some(task) {
            return false;
        }
        let domain = self.domain(cpu, pull.level);
        let cold = domain.level == domains::Level::Core || !self.task_hot(cx.now, task, others);
        cold || failures > domain.cache_nice_tries()
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
