//! Control groups, of version 2 and 1: what a named group uses, its limit, and the pressure in it.

use super::{
    column::{Column, column, level, percent, rate},
    open_file::OpenFile,
    pressure::{self, Pressure},
};
use schedlab_linux::{
    Fault, Root,
    proc::text::{lines, number, words},
};
use std::path::Path;

const USAGE_NS: usize = 0;
const USER_NS: usize = 1;
const SYSTEM_NS: usize = 2;
const PERIODS: usize = 3;
const THROTTLED: usize = 4;
const THROTTLED_NS: usize = 5;
const MEMORY: usize = 6;
const LIMIT: usize = 7;
const SWAP: usize = 8;
const FAULTS: usize = 9;
const MAJOR: usize = 10;
const READ: usize = 11;
const WRITTEN: usize = 12;
const READS: usize = 13;
const WRITES: usize = 14;
const REFAULTS: usize = 15;
const COUNTS: usize = 16;

/// A control group.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Group {
    counts: [Option<u64>; COUNTS],
    pressure: [Pressure; 3],
}

fn processors(now: &Group, was: &Group, counter: usize, seconds: f64) -> Option<f64> {
    rate(now.counts[counter], was.counts[counter], seconds).and_then(|ns| percent(ns, 1e9))
}

fn per_second(now: &Group, was: &Group, counter: usize, seconds: f64) -> Option<f64> {
    rate(now.counts[counter], was.counts[counter], seconds)
}

fn kib(now: &Group, counter: usize) -> Option<f64> {
    level(now.counts[counter]).map(|bytes| bytes / 1024.0)
}

/// What a group uses.
pub const GROUP: &[Column<Group>] = &[
    column("cpu", "%", "of one processor used", |now, was, s| processors(now, was, USAGE_NS, s)),
    column("usr", "%", "of one processor used in programs", |now, was, s| processors(now, was, USER_NS, s)),
    column("sys", "%", "of one processor used in the kernel", |now, was, s| processors(now, was, SYSTEM_NS, s)),
    column("periods", "1/s", "periods of its quota", |now, was, s| per_second(now, was, PERIODS, s)),
    column("throttled", "1/s", "periods in which the quota was used up", |now, was, s| {
        per_second(now, was, THROTTLED, s)
    }),
    column("throttled_time", "%", "of the time, summed over processors: held back by the quota", |now, was, s| {
        processors(now, was, THROTTLED_NS, s)
    }),
    column("memory", "KiB", "charged to it", |now, _, _| kib(now, MEMORY)),
    column("limit", "KiB", "that it may have; none without a limit", |now, _, _| kib(now, LIMIT)),
    column("swap", "KiB", "on swap devices", |now, _, _| kib(now, SWAP)),
    column("flt", "1/s", "page faults", |now, was, s| per_second(now, was, FAULTS, s)),
    column("majflt", "1/s", "page faults that had to wait for a drive", |now, was, s| per_second(now, was, MAJOR, s)),
    column("refault", "pages/s", "read again soon after their eviction", |now, was, s| {
        per_second(now, was, REFAULTS, s)
    }),
    column("rkB/s", "KiB/s", "read from drives", |now, was, s| per_second(now, was, READ, s).map(|b| b / 1024.0)),
    column("wkB/s", "KiB/s", "written to drives", |now, was, s| per_second(now, was, WRITTEN, s).map(|b| b / 1024.0)),
    column("r/s", "1/s", "reads from drives", |now, was, s| per_second(now, was, READS, s)),
    column("w/s", "1/s", "writes to drives", |now, was, s| per_second(now, was, WRITES, s)),
    column("cpu_some", "%", "of the time: some of its tasks waited for a processor", |now, was, s| {
        of(now, was, 0, 0, s)
    }),
    column("cpu_full", "%", "of the time: all of them did", |now, was, s| of(now, was, 0, 1, s)),
    column("memory_some", "%", "of the time: some of its tasks waited for memory", |now, was, s| of(now, was, 1, 0, s)),
    column("memory_full", "%", "of the time: all of them did", |now, was, s| of(now, was, 1, 1, s)),
    column("io_some", "%", "of the time: some of its tasks waited for a drive", |now, was, s| of(now, was, 2, 0, s)),
    column("io_full", "%", "of the time: all of them did", |now, was, s| of(now, was, 2, 1, s)),
];

/// Pressure for one resource, a column of its table.
fn of(now: &Group, was: &Group, resource: usize, column: usize, seconds: f64) -> Option<f64> {
    (pressure::PRESSURE[column].of)(&now.pressure[resource], &was.pressure[resource], seconds)
}

/// How a file is read.
enum Form {
    /// One number, and its units per unit of ours.
    Whole(usize, u64),
    /// Lines "key value".
    Flat(&'static [(&'static str, usize, u64)]),
    /// Lines "device key=value key=value", added up over devices.
    Nested(&'static [(&'static str, usize)]),
    /// Lines "device Key value" of version 1, added up over devices.
    Listed(&'static [(&'static str, usize)]),
    /// A pressure file.
    Pressure(usize),
}

/// The files of a group in the one hierarchy of version 2.
const ONE: &[(&str, Form)] = &[
    (
        "cpu.stat",
        Form::Flat(&[
            ("usage_usec", USAGE_NS, 1000),
            ("user_usec", USER_NS, 1000),
            ("system_usec", SYSTEM_NS, 1000),
            ("nr_periods", PERIODS, 1),
            ("nr_throttled", THROTTLED, 1),
            ("throttled_usec", THROTTLED_NS, 1000),
        ]),
    ),
    ("memory.current", Form::Whole(MEMORY, 1)),
    ("memory.max", Form::Whole(LIMIT, 1)),
    ("memory.swap.current", Form::Whole(SWAP, 1)),
    (
        "memory.stat",
        Form::Flat(&[
            ("pgfault", FAULTS, 1),
            ("pgmajfault", MAJOR, 1),
            ("workingset_refault", REFAULTS, 1),
            ("workingset_refault_anon", REFAULTS, 1),
            ("workingset_refault_file", REFAULTS, 1),
        ]),
    ),
    ("io.stat", Form::Nested(&[("rbytes", READ), ("wbytes", WRITTEN), ("rios", READS), ("wios", WRITES)])),
    ("cpu.pressure", Form::Pressure(0)),
    ("memory.pressure", Form::Pressure(1)),
    ("io.pressure", Form::Pressure(2)),
];

/// Ns of a tick in the files of version 1.
const TICK_NS: u64 = 10_000_000;

/// The files of a group in the hierarchies of version 1, a controller each.
const MANY: &[(&str, &str, Form)] = &[
    ("cpuacct", "cpuacct.usage", Form::Whole(USAGE_NS, 1)),
    ("cpuacct", "cpuacct.stat", Form::Flat(&[("user", USER_NS, TICK_NS), ("system", SYSTEM_NS, TICK_NS)])),
    (
        "cpu",
        "cpu.stat",
        Form::Flat(&[("nr_periods", PERIODS, 1), ("nr_throttled", THROTTLED, 1), ("throttled_time", THROTTLED_NS, 1)]),
    ),
    ("memory", "memory.usage_in_bytes", Form::Whole(MEMORY, 1)),
    ("memory", "memory.limit_in_bytes", Form::Whole(LIMIT, 1)),
    (
        "memory",
        "memory.stat",
        Form::Flat(&[
            ("total_swap", SWAP, 1),
            ("total_pgfault", FAULTS, 1),
            ("total_pgmajfault", MAJOR, 1),
            ("total_workingset_refault_anon", REFAULTS, 1),
            ("total_workingset_refault_file", REFAULTS, 1),
        ]),
    ),
    ("blkio", "blkio.throttle.io_service_bytes", Form::Listed(&[("Read", READ), ("Write", WRITTEN)])),
    ("blkio", "blkio.throttle.io_serviced", Form::Listed(&[("Read", READS), ("Write", WRITES)])),
];

/// The open files of a named group.
pub(super) struct Files {
    files: Vec<(OpenFile, &'static Form)>,
}

impl Files {
    /// Finds the group of that path: below a hierarchy, or with /sys/fs/cgroup and the hierarchy before it.
    pub(super) fn open(root: &Root, group: &str) -> Result<Files, Fault> {
        let below = group.trim_start_matches('/');
        let below = below.strip_prefix("sys/fs/cgroup").unwrap_or(below).trim_matches('/');
        if Path::new(below).components().any(|part| part == std::path::Component::ParentDir) {
            return Err(Fault::Wrong(format!("control group {group:?}: a path has no ..")));
        }
        let mut files = Vec::new();
        let mounts = root.path("/sys/fs/cgroup");
        for one in [mounts.clone(), mounts.join("unified")] {
            // A path may name its hierarchy.
            let inside = below.strip_prefix("unified").map_or(below, |rest| rest.trim_start_matches('/'));
            let folder = one.join(inside);
            if one.join("cgroup.controllers").exists() && folder.is_dir() {
                files.extend(ONE.iter().map(|(name, form)| (OpenFile::perhaps(folder.join(name)), form)));
            }
        }
        let named = |controller: &str| {
            let rest = below.strip_prefix(controller)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_start_matches('/'))
        };
        let inside = MANY.iter().find_map(|(controller, ..)| named(controller)).unwrap_or(below);
        for (controller, name, form) in MANY {
            let folder = mounts.join(controller).join(inside);
            if folder.is_dir() {
                files.push((OpenFile::perhaps(folder.join(name)), form));
            }
        }
        if files.is_empty() {
            let mounts = mounts.display();
            return Err(Fault::Wrong(format!(
                "there is no control group {group:?} under {mounts}: name it as /proc/PID/cgroup does, such as /user.slice"
            )));
        }
        Ok(Files { files })
    }

    /// Reads all; a counter is taken from the first file that has it.
    pub(super) fn read(&mut self) -> Group {
        let mut group = Group::default();
        for (file, form) in &mut self.files {
            if let Some(text) = file.read() {
                form.read(text, &mut group);
            }
        }
        // Version 1 writes the largest whole number of pages for "no limit".
        group.counts[LIMIT] = group.counts[LIMIT].filter(|&limit| limit < 1 << 62);
        group
    }
}

impl Form {
    fn read(&self, text: &[u8], group: &mut Group) {
        let counts = &mut group.counts;
        let mut found = [None; COUNTS];
        let mut add = |counter: usize, value: Option<u64>, times: u64| {
            if let Some(value) = value {
                found[counter] = Some(found[counter].unwrap_or(0u64).saturating_add(value.saturating_mul(times)));
            }
        };
        match self {
            Form::Whole(counter, times) => add(*counter, number(text.trim_ascii()), *times),
            Form::Pressure(resource) => group.pressure[*resource] = pressure::read(text),
            Form::Flat(keys) => {
                for line in lines(text) {
                    let mut words = words(line);
                    let name = words.next().unwrap_or(b"");
                    for (_, counter, times) in keys.iter().filter(|(key, ..)| key.as_bytes() == name) {
                        add(*counter, words.next().and_then(number), *times);
                    }
                }
            }
            Form::Nested(keys) => {
                for word in words(text) {
                    let Some(equals) = word.iter().position(|&byte| byte == b'=') else { continue };
                    for (_, counter) in keys.iter().filter(|(key, _)| key.as_bytes() == &word[..equals]) {
                        add(*counter, number(&word[equals + 1..]), 1);
                    }
                }
            }
            Form::Listed(keys) => {
                for line in lines(text) {
                    let mut words = words(line).skip(1);
                    let name = words.next().unwrap_or(b"");
                    for (_, counter) in keys.iter().filter(|(key, _)| key.as_bytes() == name) {
                        add(*counter, words.next().and_then(number), 1);
                    }
                }
            }
        }
        for (count, found) in counts.iter_mut().zip(found) {
            *count = count.or(found);
        }
    }
}
