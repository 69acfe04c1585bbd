//! Locks and semaphores of a machine that has futexes: given back they are free, and a task that runs takes them before one that has to be
//! woken. What is expected is worked out by hand from the rule of the C library's mutexes and of `futex(2)`.

use proptest::prelude::*;
use schedlab_model::{MILLISECOND, Nanos, event::Kind};
use schedlab_policies::schedulers::{Cfs, Fifo, RoundRobin};
use schedlab_testing::schedulers::{Run, run, scenario};

/// Runs jobs on one processor whose locks are futexes that cost nothing, first come, first served.
#[track_caller]
fn fifo(workload: &str) -> Run {
    let machine = "machine = { preset = \"uniform\", calls = { futex = \"0s\" } }\nscheduler = { name = \"fifo\" }\n";
    let run = run::<Fifo>(&scenario(&format!("{machine}{workload}")), 1);
    assert_eq!(run.violations, [""; 0]);
    run
}

/// When each of the tasks ended, ms.
#[track_caller]
fn ends(run: &Run, tasks: u32) -> Vec<Nanos> {
    (0..tasks).map(|task| run.first(Kind::Exited, task) / MILLISECOND).collect()
}

/// Sleeps stand for what is done with it, so that the other task runs meanwhile and waits.
#[test]
fn a_running_task_takes_a_lock_or_a_permit_before_the_one_that_it_wakes() {
    for (take, give) in [("lock", "unlock"), ("acquire", "release")] {
        let steps = format!("[{{ {take} = \"x\" }}, {{ sleep = \"2ms\" }}, {{ {give} = \"x\" }}]");
        let shared = if take == "lock" { "" } else { "shared.x = { semaphore = 1 }\n" };
        let run = fifo(&format!(
            "{shared}workload.a = {{ passes = 3, steps = {steps} }}\nworkload.b = {{ start = \"1ms\", steps = {steps} }}"
        ));
        // The first one has it three times before the second, which looked in vain at 2 and 4 ms.
        assert_eq!(ends(&run, 2), [6, 8], "{take}");
        assert_eq!(run.get("tasks.b.lock_latency.max"), 0.005);
        assert_eq!(run.get("tasks.a.lock_latency.max"), 0.0);
    }
}

/// A lock that some task reads has a queue, as the agent's has, and so has the kernel's own that inherits priorities.
#[test]
fn locks_with_readers_or_inheritance_are_handed_on() {
    let steps = "[{ lock = \"x\" }, { sleep = \"2ms\" }, { unlock = \"x\" }]";
    let two = format!(
        "workload.a = {{ passes = 3, steps = {steps} }}\nworkload.b = {{ start = \"1ms\", steps = {steps} }}\n"
    );
    let reader = "workload.c = { start = \"1s\", steps = [{ read_lock = \"x\" }, { unlock = \"x\" }] }";
    assert_eq!(ends(&fifo(&format!("{two}{reader}")), 2), [8, 4]);
    assert_eq!(ends(&fifo(&format!("shared.x = {{ lock = \"inherit\" }}\n{two}")), 2), [8, 4]);
}

/// The one that looks in vain waits behind those that came meanwhile.
#[test]
fn who_looks_in_vain_waits_behind_the_others() {
    let steps = "[{ lock = \"x\" }, { sleep = \"2ms\" }, { unlock = \"x\" }]";
    let run = fifo(&format!(
        "workload.a = {{ passes = 2, steps = {steps} }}\n\
         workload.b = {{ count = 2, start = \"1ms\", steps = {steps} }}"
    ));
    // At 2 ms the first of b is woken, and looks in vain; at 4 ms the second one is.
    assert_eq!(ends(&run, 3), [4, 8, 6]);
}

/// All that a broadcast wakes look for the lock: it costs each a turn, where a queue would not wake them.
#[test]
fn whom_a_broadcast_wakes_look_for_their_lock() {
    let run = fifo(
        r#"
        workload.a = { count = 3, steps = [
            { lock = "x" }, { condition_wait = { condition = "c", lock = "x" } }, { sleep = "1ms" }, { unlock = "x" }] }
        workload.z = { start = "5ms", steps = [{ lock = "x" }, { condition_broadcast = "c" }, { sleep = "2ms" }, { unlock = "x" }] }
        "#,
    );
    assert_eq!(ends(&run, 4), [8, 9, 10, 7]);
    // One turn to the wait, one to look in vain at 5 ms, one with the lock, one to give it back.
    let turns = |task| run.of(Kind::SwitchIn).filter(|e| e.task == task).count();
    assert_eq!([turns(0), turns(1), turns(2)], [4; 3]);
}

/// As FUTEX_WAKE, which goes through a list by priorities.
#[test]
fn a_real_time_task_is_woken_before_ordinary_ones_that_have_waited_longer() {
    let steps = "steps = [{ acquire = \"x\" }, { sleep = \"2ms\" }, { release = \"x\" }]";
    let text = format!(
        "machine = {{ preset = \"uniform\", calls = {{ futex = \"0s\" }} }}\nscheduler = {{ name = \"cfs\" }}\n\
         shared.x = {{ semaphore = 1 }}\nworkload.a = {{ {steps} }}\nworkload.b = {{ start = \"500us\", {steps} }}\n\
         workload.c = {{ start = \"1ms\", policy = \"fifo\", priority = 5, {steps} }}"
    );
    assert_eq!(ends(&run::<Cfs>(&scenario(&text), 1), 3), [2, 6, 4]);
}

proptest! {
    /// One task at a time, and every request is served: with locks, and with what a condition gives back and takes again.
    #[test]
    fn a_futex_has_one_holder_and_loses_no_waiter(
        processors in prop::sample::select(vec![1u16, 2, 8]), slice in 1u32..9, tasks in 1u32..9, ceiling in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let shared = if ceiling { "shared.x = { lock = { ceiling = 50 } }\n" } else { "" };
        let policy = if ceiling { "policy = \"fifo\", priority = 10, " } else { "" };
        let within = "{ mark = \"in\" }, { compute = { uniform = [\"100us\", \"3ms\"] } }, { sleep = \"1ms\" }, { mark = \"out\" }";
        let text = format!(
            "machine = {{ preset = \"uniform\", processors = {processors}, calls = {{ futex = \"5us\" }} }}\n\
             scheduler = {{ name = \"round_robin\", slice = \"{slice}ms\" }}\nduration = \"10s\"\n{shared}\
             workload.a = {{ {policy}count = {tasks}, passes = 3, steps = [{{ lock = \"x\" }}, {within}, {{ unlock = \"x\" }}] }}\n\
             workload.b = {{ {policy}count = 2, steps = [{{ lock = \"x\" }}, {{ condition_wait = {{ condition = \"c\", lock = \"x\" }} }}, {within}, {{ unlock = \"x\" }}] }}\n\
             workload.z = {{ start = \"1s\", steps = [{{ condition_broadcast = \"c\" }}] }}"
        );
        let run = run::<RoundRobin>(&scenario(&text), seed);
        prop_assert_eq!(&run.violations, &[""; 0]);
        let mut inside = 0i32;
        for event in run.of(Kind::Mark) {
            inside += if event.a == 0 { 1 } else { -1 };
            prop_assert!((0..=1).contains(&inside));
        }
        prop_assert_eq!(run.get("tasks.a.completed") + run.get("tasks.b.completed"), f64::from(tasks + 2));
        prop_assert_eq!(run.get("lock_latency.count"), f64::from(3 * tasks + 2));
    }
}
