//! Tasks that ended meanwhile, summed by program and by the living process below which they ran: many short processes
//! are missing in a list of tasks, and their reads and writes are accounted to the shell that waited for them.

use crate::{accounting::record::Record, sample::Name};
use serde::Serialize;
use std::collections::HashMap;

/// Records that are kept at most.
const MOST: usize = 1 << 19;
/// Programs that are reported at most.
const MOST_PROGRAMS: usize = 100;

/// All ends so far.
#[derive(Debug, Default)]
pub struct Ended {
    processes: Vec<Process>,
    /// What threads had that ended: of processes that live on it is theirs still. Processor time, and bytes.
    threads: HashMap<u32, (u64, u64)>,
}

/// A process that ended.
#[derive(Debug, Clone, Copy)]
struct Process {
    pid: u32,
    parent: u32,
    name: Name,
    ran_ns: u64,
    bytes: u64,
}

/// Ends of one program below one process, per second where a rate.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Program {
    /// The program's name.
    pub name: String,
    /// The nearest process above that did not end.
    pub under: u32,
    /// How many ended.
    pub tasks: u64,
    /// Processor time within the while, as far as it was added up when each ended, ns.
    pub ran_ns: u64,
    /// Read from and sent to drives, KiB/s.
    pub disk_kib_per_s: f64,
    /// Bytes, before it is known how long the while is.
    #[serde(skip)]
    bytes: u64,
}

impl Ended {
    /// Takes the records since the observation began, `since_ns` ago. Of a longer life, the same share counts.
    pub fn take(&mut self, records: &mut Vec<Record>, since_ns: u64) {
        for record in records.drain(..) {
            let Record { pid, process, parent, name, drive_bytes: [read, written], .. } = record;
            let share = since_ns.min(record.elapsed_ns) as f64 / record.elapsed_ns.max(1) as f64;
            let within = |number: u64| (number as f64 * share) as u64;
            let (ran_ns, bytes) = (within(record.ran_ns), within(read.saturating_add(written)));
            match process.filter(|&process| process != pid) {
                Some(process) => {
                    let sum = self.threads.entry(process).or_default();
                    *sum = (sum.0.saturating_add(ran_ns), sum.1.saturating_add(bytes));
                }
                None if self.processes.len() < MOST => {
                    self.processes.push(Process { pid, parent, name, ran_ns, bytes });
                }
                None => {}
            }
        }
    }

    /// By program and living process, those with most first.
    pub fn programs(mut self, seconds: f64) -> Vec<Program> {
        let parents: HashMap<u32, u32> = self.processes.iter().map(|it| (it.pid, it.parent)).collect();
        let mut found: HashMap<(Name, u32), Program> = HashMap::new();
        for process in &self.processes {
            let under = alive(&parents, process.parent);
            let (ran_ns, bytes) = self.threads.remove(&process.pid).unwrap_or_default();
            let program = found.entry((process.name, under)).or_default();
            program.name = process.name.to_string();
            program.under = under;
            program.tasks += 1;
            program.ran_ns = program.ran_ns.saturating_add(process.ran_ns).saturating_add(ran_ns);
            program.bytes = program.bytes.saturating_add(process.bytes).saturating_add(bytes);
            program.disk_kib_per_s = program.bytes as f64 / 1024.0 / seconds.max(1e-9);
        }
        let mut programs: Vec<Program> = found.into_values().collect();
        programs.sort_by(|a, b| (b.tasks, b.bytes, &a.name).cmp(&(a.tasks, a.bytes, &b.name)));
        programs.truncate(MOST_PROGRAMS);
        programs
    }
}

/// The nearest process above that has not ended. Numbers are used again, so the way up may be a circle.
fn alive(parents: &HashMap<u32, u32>, mut process: u32) -> u32 {
    for _ in 0..parents.len().min(64) {
        match parents.get(&process) {
            Some(&above) => process = above,
            None => break,
        }
    }
    process
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Name;

    fn record(pid: u32, parent: u32, name: &str, read: u64) -> Record {
        Record {
            pid,
            parent,
            elapsed_ns: 5,
            name: Name::new(name.as_bytes()),
            drive_bytes: [read, 0],
            ..Record::default()
        }
    }

    #[test]
    fn a_program_is_put_below_the_process_that_still_lives() {
        let mut ended = Ended::default();
        ended.take(&mut vec![record(12, 11, "dd", 1 << 20), record(11, 10, "sh", 0), record(13, 10, "dd", 1 << 20)], 5);
        let programs = ended.programs(2.0);
        assert_eq!((programs[0].name.as_str(), programs[0].under, programs[0].tasks), ("dd", 10, 2));
        assert_eq!(programs[0].disk_kib_per_s, 1024.0);
    }

    #[test]
    fn numbers_that_are_used_again_are_no_endless_way_up() {
        let mut ended = Ended::default();
        ended.take(&mut vec![record(12, 11, "a", 1), record(11, 12, "a", 1)], 5);
        assert_eq!(ended.programs(1.0).iter().map(|it| it.tasks).sum::<u64>(), 2);
    }
}
