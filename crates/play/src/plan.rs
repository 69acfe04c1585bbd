//! What the agent is asked to do, and what it answers: both JSON, one run each.

use crate::volume::Volume;
use schedlab_model::{scenario::Scenario, units::Duration};
use schedlab_observe::Number;
use schedlab_tune::Mismatch;
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf};

/// One run of a scenario with real tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What to run. Of its machine only the number of processors is heeded, its policies not at all: the kernel has its own.
    pub scenario: Scenario,
    /// Of the random numbers that tasks draw: the same ones as in a simulated run of the same seed.
    pub seed: u64,
    /// How much real work a second of processor time is.
    pub calibration: Calibration,
    /// Settings of the host for this run by the names of `tunables::TUNABLES`; put back when it ends.
    #[serde(default)]
    pub tunables: BTreeMap<String, String>,
    /// Slice that tasks of ordinary policy ask for, where their job does not say (`sched_setattr`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Duration>,
    /// How.
    #[serde(default)]
    pub options: Options,
}

/// How much real work a second of processor time is, measured on a quiet processor. All runs of an experiment take the same
/// numbers: a slower moment shows as a longer run, not as less work.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Rounds of the compute loop in a second of processor time.
    pub rounds_per_second: f64,
    /// System calls of the cheapest kind in a second of processor time.
    pub calls_per_second: f64,
    /// Half-width of the spread of the measurements the first number is the median of, as a share of it.
    pub spread: f64,
}

/// How a plan is to be run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Folder for the files that tasks read and write; emptied afterwards of what was made in it.
    pub scratch: PathBuf,
    /// A file system of the run's own for those files, below that folder; in the folder itself, without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume: Option<Volume>,
    /// Whether the scheduler's events are recorded, which most metrics of waiting need.
    pub trace: Trace,
    /// Where to leave the recording, if it is wanted.
    pub recording: Option<PathBuf>,
    /// Most bytes of a recording, compressed, that is to come with the answer; it is to stay here, if none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enclose: Option<u64>,
    /// Buffer of events for each processor, KiB.
    pub buffer_kib: u32,
    /// Interval at which the buffers are emptied during a run. Emptying them preempts a task.
    pub drain_every: Duration,
    /// How often the system's counters are sampled during the run; only before and after, if none.
    pub sample: Option<Duration>,
    /// Where to leave the samples, a JSON line each.
    pub samples: Option<PathBuf>,
    /// Processors of the host that are used as the scenario's 0, 1, 2 ...; the first ones, if none are named.
    pub processors: Vec<u16>,
    /// Where changed settings are remembered until they are put back.
    pub journal: PathBuf,
    /// Whether groups that the kernel cannot make are a fault and not a warning: a guest permits everything that its kernel supports.
    pub strict: bool,
    /// A run that takes longer than this is ended, with a warning.
    pub at_most: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            scratch: std::env::temp_dir(),
            volume: None,
            trace: Trace::Auto,
            recording: None,
            enclose: None,
            buffer_kib: 16 << 10,
            drain_every: Duration(500 * schedlab_model::MILLISECOND),
            sample: None,
            samples: None,
            processors: Vec::new(),
            journal: schedlab_tune::journal_folder(),
            strict: false,
            at_most: Duration(3600 * schedlab_model::SECOND),
        }
    }
}

/// Whether the scheduler's events are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trace {
    /// If the host permits it; else with a warning.
    #[default]
    Auto,
    /// No.
    Off,
    /// Yes, or the run is refused.
    Required,
}

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The numbers, by the names of the metrics table.
    pub rows: Vec<Number>,
    /// What makes them worth less than they look.
    pub warnings: Vec<Caution>,
    /// Settings that another process changed during the run: its results are not valid for any setting.
    #[serde(default)]
    pub changed: Vec<Mismatch>,
    /// The recording, if it was to come with the answer: the file, compressed (zlib), in base 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<String>,
    /// The state of the host, before and during the run.
    pub environment: Environment,
    /// When the tasks began, ns of the wall clock since 1970, for people only.
    pub began_unix_ns: u64,
}

/// A warning, as a simulated run gives it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caution {
    /// What was seen.
    pub seen: String,
    /// Why it may mislead.
    pub why: String,
    /// What to do.
    pub advice: String,
}

/// What else went on while the tasks ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Share of the run's processors that tasks of others used, during the run, percent.
    pub foreign_percent: f64,
    /// Share that the hypervisor gave to other machines, percent; none where the kernel does not report it.
    pub steal_percent: Option<f64>,
    /// Longest time in which a processor that should have run did not, ns, as the noise monitor saw it; none without one.
    pub longest_hole_ns: Option<u64>,
    /// Times that tasks of others woke up on the run's processors; known only with a recording.
    pub foreign_wakeups: Option<u64>,
    /// Processor time that the agent itself used on the run's processors, percent.
    pub own_percent: f64,
    /// Events of the scheduler that the recording lost.
    pub lost_events: u64,
    /// Mean processor time that a task of the workload took before it began, ns: the agent makes them before the run.
    #[serde(default)]
    pub making_ns: u64,
    /// And after it had ended, or was stopped. Neither is in any other number.
    #[serde(default)]
    pub unmaking_ns: u64,
}
