//! A task as a scheduler may see it: what a kernel could know, never how long it will still run.

use crate::Nanos;

/// Index of a task in a run, from 0, never reused.
pub type TaskId = u32;
/// Index of a processor.
pub type CpuId = u16;
/// Index of a task group; 0 is the root group.
pub type GroupId = u16;

/// Which kind of code a task runs. Message-passing kernels queue the three apart, by strict priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// A driver or other kernel task (Minix: clock, system, disk, terminal).
    KernelTask,
    /// A server (Minix: file server, memory manager).
    Server,
    /// Everything else.
    User,
}

/// The scheduling policy that a task asks for, by its POSIX or Linux name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// SCHED_OTHER: shared by nice level.
    #[default]
    Other,
    /// SCHED_BATCH: throughput rather than response.
    Batch,
    /// SCHED_IDLE: only what nobody else wants.
    Idle,
    /// SCHED_FIFO: real time, runs until it blocks.
    Fifo,
    /// SCHED_RR: real time, in turns.
    Rr,
}

/// What a scheduler knows of a task.
#[derive(Debug, Clone)]
pub struct Task {
    /// Its index.
    pub id: TaskId,
    /// Kernel task, server or user.
    pub class: Class,
    /// Requested policy.
    pub policy: Policy,
    /// Real-time priority 1..99 under [`Policy::Fifo`] and [`Policy::Rr`], else 0.
    pub priority: u8,
    /// Nice value, -20 (favoured) to 20.
    pub nice: i8,
    /// Group it belongs to.
    pub group: GroupId,
    /// Slice asked for by the task itself, if any.
    pub slice: Option<Nanos>,
    /// Processors it may use, a bit each.
    pub allowed: u64,
    /// Processor it last ran on, or was put on.
    pub cpu: CpuId,
    /// Task that forked it, if any.
    pub parent: Option<TaskId>,
}

/// A node of the group tree (a cgroup, or an autogroup).
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The group that contains it; the root contains itself.
    pub parent: GroupId,
    /// Its share against its siblings; 1024 is the default of Linux.
    pub weight: u32,
    /// Processor time allowed per period, if limited: (quota, period).
    pub quota: Option<(Nanos, Nanos)>,
}

impl Group {
    /// The group that holds every task which names no other.
    pub const ROOT: Group = Group { parent: 0, weight: 1024, quota: None };
}
