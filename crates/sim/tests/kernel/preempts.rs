//! When a woken task preempts: at the latest where the running task next returns to its own code, even if it only makes the
//! next call there.

use proptest::prelude::*;
use schedlab_model::{
    Nanos,
    event::{Event, Kind, NO_TASK},
    info::{Info, Params},
    machine::Preemption,
    task::{CpuId, TaskId},
    topology::Topology,
};
use schedlab_policies::schedulers::{Context, Dequeue, Enqueue, Pick, Preempt, Scheduler};
use schedlab_testing::schedulers::{Programs, Run, Written, any_scenario, cases, run_under, scenario};
use std::collections::BTreeMap;

/// The lowest nice value first, with immediate preemption; equal ones in turn. The value that a task was created with counts, as the
/// events have it.
pub struct ByNice {
    queues: Vec<Vec<TaskId>>,
    nice: Vec<i8>,
}

impl Scheduler for ByNice {
    const INFO: Info = Info {
        name: "by_nice",
        summary: "the lowest nice value first",
        year: 2026,
        origin: "these tests",
        promises: &[],
        parameters: &[],
        source: include_str!("preempts.rs"),
    };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        ByNice { queues: vec![Vec::new(); processors.into()], nice: Vec::new() }
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Enqueue) {
        let known = self.nice.len();
        self.nice.extend(cx.tasks[known..].iter().map(|task| task.nice));
        self.queues[cpu as usize].push(task);
    }

    fn dequeue(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.queues[cpu as usize].retain(|&queued| queued != task);
    }

    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu as usize];
        let best = (0..queue.len()).min_by_key(|&at| (self.nice[queue[at] as usize], at))?;
        Some(Pick { task: queue.remove(best), slice: None })
    }

    fn wakeup_preempts(&mut self, _: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let nice = |task: TaskId| self.nice[task as usize];
        if nice(woken) < nice(running) { Preempt::Yes } else { Preempt::No }
    }
}

/// Wakeups that were to preempt, and the calls that a task began although it was to be preempted.
pub fn late_calls(run: &Run) -> (usize, Vec<Event>) {
    let nice: BTreeMap<TaskId, u8> = run.of(Kind::Created).map(|event| (event.task, event.flag)).collect();
    let (mut running, mut to_be_preempted) = (BTreeMap::new(), BTreeMap::new());
    let (mut accepted, mut late) = (0, Vec::new());
    for event in &run.events {
        match event.kind {
            Kind::SwitchIn => drop(running.insert(event.cpu, event.task)),
            Kind::SwitchOut => {
                running.remove(&event.cpu);
                to_be_preempted.remove(&event.cpu);
            }
            Kind::Wakeup => {
                let other = running.get(&event.cpu).copied().unwrap_or(NO_TASK);
                if other != NO_TASK && nice[&event.task] < nice[&other] {
                    accepted += 1;
                    to_be_preempted.insert(event.cpu, other);
                }
            }
            Kind::SystemCall if to_be_preempted.get(&event.cpu) == Some(&event.task) => late.push(*event),
            _ => {}
        }
    }
    (accepted, late)
}

fn any_preemption() -> impl Strategy<Value = Preemption> {
    prop::sample::select(vec![Preemption::None, Preemption::Voluntary, Preemption::Lazy, Preemption::Full])
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn no_task_that_is_to_be_preempted_begins_another_call(
        Written(mut scenario) in any_scenario(Programs::Wild), seed in any::<u64>(), preemption in any_preemption(),
    ) {
        scenario.machine.preemption = preemption;
        let run = run_under::<ByNice>(&scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        prop_assert_eq!(late_calls(&run).1, vec![]);
    }
}

/// A low task sends five messages in a row; a high one waits for them.
fn chain(preemption: &str, costs: &str, between: &str) -> Run {
    let sends = format!("{{ send = \"p\" }}, {between}").repeat(5);
    let text = format!(
        r#"
        machine = {{ preset = "uniform", preemption = "{preemption}", costs = {{ {costs} }} }}
        scheduler = {{ name = "fifo" }}
        workload.high = {{ nice = -5, steps = [
            {{ repeat = {{ times = 5, steps = [{{ receive = "p" }}, {{ compute = "1ms" }}] }} }},
        ] }}
        workload.low = {{ start = "1ms", steps = [{sends} {{ compute = "1ms" }}] }}
        "#
    );
    run_under::<ByNice>(&scenario(&text), 1).sound()
}

#[test]
fn each_of_a_row_of_messages_is_taken_before_the_next_is_sent() {
    let steps = ["", "{ compute = \"0us\" }, ", "{ mark = \"x\" }, "];
    for preemption in ["none", "voluntary", "lazy", "full"] {
        for (costs, between) in ["", "trap = \"10us\""].into_iter().flat_map(|cost| steps.map(|step| (cost, step))) {
            let run = chain(preemption, costs, between);
            let (accepted, late) = late_calls(&run);
            assert_eq!((accepted, late), (5, vec![]), "{preemption} {costs} {between}");
            // It is put on and off the processor for each of them.
            let turns = run.of(Kind::SwitchIn).filter(|event| event.task == 0).count();
            assert_eq!(turns, 6, "{preemption} {costs} {between}");
        }
    }
}

#[test]
fn a_wakeup_during_the_last_part_of_a_call_preempts_before_the_next_call() {
    // The write's copy is the last action on its agenda; the sleeper wakes in it.
    let text = r#"
        machine = { preset = "uniform", preemption = "none", costs = { trap = "10us", copy_per_kib = "10ms" } }
        scheduler = { name = "fifo" }
        workload.high = { nice = -5, steps = [{ sleep = "15ms" }, { mark = "awake" }] }
        workload.low.steps = [
            { create = { files = 1, size = "4KiB" } }, { write = "1KiB" }, { write = "1KiB" }, { write = "1KiB" },
        ]
    "#;
    let run = run_under::<ByNice>(&scenario(text), 1).sound();
    assert_eq!(late_calls(&run), (1, vec![]));
    let calls = run.of(Kind::SystemCall).filter(|event| event.task == 1 && event.time < run.first(Kind::Mark, 0));
    assert_eq!(calls.count(), 3);
}
