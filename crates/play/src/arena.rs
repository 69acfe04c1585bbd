//! The memory that the agent and its tasks share: who there is, what each has measured, and the starting shot.
//!
//! All of it is mapped before the first task is made and made of atomic numbers, for which zero is the start. A task writes
//! its own slot and its job's board; the agent reads them when the tasks are gone.

use crate::tally::Tally;
use schedlab_linux::{Fault, process::Usage, shareable, shared::Shared};
use std::sync::atomic::{
    AtomicI32, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// What a task could not have; the number beside it is the system's error, or what it has instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Memory that stays.
    LockedMemory,
    Affinity,
    Nice,
    Policy,
    Slice,
    Reservation,
    Group,
    TimerSlack,
    /// A file could not be opened, read, written or deleted.
    File,
    /// Memory to touch.
    Memory,
    /// A child could not be made.
    Fork,
    /// A command could not be run, or ended with a status other than 0.
    Command,
}
/// How many there are.
const TROUBLES: usize = Trouble::Command as usize + 1;

shareable! {
    /// One task, or one of its children. Two do not share a line of the processor's cache.
    #[derive(Debug, Default)]
    #[repr(align(128))]
    pub(crate) struct Slot {
        /// 0 until it is there.
        pub pid: AtomicI32,
        pub job: AtomicU32,
        /// The slot of the task that forked it, and 1; 0 for a task of the workload.
        pub parent: AtomicU32,
        /// When it began, ns of the monotonic clock; 0 before.
        pub began: AtomicU64,
        /// When it ended; 0 before, and for ever if it was ended.
        pub ended: AtomicU64,
        /// The longest time it wanted a processor and had none, ns.
        pub longest_gap: AtomicU64,
        /// When it last looked at the clock; 0 while it waits for something else than a processor.
        pub seen: AtomicU64,
        /// Signals sent to it whose handler has not run.
        pub signals: AtomicU32,
        /// The program that it plays, of the workload's.
        pub program: AtomicU32,
        /// What it waits for, if only another task can give it, as a number: see `stuck`.
        pub awaits: AtomicU32,
        /// When its present pass began, and the last deadline so far.
        pub pass_began: AtomicU64,
        pub due: AtomicU64,
        /// When the sleep ends in which it is; 0 if it is in none.
        pub until: AtomicU64,
        /// A [`Usage`], field by field: what it had used when it began, and once `closed`, what it has used since.
        account: [AtomicU64; 6],
        /// When its account was closed, after its program's end; 0 before.
        closed: AtomicU64,
        /// Bytes that its calls read, and bytes read from drives for it, since it began.
        pub reads: [AtomicU64; 2],
        /// By [`Trouble`], the number and 1; 0 for none.
        troubles: [AtomicU64; TROUBLES],
    }
}

impl Slot {
    /// Its work begins: what it has used before does not count.
    pub fn open_account(&self, before: Usage) {
        self.set_account(before);
    }

    /// Its work is over, and this is what it has used by now; what comes after does not count.
    pub fn close_account(&self, usage: Usage, now: u64) {
        self.set_account(self.since_begin(usage));
        self.closed.store(now, Release);
    }

    /// What it has used from its begin to its end, and when that was known; none while it is at work.
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
    pub(crate) struct Board {
        /// Tasks of the workload that have begun, and what they had used by then, microseconds: it was the agent's work.
        pub made: AtomicU64,
        pub making_us: AtomicU64,
        pub created: AtomicU64,
        /// Tasks that came to their program's end.
        pub ended: AtomicU64,
        /// Children of tasks that a signal ended.
        pub died: AtomicU64,
        pub wakeup_latency: Tally,
        pub response: Tally,
        pub queueing: Tally,
        pub pass_time: Tally,
        pub lateness: Tally,
        pub misses: AtomicU64,
        pub signals_overlapped: AtomicU64,
        pub memory_refused: AtomicU64,
        pub memory_unused: AtomicU64,
        /// The most that a task of it has held at its end, and 1; 0 while nobody has ended.
        pub high_water: AtomicU64,
    }
}

shareable! {
    /// The starting shot.
    pub(crate) struct Gate {
        /// 1 when the tasks are the agent's children.
        pub adopted: AtomicU32,
        /// Tasks that are ready.
        pub ready: AtomicU32,
        /// 1 when `start` stands.
        pub open: AtomicU32,
        /// When the run begins, ns of the monotonic clock.
        pub start: AtomicU64,
        /// Slots given out.
        pub slots: AtomicU32,
        /// Why a task could not be made: the system's error; 0 if all could.
        pub broken: AtomicU32,
        /// Tasks that the run waits for and whose accounts are not closed.
        pub awaited: AtomicU32,
    }
}

/// All of it.
pub(crate) struct Arena {
    gate: Shared<Gate>,
    pub slots: Shared<Slot>,
    pub boards: Shared<Board>,
    pub locks: Shared<AtomicU32>,
}

impl Arena {
    /// For so many tasks from the start, and so many children at most that each have a slot.
    pub fn new(tasks: usize, children: usize, jobs: usize, locks: usize) -> Result<Arena, Fault> {
        let arena = Arena {
            gate: Shared::new(1)?,
            slots: Shared::new(tasks + children + 1)?,
            boards: Shared::new(jobs)?,
            locks: Shared::new(locks)?,
        };
        arena.gate().slots.store(tasks as u32, Relaxed);
        Ok(arena)
    }

    pub fn gate(&self) -> &Gate {
        &self.gate[0]
    }

    /// The number of a slot for a child. Beyond a bound they all get the last one, which is nobody's.
    pub fn slot_for_child(&self) -> usize {
        let slot = self.gate().slots.fetch_add(1, Relaxed) as usize;
        slot.min(self.slots.len() - 1)
    }

    /// The slots in use that are somebody's.
    pub fn used(&self) -> &[Slot] {
        &self.slots[..(self.gate().slots.load(Relaxed) as usize).min(self.slots.len() - 1)]
    }
}
