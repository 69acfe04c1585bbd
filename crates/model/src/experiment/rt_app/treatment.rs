//! How the kernel is to treat a thread: its policy, priority, slice or reservation, processors and group, as a task or a phase of an
//! rt-app file says it.

use super::{
    global::{MOST, policy},
    json::Table,
    names::{Kind, Names},
};
use crate::{
    MICROSECOND,
    experiment::problem::Fault,
    program::Treatment,
    scenario::{GroupSpec, ReservationSpec},
    task::Policy,
    units::Duration,
};
use std::collections::BTreeMap;

/// The keys of these.
pub(super) const KEYS: [&str; 10] = [
    "policy",
    "priority",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "util_min",
    "util_max",
    "nodes_membind",
    "cpus",
    "taskgroup",
];
/// Older keys for those of a reservation, which a task may have, but no phase.
pub(super) const OLD_KEYS: [&str; 3] = ["runtime", "period", "deadline"];

/// The priority of a real-time thread that gives none.
const REAL_TIME: u8 = 10;

/// What is asked for at once with a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Asked {
    pub policy: Policy,
    pub nice: i8,
    /// Of real time.
    pub priority: u8,
    pub slice: Option<Duration>,
    pub reservation: Option<ReservationSpec>,
}

/// A length in us.
pub(super) fn microseconds(number: i64) -> Duration {
    Duration(number.unsigned_abs() * MICROSECOND)
}

/// What a task asks for when it starts. `default` is the policy of those that name none.
pub(super) fn of_task(table: &Table<'_>, default: Policy) -> Result<Asked, Fault> {
    refuse_unfit(table)?;
    let policy = table.get("policy")?.map_or(Ok(default), |node| policy(&node))?;
    let given = |new: &str, old: &str| match table.whole(new, 0, MOST)? {
        Some(length) if length > 0 => Ok(Some(length)),
        // In a task without phases "runtime" may also be an event; rt-app reads it as both.
        _ => table.entries().find(|(key, _)| *key == old).map(|(_, node)| node.whole(0, MOST)).transpose(),
    };
    let runtime = given("dl-runtime", "runtime")?.filter(|&length| length > 0);
    let asked = priorities(table, policy)?;
    if policy != Policy::Deadline {
        return Ok(Asked { slice: if is_fair(policy) { runtime.map(microseconds) } else { None }, ..asked });
    }
    let Some(runtime) = runtime else {
        let reason = "is missing: SCHED_DEADLINE needs a runtime in us";
        return Err(Fault::new(table.at.key("dl-runtime"), reason));
    };
    let period = given("dl-period", "period")?.filter(|&length| length > 0).unwrap_or(runtime);
    let deadline = given("dl-deadline", "deadline")?.filter(|&length| length > 0).unwrap_or(period);
    if runtime > deadline || deadline > period {
        let reason = format!("{deadline} is not between the runtime of {runtime} and the period of {period}, us");
        return Err(Fault::new(table.at.key("dl-deadline"), reason));
    }
    let deadline = (deadline != period).then(|| microseconds(deadline));
    let reservation = ReservationSpec { runtime: microseconds(runtime), deadline, period: microseconds(period) };
    Ok(Asked { reservation: Some(reservation), ..asked })
}

/// What a phase changes of it; nothing, if it names neither a policy nor a priority.
pub(super) fn of_phase(table: &Table<'_>, now: Policy) -> Result<Option<Asked>, Fault> {
    refuse_unfit(table)?;
    let named = table.get("policy")?;
    let policy = named.as_ref().map_or(Ok(now), policy)?;
    let reserves = ["dl-runtime", "dl-period", "dl-deadline"].iter().try_fold(None, |first, key| {
        Ok::<_, Fault>(first.or(table.get(key)?.filter(|_| policy == Policy::Deadline)))
    })?;
    if let Some(node) = named.clone().filter(|_| policy == Policy::Deadline).or(reserves) {
        return Err(
            node.fault("a phase cannot ask for a reservation: give it to the task, which has it from its start")
        );
    }
    let runtime = table.whole("dl-runtime", 0, MOST)?.filter(|&length| length > 0);
    if named.is_none() && table.get("priority")?.is_none() {
        return match table.get("dl-runtime")?.filter(|_| runtime.is_some()) {
            Some(node) => Err(node.fault("has no effect in rt-app without policy or priority: give one of them")),
            None => Ok(None),
        };
    }
    let slice = if is_fair(policy) { runtime.map(microseconds) } else { None };
    Ok(Some(Asked { slice, ..priorities(table, policy)? }))
}

/// Policies whose tasks may ask for a slice.
fn is_fair(policy: Policy) -> bool {
    matches!(policy, Policy::Other | Policy::Batch)
}

/// The number "priority" is a nice value or a real-time priority.
fn priorities(table: &Table<'_>, policy: Policy) -> Result<Asked, Fault> {
    let mut asked = Asked { policy, nice: 0, priority: 0, slice: None, reservation: None };
    match policy {
        Policy::Fifo | Policy::Rr => asked.priority = table.whole("priority", 1, 99)?.map_or(REAL_TIME, |it| it as u8),
        Policy::Other | Policy::Batch => asked.nice = table.whole("priority", -20, 19)?.unwrap_or(0) as i8,
        // rt-app does not pass it on.
        _ => drop(table.whole("priority", -20, 99)?),
    }
    Ok(asked)
}

/// What no step can express.
fn refuse_unfit(table: &Table<'_>) -> Result<(), Fault> {
    for key in ["util_min", "util_max"] {
        if let Some(node) = table.get(key)?.filter(|node| node.whole(-1, -1).is_err()) {
            return Err(node.fault(
                "utilisation clamps cannot be expressed: no step sets them, and simulated frequencies are fixed",
            ));
        }
    }
    match table.get("nodes_membind")? {
        Some(node) => Err(node.fault("memory cannot be bound to nodes: no step sets that")),
        None => Ok(()),
    }
}

/// The processors named, if any are.
pub(super) fn processors(table: &Table<'_>) -> Result<Option<Vec<u16>>, Fault> {
    let Some(node) = table.get("cpus")? else { return Ok(None) };
    let all: Result<Vec<u16>, Fault> = node.list()?.map(|cpu| cpu.whole(0, 1023).map(|it| it as u16)).collect();
    let mut all = all?;
    all.sort_unstable();
    all.dedup();
    match all.is_empty() {
        true => Err(node.fault("names no processor: at least one is needed")),
        false => Ok(Some(all)),
    }
}

/// The group named, if any is: the name it has here, or that of the root group. It and those around it are added to `groups`.
pub(super) fn group(
    table: &Table<'_>,
    now: Policy,
    names: &mut Names,
    groups: &mut BTreeMap<String, GroupSpec>,
) -> Result<Option<String>, Fault> {
    let Some(node) = table.get("taskgroup")?.filter(|node| node.text() != Ok("")) else { return Ok(None) };
    let path = node.text()?;
    if !is_fair(now) && now != Policy::Idle {
        return Err(node.fault("only threads under SCHED_OTHER, SCHED_BATCH and SCHED_IDLE can be in a taskgroup"));
    }
    if path == Treatment::ROOT_GROUP {
        return Ok(Some(path.to_owned()));
    }
    let parts = path.strip_prefix('/').map(|path| path.split('/').collect::<Vec<_>>()).unwrap_or_default();
    if parts.is_empty() || parts.len() > 32 || parts.iter().any(|part| part.is_empty() || part.starts_with('.')) {
        return Err(node.fault(format!("{path:?} is not the path of a group like \"/tg1/tg11\", of at most 32 parts")));
    }
    let mut parent: Option<String> = None;
    for end in 1..=parts.len() {
        let name = names.of(Kind::Group, &parts[..end].join("/"));
        let spec = GroupSpec { parent: parent.take(), ..plain_group() };
        groups.entry(name.clone()).or_insert(spec);
        parent = Some(name);
    }
    Ok(parent)
}

/// A group as it is made: with the weight of any other, and without limits.
pub(super) fn plain_group() -> GroupSpec {
    GroupSpec {
        parent: None,
        weight: 1024,
        quota: None,
        burst: None,
        period: Duration(100 * crate::MILLISECOND),
        memory: None,
    }
}

/// A change to what is asked for, in a step.
pub(super) fn change(asked: &Asked) -> Treatment {
    let real_time = matches!(asked.policy, Policy::Fifo | Policy::Rr);
    Treatment {
        policy: Some(asked.policy),
        priority: real_time.then_some(asked.priority),
        nice: is_fair(asked.policy).then_some(asked.nice),
        slice: asked.slice,
        ..Treatment::default()
    }
}
