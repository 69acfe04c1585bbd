//! What an idle processor takes to leave its idle state: an interrupt waits for it, a second one for the rest of it, and it counts as idle.

use schedlab_model::{MILLISECOND, Nanos, event::Kind, task::TaskId};
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_testing::schedulers::{Run, run, scenario};

const MICROSECOND: Nanos = 1000;
const EXIT: Nanos = 50 * MICROSECOND;

/// Runs jobs on that many processors, each of which takes 50 us to leave its idle state.
#[track_caller]
fn of(processors: u16, scheduler: &str, workload: &str) -> Run {
    let machine = format!(
        r#"{{ preset = "uniform", processors = {processors}, idle_states = [{{ residency = "0s", latency = "50us" }}] }}"#
    );
    run::<All>(&scenario(&format!("machine = {machine}\nscheduler = {{ name = \"{scheduler}\" }}\n{workload}")), 1)
}

/// Jobs are numbered in the order of their names. The times of a task's wakeups, its start left out, each with the time of its next run.
fn wakeups(run: &Run, task: TaskId) -> Vec<(Nanos, Nanos)> {
    let mut pairs = Vec::new();
    let mut woken = None;
    for event in run.events.iter().filter(|event| event.task == task) {
        match event.kind {
            Kind::Wakeup if event.flag == 0 => woken = Some(event.time),
            Kind::SwitchIn => pairs.extend(woken.take().map(|woken| (woken, event.time))),
            _ => {}
        }
    }
    pairs
}

#[test]
fn a_task_that_another_processor_wakes_runs_as_soon_as_its_own_has_left_its_idle_state() {
    let pair = r#"
        workload.sender = { cpus = [0], steps = [{ repeat = { times = 100, steps = [
            { sleep = { uniform = ["1ms", "3ms"] } }, { send = "words" }, { compute = "20us" }
        ] } }] }
        workload.receiver = { cpus = [PROCESSOR], steps = [{ repeat = { times = 100, steps = [{ receive = "words" }, { compute = "100us" }] } }] }
    "#;
    for info in SCHEDULERS {
        // Many processors are kept in another structure than few.
        for processors in [2, 20].into_iter().filter(|&count| info.allows(count).is_ok()) {
            let run = of(processors, info.name, &pair.replace("PROCESSOR", &(processors - 1).to_string()));
            let late: Vec<Nanos> = wakeups(&run, 0).iter().map(|(woken, ran)| ran - woken).collect();
            // A clock of the policy's may have interrupted the processor shortly before (roundrobin of 4BSD).
            let whole = late.iter().filter(|&&late| late == EXIT).count();
            assert!(
                late.len() == 100 && late.iter().all(|&late| late <= EXIT),
                "{} on {processors}: {late:?}",
                info.name
            );
            assert!(whole >= 98, "{} on {processors}: {late:?}", info.name);
        }
    }
}

#[test]
fn a_timer_comes_late_to_an_idle_processor_whose_task_then_runs_at_once() {
    for info in SCHEDULERS {
        let run = of(
            1,
            info.name,
            r#"workload.sleeper.steps = [{ repeat = { times = 20, steps = [{ sleep = "1ms" }, { compute = "100us" }] } }]"#,
        );
        let period = MILLISECOND + EXIT + 100 * MICROSECOND;
        let expected: Vec<_> = (0..20).map(|n| n * period + MILLISECOND + EXIT).map(|time| (time, time)).collect();
        assert_eq!(wakeups(&run, 0), expected, "{}", info.name);
    }
}

#[test]
fn a_timer_comes_in_time_to_a_processor_that_runs_a_task() {
    let run = of(
        1,
        "fifo",
        r#"
        workload.hog = { load = "spin", compute = "10ms" }
        workload.sleeper.steps = [{ sleep = "1ms" }, { compute = "1ms" }, { sleep = "3ms" }]
        "#,
    );
    // It sleeps from 10 ms on, and then is alone.
    assert_eq!(wakeups(&run, 1)[0], (11 * MILLISECOND + EXIT, 11 * MILLISECOND + EXIT));
    let run = of(
        2,
        "eevdf",
        r#"
        workload.hog = { cpus = [0], load = "spin", compute = "10ms" }
        workload.sleeper = { cpus = [0], policy = "fifo", priority = 1, steps = [{ sleep = "1ms" }, { compute = "1ms" }] }
        "#,
    );
    assert_eq!(wakeups(&run, 1), [(MILLISECOND, MILLISECOND)]);
}

#[test]
fn a_second_task_does_not_wait_for_another_exit() {
    let run = of(
        2,
        "eevdf",
        r#"
        workload.sender = { cpus = [0], steps = [{ sleep = "1ms" }, { send = "a" }, { compute = "30us" }, { send = "b" }] }
        workload.first = { cpus = [1], steps = [{ receive = "a" }, { compute = "100us" }] }
        workload.second = { cpus = [1], steps = [{ receive = "b" }, { compute = "100us" }] }
        "#,
    );
    let sent = MILLISECOND + EXIT;
    let (first, second) = (wakeups(&run, 0)[0], wakeups(&run, 1)[0]);
    assert_eq!((first.0, second.0), (sent, sent + 30 * MICROSECOND));
    // The processor chooses 50 us after the first message, between the two that wait.
    assert_eq!(first.1.min(second.1), sent + EXIT);
}

#[test]
fn a_timer_in_the_middle_of_an_exit_waits_for_the_rest_of_it() {
    let run = of(
        2,
        "fifo",
        r#"
        workload.sender = { cpus = [0], steps = [{ sleep = "1ms" }, { send = "a" }] }
        workload.receiver = { cpus = [1], steps = [{ receive = "a" }, { compute = "100us" }] }
        workload.sleeper = { cpus = [1], steps = [{ sleep = "1070us" }, { compute = "100us" }] }
        "#,
    );
    // The message is sent at 1.05 ms, so that the processor is there at 1.10, for the timer of 1.07, too.
    let there = MILLISECOND + 2 * EXIT;
    assert_eq!(wakeups(&run, 0), [(MILLISECOND + EXIT, there)]);
    assert_eq!(wakeups(&run, 2), [(there, there + 100 * MICROSECOND)]);
}

#[test]
fn a_timer_that_wakes_its_task_elsewhere_leaves_its_processor_in_the_idle_state() {
    // The sleeper may leave processor 0 while it sleeps, and is then woken on the other one.
    let run = of(
        2,
        "eevdf",
        r#"
        workload.sleeper = { cpus = [0], steps = [{ sleep = "10ms" }, { compute = "1ms" }] }
        workload.other = { cpus = [1], steps = [{ sleep = "5ms" }, { set = { cpus = [1], job = "sleeper" } }, { sleep = "10ms" }, { send = "a" }] }
        workload.receiver = { cpus = [0], steps = [{ receive = "a" }, { compute = "1ms" }] }
        "#,
    );
    // Its timer comes to processor 0 at 10 ms, which then interrupts the other one.
    assert_eq!(wakeups(&run, 2), [(10 * MILLISECOND + EXIT, 10 * MILLISECOND + 2 * EXIT)]);
    let (woken, ran) = wakeups(&run, 1)[0];
    assert_eq!(ran - woken, EXIT);
}

#[test]
fn a_run_does_not_end_while_a_processor_leaves_its_idle_state() {
    // For two ticks nothing else happens.
    let text = r#"
        scheduler = { name = "eevdf" }
        machine = { preset = "uniform", processors = 2, idle_states = [{ residency = "0s", latency = "25ms" }] }
        workload.sender = { cpus = [0], steps = [{ compute = "2ms" }, { send = "a" }] }
        workload.receiver = { cpus = [1], steps = [{ receive = "a" }, { compute = "1ms" }] }
    "#;
    assert_eq!(run::<All>(&scenario(text), 1).end, (2 + 25 + 1) * MILLISECOND);
}

#[test]
fn the_time_of_it_is_wasted_and_no_task_s() {
    let run = of(
        2,
        "eevdf",
        r#"
        duration = "1s"
        workload.sender = { cpus = [0], passes = "forever", steps = [{ sleep = "1950us" }, { send = "a" }] }
        workload.receiver = { cpus = [1], passes = "forever", steps = [{ receive = "a" }, { compute = "1ms" }] }
        "#,
    );
    // Of each 2 ms one computes for 1 ms and waits for 50 us, on one of two processors.
    let near = |name: &str, percent: f64| {
        let value = run.get(name);
        assert!((value - percent).abs() < 0.1, "{name}: {value}");
    };
    near("wasted", 1.25);
    near("tasks.receiver.share", 25.0);
    near("utilization", 25.0);
}

#[test]
fn a_processor_that_has_been_idle_for_longer_takes_longer() {
    let text = r#"
        scheduler = { name = "eevdf" }
        [machine]
        preset = "uniform"
        processors = 2
        idle_states = [
            { residency = "20us", latency = "2us" },
            { residency = "600us", latency = "133us" },
        ]
        [workload.sender]
        cpus = [0]
        steps = [
            { compute = "1ms" }, { send = "a" }, { compute = "110us" }, { send = "a" },
            { compute = "500us" }, { send = "a" }, { compute = "833us" }, { send = "a" }, { compute = "1ms" },
        ]
        [workload.receiver]
        cpus = [1]
        steps = [{ repeat = { times = 4, steps = [{ receive = "a" }, { compute = "100us" }] } }]
    "#;
    let run = run::<All>(&scenario(text), 1);
    let late: Vec<Nanos> = wakeups(&run, 0).iter().map(|(woken, ran)| ran - woken).collect();
    // It is idle for 1 ms, has two messages when it comes back at 1.133, so that it is busy till 1.333, and is idle for 277 us and 731 us.
    assert_eq!(late, [133 * MICROSECOND, 2 * MICROSECOND, 133 * MICROSECOND]);
}

#[test]
fn of_processors_that_take_turns_one_takes_its_turns_while_it_leaves_its_idle_state() {
    let text = r#"
        scheduler = { name = "eevdf" }
        machine = { preset = "uniform", processors = 2, idle_states = [{ residency = "0s", latency = "1ms" }], topology = { turns = [1] } }
        workload.sender = { cpus = [0], steps = [{ compute = "1ms" }, { send = "a" }, { compute = "10ms" }] }
        workload.receiver = { cpus = [1], steps = [{ receive = "a" }, { compute = "1ms" }] }
    "#;
    let run = run::<All>(&scenario(text), 1);
    // From 1 ms on the other processor leaves its idle state and computes, 1 ms of each, both at half speed.
    assert_eq!(run.first(Kind::Exited, 0), 5 * MILLISECOND);
    assert_eq!(run.first(Kind::Exited, 1), (1 + 2 + 2 + 8) * MILLISECOND);
}
