//! A task's elapsed time in parts that do not overlap and add up to it exactly.
//!
//!   user + system  what it ran, exact; split in the proportion that ticks saw
//!   processor      it could run, and others did
//!   memory         it waited for pages that had been thrown out: swap-in, thrashing
//!   disk           it waited for a drive, that memory left out: the kernel counts those waits as the drive's, too
//!   asleep         the rest: timers, locks, pipes, children, terminals, the network; `waiting` estimates which
//!
//! Reclaim, compaction and copying are partly run by the task itself and partly waited for: they overlap these parts
//! and are reported separately.

use super::record::Record;
use serde::Serialize;

/// Parts of a time, ns. A wait that the kernel does not report is none, and `asleep_ns` includes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Parts {
    /// The whole.
    pub elapsed_ns: u64,
    /// In its own code.
    pub user_ns: u64,
    /// In the kernel, on its behalf.
    pub system_ns: u64,
    /// Able to run while others did.
    pub processor_ns: Option<u64>,
    /// Waiting for a drive.
    pub disk_ns: Option<u64>,
    /// Waiting for memory to come back.
    pub memory_ns: Option<u64>,
    /// The rest.
    pub asleep_ns: u64,
}

/// Which waits the kernel reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// For a processor.
    pub processor: bool,
    /// For drives and memory.
    pub waits: bool,
}

impl Parts {
    /// The parts of `elapsed_ns` of that task.
    pub fn of(task: &Record, elapsed_ns: u64, known: Known) -> Parts {
        let ran = task.ran_ns.min(elapsed_ns);
        let ticks = u128::from(task.user_ns) + u128::from(task.system_ns);
        // A task that no tick met has most likely been in its own code.
        let by_ticks = (u128::from(ran) * u128::from(task.user_ns)).checked_div(ticks);
        let user_ns = by_ticks.map_or(ran, |ns| ns as u64);
        let mut rest = elapsed_ns - ran;
        let mut take = |reported: bool, wanted: u64| {
            reported.then(|| {
                let part = wanted.min(rest);
                rest -= part;
                part
            })
        };
        let memory = task.refault_delay_ns.min(task.disk_delay_ns);
        let processor_ns = take(known.processor, task.processor_delay_ns);
        let memory_ns = take(known.waits, memory);
        let disk_ns = take(known.waits, task.disk_delay_ns - memory);
        Parts { elapsed_ns, user_ns, system_ns: ran - user_ns, processor_ns, disk_ns, memory_ns, asleep_ns: rest }
    }

    /// Both together.
    pub fn plus(&self, other: &Parts) -> Parts {
        let both = |a: Option<u64>, b: Option<u64>| Some(a?.saturating_add(b?));
        Parts {
            elapsed_ns: self.elapsed_ns.saturating_add(other.elapsed_ns),
            user_ns: self.user_ns.saturating_add(other.user_ns),
            system_ns: self.system_ns.saturating_add(other.system_ns),
            processor_ns: both(self.processor_ns, other.processor_ns),
            disk_ns: both(self.disk_ns, other.disk_ns),
            memory_ns: both(self.memory_ns, other.memory_ns),
            asleep_ns: self.asleep_ns.saturating_add(other.asleep_ns),
        }
    }

    /// All parts together, which is the whole.
    pub fn sum(&self) -> u64 {
        let unknown = [self.processor_ns, self.disk_ns, self.memory_ns].into_iter().flatten();
        [self.user_ns, self.system_ns, self.asleep_ns].into_iter().chain(unknown).fold(0, u64::saturating_add)
    }
}
