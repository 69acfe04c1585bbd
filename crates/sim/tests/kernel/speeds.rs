//! Threads that share a core, and cores that can do less: by hand.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::RoundRobin;
use schedlab_testing::schedulers::{Run, run, scenario};

const HEAD: &str = "scheduler = { name = \"round_robin\" }\n";

fn on(machine: &str, jobs: &str) -> Run {
    run::<RoundRobin>(&scenario(&format!("machine = {{ preset = \"uniform\", {machine} }}\n{HEAD}{jobs}")), 1)
}

fn job(name: &str, cpu: u16, compute: &str) -> String {
    format!("workload.{name} = {{ cpus = [{cpu}], steps = [{{ compute = \"{compute}\" }}] }}\n")
}

#[track_caller]
fn ends(run: &Run, task: TaskId, expected: Nanos) {
    let last = run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.time).max();
    let end = last.expect("it ran");
    assert!(end.abs_diff(expected) <= 3, "task {task} ends at {end}, not at {expected}");
}

#[test]
fn two_threads_of_a_core_run_at_the_speed_of_a_shared_one() {
    let two = [job("a", 0, "600ms"), job("b", 1, "600ms")].concat();
    let core = on("processors = 2, topology = { threads = 2, thread_speed = 0.6 }", &two);
    ends(&core, 0, SECOND);
    ends(&core, 1, SECOND);
}

#[test]
fn a_thread_alone_runs_at_full_speed_and_again_when_its_sibling_has_ended() {
    let machine = "processors = 2, topology = { threads = 2, thread_speed = 0.5 }";
    ends(&on(machine, &job("a", 0, "1s")), 0, SECOND);
    // The shorter one needs 400 ms; in that time the longer one has done 200 of its 1000.
    let run = on(machine, &[job("a", 0, "200ms"), job("b", 1, "1s")].concat());
    ends(&run, 0, 400 * MILLISECOND);
    ends(&run, 1, 1200 * MILLISECOND);
}

#[test]
fn a_sibling_that_comes_slows_a_running_burst_down_from_then_on() {
    let late = "workload.b = { cpus = [1], steps = [{ sleep = \"300ms\" }, { compute = \"100ms\" }] }\n";
    let run =
        on("processors = 2, topology = { threads = 2, thread_speed = 0.8 }", &[&job("a", 0, "1s"), late].concat());
    // The sibling runs for 125 ms, in which 100 are done here as well.
    ends(&run, 1, 425 * MILLISECOND);
    ends(&run, 0, 1025 * MILLISECOND);
}

#[test]
fn a_core_of_half_the_capacity_takes_twice_as_long() {
    let run =
        on("processors = 2, topology = { capacities = [1024, 512] }", &[job("a", 0, "1s"), job("b", 1, "1s")].concat());
    ends(&run, 0, SECOND);
    ends(&run, 1, 2 * SECOND);
}

#[test]
fn threads_are_those_that_the_numbering_says() {
    let two = [job("a", 0, "600ms"), job("b", 2, "600ms")].concat();
    let machine = |numbering| {
        format!("processors = 4, topology = {{ threads = 2, thread_speed = 0.6, numbering = \"{numbering}\" }}")
    };
    ends(&on(&machine("cores_first"), &two), 0, SECOND);
    ends(&on(&machine("threads_first"), &two), 0, 600 * MILLISECOND);
}

/// Switches from task to task leave the sibling as it is: no rounding adds up.
#[test]
fn many_switches_cost_a_sibling_nothing() {
    let jobs =
        "workload.a = { count = 2, cpus = [0], steps = [{ compute = \"3s\" }] }\n".to_owned() + &job("b", 1, "3s");
    let run = on("processors = 2, topology = { threads = 2, thread_speed = 0.75 }", &jobs);
    let last = |task| run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.time).max();
    assert!(last(2).expect("it ran").abs_diff(4 * SECOND) <= 3, "{:?}", last(2));
}

#[test]
fn a_machine_whose_processors_are_even_runs_as_one_without_a_topology() {
    let jobs = "workload.a = { count = 7, passes = 200, steps = [{ compute = { exp = \"900us\" } }, { sleep = { exp = \"2ms\" } }] }\n";
    let plain = on("processors = 4", jobs);
    let threads = on("processors = 4, topology = { threads = 2, thread_speed = 1.0, cores_per_cache = 1 }", jobs);
    assert_eq!(plain.events, threads.events);
}
