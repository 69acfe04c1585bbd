//! That the trait carries the schedulers still to come: a policy that uses all of it does what it is meant to.

use crate::fair::Fair;
use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND,
    event::{Kind, Leave},
};
use schedlab_testing::schedulers::{Programs, Run, Written, any_scenario, cases, laws::lives, run_under, scenario};

/// Runs the workload for 10 s under the policy that uses everything.
#[track_caller]
fn fair(processors: u16, rest: &str) -> Run {
    let text = format!(
        "machine = {{ preset = \"uniform\", processors = {processors} }}\nscheduler = {{ name = \"fifo\" }}\n\
         duration = \"10s\"\n{rest}"
    );
    run_under::<Fair>(&scenario(&text), 1).sound()
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected}");
}

#[test]
fn weights_give_shares() {
    let run = fair(
        1,
        r#"
        workload.heavy = { load = "spin", passes = "forever", nice = -5 }
        workload.light = { load = "spin", passes = "forever" }
        "#,
    );
    // Within two turns of 10 ms in 10 s.
    let ratio = 1.25f64.powi(5);
    assert_near(run.get("tasks.heavy.share"), 100.0 * ratio / (ratio + 1.0), 0.2);
    assert_near(run.get("tasks.light.share"), 100.0 / (ratio + 1.0), 0.2);
}

#[test]
fn a_group_has_its_share_however_many_its_tasks_are() {
    let run = fair(
        1,
        r#"
        groups = { big = { weight = 3072 }, small = { weight = 1024 } }
        workload.one = { load = "spin", passes = "forever", group = "big" }
        workload.many = { load = "spin", passes = "forever", group = "small", count = 5 }
        "#,
    );
    assert_near(run.get("tasks.one.share"), 75.0, 0.6);
    assert_near(run.get("tasks.many.share"), 25.0, 0.6);
}

#[test]
fn a_woken_task_preempts() {
    let run = fair(
        1,
        r#"
        workload.editor = { load = "sleeper", run = "1ms", sleep = "50ms", rounds = 100 }
        workload.hog = { load = "spin", passes = "forever" }
        "#,
    );
    assert_eq!(run.get("tasks.editor.wakeup_latency.max"), 0.0);
    let preempted = run.of(Kind::SwitchOut).filter(|e| e.flag == Leave::Preempted as u8 && e.task == 1).count();
    assert!(preempted >= 100, "{preempted}");
}

#[test]
fn a_new_task_goes_to_the_emptiest_processor() {
    let run = fair(4, r#"workload.hog = { load = "spin", compute = "100ms", count = 4 }"#);
    let mut places: Vec<_> = run.of(Kind::SwitchIn).map(|e| e.cpu).collect();
    places.sort_unstable();
    assert_eq!(places, [0, 1, 2, 3]);
    assert_eq!(run.end, 100 * MILLISECOND);
}

#[test]
fn an_idle_processor_pulls_immediately() {
    let run = fair(
        2,
        r#"
        workload.bound = { load = "spin", compute = "50ms", cpus = [1] }
        workload.free = { load = "spin", compute = "300ms", start = "1ms", count = 2 }
        "#,
    );
    // Both free tasks begin on the empty processor; when the other one is done with its own task, it takes one of them.
    let pulled = run.of(Kind::Migrated).find(|e| e.time > MILLISECOND).expect("a task is pulled");
    assert_eq!((pulled.time, pulled.cpu, pulled.a), (50 * MILLISECOND, 1, 0));
    let next = run.of(Kind::SwitchIn).find(|e| e.cpu == 1 && e.time >= pulled.time).expect("it runs");
    assert_eq!((next.time, next.task), (pulled.time, pulled.task));
    assert_eq!(run.of(Kind::SwitchIn).filter(|e| e.cpu == 1).count(), 2);
}

#[test]
fn a_task_is_not_pulled_to_where_it_may_not_run() {
    let run = fair(
        2,
        r#"
        workload.bound = { load = "spin", compute = "100ms", cpus = [0], count = 3 }
        "#,
    );
    assert!(run.of(Kind::SwitchIn).all(|e| e.cpu == 0));
    assert_eq!(run.end, 300 * MILLISECOND);
}

#[test]
fn a_busy_processor_pulls_at_a_tick() {
    let run = fair(
        2,
        r#"
        workload.free = { load = "spin", passes = "forever", count = 4 }
        workload.leaving = { passes = "forever", cpus = [0], count = 4, steps = [{ compute = "40ms" }, { sleep = "1h" }] }
        "#,
    );
    // Six tasks here and two there: both free ones of this side go over, one a tick, when they wait.
    let pulled: Vec<_> = run.of(Kind::Migrated).filter(|e| e.time > 0 && e.time < 40 * MILLISECOND).collect();
    assert!(pulled.iter().all(|e| e.cpu == 1 && e.task < 4) && pulled.len() == 2, "{pulled:?}");
    assert_eq!(run.totals.idle + run.totals.io_wait, 0);
}

#[test]
fn a_quota_holds_a_group_back_until_its_timer() {
    let run = fair(
        1,
        r#"
        groups.limited = { quota = "20ms", period = "100ms" }
        workload.hog = { load = "spin", passes = "forever", group = "limited" }
        "#,
    );
    assert_eq!(run.get("tasks.hog.share"), 20.0);
    let turns: Vec<_> = run.of(Kind::SwitchIn).map(|e| e.time / MILLISECOND).collect();
    assert_eq!(turns, (0..=100).map(|period| period * 100).collect::<Vec<_>>());
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn the_kernel_keeps_the_contract_under_a_policy_that_uses_everything(
        Written(scenario) in any_scenario(Programs::Wild), seed in any::<u64>(),
    ) {
        let run = run_under::<Fair>(&scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        prop_assert_eq!(run.totals, run.audited_totals);
    }

    #[test]
    fn no_task_is_lost_under_a_policy_that_uses_everything(
        Written(scenario) in any_scenario(Programs::Ending), seed in any::<u64>(),
    ) {
        let run = run_under::<Fair>(&scenario, seed);
        prop_assert_eq!(lives(&run).0, lives(&run).1);
    }
}
