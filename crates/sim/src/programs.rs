//! From the jobs of a scenario to programs, and what a simulated machine cannot do.

use crate::RunError;
use schedlab_model::{
    info::{Info, Params},
    machine::{self, Machine},
    program::{Repeat, Step},
    scenario::{Scenario, Setting},
};
use schedlab_workloads::{
    Programs,
    roster::{self, NoSteps},
};
use std::collections::BTreeMap;

/// The checked parameters of a table's entry on a machine of that many processors.
pub(crate) fn check(processors: u16, info: &Info, settings: &BTreeMap<String, Setting>) -> Result<Params, RunError> {
    info.allows(processors).map_err(|why| RunError(format!("scheduler.name: {why}")))?;
    let given = settings.iter().map(|(name, value)| (name.as_str(), value.to_string()));
    let checked = Params::check_on(processors, info, given);
    checked.map_err(|(name, why)| RunError(format!("{}.{name}: {why}", info.name)))
}

/// The programs of all jobs.
pub(crate) fn compile(scenario: &Scenario) -> Result<Programs, RunError> {
    let steps = roster::steps(&scenario.workload).map_err(|why| match why {
        NoSteps::UnknownLoad { job, load } => RunError(format!("workload.{job}.load: {load:?} is no load")),
        NoSteps::Setting { load, setting, why, .. } => RunError(format!("{load}.{setting}: {why}")),
    })?;
    for (name, steps) in scenario.workload.keys().zip(&steps) {
        can_do(&scenario.machine, name, steps)?;
        is_simulated(name, steps)?;
    }
    no_host_settings(scenario)?;
    Ok(roster::programs(scenario, &steps))
}

/// A message-passing kernel's file server only reads, and its memory manager does not page. Steps that are written out have been
/// checked for that; those of loads are known only here.
fn can_do(machine: &Machine, name: &str, steps: &[Step]) -> Result<(), RunError> {
    let beyond = |step: &Step| match step {
        Step::Create(_) | Step::Write(_) | Step::Seek(_) | Step::Delete(_) | Step::Sync | Step::Touch(_) => true,
        Step::Repeat(Repeat { steps, .. }) | Step::Fork(steps) => can_do(machine, name, steps).is_err(),
        _ => false,
    };
    if machine.personality == machine::Personality::MessagePassing && steps.iter().any(beyond) {
        let why = "writes files or pages, which the servers of a message-passing machine do not";
        return Err(RunError(format!("workload.{name}: {why}")));
    }
    Ok(())
}

/// Commands are nothing that a model could run.
fn is_simulated(name: &str, steps: &[Step]) -> Result<(), RunError> {
    steps.iter().try_for_each(|step| match step {
        Step::Run(command) => {
            let why = "only a real machine can run a command; use --on host, or describe what it does as steps";
            Err(RunError(format!("workload.{name}: {command:?}: {why}")))
        }
        Step::Repeat(Repeat { steps, .. }) | Step::Fork(steps) => is_simulated(name, steps),
        _ => Ok(()),
    })
}

/// What only a host has must not seem to have been simulated.
fn no_host_settings(scenario: &Scenario) -> Result<(), RunError> {
    if let Some(name) = scenario.tunables.keys().next() {
        let why =
            "only a real machine has tunables; on a simulated one set its policies (reclaim.swappiness, elevator.name)";
        return Err(RunError(format!("tunables.{name}: {why}")));
    }
    match scenario.groups.iter().find(|(_, group)| group.memory.is_some()) {
        Some((name, _)) => {
            let why =
                "only a host limits the memory of a group; a simulated machine has files.cache_blocks and memory.size";
            Err(RunError(format!("groups.{name}.memory: {why}")))
        }
        None => Ok(()),
    }
}
