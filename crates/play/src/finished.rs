//! What a run leaves when it is over, from which its outcome is computed.

use crate::{attention::Notes, setup::Setup, volume::counts::Counts};
use schedlab_linux::{proc::stat::Stat, process::Usage, sched::Standing};
use schedlab_observe::tracing::Recorded;
use schedlab_tune::Mismatch;

/// What a run leaves, from which its rows are computed.
pub(crate) struct FinishedRun<'a> {
    pub setup: &'a Setup,
    /// What was not as attention levels say.
    pub attention: Notes,
    pub ends: Vec<Option<End>>,
    /// Jobs of children that were at work when the run was over, and what each had used.
    pub orphans: Vec<(usize, Usage)>,
    /// What the end of a task takes that no account of the run has, ns, mean.
    pub unmaking_ns: u64,
    /// Begin and end of the run, ns of the monotonic clock.
    pub span: (u64, u64),
    /// When the last account of a task was read that is in `ends`: what they have used lies between the begin and this.
    pub counted_until: u64,
    pub stats: (Stat, Stat),
    /// What the volume's device had done before and after it, if there is a volume.
    pub moved: Option<(Counts, Counts)>,
    /// Processor time of the agent itself during the run, ns.
    pub own_ns: u64,
    pub standing: Standing,
    pub recording: Recording,
    /// Whether the agent had a processor on which no task ran.
    pub apart: bool,
    /// Settings to which the kernel gave another value than the requested one.
    pub rounded: Vec<Mismatch>,
    /// Settings that another process changed during the run.
    pub changed: Vec<Mismatch>,
    /// Whether the run was ended because it took too long.
    pub cut: bool,
    pub began_unix_ns: u64,
    /// Pools whose generator of requests was ended by a signal that was not ours.
    pub lost_generators: Vec<usize>,
}

/// How a task of the workload ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    /// What it used since it began.
    pub usage: Usage,
    /// A signal that was not ours.
    pub signal: Option<i32>,
}

/// The recording of the run, if there is one.
#[derive(Default)]
pub(crate) struct Recording {
    pub recorded: Option<Recorded>,
    pub missing: Option<String>,
}
