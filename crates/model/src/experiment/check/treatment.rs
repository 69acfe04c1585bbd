//! Rules of a change of treatment: the same bounds as where a job says it, and fields that go together.

use super::{
    between, bounded,
    jobs::{io_level, known_group, known_processors},
};
use crate::{
    experiment::{path::Path, problem::Fault},
    program::Treatment,
    scenario::Scenario,
    task::Policy,
};

pub(super) fn check(at: &Path, change: &Treatment, scenario: &Scenario) -> Result<(), Fault> {
    if *change == Treatment::default() {
        return Err(Fault::new(at.clone(), "changes nothing: name what is to change, like { set = { nice = 5 } }"));
    }
    if let Some(nice) = change.nice.filter(|nice| !(-20..=20).contains(nice)) {
        return Err(Fault::new(at.key("nice"), format!("{nice} is out of range: from -20 to 20")));
    }
    policy(at, change)?;
    change.slice.map_or(Ok(()), |slice| bounded(&at.key("slice"), slice, super::LONGEST))?;
    if let Some(cpus) = &change.cpus {
        if cpus.is_empty() {
            return Err(Fault::new(at.key("cpus"), "is empty: name a processor that the task may use"));
        }
        known_processors(&at.key("cpus"), cpus, scenario)?;
    }
    if let Some(job) = &change.job {
        of_job(at, job, change, scenario)?;
    }
    let group = change.group.as_deref().filter(|&group| group != Treatment::ROOT_GROUP);
    known_group(&at.key("group"), group, scenario)?;
    io_level(at, change.io_class, change.io_level)
}

/// Tasks of a job can be given other processors from outside, and nothing else.
fn of_job(at: &Path, job: &String, change: &Treatment, scenario: &Scenario) -> Result<(), Fault> {
    if !scenario.workload.contains_key(job) {
        let known = scenario.workload.keys().map(String::as_str);
        return Err(Fault::unknown(at.key("job"), job, &format!("there is no job {job:?}"), known));
    }
    let cpus_only = Treatment { job: Some(job.clone()), cpus: change.cpus.clone(), ..Treatment::default() };
    if change.cpus.is_none() || *change != cpus_only {
        let reason = "of the tasks of a job, only cpus can be changed: { set = { cpus = [0, 1], job = \"NAME\" } }";
        return Err(Fault::new(at.key("job"), reason));
    }
    Ok(())
}

/// A priority belongs to a real-time policy, and is given with it.
fn policy(at: &Path, change: &Treatment) -> Result<(), Fault> {
    match (change.policy, change.priority) {
        (Some(Policy::Fifo | Policy::Rr), None) => {
            Err(Fault::new(at.key("priority"), "is missing: the policies fifo and rr need one, from 1 to 99"))
        }
        (Some(Policy::Fifo | Policy::Rr), Some(priority)) => between(|| at.key("priority"), priority.into(), 1, 99),
        (Some(Policy::Deadline), _) => {
            let reason = "\"deadline\" cannot be set by a step: a job asks for its reservation at its start";
            Err(Fault::new(at.key("policy"), reason))
        }
        (_, Some(_)) => Err(Fault::new(at.key("priority"), "goes with the policy fifo or rr: give policy too")),
        (_, None) => Ok(()),
    }
}
