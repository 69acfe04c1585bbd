//! The multi-level feedback queue: a computing task moves down, others stay, no task remains at the bottom for good.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind};
use schedlab_policies::schedulers::Mlfq;
use schedlab_testing::schedulers::{Run, measure::share, run, scenario};

schedlab_testing::test_scheduler!(Mlfq);

#[track_caller]
fn mlfq(settings: &str, rest: &str) -> Run {
    on_processors(1, settings, rest)
}

#[track_caller]
fn on_processors(processors: u16, settings: &str, rest: &str) -> Run {
    let machine = format!("machine = {{ preset = \"uniform\", processors = {processors} }}");
    run::<Mlfq>(&scenario(&format!("{machine}\nscheduler = {{ name = \"mlfq\", {settings} }}\n{rest}")), 1)
}

/// The lengths of the turns, ms, in their order.
fn turns(run: &Run) -> Vec<Nanos> {
    run.of(Kind::SwitchOut).map(|event| event.a / MILLISECOND).collect()
}

#[test]
fn slices_double_from_level_to_level_and_the_last_goes_on() {
    let hogs = "workload.hog = { load = \"spin\", compute = \"200ms\", count = 2 }";
    let run = mlfq("levels = 4, slice = \"10ms\", boost = \"1000s\"", hogs);
    assert_eq!(turns(&run), [10, 10, 20, 20, 40, 40, 80, 80, 50, 50]);
}

#[test]
fn a_task_that_uses_less_than_an_allotment_between_boosts_never_waits_for_one_that_computes() {
    let run = mlfq(
        "levels = 4, slice = \"10ms\", boost = \"1s\"",
        r#"
        workload.hog = { load = "spin", passes = "forever", count = 5, start = "0s" }
        workload.sleeper = { load = "sleeper", run = "1ms", sleep = "149ms", rounds = 200, start = "160ms" }
        "#,
    );
    // It waits only while a boost has just put a hog at the top, and then for slices of the first level, or for
    // the end of the slice that the boost fell into.
    let waits: Vec<_> = run.of(Kind::SwitchIn).filter(|event| event.task == 5).map(|event| event.time).collect();
    let woken: Vec<_> = run.of(Kind::Wakeup).filter(|event| event.task == 5).map(|event| event.time).collect();
    assert_eq!((waits.len(), woken.len()), (201, 201));
    let mut immediate = 0;
    for (had, woke) in waits.iter().zip(&woken) {
        let since_boost = woke % SECOND;
        if since_boost > 130 * MILLISECOND {
            assert_eq!(had, woke);
            immediate += 1;
        }
        assert!(had - woke <= 130 * MILLISECOND, "{} ns", had - woke);
    }
    assert!(immediate > 150);
}

#[test]
fn leaving_shortly_before_the_allotment_is_used_up_gains_nothing() {
    let run = mlfq(
        "levels = 4, slice = \"10ms\", boost = \"1000s\"",
        r#"
        duration = "60s"
        workload.hog = { load = "spin", passes = "forever" }
        workload.sly = { load = "sleeper", run = "9ms", sleep = "1ms", rounds = 1000000 }
        "#,
    );
    // At the bottom the hog has 80 ms for every 9 ms of it, and 80 ms more whenever 80 ms of it are over in the middle of
    // a run: in 720 ms of its own, 80 + 8 times. At the top it had 9 of every 10.
    let share = run.get("tasks.sly.share");
    assert!((share - 100.0 * 720.0 / (720.0 + 88.0 * 80.0)).abs() < 0.15, "{share} %");
}

#[test]
fn a_boost_brings_up_what_newer_work_keeps_down() {
    let runs_of_the_hog = |boost: &str| -> Vec<Nanos> {
        let run = mlfq(
            &format!("levels = 4, slice = \"10ms\", boost = \"{boost}\""),
            r#"
            duration = "10s"
            workload.hog = { load = "spin", passes = "forever" }
            workload.new = { steps = [{ compute = "9ms" }], count = 2000, gap = "9ms", start = "5ms" }
            "#,
        );
        run.of(Kind::SwitchIn).filter(|event| event.task == 0).map(|event| event.time / SECOND).collect()
    };
    // Without boosts it gets only the rest of its first two levels: the newer tasks fill the processor.
    assert!(runs_of_the_hog("1000s").into_iter().all(|second| second == 0));
    let boosted = runs_of_the_hog("1s");
    assert!((0..10).all(|second| boosted.contains(&second)), "{boosted:?}");
}

#[test]
fn three_hogs_share_two_processors_to_within_a_slice() {
    let hogs = "duration = \"60s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 3 }";
    let run = on_processors(2, "levels = 4, slice = \"10ms\", boost = \"1000s\"", hogs);
    // The slice of the last level.
    let had = [0, 1, 2].map(|task| share(&run, task, 0, 60 * SECOND) * 0.6);
    assert!(had.iter().all(|had| (had - 40.0).abs() <= 0.080), "{had:?} s");
}

#[test]
fn a_woken_task_takes_the_processor_of_the_lowest_level() {
    // a and b go down, b two levels farther, since it begins earlier; c is woken at the top.
    let run = on_processors(
        2,
        "levels = 4, slice = \"10ms\", boost = \"1000s\"",
        r#"
        workload.a = { load = "spin", compute = "100ms", start = "75ms" }
        workload.b = { load = "spin", compute = "200ms" }
        workload.c = { load = "spin", compute = "5ms", start = "80ms" }
        workload.d = { load = "spin", compute = "5ms", start = "80.5ms" }
        "#,
    );
    let first = |task| run.of(Kind::SwitchIn).find(|event| event.task == task).expect("it runs");
    let of_b = first(1).cpu;
    assert_eq!((first(2).time, first(2).cpu), (80 * MILLISECOND, of_b), "c preempts b, which is at the last level");
    // All that run then are at the top, as d is: a was there for 5 ms. It waits for the first slice to end.
    assert_eq!(first(3).time, 85 * MILLISECOND);
}

#[test]
fn two_tasks_that_wake_at_once_preempt_two_others() {
    let run = on_processors(
        3,
        "levels = 4, slice = \"10ms\", boost = \"1000s\"",
        r#"
        workload.early = { count = 2, steps = [{ barrier = "gate" }, { compute = "5ms" }] }
        workload.hog = { load = "spin", compute = "900ms", count = 2 }
        workload.late = { start = "300ms", steps = [{ barrier = "gate" }, { compute = "5ms" }] }
        shared.gate = { barrier = 3 }
        "#,
    );
    for task in [0, 1] {
        let begins: Vec<_> = run.of(Kind::SwitchIn).filter(|e| e.task == task).map(|e| e.time / MILLISECOND).collect();
        assert_eq!(begins, [0, 300]);
    }
}

#[test]
fn what_a_task_has_used_since_a_boost_counts_where_another_is_woken() {
    // From 70 ms on a has a slice of 80 ms at the last level. Boosted at 100 ms, it has used the first allotment up at 110.
    let run = on_processors(
        2,
        "levels = 4, slice = \"10ms\", boost = \"100ms\"",
        r#"
        workload.a = { load = "spin", compute = "1s", cpus = [1] }
        workload.b = { load = "spin", compute = "9ms", start = "112ms", cpus = [0] }
        workload.c = { load = "spin", compute = "5ms", start = "115ms" }
        "#,
    );
    let first = run.of(Kind::SwitchIn).find(|event| event.task == 2).expect("it runs");
    assert_eq!((first.time, first.cpu), (115 * MILLISECOND, 1));
}
