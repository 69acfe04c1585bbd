//! What programs share, and devices that interrupt of themselves.

use schedlab_model::{
    Nanos,
    machine::Sizing,
    program::Span,
    task::{CpuId, TaskId},
};
use std::collections::VecDeque;

/// A device that interrupts on its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Device {
    pub every: Span,
    pub cost: Nanos,
    pub cpu: CpuId,
}

/// Locks, pipes and the memory that programs are known to want.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    pub locks: Vec<Lock>,
    pub pipes: Vec<Pipe>,
    pub sizing: Sizing,
    /// For each job, the most that a run of its program has held at its end.
    pub high_water: Vec<Option<u64>>,
}

/// The holder of a lock and its waiters.
#[derive(Debug, Default, Clone)]
pub(crate) struct Lock {
    pub holder: Option<TaskId>,
    pub waiting: VecDeque<TaskId>,
}

/// Messages in a pipe (without limit), or tasks that wait for one.
#[derive(Debug, Default, Clone)]
pub(crate) struct Pipe {
    pub messages: u64,
    pub waiting: VecDeque<TaskId>,
}
