//! Rows of the report: what a task did, or several together.

use crate::{
    blocks::{Clock, Series, Sums, least_of},
    cause::Cause,
    distribution::Distribution,
    task::{Counts, Spent, Task},
};
use serde::Serialize;
use std::collections::BTreeMap;

/// Durations in microseconds; none where there were none.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: Option<f64>,
    /// The percentiles by rank: of n values the ⌈n·p⌉-th.
    pub p50: Option<f64>,
    /// As `p50`.
    pub p90: Option<f64>,
    /// As `p50`.
    pub p99: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
    /// When the longest ended, s after the first event.
    pub max_at_s: Option<f64>,
}

impl Spread {
    pub(crate) fn of(all: &Distribution, start: u64) -> Spread {
        let us = |ns: f64| ns / 1e3;
        let [p50, p90, p99] = match all.percentiles([500, 900, 990]) {
            Some(found) => found.map(|ns| Some(us(ns))),
            None => [None; 3],
        };
        let max = all.max();
        Spread {
            mean: all.mean().map(us),
            p50,
            p90,
            p99,
            max: max.map(|(ns, _)| us(ns as f64)),
            max_at_s: max.map(|(_, at)| seconds(at.saturating_sub(start))),
        }
    }
}

/// What happened in a block of time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Block {
    /// Its number.
    pub block: u64,
    /// Run time in it, s.
    pub run_s: f64,
    /// Latencies of wakeups that ended in it, in sum, s.
    pub wakeup_wait_s: f64,
    /// Waits after preemption that ended in it, in sum, s.
    pub preempt_wait_s: f64,
    /// Sleeps before wakeups that ended in it, in sum, s.
    pub blocked_s: f64,
    /// Switches out.
    pub switches: u64,
    /// Of these, in state R.
    pub preempted: u64,
    /// Wakeups that ended in it.
    pub wakeups: u64,
    /// Their latencies: least microseconds of a cell, a sixteenth of an octave wide, and how many.
    pub latencies_us: Vec<(f64, u32)>,
}

impl From<&Sums> for Block {
    fn from(sums: &Sums) -> Block {
        Block {
            block: sums.block,
            run_s: seconds(sums.run),
            wakeup_wait_s: seconds(sums.wakeup),
            preempt_wait_s: seconds(sums.preempt_wait),
            blocked_s: seconds(sums.blocked),
            switches: sums.switches,
            preempted: sums.preempted,
            wakeups: sums.wakeups,
            latencies_us: sums.latencies.iter().map(|(cell, times)| (least_of(*cell) / 1e3, *times)).collect(),
        }
    }
}

/// What a task did, or several of them in sum. Times in s, rates per s of the span.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Row {
    /// The name: the last one that the task had.
    pub comm: String,
    /// Its number: of the thread, or of the process where rows are processes; none where it is of several.
    pub pid: Option<i32>,
    /// The process of a thread, if the file says.
    pub tgid: Option<i32>,
    /// How many tasks these are.
    pub tasks: u64,
    /// From switches in to switches out.
    pub run_s: f64,
    /// Run time over the span, of one processor.
    pub share_pct: f64,
    /// Switches out.
    pub switches_per_s: f64,
    /// Switches out in state R.
    pub preempted_per_s: f64,
    /// Switches out in other states, in all.
    pub voluntary_switches: u64,
    /// Switches out in state R, in all.
    pub involuntary_switches: u64,
    /// Wakings of it while it slept, after which it ran; none if the file has no such events.
    pub wakeups: Option<u64>,
    /// From the waking to the switch in.
    pub wakeup_us: Spread,
    /// The same in sum.
    pub wakeup_wait_s: f64,
    /// Runs.
    pub run_length_us: Spread,
    /// From switches out in a sleeping state to the wakings.
    pub blocked_s: f64,
    /// The same by what woke it.
    pub blocked_by_s: BTreeMap<Cause, f64>,
    /// From switches out in state R to the next switches in.
    pub preempt_wait_s: f64,
    /// The same, one by one.
    pub preempt_wait_us: Spread,
    /// From first wakeups of new tasks to their first switches in.
    pub start_wait_s: f64,
    /// Moves to another processor.
    pub migrations: u64,
    /// Time of which events are missing.
    pub unknown_s: f64,
    /// Time before its first event and after its last one, within the recording; it is in none of the others.
    pub cut_s: f64,
    /// Of that, the time after its last event while it ran.
    pub cut_run_s: f64,
    /// Wakeups whose end was lost; they are in `wakeups` but not in `wakeup_us`.
    pub unmeasured_wakeups: u64,
    /// Returns from sleep without a waking.
    pub unwoken: u64,
    /// The priority that the kernel gave it last: 100 to 139 is nice -20 to 19, below 100 real-time.
    pub priority: Option<u32>,
    /// By blocks of time, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Vec<Block>>,
}

/// What a row is made of.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    tasks: u64,
    spent: Spent,
    counts: Counts,
    latency: Distribution,
    runs: Distribution,
    preempt_waits: Distribution,
    series: Series,
}

/// What holds for all rows.
pub(crate) struct Frame<'a> {
    pub start: u64,
    pub span_s: f64,
    pub clock: &'a Clock,
    /// Whether wakings were recorded, migrations were, and blocks are asked for.
    pub wakings: bool,
    pub migrations: bool,
    pub blocks: bool,
}

impl Gathered {
    pub fn add(&mut self, task: &Task, frame: &Frame<'_>) {
        self.tasks += 1;
        self.spent.add(&task.spent);
        self.counts.add(&task.counts);
        self.latency.merge(&task.latency);
        self.runs.merge(&task.runs);
        self.preempt_waits.merge(&task.preempt_waits);
        if frame.blocks {
            self.series.merge(frame.clock, &task.series);
        }
    }

    /// The row, but for its name and numbers.
    pub fn row(&mut self, frame: &Frame<'_>) -> Row {
        let (spent, counts) = (&self.spent, &self.counts);
        let rate = |n: u64| if frame.span_s > 0.0 { n as f64 / frame.span_s } else { 0.0 };
        let by_cause = Cause::ALL.into_iter().zip(spent.blocked).filter(|it| it.1 > 0);
        let spread = |all: &Distribution| Spread::of(all, frame.start);
        Row {
            tasks: self.tasks,
            run_s: seconds(spent.run),
            share_pct: 100.0 * rate(spent.run) / 1e9,
            switches_per_s: rate(counts.voluntary + counts.preempted),
            preempted_per_s: rate(counts.preempted),
            voluntary_switches: counts.voluntary,
            involuntary_switches: counts.preempted,
            wakeups: frame.wakings.then_some(counts.wakeups + counts.unmeasured),
            wakeup_us: spread(&self.latency),
            wakeup_wait_s: seconds(spent.wakeup),
            run_length_us: spread(&self.runs),
            blocked_s: seconds(spent.all_blocked()),
            blocked_by_s: by_cause.map(|(cause, ns)| (cause, seconds(ns))).collect(),
            preempt_wait_s: seconds(spent.preempted),
            preempt_wait_us: spread(&self.preempt_waits),
            start_wait_s: seconds(spent.start),
            migrations: if frame.migrations { counts.migrated } else { counts.moved },
            unknown_s: seconds(spent.unknown),
            cut_s: seconds(spent.before + spent.after.iter().sum::<u64>()),
            cut_run_s: seconds(spent.after[0]),
            unmeasured_wakeups: counts.unmeasured,
            unwoken: counts.unwoken,
            blocks: frame.blocks.then(|| self.series.blocks(frame.clock).iter().map(Block::from).collect()),
            ..Row::default()
        }
    }
}

/// Nanoseconds in seconds.
pub(crate) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
