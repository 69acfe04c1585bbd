//! /proc/PID/stat: what tasks use, and how many of each nice level are ready.
//!
//! Looking at every task costs 10 to 30 microseconds each, so it is done only on request. It is a sweep, not an
//! instant: a task is as it was when the sweep passed it.

use super::{
    column::{Column, column, level, percent, rate},
    nice::{Levels, REALTIME},
};
use schedlab_linux::{
    Fault, Root,
    files::numbered_entries,
    proc::{
        keyed::{self, Key},
        task::TaskStat,
        text::{Name, number, signed},
    },
    process::Units,
};
use std::{
    ffi::OsStr,
    fs::File,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::Path,
};

/// Tasks for which there is room from the beginning.
pub(super) const USUAL: usize = 4096;
const NS: u64 = 1_000_000_000;

/// Which tasks are reported of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// The number of those that use most.
    pub most: usize,
    /// Most of what.
    pub by: By,
    /// These, whatever they use.
    pub named: Vec<u32>,
}

/// What tasks are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum By {
    /// Processor time used since the sample before.
    #[default]
    Cpu,
    /// Memory present.
    Memory,
    /// Bytes read from and written to drives since the sample before.
    Disk,
}

/// A process. Its numbers are those of all its threads, but `state`, `policy`, `nice` and the switches are its first one's.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Task {
    /// Its number, and when it began: the number is used again later.
    pub pid: u32,
    began: u64,
    /// Of its program.
    pub name: Name,
    /// The kernel's letter: R ready or running, D waiting for a drive, S asleep ...
    pub state: u8,
    /// The kernel's number of its policy.
    pub policy: Option<u64>,
    /// -20 to 19.
    pub nice: Option<i64>,
    threads: Option<u64>,
    processor: Option<u64>,
    user_ns: Option<u64>,
    system_ns: Option<u64>,
    children_ns: [Option<u64>; 2],
    minor: Option<u64>,
    major: Option<u64>,
    present_kib: Option<u64>,
    blocked_ns: Option<u64>,
    switches: [Option<u64>; 2],
    moved: [Option<u64>; 2],
}

const KEYS: &[Key] = &[("voluntary_ctxt_switches", 0), ("nonvoluntary_ctxt_switches", 1)];
const IO_KEYS: &[Key] = &[("read_bytes", 0), ("write_bytes", 1)];
const POLICIES: [&str; 8] = ["other", "fifo", "rr", "batch", "iso", "idle", "deadline", "ext"];

impl Task {
    /// As the kernel's interfaces name its policy.
    pub fn policy_name(&self) -> Option<&'static str> {
        POLICIES.get(usize::try_from(self.policy?).ok()?).copied()
    }

    /// Of `/proc/PID/stat`.
    pub(super) fn of(text: &[u8], units: Units) -> Option<Task> {
        let stat = TaskStat::of(text)?;
        let mut task = Task { pid: stat.pid, name: Name::new(stat.name), ..Task::default() };
        let ns = |word| number(word).map(|ticks| ticks.saturating_mul(NS / units.ticks));
        for (field, word) in stat.fields() {
            match field {
                3 => task.state = word[0],
                10 => task.minor = number(word),
                12 => task.major = number(word),
                14 => task.user_ns = ns(word),
                15 => task.system_ns = ns(word),
                16 => task.children_ns[0] = ns(word),
                17 => task.children_ns[1] = ns(word),
                19 => task.nice = signed(word),
                20 => task.threads = number(word),
                22 => task.began = number(word)?,
                24 => task.present_kib = number(word).map(|pages| pages.saturating_mul(units.page_kib)),
                39 => task.processor = number(word),
                41 => task.policy = number(word),
                42 => task.blocked_ns = ns(word),
                _ => {}
            }
        }
        (task.state != 0).then_some(task)
    }

    /// Where it is counted by nice level.
    fn level(&self) -> usize {
        match self.policy_name() {
            Some("fifo" | "rr" | "deadline") => REALTIME,
            _ => (self.nice.unwrap_or(0).clamp(-20, 19) + 20) as usize,
        }
    }

    fn busy_ns(&self) -> Option<u64> {
        self.user_ns?.checked_add(self.system_ns?)
    }

    /// Of the children that it has waited for, and theirs.
    fn ended_ns(&self) -> Option<u64> {
        self.children_ns[0]?.checked_add(self.children_ns[1]?)
    }

    /// How much it used of what tasks are ordered by; of a task that was not there before, all.
    fn weight(&self, before: Option<&Task>, by: By) -> u64 {
        let used =
            |of: fn(&Task) -> Option<u64>| of(self).unwrap_or(0).saturating_sub(before.and_then(of).unwrap_or(0));
        match by {
            By::Cpu => used(Task::busy_ns),
            By::Memory => self.present_kib.unwrap_or(0),
            By::Disk => used(|task| task.moved[0]?.checked_add(task.moved[1]?)),
        }
    }
}

fn share(now: Option<u64>, was: Option<u64>, seconds: f64) -> Option<f64> {
    rate(now, was, seconds).and_then(|ns| percent(ns, NS as f64))
}

/// What a task uses.
pub const TASK: &[Column<Task>] = &[
    column("cpu", "%", "of one processor", |now, was, s| share(now.busy_ns(), was.busy_ns(), s)),
    column("usr", "%", "of one processor, in the program", |now, was, s| share(now.user_ns, was.user_ns, s)),
    column("sys", "%", "of one processor, in the kernel", |now, was, s| share(now.system_ns, was.system_ns, s)),
    column("ended", "%", "of one processor: children that have ended and were waited for", |now, was, s| {
        share(now.ended_ns(), was.ended_ns(), s)
    }),
    column("wai", "%", "of the time: waiting for a drive; needs kernel.task_delayacct, else 0", |now, was, s| {
        share(now.blocked_ns, was.blocked_ns, s)
    }),
    column("nvcsw", "1/s", "switches because it waited", |now, was, s| rate(now.switches[0], was.switches[0], s)),
    column("nivcsw", "1/s", "switches because another had to run", |now, was, s| {
        rate(now.switches[1], was.switches[1], s)
    }),
    column("minflt", "1/s", "page faults without a drive", |now, was, s| rate(now.minor, was.minor, s)),
    column("majflt", "1/s", "page faults that waited for a drive", |now, was, s| rate(now.major, was.major, s)),
    column("rss", "KiB", "memory present", |now, _, _| level(now.present_kib)),
    column("rkB/s", "KiB/s", "read from drives; needs the right to trace it", |now, was, s| {
        rate(now.moved[0], was.moved[0], s).map(|bytes| bytes / 1024.0)
    }),
    column("wkB/s", "KiB/s", "sent to drives, immediately or later; needs the right to trace it", |now, was, s| {
        rate(now.moved[1], was.moved[1], s).map(|bytes| bytes / 1024.0)
    }),
    column("threads", "tasks", "threads", |now, _, _| level(now.threads)),
    column("processor", "", "the one it last ran on", |now, _, _| level(now.processor)),
];

/// What is needed to look at tasks, made once.
#[derive(Debug)]
pub(super) struct Scan {
    folder: File,
    units: Units,
    chosen: Chosen,
    /// The sampler's own thread, which is always running when it looks.
    own: Option<u32>,
    path: Vec<u8>,
    beginning: usize,
    entries: Vec<u8>,
    text: Vec<u8>,
    pids: Vec<u32>,
    threads: Vec<u32>,
}

impl Scan {
    pub(super) fn new(root: &Root, chosen: Chosen, units: Units) -> Result<Scan, Fault> {
        let proc = root.path("/proc");
        let folder = File::open(&proc).map_err(|why| Fault::file(&proc, "read", why))?;
        let this = std::fs::read_link(proc.join("self")).ok();
        let live = this.is_some_and(|link| link.to_str() == Some(&std::process::id().to_string()));
        let path = proc.as_os_str().as_bytes().to_vec();
        Ok(Scan {
            folder,
            units,
            chosen,
            own: live.then(|| nix::unistd::gettid().as_raw().unsigned_abs()),
            beginning: path.len(),
            path,
            entries: vec![0; 32 << 10],
            text: vec![0; 4 << 10],
            pids: Vec::with_capacity(USUAL),
            threads: Vec::with_capacity(USUAL),
        })
    }

    /// Looks at all tasks, or at the named ones if no others are wanted; `reported` gets the indices of those to report.
    pub(super) fn read(
        &mut self,
        before: &[Task],
        mut levels: Option<&mut Levels>,
        now: &mut Vec<Task>,
        reported: &mut Vec<u32>,
    ) {
        now.clear();
        self.pids.clear();
        if self.chosen.most > 0 || levels.is_some() {
            let mut pids = std::mem::take(&mut self.pids);
            numbered_entries(&self.folder, &mut self.entries, &mut pids);
            pids.sort_unstable();
            self.pids = pids;
        } else {
            self.pids.extend_from_slice(&self.chosen.named);
        }
        for at in 0..self.pids.len() {
            let pid = self.pids[at];
            let Some(mut task) = self.stat(pid, None) else { continue };
            if let Some(levels) = levels.as_deref_mut() {
                self.count(&task, levels);
            }
            if self.chosen.by == By::Disk && self.chosen.most > 0 {
                task.moved = self.counters(pid, "/io", IO_KEYS);
            }
            now.push(task);
        }
        self.choose(before, now, reported);
        for &place in reported.iter() {
            let task = &mut now[place as usize];
            task.switches = self.counters(task.pid, "/status", KEYS);
            if task.moved == [None; 2] {
                task.moved = self.counters(task.pid, "/io", IO_KEYS);
            }
        }
    }

    /// Counts a process's threads by nice level.
    fn count(&mut self, task: &Task, levels: &mut Levels) {
        if task.threads.is_none_or(|threads| threads < 2) {
            if Some(task.pid) != self.own {
                levels.count(task.level(), task.state);
            }
            return;
        }
        self.threads.clear();
        self.name(task.pid, "/task");
        let Ok(folder) = File::open(Path::new(OsStr::from_bytes(&self.path))) else { return };
        let mut threads = std::mem::take(&mut self.threads);
        numbered_entries(&folder, &mut self.entries, &mut threads);
        threads.retain(|&thread| Some(thread) != self.own);
        for &thread in &threads {
            if let Some(task) = self.stat(task.pid, Some(thread)) {
                levels.count(task.level(), task.state);
            }
        }
        self.threads = threads;
    }

    /// The indices of those to report, the heaviest users first. Both lists of tasks are in order of their numbers.
    fn choose(&self, before: &[Task], now: &[Task], reported: &mut Vec<u32>) {
        reported.clear();
        let weight = |place: u32| {
            let task = &now[place as usize];
            task.weight(same(before, task), self.chosen.by)
        };
        for place in 0..now.len() as u32 {
            if self.chosen.named.contains(&now[place as usize].pid) {
                reported.push(place);
            }
        }
        let named = reported.len();
        for place in 0..now.len() as u32 {
            if self.chosen.named.contains(&now[place as usize].pid) {
                continue;
            }
            let mine = weight(place);
            let at = named + reported[named..].partition_point(|&other| weight(other) >= mine);
            if at - named < self.chosen.most {
                reported.truncate(named + self.chosen.most - 1);
                reported.insert(at, place);
            }
        }
    }

    fn name(&mut self, pid: u32, file: &str) {
        self.path.truncate(self.beginning);
        // Writing to memory does not fail.
        let _ = write!(self.path, "/{pid}{file}");
    }

    fn stat(&mut self, pid: u32, thread: Option<u32>) -> Option<Task> {
        self.name(pid, "");
        if let Some(thread) = thread {
            let _ = write!(self.path, "/task/{thread}");
        }
        self.path.extend_from_slice(b"/stat");
        let units = self.units;
        self.file().and_then(|text| Task::of(text, units))
    }

    fn counters(&mut self, pid: u32, file: &str, keys: &[Key]) -> [Option<u64>; 2] {
        self.name(pid, file);
        self.file().map_or([None; 2], |text| keyed::read(text, keys))
    }

    /// The beginning of the file of that name: these are short.
    fn file(&mut self) -> Option<&[u8]> {
        let file = File::open(Path::new(OsStr::from_bytes(&self.path))).ok()?;
        let length = file.read_at(&mut self.text, 0).ok()?;
        Some(&self.text[..length])
    }
}

/// The same task in an earlier list.
pub(super) fn same<'a>(before: &'a [Task], task: &Task) -> Option<&'a Task> {
    let at = before.binary_search_by_key(&task.pid, |other| other.pid).ok()?;
    Some(&before[at]).filter(|other| other.began == task.began)
}
