//! The words behind the numbers of events.

use serde::{Deserialize, Serialize};

/// What a reader of events must know to name what they tell of.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Names {
    /// Number of processors.
    pub processors: u16,
    /// Jobs, by job index; servers and drivers may follow those of the workload.
    pub jobs: Vec<String>,
    /// Marks, by index.
    #[serde(default)]
    pub marks: Vec<String>,
}

impl Names {
    /// The job of that index.
    pub fn job(&self, index: u64) -> &str {
        Self::of(&self.jobs, index).unwrap_or("task")
    }

    /// The mark of that index.
    pub fn mark(&self, index: u64) -> &str {
        Self::of(&self.marks, index).unwrap_or("mark")
    }

    fn of(names: &[String], index: u64) -> Option<&str> {
        names.get(usize::try_from(index).ok()?).map(String::as_str)
    }
}
