//! The result of one run: the parts of its time and its counts, combined from all that the kernel reports.
//!
//! The tasks' run time is known exactly; the records of tasks that have ended, which alone have waits, are written
//! before the last of it. What they omit is corrected: a task's last run time looks like sleep
//! in its record, and what it runs after the record was written is no part of its life there.

use super::{
    living::{Living, Outlived},
    parts::{Known, Parts},
    record::Record,
    system::{Pressure, System},
    usage::{Own, Reaped, Usage},
};
use crate::waiting::Waits;
use serde::Serialize;
use std::collections::HashSet;

/// Longer than this the kernel does not go without adding up a running task's time: a clock tick of the slowest clock.
const NOT_YET_ADDED_NS: u64 = 10_000_000;

/// The result of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timed {
    /// From its start to its end, ns.
    pub elapsed_ns: u64,
    /// What it ended with.
    pub status: i32,
    /// The first task alone: its parts add up to the time elapsed. None where the kernel does not report it alone.
    pub main: Option<Parts>,
    /// All tasks together.
    pub whole: Whole,
    /// What they did.
    pub counts: Counts,
    /// Processes that lived on when the command had ended: counted up to then.
    pub outlived: Vec<Living>,
    /// Time in which tasks of the whole system were stalled, ns.
    pub pressure: Option<Pressure>,
    /// Processor time that others used meanwhile, as a share of all processors, percent.
    pub foreign_percent: Option<f64>,
    /// Time that the hypervisor took meanwhile, as a share of all processors, percent.
    pub steal_percent: Option<f64>,
    /// What tasks waited for while they slept, by samples, and the connections.
    pub waits: Waits,
    /// What is not known, and why.
    pub unknown: Vec<String>,
}

/// The parts of all tasks' time together, ns. They add up to the sum of the tasks' lives; where the lives are not known,
/// only the processor time is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Whole {
    /// The sum of the tasks' lives, up to the command's end.
    pub elapsed_ns: Option<u64>,
    /// In their own code.
    pub user_ns: u64,
    /// In the kernel, on their behalf.
    pub system_ns: u64,
    /// Able to run while others did.
    pub processor_ns: Option<u64>,
    /// Waiting for a drive.
    pub disk_ns: Option<u64>,
    /// Waiting for memory to come back.
    pub memory_ns: Option<u64>,
    /// The rest.
    pub asleep_ns: Option<u64>,
}

/// Counts of all tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Counts {
    /// How many tasks there were, threads counted one by one; none where only sums are known.
    pub tasks: Option<u64>,
    /// Switches to wait.
    pub voluntary_switches: u64,
    /// Switches although it could have gone on.
    pub involuntary_switches: u64,
    /// Page faults without waiting for a drive.
    pub minor_faults: u64,
    /// Page faults that waited for a drive.
    pub major_faults: u64,
    /// Bytes that system calls read, from wherever.
    pub read_bytes: Option<u64>,
    /// Bytes that system calls wrote.
    pub written_bytes: Option<u64>,
    /// Bytes that were read from drives.
    pub drive_read_bytes: u64,
    /// Bytes that were written to drives, or will be.
    pub drive_written_bytes: u64,
    /// Resident memory of the largest process at its largest, bytes.
    pub peak_bytes: u64,
    /// Time in reclaim for its own demands, ns, across the parts.
    pub reclaim_ns: Option<u64>,
    /// Time in compaction of memory, ns, across the parts.
    pub compaction_ns: Option<u64>,
    /// Time in copying shared pages, ns, across the parts.
    pub copy_ns: Option<u64>,
}

/// All that was seen of a run that has ended.
pub(super) struct Seen {
    pub elapsed_ns: u64,
    pub status: i32,
    /// Number of the first task.
    pub child: u32,
    /// Of all waited-for tasks.
    pub reaped: Reaped,
    pub own: Option<Own>,
    pub outlived: Outlived,
    /// Of the control group around the command.
    pub enclosed: Option<Usage>,
    /// Of the command's tasks that have ended; none where the kernel does not report it.
    pub records: Option<Vec<Record>>,
    /// Whether the kernel keeps account of waits.
    pub delays: bool,
    pub systems: [System; 2],
    pub waits: Waits,
    pub unknown: Vec<String>,
}

impl Seen {
    pub(super) fn sum_up(self) -> Timed {
        // A first task without a record is one whose messages were lost: then the others' are no whole either.
        let child = self.child;
        let complete = |records: &&Vec<Record>| records.iter().any(|it| it.pid == child);
        let records = self.records.as_ref().filter(complete);
        let tasks: Option<Vec<Record>> =
            records.map(|records| records.iter().chain(&self.outlived.records).copied().collect());
        let ran = self.ran(tasks.as_deref());
        let [was, is] = &self.systems;
        Timed {
            elapsed_ns: self.elapsed_ns,
            status: self.status,
            main: self.main(records.and_then(|records| records.iter().find(|it| it.pid == child))),
            whole: match &tasks {
                Some(tasks) => Whole::of(tasks, ran, self.delays),
                None => Whole::of_usage(ran),
            },
            counts: self.counts(tasks.as_deref()),
            pressure: is.pressure_since(was),
            foreign_percent: is.foreign_percent(was, ran.ran_ns),
            steal_percent: is.steal_percent(was),
            outlived: self.outlived.processes,
            waits: self.waits,
            unknown: self.unknown,
        }
    }

    /// The time that all tasks ran: each way to learn it may leave tasks out, none counts too many.
    fn ran(&self, tasks: Option<&[Record]>) -> Usage {
        let waited_for = self.reaped.usage.plus(self.outlived.usage);
        let recorded = tasks.unwrap_or_default().iter().fold(Usage::default(), |sum, task| {
            sum.plus(Usage { ran_ns: task.ran_ns, ticks: [task.user_ns, task.system_ns] })
        });
        let all = [self.enclosed.unwrap_or_default(), waited_for, recorded];
        let ran_ns = all.iter().map(|usage| usage.ran_ns).max().unwrap_or(0);
        // The kernel takes a process that no tick met to have been in its own code, so sums of processes come last.
        let ticks = [all[0], all[2], all[1]].into_iter().map(|usage| usage.ticks).find(|ticks| *ticks != [0, 0]);
        Usage { ran_ns, ticks: ticks.unwrap_or([0, 0]) }
    }

    fn main(&self, record: Option<&Record>) -> Option<Parts> {
        let mut task = record.copied().unwrap_or_default();
        if let Some(own) = self.own {
            task.ran_ns = task.ran_ns.max(own.usage.ran_ns);
            task.processor_delay_ns = task.processor_delay_ns.max(own.processor_delay_ns);
            if task.user_ns + task.system_ns == 0 {
                [task.user_ns, task.system_ns] = own.usage.ticks;
            }
        }
        let waits = record.is_some() && self.delays;
        let known = Known { processor: waits || self.own.is_some(), waits };
        (record.is_some() || self.own.is_some()).then(|| Parts::of(&task, self.elapsed_ns, known))
    }

    fn counts(&self, tasks: Option<&[Record]>) -> Counts {
        let reaped = &self.reaped;
        let sum = |of: fn(&Record) -> u64| tasks.unwrap_or_default().iter().map(of).fold(0, u64::saturating_add);
        let living = |of: fn(&Record) -> u64| self.outlived.records.iter().map(of).fold(0, u64::saturating_add);
        let counted = |of: fn(&Record) -> u64| tasks.map(|_| sum(of));
        let known = |of: fn(&Record) -> Option<u64>| {
            let all = tasks?.iter().filter_map(of).fold(0u64, u64::saturating_add);
            (self.delays && records_tell(tasks, of)).then_some(all)
        };
        let most = |waited_for: u64, of: fn(&Record) -> u64| sum(of).max(waited_for.saturating_add(living(of)));
        Counts {
            tasks: tasks.map(|tasks| tasks.len() as u64),
            voluntary_switches: most(reaped.switches[0], |it| it.switches[0]),
            involuntary_switches: most(reaped.switches[1], |it| it.switches[1]),
            minor_faults: most(reaped.faults[0], |it| it.faults[0]),
            major_faults: most(reaped.faults[1], |it| it.faults[1]),
            read_bytes: counted(|it| it.call_bytes[0]),
            written_bytes: counted(|it| it.call_bytes[1]),
            drive_read_bytes: most(reaped.drive_bytes[0], |it| it.drive_bytes[0]),
            drive_written_bytes: most(reaped.drive_bytes[1], |it| it.drive_bytes[1]),
            peak_bytes: tasks.unwrap_or_default().iter().map(|it| it.peak_bytes).fold(reaped.peak_bytes, u64::max),
            reclaim_ns: known(|it| it.reclaim_ns),
            compaction_ns: known(|it| it.compaction_ns),
            copy_ns: known(|it| it.copy_ns),
        }
    }
}

/// Whether the records have that number; those of living tasks never do.
fn records_tell(tasks: Option<&[Record]>, of: fn(&Record) -> Option<u64>) -> bool {
    tasks.unwrap_or_default().iter().any(|it| of(it).is_some())
}

impl Whole {
    /// Of all tasks' records, and the time that they really ran.
    pub(super) fn of(tasks: &[Record], ran: Usage, delays: bool) -> Whole {
        let known = Known { processor: delays, waits: delays };
        let parts = tasks.iter().map(|task| Parts::of(task, task.elapsed_ns, known));
        // What a task ran that was not yet added up when its record was written.
        let hidden = parts.clone().map(|parts| parts.asleep_ns.min(NOT_YET_ADDED_NS)).fold(0, u64::saturating_add);
        let all = parts.reduce(|a, b| a.plus(&b)).unwrap_or_default();
        let missing = ran.ran_ns.saturating_sub(all.user_ns + all.system_ns);
        let after = missing.saturating_sub(hidden);
        let [user_ns, system_ns] = ran.split();
        Whole {
            elapsed_ns: Some(all.elapsed_ns.saturating_add(after)),
            user_ns,
            system_ns,
            processor_ns: all.processor_ns,
            disk_ns: all.disk_ns,
            memory_ns: all.memory_ns,
            asleep_ns: Some(all.asleep_ns - (missing - after)),
        }
    }

    fn of_usage(ran: Usage) -> Whole {
        let [user_ns, system_ns] = ran.split();
        let (elapsed_ns, processor_ns, disk_ns, memory_ns, asleep_ns) = (None, None, None, None, None);
        Whole { elapsed_ns, user_ns, system_ns, processor_ns, disk_ns, memory_ns, asleep_ns }
    }
}

impl Usage {
    /// User and system time, in the proportion that ticks saw. What no tick met has most likely been in its own code.
    pub(super) fn split(&self) -> [u64; 2] {
        let [user, system] = self.ticks.map(u128::from);
        let user_ns = (u128::from(self.ran_ns) * user).checked_div(user + system).map_or(self.ran_ns, |ns| ns as u64);
        [user_ns, self.ran_ns - user_ns]
    }
}

/// Of all tasks that ended, the command's: the first one, its threads and children, their children, and orphans handed to us.
pub(super) fn family(records: &[Record], child: u32) -> Vec<Record> {
    let mut processes: HashSet<u32> = [child, std::process::id()].into();
    let mut found = vec![false; records.len()];
    // Parents may come after their children.
    loop {
        let before = processes.len();
        for (record, found) in records.iter().zip(&mut found) {
            if !*found && processes.contains(&record.parent) {
                *found = true;
                processes.insert(record.pid);
            }
        }
        if processes.len() == before {
            break;
        }
    }
    records.iter().zip(found).filter(|(_, found)| *found).map(|(record, _)| *record).collect()
}
