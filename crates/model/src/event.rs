//! What happened: the records that metrics, pictures and audits read, and the interface by which they listen.
//! One definition for the simulator, for foreign traces and for recordings of the live host.

use crate::{
    Nanos,
    task::{CpuId, GroupId, Policy, Task, TaskId},
};

/// The value of [`Event::task`] where there is no task (an idle processor).
pub const NO_TASK: TaskId = TaskId::MAX;

/// Why a task left the processor: [`Event::flag`] of a [`Kind::SwitchOut`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Leave {
    /// Another task was chosen.
    Preempted,
    /// Its slice was used up.
    SliceEnd,
    /// It gave the processor up but can run.
    Yielded,
    /// It waits for something.
    Blocked,
    /// It ended.
    Exited,
    /// It did not leave: the run stopped. No context switch.
    Stopped,
}

/// The kind of a record. The meaning of `flag`, `a` and `b` is given with each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A task came to be. `a`: job index (workload entry; servers and drivers have higher ones), `b`: parent task or
    /// [`NO_TASK`]; `flag`: nice + 128.
    Created,
    /// A task ended. `flag`: 1 if it was cut off by an error or a signal.
    Exited,
    /// A task became able to run. `flag`: 1 if it is new, 0 if it was waiting; `a`: by what, as [`Waker::packed`]; `b`: the processor
    /// on which that happened, where `a` is known.
    Wakeup,
    /// A task got the processor.
    SwitchIn,
    /// A task left the processor. `flag`: [`Leave`]; `a`: user ns, `b`: system ns since its switch-in (exact).
    SwitchOut,
    /// The processor spent `a` ns in interrupts and switching since the last such record of this processor. It belongs to
    /// the running or idle period in which it is reported: a switch-in or an idle record comes after the overhead before it.
    Overhead,
    /// A clock tick sampled the processor. `task`: the charged task, or [`NO_TASK`]; `flag`: [`Sample`]; `a`: tick length ns.
    Sampled,
    /// A hardware interrupt. `a`: its line, see [`Irq`].
    Interrupt,
    /// A task entered the kernel.
    SystemCall,
    /// A block was looked for in the cache. `flag`: 1 if found, plus 2 if it is to be changed; `a`: its first sector, `b`: its sectors.
    CacheLookup,
    /// A drive began a request, with the requests merged into it. `a`: first sector, `b`: sectors; `flag`: 1 for a write, plus 2
    /// for a page of the swap area.
    DiskStart,
    /// A drive ended a request. `a`: first sector, `b`: nanoseconds it took; `flag` as in `DiskStart`.
    DiskDone,
    /// The processor has nothing to run, and `flag` says whether a task waits for a drive (1) or not (0). Reported again when
    /// that changes; a run begins with idle processors.
    Idle,
    /// A pass of a repeating job was completed. `a`: nanoseconds since the pass began.
    Pass,
    /// A period was met (`flag` 1) or missed (0). `a`: lateness in ns.
    Period,
    /// A named point of a program. `a`: index of the name.
    Mark,
    /// A signal was sent to the task (`flag` 0), or its handler began (1). `a`: signals still unhandled, this one included.
    Signal,
    /// A task moved to another processor. `a`: the one it left. `flag` 1: it is new and has not run yet.
    Migrated,
    /// A task requested memory (`flag` 1 granted, 0 refused). `a`: bytes it has now, `b`: bytes set aside for it.
    Memory,
    /// A scheduler refused a task's reservation: the task runs as an ordinary one.
    Refused,
    /// A request joined the queue of a drive as one of its own. `a`: first sector, `b`: sectors; `flag` as in `DiskStart`.
    DiskQueued,
    /// A task got a page that it touched and that was not there. `flag`: 0 without waiting for a drive (minor), 1 from a file,
    /// 2 from the swap area; `a`: page.
    Fault,
    /// How memory is used from now on, in pages. `a`: free, `b`: block cache in the high 32 bits, swap area in the low.
    MemoryUse,
    /// A recorded kernel updated its clock and charged the running task with `a` ns. Simulated kernels do not report it.
    Charged,
    /// The run ended before this did. `flag`: [`Unfinished`]; `a`: its age in ns.
    Unfinished,
    /// A task is done with a message that it had received: it receives the next one, its pass ends, or it ends. `a`: nanoseconds since
    /// the message was sent.
    Message,
    /// A task goes on with a lock or a permit that it had requested. `a`: nanoseconds since the request.
    Granted,
    /// A task may use only these processors from now on. `a`: a bit for each of the 64 from 64 times `b` on; several events, of
    /// which that with the first processors comes last. A new task may use all until this says otherwise.
    Allowed,
    /// What a task asks for from now on, without what a lock lends to it. `flag`: nice + 128; `a`: [`Attributes::packed`]; `b`: the
    /// slice that it requests, ns, or 0. A new task has the nice value of its `Created`, and is an ordinary one of the root group
    /// until this says otherwise.
    Treated,
    /// A running task begins to execute another program. Where the policy moves it for that, it does so at once.
    Executed,
}

/// What the end of a run cut off: [`Event::flag`] of a [`Kind::Unfinished`]. What ran or waited for a processor is
/// known from the other events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Unfinished {
    /// A pass of a repeating job.
    Pass,
    /// A period whose deadline has passed; its age counts from the deadline.
    Period,
    /// A request of a drive, queued or in service.
    Request,
    /// A wait that no task can ever end: of a lock, a message, a child or a signal. Its age is not reported.
    Stuck,
    /// The same, of the first task in a circle of tasks that wait for each other's locks.
    Deadlock,
    /// A message that was not received yet, or that its receiver was not done with.
    Message,
    /// A request of a lock or a permit.
    Grant,
}

/// What a tick found on the processor: [`Event::flag`] of a [`Kind::Sampled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Sample {
    /// In the charged task's own code.
    User,
    /// In the kernel, on the charged task's behalf.
    System,
    /// Nowhere.
    Idle,
}

/// Lines of [`Kind::Interrupt`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Irq {
    /// The periodic clock.
    Clock,
    /// A programmed timer.
    Timer,
    /// A drive.
    Disk,
    /// Another device of the machine's list.
    Device,
}

/// What made a task able to run: [`Event::a`] of a [`Kind::Wakeup`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waker {
    /// It is not recorded: older recordings have nothing else.
    Unknown,
    /// A timer or a device, in an interrupt.
    Interrupt,
    /// The task of that number, which had a processor.
    Task(TaskId),
}

impl Waker {
    /// The number by which an event has it: 0 where it is not known, 1 for an interrupt, 2 and up for tasks.
    #[inline(always)]
    pub fn packed(self) -> u64 {
        match self {
            Waker::Unknown => 0,
            Waker::Interrupt => 1,
            Waker::Task(task) => u64::from(task) + 2,
        }
    }

    /// The waker of that number. No task has a greater one than [`NO_TASK`]: such a number says nothing.
    #[inline(always)]
    pub fn of(packed: u64) -> Waker {
        match packed {
            0 => Waker::Unknown,
            1 => Waker::Interrupt,
            _ => TaskId::try_from(packed - 2).ok().filter(|&task| task != NO_TASK).map_or(Waker::Unknown, Waker::Task),
        }
    }
}

/// How a task is scheduled, but for its nice value and slice: [`Event::a`] of a [`Kind::Treated`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Attributes {
    /// Its policy. What a reservation asks for is not in events.
    pub policy: Policy,
    /// Its real-time priority, 1 to 99, else 0.
    pub priority: u8,
    /// Its group; 0 is the root.
    pub group: GroupId,
}

/// Policies by their numbers in `sched_setattr(2)`.
const POLICIES: [Policy; 7] =
    [Policy::Other, Policy::Fifo, Policy::Rr, Policy::Batch, Policy::Iso, Policy::Idle, Policy::Deadline];

impl Attributes {
    /// Of a task's record.
    pub fn of_task(task: &Task) -> Attributes {
        Attributes { policy: task.policy, priority: task.priority, group: task.group }
    }

    /// The number by which an event has it: the policy as `sched_setattr(2)` has it, 256 times the priority, 65,536 times the group.
    pub fn packed(self) -> u64 {
        let policy = POLICIES.iter().position(|&known| known == self.policy).unwrap_or_default();
        policy as u64 | u64::from(self.priority) << 8 | u64::from(self.group) << 16
    }

    /// The attributes of that number; a policy that no number says is the ordinary one.
    pub fn of(packed: u64) -> Attributes {
        let policy = POLICIES.get((packed & 0xff) as usize).copied().unwrap_or_default();
        Attributes { policy, priority: (packed >> 8) as u8, group: (packed >> 16) as GroupId }
    }

    /// The kernel's own priority of a task with these attributes and that nice value: 100 to 139 is nice -20 to 19, 0 to 98 is 99
    /// less the real-time priority, -1 a reservation.
    pub fn kernel_priority(self, nice: i8) -> i32 {
        match self.policy {
            Policy::Fifo | Policy::Rr => 99 - i32::from(self.priority.min(99)),
            Policy::Deadline => -1,
            Policy::Other | Policy::Batch | Policy::Iso | Policy::Idle => (120 + i32::from(nice)).clamp(100, 139),
        }
    }

    /// Its policy's number in `sched_setattr(2)`.
    pub fn number(self) -> u32 {
        (self.packed() & 0xff) as u32
    }
}

/// One record, 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Event {
    /// When, in ns since the start of the run.
    pub time: Nanos,
    /// First value, see [`Kind`].
    pub a: u64,
    /// Second value, see [`Kind`].
    pub b: u64,
    /// The task meant.
    pub task: TaskId,
    /// The processor meant.
    pub cpu: CpuId,
    /// What happened.
    pub kind: Kind,
    /// A small value, see [`Kind`].
    pub flag: u8,
}

const _: () = assert!(size_of::<Event>() == 32);

/// Listens to a run. Calls come in order of time.
pub trait Observer {
    /// Whether the kernel for it has one loop for any number of processors, where others have another one for a single processor:
    /// it is compiled in less time and runs somewhat slower, which matters little where the observer takes most of the time.
    const ONE_LOOP: bool = false;

    /// Takes one record.
    fn observe(&mut self, event: Event);

    /// Takes a context switch: the task that left a processor and the task that got it. Both in one call, so that a collector
    /// looks up the processor once.
    #[inline(always)]
    fn observe_switch(&mut self, left: Event, next: Event) {
        self.observe(left);
        self.observe(next);
    }

    /// Takes a series of records that differ only in their times and processors: at each time, one of each processor, the first
    /// `processors` of them in order. Nothing else happens between them, so a collector that only counts such records need not
    /// process each.
    #[inline]
    fn observe_row(&mut self, event: Event, processors: CpuId, times: impl ExactSizeIterator<Item = Nanos> + Clone) {
        times.for_each(|time| (0..processors).for_each(|cpu| self.observe(Event { time, cpu, ..event })));
    }
}

/// Records nothing.
impl Observer for () {
    #[inline(always)]
    fn observe(&mut self, _: Event) {}
}

/// Two listen to the same run.
impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline(always)]
    fn observe(&mut self, event: Event) {
        self.0.observe(event);
        self.1.observe(event);
    }

    #[inline(always)]
    fn observe_switch(&mut self, left: Event, next: Event) {
        self.0.observe_switch(left, next);
        self.1.observe_switch(left, next);
    }

    #[inline]
    fn observe_row(&mut self, event: Event, processors: CpuId, times: impl ExactSizeIterator<Item = Nanos> + Clone) {
        self.0.observe_row(event, processors, times.clone());
        self.1.observe_row(event, processors, times);
    }
}

/// Keeps every record, for small runs and tests.
impl Observer for Vec<Event> {
    #[inline]
    fn observe(&mut self, event: Event) {
        self.push(event);
    }
}

/// What an observer does with each record, for [`AnyObserver`].
pub trait Listener {
    /// Takes one record.
    fn hear(&mut self, event: Event);
}

impl<O: Observer> Listener for O {
    #[inline]
    fn hear(&mut self, event: Event) {
        self.observe(event);
    }
}

/// An observer whose type the simulator need not know. A simulator is compiled for every pair of policy and observer: where
/// speed does not matter, or the observer takes most of a run's time itself, all observers are one of these.
pub struct AnyObserver<'a>(pub &'a mut dyn Listener);

impl Observer for AnyObserver<'_> {
    const ONE_LOOP: bool = true;

    #[inline(never)]
    fn observe(&mut self, event: Event) {
        self.0.hear(event);
    }
}

/// Lends a listener.
impl<O: Observer> Observer for &mut O {
    const ONE_LOOP: bool = O::ONE_LOOP;

    #[inline(always)]
    fn observe(&mut self, event: Event) {
        (**self).observe(event);
    }

    #[inline(always)]
    fn observe_switch(&mut self, left: Event, next: Event) {
        (**self).observe_switch(left, next);
    }

    #[inline]
    fn observe_row(&mut self, event: Event, processors: CpuId, times: impl ExactSizeIterator<Item = Nanos> + Clone) {
        (**self).observe_row(event, processors, times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn attributes_are_those_that_were_packed(policy in 0usize..7, priority: u8, group: u16) {
            let attributes = Attributes { policy: POLICIES[policy], priority, group };
            prop_assert_eq!(Attributes::of(attributes.packed()), attributes);
            prop_assert_eq!(attributes.number(), policy as u32);
        }

        #[test]
        fn any_number_is_some_attributes(packed: u64) {
            let attributes = Attributes::of(packed);
            prop_assert_eq!(Attributes::of(attributes.packed()), attributes);
        }
    }

    #[test]
    fn priorities_are_the_kernels() {
        let of = |policy, priority| Attributes { policy, priority, group: 0 };
        assert_eq!(of(Policy::Other, 0).kernel_priority(-20), 100);
        assert_eq!(of(Policy::Idle, 0).kernel_priority(19), 139);
        assert_eq!(of(Policy::Fifo, 99).kernel_priority(0), 0);
        assert_eq!(of(Policy::Rr, 1).kernel_priority(5), 98);
        assert_eq!(of(Policy::Deadline, 0).kernel_priority(0), -1);
    }
}
