//! Rules of jobs and groups: how many tasks, where they may run, what they belong to.

use super::{LONGEST, between, bounded, lasting, name};
use crate::{
    experiment::{path::Path, problem::Fault},
    program::{Span, Times},
    request::IoClass,
    scenario::{GroupSpec, Job, Scenario},
    task::Policy,
    units::{Size, spell_duration, spell_size},
};
use std::collections::BTreeMap;

/// Most tasks that jobs start, forks not counted.
const MOST_TASKS: u64 = 1_000_000;
/// Least memory of a group: with less, not even a shell starts.
const LEAST_MEMORY: u64 = 1 << 20;
/// Most groups, the root not counted.
const MOST_GROUPS: usize = u16::MAX as usize;

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let all = Path::top("workload");
    if scenario.workload.is_empty() {
        return Err(Fault::new(all, "has no job"));
    }
    let mut tasks: u64 = 0;
    for (title, job) in &scenario.workload {
        name(&all, title)?;
        let at = all.key(title);
        numbers(&at, job)?;
        priority(&at, job)?;
        places(&at, job, scenario)?;
        replay(&at, job, scenario)?;
        reservation(&at, job)?;
        tasks += u64::from(job.count);
        between(|| at.key("count"), tasks, 1, MOST_TASKS)
            .map_err(|fault| Fault::new(fault.at, format!("makes {tasks} tasks in all; at most {MOST_TASKS}")))?;
    }
    Ok(())
}

fn numbers(at: &Path, job: &Job) -> Result<(), Fault> {
    between(|| at.key("count"), job.count.into(), 1, MOST_TASKS)?;
    if job.passes == Times::Count(0) {
        return Err(Fault::new(at.key("passes"), "0 is out of range: at least 1, or \"forever\""));
    }
    if !(-20..=20).contains(&job.nice) {
        return Err(Fault::new(at.key("nice"), format!("{} is out of range: from -20 to 20", job.nice)));
    }
    io_level(at, job.io_class, job.io_level)?;
    for (field, given) in [("start", job.start), ("gap", job.gap)] {
        given.map_or(Ok(()), |length| span(&at.key(field), length))?;
    }
    job.session.as_ref().map_or(Ok(()), |session| name(&at.key("session"), session))?;
    job.slice.map_or(Ok(()), |length| lasting(&at.key("slice"), length))
}

/// A span's bounds, and their order.
pub(super) fn span(at: &Path, span: Span) -> Result<(), Fault> {
    match span {
        Span::Fixed(length) => bounded(at, length, LONGEST),
        Span::Exp { exp } => bounded(&at.key("exp"), exp, LONGEST),
        Span::Uniform { uniform: [low, high] } => {
            bounded(&at.key("uniform"), high, LONGEST)?;
            if low.0 <= high.0 {
                return Ok(());
            }
            let (low, high) = (spell_duration(low.0), spell_duration(high.0));
            Err(Fault::new(at.key("uniform"), format!("goes down from {low} to {high}: the shorter comes first")))
        }
    }
}

/// A level is one of a class; the idle class has none.
pub(super) fn io_level(at: &Path, class: Option<IoClass>, level: Option<u8>) -> Result<(), Fault> {
    let Some(level) = level else { return Ok(()) };
    let at = at.key("io_level");
    match class {
        None => Err(Fault::new(at, "is a level within a class: give io_class too")),
        Some(IoClass::Idle) => Err(Fault::new(at, "is for real_time and best_effort; the idle class has no levels")),
        Some(_) => between(|| at, level.into(), 0, 7),
    }
}

fn priority(at: &Path, job: &Job) -> Result<(), Fault> {
    let real_time = matches!(job.policy, Policy::Fifo | Policy::Rr);
    match (real_time, job.priority) {
        (true, 1..=99) | (false, 0) => Ok(()),
        (true, other) => {
            Err(Fault::new(at.key("priority"), format!("{other} is out of range: from 1 to 99 under fifo and rr")))
        }
        (false, _) => {
            Err(Fault::new(at.key("priority"), "is for the policies fifo and rr; other tasks have a nice value"))
        }
    }
}

/// A reservation: runtime <= deadline <= period.
fn reservation(at: &Path, job: &Job) -> Result<(), Fault> {
    let at = at.key("reservation");
    let Some(wish) = job.reservation else {
        return match job.policy {
            Policy::Deadline => Err(Fault::new(at, "is missing: the policy deadline needs runtime and period")),
            _ => Ok(()),
        };
    };
    let deadline = wish.deadline.unwrap_or(wish.period);
    lasting(&at.key("runtime"), wish.runtime)?;
    lasting(&at.key("period"), wish.period)?;
    bounded(&at.key("deadline"), deadline, wish.period.0)?;
    bounded(&at.key("runtime"), wish.runtime, deadline.0)
}

/// Recorded tasks are a recording's, and keep its times.
fn replay(at: &Path, job: &Job, scenario: &Scenario) -> Result<(), Fault> {
    if job.replay.is_none() {
        return Ok(());
    }
    if scenario.recording.is_none() {
        let reason =
            "replays tasks of a recording, but the experiment has none: recording = { file = ..., sha256 = ... }";
        return Err(Fault::new(at.key("replay"), reason));
    }
    match job.arrivals {
        Some(_) => {
            Err(Fault::new(at.key("arrivals"), "is for tasks that serve requests; recorded tasks have their own times"))
        }
        None => Ok(()),
    }
}

fn places(at: &Path, job: &Job, scenario: &Scenario) -> Result<(), Fault> {
    known_processors(&at.key("cpus"), &job.cpus, scenario)?;
    known_group(&at.key("group"), job.group.as_deref(), scenario)
}

pub(super) fn known_processors(at: &Path, named: &[u16], scenario: &Scenario) -> Result<(), Fault> {
    let processors = scenario.machine.processors.get();
    match named.iter().position(|&cpu| cpu >= processors) {
        None => Ok(()),
        Some(i) => {
            let reason = format!("the machine has no processor {}: it has {processors}, counted from 0", named[i]);
            Err(Fault::new(at.index(i), reason))
        }
    }
}

pub(super) fn known_group(at: &Path, named: Option<&str>, scenario: &Scenario) -> Result<(), Fault> {
    match named {
        Some(group) if !scenario.groups.contains_key(group) => {
            let known = scenario.groups.keys().map(String::as_str);
            Err(Fault::unknown(at.clone(), group, &format!("{group:?} is not a group"), known))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_groups(scenario: &Scenario) -> Result<(), Fault> {
    let all = Path::top("groups");
    if scenario.groups.len() > MOST_GROUPS {
        return Err(Fault::new(all, format!("has {} groups; at most {MOST_GROUPS}", scenario.groups.len())));
    }
    for (title, group) in &scenario.groups {
        name(&all, title)?;
        let at = all.key(title);
        known_group(&at.key("parent"), group.parent.as_deref(), scenario)?;
        between(|| at.key("weight"), group.weight.into(), 1, 1 << 18)?;
        group.quota.map_or(Ok(()), |length| lasting(&at.key("quota"), length))?;
        lasting(&at.key("period"), group.period)?;
        burst(&at.key("burst"), group)?;
        let least = Size(LEAST_MEMORY);
        if group.memory.is_some_and(|memory| memory < least) {
            return Err(Fault::new(at.key("memory"), format!("is too little: at least {}", spell_size(least.0))));
        }
    }
    circle(&all, scenario)
}

/// A burst is at most the quota, as Linux has it.
fn burst(at: &Path, group: &GroupSpec) -> Result<(), Fault> {
    match (group.burst, group.quota) {
        (None, _) => Ok(()),
        (Some(_), None) => Err(Fault::new(at.clone(), "is for groups with a quota")),
        (Some(length), Some(quota)) => bounded(at, length, quota.0),
    }
}

/// Every group must reach the root by way of its parents.
fn circle(all: &Path, scenario: &Scenario) -> Result<(), Fault> {
    // The round in which a group was first met: met again in the same round, it contains itself.
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    for (round, start) in scenario.groups.keys().enumerate() {
        let mut next = Some(start.as_str());
        while let Some(group) = next {
            match met.insert(group, round) {
                Some(earlier) if earlier == round => {
                    return Err(Fault::new(
                        all.key(group).key("parent"),
                        "makes a circle: the group would contain itself",
                    ));
                }
                Some(_) => break,
                None => next = scenario.groups.get(group).and_then(|spec| spec.parent.as_deref()),
            }
        }
    }
    Ok(())
}
