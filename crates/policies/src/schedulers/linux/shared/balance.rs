//! Where a task goes on several processors, as Linux has it since 5.5: what an idle or a less loaded processor pulls from
//! another.

use super::{
    balancer::{Amount, MIGRATION_COST, Pull},
    hierarchy::FairClass,
    linux::Linux,
};
use crate::schedulers::{Balance, Context, kit::timeline::EntityId};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The busiest processor's load must exceed this many hundredths of the own.
pub const IMBALANCE: u64 = 117;
/// The factor by which a busy processor balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// After more failures than that, even what is in the cache is pulled.
const PATIENCE: u32 = 1;
/// Attempts of a processor that becomes idle, after which its rate of success is computed again.
const ATTEMPTS: u64 = 1024;

impl<L: FairClass> Linux<L> {
    /// A task's load goes with it.
    pub fn move_load(&mut self, cx: &Context<'_>, task: TaskId, from: CpuId, to: CpuId) {
        let load = self.load_of(cx.now, task);
        self.tree.queue(from.into()).load.remove(cx.now, load);
        self.tree.queue(to.into()).load.add(cx.now, load);
    }

    /// A new task brings its load.
    pub fn add_load(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let load = self.load_of(cx.now, task);
        self.tree.queue(cpu.into()).load.add(cx.now, load);
    }

    /// One that ends takes it away.
    pub fn drop_load(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let load = self.load_of(cx.now, task);
        self.tree.queue(cpu.into()).load.remove(cx.now, load);
    }

    pub fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if !self.several() {
            return None;
        }
        self.tree.now = cx.now;
        if let Some(task) = self.realtime.pull(cx, cpu) {
            return Some(task);
        }
        match why {
            Balance::Idle => self.newidle_balance(cx, cpu),
            Balance::Tick => self.rebalance_domains(cx, cpu),
        }
    }

    /// A processor that has nothing to run pulls a task from the one with the most.
    fn newidle_balance(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let state = &self.balancer.states[cpu as usize];
        if state.mean_idle < MIGRATION_COST {
            return None;
        }
        let chance = state.chance;
        let others = (0..self.cpus.len() as CpuId).filter(|&other| other != cpu);
        let busiest = others.max_by_key(|&other| self.cpus[other as usize].running)?;
        if self.cpus[busiest as usize].running < 2 {
            return None;
        }
        let looks = !self.balancer.proportional || cx.rng.below(1024) <= chance;
        let found = if looks { self.detach_task(cx, cpu, busiest, Amount::Tasks(1)) } else { None };
        let state = &mut self.balancer.states[cpu as usize];
        if looks {
            state.attempts += 1;
            state.successes += u64::from(found.is_some());
            if state.attempts == ATTEMPTS {
                (state.chance, state.attempts, state.successes) = (state.successes, 0, 0);
            }
        }
        found.map(|(task, _)| task)
    }

    /// A processor whose time has come evens out what it and the busiest one have to do. Asked until there is no more.
    fn rebalance_domains(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if self.balancer.states[cpu as usize].pulling.is_none() {
            if cx.now < self.balancer.states[cpu as usize].next {
                return None;
            }
            let imbalance = self.find_busiest_queue(cx, cpu);
            self.balancer.states[cpu as usize].pulling = imbalance;
            if imbalance.is_none() {
                self.balancer.states[cpu as usize].failures = 0;
                self.rest_until_next(cx, cpu, true);
                return None;
            }
        }
        let mut pull = self.balancer.states[cpu as usize].pulling?;
        let found = self.detach_task(cx, cpu, pull.from, pull.amount);
        let Some((task, load)) = found else {
            let state = &mut self.balancer.states[cpu as usize];
            state.pulling = None;
            state.failures = if pull.pulled { 0 } else { state.failures + 1 };
            self.rest_until_next(cx, cpu, false);
            return None;
        };
        pull.pulled = true;
        pull.amount = match pull.amount {
            Amount::Tasks(count) => Amount::Tasks(count - 1),
            Amount::Load(left) => Amount::Load(left.saturating_sub(load)),
        };
        self.balancer.states[cpu as usize].pulling = Some(pull);
        Some(task)
    }

    /// The interval is short where something was to do, and grows as long as there is nothing.
    fn rest_until_next(&mut self, cx: &Context<'_>, cpu: CpuId, balanced: bool) {
        let shortest = self.cpus.len() as u64 * MILLISECOND;
        let busy = !self.is_idle(cx, cpu);
        let balancer = &mut self.balancer;
        let state = &mut balancer.states[cpu as usize];
        state.interval = if balanced { (2 * state.interval).min(2 * shortest) } else { shortest };
        let interval = if busy { (state.interval * BUSY_FACTOR).saturating_sub(balancer.tick) } else { state.interval };
        state.next = cx.now + interval;
    }

    /// What a processor should pull, and from where.
    fn find_busiest_queue(&self, cx: &Context<'_>, cpu: CpuId) -> Option<Pull> {
        let count = self.cpus.len() as CpuId;
        let loads: u64 = (0..count).map(|other| self.load(cx.now, other)).sum();
        let (own, mean) = (self.load(cx.now, cpu), loads / u64::from(count));
        let others = (0..count).filter(|&other| other != cpu);
        let busiest = others.max_by_key(|&other| {
            (self.cpus[other as usize].running > 1, self.load(cx.now, other), self.cpus[other as usize].running)
        })?;
        let (here, there) = (self.cpus[cpu as usize].running, self.cpus[busiest as usize].running);
        if there < 2 {
            return None;
        }
        if here == 0 {
            return Some(Pull { from: busiest, amount: Amount::Tasks(there / 2), pulled: false });
        }
        let most = self.load(cx.now, busiest);
        if most * 100 <= own * IMBALANCE || own >= mean || most <= mean {
            return None;
        }
        Some(Pull { from: busiest, amount: Amount::Load((most - mean).min(mean - own)), pulled: false })
    }

    /// Of the tasks that wait on a processor, the one that waits longest and may, need and is to move; and its load.
    fn detach_task(&self, cx: &Context<'_>, cpu: CpuId, from: CpuId, amount: Amount) -> Option<(TaskId, u64)> {
        if matches!(amount, Amount::Tasks(0) | Amount::Load(0)) {
            return None;
        }
        let mut best: Option<(Nanos, TaskId, u64)> = None;
        let failures = self.balancer.states[cpu as usize].failures;
        for entity in self.waiting(from) {
            let task = self.tree.task(entity);
            let ran = self.balancer.tasks[task as usize].ran;
            let allowed = cx.tasks[task as usize].allowed >> cpu & 1 == 1;
            let hot = ran > 0 && cx.now - ran < MIGRATION_COST && failures <= PATIENCE;
            if !allowed || hot || best.is_some_and(|(other, ..)| other <= ran) {
                continue;
            }
            let load = self.load_of(cx.now, task).max(1);
            if let Amount::Load(most) = amount
                && load >> failures.min(63) > most
            {
                continue;
            }
            best = Some((ran, task, load));
        }
        best.map(|(_, task, load)| (task, load))
    }

    /// Tasks of a processor that wait for it, those first that waited least recently; throttled groups are left out.
    pub fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = EntityId> + '_ {
        let processors = self.cpus.len();
        let queues = self.tree.queues.iter().skip(cpu.into()).step_by(processors);
        queues.flat_map(|queue| queue.line.entities()).filter(|&entity| {
            self.tree.is_task(entity)
                && !L::sleeps(&self.tree.entities[entity as usize].claim)
                && !(self.tree.pools.exist() && self.tree.throttled_hierarchy(entity))
        })
    }
}
