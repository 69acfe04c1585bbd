//! What tasks had used when a run stopped them. They go on until they are killed, and begin and wait for children meanwhile, and the
//! kernel's account of a killed task holds what its end took, too: giving back a gigabyte takes a hundred milliseconds, and on an emulated
//! processor a few pages take some.
//!
//! ```text
//! used  =  its clock when it was stopped  +  what those of its children had used that it had waited for by then
//! ```
//!
//! The second is noted by the task itself. It is read before any clock: a child that is waited for in between is in neither, never in both.

use schedlab_linux::{
    clock,
    process::{Ended, Usage},
};
use std::{collections::BTreeMap, time::Duration};

/// A task that is stopped: the kernel's number of it, and processor time of its children that it has waited for, microseconds.
pub(crate) type Running = (i32, u64);

/// Processor time of tasks that were stopped.
pub(crate) struct Stopped {
    /// Up to that moment, by the kernel's number of the task; with what its children had used, microseconds.
    then: BTreeMap<i32, (Duration, u64)>,
    /// Slots of children that were at work.
    pub children: Vec<usize>,
    /// The same of those that were done with their work.
    done: BTreeMap<i32, Duration>,
    /// What the end of those took that have ended.
    ends: BTreeMap<i32, Duration>,
    /// When all had been asked, ns of the monotonic clock.
    pub at: u64,
}

impl Stopped {
    /// Of those that live now. `children` are the slots of those of them that are children of tasks.
    pub(crate) fn now(running: Vec<Running>, children: Vec<usize>) -> Stopped {
        let then = running.into_iter().filter_map(|(pid, reaped_us)| Some((pid, (used(pid)?, reaped_us)))).collect();
        Stopped { then, children, done: BTreeMap::new(), ends: BTreeMap::new(), at: clock::now() }
    }

    /// What one had used that was stopped, microseconds.
    pub(crate) fn time_us(&self, pid: i32) -> Option<u64> {
        self.then.get(&pid).map(|(own, reaped_us)| own.as_micros() as u64 + reaped_us)
    }

    /// Adds tasks that were done before: only the time that their end takes is measured.
    pub(crate) fn with_the_done(mut self, pids: impl Iterator<Item = i32>) -> Stopped {
        self.done = pids.filter_map(|pid| Some((pid, used(pid)?))).collect();
        self
    }

    /// Mean time that the end of a task took, ns.
    pub(crate) fn mean_end(&self) -> u64 {
        let all: u64 = self.ends.values().map(|end| end.as_nanos() as u64).sum();
        all / (self.ends.len() as u64).max(1)
    }

    /// Whether it was none.
    pub(crate) fn is_empty(&self) -> bool {
        self.then.is_empty()
    }

    /// One has ended, and can still be asked about.
    pub(crate) fn has_ended(&mut self, pid: i32) {
        let then = self.then.get(&pid).map(|(own, _)| own).or_else(|| self.done.get(&pid)).copied();
        if let Some((then, now)) = then.zip(used(pid)) {
            self.ends.insert(pid, now.saturating_sub(then));
        }
    }

    /// Its usage since it began, without what came after it was stopped; `ended` has all that it ever used. What it had used before it
    /// began must be out already: taken out of the rest, it could be more system time than is left.
    pub(crate) fn cut(&self, since_begin: Usage, ended: Ended) -> Usage {
        let end = self.time_us(ended.pid).map_or(0, |then| ended.usage.time_us().saturating_sub(then));
        without(since_begin, end)
    }
}

/// Processor time of a process so far, without its children.
fn used(pid: i32) -> Option<Duration> {
    clock::time_of(pid).map(Duration::from_nanos)
}

/// So much, microseconds, is taken from the system time first, since the kernel does what the end of a task takes.
fn without(usage: Usage, end: u64) -> Usage {
    let of_system = end.min(usage.system_us);
    let of_user = (end - of_system).min(usage.user_us);
    Usage { user_us: usage.user_us - of_user, system_us: usage.system_us - of_system, ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_linux::process;

    #[test]
    fn the_end_is_taken_from_system_time_first() {
        let usage = Usage { user_us: 900, system_us: 100, ..Usage::default() };
        let left = |end| {
            let Usage { user_us, system_us, .. } = without(usage, end);
            (user_us, system_us)
        };
        assert_eq!((left(0), left(50), left(150), left(2000)), ((900, 100), (900, 50), (850, 0), (0, 0)));
    }

    #[test]
    fn what_a_task_and_its_children_use_after_it_was_stopped_is_left_out() {
        let own = process::own_pid();
        let mut stopped = Stopped::now(vec![(own, 500)], Vec::new());
        let then = stopped.then[&own].0;
        while used(own).unwrap() < then + Duration::from_millis(2) {}
        stopped.has_ended(own);
        // Its children had used 500 us by then, and 700 us at its end.
        let usage = Usage { user_us: 700, system_us: used(own).unwrap().as_micros() as u64, ..Usage::default() };
        let ended = Ended { pid: own, usage, ..Ended::default() };
        assert_eq!(stopped.cut(usage, ended).time_us(), then.as_micros() as u64 + 500);
        assert!(stopped.mean_end() >= 2_000_000, "{} ns", stopped.mean_end());
    }

    #[test]
    fn an_end_longer_than_its_system_time_since_it_began_counts_in_full() {
        let before = Usage { user_us: 100, system_us: 800, ..Usage::default() };
        let ended =
            Ended { pid: 7, usage: Usage { user_us: 1100, system_us: 900, ..Usage::default() }, ..Ended::default() };
        let mut stopped = Stopped::now(Vec::new(), Vec::new());
        stopped.then.insert(7, (Duration::from_micros(1500), 0));
        // It was stopped 1500 us after its making, which took 900.
        assert_eq!(stopped.cut(ended.usage.minus(before), ended).time_us(), 600);
    }

    /// One more than any kernel's largest number of a process (PID_MAX_LIMIT).
    const NOBODY: i32 = (1 << 22) + 1;

    #[test]
    fn without_tasks_nothing_is_known() {
        assert!(Stopped::now(vec![(NOBODY, 0)], Vec::new()).is_empty());
    }
}
