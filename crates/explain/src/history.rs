//! What ran on the processors, as far back as waits that are still going on may ask for.
//!
//! Each run is kept as it was until there are many. Then those of a task on a processor between the begins of two waits become one sum: no
//! wait that goes on begins between its runs, so none will ask for a part of it. What ended before the first begin is dropped. The room grows
//! with the tasks that wait and run, not with the length of the recording.

use crate::slot::Slot;
use hashbrown::{HashMap, hash_map::Entry};

/// Runs that are kept before any is summed up.
const ROOM: usize = 4096;
/// The most entries, and those that each task adds to it.
const MOST: usize = 1 << 16;
const MOST_OF_A_TASK: usize = 16;

/// A task had a processor. The idle task is one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    from: u64,
    to: u64,
    task: Slot,
    cpu: u16,
}

/// For how long it had it between the begin of its first run and the end of its last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    of: Run,
    time: u64,
}

/// What a task ran of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub task: Slot,
    pub cpu: u16,
    pub time: u64,
    /// Whether that is known for certain.
    pub exact: bool,
}

/// What ran.
#[derive(Debug)]
pub(crate) struct History {
    /// In order of their ends.
    runs: Vec<Run>,
    /// How many runs are summed up at once.
    full: usize,
    sums: Vec<Sum>,
    /// No sum has runs that ended later.
    summed_to: u64,
    room: usize,
    most: usize,
    /// What ended before is forgotten.
    known_from: u64,
    /// By number of a begin, processor and task, the place of their sum. Empty but while there are sums to make.
    places: HashMap<(u32, u16, Slot), u32>,
}

impl Default for History {
    fn default() -> Self {
        History::new(ROOM, MOST)
    }
}

impl History {
    fn new(room: usize, most: usize) -> History {
        let (runs, sums, places) = Default::default();
        History { runs, full: room, sums, summed_to: 0, room, most, known_from: 0, places }
    }

    /// A task had a processor.
    #[inline]
    pub fn remember(&mut self, task: Slot, cpu: u16, from: u64, to: u64) {
        let run = Run { from, to, task, cpu };
        match self.runs.last() {
            Some(last) if last.to > to => self.insert(run),
            _ => self.runs.push(run),
        }
    }

    /// Remembers a run whose end was found later than that of others.
    #[cold]
    fn insert(&mut self, run: Run) {
        let place = self.runs.partition_point(|other| other.to <= run.to);
        self.runs.insert(place, run);
    }

    /// Whether [`History::sum_up`] is to be called.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.runs.len() >= self.full
    }

    /// Sums up what no wait that goes on tells apart; `begins` has when each began, and `tasks` is how many tasks there are.
    #[cold]
    pub fn sum_up(&mut self, mut begins: Vec<u64>, now: u64, tasks: usize) {
        begins.sort_unstable();
        begins.dedup();
        let first = begins.first().copied().unwrap_or(now);
        self.known_from = self.known_from.max(first);
        self.summed_to = now;
        for sum in std::mem::take(&mut self.sums) {
            if sum.of.to > first && !self.add(sum, &begins) {
                self.sums.push(sum);
            }
        }
        let mut runs = std::mem::take(&mut self.runs);
        runs.retain(|run| run.to > first && !self.add(Sum { of: *run, time: run.to - run.from }, &begins));
        self.runs = runs;
        self.places.clear();
        self.bound(self.most + MOST_OF_A_TASK * tasks);
        // So that looking at all tasks and sums costs little for each run.
        self.full = self.runs.len() + self.room.max(2 * self.sums.len()).max(MOST_OF_A_TASK / 2 * tasks);
    }

    /// Adds to a sum between two begins; false for what goes on over a begin, which stays as it is.
    fn add(&mut self, sum: Sum, begins: &[u64]) -> bool {
        let Sum { of: Run { from, to, task, cpu }, time } = sum;
        let number = begins.partition_point(|begin| *begin <= from);
        if begins.get(number).is_some_and(|begin| to > *begin) {
            return false;
        }
        match self.places.entry((number as u32, cpu, task)) {
            Entry::Occupied(place) => {
                let known = &mut self.sums[*place.get() as usize];
                (known.of.from, known.of.to) = (known.of.from.min(from), known.of.to.max(to));
                known.time += time;
            }
            Entry::Vacant(place) => {
                place.insert(self.sums.len() as u32);
                self.sums.push(sum);
            }
        }
        true
    }

    /// Forgets the oldest where there are too many.
    fn bound(&mut self, most: usize) {
        let ends = self.sums.iter().map(|sum| sum.of.to).chain(self.runs.iter().map(|run| run.to));
        if self.sums.len() + self.runs.len() > most {
            let mut ends: Vec<u64> = ends.collect();
            let kept = ends.len() - most / 2;
            let last = *ends.select_nth_unstable(kept).1;
            self.known_from = self.known_from.max(last);
            self.sums.retain(|sum| sum.of.to > last);
            self.runs.retain(|run| run.to > last);
        }
    }

    /// Whether all that ran since then is known.
    pub fn knows(&self, from: u64) -> bool {
        from >= self.known_from
    }

    /// What ran between two moments; a task may have several parts.
    pub fn between(&self, from: u64, to: u64) -> impl Iterator<Item = Part> {
        let sums = if from < self.summed_to { &self.sums[..] } else { &[] };
        let runs = self.runs.iter().rev().take_while(move |run| run.to > from);
        let runs = runs.map(|run| Sum { of: *run, time: run.to - run.from });
        runs.chain(sums.iter().copied()).filter_map(move |sum| sum.part(from, to))
    }
}

impl Sum {
    fn part(&self, from: u64, to: u64) -> Option<Part> {
        let Run { task, cpu, .. } = self.of;
        let common = self.of.to.min(to).saturating_sub(self.of.from.max(from));
        let length = self.of.to - self.of.from;
        // Of a sum with gaps no part is known: where the begin of a wait, or its end, was found later.
        let exact = common == length || self.time == length;
        let time = if common == length { self.time } else { common.min(self.time) };
        (common > 0).then_some(Part { task, cpu, time, exact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// By processor and task, what ran in that time.
    fn parts(history: &History, from: u64, to: u64) -> BTreeMap<(u16, Slot), u64> {
        let mut parts = BTreeMap::new();
        for part in history.between(from, to) {
            assert!(part.exact, "{part:?}");
            *parts.entry((part.cpu, part.task)).or_default() += part.time;
        }
        parts
    }

    proptest! {
        #[test]
        fn a_wait_finds_all_that_ran_since_it_began(
            runs in prop::collection::vec((0u16..3, 0u32..5, 1u64..20, any::<bool>(), any::<prop::sample::Index>()), 1..400),
        ) {
            let (mut history, mut all) = (History::new(4, MOST), History::new(usize::MAX, MOST));
            let (mut waits, mut since, mut now) = (Vec::new(), [0; 3], 0);
            for (cpu, task, length, begins, ends) in runs {
                now += length;
                let from = std::mem::replace(&mut since[usize::from(cpu)], now);
                history.remember(task, cpu, from, now);
                all.remember(task, cpu, from, now);
                if history.is_full() {
                    history.sum_up(waits.clone(), now, 0);
                }
                if begins {
                    waits.push(now);
                } else if !waits.is_empty() {
                    let from = waits.swap_remove(ends.index(waits.len()));
                    prop_assert!(history.knows(from));
                    prop_assert_eq!(parts(&history, from, now), parts(&all, from, now));
                }
            }
        }
    }

    #[test]
    fn the_room_is_that_of_tasks_between_begins_and_not_of_runs() {
        let mut history = History::new(8, MOST);
        for at in 0..10_000 {
            history.remember(at as Slot % 3, 0, at, at + 1);
            if history.is_full() {
                history.sum_up(vec![10, 500], at + 1, 0);
            }
        }
        assert!(history.runs.len() + history.sums.len() < 20, "{history:?}");
        assert_eq!(parts(&history, 500, 10_000).values().sum::<u64>(), 9500);
        history.sum_up(Vec::new(), 10_000, 0);
        assert_eq!((history.sums.len(), history.knows(9999), history.knows(10_000)), (0, false, true));
    }

    #[test]
    fn what_finds_no_room_is_said_to_be_forgotten() {
        let mut history = History::new(4, 10);
        let begins: Vec<u64> = (0..40).collect();
        for at in 0..40 {
            history.remember(1, 0, at, at + 1);
        }
        history.sum_up(begins, 40, 0);
        assert_eq!((history.sums.len(), history.knows(35), history.knows(36)), (4, false, true));
    }

    #[test]
    fn a_part_of_a_sum_is_not_exact() {
        let mut history = History::new(1, MOST);
        history.remember(1, 0, 0, 10);
        history.remember(1, 0, 20, 30);
        history.sum_up(vec![0], 30, 0);
        let part = |time, exact| Some(Part { task: 1, cpu: 0, time, exact });
        assert_eq!(history.between(0, 30).next(), part(20, true));
        assert_eq!(history.between(25, 30).next(), part(5, false));
        assert_eq!(history.between(30, 40).next(), None);
    }
}
