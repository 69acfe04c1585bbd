//! The one schema: machine + workload + policies make a scenario; scenarios x seeds + question make an experiment.

use crate::{
    attention::Attending,
    machine::Machine,
    program::{Forever, Span, Step, Times},
    replay::Replay,
    request::IoClass,
    task::Policy,
    units::{Duration, Rate, Size},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// A value of a policy's or load's parameter, as written.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// true or false.
    Switch(bool),
    /// A whole number.
    Count(u64),
    /// A quantity with its unit, or a name.
    Text(String),
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl de::Visitor<'_> for Written {
            type Value = Setting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, a whole number, or a text such as \"36ms\"")
            }
            fn visit_bool<E: de::Error>(self, switch: bool) -> Result<Setting, E> {
                Ok(Setting::Switch(switch))
            }
            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Setting, E> {
                Ok(Setting::Count(count))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Setting, E> {
                Ok(Setting::Text(text.to_owned()))
            }
        }
        from.deserialize_any(Written)
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Switch(v) => v.fmt(f),
            Setting::Count(v) => v.fmt(f),
            Setting::Text(v) => v.fmt(f),
        }
    }
}

/// A policy and its parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// Name in the table of its family.
    pub name: String,
    /// Parameters of that policy.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Setting>,
}

/// One entry of the workload: a program, and the tasks that run it. A program is either a ready-made `load`
/// with its parameters or `steps` written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// Name in the table of workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// The program, step by step, instead of a load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<Step>>,
    /// Tasks of a recording, which do again what they did there: those that the recording has under this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<String>,
    /// Tasks that run the program.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Passes over the program; a run does not wait for jobs that go on "forever".
    #[serde(default = "once")]
    pub passes: Times,
    /// When requests arrive, from the start of the job on. Its tasks are a pool: each takes the oldest request, makes a pass over the
    /// program for it, and takes the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<Arrivals>,
    /// How many requests arrive before the pool ends; without end, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u32>,
    /// When the first task starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Span>,
    /// Time between the starts of two tasks (an exponential one makes Poisson arrivals).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Span>,
    /// Nice value, -20 to 20.
    #[serde(default)]
    #[schemars(range(min = -20, max = 20))]
    pub nice: i8,
    /// Scheduling policy.
    #[serde(default)]
    pub policy: Policy,
    /// Real-time priority, 1 to 99, under "fifo" and "rr".
    #[serde(default)]
    #[schemars(range(max = 99))]
    pub priority: u8,
    /// Slice that each task asks for, where the scheduler heeds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice: Option<Duration>,
    /// Class of its requests to a drive; by its policy and nice value, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_class: Option<IoClass>,
    /// Level within that class, 0 (first) to 7; 4, if only the class is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 7))]
    pub io_level: Option<u8>,
    /// Processors it may use, at least one; all, if not given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub cpus: Vec<u16>,
    /// Group it belongs to; the root group, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Session (terminal, login) of its tasks; one of its own for each job, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Processor time that each task asks for in every period; must be given under the policy "deadline".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reservation: Option<ReservationSpec>,
    /// Memory that each task uses again and again, and so wants in the processor's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<Size>,
    /// Parameters of the load.
    #[serde(flatten)]
    pub settings: BTreeMap<String, Setting>,
}

/// When the requests of an open load arrive: whether earlier ones have been served or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At random and independently of each other, at that rate: `{ poisson = "1200/s" }`.
    Poisson(Rate),
    /// Each that long after the one before: `{ every = "2ms" }`.
    Every(Span),
    /// Several at once.
    Bursts(Bursts),
    /// At these times after the start of the job, in order, and no more: `{ recorded = ["1ms", "1.2ms"] }`; or in a file, one a line,
    /// in seconds or with a unit: `{ recorded = { file = "times.txt" } }`.
    Recorded(#[schemars(with = "RecordedTimes")] Vec<Duration>),
}

/// How recorded times are written in an experiment file; a scenario has the times.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "for the schema")]
enum RecordedTimes {
    /// The times themselves.
    Times(Vec<Duration>),
    /// The name of a file of times, from the folder of the experiment file.
    InFile(FileOfTimes),
}

#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "for the schema")]
struct FileOfTimes {
    /// Its name.
    file: String,
}

/// Bursts of requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bursts {
    /// Requests that arrive at once.
    pub size: u32,
    /// Time from one burst to the next.
    pub every: Span,
}

impl Job {
    /// Passes over the program by each task: those of a pool go on until no request comes any more.
    pub fn passes(&self) -> Times {
        if self.arrivals.is_some() { Times::Word(Forever::Forever) } else { self.passes }
    }

    /// Whether its tasks end by themselves, if their program does: the passes or the requests are counted.
    pub fn is_finite(&self) -> bool {
        match self.arrivals {
            None => self.passes.count().is_some(),
            Some(Arrivals::Recorded(_)) => true,
            Some(_) => self.requests.is_some(),
        }
    }
}

/// What tasks share beyond locks and endless pipes, by its name in their steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// A pipe for that many messages: `{ queue = 64 }`. A task that sends to a full one waits.
    Queue(u32),
    /// A semaphore with that many permits at the start: `{ semaphore = 3 }`.
    Semaphore(u32),
    /// A barrier for that many tasks: `{ barrier = 4 }`.
    Barrier(u32),
    /// A lock with a protocol against priority inversion: `{ lock = "inherit" }`, `{ lock = { ceiling = 80 } }`. A lock that is not
    /// declared is one with `{ lock = "none" }`.
    Lock(Protocol),
}

/// What a lock does for its holder while tasks of a higher priority wait for it, as the protocols of POSIX mutexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// PTHREAD_PRIO_NONE: nothing; waiters are ordered by their requests.
    #[default]
    None,
    /// PTHREAD_PRIO_INHERIT: its holder has the priority of its first waiter, if that is higher; waiters are ordered by their priorities.
    Inherit,
    /// PTHREAD_PRIO_PROTECT: its holder has this real-time priority. Only tasks under "fifo" and "rr", of at most that priority, may lock it.
    Ceiling(u8),
}

/// Processor time that a task asks for in every period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReservationSpec {
    /// So much of it.
    pub runtime: Duration,
    /// By so long after each period's begin; its end, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Duration>,
    /// The length of the period.
    pub period: Duration,
}

fn one() -> u32 {
    1
}

fn once() -> Times {
    Times::Count(1)
}

/// A group of tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupSpec {
    /// The group that contains it; the root group, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Share against its siblings.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// Processor time allowed per period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<Duration>,
    /// What periods may leave of their quota for later ones, in addition to that of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Duration>,
    /// The period of the quota.
    #[serde(default = "default_period")]
    pub period: Duration,
    /// Memory that its tasks and the files they read may take up. Only a host can limit it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
}

fn default_weight() -> u32 {
    1024
}

fn default_period() -> Duration {
    Duration(100 * crate::MILLISECOND)
}

/// The policy of reclaim of a scenario that gives none.
pub const RECLAIM: &str = "two_list";

/// What is simulated: a run is a scenario and a seed. The machine is resolved (no preset names).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The machine.
    pub machine: Machine,
    /// The CPU policy.
    pub scheduler: Choice,
    /// The disk policy; `fifo`, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elevator: Option<Choice>,
    /// The eviction policy of the block cache; `lru`, if not given. An experiment that gives none has, where memory has a size, the
    /// lists of the policy of reclaim (`two_list`), if there is an eviction policy of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Choice>,
    /// The policy by which pages leave when memory is short; [`RECLAIM`], if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reclaim: Option<Choice>,
    /// Jobs by name.
    pub workload: BTreeMap<String, Job>,
    /// Groups by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub groups: BTreeMap<String, GroupSpec>,
    /// Bounded queues, semaphores and barriers by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shared: BTreeMap<String, Shared>,
    /// The run ends at this time at the latest; else when every finite job has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// Attention levels of its jobs. Those that are not enabled are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attention: Option<Attending>,
    /// Settings of a real machine by the names of its tunables. A simulated one has none: what they do there is set with
    /// its policies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tunables: BTreeMap<String, Setting>,
    /// The recording whose tasks its jobs replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<Recording>,
}

/// Recorded work that jobs replay: a file that `schedlab whatif --write` has written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Its name, from the folder of the experiment file.
    pub file: String,
    /// The SHA-256 of its content, in hexadecimal digits: results depend on what is in the file.
    #[schemars(length(equal = 64))]
    pub sha256: String,
    /// How fast processors compute what was recorded, from 0.01 to 100: 1.1 makes a computation of 11 ms one of 10 ms, and what comes
    /// before a woken task runs shorter, too. Default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.01, max = 100.0))]
    pub speed: Option<f64>,
    /// What is in it, once it was read; at that speed.
    #[serde(skip)]
    pub work: Option<Arc<Replay>>,
}
