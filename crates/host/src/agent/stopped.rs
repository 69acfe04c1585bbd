//! What tasks had used when a run stopped them. The kernel's account of a task that is killed holds what its end took, too: giving
//! back a gigabyte takes a hundred milliseconds, and on an emulated processor a few pages take some.

use super::system::{Ended, Usage};
use nix::{time::clock_getcpuclockid, unistd::Pid};
use std::{collections::BTreeMap, fs, time::Duration};

/// Where the faults of children that were waited for stand in /proc/PID/stat, counted from behind the name.
const CHILDRENS_FAULTS: usize = 8;

/// Processor time of each task up to a moment.
pub(super) struct Stopped(BTreeMap<i32, Duration>);

impl Stopped {
    /// Of those that live now. Of those that have had children the account is both theirs and the children's, and stays.
    pub(super) fn now(pids: impl Iterator<Item = i32>) -> Stopped {
        let used = |pid: i32| Some((pid, Duration::from(clock_getcpuclockid(Pid::from_raw(pid)).ok()?.now().ok()?)));
        let mut times: BTreeMap<i32, Duration> = pids.filter_map(used).collect();
        times.retain(|&pid, _| childrens_faults(pid) == Some(0));
        Stopped(times)
    }

    /// The end of one of them without what came after that moment.
    pub(super) fn cut(&self, ended: Ended) -> Ended {
        match self.0.get(&ended.pid) {
            Some(until) => Ended { usage: without_end(ended.usage, until.as_micros() as u64), ..ended },
            None => ended,
        }
    }
}

fn childrens_faults(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    text.rsplit_once(')')?.1.split_ascii_whitespace().nth(CHILDRENS_FAULTS)?.parse().ok()
}

/// What is beyond `until`, microseconds, is taken from the system time, since the kernel does it.
fn without_end(usage: Usage, until: u64) -> Usage {
    let beyond = (usage.user_us + usage.system_us).saturating_sub(until);
    let of_system = beyond.min(usage.system_us);
    Usage { user_us: usage.user_us.saturating_sub(beyond - of_system), system_us: usage.system_us - of_system, ..usage }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_taken_from_system_time_first() {
        let usage = Usage { user_us: 900, system_us: 100, ..Usage::default() };
        let after = |until| {
            let Usage { user_us, system_us, .. } = without_end(usage, until);
            (user_us, system_us)
        };
        assert_eq!((after(1000), after(950), after(850), after(2000)), ((900, 100), (900, 50), (850, 0), (900, 100)));
    }

    #[test]
    fn of_nobody_nothing_is_known() {
        assert!(Stopped::now([i32::MAX].into_iter()).0.is_empty());
    }
}
