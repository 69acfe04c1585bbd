//! # fifo
//!
//! Promises everybody a turn in order of arrival, and nobody a limit: who has the processor keeps it to the next wait.
//!
//! ## The idea
//!
//!     One queue a processor. A task that becomes able to run joins the tail.
//!     The head runs until it waits, yields or ends. Nobody is preempted.
//!
//! ## A schedule
//!
//! Three tasks that start together:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "fifo" }
//! workload.a = { load = "spin", compute = "30ms" }
//! workload.b = { load = "spin", compute = "20ms" }
//! workload.c = { load = "spin", compute = "10ms" }
//! ```
//!
//! ```text
//!         0ms
//!         |
//! a#0     ###
//! b#1     ...##
//! c#2     .....#
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
//! Batch work of equal length; the least switching there can be. One long task keeps all others waiting (convoy), and a
//! task that never waits starves everybody.
//!
//! ## Departures
//!
//! None: this is the textbook rule. It is not SCHED_FIFO, which has priorities above it.
//!
//! ## References
//!
//! - L. Kleinrock, Queueing Systems I, 1975, chapter 3 (M/M/1).

use super::{Context, Dequeue, Enqueue, Pick, Scheduler, queue::Queues};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise},
    task::{CpuId, TaskId},
};

/// First come, first served, to the next wait.
#[derive(Debug)]
pub struct Fifo {
    queues: Queues,
}

impl Scheduler for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        summary: "first come, first served; runs to the next wait",
        year: 1956,
        origin: "batch monitors",
        promises: &[Promise::WorkConserving, Promise::RunsToBlock],
        parameters: &[],
        source: include_str!("fifo.rs"),
    };

    fn new(_: &Params, processors: u16, _: Nanos) -> Self {
        Fifo { queues: Queues::new(processors) }
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
        Some(Pick { task, slice: None })
    }
}
