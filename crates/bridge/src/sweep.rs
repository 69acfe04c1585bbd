//! Runs by the thousand: handed to the workers one by one from a queue, and given back in the order in which they were put in,
//! however long each takes. Memory is bounded by the caller, who limits how far the runs put in are ahead of those taken.
//!
//! A scenario that draws no random number is run once. A worker prefers runs of which it is known that they are needed to
//! further runs of a scenario whose first one is under way, but rather makes one of these than nothing.

use crate::batch;
use schedlab_metrics::Report;
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

mod queue;

use queue::{Job, Queue};

/// Workers with a queue before them. When this is dropped, they end after the run that each has in hand.
#[derive(Debug)]
pub struct Sweep(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    queued: Condvar,
    finished: Condvar,
}

#[derive(Debug, Default)]
struct State {
    queue: Queue,
    /// Runs that need not be made are finished without a report.
    finished: BTreeMap<u64, Result<Option<Report>, Failure>>,
    taken: u64,
    closed: bool,
}

#[derive(Debug)]
enum Failure {
    /// The scenario cannot be simulated.
    Refused(String),
    /// The simulator panicked.
    Fault(String),
}

impl Sweep {
    /// Starts that many workers.
    ///
    /// # Errors
    /// If the system gives no thread.
    pub fn start(threads: usize) -> Result<Sweep, String> {
        let sweep = Sweep(Arc::default());
        for number in 0..threads.clamp(1, batch::MOST_THREADS) {
            let shared = Arc::clone(&sweep.0);
            let worker = thread::Builder::new().name(format!("run {number}")).spawn(move || shared.work());
            worker.map_err(|why| format!("no thread for a run: {why}"))?;
        }
        Ok(sweep)
    }

    /// Queues a run of a scenario for each seed; of the same text as the last time, they go on from there. A text that is no
    /// scenario is refused when its runs are taken.
    pub fn put(&self, scenario_json: &str, seeds: &[u64]) {
        let mut state = self.0.state();
        let unneeded = state.queue.put(scenario_json, seeds);
        state.leave_out(unneeded);
        self.0.queued.notify_all();
    }

    /// Waits until all runs are finished, or for that long. Returns how many can be taken and how many are under way.
    pub fn wait(&self, patience: Duration) -> (u64, u64) {
        let open = |state: &mut State| state.under_way() > state.finished.len() as u64;
        let waited = self.0.finished.wait_timeout_while(self.0.state(), patience, open);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let ready = (state.taken..).zip(state.finished.keys()).take_while(|(next, key)| next == *key).count() as u64;
        (ready, state.under_way())
    }

    /// Takes the finished runs up to the first unfinished one, as `batch` gives them, and their number. Those that were not
    /// made, since the first of their scenario drew nothing, are counted and have no rows.
    ///
    /// # Errors
    /// If the next run could not be made; the runs before it are given first.
    ///
    /// # Panics
    /// If the simulator panicked in the next run, with the same message.
    pub fn take(&self) -> Result<(usize, Vec<u8>), String> {
        let reports = match self.0.state().ready() {
            Ok(reports) => reports,
            Err(Failure::Refused(why)) => return Err(why),
            Err(Failure::Fault(why)) => panic_any(why),
        };
        let made = (0..).zip(&reports).filter_map(|(run, report)| Some((run, report.as_ref()?)));
        let stream = batch::stream(batch::table(made)).map_err(|why| why.to_string())?;
        Ok((reports.len(), stream))
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        state.queue = Queue::default();
        self.0.queued.notify_all();
    }
}

impl State {
    /// Takes what is finished up to the first run that is not, or has failed; its failure only if it is the next one.
    fn ready(&mut self) -> Result<Vec<Option<Report>>, Failure> {
        let mut reports = Vec::new();
        while let Some(done) = self.finished.remove(&self.taken) {
            match done {
                Ok(report) => reports.push(report),
                Err(failure) if reports.is_empty() => return Err(failure),
                failed @ Err(_) => {
                    self.finished.insert(self.taken, failed);
                    break;
                }
            }
            self.taken += 1;
        }
        Ok(reports)
    }

    /// How many runs were put in and not taken out.
    fn under_way(&self) -> u64 {
        self.queue.put - self.taken
    }

    /// These runs need not be made.
    fn leave_out(&mut self, unneeded: Vec<u64>) {
        self.finished.extend(unneeded.into_iter().map(|number| (number, Ok(None))));
    }

    /// A run has ended. If it drew nothing, the first one of its scenario stands for all of them, whichever ended first.
    fn finish(&mut self, job: &Job, report: Result<Report, Failure>) {
        let alike = report.as_ref().is_ok_and(|report| !report.seeded);
        let unneeded = self.queue.finish(job, !alike);
        self.leave_out(unneeded);
        self.finished.insert(job.number, report.map(|report| (job.number == job.first || !alike).then_some(report)));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            let run = || schedlab_runs::run(job.written.scenario()?, job.seed).map_err(|why| why.to_string());
            let report = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(done) => done.map_err(Failure::Refused),
                Err(panic) => Err(Failure::Fault(crate::said(&*panic).to_owned())),
            };
            let mut state = self.state();
            state.finish(&job, report);
            if state.under_way() == state.finished.len() as u64 {
                self.finished.notify_all();
            }
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.queue.next() {
                return Some(job);
            }
            state = self.queued.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario whose seeds change something, or nothing.
    fn scenario(compute: &str) -> String {
        format!(
            r#"{{"machine": {{"name": "one", "processors": 1}}, "scheduler": {{"name": "fifo"}},
                 "workload": {{"job": {{"steps": [{{"compute": {compute}}}]}}}}}}"#
        )
    }

    /// What comes of these runs: how many were counted, and which have rows.
    fn made(threads: usize, runs: &[(&str, &[u64])]) -> (usize, Vec<usize>) {
        let sweep = Sweep::start(threads).unwrap();
        for (compute, seeds) in runs {
            sweep.put(&scenario(compute), seeds);
        }
        let (mut counted, mut with_rows) = (0, Vec::new());
        while sweep.wait(Duration::from_secs(60)).1 > 0 {
            let (count, stream) = sweep.take().unwrap();
            let (_, valued, _) = crate::results::about(&stream).unwrap();
            with_rows.extend(valued.into_iter().map(|run| counted + run as usize));
            counted += count;
        }
        (counted, with_rows)
    }

    #[test]
    fn what_draws_nothing_is_run_once_on_any_number_of_threads() {
        let drawn = r#"{"exp": "1ms"}"#;
        let runs: [(&str, &[u64]); 4] =
            [(r#""1ms""#, &[1, 2, 3]), (r#""1ms""#, &[4]), (drawn, &[1, 2]), (r#""2ms""#, &[7, 8])];
        for threads in [1, 2, 8] {
            for _ in 0..20 {
                assert_eq!(made(threads, &runs), (8, vec![0, 4, 5, 6]), "{threads}");
            }
        }
    }
}
