//! /proc/diskstats: what each drive does, in iostat's columns.

use super::column::{Column, column, grown, level, percent, rate};
use schedlab_linux::{
    Root,
    proc::text::{Name, lines, number, words},
};

/// Drives that are reported of at most.
pub(super) const MOST: usize = 64;
/// Names of which it is remembered whether they are drives or parts of one.
const REMEMBERED: usize = 256;
/// Bytes of the unit in which drives count, whatever their own blocks are.
const SECTOR: f64 = 512.0;

/// Columns of the file. 2.6 has 11 of them, 4.18 four more for discards, 5.5 two more for flushes.
const COLUMNS: usize = 17;
const READS: usize = 0;
const READS_MERGED: usize = 1;
const READ_SECTORS: usize = 2;
const READ_MS: usize = 3;
const WRITES: usize = 4;
const WRITES_MERGED: usize = 5;
const WRITTEN_SECTORS: usize = 6;
const WRITE_MS: usize = 7;
const IN_FLIGHT: usize = 8;
const BUSY_MS: usize = 9;
const WAITED_MS: usize = 10;
const DISCARDS: usize = 11;
const DISCARD_MS: usize = 14;
const FLUSHES: usize = 15;
const FLUSH_MS: usize = 16;

/// A drive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disk {
    /// Its name, such as "sda".
    pub name: Name,
    counts: [Option<u64>; COLUMNS],
}

/// Mean time of the requests that were completed, ms; none if none were.
fn wait(now: &Disk, was: &Disk, counts: &[usize], times: &[usize]) -> Option<f64> {
    let sum = |columns: &[usize]| -> Option<u64> {
        columns.iter().try_fold(0u64, |sum, &column| match (now.counts[column], was.counts[column]) {
            (None, None) => Some(sum),
            (now, was) => Some(sum.saturating_add(grown(now, was)?)),
        })
    };
    let (requests, ms) = (sum(counts)?, sum(times)?);
    (requests > 0).then(|| ms as f64 / requests as f64)
}

fn per_second(now: &Disk, was: &Disk, column: usize, seconds: f64) -> Option<f64> {
    rate(now.counts[column], was.counts[column], seconds)
}

fn kilobytes(now: &Disk, was: &Disk, column: usize, seconds: f64) -> Option<f64> {
    per_second(now, was, column, seconds).map(|sectors| sectors * SECTOR / 1024.0)
}

/// What a drive did.
pub const DISK: &[Column<Disk>] = &[
    column("r/s", "1/s", "reads completed", |now, was, s| per_second(now, was, READS, s)),
    column("w/s", "1/s", "writes completed", |now, was, s| per_second(now, was, WRITES, s)),
    column("rkB/s", "KiB/s", "read", |now, was, s| kilobytes(now, was, READ_SECTORS, s)),
    column("wkB/s", "KiB/s", "written", |now, was, s| kilobytes(now, was, WRITTEN_SECTORS, s)),
    column("rrqm/s", "1/s", "reads merged into others", |now, was, s| per_second(now, was, READS_MERGED, s)),
    column("wrqm/s", "1/s", "writes merged into others", |now, was, s| per_second(now, was, WRITES_MERGED, s)),
    column("d/s", "1/s", "discards completed; none before 4.18", |now, was, s| per_second(now, was, DISCARDS, s)),
    column("f/s", "1/s", "flushes completed; none before 5.5", |now, was, s| per_second(now, was, FLUSHES, s)),
    column("r_await", "ms", "mean time of a read, queue included; none without one", |now, was, _| {
        wait(now, was, &[READS], &[READ_MS])
    }),
    column("w_await", "ms", "mean time of a write, queue included; none without one", |now, was, _| {
        wait(now, was, &[WRITES], &[WRITE_MS])
    }),
    column("await", "ms", "mean time of a request of any kind, queue included; none without one", |now, was, _| {
        wait(now, was, &[READS, WRITES, DISCARDS, FLUSHES], &[READ_MS, WRITE_MS, DISCARD_MS, FLUSH_MS])
    }),
    column("aqu-sz", "requests", "mean number waiting or being served", |now, was, s| {
        per_second(now, was, WAITED_MS, s).map(|ms| ms / 1000.0)
    }),
    column("inflight", "requests", "waiting or being served at this moment", |now, _, _| level(now.counts[IN_FLIGHT])),
    column("busy", "%", "of the time: at least one request was there (iostat's %util)", |now, was, s| {
        per_second(now, was, BUSY_MS, s).and_then(|ms| percent(ms, 1000.0))
    }),
];

/// Which names are drives, and which parts of one: a drive has a folder of its own in /sys/block.
#[derive(Debug)]
pub(super) struct Drives {
    folder: std::path::PathBuf,
    reported: bool,
    known: Vec<(Name, bool)>,
}

impl Drives {
    pub(super) fn new(root: &Root) -> Drives {
        let folder = root.path("/sys/block");
        Drives { reported: folder.is_dir(), folder, known: Vec::with_capacity(REMEMBERED) }
    }

    fn is_one(&mut self, name: Name) -> bool {
        if !self.reported {
            return true;
        }
        if let Some(&(_, whole)) = self.known.iter().find(|(known, _)| *known == name) {
            return whole;
        }
        let text = std::str::from_utf8(name.bytes()).unwrap_or("");
        let whole = !text.is_empty() && !text.contains('/') && text != ".." && self.folder.join(text).exists();
        if self.known.len() < REMEMBERED {
            self.known.push((name, whole));
        }
        whole
    }

    /// Reads the file: all drives that have ever done anything.
    pub(super) fn read(&mut self, text: &[u8], into: &mut Vec<Disk>) {
        into.clear();
        for line in lines(text) {
            if let Some(disk) = parse(line).filter(|disk| disk.counts.iter().any(|count| count.is_some_and(|n| n > 0)))
                && into.len() < MOST
                && self.is_one(disk.name)
            {
                into.push(disk);
            }
        }
    }
}

/// ` 254 0 vda 1186132 49960 ...`.
fn parse(line: &[u8]) -> Option<Disk> {
    let mut words = words(line).skip(2);
    let mut disk = Disk { name: Name::new(words.next()?), counts: [None; COLUMNS] };
    for (count, word) in disk.counts.iter_mut().zip(words) {
        *count = number(word);
    }
    // Before 2.6.25 a part of a drive has four columns of other meaning.
    disk.counts[IN_FLIGHT].is_some().then_some(disk)
}
