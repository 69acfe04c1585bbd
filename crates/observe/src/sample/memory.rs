//! /proc/meminfo and /proc/vmstat: what memory is used for, and what moves between it and the drives.

use super::column::{Column, column, grown, level, rate};
use schedlab_linux::proc::keyed::Key;

const TOTAL: usize = 0;
const FREE: usize = 1;
const AVAILABLE: usize = 2;
const BUFFERS: usize = 3;
const CACHED: usize = 4;
const SWAP_TOTAL: usize = 5;
const SWAP_FREE: usize = 6;
const DIRTY: usize = 7;
const WRITEBACK: usize = 8;

/// What memory is used for, KiB.
pub type Memory = [Option<u64>; 9];

pub(super) const MEMORY_KEYS: &[Key] = &[
    ("MemTotal", TOTAL),
    ("MemFree", FREE),
    ("MemAvailable", AVAILABLE),
    ("Buffers", BUFFERS),
    ("Cached", CACHED),
    // Slabs that can be given back count as cache, as in vmstat.
    ("SReclaimable", CACHED),
    ("SwapTotal", SWAP_TOTAL),
    ("SwapFree", SWAP_FREE),
    ("Dirty", DIRTY),
    ("Writeback", WRITEBACK),
];

/// total = used + buffers + cache + free.
fn used(now: &Memory) -> Option<f64> {
    let rest = now[FREE]?.checked_add(now[BUFFERS]?)?.checked_add(now[CACHED]?)?;
    level(grown(now[TOTAL], Some(rest)))
}

/// What memory is used for.
pub const MEMORY: &[Column<Memory>] = &[
    column("total", "KiB", "memory that the kernel has", |now, _, _| level(now[TOTAL])),
    column("used", "KiB", "in use: neither buff, cach nor free", |now, _, _| used(now)),
    column("buff", "KiB", "blocks of drives", |now, _, _| level(now[BUFFERS])),
    column("cach", "KiB", "files, and slabs that can be given back", |now, _, _| level(now[CACHED])),
    column("free", "KiB", "unused", |now, _, _| level(now[FREE])),
    column(
        "available",
        "KiB",
        "for new programs without swapping, as the kernel guesses; none before 3.14",
        |now, _, _| level(now[AVAILABLE]),
    ),
    column("dirty", "KiB", "to be written", |now, _, _| level(now[DIRTY])),
    column("writeback", "KiB", "being written", |now, _, _| level(now[WRITEBACK])),
    column("swap_total", "KiB", "room on swap devices", |now, _, _| level(now[SWAP_TOTAL])),
    column("swap_used", "KiB", "of it in use", |now, _, _| level(grown(now[SWAP_TOTAL], now[SWAP_FREE]))),
];

const READ: usize = 0;
const WRITTEN: usize = 1;
const SWAPPED_IN: usize = 2;
const SWAPPED_OUT: usize = 3;
const FAULTS: usize = 4;
const MAJOR: usize = 5;
const SCANNED: usize = 6;
const TAKEN: usize = 7;
const STALLS: usize = 8;
const REFAULTS: usize = 9;
const KILLS: usize = 10;

/// What moves, since boot.
pub type Paging = [Option<u64>; 11];

pub(super) const PAGING_KEYS: &[Key] = &[
    ("pgpgin", READ),
    ("pgpgout", WRITTEN),
    ("pswpin", SWAPPED_IN),
    ("pswpout", SWAPPED_OUT),
    ("pgfault", FAULTS),
    ("pgmajfault", MAJOR),
    // Before 4.8 by zone. `pgscan_direct_throttle` counts stalled tasks, not pages, and is left out.
    ("pgscan_kswapd*", SCANNED),
    ("pgscan_direct", SCANNED),
    ("pgscan_direct_dma*", SCANNED),
    ("pgscan_direct_normal", SCANNED),
    ("pgscan_direct_high", SCANNED),
    ("pgscan_direct_movable", SCANNED),
    ("pgsteal_kswapd*", TAKEN),
    ("pgsteal_direct*", TAKEN),
    ("pgsteal_dma*", TAKEN),
    ("pgsteal_normal", TAKEN),
    ("pgsteal_high", TAKEN),
    ("pgsteal_movable", TAKEN),
    ("allocstall*", STALLS),
    // Since 5.9 files and anonymous pages apart.
    ("workingset_refault*", REFAULTS),
    ("oom_kill", KILLS),
];

fn minor(now: &Paging, was: &Paging, seconds: f64) -> Option<f64> {
    let all = rate(now[FAULTS], was[FAULTS], seconds)?;
    Some((all - rate(now[MAJOR], was[MAJOR], seconds)?).max(0.0))
}

/// What moves.
pub const PAGING: &[Column<Paging>] = &[
    column("pgpgin", "KiB/s", "read from drives", |now, was, s| rate(now[READ], was[READ], s)),
    column("pgpgout", "KiB/s", "written to drives", |now, was, s| rate(now[WRITTEN], was[WRITTEN], s)),
    column("pswpin", "pages/s", "swapped in", |now, was, s| rate(now[SWAPPED_IN], was[SWAPPED_IN], s)),
    column("pswpout", "pages/s", "swapped out", |now, was, s| rate(now[SWAPPED_OUT], was[SWAPPED_OUT], s)),
    column("minflt", "1/s", "page faults without a drive", minor),
    column("majflt", "1/s", "page faults that had to wait for a drive", |now, was, s| rate(now[MAJOR], was[MAJOR], s)),
    column("pgscan", "pages/s", "looked at for eviction", |now, was, s| rate(now[SCANNED], was[SCANNED], s)),
    column("pgsteal", "pages/s", "evicted", |now, was, s| rate(now[TAKEN], was[TAKEN], s)),
    column("stall", "1/s", "direct reclaim: allocations that had to free pages first", |now, was, s| {
        rate(now[STALLS], was[STALLS], s)
    }),
    column("refault", "pages/s", "read again soon after their eviction", |now, was, s| {
        rate(now[REFAULTS], was[REFAULTS], s)
    }),
    column("oom_kill", "1/s", "tasks killed for want of memory", |now, was, s| rate(now[KILLS], was[KILLS], s)),
];
