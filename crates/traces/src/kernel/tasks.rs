//! Names of tasks as numbers: each name once, and for each task the one known last; and its process.

use super::Pid;
use hashbrown::HashMap;

/// The largest number of a task that a kernel gives (`PID_MAX_LIMIT`).
pub(super) const MOST_PID: Pid = 1 << 22;
/// Most names that are kept; tasks with others stay without one.
const MOST_NAMES: usize = 1 << 18;
/// Bytes of a name that are kept. The kernel has 15, perf and workqueues more.
const MOST_BYTES: usize = 64;

/// Where a name was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// In a field of an event: the kernel's name at that moment.
    Event,
    /// In front of an event: the tool's name for the task, which may be that of another moment.
    Tool,
}

/// All names and processes.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    texts: Vec<Box<[u8]>>,
    numbers: HashMap<Box<[u8]>, u32>,
    /// By task: its name's number + 1, and 1 in the lowest bit if it is the kernel's; 0 is none.
    of: Vec<u32>,
    /// By task: its process, 0 if unknown.
    processes: Vec<Pid>,
}

/// A name that a task did not have before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fresh {
    /// Its number.
    pub(super) number: u64,
    /// Whether no task had it before.
    pub(super) first: bool,
}

impl Tasks {
    /// Takes the name of a task; `None` if it is nothing new. An idle task needs none.
    #[inline]
    pub(super) fn note(&mut self, pid: Pid, comm: &[u8], source: Source) -> Option<Fresh> {
        if !(1..=MOST_PID).contains(&pid) || comm.is_empty() {
            return None;
        }
        let known = self.of.get(pid as usize).copied().unwrap_or(0);
        if known != 0 {
            let (number, kernels) = ((known >> 1) as usize - 1, known & 1 == 1);
            if (kernels && source == Source::Tool) || *self.texts[number] == *comm {
                return None;
            }
        }
        self.renamed(pid, comm, source)
    }

    #[cold]
    fn renamed(&mut self, pid: Pid, comm: &[u8], source: Source) -> Option<Fresh> {
        let comm = &comm[..comm.len().min(MOST_BYTES)];
        let first = !self.numbers.contains_key(comm);
        if first {
            if self.texts.len() == MOST_NAMES {
                return None;
            }
            self.numbers.insert(comm.into(), self.texts.len() as u32);
            self.texts.push(comm.into());
        }
        let number = self.numbers[comm];
        let pid = pid as usize;
        if self.of.len() <= pid {
            self.of.resize(pid + 1, 0);
        }
        let entry = (number + 1) << 1 | u32::from(source == Source::Event);
        let same = self.of[pid] >> 1 == entry >> 1;
        self.of[pid] = entry;
        (!same).then_some(Fresh { number: number.into(), first })
    }

    /// Takes the process of a thread; whether that is news.
    #[inline]
    pub(super) fn joins(&mut self, pid: Pid, process: Pid) -> bool {
        if !(1..=MOST_PID).contains(&pid) || !(1..=MOST_PID).contains(&process) {
            return false;
        }
        let pid = pid as usize;
        if self.processes.len() <= pid {
            self.processes.resize(pid + 1, 0);
        }
        std::mem::replace(&mut self.processes[pid], process) != process
    }

    /// The name of that number.
    pub(super) fn text(&self, number: u64) -> String {
        String::from_utf8_lossy(&self.texts[number as usize]).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_news_once_for_each_task_and_the_kernels_counts_more() {
        let mut tasks = Tasks::default();
        let fresh = |number, first| Some(Fresh { number, first });
        assert_eq!(tasks.note(7, b"sh", Source::Tool), fresh(0, true));
        assert_eq!(tasks.note(7, b"sh", Source::Tool), None);
        assert_eq!(tasks.note(8, b"sh", Source::Event), fresh(0, false));
        assert_eq!(tasks.note(7, b"ls", Source::Event), fresh(1, true));
        assert_eq!(tasks.note(7, b"sh", Source::Tool), None);
        assert_eq!(tasks.note(7, b"sh", Source::Event), fresh(0, false));
        assert_eq!((tasks.note(0, b"swapper/0", Source::Event), tasks.note(-1, b":-1", Source::Tool)), (None, None));
        assert_eq!(tasks.text(1), "ls");
    }

    #[test]
    fn a_long_name_is_cut_and_known_again() {
        let mut tasks = Tasks::default();
        let long = [b'x'; 300];
        assert!(tasks.note(1, &long, Source::Event).is_some());
        assert_eq!(tasks.note(1, &long, Source::Event), None);
        assert_eq!(tasks.text(0).len(), MOST_BYTES);
    }
}
