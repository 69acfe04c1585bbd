//! What calls cost, and which task: each call its own cost, once, in the time of the task that makes it; a wakeup and a wait come
//! on top of it.

use crate::preempts::{ByNice, late_calls};
use proptest::prelude::*;
use schedlab_model::{
    MICROSECOND, Nanos,
    event::{Event, Kind, Leave},
    machine::{InterruptAccounting, Preemption, Sourced},
    task::TaskId,
    units::Duration,
};
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{Programs, Run, Written, any_scenario, cases, run, run_under, scenario};
use std::collections::BTreeMap;

/// A cost of each kind, us: each a bit of its own, so that a sum shows what is in it.
const COSTS: [(&str, u64); 13] = [
    ("fork", 1 << 1),
    ("start", 1 << 2),
    ("exit", 1 << 3),
    ("wait", 1 << 4),
    ("sleep", 1 << 5),
    ("send", 1 << 6),
    ("receive", 1 << 7),
    ("futex", 1 << 8),
    ("manage", 1 << 9),
    ("wake", 1 << 10),
    ("block", 1 << 11),
    ("open", 1 << 12),
    ("close", 1 << 13),
];

/// What these cost together, ns.
fn sum(names: &str) -> Nanos {
    let cost = |name: &str| COSTS.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("{name}")).1;
    names.split_whitespace().map(|name| cost(name) * MICROSECOND).sum()
}

/// System time of a task, and how many calls it made.
fn of_task(run: &Run, task: TaskId) -> (Nanos, u64) {
    let system = run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.b).sum();
    (system, run.of(Kind::SystemCall).filter(|event| event.task == task).count() as u64)
}

/// Runs it where each kind of call has its cost and entering the kernel costs 1 us; tasks are made before the run.
#[track_caller]
fn with_all_costs(workload: &str) -> Run {
    let calls: Vec<String> = COSTS.iter().map(|(name, us)| format!("{name} = \"{us}us\"")).collect();
    let machine = format!("prepared = true, costs = {{ trap = \"1us\" }}, calls = {{ {} }}", calls.join(", "));
    let text =
        format!("machine = {{ preset = \"uniform\", {machine} }}\nscheduler = {{ name = \"fifo\" }}\n{workload}");
    run::<All>(&scenario(&text), 1)
}

#[test]
fn every_kind_of_call_is_charged_once_and_to_its_caller() {
    // Steps, and the costs that task 0 and task 1 have.
    let cases = [
        ("workload.a.steps = [{ send = \"p\" }, { receive = \"p\" }]", "send receive", ""),
        ("workload.a.steps = [{ sleep = \"1ms\" }]", "sleep", ""),
        ("workload.a.steps = [{ lock = \"x\" }, { unlock = \"x\" }]", "", ""),
        ("workload.a.steps = [{ open = { files = 1, size = \"4KiB\" } }, \"close\"]", "open close", ""),
        ("workload.a.steps = [\"signal\"]", "manage", ""),
        (
            "workload.a.steps = [{ sleep = \"9ms\" }, { send = \"p\" }]\nworkload.b.steps = [{ receive = \"p\" }]",
            "sleep send wake",
            "receive block",
        ),
        (
            "workload.a.steps = [{ lock = \"x\" }, { sleep = \"9ms\" }, { unlock = \"x\" }]
             workload.b.steps = [{ lock = \"x\" }, { unlock = \"x\" }]",
            "sleep futex wake",
            "futex block",
        ),
        (
            "workload.a.steps = [{ fork = [\"pause\"] }, { sleep = \"9ms\" }, \"signal\"]",
            "fork sleep manage wake",
            "start manage block exit",
        ),
        ("workload.a.steps = [{ fork = [{ compute = \"1ms\" }] }, \"wait\"]", "fork wait block", "start exit"),
        (
            "workload.a.steps = [{ fork = [{ compute = \"1ms\" }] }, { sleep = \"9ms\" }, \"wait\"]",
            "fork sleep wait",
            "start exit",
        ),
    ];
    for (workload, first, second) in cases {
        let run = with_all_costs(workload);
        for (task, costs) in [(0, first), (1, second)] {
            let (system, calls) = of_task(&run, task);
            assert_eq!(system, sum(costs) + calls * MICROSECOND, "task {task}\n{workload}");
        }
    }
}

/// Steps of a task that waits for nothing but messages and locks.
fn any_steps() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        3 => (0..400u32).prop_map(|us| format!("{{ compute = \"{us}us\" }}")),
        2 => Just("{ send = \"p\" }".to_owned()),
        2 => Just("{ receive = \"p\" }".to_owned()),
        1 => Just("\"yield\"".to_owned()),
        2 => (0..400u32).prop_map(|us| format!(
            "{{ lock = \"x\" }}, {{ compute = \"{us}us\" }}, \"yield\", {{ unlock = \"x\" }}"
        )),
    ];
    prop::collection::vec(step, 1..12).prop_map(|steps| steps.join(", "))
}

fn any_preemption() -> impl Strategy<Value = Preemption> {
    prop::sample::select(vec![Preemption::None, Preemption::Voluntary, Preemption::Lazy, Preemption::Full])
}

fn cost(us: u64) -> Sourced<Duration> {
    Sourced::Bare(Duration(us * MICROSECOND))
}

/// The turns whose user and system time is not their length.
fn turns_that_do_not_add_up(run: &Run) -> Vec<Event> {
    let (mut began, mut wrong) = (BTreeMap::new(), Vec::new());
    for event in &run.events {
        match event.kind {
            Kind::SwitchIn => drop(began.insert(event.task, event.time)),
            Kind::SwitchOut if event.a + event.b != event.time - began[&event.task] => wrong.push(*event),
            _ => {}
        }
    }
    wrong
}

proptest! {
    #![proptest_config(cases(400))]

    /// The last job has a message for each receive, long after the others have begun.
    #[test]
    fn each_wait_for_another_task_costs_one_wakeup_and_one_wait(
        jobs in prop::collection::vec(any_steps(), 2..4), preemption in any_preemption(), processors in 1..4u16,
    ) {
        let mut text = "machine = \"uniform\"\nscheduler = { name = \"round_robin\" }\n".to_owned();
        for (number, steps) in jobs.iter().enumerate() {
            text += &format!("workload.j{number}.steps = [{steps}]\n");
        }
        text += "workload.z = { start = \"50ms\", steps = [{ repeat = { times = 50, steps = [{ send = \"p\" }] } }, \
                 { lock = \"x\" }, { unlock = \"x\" }] }\n";
        let mut scenario = scenario(&text);
        let machine = &mut scenario.machine;
        (machine.processors, machine.preemption) = (Sourced::Bare(processors), preemption);
        (machine.calls.wake, machine.calls.block, machine.calls.futex) = (cost(7), cost(11), Some(cost(0)));
        let run = run::<All>(&scenario, 1);
        let woken = run.of(Kind::Wakeup).filter(|event| event.flag == 0).count() as u64;
        let blocked = run.of(Kind::SwitchOut).filter(|event| event.flag == Leave::Blocked as u8).count() as u64;
        prop_assert_eq!(woken, blocked);
        prop_assert_eq!(run.totals.system, woken * (7 + 11) * MICROSECOND);
    }

    #[test]
    fn user_and_system_time_are_all_of_each_turn_whatever_calls_cost(
        Written(mut scenario) in any_scenario(Programs::Wild), seed in any::<u64>(), preemption in any_preemption(),
        us in prop::collection::vec(0..300u64, 8),
    ) {
        let machine = &mut scenario.machine;
        (machine.preemption, machine.interrupt_accounting) = (preemption, InterruptAccounting::Task);
        let calls = &mut machine.calls;
        (calls.fork, calls.start, calls.exit) = (cost(us[0]), cost(us[1]), cost(us[2]));
        (calls.send, calls.receive, calls.futex) = (Some(cost(us[3])), Some(cost(us[4])), Some(cost(us[5])));
        (calls.wake, calls.block) = (cost(us[6]), cost(us[7]));
        let run = run_under::<ByNice>(&scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        prop_assert_eq!(run.totals, run.audited_totals);
        prop_assert_eq!(turns_that_do_not_add_up(&run), vec![]);
        prop_assert_eq!(late_calls(&run).1, vec![]);
    }
}

#[test]
fn the_woken_task_waits_for_the_rest_of_the_call_unless_the_kernel_preempts_immediately() {
    for (preemption, rest) in [("none", 20), ("voluntary", 20), ("lazy", 20), ("full", 0)] {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", preemption = "{preemption}", costs = {{ trap = "5us" }}, calls = {{ wake = "20us" }} }}
            scheduler = {{ name = "fifo" }}
            workload.high = {{ nice = -5, steps = [{{ repeat = {{ times = 5, steps = [{{ receive = "p" }}] }} }}] }}
            workload.low = {{ start = "1ms", steps = [{{ repeat = {{ times = 5, steps = [{{ send = "p" }}] }} }}] }}
            "#
        );
        let run = run_under::<ByNice>(&scenario(&text), 1).sound();
        assert_eq!(late_calls(&run), (5, vec![]), "{preemption}");
        let woken = run.of(Kind::Wakeup).filter(|event| event.task == 0 && event.flag == 0);
        for woken in woken {
            let runs = run.of(Kind::SwitchIn).find(|event| event.task == 0 && event.time >= woken.time).unwrap();
            assert_eq!(runs.time - woken.time, rest * MICROSECOND, "{preemption}");
        }
        assert_eq!(of_task(&run, 1).0, 5 * (5 + 20) * MICROSECOND + 5 * MICROSECOND, "{preemption}");
    }
}

#[test]
fn a_kernel_with_voluntary_preemption_preempts_a_task_whose_memory_it_frees() {
    for (preemption, turns) in [("none", 1), ("voluntary", 6), ("full", 6)] {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", preemption = "{preemption}", calls = {{ exit = "50ms" }} }}
            scheduler = {{ name = "round_robin", slice = "10ms" }}
            workload.a.steps = [{{ compute = "5ms" }}]
            workload.b.steps = [{{ compute = "500ms" }}]
            "#
        );
        let run = run::<All>(&scenario(&text), 1);
        assert_eq!(run.of(Kind::SwitchIn).filter(|event| event.task == 0).count(), turns, "{preemption}");
    }
}
