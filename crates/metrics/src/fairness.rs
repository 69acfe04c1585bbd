//! How evenly processor time is divided in each second of a run.

use crate::{
    distribution::Distribution,
    jain::Jain,
    job::{Job, Place, Task},
    processor::Processor,
};
use schedlab_model::{Nanos, SECOND, task::TaskId};

/// Length of a window.
const LENGTH: Nanos = SECOND;
/// A window whose index is below this is uneven: that of shares which are a tenth above or below the mean.
const EVEN: f64 = 0.99;

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
    /// Time of the uneven windows, ns.
    pub uneven: Nanos,
    /// Scratch: of each task on a processor, the time there that it is not yet credited with.
    running: Vec<(TaskId, Nanos)>,
    /// Scratch: the sums of each job.
    sums: Vec<Jain>,
}

impl Default for Windows {
    fn default() -> Self {
        Windows {
            due: LENGTH,
            had: Vec::new(),
            of_all: Distribution::default(),
            uneven: 0,
            running: Vec::new(),
            sums: Vec::new(),
        }
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
        let record = |sum: Jain, seen: &mut Distribution, uneven: &mut Nanos| {
            if let Some(index) = sum.index() {
                seen.record_times((index * SECOND as f64).round() as u64, windows);
                *uneven = uneven.saturating_add(if index < EVEN { windows.saturating_mul(LENGTH) } else { 0 });
            }
        };
        record(named.iter().fold(Jain::default(), Jain::plus), &mut self.of_all, &mut self.uneven);
        named.iter().zip(jobs).for_each(|(&sum, job)| record(sum, &mut job.jain_in_windows, &mut job.uneven));
    }
}
