//! The runs that wait for a worker, scenario by scenario.

use crate::work::scenario;
use schedlab_model::scenario::Scenario;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, OnceLock},
};

/// A scenario that is a text until a worker needs it: as values, a queue of one-run scenarios would take most of the memory of a
/// large sweep.
#[derive(Debug)]
pub(super) struct Written {
    text: String,
    read: OnceLock<Result<Scenario, String>>,
}

impl Written {
    /// The scenario, or why the text is none.
    pub fn scenario(&self) -> Result<&Scenario, String> {
        self.read.get_or_init(|| scenario(&self.text)).as_ref().map_err(Clone::clone)
    }
}

/// A run that a worker is to make.
#[derive(Debug)]
pub(super) struct Job {
    /// Its place in the order in which runs were put in.
    pub number: u64,
    pub written: Arc<Written>,
    pub seed: u64,
    /// Number of the first run of its scenario.
    pub first: u64,
}

/// The runs of a scenario.
#[derive(Debug)]
struct Batch {
    written: Arc<Written>,
    /// Number and seed of those that no worker has yet.
    waiting: VecDeque<(u64, u64)>,
    /// Whether they depend on their seeds; not known before one has ended.
    seeded: Option<bool>,
    /// Whether a worker has the first one.
    begun: bool,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    /// How many runs were put in.
    pub put: u64,
    /// Those with runs that wait, and the last one. By the number of their first run.
    batches: BTreeMap<u64, Batch>,
}

impl Queue {
    /// Puts in a run for each seed; gives the numbers of those that need not be made.
    pub fn put(&mut self, scenario: &str, seeds: &[u64]) -> Vec<u64> {
        let numbered: Vec<(u64, u64)> = (self.put..).zip(seeds.iter().copied()).collect();
        self.put += seeds.len() as u64;
        if let Some(mut last) = self.batches.last_entry() {
            if last.get().written.text == scenario {
                if last.get().seeded == Some(false) {
                    return numbered.into_iter().map(|(number, _)| number).collect();
                }
                last.get_mut().waiting.extend(numbered);
                return Vec::new();
            }
            if last.get().waiting.is_empty() {
                last.remove();
            }
        }
        let Some(&(first, _)) = numbered.first() else { return Vec::new() };
        let written = Arc::new(Written { text: scenario.to_owned(), read: OnceLock::new() });
        self.batches.insert(first, Batch { written, waiting: numbered.into(), seeded: None, begun: false });
        Vec::new()
    }

    /// The first run that is needed for certain, or else the first one.
    pub fn next(&mut self) -> Option<Job> {
        let mut waiting = self.batches.iter().filter(|(_, batch)| !batch.waiting.is_empty());
        let ahead = waiting.clone().next();
        let needed = waiting.find(|(_, batch)| !batch.begun || batch.seeded == Some(true));
        let (&first, _) = needed.or(ahead)?;
        let last = self.is_last(first);
        let batch = self.batches.get_mut(&first)?;
        let (number, seed) = batch.waiting.pop_front()?;
        batch.begun = true;
        let job = Job { number, written: Arc::clone(&batch.written), seed, first };
        if batch.waiting.is_empty() && !last {
            self.batches.remove(&first);
        }
        Some(job)
    }

    /// A run has ended, and depends on its seed or not; gives the numbers of those that need not be made for that.
    pub fn finish(&mut self, job: &Job, seeded: bool) -> Vec<u64> {
        let last = self.is_last(job.first);
        let Some(batch) = self.batches.get_mut(&job.first) else { return Vec::new() };
        batch.seeded = Some(seeded);
        if seeded {
            return Vec::new();
        }
        let unneeded = batch.waiting.drain(..).map(|(number, _)| number).collect();
        if !last {
            self.batches.remove(&job.first);
        }
        unneeded
    }

    /// Whether more runs of that scenario may be put in.
    fn is_last(&self, first: u64) -> bool {
        self.batches.last_key_value().is_some_and(|(&last, _)| last == first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(queue: &mut Queue, count: usize) -> Vec<u64> {
        (0..count).map_while(|_| queue.next()).map(|job| job.number).collect()
    }

    #[test]
    fn a_worker_prefers_what_is_needed_to_what_may_not_be() {
        let mut queue = Queue::default();
        assert!(queue.put("a", &[1, 2, 3]).is_empty());
        assert!(queue.put("b", &[1, 2]).is_empty());
        let first = queue.next().unwrap();
        assert_eq!((first.number, first.first), (0, 0));
        assert_eq!(numbers(&mut queue, 2), [3, 1], "the first of b, then rather a second of a than nothing");
        assert!(queue.finish(&first, true).is_empty());
        assert_eq!(numbers(&mut queue, 9), [2, 4]);
    }

    #[test]
    fn runs_of_a_scenario_that_draws_nothing_are_given_back() {
        let mut queue = Queue::default();
        queue.put("a", &[1, 2, 3]);
        let [first, second] = [queue.next().unwrap(), queue.next().unwrap()];
        assert_eq!(queue.finish(&second, false), [2], "whichever of them ends first");
        assert!(queue.finish(&first, false).is_empty());
        assert_eq!(queue.put("a", &[4, 5]), [3, 4], "the same scenario goes on");
        assert!(queue.put("b", &[1]).is_empty());
        assert_eq!((numbers(&mut queue, 9), queue.put), (vec![5], 6));
        assert_eq!(queue.batches.len(), 1, "what is over takes no memory");
    }
}
