//! Things that will happen at a set time: a heap ordered by (time, order of setting), so that equal times keep a total
//! order and a run is a pure function of scenario and seed.

use schedlab_model::{Nanos, task::CpuId, task::TaskId};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expiry {
    /// Ends the wait of a task, if it is still the wait of that number.
    Wake { task: TaskId, wait: u32 },
    /// The first pass of a task begins.
    Start { task: TaskId },
    /// The drive has a sector ready, or has ended its transfer.
    Drive,
    /// The scheduler asked for it.
    Scheduler { cpu: CpuId, token: u32 },
}

/// The heap.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Nanos, u64, Expiry)>>,
    set: u64,
}

impl Timers {
    #[inline]
    pub fn set(&mut self, when: Nanos, what: Expiry) {
        self.set += 1;
        self.heap.push(Reverse((when, self.set, what)));
    }

    /// When the next one expires; the end of time if none is set.
    #[inline]
    pub fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse((when, ..))| *when)
    }

    /// Takes the next one.
    #[inline]
    pub fn take(&mut self) -> Option<Expiry> {
        self.heap.pop().map(|Reverse((.., what))| what)
    }
}
