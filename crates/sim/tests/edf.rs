//! Earliest deadline first: a processor can be used to the last nanosecond, and what was granted is kept.

use proptest::prelude::*;
use schedlab_model::event::Kind;
use schedlab_policies::schedulers::Edf;
use schedlab_testing::schedulers::{
    Run, cases,
    periodic::{Work, any_work, granted, lateness, periodic},
    run, scenario,
};

schedlab_testing::test_scheduler!(Edf);

/// Checks that all granted reservations met their deadlines, and returns their number.
fn in_time(run: &Run, all: &[Work]) -> Result<usize, TestCaseError> {
    let granted: Vec<_> = (0..all.len()).filter(|&task| granted(run, task)).collect();
    for &task in &granted {
        let late = lateness(run, task, all[task]);
        prop_assert!(late.is_none(), "{task} of {all:?} is {late:?} ns late");
    }
    Ok(granted.len())
}

/// Work that uses one processor exactly: all but the last at random, the last, once in 60 ms, what they leave.
pub fn full() -> impl Strategy<Value = Vec<Work>> {
    let period = prop::sample::select(vec![4_000, 5_000, 6_000, 10_000, 12_000, 15_000, 20_000, 30_000, 60_000u64]);
    prop::collection::vec((period, 1..30u64), 1..6).prop_map(|parts| {
        let mut left = 60_000;
        let mut all = Vec::new();
        for (period, percent) in parts {
            let run = period * percent / 100;
            let share = run * (60_000 / period);
            if run > 0 && share < left {
                left -= share;
                all.push(Work::plain(run, period));
            }
        }
        all.push(Work::plain(left, 60_000));
        all
    })
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_processor_that_is_granted_whole_misses_nothing(all in full(), enforce in any::<bool>()) {
        let run = periodic::<Edf>(&format!("name = \"edf\", enforce = {enforce}"), 1, &all, 600);
        prop_assert_eq!(in_time(&run, &all)?, all.len());
        prop_assert_eq!(run.get("tasks.z.true_user"), 0.0);
    }

    #[test]
    fn whatever_was_granted_is_kept(
        all in any_work(), processors in 1..4u16, enforce in any::<bool>(), global in any::<bool>(),
    ) {
        let placement = if global { "global" } else { "partitioned" };
        let scheduler = format!("name = \"edf\", enforce = {enforce}, placement = \"{placement}\"");
        let run = periodic::<Edf>(&scheduler, processors, &all, 500);
        let granted = in_time(&run, &all)?;
        // First fit: no processor had room for a refused one. Global: the first is granted, whatever it is.
        let least = if global { 1 } else { processors.into() };
        prop_assert!(granted >= all.len().min(least), "{} of {:?}", granted, all);
    }
}

#[test]
fn two_fifths_and_four_sevenths_are_in_time() {
    let all = [Work::plain(2_000, 5_000), Work::plain(4_000, 7_000)];
    let run = periodic::<Edf>("name = \"edf\"", 1, &all, 3_500);
    assert_eq!((lateness(&run, 0, all[0]), lateness(&run, 1, all[1])), (None, None));
}

#[test]
fn what_does_not_fit_is_refused_until_room_is_left() {
    let text = |processors: u16| {
        format!(
            r#"
            machine = {{ preset = "uniform", processors = {processors} }}
            duration = "1s"
            scheduler = {{ name = "edf" }}
            workload.a = {{ load = "spin", passes = "forever", reservation = {{ runtime = "6ms", period = "10ms" }} }}
            workload.b = {{ load = "periodic", run = "4ms", period = "10ms", periods = 20, reservation = {{ runtime = "4ms", period = "10ms" }} }}
            workload.c = {{ load = "periodic", run = "1ms", period = "10ms", start = "100ms", reservation = {{ runtime = "1ms", period = "10ms" }} }}
            workload.d = {{ load = "periodic", run = "1ms", period = "10ms", start = "650ms", reservation = {{ runtime = "1ms", period = "10ms" }} }}
            "#
        )
    };
    let refused = |processors: u16| -> Vec<u32> {
        let text = text(processors).replace("\"edf\"", "\"edf\", enforce = true");
        run::<Edf>(&scenario(&text), 1).of(Kind::Refused).map(|event| event.task).collect()
    };
    // On one processor a and b leave no room while b lives: to 200 ms and a little.
    assert_eq!(refused(1), [2]);
    assert_eq!(refused(2), [0; 0]);
}

#[test]
fn a_task_that_exceeds_its_reservation_makes_others_late_unless_it_is_enforced() {
    let misses = |enforce: bool| {
        let text = format!(
            r#"
            machine = "uniform"
            duration = "2s"
            scheduler = {{ name = "edf", enforce = {enforce} }}
            workload.greedy = {{ load = "spin", passes = "forever", reservation = {{ runtime = "2ms", period = "10ms" }} }}
            workload.honest = {{ load = "periodic", run = "16ms", period = "20ms", reservation = {{ runtime = "16ms", period = "20ms" }} }}
            "#
        );
        let run = run::<Edf>(&scenario(&text), 1);
        (run.get("tasks.honest.deadline_misses"), run.get("tasks.greedy.share"))
    };
    assert_eq!(misses(true), (0.0, 20.0));
    let (late, share) = misses(false);
    assert!(late == 0.0 && share == 100.0 || late > 50.0, "{late} {share}");
}

#[test]
fn a_task_that_waits_within_a_job_comes_back_under_the_same_deadline() {
    for enforce in [false, true] {
        let text = format!(
            r#"
            machine = "uniform"
            duration = "60ms"
            scheduler = {{ name = "edf", enforce = {enforce} }}
            [workload.two_parts]
            steps = [{{ compute = "2ms" }}, {{ sleep = "2ms" }}, {{ compute = "2ms" }}, {{ period = "20ms" }}]
            passes = 3
            reservation = {{ runtime = "4ms", period = "20ms" }}
            [workload.whole]
            load = "periodic"
            run = "6ms"
            period = "21ms"
            reservation = {{ runtime = "6ms", period = "21ms" }}
            "#
        );
        // At 4 ms the second part is due at 20 ms, before the other's 21 ms; a new job would be due at 24 ms.
        let run = run::<Edf>(&scenario(&text), 1);
        assert_eq!(run.order()[..4], [0, 1, 0, 1], "enforce = {enforce}");
    }
}

/// Of that many reservations, each of a part of a processor, those that two processors refuse: their numbers, in order.
fn refused(placement: &str, parts: &[f64]) -> Vec<u32> {
    let all: Vec<_> = parts.iter().map(|part| Work::plain((part * 10_000.0) as u64, 10_000)).collect();
    let run = periodic::<Edf>(&format!("name = \"edf\", placement = \"{placement}\""), 2, &all, 500);
    run.of(Kind::Refused).map(|event| event.task).collect()
}

#[test]
fn two_processors_grant_what_fits_on_each_or_what_no_deadline_can_be_missed_with() {
    for placement in ["partitioned", "global"] {
        assert_eq!(refused(placement, &[0.6, 0.6, 0.6]), [2], "{placement}: no room on either; 1.8 > 2 - 0.6");
    }
    assert_eq!(refused("partitioned", &[0.5; 4]), [0; 0]);
    assert_eq!(refused("global", &[0.5; 4]), [3], "2 > 2 - 0.5");
    // One large reservation leaves little for others, as Dhall's example wants.
    assert_eq!(refused("global", &[0.1, 0.1, 1.0]), [2]);
    assert_eq!(refused("global", &[1.0, 0.1]), [1]);
    assert_eq!(refused("partitioned", &[0.1, 0.1, 1.0]), [0; 0]);
}

#[test]
fn a_reservation_waits_for_its_processor_while_another_idles_unless_the_queue_is_one() {
    let idle = |placement: &str| {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", processors = 2 }}
            duration = "1s"
            scheduler = {{ name = "edf", placement = "{placement}" }}
            workload.a = {{ load = "periodic", run = "5ms", period = "10ms", reservation = {{ runtime = "5ms", period = "10ms" }} }}
            workload.b = {{ load = "periodic", run = "5ms", period = "10ms", reservation = {{ runtime = "5ms", period = "10ms" }} }}
            "#
        );
        let run = run::<Edf>(&scenario(&text), 1);
        let latest = run.of(Kind::SwitchIn).map(|event| event.time % 10_000_000).max();
        (run.of(Kind::SwitchIn).map(|event| event.cpu).max(), latest)
    };
    assert_eq!(idle("partitioned"), (Some(0), Some(5_000_000)), "both on the first processor, one after the other");
    assert_eq!(idle("global"), (Some(1), Some(0)), "one on each, at once");
}

#[test]
fn global_placement_refuses_reservations_of_tasks_that_may_not_run_everywhere() {
    let text = r#"
        machine = { preset = "uniform", processors = 2 }
        duration = "1s"
        scheduler = { name = "edf", placement = "global" }
        workload.a = { load = "periodic", run = "1ms", period = "10ms", cpus = [0], reservation = { runtime = "1ms", period = "10ms" } }
        workload.b = { load = "periodic", run = "1ms", period = "10ms", reservation = { runtime = "1ms", period = "10ms" } }
    "#;
    let refused: Vec<_> = run::<Edf>(&scenario(text), 1).of(Kind::Refused).map(|event| event.task).collect();
    assert_eq!(refused, [0]);
}

#[test]
fn what_was_granted_globally_is_available_again_from_the_last_deadline_on() {
    let text = r#"
        machine = { preset = "uniform", processors = 2 }
        duration = "1s"
        scheduler = { name = "edf", placement = "global" }
        workload.a = { load = "periodic", run = "5ms", period = "10ms", periods = 20, count = 3, reservation = { runtime = "5ms", period = "10ms" } }
        workload.b = { load = "periodic", run = "1ms", period = "10ms", start = "100ms", reservation = { runtime = "1ms", period = "10ms" } }
        workload.c = { load = "periodic", run = "1ms", period = "10ms", start = "300ms", reservation = { runtime = "1ms", period = "10ms" } }
    "#;
    let refused: Vec<_> = run::<Edf>(&scenario(text), 1).of(Kind::Refused).map(|event| event.task).collect();
    assert_eq!(refused, [3]);
}
