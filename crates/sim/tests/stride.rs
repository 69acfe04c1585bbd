//! Stride scheduling: shares exact to a slice, independent of competing and sleeping tasks.

use proptest::prelude::*;
use schedlab_model::{Nanos, SECOND, event::Kind};
use schedlab_policies::schedulers::Stride;
use schedlab_testing::schedulers::{Run, cases, measure::share, run, scenario};
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

/// Hogs of these nice levels on several processors for a minute, then with one more for another minute.
fn together(processors: u16, nices: &[i8], late: i8) -> Run {
    let hog = "load = \"spin\", passes = \"forever\"";
    let jobs = nices.iter().enumerate().map(|(job, nice)| format!("workload.a{job:02} = {{ {hog}, nice = {nice} }}\n"));
    let jobs: String = jobs.collect();
    run::<Stride>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", processors = {processors} }}\nduration = \"120s\"\n\
             scheduler = {{ name = \"stride\", slice = \"{SLICE}ns\" }}\n{jobs}\
             workload.late = {{ {hog}, nice = {late}, start = \"60s\" }}"
        )),
        1,
    )
}

/// Processor time of the tasks between two times, s.
fn had(run: &Run, tasks: u32, from: u64, to: u64) -> Vec<f64> {
    (0..tasks).map(|task| share(run, task, from * SECOND, to * SECOND) / 100.0 * (to - from) as f64).collect()
}

#[track_caller]
fn to_within_a_slice(had: &[f64], expected: &[f64]) {
    for (had, expected) in had.iter().zip(expected) {
        assert!((had - expected).abs() <= 1.01 * SLICE as f64 / SECOND as f64, "{had} s, expected {expected} s");
    }
}

#[test]
fn a_task_of_many_tickets_has_one_processor_and_the_others_share_the_rest() {
    // 9.3 : 1 : 1; from 60 s on 9.3 : 1 : 1 : 1.
    let run = together(2, &[-10, 0, 0], 0);
    to_within_a_slice(&had(&run, 3, 0, 60), &[60.0, 30.0, 30.0]);
    to_within_a_slice(&had(&run, 4, 60, 120), &[60.0, 20.0, 20.0, 20.0]);
    // Two tasks of many tickets on three processors. The third that comes leaves one processor to the second, which has not fallen
    // behind meanwhile, and to those of few.
    let run = together(3, &[-20, -15, 0, 0], -18);
    to_within_a_slice(&had(&run, 4, 0, 60), &[60.0, 60.0, 30.0, 30.0]);
    let (second, few) = (tickets(-15), 1024.0);
    let part = |own: f64| 60.0 * own / (second + 2.0 * few);
    to_within_a_slice(&had(&run, 5, 60, 120), &[60.0, part(second), part(few), part(few), 60.0]);
}

#[test]
fn three_hogs_share_two_processors_to_within_a_slice() {
    let run = together(2, &[0, 0, 0], 0);
    to_within_a_slice(&had(&run, 3, 0, 60), &[40.0; 3]);
    to_within_a_slice(&had(&run, 4, 60, 120), &[30.0; 4]);
}

/// Many tasks that may use one processor only fall behind the average; one that comes later does not wait until they have made up for it.
#[test]
fn a_task_that_joins_a_crowd_on_one_processor_has_its_part_of_it_at_once() {
    let text = format!(
        "machine = {{ preset = \"uniform\", processors = 4 }}\nduration = \"120s\"\n\
         scheduler = {{ name = \"stride\", slice = \"{SLICE}ns\" }}\n\
         workload.crowd = {{ load = \"spin\", passes = \"forever\", count = 9, cpus = [0] }}\n\
         workload.free = {{ load = \"spin\", passes = \"forever\", count = 3 }}\n\
         workload.late = {{ load = \"spin\", passes = \"forever\", start = \"100s\", cpus = [0] }}"
    );
    let run = run::<Stride>(&scenario(&text), 1);
    let part = share(&run, 12, 100 * SECOND, 120 * SECOND);
    assert!((part - 10.0).abs() < 1.0, "{part} %");
    assert_eq!(run.totals.idle, 0);
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
    // a, b and c share both processors until b is done with its 30 ms; then a and c have one each.
    // Then late begins on either, and ends on the one that d does not have.
    let last = run.first(Kind::Exited, 0).max(run.first(Kind::Exited, 2));
    assert_eq!(last, 120_000_000);
    assert_eq!((run.first(Kind::Exited, 4), run.first(Kind::Exited, 3)), (151_000_000, 340_000_000));
}
