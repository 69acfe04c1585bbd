//! What the rules of Linux schedulers are measured by: shares, times on a processor and wakeup latencies, from the events of a
//! run; and scenarios with every scheduling policy in them.

use super::{
    laws::lives,
    random::{Programs, Written, any_scenario, cases},
    runs::{Run, run, run_audited, scenario},
};
use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    event::{Event, Kind},
    scenario::Scenario,
    task::{Policy, TaskId},
};
use schedlab_policies::schedulers::Table;

/// A sleeper that burns 1 ms in 10 ms, give or take 2 ms.
pub const S10: &str = r#"passes = "forever", steps = [{ compute = "1ms" }, { sleep = { uniform = ["7ms", "11ms"] } }]"#;

/// Runs a workload on a machine with `hz` ticks a second under a scheduler, given as the inside of its table.
pub fn on<T: Table>(processors: u16, hz: u32, scheduler: &str, rest: &str) -> Run {
    let machine = format!("{{ preset = \"uniform\", processors = {processors}, clock = {{ hz = \"{hz}/s\" }} }}");
    run::<T>(&scenario(&format!("machine = {machine}\nscheduler = {{ {scheduler} }}\n{rest}")), 1)
}

/// Panics if a value is farther from the expected one than the tolerance.
#[track_caller]
pub fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected} within {tolerance}");
}

/// The intervals in which a task had a processor: begin and end of each.
pub fn run_intervals(run: &Run, task: TaskId) -> Vec<(Nanos, Nanos)> {
    let all: Vec<&Event> = run.events.iter().filter(|event| event.task == task).collect();
    let begins = all.iter().filter(|event| event.kind == Kind::SwitchIn);
    let ends = all.iter().filter(|event| event.kind == Kind::SwitchOut);
    begins.zip(ends).map(|(begin, end)| (begin.time, end.time)).collect()
}

/// Their lengths, without the first and the last, which begin or end with the run, in ms.
pub fn turns(run: &Run, task: TaskId) -> Vec<f64> {
    let all = run_intervals(run, task);
    let inner = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().map(|(begin, end)| (end - begin) as f64 / MILLISECOND as f64).collect()
}

/// Percent of one processor that a task had between two times.
pub fn share(run: &Run, task: TaskId, from: Nanos, to: Nanos) -> f64 {
    let had =
        run_intervals(run, task).iter().map(|&(begin, end)| end.min(to).saturating_sub(begin.max(from))).sum::<Nanos>();
    100.0 * had as f64 / (to - from) as f64
}

/// Waits between a wakeup and the processor, in ms, shortest first.
#[derive(Debug)]
pub struct Latency(Vec<f64>);

impl Latency {
    /// Those of a task from a time on.
    pub fn of(run: &Run, task: TaskId, from: Nanos) -> Latency {
        let mut woken = None;
        let mut waits = Vec::new();
        for event in run.events.iter().filter(|event| event.task == task && event.time >= from) {
            match event.kind {
                Kind::Wakeup => woken = Some(event.time),
                Kind::SwitchIn => {
                    waits.extend(woken.take().map(|since: Nanos| (event.time - since) as f64 / MILLISECOND as f64));
                }
                _ => {}
            }
        }
        waits.sort_by(f64::total_cmp);
        assert!(!waits.is_empty(), "{task} did not wake");
        Latency(waits)
    }

    /// ms.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// ms.
    pub fn percentile(&self, percent: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * percent / 100.0).round() as usize]
    }

    /// Mean, 90th and 99th percentile.
    pub fn summary(&self) -> [f64; 3] {
        [self.mean(), self.percentile(90.0), self.percentile(99.0)]
    }
}

/// n seconds in ns.
pub fn seconds(n: u64) -> Nanos {
    n * SECOND
}

/// In scenarios whose tasks ask for every scheduling policy that there is, the audit finds nothing and no task is lost. The
/// scheduler is given as the inside of its table.
#[track_caller]
pub fn copes_with_every_class<T: Table>(scheduler: &str) {
    let job = r#"workload.a = { load = "spin" }"#;
    let named = scenario(&format!("machine = \"uniform\"\nscheduler = {{ {scheduler} }}\n{job}")).scheduler;
    let classes = [Policy::Other, Policy::Batch, Policy::Idle, Policy::Fifo, Policy::Rr, Policy::Iso, Policy::Deadline];
    for programs in [Programs::Wild, Programs::Ending] {
        let asked = prop::collection::vec((prop::sample::select(classes.to_vec()), 1..100u8), 8);
        let strategy = (any_scenario(programs), asked, any::<u64>());
        let outcome = TestRunner::new(cases(300)).run(&strategy, |(Written(scenario), asked, seed)| {
            let mut scenario = Scenario { scheduler: named.clone(), ..scenario };
            ask(&mut scenario, &asked);
            let run = run_audited::<T>(&scenario, seed);
            prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
            prop_assert!(programs == Programs::Wild || lives(&run).0 == lives(&run).1, "a task is lost");
            Ok(())
        });
        outcome.unwrap_or_else(|why| panic!("{scheduler}: {why}"));
    }
}

/// Gives the jobs their policies.
fn ask(scenario: &mut Scenario, asked: &[(Policy, u8)]) {
    for (job, &(policy, priority)) in scenario.workload.values_mut().zip(asked) {
        job.policy = policy;
        job.priority = if matches!(policy, Policy::Fifo | Policy::Rr) { priority } else { 0 };
    }
}
