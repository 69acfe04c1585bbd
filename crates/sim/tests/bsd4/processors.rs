//! The three 4BSDs on several processors: bound tasks, and what timers wake while all processors are busy.

use super::Policies;
use schedlab_testing::schedulers::{Run, run, scenario};

#[track_caller]
fn on(processors: u16, scheduler: &str, work: &str) -> Run {
    let machine = format!("{{ preset = \"uniform\", processors = {processors} }}");
    run::<Policies>(&scenario(&format!("machine = {machine}\nscheduler = {{ {scheduler} }}\n{work}")), 1)
}

#[test]
fn a_bound_task_is_placed_anew_whenever_it_is_queued() {
    let work = r#"
        workload.p = { load = "spin", passes = "forever", cpus = [0], count = 4 }
        workload.z = { load = "spin", compute = "250ms", count = 4, cpus = [2] }
        workload.g0 = { load = "spin", compute = "10s", cpus = [1], start = "0.1s" }
        workload.g1 = { load = "spin", compute = "10s", cpus = [1, 2], start = "0.1s" }
    "#;
    for name in ["bsd4", "bsd4_52", "bsd4_4x"] {
        let run = on(3, &format!("name = \"{name}\""), work);
        let real = run.get("tasks.g1.real");
        assert!((10.4..=10.8).contains(&real), "{name}: {real} s");
    }
}

/// Threads that sleep and run, which ask for 46.2 % of eight processors if they are sixteen, and hogs.
fn workers(workers: usize, hogs: usize) -> Run {
    let work = format!(
        r#"
        duration = "30s"
        [workload.worker]
        count = {workers}
        passes = "forever"
        steps = [{{ sleep = {{ exp = "10ms" }} }}, {{ compute = {{ uniform = ["1ms", "5ms"] }} }}]
        [workload.batch]
        load = "spin"
        count = {hogs}
        passes = "forever"
        "#
    );
    on(8, "name = \"bsd4\", quantum_form = \"slice\"", &work)
}

#[test]
fn with_no_processor_idle_timers_wake_tasks_on_the_first_and_others_take_them_when_they_choose() {
    for hogs in [8, 16] {
        let run = workers(16, hogs);
        let share = run.get("tasks.worker.share");
        assert!((23.0..=33.0).contains(&share), "{share} % with {hogs} hogs");
        let latency = run.get("tasks.worker.wakeup_latency.max");
        assert!(latency < 0.11, "{latency} s with {hogs} hogs");
    }
    // One idles whenever the only worker wakes.
    assert_eq!(workers(1, 7).get("tasks.worker.wakeup_latency.max"), 0.0);
}
