//! Every metric against a sequence short enough to be summed by hand. Long, because it is a sum for each metric.

use schedlab_metrics::{Collector, METRICS, Report, Setup, find};
use schedlab_model::{
    event::{Event, Irq, Kind, Leave, NO_TASK, Observer, Sample, Unfinished},
    info::{MetricInfo, Scope},
    machine::Accounting,
};

const MS: u64 = 1_000_000;

/// An event at `ms` on processor 0.
fn at(ms: u64, task: u32, kind: Kind, flag: u8, a: u64, b: u64) -> Event {
    Event { time: ms * MS, a, b, task, cpu: 0, kind, flag }
}

fn created(ms: u64, task: u32, job: u64) -> Event {
    at(ms, task, Kind::Created, 128, job, NO_TASK.into())
}

fn wakes(ms: u64, task: u32) -> Event {
    at(ms, task, Kind::Wakeup, 0, 0, 0)
}

fn starts(ms: u64, task: u32) -> Event {
    at(ms, task, Kind::Wakeup, 1, 0, 0)
}

fn runs(ms: u64, task: u32) -> Event {
    at(ms, task, Kind::SwitchIn, 0, 0, 0)
}

fn leaves(ms: u64, task: u32, why: Leave, user_ms: u64, system_ms: u64) -> Event {
    at(ms, task, Kind::SwitchOut, why as u8, user_ms * MS, system_ms * MS)
}

fn ends(ms: u64, task: u32) -> Event {
    at(ms, task, Kind::Exited, 0, 0, 0)
}

fn collector(jobs: &[&str], accounting: Accounting, events: &[Event]) -> Collector {
    let jobs = jobs.iter().map(|&j| j.to_owned()).collect();
    let mut collector = Collector::new(Setup { jobs, processors: 1, accounting, page: 4096, pages: Some(20) });
    events.iter().for_each(|&e| collector.observe(e));
    collector
}

fn report(jobs: &[&str], end_ms: u64, events: &[Event]) -> Report {
    collector(jobs, Accounting::Exact, events).finish(end_ms * MS)
}

#[track_caller]
fn expect(report: &Report, rows: &[(&str, f64)]) {
    for &(name, value) in rows {
        let found = report.get(name).unwrap_or_else(|| panic!("{name} has no row"));
        assert!((found - value).abs() <= 1e-12 * value.abs(), "{name}: {found}, by hand {value}");
    }
}

/// An editor that waits for the disk, next to a hog, for 100 ms:
///
/// ```text
/// ms      0    10   20   30   40   50   60   70   80   90   100
/// editor       ####                ..####.#                        ends at 75
/// hog               #########################+.....##########+++++ still runs
/// ```
fn editor_and_hog() -> Vec<Event> {
    use Leave::*;
    vec![
        created(0, 0, 0),
        at(10, 0, Kind::Overhead, 0, MS, 0),
        starts(10, 0),
        runs(10, 0),
        leaves(20, 0, Blocked, 8, 2),
        at(20, NO_TASK, Kind::Idle, 1, 0, 0),
        created(22, 1, 1),
        starts(22, 1),
        at(24, 1, Kind::Overhead, 0, MS, 0),
        runs(24, 1),
        wakes(46, 0),
        leaves(50, 1, SliceEnd, 26, 0),
        runs(50, 0),
        leaves(60, 0, Preempted, 10, 0),
        runs(60, 1),
        leaves(65, 1, Yielded, 0, 5),
        runs(65, 0),
        ends(75, 0),
        leaves(75, 0, Exited, 10, 0),
        runs(75, 1),
    ]
}

#[test]
fn times_switches_and_waits_of_the_system_are_those_summed_by_hand() {
    let mut events = editor_and_hog();
    events.push(leaves(100, 1, Leave::Stopped, 20, 5));
    let mut collector = collector(&["editor", "hog"], Accounting::Exact, &events);
    let report = collector.finish(100 * MS);
    assert_eq!(collector.totals().sum(), 100 * MS);
    expect(
        &report,
        &[
            ("elapsed", 0.1),
            ("user", 0.074),
            ("system", 0.012),
            ("overhead", 0.002),
            ("idle", 0.009),
            ("io_wait", 0.003),
            ("utilization", 88.0),
            ("context_switches", 5.0),
            ("voluntary_switches", 3.0),
            ("involuntary_switches", 2.0),
            // editor 4 + 5, hog 2 + 10 + 10 of 100 ms
            ("run_queue", 0.31),
            ("wakeup_latency.count", 1.0),
            ("wakeup_latency.max", 0.004),
            ("run_wait.count", 6.0),
            ("run_wait.mean", 0.031 / 6.0),
            ("run_wait.min", 0.0),
            ("run_wait.max", 0.01),
            // editor from 10 to 20 and from 46 to 75, hog from 22 on
            ("load_mean", 1.17),
            ("nice.0.load_mean", 1.17),
        ],
    );
    assert_eq!(report.get("load1"), None, "the run ended before the first sample");
}

#[test]
fn a_row_of_records_counts_as_each_of_them() {
    for kind in [Kind::Interrupt, Kind::SystemCall, Kind::Overhead] {
        let record = at(0, NO_TASK, kind, 0, 3, 0);
        let times = (1..=7).map(|ms| ms * MS).collect::<Vec<_>>();
        let [mut each, mut row] = [(); 2].map(|()| collector(&["editor"], Accounting::Exact, &[]));
        times.iter().for_each(|&time| (0..2).for_each(|cpu| each.observe(Event { time, cpu, ..record })));
        // Two listen, and are lent, as in a simulation.
        (&mut row, ()).observe_row(record, 2, times.iter().copied());
        assert_eq!(row.finish(10 * MS).rows, each.finish(10 * MS).rows, "{kind:?}");
    }
}

#[test]
fn times_switches_and_waits_of_the_jobs_are_those_summed_by_hand() {
    let report = report(&["editor", "hog"], 100, &editor_and_hog());
    expect(
        &report,
        &[
            ("tasks.editor.real", 0.075),
            ("tasks.editor.user", 0.028),
            ("tasks.editor.sys", 0.002),
            ("tasks.editor.true_user", 0.028),
            ("tasks.editor.true_sys", 0.002),
            ("tasks.editor.share", 30.0),
            ("tasks.editor.wait", 0.009),
            ("tasks.editor.longest_gap", 0.005),
            ("tasks.editor.wakeup_latency.mean", 0.004),
            ("tasks.editor.turnaround.mean", 0.075),
            ("tasks.editor.response.mean", 0.0),
            ("tasks.editor.waiting.mean", 0.009),
            ("tasks.editor.slowdown.mean", 2.5),
            ("tasks.editor.bounded_slowdown.mean", 2.5),
            ("tasks.editor.queueing.mean", 0.045),
            ("tasks.editor.completed", 1.0),
            ("tasks.editor.voluntary_switches", 2.0),
            ("tasks.editor.involuntary_switches", 1.0),
            // The last 25 ms count as user time, for want of a better word.
            ("tasks.hog.user", 0.051),
            ("tasks.hog.sys", 0.005),
            ("tasks.hog.share", 56.0),
            ("tasks.hog.wait", 0.022),
            // The 10 ms after the yield were its own wish.
            ("tasks.hog.longest_gap", 0.01),
            ("tasks.hog.completed", 0.0),
            ("tasks.hog.turnaround.count", 0.0),
            ("tasks.hog.response.mean", 0.002),
            ("tasks.hog.waiting.censored_max", 0.022),
            ("tasks.hog.slowdown.censored", 1.0),
            ("turnaround.count", 1.0),
            ("turnaround.censored", 1.0),
            ("response.mean", 0.001),
            // 30 of 75 ms and 56 of 78 ms
            ("jain", (0.4f64 + 56.0 / 78.0).powi(2) / (2.0 * (0.16 + (56.0f64 / 78.0).powi(2)))),
        ],
    );
    assert_eq!(report.get("tasks.hog.real"), None);
    assert_eq!(report.get("tasks.hog.turnaround.mean"), None);
}

/// A task that runs from the start, a niced one that is ready from 10 s to 20 s, and one that is ready from 12 s to 13 s,
/// between two samples, in a run of 30 s.
fn three_levels() -> Report {
    let nice = |task: u32, nice: i16, ms| Event { flag: (nice + 128) as u8, ..created(ms, task, 0) };
    report(
        &["job"],
        30_000,
        &[
            nice(0, -5, 0),
            starts(0, 0),
            runs(0, 0),
            nice(1, 19, 10_000),
            starts(10_000, 1),
            nice(2, 0, 0),
            starts(12_000, 2),
            at(13_000, 2, Kind::Exited, 1, 0, 0),
            at(20_000, 1, Kind::Exited, 1, 0, 0),
        ],
    )
}

#[test]
fn load_averages_are_those_of_uptime_from_samples_every_five_seconds() {
    // An average with that reach, s, after samples of n tasks.
    let average =
        |reach: f64, samples: &[f64]| samples.iter().fold(0.0, |average, n| n + (average - n) * (-5.0 / reach).exp());
    let report = three_levels();
    let near = |name: &str, by_hand: f64| {
        let found = report.get(name).unwrap();
        assert!((found - by_hand).abs() < 1e-12, "{name}: {found}, by hand {by_hand}");
    };
    for (name, reach) in [("load1", 60.0), ("load5", 300.0), ("load15", 900.0)] {
        near(&format!("nice.-5.{name}"), average(reach, &[1.0; 6]));
        // The sample at 10 s sees it come, that at 20 s does not see it go.
        near(&format!("nice.19.{name}"), average(reach, &[0.0, 1.0, 1.0, 0.0, 0.0, 0.0]));
        near(&format!("nice.0.{name}"), 0.0);
        near(name, average(reach, &[1.0, 2.0, 2.0, 1.0, 1.0, 1.0]));
    }
    near("nice.-5.load1", 1.0 - (-0.5f64).exp());
    expect(
        &report,
        &[
            ("load_mean", 41.0 / 30.0),
            ("nice.-5.load_mean", 1.0),
            ("nice.0.load_mean", 1.0 / 30.0),
            ("nice.19.load_mean", 1.0 / 3.0),
        ],
    );
}

#[test]
fn samples_that_are_due_without_wakeups_know_when_tasks_left() {
    let mut events = vec![];
    for task in 0..4 {
        events.extend([created(0, task, 0), starts(0, task)]);
    }
    // One after the other, for 4 s each: at 5 s there are 3, at 10 s 2, at 15 s 1, and none at 20 s.
    for task in 0..4 {
        let start = 4000 * u64::from(task);
        events.extend([runs(start, task), leaves(start + 4000, task, Leave::Blocked, 4000, 0)]);
    }
    let decay = (-5.0f64 / 60.0).exp();
    let load = [3.0, 2.0, 1.0, 0.0].iter().fold(0.0, |average, n| n + (average - n) * decay);
    let report = report(&["job"], 20_000, &events);
    assert!((report.get("load1").unwrap() - load).abs() < 1e-12);
    expect(&report, &[("load_mean", (4 + 8 + 12 + 16) as f64 / 20.0)]);
}

#[test]
fn a_job_cut_off_by_the_end_is_warned_of() {
    let report = report(&["editor", "hog"], 100, &editor_and_hog());
    let [warning] = &report.warnings[..] else { panic!("{:?}", report.warnings) };
    assert_eq!(warning.metric.as_deref(), Some("tasks.hog.real"));
    assert!(warning.to_string().starts_with("1 of 1 tasks of `hog` had not ended when the run ended at 0.1 s; "));
}

#[test]
fn a_gap_after_a_yield_is_not_counted_as_the_longest() {
    let events = [
        created(0, 0, 0),
        starts(0, 0),
        runs(3, 0),
        leaves(5, 0, Leave::Yielded, 2, 0),
        runs(50, 0),
        leaves(51, 0, Leave::Yielded, 1, 0),
    ];
    expect(&report(&["hog"], 90, &events), &[("tasks.hog.longest_gap", 0.003), ("tasks.hog.wait", 0.087)]);
}

#[test]
fn a_task_still_waiting_at_the_end_counts_with_its_wait_so_far() {
    let events = [created(0, 0, 0), starts(0, 0), runs(0, 0), leaves(10, 0, Leave::Preempted, 10, 0)];
    let report = report(&["hog"], 90, &events);
    expect(
        &report,
        &[("tasks.hog.longest_gap", 0.08), ("tasks.hog.wait", 0.08), ("run_queue", 8.0 / 9.0), ("run_wait.count", 1.0)],
    );
}

#[test]
fn what_the_end_cuts_off_is_counted_with_its_age_and_bounds() {
    let cut = |ms, task, what: Unfinished, age_ms| at(ms, task, Kind::Unfinished, what as u8, age_ms * MS, 0);
    let events = [
        created(0, 0, 0),
        starts(0, 0),
        runs(0, 0),
        at(79, 0, Kind::Pass, 0, 79 * MS, 0),
        created(1000, 1, 0),
        starts(1000, 1),
        at(90_000, 0, Kind::DiskQueued, 0, 8, 4),
        cut(100_000, 0, Unfinished::Pass, 60_000),
        cut(100_000, 0, Unfinished::Period, 3000),
        cut(100_000, 0, Unfinished::Request, 10_000),
        cut(100_000, 1, Unfinished::Deadlock, 0),
    ];
    let report = report(&["job", "none"], 100_000, &events);
    expect(
        &report,
        &[
            ("tasks.job.pass_time.max", 0.079),
            ("tasks.job.pass_time.max_low", 60.0),
            ("tasks.job.pass_time.censored", 1.0),
            ("tasks.job.pass_time.censored_max", 60.0),
            ("tasks.job.turnaround.censored", 2.0),
            ("tasks.job.turnaround.censored_max", 100.0),
            // The first one has had the processor all the time.
            ("tasks.job.queueing.censored", 1.0),
            ("tasks.job.queueing.censored_max", 99.0),
            ("tasks.job.run_wait.censored_max", 99.0),
            ("tasks.job.longest_gap", 99.0),
            ("longest_gap", 99.0),
            ("tasks.job.deadlines", 1.0),
            ("tasks.job.deadline_misses", 1.0),
            ("await_censored", 1.0),
            ("await_censored_max", 10.0),
            ("stuck", 1.0),
            ("deadlocks", 1.0),
            ("tasks.job.stuck", 1.0),
            ("tasks.none.run_wait.censored", 0.0),
        ],
    );
    let seen: Vec<String> = report.warnings.iter().map(|warning| warning.seen.clone()).collect();
    let expected = [
        "1 of 2 tasks of `job` had not ended when the run ended at 100 s",
        "a ready task of `job` had no processor for 99.000 s",
        "a request had waited for a drive for 10.000 s when the run ended",
    ];
    assert_eq!(seen, expected);
}

#[test]
fn children_count_for_the_job_but_not_as_its_tasks() {
    let events = [
        created(0, 0, 0),
        starts(0, 0),
        runs(0, 0),
        at(10, 1, Kind::Created, 128, 0, 0),
        starts(10, 1),
        leaves(10, 0, Leave::Blocked, 10, 0),
        runs(10, 1),
        ends(40, 1),
        leaves(40, 1, Leave::Exited, 20, 10),
        wakes(40, 0),
        runs(40, 0),
        leaves(50, 0, Leave::Exited, 10, 0),
        ends(50, 0),
    ];
    expect(
        &report(&["make"], 50, &events),
        &[
            ("tasks.make.real", 0.05),
            ("tasks.make.user", 0.04),
            ("tasks.make.sys", 0.01),
            ("tasks.make.completed", 2.0),
            ("tasks.make.turnaround.mean", 0.04),
            ("tasks.make.queueing.mean", 0.015),
        ],
    );
}

#[test]
fn a_task_killed_in_the_runqueue_has_waited_till_then() {
    let events = [created(0, 0, 0), starts(5, 0), at(25, 0, Kind::Exited, 1, 0, 0)];
    expect(
        &report(&["victim"], 50, &events),
        &[
            ("tasks.victim.real", 0.025),
            ("tasks.victim.wait", 0.02),
            ("tasks.victim.queueing.max", 0.025),
            ("run_queue", 0.4),
        ],
    );
}

#[test]
fn sampled_accounting_shows_what_the_ticks_charged_and_keeps_the_exact_time() {
    let tick = |ms, task, sample: Sample| at(ms, task, Kind::Sampled, sample as u8, 10 * MS, 0);
    let events = [
        created(0, 0, 0),
        starts(0, 0),
        runs(0, 0),
        tick(10, 0, Sample::User),
        tick(20, 0, Sample::User),
        tick(30, 0, Sample::System),
        leaves(35, 0, Leave::Exited, 33, 2),
        ends(35, 0),
        tick(40, NO_TASK, Sample::Idle),
    ];
    let report = collector(&["job"], Accounting::Sampled, &events).finish(50 * MS);
    expect(
        &report,
        &[
            ("tasks.job.user", 0.02),
            ("tasks.job.sys", 0.01),
            ("tasks.job.true_user", 0.033),
            ("tasks.job.true_sys", 0.002),
        ],
    );
    assert_eq!(report.warnings, []);
}

#[test]
fn cache_disk_and_kernel_entries_are_counted() {
    let irq = |line: Irq| at(1, NO_TASK, Kind::Interrupt, 0, line as u64, 0);
    let events = [
        created(0, 0, 0),
        irq(Irq::Clock),
        irq(Irq::Disk),
        at(1, 0, Kind::SystemCall, 0, 0, 0),
        at(1, 0, Kind::Migrated, 1, 1, 0),
        at(2, 0, Kind::Migrated, 0, 1, 0),
        at(2, 0, Kind::CacheLookup, 1, 7, 8),
        at(2, 0, Kind::CacheLookup, 0, 8, 8),
        at(2, 0, Kind::CacheLookup, 1, 7, 8),
        at(2, 0, Kind::CacheLookup, 3, 7, 8),
        at(2, 0, Kind::DiskQueued, 0, 8, 4),
        at(2, 0, Kind::DiskStart, 0, 8, 4),
        // Waits for 10 ms behind the first one.
        at(12, 0, Kind::DiskQueued, 1, 12, 2),
        at(22, 0, Kind::DiskDone, 0, 8, 20 * MS),
        at(22, 0, Kind::DiskStart, 1, 12, 2),
        at(32, 0, Kind::DiskDone, 1, 12, 10 * MS),
        // Still under way at the end.
        at(40, 0, Kind::DiskQueued, 3, 80, 8),
        at(40, 0, Kind::DiskStart, 3, 80, 8),
        at(0, NO_TASK, Kind::MemoryUse, 0, 10, 4 << 32),
        at(25, NO_TASK, Kind::MemoryUse, 0, 0, 8 << 32 | 2),
        at(41, 0, Kind::Fault, 2, 3, 0),
        at(42, 0, Kind::Fault, 0, 4, 0),
    ];
    expect(
        &report(&["job"], 50, &events),
        &[
            ("interrupts", 2.0),
            ("system_calls", 1.0),
            ("migrations", 1.0),
            ("tasks.job.migrations", 1.0),
            ("cache_lookups", 4.0),
            ("cache_hit_ratio", 75.0),
            // In 50 ms.
            ("lread", 24.0 / 0.05),
            ("lwrit", 8.0 / 0.05),
            ("bread", 4.0 / 0.05),
            ("bwrit", 2.0 / 0.05),
            ("rcache", 100.0 * (1.0 - 4.0 / 24.0)),
            ("wcache", 75.0),
            ("disk_requests", 3.0),
            ("disk_bytes", 14.0 * 512.0),
            ("disk_busy", 80.0),
            // One request for 20 ms, two for 10, one for 10 at the end: 50 ms of queue in 40 ms, by 2 completed ones.
            ("avque", 50.0 / 40.0),
            ("await", 0.025),
            ("page_in", 2.0),
            ("page_out", 1.0),
            ("swap_out", 1.0),
            ("swap_in", 0.0),
            ("pswpout", 20.0),
            ("memory_free", 5.0 * 4096.0),
            ("memory_cached", 6.0 * 4096.0),
            ("memory_used", 9.0 * 4096.0),
            ("swap_used", 4096.0),
            ("minor_faults", 1.0),
            ("major_faults", 1.0),
            ("tasks.job.major_faults", 1.0),
        ],
    );
}

#[test]
fn passes_periods_signals_and_memory_are_counted_by_job() {
    let pass = |ms, task, took| at(ms, task, Kind::Pass, 0, took * MS, 0);
    let period = |ms, met, late| at(ms, 0, Kind::Period, met, late * MS, 0);
    let signal = |ms, flag, open| at(ms, 0, Kind::Signal, flag, open, 0);
    let memory = |task, granted, has, set_aside| at(8, task, Kind::Memory, granted, has, set_aside);
    let events = [
        created(0, 0, 0),
        created(0, 1, 0),
        pass(4, 0, 4),
        pass(10, 1, 10),
        period(10, 1, 0),
        period(20, 0, 3),
        signal(1, 0, 1),
        signal(2, 0, 2),
        signal(3, 1, 2),
        signal(4, 0, 3),
        memory(0, 1, 1000, 4000),
        memory(0, 0, 1500, 4000),
        memory(1, 1, 500, 500),
        ends(30, 0),
        ends(30, 1),
    ];
    expect(
        &report(&["job"], 40, &events),
        &[
            ("throughput", 50.0),
            ("tasks.job.passes", 2.0),
            ("tasks.job.pass_time.mean", 0.007),
            ("tasks.job.pass_time.min", 0.004),
            ("tasks.job.pass_time.max", 0.01),
            ("tasks.job.deadlines", 2.0),
            ("tasks.job.deadline_misses", 1.0),
            ("tasks.job.lateness.max", 0.003),
            ("tasks.job.signals_overlapped", 2.0),
            ("tasks.job.memory_refused", 1.0),
            ("tasks.job.memory_unused", 1250.0),
        ],
    );
}

#[test]
fn servers_count_for_the_system_but_for_no_job() {
    let events = [
        created(0, 0, 1),
        starts(0, 0),
        runs(0, 0),
        leaves(10, 0, Leave::Blocked, 0, 10),
        at(10, NO_TASK, Kind::Idle, 0, 0, 0),
    ];
    let report = report(&["job"], 20, &events);
    expect(&report, &[("system", 0.01), ("context_switches", 1.0), ("tasks.job.voluntary_switches", 0.0)]);
    assert_eq!(report.warnings, []);
}

#[test]
fn events_of_unknown_tasks_and_processors_are_warned_of_and_cost_no_memory() {
    let far = Event { cpu: 9, ..runs(1, 0) };
    let events = [created(0, 4_000_000_000, 0), starts(0, 77), far];
    let report = report(&["job"], 2, &events);
    assert!(report.warnings[0].seen.starts_with("3 events name a task or a processor"), "{:?}", report.warnings);
}

/// A run in which every metric has a value, so that the table can be held against its rows.
fn complete() -> Report {
    let mut events = editor_and_hog();
    events.extend([
        at(90, NO_TASK, Kind::MemoryUse, 0, 10, 0),
        at(90, 1, Kind::CacheLookup, 1, 7, 8),
        at(90, 1, Kind::CacheLookup, 2, 7, 8),
        at(90, 1, Kind::DiskQueued, 0, 7, 8),
        at(90, 1, Kind::DiskStart, 0, 7, 8),
        at(92, 1, Kind::DiskDone, 0, 7, 2 * MS),
        at(92, 1, Kind::Pass, 0, 4, 0),
        at(90, 0, Kind::Period, 1, 0, 0),
        at(90, 1, Kind::Message, 0, MS, 0),
        at(90, 1, Kind::Granted, 0, MS, 0),
        leaves(95, 1, Leave::Exited, 20, 0),
        ends(95, 1),
        // Two that want the processor for two seconds.
        created(2500, 2, 0),
        created(2500, 3, 0),
        starts(2500, 2),
        starts(2500, 3),
        runs(2500, 2),
        leaves(3500, 2, Leave::Preempted, 1000, 0),
        runs(3500, 3),
    ]);
    report(&["editor", "hog"], 5000, &events)
}

#[test]
fn every_metric_of_the_table_has_a_row_and_every_row_is_of_the_table() {
    let (mut report, jobs) = (complete(), ["editor", "hog"]);
    let of_several = Collector::new(Setup { processors: 2, ..Setup::default() }).finish(1000).rows;
    report.rows.extend(of_several.into_iter().filter(|row| row.metric.starts_with("wasted")));
    for row in &report.rows {
        let metric = find(&row.metric, &jobs).unwrap();
        assert!(row.value.is_finite(), "{row:?}");
        let counts = row.metric.ends_with(".count") || row.metric.ends_with(".censored");
        assert!(row.unit == metric.unit || counts, "{row:?}");
    }
    for metric in METRICS {
        let statistics = if metric.distribution { MetricInfo::STATISTICS } else { &[""] };
        for statistic in statistics {
            let name = format!("{}.{statistic}", metric.name);
            let name = name.trim_end_matches('.');
            let rows = match metric.scope {
                Scope::System => report.rows.iter().filter(|r| r.metric == name).count(),
                Scope::Nice => usize::from(report.get(&format!("nice.0.{name}")).is_some()),
                Scope::Task => jobs.iter().filter(|job| report.get(&format!("tasks.{job}.{name}")).is_some()).count(),
            };
            assert!(rows > 0, "{name} has no row");
        }
    }
}

#[test]
fn a_waiting_task_wastes_only_processors_that_it_may_use_at_the_time() {
    let mut collector = Collector::new(Setup { jobs: vec!["a".to_owned()], processors: 2, ..Setup::default() });
    let allowed = |ms, mask| at(ms, 1, Kind::Allowed, 0, mask, 0);
    let second = Event { cpu: 1, ..runs(6, 1) };
    let begins = [created(0, 0, 0), created(0, 1, 0), starts(0, 0), runs(0, 0), starts(1, 1)];
    let all = begins.into_iter().chain([allowed(3, 0b01), allowed(5, 0b11), second]);
    all.for_each(|event| collector.observe(event));
    // From 1 to 3 ms and from 5 to 6 ms, of two processors.
    expect(&collector.finish(10 * MS), &[("wasted", 15.0), ("wasted.longest", 0.002)]);
}

#[test]
fn names_in_the_table_are_unique_within_their_scope() {
    for (i, metric) in METRICS.iter().enumerate() {
        let same = |m: &MetricInfo| (m.scope, m.name) == (metric.scope, metric.name);
        assert_eq!(METRICS.iter().position(same), Some(i), "{}", metric.name);
    }
}

#[test]
fn a_name_that_is_not_in_the_table_gets_the_nearest_that_is() {
    let jobs = ["io", "hog", "v1.2"];
    for good in [
        "elapsed",
        "wakeup_latency.p99",
        "tasks.io.real",
        "tasks.*.sys",
        "tasks.v1.2.turnaround.mean",
        "load1",
        "nice.-5.load1",
    ] {
        assert!(find(good, &jobs).is_ok(), "{good}: {:?}", find(good, &jobs));
    }
    for (bad, part) in [
        ("elapse", "the system has no metric \"elapse\"; the nearest is \"elapsed\""),
        ("real", "the system has no metric \"real\""),
        ("tasks.io.reel", "a job has no metric \"reel\"; the nearest is \"real\""),
        ("tasks.oi.real", "the workload has no job \"oi\"; the nearest is \"io\""),
        ("tasks.io", "say which metric of the job is meant, such as \"tasks.io.real\""),
        ("nice.0.laod1", "a nice level has no metric \"laod1\"; the nearest is \"load1\""),
        ("nice.low.load1", "\"low\" is no nice level: a whole number, or * for each"),
        ("nice.load1", "\"load1\" is no nice level"),
        ("tasks", "the system has no metric \"tasks\""),
        ("wakeup_latency", "is a distribution: say which number of it is meant, such as \"wakeup_latency.p99\""),
        ("wakeup_latency.p98", "\"p98\" is not one of mean, min, max, p50"),
        ("elapsed.p99", "\"elapsed\" is one number, leave out \".p99\""),
        ("", "the system has no metric \"\""),
    ] {
        let error = find(bad, &jobs).unwrap_err();
        assert!(error.contains(part), "{bad}: {error}");
    }
}
