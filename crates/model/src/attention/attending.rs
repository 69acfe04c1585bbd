//! The table `[attention]` of an experiment: which job has the focus when, and by which layout jobs are treated. A program of the rule is a
//! job with all its tasks; rules name jobs.

use super::{Home, Layout, Program};
use crate::units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Attention levels of an experiment, as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attending {
    /// Whether the rule is applied; without it, a run is that of an experiment without this table.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// How often the rule learns what each job has used, 100ms to 1min.
    #[serde(default = "second")]
    pub period: Duration,
    /// Changes of focus, in the order of time. Before the first one, no job has the focus.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub focus: Vec<FocusChange>,
    /// Levels, rules by job name, and the numbers of the rule, as in a layout file; three levels without rules, if left out.
    #[serde(default)]
    pub layout: Layout,
}

/// A change of focus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FocusChange {
    /// When.
    pub at: Duration,
    /// The job that has the focus from then on; none has, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
}

impl Attending {
    /// The number of a job as a program: its place among these names.
    pub fn program<'a>(jobs: impl IntoIterator<Item = &'a String>, job: &str) -> Option<Program> {
        jobs.into_iter().position(|name| name == job).map(|at| at as Program)
    }

    /// Where a job belongs that a rule names.
    pub fn home(&self, job: &str) -> Option<Home> {
        let rule = self.layout.rule.iter().find(|rule| rule.fits(job, String::new, String::new))?;
        Some(Home { level: self.layout.number(&rule.level)?, follows: rule.follows })
    }
}

fn yes() -> bool {
    true
}

fn second() -> Duration {
    Duration(crate::SECOND)
}
