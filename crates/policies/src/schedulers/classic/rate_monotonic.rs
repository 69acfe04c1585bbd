//! # rate_monotonic
//!
//! Promises every task whose reservation is granted the reserved time in every period, before its deadline, by fixed
//! priorities, as long as no task uses more than it reserved.
//!
//! ## The idea
//!
//!     A task with a reservation has a priority for life: the shorter its period, the higher. The highest runs, and
//!     preempts a lower one.
//!     A reservation is granted by the first processor on which all granted reservations still meet their deadlines, and
//!     its task stays there. All others run round-robin when no task with a reservation is ready.
//!
//! ## The formula
//!
//!     utilization:    sum of  C / T  <=  n (2^(1/n) - 1)         sufficient, where D >= T
//!     response_time:  R = C + sum over higher priorities of  ceil(R / T_h) * C_h,    R <= min(D, T) for all
//!
//! C reserved time, T period, D deadline from a period's begin, in ns; n reservations on the processor; R, the least
//! solution, is how long the task's work takes at worst, when all begin together. The second test refuses no set that can
//! meet its deadlines.
//!
//! ## A schedule
//!
//! Two tasks that reserve 2 ms in 5 and 4 ms in 7 without being tested, and a third without reservation. The second is
//! late at 7 ms, where `edf` is not:
//!
//! ```toml
//! machine = "uniform"
//! duration = "35ms"
//! scheduler = { name = "rate_monotonic", admission = "none" }
//! workload.five = { load = "periodic", run = "2ms", period = "5ms", reservation = { runtime = "2ms", period = "5ms" } }
//! workload.seven = { load = "periodic", run = "4ms", period = "7ms", reservation = { runtime = "4ms", period = "7ms" } }
//! workload.hog = { load = "spin", passes = "forever" }
//! ```
//!
//! ```text
//!          0ms       10ms      20ms      30ms
//!          |         |         |         |
//! five#0   ##   ##   ##   ##   ##   ##   ##
//! hog#1    ..................................#
//! seven#2  ..###..###..###..### .###..###..##
//! idle 0
//!          a column is 1ms
//!          # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the tasks that wait. Admission by utilization: linear in the reservations of a
//! processor; by response time: for each of them, as many steps as releases fit into its response.
//!
//! ## Good for, not for
//!
//! Periodic work on any kernel with fixed priorities; which tasks are late in an overload is known beforehand: those with
//! the longest periods. Up to 31 % of a processor cannot be promised to many tasks of unrelated periods; `edf` can promise it.
//!
//! ## Departures
//!
//! Reserved time is not enforced. Where D < T priorities still follow the period; `utilization` does not cover such tasks
//! and refuses them. Equal periods: the older task first. The capacity of a reservation that ends is available to others a
//! period later; in a message-passing kernel, whose tasks do not report when they end, never. The textbook has one
//! processor; on several, each has its own (partitioned, first fit in order of number), and only tasks without a
//! reservation are pulled. There is no global placement: with priorities over all processors a task can be late although all
//! together use little more than one of them (Dhall). `response_time` stops, and refuses, after 10000 steps. Real-time policies
//! without a reservation (fifo, rr) are as all others.
//!
//! ## References
//!
//! - C. L. Liu, J. W. Layland: Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment, Journal of the
//!   ACM 20(1), 1973, theorems 2 to 5.
//! - S. K. Dhall, C. L. Liu: On a Real-Time Scheduling Problem, Operations Research 26(1), 1978.
//! - M. Joseph, P. Pandya: Finding Response Times in a Real-Time System, Computer Journal 29(5), 1986.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Pick, Preempt, Scheduler,
    kit::reserved::{Reserved, reservation},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    real::pow,
    task::{CpuId, Reservation, TaskId},
    topology::Topology,
};

/// The least goes first: a period, and the task that has it.
type Priority = (Nanos, TaskId);

/// Steps after which the search for a response time is given up.
const STEPS: usize = 10_000;

/// A reservation that was granted.
#[derive(Debug, Clone, Copy)]
struct Granted {
    priority: Priority,
    wish: Reservation,
}

/// How a processor judges reservations: those granted and the new one, by priority.
type Test = fn(&[Granted]) -> bool;

/// The bound of Liu and Layland.
fn below_the_bound(all: &[Granted]) -> bool {
    let n = all.len() as f64;
    let sum: f64 = all.iter().map(|one| one.wish.runtime as f64 / one.wish.period as f64).sum();
    all.iter().all(|one| one.wish.deadline >= one.wish.period) && sum <= n * (pow(2.0, 1.0 / n) - 1.0)
}

/// The exact test.
fn responds_in_time(all: &[Granted]) -> bool {
    (0..all.len()).all(|place| {
        let own = all[place].wish;
        let limit = own.deadline.min(own.period);
        let demand = |response: Nanos| {
            let higher = all[..place].iter().map(|one| response.div_ceil(one.wish.period) * one.wish.runtime);
            own.runtime + higher.sum::<Nanos>()
        };
        let mut response = own.runtime;
        for _ in 0..STEPS {
            match demand(response) {
                longer if longer > limit => return false,
                same if same == response => return true,
                longer => response = longer,
            }
        }
        false
    })
}

/// The shortest period runs.
#[derive(Debug)]
pub struct RateMonotonic {
    slice: Nanos,
    test: Test,
    queue: Reserved<Priority>,
    /// For each processor, what it has granted, by priority.
    granted: Vec<Vec<Granted>>,
}

/// The priority of a task; those without a reservation come last.
#[inline]
fn priority(cx: &Context<'_>, task: TaskId) -> Priority {
    (reservation(cx, task).map_or(Nanos::MAX, |wish| wish.period), task)
}

impl Scheduler for RateMonotonic {
    const INFO: Info = Info {
        name: "rate_monotonic",
        summary: "shortest period first, by reservation; the rest round-robin",
        year: 1973,
        origin: "Liu and Layland",
        promises: &[Promise::WorkConserving(Reach::EachProcessor)],
        parameters: &[
            Parameter {
                name: "admission",
                meaning: "which reservations are granted: by the bound of Liu and Layland, by the exact test, or all",
                domain: Domain::Choice { names: &["utilization", "response_time", "none"] },
                default: Some("response_time"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "slice",
                meaning: "slice of a task without reservation while others wait",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("rate_monotonic.rs"),
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        RateMonotonic {
            slice: params.whole("slice"),
            test: match params.name("admission") {
                "utilization" => below_the_bound,
                "response_time" => responds_in_time,
                _ => |_| true,
            },
            queue: Reserved::partitioned(processors),
            granted: vec![Vec::new(); processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.queue.place(cx, task, |_| None)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let key = reservation(cx, task).map(|wish| (wish.period, task));
        self.queue.join(cx, cpu, task, why, key);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.queue.leave(cx, cpu, task);
        if let (Dequeue::Exit, Some(wish)) = (why, reservation(cx, task)) {
            cx.set_timer(cx.now + wish.period, cpu, task);
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.next(cx, cpu)?;
        Some(Pick { task, slice: reservation(cx, task).is_none().then_some(self.slice) })
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        (reservation(cx, woken).is_some() && priority(cx, woken) < priority(cx, running)).into()
    }

    fn admits(&mut self, cx: &mut Context<'_>, task: TaskId) -> bool {
        let Some(wish) = reservation(cx, task) else { return false };
        let wanted = Granted { priority: (wish.period, task), wish };
        let room = |cpu: CpuId| {
            let all = &mut self.granted[cpu as usize];
            let place = all.partition_point(|one| one.priority < wanted.priority);
            all.insert(place, wanted);
            let granted = (self.test)(all);
            if !granted {
                all.remove(place);
            }
            granted
        };
        self.queue.grant(cx, task, room).is_some()
    }

    /// A period after a task has ended.
    fn timer(&mut self, _: &mut Context<'_>, cpu: CpuId, task: u32) {
        self.granted[cpu as usize].retain(|one| one.priority.1 != task);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        if why == Balance::Idle { self.queue.pull(cx, cpu) } else { None }
    }
}
