//! # muqss
//!
//! Promises equal tasks equal slices, and a task that has used little of its slice an earlier deadline than tasks that use
//! all of it.
//!
//! Long, because two schedulers share its rules and four parameters are described.
//!
//! ## The idea
//!
//!     A task gets a slice, and with it a virtual deadline: now, plus an offset that grows by a tenth with every nice
//!     level. The earliest deadline runs. Only when the slice is used up does a task get a new slice and a later deadline;
//!     a task that sleeps keeps the rest of the slice and the deadline, which by then is early.
//!     A woken task preempts one whose deadline is later. No other history of a task is kept.
//!     BFS has one queue for all processors and ends slices at clock ticks. MuQSS has a queue a processor, looks at the
//!     heads of all of them, and ends slices by a timer. A woken task goes to the nearest idle processor, first to one whose
//!     core and cache idle, too; else to the nearest with the fewest tasks.
//!
//! ## The formula
//!
//!     deadline  =  now + r * ratio(n + 20) / ratio(0)
//!     ratio(i)  =  floor(ratio(i - 1) * 11 / 10)       ratio(0) = 100 in BFS, 128 in MuQSS
//!     r         =  rr_interval * (1 + floor(log2(processors)))
//!
//! r slice in ms; n nice level. The offset is 6.55 r at nice 0, 39.9 r at nice 19, r at nice -20. Of two tasks that never
//! wait, for each slice of the other the favoured one gets as many slices as fit into the difference of their offsets,
//! rounded up: 4 : 1 for nice 0 against 5, 11 : 1 against 10, but 1 : 1 against 1.
//!
//! ## A schedule
//!
//! Two tasks of nice 0 and one of nice 5 that never wait, and one that sleeps:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "muqss" }
//! workload.a = { load = "spin", compute = "60ms", count = 2 }
//! workload.b = { load = "spin", compute = "18ms", nice = 5 }
//! workload.c = { load = "sleeper", run = "2ms", sleep = "20ms", rounds = 5 }
//! ```
//!
//! ```text
//!         0ms       20ms      40ms      60ms      80ms      100ms     120ms     140ms
//!         |         |         |         |         |         |         |         |
//! a#0     ###....###...###.......###....###.......###...###....###......###...###
//! a#1     ...###....###.......###...##.#...###.......###...#.##......###...###...###
//! b#2     ................#.##................###.................###
//! c#3     ......#          #          #          #          #
//! idle 0
//!         a column is 2ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the number of waiting tasks, plus a visit to the head of each processor's queue.
//!
//! ## Good for, not for
//!
//! Few tasks on few processors, and low latency without tuning. Not for control by nice levels in small steps, which are
//! lost to rounding, nor for a sleeper alongside many busy tasks: it waits a whole round whenever its slice is used up.
//!
//! A task that waits and may use more processors from now on (`set`) stays where it is, as in the original: an idle processor is not asked.
//! A task of nice 20 next to one of nice 0 that computes waits for about 0.2 s more, until its deadline is the earlier one.
//!
//! ## Departures
//!
//! - BFS searches a list for the earliest deadline; here, both variants keep it sorted, which gives the same choice. Equal
//!   deadlines are served in the order of joining a queue. (On a real machine no two of them are equal to the nanosecond.)
//! - A deadline is exact here; the kernel computes it in units of 2^20 ns (for 1 ms) divided by 128, which is 4.9 % more for
//!   all deadlines and slices alike.
//! - BFS holds a task that was preempted by mistake to its processor for a while (sticky tasks); not here.
//! - A switch from a task that could go on tells all idle processors that it may use, in MuQSS the best of them. A package is a memory node.
//! - A kernel with SMT_NICE keeps a thread of a core idle rather than let it run a task that is nicer than the one next to it. Not here.
//! - BFS is modelled as it was at first: a tick ends a slice of which nothing is left. Later versions end it if less than
//!   100 us are left, or less than half a tick where the task was picked early in a tick (dither).
//! - A task of SCHED_IDLEPRIO that holds a lock of the kernel or has a signal to handle runs as an ordinary one there. The
//!   simulated kernel has no such locks.
//! - A task that no other one forked begins with a full slice and a deadline of now. SCHED_DEADLINE is unknown, as are groups
//!   and their quotas; nice 20 is nice 19. The limits of SCHED_ISO, 70 % and 5 s, are constants here.
//! - A real-time task that is preempted goes to the tail of its priority, as in the kernel: the queue keeps the order of
//!   arrival.
//!
//! ## References
//!
//! - C. Kolivas, BFS, patches for Linux 2.6.31 to 4.7, Documentation/scheduler/sched-BFS.txt, kernel/sched/bfs.c
//!   (`time_slice_expired`, `check_deadline`, `try_preempt`, `can_preempt`, `task_running_tick`).
//! - C. Kolivas, MuQSS, patches for Linux 4.8 and later, kernel/sched/MuQSS.c (`earliest_deadline_task`, `select_best_cpu`,
//!   `enqueue_task`, `iso_tick`), as of 4.15.
//!
//! Long, because the page and the rule belong in one file.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks,
    kit::{
        ordered::Ordered,
        placement::{offer, offer_left},
    },
};
use iso::Limit;
use near::Near;
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Policy, Task, TaskId},
    topology::Topology,
};

mod iso;
mod near;
mod processors;

/// A slice shorter than this counts as used up in MuQSS (RESCHED_US); in the first BFS, only an empty one does.
const RESCHED: Nanos = 100_000;
/// Nice levels.
const LEVELS: usize = 40;
/// Classes, the best first: 99 priorities of real time, then these.
const ISO: u8 = 100;
const NORMAL: u8 = 101;
const IDLEPRIO: u8 = 102;

/// Virtual deadlines.
#[derive(Debug)]
pub struct Muqss {
    bfs: bool,
    /// rr_interval, scaled by the number of processors.
    slice: Nanos,
    /// By how much the deadline of a new slice is later than now, for each nice level.
    offsets: [Nanos; LEVELS],
    /// A slice shorter than this counts as used up.
    least: Nanos,
    yield_type: u64,
    /// Whether MuQSS looks at all queues for the earliest deadline, or at longer ones only.
    interactive: bool,
    near: Near,
    /// By class, then by deadline.
    queues: Ordered<(u8, Nanos)>,
    tasks: Vec<Entity>,
    /// How often a task joined a queue.
    joined: u64,
    /// For each processor, the task to be picked there whatever the deadlines.
    chosen: Vec<Option<TaskId>>,
    /// The task that is being pulled.
    pulled: Option<TaskId>,
    /// One for each processor; in BFS, one for all.
    limits: Vec<Limit>,
}

/// What the scheduler keeps of a task.
#[derive(Debug, Clone)]
struct Entity {
    policy: Policy,
    level: u8,
    /// Its class at present.
    class: u8,
    /// Its priority in the class of real-time tasks.
    real_time: u8,
    slice: Nanos,
    deadline: Nanos,
    /// The number of its last join among all joins of queues.
    joined: u64,
}

impl Entity {
    fn new(task: &Task) -> Entity {
        Entity {
            policy: task.policy,
            level: (i16::from(task.nice.min(19)) + 20) as u8,
            class: NORMAL,
            real_time: 99 - task.priority.min(99),
            slice: 0,
            deadline: 0,
            joined: 0,
        }
    }

    /// Its class of now.
    #[inline]
    fn classify(&mut self, refractory: bool) {
        self.class = match self.policy {
            Policy::Fifo | Policy::Rr => self.real_time,
            Policy::Iso if !refractory => ISO,
            Policy::Idle => IDLEPRIO,
            _ => NORMAL,
        };
    }
}

impl Muqss {
    /// A task that may be seen for the first time.
    #[inline]
    fn know(&mut self, cx: &Context<'_>, task: TaskId) {
        if self.tasks.len() <= task as usize {
            self.learn(cx);
        }
    }

    #[cold]
    fn learn(&mut self, cx: &Context<'_>) {
        self.tasks.extend(cx.tasks[self.tasks.len()..].iter().map(Entity::new));
    }

    #[inline]
    fn limit(&mut self, cpu: CpuId) -> &mut Limit {
        let one_for_all = self.limits.len() == 1;
        &mut self.limits[if one_for_all { 0 } else { cpu as usize }]
    }

    /// A new slice, and the deadline for it.
    fn renew(&mut self, now: Nanos, task: TaskId) {
        let entity = &mut self.tasks[task as usize];
        entity.slice = self.slice;
        entity.deadline = now + self.offsets[entity.level as usize];
    }

    /// The running task leaves its processor: a slice that counts as used up is renewed, and that of a batch task always.
    #[inline]
    fn check(&mut self, now: Nanos, task: TaskId) {
        let entity = &self.tasks[task as usize];
        if entity.slice < self.least || entity.policy == Policy::Batch {
            self.renew(now, task);
        }
    }

    /// A task joins a queue, by its class of now.
    #[inline]
    fn join(&mut self, cpu: CpuId, task: TaskId) {
        let refractory = self.limit(cpu).refractory;
        self.joined += 1;
        let entity = &mut self.tasks[task as usize];
        entity.joined = self.joined;
        entity.classify(refractory);
        self.queues.join(cpu, task, self.key(task));
    }

    /// What orders a task among those that wait. Real-time tasks are served in order of arrival; in MuQSS, those of
    /// SCHED_ISO too.
    #[inline]
    fn key(&self, task: TaskId) -> (u8, Nanos) {
        let entity = &self.tasks[task as usize];
        let by_arrival = entity.class < ISO || entity.class == ISO && !self.bfs;
        (entity.class, if by_arrival { 0 } else { entity.deadline })
    }

    /// A new task; a child shares what its parent has left, has its deadline, and runs first where the parent runs.
    fn created(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let Some(parent) = cx.tasks[task as usize].parent else { return self.renew(cx.now, task) };
        let home = cx.tasks[parent as usize].cpu;
        let mother = &mut self.tasks[parent as usize];
        let shares = mother.slice >= 2 * self.least;
        mother.slice = if shares { mother.slice / 2 } else { 0 };
        let (slice, deadline) = (mother.slice, mother.deadline);
        if shares {
            let child = &mut self.tasks[task as usize];
            (child.slice, child.deadline) = (slice, deadline);
        } else {
            self.renew(cx.now, task);
        }
        if cx.processors[home as usize].running == Some(parent) && (home == cpu || !shares) {
            cx.resched(home);
        }
    }

    /// Whether a woken task may preempt the given one.
    fn can_preempt(&self, woken: TaskId, running: TaskId) -> bool {
        let (woken, running) = (&self.tasks[woken as usize], &self.tasks[running as usize]);
        match woken.class.cmp(&running.class) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => {
                !matches!(woken.policy, Policy::Batch | Policy::Idle) && woken.deadline < running.deadline
            }
        }
    }
}

impl Scheduler for Muqss {
    const INFO: Info = Info {
        name: "muqss",
        summary: "the earliest virtual deadline, renewed only when a slice is used up; BFS and MuQSS",
        year: 2009,
        origin: "Con Kolivas, BFS for Linux 2.6.31; MuQSS for Linux 4.8",
        promises: &[
            Promise::WorkConserving(Reach::Everywhere),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FairToEquals(Reach::Everywhere),
        ],
        parameters: &[
            Parameter {
                name: "variant",
                meaning: "bfs has one queue and slices that end at ticks; muqss a queue a processor and exact slices",
                domain: Domain::Choice { names: &["muqss", "bfs"] },
                default: Some("muqss"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "rr_interval",
                meaning: "the slice on one processor; times 2 on two, 3 on four, 4 on eight",
                domain: Domain::Duration { low: MILLISECOND, high: SECOND },
                default: Some("6ms"),
                logarithmic: true,
                grows: false,
                host: Some("rr_interval"),
            },
            Parameter {
                name: "yield_type",
                meaning: "0: yielding does nothing; 1: it lets a better deadline run; 2: it gives the slice up",
                domain: Domain::Count { low: 0, high: 2 },
                default: Some("1"),
                logarithmic: false,
                grows: false,
                host: Some("yield_type"),
            },
            Parameter {
                name: "interactive",
                meaning: "whether muqss takes the earliest deadline of all processors, or looks at longer queues only",
                domain: Domain::Switch,
                default: Some("true"),
                logarithmic: false,
                grows: false,
                host: Some("interactive"),
            },
            Parameter {
                name: "rqshare",
                meaning: "which processors share a list of waiting tasks in muqss: threads of a core (smt), cores with a last-level cache (llc), \
                          those of a package (mc; as smp, since a package is a node), or all; it matters where interactive is off",
                domain: Domain::Choice { names: &["none", "smt", "mc", "llc", "smp", "all"] },
                default: Some("mc"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("muqss.rs"),
    };
    const FEATURES: Features = Features {
        ticks: true,
        charges_at_wakeups: true,
        passes_ticks: true,
        passes_idle_ticks: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let processors = topology.processors();
        let bfs = params.name("variant") == "bfs";
        let slice = params.whole("rr_interval") * u64::from(1 + processors.ilog2());
        let hz = (SECOND + tick / 2) / tick;
        let limit = |processors: u16| Limit::new(hz, processors.into(), !bfs);
        Muqss {
            bfs,
            slice,
            least: if bfs { 1 } else { RESCHED },
            offsets: offsets(slice, if bfs { 100 } else { 128 }),
            yield_type: params.whole("yield_type"),
            interactive: params.switch("interactive"),
            near: Near::new(topology, if bfs { "all" } else { params.name("rqshare") }),
            queues: Ordered::new(processors),
            tasks: Vec::new(),
            joined: 0,
            chosen: vec![None; processors.into()],
            pulled: None,
            limits: if bfs { vec![limit(processors)] } else { vec![limit(1); processors.into()] },
        }
    }

    /// An idle processor, if there is one. Else BFS looks for the latest deadline that runs, MuQSS for the least load.
    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.know(cx, task);
        let forked = why == Enqueue::New && cx.tasks[task as usize].parent.is_some();
        match self.idle_processor(cx, task) {
            Some(idle) => idle,
            None if forked => cx.tasks[task as usize].last_or_first(), // its parent's
            None => self.busy_processor(cx, task),
        }
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if matches!(why, Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield) {
            offer(cx, task); // resched_suitable_idle
        }
        match why {
            Enqueue::New => {
                self.know(cx, task);
                self.created(cx, cpu, task);
            }
            Enqueue::Wakeup => self.know(cx, task),
            Enqueue::Preempted | Enqueue::SliceEnd => self.check(cx.now, task),
            Enqueue::Yield if self.yield_type == 0 => return self.chosen[cpu as usize] = Some(task),
            Enqueue::Yield if self.yield_type == 2 => self.renew(cx.now, task),
            Enqueue::Yield => self.check(cx.now, task),
            Enqueue::Migrate if self.pulled.take() == Some(task) => {
                return self.chosen[cpu as usize] = Some(task);
            }
            Enqueue::Migrate => {}
        }
        self.join(cpu, task);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        match why {
            Dequeue::Migrate => self.queues.leave(cx, cpu, task),
            Dequeue::Sleep(_) | Dequeue::Exit => self.check(cx.now, task),
        }
    }

    /// If a better task waits for another processor, no task is picked: the kernel then asks which one to pull.
    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = match self.chosen[cpu as usize].take() {
            Some(task) => task,
            None if self.chosen.len() > 1 && self.better_elsewhere(cx, cpu).is_some() => return None,
            None => self.take_first(cx, cpu)?,
        };
        let entity = &self.tasks[task as usize];
        let exact = !self.bfs && entity.policy != Policy::Fifo;
        Some(Pick { task, slice: exact.then_some(entity.slice) })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        let entity = &mut self.tasks[task as usize];
        if entity.policy != Policy::Fifo {
            entity.slice = entity.slice.saturating_sub(ran);
        }
    }

    /// In MuQSS, a task of another processor may have to be removed.
    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        if self.can_preempt(woken, running) {
            return Preempt::Yes;
        }
        if !self.bfs
            && self.chosen.len() > 1
            && let Some(other) = self.preemptible_elsewhere(cx, cpu, woken)
        {
            cx.resched(other);
        }
        Preempt::No
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let Some(task) = cx.processors[cpu as usize].running else { return self.limit(cpu).tick(false) };
        let class = self.tasks[task as usize].class;
        let bfs = self.bfs;
        let limit = self.limit(cpu);
        limit.tick(class <= ISO);
        let refractory = limit.refractory;
        let entity = &mut self.tasks[task as usize];
        let changes_class = entity.policy == Policy::Iso && (class == ISO) == refractory;
        if changes_class && refractory {
            entity.slice = 0;
        }
        if entity.policy != Policy::Fifo && entity.slice < self.least || changes_class && !bfs {
            cx.resched(cpu);
        }
    }

    /// Ticks that leave enough of the slice; one is as long as a tick or a nanosecond longer.
    #[inline]
    fn quiet_ticks(&self, cx: &Context<'_>, _: CpuId, running: TaskId) -> Ticks {
        let entity = &self.tasks[running as usize];
        let clock = match entity.policy {
            Policy::Fifo => u64::MAX,
            Policy::Iso => 0,
            _ => entity.slice.saturating_sub(self.least) / (cx.tick + 1),
        };
        Ticks { clock, statistics: 0 }
    }

    #[inline]
    fn pass_ticks(&mut self, _: &Context<'_>, cpu: CpuId, running: TaskId, ticks: Ticks) {
        let real_time = self.tasks[running as usize].class <= ISO;
        (0..ticks.clock).for_each(|_| self.limit(cpu).tick(real_time));
    }

    #[inline]
    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        Ticks::ALL
    }

    #[inline]
    fn pass_idle_ticks(&mut self, cx: &Context<'_>, ticks: Ticks) {
        let each = ticks.clock * (cx.processors.len() / self.limits.len()) as u64;
        self.limits.iter_mut().for_each(|limit| limit.rest(each));
    }

    /// Its slice stays, and its deadline moves by what the nice level makes of it (adjust_deadline). A task that runs competes anew
    /// with a worse nice level or another policy. (set_user_nice, __setscheduler)
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        if self.tasks.len() <= task as usize {
            return;
        }
        let (runs, refractory) = (cx.processors[cpu as usize].running == Some(task), self.limit(cpu).refractory);
        let after = &cx.tasks[task as usize];
        let entity = &mut self.tasks[task as usize];
        let Entity { policy, level, real_time, .. } = Entity::new(after);
        let offset = |level: u8| self.offsets[usize::from(level)];
        entity.deadline = (entity.deadline + offset(level)).saturating_sub(offset(entity.level));
        (entity.policy, entity.level, entity.real_time) = (policy, level, real_time);
        entity.classify(refractory);
        let asks = (before.policy, before.priority) != (after.policy, after.priority);
        if runs && (asks || after.nice > before.nice) {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        let pulled = if why == Balance::Idle { self.better_elsewhere(cx, cpu) } else { None };
        if pulled.is_some() {
            offer_left(cx, cpu, self.queues.waiting(cpu));
        }
        self.pulled = pulled;
        pulled
    }
}

/// By how much a deadline is later than now, for each nice level.
fn offsets(slice: Nanos, first: u64) -> [Nanos; LEVELS] {
    let mut ratio = first;
    std::array::from_fn(|_| {
        let offset = slice * ratio / first;
        ratio = ratio * 11 / 10;
        offset
    })
}
