//! Tunables of memory and of write-back. Ranges are those that `Documentation/admin-guide/sysctl/vm.rst` and mm/ give.

use crate::entry::{
    Encoding::{Bytes, Chosen, Named, Number, Time},
    Family::{Memory, WriteBack},
    Place::{Sysctl, Sysfs},
    Tunable,
};
use schedlab_model::{MILLISECOND, SECOND, info::Domain};

/// Linux counts these in hundredths of a second.
const CENTISECOND: u64 = 10 * MILLISECOND;
/// Linux: up to INT_MAX hundredths; we stop at a day.
const DAY: u64 = 86_400 * SECOND;
const PERCENT: Domain = Domain::Count { low: 0, high: 100 };
/// Linux: at least two pages (mm/page-writeback.c, dirty_bytes_min) and one for the background; we take two pages of 4 KiB for both.
const DIRTY: Domain = Domain::Size { low: 8192, high: 1 << 46 };

const fn count(
    name: &'static str,
    low: u64,
    high: u64,
    places: &'static [crate::entry::Place],
    meaning: &'static str,
) -> Tunable {
    Tunable::new(name, Memory, Domain::Count { low, high }, Number, places, meaning)
}

/// Pages and reclaim.
pub(super) const PAGES: &[Tunable] = &[
    Tunable {
        coupled: Some("kernels before 5.8 refuse more than 100; version 1 groups have a value of their own"),
        ..count("swappiness", 0, 200, &[Sysctl("vm/swappiness")], "weight of programs' own pages against files, of 200")
    },
    count(
        "vfs_cache_pressure",
        0,
        10_000,
        &[Sysctl("vm/vfs_cache_pressure")],
        "how readily names and inodes are given up, 100 as pages",
    ),
    Tunable::new(
        "overcommit",
        Memory,
        Domain::Choice { names: &["heuristic", "always", "never"] },
        Named(&[("heuristic", "0"), ("always", "1"), ("never", "2")]),
        &[Sysctl("vm/overcommit_memory")],
        "whether more memory is promised than there is",
    ),
    Tunable {
        zeroes: Some("overcommit_size"),
        coupled: Some("sets overcommit_size to 0; acts only under overcommit = \"never\""),
        ..count(
            "overcommit_ratio",
            0,
            1000,
            &[Sysctl("vm/overcommit_ratio")],
            "share of memory that may be promised, percent",
        )
    },
    Tunable {
        zeroes: Some("overcommit_ratio"),
        coupled: Some("sets overcommit_ratio to 0; acts only under overcommit = \"never\""),
        ..Tunable::new(
            "overcommit_size",
            Memory,
            Domain::Size { low: 1024, high: 1 << 46 },
            Bytes(1024),
            &[Sysctl("vm/overcommit_kbytes")],
            "memory that may be promised",
        )
    },
    count("page_cluster", 0, 16, &[Sysctl("vm/page-cluster")], "pages read from swap together, as a power of two"),
    Tunable::new(
        "lru_gen",
        Memory,
        Domain::Choice { names: &["off", "core", "walks", "all"] },
        Named(&[("off", "0x0000"), ("core", "0x0001"), ("walks", "0x0003"), ("all", "0x0007")]),
        &[Sysfs("/sys/kernel/mm/lru_gen/enabled")],
        "reclaim by generations (MGLRU) in place of active and inactive lists",
    ),
    count(
        "watermark_scale_factor",
        1,
        3000,
        &[Sysctl("vm/watermark_scale_factor")],
        "how early reclaim begins, in 1/10000 of memory",
    ),
    count(
        "watermark_boost_factor",
        0,
        100_000,
        &[Sysctl("vm/watermark_boost_factor")],
        "how much more is reclaimed after fragmentation, in 1/10000",
    ),
    Tunable::new(
        "min_free",
        Memory,
        Domain::Size { low: 128 << 10, high: 256 << 20 },
        Bytes(1024),
        &[Sysctl("vm/min_free_kbytes")],
        "memory kept free for allocations that cannot wait",
    ),
    count(
        "compaction_proactiveness",
        0,
        100,
        &[Sysctl("vm/compaction_proactiveness")],
        "how eagerly memory is compacted in the background",
    ),
    Tunable::new(
        "thp",
        Memory,
        Domain::Choice { names: &["always", "madvise", "never"] },
        Chosen,
        &[Sysfs("/sys/kernel/mm/transparent_hugepage/enabled")],
        "which mappings get huge pages automatically",
    ),
    Tunable::new(
        "thp_defrag",
        Memory,
        Domain::Choice { names: &["always", "defer", "defer+madvise", "madvise", "never"] },
        Chosen,
        &[Sysfs("/sys/kernel/mm/transparent_hugepage/defrag")],
        "which faults wait for reclaim and compaction to make a huge page",
    ),
    Tunable {
        coupled: Some("no effect on a machine with one memory node"),
        ..count(
            "numa_balancing",
            0,
            3,
            &[Sysctl("kernel/numa_balancing")],
            "0 off, 1 by faults, 2 between tiers of memory",
        )
    },
    count(
        "zone_reclaim",
        0,
        7,
        &[Sysctl("vm/zone_reclaim_mode")],
        "whether a node reclaims before it takes from another: 1 on, 2 writes, 4 swaps",
    ),
    count(
        "laptop_mode",
        0,
        3600,
        &[Sysctl("vm/laptop_mode")],
        "seconds after a read at which changed pages are written too; 0 off",
    ),
];

/// Write-back.
pub(super) const WRITE_BACK: &[Tunable] = &[
    Tunable {
        zeroes: Some("dirty_bytes"),
        coupled: Some("sets dirty_bytes to 0: the kernel goes by whichever was written last"),
        ..Tunable::new(
            "dirty_ratio",
            WriteBack,
            PERCENT,
            Number,
            &[Sysctl("vm/dirty_ratio")],
            "share of memory changed at which writers must write, percent",
        )
    },
    Tunable {
        zeroes: Some("dirty_ratio"),
        coupled: Some("sets dirty_ratio to 0: the kernel goes by whichever was written last"),
        ..Tunable::new(
            "dirty_bytes",
            WriteBack,
            DIRTY,
            Bytes(1),
            &[Sysctl("vm/dirty_bytes")],
            "bytes changed at which writers must write",
        )
    },
    Tunable {
        zeroes: Some("dirty_background_bytes"),
        coupled: Some("sets dirty_background_bytes to 0: the kernel goes by whichever was written last"),
        ..Tunable::new(
            "dirty_background_ratio",
            WriteBack,
            PERCENT,
            Number,
            &[Sysctl("vm/dirty_background_ratio")],
            "share of memory changed at which the kernel begins to write, percent",
        )
    },
    Tunable {
        zeroes: Some("dirty_background_ratio"),
        coupled: Some("sets dirty_background_ratio to 0: the kernel goes by whichever was written last"),
        ..Tunable::new(
            "dirty_background_bytes",
            WriteBack,
            DIRTY,
            Bytes(1),
            &[Sysctl("vm/dirty_background_bytes")],
            "bytes changed at which the kernel begins to write",
        )
    },
    Tunable::new(
        "dirty_expire",
        WriteBack,
        Domain::Duration { low: CENTISECOND, high: DAY },
        Time(CENTISECOND),
        &[Sysctl("vm/dirty_expire_centisecs")],
        "age at which a changed page is written",
    ),
    Tunable {
        words: &[("off", "0")],
        ..Tunable::new(
            "dirty_writeback",
            WriteBack,
            Domain::Duration { low: CENTISECOND, high: DAY },
            Time(CENTISECOND),
            &[Sysctl("vm/dirty_writeback_centisecs")],
            "how often old changed pages are looked for",
        )
    },
];
