//! How runs end: what their end cuts off is counted, and tasks that can never continue are named.

use schedlab_metrics::Report;
use schedlab_model::event::Kind;
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{Run, run, scenario};

/// One processor without costs.
const MACHINE: &str = "machine = \"uniform\"\n";

fn report(text: &str) -> Report {
    schedlab_sim::run::<All>(&scenario(text), 1).unwrap()
}

/// A run on one processor without costs, under a scheduler whose turns are short.
fn text(rest: &str) -> String {
    format!("{MACHINE}scheduler = {{ name = \"round_robin\", slice = \"10ms\" }}\n{rest}")
}

fn audited(rest: &str) -> Run {
    run::<All>(&scenario(&text(rest)), 1)
}

#[track_caller]
fn expect(report: &Report, rows: &[(&str, f64)]) {
    for &(name, value) in rows {
        let found = report.get(name).unwrap_or_else(|| panic!("{name} has no row"));
        assert!((found - value).abs() <= 1e-9 * value.abs().max(1e-3), "{name}: {found}, by hand {value}");
    }
}

/// The warning about stuck tasks.
#[track_caller]
fn said(report: &Report) -> String {
    let stuck = |metric: Option<&str>| metric == Some("stuck");
    let found = report.warnings.iter().find(|warning| stuck(warning.metric.as_deref()));
    found.unwrap_or_else(|| panic!("{:?}", report.warnings)).to_string()
}

const TWO: &str = r#"
[workload.d]
passes = 100
steps = [{lock="a"},{compute="3ms"},{sleep="1ms"},{lock="b"},{unlock="b"},{unlock="a"}]
[workload.e]
passes = 100
steps = [{lock="b"},{compute="3ms"},{sleep="1ms"},{lock="a"},{unlock="a"},{unlock="b"}]
"#;

#[test]
fn a_deadlock_is_named_and_counted_and_ends_a_run_without_a_limit() {
    let report = report(&text(TWO));
    let warning = said(&report);
    assert!(
        warning.starts_with("deadlock: d holds a and waits for b; e holds b and waits for a; 2 tasks can"),
        "{warning}"
    );
    expect(
        &report,
        &[("elapsed", 0.007), ("stuck", 2.0), ("deadlocks", 1.0), ("tasks.d.stuck", 1.0), ("tasks.e.stuck", 1.0)],
    );
    // No warning advises a longer run.
    assert!(
        !report.warnings.iter().any(|warning| warning.to_string().contains("last longer")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn a_deadlock_is_found_while_other_tasks_continue() {
    let hog = "workload.hog = { load = \"spin\", passes = \"forever\" }\n";
    // Without a limit the run ends when it is first looked at, with one it goes on to it.
    for (limit, end) in [("", 1.0), ("duration = \"3s\"\n", 3.0)] {
        let report = report(&text(&format!("{limit}{hog}{TWO}")));
        assert!(said(&report).starts_with("deadlock: d holds a and waits for b; e holds b and waits for a; 2 tasks"));
        expect(&report, &[("elapsed", end), ("deadlocks", 1.0), ("stuck", 2.0), ("tasks.hog.stuck", 0.0)]);
        assert!(report.get("tasks.hog.share").unwrap() > 99.0);
    }
    // A task that has not begun yet is waited for.
    let late = "workload.late = { load = \"spin\", start = \"5s\", compute = \"1s\" }\n";
    expect(&report(&text(&format!("{late}{TWO}"))), &[("elapsed", 6.0), ("tasks.late.completed", 1.0), ("stuck", 2.0)]);
}

#[test]
fn philosophers_in_a_circle_of_three_are_all_named() {
    let one = |name: &str, first: &str, second: &str| {
        let (take, give) = (|lock: &str| format!("{{lock=\"{lock}\"}}"), |lock: &str| format!("{{unlock=\"{lock}\"}}"));
        let steps = [take(first), "{sleep=\"1ms\"}".into(), take(second), give(second), give(first)].join(",");
        format!("workload.{name} = {{ passes = 5, steps = [{steps}] }}\n")
    };
    let circle = [one("p", "a", "b"), one("q", "b", "c"), one("r", "c", "a")].concat();
    let report = report(&text(&format!("{circle}{}", one("s", "a", "d"))));
    let warning = said(&report);
    let circle = "deadlock: p holds a and waits for b; q holds b and waits for c; r holds c and waits for a; ";
    assert!(warning.starts_with(&format!("{circle}s waits for lock a, which p holds; 4 tasks")), "{warning}");
    expect(&report, &[("stuck", 4.0), ("deadlocks", 1.0)]);
}

#[test]
fn waits_that_cannot_end_name_the_waiters_and_what_they_wait_for() {
    for (job, expected) in [
        // The only sender has sent its one message.
        (
            "workload.s = { steps = [{send=\"p\"}] }\nworkload.r = { count = 3, steps = [{receive=\"p\"}, {compute=\"1ms\"}] }\n",
            "2 tasks of r wait for a message in p, and no task will send one; 2 tasks can never",
        ),
        (
            "workload.r = { steps = [{fork=[{receive=\"p\"}]}, \"wait\", {send=\"p\"}] }\n",
            "a child of r waits for a message in p, and no task will send one; r waits for a child that never ends",
        ),
        (
            "workload.r = { steps = [{compute=\"1ms\"}, \"pause\"] }\n",
            "r waits for a signal, and no task of the job will send one; 1 task can never",
        ),
    ] {
        let hog = "workload.hog = { load = \"spin\", passes = \"forever\" }\n";
        for rest in [job.to_owned(), format!("{hog}{job}")] {
            let warning = said(&report(&text(&rest)));
            assert!(warning.starts_with(expected), "{warning}");
        }
    }
}

#[test]
fn a_task_that_is_woken_in_time_is_not_stuck() {
    for job in [
        "workload.r = { steps = [{receive=\"p\"}] }\nworkload.s = { steps = [{sleep=\"3s\"}, {send=\"p\"}] }\n",
        "workload.r = { steps = [{fork=[{sleep=\"3s\"}]}, \"wait\"] }\n",
        "workload.r = { count = 2, steps = [{lock=\"a\"}, {sleep=\"3s\"}, {unlock=\"a\"}] }\n",
    ] {
        let report = report(&text(job));
        expect(&report, &[("stuck", 0.0), ("deadlocks", 0.0)]);
        assert!(report.get("elapsed").unwrap() >= 3.0);
    }
}

#[test]
fn what_has_not_ended_is_counted_with_its_age() {
    // A pass of 4 s while another task does one and a half.
    let run = audited("duration = \"6s\"\nworkload.a = { load = \"spin\", compute = \"4s\", passes = \"forever\" }\n");
    let rows = [
        ("tasks.a.pass_time.count", 1.0),
        ("tasks.a.pass_time.max", 4.0),
        ("tasks.a.pass_time.censored", 1.0),
        ("tasks.a.pass_time.censored_max", 2.0),
        // The longer one may still become the median or not: from 2 s to anything.
        ("tasks.a.pass_time.p50_low", 2.0),
        ("tasks.a.turnaround.censored", 1.0),
        ("tasks.a.turnaround.censored_max", 6.0),
        ("tasks.a.queueing.censored", 0.0),
    ];
    for (name, value) in rows {
        assert!((run.get(name) - value).abs() <= 0.01 * value, "{name}: {} for {value}", run.get(name));
    }
    assert_eq!(run.report.get("tasks.a.pass_time.max_low"), None);
}

#[test]
fn a_task_that_is_starved_shows_in_gaps_and_waits_and_is_warned_of() {
    // First come, first served: the second one waits for 60 s, and would wait endlessly.
    let rest = "duration = \"60s\"\nworkload.a = { load = \"spin\", compute = \"100s\" }\nworkload.b = { start = \"1s\", \
                steps = [{compute=\"1s\"}] }\n";
    let report = report(&format!("{MACHINE}scheduler = {{ name = \"fifo\" }}\n{rest}"));
    let rows = [
        ("longest_gap", 59.0),
        ("tasks.b.longest_gap", 59.0),
        ("tasks.b.run_wait.count", 0.0),
        ("tasks.b.run_wait.censored", 1.0),
        ("tasks.b.run_wait.censored_max", 59.0),
        ("run_wait.max", 0.0),
        ("run_wait.max_low", 59.0),
        ("tasks.a.longest_gap", 0.0),
    ];
    expect(&report, &rows);
    let warning: Vec<String> = report.warnings.iter().map(ToString::to_string).collect();
    let starved: Vec<&String> = warning.iter().filter(|text| text.contains("had no processor")).collect();
    assert!(
        starved.len() == 1 && starved[0].starts_with("a ready task of `b` had no processor for 59.000 s; "),
        "{warning:?}"
    );
}

#[test]
fn deadlines_that_passed_are_missed_although_the_work_never_came_to_its_period() {
    let rest = "duration = \"10s\"\nworkload.a = { load = \"spin\", compute = \"100s\" }\nworkload.p = { start = \"1s\", \
                passes = \"forever\", steps = [{compute=\"1ms\"}, {period=\"1s\"}] }\n";
    let report = report(&format!("{MACHINE}scheduler = {{ name = \"fifo\" }}\n{rest}"));
    // Of 2 s, 3 s, ... 9 s; that of 10 s is just due.
    expect(
        &report,
        &[
            ("tasks.p.deadlines", 8.0),
            ("tasks.p.deadline_misses", 8.0),
            ("tasks.p.lateness.count", 0.0),
            ("tasks.p.lateness.censored", 8.0),
            ("tasks.p.lateness.censored_max", 8.0),
        ],
    );
}

#[test]
fn bursts_of_hours_have_quantiles_to_one_percent() {
    let rest = "workload.a = { passes = 50, steps = [{ compute = { uniform = [\"5000s\", \"9000s\"] } }] }\n";
    let run = audited(rest);
    let mut lengths: Vec<f64> = run.of(Kind::Pass).map(|event| event.a as f64 / 1e9).collect();
    lengths.sort_by(f64::total_cmp);
    for (name, rank) in [("p50", 25), ("p90", 45), ("p99", 50), ("max", 50)] {
        let (value, truth) = (run.get(&format!("tasks.a.pass_time.{name}")), lengths[rank - 1]);
        assert!((value / truth - 1.0).abs() < 0.01, "{name}: {value} for {truth}");
    }
    assert!(run.get("tasks.a.pass_time.p50") > 5100.0);
}
