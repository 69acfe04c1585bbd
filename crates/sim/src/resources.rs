//! What programs share, and devices that interrupt of themselves. These are only states and rules; who waits and wakes is in `sharing.rs`.

use schedlab_model::{
    Nanos,
    machine::Sizing,
    processors::CpuSet,
    program::{Span, Treatment},
    request::IoClass,
    scenario::Protocol,
    task::{CpuId, GroupId, Policy, Task, TaskId},
};
use schedlab_workloads::arrivals::ArrivalTimes;
use std::collections::{BTreeMap, VecDeque};

/// A device that interrupts on its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    pub every: Span,
    pub cost: Nanos,
    pub cpu: CpuId,
}

/// What programs share, and the memory that they are known to want.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    pub locks: Vec<Lock>,
    pub pipes: Vec<Pipe>,
    pub semaphores: Vec<Semaphore>,
    pub barriers: Vec<Barrier>,
    /// By condition, the tasks that wait for it and the lock that each takes again.
    pub conditions: Vec<VecDeque<(TaskId, u16)>>,
    pub pools: Vec<Pool>,
    /// Changes that tasks make to how they are treated.
    pub changes: Vec<Change>,
    pub sizing: Sizing,
    /// For each job, the most that a run of its program has held at its end.
    pub high_water: Vec<Option<u64>>,
}

/// A lock: one task has it for itself, or several for reading. The kernel's rwsem and its mutex in one: waiters get it in the order of
/// their requests, so a reader that comes behind a waiting writer waits too. A futex is free when it is given back: the waiter that is
/// woken looks for it when it runs, and a task that runs before may have taken it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lock {
    pub protocol: Protocol,
    pub futex: bool,
    /// The waiter of a futex that was woken and has not looked yet. Until then no other one is woken.
    pub looks: Option<TaskId>,
    pub holder: Option<TaskId>,
    pub readers: Vec<TaskId>,
    /// Waiters, and whether each wants it for reading.
    pub waiting: VecDeque<(TaskId, bool)>,
}

impl Lock {
    /// Takes it, if it is free for that.
    pub fn take(&mut self, task: TaskId, reads: bool) -> bool {
        if !self.futex && !self.waiting.is_empty() || !self.admits(reads) {
            return false;
        }
        self.give(task, reads);
        true
    }

    fn admits(&self, reads: bool) -> bool {
        self.holder.is_none() && (reads || self.readers.is_empty())
    }

    fn give(&mut self, task: TaskId, reads: bool) {
        if reads {
            self.readers.push(task);
        } else {
            self.holder = Some(task);
        }
    }

    /// Whether the task has it, for itself or for reading.
    pub fn is_held_by(&self, task: TaskId) -> bool {
        self.holder == Some(task) || self.readers.contains(&task)
    }

    /// Whether a waiter is woken when it is given back.
    pub fn wakes(&self) -> bool {
        self.looks.is_none() && !self.waiting.is_empty()
    }

    /// Gives it back. Giving back what the task does not have changes nothing.
    pub fn give_back(&mut self, task: TaskId) {
        if self.holder == Some(task) {
            self.holder = None;
        } else if let Some(at) = self.readers.iter().position(|&reader| reader == task) {
            self.readers.remove(at);
        }
    }

    /// The next waiter gets it, if it is free for that waiter.
    pub fn next(&mut self) -> Option<TaskId> {
        let &(task, reads) = self.waiting.front()?;
        if !self.admits(reads) {
            return None;
        }
        self.waiting.pop_front();
        self.give(task, reads);
        Some(task)
    }
}

/// A counting semaphore: permits, and tasks that wait for one. A permit that is given goes to the longest waiter; that of a futex is free,
/// and a waiter is woken to look for it.
#[derive(Debug, Default, Clone)]
pub(crate) struct Semaphore {
    pub futex: bool,
    pub permits: u32,
    pub waiting: VecDeque<TaskId>,
}

/// A barrier, and the tasks that wait there.
#[derive(Debug, Default, Clone)]
pub(crate) struct Barrier {
    pub parties: u32,
    pub waiting: Vec<TaskId>,
}

/// Messages in a pipe, by the time at which each was sent, or tasks that wait for one.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pipe {
    pub sent: VecDeque<Nanos>,
    /// How many it holds at most, if there is a limit.
    pub capacity: Option<u32>,
    pub waiting: VecDeque<TaskId>,
    /// Tasks that wait for room, and when each sent its message.
    pub full: VecDeque<(TaskId, Nanos)>,
    /// The pool whose requests these are.
    pub pool: Option<u32>,
    /// The task that received last.
    pub receiver: Option<TaskId>,
    /// Whether no message will come any more.
    pub closed: bool,
}

/// A job whose tasks serve requests.
#[derive(Debug, Clone)]
pub(crate) struct Pool {
    pub job: String,
    /// Its first task.
    pub first: TaskId,
    pub pipe: u16,
    pub times: ArrivalTimes,
    /// Requests that were taken.
    pub taken: u32,
}

/// Of a task that gives a class at the drive and no level.
const MIDDLE_LEVEL: u8 = 4;

/// A class at the drive and a level within it, as a job or a step gives them.
pub(crate) fn io_priority(class: Option<IoClass>, level: Option<u8>) -> Option<(IoClass, u8)> {
    class.map(|class| (class, level.unwrap_or(MIDDLE_LEVEL)))
}

/// A change, ready to be made.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    nice: Option<i8>,
    policy: Option<(Policy, u8)>,
    /// None in it: the scheduler's own.
    slice: Option<Option<Nanos>>,
    allowed: Option<CpuSet>,
    group: Option<GroupId>,
    pub io: Option<(IoClass, u8)>,
    /// The job whose tasks are changed, by its index, if not the task that makes the change.
    pub job: Option<u16>,
}

impl Change {
    pub fn of(treatment: &Treatment, jobs: &[&String], groups: &BTreeMap<String, GroupId>, all: &CpuSet) -> Change {
        let cpus = treatment.cpus.as_ref().map(|cpus| CpuSet::from_iter(cpus.iter().copied()).and(all));
        Change {
            nice: treatment.nice,
            policy: treatment.policy.map(|policy| (policy, treatment.priority.unwrap_or(0))),
            slice: treatment.slice.map(|slice| (slice.0 > 0).then_some(slice.0)),
            allowed: cpus.filter(|cpus| !cpus.is_empty()),
            group: treatment.group.as_ref().map(|name| groups.get(name).copied().unwrap_or(0)),
            io: io_priority(treatment.io_class, treatment.io_level),
            job: treatment.job.as_ref().and_then(|name| jobs.iter().position(|job| *job == name)).map(|job| job as u16),
        }
    }

    /// What it makes of a record. A reservation was granted for the processors that a task may use: it keeps these.
    pub fn apply(&self, task: &mut Task) {
        task.nice = self.nice.unwrap_or(task.nice);
        (task.policy, task.priority) = self.policy.unwrap_or((task.policy, task.priority));
        task.slice = self.slice.unwrap_or(task.slice);
        task.group = self.group.unwrap_or(task.group);
        if task.reservation.is_none() {
            task.allowed = self.allowed.clone().unwrap_or(std::mem::take(&mut task.allowed));
        }
    }
}
