//! Linux 1.0: what counters of ticks lead to. The clock has 100 ticks a second, so a priority of 15 is 150 ms.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::Linux10;
use schedlab_testing::schedulers::{
    Run,
    measure::{Latency, assert_near, copes_with_every_class, on, share, turns},
};

schedlab_testing::test_scheduler!(Linux10);

/// The length of a tick.
const TICK: Nanos = 10 * MILLISECOND;

fn one(rest: &str) -> Run {
    on::<Linux10>(1, 100, r#"name = "linux_1_0""#, rest)
}

fn two(rest: &str) -> Run {
    on::<Linux10>(2, 100, r#"name = "linux_1_0""#, rest)
}

fn hog(name: &str, more: &str) -> String {
    format!("workload.{name} = {{ load = \"spin\", passes = \"forever\"{more} }}\n")
}

/// The tasks that ran and for how many ms, from the beginning.
fn ran(run: &Run) -> Vec<(TaskId, u64)> {
    let left = run.of(Kind::SwitchOut).filter(|event| event.a > 0);
    left.map(|event| (event.task, event.a / MILLISECOND)).collect()
}

#[test]
fn equal_hogs_run_15_ticks_at_a_time_in_order_of_age() {
    let run = one(&format!("duration = \"30s\"\n{}", hog("h", ", count = 3")));
    for task in 0..3 {
        assert!(turns(&run, task).iter().all(|&ms| (ms - 150.0).abs() < 0.001), "{:?}", turns(&run, task));
    }
    assert_eq!(run.order()[..9], [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

#[test]
fn hogs_share_by_their_priorities() {
    for (nice, priority) in [(0, 15.0), (5, 10.0), (10, 5.0), (14, 1.0), (19, 1.0), (-5, 20.0), (-20, 35.0)] {
        let b = hog("b", &format!(", nice = {nice}"));
        let run = one(&format!("duration = \"200s\"\n{}{b}", hog("a", "")));
        assert_near(run.get("tasks.a.share"), 100.0 * 15.0 / (15.0 + priority), 0.2);
    }
}

#[test]
fn a_sleeper_gathers_less_than_twice_its_priority() {
    // It sleeps through seven rounds of 150 ms, then has 29 ticks in a row.
    let run = one(&format!(
        "duration = \"3s\"\nworkload.s = {{ passes = \"forever\", steps = [{{ sleep = \"1080ms\" }}, {{ compute = \"1s\" }}] }}\n{}",
        hog("h", "")
    ));
    let first = run.of(Kind::SwitchOut).find(|event| event.task == 1 && event.a > 0).expect("it runs");
    assert!((280..=290).contains(&(first.a / MILLISECOND)), "{first:?}");
    assert_eq!(Latency::of(&run, 1, MILLISECOND).percentile(0.0), 0.0);
}

#[test]
fn a_woken_task_with_a_larger_counter_preempts_and_one_with_a_smaller_does_not() {
    let run = one(r#"
        workload.a = { steps = [{ compute = "95ms" }, { send = "x" }, { compute = "1ms" }, { receive = "y" }, { compute = "20ms" }], start = "1ms" }
        workload.b = { steps = [{ receive = "x" }, { compute = "10ms" }, { sleep = "5ms" }, { compute = "10ms" }, { send = "y" },
                                { compute = "20ms" }] }
    "#);
    assert_eq!(ran(&run), [(0, 95), (1, 10), (0, 1), (1, 30), (0, 20)]);
}

#[test]
fn a_child_has_half_of_its_parents_counter_and_the_parent_keeps_its_own() {
    let run = one(r#"
        workload.p = { steps = [{ compute = "55ms" }, { fork = [{ compute = "200ms" }] }, { compute = "200ms" }] }
    "#);
    let turns: Vec<_> = run.of(Kind::SwitchOut).map(|event| (event.task, event.a)).collect();
    let (parent, child) = (turns[0].1, turns[1].1);
    // The parent runs for all its 15 ticks, of which the last ends its turn.
    let first_tick = parent - 14 * TICK;
    let before_fork = (55 * MILLISECOND - first_tick) / TICK + 1;
    assert_eq!((turns[0].0, turns[1].0, child / TICK), (0, 1, (15 - before_fork) / 2));
    assert!(first_tick < TICK && child.is_multiple_of(TICK));
}

#[test]
fn a_round_begins_where_no_task_that_waits_has_ticks_left_whatever_runs() {
    let run = two(r#"workload.h = { load = "spin", compute = "200ms", count = 3 }"#);
    // The first two use their 15 ticks up, to 142 ms. One processor takes the third; the other finds the first without ticks, and a
    // round begins.
    let moved: Vec<_> = run.of(Kind::Migrated).map(|event| (event.time / MILLISECOND, event.task, event.cpu)).collect();
    assert_eq!(moved, [(142, 0, 1)]);
    let ends: Vec<_> = (0..3).map(|task| run.first(Kind::Exited, task) / MILLISECOND).collect();
    assert_eq!(ends, [200, 257, 342], "the second goes on where the first ends, at 200 ms");
}

/// What runs when a round begins keeps half of its ticks, and the oldest of equals goes first.
#[test]
fn of_three_equal_hogs_on_two_processors_the_oldest_has_more() {
    let run = two(&format!("duration = \"90s\"\n{}", hog("h", ", count = 3")));
    for (task, expected) in [75.0, 62.5, 62.5].into_iter().enumerate() {
        assert_near(share(&run, task as TaskId, 0, 90 * SECOND), expected, 1.0);
    }
}

#[test]
fn pinned_tasks_stay() {
    let run = two(&format!("duration = \"5s\"\n{}", hog("p", ", count = 3, cpus = [0]")));
    assert!(run.of(Kind::SwitchIn).all(|event| event.cpu == 0));
    assert_near(run.get("idle"), 5.0, 0.001);
}

#[test]
fn every_scheduling_policy_finds_its_place() {
    copes_with_every_class::<Linux10>(r#"name = "linux_1_0""#);
}

#[test]
fn a_bound_task_that_uses_its_ticks_up_begins_no_round_while_others_wait_with_theirs() {
    let run = two(&format!(
        "duration = \"60s\"\n\
         workload.a = {{ steps = [{{ compute = \"9ms\" }}, {{ sleep = \"11ms\" }}], passes = \"forever\", cpus = [0], nice = 20 }}\n{}",
        hog("h", ", count = 2, cpus = [1]")
    ));
    // The one that runs when a round begins keeps half of its ticks.
    for hog in [1, 2] {
        assert_near(share(&run, hog, 0, 60 * SECOND), 50.0, 6.0);
    }
    assert_near(share(&run, 0, 0, 60 * SECOND), 45.0, 1.0);
}
