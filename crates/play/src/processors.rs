//! Which of the host's processors stand for the scenario's.

use crate::plan::Plan;
use schedlab_linux::{Fault, sched};
use schedlab_model::{program::Treatment, scenario::Job};
use std::collections::BTreeSet;

/// The host's processors that are used as the scenario's.
pub(crate) fn processors(plan: &Plan) -> Result<Vec<u16>, Fault> {
    let (allowed, wanted) = (sched::allowed(), usize::from(plan.scenario.machine.processors.get()));
    let named = &plan.options.processors;
    let chosen: Vec<u16> = if named.is_empty() { &allowed } else { named }.iter().take(wanted).copied().collect();
    if let Some(stranger) = chosen.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(Fault::Wrong(format!("processor {stranger} is none that this host lets us use: {allowed:?}")));
    }
    if chosen.len() < wanted {
        let why = format!("there are {}: {chosen:?}", chosen.len());
        let advice = format!("set machine.processors to {} in the experiment", chosen.len());
        return Err(Fault::Refused { what: format!("{wanted} processors"), why, advice });
    }
    Ok(chosen)
}

/// The host's processors that a job may use.
pub(crate) fn of_job(job: &Job, cpus: &[u16]) -> Vec<u16> {
    let named = of_scenario(&job.cpus, cpus);
    if named.is_empty() { cpus.to_vec() } else { named }
}

/// The host's processors for those of the scenario.
pub(crate) fn of_scenario(named: &[u16], cpus: &[u16]) -> Vec<u16> {
    named.iter().filter_map(|&n| cpus.get(usize::from(n)).copied()).collect()
}

/// The host's processors that any task may use, from its start or later.
pub(crate) fn used(jobs: &[Job], treatments: &[Treatment], cpus: &[u16]) -> Vec<u16> {
    let later = treatments.iter().flat_map(|one| &one.cpus).flat_map(|named| of_scenario(named, cpus));
    let all: BTreeSet<u16> = jobs.iter().flat_map(|job| of_job(job, cpus)).chain(later).collect();
    all.into_iter().collect()
}
