//! Scenarios from text, and runs of them under the audit, the policy held to its contract.

use super::contract::Contract;
use schedlab_metrics::{Collector, METRICS, Report, Totals};
use schedlab_model::{
    Nanos,
    event::{AnyObserver, Event, Kind, Observer},
    experiment::{Catalogue, Format, read_scenario},
    info::{Info, Promise},
    machine::{Machine, exit_latency},
    program::{Step, Treatment},
    scenario::Scenario,
    task::{Policy, TaskId},
};
use schedlab_policies::{
    caches::CACHES,
    elevators::ELEVATORS,
    reclaim::RECLAIMS,
    schedulers::{SCHEDULERS, Scheduler, Table, Visitor},
};
use schedlab_sim::{Audit, observe, setup};
use schedlab_workloads::WORKLOADS;

const MACHINES: &[(&str, &str)] = &[
    ("uniform", include_str!("../../../../machines/uniform.toml")),
    ("at_286", include_str!("../../../../machines/at_286.toml")),
];

/// More events than any scenario of the tests makes: a run that reaches it will never end.
const MOST_EVENTS: usize = 2_000_000;

/// Keeps every event of a run that ends.
#[derive(Default)]
struct Events(Vec<Event>);

impl Observer for Events {
    fn observe(&mut self, event: Event) {
        assert!(self.0.len() < MOST_EVENTS, "the run does not end: {event:?}");
        self.0.push(event);
    }
}

/// A run: its events, its metrics and what the audit found.
#[derive(Debug)]
pub struct Run {
    /// In order.
    pub events: Vec<Event>,
    /// The metrics, as a user gets them.
    pub report: Report,
    /// Where the processors' time went, by the collector and by the audit.
    pub totals: Totals,
    /// The same, by the audit.
    pub audited_totals: Totals,
    /// When it ended.
    pub end: Nanos,
    /// What the audit found.
    pub violations: Vec<String>,
}

/// A scenario as a user writes it, checked as a user's is.
#[track_caller]
pub fn scenario(text: &str) -> Scenario {
    read(text, Format::Toml)
}

/// A scenario as programs pass it on, checked as a user's is.
#[track_caller]
pub fn read(text: &str, format: Format) -> Scenario {
    match try_read(text, format) {
        Ok(scenario) => scenario,
        Err(problem) => panic!("{problem}\n{text}"),
    }
}

/// The same, or what is wrong with it.
///
/// # Errors
/// The message that a user would get.
pub fn try_read(text: &str, format: Format) -> Result<Scenario, String> {
    read_with(text, format, SCHEDULERS)
}

/// The same, where these schedulers may be named.
pub(super) fn read_with(text: &str, format: Format, schedulers: &[Info]) -> Result<Scenario, String> {
    let catalogue = Catalogue {
        schedulers,
        elevators: ELEVATORS,
        caches: CACHES,
        reclaims: RECLAIMS,
        workloads: WORKLOADS,
        machines: MACHINES,
        drives: &[],
        metrics: METRICS,
        host_scheduler: "eevdf",
    };
    read_scenario(text, "scenario", format, &catalogue).map_err(|problem| problem.to_string())
}

/// Runs a scenario under the policy it names, which is one of `T`; panics with what the audit found.
#[track_caller]
pub fn run<T: Table>(scenario: &Scenario, seed: u64) -> Run {
    run_audited::<T>(scenario, seed).sound()
}

/// Runs a scenario under the policy it names, which is one of `T`, whatever the audit says.
#[track_caller]
pub fn run_audited<T: Table>(scenario: &Scenario, seed: u64) -> Run {
    let name = &scenario.scheduler.name;
    T::visit(name, Audited { scenario, seed })
        .unwrap_or_else(|| panic!("{name} is not among the policies of this test"))
}

/// Runs a scenario under a policy that need not be in the table, with its default parameters unless the scenario names
/// it; whatever the audit says.
pub fn run_under<S: Scheduler>(scenario: &Scenario, seed: u64) -> Run {
    let mut scenario = scenario.clone();
    if scenario.scheduler.name != S::INFO.name {
        S::INFO.name.clone_into(&mut scenario.scheduler.name);
        scenario.scheduler.settings.clear();
    }
    Audited { scenario: &scenario, seed }.visit::<S>()
}

/// Runs a scenario under `round_robin` with no observer, to its end or to what stops it. The kernel is compiled here, and so faster than in a
/// program of tests.
#[cfg(feature = "built-in")]
pub fn unobserved(scenario: &Scenario, seed: u64) -> Result<Nanos, String> {
    observe::<schedlab_policies::schedulers::RoundRobin, _>(scenario, seed, ()).map_err(|error| error.0)
}

struct Audited<'a> {
    scenario: &'a Scenario,
    seed: u64,
}

impl Visitor for Audited<'_> {
    type Output = Run;

    fn visit<S: Scheduler>(self) -> Run {
        let mut collector = Collector::new(setup(self.scenario));
        let machine = &self.scenario.machine;
        let depth = machine.solid_state.as_ref().map_or(1, |chips| chips.queue_depth.get());
        let conserves = S::INFO.promises.iter().any(|promise| matches!(promise, Promise::WorkConserving(_)));
        let at_once = conserves && !holds_back(&S::INFO, self.scenario);
        let may_idle = if at_once { longest_idle_exit(machine) } else { Nanos::MAX };
        let mut audit = Audit::new(machine.processors.get()).drive_depth(depth).may_idle(may_idle);
        let mut events = Events::default();
        let mut all = (&mut audit, (&mut collector, &mut events));
        let listeners = AnyObserver(&mut all);
        let end = observe::<Contract<S>, _>(self.scenario, self.seed, listeners).expect("a checked scenario");
        let report = collector.finish(end);
        let violations = audit.finish(end);
        Run { events: events.0, report, totals: collector.totals(), audited_totals: audit.totals(), end, violations }
    }
}

/// What a processor takes to leave its idle state at most, where they take turns if all others are at work:
///
///   latency of the deepest state  *  sum of all turns  /  its own
fn longest_idle_exit(machine: &Machine) -> Nanos {
    let deepest = exit_latency(&machine.idle_states, Nanos::MAX);
    let topology = machine.topology();
    let turns: Vec<Nanos> = topology.turns().into_iter().flatten().map(|&turn| turn.into()).collect();
    turns.iter().min().map_or(deepest, |least| (deepest * turns.iter().sum::<Nanos>()).div_ceil(*least))
}

/// Whether ready tasks may be made to wait for a limit, which breaks no promise: a group for its quota, real-time tasks and those
/// with a reservation where the policy limits them.
pub(super) fn holds_back(info: &Info, scenario: &Scenario) -> bool {
    let realtime = |policy: Policy| matches!(policy, Policy::Fifo | Policy::Rr | Policy::Deadline);
    let at_first = || scenario.workload.values().any(|job| realtime(job.policy));
    let later = || treatments(scenario).into_iter().any(|change| change.policy.is_some_and(realtime));
    info.promises.contains(&Promise::LimitsGroups) && scenario.groups.values().any(|group| group.quota.is_some())
        || info.parameter("rt_throttling").is_some() && (at_first() || later())
}

/// What tasks change while they run.
pub(super) fn treatments(scenario: &Scenario) -> Vec<&Treatment> {
    fn of<'s>(steps: &'s [Step], all: &mut Vec<&'s Treatment>) {
        for step in steps {
            match step {
                Step::Set(change) => all.push(change),
                Step::Fork(steps) => of(steps, all),
                Step::Repeat(repeat) => of(&repeat.steps, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    scenario.workload.values().flat_map(|job| &job.steps).for_each(|steps| of(steps, &mut all));
    all
}

impl Run {
    /// Panics with what the audit found, if anything.
    #[track_caller]
    pub fn sound(self) -> Run {
        assert!(self.violations.is_empty(), "{}", self.violations.join("\n"));
        self
    }

    /// The value of a metric.
    #[track_caller]
    pub fn get(&self, metric: &str) -> f64 {
        self.report.get(metric).unwrap_or_else(|| panic!("no metric {metric}"))
    }

    /// Events of a kind, in order.
    pub fn of(&self, kind: Kind) -> impl Iterator<Item = &Event> {
        self.events.iter().filter(move |event| event.kind == kind)
    }

    /// The time of the first event of a kind about a task.
    #[track_caller]
    pub fn first(&self, kind: Kind, task: TaskId) -> Nanos {
        self.of(kind).find(|event| event.task == task).unwrap_or_else(|| panic!("no {kind:?} of {task}")).time
    }

    /// Tasks in the order in which they got a processor.
    pub fn order(&self) -> Vec<TaskId> {
        self.of(Kind::SwitchIn).map(|event| event.task).collect()
    }
}
