//! The outcome of a run: rows by the names of the metrics table, and warnings about them.

use crate::{
    awaited::awaited,
    finished::{End, FinishedRun},
    plan::{Environment, Outcome},
    records::RecordedNumbers,
    requests::{OpenMessage, open_messages},
    rows::Rows,
    shared::{JobTotals, Slot},
    stuck::StuckTasks,
    tally::Tally,
    warnings,
};
use schedlab_linux::{mapping::PAGE, process::Usage};
use schedlab_metrics::{Distribution, Jain, Warning};
use schedlab_model::SECOND;
use schedlab_workloads::{Programs, stuck::Awaited};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the ends, slots and totals of a job's workers show.
struct JobSeen<'a> {
    totals: &'a JobTotals,
    slots: Vec<&'a Slot>,
    /// Of the workload's tasks, not of children.
    first: Vec<(&'a Slot, Option<End>)>,
    used: Usage,
    /// When each message was sent that is counted for the job and was not received.
    open: Vec<u64>,
    is_pool: bool,
}

impl<'a> JobSeen<'a> {
    fn new(run: &'a FinishedRun<'_>, job: usize, open: &[OpenMessage]) -> JobSeen<'a> {
        let shared = &run.setup.shared;
        let of_job = |slot: &&Slot| slot.job.load(Relaxed) as usize == job && slot.began.load(Relaxed) > 0;
        let first = shared.slots.iter().zip(&run.ends).filter(|(slot, _)| of_job(slot));
        let first: Vec<_> = first.map(|(slot, end)| (slot, *end)).collect();
        let of_first = first.iter().filter_map(|(_, end)| Some((*end)?.usage));
        let of_orphans = run.orphans.iter().filter(|(theirs, _)| *theirs == job).map(|(_, usage)| *usage);
        let used = of_first.chain(of_orphans).fold(Usage::default(), Usage::plus);
        let open = open.iter().filter(|(theirs, _)| *theirs == job).map(|(_, sent)| *sent).collect();
        let is_pool = run.setup.jobs[job].arrivals.is_some();
        let slots = shared.used().iter().filter(of_job).collect();
        JobSeen { totals: &shared.totals[job], slots, first, used, open, is_pool }
    }

    fn each(&self, us: u64) -> Option<f64> {
        let us = us as f64 / self.first.len() as f64;
        Some(us / 1e6)
    }

    /// Mean time from beginning to end of the workload's tasks; only if all ended.
    fn real(&self) -> Option<f64> {
        let length = |slot: &Slot| slot.ended.load(Relaxed).checked_sub(slot.began.load(Relaxed));
        let lengths = self.first.iter().map(|(slot, _)| length(slot)).collect::<Option<Vec<_>>>()?;
        Some(lengths.iter().sum::<u64>() as f64 / lengths.len() as f64 / 1e9)
    }

    /// The longest gap of any task, with the one that the run's end cut off.
    fn longest_gap(&self, end: u64) -> Option<f64> {
        let of_slot = |slot: &&Slot| {
            let (seen, ended) = (slot.seen.load(Relaxed), slot.ended.load(Relaxed));
            let last = if seen > 0 && ended == 0 { end.saturating_sub(seen) } else { 0 };
            slot.longest_gap.load(Relaxed).max(last).max(overslept(slot, end))
        };
        self.slots.iter().map(of_slot).max().map(|ns| ns as f64 / 1e9)
    }

    fn living(&self) -> impl Iterator<Item = &&'a Slot> {
        self.slots.iter().filter(|slot| slot.ended.load(Relaxed) == 0)
    }

    /// The values of a tally, and with them how old those were that the run's end cut off.
    fn with_cut(&self, tally: &Tally, age: impl Fn(&Slot) -> u64) -> Distribution {
        let mut all = tally.distribution();
        self.living().for_each(|slot| all.censor(age(slot)));
        all
    }

    fn wakeup_latency(&self, end: u64) -> Distribution {
        self.with_cut(&self.totals.wakeup_latency, |slot| overslept(slot, end))
    }

    fn turnaround(&self, end: u64) -> Distribution {
        self.with_cut(&self.totals.turnaround, |slot| end.saturating_sub(slot.began.load(Relaxed)))
    }

    /// The ratio of a task that goes on may rise or fall; it is at least 1.
    fn slowdown(&self, tally: &Tally) -> Distribution {
        self.with_cut(tally, |_| SECOND)
    }

    /// Jain's index over the workload's tasks, of processor time per time that each was there.
    fn jain(&self, end: u64) -> Jain {
        let mut jain = Jain::default();
        for (slot, ended) in &self.first {
            let last = match slot.ended.load(Relaxed) {
                0 => end,
                ended => ended,
            };
            let there = last.saturating_sub(slot.began.load(Relaxed));
            if let Some(ended) = ended.filter(|_| there > 0) {
                jain.add((ended.usage.time_us() * 1000) as f64 / there as f64);
            }
        }
        jain
    }

    /// Of the processor time of children that were cut off nothing is known here: they may not have waited at all.
    fn queueing(&self, end: u64) -> Distribution {
        let mut all = self.totals.queueing.distribution();
        for (slot, ended) in self.first.iter().filter(|(slot, _)| slot.ended.load(Relaxed) == 0) {
            let used = ended.map_or(u64::MAX, |end| (end.usage.user_us + end.usage.system_us) * 1000);
            all.censor(end.saturating_sub(slot.began.load(Relaxed)).saturating_sub(used));
        }
        all
    }

    /// From sending a message to the receiver's being done with it, and how old those were with which none was.
    fn message_latency(&self, end: u64) -> Distribution {
        let mut all = self.totals.message_latency.distribution();
        let held = self.living().flat_map(|slot| [&slot.message, &slot.request]).map(|sent| sent.load(Relaxed));
        let open = self.open.iter().copied().chain(held.filter(|&sent| sent > 0));
        open.for_each(|sent| all.censor(end.saturating_sub(sent)));
        all
    }

    /// From requesting a lock or a permit to going on with it, and how long those have waited who had not got it.
    fn lock_latency(&self, end: u64) -> Distribution {
        self.with_cut(&self.totals.lock_latency, |slot| match awaited(slot.awaits.load(Relaxed)) {
            Some(Awaited::Lock(_) | Awaited::Permit(_)) => since(slot, end),
            _ => 0,
        })
    }

    /// Children have no passes, nor has a task of a pool that waits for a request.
    fn pass_time(&self, end: u64) -> Distribution {
        let mut all = self.totals.pass_time.distribution();
        let has_pass =
            |slot: &&&Slot| slot.parent.load(Relaxed) == 0 && (!self.is_pool || slot.request.load(Relaxed) > 0);
        let first = self.living().filter(has_pass);
        first.for_each(|slot| all.censor(end.saturating_sub(slot.pass_began.load(Relaxed))));
        all
    }

    /// How late periods were, with the deadlines that had passed when the run ended.
    fn lateness(&self, programs: &Programs, end: u64) -> Distribution {
        let mut all = self.totals.lateness.distribution();
        for slot in self.living() {
            let Some(length) = programs.period(slot.program.load(Relaxed)) else { continue };
            let (began, last) = (slot.began.load(Relaxed), slot.due.load(Relaxed));
            let next = last - last.saturating_sub(began) % length + length;
            (next..end).step_by(length as usize).for_each(|deadline| all.censor(end - deadline));
        }
        all
    }
}

/// A distribution of a job in a run that ended at a time.
type ReadSpread = fn(&JobSeen<'_>, u64) -> Distribution;

/// How long ago a sleep should have ended in which a task still is.
fn overslept(slot: &Slot, end: u64) -> u64 {
    match slot.until.load(Relaxed) {
        0 => 0,
        _ if slot.ended.load(Relaxed) > 0 => 0,
        until => end.saturating_sub(until),
    }
}

/// How long a task has waited for what it requested.
fn since(slot: &Slot, end: u64) -> u64 {
    match slot.since.load(Relaxed) {
        0 => 0,
        since => end.saturating_sub(since),
    }
}

fn count(of: &AtomicU64) -> Option<f64> {
    Some(of.load(Relaxed) as f64)
}

/// The run's outcome.
pub(crate) fn of(run: &FinishedRun<'_>, mut recorded: RecordedNumbers) -> Outcome {
    // Before the pipes are emptied.
    let stuck_tasks = StuckTasks::of(run);
    let open = open_messages(run.setup, run.span.0, run.span.1);
    let jobs: Vec<JobSeen<'_>> = (0..run.setup.jobs.len()).map(|job| JobSeen::new(run, job, &open)).collect();
    let mut rows = Rows::default();
    system(run, &jobs, &mut rows);
    for (name, seen) in run.setup.workload.jobs.iter().zip(&jobs) {
        of_job(run, name, seen, &mut rows);
    }
    rows.replace(&recorded.rows);
    stuck_tasks.rows(&run.setup.workload.jobs, &mut rows);
    let mut warnings = warnings::of(run, &recorded, &stuck_tasks);
    for job in &run.setup.workload.jobs {
        let longest = rows.largest(job, &["longest_gap", "run_wait.max", "run_wait.censored_max"]);
        warnings.extend(Warning::of_starved(job, (longest * 1e9) as u64).map(warnings::of_metrics));
    }
    Outcome {
        rows: rows.into_numbers(),
        warnings,
        changed: run.changed.clone(),
        recording: recorded.enclosed.take(),
        environment: environment(run, &jobs, &recorded),
        began_unix_ns: run.began_unix_ns,
    }
}

fn elapsed(run: &FinishedRun<'_>) -> u64 {
    run.span.1.saturating_sub(run.span.0).max(1)
}

/// All processor time there was for what the tasks are counted to have used, ns: so shares do not add up to more than all.
fn capacity(run: &FinishedRun<'_>) -> f64 {
    run.counted_until.saturating_sub(run.span.0).max(1) as f64 * run.setup.cpus.len() as f64
}

/// Processor time between the two readings of the system's counters, ns.
fn window(run: &FinishedRun<'_>) -> u64 {
    (run.stats.1.at - run.stats.0.at).max(1) * run.setup.cpus.len() as u64
}

fn system(run: &FinishedRun<'_>, jobs: &[JobSeen<'_>], rows: &mut Rows) {
    let spent = run.stats.1.since(&run.stats.0, &run.setup.cpus);
    let seconds = |ns: u64| Some(ns as f64 / 1e9);
    let sum = |of: fn(&Usage) -> u64| Some(jobs.iter().map(|job| of(&job.used)).sum::<u64>() as f64);
    let whole = window(run);
    rows.number("", "elapsed", seconds(elapsed(run)));
    rows.number("", "idle", seconds(spent.idle));
    rows.number("", "io_wait", seconds(spent.io_wait));
    rows.number("", "utilization", Some(100.0 * spent.busy(whole) as f64 / whole as f64));
    rows.number("", "wio", Some(100.0 * spent.io_wait as f64 / whole as f64));
    rows.number("", "context_switches", sum(|used| used.voluntary + used.involuntary));
    rows.number("", "voluntary_switches", sum(|used| used.voluntary));
    rows.number("", "involuntary_switches", sum(|used| used.involuntary));
    rows.number("", "minor_faults", sum(|used| used.minor_faults));
    rows.number("", "major_faults", sum(|used| used.major_faults));
    let interrupts = run.stats.1.interrupts.zip(run.stats.0.interrupts);
    rows.number("", "interrupts", interrupts.map(|(after, before)| after.saturating_sub(before) as f64));
    storage(run, jobs, rows);
    let passes: u64 = jobs.iter().map(|job| job.totals.pass_time.distribution().count()).sum();
    rows.number("", "throughput", Some(passes as f64 * 1e9 / elapsed(run) as f64));
    let gaps = jobs.iter().filter_map(|job| job.longest_gap(run.span.1));
    rows.number("", "longest_gap", gaps.reduce(f64::max));
    rows.number("", "jain", jobs.iter().fold(Jain::default(), |all, job| all.plus(&job.jain(run.span.1))).index());
    let spreads: [(&str, ReadSpread); 7] = [
        ("wakeup_latency", |job, end| job.wakeup_latency(end)),
        ("turnaround", |job, end| job.turnaround(end)),
        ("response", |job, _| job.totals.response.distribution()),
        ("slowdown", |job, _| job.slowdown(&job.totals.slowdown)),
        ("bounded_slowdown", |job, _| job.slowdown(&job.totals.bounded_slowdown)),
        ("message_latency", |job, end| job.message_latency(end)),
        ("lock_latency", |job, end| job.lock_latency(end)),
    ];
    for (name, of) in spreads {
        let mut all = Distribution::default();
        jobs.iter().for_each(|job| all.merge(&of(job, run.span.1)));
        rows.spread("", name, &all);
    }
}

/// What the volume's device did, and what its file system's cache saved it.
fn storage(run: &FinishedRun<'_>, jobs: &[JobSeen<'_>], rows: &mut Rows) {
    let Some((before, after)) = &run.moved else { return };
    let done = after.since(before, PAGE as u64);
    let all = [
        ("disk_requests", done.requests),
        ("disk_bytes", done.bytes),
        ("disk_busy", done.busy),
        ("await", done.wait),
        ("page_in", done.file_kib[0]),
        ("page_out", done.file_kib[1]),
        ("bread", done.blocks[0]),
        ("bwrit", done.blocks[1]),
        ("swap_in", done.swapped[0]),
        ("swap_out", done.swapped[1]),
    ];
    all.into_iter().for_each(|(name, value)| rows.number("", name, value));
    let sum = |which: usize| -> u64 {
        jobs.iter().flat_map(|job| &job.first).map(|(slot, _)| slot.reads[which].load(Relaxed)).sum()
    };
    let (called, from_drives) = (sum(0), sum(1));
    // Unused read-ahead lowers it, down to 0, as in sar.
    let share = (called > 0).then(|| (100.0 * (1.0 - from_drives as f64 / called as f64)).max(0.0));
    rows.number("", "rcache", share);
}

fn of_job(run: &FinishedRun<'_>, name: &str, seen: &JobSeen<'_>, rows: &mut Rows) {
    let (prefix, totals, used) = (format!("tasks.{name}."), seen.totals, &seen.used);
    let mut number = |name, value| rows.number(&prefix, name, value);
    number("real", seen.real());
    number("user", seen.each(used.user_us));
    number("sys", seen.each(used.system_us));
    number("share", Some(100.0 * (used.user_us + used.system_us) as f64 * 1000.0 / capacity(run)));
    number("longest_gap", seen.longest_gap(run.span.1));
    number("minor_faults", Some(used.minor_faults as f64));
    number("major_faults", Some(used.major_faults as f64));
    number("completed", count(&totals.ended));
    number("voluntary_switches", Some(used.voluntary as f64));
    number("involuntary_switches", Some(used.involuntary as f64));
    number("signals_overlapped", count(&totals.signals_overlapped));
    number("memory_refused", count(&totals.memory_refused));
    number("refused", Some(warnings::refused(&seen.first.iter().map(|(slot, _)| *slot).collect::<Vec<_>>()) as f64));
    let ended = totals.ended.load(Relaxed);
    number("memory_unused", (ended > 0).then(|| totals.memory_unused.load(Relaxed) as f64 / ended as f64));
    let end = run.span.1;
    let (passes, lateness) = (seen.pass_time(end), seen.lateness(&run.setup.workload.programs, end));
    number("passes", Some(passes.count() as f64));
    number("throughput", Some(passes.count() as f64 * 1e9 / elapsed(run) as f64));
    number("jain", seen.jain(end).index());
    number("deadlines", Some((lateness.count() + lateness.censored()) as f64));
    number("deadline_misses", Some((totals.misses.load(Relaxed) + lateness.censored()) as f64));
    rows.spread(&prefix, "wakeup_latency", &seen.wakeup_latency(end));
    rows.spread(&prefix, "turnaround", &seen.turnaround(end));
    rows.spread(&prefix, "response", &totals.response.distribution());
    rows.spread(&prefix, "slowdown", &seen.slowdown(&totals.slowdown));
    rows.spread(&prefix, "bounded_slowdown", &seen.slowdown(&totals.bounded_slowdown));
    rows.spread(&prefix, "queueing", &seen.queueing(end));
    rows.spread(&prefix, "pass_time", &passes);
    rows.spread(&prefix, "message_latency", &seen.message_latency(end));
    rows.spread(&prefix, "lock_latency", &seen.lock_latency(end));
    rows.spread(&prefix, "lateness", &lateness);
}

/// Mean processor time that a task of the workload had taken before it began, ns.
fn making(run: &FinishedRun<'_>) -> u64 {
    let (us, tasks) =
        run.setup.shared.totals.iter().fold((0, 0), |(us, tasks), totals| {
            (us + totals.making_us.load(Relaxed), tasks + totals.made.load(Relaxed))
        });
    us * 1000 / tasks.max(1)
}

fn environment(run: &FinishedRun<'_>, jobs: &[JobSeen<'_>], recorded: &RecordedNumbers) -> Environment {
    let (span, used) = ((run.stats.1.at - run.stats.0.at).max(1), &run.setup.used);
    let spent = run.stats.1.since(&run.stats.0, used);
    let ours: u64 = jobs.iter().map(|job| job.used.user_us + job.used.system_us).sum::<u64>() * 1000;
    let window = span * used.len() as u64;
    let capacity = window as f64;
    let own = if run.apart { 0 } else { run.own_ns };
    let foreign = spent.busy(window).saturating_sub(ours).saturating_sub(own);
    Environment {
        // The recording knows it exactly, if it is whole.
        foreign_percent: recorded
            .foreign_percent
            .filter(|_| recorded.lost == 0)
            .unwrap_or(100.0 * foreign as f64 / capacity),
        steal_percent: spent.steal.map(|steal| 100.0 * steal as f64 / capacity),
        own_percent: 100.0 * own as f64 / capacity,
        longest_hole_ns: None,
        foreign_wakeups: recorded.foreign_wakeups,
        lost_events: recorded.lost,
        making_ns: making(run),
        unmaking_ns: run.unmaking_ns,
    }
}
