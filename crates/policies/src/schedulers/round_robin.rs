//! # round_robin
//!
//! Promises n equal tasks 1/n of the processor each, and each of them a turn within (n-1) slices.
//!
//! ## The idea
//!
//!     One queue a processor. A task that becomes able to run joins the tail.
//!     The head runs for one slice at most, then goes to the tail.
//!
//! ## The formula
//!
//!     wait between two turns  =  (n - 1) * (s + c)
//!
//! n tasks in the queue, s slice, c cost of a context switch; the part of the processor lost to switching is c / (s + c).
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
//! Enqueue and pick: constant.
//!
//! ## Good for, not for
//!
//! Equal tasks. A task that waits often pays a whole round for every wait, since it joins the tail behind tasks that
//! use their whole slices.
//!
//! ## Departures
//!
//! None: this is the textbook rule. The slice is exact, not rounded to clock ticks; see `minix` for what ticks do to it.
//! A slice that ends while nobody else is queued is renewed without a switch.
//!
//! ## References
//!
//! - L. Kleinrock, Queueing Systems II, 1976, section 4.4.

use super::{Context, Dequeue, Enqueue, Pick, Scheduler, queue::Queues};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise},
    task::{CpuId, TaskId},
};

/// Turns of one slice each.
#[derive(Debug)]
pub struct RoundRobin {
    slice: Nanos,
    queues: Queues,
}

impl Scheduler for RoundRobin {
    const INFO: Info = Info {
        name: "round_robin",
        summary: "turns of one slice each, in order of arrival",
        year: 1961,
        origin: "CTSS and the first time-sharing systems",
        promises: &[Promise::WorkConserving, Promise::StarvationFree, Promise::FairToEquals],
        parameters: &[Parameter {
            name: "slice",
            meaning: "longest stretch of running while others wait",
            domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
            default: Some("100ms"),
            logarithmic: true,
            host: Some("/proc/sys/kernel/sched_rr_timeslice_ms"),
        }],
        source: include_str!("round_robin.rs"),
    };

    fn new(params: &Params, processors: u16, _: Nanos) -> Self {
        RoundRobin { slice: params.whole("slice"), queues: Queues::new(processors) }
    }

    #[inline]
    fn enqueue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.queues.join(cpu, task);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.queues.leave(cx, cpu, task);
    }

    #[inline]
    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queues.next(cpu)?;
        Some(Pick { task, slice: Some(self.slice) })
    }
}
