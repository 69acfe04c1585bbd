//! What is recorded next to the workers' own measurements: the scheduler's events, and the system's counters.

use crate::{
    finished::{FinishedRun, Recording},
    plan::{Options, Trace},
    requests::Generators,
    setup::Setup,
    shared::{Slot, Trouble},
};
use schedlab_linux::{Fault, clock::tick, sched};
use schedlab_metrics::find;
use schedlab_model::{
    event::Attributes,
    processors::CpuSet,
    scenario::Job,
    task::{GroupId, Policy},
    units::spell_duration,
};
use schedlab_observe::{
    Number,
    tracing::{Recorder, Roster, RosterTask, Whole},
};
use schedlab_tune::RunJournal;
use schedlab_workloads::roster::Entry;
use std::{
    fs::File,
    process::{Child, Command, Stdio},
    sync::atomic::Ordering::Relaxed,
};

/// Buffers of events of all processors together, KiB.
const ALL_BUFFERS_KIB: u32 = 1 << 20;

/// Metrics that the workers and the kernel's accounts measure as well or better: these are not taken from the recording.
const OURS: [&str; 16] = [
    "elapsed",
    "utilization",
    "real",
    "share",
    "turnaround",
    "response",
    "slowdown",
    "bounded_slowdown",
    "jain",
    "queueing",
    "completed",
    "message_latency",
    "lock_latency",
    "context_switches",
    "voluntary_switches",
    "involuntary_switches",
];

/// What the kernel may refuse of how a task is to be scheduled.
const OF_SCHEDULING: [Trouble; 6] =
    [Trouble::Affinity, Trouble::Nice, Trouble::Policy, Trouble::Group, Trouble::Slice, Trouble::Reservation];

/// Records under way.
pub(crate) struct Records {
    recorder: Option<Recorder>,
    sampler: Option<Child>,
    /// Why there is no recording although one was wanted.
    missing: Option<String>,
}

impl Records {
    /// Begins what the options want, before the tasks begin. Generators of requests are the agent's own.
    pub fn start(
        journal: &RunJournal,
        options: &Options,
        setup: &Setup,
        generators: &Generators,
    ) -> Result<Records, Fault> {
        let mut records =
            Records { recorder: None, sampler: sampler(options, setup.workload.highest_priority)?, missing: None };
        if options.trace == Trace::Off {
            return Ok(records);
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as u32;
        let kib = options.buffer_kib.min(ALL_BUFFERS_KIB / processors.max(1));
        match Recorder::start(journal, &setup.cpus, kib) {
            Ok(mut recorder) => {
                // What leaves a guest serves to follow its kernel's account.
                recorder.charges = options.enclose.is_some();
                recorder.own = generators.pids().collect();
                records.recorder = Some(recorder);
            }
            Err(fault) if options.trace == Trace::Required => return Err(fault),
            Err(fault) => records.missing = Some(fault.to_string()),
        }
        Ok(records)
    }

    /// Empties the buffers; says whether there are any.
    pub fn drain(&mut self) -> bool {
        let drained = self.recorder.as_mut().map(Recorder::drain);
        if let Some(Err(fault)) = &drained {
            self.missing = Some(fault.to_string());
        }
        drained.is_some()
    }

    /// Ends them.
    pub fn stop(mut self) -> Recording {
        if let Some(sampler) = &mut self.sampler {
            // It ends with the tasks, at the latest.
            let _ = sampler.kill();
        }
        match self.recorder.map(Recorder::stop) {
            None => Recording { recorded: None, missing: self.missing },
            Some(Ok(recorded)) => Recording { recorded: Some(recorded), missing: self.missing },
            Some(Err(fault)) => Recording { recorded: None, missing: Some(fault.to_string()) },
        }
    }
}

/// The sampler, as a process of its own: what it costs is not the agent's, and it writes while the agent sleeps.
fn sampler(options: &Options, above: u32) -> Result<Option<Child>, Fault> {
    let (Some(every), Some(path)) = (options.sample, &options.samples) else { return Ok(None) };
    let file = File::create(path).map_err(|why| Fault::file(path, "write", why))?;
    let mut command = Command::new("/proc/self/exe");
    let agent = std::process::id().to_string();
    command.args(["sample", "--every", &spell_duration(every.0), "--until", &agent]).stdin(Stdio::null()).stdout(file);
    let child = command.spawn().map_err(|why| Fault::Call { doing: "starting the sampler".to_owned(), why })?;
    // The sampler itself counts samples that hogs delay.
    sched::raise(child.id() as i32, above);
    Ok(Some(child))
}

/// The roster by which the recording is evaluated.
fn roster(run: &FinishedRun<'_>) -> Roster {
    let setup = run.setup;
    let entry = |(slot, entry): (&Slot, &Entry)| RosterTask {
        pid: slot.pid.load(Relaxed),
        job: entry.job as u32,
        nice: setup.jobs[entry.job].nice,
        parent: None,
    };
    Roster {
        jobs: setup.workload.jobs.clone(),
        tasks: setup.shared.slots.iter().zip(&setup.workload.tasks).map(entry).collect(),
        processors: setup.cpus.clone(),
        allowed: allowed(setup),
        treated: treated(setup),
        groups: setup.run_groups.clone(),
        tick_ns: tick().filter(|ns| *ns > 0),
        begin_ns: run.span.0,
        end_ns: run.span.1,
    }
}

/// By job, which of the run's processors its tasks may use; nothing, if some change that by steps.
fn allowed(setup: &Setup) -> Vec<CpuSet> {
    let programs = &setup.workload.programs;
    if programs.treatments.iter().any(|one| one.cpus.is_some()) {
        return Vec::new();
    }
    let slot = |cpu: &u16| setup.cpus.iter().position(|known| known == cpu).map(|slot| slot as u16);
    setup.processors.iter().map(|cpus| cpus.iter().filter_map(slot).collect()).collect()
}

/// By job, how its tasks are treated, and their slice; nothing, if the host has refused some of it, or steps change it.
fn treated(setup: &Setup) -> Vec<(Attributes, u64)> {
    let refused = |slot: &Slot| OF_SCHEDULING.iter().any(|&trouble| slot.trouble(trouble).is_some());
    let changes = !setup.workload.programs.treatments.is_empty();
    if changes || !setup.groups.refused.is_empty() || setup.shared.slots.iter().any(refused) {
        return Vec::new();
    }
    let number = |name: &String| setup.run_groups.iter().position(|known| known.name == *name);
    let of_job = |(job, slice): (&Job, &Option<u64>)| {
        let group = job.group.as_ref().and_then(number).map_or(0, |place| place as GroupId + 1);
        // Linux has no SCHED_ISO: such tasks are ordinary ones.
        let policy = if job.policy == Policy::Iso { Policy::Other } else { job.policy };
        let slice = slice.filter(|_| matches!(policy, Policy::Other | Policy::Batch)).unwrap_or(0);
        (Attributes { policy, priority: job.priority, group }, slice)
    };
    setup.jobs.iter().zip(&setup.slices).map(of_job).collect()
}

/// What a recording shows of the run.
#[derive(Debug, Default)]
pub(crate) struct RecordedNumbers {
    /// Rows that replace the tasks' own.
    pub rows: Vec<Number>,
    pub foreign_percent: Option<f64>,
    pub foreign_wakeups: Option<u64>,
    pub lost: u64,
    pub whole: Whole,
    /// The recording as text, if it is to go with the answer.
    pub enclosed: Option<String>,
    /// Why the recording could not be left where it was wanted.
    pub unwritten: Option<String>,
}

/// Reads the recording.
pub(crate) fn evaluate(run: &FinishedRun<'_>, options: &Options) -> RecordedNumbers {
    let Some(recorded) = &run.recording.recorded else { return RecordedNumbers::default() };
    let roster = roster(run);
    let where_used = Roster { processors: run.setup.used.clone(), ..roster.clone() };
    let written = options.recording.as_ref().map_or(Ok(()), |path| recorded.write(path, &roster));
    let (enclosed, unsent) = match options.enclose.map(|most| recorded.enclosed(&roster, most)).transpose() {
        Ok(enclosed) => (enclosed, None),
        Err(fault) => (None, Some(fault)),
    };
    let theirs = |row: &Number| find(&row.metric, &roster.jobs).is_ok_and(|metric| !OURS.contains(&metric.name));
    RecordedNumbers {
        rows: recorded.rows(&roster).into_iter().filter(theirs).collect(),
        foreign_percent: Some(recorded.foreign_percent(&where_used)),
        foreign_wakeups: Some(recorded.foreign_wakeups(&where_used)),
        lost: recorded.lost(),
        whole: recorded.whole(&where_used),
        enclosed,
        unwritten: written.err().or(unsent).map(|fault| fault.to_string()),
    }
}
