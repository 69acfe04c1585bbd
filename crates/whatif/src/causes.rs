//! What ended a wait: decided at the wakeup, from the context in which it was recorded and from the interrupt, timer or software
//! interrupt that was being handled there.
//!
//! ```text
//! while a timer's function runs, or a timer interrupt or its software interrupt    a timer
//! while a drive's interrupt or software interrupt is handled                        a device
//! while packets are received in an interrupt                                        something outside
//! by the current task itself, packets to itself included                            that task
//! else, in an interrupt that the recording does not name: after a wait in state D   a device
//!                                                         after one in state S      a timer
//! ```
//!
//! Packets that come right after a device's interrupt are from outside, unless that is rare for the task that they wake: then a drive's
//! interrupt came in between by chance.

use schedlab_traces::kernel::{Context, Event, Kind, Left, Pid};

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Another task, at its own progress: the edge of that number.
    Task(u32),
    /// A timer; whether an absolute one is decided from all waits of the task.
    Timer,
    /// A device that the task had asked: a delay from the begin of the wait.
    Device,
    /// Something outside: it keeps its own times.
    Outside,
    /// Cannot be determined. Treated as something outside, and counted.
    Unknown,
}

/// How waits of a task are to be taken, whatever the recording shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Override {
    /// What wakes it keeps its own times (open loop).
    Open,
    /// What wakes it comes as long after the wait began as it did (closed loop).
    Closed,
}

/// Software interrupts by their numbers in the kernel (`include/linux/interrupt.h`).
const TIMER: u64 = 1;
const NET_TX: u64 = 2;
const NET_RX: u64 = 3;
const BLOCK: u64 = 4;
const IRQ_POLL: u64 = 5;
const HRTIMER: u64 = 8;

/// The vector of the processor's own timer on x86 (`LOCAL_TIMER_VECTOR`): it brings no packets, and comes within any work.
pub(crate) const LOCAL_TIMER: u64 = 236;

/// What a processor is handling besides its task.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Handling {
    /// Interrupts within each other.
    depth: u8,
    /// Since when the outermost is handled.
    since: u64,
    /// A timer's function runs.
    timer: bool,
    /// A vector of the processor's own (its timer, mostly) is handled.
    vector: bool,
    /// A device's line is handled.
    line: bool,
    /// The software interrupt that is handled, if one is.
    soft: Option<u64>,
    /// Whether that began within or right after a hardware interrupt.
    soft_of_interrupt: bool,
    /// When the last hardware interrupt ended here that may have brought packets.
    ended: u64,
}

/// A software interrupt that begins so soon after a hardware one is that one's, ns: the kernel runs it on its way out.
const ON_THE_WAY_OUT: u64 = 3_000;

impl Handling {
    /// Follows entries and exits. Gives the time that the current task lost to an outermost interrupt that ends. A software interrupt that no
    /// hardware one came right before is what the task does itself, as it sends to the same host.
    pub fn follow(&mut self, event: &Event) -> u64 {
        match event.kind {
            Kind::IrqEntry => self.enter(event.time, |at| at.line = true),
            Kind::VectorEntry => self.enter(event.time, |at| at.vector = true),
            Kind::SoftirqEntry => {
                self.soft = Some(event.value);
                self.soft_of_interrupt = self.depth > 0 || event.time.saturating_sub(self.ended) < ON_THE_WAY_OUT;
                if self.soft_of_interrupt {
                    self.enter(event.time, |_| {});
                }
            }
            Kind::TimerExpire => self.timer = true,
            Kind::TimerDone => self.timer = false,
            Kind::IrqExit => return self.exit(event.time, |at| (at.line, at.ended) = (false, event.time)),
            Kind::VectorExit => {
                let ended = if event.value == LOCAL_TIMER { self.ended } else { event.time };
                return self.exit(event.time, |at| (at.vector, at.ended) = (false, ended));
            }
            Kind::SoftirqExit => {
                let of_task = self.soft.take().is_some() && !self.soft_of_interrupt;
                return if of_task { 0 } else { self.exit(event.time, |_| {}) };
            }
            _ => {}
        }
        0
    }

    fn enter(&mut self, time: u64, what: impl FnOnce(&mut Handling)) {
        if self.depth == 0 {
            self.since = time;
        }
        self.depth = self.depth.saturating_add(1);
        what(self);
    }

    fn exit(&mut self, time: u64, what: impl FnOnce(&mut Handling)) -> u64 {
        what(self);
        if self.depth == 0 {
            return 0; // its entry came before the recording
        }
        self.depth -= 1;
        if self.depth == 0 { time.saturating_sub(self.since) } else { 0 }
    }

    /// A switch cannot come within an interrupt: an exit was lost.
    pub fn switched(&mut self) {
        *self = Handling { ended: self.ended, ..Handling::default() };
    }

    /// Whether packets are received right after a device's interrupt: they may be the current task's own all the same.
    pub fn may_be_own(&self) -> bool {
        self.soft_of_interrupt && !self.timer && matches!(self.soft, Some(NET_TX | NET_RX))
    }

    /// Whether the current task delivers packets to the same host itself.
    pub fn delivers(&self) -> bool {
        self.soft == Some(NET_RX) && !self.soft_of_interrupt && self.depth == 0
    }

    /// What ends the wait of a task that left its processor like that; the waker, if that is a task.
    pub fn cause(&self, waking: &Event, left: Left) -> Result<Pid, Cause> {
        let current = waking.other;
        let named = self.timer || self.vector || self.line || self.soft.is_some();
        if self.timer {
            return Err(Cause::Timer);
        }
        match self.soft {
            Some(TIMER | HRTIMER) => return Err(Cause::Timer),
            Some(BLOCK | IRQ_POLL) => return Err(Cause::Device),
            Some(NET_TX | NET_RX) if self.soft_of_interrupt => return Err(Cause::Outside),
            Some(NET_TX | NET_RX) if current > 0 => return Ok(current),
            Some(_) => return Err(Cause::Unknown),
            None => {}
        }
        if self.line {
            return Err(if left == Left::Uninterruptible { Cause::Device } else { Cause::Outside });
        }
        if self.vector {
            return Err(Cause::Timer);
        }
        match waking.context() {
            Context::Task | Context::Unknown | Context::SoftInterrupt if current > 0 && current != waking.task => {
                Ok(current)
            }
            Context::HardInterrupt | Context::Unknown if !named && left == Left::Uninterruptible => Err(Cause::Device),
            Context::HardInterrupt | Context::Unknown if !named => Err(Cause::Timer),
            _ => Err(Cause::Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: Kind, time: u64, value: u64) -> Event {
        let bits = Event::bits(0, Context::HardInterrupt);
        Event { time, value, task: 5, other: 9, extra: 0, cpu: 0, kind, bits }
    }

    fn waking(context: Context, current: Pid) -> Event {
        Event { other: current, bits: Event::bits(0, context), ..event(Kind::Waking, 50, 0) }
    }

    #[test]
    fn a_task_that_wakes_another_itself_is_the_cause() {
        let idle = Handling::default();
        assert_eq!(idle.cause(&waking(Context::Task, 9), Left::Sleeping), Ok(9));
        assert_eq!(idle.cause(&waking(Context::Task, 0), Left::Sleeping), Err(Cause::Unknown));
    }

    #[test]
    fn the_current_task_is_not_the_cause_of_what_an_interrupt_does() {
        let idle = Handling::default();
        assert_eq!(idle.cause(&waking(Context::HardInterrupt, 9), Left::Sleeping), Err(Cause::Timer));
        assert_eq!(idle.cause(&waking(Context::HardInterrupt, 9), Left::Uninterruptible), Err(Cause::Device));
    }

    #[test]
    fn packets_to_oneself_are_messages_and_packets_from_a_card_are_not() {
        let mut own = Handling::default();
        own.follow(&event(Kind::SoftirqEntry, 40_000, NET_RX));
        assert_eq!(own.cause(&waking(Context::SoftInterrupt, 9), Left::Sleeping), Ok(9));
        // The next one is its own, too.
        own.follow(&event(Kind::SoftirqExit, 41_000, NET_RX));
        own.follow(&event(Kind::SoftirqEntry, 42_000, NET_RX));
        assert_eq!(own.cause(&waking(Context::SoftInterrupt, 9), Left::Sleeping), Ok(9));
        // Nor does a tick that came in between change that.
        own.follow(&event(Kind::SoftirqExit, 43_000, NET_RX));
        own.follow(&event(Kind::VectorEntry, 43_500, LOCAL_TIMER));
        own.follow(&event(Kind::VectorExit, 44_000, LOCAL_TIMER));
        own.follow(&event(Kind::SoftirqEntry, 44_500, NET_RX));
        assert_eq!(own.cause(&waking(Context::SoftInterrupt, 9), Left::Sleeping), Ok(9));
        let mut card = Handling::default();
        card.follow(&event(Kind::IrqEntry, 38_000, 30));
        assert_eq!(card.follow(&event(Kind::IrqExit, 39_000, 30)), 1_000);
        card.follow(&event(Kind::SoftirqEntry, 39_500, NET_RX));
        assert_eq!(card.cause(&waking(Context::SoftInterrupt, 9), Left::Sleeping), Err(Cause::Outside));
    }

    #[test]
    fn interrupts_within_each_other_are_counted_once() {
        let mut at = Handling::default();
        assert_eq!(at.follow(&event(Kind::VectorEntry, 100, 236)), 0);
        assert_eq!(at.follow(&event(Kind::SoftirqEntry, 150, TIMER)), 0);
        assert_eq!(at.follow(&event(Kind::SoftirqExit, 180, TIMER)), 0);
        assert_eq!(at.follow(&event(Kind::VectorExit, 200, 236)), 100);
        assert_eq!(at.follow(&event(Kind::VectorExit, 300, 236)), 0, "an exit without an entry");
    }

    #[test]
    fn a_software_interrupt_of_the_task_itself_takes_no_time_from_it() {
        let mut at = Handling::default();
        assert_eq!(at.follow(&event(Kind::SoftirqEntry, 10_000, NET_RX)), 0);
        assert_eq!(at.follow(&event(Kind::IrqEntry, 11_000, 30)), 0);
        assert_eq!(at.follow(&event(Kind::IrqExit, 12_000, 30)), 1_000, "but one of a device within it does");
        assert_eq!(at.follow(&event(Kind::SoftirqExit, 14_000, NET_RX)), 0);
        at.follow(&event(Kind::IrqEntry, 20_000, 30));
        at.follow(&event(Kind::IrqExit, 21_000, 30));
        at.follow(&event(Kind::SoftirqEntry, 21_500, NET_RX));
        assert_eq!(at.follow(&event(Kind::SoftirqExit, 24_000, NET_RX)), 2_500);
    }
}
