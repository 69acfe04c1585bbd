//! Parts of a task set of rt-app that tasks and phases both have, and what all of them use together.

use super::{
    global::{MOST, POLICIES},
    json::Json,
    treatment::plain_group,
};
use crate::{
    MICROSECOND,
    experiment::{path::Path, problem::Fault},
    program::{Times, Treatment},
    scenario::{GroupSpec, Protocol, Scenario, Shared},
    task::Policy,
    units::{Duration, spell_duration},
};
use std::collections::BTreeMap;

/// What the steps of all jobs use.
#[derive(Debug, Default)]
pub(super) struct Used {
    /// By barrier, the threads that come to it, once for each step.
    parties: BTreeMap<String, u64>,
    /// Whether the locks inherit priorities, once one is met.
    pub inherits: Option<bool>,
}

impl Used {
    /// rt-app has one protocol for all mutexes.
    pub fn lock(&mut self, at: &Path, name: &str, scenario: &Scenario) -> Result<(), Fault> {
        let inherits = match scenario.shared.get(name) {
            Some(Shared::Lock(Protocol::Inherit)) => true,
            Some(Shared::Lock(Protocol::Ceiling(_))) => {
                return Err(Fault::new(at.clone(), format!("{name:?} has a ceiling, which rt-app's mutexes have not")));
            }
            _ => false,
        };
        match self.inherits.replace(inherits) {
            Some(before) if before != inherits => {
                let reason =
                    format!("{name:?} has another protocol than the lock before; in rt-app all mutexes have the same");
                Err(Fault::new(at.clone(), reason))
            }
            _ => Ok(()),
        }
    }

    pub fn barrier(&mut self, name: &str, threads: u32) {
        *self.parties.entry(name.to_owned()).or_default() += u64::from(threads);
    }

    /// A barrier of rt-app is for all threads that come to it, counted once for each event.
    pub fn barriers(&self, scenario: &Scenario) -> Result<(), Fault> {
        for (name, &uses) in &self.parties {
            if let Some(&Shared::Barrier(parties)) = scenario.shared.get(name)
                && u64::from(parties) != uses
            {
                let reason = format!(
                    "{parties} is not the number of threads that come to it, each counted once for each step, as in rt-app: {uses}"
                );
                return Err(Fault::new(Path::top("shared").key(name).key("barrier"), reason));
            }
        }
        Ok(())
    }
}

/// A policy's name in rt-app.
pub(super) fn policy_name(at: &Path, policy: Policy) -> Result<&'static str, Fault> {
    let known = POLICIES.iter().find(|(_, known)| *known == policy).map(|(name, _)| *name);
    known.ok_or_else(|| Fault::new(at.clone(), "is a policy that Linux, and so rt-app, does not have"))
}

/// Linux has nice values up to 19.
pub(super) fn nice(at: &Path, nice: i8) -> Result<i64, Fault> {
    if nice <= 19 {
        Ok(nice.into())
    } else {
        Err(Fault::new(at.clone(), format!("{nice} is above 19, Linux's highest")))
    }
}

/// The path of a group, whose settings rt-app leaves as they are made.
pub(super) fn group_path(at: &Path, name: &str, scenario: &Scenario) -> Result<String, Fault> {
    let (mut path, mut next) = (String::new(), Some(name));
    // The scenario is checked: parents make no circle.
    while let Some(group) = next.and_then(|name| scenario.groups.get_key_value(name)) {
        let (name, spec) = group;
        let plain = GroupSpec { parent: spec.parent.clone(), ..plain_group() };
        if *spec != plain {
            return Err(Fault::new(
                at.clone(),
                format!("{name:?} has a weight or limits, which rt-app gives no group"),
            ));
        }
        next = spec.parent.as_deref();
        // A group of a task set that was read is called by its whole path.
        let around = next.and_then(|parent| name.strip_prefix(parent)?.strip_prefix('_'));
        path = format!("/{}{path}", around.filter(|rest| !rest.is_empty()).unwrap_or(name));
    }
    Ok(if path.is_empty() { Treatment::ROOT_GROUP.to_owned() } else { path })
}

/// A length in us, as a C int can hold it.
pub(super) fn microseconds(at: &Path, length: Duration) -> Result<i64, Fault> {
    let whole = length.0.is_multiple_of(MICROSECOND).then_some((length.0 / MICROSECOND) as i64);
    whole.filter(|&us| us <= MOST).ok_or_else(|| {
        let reason =
            format!("{} is not a whole number of us up to {MOST}, as rt-app has them", spell_duration(length.0));
        Fault::new(at.clone(), reason)
    })
}

pub(super) fn cpus(cpus: &[u16]) -> Json {
    Json::List(cpus.iter().map(|&cpu| number(cpu.into())).collect())
}

pub(super) fn number(number: i64) -> Json {
    Json::Number(number.into())
}

pub(super) fn text(text: &str) -> Json {
    Json::Text(text.to_owned())
}

/// How often, as a loop: -1 is without end.
pub(super) fn looped(times: Times) -> Json {
    number(times.count().map_or(-1, i64::from))
}
