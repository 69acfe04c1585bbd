//! Waiters and holders of locks: calls of futex, traced for a second.
//!
//! A futex is a word in memory, named by its process and address. Not every wait for one is a wait for a lock: a worker that waits
//! for work does so too. A word is taken for a lock where the tasks that wait for it are also those that wake others by it,
//! as all users of a mutex do; a task that hands out work seldom waits in the same queue.

use crate::tracing::instance::Instance;
use schedlab_linux::{Fault, tracefs::Tracefs};
use schedlab_tune::RunJournal;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};

const EVENTS: [&str; 2] = ["events/syscalls/sys_enter_futex", "events/syscalls/sys_exit_futex"];
/// The kernel's buffer for a processor: some 20,000 calls. What comes after is not kept.
const KIB: &str = "2048";
/// From linux/futex.h, without the flags of the upper bits.
const WAITS: [u64; 4] = [0, 6, 9, 11];
const WAKES: [u64; 5] = [1, 3, 5, 7, 10];
const COMMAND: u64 = 0x7f;
/// Locks that are reported at most.
const MOST: usize = 10;
/// With fewer waits than this nothing is said.
const FEWEST: u64 = 10;

/// A recording that is under way.
#[derive(Debug)]
pub struct Tracer {
    instance: Instance,
}

impl Tracer {
    /// Begins; the journal is where the instance is entered first. Needs root, and a kernel with CONFIG_FTRACE_SYSCALLS.
    pub fn start(journal: &RunJournal) -> Result<Tracer, Fault> {
        let instance = Instance::make(Tracefs::open(journal.root())?, journal)?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("options/overwrite", "0")?;
        instance.set("buffer_size_kb", KIB)?;
        for event in EVENTS {
            instance.set(&format!("{event}/enable"), "1")?;
        }
        instance.set("tracing_on", "1")?;
        Ok(Tracer { instance })
    }

    /// Ends it: the calls as text.
    pub fn stop(self) -> Result<String, Fault> {
        self.instance.set("tracing_on", "0")?;
        self.instance.read("trace")
    }
}

/// A word of memory that tasks of a process wait for and wake each other by.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Lock {
    /// Number of the process.
    pub pid: i32,
    /// Of its program.
    pub name: String,
    /// Where in its memory.
    pub address: String,
    /// How many tasks waited for it, on average over time.
    pub waiting: f64,
    /// Waits a second.
    pub waits_per_s: f64,
    /// How many tasks used it.
    pub tasks: usize,
}

#[derive(Debug, Default)]
struct Word {
    waiters: BTreeSet<i32>,
    wakers: BTreeSet<i32>,
    waits: u64,
    seconds: f64,
}

/// The locks in a text of calls that tasks waited for, most waiting first. `process` gives number and name of a task's process.
pub fn contended(text: &str, process: impl Fn(i32) -> Option<(i32, String)>) -> Vec<Lock> {
    let mut words: HashMap<(i32, String), Word> = HashMap::new();
    let mut processes: BTreeMap<i32, Option<(i32, String)>> = BTreeMap::new();
    let mut open: HashMap<i32, (f64, (i32, String))> = HashMap::new();
    let (mut first, mut last) = (f64::INFINITY, 0.0f64);
    for call in text.lines().filter_map(Call::of) {
        (first, last) = (first.min(call.at), last.max(call.at));
        let Some((pid, _)) = processes.entry(call.task).or_insert_with(|| process(call.task)) else { continue };
        match call.what {
            What::Wait(address) => {
                let key = (*pid, address.to_owned());
                let word = words.entry(key.clone()).or_default();
                word.waiters.insert(call.task);
                word.waits += 1;
                open.insert(call.task, (call.at, key));
            }
            What::Wake(address) => {
                words.entry((*pid, address.to_owned())).or_default().wakers.insert(call.task);
            }
            What::Return => {
                if let Some((since, key)) = open.remove(&call.task) {
                    words.entry(key).or_default().seconds += call.at - since;
                }
            }
        }
    }
    // A task that still waits has waited until the end.
    for (since, key) in open.into_values() {
        words.entry(key).or_default().seconds += last - since;
    }
    let seconds = (last - first).max(1e-6);
    let names: BTreeMap<i32, String> = processes.into_values().flatten().collect();
    let is_lock = |word: &Word| word.waiters.intersection(&word.wakers).count() >= 2 && word.waits >= FEWEST;
    let mut locks: Vec<Lock> = words
        .into_iter()
        .filter(|(_, word)| is_lock(word))
        .map(|((pid, address), word)| Lock {
            pid,
            name: names.get(&pid).cloned().unwrap_or_default(),
            address,
            waiting: word.seconds / seconds,
            waits_per_s: word.waits as f64 / seconds,
            tasks: word.waiters.union(&word.wakers).count(),
        })
        .collect();
    locks.sort_by(|a, b| b.waiting.total_cmp(&a.waiting));
    locks.truncate(MOST);
    locks
}

struct Call<'a> {
    task: i32,
    at: f64,
    what: What<'a>,
}

enum What<'a> {
    Wait(&'a str),
    Wake(&'a str),
    Return,
}

impl Call<'_> {
    /// "  name-123  [001] ..... 12.345678: sys_futex(uaddr: 7f00, op: 80, val: 2, ...)", or "... sys_futex -> 0x0". A name may hold
    /// anything, so the line is read from its end.
    fn of(line: &str) -> Option<Call<'_>> {
        let (head, call) = line.rsplit_once(": sys_futex")?;
        let (rest, at) = head.rsplit_once(' ')?;
        let at = at.parse().ok()?;
        let (task, _) = rest.rsplit_once('[')?;
        let task = task.trim_end().rsplit_once('-')?.1.split_whitespace().next()?.parse().ok()?;
        let Some(arguments) = call.strip_prefix('(') else {
            return call.contains("->").then_some(Call { task, at, what: What::Return });
        };
        let word = |name: &str| {
            let rest = arguments.split(name).nth(1)?;
            rest.split([',', ')']).next().map(str::trim)
        };
        let address = word("uaddr:")?;
        let command = u64::from_str_radix(word("op:")?.trim_start_matches("0x"), 16).ok()? & COMMAND;
        let what = match command {
            wait if WAITS.contains(&wait) => What::Wait(address),
            wake if WAKES.contains(&wake) => What::Wake(address),
            _ => return None,
        };
        Some(Call { task, at, what })
    }
}

/// Number and name of the process of a task.
pub fn process_of(task: i32) -> Option<(i32, String)> {
    let status = std::fs::read_to_string(format!("/proc/{task}/status")).ok()?;
    let pid = status.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())?;
    Some((pid, schedlab_linux::proc::task::comm_of(pid)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(task: i32, at: f64, what: &str) -> String {
        format!("  a name-{task} [000] ..... {at:.6}: sys_futex{what}\n")
    }

    fn wait(task: i32, at: f64, until: f64) -> String {
        call(task, at, "(uaddr: 7f00, op: 80, val: 2, utime: 0, uaddr2: 0, val3: 0)") + &call(task, until, " -> 0x0")
    }

    fn wake(task: i32, at: f64) -> String {
        call(task, at, "(uaddr: 7f00, op: 81, val: 1, utime: 0, uaddr2: 0, val3: 0)") + &call(task, at, " -> 0x1")
    }

    fn found(text: &str) -> Vec<Lock> {
        contended(text, |_| Some((1, "it".to_owned())))
    }

    #[test]
    fn tasks_that_wait_and_wake_by_the_same_word_share_a_lock() {
        let turns = (0..20).map(|n| {
            let (task, at) = (10 + n % 2, 1.0 + f64::from(n) * 0.1);
            wait(task, at, at + 0.05) + &wake(task, at + 0.05)
        });
        let locks = found(&turns.collect::<String>());
        assert_eq!((locks.len(), locks[0].tasks), (1, 2));
        assert!((locks[0].waiting - 0.5).abs() < 0.05, "{locks:?}");
    }

    #[test]
    fn workers_that_wait_for_work_share_none() {
        let turns = (0..40).map(|n| {
            let (worker, at) = (10 + n % 2, 1.0 + f64::from(n) * 0.1);
            wait(worker, at, at + 0.09) + &wake(99, at + 0.09)
        });
        assert_eq!(found(&turns.collect::<String>()), []);
    }

    #[test]
    fn any_text_is_read_without_harm() {
        assert_eq!(found(": sys_futex\nx: sys_futex(\n[ 1: sys_futex(uaddr: , op: zz)\n-[]5 : sys_futex -> \n"), []);
    }
}
