//! # stack
//!
//! Promises that a task runs to its next wait. No wait is bounded.
//!
//! ## The idea
//!
//!     A stack for each processor. The task that became able to run last is next (last come, first served).
//!
//! ## A schedule
//!
//! Three tasks that start together:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "stack" }
//! workload.a = { load = "spin", compute = "30ms" }
//! workload.b = { load = "spin", compute = "20ms" }
//! workload.c = { load = "spin", compute = "10ms" }
//! ```
//!
//! ```text
//!         0ms
//!         |
//! a#0     ###
//! b#1     ....##
//! c#2     ...#
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
//! An exercise. The mean wait is that of first come, first served, its variance is larger, and the first tasks may starve.
//!
//! ## Departures
//!
//! None. On several processors each has a stack of its own.
//!
//! ## References
//!
//! - L. Kleinrock, Queueing Systems II, 1976, chapter 3 (LCFS).

use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{CpuId, TaskId},
    topology::Topology,
};
use schedlab_policies::schedulers::{Context, Dequeue, Enqueue, Pick, Scheduler};

/// Last come, first served, to the next wait.
#[derive(Debug)]
pub struct Stack {
    ready: Vec<Vec<TaskId>>,
}

impl Scheduler for Stack {
    const INFO: Info = Info {
        name: "stack",
        summary: "last come, first served; runs to the next wait",
        year: 1976,
        origin: "queueing theory",
        promises: &[Promise::WorkConserving(Reach::EachProcessor), Promise::RunsToBlock],
        parameters: &[],
        source: include_str!("stack.rs"),
    };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Stack { ready: vec![Vec::new(); processors.into()] }
    }

    fn enqueue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        self.ready[usize::from(cpu)].push(task);
    }

    fn dequeue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.ready[usize::from(cpu)].retain(|other| *other != task);
    }

    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.ready[usize::from(cpu)].pop()?;
        Some(Pick { task, slice: None })
    }
}
