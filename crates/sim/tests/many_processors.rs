//! Machines of more processors than a word has bits.

use proptest::prelude::*;
use schedlab_model::{
    MILLISECOND, Nanos,
    event::Kind,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Eevdf, O1, RoundRobin, Ule};
use schedlab_testing::schedulers::{Run, cases, run, scenario};
use std::collections::BTreeSet;

type Few = ((Eevdf, O1), (RoundRobin, Ule));
const FEW: [&str; 4] = ["eevdf", "o1", "round_robin", "ule"];
const MANY: [u16; 3] = [65, 130, 1024];

fn on(processors: u16, scheduler: &str, jobs: &str) -> Run {
    let machine = format!("{{ preset = \"uniform\", processors = {processors}, clock = {{ hz = \"100/s\" }} }}");
    with(&machine, scheduler, jobs)
}

fn with(machine: &str, scheduler: &str, jobs: &str) -> Run {
    let text = format!("machine = {machine}\nscheduler = {{ name = \"{scheduler}\" }}\nduration = \"1s\"\n{jobs}");
    run::<Few>(&scenario(&text), 1)
}

fn job(name: &str, count: u16, cpus: Option<&[CpuId]>, ms: u64) -> String {
    let bound = cpus.map_or(String::new(), |cpus| format!("cpus = {cpus:?}\n"));
    format!("[workload.{name}]\ncount = {count}\n{bound}steps = [{{ compute = \"{ms}ms\" }}]\n")
}

/// The processors on which a task ran.
fn places(run: &Run, task: TaskId) -> BTreeSet<CpuId> {
    run.of(Kind::SwitchIn).filter(|event| event.task == task).map(|event| event.cpu).collect()
}

/// When the last task ended.
fn end(run: &Run) -> Option<Nanos> {
    run.of(Kind::Exited).map(|event| event.time).max()
}

#[test]
fn bound_tasks_run_on_their_processors_and_side_by_side() {
    for processors in MANY {
        let cpus = [0, 63, 64, processors - 1];
        let jobs: Vec<String> =
            cpus.iter().enumerate().map(|(task, cpu)| job(&format!("t{task}"), 1, Some(&[*cpu]), 40)).collect();
        for scheduler in FEW {
            let run = on(processors, scheduler, &jobs.concat());
            // On 65 processors the last two are bound to one processor, and have it one after the other, or in turns.
            let length = if processors == 65 { 80 } else { 40 };
            assert_eq!(end(&run), Some(length * MILLISECOND), "{scheduler}, {processors} processors");
            for (task, cpu) in (0..).zip(cpus) {
                assert_eq!(places(&run, task), BTreeSet::from([cpu]), "{scheduler}, {processors} processors");
            }
        }
    }
}

#[test]
fn as_many_tasks_as_processors_run_at_the_same_time() {
    for processors in MANY {
        for scheduler in FEW {
            let run = on(processors, scheduler, &job("all", processors, None, 20));
            assert_eq!(end(&run), Some(20 * MILLISECOND), "{scheduler}, {processors} processors");
            let used: BTreeSet<CpuId> = (0..processors.into()).flat_map(|task| places(&run, task)).collect();
            assert_eq!(used.len(), usize::from(processors), "{scheduler}");
        }
    }
}

#[test]
fn a_task_moves_to_a_processor_beyond_64_when_it_may_use_no_other() {
    let steps = "[workload.moves]\ncpus = [3, 64]\nsteps = [{ compute = \"5ms\" }, { set = { cpus = [129] } }, \
                 { compute = \"5ms\" }, { set = { cpus = [2] } }, { compute = \"5ms\" }]\n";
    for scheduler in FEW {
        let run = on(130, scheduler, steps);
        let places: Vec<CpuId> = run.of(Kind::SwitchIn).map(|event| event.cpu).collect();
        assert!([3, 64].contains(&places[0]) && places[1..] == [129, 2], "{scheduler}: {places:?}");
        // At its creation and at each change, a word for each 64 processors, the first ones last.
        let words: Vec<u64> = run.of(Kind::Allowed).map(|event| event.b).collect();
        assert_eq!(words, [2, 1, 0, 2, 1, 0, 2, 1, 0], "{scheduler}");
    }
}

#[test]
fn a_processor_beyond_64_is_wasted_while_a_task_waits_that_may_use_it() {
    // Two tasks of one processor: the other one of the two idles, but only the first task may use it.
    let jobs = job("here", 2, Some(&[100]), 20) + &job("elsewhere", 1, Some(&[101]), 20);
    let run = on(130, "round_robin", &jobs);
    assert_eq!(run.get("wasted"), 0.0, "what waits may not use what idles");
}

/// What takes time from a running task, or makes it slower, moves the end of its burst, and with it its place among the next events: the
/// simulator compares each with what looking at all processors finds.
#[test]
fn the_next_event_is_the_earliest_whatever_stops_or_slows_a_task() {
    let jobs = "[workload.sleeper]\ncount = 60\npasses = \"forever\"\nsteps = [{ compute = { uniform = [\"1ms\", \"9ms\"] } }, \
                { call = \"30us\" }, { sleep = { uniform = [\"1ms\", \"5ms\"] } }]\n\
                [workload.urgent]\ncount = 5\npolicy = \"rr\"\npriority = 4\npasses = \"forever\"\n\
                steps = [{ compute = \"2ms\" }, { sleep = \"7ms\" }]\n\
                [workload.binds]\nsteps = [{ sleep = \"100ms\" }, { set = { cpus = [3, 18], job = \"sleeper\" } }, \
                { sleep = \"100ms\" }, { set = { cpus = [1, 2, 9, 30, 31], job = \"sleeper\" } }]\n";
    let machine = "{ preset = \"uniform\", processors = 32, nodes = 2, preemption = \"lazy\", \
                   topology = { threads = 2, thread_speed = 0.6 }, clock = { hz = \"250/s\", interrupt = \"3us\" }, \
                   costs = { context_switch = \"5us\", trap = \"1us\", interrupt = \"4us\" } }";
    for scheduler in FEW {
        let run = with(machine, scheduler, jobs);
        assert_eq!(run.totals.sum(), run.end * 32, "{scheduler}");
        assert!(places(&run, 1).len() > 2, "{scheduler}: a sleeper goes elsewhere when it is bound");
    }
}

proptest! {
    #![proptest_config(cases(12))]

    /// The audit finds no task where it may not run, and none lost.
    #[test]
    fn time_adds_up_and_no_task_runs_where_it_may_not(
        processors in prop_oneof![65..70u16, 120..140u16],
        scheduler in prop::sample::select(FEW.to_vec()),
        jobs in prop::collection::vec((1..90u16, prop::collection::vec(any::<u16>(), 0..5), 1..30u64, 0..20u64), 1..5),
    ) {
        let one = |(at, (count, cpus, computes, sleeps)): (usize, (u16, Vec<u16>, u64, u64))| {
            let cpus: BTreeSet<u16> = cpus.into_iter().map(|cpu| cpu % processors).collect();
            let bound = if cpus.is_empty() { String::new() } else { format!("cpus = {:?}\n", Vec::from_iter(cpus)) };
            format!(
                "[workload.j{at}]\ncount = {count}\n{bound}steps = [{{ repeat = {{ times = 3, steps = [\
                 {{ compute = \"{computes}ms\" }}, {{ sleep = \"{sleeps}ms\" }}] }} }}]\n"
            )
        };
        let run = on(processors, scheduler, &jobs.into_iter().enumerate().map(one).collect::<String>());
        prop_assert_eq!(run.totals.sum(), run.end * u64::from(processors));
    }
}
