//! A simulated machine as data: processors, clock, costs, files, disk, terminal. Presets are in `machines/`,
//! with a source for every value.

mod drives;
mod idle;
mod layout;
mod storage;

use crate::{
    program::Span,
    units::{Duration, Rate, Size},
};
pub use drives::{Disk, DiskQueue, SeekCurve, SolidState};
pub use idle::{IdleState, exit_latency};
pub use layout::{Layout, Numbering};
use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{
        self, IntoDeserializer,
        value::{MapAccessDeserializer, SeqAccessDeserializer},
    },
};
use std::{collections::BTreeMap, fmt, marker::PhantomData};
pub use storage::{Files, Memory, Sizing, WriteBack};

/// A value, alone or with where it comes from: `3` or `{ value = 3, source = "data sheet" }`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Sourced<T> {
    /// A value with its origin.
    With {
        /// The value.
        value: T,
        /// A source, or how it was fitted.
        source: String,
    },
    /// A bare value, as users write it.
    Bare(T),
}

impl<T: Copy> Sourced<T> {
    /// The value itself.
    pub fn get(&self) -> T {
        match self {
            Sourced::With { value, .. } | Sourced::Bare(value) => *value,
        }
    }
}

impl<T> Sourced<T> {
    /// The value, where it is.
    pub fn value(&self) -> &T {
        match self {
            Sourced::With { value, .. } | Sourced::Bare(value) => value,
        }
    }
}

impl<T: Default> Default for Sourced<T> {
    fn default() -> Self {
        Sourced::Bare(T::default())
    }
}

/// Reads either form, so that a wrong value is described by the value's own type.
impl<'de, T: Deserialize<'de>> Deserialize<'de> for Sourced<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Written<T> {
            type Value = Sourced<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value, or a table with value and source")
            }
            fn visit_bool<E: de::Error>(self, bare: bool) -> Result<Sourced<T>, E> {
                T::deserialize(bare.into_deserializer()).map(Sourced::Bare)
            }
            fn visit_u64<E: de::Error>(self, bare: u64) -> Result<Sourced<T>, E> {
                T::deserialize(bare.into_deserializer()).map(Sourced::Bare)
            }
            fn visit_i64<E: de::Error>(self, bare: i64) -> Result<Sourced<T>, E> {
                T::deserialize(bare.into_deserializer()).map(Sourced::Bare)
            }
            fn visit_f64<E: de::Error>(self, bare: f64) -> Result<Sourced<T>, E> {
                T::deserialize(bare.into_deserializer()).map(Sourced::Bare)
            }
            fn visit_str<E: de::Error>(self, bare: &str) -> Result<Sourced<T>, E> {
                T::deserialize(bare.into_deserializer()).map(Sourced::Bare)
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Sourced<T>, A::Error> {
                T::deserialize(SeqAccessDeserializer::new(list)).map(Sourced::Bare)
            }
            fn visit_map<A: de::MapAccess<'de>>(self, table: A) -> Result<Sourced<T>, A::Error> {
                let With { value, source } = With::deserialize(MapAccessDeserializer::new(table))?;
                Ok(Sourced::With { value, source })
            }
        }
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct With<T> {
            value: T,
            source: String,
        }
        from.deserialize_any(Written(PhantomData))
    }
}

/// What a system call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Personality {
    /// It runs in the caller's context and may sleep there.
    #[default]
    Monolithic,
    /// File server, memory manager and drivers are tasks of their own, with rendezvous messages (Minix).
    MessagePassing,
}

/// How processor time is charged for the counters that users see. The exact time is always kept as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Accounting {
    /// By the clock at every switch.
    #[default]
    Exact,
    /// A tick charges its whole length to the running task.
    Sampled,
}

/// Whose time interrupts and switching are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InterruptAccounting {
    /// No task's: they are counted separately.
    #[default]
    Apart,
    /// System time of the running task, charged to it by its scheduler (4BSD; Linux without CONFIG_IRQ_TIME_ACCOUNTING).
    Task,
}

/// The preemption model of the kernel, as Linux names it: when a task inside the kernel can be preempted. In user mode it always
/// can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preemption {
    /// On its return to its own code, or when it waits.
    None,
    /// Also between two parts of a system call, and anywhere in the copying and giving back of a process's memory (fork and
    /// exit), which looks after every few pages.
    Voluntary,
    /// As `none`, but at the next clock tick at the latest.
    Lazy,
    /// At once.
    #[default]
    Full,
}

/// When timers expire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimerResolution {
    /// At the time asked for.
    #[default]
    Exact,
    /// At the first clock tick from then on (kernels without high-resolution timers).
    Tick,
}

/// The cache of a processor. A task that comes back after others have run finds a part of its data evicted and loads
/// it again while it runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Its size.
    pub size: Sourced<Size>,
    /// Time to load one KiB from memory.
    pub fill_per_kib: Sourced<Duration>,
    /// Time to load one KiB from another node's memory; as from its own, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_fill_per_kib: Option<Sourced<Duration>>,
}

/// A device that interrupts of itself: a sound card, a network.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Time from one interrupt to the next.
    pub every: Span,
    /// Processor time of its handler.
    #[serde(default)]
    pub cost: Sourced<Duration>,
    /// The processor that handles it.
    #[serde(default)]
    pub cpu: u16,
}

fn costs_nothing(cost: &Sourced<Duration>) -> bool {
    *cost == Sourced::default()
}

fn is_plain(layout: &Layout) -> bool {
    *layout == Layout::default()
}

fn one_node() -> Sourced<u16> {
    Sourced::Bare(1)
}

/// A simulated machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Name of the preset, or of the user's own.
    pub name: String,
    /// One line.
    #[serde(default)]
    pub title: String,
    /// Number of processors, 1 to 1,024.
    pub processors: Sourced<u16>,
    /// What a system call is.
    #[serde(default)]
    pub personality: Personality,
    /// How time is charged.
    #[serde(default)]
    pub accounting: Accounting,
    /// Whose time interrupts and switching are.
    #[serde(default)]
    pub interrupt_accounting: InterruptAccounting,
    /// When a task inside the kernel can be preempted.
    #[serde(default)]
    pub preemption: Preemption,
    /// Whether the processes of the workload's tasks are made before the run and taken away after it, as on a live host. Their
    /// end costs nothing then; that of a forked child costs what it costs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub prepared: bool,
    /// The periodic clock.
    #[serde(default)]
    pub clock: Clock,
    /// Costs of entering, leaving and switching.
    #[serde(default)]
    pub costs: Costs,
    /// The idle states of each processor, shallowest first; none if it leaves them in no time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_states: Vec<IdleState>,
    /// The cache of each processor; none means that a switch leaves nothing to be loaded again.
    #[serde(default)]
    pub cache: Option<Cache>,
    /// Memory nodes, over which the processors are spread in blocks of equal size.
    #[serde(default = "one_node")]
    pub nodes: Sourced<u16>,
    /// Threads, cores and caches of each node; if not given, each processor is a core and those of a node share a cache.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub topology: Layout,
    /// Devices that interrupt of themselves, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub devices: BTreeMap<String, Device>,
    /// Processor time of system calls, executed by the caller or by a server.
    #[serde(default)]
    pub calls: Calls,
    /// The file system and its cache.
    #[serde(default)]
    pub files: Files,
    /// The rotating drive under the file system; no drive of any kind means that everything is in the cache.
    #[serde(default)]
    pub disk: Option<Disk>,
    /// A solid-state drive in place of the rotating one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub solid_state: Option<SolidState>,
    /// The queue of requests above the drive.
    #[serde(default)]
    pub queue: DiskQueue,
    /// The terminal.
    #[serde(default)]
    pub terminal: Terminal,
    /// Memory of programs.
    #[serde(default)]
    pub memory: Memory,
}

/// The periodic clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Ticks per second.
    pub hz: Sourced<Rate>,
    /// Ticks per second of a statistics clock, which charges in place of the periodic one (BSD `stathz`); none if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stat_hz: Option<Sourced<Rate>>,
    /// When the first tick comes, within a tick of the run's begin; drawn anew for each seed, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Sourced<Duration>>,
    /// When timers expire.
    #[serde(default)]
    pub timers: TimerResolution,
    /// Time that a tick's interrupt takes from the running task.
    #[serde(default)]
    pub interrupt: Sourced<Duration>,
    /// From the expiry of an exact timer to the end of its interrupt, which takes this time from the running task and then wakes
    /// a task; no time, if not given. (Monolithic kernels only.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_interrupt: Option<Sourced<Duration>>,
    /// Processor time of the clock task when a tick must wake it (message passing only).
    #[serde(default)]
    pub task: Sourced<Duration>,
}

impl Default for Clock {
    fn default() -> Self {
        Clock {
            hz: Sourced::Bare(Rate(100.0)),
            stat_hz: None,
            phase: None,
            timers: TimerResolution::Exact,
            interrupt: Sourced::default(),
            timer_interrupt: None,
            task: Sourced::default(),
        }
    }
}

/// Costs of moving between tasks and the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// Saving one task's registers and loading another's.
    pub context_switch: Sourced<Duration>,
    /// What a switch costs more to a task that last ran on another processor.
    pub migration: Sourced<Duration>,
    /// Entering and leaving the kernel; in a message-passing kernel, per message operation.
    pub trap: Sourced<Duration>,
    /// A device interrupt.
    pub interrupt: Sourced<Duration>,
    /// Copying one KiB between a server or the kernel and a program.
    pub copy_per_kib: Sourced<Duration>,
}

/// Processor time of system calls, without traps and copies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Calls {
    /// Reading one block that is in the cache.
    pub read: Sourced<Duration>,
    /// Writing one block.
    pub write: Sourced<Duration>,
    /// Opening a file whose directory is in the cache.
    pub open: Sourced<Duration>,
    /// Closing a file.
    pub close: Sourced<Duration>,
    /// Creating a process: the parent's part.
    pub fork: Sourced<Duration>,
    /// The child's part: from its first turn to its program's begin.
    #[serde(skip_serializing_if = "costs_nothing")]
    pub start: Sourced<Duration>,
    /// Ending a process.
    pub exit: Sourced<Duration>,
    /// Waiting for the end of a child; as `manage`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait: Option<Sourced<Duration>>,
    /// Sleeping until a time; as `manage`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sleep: Option<Sourced<Duration>>,
    /// Sending a message through a pipe; as `manage`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<Sourced<Duration>>,
    /// Receiving one that is there; as `manage`, if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<Sourced<Duration>>,
    /// What a call costs more that wakes a task, for each task that it wakes: a message for which one waits, a lock's return, a signal.
    /// It comes after the wakeup. The end of a child has it in `exit`. (Monolithic kernels only, as `block`.)
    #[serde(skip_serializing_if = "costs_nothing")]
    pub wake: Sourced<Duration>,
    /// What a call costs more that has to wait for another task (a message, a lock, a child, a signal). It comes when the wait is
    /// over. A sleep has it in `sleep`.
    #[serde(skip_serializing_if = "costs_nothing")]
    pub block: Sourced<Duration>,
    /// Waiting for a lock that is held, or waking the task that waits for one. Locks and semaphores are futexes then: a free one is taken,
    /// and one for which no task waits is given back, without a call; and a running task takes one before a waiter that is woken for it.
    /// If not given, every use of a lock is a call that costs `manage`, and locks and permits are handed to the longest waiter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub futex: Option<Sourced<Duration>>,
    /// Any other call of the memory manager (alarm, kill, memory).
    pub manage: Sourced<Duration>,
    /// A page fault, without what it waits for.
    pub fault: Sourced<Duration>,
    /// Examining one page that may be reclaimed.
    pub scan: Sourced<Duration>,
}

/// The terminal.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Terminal {
    /// Processor time to put one KiB on the screen.
    pub per_kib: Sourced<Duration>,
}
