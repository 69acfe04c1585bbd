//! The memory that the supervisor and its workers share: a slot for each worker, what each job has measured, and the barrier at
//! which the workers wait for the start.
//!
//! All of it is mapped before the first task is made and made of atomic numbers, for which zero is the start. A worker
//! writes its own slot and its job's totals; the supervisor reads them when the workers have ended.

use crate::{
    awaited::awaited,
    sync::{Condition, ConditionWords, Locks, Semaphore, Taker, TaskBarrier, Traffic},
    tally::Tally,
};
use schedlab_linux::{Fault, process::Usage, shareable, shared::Shared};
use schedlab_workloads::{Programs, stuck::Awaited};
use std::sync::atomic::{
    AtomicI32, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// What a worker could not have; the number noted with it is the system's error, or what it has instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Locked memory.
    LockedMemory,
    Affinity,
    Nice,
    Policy,
    Slice,
    /// The priority of a lock's ceiling.
    Ceiling,
    Reservation,
    Group,
    TimerSlack,
    /// The class or the level of requests to drives.
    IoPriority,
    /// A file could not be opened, read, written or deleted.
    File,
    /// Memory to touch.
    Memory,
    /// A lock could not be given back.
    Lock,
    /// A child could not be made.
    Fork,
    /// A command could not be run, or ended with a status other than 0.
    Command,
    /// The kernel did not go as far as to choose a processor for another program.
    Exec,
}
/// Number of kinds.
const TROUBLES: usize = Trouble::Exec as usize + 1;

shareable! {
    /// A worker, or one of its children. Slots do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(128))]
    pub(crate) struct Slot {
        /// 0 until it exists.
        pub pid: AtomicI32,
        pub job: AtomicU32,
        /// The slot of the task that forked it, and 1; 0 for a task of the workload.
        pub parent: AtomicU32,
        /// When it began, ns of the monotonic clock; 0 before.
        pub began: AtomicU64,
        /// When it ended; 0 before, and always 0 if it was killed.
        pub ended: AtomicU64,
        /// The longest time it was runnable and did not run, ns.
        pub longest_gap: AtomicU64,
        /// When it last read the clock; 0 while it is blocked.
        pub seen: AtomicU64,
        /// Signals sent to it whose handler has not run.
        pub signals: AtomicU32,
        /// Index of the program that it runs.
        pub program: AtomicU32,
        /// What it waits for, if only another task can give it, as a number: see `awaited`.
        pub awaits: AtomicU32,
        /// The ticket with which it waits: twice the ticket and 1, and 1 more if it wants a lock for reading; 0 if it has none.
        ticket: AtomicU64,
        /// The condition variable whose signal it awaits or has had without going on, and the ticket, see [`Slot::awaits_signal`]; 0 for none.
        signal: AtomicU64,
        /// Since when it waits for a lock or a permit that it has requested, or when it sent the message for which it waits for room;
        /// 0 otherwise.
        pub since: AtomicU64,
        /// When the message was sent that it received last, and when the request arrived for which it makes its pass; 0 once it is done
        /// with them.
        pub message: AtomicU64,
        pub request: AtomicU64,
        /// When its present pass began, and the last deadline so far.
        pub pass_began: AtomicU64,
        pub due: AtomicU64,
        /// When the sleep ends in which it is; 0 if it is in none.
        pub until: AtomicU64,
        /// A [`Usage`], field by field: what it had used when it began, and once `closed`, what it has used since.
        account: [AtomicU64; 6],
        /// Processor time of its children, and of theirs, that it has waited for, microseconds.
        pub reaped_us: AtomicU64,
        /// When its account was closed, after the end of its program; 0 before.
        closed: AtomicU64,
        /// Bytes that its calls read, and bytes read from drives for it, since it began.
        pub reads: [AtomicU64; 2],
        /// By [`Trouble`], the number and 1; 0 for none.
        troubles: [AtomicU64; TROUBLES],
    }
}

impl Slot {
    /// Whether its task has begun and not ended.
    pub fn is_alive(&self) -> bool {
        self.began.load(Relaxed) > 0 && self.ended.load(Relaxed) == 0
    }

    /// Its work begins: what it has used before does not count.
    pub fn open_account(&self, before: Usage) {
        self.set_account(before);
    }

    /// Its work is over, and this is what it has used by now; what comes after does not count.
    pub fn close_account(&self, usage: Usage, now: u64) {
        self.set_account(self.since_begin(usage));
        self.closed.store(now, Release);
    }

    /// What it used from its start to its end, and when that was read; none while it runs.
    pub fn closed_account(&self) -> Option<(Usage, u64)> {
        let closed = self.closed.load(Acquire);
        (closed > 0).then(|| (self.account(), closed))
    }

    fn set_account(&self, usage: Usage) {
        let Usage { user_us, system_us, minor_faults, major_faults, voluntary, involuntary } = usage;
        let values = [user_us, system_us, minor_faults, major_faults, voluntary, involuntary];
        self.account.iter().zip(values).for_each(|(place, value)| place.store(value, Relaxed));
    }

    fn account(&self) -> Usage {
        let [user_us, system_us, minor_faults, major_faults, voluntary, involuntary] =
            std::array::from_fn(|i| self.account[i].load(Relaxed));
        Usage { user_us, system_us, minor_faults, major_faults, voluntary, involuntary }
    }

    /// Its use without what it had used before its work began.
    pub fn since_begin(&self, usage: Usage) -> Usage {
        usage.minus(self.account())
    }

    /// It waits for that, without a ticket so far.
    pub fn waits(&self, awaits: u32) {
        self.ticket.store(0, Relaxed);
        self.awaits.store(awaits, Relaxed);
    }

    /// Notes the ticket with which it waits, and whether it wants a lock for reading.
    pub fn draw(&self, ticket: u32, reads: bool) {
        self.ticket.store((u64::from(ticket) + 1) << 1 | u64::from(reads), Relaxed);
    }

    /// That ticket, and whether it wants a lock for reading.
    pub fn ticket(&self) -> Option<(u32, bool)> {
        let noted = self.ticket.load(Relaxed);
        Some((((noted >> 1).checked_sub(1)?) as u32, noted & 1 == 1))
    }

    /// Notes the condition variable that it waits for and its ticket there, until it has its lock again.
    pub fn awaits_signal(&self, signal: Option<(u16, u32)>) {
        let noted = |(condition, ticket)| (u64::from(ticket) << 16 | u64::from(condition)) << 1 | 1;
        self.signal.store(signal.map_or(0, noted), Relaxed);
    }

    /// That condition variable and ticket.
    fn signal(&self) -> Option<(u16, u32)> {
        let noted = self.signal.load(Relaxed);
        (noted != 0).then_some(((noted >> 1) as u16, (noted >> 17) as u32))
    }

    /// Notes what it could not have.
    pub fn note(&self, trouble: Trouble, number: u64) {
        self.troubles[trouble as usize].store(number.saturating_add(1), Relaxed);
    }

    /// Notes why a call failed.
    pub fn failed(&self, trouble: Trouble, why: &std::io::Error) {
        self.note(trouble, why.raw_os_error().unwrap_or(0) as u64);
    }

    /// The number noted with that trouble.
    pub fn trouble(&self, trouble: Trouble) -> Option<u64> {
        self.troubles[trouble as usize].load(Relaxed).checked_sub(1)
    }
}

shareable! {
    /// What the tasks of a job have measured.
    pub(crate) struct JobTotals {
        /// Tasks of the workload that have begun, and what they had used by then, microseconds: it was the agent's work.
        pub made: AtomicU64,
        pub making_us: AtomicU64,
        pub created: AtomicU64,
        /// Tasks that came to their program's end.
        pub ended: AtomicU64,
        /// Children of tasks that a signal ended.
        pub died: AtomicU64,
        pub wakeup_latency: Tally,
        pub turnaround: Tally,
        pub response: Tally,
        pub slowdown: Tally,
        pub bounded_slowdown: Tally,
        pub queueing: Tally,
        pub pass_time: Tally,
        pub lateness: Tally,
        pub misses: AtomicU64,
        pub message_latency: Tally,
        pub lock_latency: Tally,
        /// Requests that were taken, if it is a pool.
        pub taken: AtomicU64,
        pub signals_overlapped: AtomicU64,
        pub memory_refused: AtomicU64,
        pub memory_unused: AtomicU64,
        /// The most that a task of it has held at its end, and 1; 0 while none has ended.
        pub high_water: AtomicU64,
    }
}

shareable! {
    /// The barrier: workers wait at it until the run starts.
    pub(crate) struct Barrier {
        /// 1 when the workers are the supervisor's children.
        pub adopted: AtomicU32,
        /// Workers that are ready.
        pub ready: AtomicU32,
        /// 1 when `start` is set.
        pub open: AtomicU32,
        /// When the run begins, ns of the monotonic clock.
        pub start: AtomicU64,
        /// Slots in use.
        pub slots: AtomicU32,
        /// Why a worker could not be created: the system's error; 0 if all could.
        pub broken: AtomicU32,
        /// Tasks that the run waits for and whose accounts are not closed.
        pub awaited: AtomicU32,
    }
}

/// All shared state of a run.
pub(crate) struct SharedState {
    barrier: Shared<Barrier>,
    pub slots: Shared<Slot>,
    pub totals: Shared<JobTotals>,
    pub locks: Locks,
    pub semaphores: Shared<Semaphore>,
    pub barriers: Shared<TaskBarrier>,
    conditions: Shared<ConditionWords>,
    /// By condition variable, a mark for each task that was killed while it waited.
    marks: Shared<AtomicU64>,
    /// How many each of them has.
    places: usize,
    /// By pipe.
    pub traffic: Shared<Traffic>,
}

impl SharedState {
    /// For that many workers, and at most that many children with a slot each.
    pub fn new(tasks: usize, children: usize, jobs: usize, programs: &Programs) -> Result<SharedState, Fault> {
        let places = (tasks + children + 1).next_power_of_two();
        let shared = SharedState {
            barrier: Shared::new(1)?,
            slots: Shared::new(tasks + children + 1)?,
            totals: Shared::new(jobs)?,
            locks: Locks::new(programs, tasks + children + 1)?,
            semaphores: Shared::new(programs.semaphores.len())?,
            barriers: Shared::new(programs.barriers.len())?,
            conditions: Shared::new(programs.conditions.len())?,
            marks: Shared::new(programs.conditions.len() * places)?,
            places,
            traffic: Shared::new(programs.pipes.len())?,
        };
        shared.semaphores.iter().zip(&programs.permits).for_each(|(one, &permits)| one.begin(permits));
        for (traffic, capacity) in shared.traffic.iter().zip(&programs.capacities) {
            traffic.room.begin(capacity.unwrap_or(0));
        }
        shared.barrier().slots.store(tasks as u32, Relaxed);
        Ok(shared)
    }

    pub fn barrier(&self) -> &Barrier {
        &self.barrier[0]
    }

    pub fn condition(&self, which: u16) -> Condition<'_> {
        let which = usize::from(which);
        Condition { words: &self.conditions[which], marks: &self.marks[which * self.places..][..self.places] }
    }

    /// The number of a slot for a child. Beyond a bound they all get the last one, which belongs to none.
    pub fn slot_for_child(&self) -> usize {
        let slot = self.barrier().slots.fetch_add(1, Relaxed) as usize;
        slot.min(self.slots.len() - 1)
    }

    /// That process was ended by a signal. If it was a task: what it waited for is passed on to those behind it.
    pub fn was_killed(&self, pid: i32) {
        let is_it = |slot: &&Slot| slot.pid.load(Relaxed) == pid && slot.ended.load(Relaxed) == 0;
        let Some((number, slot)) = self.used().iter().enumerate().find(|(_, slot)| is_it(slot)) else { return };
        let awaited = awaited(slot.awaits.load(Relaxed));
        let waited_for = if let Some(Awaited::Lock(lock)) = awaited { Some(usize::from(lock)) } else { None };
        self.locks.was_killed(waited_for, slot.ticket(), Taker { task: number as u32 + 1, process: pid as u32 });
        if let Some((condition, ticket)) = slot.signal() {
            self.condition(condition).pass_on(ticket);
        }
        match awaited {
            Some(Awaited::Permit(semaphore)) => self.semaphores[usize::from(semaphore)].wake_another(),
            Some(Awaited::Room(pipe)) => self.traffic[usize::from(pipe)].room.wake_another(),
            _ => {}
        }
    }

    /// The slots that belong to a worker or a child.
    pub fn used(&self) -> &[Slot] {
        &self.slots[..(self.barrier().slots.load(Relaxed) as usize).min(self.slots.len() - 1)]
    }
}
