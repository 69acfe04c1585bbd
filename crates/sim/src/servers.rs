//! The tasks of a message-passing kernel: their numbers and names, where they take messages, and their alarms.

use crate::{files::Files, process::Message};
use schedlab_disk::{Block, Rotating};
use schedlab_model::{Nanos, task::TaskId};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// The kernel's own tasks, created first and in this order.
pub(crate) const CLOCK: TaskId = 0;
pub(crate) const SYSTEM: TaskId = 1;
pub(crate) const DISK: TaskId = 2;
pub(crate) const TERMINAL: TaskId = 3;
pub(crate) const MEMORY: TaskId = 4;
pub(crate) const FILES: TaskId = 5;
/// Their names, by number.
pub(crate) const NAMES: [&str; 6] = ["clock", "system", "disk", "terminal", "memory", "files"];
/// How many there are, and how many of them are drivers.
pub(crate) const KERNEL_TASKS: u32 = NAMES.len() as u32;
pub(crate) const DRIVERS: u32 = 4;

/// What a kernel process waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receiving {
    Nothing,
    Anything,
    Answer,
    Interrupt,
}

/// Where a kernel process takes messages.
#[derive(Debug)]
pub(crate) struct Port {
    pub receiving: Receiving,
    /// Tasks that wait to deliver a message, with the message.
    pub senders: VecDeque<(TaskId, Message)>,
    /// An interrupt came while its task did not wait for it.
    pub event: bool,
}

/// Ports, alarms and the command that the drive is carrying out.
#[derive(Debug)]
pub(crate) struct Servers {
    pub ports: Vec<Port>,
    /// When, whose, and which of its waits it ends.
    pub alarms: BinaryHeap<Reverse<(Nanos, TaskId, u32)>>,
    /// Alarms that have expired, for the memory manager to act on.
    pub rung: Vec<(TaskId, u32)>,
    /// Block under the heads, the time of its request, and sectors still to come.
    pub transfer: Option<(Block, Nanos, u8)>,
    pub files: Files,
    /// Without one, everything is in the cache.
    pub drive: Option<Rotating>,
}

impl Servers {
    pub fn new(files: Files, drive: Option<Rotating>) -> Servers {
        let port = || Port { receiving: Receiving::Anything, senders: VecDeque::new(), event: false };
        Servers {
            ports: (0..KERNEL_TASKS).map(|_| port()).collect(),
            alarms: BinaryHeap::new(),
            rung: Vec::new(),
            transfer: None,
            files,
            drive,
        }
    }

    pub fn set_alarm(&mut self, when: Nanos, task: TaskId, number: u32) {
        self.alarms.push(Reverse((when, task, number)));
    }

    pub fn has_alarms(&self) -> bool {
        !self.alarms.is_empty()
    }

    /// The command that the drive is carrying out: whose, and since when.
    pub fn unfinished(&self) -> Option<(TaskId, Nanos)> {
        self.transfer.map(|(_, began, _)| (DISK, began))
    }

    pub fn alarm_due(&self, now: Nanos) -> bool {
        self.alarms.peek().is_some_and(|Reverse((when, ..))| *when <= now)
    }
}
