//! The roster of a run: its tasks, and when it was.

use schedlab_model::{event::Attributes, names::RunGroup, processors::CpuSet};

/// The tasks of a run, where they ran, and when.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Roster {
    /// Names of the jobs.
    pub jobs: Vec<String>,
    /// The tasks. What they fork during the run belongs to their jobs, too.
    pub tasks: Vec<RosterTask>,
    /// Processors of the host that are the run's 0, 1, 2 ...; what handle elsewhere is not of the run.
    pub processors: Vec<u16>,
    /// By job, which of them its tasks may use; empty if that is not known, or changes.
    pub allowed: Vec<CpuSet>,
    /// By job, how its tasks are treated at first, and the slice for which they ask, ns, or 0; empty if that is not known.
    pub treated: Vec<(Attributes, u64)>,
    /// The groups that the run has made.
    pub groups: Vec<RunGroup>,
    /// The length of the kernel's clock tick, ns, if that is known.
    pub tick_ns: Option<u64>,
    /// When the run began, CLOCK_MONOTONIC, ns. It is time 0 of the events.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

impl Roster {
    /// Length of the run, ns.
    pub fn length(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// A task of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RosterTask {
    /// The number that the kernel gave it (of the thread, where there are several).
    pub pid: i32,
    /// Index of its job.
    pub job: u32,
    /// Its nice value.
    pub nice: i8,
    /// Its parent, if that is a task of the run.
    pub parent: Option<i32>,
}
