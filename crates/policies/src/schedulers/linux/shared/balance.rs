//! Where a task goes on several processors, as Linux has it since 5.5: the choice at wakeup, and what an idle or a less
//! loaded processor pulls from another.

use super::{law::Law, linux::Linux, pelt::Average};
use crate::schedulers::{Balance, Context, Dequeue, kit::timeline::EntityId};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId, Wait},
};

/// A task that ran so lately has its data in the processor's cache (sysctl_sched_migration_cost); as long as that is what
/// looking for work elsewhere may cost.
const MIGRATION_COST: Nanos = MILLISECOND / 2;
/// The busiest processor's load must be so many hundredths of the own.
pub const IMBALANCE: u64 = 117;
/// A busy processor looks so much less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// After more failures than that, even what is in the cache is pulled.
const PATIENCE: u32 = 1;
/// Chances out of 1024 that a processor that becomes idle looks elsewhere, at first; and attempts after which they become
/// what has succeeded.
const CHANCE: u64 = 512;
const ATTEMPTS: u64 = 1024;

/// What is known of a task.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// Its weight while it could run, averaged over time.
    pub load: Average,
    /// When it last had a processor.
    ran: Nanos,
    /// It waits for a message: who sends it is likely to wait soon.
    pub paired: bool,
}

/// What a processor knows for balancing.
#[derive(Debug, Clone, Copy)]
struct State {
    last: Option<TaskId>,
    /// Idle since then; how long it is idle on average.
    idle_since: Option<Nanos>,
    mean_idle: Nanos,
    /// When it balances next, at which interval while idle, and how often in a row it pulled nothing.
    next: Nanos,
    interval: Nanos,
    failures: u32,
    /// Pulling at this tick: so much more load or so many more tasks, from whom.
    pulling: Option<Pull>,
    /// Of the last attempts when becoming idle; the chance of the next one.
    attempts: u64,
    successes: u64,
    chance: u64,
}

#[derive(Debug, Clone, Copy)]
struct Pull {
    from: CpuId,
    amount: Amount,
    pulled: bool,
}

#[derive(Debug, Clone, Copy)]
enum Amount {
    Tasks(u32),
    Load(u64),
}

/// All processors and tasks. Unused where there is one processor.
#[derive(Debug)]
pub struct Balancer {
    pub tasks: Vec<Past>,
    states: Vec<State>,
    tick: Nanos,
    /// Whether a processor that becomes idle looks elsewhere only as often as that has paid (6.18).
    proportional: bool,
}

impl Balancer {
    pub fn new(processors: u16, tick: Nanos, proportional: bool) -> Self {
        let state = State {
            last: None,
            idle_since: None,
            mean_idle: 2 * MIGRATION_COST,
            next: 0,
            interval: u64::from(processors) * MILLISECOND,
            failures: 0,
            pulling: None,
            attempts: 0,
            successes: 0,
            chance: CHANCE,
        };
        Balancer { tasks: Vec::new(), states: vec![state; processors.into()], tick, proportional }
    }

    /// Makes room for a task.
    pub fn admit(&mut self, task: TaskId) {
        let past = Past { load: Average::default(), ran: 0, paired: false };
        self.tasks.resize(self.tasks.len().max(task as usize + 1), past);
    }

    /// A new task counts as if it had been able to run for long.
    pub fn begin(&mut self, cx: &Context<'_>, task: TaskId, weight: u64) {
        self.tasks[task as usize].load = Average::at(cx.now, weight);
    }

    /// A task can run.
    pub fn ready(&mut self, cx: &Context<'_>, task: TaskId, weight: u64) {
        let past = &mut self.tasks[task as usize];
        past.load.advance(cx.now, weight);
        past.paired = false;
    }

    /// A task sleeps, ends or moves.
    pub fn leave(&mut self, cx: &Context<'_>, task: TaskId, why: Dequeue) {
        let past = &mut self.tasks[task as usize];
        past.paired = why == Dequeue::Sleep(Wait::Pipe);
        if why != Dequeue::Migrate {
            past.load.advance(cx.now, 0);
        }
    }

    /// A processor has chosen.
    pub fn picked(&mut self, cx: &Context<'_>, cpu: CpuId, task: Option<TaskId>) {
        let state = &mut self.states[cpu as usize];
        if state.last != task
            && let Some(past) = state.last.and_then(|last| self.tasks.get_mut(last as usize))
        {
            past.ran = cx.now;
        }
        state.last = task;
        if task.is_none() {
            state.idle_since.get_or_insert(cx.now);
        } else if let Some(since) = state.idle_since.take() {
            let mean = (7 * state.mean_idle + (cx.now - since)) / 8;
            state.mean_idle = mean.min(2 * MIGRATION_COST);
        }
    }
}

impl<L: Law> Linux<L> {
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
            Balance::Idle => self.newly_idle(cx, cpu),
            Balance::Tick => self.periodic(cx, cpu),
        }
    }

    /// A processor that has nothing to run pulls a task from the one with the most.
    fn newly_idle(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
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
        let found = if looks { self.victim(cx, cpu, busiest, Amount::Tasks(1)) } else { None };
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
    fn periodic(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if self.balancer.states[cpu as usize].pulling.is_none() {
            if cx.now < self.balancer.states[cpu as usize].next {
                return None;
            }
            let imbalance = self.imbalance(cx, cpu);
            self.balancer.states[cpu as usize].pulling = imbalance;
            if imbalance.is_none() {
                self.balancer.states[cpu as usize].failures = 0;
                self.rest_until_next(cx, cpu, true);
                return None;
            }
        }
        let mut pull = self.balancer.states[cpu as usize].pulling?;
        let found = self.victim(cx, cpu, pull.from, pull.amount);
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
    fn imbalance(&self, cx: &Context<'_>, cpu: CpuId) -> Option<Pull> {
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
    fn victim(&self, cx: &Context<'_>, cpu: CpuId, from: CpuId, amount: Amount) -> Option<(TaskId, u64)> {
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

    /// Tasks of a processor that wait for it, those first that waited least lately; groups held back left out.
    pub fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = EntityId> + '_ {
        let processors = self.cpus.len();
        let queues = self.tree.queues.iter().skip(cpu.into()).step_by(processors);
        queues.flat_map(|queue| queue.line.entities()).filter(|&entity| {
            self.tree.is_task(entity)
                && !L::sleeps(&self.tree.entities[entity as usize].claim)
                && !(self.tree.pools.exist() && self.tree.held_back(entity))
        })
    }
}
