//! # round_robin
//!
//! Promises each of n equal tasks 1/n of the processors, and a slice after a wait of at most (n-1) slices.
//!
//! ## The idea
//!
//!     One queue. A task that becomes able to run joins the tail.
//!     The head runs for one slice at most, then goes to the tail.
//!     On several processors each of them serves the one queue: it takes the first task that it may run.
//!
//! ## The formula
//!
//!     wait between two slices  =  (n - 1) * (s + c)
//!
//! n tasks in the queue, s slice, c cost of a context switch; the part of the processor lost to switching is c / (s + c).
//! With `slice_size` the slice is a number of clock ticks: it ends at a tick, so a task that began between two ticks gets
//! a shorter first tick.
//!
//! ## A schedule
//!
//! Three tasks that start together:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "round_robin", slice = "10ms" }
//! workload.a = { load = "spin", compute = "30ms" }
//! workload.b = { load = "spin", compute = "20ms" }
//! workload.c = { load = "spin", compute = "10ms" }
//! ```
//!
//! ```text
//!         0ms
//!         |
//! a#0     #..#.#
//! b#1     .#..#
//! c#2     ..#
//! idle 0
//!         a column is 10ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant; on several processors, linear in the waiting tasks up to the first that may run there.
//!
//! ## Good for, not for
//!
//! Equal tasks. A task that waits often pays a whole round for every wait, since it joins the tail behind tasks that
//! use their whole slices.
//!
//! ## Departures
//!
//! None from the textbook rule: the slice is exact, not rounded to clock ticks. A slice that ends while no other task is
//! queued is renewed without a switch.
//!
//! `slice_size` is the parameter of that name of IRIX, whole ticks of 10 ms, 3 as shipped. At the end of a slice, or when
//! the running process waits, IRIX looks for the highest priority in its runqueue and runs equal ones round-robin. Here
//! all priorities are equal, as they are between processes that only compute; those that wait gain priority there, and
//! none here. Other rules of slices by ticks: `minix`.
//!
//! ## References
//!
//! - L. Kleinrock, Queueing Systems II, 1976, section 4.4.
//! - IRIX 6.2: mtune/kernel (`slice_size`); systune(1M).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Scheduler, Ticks, kit::shared_queue::SharedQueue,
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, TaskId},
    topology::Topology,
};

/// Round robin with one slice per task.
#[derive(Debug)]
pub struct RoundRobin {
    /// An exact slice; none if it is counted in ticks.
    slice: Option<Nanos>,
    slice_size: u64,
    /// For each processor, the ticks left of the slice.
    ticks_left: Vec<u64>,
    queue: SharedQueue,
}

impl Scheduler for RoundRobin {
    const INFO: Info = Info {
        name: "round_robin",
        summary: "a slice for each task, in order of arrival",
        year: 1961,
        origin: "CTSS and the first time-sharing systems",
        promises: &[
            Promise::WorkConserving(Reach::Everywhere),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FairToEquals(Reach::Unbound),
        ],
        parameters: &[
            Parameter {
                name: "slice",
                meaning: "longest run without a switch while others wait",
                domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: Some("rr_slice"),
            },
            Parameter {
                name: "slice_size",
                meaning: "the slice in whole clock ticks, in place of `slice`; 0: not in ticks",
                domain: Domain::Count { low: 0, high: 100 },
                default: Some("0"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("round_robin.rs"),
    };
    const FEATURES: Features = Features { ticks: true, passes_ticks: true, passes_idle_ticks: true, ..Features::NONE };

    fn ticks(params: &Params) -> bool {
        params.whole("slice_size") > 0
    }

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        let slice_size = params.whole("slice_size");
        RoundRobin {
            slice: (slice_size == 0).then(|| params.whole("slice")),
            slice_size,
            ticks_left: vec![slice_size; processors.into()],
            queue: SharedQueue::new(processors),
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.queue.place(cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        self.queue.join(cx, task, why);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.queue.leave(cx, cpu, task, why);
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.next(cx, cpu)?;
        if self.slice.is_none() {
            self.ticks_left[cpu as usize] = self.slice_size;
        }
        Some(Pick { task, slice: self.slice })
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.slice.is_some() || cx.processors[cpu as usize].running.is_none() {
            return;
        }
        let left = &mut self.ticks_left[cpu as usize];
        *left = left.saturating_sub(1);
        if *left == 0 {
            cx.resched(cpu);
        }
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.queue.pulled()
    }

    fn quiet_ticks(&self, _: &Context<'_>, cpu: CpuId, _: TaskId) -> Ticks {
        Ticks { clock: self.ticks_left[cpu as usize].saturating_sub(1), statistics: 0 }
    }

    fn pass_ticks(&mut self, _: &Context<'_>, cpu: CpuId, _: TaskId, ticks: Ticks) {
        self.ticks_left[cpu as usize] -= ticks.clock;
    }

    #[inline]
    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        Ticks::ALL
    }
}
