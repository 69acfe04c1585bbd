//! What a run's numbers suffer from: what its end cut off, and what means and quantiles hide.

use crate::{collector::Collector, job::Job, report::Warning};
use schedlab_model::{Nanos, SECOND};

/// A ready task, or a request of a drive, that waits for longer than this is reported.
const LONG: Nanos = SECOND;

fn seconds(ns: Nanos) -> f64 {
    ns as f64 / SECOND as f64
}

impl Collector {
    pub(crate) fn warnings(&self) -> Vec<Warning> {
        let mut all = Vec::new();
        for (name, job) in self.setup.jobs.iter().zip(&self.jobs) {
            all.extend(self.cut(name, job));
            all.extend(Warning::of_starved(name, job.longest_wait()));
        }
        all.extend(old_request(self.storage.unfinished_longest));
        if self.counts.stray > 0 {
            all.push(Warning {
                metric: None,
                seen: format!("{} events name a task or a processor that was never announced", self.counts.stray),
                why: "they are missing from every metric".to_owned(),
                advice: "check that the recording is complete and of this machine".to_owned(),
            });
        }
        all
    }

    /// Of tasks that could have gone on. Those that could not are the deadlock's.
    fn cut(&self, name: &str, job: &Job) -> Option<Warning> {
        let left = job.first.saturating_sub(job.first_ended + job.stuck_first);
        let (all, end) = (job.first, seconds(self.end));
        (left > 0).then(|| Warning {
            metric: Some(format!("tasks.{name}.real")),
            seen: format!("{left} of {all} tasks of `{name}` had not ended when the run ended at {end} s"),
            why: "its `real` is left out: a mean over the others would favour short tasks, and so does `turnaround`"
                .to_owned(),
            advice: "let the run last longer, or ask for `passes` or `share` of a job that never ends".to_owned(),
        })
    }
}

impl Warning {
    /// Of a job whose ready task had no processor for so long, if that is long.
    pub fn of_starved(job: &str, longest: Nanos) -> Option<Warning> {
        (longest > LONG).then(|| Warning {
            metric: Some(format!("tasks.{job}.longest_gap")),
            seen: format!("a ready task of `{job}` had no processor for {:.3} s", seconds(longest)),
            why: "means and quantiles of many short waits do not show it".to_owned(),
            advice: format!("look at tasks.{job}.longest_gap and tasks.{job}.run_wait.max"),
        })
    }
}

fn old_request(oldest: Nanos) -> Option<Warning> {
    (oldest > LONG).then(|| Warning {
        metric: Some("await".to_owned()),
        seen: format!("a request had waited for a drive for {:.3} s when the run ended", seconds(oldest)),
        why: "a mean of many short waits does not show it".to_owned(),
        advice: "look at await_censored_max, and at the elevator's rules".to_owned(),
    })
}
