//! The loads of the benchmark, on one simulated processor whose every cost is 0: what remains is the event loop.

use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos, SECOND,
    machine::Machine,
    program::{Forever, Repeat, Span, Step, Times},
    scenario::{Choice, Job, Scenario, Setting},
    units::Duration,
};
use std::collections::BTreeMap;

/// Slice of the ring.
pub const SLICE: Nanos = MILLISECOND;
/// Shortest and longest run between two sleeps.
pub const RUN: [Nanos; 2] = [100 * MICROSECOND, 500 * MICROSECOND];
/// Share of the processor that the sleepers want together, in tenths.
const UTILIZATION_TENTHS: Nanos = 9;
/// Name of the only job; it seeds the tasks' random numbers.
pub const JOB: &str = "load";

/// What the tasks do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Tasks that never wait, under `round_robin`: every switch is the end of a slice.
    Ring,
    /// Tasks that run and sleep for random times, under `fifo`: every switch is a sleep, and every run follows a wakeup.
    Sleepers,
    /// The same sleepers as the examples write them, with `passes = "forever"`: each round is a pass, whose length is a metric.
    Passes,
}

impl Load {
    /// The load of that name.
    pub fn named(name: &str) -> Option<Load> {
        match name {
            "ring" => Some(Load::Ring),
            "sleepers" => Some(Load::Sleepers),
            "passes" => Some(Load::Passes),
            _ => None,
        }
    }

    /// How long a simulation lasts in which about `switches` context switches happen.
    pub fn duration(self, tasks: u32, switches: u64) -> Nanos {
        match self {
            // No slice ends at the very end.
            Load::Ring => switches * SLICE + 1,
            Load::Sleepers | Load::Passes => switches * between_starts() + u64::from(tasks) * between_starts() / 2,
        }
    }

    /// The scenario with a number of tasks and about a number of switches.
    pub fn scenario(self, tasks: u32, switches: u64) -> Scenario {
        let scheduler = match self {
            Load::Ring => scheduler("round_robin", [("slice", slice())]),
            Load::Sleepers | Load::Passes => scheduler("fifo", []),
        };
        Scenario {
            machine: machine(serde_json::json!({ "name": "bare", "processors": 1 })),
            scheduler,
            elevator: None,
            cache: None,
            reclaim: None,
            workload: BTreeMap::from([(JOB.to_owned(), self.job(tasks, 1))]),
            groups: BTreeMap::new(),
            duration: Some(Duration(self.duration(tasks, switches))),
            shared: BTreeMap::new(),
            tunables: BTreeMap::new(),
            attention: None,
            recording: None,
        }
    }

    /// A job of that many tasks, divided among the processors.
    pub fn job(self, tasks: u32, processors: u32) -> Job {
        match self {
            Load::Ring => job(tasks, vec![Step::Compute(Span::Fixed(Duration(1_000_000_000 * SECOND)))], None),
            Load::Sleepers | Load::Passes => {
                let sleep = uniform(sleep(tasks / processors));
                let round = vec![Step::Compute(uniform(RUN)), Step::Sleep(sleep)];
                let times = Times::Word(Forever::Forever);
                let gap = Some(Span::Fixed(Duration(between_starts() / u64::from(processors))));
                match self {
                    Load::Passes => Job { passes: times, ..job(tasks, round, gap) },
                    _ => job(tasks, vec![Step::Repeat(Repeat { times, steps: round })], gap),
                }
            }
        }
    }
}

/// The ring's, as it is written.
pub fn slice() -> Setting {
    Setting::Text(format!("{SLICE}ns"))
}

/// Time between two starts of sleepers, and, on average, between two wakeups ever after.
pub fn between_starts() -> Nanos {
    (RUN[0] + RUN[1]) / 2 * 10 / UTILIZATION_TENTHS
}

/// Shortest and longest sleep of each of `tasks` tasks. Together they want their share of the processor: with n tasks a
/// round of running, waiting and sleeping takes n times the time between two wakeups; the wait is small compared with it.
pub fn sleep(tasks: u32) -> [Nanos; 2] {
    let mean = u64::from(tasks) * between_starts() - (RUN[0] + RUN[1]) / 2;
    [mean / 2, mean + mean / 2]
}

fn uniform([low, high]: [Nanos; 2]) -> Span {
    Span::Uniform { uniform: [Duration(low), Duration(high)] }
}

/// A scheduler with settings.
pub fn scheduler<const N: usize>(name: &str, settings: [(&str, Setting); N]) -> Choice {
    let settings = settings.map(|(name, value)| (name.to_owned(), value)).into();
    Choice { name: name.to_owned(), settings }
}

/// A machine of which only this is said: nothing costs anything on it.
pub fn machine(said: serde_json::Value) -> Machine {
    serde_json::from_value(said).expect("a name and a number suffice")
}

fn job(tasks: u32, steps: Vec<Step>, gap: Option<Span>) -> Job {
    let job = serde_json::json!({ "count": tasks });
    Job { steps: Some(steps), gap, ..serde_json::from_value(job).expect("all other fields have defaults") }
}
