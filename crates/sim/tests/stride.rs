//! Stride scheduling: shares exact to a slice, independent of competing and sleeping tasks.

use proptest::prelude::*;
use schedlab_model::{Nanos, event::Kind};
use schedlab_policies::schedulers::Stride;
use schedlab_testing::schedulers::{Run, cases, run, scenario};
use std::fmt::Write;

schedlab_testing::test_scheduler!(Stride);

const SLICE: Nanos = 10_000_000;

/// Tickets of a nice level, before they are rounded to whole ones.
fn tickets(nice: i8) -> f64 {
    1024.0 * 1.25f64.powi(-i32::from(nice))
}

/// A job that never waits for each nice level, for 10 s.
fn hogs(nices: &[i8]) -> Run {
    let mut text = format!(
        "machine = \"uniform\"\nduration = \"10s\"\nscheduler = {{ name = \"stride\", slice = \"{SLICE}ns\" }}\n"
    );
    for (job, nice) in nices.iter().enumerate() {
        writeln!(text, "workload.hog{job:02} = {{ load = \"spin\", passes = \"forever\", nice = {nice} }}").unwrap();
    }
    run::<Stride>(&scenario(&text), 1)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn of_any_two_neither_is_ever_more_than_a_slice_ahead(nices in prop::collection::vec(-12..=8i8, 2..9)) {
        let run = hogs(&nices);
        let mut had = vec![0.0; nices.len()];
        for event in run.of(Kind::SwitchOut) {
            had[event.task as usize] += event.a as f64;
            for (one, other) in (0..nices.len()).flat_map(|one| (0..one).map(move |other| (one, other))) {
                let (mine, theirs) = (tickets(nices[one]), tickets(nices[other]));
                let ahead = had[one] - (had[one] + had[other]) * mine / (mine + theirs);
                // Tickets are whole numbers: at nice 8, an eighth of a per cent off.
                let rounding = 0.0015 * (had[one] + had[other]);
                prop_assert!(ahead.abs() <= SLICE as f64 + rounding, "{nices:?}: {one} is {ahead} ns ahead of {other}");
            }
        }
    }
}

#[test]
fn who_sleeps_gets_its_part_of_the_time_that_it_is_there() {
    let run = run::<Stride>(
        &scenario(
            r#"
            machine = "uniform"
            duration = "100s"
            scheduler = { name = "stride", slice = "10ms" }
            workload.hog = { load = "spin", passes = "forever", count = 2 }
            workload.sometimes = { passes = "forever", steps = [{ compute = "1s" }, { sleep = "2s" }] }
            "#,
        ),
        1,
    );
    // It computes for 1 s in 3 s against two hogs, then sleeps for 2 s: 20 times in 100 s, and no debt or credit from sleeping.
    let had = run.get("tasks.sometimes.true_user");
    assert!((had - 20.0).abs() < 0.03, "{had} s");
    let gap = run.get("tasks.hog.longest_gap");
    assert!(gap < 0.0301, "a hog waited {gap} s for one that had slept");
}

#[test]
fn a_part_of_a_slice_costs_that_part_of_a_stride() {
    let run = run::<Stride>(
        &scenario(
            r#"
            machine = "uniform"
            duration = "20s"
            scheduler = { name = "stride", slice = "100ms" }
            workload.hog = { load = "spin", passes = "forever" }
            workload.polite = { passes = "forever", steps = [{ compute = "20ms" }, "yield"] }
            "#,
        ),
        1,
    );
    let share = run.get("tasks.polite.share");
    assert!((share - 50.0).abs() < 0.5, "{share} %");
}

#[test]
fn an_idle_processor_pulls_and_a_task_that_wakes_goes_to_an_idle_one() {
    let run = run::<Stride>(
        &scenario(
            r#"
            machine = { preset = "uniform", processors = 2 }
            scheduler = { name = "stride", slice = "10ms" }
            workload.a = { load = "spin", compute = "100ms" }
            workload.b = { load = "spin", compute = "30ms" }
            workload.c = { load = "spin", compute = "100ms", start = "1ms" }
            workload.d = { load = "spin", compute = "200ms", start = "140ms", cpus = [1] }
            workload.late = { steps = [{ sleep = "20ms" }, { compute = "1ms" }], start = "130ms", cpus = [0, 1] }
            "#,
        ),
        1,
    );
    // a and c share a processor until b is done with the other: 30 ms had, 170 ms left for two. Then late begins on
    // either, and ends on the one that d does not have.
    let last = run.first(Kind::Exited, 0).max(run.first(Kind::Exited, 2));
    assert_eq!(last, 120_000_000);
    assert_eq!((run.first(Kind::Exited, 4), run.first(Kind::Exited, 3)), (151_000_000, 340_000_000));
}
