//! Load averages by nice level, which no kernel reports: tasks are counted as they are found.
//!
//! The formula is the kernel's and the simulator's (crates/metrics/src/load.rs), with the samples' own times in place of
//! every 5 s:
//!
//!     average = present + (average - present) * exp(-passed / reach)
//!     present  tasks ready, running or waiting for a drive at this sample
//!     passed   time since the sample before, s
//!     reach    60, 300 or 900 s
//!
//! They begin at 0 when the sampler begins, as the kernel's do at boot: an average over 15 minutes is low for the first
//! ones.

use super::{column::Column, column::column};
use schedlab_model::Nanos;

/// -20 to 19, and one for real-time and deadline tasks, which have no nice value that counts.
pub(super) const LEVELS: usize = 41;
pub(super) const REALTIME: usize = 40;
const REACHES: [f64; 3] = [60.0, 300.0, 900.0];

/// The tasks of one nice level.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Level {
    tasks: u32,
    present: u32,
    averages: [f64; 3],
}

/// The tasks of one nice level.
pub const LEVEL: &[Column<Level>] = &[
    column(
        "load1",
        "tasks",
        "mean of those ready, running or blocked since the sampler began, over 1 min",
        |now, _, _| Some(now.averages[0]),
    ),
    column("load5", "tasks", "the same over 5 min", |now, _, _| Some(now.averages[1])),
    column("load15", "tasks", "the same over 15 min", |now, _, _| Some(now.averages[2])),
    column("present", "tasks", "ready, running or waiting for a drive, the sampler left out", |now, _, _| {
        Some(f64::from(now.present))
    }),
    column("tasks", "tasks", "that exist, threads too", |now, _, _| Some(f64::from(now.tasks))),
];

/// All levels.
#[derive(Debug, Clone)]
pub struct Levels {
    each: [Level; LEVELS],
    at_ns: Option<Nanos>,
}

impl Default for Levels {
    fn default() -> Self {
        Levels { each: [Level::default(); LEVELS], at_ns: None }
    }
}

impl Levels {
    /// Begins a sweep: the averages stay, the counts begin anew.
    pub(super) fn begin(&mut self) {
        for level in &mut self.each {
            (level.tasks, level.present) = (0, 0);
        }
    }

    pub(super) fn count(&mut self, level: usize, state: u8) {
        self.each[level].tasks += 1;
        self.each[level].present += u32::from([b'R', b'D'].contains(&state));
    }

    /// Ends a sweep at that time.
    pub(super) fn end(&mut self, now: Nanos) {
        let passed = self.at_ns.map_or(0, |before| now.saturating_sub(before)) as f64 / schedlab_model::SECOND as f64;
        self.at_ns = Some(now);
        for level in &mut self.each {
            let present = f64::from(level.present);
            for (average, reach) in level.averages.iter_mut().zip(REACHES) {
                *average = present + (*average - present) * (-passed / reach).exp();
            }
        }
    }

    /// Those that have tasks or had some lately: the nice value, none for real-time tasks.
    pub fn present(&self) -> impl Iterator<Item = (Option<i64>, &Level)> {
        let nice = |at: usize| (at != REALTIME).then_some(at as i64 - 20);
        let shown = |level: &Level| level.tasks > 0 || level.averages.iter().any(|&average| average >= 0.001);
        self.each.iter().enumerate().filter(move |(_, level)| shown(level)).map(move |(at, level)| (nice(at), level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::SECOND;

    #[test]
    fn one_task_that_is_always_ready_brings_the_average_towards_one_as_the_formula_says() {
        let mut levels = Levels::default();
        for second in 0..=60 {
            levels.begin();
            levels.count(25, b'R');
            levels.count(25, b'S');
            levels.end(second * SECOND);
        }
        let (nice, level) = levels.present().next().unwrap();
        assert_eq!((nice, level.tasks, level.present), (Some(5), 2, 1));
        assert!((level.averages[0] - (1.0 - (-1f64).exp())).abs() < 1e-9);
        assert!((level.averages[2] - (1.0 - (-60f64 / 900.0).exp())).abs() < 1e-9);
    }
}
