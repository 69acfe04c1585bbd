//! Threads that share a core, cores that can do less, and processors that take turns: by hand.

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

#[test]
fn hogs_on_processors_that_take_turns_need_as_many_times_as_long_as_there_are_hogs() {
    let two = [job("a", 0, "500ms"), job("b", 1, "500ms")].concat();
    let run = on("processors = 2, topology.turns = [1]", &two);
    ends(&run, 0, SECOND);
    ends(&run, 1, SECOND);
    // All do 100 ms in 300; two have 100 left for the second one, in 200; the last does its 100 alone.
    let three = [job("a", 0, "100ms"), job("b", 1, "200ms"), job("c", 2, "300ms")].concat();
    let run = on("processors = 3, topology.turns = [1]", &three);
    ends(&run, 0, 300 * MILLISECOND);
    ends(&run, 1, 500 * MILLISECOND);
    ends(&run, 2, 600 * MILLISECOND);
}

/// An interrupt of 1 ms in every 10 takes 2 of them where two processors take turns: 400 ms of work need 800 of the 80 % that are left.
#[test]
fn interrupts_take_turns_too() {
    let machine = "processors = 2, topology.turns = [1], clock = { hz = \"100/s\", interrupt = \"1ms\" }";
    let run = on(machine, &[job("a", 0, "400ms"), job("b", 1, "400ms")].concat());
    assert!(run.end.abs_diff(SECOND) <= 4 * MILLISECOND, "{}", run.end);
}

/// With turns of 3 and 1, 300 and 100 ms are done in 400; what is left of the second job goes at full speed.
#[test]
fn a_longer_turn_is_a_larger_share_of_the_speed() {
    let run = on("processors = 2, topology.turns = [3, 1]", &[job("a", 0, "300ms"), job("b", 1, "250ms")].concat());
    ends(&run, 0, 400 * MILLISECOND);
    ends(&run, 1, 550 * MILLISECOND);
}

#[test]
fn idle_processors_take_no_turns() {
    ends(&on("processors = 8, topology.turns = [1]", &job("a", 5, "1s")), 0, SECOND);
}

/// Of two cores of full size and two of half of it, threads of one core run at 0.8: 1024 * 0.8 / 3 and 512 / 3 of 1024.
#[test]
fn turns_are_shared_out_after_cores_and_threads() {
    let machine =
        "processors = 3, topology = { threads = 2, thread_speed = 0.8, capacities = [1024, 512], turns = [1] }";
    let run = on(machine, &[job("a", 0, "80ms"), job("b", 1, "50ms"), job("c", 2, "80ms")].concat());
    (0..3).for_each(|task| ends(&run, task, 300 * MILLISECOND));
}

/// While any processor that takes turns runs a task, work is done at full speed, however often tasks come, go and move.
#[test]
fn processors_that_take_turns_together_do_the_work_of_one() {
    let jobs =
        "workload.a = { count = 5, passes = 300, steps = [{ compute = \"700us\" }, { sleep = { exp = \"9ms\" } }] }\n";
    let run = on("processors = 3, topology.turns = [1]", jobs);
    let (mut running, mut since, mut busy) = ([false; 3], 0, 0);
    for event in &run.events {
        let runs = match event.kind {
            Kind::SwitchIn => true,
            Kind::Idle => false,
            _ => continue,
        };
        if running.contains(&true) {
            busy += event.time - since;
        }
        since = event.time;
        running[usize::from(event.cpu)] = runs;
    }
    // Each change of speed may round the work of three processors by a nanosecond.
    let work: Nanos = 5 * 300 * 700_000;
    assert!(busy.abs_diff(work) <= 3 * run.events.len() as Nanos, "{busy} for {work}");
    assert!(busy < run.totals.user, "several at once were never at work");
}
