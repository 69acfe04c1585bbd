//! Which rule of Minix 1.5 makes which published feature, on the machine of the report: each test has the rule on and, where
//! there is a switch for it, off.

use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    event::{Kind, Leave},
    experiment::Format,
    task::{Class, TaskId},
};
use schedlab_policies::schedulers::Minix;
use schedlab_testing::schedulers::{Run, run, scenario, try_read};

schedlab_testing::test_scheduler!(Minix);

const TICK: f64 = 1.0 / 60.0;
/// The kernel's own tasks are the first six.
const KERNEL_TASKS: TaskId = 6;
const FILE_SERVER: TaskId = 5;
/// The quantum in ms, and N, its whole ticks: trunc(ms * 60 / 1000), at least 1.
const QUANTA: [(u64, u64); 9] = [(100, 6), (99, 5), (50, 3), (36, 2), (34, 2), (33, 1), (18, 1), (17, 1), (10, 1)];

const HOG: &str = r#"workload.hog = { load = "spin", passes = "forever" }"#;

#[track_caller]
fn minix(slice: u64, ready_at: &str, workload: &str, seed: u64) -> Run {
    minix_on(r#"machine = "at_286""#, slice, ready_at, workload, seed)
}

#[track_caller]
fn minix_on(machine: &str, slice: u64, ready_at: &str, workload: &str, seed: u64) -> Run {
    let scheduler = format!("{{ name = \"minix\", slice = \"{slice}ms\", ready_at = \"{ready_at}\" }}");
    run::<Minix>(&scenario(&format!("{machine}\nscheduler = {scheduler}\n{workload}")), seed)
}

/// A job of 200 calls that wait for nothing.
fn caller(cost: &str) -> String {
    format!(
        r#"workload.caller = {{ load = "system_calls", calls = 200, user = "700us", cost = "{cost}", start = {{ uniform = ["1s", "2s"] }} }}"#
    )
}

/// Ticks that each call of the job took.
fn ticks_per_call(run: &Run) -> f64 {
    run.get("tasks.caller.real") / 200.0 / TICK
}

#[test]
fn every_call_with_a_hog_costs_a_quantum_and_with_insertion_at_the_head_it_does_not() {
    for (slice, n) in QUANTA {
        let workload = format!("{HOG}\n{}", caller("2ms"));
        let tail = ticks_per_call(&minix(slice, "tail", &workload, 1));
        assert!((tail - n as f64).abs() < 0.05, "{tail} ticks at {slice} ms, N = {n}");
        let head = ticks_per_call(&minix(slice, "head", &workload, 1));
        assert!(head < 0.5, "{head} ticks at {slice} ms");
    }
}

#[test]
fn without_a_hog_the_quantum_does_not_matter() {
    let real = |slice| minix(slice, "tail", &caller("2ms"), 1).get("tasks.caller.real");
    assert!((real(100) - real(18)).abs() < 0.01 * real(100), "{} {}", real(100), real(18));
}

#[test]
fn two_hogs_get_two_quanta_each_since_the_same_one_must_be_billed_at_both_ends() {
    for (slice, n) in QUANTA {
        let run = minix(
            slice,
            "tail",
            r#"
            duration = "20s"
            workload.hog = { load = "spin", passes = "forever", count = 2 }
            "#,
            1,
        );
        let turns = turns(&run);
        let whole = &turns[1..turns.len() - 1];
        assert!(whole.len() > 30, "{} turns", whole.len());
        for (_, length) in whole {
            let ticks = *length as f64 / SECOND as f64 / TICK;
            assert!((ticks - 2.0 * n as f64).abs() < 0.05, "a turn of {ticks} ticks at {slice} ms, N = {n}");
        }
        assert!(whole.windows(2).all(|pair| pair[0].0 != pair[1].0));
    }
}

/// The tasks that had the processor and for how long; the kernel's interruptions count to the interrupted user.
fn turns(run: &Run) -> Vec<(TaskId, Nanos)> {
    let mut turns: Vec<(TaskId, Nanos, Nanos)> = Vec::new();
    for event in run.of(Kind::SwitchIn).filter(|event| event.task >= KERNEL_TASKS) {
        match turns.last_mut() {
            Some((task, ..)) if *task == event.task => {}
            last => {
                last.into_iter().for_each(|turn| turn.2 = event.time);
                turns.push((event.task, event.time, run.end));
            }
        }
    }
    turns.into_iter().map(|(task, from, to)| (task, to - from)).collect()
}

#[test]
fn at_one_tick_a_call_longer_than_a_tick_costs_three_and_a_short_one_one() {
    // A tick sees the long call billed to the caller, so that the rotation is lost, and the hog must be seen twice.
    for (cost, expected) in [("2ms", 1.0), ("10ms", 1.0), ("18ms", 3.0)] {
        let ticks = ticks_per_call(&minix(18, "tail", &format!("{HOG}\n{}", caller(cost)), 1));
        assert!((ticks - expected).abs() < 0.05, "{ticks} ticks for a call of {cost}");
    }
}

#[test]
fn with_a_hog_user_time_is_never_sampled_though_it_is_spent() {
    let loaded = minix(100, "tail", &format!("{HOG}\n{}", caller("2ms")), 1);
    assert_eq!(loaded.get("tasks.caller.user"), 0.0);
    assert_eq!(loaded.get("tasks.caller.true_user"), 0.14);
    // Alone, the ticks come at any phase of the call.
    let alone = minix(100, "tail", &caller("2ms").replace("calls = 200", "calls = 20000"), 1);
    let ratio = alone.get("tasks.caller.user") / alone.get("tasks.caller.true_user");
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn sampled_system_time_is_lower_with_a_hog_than_alone_and_true_time_is_not() {
    let (loaded, alone) =
        (minix(100, "tail", &format!("{HOG}\n{}", caller("2ms")), 1), minix(100, "tail", &caller("2ms"), 1));
    let sys = |run: &Run| run.get("tasks.caller.sys");
    assert!(sys(&loaded) < 0.1 * sys(&alone), "{} {}", sys(&loaded), sys(&alone));
    // The file server did the same for the calls.
    let served = |run: &Run| run.of(Kind::SwitchOut).filter(|e| e.task == FILE_SERVER).map(|e| e.b).sum::<Nanos>();
    assert!(served(&alone) > 200 * 2 * MILLISECOND);
    assert_eq!(served(&loaded), served(&alone));
}

#[test]
fn what_the_books_of_the_calls_lack_is_charged_to_the_hog() {
    let run = minix(100, "tail", &format!("{HOG}\n{}", caller("2ms")), 1);
    let charged: f64 = ["caller", "hog"]
        .iter()
        .map(|job| run.get(&format!("tasks.{job}.user")) + run.get(&format!("tasks.{job}.sys")))
        .sum();
    assert!((charged - run.end as f64 / 1e9).abs() <= 2.0 * TICK, "{charged}");
    let spent = run.get("tasks.caller.true_user") + run.get("system");
    let lacking = spent - run.get("tasks.caller.user") - run.get("tasks.caller.sys");
    let gained = run.get("tasks.hog.user") + run.get("tasks.hog.sys") - run.get("tasks.hog.true_user");
    assert!(lacking > 0.9 * spent);
    assert!((gained - lacking).abs() < 0.05 * lacking + 2.0 * TICK, "{gained} for {lacking}");
}

#[test]
fn reading_ahead_after_the_answer_is_billed_to_the_hog() {
    let files = r#"
        workload.io = { load = "read_files", files = 23, size = "17KiB", block = "1KiB", print = true, start = { uniform = ["1s", "2s"] } }
    "#;
    let hogs_system_time = |ahead: bool| {
        let machine = format!("machine = {{ preset = \"at_286\", files = {{ read_ahead = {ahead} }} }}");
        let of = |seed| minix_on(&machine, 18, "tail", &format!("{HOG}\n{files}"), seed).get("tasks.hog.sys");
        (1..=4).map(of).sum::<f64>() / 4.0
    };
    let (with, without) = (hogs_system_time(true), hogs_system_time(false));
    assert!(with > 1.5 * without, "{with} s with, {without} s without");
}

#[test]
fn drivers_run_before_servers_and_servers_before_users() {
    let run = minix(100, "tail", &format!("{HOG}\n{}", caller("2ms")), 1);
    let class = |task: TaskId| match task {
        0..4 => Class::KernelTask,
        4..KERNEL_TASKS => Class::Server,
        _ => Class::User,
    };
    // No task of a lower class is switched in while one of a higher class is ready.
    let mut ready: Vec<TaskId> = Vec::new();
    for event in &run.events {
        match event.kind {
            Kind::Wakeup => ready.push(event.task),
            Kind::SwitchOut if event.flag <= Leave::Yielded as u8 => ready.push(event.task),
            Kind::SwitchIn => {
                ready.retain(|task| *task != event.task);
                let first = ready.iter().map(|&task| class(task)).min();
                assert!(first.is_none_or(|first| first >= class(event.task)), "{event:?} while {ready:?} are ready");
            }
            _ => {}
        }
    }
}

#[test]
fn it_is_refused_on_two_processors_with_the_reason() {
    let text = "machine = { preset = \"uniform\", processors = 2 }\nscheduler = { name = \"minix\" }\n\
                workload.a = { load = \"spin\" }";
    let why = "scenario:2: scheduler.name: minix is for one processor, since its original has no rule for several, and the machine has 2: \
               set machine.processors = 1, or take another scheduler";
    assert_eq!(try_read(text, Format::Toml).unwrap_err(), why);
    let one = scenario(&text.replace("processors = 2", "processors = 1"));
    // A scenario that a program has made is refused when it is run.
    let mut two = one.clone();
    two.machine.processors = scenario(&text.replace("minix", "fifo")).machine.processors;
    assert!(schedlab_sim::run::<Minix>(&one, 1).is_ok());
    let said = schedlab_sim::run::<Minix>(&two, 1).unwrap_err().to_string();
    assert!(said.starts_with("scheduler.name: minix is for one processor"), "{said}");
}
