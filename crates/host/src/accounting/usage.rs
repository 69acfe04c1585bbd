//! Processor time by those of the kernel's counters that are exact. A record of a task that ends (see `record`) is not: it is
//! written before the task's last stretch of running is added up, which for a child of 2 ms is most of it.
//!
//! Each of these counters can leave tasks out (a child nobody waits for, a task moved to another control group), and none
//! counts a task that is not the command's. So the largest is the nearest.

use std::{fs, mem};

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

/// What `wait4` tells of a process and of all that it has waited for.
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

/// Size of a block in which `getrusage` counts.
const BLOCK: u64 = 512;

impl Reaped {
    pub(super) fn of(usage: &libc::rusage) -> Reaped {
        let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
        let ticks = [ns(usage.ru_utime), ns(usage.ru_stime)];
        Reaped {
            usage: Usage { ran_ns: ticks[0] + ticks[1], ticks },
            faults: [usage.ru_minflt as u64, usage.ru_majflt as u64],
            peak_bytes: usage.ru_maxrss as u64 * 1024,
            drive_bytes: [usage.ru_inblock as u64 * BLOCK, usage.ru_oublock as u64 * BLOCK],
            switches: [usage.ru_nvcsw as u64, usage.ru_nivcsw as u64],
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

/// What a task had alone, read when it has ended and was not yet waited for: then it is final, and anybody may read it.
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

/// Processor time of a living process, its threads that have ended included, exact, ns.
pub(super) fn clock_ns(pid: i32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a number that lives through the call.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    // SAFETY: all bits zero are a valid value of this struct of numbers.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a struct that lives through the call.
    let known = unsafe { libc::clock_gettime(clock, &mut time) } == 0;
    known.then_some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
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
        let text = String::from_utf8_lossy(&fs::read(path).ok()?).into_owned();
        // The name may hold blanks and parentheses itself.
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let words: Vec<&str> = text[close + 1..].split_whitespace().collect();
        // As proc(5) numbers them: the state is field 3.
        let field = |number: usize| words.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            pid: text[..open].trim().parse().ok()?,
            name: text[open + 1..close].to_owned(),
            parent: words.get(1)?.parse().ok()?,
            ticks: [field(14)?, field(15)?],
            children_ticks: [field(16)?, field(17)?],
            began_ticks: field(22)?,
            blocked_ticks: field(42).unwrap_or(0),
        })
    }
}
