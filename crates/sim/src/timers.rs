//! Events at a set time: a heap ordered by (time, order of setting), so that equal times keep a total
//! order and a run is a pure function of scenario and seed.
//!
//! A timer is one number of 128 bits, small and compared in one step, since a run may have millions:
//!
//!   time (64 bits), number in the order of setting (32), owner (29), kind (3)
//!
//! When the numbers run out, those that are set are numbered anew. The statistics clock's timer, which is always set again,
//! is kept outside the heap.

use schedlab_model::{Nanos, task::CpuId, task::TaskId};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expiry {
    /// Ends the wait of a task, if it still waits for the timer of this number.
    Wake { task: TaskId, number: u32 },
    /// The interrupt of such a timer is over.
    Awake { task: TaskId, number: u32 },
    /// The first pass of a task begins.
    Start { task: TaskId },
    /// The drive has a sector ready, or has ended its transfer.
    Drive,
    /// Set by the scheduler.
    Scheduler { cpu: CpuId, token: u32 },
    /// A device of the machine's list interrupts.
    Device { device: u32 },
    /// The statistics clock ticks.
    Stat,
    /// The write-back daemon looks for changed blocks.
    WriteBack,
    /// A request arrives at a pool.
    Arrival { pool: u32 },
    /// The focus changes, or a period of attention ends.
    Attention,
}

const WAKE: u32 = 0;
const START: u32 = 1;
const DRIVE: u32 = 2;
const SCHEDULER: u32 = 3;
const DEVICE: u32 = 4;
const STAT: u32 = 5;
const WRITE_BACK: u32 = 6;
const AWAKE: u32 = 7;
const ARRIVAL: u32 = 8;
const ATTENTION: u32 = 9;
/// Room for the kinds there are. It leaves 28 bits for a task: that many tasks would take 100 GB.
const KINDS: u32 = 16;

/// Behind every timer: none.
const NEVER: u128 = u128::MAX;

/// A timer in one number.
#[cfg_attr(not(debug_assertions), inline(always))]
fn pack(when: Nanos, number: u32, whose: u32, kind: u32) -> u128 {
    u128::from(when) << 64 | u128::from(number) << 32 | u128::from(whose * KINDS + kind)
}

#[cfg_attr(not(debug_assertions), inline(always))]
fn time(timer: u128) -> Nanos {
    (timer >> 64) as Nanos
}

/// The heap.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<u128>>,
    /// That of the statistics clock, or [`NEVER`].
    stat: u128,
    /// The number of the last one set.
    last: u32,
    /// When the first expires; the end of time if there is none.
    next: Nanos,
    /// The timers that the scheduler has set, and which of these places are free.
    asked: Vec<(CpuId, u32)>,
    free: Vec<u32>,
}

impl Default for Timers {
    fn default() -> Self {
        Timers { heap: BinaryHeap::new(), stat: NEVER, last: 0, next: Nanos::MAX, asked: Vec::new(), free: Vec::new() }
    }
}

impl Timers {
    /// Sets a timer that wakes a task, and gives its number.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn wake(&mut self, when: Nanos, task: TaskId) -> u32 {
        self.push(when, task, WAKE);
        self.last
    }

    /// As [`Timers::wake`], for the end of the timer's interrupt.
    pub fn awake(&mut self, when: Nanos, task: TaskId) -> u32 {
        self.push(when, task, AWAKE);
        self.last
    }

    /// Sets a timer of another kind.
    pub fn set(&mut self, when: Nanos, what: Expiry) {
        let (whose, kind) = match what {
            Expiry::Wake { task, .. } => (task, WAKE),
            Expiry::Awake { task, .. } => (task, AWAKE),
            Expiry::Start { task } => (task, START),
            Expiry::Drive => (0, DRIVE),
            Expiry::Scheduler { cpu, token } => (self.ask(cpu, token), SCHEDULER),
            Expiry::Device { device } => (device, DEVICE),
            Expiry::Stat => return self.set_stat(when),
            Expiry::WriteBack => (0, WRITE_BACK),
            Expiry::Arrival { pool } => (pool, ARRIVAL),
            Expiry::Attention => (0, ATTENTION),
        };
        self.push(when, whose, kind);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn push(&mut self, when: Nanos, whose: u32, kind: u32) {
        self.last += 1;
        self.next = self.next.min(when);
        self.heap.push(Reverse(pack(when, self.last, whose, kind)));
    }

    /// The statistics clock has one timer; a new one takes the place of the old.
    fn set_stat(&mut self, when: Nanos) {
        self.last += 1;
        self.stat = pack(when, self.last, 0, STAT);
        self.next = when.min(self.next_in_heap());
    }

    /// Keeps a timer that the scheduler sets, and gives its place.
    fn ask(&mut self, cpu: CpuId, token: u32) -> u32 {
        let place = self.free.pop().unwrap_or(self.asked.len() as u32);
        if place as usize == self.asked.len() {
            self.asked.push((cpu, token));
        }
        self.asked[place as usize] = (cpu, token);
        place
    }

    /// When the next one expires; the end of time if none is set.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn next(&self) -> Nanos {
        self.next
    }

    /// The same of all but the statistics clock's.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn next_in_heap(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse(timer)| time(*timer))
    }

    /// How many are set.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn len(&self) -> usize {
        self.heap.len() + usize::from(self.stat != NEVER)
    }

    /// Takes the next one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn take(&mut self) -> Option<Expiry> {
        let first = match self.heap.peek() {
            Some(Reverse(first)) if *first < self.stat => self.heap.pop()?.0,
            _ if self.stat == NEVER => return None,
            _ => std::mem::replace(&mut self.stat, NEVER),
        };
        self.next = self.next_in_heap().min(time(self.stat));
        let (number, whose) = ((first >> 32) as u32, first as u32 / KINDS);
        Some(match first as u32 % KINDS {
            WAKE => Expiry::Wake { task: whose, number },
            AWAKE => Expiry::Awake { task: whose, number },
            START => Expiry::Start { task: whose },
            DRIVE => Expiry::Drive,
            SCHEDULER => {
                self.free.push(whose);
                let (cpu, token) = self.asked[whose as usize];
                Expiry::Scheduler { cpu, token }
            }
            DEVICE => Expiry::Device { device: whose },
            STAT => Expiry::Stat,
            ARRIVAL => Expiry::Arrival { pool: whose },
            ATTENTION => Expiry::Attention,
            _ => Expiry::WriteBack,
        })
    }

    /// Whether there is no number for another one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn exhausted(&self) -> bool {
        self.last == u32::MAX
    }

    /// Renumbers the set timers from 1 in their order, and reports each one that wakes a task: its task, old number and new
    /// number.
    pub fn renumber(&mut self, mut report: impl FnMut(TaskId, u32, u32)) {
        let mut timers = std::mem::take(&mut self.heap).into_vec();
        if self.stat != NEVER {
            timers.push(Reverse(self.stat));
        }
        timers.sort_unstable_by_key(|Reverse(timer)| *timer);
        self.last = 0;
        for Reverse(timer) in &mut timers {
            self.last += 1;
            let (number, whose, kind) = ((*timer >> 32) as u32, *timer as u32 / KINDS, *timer as u32 % KINDS);
            if matches!(kind, WAKE | AWAKE) {
                report(whose, number, self.last);
            }
            *timer = pack(time(*timer), self.last, whose, kind);
            if kind == STAT {
                self.stat = *timer;
            }
        }
        timers.retain(|Reverse(timer)| *timer != self.stat);
        self.heap = timers.into();
    }

    /// Continues with the numbers behind this one.
    #[cfg(test)]
    pub fn number_from(&mut self, last: u32) {
        self.last = last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_of_every_kind_come_back_in_order_of_time_and_then_of_setting() {
        let mut timers = Timers::default();
        let all = [
            (7, Expiry::Scheduler { cpu: 63, token: u32::MAX }),
            (5, Expiry::Start { task: 1_000_000 }),
            (7, Expiry::Drive),
            (7, Expiry::Attention),
            (5, Expiry::Device { device: 3 }),
            (7, Expiry::Scheduler { cpu: 2, token: 0 }),
            (Nanos::MAX, Expiry::Stat),
        ];
        all.iter().for_each(|&(when, what)| timers.set(when, what));
        let number = timers.wake(6, 77);
        let order = [1, 4].map(|i| all[i].1).into_iter().chain([Expiry::Wake { task: 77, number }]);
        let order: Vec<_> = order.chain([0, 2, 3, 5, 6].map(|i| all[i].1)).collect();
        assert_eq!(timers.next(), 5);
        assert_eq!(std::iter::from_fn(|| timers.take()).collect::<Vec<_>>(), order);
        assert_eq!(timers.next(), Nanos::MAX);
        timers.set(1, Expiry::Scheduler { cpu: 4, token: 5 });
        assert_eq!(timers.take(), Some(Expiry::Scheduler { cpu: 4, token: 5 }));
        assert_eq!(timers.asked.len(), 2, "places are used again");
    }
}
