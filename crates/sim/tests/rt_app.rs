//! Task sets of rt-app on the simulated kernel: closed forms, on one processor without costs, first come, first served and by priority.

use proptest::prelude::*;
use schedlab_metrics::METRICS;
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos,
    event::Kind,
    experiment::{Catalogue, Format, expand, read},
};
use schedlab_policies::{
    caches::CACHES,
    elevators::ELEVATORS,
    reclaim::RECLAIMS,
    schedulers::{Eevdf, Fifo, SCHEDULERS},
};
use schedlab_testing::schedulers::{Run, run, scenario};
use schedlab_workloads::WORKLOADS;

/// Runs steps as jobs, each written as `name = [steps]` with its number of passes.
#[track_caller]
fn fifo(workload: &str) -> Run {
    let text = format!("machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\nduration = \"1s\"\n{workload}");
    let run = run::<Fifo>(&scenario(&text), 1);
    assert_eq!(run.violations, [""; 0]);
    run
}

/// When a task ends its passes, us.
fn passes(run: &Run, task: u32) -> Vec<u64> {
    run.of(Kind::Pass).filter(|event| event.task == task).map(|event| event.time / MICROSECOND).collect()
}

/// Deadlines met and missed of a task.
fn deadlines(run: &Run, task: u32) -> (usize, usize) {
    let of = |flag: u8| run.of(Kind::Period).filter(|event| event.task == task && event.flag == flag).count();
    (of(1), of(0))
}

/// The third of six activations runs for longer than two periods, as in rt-app's tutorial.
fn third_is_long(mode: &str) -> Run {
    let timer = format!("{{ timer = {{ period = \"20ms\", mode = \"{mode}\" }} }}, {{ mark = \"o\" }}");
    let short = format!("{{ compute = \"10ms\" }}, {timer}");
    fifo(&format!(
        "workload.a = {{ steps = [{short}, {short}, {{ compute = \"45ms\" }}, {timer}, {short}, {short}, {short}] }}"
    ))
}

fn marks(run: &Run) -> Vec<Nanos> {
    run.of(Kind::Mark).map(|event| event.time / MILLISECOND).collect()
}

#[test]
fn a_relative_timer_that_is_missed_counts_from_then_on() {
    let run = third_is_long("relative");
    assert_eq!(marks(&run), [20, 40, 85, 105, 125, 145]);
    assert_eq!(deadlines(&run, 0), (5, 1));
}

#[test]
fn an_absolute_timer_that_is_missed_keeps_its_pace() {
    let run = third_is_long("absolute");
    assert_eq!(marks(&run), [20, 40, 85, 95, 105, 120]);
    assert_eq!(deadlines(&run, 0), (3, 3));
}

#[test]
fn timers_of_two_names_and_of_two_tasks_count_apart() {
    let steps =
        r#"[{ timer = { period = "10ms" } }, { timer = { name = "b", period = "15ms" } }, { compute = "1ms" }]"#;
    let run = fifo(&format!(
        "workload.a = {{ steps = {steps}, passes = 2 }}\nworkload.b = {{ start = \"3ms\", steps = {steps}, passes = 2 }}"
    ));
    assert_eq!(passes(&run, 0), [16_000, 31_000]);
    assert_eq!(passes(&run, 1), [19_000, 34_000]);
}

proptest! {
    /// The processor is taken away at 1 ms: it is the time that passes that counts, to the next look at the clock.
    #[test]
    fn a_busy_task_goes_on_until_the_time_has_passed(us in 1..4_000u64, away in 0..4_000u64) {
        let text = format!(
            "machine = \"uniform\"\nscheduler = {{ name = \"eevdf\" }}\n\
             workload.a = {{ policy = \"fifo\", priority = 5, start = \"1ms\", steps = [{{ compute = \"{away}us\" }}] }}\n\
             workload.b = {{ steps = [{{ busy = \"{us}us\" }}] }}"
        );
        // Work for 32us between two looks: the look after 1 ms is due at 1024us, and comes that much later.
        let after = 1024 + away;
        let end = if us <= 992 { us.div_ceil(32) * 32 } else { after + us.saturating_sub(after).div_ceil(32) * 32 };
        prop_assert_eq!(passes(&run::<Eevdf>(&scenario(&text), 1), 1), [end]);
    }
}

const CATALOGUE: Catalogue<'static> = Catalogue {
    schedulers: SCHEDULERS,
    elevators: ELEVATORS,
    caches: CACHES,
    reclaims: RECLAIMS,
    workloads: WORKLOADS,
    machines: &[("uniform", include_str!("../../../machines/uniform.toml"))],
    drives: &[],
    metrics: METRICS,
    host_scheduler: "eevdf",
};

/// Runs a task set as it is read from a file, under eevdf.
#[track_caller]
fn task_set(tasks: &str, global: &str) -> Run {
    let text = format!("{{ \"tasks\": {{ {tasks} }}, \"global\": {{ {global} }} }}");
    let machine = ["machine=uniform".to_owned(), "scheduler.name=eevdf".to_owned()];
    let read = read(&text, "set.json", Format::RtApp, &machine, &CATALOGUE);
    let experiment = read.unwrap_or_else(|why| panic!("{why}\n{text}"));
    run::<Eevdf>(&expand(&experiment, &CATALOGUE).unwrap()[0].scenario, 1)
}

/// Processor time of a task, us.
fn ran(run: &Run, task: u32) -> u64 {
    let ends = run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.time);
    let begins = run.of(Kind::SwitchIn).filter(|event| event.task == task).map(|event| event.time);
    (ends.sum::<u64>() - begins.sum::<u64>()) / MICROSECOND
}

#[test]
fn a_periodic_thread_of_a_fifth_has_a_fifth() {
    let run = task_set(r#""t": { "run": 4000, "timer": { "ref": "unique", "period": 20000 } }"#, r#""duration": 2"#);
    assert_eq!(ran(&run, 0), 400_000);
    assert_eq!(deadlines(&run, 0).1, 0);
}

/// Under SCHED_FIFO the higher one has what it wants, 3 of 10 ms, and the lower one the rest, less what real time may not have.
#[test]
fn of_two_priorities_the_lower_has_the_rest() {
    let high = r#""high": { "policy": "SCHED_FIFO", "priority": 20, "run": 3000, "timer": { "ref": "unique", "period": 10000 } }"#;
    let low = r#""low": { "policy": "SCHED_FIFO", "priority": 10, "loop": 1, "run": 70000 }"#;
    let run = task_set(&format!("{high}, {low}"), r#""duration": 1"#);
    assert_eq!(ran(&run, 0), 300_000);
    // 70 ms of work in gaps of 7 ms: the tenth gap ends at 100 ms.
    assert_eq!(run.first(Kind::Exited, 1), 100 * MILLISECOND);
}

/// As in rt-app's fourth example, under real time: a thread that is woken does not preempt the one that wakes it, whose resume would be
/// lost on a thread that is not suspended yet.
#[test]
fn threads_that_resume_each_other_take_turns() {
    let one = |name: &str, other: &str, delay: u32| {
        let events = format!(r#""run": 10000, "resume": "{other}", "suspend": "{name}""#);
        format!(r#""{name}": {{ "policy": "SCHED_FIFO", "delay": {delay}, {events} }}"#)
    };
    let run = task_set(&format!("{}, {}", one("a", "b", 0), one("b", "a", 5_000)), r#""duration": 1"#);
    assert_eq!(passes(&run, 0)[..3], [20_000, 40_000, 60_000]);
    assert_eq!(passes(&run, 1)[..3], [30_000, 50_000, 70_000]);
}

#[test]
fn all_threads_of_a_barrier_leave_it_with_the_last() {
    let last = r#""a": { "loop": 1, "sleep": 5000, "barrier": "x" }"#;
    let others = r#""b": { "loop": 1, "instance": 2, "sleep": 1000, "barrier": "x" }"#;
    let run = task_set(&format!("{last}, {others}"), r#""duration": 1"#);
    for task in 0..3 {
        assert_eq!(run.first(Kind::Exited, task), 5 * MILLISECOND);
    }
}

#[test]
fn a_forked_thread_runs_next_to_its_parent() {
    let text = r#""a": { "loop": 1, "fork": "b", "sleep": 50000 }, "b": { "instance": 0, "loop": 3, "run": 2000, "sleep": 8000 }"#;
    let run = task_set(text, r#""duration": 1"#);
    assert_eq!((ran(&run, 1), run.first(Kind::Exited, 1)), (6_000, 30 * MILLISECOND));
}
