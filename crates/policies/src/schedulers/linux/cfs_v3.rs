//! # cfs_v3
//!
//! Promises every task its share by weight, measured in waiting time: CFS as it was in spring 2007, before vruntime, when
//! a task's credit was the time it had waited.
//!
//! Long, because it has two releases of one rule, and their page.
//!
//! ## The idea
//!
//!     A fair clock runs at the speed of a task of weight 1024 that has its fair share: fast with one ready task, slowly
//!     with many.
//!     A waiting task is credited the share that it would have had; a running one is debited what it uses beyond its
//!     share. The balance is its wait_runtime, held between -limit and +limit.
//!     The task with the greatest credit runs first: tasks are queued in order of a key, the fair clock less the
//!     wait_runtime by weight. The key is set when a task is queued, and for the running task at every tick.
//!     At a tick, the first task preempts the running one if the running one's key is greater by more than the granularity.
//!     A sleeper is credited as well, as if it had waited; the tasks that run are debited for it later.
//!
//! ## The formula
//!
//!     F' = d 1024 / L        r' = d (w / L) - d        running for d
//!     r' = F' w / 1024                                 waiting, or asleep (2.6.23: times L / (L + w))
//!     k  = F - r 1024 / w
//!
//! F fair clock, d processor time, L sum of the weights that are ready here, r wait_runtime of a task, w its weight, k its
//! key. Over time, shares are w / L.
//!
//! ## A schedule
//!
//! Nice 0 with nice 5, weights 1024 and 335, and a task that wakes once, as 2.6.23 has it:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "1000/s" } }
//! scheduler = { name = "cfs_v3", variant = "2.6.23" }
//! workload.a = { load = "spin", compute = "30ms" }
//! workload.b = { load = "spin", compute = "12ms", nice = 5 }
//! workload.c = { steps = [{ compute = "2ms" }, { sleep = "12ms" }, { compute = "4ms" }] }
//! ```
//!
//! ```text
//!         0ms       10ms      20ms      30ms      40ms
//!         |         |         |         |         |
//! a#0     #...######.###.#...##..###.####..######..####
//! b#1     .#........#...#......#....#....##......##....###
//! c#2     ..##            ###...#
//! idle 0
//!         a column is 1ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the number of tasks.
//!
//! ## Good for, not for
//!
//! Shares without tuning, and quick wakeups for tasks that sleep. The limit truncates: the part of a credit or a debit
//! beyond it is lost, so that many sleepers among many hogs get less than their share. Even equal tasks can: at 60 ticks a
//! second, four hogs of nice 12 and a task of nice 0 that wants half of the processor, the hogs get 15.0, 15.1, 8.4 and 8.4 %.
//!
//! ## Departures
//!
//! - Neither a source nor a description of v3 itself is known. `variant = "v3"` is the algorithm of 2.6.23-rc2 with the
//!   differences that the release notes of v1 to v6 describe: one granularity for wakeups and ticks, not scaled by the
//!   number of processors, and credit for sleep without regard to load. Its default granularity is unknown; 2 ms is that
//!   of the documentation of 2.6.23.
//! - The weights are those of 2.6.24; the ones of April 2007 differ by less than 3 %.
//! - The kernel corrects the credit for sleep by a smoothed load; here it is the load of the moment.
//! - On several processors tasks are placed and balanced by the rules of 2.6.20, as under o1 and with the departures listed there, by the
//!   weights of the fair clock; others take the tasks that are owed most first.
//! - SCHED_ISO and SCHED_DEADLINE did not exist: such tasks are ordinary ones.
//!
//! ## References
//!
//! - I. Molnar, Completely Fair Scheduler v1 to v6, release notes, linux-kernel, 13 to 25 April 2007.
//! - Linux 2.6.23-rc2: kernel/sched_fair.c (`__update_curr`, `update_stats_wait_end`, `enqueue_sleeper`, `entity_tick`,
//!   `check_preempt_curr_fair`, `task_new_fair`), kernel/sched_rt.c.
//!
//! Long, because the page and the rule belong in one file.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks,
    kit::{ordered::Ordered, priority_array::PriorityArray, queue::Links},
    linux::{
        domain::{self, Domains, Share},
        shared::nice_weights,
    },
};
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Policy, Task, TaskId},
    topology::Topology,
};

mod balancing;

/// Weight of nice 0.
const NICE_0: i64 = nice_weights::NICE_0 as i64;
/// Real-time priorities.
const REAL_TIME: usize = 99;
/// Slice of SCHED_RR (`DEF_TIMESLICE`).
const RR_SLICE: Nanos = 100 * MILLISECOND;
/// A woken SCHED_BATCH task must be further ahead than others by this factor, in 2.6.23 (10 and 1 ms at 1000 Hz).
const BATCH: i64 = 10;

/// What the policy remembers of a task. Times in ns.
#[derive(Debug, Clone, Copy, Default)]
struct Entity {
    /// 0: the task is unknown.
    weight: i64,
    /// Its place among real-time tasks, if it is one; 0 is the best.
    priority: Option<usize>,
    batch: bool,
    /// wait_runtime: its credit; negative if it is a debit.
    owed: i64,
    /// What it is queued by.
    key: i64,
    /// The fair clock of its processor when it began to wait or to sleep.
    since: i64,
    cpu: CpuId,
    /// When it last ran, where there are several processors, or fell asleep, and whether the task that wakes it is about to leave its processor.
    last_ran: Nanos,
    sync: bool,
    /// Its parent has just forked it and is to let it run first.
    forked: bool,
    /// Ticks left of a SCHED_RR slice.
    ticks: u64,
}

/// The runqueue of a processor, without its order.
#[derive(Debug, Default)]
struct Queue {
    urgent: PriorityArray<REAL_TIME>,
    /// The fair clock, ns.
    clock: i64,
    /// Sum of the weights of the ordinary tasks here, running or ready.
    load: i64,
    /// Credit for sleep that has not been debited to other tasks yet, ns.
    bonus: i64,
    /// Time that the running ordinary task has not been debited yet, ns.
    ran: i64,
    share: Share,
}

/// wait_runtime CFS.
#[derive(Debug)]
pub struct CfsV3 {
    /// Preemption at ticks, at wakeups, and at wakeups of SCHED_BATCH, ns.
    granularity: i64,
    wakeup: i64,
    batch_wakeup: i64,
    limit: i64,
    /// Credit for sleep is corrected by the load.
    corrects: bool,
    rr_ticks: u64,
    links: Links,
    queues: Vec<Queue>,
    domains: Domains,
    /// Ordinary tasks that wait; the running one is not among them.
    ready: Ordered<i64>,
    entities: Vec<Entity>,
}

impl Entity {
    /// What follows from the record of its task.
    fn read(&mut self, task: &Task) {
        let real_time = matches!(task.policy, Policy::Fifo | Policy::Rr);
        let weight = if task.policy == Policy::Idle { nice_weights::IDLE } else { nice_weights::weight(task.nice) };
        self.weight = weight as i64;
        self.priority = real_time.then(|| REAL_TIME - usize::from(task.priority.max(1)));
        self.batch = task.policy == Policy::Batch;
    }

    /// Adds to its credit, within the limit; returns what was added.
    #[inline]
    fn earn(&mut self, amount: i64, limit: i64) -> i64 {
        let before = self.owed;
        self.owed = (before + amount).clamp(-limit, limit);
        self.owed - before
    }

    /// Sets the key by its present credit.
    #[inline]
    fn stand(&mut self, clock: i64) {
        let owed = if self.weight == NICE_0 { self.owed } else { self.owed * NICE_0 / self.weight };
        self.key = clock - owed;
    }

    /// How far another must be ahead of it to preempt it: less, the less it weighs, next to nothing if it weighs more.
    #[inline]
    fn finer(&self, granularity: i64) -> i64 {
        if self.weight > NICE_0 { granularity / self.weight } else { granularity * self.weight / NICE_0 }
    }
}

impl CfsV3 {
    /// The running task is debited its time since the last debit, and the fair clock advances.
    #[inline]
    fn update(&mut self, cx: &Context<'_>, cpu: CpuId) {
        let queue = &mut self.queues[cpu as usize];
        let ran = std::mem::take(&mut queue.ran);
        let Some(running) = cx.processors[cpu as usize].running.filter(|_| ran > 0) else { return };
        let entity = &mut self.entities[running as usize];
        let passed = ran * NICE_0 / queue.load;
        queue.clock += passed;
        let mut fair = if entity.weight == NICE_0 { passed } else { ran * entity.weight / queue.load };
        if queue.bonus > self.granularity {
            let paid = queue.bonus * entity.weight / queue.load;
            queue.bonus -= paid;
            fair -= paid;
        }
        entity.earn(fair - ran, self.limit);
    }

    /// A task that waited until now is credited that time.
    #[inline]
    fn end_wait(&mut self, cpu: CpuId, task: TaskId) {
        let entity = &mut self.entities[task as usize];
        let waited = (self.queues[cpu as usize].clock - entity.since).min(2 * self.limit);
        entity.earn(waited * entity.weight / NICE_0, self.limit);
    }

    /// Credit for the sleep of a woken task; the fair clock of its old processor has advanced meanwhile.
    fn reward_sleep(&mut self, cpu: CpuId, task: TaskId) {
        let entity = &mut self.entities[task as usize];
        let slept = (self.queues[entity.cpu as usize].clock - entity.since).min(2 * self.limit);
        let queue = &mut self.queues[cpu as usize];
        let credit = if self.corrects { slept * queue.load / (queue.load + entity.weight) } else { slept };
        queue.bonus += entity.earn(credit * entity.weight / NICE_0, self.limit);
    }

    /// A task of which nothing is known yet.
    fn create(&mut self, cx: &Context<'_>, task: TaskId) {
        if task as usize >= self.entities.len() {
            self.entities.resize(task as usize + 1, Entity::default());
        }
        let mut entity = Entity { ticks: self.rr_ticks, ..Entity::default() };
        entity.read(&cx.tasks[task as usize]);
        self.entities[task as usize] = entity;
    }

    /// An ordinary task becomes ready.
    fn arrive(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.update(cx, cpu);
        if why == Enqueue::Wakeup && !self.entities[task as usize].batch {
            self.reward_sleep(cpu, task);
        }
        let forker = cx.waker.filter(|_| why == Enqueue::New).filter(|&waker| {
            cx.tasks[task as usize].parent == Some(waker) && cx.processors[cpu as usize].running == Some(waker)
        });
        let forker = forker.map(|parent| self.entities[parent as usize]);
        let queue = &mut self.queues[cpu as usize];
        let entity = &mut self.entities[task as usize];
        entity.stand(queue.clock);
        if why == Enqueue::New {
            entity.owed = -self.granularity / 2;
        }
        if let Some(parent) = forker {
            entity.key = parent.key - parent.finer(self.granularity) - 1; // it runs before its parent
        }
        entity.forked = forker.is_some();
        entity.since = queue.clock;
        queue.load += entity.weight;
        self.ready.join(cpu, task, entity.key);
    }

    /// The running ordinary task goes back among the ready ones.
    fn rejoin(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.update(cx, cpu);
        let entity = &mut self.entities[task as usize];
        let clock = self.queues[cpu as usize].clock;
        if why == Enqueue::Yield {
            entity.stand(clock);
        }
        entity.since = clock;
        self.ready.join(cpu, task, entity.key);
    }
}

impl Scheduler for CfsV3 {
    const INFO: Info = Info {
        name: "cfs_v3",
        summary: "the first CFS: tasks are owed the time that they waited; the task that is owed most runs first",
        year: 2007,
        origin: "CFS v3 for Linux 2.6.20, and Linux 2.6.23-rc2",
        promises: &[
            Promise::WorkConserving(Reach::EachProcessor),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FindsWork(domain::FINDS_WORK),
            Promise::MovesAtMost(domain::MOVES_AT_MOST),
        ],
        parameters: &[
            Parameter {
                name: "granularity",
                meaning: "how far ahead another task must be at a tick to take the processor (sched_granularity_ns)",
                domain: Domain::Duration { low: 100 * MICROSECOND, high: SECOND },
                default: Some("2ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "runtime_limit",
                meaning: "most that a task can be owed, or owe (sched_runtime_limit_ns)",
                domain: Domain::Duration { low: MILLISECOND, high: 10 * SECOND },
                default: Some("80ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "variant",
                meaning: "v3 of April 2007, or 2.6.23: a tick as wakeup granularity, all scaled by 1 + log2 of the processors",
                domain: Domain::Choice { names: &["v3", "2.6.23"] },
                default: Some("v3"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("cfs_v3.rs"),
    };
    const FEATURES: Features =
        Features { ticks: true, charges_at_wakeups: true, passes_idle_ticks: true, ..Features::NONE };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let processors = topology.processors();
        let later = params.name("variant") == "2.6.23";
        let scale = if later { 1 + i64::from(processors.ilog2()) } else { 1 };
        let granularity = params.whole("granularity") as i64 * scale;
        let wakeup = if later { tick as i64 * scale } else { granularity };
        let domains = Domains::new(topology);
        let mut queues: Vec<_> = (0..processors).map(|_| Queue::default()).collect();
        (0..).zip(&mut queues).for_each(|(cpu, queue)| queue.share.begin(domains.of(cpu)));
        CfsV3 {
            granularity,
            wakeup,
            batch_wakeup: if later { BATCH * wakeup } else { wakeup },
            limit: params.whole("runtime_limit") as i64 * scale,
            corrects: later,
            rr_ticks: (RR_SLICE / tick).max(1),
            links: Links::default(),
            queues,
            domains,
            ready: Ordered::new(processors),
            entities: Vec::new(),
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        domain::select(self, cx, task, why)
    }

    fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        domain::exec(self, cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if self.entities.get(task as usize).is_none_or(|entity| entity.weight == 0) {
            self.create(cx, task);
        }
        let arrives = matches!(why, Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate);
        match self.entities[task as usize].priority {
            Some(priority) if arrives => self.queues[cpu as usize].urgent.push_tail(&mut self.links, priority, task),
            Some(priority) if why == Enqueue::Yield => self.requeue(cpu, task, priority),
            Some(_) => {} // it kept its place
            None if arrives => self.arrive(cx, cpu, task, why),
            None => self.rejoin(cx, cpu, task, why),
        }
        if arrives {
            self.entities[task as usize].cpu = cpu;
            self.queues[cpu as usize].share.arrive(self.entities[task as usize].weight as u64);
        }
        if self.queues.len() > 1 {
            self.queued_among_several(cx, cpu, task, why);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        let (queue, entity) = (&mut self.queues[cpu as usize], &mut self.entities[task as usize]);
        let pushed = queue.share.was_pushed(task);
        queue.share.leave(entity.weight as u64);
        if let Dequeue::Sleep(wait) = why {
            (entity.sync, entity.last_ran) = (domain::sync(wait), cx.now);
            queue.share.stop();
        }
        if let Some(priority) = entity.priority {
            if !pushed {
                queue.urgent.remove(&mut self.links, priority, task);
            }
            return;
        }
        self.update(cx, cpu);
        if why == Dequeue::Migrate {
            self.end_wait(cpu, task);
        }
        if !pushed {
            self.ready.leave(cx, cpu, task);
        }
        let (queue, entity) = (&mut self.queues[cpu as usize], &mut self.entities[task as usize]);
        entity.since = queue.clock;
        queue.load -= entity.weight;
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let urgent = &self.queues[cpu as usize].urgent;
        if let Some(task) = urgent.first().and_then(|priority| urgent.list(priority).head()) {
            return Some(Pick { task, slice: None });
        }
        let Some(task) = self.ready.next(cpu) else { return self.pick_pushed(cx, cpu) };
        self.end_wait(cpu, task);
        Some(Pick { task, slice: None })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        if self.entities[task as usize].priority.is_none() {
            self.queues[cpu as usize].ran += ran as i64;
        }
    }

    #[inline]
    fn wakeup_preempts(&mut self, _: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let (mine, other) = (&self.entities[woken as usize], &self.entities[running as usize]);
        match (mine.priority, other.priority) {
            (Some(mine), other) => other.is_none_or(|other| mine < other).into(),
            (None, Some(_)) => Preempt::No,
            (None, None) => {
                let granularity = if mine.batch { self.batch_wakeup } else { self.wakeup };
                (mine.forked || other.key - mine.key > other.finer(granularity)).into()
            }
        }
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.queues.len() > 1 {
            self.queues[cpu as usize].share.tick();
        }
        let Some(task) = cx.processors[cpu as usize].running else { return };
        if let Some(priority) = self.entities[task as usize].priority {
            return self.tick_real_time(cx, cpu, task, priority);
        }
        self.update(cx, cpu);
        let entity = &mut self.entities[task as usize];
        entity.stand(self.queues[cpu as usize].clock);
        let Some(first) = self.ready.first(cpu) else { return };
        let (key, granularity) = (entity.key, entity.finer(self.granularity));
        if key - self.entities[first as usize].key > granularity {
            cx.resched(cpu);
        }
    }

    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        domain::idle_ticks(self)
    }

    fn pass_idle_ticks(&mut self, cx: &Context<'_>, ticks: Ticks) {
        if self.queues.len() > 1 {
            let queues = (0..).zip(&mut self.queues);
            queues.for_each(|(cpu, queue)| queue.share.rest(ticks.clock, cx.tick, self.domains.of(cpu)));
        }
    }

    /// Credit and debit stay. (set_user_nice, __setscheduler)
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        if self.entities.get(task as usize).is_none_or(|entity| entity.weight == 0) {
            return;
        }
        let (runs, after) = (cx.processors[cpu as usize].running == Some(task), &cx.tasks[task as usize]);
        if !runs {
            let entity = &mut self.entities[task as usize];
            entity.read(after);
            entity.since = self.queues[entity.cpu as usize].clock;
            return;
        }
        self.update(cx, cpu);
        let entity = &mut self.entities[task as usize];
        let old = *entity;
        entity.read(after);
        let queue = &mut self.queues[cpu as usize];
        queue.share.leave(old.weight as u64);
        queue.share.arrive(entity.weight as u64);
        if old.priority.is_none() {
            queue.load -= old.weight;
        }
        if entity.priority.is_none() {
            queue.load += entity.weight;
            entity.stand(queue.clock);
        }
        if old.priority != entity.priority {
            old.priority.into_iter().for_each(|at| queue.urgent.remove(&mut self.links, at, task));
            entity.priority.into_iter().for_each(|at| queue.urgent.push_tail(&mut self.links, at, task));
        }
        let worse = old.priority.is_some_and(|old| entity.priority.is_none_or(|new| new > old));
        if worse || before.nice != after.nice {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        domain::pull(self, cx, cpu, why)
    }
}

impl CfsV3 {
    /// A real-time task goes behind the others of its priority.
    fn requeue(&mut self, cpu: CpuId, task: TaskId, priority: usize) {
        let urgent = &mut self.queues[cpu as usize].urgent;
        urgent.remove(&mut self.links, priority, task);
        urgent.push_tail(&mut self.links, priority, task);
    }

    /// Only SCHED_RR has a slice.
    fn tick_real_time(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, priority: usize) {
        let ticks = &mut self.entities[task as usize].ticks;
        *ticks -= 1;
        if *ticks == 0 {
            *ticks = self.rr_ticks;
            if cx.tasks[task as usize].policy == Policy::Rr {
                self.requeue(cpu, task, priority);
                cx.resched(cpu);
            }
        }
    }
}
