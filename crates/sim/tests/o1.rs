//! The O(1) scheduler of Linux 2.6.20: what its rules and its constants lead to.

use schedlab_model::{MILLISECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::O1;
use schedlab_testing::schedulers::{
    Run,
    measure::{Latency, S10, assert_near, copes_with_every_class, on, seconds, share, turns},
};

schedlab_testing::test_scheduler!(O1);

/// A run on one processor.
fn o1(hz: u32, rest: &str) -> Run {
    on::<O1>(1, hz, r#"name = "o1""#, rest)
}

fn smp(processors: u16, rest: &str) -> Run {
    on::<O1>(processors, 1000, r#"name = "o1""#, rest)
}

fn hog(name: &str, more: &str) -> String {
    format!("workload.{name} = {{ load = \"spin\", passes = \"forever\"{more} }}\n")
}

/// Hogs that are bound to the second processor, and wait endlessly after half a second.
fn leaves_after_half_a_second(count: u32) -> String {
    format!(
        "workload.p = {{ passes = \"forever\", count = {count}, cpus = [1], steps = [{{ compute = \"{}ms\" }}, \
         {{ sleep = \"1h\" }}] }}\n",
        500 / count
    )
}

/// From the beginning, these tasks ran for these times each, ms, to a tick.
#[track_caller]
fn ran(run: &Run, expected: &[(TaskId, u64)]) {
    let left = run.of(Kind::SwitchOut).filter(|event| event.a > 0);
    let first: Vec<_> = left.take(expected.len()).map(|event| (event.task, event.a)).collect();
    let near = |(&(task, had), &(who, ms)): (&(TaskId, u64), &(TaskId, u64))| {
        task == who && had.abs_diff(ms * MILLISECOND) <= MILLISECOND
    };
    let equal = first.len() == expected.len() && first.iter().zip(expected).all(near);
    assert!(equal, "{first:?}, expected {expected:?} ms");
}

/// The share of a hog of nice 0 against one of another nice level is that of their slices.
#[test]
fn two_hogs_share_by_their_slices() {
    // ms of slice: MIN_TIMESLICE is 5 ms, but a whole number of ticks, so 4 ms at 250 Hz; 95 and 75 ms are cut to 92 and 72.
    let table = [
        (0, 50.0, 50.0),
        (1, 51.3, 52.1),
        (5, 57.2, 58.2),
        (10, 66.7, 67.6),
        (19, 95.2, 96.2),
        (-5, 16.7, 16.7),
        (-10, 14.3, 14.3),
        (-20, 11.1, 11.1),
    ];
    for (nice, at_1000, at_250) in table {
        for (hz, expected) in [(1000, at_1000), (250, at_250)] {
            let b = hog("b", &format!(", nice = {nice}"));
            let run = o1(hz, &format!("duration = \"200s\"\n{}{b}", hog("a", "")));
            assert_near(run.get("tasks.a.share"), expected, 0.3);
        }
    }
}

#[test]
fn equal_hogs_run_100_ms_at_a_time() {
    for (hz, hogs) in [(1000, 2), (1000, 3), (1000, 4), (1000, 8), (250, 2), (100, 3)] {
        let run = o1(hz, &format!("duration = \"10s\"\n{}", hog("h", &format!(", count = {hogs}"))));
        for task in 0..hogs {
            assert!(turns(&run, task).iter().all(|&ms| ms == 100.0), "{hz} {hogs}: {:?}", turns(&run, task));
        }
    }
}

#[test]
fn two_real_time_tasks_in_turns_alternate_every_100_ms() {
    let run = o1(
        1000,
        &format!("duration = \"10s\"\n{}{}", hog("h", ""), hog("r", r#", policy = "rr", priority = 5, count = 2"#)),
    );
    for task in [1, 2] {
        assert!(turns(&run, task).iter().all(|&ms| ms == 100.0), "{:?}", turns(&run, task));
    }
    // There is no limit to real-time tasks yet.
    assert_eq!(run.get("tasks.h.share"), 0.0);
}

#[test]
fn a_sleeper_of_10_percent_never_waits_after_a_warm_up() {
    for hogs in [1, 2, 4, 8] {
        let rest = format!("duration = \"30s\"\nworkload.s = {{ {S10} }}\n{}", hog("h", &format!(", count = {hogs}")));
        let run = o1(1000, &rest);
        let sleeper = hogs;
        let latency = Latency::of(&run, sleeper, seconds(2));
        assert_eq!(latency.summary(), [0.0; 3], "{hogs} hogs");
        assert_near(share(&run, sleeper, seconds(2), seconds(30)), 10.0, 0.2);
    }
}

#[test]
fn a_sleeper_of_45_percent_keeps_its_bonus() {
    let run = o1(
        1000,
        &format!(
            "duration = \"30s\"\n{}{}",
            hog("h", ""),
            r#"workload.s = { passes = "forever", steps = [{ compute = "4500us" }, { sleep = "5500us" }] }"#
        ),
    );
    let latency = Latency::of(&run, 1, seconds(5));
    assert_eq!(latency.summary(), [0.0; 3]);
    assert_near(share(&run, 1, seconds(5), seconds(30)), 45.0, 0.2);
}

#[test]
fn a_sleeper_of_60_percent_is_pushed_back_to_40() {
    let run = o1(
        1000,
        &format!(
            "duration = \"100s\"\n{}{}",
            hog("h", ""),
            r#"workload.s = { passes = "forever", steps = [{ compute = "6ms" }, { sleep = { uniform = ["2ms", "6ms"] } }] }"#
        ),
    );
    let latency = Latency::of(&run, 1, seconds(2));
    assert_near(share(&run, 1, seconds(2), seconds(100)), 40.0, 1.0);
    assert_near(latency.percentile(99.0), 77.0, 5.0);
}

#[test]
fn interactive_tasks_starve_the_expired_for_seconds_but_not_endlessly() {
    let run = o1(
        1000,
        &format!(
            "duration = \"60s\"\n{}{}",
            hog("h", ""),
            r#"workload.s = { passes = "forever", count = 5, steps = [{ compute = "4ms" }, { sleep = "6ms" }] }"#
        ),
    );
    // With six tasks, those that expired starve after six seconds; then the others expire with their slices of 100 ms.
    let gap = run.get("tasks.h.longest_gap");
    assert!((3.0..=7.0).contains(&gap), "{gap}");
}

#[test]
fn after_a_long_sleep_interactive_tasks_take_turns_of_40_ms() {
    let run = o1(
        1000,
        r#"
        workload.a = { steps = [{ sleep = "2s" }, { compute = "90ms" }], count = 2 }
    "#,
    );
    ran(&run, &[(0, 40), (1, 40), (0, 50), (1, 50)]);
}

#[test]
fn a_child_runs_first_on_half_of_the_slice() {
    let run = o1(
        1000,
        r#"
        workload.p = { steps = [{ compute = "40ms" }, { fork = [{ compute = "200ms" }] }, { compute = "200ms" }] }
        workload.q = { load = "spin", compute = "200ms" }
    "#,
    );
    ran(&run, &[(0, 40), (2, 30), (0, 30), (1, 100), (2, 100)]);
}

#[test]
fn a_child_that_ends_early_gives_its_slice_back() {
    let run = o1(
        1000,
        r#"
        workload.p = { steps = [{ compute = "40ms" }, { fork = [{ compute = "10ms" }] }, { compute = "1ms" }, "wait", { compute = "200ms" }] }
        workload.q = { load = "spin", compute = "200ms" }
    "#,
    );
    ran(&run, &[(0, 40), (2, 10), (0, 50), (1, 100)]);
}

#[test]
fn a_task_that_yields_waits_for_all_slices_of_the_others() {
    let run = o1(
        1000,
        r#"
        workload.y = { steps = [{ compute = "10ms" }, "yield", { compute = "10ms" }] }
        workload.z = { load = "spin", compute = "150ms", count = 2 }
    "#,
    );
    ran(&run, &[(0, 10), (1, 100), (2, 100), (0, 10)]);
}

#[test]
fn a_real_time_task_yields_only_to_its_equals() {
    let run = o1(
        1000,
        r#"
        workload.y = { steps = [{ compute = "10ms" }, "yield", { compute = "10ms" }], policy = "fifo", priority = 3, count = 2 }
        workload.z = { load = "spin", compute = "20ms", policy = "fifo", priority = 2 }
    "#,
    );
    ran(&run, &[(0, 10), (1, 10), (0, 10), (1, 10), (2, 20)]);
}

#[test]
fn a_batch_task_does_not_preempt_when_it_wakes() {
    for policy in ["batch", "idle"] {
        let run =
            o1(1000, &format!("duration = \"30s\"\nworkload.s = {{ {S10}, policy = \"{policy}\" }}\n{}", hog("h", "")));
        let latency = Latency::of(&run, 1, seconds(2));
        assert!(latency.percentile(10.0) > 1.0, "{policy}: {:?}", latency.summary());
    }
}

#[test]
fn three_hogs_on_two_processors_stay_where_they_are() {
    let run = smp(2, &format!("duration = \"20s\"\n{}", hog("h", ", count = 3")));
    let mut shares = [0, 1, 2].map(|task| share(&run, task, seconds(1), seconds(20)));
    shares.sort_by(f64::total_cmp);
    for (share, expected) in shares.into_iter().zip([50.0, 50.0, 100.0]) {
        assert_near(share, expected, 0.5);
    }
    assert_eq!(run.of(Kind::Migrated).filter(|event| event.time > 0).count(), 0);
}

#[test]
fn a_processor_with_two_tasks_less_pulls_one() {
    let pinned = leaves_after_half_a_second(2);
    let run = smp(2, &format!("duration = \"10s\"\n{}{pinned}", hog("h", ", count = 4, start = \"1ms\"")));
    for task in 0..4 {
        assert_near(share(&run, task, seconds(2), seconds(10)), 50.0, 1.5);
    }
}

#[test]
fn an_idle_processor_pulls_within_a_few_ms() {
    let pinned = leaves_after_half_a_second(2);
    let run = smp(2, &format!("duration = \"2s\"\n{}{pinned}", hog("h", ", count = 2, start = \"1ms\"")));
    assert_eq!(run.of(Kind::Migrated).filter(|event| event.time > seconds(1) / 2).count(), 1);
    assert!(run.get("idle") <= 0.010, "{}", run.get("idle"));
    for task in 0..2 {
        assert_near(share(&run, task, seconds(1), seconds(2)), 100.0, 0.1);
    }
}

#[test]
fn pinned_tasks_stay() {
    let run = smp(2, &format!("duration = \"5s\"\n{}", hog("p", ", count = 3, cpus = [0]")));
    assert!(run.of(Kind::SwitchIn).all(|event| event.cpu == 0));
    assert_near(run.get("idle"), 5.0, 0.001);
}

#[test]
fn every_scheduling_policy_finds_its_place() {
    copes_with_every_class::<O1>(r#"name = "o1""#);
}
