//! The state of a host when its recording began: what no event says and what a recording can only be run again with. `schedlab record`
//! keeps it in the `trace.dat` as a JSON document, in a section of its own that other tools skip.
//!
//! Long, because each number says what it is.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Version of the document; one with another meaning of a field gets another number. Fields that a reader does not know are skipped.
pub const VERSION: u32 = 1;
/// Number of the option of a `trace.dat` that says where the section is, and number of that section: "SL". trace-cmd has numbers up to
/// 25 and skips what it does not know.
pub const OPTION: u16 = u16::from_le_bytes(*b"SL");
/// Most bytes of a document: 65,536 tasks and 16,384 groups with the longest names take less.
pub const MOST_BYTES: usize = 128 << 20;
/// Most tasks of a document.
pub const MOST_TASKS: usize = 1 << 16;
/// Most groups of a document.
pub const MOST_GROUPS: usize = 1 << 14;
/// Longest path of a group, bytes: Linux's PATH_MAX.
const LONGEST_PATH: usize = 4096;

/// The state of a host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// [`VERSION`].
    pub version: u32,
    /// When the look began and ended, ns on the clock of the recording. The recording begins right after it.
    pub taken_ns: (u64, u64),
    /// The process that recorded: its events belong to no load.
    pub recorder: i32,
    /// The kernel.
    pub kernel: Kernel,
    /// The processors that are online, ascending.
    pub processors: Vec<Processor>,
    /// The tasks, ascending by process and task.
    pub tasks: Vec<Task>,
    /// Tasks that found no room in the list.
    pub tasks_left_out: u64,
    /// The control groups of the hierarchy that divides processor time, those above first.
    pub groups: Vec<Group>,
    /// Groups that found no room in the list.
    pub groups_left_out: u64,
    /// Addresses of functions that timers call, by name: what `function` of a `timer:hrtimer_start` means.
    pub timer_functions: BTreeMap<String, u64>,
    /// The kinds of events that were recorded, as the kernel names them ("sched:sched_switch").
    pub events: Vec<String>,
    /// Those that were asked for and that this kernel does not have.
    pub events_missing: Vec<String>,
    /// Why the recording ended before it was to, if it did: it had reached its size.
    pub ended_early: Option<String>,
}

/// A kernel and how it schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kernel {
    /// Its release: "6.18.44".
    pub release: String,
    /// Its build, with the preemption models that it was built for.
    pub build: String,
    /// The architecture: "x86_64".
    pub machine: String,
    /// Length of a tick (1 / HZ), ns.
    pub tick_ns: Option<u64>,
    /// Texts of the scheduler's own files by path, in `/sys/kernel/debug/sched` and `/proc/sys/kernel/sched_*`: base slice, features,
    /// preemption model, real-time limits, autogroup. Empty as far as they cannot be read.
    pub settings: BTreeMap<String, String>,
}

/// A processor, and what it shares with others.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Processor {
    /// The kernel's number.
    pub number: u16,
    /// Equal for the threads of a core.
    pub core: u16,
    /// Equal for processors that share a last-level cache.
    pub cache: u16,
    /// The memory node, counted from 0.
    pub node: u16,
    /// Its capacity, of 1024.
    pub capacity: u16,
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Number of the thread.
    pub pid: i32,
    /// Number of its process.
    pub process: i32,
    /// Number of the process's parent.
    pub parent: i32,
    /// Its name; bytes that are no UTF-8 are replaced.
    pub name: String,
    /// R running or runnable, S asleep, D in uninterruptible sleep, I an idle kernel thread, T stopped, Z zombie.
    pub state: String,
    /// Whether it is a thread of the kernel.
    pub kernel: bool,
    /// The processor that it ran on last.
    pub processor: u16,
    /// Nice value.
    pub nice: i8,
    /// Number of its policy, as in `sched_setattr(2)`: 0 other, 1 FIFO, 2 round robin, 3 batch, 5 idle, 6 deadline, 7 ext.
    pub policy: u32,
    /// Static priority of a real-time task, else 0.
    pub priority: u32,
    /// The slice of an ordinary task (Linux 6.12 or newer) or the runtime of a reservation, ns; 0 where the kernel does not say.
    pub slice_ns: u64,
    /// Deadline of a reservation, ns, else 0.
    pub deadline_ns: u64,
    /// Period of a reservation, ns, else 0.
    pub period_ns: u64,
    /// Processors that it may use, as the kernel lists them: "0-3,8".
    pub processors: String,
    /// Its group in the hierarchy of `State::groups`: "/", "/user.slice".
    pub group: String,
    /// Its group by session and the nice value of that, where the kernel groups tasks by session: "/autogroup-25 nice 0". It counts
    /// only for tasks of the group "/".
    pub autogroup: Option<String>,
    /// Whether it was made by the recorded command: then this is what was seen of it last, at most 0.1 s before it ended.
    pub meanwhile: bool,
}

/// A control group: how much of the processors its tasks get together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Its path, "/" for the one at the top.
    pub path: String,
    /// `cpu.weight` of version 2, from 1 to 10,000. None where tasks below count as those of the group above.
    pub weight: Option<u64>,
    /// `cpu.shares` of version 1, from 2 to 262,144.
    pub shares: Option<u64>,
    /// Quota in a period, ns; none if there is no limit.
    pub quota_ns: Option<u64>,
    /// The period, ns.
    pub period_ns: Option<u64>,
    /// What may be saved up of the quota, ns.
    pub burst_ns: Option<u64>,
    /// Whether its tasks run only when no other wants to (`cpu.idle`).
    pub idle: bool,
}

impl State {
    /// Reads a document. The error says what is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<State, String> {
        if bytes.len() > MOST_BYTES {
            return Err(format!("the state at the start has {} bytes, at most {MOST_BYTES} are allowed", bytes.len()));
        }
        let state: State =
            serde_json::from_slice(bytes).map_err(|why| format!("the state at the start is damaged: {why}"))?;
        if state.version != VERSION {
            return Err(format!("the state at the start has version {}, this reader knows {VERSION}", state.version));
        }
        let (tasks, groups) = (state.tasks.len(), state.groups.len());
        if tasks > MOST_TASKS || groups > MOST_GROUPS {
            let most = format!("at most {MOST_TASKS} and {MOST_GROUPS} are allowed");
            return Err(format!("the state at the start has {tasks} tasks and {groups} groups, {most}"));
        }
        let paths = state.tasks.iter().map(|task| &task.group).chain(state.groups.iter().map(|group| &group.path));
        if let Some(path) = paths.map(String::len).max().filter(|&longest| longest > LONGEST_PATH) {
            return Err(format!(
                "the state at the start has a group with a path of {path} bytes, at most {LONGEST_PATH} are allowed"
            ));
        }
        Ok(state)
    }

    /// Adds tasks that were made meanwhile; of those that were there before it keeps what it has. What finds no room is counted.
    pub fn add(&mut self, made: impl Iterator<Item = Task>) {
        let known: BTreeSet<i32> = self.tasks.iter().map(|task| task.pid).collect();
        for task in made.filter(|task| !known.contains(&task.pid)) {
            if self.tasks.len() < MOST_TASKS { self.tasks.push(task) } else { self.tasks_left_out += 1 }
        }
        self.tasks.sort_by_key(|task| (task.process, task.pid));
    }

    /// The document.
    pub fn document(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers, words and lists of them are JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state() -> State {
        let task = Task { pid: 7, name: "a\n\"b\"".to_owned(), state: "S".to_owned(), nice: -20, ..Task::default() };
        let group = Group { path: "/a".to_owned(), weight: Some(100), ..Group::default() };
        State { version: VERSION, taken_ns: (1, u64::MAX), tasks: vec![task], groups: vec![group], ..State::default() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(State::read(&state().document()), Ok(state()));
    }

    #[test]
    fn fields_of_later_versions_of_this_program_are_skipped_and_missing_ones_have_defaults() {
        let read = State::read(br#"{"version": 1, "colour": "red", "tasks": [{"pid": 3, "mood": [1]}]}"#).unwrap();
        assert_eq!(read.tasks, [Task { pid: 3, ..Task::default() }]);
    }

    #[test]
    fn another_meaning_is_refused_with_its_number() {
        let why = State::read(br#"{"version": 9}"#).unwrap_err();
        assert_eq!(why, "the state at the start has version 9, this reader knows 1");
    }

    #[test]
    fn more_than_any_host_writes_is_refused() {
        let read = |state: State| State::read(&state.document()).map(|_| ());
        let tasks = |number| State { tasks: vec![Task::default(); number], ..state() };
        assert_eq!(read(tasks(MOST_TASKS)), Ok(()));
        let why = read(tasks(MOST_TASKS + 1)).unwrap_err();
        assert_eq!(why, "the state at the start has 65537 tasks and 1 groups, at most 65536 and 16384 are allowed");
        let groups = State { groups: vec![Group::default(); MOST_GROUPS + 1], ..state() };
        assert!(read(groups).unwrap_err().contains("16385 groups"));
        let path = |bytes| State { groups: vec![Group { path: "a".repeat(bytes), ..Group::default() }], ..state() };
        assert_eq!(read(path(LONGEST_PATH)), Ok(()));
        assert!(read(path(LONGEST_PATH + 1)).unwrap_err().contains("a path of 4097 bytes"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 0usize..400, at in 0usize..400) {
            let _ = State::read(&bytes);
            let mut document = state().document();
            document.truncate(cut);
            if let Some(byte) = document.get_mut(at) {
                *byte = bytes.first().copied().unwrap_or(0);
            }
            let _ = State::read(&document);
        }
    }
}
