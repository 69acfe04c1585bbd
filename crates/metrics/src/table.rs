//! The one table of metrics. An entry is a name, a unit, a line of meaning and a short function; whether it describes
//! the system, a nice level or a job, and whether it is a distribution, follows from the kind of function.
//!
//! Long, because it is one table.

use crate::{
    collector::{Collector, over_all},
    distribution::Distribution,
    jain::Jain,
    job::Job,
    load::Level,
    report::Row,
    wasted::Wasted,
};
use schedlab_model::{
    Nanos, SECOND,
    event::Sample,
    info::{MetricInfo, Scope},
    machine::Accounting,
};

/// How an entry is computed. A number may be missing, where the run gives none.
enum Read {
    System(fn(&Collector) -> Option<f64>),
    SystemSpread(fn(&Collector) -> Distribution),
    Nice(fn(&Level, &Collector) -> Option<f64>),
    Task(fn(&Job, &Collector) -> Option<f64>),
    TaskSpread(fn(&Job) -> &Distribution),
    /// A distribution that is worked out when it is asked for.
    TaskMade(fn(&Job) -> Distribution),
}
use Read::{Nice, System, SystemSpread, Task, TaskMade, TaskSpread};

struct Entry {
    name: &'static str,
    unit: &'static str,
    meaning: &'static str,
    read: Read,
}

const fn entry(name: &'static str, unit: &'static str, read: Read, meaning: &'static str) -> Entry {
    Entry { name, unit, meaning, read }
}

fn s(ns: Nanos) -> Option<f64> {
    Some(ns as f64 / SECOND as f64)
}

fn count(n: u64) -> Option<f64> {
    Some(n as f64)
}

/// A mean of nothing is no number.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn percent(part: f64, whole: f64) -> Option<f64> {
    ratio(100.0 * part, whole)
}

fn sum(c: &Collector, of: fn(&Job) -> u64) -> Option<f64> {
    count(c.jobs.iter().map(of).sum())
}

/// Nanoseconds of a job, in seconds per first-generation task.
fn each(ns: Nanos, job: &Job) -> Option<f64> {
    ratio(ns as f64 / SECOND as f64, job.first as f64)
}

/// By the machine's own accounting: what the ticks charged, or the true time.
fn charged(job: &Job, c: &Collector, sampled: Sample, exact: Nanos) -> Option<f64> {
    match c.setup.accounting {
        Accounting::Sampled => each(job.sampled(sampled), job),
        Accounting::Exact => each(exact, job),
    }
}

/// What was wasted, where it can be known: on several processors.
fn known(c: &Collector) -> Option<&Wasted> {
    c.wasted.known().then_some(&c.wasted)
}

fn waited(c: &Collector) -> f64 {
    c.jobs.iter().map(Job::waited).sum::<u128>() as f64
}

/// Bytes as pages.
fn pages(c: &Collector, bytes: u64) -> Option<f64> {
    ratio(bytes as f64, c.setup.page as f64)
}

fn rate(c: &Collector, count: Option<f64>) -> Option<f64> {
    ratio(count?, c.end as f64 / SECOND as f64)
}

/// Pages free (0), cached (1) or in the swap area (2), in bytes.
fn memory(c: &Collector, which: usize) -> Option<f64> {
    Some(c.storage.memory()?[which] * c.setup.page as f64)
}

fn passes(c: &Collector) -> u64 {
    c.jobs.iter().map(|j| j.pass_time.count()).sum()
}

const ENTRIES: &[Entry] = &[
    entry("elapsed", "s", System(|c| s(c.end)), "length of the run"),
    entry("user", "s", System(|c| s(c.totals().user)), "processor time in the tasks' own code, exact"),
    entry("system", "s", System(|c| s(c.totals().system)), "processor time in the kernel on tasks' behalf, exact"),
    entry("overhead", "s", System(|c| s(c.totals().overhead)), "processor time in interrupts and switching, exact"),
    entry(
        "idle",
        "s",
        System(|c| s(c.totals().idle)),
        "processor time with nothing to run and no task waiting for a drive",
    ),
    entry(
        "io_wait",
        "s",
        System(|c| s(c.totals().io_wait)),
        "processor time with nothing to run while a task waits for a drive",
    ),
    entry(
        "wasted",
        "%",
        System(|c| percent(known(c)?.total as f64, c.capacity() as f64)),
        "share of processor time idle while a task waits that may use the processor; a task held back by a quota or by a reservation counts as waiting",
    ),
    entry(
        "wasted.longest",
        "s",
        System(|c| s(known(c)?.longest())),
        "longest time in which some processor was wasted without a break",
    ),
    entry(
        "utilization",
        "%",
        System(|c| percent(c.totals().busy() as f64, c.capacity() as f64)),
        "share of processor time not idle: user, system and overhead",
    ),
    entry(
        "run_queue",
        "1",
        System(|c| ratio(waited(c), c.end as f64)),
        "mean number of tasks waiting in the runqueues, without those that run",
    ),
    entry(
        "load1",
        "1",
        System(|c| c.loads.average_of_all(0)),
        "tasks that run or could, averaged over the last minute or so, as `uptime`",
    ),
    entry("load5", "1", System(|c| c.loads.average_of_all(1)), "the same over five minutes"),
    entry("load15", "1", System(|c| c.loads.average_of_all(2)), "the same over fifteen minutes"),
    entry(
        "load_mean",
        "1",
        System(|c| c.loads.mean_of_all(c.end)),
        "mean number of tasks that run or could, over the whole run, exact",
    ),
    entry("load1", "1", Nice(|l, c| c.loads.average(l, 0)), "load1 of the tasks of one nice level"),
    entry("load5", "1", Nice(|l, c| c.loads.average(l, 1)), "load5 of the tasks of one nice level"),
    entry("load15", "1", Nice(|l, c| c.loads.average(l, 2)), "load15 of the tasks of one nice level"),
    entry("load_mean", "1", Nice(|l, c| l.mean(c.end)), "load_mean of the tasks of one nice level"),
    entry(
        "context_switches",
        "1",
        System(|c| sum(c, |j| j.voluntary_switches() + j.involuntary_switches())),
        "times a task left a processor",
    ),
    entry(
        "voluntary_switches",
        "1",
        System(|c| sum(c, Job::voluntary_switches)),
        "times a task left a processor to wait, to yield or for good",
    ),
    entry(
        "involuntary_switches",
        "1",
        System(|c| sum(c, Job::involuntary_switches)),
        "times a task was preempted or used up its slice",
    ),
    entry("migrations", "1", System(|c| sum(c, |j| j.migrations)), "times a task moved to another processor"),
    entry("interrupts", "1", System(|c| count(c.counts.interrupts)), "hardware interrupts"),
    entry("system_calls", "1", System(|c| count(c.counts.system_calls)), "times a task entered the kernel"),
    entry(
        "wakeup_latency",
        "s",
        SystemSpread(|c| over_all(c.jobs.iter().map(Job::wakeup_latency))),
        "from waking up after a wait to getting a processor",
    ),
    entry(
        "run_wait",
        "s",
        SystemSpread(|c| over_all(c.jobs.iter().flat_map(|j| &j.waits))),
        "a wait in the runqueue, whatever led to it, to its end on a processor",
    ),
    entry(
        "turnaround",
        "s",
        SystemSpread(|c| over_all(c.named().map(|j| &j.turnaround))),
        "from a task's creation to its exit, of all jobs",
    ),
    entry(
        "response",
        "s",
        SystemSpread(|c| over_all(c.named().map(Job::response))),
        "from a task's creation to its first time on a processor, of all jobs",
    ),
    entry(
        "waiting",
        "s",
        SystemSpread(|c| over_all(c.named().map(|j| &j.waiting))),
        "time that a task spent in the runqueue until it ended, of all jobs",
    ),
    entry(
        "slowdown",
        "1",
        SystemSpread(|c| over_all(c.named().map(|j| &j.slowdown))),
        "turnaround over the task's own processor time, of all jobs",
    ),
    entry(
        "bounded_slowdown",
        "1",
        SystemSpread(|c| over_all(c.named().map(|j| &j.bounded_slowdown))),
        "slowdown in which a task that computes for less than 10 ms counts as one of 10 ms, of all jobs",
    ),
    entry(
        "jain",
        "1",
        System(|c| c.named().fold(Jain::default(), |all, j| all.plus(&j.jain)).index()),
        "Jain's index over the tasks of all jobs, of processor time per time that each was there; weights are not considered",
    ),
    entry(
        "jain_1s",
        "1",
        SystemSpread(|c| c.windows.of_all.clone()),
        "Jain's index in each second, of all tasks that wanted a processor throughout it; weights are not considered",
    ),
    entry(
        "uneven",
        "s",
        System(|c| Some(c.windows.uneven as f64 / 1e9)),
        "seconds of the run in which jain_1s was below 0.99: shares a tenth above or below their mean",
    ),
    entry(
        "message_latency",
        "s",
        SystemSpread(|c| over_all(c.named().map(|j| &j.message_latency))),
        "from sending a message, or the arrival of a request, to the receiver's being done with it, of all jobs",
    ),
    entry(
        "lock_latency",
        "s",
        SystemSpread(|c| over_all(c.named().map(|j| &j.lock_latency))),
        "from requesting a lock or a permit to going on with it, of all jobs",
    ),
    entry(
        "longest_gap",
        "s",
        System(|c| c.named().map(Job::longest_gap).max().and_then(s)),
        "longest time that a ready task of any job had no processor, unless it had yielded",
    ),
    entry(
        "stuck",
        "1",
        System(|c| count(c.named().map(|j| j.stuck).sum())),
        "tasks that wait for what no task can ever give them: a lock, a message, the end of a child, a signal",
    ),
    entry("deadlocks", "1", System(|c| count(c.counts.deadlocks)), "circles of tasks that wait for each other's locks"),
    entry(
        "throughput",
        "1/s",
        System(|c| ratio(passes(c) as f64, c.end as f64 / SECOND as f64)),
        "passes completed per second, of all jobs",
    ),
    entry("cache_lookups", "1", System(|c| count(c.storage.lookups)), "blocks looked for in the cache"),
    entry(
        "cache_hit_ratio",
        "%",
        System(|c| percent(c.storage.hits as f64, c.storage.lookups as f64)),
        "share of the blocks looked for that the cache had",
    ),
    entry(
        "lread",
        "1/s",
        System(|c| c.storage.looked_per_second(0)),
        "blocks of 512 B looked for in the cache to be read",
    ),
    entry(
        "lwrit",
        "1/s",
        System(|c| c.storage.looked_per_second(1)),
        "blocks of 512 B looked for in the cache to be changed",
    ),
    entry("bread", "1/s", System(|c| c.storage.moved_per_second(0)), "blocks of 512 B read from the drive for files"),
    entry("bwrit", "1/s", System(|c| c.storage.moved_per_second(1)), "blocks of 512 B written to the drive for files"),
    entry(
        "rcache",
        "%",
        System(|c| c.storage.cached_share(0)),
        "1 - bread/lread, as sar -b: unused read-ahead lowers it, down to 0",
    ),
    entry("wcache", "%", System(|c| c.storage.cached_share(1)), "1 - bwrit/lwrit, as sar -b"),
    entry(
        "await_censored",
        "1",
        System(|c| count(c.storage.unfinished)),
        "requests queued or in service when the run ended, which `await` knows only so far",
    ),
    entry("await_censored_max", "s", System(|c| s(c.storage.unfinished_longest)), "the age of the oldest of them"),
    entry("disk_requests", "1", System(|c| count(c.storage.requests)), "requests that drives began"),
    entry("disk_bytes", "B", System(|c| count(c.storage.bytes())), "bytes of these requests"),
    entry(
        "disk_busy",
        "%",
        System(|c| c.storage.busy()),
        "share of the run in which a drive had a request in service, as sar -d's %busy",
    ),
    entry(
        "avque",
        "1",
        System(|c| c.storage.queue_length()),
        "requests queued or in service, mean over the time when there was one",
    ),
    entry("await", "s", System(|c| c.storage.wait()), "time from queueing a request to its completion, mean"),
    entry(
        "wio",
        "%",
        System(|c| percent(c.totals().io_wait as f64, c.capacity() as f64)),
        "share of processor time with nothing to run while a task waits for a drive, as sar -u's %wio",
    ),
    entry(
        "page_in",
        "KiB",
        System(|c| Some(c.storage.file_kib(0))),
        "read from the drive for files and programs, as vmstat -s",
    ),
    entry("page_out", "KiB", System(|c| Some(c.storage.file_kib(1))), "written to the drive for files"),
    entry("swap_in", "1", System(|c| pages(c, c.storage.swap_bytes(0))), "pages read from the swap area"),
    entry("swap_out", "1", System(|c| pages(c, c.storage.swap_bytes(1))), "pages written to the swap area"),
    entry("pgpgin", "KiB/s", System(|c| rate(c, Some(c.storage.file_kib(0)))), "page_in a second"),
    entry("pgpgout", "KiB/s", System(|c| rate(c, Some(c.storage.file_kib(1)))), "page_out a second"),
    entry("pswpin", "1/s", System(|c| rate(c, pages(c, c.storage.swap_bytes(0)))), "swap_in a second"),
    entry("pswpout", "1/s", System(|c| rate(c, pages(c, c.storage.swap_bytes(1)))), "swap_out a second"),
    entry("memory_free", "B", System(|c| memory(c, 0)), "free memory, mean; only where memory is limited"),
    entry("memory_cached", "B", System(|c| memory(c, 1)), "memory of the block cache (buff and cach are one), mean"),
    entry(
        "memory_used",
        "B",
        System(|c| Some((c.setup.pages? as f64 * c.setup.page as f64 - memory(c, 0)? - memory(c, 1)?).max(0.0))),
        "memory of programs, mean",
    ),
    entry("swap_used", "B", System(|c| memory(c, 2)), "swap area in use, mean"),
    entry("minor_faults", "1", System(|c| sum(c, |j| j.faults[0])), "page faults that did not wait for a drive"),
    entry(
        "major_faults",
        "1",
        System(|c| sum(c, |j| j.faults[1] + j.faults[2])),
        "page faults that waited for a drive",
    ),
    entry(
        "real",
        "s",
        Task(real),
        "mean time from creation to exit of the job's own tasks, without forked children; only if all ended",
    ),
    entry(
        "user",
        "s",
        Task(|j, c| charged(j, c, Sample::User, j.user())),
        "user time per task as the machine charges it, children included",
    ),
    entry(
        "sys",
        "s",
        Task(|j, c| charged(j, c, Sample::System, j.system)),
        "system time per task as the machine charges it, children included",
    ),
    entry("true_user", "s", Task(|j, _| each(j.user(), j)), "user time per task, exact, children included"),
    entry("true_sys", "s", Task(|j, _| each(j.system, j)), "system time per task, exact, children included"),
    entry(
        "share",
        "%",
        Task(|j, c| percent(j.ran as f64, c.capacity() as f64)),
        "share of all processor time of the run that the job had",
    ),
    entry(
        "wait",
        "s",
        Task(|j, _| ratio(j.waited() as f64 / SECOND as f64, j.created as f64)),
        "mean time in the runqueue per task, forked children counted as tasks",
    ),
    entry(
        "longest_gap",
        "s",
        Task(|j, _| (j.created > 0).then(|| s(j.longest_gap())).flatten()),
        "longest time from waking up, or from losing the processor, to getting it (or to the end)",
    ),
    entry("wakeup_latency", "s", TaskSpread(Job::wakeup_latency), "from waking up after a wait to getting a processor"),
    entry(
        "run_wait",
        "s",
        TaskMade(Job::run_wait),
        "a wait in the runqueue, whatever led to it, to its end on a processor",
    ),
    entry(
        "turnaround",
        "s",
        TaskSpread(|j| &j.turnaround),
        "from a task's creation to its exit, children counted as tasks",
    ),
    entry("response", "s", TaskSpread(Job::response), "from a task's creation to its first time on a processor"),
    entry("waiting", "s", TaskSpread(|j| &j.waiting), "time that a task spent in the runqueue until it ended"),
    entry("queueing", "s", TaskSpread(|j| &j.queueing), "turnaround without the task's own processor time"),
    entry("slowdown", "1", TaskSpread(|j| &j.slowdown), "turnaround over the task's own processor time"),
    entry(
        "bounded_slowdown",
        "1",
        TaskSpread(|j| &j.bounded_slowdown),
        "slowdown in which a task that computes for less than 10 ms counts as one of 10 ms; at least 1",
    ),
    entry(
        "jain",
        "1",
        Task(|j, _| j.jain.index()),
        "Jain's index over its tasks, of processor time per time that each was there: 1 if all had as much",
    ),
    entry(
        "jain_1s",
        "1",
        TaskSpread(|j| &j.jain_in_windows),
        "Jain's index in each second, of the processor time of those tasks that wanted a processor throughout it",
    ),
    entry(
        "uneven",
        "s",
        Task(|j, _| Some(j.uneven as f64 / 1e9)),
        "seconds of the run in which the job's jain_1s was below 0.99",
    ),
    entry(
        "throughput",
        "1/s",
        Task(|j, c| rate(c, count(j.pass_time.count()))),
        "passes completed per second of the run",
    ),
    entry(
        "minor_faults",
        "1",
        Task(|j, _| count(j.faults[0])),
        "page faults that did not wait for a drive, all tasks together",
    ),
    entry(
        "major_faults",
        "1",
        Task(|j, _| count(j.faults[1] + j.faults[2])),
        "page faults that waited for a drive, all tasks together",
    ),
    entry("completed", "1", Task(|j, _| count(j.ended)), "tasks that ended, children included"),
    entry("pass_time", "s", TaskSpread(|j| &j.pass_time), "one pass over the program"),
    entry("passes", "1", Task(|j, _| count(j.pass_time.count())), "passes completed"),
    entry(
        "voluntary_switches",
        "1",
        Task(|j, _| count(j.voluntary_switches())),
        "times its tasks left a processor to wait, to yield or for good",
    ),
    entry(
        "involuntary_switches",
        "1",
        Task(|j, _| count(j.involuntary_switches())),
        "times its tasks were preempted or used up their slice",
    ),
    entry("migrations", "1", Task(|j, _| count(j.migrations)), "times its tasks moved to another processor"),
    entry(
        "stuck",
        "1",
        Task(|j, _| count(j.stuck)),
        "tasks that wait for what no task can ever give them: a lock, a message, the end of a child, a signal",
    ),
    entry(
        "deadlines",
        "1",
        Task(|j, _| count(j.lateness.count() + j.lateness.censored())),
        "periods that ended, met or not, and deadlines that had passed when the run ended, with the work not done",
    ),
    entry("deadline_misses", "1", Task(|j, _| count(j.misses)), "periods that were missed, done late or not at all"),
    entry("lateness", "s", TaskSpread(|j| &j.lateness), "how late a period's work was done, 0 if in time"),
    entry(
        "message_latency",
        "s",
        TaskSpread(|j| &j.message_latency),
        "from sending a message to the receiver's being done with it: its next receive, the end of its pass or its own",
    ),
    entry(
        "lock_latency",
        "s",
        TaskSpread(|j| &j.lock_latency),
        "from requesting a lock or a permit to going on with it",
    ),
    entry(
        "signals_overlapped",
        "1",
        Task(|j, _| count(j.signals_overlapped)),
        "signals that came while an earlier one was not yet handled",
    ),
    entry("refused", "1", Task(|j, _| count(j.refused)), "tasks whose reservation the scheduler refused"),
    entry("memory_refused", "1", Task(|j, _| count(j.memory_refused)), "demands for memory that were refused"),
    entry(
        "memory_unused",
        "B",
        Task(|j, _| ratio(j.memory_unused as f64, j.ended as f64)),
        "mean memory set aside and not used, of the tasks that ended",
    ),
];

fn real(job: &Job, _: &Collector) -> Option<f64> {
    if job.first_ended < job.first {
        return None;
    }
    ratio(job.first_real as f64 / SECOND as f64, job.first as f64)
}

/// What a row describes.
enum Whose<'a> {
    System,
    Level(i16, &'a Level),
    Job(&'a str, &'a Job),
}

impl Entry {
    const fn info(&self) -> MetricInfo {
        let (scope, distribution) = match self.read {
            System(_) => (Scope::System, false),
            SystemSpread(_) => (Scope::System, true),
            Nice(_) => (Scope::Nice, false),
            Task(_) => (Scope::Task, false),
            TaskSpread(_) | TaskMade(_) => (Scope::Task, true),
        };
        MetricInfo { name: self.name, unit: self.unit, meaning: self.meaning, scope, distribution }
    }

    /// Its rows for one subject.
    fn read(&self, c: &Collector, whose: &Whose<'_>, rows: &mut Vec<Row>) {
        match (&self.read, whose) {
            (System(f), Whose::System) => self.number("", f(c), rows),
            (SystemSpread(f), Whose::System) => self.spread("", &f(c), rows),
            (Nice(f), Whose::Level(nice, level)) => self.number(&format!("nice.{nice}."), f(level, c), rows),
            (Task(f), Whose::Job(name, job)) => self.number(&prefix(name), f(job, c), rows),
            (TaskSpread(f), Whose::Job(name, job)) => self.spread(&prefix(name), f(job), rows),
            (TaskMade(f), Whose::Job(name, job)) => self.spread(&prefix(name), &f(job), rows),
            _ => {}
        }
    }

    fn number(&self, prefix: &str, value: Option<f64>, rows: &mut Vec<Row>) {
        rows.extend(value.map(|value| Row { metric: format!("{prefix}{}", self.name), unit: self.unit, value }));
    }

    fn spread(&self, prefix: &str, values: &Distribution, rows: &mut Vec<Row>) {
        let row = |statistic: &str, value| {
            let unit = self.info().unit_of(statistic);
            rows.push(Row { metric: format!("{prefix}{}.{statistic}", self.name), unit, value });
        };
        values.for_each_statistic(row);
    }
}

fn prefix(job: &str) -> String {
    format!("tasks.{job}.")
}

/// Every metric, in the order of the rows.
pub const METRICS: &[MetricInfo] = &{
    let mut all = [ENTRIES[0].info(); ENTRIES.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = ENTRIES[i].info();
        i += 1;
    }
    all
};

pub(crate) fn rows(c: &Collector) -> Vec<Row> {
    let mut rows = Vec::new();
    let levels = c.loads.levels().map(|(nice, level)| Whose::Level(nice, level));
    let jobs = c.setup.jobs.iter().zip(&c.jobs).map(|(name, job)| Whose::Job(name, job));
    for whose in std::iter::once(Whose::System).chain(levels).chain(jobs) {
        ENTRIES.iter().for_each(|entry| entry.read(c, &whose, &mut rows));
    }
    rows
}

/// The metric that a user means by "wakeup_latency.p99", "nice.5.load1", "tasks.io.real" or "tasks.*.real", in a workload
/// with these `jobs`. The error says what is wrong and names the nearest that exists.
pub fn find<S: AsRef<str>>(asked: &str, jobs: &[S]) -> Result<&'static MetricInfo, String> {
    let (scope, name) = match (asked.strip_prefix("tasks."), asked.strip_prefix("nice.")) {
        (Some(rest), _) => (Scope::Task, after_job(rest, jobs)?),
        (_, Some(rest)) => (Scope::Nice, after_level(rest)?),
        _ => (Scope::System, asked),
    };
    let all = || METRICS.iter().filter(|m| m.scope == scope);
    if let Some(found) = all().find(|m| m.name == name && !m.distribution) {
        return Ok(found);
    }
    let (name, statistic) = name.split_once('.').map_or((name, None), |(name, statistic)| (name, Some(statistic)));
    let found = all().find(|m| m.name == name).ok_or_else(|| {
        let whose = match scope {
            Scope::System => "the system",
            Scope::Nice => "a nice level",
            Scope::Task => "a job",
        };
        format!("{asked:?}: {whose} has no metric {name:?}{}", nearest(name, all().map(|m| m.name)))
    })?;
    match statistic {
        None if found.distribution => Err(format!(
            "{asked:?} is a distribution: say which number of it is meant, such as {:?} (one of {})",
            format!("{asked}.p99"),
            MetricInfo::STATISTICS.join(", ")
        )),
        Some(statistic) if !found.distribution => {
            Err(format!("{asked:?}: {name:?} is one number, leave out {:?}", format!(".{statistic}")))
        }
        Some(statistic) if !MetricInfo::is_statistic(statistic) => {
            Err(format!("{asked:?}: {statistic:?} is not one of {}", MetricInfo::STATISTICS.join(", ")))
        }
        _ => Ok(found),
    }
}

/// What follows the job in "io.real"; a name of a job may have dots in it.
fn after_job<'a, S: AsRef<str>>(rest: &'a str, jobs: &[S]) -> Result<&'a str, String> {
    let names = || jobs.iter().map(AsRef::as_ref);
    let known = names().chain(["*"]).filter_map(|job| rest.strip_prefix(job)?.strip_prefix('.'));
    known.min_by_key(|name| name.len()).ok_or_else(|| {
        if names().any(|job| job == rest) {
            return format!("\"tasks.{rest}\": say which metric of the job is meant, such as \"tasks.{rest}.real\"");
        }
        let job = rest.split('.').next().unwrap_or_default();
        format!("\"tasks.{rest}\": the workload has no job {job:?}{}", nearest(job, names()))
    })
}

/// What follows the level in "-5.load1".
fn after_level(rest: &str) -> Result<&str, String> {
    let (level, name) = rest.split_once('.').unwrap_or((rest, ""));
    if level != "*" && level.parse::<i8>().is_err() {
        return Err(format!("\"nice.{rest}\": {level:?} is no nice level: a whole number, or * for each"));
    }
    Ok(name)
}

fn nearest<'a>(found: &str, names: impl Iterator<Item = &'a str>) -> String {
    let best = names.min_by_key(|name| strsim::osa_distance(found, name));
    best.map_or_else(String::new, |name| format!("; the nearest is {name:?}"))
}
