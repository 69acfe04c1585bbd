//! The kernel's own record of a task: what it is about to do. Schedulers never see it.

use crate::storage::{Window, Work};
use schedlab_disk::Block;
use schedlab_model::{
    Nanos,
    page::PageId,
    program::{Demand, Place},
    request::IoClass,
    rng::Rng,
    task::{CpuId, Policy, TaskId, Wait},
};
use schedlab_workloads::program::MAX_DEPTH;
use std::collections::VecDeque;

/// A policy and its priority, as a task asks for them.
pub(crate) type Asked = (Policy, u8);

/// Whose code a burst is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    #[default]
    User,
    System,
}

/// Where a task is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Unborn,
    /// On a processor, or in a runqueue.
    Runnable,
    Waiting(Wait),
    Dead,
}

/// What a program asks of the kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Call {
    /// Costs so much and waits for nothing.
    Plain(Nanos),
    Open(u16),
    Create(u16),
    Delete(u16),
    Read(u64),
    Write(u64),
    Seek(Place),
    Sync,
    Close,
    Print(u64),
    Lock(u16),
    ReadLock(u16),
    Unlock(u16),
    Acquire(u16),
    Release(u16),
    Barrier(u16),
    ConditionWait {
        condition: u16,
        lock: u16,
    },
    ConditionSignal(u16),
    ConditionBroadcast(u16),
    Send(u16),
    Receive(u16),
    /// Until that time.
    Sleep(Nanos),
    Fork(u32),
    Wait,
    Set(u16),
    Signal,
    Pause,
    Exec,
    Grow(Demand),
    Exit,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Served {
    /// The caller goes on; what its agenda has comes first.
    Done,
    /// The same, after it has woken n tasks.
    Woke(u32),
    /// The caller waits.
    Waits(Wait),
    /// The caller waits on another processor for its turn.
    Moved,
    /// The caller has ended, by itself or cut off.
    Ended { cut_off: bool },
}

/// What a message of a message-passing kernel says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// A user's system call.
    Request(TaskId, Call),
    /// To the system task: copy n bytes.
    Copy(u64),
    /// To the disk task: read these blocks.
    Fetch(Box<[Block]>),
    /// To the terminal task: show n bytes.
    Print(u64),
    /// To the clock task: an alarm was set.
    SetAlarm,
}

/// What a task does next inside the kernel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Runs for so long.
    Burst(Nanos, Mode),
    /// Carries out the call of that task; the caller goes on if it need not wait.
    Serve(TaskId, Call),
    /// Has the storage do something, and waits if it must.
    Storage(Box<Work>),
    /// Uses memory.
    Touch(Touching),
    /// Goes on with a lock or a permit.
    Granted,
    /// Looks for the lock or the permit of that call, for which it was woken, and waits again if another task has it.
    Look(Call),
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

/// How far a use of memory has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touching {
    /// Which one.
    pub touches: u16,
    /// Pages touched.
    pub done: u64,
    /// The page that was not there when it was touched.
    pub pending: Option<PageId>,
}

/// What a file of a set is taken for. Each use goes through the set by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Open,
    Create,
    Delete,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFile {
    pub set: u16,
    pub index: u32,
    pub position: u64,
    pub window: Window,
}

/// The record: what every context switch looks at, in one line of a real processor's cache, since a run may have millions
/// of tasks.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Process {
    /// What is left of the current burst, and whose code it is; while the task runs, both are in its processor.
    pub left: Nanos,
    pub mode: Mode,
    pub state: State,
    /// Whether it belongs to the kernel itself.
    pub kernel: bool,
    /// Whether there is something on its agenda.
    busy: bool,
    /// The number of its last timer or alarm: an earlier one is stale.
    pub alarm: u32,
    pub job: u16,
    /// Processor on which it last ran.
    pub ran_on: CpuId,
    pub program: u32,
    pub next_instruction: u32,
    /// Signals whose handler has not begun.
    pub signals: u32,
    pub rng: Rng,
    pub life: Box<Life>,
}

/// The rest of the record.
#[derive(Debug, Default)]
pub(crate) struct Life {
    /// What it does in the kernel before its program goes on.
    agenda: VecDeque<Action>,
    /// Passes done of each loop around the present instruction.
    pub loops: [u32; MAX_DEPTH],
    pub began: Nanos,
    pub pass_began: Nanos,
    /// The last deadline so far.
    pub deadline: Nanos,
    /// The last expiry of each timer that it has waited for.
    pub timers: Vec<Nanos>,
    /// Until when it uses the processor, while it does so for a time.
    pub busy_until: Option<Nanos>,
    pub file: Option<OpenFile>,
    /// How many files of each set it has opened, created and deleted.
    pub taken: Vec<[u32; 3]>,
    /// Children that have ended and were not waited for.
    pub zombies: Vec<TaskId>,
    /// Children alive.
    pub children: u32,
    /// Bytes it holds.
    pub memory: u64,
    /// When it requested the lock or permit for which it waits.
    pub requested: Option<Nanos>,
    /// What it asked for itself, while more is lent to it.
    pub own: Option<Asked>,
    /// The lock with a protocol for which it waits.
    pub awaits: Option<u16>,
    /// The class and level at the drive that it asked for.
    pub io: Option<(IoClass, u8)>,
    /// When the message was sent that it received last, until it is done with it.
    pub message: Option<Nanos>,
    /// When the request arrived for which it makes its pass.
    pub request: Option<Nanos>,
}

const _: () = assert!(size_of::<Process>() == 64);

impl Process {
    pub fn new(job: u16, program: u32, rng: Rng) -> Process {
        Process {
            left: 0,
            mode: Mode::User,
            state: State::Unborn,
            kernel: false,
            busy: false,
            alarm: 0,
            job,
            ran_on: CpuId::MAX,
            program,
            next_instruction: 0,
            signals: 0,
            rng,
            life: Box::default(),
        }
    }

    /// Whether it does something in the kernel before its program goes on.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn busy(&self) -> bool {
        self.busy
    }

    /// Puts these at the end of its agenda.
    pub fn plan(&mut self, actions: impl IntoIterator<Item = Action>) {
        self.life.agenda.extend(actions);
        self.busy = !self.life.agenda.is_empty();
    }

    /// Puts this before its agenda.
    pub fn plan_first(&mut self, action: Action) {
        self.life.agenda.push_front(action);
        self.busy = true;
    }

    /// Puts these before its agenda, in their order.
    pub fn plan_all_first<const N: usize>(&mut self, actions: [Action; N]) {
        actions.into_iter().rev().for_each(|action| self.plan_first(action));
    }

    /// Takes the first action off its agenda.
    pub fn next_action(&mut self) -> Option<Action> {
        let action = self.life.agenda.pop_front();
        self.busy = !self.life.agenda.is_empty();
        action
    }

    /// Whether it is in a call that copies or gives back the memory of a process, page by page.
    pub fn goes_through_memory(&self) -> bool {
        matches!(self.life.agenda.front(), Some(Action::Serve(_, Call::Fork(_) | Call::Exit)))
    }

    /// Forgets its agenda.
    pub fn abandon(&mut self) {
        self.life.agenda = VecDeque::new();
        self.busy = false;
    }
}
