//! Periodic work with reservations, as real-time policies serve it.

use super::runs::{Run, run, scenario};
use proptest::prelude::*;
use schedlab_model::{Nanos, event::Kind};
use schedlab_policies::schedulers::Table;
use std::fmt::Write;

/// Periodic work that runs what it reserves: run and period, us; by when in the period, us; and from when on, us.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// us.
    pub run: u64,
    /// us.
    pub period: u64,
    /// From the period's begin, us.
    pub deadline: u64,
    /// us.
    pub start: u64,
}

impl Work {
    /// Due at the period's end, from the beginning on.
    pub fn plain(run: u64, period: u64) -> Work {
        Work { run, period, deadline: period, start: 0 }
    }
}

/// Runs all of it for `ms`, with a task that only computes; each a job of its own, in this order.
#[track_caller]
pub fn periodic<T: Table>(scheduler: &str, processors: u16, all: &[Work], ms: u64) -> Run {
    let mut text = format!(
        "machine = {{ preset = \"uniform\", processors = {processors} }}\nduration = \"{ms}ms\"\n\
         scheduler = {{ {scheduler} }}\nworkload.z = {{ load = \"spin\", passes = \"forever\" }}\n"
    );
    for (job, Work { run, period, deadline, start }) in all.iter().enumerate() {
        let reservation = format!("{{ runtime = \"{run}us\", deadline = \"{deadline}us\", period = \"{period}us\" }}");
        writeln!(
            text,
            "workload.job{job:02} = {{ load = \"periodic\", run = \"{run}us\", period = \"{period}us\", \
             periods = 1000000, start = \"{start}us\", reservation = {reservation} }}"
        )
        .unwrap();
    }
    run::<T>(&scenario(&text), 1)
}

/// Whether a task's reservation was granted.
pub fn granted(run: &Run, task: usize) -> bool {
    run.of(Kind::Refused).all(|event| event.task != task as u32)
}

/// How late the work of a task was at worst, ns past its deadline; nothing if it was always in time.
pub fn lateness(run: &Run, task: usize, work: Work) -> Option<Nanos> {
    let done = run.of(Kind::Period).filter(|event| event.task == task as u32);
    let due = |period: usize| 1000 * (work.start + period as u64 * work.period + work.deadline);
    done.enumerate().filter_map(|(period, event)| event.time.checked_sub(due(period) + 1)).max().map(|late| late + 1)
}

/// Any work, much or little of it.
pub fn any_work() -> impl Strategy<Value = Vec<Work>> {
    let one = (1..20_000u64, 0..20_000u64, 0..20_000u64, 0..40_000u64);
    let one = one.prop_map(|(run, more, yet_more, start)| {
        let deadline = run + more;
        Work { run, deadline, period: deadline + yet_more, start }
    });
    prop::collection::vec(one, 1..9)
}
