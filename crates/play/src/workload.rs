//! The workload of a run: its tasks by the roster, their programs, their sessions.

use crate::plan::Plan;
use schedlab_linux::Fault;
use schedlab_model::{
    scenario::{Job, Protocol, Scenario},
    task::Policy,
};
use schedlab_workloads::{
    Programs,
    roster::{self, Entry, NoSteps},
};
use std::collections::BTreeMap;

/// More tasks than this on a real kernel is a mistake rather than a load.
const MOST_TASKS: u32 = 20_000;

/// The tunable by which each session is a group of the scheduler.
const AUTOGROUP: &str = "autogroup";

/// The tasks, and what they share.
pub(crate) struct Workload {
    /// Names of the jobs, in their order.
    pub jobs: Vec<String>,
    /// In the order in which the simulator numbers them.
    pub tasks: Vec<Entry>,
    pub programs: Programs,
    /// Indices of the tasks of each session.
    pub sessions: Vec<Vec<usize>>,
    /// How many sessions the kernel divides its processors among; 0 if it does not, or was asked to.
    pub divided: usize,
    /// The highest real-time priority that a task has at its start, by a step or while it holds a lock; 0 if none has any.
    pub highest_priority: u32,
}

impl Workload {
    pub fn new(plan: &Plan) -> Result<Workload, Fault> {
        let scenario = &plan.scenario;
        let programs = compile(scenario)?;
        let all: u64 = scenario.workload.values().map(|job| u64::from(job.count)).sum();
        if all > u64::from(MOST_TASKS) {
            return Err(Fault::Wrong(format!("the workload has {all} tasks; at most {MOST_TASKS} run on a live host")));
        }
        let tasks: Vec<Entry> = roster::tasks(&scenario.workload, plan.seed).collect();
        let sessions = sessions(plan, &tasks);
        let divided = divided(plan, &tasks, &sessions);
        let jobs = scenario.workload.keys().cloned().collect();
        let highest_priority = highest_priority(scenario, &programs);
        Ok(Workload { jobs, tasks, programs, sessions, divided, highest_priority })
    }
}

/// The tasks by sessions. Autogroup divides by sessions; where it is not asked for, jobs that name none are in one together: else
/// the nice value of a job would do nothing on a host that has autogroup on, as most do.
fn sessions(plan: &Plan, tasks: &[Entry]) -> Vec<Vec<usize>> {
    let autogroup = plan.tunables.get(AUTOGROUP).is_some_and(|on| on == "true");
    let named: Vec<bool> = plan.scenario.workload.values().map(|job| job.session.is_some()).collect();
    let mut sessions: BTreeMap<Option<u16>, Vec<usize>> = BTreeMap::new();
    for (number, entry) in tasks.iter().enumerate() {
        let own = (autogroup || named[entry.job]).then_some(entry.session);
        sessions.entry(own).or_default().push(number);
    }
    sessions.into_values().collect()
}

/// Sessions with ordinary tasks in no group, where the kernel has autogroup on and the plan does not say whether it should.
fn divided(plan: &Plan, tasks: &[Entry], sessions: &[Vec<usize>]) -> usize {
    let on =
        || std::fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").is_ok_and(|text| text.trim() == "1");
    let jobs: Vec<&Job> = plan.scenario.workload.values().collect();
    let is_divided = |&task: &usize| {
        let job = jobs[tasks[task].job];
        job.group.is_none() && !matches!(job.policy, Policy::Fifo | Policy::Rr | Policy::Deadline)
    };
    let divided = sessions.iter().filter(|tasks| tasks.iter().any(is_divided)).count();
    if divided > 1 && !plan.tunables.contains_key(AUTOGROUP) && on() { divided } else { 0 }
}

fn highest_priority(scenario: &Scenario, programs: &Programs) -> u32 {
    let ceiling = |protocol: &Protocol| if let Protocol::Ceiling(priority) = *protocol { Some(priority) } else { None };
    let at_start = scenario.workload.values().map(|job| job.priority);
    let later = programs.treatments.iter().filter_map(|treatment| treatment.priority);
    let in_locks = programs.protocols.iter().filter_map(ceiling);
    at_start.chain(later).chain(in_locks).max().unwrap_or(0).into()
}

/// The jobs' specifications, in their order.
pub(crate) fn jobs(scenario: &Scenario) -> Vec<&Job> {
    scenario.workload.values().collect()
}

/// The programs of all jobs.
fn compile(scenario: &Scenario) -> Result<Programs, Fault> {
    if let Some(name) = scenario.workload.iter().find(|(_, job)| job.replay.is_some()).map(|(name, _)| name) {
        let why = "replays tasks of a recording, which only the simulator can; describe what they do as steps";
        return Err(Fault::Wrong(format!("workload.{name}: {why}")));
    }
    let steps = roster::steps(&scenario.workload).map_err(|why| match why {
        NoSteps::UnknownLoad { job, load } => Fault::Wrong(format!("workload.{job}.load: {load:?} is no load")),
        NoSteps::Setting { job, setting, why, .. } => Fault::Wrong(format!("workload.{job}.{setting}: {why}")),
    })?;
    Ok(roster::programs(scenario, &steps))
}
