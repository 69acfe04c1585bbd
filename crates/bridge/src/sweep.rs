//! Runs by the thousand: handed to the workers one by one from a queue, and given back in the order in which they were put in,
//! however long each takes. Memory is bounded by the caller, who limits how far the runs put in are ahead of those taken.

use crate::{batch, from_json};
use schedlab_metrics::Report;
use schedlab_model::scenario::Scenario;
use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

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
    queue: VecDeque<(u64, Arc<Scenario>, u64)>,
    finished: BTreeMap<u64, Result<Report, Failure>>,
    /// How many runs were put in, and how many were taken out.
    put: u64,
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

    /// Queues a run of a scenario for each seed.
    ///
    /// # Errors
    /// If the text is no scenario.
    pub fn put(&self, scenario_json: &str, seeds: &[u64]) -> Result<(), String> {
        let scenario: Arc<Scenario> = Arc::new(from_json("scenario", scenario_json)?);
        let mut state = self.0.state();
        for &seed in seeds {
            let number = state.put;
            state.queue.push_back((number, Arc::clone(&scenario), seed));
            state.put += 1;
        }
        self.0.queued.notify_all();
        Ok(())
    }

    /// Waits until all runs are finished, or for that long. Returns how many can be taken and how many are under way.
    pub fn wait(&self, patience: Duration) -> (u64, u64) {
        let open = |state: &mut State| state.put - state.taken > state.finished.len() as u64;
        let waited = self.0.finished.wait_timeout_while(self.0.state(), patience, open);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let ready = (state.taken..).zip(state.finished.keys()).take_while(|(next, key)| next == *key).count() as u64;
        (ready, state.put - state.taken)
    }

    /// Takes the finished runs up to the first unfinished one, as `batch` gives them, and their number.
    ///
    /// # Errors
    /// If the next run could not be made; the runs before it are given first.
    ///
    /// # Panics
    /// If the simulator panicked in the next run, with the same message.
    pub fn take(&self) -> Result<(usize, Vec<u8>), String> {
        let mut reports = Vec::new();
        let failure = self.0.state().ready(&mut reports);
        match failure {
            Some(Failure::Refused(why)) => return Err(why),
            Some(Failure::Fault(why)) => panic_any(why),
            None => {}
        }
        let stream = batch::stream(batch::table(&reports)).map_err(|why| why.to_string())?;
        Ok((reports.len(), stream))
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.closed = true;
        state.queue.clear();
        self.0.queued.notify_all();
    }
}

impl State {
    /// Takes what is finished up to the first run that is not, or has failed; its failure only if it is the next one.
    fn ready(&mut self, reports: &mut Vec<Report>) -> Option<Failure> {
        while let Some(done) = self.finished.remove(&self.taken) {
            match done {
                Ok(report) => reports.push(report),
                Err(failure) if reports.is_empty() => return Some(failure),
                failed @ Err(_) => {
                    self.finished.insert(self.taken, failed);
                    break;
                }
            }
            self.taken += 1;
        }
        None
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some((number, scenario, seed)) = self.next() {
            let made = catch_unwind(AssertUnwindSafe(|| schedlab_runs::run(&scenario, seed)));
            let report = match made {
                Ok(done) => done.map_err(|why| Failure::Refused(why.to_string())),
                Err(panic) => Err(Failure::Fault(crate::said(&*panic).to_owned())),
            };
            let mut state = self.state();
            state.finished.insert(number, report);
            if state.put - state.taken == state.finished.len() as u64 {
                self.finished.notify_all();
            }
        }
    }

    fn next(&self) -> Option<(u64, Arc<Scenario>, u64)> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.queue.pop_front() {
                return Some(job);
            }
            state = self.queued.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
