//! # mlfq
//!
//! Promises that short CPU bursts run before long ones without knowing their lengths, and periodically returns every task
//! to the top level.
//!
//! ## The idea
//!
//!     Queues of several levels; the first level that is not empty runs, round-robin. A new task starts at the top.
//!     At each level a task may use one allotment, in one CPU burst or in several; then it goes down a level, where slices
//!     are twice as long. At the bottom level, round robin continues indefinitely.
//!     Once in a period all tasks go back to the top.
//!     A task that becomes ready preempts one of a lower level.
//!
//! ## The formula
//!
//!     allotment of level i  =  slice * 2^i        i from 0 (top) to levels - 1
//!
//! so a task is at level i after having used slice * (2^i - 1) since the last boost. Boosts are at multiples of `boost`.
//!
//! ## A schedule
//!
//! Two tasks that only compute, and one that computes briefly and sleeps:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "mlfq", levels = 3, slice = "10ms", boost = "200ms" }
//! workload.a = { load = "spin", compute = "120ms" }
//! workload.b = { load = "spin", compute = "120ms" }
//! workload.quick = { load = "sleeper", run = "5ms", sleep = "35ms", rounds = 5 }
//! ```
//!
//! ```text
//!          0ms       50ms      100ms     150ms     200ms     250ms
//!          |         |         |         |         |         |
//! a#0      ##...####.....######.##.........####.####..#....#
//! b#1      ..##.....###.#.........#####.###.........##.####.####
//! quick#2  ....#       #       #       #       #
//! idle 0
//!          a column is 5ms
//!          # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue: constant. Pick: constant in the tasks, linear in the levels. A boost: linear in processors and levels.
//!
//! ## Good for, not for
//!
//! A mixture of commands and computations of unknown length. A task that needs the processor often for a little longer
//! than an allotment stays at the middle levels, and how long a task waits depends on the level and phase of the others.
//!
//! A new task starts at the top, so that a program gets more by forking: one that forks a child of 5 ms, waits for it and forks
//! the next has 99 % of the processor when run alongside a task that computes. The computing task gets one slice of the
//! first level in each `boost`. Nor do equal tasks get equal shares: `boost` is no whole number of rounds, and the order
//! after each is the same, so that of two tasks that only compute the first has 53 % and the other 47 %.
//!
//! ## Departures
//!
//! The five rules are those of the textbook, which leaves open where a preempted task is queued: here at the head of its
//! level, with what is left of its allotment; one that yields goes to the tail with it. What a running task has done since
//! a boost counts, what it did before does not; it ends the slice it is in. The ancestors (CTSS) started a task at a level
//! by the size of its program. The above describes one processor; on several, each has its own levels, new and woken tasks
//! go to an idle processor if there is one, and an idle one pulls the first of another's first level.
//!
//! ## References
//!
//! - R. H. and A. C. Arpaci-Dusseau: Operating Systems: Three Easy Pieces, 2018, chapter 8 (rules 1 to 5).
//! - F. J. Corbató et al.: An Experimental Time-Sharing System, AFIPS 1962.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::{
        placement::{idle_or_last, offer, pull},
        queue::{Links, List},
    },
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, TaskId},
    topology::Topology,
};

/// The position of a task.
#[derive(Debug, Default, Clone, Copy)]
struct Standing {
    level: usize,
    /// What it has used of its allotment there, ns.
    used: Nanos,
    /// The boost since which that holds.
    boost: u64,
}

/// Levels of decreasing priority with slices that double.
#[derive(Debug)]
pub struct Mlfq {
    slice: Nanos,
    period: Nanos,
    /// Boosts so far, and when the last one was.
    boosts: u64,
    boosted: Nanos,
    links: Links,
    /// For each processor, the tasks that wait, by level.
    levels: Vec<Vec<List>>,
    tasks: Vec<Standing>,
}

impl Mlfq {
    #[inline]
    fn allotment(&self, level: usize) -> Nanos {
        self.slice << level
    }

    /// Boosts if it is time.
    #[inline(always)]
    fn boost(&mut self, now: Nanos) {
        if now - self.boosted >= self.period {
            self.raise_all(now);
        }
    }

    /// The tasks that wait go to the top; what is remembered of each is put right when it is looked at.
    #[cold]
    fn raise_all(&mut self, now: Nanos) {
        self.boosts = now / self.period;
        self.boosted = self.boosts * self.period;
        for levels in &mut self.levels {
            let (top, others) = levels.split_first_mut().expect("there is a level");
            others.iter_mut().for_each(|level| top.append(&mut self.links, level));
        }
    }

    /// A task is seen for the first time.
    #[cold]
    fn learn(&mut self, task: TaskId) {
        self.tasks.resize(task as usize + 1, Standing::default());
    }

    /// The position of a task after the last boost.
    #[inline(always)]
    fn standing(&mut self, task: TaskId) -> &mut Standing {
        if task as usize >= self.tasks.len() {
            self.learn(task);
        }
        let standing = &mut self.tasks[task as usize];
        if standing.boost != self.boosts {
            *standing = Standing { boost: self.boosts, ..Standing::default() };
        }
        standing
    }
}

impl Scheduler for Mlfq {
    const INFO: Info = Info {
        name: "mlfq",
        summary: "multi-level feedback queue: computing tasks move down, a periodic boost moves all up",
        year: 1962,
        origin: "CTSS; rules of Operating Systems: Three Easy Pieces",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[
            Parameter {
                name: "levels",
                meaning: "number of queues",
                domain: Domain::Count { low: 1, high: 16 },
                default: Some("4"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "slice",
                meaning: "allotment of the first level; each further one has twice as much",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
                default: Some("10ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "boost",
                meaning: "period after which all tasks return to the first level",
                domain: Domain::Duration { low: MILLISECOND, high: 1_000_000 * SECOND },
                default: Some("1s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("mlfq.rs"),
    };
    const FEATURES: Features = Features {
        // Levels are compared at wakeups.
        charges_at_wakeups: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Mlfq {
            slice: params.whole("slice"),
            period: params.whole("boost"),
            boosts: 0,
            boosted: 0,
            links: Links::default(),
            levels: vec![vec![List::default(); params.whole("levels") as usize]; processors.into()],
            tasks: Vec::new(),
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        idle_or_last(cx, task, |cpu| self.levels[cpu as usize].iter().all(List::is_empty))
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.boost(cx.now);
        let Standing { level, used, .. } = *self.standing(task);
        let list = &mut self.levels[cpu as usize][level];
        if why == Enqueue::Preempted && used > 0 {
            list.push_head(&mut self.links, task);
        } else {
            list.push_tail(&mut self.links, task);
        }
        if matches!(why, Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield) {
            offer(cx, task);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if cx.processors[cpu as usize].running != Some(task) {
            let level = self.standing(task).level;
            self.levels[cpu as usize][level].remove(&mut self.links, task);
        }
    }

    #[inline(always)]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.boost(cx.now);
        let levels = &mut self.levels[cpu as usize];
        let level = levels.iter().position(|level| !level.is_empty())?;
        let task = levels[level].pop_head(&mut self.links)?;
        let used = self.standing(task).used;
        Some(Pick { task, slice: Some(self.allotment(level) - used) })
    }

    #[inline]
    fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        self.boost(cx.now);
        let since_boost = cx.now - self.boosted;
        let bottom = self.levels[cpu as usize].len() - 1;
        let standing = self.standing(task);
        standing.used += ran.min(since_boost);
        let Standing { level, used, .. } = *standing;
        if used >= self.allotment(level) {
            *self.standing(task) = Standing { level: (level + 1).min(bottom), used: 0, boost: self.boosts };
        }
    }

    #[inline]
    fn wakeup_preempts(&mut self, _: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        (self.standing(woken).level < self.standing(running).level).into()
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        let first = |from: CpuId, may: &dyn Fn(TaskId) -> bool| {
            self.levels[from as usize].iter().find_map(|level| level.find(&self.links, may))
        };
        if why == Balance::Idle { pull(cx, cpu, first) } else { None }
    }
}
