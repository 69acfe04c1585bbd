//! Who plays what: the tasks of a scenario, and their programs.

use crate::plan::Plan;
use schedlab_linux::Fault;
use schedlab_model::{
    info::Params,
    program::Step,
    scenario::{Job, Scenario},
};
use schedlab_workloads::{
    Programs, WORKLOADS,
    draws::{draw, of_starts},
    steps_of,
};
use std::collections::BTreeMap;

/// More tasks than this on a real kernel is a mistake rather than a load.
const MOST_TASKS: u32 = 20_000;

/// A task of the workload.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member {
    /// Index of its job, which is also that of its program.
    pub job: usize,
    /// Which of the job's tasks.
    pub copy: u32,
    /// When it begins, ns after the start of the run.
    pub start: u64,
}

/// The tasks, and what they share.
pub(crate) struct Company {
    /// Names of the jobs, in their order.
    pub jobs: Vec<String>,
    /// In the order in which the simulator numbers them.
    pub members: Vec<Member>,
    pub programs: Programs,
    /// Members by session, those of one session together.
    pub sessions: Vec<Vec<usize>>,
}

impl Company {
    pub fn new(plan: &Plan) -> Result<Company, Fault> {
        let scenario = &plan.scenario;
        let programs = compile(scenario)?;
        let mut members = Vec::new();
        let mut sessions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let all: u64 = scenario.workload.values().map(|job| u64::from(job.count)).sum();
        if all > u64::from(MOST_TASKS) {
            return Err(Fault::Wrong(format!("the workload has {all} tasks; at most {MOST_TASKS} run on a live host")));
        }
        for (index, (name, job)) in scenario.workload.iter().enumerate() {
            let mut rng = of_starts(plan.seed, index);
            let mut start = job.start.map_or(0, |span| draw(span, &mut rng));
            for copy in 0..job.count {
                sessions.entry(job.session.as_deref().unwrap_or(name)).or_default().push(members.len());
                members.push(Member { job: index, copy, start });
                start = start.saturating_add(job.gap.map_or(0, |span| draw(span, &mut rng)));
            }
        }
        let jobs = scenario.workload.keys().cloned().collect();
        Ok(Company { jobs, members, programs, sessions: sessions.into_values().collect() })
    }
}

/// The jobs' specifications, in their order.
pub(crate) fn jobs(scenario: &Scenario) -> Vec<&Job> {
    scenario.workload.values().collect()
}

/// The programs of all jobs.
fn compile(scenario: &Scenario) -> Result<Programs, Fault> {
    let steps = scenario.workload.iter().map(|(name, job)| steps(name, job)).collect::<Result<Vec<_>, _>>()?;
    Ok(Programs::compile(steps.iter().map(Vec::as_slice).zip(scenario.workload.values().map(|job| job.passes))))
}

/// The steps of a job, written out or from its load.
fn steps(name: &str, job: &Job) -> Result<Vec<Step>, Fault> {
    if let Some(steps) = &job.steps {
        return Ok(steps.clone());
    }
    let load = job.load.as_deref().unwrap_or_default();
    let info = WORKLOADS.iter().find(|info| info.name == load);
    let info = info.ok_or_else(|| Fault::Wrong(format!("workload.{name}.load: {load:?} is no load")))?;
    let given = job.settings.iter().map(|(setting, value)| (setting.as_str(), value.to_string()));
    let params = Params::check(info, given)
        .map_err(|(setting, why)| Fault::Wrong(format!("workload.{name}.{setting}: {why}")))?;
    Ok(steps_of(load, &params).unwrap_or_default())
}
