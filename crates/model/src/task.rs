//! A task as a scheduler may see it: what a kernel could know, never how long it will still run.

use crate::{Nanos, processors::CpuSet};

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
    /// SCHED_IDLE: only time that no other task wants.
    Idle,
    /// SCHED_FIFO: real time, runs until it blocks.
    Fifo,
    /// SCHED_RR: real time, in turns.
    Rr,
    /// SCHED_ISO of the -ck kernels: near real time without privilege, up to a share of the processor.
    Iso,
    /// SCHED_DEADLINE: a reservation of so much time in every period.
    Deadline,
}

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// A time.
    Timer,
    /// A signal.
    Signal,
    /// The end of a child.
    Child,
    /// A lock that another task holds.
    Lock,
    /// A message in a pipe.
    Pipe,
    /// A drive.
    Disk,
    /// A message of another process of a message-passing kernel, or the answer to one.
    Message,
}

/// Processor time that a task asks for in every period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    /// So much of it.
    pub runtime: Nanos,
    /// By so long after each period's begin.
    pub deadline: Nanos,
    /// The length of the period.
    pub period: Nanos,
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
    /// Session (terminal, login) to which it belongs; forks stay in it.
    pub session: u16,
    /// Slice requested by the task itself, if any.
    pub slice: Option<Nanos>,
    /// What it asks for in every period, if anything.
    pub reservation: Option<Reservation>,
    /// Processors it may use.
    pub allowed: CpuSet,
    /// Processor it last ran on, or was put on.
    pub cpu: CpuId,
    /// Task that forked it, if any.
    pub parent: Option<TaskId>,
}

impl Task {
    /// An ordinary user's task with nothing asked for, in the root group. It was on processor 0 last, or was nowhere yet.
    ///
    /// ```
    /// use schedlab_model::{processors::CpuSet, task::{Policy, Task}};
    ///
    /// let nicer = Task { nice: 5, ..Task::ordinary(3, CpuSet::all(2)) };
    /// assert_eq!((nicer.id, nicer.nice, nicer.policy), (3, 5, Policy::Other));
    /// ```
    pub fn ordinary(id: TaskId, allowed: CpuSet) -> Self {
        Task {
            id,
            class: Class::User,
            policy: Policy::Other,
            priority: 0,
            nice: 0,
            group: 0,
            session: 0,
            slice: None,
            reservation: None,
            allowed,
            cpu: 0,
            parent: None,
        }
    }

    /// The processor where it was last, or, if it may no longer run there, the first one that it may use.
    #[inline]
    pub fn last_or_first(&self) -> CpuId {
        if self.allowed.has(self.cpu) { self.cpu } else { self.allowed.first().unwrap_or(self.cpu) }
    }
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
    /// What it may use of a quota that earlier periods have left, in a period.
    pub burst: Nanos,
}

impl Group {
    /// The group that holds every task which names no other.
    pub const ROOT: Group = Group { parent: 0, weight: 1024, quota: None, burst: 0 };
}
