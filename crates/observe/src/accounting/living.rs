//! The command's processes that live on when it has ended: daemons, and what was put into the background. Their time is
//! counted up to then, and they are named.

use super::{
    record::Record,
    usage::{Stat, Usage, schedule},
};
use schedlab_linux::{
    clock::{since_boot, time_of},
    process::ticks_per_second,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

/// A process that outlived the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Living {
    /// Its number.
    pub pid: i32,
    /// Of its program.
    pub name: String,
    /// Processor time until the command's end, with that of the children that it had waited for, ns.
    pub ran_ns: u64,
}

/// All of them, and their numbers.
#[derive(Debug, Default)]
pub(super) struct Outlived {
    pub processes: Vec<Living>,
    pub usage: Usage,
    /// Each thread as far as it has come.
    pub records: Vec<Record>,
}

/// The processes that are children of this one.
pub(super) fn children() -> BTreeSet<i32> {
    let own = std::process::id() as i32;
    processes().into_iter().filter(|it| it.parent == own).map(|it| it.pid).collect()
}

impl Outlived {
    /// Those below this process, to which orphans are handed; without the `strangers`, which were there before.
    pub(super) fn find(strangers: &BTreeSet<i32>) -> Outlived {
        let all = processes();
        let mut below: BTreeMap<i32, Vec<&Stat>> = BTreeMap::new();
        for process in &all {
            below.entry(process.parent).or_default().push(process);
        }
        let mut outlived = Outlived::default();
        let mut left = vec![std::process::id() as i32];
        while let Some(parent) = left.pop() {
            for process in below.remove(&parent).unwrap_or_default() {
                if !strangers.contains(&process.pid) {
                    left.push(process.pid);
                    outlived.take(process);
                }
            }
        }
        outlived
    }

    fn take(&mut self, process: &Stat) {
        let tick_ns = 1_000_000_000 / ticks_per_second();
        let waited_for = process.children_ticks.iter().sum::<u64>() * tick_ns;
        let Some(own) = time_of(process.pid) else { return };
        let ticks = [0, 1].map(|i| (process.ticks[i] + process.children_ticks[i]) * tick_ns);
        let ran_ns = own + waited_for;
        self.usage = self.usage.plus(Usage { ran_ns, ticks });
        self.processes.push(Living { pid: process.pid, name: process.name.clone(), ran_ns });
        for thread in numbers(&format!("/proc/{}/task", process.pid)) {
            self.records.extend(record(process, thread, tick_ns));
        }
    }
}

/// The record of a living thread that the kernel would write if it ended now.
fn record(process: &Stat, thread: i32, tick_ns: u64) -> Option<Record> {
    let folder = format!("/proc/{}/task/{thread}", process.pid);
    let stat = Stat::read(&format!("{folder}/stat"))?;
    let [ran_ns, processor_delay_ns] = schedule(&folder)?;
    let began_ns = stat.began_ticks.saturating_mul(tick_ns);
    Some(Record {
        pid: thread as u32,
        parent: process.parent as u32,
        elapsed_ns: since_boot().saturating_sub(began_ns),
        ran_ns,
        user_ns: stat.ticks[0] * tick_ns,
        system_ns: stat.ticks[1] * tick_ns,
        processor_delay_ns,
        disk_delay_ns: stat.blocked_ticks * tick_ns,
        switches: switches(&folder),
        ..Record::default()
    })
}

fn switches(folder: &str) -> [u64; 2] {
    let text = fs::read_to_string(format!("{folder}/status")).unwrap_or_default();
    ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"].map(|name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    })
}

fn processes() -> Vec<Stat> {
    numbers("/proc").into_iter().filter_map(|pid| Stat::read(&format!("/proc/{pid}/stat"))).collect()
}

fn numbers(folder: &str) -> Vec<i32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
