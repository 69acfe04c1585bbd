//! The words behind the numbers of events.

use crate::{
    Nanos,
    scenario::GroupSpec,
    task::{GroupId, TaskId},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The names that a reader of events needs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Number of processors.
    pub processors: u16,
    /// Jobs, by job index.
    pub jobs: Vec<String>,
    /// The kernel's own tasks (servers, drivers), by task number; they come before all others.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Marks, by index.
    #[serde(default)]
    pub marks: Vec<String>,
    /// The length of the kernel's clock tick, ns, where the writer knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick: Option<Nanos>,
    /// Groups that are made for a run, from number 1 on. None in recordings that do not say how tasks were treated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<RunGroup>>,
}

/// A group of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunGroup {
    /// Its name.
    pub name: String,
    /// The number of the group that it is in; 0 is the root.
    pub parent: GroupId,
    /// Its weight, 1024 for that of a task of nice 0.
    pub weight: u64,
    /// Its quota and the period of that, ns.
    pub quota: Option<(Nanos, Nanos)>,
    /// What it may save up of the quota, ns.
    pub burst: Nanos,
}

impl Names {
    /// A task of the job of that index, identified by its number: "io#3". A server has a name of its own.
    pub fn task(&self, task: TaskId, job: u64) -> String {
        match Self::of(&self.servers, task.into()) {
            Some(server) => server.to_owned(),
            None => format!("{}#{task}", Self::of(&self.jobs, job).unwrap_or("task")),
        }
    }

    /// The mark of that index.
    pub fn mark(&self, index: u64) -> &str {
        Self::of(&self.marks, index).unwrap_or("mark")
    }

    fn of(names: &[String], index: u64) -> Option<&str> {
        names.get(usize::try_from(index).ok()?).map(String::as_str)
    }
}

impl RunGroup {
    /// The groups of a scenario, in the order of their names, which gives them their numbers.
    pub fn all(groups: &BTreeMap<String, GroupSpec>) -> Vec<RunGroup> {
        let number = |name: &String| groups.keys().position(|known| known == name).map(|place| place as GroupId + 1);
        let group = |(name, group): (&String, &GroupSpec)| RunGroup {
            name: name.clone(),
            parent: group.parent.as_ref().and_then(number).unwrap_or(0),
            weight: group.weight.into(),
            quota: group.quota.map(|quota| (quota.0, group.period.0)),
            burst: group.burst.map_or(0, |burst| burst.0),
        };
        groups.iter().map(group).collect()
    }
}
