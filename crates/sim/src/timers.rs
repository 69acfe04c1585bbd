//! Things that will happen at a set time: a heap ordered by (time, order of setting), so that equal times keep a total
//! order and a run is a pure function of scenario and seed.

use schedlab_model::{Nanos, task::CpuId, task::TaskId};
use std::{cmp::Ordering, collections::BinaryHeap};

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Ends the wait of a task, if it is still the wait of that number.
    Wake { task: TaskId, wait: u32 },
    /// The first pass of a task begins.
    Start { task: TaskId },
    /// The drive has a sector ready, or has ended its transfer.
    Drive,
    /// The scheduler asked for it.
    Scheduler { cpu: CpuId, token: u32 },
    /// A device of the machine's list interrupts.
    Device { device: u32 },
    /// The statistics clock ticks.
    Stat,
}

/// One of them, small: a run may have millions.
#[derive(Debug)]
struct Timer {
    when: Nanos,
    /// How many had been set before it, and in the lowest bits which kind of expiry it is.
    order: u64,
    /// The numbers of the expiry, together: stored and loaded at once, where a processor passes a store on to a load.
    numbers: u64,
}

/// Room for the kinds of expiries there are.
const KINDS: u64 = 8;

impl Timer {
    fn new(when: Nanos, set: u64, what: Expiry) -> Timer {
        let (kind, first, second) = match what {
            Expiry::Wake { task, wait } => (0, task, wait),
            Expiry::Start { task } => (1, task, 0),
            Expiry::Drive => (2, 0, 0),
            Expiry::Scheduler { cpu, token } => (3, cpu.into(), token),
            Expiry::Device { device } => (4, device, 0),
            Expiry::Stat => (5, 0, 0),
        };
        Timer { when, order: set * KINDS + kind, numbers: u64::from(second) << 32 | u64::from(first) }
    }

    fn what(&self) -> Expiry {
        let (first, second) = (self.numbers as u32, (self.numbers >> 32) as u32);
        match self.order % KINDS {
            0 => Expiry::Wake { task: first, wait: second },
            1 => Expiry::Start { task: first },
            2 => Expiry::Drive,
            3 => Expiry::Scheduler { cpu: first as CpuId, token: second },
            4 => Expiry::Device { device: first },
            _ => Expiry::Stat,
        }
    }

    /// Time and order in one number, which is compared without a branch.
    #[inline(always)]
    fn key(&self) -> u128 {
        u128::from(self.when) << 64 | u128::from(self.order)
    }
}

/// The first to expire is the greatest: a [`BinaryHeap`] gives the greatest first.
impl Ord for Timer {
    #[inline(always)]
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl PartialOrd for Timer {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Timer {}

/// The heap.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Timer>,
    /// How many have been set.
    set: u64,
    /// When the first expires; the end of time if there is none.
    next: Nanos,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new(), set: 0, next: Nanos::MAX }
    }
}

impl Timers {
    #[inline]
    pub fn set(&mut self, when: Nanos, what: Expiry) {
        self.set += 1;
        self.next = self.next.min(when);
        self.heap.push(Timer::new(when, self.set, what));
    }

    /// When the next one expires; the end of time if none is set.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// How many are set.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Takes the next one.
    #[inline]
    pub fn take(&mut self) -> Option<Expiry> {
        let first = self.heap.pop()?;
        self.next = self.heap.peek().map_or(Nanos::MAX, |timer| timer.when);
        Some(first.what())
    }
}
