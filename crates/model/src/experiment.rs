//! Experiment files: a question, a machine, a workload, a scheduler, what to sweep, how many seeds, what to measure.
//! This module is their only judge. It reads TOML or JSON, applies overrides, checks every cell of the sweep
//! against the catalogue before anything runs, and says in one line what is wrong with a wrong file.
//!
//! ```text
//! text -> read -> Experiment -> expand -> cells, each a Scenario with its hash
//! ```

#![allow(clippy::result_large_err, reason = "a problem is met once, at the end")]

mod cells;
mod check;
mod document;
mod hash;
mod keep;
mod levels;
mod metrics;
mod path;
mod problem;
mod read;
mod recorded;
mod resolve;
mod rt_app;
mod schema;
mod shape;
mod snippet;
mod space;
mod spelled;
mod spread;
mod sweep;
mod translate;

pub use cells::{Cell, Outlines, Parameters, expand, expand_some, outline_read, outline_some, parameters};
pub use hash::{Digest, hash};
pub use keep::Condition;
pub use problem::{Problem, nearest};
pub use read::{files, read, read_scenario, read_with};
pub use recorded::Files;
pub use rt_app::{is_rt_app, notes, write as write_rt_app};
pub use schema::schema;
pub use space::{Dimension, Space, Span, space};
pub use spelled::spelled;
pub use sweep::{Lists, Sweep};

use crate::info::{Info, MetricInfo};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// What an experiment may name.
#[derive(Debug, Clone, Copy)]
pub struct Catalogue<'a> {
    /// The table of schedulers.
    pub schedulers: &'a [Info],
    /// The table of disk policies.
    pub elevators: &'a [Info],
    /// The table of eviction policies.
    pub caches: &'a [Info],
    /// The table of reclaim policies.
    pub reclaims: &'a [Info],
    /// The table of loads.
    pub workloads: &'a [Info],
    /// Machine presets: name and TOML text.
    pub machines: &'a [(&'a str, &'a str)],
    /// Presets of drives: name and TOML text.
    pub drives: &'a [(&'a str, &'a str)],
    /// The table of metrics.
    pub metrics: &'a [MetricInfo],
    /// The scheduler that the machine "host" has: the one that its kernel is built with.
    pub host_scheduler: &'a str,
}

/// How an experiment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As people write it.
    Toml,
    /// As programs pass it on.
    Json,
    /// The JSON of a task set of rt-app.
    RtApp,
}

/// An experiment as written, overrides applied. Those that [`read`] returns are checked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// What is asked, in a sentence.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub question: String,
    /// The machine: a preset's name, a preset with changes ({ preset = "at_286", processors = 2 }), or a whole machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Value>,
    /// The CPU policy: its name and parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Value>,
    /// The disk policy: its name and parameters; `fifo`, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevator: Option<Value>,
    /// The eviction policy of the block cache: its name and parameters. If left out, the one that has the name of the policy of
    /// reclaim (`two_list`), where memory has a size; else `lru`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Value>,
    /// The reclaim policy, used when memory is short: its name and parameters; `two_list`, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<Value>,
    /// Jobs by name: each a load with its parameters, or steps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload: BTreeMap<String, Value>,
    /// Groups of tasks by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, Value>,
    /// What tasks share, by name: { queue = 64 }, { semaphore = 3 } or { barrier = 4 }.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<String, Value>,
    /// A run ends at this time at the latest; else when every job that ends has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Value>,
    /// Attention levels: which job has the focus when, and what levels mean to tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Value>,
    /// Recorded work that jobs replay: { file = "mine.work", sha256 = "..." }, as `schedlab whatif --write` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Value>,
    /// Settings of a real machine by the names of its tunables: { swappiness = 10, "elevator@vda" = "mq-deadline" }.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tunables: BTreeMap<String, Value>,
    /// What to measure: context_switches, wakeup_latency.p99, tasks.io.real, tasks.*.real; every metric, if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<String>>,
    /// How many seeds (from 1 up), or a list of them; 10, if left out.
    #[serde(default)]
    pub seeds: Seeds,
    /// Lists of values by the path of the field that takes them: "scheduler.slice" = ["100ms", "50ms"].
    #[serde(default, skip_serializing_if = "nothing_swept")]
    pub sweep: Sweep,
    /// What is better.
    #[serde(default, skip_serializing_if = "no_goal")]
    pub goal: Goal,
    /// What a tuner may change, by the path of the field: "scheduler.slice" = { low = "1ms", high = "1s" }, or a list of values. If
    /// left out, the parameters of the policies that are named.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub space: Space,
}

fn nothing_swept(sweep: &Sweep) -> bool {
    *sweep == Sweep::default()
}

fn no_goal(goal: &Goal) -> bool {
    *goal == Goal::default()
}

/// The seeds of an experiment; every cell is run with each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Seeds {
    /// The seeds from 1 to this number.
    Count(#[schemars(range(min = 1))] u64),
    /// These seeds.
    List(#[schemars(length(min = 1))] Vec<u64>),
}

impl Default for Seeds {
    /// Ten: enough to see the spread, and fast.
    fn default() -> Self {
        Seeds::Count(10)
    }
}

impl Seeds {
    /// How many there are.
    #[allow(clippy::len_without_is_empty, reason = "never empty once read")]
    pub fn len(&self) -> u64 {
        match self {
            Seeds::Count(count) => *count,
            Seeds::List(list) => list.len() as u64,
        }
    }

    /// Each in turn.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        let (count, list) = match self {
            Seeds::Count(count) => (*count, &[][..]),
            Seeds::List(list) => (0, &list[..]),
        };
        (1..=count).chain(list.iter().copied())
    }
}

impl<'de> Deserialize<'de> for Seeds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> de::Visitor<'de> for Written {
            type Value = Seeds;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seeds from 1, or a list of seeds")
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Seeds, E> {
                match count {
                    0 => Err(E::invalid_value(de::Unexpected::Unsigned(0), &self)),
                    _ => Ok(Seeds::Count(count)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seeds: A) -> Result<Seeds, A::Error> {
                let mut list = Vec::new();
                let mut seen = BTreeSet::new();
                while let Some(seed) = seeds.next_element()? {
                    list.push(seed);
                    if !seen.insert(seed) {
                        return Err(de::Error::custom(format!(
                            "has {seed} twice; an identical run adds no information"
                        )));
                    }
                }
                match list.is_empty() {
                    true => Err(de::Error::custom("has no seeds")),
                    false => Ok(Seeds::List(list)),
                }
            }
        }
        from.deserialize_any(Written)
    }
}

/// Metrics of which less, or more, is better, and what has to hold meanwhile.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    /// Less is better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub minimize: Vec<String>,
    /// More is better.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub maximize: Vec<String>,
    /// Conditions that a setting has to meet: "tasks.player.deadline_misses = 0", "tasks.hog.share >= 20%".
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep: Vec<String>,
    /// How much each metric counts, if they shall not count alike: "wakeup_latency.p99" = 3.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
}

impl Goal {
    /// What has to hold, read. Fails only if the goal was not checked with the same table.
    pub fn conditions(&self, table: &[MetricInfo]) -> Result<Vec<Condition>, Problem> {
        let at = path::Path::top("goal").key("keep");
        let read = |(place, text): (usize, &String)| keep::read(&at.index(place), text, table);
        let all: Result<Vec<_>, _> = self.keep.iter().enumerate().map(read).collect();
        all.map_err(|fault| fault.in_file("experiment", None, &Value::Null))
    }
}
