//! Processor time by those of the kernel's counters that are exact. A record of a task that ends (see `record`) is not: it is
//! written before the task's last run time is added, which for a child of 2 ms is most of it.
//!
//! Each of these counters can leave tasks out (a child that is not waited for, a task moved to another control group), and none
//! counts a task that is not the command's. So the largest is the nearest.

use schedlab_linux::{proc::task::TaskStat, process::Ended};
use std::fs;

/// Processor time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Usage {
    /// Exact, ns.
    pub ran_ns: u64,
    /// Of it in programs and in the kernel, in any unit: what clock ticks saw.
    pub ticks: [u64; 2],
}

impl Usage {
    /// Both together.
    pub(super) fn plus(self, other: Usage) -> Usage {
        Usage {
            ran_ns: self.ran_ns.saturating_add(other.ran_ns),
            ticks: [0, 1].map(|i| self.ticks[i].saturating_add(other.ticks[i])),
        }
    }
}

/// What `wait4` returns for a process and all its waited-for children.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reaped {
    pub usage: Usage,
    /// Page faults without and with waiting for a drive.
    pub faults: [u64; 2],
    /// Resident memory of the largest process at its largest, bytes.
    pub peak_bytes: u64,
    /// Bytes from and to drives.
    pub drive_bytes: [u64; 2],
    /// Context switches, voluntary and not.
    pub switches: [u64; 2],
}

impl Reaped {
    pub(super) fn of(ended: &Ended) -> Reaped {
        let used = &ended.usage;
        let ticks = [used.user_us * 1000, used.system_us * 1000];
        Reaped {
            usage: Usage { ran_ns: ticks[0] + ticks[1], ticks },
            faults: [used.minor_faults, used.major_faults],
            peak_bytes: ended.peak_bytes,
            drive_bytes: ended.drive_bytes,
            switches: [used.voluntary, used.involuntary],
        }
    }

    /// Adds another one.
    pub(super) fn add(&mut self, other: &Reaped) {
        let add = |to: &mut [u64; 2], of: [u64; 2]| to.iter_mut().zip(of).for_each(|(to, of)| *to += of);
        self.usage = self.usage.plus(other.usage);
        add(&mut self.faults, other.faults);
        add(&mut self.drive_bytes, other.drive_bytes);
        add(&mut self.switches, other.switches);
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
    }
}

/// What a task had alone, read when it has ended and was not yet waited for: then it is final, and any user may read it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Own {
    pub usage: Usage,
    /// Able to run, and not running, ns.
    pub processor_delay_ns: u64,
}

impl Own {
    pub(super) fn of(pid: i32) -> Option<Own> {
        let [ran_ns, processor_delay_ns] = schedule(&format!("/proc/{pid}/task/{pid}"))?;
        let ticks = Stat::read(&format!("/proc/{pid}/task/{pid}/stat")).map_or([0; 2], |stat| stat.ticks);
        Some(Own { usage: Usage { ran_ns, ticks }, processor_delay_ns })
    }
}

/// Time that a thread ran and that it waited for a processor, exact, ns.
pub(super) fn schedule(folder: &str) -> Option<[u64; 2]> {
    let text = fs::read_to_string(format!("{folder}/schedstat")).ok()?;
    let mut words = text.split_whitespace().map(|word| word.parse().ok());
    Some([words.next()??, words.next()??])
}

/// `/proc/PID/stat`, of a process or of a thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Stat {
    pub pid: i32,
    pub name: String,
    pub parent: i32,
    /// User and system.
    pub ticks: [u64; 2],
    /// The same of all children that it has waited for.
    pub children_ticks: [u64; 2],
    /// Since boot.
    pub began_ticks: u64,
    /// Waiting for drives.
    pub blocked_ticks: u64,
}

impl Stat {
    pub(super) fn read(path: &str) -> Option<Stat> {
        let text = fs::read(path).ok()?;
        let stat = TaskStat::of(&text)?;
        Some(Stat {
            pid: stat.pid as i32,
            name: String::from_utf8_lossy(stat.name).into_owned(),
            parent: stat.number(4)? as i32,
            ticks: [stat.number(14)?, stat.number(15)?],
            children_ticks: [stat.number(16)?, stat.number(17)?],
            began_ticks: stat.number(22)?,
            blocked_ticks: stat.number(42).unwrap_or(0),
        })
    }
}
