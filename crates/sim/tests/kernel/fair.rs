//! A policy for tests only that uses every feature of the trait: virtual time by nice weights and group weights, ticks,
//! slices, wakeup preemption, timers for the quota of groups, a choice of processor, and pulling when idle and at ticks.

use schedlab_model::{
    MILLISECOND, Nanos,
    info::{Info, Params},
    task::{Class, CpuId, GroupId, Task, TaskId},
    topology::Topology,
};
use schedlab_policies::schedulers::{Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler};

/// Longest turn while others wait, counted by ticks.
const TURN: Nanos = 10 * MILLISECOND;
/// A woken task must be so far behind the running one to take its processor.
const GRANULARITY: Nanos = MILLISECOND;

#[derive(Debug, Default, Clone)]
struct Entity {
    vruntime: Nanos,
    weight: u64,
}

#[derive(Debug, Default, Clone)]
struct Queue {
    waiting: Vec<TaskId>,
    running: Option<TaskId>,
    picked: Nanos,
    /// Weights of all tasks here, by group.
    load: Vec<u64>,
}

/// What a group with a quota has used in the present period.
#[derive(Debug, Default, Clone)]
struct Budget {
    used: Nanos,
    period_end: Nanos,
}

#[derive(Debug)]
pub struct Fair {
    tasks: Vec<Entity>,
    queues: Vec<Queue>,
    budgets: Vec<Budget>,
}

/// A fifth more for every nice level less.
fn weight(nice: i8) -> u64 {
    (1024.0 * 1.25f64.powi(-i32::from(nice))) as u64
}

impl Fair {
    fn vruntime(&self, task: TaskId) -> Nanos {
        self.tasks[task as usize].vruntime
    }

    /// The least virtual time on a processor.
    fn floor(&self, cpu: CpuId) -> Nanos {
        let queue = &self.queues[cpu as usize];
        queue.waiting.iter().chain(&queue.running).map(|&task| self.vruntime(task)).min().unwrap_or(0)
    }

    fn load(&mut self, cpu: CpuId, group: GroupId) -> &mut u64 {
        let load = &mut self.queues[cpu as usize].load;
        load.resize(load.len().max(group as usize + 1), 0);
        &mut load[group as usize]
    }

    fn crowd(&self, cpu: CpuId) -> usize {
        let queue = &self.queues[cpu as usize];
        queue.waiting.len() + usize::from(queue.running.is_some())
    }

    /// What a task's group may still use: nothing means that it waits for its timer.
    fn allowance(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) -> Option<Nanos> {
        let group = cx.tasks[task as usize].group;
        let (quota, period) = cx.groups[group as usize].quota?;
        self.budgets.resize(self.budgets.len().max(cx.groups.len()), Budget::default());
        let budget = &mut self.budgets[group as usize];
        if budget.period_end <= cx.now {
            *budget = Budget { used: 0, period_end: (cx.now / period + 1) * period };
        }
        let left = quota.saturating_sub(budget.used);
        if left == 0 {
            cx.set_timer(budget.period_end, cpu, group.into());
        }
        Some(left)
    }
}

impl Scheduler for Fair {
    const INFO: Info = Info {
        name: "fair",
        summary: "for tests",
        year: 2007,
        origin: "these tests",
        promises: &[],
        parameters: &[],
        source: include_str!("fair.rs"),
    };
    const FEATURES: Features = Features { ticks: true, charges_at_wakeups: true, ..Features::NONE };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Fair { tasks: Vec::new(), queues: vec![Queue::default(); processors.into()], budgets: Vec::new() }
    }

    /// The emptiest processor.
    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        let allowed = &cx.view.tasks[task as usize].allowed;
        let all = 0..self.queues.len() as CpuId;
        all.filter(|&cpu| allowed.has(cpu)).min_by_key(|&cpu| self.crowd(cpu)).expect("some processor")
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let index = task as usize;
        self.tasks.resize(self.tasks.len().max(index + 1), Entity::default());
        let floor = self.floor(cpu);
        let entity = &mut self.tasks[index];
        match why {
            Enqueue::New | Enqueue::Wakeup => entity.vruntime = entity.vruntime.max(floor.saturating_sub(TURN)),
            Enqueue::Migrate => entity.vruntime += floor,
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => self.queues[cpu as usize].running = None,
        }
        if matches!(why, Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate) {
            let weight = weight(cx.tasks[index].nice);
            self.tasks[index].weight = weight;
            *self.load(cpu, cx.tasks[index].group) += weight;
        }
        self.queues[cpu as usize].waiting.push(task);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        *self.load(cpu, cx.tasks[task as usize].group) -= self.tasks[task as usize].weight;
        let queue = &mut self.queues[cpu as usize];
        match why {
            Dequeue::Sleep(_) | Dequeue::Exit => queue.running = None,
            Dequeue::Migrate => {
                queue.waiting.retain(|other| *other != task);
                let floor = self.floor(cpu);
                let entity = &mut self.tasks[task as usize];
                entity.vruntime = entity.vruntime.saturating_sub(floor);
            }
        }
    }

    /// Kernel tasks first; else the least virtual time among those whose group has something left.
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let mut order = self.queues[cpu as usize].waiting.clone();
        order.sort_by_key(|&task| (cx.tasks[task as usize].class, self.vruntime(task), task));
        for task in order {
            let slice = self.allowance(cx, cpu, task);
            if slice == Some(0) {
                continue;
            }
            let queue = &mut self.queues[cpu as usize];
            queue.waiting.retain(|other| *other != task);
            (queue.running, queue.picked) = (Some(task), cx.now);
            return Some(Pick { task, slice });
        }
        None
    }

    /// Time goes by more slowly the heavier the task, and the lighter the rest of its group.
    fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        let group = cx.tasks[task as usize].group;
        let load = u128::from(*self.load(cpu, group));
        let shares = u128::from(cx.groups[group as usize].weight);
        let entity = &mut self.tasks[task as usize];
        entity.vruntime += (u128::from(ran) * 1024 * load / (u128::from(entity.weight) * shares)) as Nanos;
        if let Some(budget) = self.budgets.get_mut(group as usize) {
            budget.used += ran;
        }
    }

    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let class = |task: TaskId| cx.tasks[task as usize].class;
        if class(woken) != Class::User {
            return (class(woken) < class(running)).into();
        }
        (class(running) == Class::User && self.vruntime(woken) + GRANULARITY < self.vruntime(running)).into()
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let queue = &self.queues[cpu as usize];
        if queue.running.is_some() && !queue.waiting.is_empty() && cx.now - queue.picked >= TURN {
            cx.resched(cpu);
        }
    }

    /// A running task counts in another group, or weighs more or less.
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        if cx.processors[cpu as usize].running == Some(task) {
            let after = &cx.tasks[task as usize];
            let old = std::mem::replace(&mut self.tasks[task as usize].weight, weight(after.nice));
            *self.load(cpu, before.group) -= old;
            *self.load(cpu, after.group) += weight(after.nice);
        }
    }

    /// A new period of a group's quota begins.
    fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, group: u32) {
        let (_, period) = cx.groups[group as usize].quota.expect("only groups with a quota have timers");
        assert!(cx.now.is_multiple_of(period), "the timer of group {group} expires at {}", cx.now);
        cx.resched(cpu);
    }

    /// An idle processor pulls what waits longest elsewhere; at ticks, a processor that has two tasks less.
    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        let less = if why == Balance::Idle { 0 } else { 2 };
        let others = (0..self.queues.len() as CpuId).filter(|&other| other != cpu);
        let busiest = others.max_by_key(|&other| self.crowd(other))?;
        if self.crowd(busiest) < self.crowd(cpu) + less {
            return None;
        }
        let may = |task: &&TaskId| cx.tasks[**task as usize].allowed.has(cpu);
        self.queues[busiest as usize].waiting.iter().find(may).copied()
    }
}
