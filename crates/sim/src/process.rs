//! The kernel's own record of a task: what it is about to do. Schedulers never see it.

use crate::{drive::Block, messages::Message};
use schedlab_model::{Nanos, program::Demand, rng::Rng, task::TaskId};
use schedlab_workloads::program::MAX_DEPTH;
use std::collections::VecDeque;

/// Whose code a stretch of running is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    User,
    System,
}

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A time.
    Sleep,
    /// A signal.
    Signal,
    /// The end of a child.
    Child,
    /// A lock or a pipe.
    Resource,
    /// A drive.
    Disk,
    /// A message (kernel processes), or the answer to one that no signal interrupts.
    Message,
}

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Unborn,
    Ready,
    Running,
    Waiting(Wait),
    Dead,
}

/// What a program asks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Call {
    /// Costs so much and waits for nothing.
    Plain(Nanos),
    Open(u16),
    Read(u64),
    Close,
    Print(u64),
    Lock(u16),
    Unlock(u16),
    Send(u16),
    Receive(u16),
    /// Until that time.
    Sleep(Nanos),
    Fork(u32),
    Wait,
    Signal,
    Pause,
    Grow(Demand),
    Exit,
}

/// What comes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// The caller goes on; what its agenda has comes first.
    Done,
    /// The caller waits.
    Waits(Wait),
    /// The caller has ended, of itself or cut off.
    Ended { cut_off: bool },
}

/// What a task does next inside the kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Runs for so long.
    Burst(Nanos, Mode),
    /// Carries out the call of that task; the caller goes on if it need not wait.
    Serve(TaskId, Call),
    /// Waits until the drive has transferred these blocks.
    Transfer(Box<[Block]>),
    /// Asks the drive for these blocks and goes on.
    ReadAhead(Box<[Block]>),
    /// Sends a message and waits for the answer.
    SendReceive(TaskId, Message),
    /// Answers a task that waits for it.
    Reply(TaskId),
    /// The disk task has the drive read a block.
    Command(Block),
    /// The disk task waits for the drive's interrupt.
    AwaitInterrupt,
    /// The clock task looks after alarms and the quantum.
    ClockWork,
    /// The memory manager answers those whose alarms have rung.
    RingAlarms,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFile {
    pub set: u16,
    pub index: u32,
    pub position: u64,
}

/// The record.
#[derive(Debug)]
pub(crate) struct Process {
    /// What is left of the present stretch of running.
    pub left: Nanos,
    pub mode: Mode,
    pub state: State,
    /// Counts waits, so that a timer of an earlier one is known to be stale.
    pub wait: u32,
    pub job: u16,
    pub program: u32,
    pub next_instruction: u32,
    /// Passes done of each loop around the present instruction.
    pub loops: [u32; MAX_DEPTH],
    pub rng: Rng,
    /// What it does in the kernel before its program goes on.
    pub agenda: VecDeque<Action>,
    pub began: Nanos,
    pub pass_began: Nanos,
    /// The last deadline so far.
    pub deadline: Nanos,
    pub file: Option<OpenFile>,
    /// How many files of each set it has opened.
    pub opened: Vec<u32>,
    /// Children that have ended and were not waited for.
    pub zombies: u32,
    /// Children alive.
    pub children: u32,
    /// Signals whose handler has not begun.
    pub signals: u32,
    /// Bytes it holds.
    pub memory: u64,
}

impl Process {
    pub fn new(job: u16, program: u32, rng: Rng) -> Process {
        Process {
            left: 0,
            mode: Mode::User,
            state: State::Unborn,
            wait: 0,
            job,
            program,
            next_instruction: 0,
            loops: [0; MAX_DEPTH],
            rng,
            agenda: VecDeque::new(),
            began: 0,
            pass_began: 0,
            deadline: 0,
            file: None,
            opened: Vec::new(),
            zombies: 0,
            children: 0,
            signals: 0,
            memory: 0,
        }
    }
}
