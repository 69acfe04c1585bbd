//! What balancing knows of processors and tasks.

pub use super::kernel::Kernel;
use super::{domains::Domains, past::Past};
use crate::schedulers::{
    Dequeue,
    kit::queue::{Links, List},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    processors::CpuSet,
    task::{CpuId, Task, TaskId, Wait},
    topology::Topology,
};

/// A task that ran this recently has its data in the processor's cache (sysctl_sched_migration_cost).
pub const MIGRATION_COST: Nanos = MILLISECOND / 2;
/// Chances out of 1024 that a processor that becomes idle looks elsewhere, at first; and after how many attempts they become what
/// has succeeded, of which half is forgotten then.
const CHANCE: u64 = 512;
pub const ATTEMPTS: u64 = 1024;

/// A processor that has no domain to look at looks again after that time (60 * HZ).
pub const LONGEST_REST: Nanos = 60 * SECOND;
/// Once a second, what looking has cost is lowered to this many parts of 256.
const LOWERED: Nanos = 253;

/// How an attempt to pull ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Moved,
    /// There was something to pull, but nothing that may move.
    Failed,
    /// As before, and the stopper was asked to move a task, running or not: whether one goes, and whether that was asked for another
    /// reason than failures.
    Begun {
        goes: bool,
        needs_it: bool,
    },
    /// As before, but the stopper works for another one.
    Asked,
    /// As before, but the running task may not come here; whether others were looked at.
    OnePinned {
        among_others: bool,
    },
    Balanced,
    AllPinned,
}

/// What a processor knows for balancing.
#[derive(Debug, Clone)]
pub struct State {
    pub last: Option<TaskId>,
    /// Looked for work in vain since then; how long it is idle on average.
    pub idle_since: Option<Nanos>,
    pub mean_idle: Nanos,
    /// The most that looking for work in all its domains has cost when it became idle, but at least what is always granted
    /// (max_idle_balance_cost).
    pub longest_cost: Nanos,
    /// Before that time it does not look at its domains at a tick (rq->next_balance).
    pub next_balance: Nanos,
    /// A busy processor has asked it, while it is idle, to look at them (NOHZ_BALANCE_KICK); and it does so now.
    pub asked: bool,
    pub answers: bool,
    /// Pulling at this tick.
    pub pulling: Option<Pull>,
    /// What the fair tasks that can run here are likely to need.
    pub util_est: u64,
    /// When its stopper was last asked to move a task (active_balance).
    pub stopped: Option<Nanos>,
    /// The load of the running task if it needs more than this processor can do, and another could (misfit_task_load).
    pub misfit: u64,
    /// What looking for an idle processor has cost on average (avg_scan_cost).
    pub scan_cost: Nanos,
    /// Of each of its domains.
    pub levels: Vec<Level>,
}

/// What the processors of a last-level cache know in common (sched_domain_shared).
#[derive(Debug, Clone, Copy)]
pub struct Shared {
    /// At how many processors a woken task looks (nr_idle_scan).
    pub idle_scan: u64,
    /// There may be a core whose threads are all idle (has_idle_cores).
    pub idle_cores: bool,
}

/// What idle processors have in common (nohz).
#[derive(Debug, Clone, Copy, Default)]
pub struct Nohz {
    /// Before that time no busy processor asks them to look at their domains (next_balance).
    pub next_balance: Nanos,
    /// One has become idle since that time was worked out (needs_update).
    pub needs_update: bool,
    /// The one that works for all that were asked, and the earliest time of those that have looked since.
    pub ilb: CpuId,
    pub earliest: Nanos,
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
    /// Once a second, what looking has cost is lowered; whether it was.
    pub fn forget_cost(&mut self, now: Nanos) -> bool {
        let before = self.lowered;
        while now - self.lowered > SECOND && self.cost > 0 {
            self.cost = self.cost * LOWERED / 256;
            self.lowered = self.lowered.max(now.saturating_sub(2 * SECOND)) + SECOND;
        }
        self.lowered > before
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
#[derive(Debug, Clone)]
pub struct Pull {
    /// The domain in which it looks, whether it is idle, and has just become so.
    pub level: usize,
    pub idle: bool,
    pub newly: bool,
    /// From where, and how much more.
    pub from: Option<(CpuId, Amount)>,
    /// Tasks looked at there.
    pub looked: u32,
    /// The limit of its tasks that are examined (loop_max).
    pub most: u32,
    /// Something was pulled.
    pub pulled: bool,
    /// A processor of the own group that a task may use which may not come here (new_dst_cpu).
    pub noted: Option<CpuId>,
    /// When the domains seen so far are to be looked at again.
    pub next: Nanos,
    /// All, or some, that was looked at is bound to other processors.
    pub all_pinned: bool,
    pub some_pinned: bool,
    /// Processors not to pull from.
    pub excluded: CpuSet,
}

impl Pull {
    pub fn begin(level: usize, idle: bool, newly: bool) -> Self {
        Pull {
            level,
            idle,
            newly,
            from: None,
            looked: 0,
            most: 0,
            pulled: false,
            noted: None,
            next: Nanos::MAX,
            all_pinned: false,
            some_pinned: false,
            excluded: CpuSet::none(),
        }
    }
}

/// An imbalance (env.migration_type, env.imbalance).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    Tasks(u64),
    Util(u64),
    Load(u64),
    /// A task that needs more than its processor can do.
    Misfit(u64),
}

impl Amount {
    pub fn is_nothing(self) -> bool {
        matches!(self, Amount::Tasks(0) | Amount::Util(0) | Amount::Load(0) | Amount::Misfit(0))
    }
}

/// All processors and tasks. Unused where there is one processor.
#[derive(Debug)]
pub struct Balancer {
    pub tasks: Vec<Past>,
    pub states: Vec<State>,
    pub tick: Nanos,
    pub kernel: Kernel,
    pub domains: Domains,
    /// How long a hypervisor polls for one of them that has halted.
    pub halt_poll: Option<Nanos>,
    /// What looking for work costs at least when one becomes idle.
    pub newidle_cost: Nanos,
    /// Of each cache, by its first processor.
    pub shared: Vec<Shared>,
    pub nohz: Nohz,
    /// Some processor may have more than one task (root_domain.overloaded).
    pub overloaded: bool,
    /// For each processor its fair tasks, the one first that came or was chosen last (cfs_tasks).
    lists: Vec<List>,
    links: Links,
}

impl Balancer {
    pub fn new(topology: &Topology, tick: Nanos, kernel: Kernel) -> Self {
        let (domains, processors) = (Domains::new(topology, kernel), usize::from(topology.processors()));
        let state = |levels| State {
            last: None,
            idle_since: None,
            mean_idle: 2 * MIGRATION_COST,
            longest_cost: MIGRATION_COST,
            next_balance: 0,
            asked: false,
            answers: false,
            pulling: None,
            util_est: 0,
            stopped: None,
            misfit: 0,
            scan_cost: 0,
            levels,
        };
        // As an idle machine has them.
        let shared = |cache: &CpuSet| Shared { idle_scan: cache.count().into(), idle_cores: true };
        let chains = domains.chains.iter();
        let levels = chains.map(|chain| chain.iter().map(|domain| Level::new(domain.weight())).collect());
        Balancer {
            tasks: Vec::new(),
            states: levels.map(state).collect(),
            tick,
            kernel,
            shared: domains.caches.iter().map(shared).collect(),
            domains,
            halt_poll: topology.halt_poll(),
            newidle_cost: topology.newidle_cost(),
            nohz: Nohz::default(),
            overloaded: false,
            lists: vec![List::default(); processors],
            links: Links::default(),
        }
    }

    /// Whether a time that was noted at a tick has come: ticks may be a little early.
    pub fn has_come(&self, now: Nanos, time: Nanos) -> bool {
        now + self.tick / 2 >= time
    }

    /// Makes room for a task, and for those before it.
    pub fn admit(&mut self, tasks: &[Task], task: TaskId) {
        for task in tasks.iter().take(task as usize + 1).skip(self.tasks.len()) {
            let past = match task.parent {
                Some(parent) => Past::of_child(task, &self.tasks[parent as usize]),
                None => Past::new(task),
            };
            self.tasks.push(past);
        }
    }

    /// A fair task can run on a processor.
    pub fn ready(&mut self, cpu: CpuId, task: TaskId) {
        self.tasks[task as usize].paired = false;
        self.util_est_enqueue(cpu, task);
        self.put_first(cpu, task);
    }

    /// A fair task sleeps, ends or moves.
    pub fn leave(&mut self, cpu: CpuId, task: TaskId, why: Dequeue) {
        let past = &mut self.tasks[task as usize];
        past.paired = why == Dequeue::Sleep(Wait::Pipe);
        if why == Dequeue::Migrate {
            past.ran = 0;
        }
        self.util_est_dequeue(cpu, task);
        self.unlist(cpu, task);
    }

    /// A task was woken on a processor, which may have been idle.
    pub fn woken(&mut self, now: Nanos, cpu: CpuId) {
        let state = &mut self.states[cpu as usize];
        if let Some(since) = state.idle_since.take() {
            let (mean, idle) = (state.mean_idle as i64, (now - since) as i64);
            state.mean_idle = ((mean + (idle - mean) / 8) as Nanos).min(2 * state.longest_cost);
        }
    }

    /// Whether a virtual processor has been idle for longer than its hypervisor polls for it.
    #[inline]
    pub fn has_halted(&self, now: Nanos, cpu: CpuId) -> bool {
        let idle = || now - self.states[usize::from(cpu)].idle_since.unwrap_or(0);
        self.halt_poll.is_some_and(|poll| idle() > poll)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// 253 / 256 of 1000 ns are 988, and of these 976.
    #[test]
    fn what_looking_has_cost_is_lowered_once_a_second() {
        let mut level = Level::new(2);
        level.cost = 1000;
        assert!(!level.forget_cost(SECOND));
        assert!(level.forget_cost(SECOND + 1));
        assert_eq!(level.cost, 988);
        assert!(!level.forget_cost(2 * SECOND));
        assert!(level.forget_cost(100 * SECOND));
        assert_eq!(level.cost, 976, "once, however long nothing has looked");
    }

    /// An eighth of what a time is longer than the mean so far, up to twice the longest look.
    #[test]
    fn idle_times_count_up_to_twice_the_longest_look() {
        let mut balancer = Balancer::new(&Topology::uniform(2), 4 * MILLISECOND, Kernel::V6_1);
        let mut woken = |longest: Nanos, idle: Nanos| {
            (balancer.states[0].longest_cost, balancer.states[0].idle_since) = (longest, Some(0));
            balancer.woken(idle, 0);
            balancer.states[0].mean_idle
        };
        assert_eq!(woken(MIGRATION_COST, MILLISECOND / 5), MILLISECOND * 9 / 10);
        assert_eq!(woken(MIGRATION_COST, 100 * MILLISECOND), 2 * MIGRATION_COST);
        assert_eq!(woken(MILLISECOND, 100 * MILLISECOND), 2 * MILLISECOND);
    }
}
