//! Loops that take no time: refused where nothing in them could take any, else found by the run, which names them.

use crate::machine;
use schedlab_model::{MILLISECOND, Nanos, experiment::Format, program::Step, scenario::Scenario, units::Duration};
use schedlab_testing::schedulers::{scenario, try_read, unobserved};

const PLAIN: &str = "machine = \"uniform\"\nscheduler = { name = \"round_robin\", slice = \"5ms\" }\n";
const LIMIT: Nanos = 300 * MILLISECOND;

/// A machine with a drive, a cache of eight blocks of 4 KiB, and memory.
fn disked() -> String {
    machine(
        r#"files = { block = "4KiB", cache_blocks = 8, direct_blocks = 1000 }, memory = { size = "1MiB", swap = "1MiB" }, "#,
    )
}

/// A job `w` that repeats the steps endlessly, and others.
fn with_loop(machine: &str, steps: &str, others: &str) -> String {
    format!(
        "{machine}duration = \"1s\"\nworkload.w = {{ steps = [{{ repeat = {{ times = \"forever\", steps = [{steps}] }} }}] }}\n{others}\n"
    )
}

/// Runs it for a while, whatever a check would say.
fn end(mut scenario: Scenario) -> Result<Nanos, String> {
    scenario.duration = Some(Duration(LIMIT));
    unobserved(&scenario, 1)
}

/// Steps that can neither take time nor wait for anything that could.
const INSTANT: &[&str] = &[
    r#"{ mark = "m" }"#,
    r#"{ compute = "0ns" }"#,
    r#"{ sleep = "0ns" }"#,
    r#"{ print = "1KiB" }, "signal""#,
    r#"{ lock = "a" }, { unlock = "a" }"#,
    r#""wait""#,
    r#""yield""#,
    r#"{ open = { files = 2, size = "8KiB" } }, { read = "4KiB" }, "close""#,
    r#"{ open = { files = 2, size = "8KiB", direct = true } }, { read = "4KiB" }, "close""#,
    r#"{ touch = { size = "8KiB" } }"#,
];

/// Steps that take time or wait, on a machine with a drive, with what the other tasks do.
const LASTING: &[(&str, &str)] = &[
    (r#"{ fork = [{ compute = "5ms" }] }, "wait""#, ""),
    (r#"{ fork = [{ fork = [{ sleep = "5ms" }] }, "wait"] }, "wait""#, ""),
    (r#"{ open = { files = 1, size = "1MiB", direct = true } }, { seek = "random" }, { read = "4KiB" }"#, ""),
    (r#"{ open = { files = 40, size = "4KiB" } }, { read = "4KiB" }, "close""#, ""),
    (r#"{ create = { files = 40, size = "0B" } }, { write = "4KiB" }, "sync", "close""#, ""),
    (r#""yield""#, r#"workload.hog = { load = "spin", passes = "forever" }"#),
    (
        r#"{ lock = "a" }, { unlock = "a" }"#,
        r#"workload.other = { passes = "forever", steps = [{ lock = "a" }, { compute = "3ms" }, { unlock = "a" }] }"#,
    ),
    (r#"{ receive = "p" }"#, r#"workload.other = { passes = "forever", steps = [{ send = "p" }, { sleep = "3ms" }] }"#),
    (r#""pause""#, ""),
    (r#"{ touch = { size = "2MiB", write = true } }"#, ""),
    (r#"{ period = "5ms" }"#, ""),
];

/// A loop that takes a lock and releases it immediately, and another task that uses the lock: never holding it while time
/// passes, and holding it so.
const LOOP_OF_A_LOCK: &str = r#"{ lock = "a" }, { unlock = "a" }"#;
const HELD_FOR_NO_TIME: &[&str] = &[
    r#"{ lock = "a" }, { unlock = "a" }"#,
    r#"{ lock = "a" }, { mark = "m" }, { unlock = "a" }, { compute = "3ms" }"#,
    r#"{ compute = "3ms" }, { repeat = { times = 3, steps = [{ lock = "a" }, { unlock = "a" }] } }"#,
    r#"{ lock = "b" }, { lock = "a" }, { unlock = "a" }, { unlock = "b" }, { sleep = "3ms" }"#,
    r#"{ fork = [{ lock = "a" }, { unlock = "a" }, { compute = "3ms" }] }, "wait""#,
];
const HELD_FOR_A_WHILE: &[&str] = &[
    r#"{ lock = "a" }, { compute = "3ms" }, { unlock = "a" }"#,
    r#"{ lock = "a" }, { repeat = { times = 2, steps = [{ mark = "m" }, { sleep = "3ms" }] } }, { unlock = "a" }"#,
    r#"{ lock = "a" }, { fork = [{ compute = "3ms" }] }, "wait", { unlock = "a" }"#,
    r#"{ lock = "b" }, { sleep = "3ms" }, { unlock = "b" }, { lock = "a" }, { lock = "b" }, { unlock = "b" }, { unlock = "a" }"#,
];

/// Loops whose steps could take time, and do not; the task and the place of the loop.
const STANDING: &[(&str, &str)] = &[
    (
        r#"workload.w = { steps = [{ open = { files = 1, size = "4KiB" } }, { repeat = { times = "forever", steps = [{ read = "4KiB" }] } }] }"#,
        "workload.w.steps[1].repeat: goes on",
    ),
    (r#"workload.w = { count = 2, passes = "forever", steps = ["yield"] }"#, "workload.w.steps: goes on"),
    (
        r#"workload.w = { steps = [{ fork = [{ repeat = { times = "forever", steps = [{ send = "a" }, { receive = "a" }] } }] }] }"#,
        "workload.w.steps[0].fork[0].repeat: goes on",
    ),
    (
        r#"workload.w = { passes = "forever", steps = [{ send = "a" }, { receive = "b" }] }
        workload.x = { passes = "forever", steps = [{ receive = "a" }, { send = "b" }] }"#,
        ".steps: goes on",
    ),
    (r#"workload.w = { passes = "forever", steps = [{ touch = { size = "4KiB" } }] }"#, "workload.w.steps: goes on"),
];

#[test]
fn a_loop_that_can_take_no_time_is_refused_by_its_field_and_would_not_advance_the_clock() {
    for steps in INSTANT {
        let problem = try_read(&with_loop(PLAIN, steps, ""), Format::Toml).expect_err(steps);
        assert!(problem.contains("workload.w.steps[0].repeat: takes no time"), "{steps}: {problem}");
        // The truth of it: the same loop, unchecked.
        let mut unchecked = scenario(&with_loop(PLAIN, r#"{ compute = "1ms" }"#, ""));
        let table: toml::Table = with_loop("", steps, "").parse().unwrap();
        let written: Vec<Step> = table["workload"]["w"]["steps"].clone().try_into().unwrap();
        unchecked.workload.get_mut("w").unwrap().steps = Some(written);
        let error = end(unchecked).expect_err(steps);
        assert!(error.starts_with("workload.w.steps[0].repeat"), "{steps}: {error}");
    }
}

#[test]
fn a_loop_is_accepted_with_any_step_that_can_take_time_or_wait_at_any_position() {
    for (steps, others) in LASTING {
        for (before, after) in [("", ""), (r#"{ mark = "m" }, "#, ""), ("", r#", { print = "1B" }"#)] {
            let text = with_loop(&disked(), &format!("{before}{steps}{after}"), others);
            assert_eq!(end(scenario(&text)).map(|_| ()), Ok(()), "{text}");
        }
    }
}

#[test]
fn a_loop_that_could_take_time_and_does_not_is_named_by_the_run() {
    for (jobs, place) in STANDING {
        let error = end(scenario(&format!("{}duration = \"1s\"\n{jobs}\n", disked()))).expect_err(jobs);
        assert!(error.contains(place) && error.contains("of simulated time"), "{jobs}: {error}");
    }
}

#[test]
fn a_loop_of_a_lock_is_refused_unless_another_task_holds_that_lock_while_time_passes() {
    let with_others = |steps: &str| format!("workload.x = {{ count = 2, passes = \"forever\", steps = [{steps}] }}");
    for steps in HELD_FOR_NO_TIME {
        let problem = try_read(&with_loop(PLAIN, LOOP_OF_A_LOCK, &with_others(steps)), Format::Toml).expect_err(steps);
        assert!(problem.contains("workload.w.steps[0].repeat: takes no time"), "{steps}: {problem}");
    }
    for steps in HELD_FOR_A_WHILE {
        scenario(&with_loop(PLAIN, LOOP_OF_A_LOCK, &with_others(steps)));
    }
    let two = format!(
        "{PLAIN}duration = \"1s\"\nworkload.w = {{ count = 2, passes = \"forever\", steps = [{LOOP_OF_A_LOCK}] }}"
    );
    assert!(try_read(&two, Format::Toml).expect_err("two").contains("workload.w.steps: takes no time"));
}
