//! The simulation against what can be computed by hand: exact sums where there is no chance, and the mean over fixed seeds
//! where there is.
//!
//! A test of a mean asks that the 99 % interval over seeds 1 to 30 contain the formula and be narrow. Of a hundred such tests
//! of a right simulator one would fail by bad luck; the seeds were set before the first run, so none is tried again.

use proptest::prelude::*;
use schedlab_metrics::Row;
use schedlab_model::{
    MICROSECOND, Nanos,
    event::{Kind, NO_TASK},
    scenario::Scenario,
};
use schedlab_policies::schedulers::All;
use schedlab_sim::run_batch;
use schedlab_testing::schedulers::{Run, run, scenario};
use std::fmt::Write;

const SEEDS: std::ops::RangeInclusive<u64> = 1..=30;
/// Student's t for 29 degrees of freedom, both sides of 99 %.
const T: f64 = 2.756;

/// One job per length in us, all on one processor without costs; tasks get their numbers in this order.
fn computing(scheduler: &str, lengths: &[u64], starts: &[u64]) -> Scenario {
    let mut text = format!("machine = \"uniform\"\nscheduler = {{ {scheduler} }}\n");
    for (n, (length, start)) in lengths.iter().zip(starts).enumerate() {
        writeln!(text, "workload.job{n:02} = {{ start = \"{start}us\", steps = [{{ compute = \"{length}us\" }}] }}")
            .unwrap();
    }
    scenario(&text)
}

/// When each task ended, us.
fn ends(run: &Run, tasks: usize) -> Vec<u64> {
    (0..tasks as u32).map(|task| run.first(Kind::Exited, task) / MICROSECOND).collect()
}

fn lengths() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1..60_000u64, 1..7)
}

proptest! {
    /// A task's last turn comes after k whole ones; until then those before it in the queue had k + 1 turns, those behind k.
    #[test]
    fn round_robin_ends_each_task_where_the_turns_add_up_to(lengths in lengths(), slice in 1_000..20_000u64) {
        let run = run::<All>(&computing(&format!("name = \"round_robin\", slice = \"{slice}us\""), &lengths, &[0; 7]), 1);
        let expected = lengths.iter().enumerate().map(|(task, length)| {
            let whole = length.div_ceil(slice) - 1;
            let others = lengths.iter().enumerate().filter(|(other, _)| *other != task);
            let had = |(other, all): (usize, &u64)| *all.min(&((whole + u64::from(other < task)) * slice));
            length + others.map(had).sum::<u64>()
        });
        prop_assert_eq!(ends(&run, lengths.len()), expected.collect::<Vec<_>>());
    }

    /// Each begins when it has come and the one before it has ended (Lindley).
    #[test]
    fn fifo_serves_in_order_of_arrival(lengths in lengths(), mut starts in prop::collection::vec(0..100_000u64, 7)) {
        starts.sort_unstable();
        let run = run::<All>(&computing("name = \"fifo\"", &lengths, &starts), 1);
        let mut free = 0;
        let expected = lengths.iter().zip(&starts).map(|(length, start)| {
            free = free.max(*start) + length;
            free
        });
        prop_assert_eq!(ends(&run, lengths.len()), expected.collect::<Vec<_>>());
    }
}

#[test]
fn equal_tasks_under_round_robin_respond_after_n_times_their_length_less_the_turns_behind() {
    for (n, turns, slice) in [(1, 1, 10_000), (2, 3, 10_000), (5, 7, 3_000), (20, 4, 1_000)] {
        let lengths = vec![turns * slice; n as usize];
        let run = run::<All>(
            &computing(&format!("name = \"round_robin\", slice = \"{slice}us\""), &lengths, &vec![0; n as usize]),
            1,
        );
        let expected = (1..=n).map(|place| (turns - 1) * n * slice + place * slice);
        assert_eq!(ends(&run, n as usize), expected.collect::<Vec<_>>());
    }
}

#[test]
fn switching_takes_its_part_of_every_slice() {
    let (slice, cost, turns) = (9_000, 1_000, 120);
    let scenario = scenario(&format!(
        r#"
        duration = "{}us"
        machine = {{ preset = "uniform", costs = {{ context_switch = "{cost}us" }} }}
        scheduler = {{ name = "round_robin", slice = "{slice}us" }}
        workload.hog = {{ load = "spin", passes = "forever", count = 3 }}
        "#,
        turns * (slice + cost)
    ));
    let run = run::<All>(&scenario, 1);
    assert_eq!(run.totals.overhead, turns * cost * MICROSECOND);
    assert_eq!(run.totals.user, turns * slice * MICROSECOND);
    // c / (s + c), and a wait of (n - 1) (s + c) between two turns.
    assert_eq!(run.get("overhead") / run.get("elapsed"), 0.1);
    assert_eq!(run.get("tasks.hog.longest_gap"), 0.020);
}

#[test]
fn yielding_costs_a_switch_even_if_nothing_else_is_done() {
    let scenario = scenario(
        r#"
        machine = { preset = "uniform", costs = { context_switch = "1ms" } }
        scheduler = { name = "fifo" }
        workload.polite = { count = 2, steps = [{ repeat = { times = 10, steps = ["yield"] } }] }
        "#,
    );
    let run = run::<All>(&scenario, 1);
    assert_eq!(run.order().len(), 22);
    assert_eq!((run.totals.overhead, run.totals.sum()), (22_000_000, 22_000_000));
}

/// The values of a metric over the seeds.
fn over_seeds(scenario: &Scenario, metric: &str) -> Vec<f64> {
    let runs: Vec<_> = SEEDS.map(|seed| (scenario.clone(), seed)).collect();
    let value = |rows: Vec<Row>| rows.into_iter().find(|row| row.metric == metric).expect("the metric").value;
    run_batch::<All>(&runs).into_iter().map(|report| value(report.unwrap().rows)).collect()
}

#[track_caller]
fn assert_mean(values: &[f64], expected: f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let half = T * (variance / n).sqrt();
    assert!(half < 0.05 * expected, "{mean} +- {half} is too wide for a result");
    assert!((mean - expected).abs() <= half, "{mean} +- {half}, expected {expected}");
}

/// Customers with exponential gaps between them.
fn queue(gap: &str, service: &str, count: u32) -> Scenario {
    scenario(&format!(
        r#"
        machine = "uniform"
        scheduler = {{ name = "fifo" }}
        workload.customer = {{ count = {count}, gap = {{ exp = "{gap}" }}, steps = [{{ compute = {service} }}] }}
        "#
    ))
}

#[test]
fn an_m_m_1_queue_waits_rho_over_mu_minus_lambda() {
    for (gap, rho) in [("2ms", 0.5), ("1250us", 0.8)] {
        let waits = over_seeds(&queue(gap, r#"{ exp = "1ms" }"#, 100_000), "tasks.customer.queueing.mean");
        assert_mean(&waits, rho / (1.0 - rho) * 1e-3);
    }
}

#[test]
fn constant_service_halves_the_wait() {
    let waits = over_seeds(&queue("2ms", r#""1ms""#, 20_000), "tasks.customer.queueing.mean");
    assert_mean(&waits, 0.5 / (1.0 - 0.5) * 1e-3 / 2.0);
}

#[test]
fn littles_law_and_the_utilisation_law_hold_exactly() {
    let run = run::<All>(&queue("1500us", r#"{ exp = "1ms" }"#, 5_000), 1);
    let near = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * b, "{a} {b}");
    let throughput = run.get("throughput");
    near(run.get("run_queue"), throughput * run.get("tasks.customer.queueing.mean"));
    near(run.get("utilization") / 100.0, throughput * run.get("tasks.customer.true_user"));
    assert!((0.6..0.75).contains(&(run.get("utilization") / 100.0)));
}

#[test]
fn random_access_takes_a_mean_seek_and_half_a_revolution() {
    const CYLINDERS: u64 = 400;
    let scenario = scenario(&format!(
        r#"
        scheduler = {{ name = "fifo" }}
        workload.reader.steps = [
            {{ open = {{ files = 1, size = "2000KiB" }} }},
            {{ repeat = {{ times = 2000, steps = [{{ read = "1KiB" }}] }} }},
        ]
        [machine]
        preset = "uniform"
        files = {{ cache_blocks = 4, track_blocks = 1, extent_blocks = 1, spread_cylinders = {CYLINDERS}, read_ahead = false }}
        [machine.disk]
        rotation = "3600/min"
        cylinders = {}
        heads = 4
        sectors = 18
        interleave = 1
        seek_track = "3ms"
        seek_full = "40ms"
        command = "0us"
        sector_copy = "0us"
        "#,
        2 * CYLINDERS // files begin in the middle
    ));
    let revolution = 1e9 / 60.0;
    let transfer = 2.0 * revolution / 18.0;
    let seek = |d: u64| if d == 0 { 0.0 } else { 3e6 + 37e6 * (d - 1) as f64 / (2 * CYLINDERS - 2) as f64 };
    let pairs = (0..CYLINDERS).flat_map(|from| (0..CYLINDERS).map(move |to| seek(from.abs_diff(to))));
    let mean_seek = pairs.sum::<f64>() / (CYLINDERS * CYLINDERS) as f64;
    let positioning = |seed| {
        let run = run::<All>(&scenario, seed);
        let times: Vec<Nanos> = run.of(Kind::DiskDone).filter(|e| e.task != NO_TASK).map(|e| e.b).skip(1).collect();
        times.iter().sum::<Nanos>() as f64 / times.len() as f64 - transfer
    };
    assert_mean(&SEEDS.map(positioning).collect::<Vec<_>>(), mean_seek + revolution / 2.0);
}

/// Two tasks that always run, and what they are given in each second: by turns the same, in order of arrival one of them everything.
#[test]
fn fairness_in_each_second_is_one_by_turns_and_a_half_in_order_of_arrival() {
    for (scheduler, index) in [("name = \"round_robin\", slice = \"10ms\"", 1.0), ("name = \"fifo\"", 0.5)] {
        let mut text = format!("machine = \"uniform\"\nscheduler = {{ {scheduler} }}\nduration = \"5s\"\n");
        text.push_str("workload.hog = { load = \"spin\", count = 2, passes = \"forever\" }\n");
        let report = schedlab_sim::run::<All>(&scenario(&text), 1).unwrap();
        let get = |metric: &str| report.get(metric).unwrap();
        assert_eq!((get("jain_1s.count"), get("tasks.hog.jain_1s.count")), (5.0, 5.0));
        let uneven = if index < 1.0 { 5.0 } else { 0.0 };
        assert_eq!((get("uneven"), get("tasks.hog.uneven")), (uneven, uneven));
        for metric in ["jain", "jain_1s.min", "jain_1s.max", "tasks.hog.jain", "tasks.hog.jain_1s.mean"] {
            assert!((get(metric) - index).abs() < 1e-6, "{scheduler}: {metric} {}", get(metric));
        }
    }
}

proptest! {
    /// In order of arrival: a task waits until those before it have ended, so its response is its waiting time.
    #[test]
    fn fifo_responds_when_the_tasks_before_have_ended(lengths in lengths()) {
        let report = schedlab_sim::run::<All>(&computing("name = \"fifo\"", &lengths, &[0; 7]), 1).unwrap();
        let mut before = 0;
        for (task, length) in lengths.iter().enumerate() {
            let get = |metric: &str| report.get(&format!("tasks.job{task:02}.{metric}.max")).unwrap();
            let us = |metric: &str| (get(metric) * 1e6).round() as u64;
            prop_assert_eq!((us("response"), us("waiting"), us("turnaround")), (before, before, before + length));
            let slowdown = (before + length) as f64 / *length as f64;
            prop_assert!((get("slowdown") / slowdown - 1.0).abs() < 1e-6);
            let bounded = ((before + length) as f64 / (*length).max(10_000) as f64).max(1.0);
            prop_assert!((get("bounded_slowdown") / bounded - 1.0).abs() < 1e-6);
            before += length;
        }
        let mean = |metric: &str| report.get(&format!("{metric}.mean")).unwrap();
        prop_assert!((mean("turnaround") - mean("waiting") - before as f64 / 1e6 / lengths.len() as f64).abs() < 1e-9);
    }
}
