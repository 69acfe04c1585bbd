//! What balancing knows of processors and tasks.

use super::pelt::Average;
use crate::schedulers::{Context, Dequeue};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId, Wait},
};

/// A task that ran this recently has its data in the processor's cache (sysctl_sched_migration_cost); as long as that is what
/// looking for work elsewhere may cost.
pub const MIGRATION_COST: Nanos = MILLISECOND / 2;
/// Chances out of 1024 that a processor that becomes idle looks elsewhere, at first; after as many attempts they become
/// what has succeeded.
const CHANCE: u64 = 512;

/// What is known of a task.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// Its weight while it could run, averaged over time.
    pub load: Average,
    /// When it last had a processor.
    pub ran: Nanos,
    /// It waits for a message: the sender is likely to wait soon.
    pub paired: bool,
}

/// What a processor knows for balancing.
#[derive(Debug, Clone, Copy)]
pub struct State {
    pub last: Option<TaskId>,
    /// Idle since then; how long it is idle on average.
    pub idle_since: Option<Nanos>,
    pub mean_idle: Nanos,
    /// When it balances next, at which interval while idle, and how often in a row it pulled nothing.
    pub next: Nanos,
    pub interval: Nanos,
    pub failures: u32,
    /// Pulling at this tick: how much more load or how many more tasks, and from which processor.
    pub pulling: Option<Pull>,
    /// Of the last attempts when becoming idle; the chance of the next one.
    pub attempts: u64,
    pub successes: u64,
    pub chance: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Pull {
    pub from: CpuId,
    pub amount: Amount,
    pub pulled: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Tasks(u32),
    Load(u64),
}

/// All processors and tasks. Unused where there is one processor.
#[derive(Debug)]
pub struct Balancer {
    pub tasks: Vec<Past>,
    pub states: Vec<State>,
    pub tick: Nanos,
    /// Whether a processor that becomes idle looks elsewhere only as often as that has paid (6.18).
    pub proportional: bool,
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
