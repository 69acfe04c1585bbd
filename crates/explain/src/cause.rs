//! Why a wait ended: what the processor that recorded a waking was doing at that moment, and in which system calls waker and woken were.

use schedlab_traces::kernel::{Call, Context, Event, Kind};
use serde::Serialize;

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Cause {
    /// Another task, and how is not known.
    Task,
    /// Another task, in a futex call of its own: a lock, a condition, a semaphore or a barrier of user space.
    Lock,
    /// Another task, by what it put into or took out of a pipe, a socket or the like.
    Message,
    /// A timer of the kernel.
    Timer,
    /// A drive completed a request.
    Disk,
    /// A packet came or left.
    Network,
    /// Another software interrupt.
    Softirq,
    /// A hardware interrupt, of which the file does not say whose.
    Interrupt,
    /// It was stopped, by a signal or a debugger.
    Stopped,
    /// The file does not say.
    Unknown,
}

impl Cause {
    /// All of them, in the order of their numbers.
    pub const ALL: [Cause; 10] = [
        Cause::Task,
        Cause::Lock,
        Cause::Message,
        Cause::Timer,
        Cause::Disk,
        Cause::Network,
        Cause::Softirq,
        Cause::Interrupt,
        Cause::Stopped,
        Cause::Unknown,
    ];

    /// Whether another task did it.
    pub fn is_a_task(self) -> bool {
        matches!(self, Cause::Task | Cause::Lock | Cause::Message)
    }

    /// What lies between a task that sleeps in a system call and the task that wakes it from another one. Two that read may wake each other,
    /// too: a socket says to all who wait for it that there is room again. What the calls do not show is left to [`Cause::Task`]: a signal, a
    /// thread that ends, work that the kernel does for a task.
    pub(crate) fn between(sleeper: Call, waker: Call) -> Cause {
        match (sleeper, waker) {
            (Call::Futex, Call::Futex) => Cause::Lock,
            (Call::Receive | Call::Send | Call::Poll, Call::Receive | Call::Send) => Cause::Message,
            _ => Cause::Task,
        }
    }
}

/// `LOCAL_TIMER_VECTOR` of x86: the processor's own timer.
const LOCAL_TIMER: u64 = 0xec;

/// The interrupts that a processor is in.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Interrupts {
    hard: bool,
    timer: bool,
    /// One more than the number of the software interrupt, 0 if none.
    soft: u8,
    /// A drive has completed a request in this interrupt.
    completed: bool,
}

impl Interrupts {
    /// Takes what says where an interrupt begins and ends.
    #[inline]
    pub fn take(&mut self, event: &Event) {
        match event.kind {
            Kind::IrqEntry => self.hard = true,
            Kind::VectorEntry => (self.hard, self.timer) = (true, event.value == LOCAL_TIMER),
            Kind::IrqExit | Kind::VectorExit => (self.hard, self.timer, self.completed) = (false, false, false),
            Kind::SoftirqEntry => self.soft = 1 + event.value.min(100) as u8,
            Kind::SoftirqExit => (self.soft, self.timer, self.completed) = (0, false, false),
            Kind::TimerExpire => self.timer = true,
            Kind::TimerDone => self.timer = false,
            Kind::BlockComplete => self.completed = true,
            _ => {}
        }
    }

    /// Why the task of a waking is woken here.
    #[inline]
    pub fn cause(&self, waking: &Event) -> Cause {
        let by_a_task = if waking.other > 0 { Cause::Task } else { Cause::Unknown };
        match waking.context() {
            Context::Task => by_a_task,
            Context::HardInterrupt => self.hard(),
            Context::SoftInterrupt => self.soft(),
            Context::Unknown if self.timer => Cause::Timer,
            Context::Unknown if self.hard => self.hard(),
            Context::Unknown if self.soft > 0 => self.soft(),
            // The idle task wakes nothing by itself.
            Context::Unknown if waking.other == 0 => self.hard(),
            Context::Unknown => by_a_task,
        }
    }

    fn hard(&self) -> Cause {
        match self {
            Interrupts { timer: true, .. } => Cause::Timer,
            Interrupts { completed: true, .. } => Cause::Disk,
            _ => Cause::Interrupt,
        }
    }

    fn soft(&self) -> Cause {
        match self.soft {
            _ if self.timer => Cause::Timer,
            2 | 9 => Cause::Timer,
            3 | 4 => Cause::Network,
            5 => Cause::Disk,
            _ if self.completed => Cause::Disk,
            _ => Cause::Softirq,
        }
    }
}
