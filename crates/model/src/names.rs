//! The words behind the numbers of events.

use crate::task::TaskId;
use serde::{Deserialize, Serialize};

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
