//! What tasks had used when a run stopped them. The kernel's account of a task that is killed holds what its end took, too: giving
//! back a gigabyte takes a hundred milliseconds, and on an emulated processor a few pages take some.
//!
//! ```text
//! used  =  what the kernel says when it is reaped  -  (its clock when it has ended  -  its clock when it was stopped)
//! ```

use schedlab_linux::{
    clock,
    process::{Ended, Usage},
};
use std::{collections::BTreeMap, time::Duration};

/// Processor time of tasks that were stopped.
pub(crate) struct Stopped {
    /// Up to that moment, by the kernel's number of the task.
    then: BTreeMap<i32, Duration>,
    /// The same of those that were done with their work.
    done: BTreeMap<i32, Duration>,
    /// What the end of those took that have ended.
    ends: BTreeMap<i32, Duration>,
    /// When all had been asked, ns of the monotonic clock.
    pub at: u64,
}

impl Stopped {
    /// Of those that live now.
    pub(crate) fn now(pids: impl Iterator<Item = i32>) -> Stopped {
        let then = pids.filter_map(|pid| Some((pid, used(pid)?))).collect();
        Stopped { then, done: BTreeMap::new(), ends: BTreeMap::new(), at: clock::now() }
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
        let then = self.then.get(&pid).or_else(|| self.done.get(&pid)).copied();
        if let Some((then, now)) = then.zip(used(pid)) {
            self.ends.insert(pid, now.saturating_sub(then));
        }
    }

    /// Its usage when it was reaped, without what came after that moment.
    pub(crate) fn cut(&self, ended: Ended) -> Ended {
        match self.ends.get(&ended.pid) {
            Some(end) => Ended { usage: without_end(ended.usage, end.as_micros() as u64), ..ended },
            None => ended,
        }
    }
}

/// Processor time of a process so far, without its children.
fn used(pid: i32) -> Option<Duration> {
    clock::time_of(pid).map(Duration::from_nanos)
}

/// So much, microseconds, is taken from the system time, since the kernel does it.
fn without_end(usage: Usage, end: u64) -> Usage {
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
        let without = |end| {
            let Usage { user_us, system_us, .. } = without_end(usage, end);
            (user_us, system_us)
        };
        assert_eq!((without(0), without(50), without(150), without(2000)), ((900, 100), (900, 50), (850, 0), (0, 0)));
    }

    #[test]
    fn what_a_task_uses_after_it_was_stopped_is_left_out() {
        let own = process::own_pid();
        let mut stopped = Stopped::now([own].into_iter());
        let until = stopped.then[&own] + Duration::from_millis(2);
        while used(own).unwrap() < until {}
        stopped.has_ended(own);
        let usage = Usage { system_us: u64::MAX, ..Usage::default() };
        let left_out = u64::MAX - stopped.cut(Ended { pid: own, usage, ..Ended::default() }).usage.system_us;
        assert!(left_out >= 2000, "{left_out} us");
        assert_eq!(left_out, stopped.mean_end() / 1000);
    }

    /// One more than any kernel's largest number of a process (PID_MAX_LIMIT).
    const NOBODY: i32 = (1 << 22) + 1;

    #[test]
    fn without_tasks_nothing_is_known() {
        assert!(Stopped::now([NOBODY].into_iter()).is_empty());
    }
}
