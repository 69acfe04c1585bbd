//! Processor time that programs have used.
//!
//! ```text
//! total of a process  = its own time, and that of the children that it has waited for
//! use of a program    = growth of the totals of its processes in a period, less what its ended children had when they were seen last
//! ```
//!
//! So what a child uses is counted once, in its own program, also if it was never seen: then in its parent's. A child that has ended and is
//! not waited for yet is taken off a period early; what could not be taken off is taken off the next period, and then forgotten.

use schedlab_linux::{Root, proc::task::of_stat, process::units};
use schedlab_model::{Nanos, SECOND, attention::Program};
use std::collections::BTreeMap;

/// Fields of /proc/PID/stat: user and system time, the same of children, number of threads, start.
const TIMES: [usize; 4] = [14, 15, 16, 17];
const THREADS: usize = 20;
const START: usize = 22;

/// What was seen of a process in this look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Processor time, clock ticks.
    total: u64,
    /// How many threads it has.
    pub(crate) threads: u64,
    /// When it began, in ticks since boot.
    pub(crate) start: u64,
}

impl Seen {
    /// Looks at a process.
    pub(crate) fn at(root: &Root, pid: i32) -> Option<Seen> {
        of_stat(root.path(format!("/proc/{pid}/stat")), |stat| {
            let total = TIMES.iter().filter_map(|field| stat.number(*field)).sum();
            Some(Seen { total, threads: stat.number(THREADS)?, start: stat.number(START)? })
        })
    }
}

/// What was seen of processes so far.
pub(crate) struct Load {
    ns_per_tick: u64,
    last: BTreeMap<i32, Seen>,
    owed: BTreeMap<Program, u64>,
    /// Clock ticks since boot at the last look.
    looked: u64,
}

impl Load {
    /// Nothing seen yet, at that time since boot.
    pub(crate) fn new(since_boot: Nanos) -> Load {
        let ns_per_tick = SECOND / units().ticks;
        Load { ns_per_tick, last: BTreeMap::new(), owed: BTreeMap::new(), looked: since_boot / ns_per_tick }
    }

    /// What was seen of a process last.
    pub(crate) fn last(&self, pid: i32) -> Option<Seen> {
        self.last.get(&pid).copied()
    }

    /// Takes in a look at all processes of all programs. `parent` gives the program of the parent of a process that is gone.
    pub(crate) fn take(
        &mut self,
        since_boot: Nanos,
        seen: BTreeMap<i32, (Program, Seen)>,
        parent: impl Fn(i32) -> Option<Program>,
    ) -> BTreeMap<Program, Nanos> {
        let (mut grown, mut ended): (BTreeMap<Program, u64>, BTreeMap<Program, u64>) = Default::default();
        for (pid, (program, now)) in &seen {
            let known = self.last.get(pid).filter(|last| last.start == now.start).map(|last| last.total);
            // One that began since the last look has used all of it since.
            let before = known.unwrap_or(if now.start >= self.looked { 0 } else { now.total });
            *grown.entry(*program).or_default() += now.total.saturating_sub(before);
        }
        for (pid, last) in self.last.iter().filter(|(pid, _)| !seen.contains_key(pid)) {
            if let Some(program) = parent(*pid) {
                *ended.entry(program).or_default() += last.total;
            }
        }
        self.looked = since_boot / self.ns_per_tick;
        self.last = seen.into_iter().map(|(pid, (_, seen))| (pid, seen)).collect();
        let owed = std::mem::take(&mut self.owed);
        let mut used = BTreeMap::new();
        for (program, grown) in grown {
            let left = grown.saturating_sub(owed.get(&program).copied().unwrap_or(0));
            let ended = ended.get(&program).copied().unwrap_or(0);
            self.owed.insert(program, ended.saturating_sub(left));
            used.insert(program, left.saturating_sub(ended) * self.ns_per_tick);
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(all: &[(i32, Program, u64, u64)]) -> BTreeMap<i32, (Program, Seen)> {
        let one = |&(pid, program, total, start)| (pid, (program, Seen { total, threads: 1, start }));
        all.iter().map(one).collect()
    }

    /// Takes a look at these; each number is a clock tick.
    fn take(
        load: &mut Load,
        at: u64,
        all: &[(i32, Program, u64, u64)],
        parent: Option<Program>,
    ) -> Vec<(Program, u64)> {
        let tick = load.ns_per_tick;
        load.take(at * tick, seen(all), |_| parent).into_iter().map(|(program, ns)| (program, ns / tick)).collect()
    }

    #[test]
    fn what_a_child_used_is_counted_once() {
        let mut load = Load::new(0);
        let tick = load.ns_per_tick;
        load.looked = 1000;
        assert_eq!(tick * units().ticks, SECOND);
        assert_eq!(take(&mut load, 1200, &[(1, 7, 500, 10)], None), [(7, 0)], "it is older than the first look");
        assert_eq!(take(&mut load, 1400, &[(1, 7, 520, 10), (2, 7, 30, 1250)], None), [(7, 50)]);
        // The child has used ten more, has ended and was waited for.
        assert_eq!(take(&mut load, 1600, &[(1, 7, 560, 10)], Some(7)), [(7, 10)]);
    }

    #[test]
    fn a_child_of_another_program_is_not_counted_as_its_parents() {
        let mut load = Load::new(0);
        take(&mut load, 100, &[(1, 7, 0, 10), (2, 8, 90, 10)], None);
        assert_eq!(take(&mut load, 200, &[(1, 7, 95, 10)], Some(7)), [(7, 5)]);
    }

    #[test]
    fn a_child_that_is_waited_for_later_is_taken_off_then() {
        let mut load = Load::new(0);
        take(&mut load, 100, &[(1, 7, 0, 10), (2, 7, 90, 10)], None);
        assert_eq!(take(&mut load, 200, &[(1, 7, 4, 10)], Some(7)), [(7, 0)]);
        assert_eq!(take(&mut load, 300, &[(1, 7, 98, 10)], Some(7)), [(7, 8)]);
    }
}
