//! What balancing knows of a processor: its load, when it looks, and which tasks are on their way.

use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The interval between two looks of an idle processor, ms; it doubles after a look that found nothing to do, up to the second, or
/// to the third where all tasks are pinned, and falls back after a try.
pub const MIN_INTERVAL: u64 = 1;
const MAX_INTERVAL: u64 = 4;
const MAX_PINNED_INTERVAL: u64 = 512;

/// The load of a processor: weights of its tasks, now and averaged over ticks.
#[derive(Debug, Clone, Default)]
pub struct Load {
    pub now: u64,
    /// cpu_load: as of the last tick, and averaged over about two of them.
    averaged: [u64; 2],
}

impl Load {
    /// A tick.
    fn age(&mut self) {
        self.averaged[0] = self.now;
        // The average is rounded up while it grows.
        self.averaged[1] = (self.averaged[1] + self.now + u64::from(self.now > self.averaged[1])) / 2;
    }

    /// Accounts for n ticks, and stops when the values no longer change.
    pub fn age_by(&mut self, ticks: u64) {
        let settled = [self.now; 2];
        let mut left = ticks;
        while left > 0 && self.averaged != settled {
            self.age();
            left -= 1;
        }
    }

    /// source_load: a low estimate, where a task may be pulled from here.
    pub fn low(&self, index: usize) -> u64 {
        self.now.min(self.averaged[index - 1])
    }

    /// target_load: a high estimate, where a task may be put.
    pub fn high(&self, index: usize) -> u64 {
        self.now.max(self.averaged[index - 1])
    }
}

/// What balancing knows of a processor.
#[derive(Debug, Clone)]
pub struct Share {
    /// Tasks, running and ready.
    pub count: usize,
    pub load: Load,
    /// Ticks so far, where there are several processors.
    pub ticks: u64,
    /// The tick of the last look, and the interval to the next.
    pub last: u64,
    pub interval: u64,
    /// Looks in a row that found tasks and moved none (nr_balance_failed).
    pub failed: u32,
    pub pull: Option<Pull>,
    /// The migration thread is to move a task to that processor (active_balance, push_cpu).
    pub push: Option<CpuId>,
    /// The task that it has taken out of its list for that processor.
    pub pushed: Option<(TaskId, CpuId)>,
}

/// Load to pull, and from where.
#[derive(Debug, Clone, Copy)]
pub struct Pull {
    pub from: CpuId,
    pub load: u64,
    pub tasks: usize,
}

impl Default for Share {
    fn default() -> Self {
        Share {
            count: 0,
            load: Load::default(),
            ticks: 0,
            last: 0,
            interval: MIN_INTERVAL,
            failed: 0,
            pull: None,
            push: None,
            pushed: None,
        }
    }
}

impl Share {
    /// A task counts here from now on.
    #[inline]
    pub fn arrive(&mut self, weight: u64) {
        self.count += 1;
        self.load.now += weight;
    }

    /// It does not any more.
    #[inline]
    pub fn leave(&mut self, weight: u64) {
        self.count -= 1;
        self.load.now -= weight;
    }

    /// A tick.
    #[inline]
    pub fn tick(&mut self) {
        self.load.age();
        self.ticks += 1;
    }

    /// How many ticks there are between two looks, with an interval so many times as long.
    pub fn ticks_between_looks(&self, factor: u64, tick: Nanos) -> u64 {
        (self.interval * factor * MILLISECOND).div_ceil(tick).max(1)
    }

    /// Nothing runs or waits here, or is on its way.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.pull.is_none() && self.push.is_none() && self.pushed.is_none()
    }

    /// As n times [`Share::tick`] while all processors are idle, where there are several: the looks at these ticks find nothing.
    pub fn rest(&mut self, ticks: u64, tick: Nanos) {
        self.load.age_by(ticks);
        let end = self.ticks + ticks;
        loop {
            let between = self.ticks_between_looks(1, tick);
            let look = (self.last + between).max(self.ticks + 1);
            if look > end {
                break;
            }
            let before = self.interval;
            self.failed = 0;
            self.wait_longer(false);
            // Once the interval no longer grows, all further looks are that far apart.
            let further = if self.interval == before { (end - look) / between } else { 0 };
            self.last = look + further * between;
            self.ticks = self.last;
        }
        self.ticks = end;
    }

    /// The running task waits or ends: the migration thread comes too late.
    #[inline]
    pub fn stop(&mut self) {
        self.push = None;
    }

    /// Whether this task is in no list any more, as the migration thread has taken it out.
    #[inline]
    pub fn is_pushed(&self, task: TaskId) -> bool {
        self.pushed.is_some_and(|(pushed, _)| pushed == task)
    }

    /// The same of a task that leaves.
    #[inline]
    pub fn was_pushed(&mut self, task: TaskId) -> bool {
        let pushed = self.is_pushed(task);
        if pushed {
            self.pushed = None;
        }
        pushed
    }

    /// The processor has nothing else to run than the task that was to leave it.
    #[inline]
    pub fn take_back(&mut self) -> Option<TaskId> {
        self.pushed.take().map(|(task, _)| task)
    }

    /// The mean load of its tasks; `scale` if it has none.
    pub fn load_per_task(&self, scale: u64) -> u64 {
        if self.count == 0 { scale } else { self.load.now / self.count as u64 }
    }

    /// There was nothing to do.
    pub fn wait_longer(&mut self, pinned: bool) {
        if self.interval < if pinned { MAX_PINNED_INTERVAL } else { MAX_INTERVAL } {
            self.interval *= 2;
        }
    }
}
