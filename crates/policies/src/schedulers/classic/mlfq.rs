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
//! Enqueue: constant. Pick: constant in the tasks, linear in the levels; on several processors, linear in the waiting tasks up to
//! the first that may run there. A boost: linear in the levels.
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
//! by the size of its program. The textbook has one processor. On several the levels and the boost are those of all: each
//! processor takes the first task that it may run, and a woken task that finds none idle goes to the one that runs the lowest level,
//! where a running task's level counts what it has used up to now.
//!
//! ## References
//!
//! - R. H. and A. C. Arpaci-Dusseau: Operating Systems: Three Easy Pieces, 2018, chapter 8 (rules 1 to 5).
//! - F. J. Corbató et al.: An Experimental Time-Sharing System, AFIPS 1962.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::{
        queue::{Links, List},
        shared_queue::Shared,
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

impl Standing {
    /// As it is after that number of boosts.
    #[inline(always)]
    fn after(self, boosts: u64) -> Standing {
        if self.boost == boosts { self } else { Standing { boost: boosts, ..Standing::default() } }
    }
}

/// What the levels grant.
#[derive(Debug, Clone, Copy)]
struct Rules {
    slice: Nanos,
    bottom: usize,
    /// Boosts so far, and when the last one was.
    boosts: u64,
    boosted: Nanos,
}

impl Rules {
    #[inline]
    fn allotment(&self, level: usize) -> Nanos {
        self.slice << level
    }

    /// The position of a task that has run for some time up to now: with its allotment used up it is a level lower.
    #[inline(always)]
    fn charged(&self, standing: Standing, ran: Nanos, now: Nanos) -> Standing {
        let Standing { level, used, boost } = standing.after(self.boosts);
        let used = used + ran.min(now - self.boosted);
        if used < self.allotment(level) {
            return Standing { level, used, boost };
        }
        Standing { level: (level + 1).min(self.bottom), used: 0, boost }
    }
}

/// Levels of decreasing priority with slices that double.
#[derive(Debug)]
pub struct Mlfq {
    rules: Rules,
    period: Nanos,
    links: Links,
    /// The tasks that wait, by level.
    levels: Vec<List>,
    shared: Shared,
    tasks: Vec<Standing>,
    /// For each processor, up to when its task was charged.
    charged: Vec<Nanos>,
}

impl Mlfq {
    /// Boosts if it is time.
    #[inline(always)]
    fn boost(&mut self, now: Nanos) {
        if now - self.rules.boosted >= self.period {
            self.raise_all(now);
        }
    }

    /// The tasks that wait go to the top; what is remembered of each is put right when it is looked at.
    #[cold]
    fn raise_all(&mut self, now: Nanos) {
        self.rules.boosts = now / self.period;
        self.rules.boosted = self.rules.boosts * self.period;
        let (top, others) = self.levels.split_first_mut().expect("there is a level");
        others.iter_mut().for_each(|level| top.append(&mut self.links, level));
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
        *standing = standing.after(self.rules.boosts);
        standing
    }

    /// The first of the tasks that wait, and that a processor may run.
    #[inline(always)]
    fn first(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if !self.shared.several() {
            return self.levels.iter().find_map(List::head);
        }
        self.shared.next(cx, cpu, || self.levels.iter().flat_map(|level| level.iter(&self.links)))
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
        let (processors, levels) = (topology.processors(), params.whole("levels") as usize);
        Mlfq {
            rules: Rules { slice: params.whole("slice"), bottom: levels - 1, boosts: 0, boosted: 0 },
            period: params.whole("boost"),
            links: Links::default(),
            levels: vec![List::default(); levels],
            shared: Shared::new(processors),
            tasks: Vec::new(),
            charged: vec![0; processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.boost(cx.now);
        let level = self.standing(task).level;
        let worse = |running: TaskId| {
            let since = cx.now - self.charged[cx.tasks[running as usize].cpu as usize];
            let theirs = self.rules.charged(self.tasks[running as usize], since, cx.now).level;
            (theirs > level).then_some(theirs)
        };
        self.shared.place_over(cx, task, worse)
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        self.boost(cx.now);
        if !self.shared.joins(cx, task, why) {
            return;
        }
        let Standing { level, used, .. } = *self.standing(task);
        let list = &mut self.levels[level];
        if why == Enqueue::Preempted && used > 0 {
            list.push_head(&mut self.links, task);
        } else {
            list.push_tail(&mut self.links, task);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if self.shared.queued(cx, cpu, task) {
            let level = self.standing(task).level;
            self.levels[level].remove(&mut self.links, task);
        }
    }

    #[inline(always)]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.boost(cx.now);
        let task = self.first(cx, cpu)?;
        let Standing { level, used, .. } = *self.standing(task);
        self.levels[level].remove(&mut self.links, task);
        self.charged[cpu as usize] = cx.now;
        Some(Pick { task, slice: Some(self.rules.allotment(level) - used) })
    }

    #[inline]
    fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        self.boost(cx.now);
        let standing = *self.standing(task);
        self.tasks[task as usize] = self.rules.charged(standing, ran, cx.now);
        self.charged[cpu as usize] = cx.now;
    }

    #[inline]
    fn wakeup_preempts(&mut self, _: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let better = self.standing(woken).level < self.standing(running).level;
        self.shared.preempts(cpu, better)
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}
