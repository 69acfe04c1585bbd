//! How a processor pulls tasks from others, as Linux has it since 5.5: when, in which of its domains, which tasks, and what follows for
//! the next time.

use super::{
    active::DESPAIR,
    balancer::{Amount, Kernel, LONGEST_REST, MIGRATION_COST, Outcome, Pull},
    domains::{self, Domain},
    hierarchy::FairClass,
    linux::Linux,
};
use crate::schedulers::{Balance, Context, Ticks};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The factor by which a busy processor balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// The interval of an idle processor grows to this while it finds bound tasks only (MAX_PINNED_INTERVAL).
const LONGEST_PINNED: Nanos = 512 * MILLISECOND;
/// The longest interval that is used, for each processor (max_load_balance_interval).
const LONGEST: Nanos = 100 * MILLISECOND;
/// Of a processor's tasks, at most as many are looked at (sysctl_sched_nr_migrate).
const MOST: u32 = 32;

/// What is promised of a processor that idles while a task waits elsewhere ([`Promise::FindsWork`](schedlab_model::info::Promise)): its
/// looks are at most [`LONGEST`] times the processors apart. The first ones may find only what is in the cache, of as many tries as a
/// domain has (cache_nice_tries, at most 2), and then only what runs.
pub const FINDS_WORK: Nanos = (2 + DESPAIR as u64 + 1) * LONGEST;
/// How often tasks that always run move, a second and processor: a busy processor looks at most every 28 ms in a domain of two, and half as
/// often in one twice as large.
pub const MOVES_AT_MOST: u32 = 2 * 36;

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

    /// In each of its domains whose time has come, the smallest first, a processor evens out what its group and the busiest one have to
    /// do. Where it is another one's turn, the walk ends. Asked until there is no more.
    fn rebalance_domains(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let mut pull = self.balancer.states[cpu as usize].pulling.take();
        let under_way = pull.as_ref().map(|pull| pull.level);
        let idle = self.idle_cpu(cx, cpu);
        if under_way.is_none() && !self.begins_to_look(cx, cpu, idle) {
            return None;
        }
        let mut next = pull.as_ref().map_or(cx.now + LONGEST_REST, |pull| pull.next);
        for level in under_way.unwrap_or(0)..self.balancer.states[cpu as usize].levels.len() {
            let mut turn = true;
            if pull.is_some() || self.is_due(cx, cpu, level, idle) {
                let now = pull.take().unwrap_or_else(|| Pull { next, ..Pull::begin(level, idle, false) });
                match self.balance_level(cx, cpu, now, under_way == Some(level)) {
                    Ok(task) => return Some(task),
                    Err(ours) => turn = ours,
                }
            }
            next = next.min(self.next_of(cx, cpu, level, idle));
            if !turn {
                break;
            }
        }
        self.balancer.states[cpu as usize].next_balance = next;
        self.has_looked(cx, cpu);
        None
    }

    /// A task to pull in a domain, or whether it was the processor's turn.
    fn balance_level(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        mut pull: Pull,
        under_way: bool,
    ) -> Result<TaskId, bool> {
        let level = pull.level;
        if !under_way {
            self.tree.update_blocked_averages(cpu);
        }
        let turn = under_way || self.is_its_turn(cx, cpu, level);
        let found = if turn { self.load_balance(cx, cpu, &mut pull) } else { Err(Outcome::Balanced) };
        let outcome = match found {
            Ok(task) => {
                self.balancer.states[cpu as usize].pulling = Some(pull);
                return Ok(task);
            }
            Err(Outcome::Failed) => {
                let failures = self.balancer.states[cpu as usize].levels[level].failures + 1;
                self.active_balance(cx, cpu, &pull, failures)
            }
            Err(outcome) => outcome,
        };
        self.balancer.states[cpu as usize].levels[level].balanced = cx.now;
        self.rest_until_next(cpu, &pull, outcome);
        if !pull.idle && matches!(outcome, Outcome::Moved | Outcome::Failed) {
            self.vary_interval(cx, cpu, level);
        }
        Err(turn)
    }

    /// One of a processor's domains.
    pub fn domain(&self, cpu: CpuId, level: usize) -> &Domain {
        &self.balancer.domains.chains[usize::from(cpu)][level]
    }

    /// Whether a domain's interval is over.
    fn is_due(&self, cx: &Context<'_>, cpu: CpuId, level: usize, idle: bool) -> bool {
        self.balancer.has_come(cx.now, self.next_of(cx, cpu, level, idle))
    }

    /// When it is.
    pub fn next_of(&self, cx: &Context<'_>, cpu: CpuId, level: usize, idle: bool) -> Nanos {
        self.balancer.states[cpu as usize].levels[level].balanced + self.interval(cx, cpu, level, idle)
    }

    /// The tick of an idle processor does nothing but look for work elsewhere, and nothing does that while all are idle.
    pub fn idle_ticks(&self) -> Ticks {
        let pulls = self.realtime.known && (0..self.cpus.len() as CpuId).any(|cpu| self.realtime.any(cpu));
        if self.several() && pulls { Ticks::default() } else { Ticks::ALL }
    }

    /// An idle processor does not look for work at its own ticks: a busy one has to ask it to.
    #[inline]
    pub fn omits_tick(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        !self.realtime.some_overloaded() && self.idle_cpu(cx, cpu)
    }

    /// An interval, in whole ticks. (get_sd_balance_interval)
    pub fn interval(&self, cx: &Context<'_>, cpu: CpuId, level: usize, idle: bool) -> Nanos {
        let (own, tick) = (self.balancer.states[cpu as usize].levels[level].interval, self.balancer.tick);
        let busy = !idle && !self.is_idle(cx, cpu);
        let interval = if busy { own * BUSY_FACTOR } else { own };
        let longest = (LONGEST * self.cpus.len() as u64 / tick).max(1);
        (interval.div_ceil(tick) - u64::from(busy)).clamp(1, longest) * tick
    }

    /// What follows from an attempt for the next ones. The interval is short where something was to do, and grows as long as there is
    /// nothing; attempts of a processor that becomes idle let it be, and are no failures.
    pub fn rest_until_next(&mut self, cpu: CpuId, pull: &Pull, outcome: Outcome) {
        let domain = self.domain(cpu, pull.level);
        let (shortest, tries) = (domain.weight() * MILLISECOND, domain.cache_nice_tries());
        let kernel = self.balancer.kernel;
        let misfit = pull.from.is_some_and(|(_, amount)| matches!(amount, Amount::Misfit(_)));
        let counts = !pull.newly && (kernel < Kernel::V6_12 || !misfit);
        let state = &mut self.balancer.states[cpu as usize].levels[pull.level];
        state.failures = match outcome {
            Outcome::Moved | Outcome::Balanced | Outcome::AllPinned | Outcome::Begun { goes: true, .. } => 0,
            Outcome::Begun { .. } | Outcome::Asked if kernel == Kernel::V5_10 => tries + 1,
            _ => state.failures + u32::from(counts),
        };
        let longest = match outcome {
            Outcome::Balanced | Outcome::OnePinned { among_others: true } => 2 * shortest,
            Outcome::AllPinned | Outcome::OnePinned { among_others: false } => LONGEST_PINNED,
            Outcome::Begun { needs_it: false, .. } if kernel == Kernel::V5_10 => 2 * shortest,
            _ => 0,
        };
        if longest == 0 {
            state.interval = shortest;
        } else if counts && state.interval < longest {
            state.interval *= 2;
        }
        if outcome == Outcome::Balanced {
            self.set_hidden(cpu, pull.level, false);
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

    /// A task to pull, or why there is none. Where all tasks of the busiest processor are bound, another one is looked for.
    pub fn load_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &mut Pull) -> Result<TaskId, Outcome> {
        loop {
            if pull.from.is_none() {
                pull.from = self.find_busiest(cx, cpu, pull);
                let Some((from, _)) = pull.from else {
                    return Err(if pull.all_pinned { Outcome::AllPinned } else { Outcome::Balanced });
                };
                let tasks = self.nr_running(from);
                (pull.looked, pull.most, pull.all_pinned) = (0, MOST.min(tasks), tasks > 1);
            }
            if let Some(task) = self.detach_task(cx, cpu, pull) {
                (pull.pulled, pull.all_pinned) = (true, false);
                return Ok(task);
            }
            self.move_to_noted(cx, cpu, pull);
            self.note_hidden(cpu, pull);
            if pull.pulled || !pull.all_pinned {
                return Err(if pull.pulled { Outcome::Moved } else { Outcome::Failed });
            }
            pull.from.take().into_iter().for_each(|(from, _)| pull.excluded.insert(from));
            let domain = self.domain(cpu, pull.level);
            let others = domain.span.and_not(&domain.groups[0].span);
            if others.iter_without(&pull.excluded).next().is_none() {
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
            let beyond = pull.all_pinned && self.balancer.kernel == Kernel::V6_1;
            if tasks < 2 || pull.looked >= if beyond { tasks } else { pull.most } {
                return None;
            }
            pull.looked += 1;
            let task = self.balancer.oldest(from)?;
            if self.can_migrate_task(cx, (cpu, cpu), (from, task), pull)
                && let Some(rest) = self.fits(cx.now, (cpu, pull.level), (from, task), amount)
            {
                amount = rest;
                pull.from = Some((from, amount));
                return Some(task);
            }
            self.balancer.unlist(from, task);
            self.balancer.put_first(from, task);
        }
    }

    /// Tasks that may not come here go to another processor of the own group, if they may go there and an imbalance is left.
    /// (LBF_DST_PINNED)
    fn move_to_noted(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &mut Pull) {
        let (mut gone, mut last) = (Vec::new(), cpu);
        while let (Some(to), Some((from, mut amount))) = (pull.noted.take(), pull.from) {
            pull.excluded.insert(std::mem::replace(&mut last, to));
            for _ in 0..pull.most {
                let Some(task) = self.balancer.oldest(from) else { break };
                self.balancer.unlist(from, task);
                self.balancer.put_first(from, task);
                let alone = self.nr_running(from) < 2 + gone.len() as u32;
                if alone || amount.is_nothing() || gone.contains(&task) {
                    continue;
                }
                if self.can_migrate_task(cx, (cpu, to), (from, task), pull)
                    && let Some(rest) = self.fits(cx.now, (cpu, pull.level), (from, task), amount)
                {
                    (amount, pull.pulled) = (rest, true);
                    cx.move_to(task, to);
                    gone.push(task);
                }
            }
            pull.from = Some((from, amount));
        }
    }

    /// What is left of an imbalance when a task has moved, if the task is not more than it. After each failure tasks may be twice as
    /// heavy.
    fn fits(
        &self,
        now: Nanos,
        (cpu, level): (CpuId, usize),
        (from, task): (CpuId, TaskId),
        amount: Amount,
    ) -> Option<Amount> {
        let failures = self.balancer.states[cpu as usize].levels[level].failures.min(63);
        let entity = self.tree.of_task(task);
        match amount {
            Amount::Tasks(left) => Some(Amount::Tasks(left - 1)),
            Amount::Misfit(_) => {
                let misfit = !self.fits_capacity(now, self.task_util_est(now, task), from);
                misfit.then_some(Amount::Misfit(0))
            }
            Amount::Util(left) => {
                let util = self.task_util_est(now, task);
                let shift = if self.balancer.kernel < Kernel::V6_12 { 0 } else { failures };
                (util >> shift <= left).then(|| Amount::Util(left.saturating_sub(util)))
            }
            Amount::Load(left) => {
                let load = self.tree.task_h_load(now, entity).max(1);
                (load >> failures <= left).then(|| Amount::Load(left.saturating_sub(load)))
            }
        }
    }

    /// Whether a task may move to a processor, for the one that balances, and is worth it.
    fn can_migrate_task(
        &mut self,
        cx: &Context<'_>,
        (cpu, to): (CpuId, CpuId),
        (from, task): (CpuId, TaskId),
        pull: &mut Pull,
    ) -> bool {
        let entity = self.tree.of_task(task);
        if self.tree.pools.exist() && self.tree.throttled_hierarchy(entity) {
            return false;
        }
        let failures = self.balancer.states[cpu as usize].levels[pull.level].failures;
        let others = self.tree.h_nr_running(to) > 0;
        if failures == 0 && others && self.class.is_ineligible(&mut self.tree, entity) {
            return false;
        }
        let allowed = &cx.view.tasks[task as usize].allowed;
        if !allowed.has(to) {
            pull.some_pinned = true;
            if !pull.newly && pull.noted.is_none() {
                let near = &self.domain(cpu, pull.level).groups[0].span;
                pull.noted = near.iter_both(allowed).find(|&near| near != to && !pull.excluded.has(near));
            }
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
        let buddy = L::is_preferred(&self.tree.queues[entity.queue as usize], self.tree.of_task(task));
        others && buddy || ran > 0 && now - ran < MIGRATION_COST
    }
}
