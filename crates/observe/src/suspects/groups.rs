//! Every control group of the host, of both versions: how its counters grew over a while. Only groups whose processor
//! quota, memory limit or pressure says something are reported.

use schedlab_linux::Root;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// Groups that are looked at at most, and how deep.
const MOST: usize = 4096;
const DEEPEST: usize = 16;
/// Tasks of a group that are reported at most.
const MOST_TASKS: usize = 16;
/// Hierarchies of version 1 that say something here.
const OF_ONE_CONTROLLER: [&str; 3] = ["cpu", "cpu,cpuacct", "memory"];

/// The counters of a group by our names, from whichever files it has.
type Counters = BTreeMap<&'static str, u64>;

/// A counter: the file, the key of its line (none: the file is one number), our name, how many of our units one is.
type Source = (&'static str, Option<&'static str>, &'static str, u64);
const SOURCES: &[Source] = &[
    ("cpu.stat", Some("nr_periods"), "periods", 1),
    ("cpu.stat", Some("nr_throttled"), "throttled", 1),
    ("cpu.stat", Some("throttled_usec"), "throttled_ns", 1000),
    ("cpu.stat", Some("throttled_time"), "throttled_ns", 1),
    ("memory.events", Some("max"), "failed", 1),
    ("memory.events", Some("high"), "failed", 1),
    ("memory.events", Some("oom_kill"), "oom_kills", 1),
    ("memory.failcnt", None, "failed", 1),
    ("memory.oom_control", Some("oom_kill"), "oom_kills", 1),
    ("memory.stat", Some("workingset_refault"), "refaults", 1),
    ("memory.stat", Some("workingset_refault_anon"), "refaults", 1),
    ("memory.stat", Some("workingset_refault_file"), "refaults", 1),
    ("memory.stat", Some("pgmajfault"), "major_faults", 1),
    ("cpu.pressure", Some("some"), "cpu_us", 1),
    ("memory.pressure", Some("some"), "memory_us", 1),
    ("io.pressure", Some("some"), "io_us", 1),
];
/// What holds at a moment.
const LEVELS: &[Source] = &[
    ("memory.max", None, "limit", 1),
    ("memory.limit_in_bytes", None, "limit", 1),
    ("memory.current", None, "memory", 1),
    ("memory.usage_in_bytes", None, "memory", 1),
];

/// A group, and by how much its counters grew a second.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// As /proc/PID/cgroup has it.
    pub path: String,
    /// Numbers of tasks in it.
    pub tasks: Vec<i32>,
    /// Of the periods of its quota, those in which it was used up, percent; none without a quota.
    pub throttled_percent: Option<f64>,
    /// Time held back by the quota, percent of the time, summed over processors.
    pub throttled_time_percent: Option<f64>,
    /// Allocations that hit the limit of its memory, 1/s.
    pub failed_per_s: Option<f64>,
    /// Pages read again soon after their eviction, 1/s.
    pub refaults_per_s: Option<f64>,
    /// Page faults that waited for a drive, 1/s.
    pub major_faults_per_s: Option<f64>,
    /// Tasks killed since memory was at its limit.
    pub oom_kills: u64,
    /// What it has of what it may have, bytes.
    pub memory: Option<u64>,
    /// None without a limit.
    pub limit: Option<u64>,
    /// Share of the time in which some of its tasks were stalled for a processor, memory, a drive; percent.
    pub pressure: [Option<f64>; 3],
}

/// The folders of all groups with their counters.
pub fn read(root: &Root) -> BTreeMap<PathBuf, Counters> {
    let mut found = BTreeMap::new();
    hierarchies(root).iter().for_each(|top| walk(top, 0, &mut found));
    found
}

fn hierarchies(root: &Root) -> Vec<PathBuf> {
    let top = root.path("/sys/fs/cgroup");
    let unified = [top.clone(), top.join("unified")].into_iter().filter(|it| it.join("cgroup.controllers").exists());
    let mut all: Vec<PathBuf> = unified.take(1).collect();
    for name in OF_ONE_CONTROLLER {
        let place = top.join(name);
        // Where two controllers are mounted together, the name of one is a link.
        if place.is_dir() && !place.is_symlink() && !all.contains(&top) {
            all.push(place);
        }
    }
    all
}

fn walk(folder: &Path, depth: usize, found: &mut BTreeMap<PathBuf, Counters>) {
    if found.len() >= MOST || depth > DEEPEST {
        return;
    }
    // The first group is the whole host, which has counters of its own.
    if depth > 0 {
        found.insert(folder.to_owned(), counters(folder, SOURCES));
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&entry.path(), depth + 1, found);
        }
    }
}

fn counters(folder: &Path, sources: &[Source]) -> Counters {
    let mut counters = Counters::new();
    let mut last: (&str, Option<String>) = ("", None);
    for &(file, key, name, units) in sources {
        if last.0 != file {
            last = (file, fs::read_to_string(folder.join(file)).ok());
        }
        if let Some(value) = last.1.as_deref().and_then(|text| value(text, key)) {
            let sum = counters.entry(name).or_insert(0);
            *sum = sum.saturating_add(value.saturating_mul(units));
        }
    }
    counters
}

/// "key 7", "some avg10=0.00 ... total=7", or the whole text.
fn value(text: &str, key: Option<&str>) -> Option<u64> {
    let Some(key) = key else { return text.trim().parse().ok() };
    let rest = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?;
    rest.rsplit_once("total=").map_or(rest, |(_, total)| total).trim().parse().ok()
}

/// The groups about which something can be said.
pub fn changes(
    root: &Root,
    before: &BTreeMap<PathBuf, Counters>,
    after: BTreeMap<PathBuf, Counters>,
    seconds: f64,
) -> Vec<Change> {
    let tops = hierarchies(root);
    after
        .iter()
        .filter_map(|(folder, now)| {
            let was = before.get(folder)?;
            let top = tops.iter().find(|top| folder.starts_with(top))?;
            let path = format!("/{}", folder.strip_prefix(top).ok()?.display());
            let change = change(path, was, now, &counters(folder, LEVELS), seconds);
            change.says_something().then(|| Change { tasks: tasks(folder, 0), ..change })
        })
        .collect()
}

fn change(path: String, was: &Counters, now: &Counters, levels: &Counters, seconds: f64) -> Change {
    // A counter that went back belongs to another group of that name.
    let grown = |name: &str| now.get(name)?.checked_sub(*was.get(name)?);
    let rate = |name: &str| grown(name).filter(|_| seconds > 0.0).map(|grown| grown as f64 / seconds);
    let percent = |name: &str, units: f64| rate(name).map(|rate| 100.0 * rate / units);
    let periods = grown("periods").filter(|&periods| periods > 0);
    Change {
        path,
        tasks: Vec::new(),
        throttled_percent: periods.and_then(|periods| Some(100.0 * grown("throttled")? as f64 / periods as f64)),
        throttled_time_percent: periods.and_then(|_| percent("throttled_ns", 1e9)),
        failed_per_s: rate("failed"),
        refaults_per_s: rate("refaults"),
        major_faults_per_s: rate("major_faults"),
        oom_kills: grown("oom_kills").unwrap_or(0),
        memory: levels.get("memory").copied(),
        // Version 1 writes the largest whole number of pages for "no limit".
        limit: levels.get("limit").copied().filter(|&limit| limit < 1 << 62),
        pressure: ["cpu_us", "memory_us", "io_us"].map(|name| percent(name, 1e6)),
    }
}

impl Change {
    fn says_something(&self) -> bool {
        let some = |number: Option<f64>| number.is_some_and(|number| number > 0.0);
        some(self.throttled_percent)
            || some(self.failed_per_s)
            || self.oom_kills > 0
            || self.pressure.iter().any(|share| share.is_some_and(|share| share >= 1.0))
    }
}

/// The first tasks in a group and in those below it.
fn tasks(folder: &Path, depth: usize) -> Vec<i32> {
    let text = fs::read_to_string(folder.join("cgroup.procs")).unwrap_or_default();
    let mut all: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).take(MOST_TASKS).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if all.len() < MOST_TASKS && depth < DEEPEST && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            all.extend(tasks(&entry.path(), depth + 1));
        }
    }
    all.truncate(MOST_TASKS);
    all
}
