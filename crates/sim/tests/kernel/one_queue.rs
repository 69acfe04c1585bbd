//! Policies of textbooks on several processors: one queue, so that the textbook's answers are those of c servers.

use schedlab_model::{
    Nanos, SECOND,
    event::Kind,
    info::{Info, Promise, Reach},
    task::TaskId,
};
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_testing::schedulers::{Run, run, scenario};

#[track_caller]
fn on(processors: u16, scheduler: &str, rest: &str) -> Run {
    run::<All>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", processors = {processors} }}\nscheduler = {{ name = \"{scheduler}\" }}\n{rest}"
        )),
        1,
    )
}

fn ends(run: &Run) -> Vec<u64> {
    (0..4).map(|task| run.first(Kind::Exited, task) / SECOND).collect()
}

/// Processor time of each task, in ms.
fn had(run: &Run, tasks: TaskId) -> Vec<Nanos> {
    let of = |task| run.of(Kind::SwitchOut).filter(|e| e.task == task).map(|e| e.a).sum::<Nanos>() / 1_000_000;
    (0..tasks).map(of).collect()
}

#[test]
fn two_short_tasks_and_two_long_ones_end_when_two_servers_would_end_them() {
    let spin =
        |name: &str, seconds: u32| format!("workload.{name} = {{ load = \"spin\", compute = \"{seconds}s\" }}\n");
    let tasks = [spin("a", 1), spin("b", 10), spin("c", 1), spin("d", 10)].concat();
    let fifo = on(2, "fifo", &tasks);
    assert_eq!(ends(&fifo), [1, 10, 2, 12]);
    assert_eq!(fifo.totals.idle, 2 * SECOND, "after 10 s only d is left");
    let turns = on(2, "round_robin", &tasks);
    for (end, expected) in ends(&turns).into_iter().zip([2, 11, 2, 11]) {
        assert!(end.abs_diff(expected) <= 1, "{:?}", ends(&turns));
    }
    assert_eq!(turns.end, 11 * SECOND);
    assert_eq!(turns.totals.idle, 0);
}

#[test]
fn three_hogs_share_two_processors_to_within_a_slice() {
    for (scheduler, slice) in [("round_robin", 100), ("stride", 100), ("mlfq", 80)] {
        let run = on(
            2,
            scheduler,
            "duration = \"900ms\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 3 }",
        );
        assert!(had(&run, 3).iter().all(|had| had.abs_diff(600) <= slice), "{scheduler}: {:?} ms", had(&run, 3));
    }
}

#[test]
fn five_hogs_take_turns_on_three_processors_to_within_a_slice() {
    let run =
        on(3, "round_robin", "duration = \"60s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 5 }");
    assert!(had(&run, 5).iter().all(|had| had.abs_diff(36_000) <= 100), "{:?}", had(&run, 5));
}

#[test]
fn a_task_that_is_put_back_next_to_a_bound_one_goes_to_the_idle_processor() {
    // Both may use the first processor, b no other one.
    let jobs = "duration = \"10s\"\n\
        workload.a = { load = \"spin\", passes = \"forever\", cpus = [0, 1] }\n\
        workload.b = { load = \"spin\", passes = \"forever\", cpus = [0], start = \"1s\" }\n\
        workload.c = { load = \"spin\", compute = \"1500ms\", cpus = [1] }\n";
    for scheduler in ["round_robin", "mlfq", "stride", "lottery", "linux_1_0", "refresh_cycle", "muqss"] {
        // From 1.5 s on the second processor idles, until a is put back: at the end of a slice, 200 ms at most.
        let run = on(2, scheduler, jobs);
        assert!(run.totals.idle <= 200_000_000, "{scheduler}: {} ns idle", run.totals.idle);
    }
}

#[test]
fn a_task_that_may_use_an_idle_processor_while_it_waits_goes_there() {
    let jobs = "\n\
        workload.boss = { steps = [{ compute = \"1s\" }, { set = { cpus = [0, 1], job = \"waits\" } }, { compute = \"10s\" }], cpus = [0] }\n\
        workload.waits = { load = \"spin\", compute = \"20s\", cpus = [0], nice = 20 }\n";
    let conserve = |info: &&Info| info.promises.contains(&Promise::WorkConserving(Reach::Everywhere));
    let all = SCHEDULERS.iter().filter(conserve).filter(|info| info.allows(2).is_ok()).map(|info| info.name);
    for scheduler in all.chain(["edf\", placement = \"global"]) {
        let run = on(2, scheduler, jobs);
        let opened = run.of(Kind::Allowed).filter(|event| event.task == 1).last().expect("it is said").time;
        let begins = run.of(Kind::SwitchIn).find(|event| event.cpu == 1).expect("it is taken").time;
        // MuQSS leaves a task that may stay where it is (__set_cpus_allowed_ptr), until its deadline is the earliest.
        assert_eq!(begins > opened, scheduler == "muqss", "{scheduler}: {} ns", begins - opened);
    }
}
