//! A layout file: levels, the most favoured first, what each means to the kernel, and which programs belong where.

use super::pattern::Pattern;
use crate::units::Duration;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A layout as written; those that [`Layout::read`] returns are checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "AttentionLayout")]
pub struct Layout {
    /// What it is for, in a line.
    #[serde(default)]
    pub title: String,
    /// How attention moves programs.
    #[serde(default)]
    pub attention: ByAttention,
    /// When a level has too much to do.
    #[serde(default)]
    pub overload: Overload,
    /// The levels, the most favoured first. Those named foreground, background and batch are where attention moves programs.
    pub level: Vec<Level>,
    /// Which programs belong where; the first rule that fits counts.
    #[serde(default)]
    pub rule: Vec<Rule>,
}

/// How attention moves programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ByAttention {
    /// Half of the time in focus is forgotten in this time.
    pub half_life: Duration,
    /// A program is in focus this long before it is in the foreground.
    pub dwell: Duration,
    /// A program stays this long at least where attention has put it; the one in focus need not wait.
    pub stay: Duration,
    /// Most programs in the foreground.
    pub foreground: usize,
    /// A program out of focus leaves the foreground when its share of recent attention falls below this.
    pub leave: f64,
    /// A program with less recent attention than this is batch work if it is busy, too.
    pub rest: f64,
    /// A program is busy when it uses more processors than this, and calm again below half of it.
    pub busy: f64,
    /// Programs of other users that no rule names are attended to as well; only root can.
    pub other_users: bool,
}

impl Default for ByAttention {
    fn default() -> Self {
        ByAttention {
            half_life: Duration(20 * crate::SECOND),
            dwell: Duration(500 * crate::MILLISECOND),
            stay: Duration(3 * crate::SECOND),
            foreground: 2,
            leave: 0.1,
            rest: 0.02,
            busy: 0.25,
            other_users: false,
        }
    }
}

/// When a level has too much to do, and for how long before its programs move.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Overload {
    /// A level is overloaded while it uses more than this share of all processors.
    pub share: f64,
    /// ... for this long. Then its largest user goes down a level.
    pub within: Duration,
    /// It comes back when the level above would have had room for it for this long.
    pub calm: Duration,
    /// ... with this share of all processors to spare.
    pub margin: f64,
}

impl Default for Overload {
    fn default() -> Self {
        Overload { share: 0.8, within: Duration(6 * crate::SECOND), calm: Duration(20 * crate::SECOND), margin: 0.1 }
    }
}

/// A level, and what it means to the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name.
    pub name: String,
    /// What is added to the nice value that a task has by itself.
    pub nice: i32,
    /// The slice of its tasks; the kernel's own if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Duration>,
    /// The policy of its tasks; the one they have if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The weight of a program's control group (cpu.weight), where it has one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u64>,
    /// The class of its requests to drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<IoClass>,
}

/// A policy that a level may give. Real-time tasks are left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// `SCHED_OTHER`.
    Other,
    /// `SCHED_BATCH`: a task that wakes preempts none.
    Batch,
}

/// A class of requests to drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IoClass {
    /// Best effort, before others of that class.
    High,
    /// Best effort, after others of that class.
    Low,
    /// Served when no other task uses the drive.
    Idle,
}

/// Which programs belong where. All that a rule names must fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The name of the process (comm, at most 15 bytes).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Pattern>,
    /// Its command line, with a blank between arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Pattern>,
    /// Its control group, as in /proc/PID/cgroup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<Pattern>,
    /// The level it belongs to.
    pub level: String,
    /// Attention moves it to the foreground; at other times it is at that level.
    #[serde(default)]
    pub follows: bool,
    /// Processes of other users fit, too; only root can change them.
    #[serde(default)]
    pub other_users: bool,
}

impl Rule {
    /// Whether a process fits. What costs a read is asked for only if it is compared.
    pub fn fits(&self, name: &str, command: impl FnOnce() -> String, cgroup: impl FnOnce() -> String) -> bool {
        let fits = |pattern: &Option<Pattern>, text: &str| pattern.as_ref().is_none_or(|pattern| pattern.fits(text));
        fits(&self.name, name)
            && (self.command.is_none() || fits(&self.command, &command()))
            && (self.cgroup.is_none() || fits(&self.cgroup, &cgroup()))
    }
}

impl Default for Layout {
    /// The three levels of `examples/attention/desktop.toml`, without what only a host has (weights of control groups) and without rules.
    fn default() -> Self {
        let level = |name: &str, nice, slice: Option<u64>| Level {
            name: name.to_owned(),
            nice,
            slice: slice.map(|ms| Duration(ms * crate::MILLISECOND)),
            policy: None,
            weight: None,
            io: None,
        };
        let batch = Level { policy: Some(Policy::Batch), io: Some(IoClass::Idle), ..level("batch", 10, Some(20)) };
        Layout {
            title: String::new(),
            attention: ByAttention::default(),
            overload: Overload::default(),
            level: vec![level("foreground", 0, Some(1)), level("background", 3, None), batch],
            rule: Vec::new(),
        }
    }
}

impl Layout {
    /// The number of a level by its name.
    pub fn number(&self, name: &str) -> Option<usize> {
        self.level.iter().position(|level| level.name == name)
    }
}

/// The JSON Schema (draft 2020-12) of layout files.
pub fn schema() -> Value {
    let mut schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Layout>().to_value();
    schema["title"] = "A layout of schedlab attend".into();
    schema
}
