//! The workload of a run: its tasks by the roster, their programs, their sessions.

use crate::plan::Plan;
use schedlab_linux::Fault;
use schedlab_model::scenario::{Job, Protocol, Scenario};
use schedlab_workloads::{
    Programs,
    roster::{self, Entry, NoSteps},
};
use std::collections::BTreeMap;

/// More tasks than this on a real kernel is a mistake rather than a load.
const MOST_TASKS: u32 = 20_000;

/// The tasks, and what they share.
pub(crate) struct Workload {
    /// Names of the jobs, in their order.
    pub jobs: Vec<String>,
    /// In the order in which the simulator numbers them.
    pub tasks: Vec<Entry>,
    pub programs: Programs,
    /// Indices of the tasks of each session.
    pub sessions: Vec<Vec<usize>>,
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
        let mut sessions: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
        for (number, entry) in tasks.iter().enumerate() {
            sessions.entry(entry.session).or_default().push(number);
        }
        let jobs = scenario.workload.keys().cloned().collect();
        let highest_priority = highest_priority(scenario, &programs);
        Ok(Workload { jobs, tasks, programs, sessions: sessions.into_values().collect(), highest_priority })
    }
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
    let steps = roster::steps(&scenario.workload).map_err(|why| match why {
        NoSteps::UnknownLoad { job, load } => Fault::Wrong(format!("workload.{job}.load: {load:?} is no load")),
        NoSteps::Setting { job, setting, why, .. } => Fault::Wrong(format!("workload.{job}.{setting}: {why}")),
    })?;
    Ok(roster::programs(scenario, &steps))
}
