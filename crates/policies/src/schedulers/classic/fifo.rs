//! # fifo
//!
//! Promises that tasks run in order of arrival. No wait is bounded: the running task keeps the processor until it next waits.
//!
//! ## The idea
//!
//!     One queue. A task that becomes able to run joins the tail.
//!     The head runs until it waits, yields or ends. No task is preempted.
//!     On several processors each of them serves the one queue: it takes the first task that it may run.
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
//! Enqueue and pick: constant; on several processors, linear in the waiting tasks up to the first that may run there.
//!
//! ## Good for, not for
//!
//! Batch work of equal length, with the fewest context switches possible. One long task keeps all others waiting (convoy
//! effect), and a task that never waits starves all others.
//!
//! ## Departures
//!
//! None: this is the textbook rule (with c processors, the queue M/G/c). It is not SCHED_FIFO, which has priorities above it.
//!
//! ## References
//!
//! - L. Kleinrock, Queueing Systems I, 1975, chapter 3 (M/M/1, M/M/m).

use crate::schedulers::{Balance, Context, Dequeue, Enqueue, Pick, Scheduler, kit::shared_queue::SharedQueue};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{CpuId, TaskId},
    topology::Topology,
};

/// First come, first served, to the next wait.
#[derive(Debug)]
pub struct Fifo {
    queue: SharedQueue,
}

impl Scheduler for Fifo {
    const INFO: Info = Info {
        name: "fifo",
        summary: "first come, first served; runs to the next wait",
        year: 1956,
        origin: "batch monitors",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::RunsToBlock],
        parameters: &[],
        source: schedlab_model::documentation!("fifo.rs"),
    };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Fifo { queue: SharedQueue::new(processors) }
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
        Some(Pick { task, slice: None })
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.queue.pulled()
    }
}
