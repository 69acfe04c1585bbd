//! What a kernel recorded, whatever the file it comes from: one record of 32 bytes for each event, names apart from them.
//!
//! Long, because each kind of event says what its fields mean.

use super::{
    calls::{Call, Machine},
    state::State,
};
use std::collections::BTreeMap;

/// The number of a thread, as the kernel gives it. 0 is the idle task of any processor.
pub type Pid = i32;

/// How a task left its processor: [`Event::flag`] of a [`Kind::Switch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Left {
    /// It can run: state R, or R+ where the kernel says that it was preempted.
    Runnable,
    /// It sleeps and a signal would wake it: state S.
    Sleeping,
    /// It sleeps and no signal wakes it: state D, or I of a kernel thread without work.
    Uninterruptible,
    /// It is stopped or traced: states T and t.
    Stopped,
    /// It is gone: states X and Z.
    Dead,
}

/// In what context an event was recorded: [`Event::context`]. In an interrupt, the task that is current did not cause it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Context {
    /// By the current task itself, in the kernel.
    Task,
    /// In a software interrupt.
    SoftInterrupt,
    /// In a hardware interrupt (or a non-maskable one).
    HardInterrupt,
    /// The file does not say.
    Unknown,
}

impl Context {
    /// The context that the kernel's flags of an event say (`common_flags`, `enum trace_flag_type`).
    #[inline]
    pub fn of_flags(flags: i64) -> Context {
        const HARD: i64 = 0x08;
        const SOFT: i64 = 0x10;
        const NMI: i64 = 0x40;
        match flags {
            _ if flags & (HARD | NMI) != 0 => Context::HardInterrupt,
            _ if flags & SOFT != 0 => Context::SoftInterrupt,
            _ => Context::Task,
        }
    }
}

/// The kind of a record. The meaning of `task`, `other`, `flag` and `value` is given with each; `cpu` is the processor that recorded it
/// and, unless said otherwise, `other` the task that was current there ([`Event::NO_TASK`] where the file does not say).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The processor goes from `task` to `other`. `flag`: [`Left`]; `value`: the kernel's priority of `task` in the high 32 bits, that
    /// of `other` in the low ones (100 to 139 is nice -20 to 19; below 100 real-time), 0 where the file does not say.
    Switch,
    /// `task` is woken (`sched_waking`): it can run from here on. `other`: the current task, which is the waker if `context` is
    /// [`Context::Task`]. `value`: the target processor in the low 32 bits, its priority in the high ones.
    Waking,
    /// `task` was put into a runqueue (`sched_wakeup`). Fields as in `Waking`.
    Woken,
    /// The new `task` was put into a runqueue (`sched_wakeup_new`). Fields as in `Waking`.
    New,
    /// `task` goes to another processor. `value`: the new one in the low 32 bits, the old one in the high ones.
    Migrate,
    /// `task` made the task `other`.
    Fork,
    /// `task` runs another program from now on.
    Exec,
    /// `task` ends.
    Exit,
    /// `task` was charged `value` ns of running since the last such event or its switch in.
    Runtime,
    /// `task`, current, waits for a child (`sched_process_wait`): the one of the number `value`, 0 for any.
    Wait,
    /// A hardware interrupt begins; `value`: its line.
    IrqEntry,
    /// It ends; `value` as in its entry.
    IrqExit,
    /// An interrupt of the processor's own timer, or another one of its vectors (`irq_vectors:*_entry`), begins; `value`: vector.
    VectorEntry,
    /// It ends.
    VectorExit,
    /// A software interrupt begins; `value`: its number (1 timer, 2 network out, 3 network in, 4 block, 7 scheduler, 8 hrtimer, 9 RCU).
    SoftirqEntry,
    /// It ends.
    SoftirqExit,
    /// The timer `value` (its address) was started by `other`. The expiry of a high-resolution timer follows as a [`Kind::TimerExpiry`] of
    /// the same time; that of others is counted in the kernel's ticks, and left out.
    TimerStart,
    /// When the timer of the `TimerStart` before it expires: `value`, ns on the timer's clock (mostly the monotonic one), also if it was
    /// started for a time from then. `flag`: 0 if its caller gave a time, 1 if a time from then.
    TimerExpiry,
    /// The timer `value` expired and its function is called. What is woken until its [`Kind::TimerDone`] is woken by it.
    TimerExpire,
    /// The function of the timer `value` returned.
    TimerDone,
    /// The timer `value` was cancelled.
    TimerCancel,
    /// A worker (`other`) begins an item of a workqueue; `value`: its function or item.
    WorkBegin,
    /// It ends.
    WorkEnd,
    /// A request goes to a drive. `value`: first sector; `extra`: length in bytes; `flag`: 0 read, 1 write, 2 other; `task`: the drive, its
    /// major number in the high 12 bits, its minor one in the low 20.
    BlockIssue,
    /// It is done. `value`, `extra`, `flag` and `task` as in `BlockIssue`.
    BlockComplete,
    /// `task`, current, had a page fault in its own code (`flag` 0) or the kernel's (1). `value`: the address.
    Fault,
    /// `task`, current, enters the system call `value`, [`u64::MAX`] if the file has its name alone. `flag`: [`Call`].
    SyscallEnter,
    /// It returns from the system call `value`, as in its entry.
    SyscallExit,
    /// `task` has the name of that number from now on: `value`, see [`Listener::name`].
    Named,
    /// `task` is a thread of the process `other`.
    Member,
    /// `task`'s nice value is `value` as a signed number, its policy `flag` (as in `sched_setattr(2)`), as the file says.
    Treated,
    /// Events were lost on `cpu` ([`Event::ALL`]: on some processor): `value` of them, 0 if the file does not say how many.
    Lost,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// When, ns on the clock of the file.
    pub time: u64,
    /// See [`Kind`].
    pub value: u64,
    /// The task meant.
    pub task: Pid,
    /// Another task, see [`Kind`].
    pub other: Pid,
    /// See [`Kind`]; 0 where it says nothing.
    pub extra: u32,
    /// The processor that recorded it.
    pub cpu: u16,
    /// What happened.
    pub kind: Kind,
    /// See [`Kind`] in the low four bits, [`Context`] in the high four. Read it by [`Event::flag`] and [`Event::context`].
    pub bits: u8,
}

const _: () = assert!(size_of::<Event>() == 32);

impl Event {
    /// The value of `other` where the file does not say.
    pub const NO_TASK: Pid = -1;
    /// The value of `cpu` for all processors.
    pub const ALL: u16 = u16::MAX;

    /// The value that its kind describes.
    #[inline]
    pub fn flag(&self) -> u8 {
        self.bits & 15
    }

    /// In what context it was recorded.
    #[inline]
    pub fn context(&self) -> Context {
        match self.bits >> 4 {
            0 => Context::Task,
            1 => Context::SoftInterrupt,
            2 => Context::HardInterrupt,
            _ => Context::Unknown,
        }
    }

    /// How the task of a switch left its processor.
    #[inline]
    pub fn left(&self) -> Left {
        match self.flag() {
            0 => Left::Runnable,
            1 => Left::Sleeping,
            2 => Left::Uninterruptible,
            3 => Left::Stopped,
            _ => Left::Dead,
        }
    }

    /// What a system call that is entered is about.
    #[inline]
    pub fn call(&self) -> Call {
        match self.flag() {
            1 => Call::Futex,
            2 => Call::Receive,
            3 => Call::Send,
            4 => Call::Poll,
            5 => Call::Yield,
            _ => Call::Other,
        }
    }

    /// The same by its number on x86-64.
    pub(crate) fn call_by_number(&self) -> Call {
        Machine::X86.call(self.value)
    }

    /// A flag and a context as they are kept in `bits`.
    #[inline]
    pub fn bits(flag: u8, context: Context) -> u8 {
        flag & 15 | (context as u8) << 4
    }
}

/// Takes what a reader finds.
pub trait Listener {
    /// Takes one event. Calls come in order of time; at equal times in the order of the file.
    fn event(&mut self, event: &Event);

    /// Takes the name of a number, once, before any [`Kind::Named`] with it. Numbers are given from 0 on.
    fn name(&mut self, number: u64, name: &str);
}

/// Both take everything.
impl<A: Listener, B: Listener> Listener for (A, B) {
    #[inline]
    fn event(&mut self, event: &Event) {
        self.0.event(event);
        self.1.event(event);
    }

    fn name(&mut self, number: u64, name: &str) {
        self.0.name(number, name);
        self.1.name(number, name);
    }
}

/// Takes everything, if there is one.
impl<L: Listener> Listener for Option<L> {
    #[inline]
    fn event(&mut self, event: &Event) {
        if let Some(listener) = self {
            listener.event(event);
        }
    }

    fn name(&mut self, number: u64, name: &str) {
        if let Some(listener) = self {
            listener.name(number, name);
        }
    }
}

/// What was lost while recording or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loss {
    /// When it was noticed, ns on the clock of the file; none if the file does not say.
    pub time: Option<u64>,
    /// On which processor; none if on some.
    pub cpu: Option<u16>,
    /// How many events; none if the file does not say.
    pub events: Option<u64>,
    /// What happened, as a sentence: "the recorder was too slow", "the file ends within a record".
    pub why: String,
}

/// A kind of event of a file, by the kernel's name for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Events of that name that were read.
    pub events: u64,
    /// Whether readers here know what to do with it.
    pub known: bool,
}

/// What a file says of itself, known in full once all of it was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// Its format: "perf.data", "trace.dat", "perf script" ...
    pub format: String,
    /// The clock of its times, as the file calls it; none if it does not say.
    pub clock: Option<String>,
    /// The kernel that was recorded.
    pub release: Option<String>,
    /// Processors: as many as the file says, or else one more than the highest seen.
    pub processors: u16,
    /// First and last time, ns on the clock of the file.
    pub span: Option<(u64, u64)>,
    /// Kinds of events by the kernel's name ("sched:sched_switch").
    pub recorded: BTreeMap<String, Recorded>,
    /// The state of the host when the recording began, if the file has it.
    pub state: Option<Box<State>>,
    /// What was lost, in order of time; at most a thousand, the rest summed up in the last.
    pub losses: Vec<Loss>,
}

impl Head {
    /// Events that are known to be lost; a loss of an unknown number counts as one.
    pub fn lost(&self) -> u64 {
        self.losses.iter().fold(0, |sum, loss| sum.saturating_add(loss.events.unwrap_or(1)))
    }

    /// Notes a loss.
    pub(crate) fn lose(&mut self, loss: Loss) {
        if self.losses.len() < MOST_LOSSES {
            return self.losses.push(loss);
        }
        let last = self.losses.last_mut().expect("there are a thousand");
        let both = last.events.unwrap_or(1).saturating_add(loss.events.unwrap_or(1));
        *last = Loss { time: last.time, cpu: None, events: Some(both), why: "further losses".to_owned() };
    }
}

/// Losses that are distinguished.
const MOST_LOSSES: usize = 1000;

/// Why a file cannot be read at all. What can be read of a damaged file is read, and the rest is a [`Loss`].
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The system refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is no recording of a known format.
    #[error("{0}")]
    Unknown(String),
    /// It is one, but not to be read.
    #[error("{format}: {why}")]
    Wrong {
        /// Its format.
        format: &'static str,
        /// What is wrong with it, and what would be right.
        why: String,
    },
}
