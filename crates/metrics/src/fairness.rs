//! How evenly processor time is divided: Jain's index, over a whole run and in windows of it.
//!
//! ```text
//!          (sum of x)^2
//! jain  =  --------------        x: what each of n tasks got; 1 if all got the same, 1/n if one got everything
//!          n * sum of x^2
//! ```
//!
//! R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness and Discrimination for Resource Allocation in Shared Computer
//! Systems, DEC-TR-301, 1984.

use crate::{
    distribution::Distribution,
    job::{Job, Place, Task},
    processor::Processor,
};
use schedlab_model::{Nanos, SECOND, task::TaskId};

/// The sums of the index.
#[derive(Debug, Clone, Copy, Default)]
pub struct Jain {
    n: u64,
    sum: f64,
    squares: f64,
}

impl Jain {
    /// One more got x.
    pub fn add(&mut self, x: f64) {
        self.n += 1;
        self.sum += x;
        self.squares += x * x;
    }

    /// What these and those got.
    pub fn plus(self, other: &Jain) -> Jain {
        Jain { n: self.n + other.n, sum: self.sum + other.sum, squares: self.squares + other.squares }
    }

    /// The index; none where fewer than two share, or there was nothing to divide.
    pub fn index(&self) -> Option<f64> {
        (self.n > 1 && self.squares > 0.0).then(|| self.sum * self.sum / (self.n as f64 * self.squares))
    }
}

/// Length of a window.
const LENGTH: Nanos = SECOND;

/// The windows of a run. In each, those tasks are compared that wanted a processor all the time: they ran or were in a runqueue.
///
/// A window is evaluated before the first event after its end that changes where a task is; until then all tasks are where they
/// were at its end.
#[derive(Debug, Clone)]
pub(crate) struct Windows {
    /// When the present window ends.
    pub due: Nanos,
    /// Processor time of each task at the begin of the window, ns; 0 for those that came later.
    had: Vec<Nanos>,
    /// The index over the tasks of all jobs.
    pub of_all: Distribution,
    /// Scratch: of each task on a processor, the time there that it is not yet credited with.
    running: Vec<(TaskId, Nanos)>,
    /// Scratch: the sums of each job.
    sums: Vec<Jain>,
}

impl Default for Windows {
    fn default() -> Self {
        Windows { due: LENGTH, had: Vec::new(), of_all: Distribution::default(), running: Vec::new(), sums: Vec::new() }
    }
}

impl Windows {
    /// Evaluates the windows that have ended at that time.
    #[cold]
    #[inline(never)]
    pub fn evaluate(&mut self, time: Nanos, tasks: &[Task], processors: &[Processor], jobs: &mut [Job]) {
        self.divide(tasks, processors, jobs.len());
        self.record(1, jobs);
        // Nothing has happened since this window: those after it are all alike.
        let more = (time - self.due) / LENGTH;
        if more > 0 {
            self.due += LENGTH;
            self.divide(tasks, processors, jobs.len());
            self.record(more, jobs);
            self.due += (more - 1) * LENGTH;
            self.divide(tasks, processors, jobs.len());
        }
        self.due = self.due.saturating_add(LENGTH);
    }

    /// Sums up what the tasks of each job got since the last window.
    fn divide(&mut self, tasks: &[Task], processors: &[Processor], jobs: usize) {
        let (begin, end) = (self.due - LENGTH, self.due);
        self.running.clear();
        self.running.extend(processors.iter().filter_map(|processor| processor.running(end)));
        self.running.sort_unstable();
        self.sums.clear();
        self.sums.resize(jobs, Jain::default());
        self.had.resize(tasks.len(), 0);
        for ((id, task), had) in (0..).zip(tasks).zip(&mut self.had) {
            let uncredited = match task.place {
                Place::Running => {
                    self.running.binary_search_by_key(&id, |one| one.0).map_or(0, |at| self.running[at].1)
                }
                place if place.cause().is_some() => 0,
                _ => continue,
            };
            let ran = task.ran.saturating_add(uncredited);
            let got = ran.saturating_sub(std::mem::replace(had, ran));
            if task.able <= begin {
                self.sums[task.job as usize].add(got as f64);
            }
        }
    }

    /// Counts the index of that many windows.
    fn record(&mut self, windows: u64, jobs: &mut [Job]) {
        let named = &self.sums[..self.sums.len() - 1];
        let record = |sum: Jain, seen: &mut Distribution| {
            if let Some(index) = sum.index() {
                seen.record_times((index * SECOND as f64).round() as u64, windows);
            }
        };
        record(named.iter().fold(Jain::default(), Jain::plus), &mut self.of_all);
        named.iter().zip(jobs).for_each(|(&sum, job)| record(sum, &mut job.jain_in_windows));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(got: &[f64]) -> Option<f64> {
        let mut jain = Jain::default();
        got.iter().for_each(|&x| jain.add(x));
        jain.index()
    }

    #[test]
    fn the_index_is_one_for_equal_parts_and_one_nth_if_one_has_everything() {
        assert_eq!(of(&[3.0; 7]), Some(1.0));
        assert_eq!(of(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 1 + 4)^2 = 36, 3 * (1 + 1 + 16) = 54
        assert_eq!(of(&[1.0, 1.0, 4.0]), Some(36.0 / 54.0));
    }

    #[test]
    fn one_alone_and_nothing_to_divide_have_no_index() {
        assert_eq!([of(&[]), of(&[2.0]), of(&[0.0, 0.0])], [None; 3]);
    }
}
