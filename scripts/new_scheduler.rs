//! # my_policy
//!
//! TODO One sentence: what it promises, and to whom.
//!
//! ## The idea
//!
//!     TODO In prose, indented, as one would tell it. This file starts as fifo: one queue a processor, the head runs to
//!     its next wait.
//!
//! ## The formula
//!
//!     TODO  name  =  formula
//!
//! TODO Every symbol, with its unit.
//!
//! ## A schedule
//!
//! TODO Three tasks that show what is special; `cargo test -p schedlab-sim --test kernel drawn` compares:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "my_policy" }
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
//! Enqueue and pick: TODO constant.
//!
//! ## Good for, not for
//!
//! TODO
//!
//! ## Departures
//!
//! TODO What the original does, what we do, why; or: None.
//!
//! ## References
//!
//! - TODO Paper and section; kernel, version, file and function.

use crate::schedulers::{Context, Dequeue, Enqueue, Pick, Scheduler, kit::queue::Queues};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{CpuId, TaskId},
    topology::Topology,
};

/// TODO What it is, in a line.
#[derive(Debug)]
pub struct MyPolicy {
    queues: Queues,
}

impl Scheduler for MyPolicy {
    const INFO: Info = Info {
        name: "my_policy",
        summary: "TODO one line",
        year: THIS_YEAR,
        origin: "TODO where it comes from",
        promises: &[Promise::WorkConserving(Reach::EachProcessor), Promise::RunsToBlock],
        parameters: &[],
        source: schedlab_model::documentation!("my_policy.rs"),
    };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        MyPolicy { queues: Queues::new(processors) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Processor, View, Wishes};
    use schedlab_model::{MILLISECOND, processors::PerProcessor, rng::Rng};

    #[test]
    fn tasks_run_in_the_order_in_which_they_came() {
        let params = Params::check(&MyPolicy::INFO, []).expect("the defaults are right");
        let mut policy = MyPolicy::new(&params, &Topology::uniform(1), 10 * MILLISECOND);
        let view = View { processors: PerProcessor::new(1, |_| Processor::default()), ..View::default() };
        let mut cx = Context { now: 0, view: &view, rng: &mut Rng::stream(1, 1), wishes: &mut Wishes::default() };
        for task in [2, 0, 1] {
            policy.enqueue(&mut cx, 0, task, Enqueue::New);
        }
        let picked = std::iter::from_fn(|| policy.pick_next(&mut cx, 0)).map(|pick| pick.task);
        assert_eq!(picked.collect::<Vec<_>>(), [2, 0, 1]);
    }
}
