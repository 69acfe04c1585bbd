//! A processor: what runs on it, and how long its runqueue is.

use crate::{blocks::Curve, cause::Interrupts};
use schedlab_traces::kernel::Pid;

/// Lengths of runqueues that are distinguished; longer ones count as the last.
pub(crate) const LENGTHS: usize = 17;

/// What is known of who has the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Current {
    /// Nothing was seen of it yet.
    Unseen,
    /// This task, since its last switch.
    Known(Pid),
    /// Its task was seen elsewhere: events are missing, and that was counted.
    Missing,
}

/// A processor of a recording. Times in ns.
#[derive(Debug)]
pub(crate) struct Processor {
    pub current: Current,
    /// The next task of its last switch, which has to be the previous one of the next.
    pub next_pid: Pid,
    /// Its last switch.
    pub since: u64,
    pub interrupts: Interrupts,
    /// Tasks that wait in its runqueue.
    pub waiting: u32,
    /// Whether a task runs, whichever it is.
    pub busy: bool,
    /// Time for which tasks, and the idle task, had it for certain.
    pub ran: u64,
    pub idle: u64,
    pub switches: u64,
    /// Up to when `lengths` is counted.
    pub counted: u64,
    /// Time by length of the runqueue, the running task included.
    pub lengths: [u64; LENGTHS],
    /// Sum of length times time, task ns.
    pub queued: u128,
    pub longest: u32,
    /// Length times time by blocks of the recording.
    pub curve: Curve,
    /// Time it was idle while a task waited for another processor.
    pub wasted: u64,
    /// The clock of such moments when it became free; see `queues`.
    pub free_since: Option<u64>,
}

impl Processor {
    pub fn new(now: u64) -> Processor {
        Processor {
            current: Current::Unseen,
            next_pid: 0,
            since: now,
            interrupts: Interrupts::default(),
            waiting: 0,
            busy: false,
            ran: 0,
            idle: 0,
            switches: 0,
            counted: now,
            lengths: [0; LENGTHS],
            queued: 0,
            longest: 0,
            curve: Curve::default(),
            wasted: 0,
            free_since: None,
        }
    }
}
