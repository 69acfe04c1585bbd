//! /proc/stat and /proc/loadavg: where the processors' time went, interrupts, switches, running and blocked tasks.
//!
//! Shares are of the ticks that passed, as in vmstat: the kernel reports time in ticks of 10 ms (`ticks_per_second` in the
//! header), so that over a short interval shares come in coarse steps, and are none if no tick passed.

use super::column::{Column, column, level, percent, rate};
use schedlab_linux::proc::{
    keyed::{self, Key},
    stat::{self, IDLE, IOWAIT, Of, STEAL},
    text::{decimal, number, words},
};

/// Time of one processor, or of all, since boot, ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks(stat::Ticks);

impl Ticks {
    /// The share of one kind in what passed since, percent.
    ///
    /// The kernel sometimes corrects waiting and idle time downwards, and a hypervisor stolen time: that
    /// kind then is none, the others are what they are. If any other kind went back, the processor was away and began
    /// again: nothing is known.
    fn share(&self, before: &Ticks, kind: usize) -> Option<f64> {
        let mut passed = 0u64;
        for (at, (now, before)) in self.0.iter().zip(&before.0).enumerate() {
            match (now, before) {
                (Some(now), Some(before)) if now >= before => passed = passed.saturating_add(now - before),
                (Some(_), Some(_)) if ![IDLE, IOWAIT, STEAL].contains(&at) => return None,
                _ => {}
            }
        }
        let part = self.0[kind]?.checked_sub(before.0[kind]?)?;
        percent(part as f64, passed as f64)
    }
}

/// Shares of a processor's time.
pub const TIME: &[Column<Ticks>] = &[
    column("usr", "%", "in programs, and in guests of virtual machines", |now, was, _| now.share(was, 0)),
    column("nice", "%", "in programs with a nice value above 0", |now, was, _| now.share(was, 1)),
    column("sys", "%", "in the kernel, for programs", |now, was, _| now.share(was, 2)),
    column("idl", "%", "idle", |now, was, _| now.share(was, IDLE)),
    column("wai", "%", "idle while a task waited for a drive", |now, was, _| now.share(was, IOWAIT)),
    column("hiq", "%", "in hardware interrupts, where the kernel counts them separately", |now, was, _| {
        now.share(was, 5)
    }),
    column("siq", "%", "in softirqs", |now, was, _| now.share(was, 6)),
    column("stl", "%", "taken by the hypervisor for other machines", |now, was, _| now.share(was, STEAL)),
];

const INTERRUPTS: usize = 0;
const SWITCHES: usize = 1;
const FORKS: usize = 2;
const RUNNING: usize = 3;
const BLOCKED: usize = 4;
const KEYS: &[Key] = &[
    ("intr", INTERRUPTS),
    ("ctxt", SWITCHES),
    ("processes", FORKS),
    ("procs_running", RUNNING),
    ("procs_blocked", BLOCKED),
];

/// Counts of the whole system.
pub type System = [Option<u64>; 5];

/// Counts of the whole system.
pub const SYSTEM: &[Column<System>] = &[
    column("int", "1/s", "interrupts", |now, was, s| rate(now[INTERRUPTS], was[INTERRUPTS], s)),
    column("csw", "1/s", "context switches", |now, was, s| rate(now[SWITCHES], was[SWITCHES], s)),
    column("fork", "1/s", "tasks and threads made", |now, was, s| rate(now[FORKS], was[FORKS], s)),
    column("r", "tasks", "running or ready at this moment, the sampler among them", |now, _, _| level(now[RUNNING])),
    column("b", "tasks", "waiting for a drive at this moment", |now, _, _| level(now[BLOCKED])),
];

/// Reads /proc/stat. Processors beyond the places given are left out; one that is not in the file is none.
pub(super) fn read(text: &[u8], each: &mut [Option<Ticks>]) -> (Option<Ticks>, System) {
    let mut all = None;
    each.fill(None);
    for (of, ticks) in stat::processors(text) {
        match of {
            Of::All => all = Some(Ticks(ticks)),
            Of::One(cpu) => {
                if let Some(place) = usize::try_from(cpu).ok().and_then(|cpu| each.get_mut(cpu)) {
                    *place = Some(Ticks(ticks));
                }
            }
        }
    }
    (all, keyed::read(text, KEYS))
}

/// The load averages, and how many tasks there are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    averages: [Option<f64>; 3],
    tasks: Option<u64>,
}

/// The load averages, and how many tasks there are.
pub const LOAD: &[Column<Load>] = &[
    column("load1", "tasks", "mean of those ready, running or blocked, over 1 min", |now, _, _| now.averages[0]),
    column("load5", "tasks", "the same over 5 min", |now, _, _| now.averages[1]),
    column("load15", "tasks", "the same over 15 min", |now, _, _| now.averages[2]),
    column("tasks", "tasks", "tasks and threads that exist", |now, _, _| level(now.tasks)),
];

/// Reads /proc/loadavg: `0.20 0.18 0.12 1/80 11206`.
pub(super) fn read_load(text: &[u8]) -> Load {
    let mut words = words(text);
    let averages = [0; 3].map(|_| words.next().and_then(decimal));
    let counts = words.next().unwrap_or(b"");
    let tasks = counts.iter().position(|&byte| byte == b'/').and_then(|at| number(&counts[at + 1..]));
    Load { averages, tasks }
}

/// The highest processor of a list such as `0-3,5`.
pub(super) fn highest(list: &str) -> Option<usize> {
    list.trim().split(&[',', '-'][..]).filter_map(|part| part.parse().ok()).max()
}
