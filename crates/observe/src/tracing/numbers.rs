//! A recording in numbers: those rows of the metrics table that the scheduler's events alone determine, and how long
//! tasks ran without interruption.

use super::{Recorded, roster::Roster};
use crate::Number;
use schedlab_metrics::{Collector, Histogram, Setup};
use schedlab_model::{
    event::{Event, Kind, Leave, Observer},
    machine::Accounting,
};

/// What can be known from switches and wakeups. Missing are: the split of user and system time, interrupts, what idle
/// processors wait for, passes, periods, files and memory, and the
/// begin of tasks that were there before the recording.
#[rustfmt::skip]
const KNOWN: [&str; 28] = [
    "elapsed", "utilization", "run_queue", "load1", "load5", "load15", "load_mean", "context_switches",
    "voluntary_switches", "involuntary_switches", "migrations", "wakeup_latency", "run_wait", "real", "share", "wait",
    "longest_gap", "turnaround", "waiting", "queueing", "slowdown", "bounded_slowdown", "jain", "jain_1s", "uneven",
    "completed", "wasted", "wasted.longest",
];

impl Recorded {
    /// The numbers of the run, by the names of the metrics table.
    pub fn rows(&self, roster: &Roster) -> Vec<Number> {
        let setup = Setup {
            jobs: roster.jobs.clone(),
            processors: roster.processors.len() as u16,
            accounting: Accounting::Exact,
            ..Setup::default()
        };
        let mut collector = Collector::new(setup);
        self.replay(roster, &mut collector);
        let report = collector.finish(roster.length());
        let known = report.rows.into_iter().filter(|row| {
            let metric = schedlab_metrics::find(&row.metric, &roster.jobs);
            metric.is_ok_and(|metric| {
                let needs_affinity = metric.name.starts_with("wasted");
                KNOWN.contains(&metric.name) && !(needs_affinity && roster.allowed.is_empty())
            })
        });
        known.map(|row| Number { metric: row.metric, unit: row.unit.to_owned(), value: row.value }).collect()
    }

    /// The uninterrupted run lengths of each job's tasks: the slice they got, to compare with the one they requested.
    pub fn run_lengths(&self, roster: &Roster) -> Vec<RunLengths> {
        let empty = || [Lengths::default(), Lengths::default()];
        let mut stretches = Stretches { job_of: Vec::new(), jobs: roster.jobs.iter().map(|_| empty()).collect() };
        self.replay(roster, &mut stretches);
        let named = roster.jobs.iter().zip(&stretches.jobs);
        named
            .map(|(job, [left, taken])| RunLengths {
                job: job.clone(),
                left: Spread::of(left),
                taken: Spread::of(taken),
            })
            .collect()
    }
}

/// Run lengths of a job's tasks, from switch-in to switch-out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunLengths {
    /// The job.
    pub job: String,
    /// Runs that ended because the task waited or ended; none, if there were none.
    pub left: Option<Spread>,
    /// Runs that ended although the task could have gone on: the slices in effect.
    pub taken: Option<Spread>,
}

/// A distribution of lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Half of them are shorter, ns.
    pub p50_ns: u64,
    /// 95 of 100 are shorter, ns.
    pub p95_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
}

impl Spread {
    fn of(lengths: &Lengths) -> Option<Spread> {
        Some(Spread {
            count: lengths.all.count(),
            p50_ns: lengths.all.quantile(0.5)?,
            p95_ns: lengths.all.quantile(0.95)?,
            max_ns: lengths.longest,
        })
    }
}

/// Lengths as they come; the longest is exact, the others are those of a histogram.
#[derive(Debug, Clone, Default)]
struct Lengths {
    all: Histogram,
    longest: u64,
}

/// Collects run lengths as they end.
struct Stretches {
    /// Job by number of task.
    job_of: Vec<u64>,
    /// By job: those that it left, those that were taken from it.
    jobs: Vec<[Lengths; 2]>,
}

impl Observer for Stretches {
    fn observe(&mut self, event: Event) {
        match event.kind {
            // Tasks are reported in the order of their numbers.
            Kind::Created => self.job_of.push(event.a),
            Kind::SwitchOut if event.flag != Leave::Stopped as u8 => {
                let job = self.job_of.get(event.task as usize);
                let lengths = job.and_then(|&job| self.jobs.get_mut(job as usize));
                if let Some(lengths) = lengths {
                    let lengths = &mut lengths[usize::from(event.flag == Leave::Preempted as u8)];
                    lengths.all.record(event.a);
                    lengths.longest = lengths.longest.max(event.a);
                }
            }
            _ => {}
        }
    }
}
