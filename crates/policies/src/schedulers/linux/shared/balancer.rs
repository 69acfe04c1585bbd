//! What balancing knows of processors and tasks.

use super::domains::Domains;
use crate::schedulers::{
    Dequeue,
    kit::queue::{Links, List},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    task::{CpuId, TaskId, Wait},
    topology::Topology,
};

/// A task that ran this recently has its data in the processor's cache (sysctl_sched_migration_cost).
pub const MIGRATION_COST: Nanos = MILLISECOND / 2;
/// The longest idle time that counts in the mean (2 * max_idle_balance_cost).
const LONGEST_IDLE: Nanos = 2 * MIGRATION_COST;
/// Chances out of 1024 that a processor that becomes idle looks elsewhere, at first; and after how many attempts they become what
/// has succeeded, of which half is forgotten then.
const CHANCE: u64 = 512;
pub const ATTEMPTS: u64 = 1024;

/// Once a second, what looking has cost is lowered to this many parts of 256.
const LOWERED: Nanos = 253;

/// When a processor that becomes idle looks for work elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NewIdle {
    /// If it is idle for longer on average than looking takes (6.1 to 6.16).
    Affordable,
    /// As before, and failures make looking dearer (6.17).
    Dearer,
    /// As often as that has paid, by chance (6.18).
    Proportional,
}

/// In what versions of the kernel differ.
#[derive(Debug, Clone, Copy)]
pub struct Version {
    pub newidle: NewIdle,
    /// Of several groups of processors that are just busy, the first is taken (6.1) or the last.
    pub first_busy: bool,
    /// Where all tasks that were tried are bound, the search goes on beyond the limit (6.1).
    pub all_pinned: bool,
    /// Groups of threads are compared by their cores (6.12).
    pub by_cores: bool,
}

/// What is known of a task.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// When it last had a processor; 0 if it has not run since it moved.
    pub ran: Nanos,
    /// It waits for a message: the sender is likely to wait soon.
    pub paired: bool,
}

/// What a processor knows for balancing.
#[derive(Debug, Clone)]
pub struct State {
    pub last: Option<TaskId>,
    /// Looked for work in vain since then; how long it is idle on average.
    pub idle_since: Option<Nanos>,
    pub mean_idle: Nanos,
    /// Pulling at this tick.
    pub pulling: Option<Pull>,
    /// Of each of its domains.
    pub levels: Vec<Level>,
}

/// What a processor knows of one of its domains.
#[derive(Debug, Clone, Copy)]
pub struct Level {
    /// When it balanced last, at which interval it does while idle, and how often in a row it pulled nothing.
    pub balanced: Nanos,
    pub interval: Nanos,
    pub failures: u32,
    /// The most that looking for work when becoming idle has cost (max_newidle_lb_cost), and when that was last lowered.
    pub cost: Nanos,
    pub lowered: Nanos,
    /// Of the last attempts when becoming idle; the chance of the next one.
    pub attempts: u64,
    pub successes: u64,
    pub chance: u64,
}

impl Level {
    /// Once a second, what looking has cost is lowered.
    pub fn forget_cost(&mut self, now: Nanos) {
        while now - self.lowered > SECOND && self.cost > 0 {
            self.cost = self.cost * LOWERED / 256;
            self.lowered = self.lowered.max(now.saturating_sub(2 * SECOND)) + SECOND;
        }
    }

    /// Of a domain of that number of processors.
    fn new(weight: u64) -> Level {
        Level {
            balanced: 0,
            interval: weight * MILLISECOND,
            failures: 0,
            cost: 0,
            lowered: 0,
            attempts: ATTEMPTS / 2,
            successes: ATTEMPTS / 4,
            chance: CHANCE,
        }
    }
}

/// What a processor pulls.
#[derive(Debug, Clone, Copy)]
pub struct Pull {
    /// The domain in which it looks, and whether it is idle.
    pub level: usize,
    pub idle: bool,
    /// From where, and how much more.
    pub from: Option<(CpuId, Amount)>,
    /// Tasks looked at there.
    pub looked: u32,
    /// Something was pulled.
    pub pulled: bool,
    /// All, or some, that was looked at is bound to other processors.
    pub all_pinned: bool,
    pub some_pinned: bool,
    /// Processors not to pull from, a bit each.
    pub excluded: u64,
}

impl Pull {
    pub fn begin(level: usize, idle: bool) -> Self {
        Pull { level, idle, from: None, looked: 0, pulled: false, all_pinned: false, some_pinned: false, excluded: 0 }
    }
}

/// An imbalance (env.migration_type, env.imbalance).
#[derive(Debug, Clone, Copy)]
pub enum Amount {
    Tasks(u64),
    Util(u64),
    Load(u64),
}

impl Amount {
    pub fn is_nothing(self) -> bool {
        matches!(self, Amount::Tasks(0) | Amount::Util(0) | Amount::Load(0))
    }
}

/// All processors and tasks. Unused where there is one processor.
#[derive(Debug)]
pub struct Balancer {
    pub tasks: Vec<Past>,
    pub states: Vec<State>,
    pub tick: Nanos,
    pub version: Version,
    pub domains: Domains,
    /// Some processor may have more than one task (root_domain.overloaded).
    pub overloaded: bool,
    /// For each processor its fair tasks, the one first that came or was chosen last (cfs_tasks).
    lists: Vec<List>,
    links: Links,
}

impl Balancer {
    pub fn new(topology: &Topology, tick: Nanos, version: Version) -> Self {
        let (domains, processors) = (Domains::new(topology), usize::from(topology.processors()));
        let state = |levels| State { last: None, idle_since: None, mean_idle: LONGEST_IDLE, pulling: None, levels };
        let chains = domains.chains.iter();
        let levels = chains.map(|chain| chain.iter().map(|domain| Level::new(domain.weight())).collect());
        Balancer {
            tasks: Vec::new(),
            states: levels.map(state).collect(),
            tick,
            version,
            domains,
            overloaded: false,
            lists: vec![List::default(); processors],
            links: Links::default(),
        }
    }

    /// Makes room for a task.
    pub fn admit(&mut self, task: TaskId) {
        let past = Past { ran: 0, paired: false };
        self.tasks.resize(self.tasks.len().max(task as usize + 1), past);
    }

    /// A fair task can run on a processor.
    pub fn ready(&mut self, cpu: CpuId, task: TaskId) {
        self.tasks[task as usize].paired = false;
        self.put_first(cpu, task);
    }

    /// A fair task sleeps, ends or moves.
    pub fn leave(&mut self, cpu: CpuId, task: TaskId, why: Dequeue) {
        let past = &mut self.tasks[task as usize];
        past.paired = why == Dequeue::Sleep(Wait::Pipe);
        if why == Dequeue::Migrate {
            past.ran = 0;
        }
        self.unlist(cpu, task);
    }

    /// A task was woken on a processor, which may have been idle.
    pub fn woken(&mut self, now: Nanos, cpu: CpuId) {
        let state = &mut self.states[cpu as usize];
        if let Some(since) = state.idle_since.take() {
            let (mean, idle) = (state.mean_idle as i64, (now - since) as i64);
            state.mean_idle = ((mean + (idle - mean) / 8) as Nanos).min(LONGEST_IDLE);
        }
    }

    /// A processor has chosen another task than before.
    pub fn picked(&mut self, now: Nanos, cpu: CpuId, task: Option<TaskId>, fair: bool) {
        if let Some(last) = std::mem::replace(&mut self.states[cpu as usize].last, task) {
            self.tasks[last as usize].ran = now;
        }
        if let Some(task) = task.filter(|task| fair && self.lists[cpu as usize].head() != Some(*task)) {
            self.unlist(cpu, task);
            self.put_first(cpu, task);
        }
    }

    /// A fair task goes to the head of its processor's list, in which it is not.
    pub fn put_first(&mut self, cpu: CpuId, task: TaskId) {
        self.lists[cpu as usize].push_head(&mut self.links, task);
    }

    /// It leaves the list.
    pub fn unlist(&mut self, cpu: CpuId, task: TaskId) {
        self.lists[cpu as usize].remove(&mut self.links, task);
    }

    /// The fair tasks of a processor, the one first that came or was chosen least recently.
    pub fn oldest_first(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let list = self.lists[cpu as usize];
        std::iter::successors(list.tail(), move |&task| list.before(&self.links, task))
    }

    /// The fair task of a processor that came or was chosen least recently.
    pub fn oldest(&self, cpu: CpuId) -> Option<TaskId> {
        self.lists[cpu as usize].tail()
    }
}
