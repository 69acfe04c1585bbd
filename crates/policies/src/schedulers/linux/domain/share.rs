//! What balancing knows of a processor: its load, when it looks, and which tasks are on their way.

use super::levels::{Level, MOST_LEVELS};
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{CpuId, TaskId},
};

/// The longest interval between two looks, ms, where all tasks are pinned.
pub const MAX_PINNED_INTERVAL: u64 = 512;

/// The load of a processor: weights of its tasks, now and averaged over ticks.
#[derive(Debug, Clone, Default)]
pub struct Load {
    pub now: u64,
    /// cpu_load: as of the last tick, and averaged over about two of them.
    averaged: [u64; 2],
    /// Averaged over about four, which only machines of several domains look at.
    slow: u64,
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

    /// A tick, for the slowest average.
    fn age_slowly(&mut self) {
        // Rounded up while it grows, as well.
        self.slow = (3 * self.slow + self.now + if self.now > self.slow { 3 } else { 0 }) / 4;
    }

    /// As [`Load::age_by`], for the slowest average.
    fn age_slowly_by(&mut self, ticks: u64) {
        let mut left = ticks;
        while left > 0 && self.slow != self.now {
            self.age_slowly();
            left -= 1;
        }
    }

    fn averaged(&self, index: usize) -> u64 {
        match index {
            0 => self.now,
            3 => self.slow,
            _ => self.averaged[index - 1],
        }
    }

    /// source_load: a low estimate, where a task may be pulled from here. Index 0 is the load of now.
    pub fn low(&self, index: usize) -> u64 {
        self.now.min(self.averaged(index))
    }

    /// target_load: a high estimate, where a task may be put.
    pub fn high(&self, index: usize) -> u64 {
        self.now.max(self.averaged(index))
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
    /// Its looks at each of its domains, and whether there are several of these.
    pub looks: [Looks; MOST_LEVELS],
    pub deep: bool,
    /// Where the looks of this tick have come to: the next level, and whether the processor counts as idle there.
    pub tour: Option<(usize, bool)>,
    pub pull: Option<Pull>,
    /// The migration thread is to move a task to that processor (active_balance, push_cpu).
    pub push: Option<CpuId>,
    /// The task that it has taken out of its list for that processor.
    pub pushed: Option<(TaskId, CpuId)>,
}

/// The looks at a domain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Looks {
    /// The tick of the last, and the interval to the next.
    pub last: u64,
    pub interval: u64,
    /// Looks in a row that found tasks and moved none (nr_balance_failed).
    pub failed: u32,
}

/// Load to pull, from where, and for which domain.
#[derive(Debug, Clone, Copy)]
pub struct Pull {
    pub level: usize,
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
            looks: [Looks::default(); MOST_LEVELS],
            deep: false,
            tour: None,
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

    /// Before the first tick: these are its domains.
    pub fn begin(&mut self, levels: &[Level]) {
        self.deep = levels.len() > 1;
        for (looks, level) in self.looks.iter_mut().zip(levels) {
            looks.interval = level.kind.min_interval;
        }
    }

    /// A tick.
    #[inline]
    pub fn tick(&mut self) {
        self.load.age();
        if self.deep {
            self.load.age_slowly();
        }
        self.ticks += 1;
    }

    /// Nothing runs or waits here, or is on its way.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.pull.is_none() && self.push.is_none() && self.pushed.is_none()
    }

    /// As n times [`Share::tick`] while all processors are idle, where there are several: the looks at these ticks find nothing.
    pub fn rest(&mut self, ticks: u64, tick: Nanos, levels: &[Level]) {
        self.load.age_by(ticks);
        let end = self.ticks + ticks;
        if let [level] = levels {
            self.looks[0].rest(self.ticks, end, tick, level);
        } else {
            self.load.age_slowly_by(ticks);
            self.rest_at_levels(end, tick, levels);
        }
        self.ticks = end;
    }

    /// The same of several domains: the next tick at which any of them is due, and so on. Above a group of which another processor is the first, and
    /// looks, this one does not look at the same tick.
    fn rest_at_levels(&mut self, end: u64, tick: Nanos, levels: &[Level]) {
        loop {
            let due = |looks: &Looks| looks.last + looks.ticks_between(1, tick);
            let Some(next) = self.looks[..levels.len()].iter().map(due).min() else { return };
            let next = next.max(self.ticks + 1);
            if next > end {
                return;
            }
            self.ticks = next;
            for (looks, level) in self.looks.iter_mut().zip(levels) {
                if due(looks) <= next {
                    looks.last = next;
                    looks.failed = 0;
                    looks.wait_longer(false, level);
                    if !level.first {
                        break;
                    }
                }
            }
        }
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
}

impl Looks {
    /// How many ticks there are between two looks, with an interval multiplied by the factor.
    pub fn ticks_between(&self, factor: u64, tick: Nanos) -> u64 {
        (self.interval * factor * MILLISECOND).div_ceil(tick).max(1)
    }

    /// There was nothing to do.
    pub fn wait_longer(&mut self, pinned: bool, level: &Level) {
        if self.interval < if pinned { MAX_PINNED_INTERVAL } else { level.max_interval } {
            self.interval *= 2;
        }
    }

    /// Looks from one tick to another that find nothing, where there is but one domain.
    fn rest(&mut self, begin: u64, end: u64, tick: Nanos, level: &Level) {
        let mut ticks = begin;
        loop {
            let between = self.ticks_between(1, tick);
            let look = (self.last + between).max(ticks + 1);
            if look > end {
                return;
            }
            let before = self.interval;
            self.failed = 0;
            self.wait_longer(false, level);
            // Once the interval no longer grows, all further looks are that far apart.
            let further = if self.interval == before { (end - look) / between } else { 0 };
            self.last = look + further * between;
            ticks = self.last;
        }
    }
}
