//! Load averages, as `uptime` reports them, and the exact mean: of the tasks that run or could run, by nice level.
//!
//! During a run only the tasks' sleep times are counted. When a sample is due, the present tasks are counted from their states.
//! The number of present tasks grows only by wakeups, so the collector takes a due sample before each wakeup (and before an
//! exit); tasks that left meanwhile are known by the time at which they left.

use crate::job::{Place, Task};
use schedlab_model::{Nanos, SECOND, real::exp};

/// Time between two samples.
const EVERY: Nanos = 5 * SECOND;
/// Over how long the averages reach back, s.
const REACHES: [f64; 3] = [60.0, 300.0, 900.0];
/// Levels that an event can name: its flag is the nice value and 128.
const LEVELS: usize = 256;

/// The tasks of one nice level.
#[derive(Debug, Clone, Default)]
pub(crate) struct Level {
    tasks: u64,
    averages: [f64; REACHES.len()],
    /// Time that its tasks have lived, and how much of it they slept, ns.
    lived: u128,
    slept: u128,
}

impl Level {
    /// `present` tasks were there at each of `samples` samples.
    fn sample(&mut self, present: u32, samples: u64) {
        let passed = samples as f64 * (EVERY / SECOND) as f64;
        for (average, reach) in self.averages.iter_mut().zip(REACHES) {
            *average = f64::from(present) + (*average - f64::from(present)) * exp(-passed / reach);
        }
    }

    /// Mean number of tasks present in a run of that length.
    pub fn mean(&self, length: Nanos) -> Option<f64> {
        (length > 0).then(|| self.lived.saturating_sub(self.slept) as f64 / length as f64)
    }
}

/// All nice levels.
#[derive(Debug, Clone)]
pub(crate) struct Loads {
    /// When the next sample is due.
    pub due: Nanos,
    levels: Box<[Level; LEVELS]>,
}

impl Default for Loads {
    fn default() -> Self {
        Loads { due: EVERY, levels: Box::new(std::array::from_fn(|_| Level::default())) }
    }
}

impl Loads {
    /// A task came to be.
    pub fn created(&mut self, task: &Task) {
        self.levels[usize::from(task.level)].tasks += 1;
    }

    /// A task has slept till now.
    #[inline(always)]
    pub fn slept(&mut self, task: &Task, now: Nanos) {
        self.levels[usize::from(task.level)].slept += u128::from(now.saturating_sub(task.since));
    }

    /// A task has lived till now.
    pub fn lived(&mut self, task: &Task, now: Nanos) {
        self.levels[usize::from(task.level)].lived += u128::from(now.saturating_sub(task.created));
    }

    /// Takes the samples that are due up to that time. No task has woken up since the first of them.
    #[cold]
    #[inline(never)]
    pub fn sample(&mut self, tasks: &[Task], to: Nanos) {
        let mut present = [0; LEVELS];
        let mut left = Vec::new();
        for task in tasks {
            let gone = matches!(task.place, Place::Waiting | Place::Ended);
            if gone && (task.since <= self.due || task.created > self.due) {
                continue;
            }
            present[usize::from(task.level)] += 1;
            if gone && task.since <= to {
                left.push((task.since, task.level));
            }
        }
        left.sort_unstable();
        for (time, level) in left {
            // A task that left at the time of a sample is not counted in it.
            self.until(time - 1, &present);
            present[usize::from(level)] -= 1;
        }
        self.until(to, &present);
    }

    /// These numbers of tasks were present at every sample up to that time.
    fn until(&mut self, to: Nanos, present: &[u32; LEVELS]) {
        let Some(passed) = to.checked_sub(self.due) else { return };
        let samples = passed / EVERY + 1;
        self.due = self.due.saturating_add(samples.saturating_mul(EVERY));
        for (level, &present) in self.levels.iter_mut().zip(present).filter(|(level, _)| level.tasks > 0) {
            level.sample(present, samples);
        }
    }

    /// The nice levels that tasks have had, and these tasks.
    pub fn levels(&self) -> impl Iterator<Item = (i16, &Level)> {
        let nice = |index: usize| index as i16 - 128;
        self.levels.iter().enumerate().filter(|(_, level)| level.tasks > 0).map(move |(i, level)| (nice(i), level))
    }

    /// An average of one level; none in a run that ended before the first sample.
    pub fn average(&self, level: &Level, reach: usize) -> Option<f64> {
        (self.due > EVERY).then(|| level.averages[reach])
    }

    /// The same of all levels together.
    pub fn average_of_all(&self, reach: usize) -> Option<f64> {
        (self.due > EVERY).then(|| self.levels().map(|(_, level)| level.averages[reach]).sum())
    }

    /// Mean number of tasks present in a run of that length.
    pub fn mean_of_all(&self, length: Nanos) -> Option<f64> {
        (length > 0).then(|| self.levels().filter_map(|(_, level)| level.mean(length)).sum())
    }
}
