//! # refresh_cycle
//!
//! Promises video and audio their processor time in every refresh, interactive work a response within a refresh, and batch
//! work the longest uninterrupted slices that this leaves.
//!
//! ## The idea
//!
//!     Time is cut into cycles of one audio or video refresh. In each, refresh work goes first, in order of arrival; then
//!     interactive work; then one batch task, for one slice up to the next refresh. In the next cycle another batch task runs.
//!     A cycle begins when refresh work becomes ready, or a period after the last one began.
//!     Only refresh work preempts; interactive work that becomes ready during a batch slice
//!     waits for the end of it.
//!
//! ## The formula
//!
//!     batch slice  =  e - now             e the end of the cycle
//!     other slice  =  T - used            after which the task is batch until it next waits
//!
//! T the `period`; used, what the task has used since it last waited; in ns. At most two switches a cycle are due to a
//! batch task, however many there are.
//!
//! ## A schedule
//!
//! A player, a shell, and two compilations, in refreshes of 20 ms:
//!
//! ```toml
//! machine = "uniform"
//! duration = "160ms"
//! scheduler = { name = "refresh_cycle", period = "20ms" }
//! workload.audio = { load = "periodic", run = "3ms", period = "20ms", nice = -1 }
//! workload.compile = { load = "spin", passes = "forever", policy = "batch", count = 2 }
//! workload.shell = { load = "sleeper", run = "2ms", sleep = "27ms", start = "8ms" }
//! ```
//!
//! ```text
//!            0ms       20ms      40ms      60ms      80ms      100ms     120ms     140ms
//!            |         |         |         |         |         |         |         |
//! audio#0    ##        ##        ##        ##        ##        ##        ##        ##
//! compile#1  .#########...........#########...........#########...........#########..........
//! compile#2  ............########............########............########............########
//! shell#3        .......##             .....##             .....##             .....##
//! idle 0
//!            a column is 2ms
//!            # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant; on several processors, a pick is linear in the waiting tasks up to the first that may run there, and
//! refresh work that finds none idle looks at all of them.
//!
//! ## Good for, not for
//!
//! A desktop that computes while it plays: batch work has the throughput of slices as long as a refresh, and no refresh is
//! missed. Not for many interactive tasks that together fill the processor: they leave nothing to batch work.
//!
//! ## Departures
//!
//! The proposal says: within a refresh period run refresh work, then interactive, then batch with one huge slice up to the
//! next refresh. It does not say how the three are distinguished; the rule here is:
//!
//! - refresh: a nice level below 0, a real-time or isochronous policy, or a reservation; servers and drivers of
//!   message-passing kernels; and any other task that has shown it by waking four times in a row between half a
//!   period and one and a half after the time before, having used half a period at most in between.
//! - batch: the policies batch and idle (idle after batch, and any other task preempts it); and any task of any kind that
//!   has used a whole period since it last waited, until it next waits: so no loop in a program of the other kinds keeps
//!   batch work from running, and two that only compute share as batch tasks do.
//! - interactive: all others.
//!
//! Nor does it say when a refresh occurs: here, when refresh work becomes ready, so that a batch slice ends once. A batch
//! task that refresh work preempts has had its slice. The proposal knows one processor. On several there is one cycle: each of them
//! takes the first task of the first kind that it may run, so that in a cycle each runs one batch task, and refresh work that finds
//! none idle goes to the one whose task is of the last kind.
//!
//! ## References
//!
//! - M. Mattie, linux-kernel, 24 April 2007: RSDL 0.46 against CFS v3 on a desktop, with the proposal of a refresh cycle.

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
    task::{Class, CpuId, Policy, Task, TaskId},
    topology::Topology,
};

/// This number of wakeups in a row, a refresh apart, makes a task refresh work.
const PROOFS: u8 = 4;

/// What a task is in the present cycle; the first goes first.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Refresh,
    #[default]
    Interactive,
    Batch,
    Idle,
}

/// What is remembered of a task.
#[derive(Debug, Default, Clone, Copy)]
struct History {
    /// What it was when it last joined a queue.
    kind: Kind,
    /// Processor time since it last waited.
    used: Nanos,
    woke: Nanos,
    /// Wakeups in a row that looked like a refresh.
    proofs: u8,
}

impl History {
    /// What a task of that history is now.
    #[inline]
    fn kind_of(&self, task: &Task, period: Nanos) -> Kind {
        match task.policy {
            Policy::Idle => Kind::Idle,
            _ if self.used >= period => Kind::Batch,
            Policy::Batch => Kind::Batch,
            Policy::Other if task.nice >= 0 && task.class == Class::User && task.reservation.is_none() => {
                if self.proofs < PROOFS { Kind::Interactive } else { Kind::Refresh }
            }
            _ => Kind::Refresh,
        }
    }
}

/// Refresh, interactive, batch, within one refresh.
#[derive(Debug)]
pub struct RefreshCycle {
    period: Nanos,
    links: Links,
    /// The tasks that wait, by kind.
    queues: [List; 4],
    shared: Shared,
    /// The end of the cycle.
    end: Nanos,
    tasks: Vec<History>,
}

impl RefreshCycle {
    #[inline]
    fn kind(&self, task: &Task) -> Kind {
        self.tasks[task.id as usize].kind_of(task, self.period)
    }

    /// A task that may be seen for the first time.
    #[inline]
    fn know(&mut self, task: TaskId) {
        if task as usize >= self.tasks.len() {
            self.tasks.resize(task as usize + 1, History::default());
        }
    }

    /// The history of a task that becomes ready. What one that wakes did since it last woke shows whether it works for a refresh.
    #[inline]
    fn ready(&self, now: Nanos, task: TaskId, why: Enqueue) -> History {
        let (half, history) = (self.period / 2, self.tasks[task as usize]);
        match why {
            Enqueue::New => History { woke: now, ..history },
            Enqueue::Wakeup => {
                let apart = now - history.woke;
                let proof = (half..=self.period + half).contains(&apart) && history.used <= half;
                let proofs = if proof { (history.proofs + 1).min(PROOFS) } else { 0 };
                History { woke: now, used: 0, proofs, ..history }
            }
            _ => history,
        }
    }

    /// Whether a task of that kind preempts one of the other.
    #[inline]
    fn beats(own: Kind, other: Kind) -> bool {
        own < other && (own == Kind::Refresh || other == Kind::Idle)
    }

    /// The first of the tasks that wait, and that a processor may run.
    #[inline]
    fn first(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if !self.shared.several() {
            return self.queues.iter().find_map(List::head);
        }
        self.shared.next(cx, cpu, || self.queues.iter().flat_map(|queue| queue.iter(&self.links)))
    }
}

impl Scheduler for RefreshCycle {
    const INFO: Info = Info {
        name: "refresh_cycle",
        summary: "in each audio or video refresh: refresh work, interactive, one batch slice",
        year: 2007,
        origin: "proposed by M. Mattie, linux-kernel",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[Parameter {
            name: "period",
            meaning: "one refresh of picture or sound",
            domain: Domain::Duration { low: MILLISECOND / 10, high: 10 * SECOND },
            default: Some("20ms"),
            logarithmic: true,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("refresh_cycle.rs"),
    };
    const FEATURES: Features = Features {
        // What a task is depends on what it has used.
        charges_at_wakeups: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        RefreshCycle {
            period: params.whole("period"),
            links: Links::default(),
            queues: Default::default(),
            shared: Shared::new(topology.processors()),
            end: 0,
            tasks: Vec::new(),
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.know(task);
        let own = self.ready(cx.now, task, why).kind_of(&cx.tasks[task as usize], self.period);
        let worse = |running: TaskId| {
            let theirs = self.tasks[running as usize].kind_of(&cx.tasks[running as usize], self.period);
            Self::beats(own, theirs).then_some(theirs)
        };
        self.shared.place_over(cx, task, worse)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        if !self.shared.joins(cx, task, why) {
            return;
        }
        self.know(task);
        let history = self.ready(cx.now, task, why);
        let kind = history.kind_of(&cx.tasks[task as usize], self.period);
        self.tasks[task as usize] = History { kind, ..history };
        if matches!(why, Enqueue::New | Enqueue::Wakeup) && kind == Kind::Refresh {
            self.end = cx.now + self.period;
        }
        self.queues[kind as usize].push_tail(&mut self.links, task);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if self.shared.queued(cx, cpu, task) {
            let kind = self.tasks[task as usize].kind;
            self.queues[kind as usize].remove(&mut self.links, task);
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.first(cx, cpu)?;
        let history = self.tasks[task as usize];
        self.queues[history.kind as usize].remove(&mut self.links, task);
        let slice = if history.kind <= Kind::Interactive {
            self.period - history.used
        } else {
            if self.end <= cx.now {
                // At the end of a cycle the next one begins; after a pause, it begins anew.
                self.end = cx.now + self.period;
            }
            self.end - cx.now
        };
        Some(Pick { task, slice: Some(slice) })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        self.tasks[task as usize].used += ran;
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let kind = |task: TaskId| self.kind(&cx.tasks[task as usize]);
        let beats = Self::beats(kind(woken), kind(running));
        self.shared.preempts(cpu, beats)
    }

    /// A running task that is of a worse kind now competes anew.
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let runs = cx.processors[cpu as usize].running == Some(task);
        if runs && self.kind(&cx.tasks[task as usize]) > self.kind(before) {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}
