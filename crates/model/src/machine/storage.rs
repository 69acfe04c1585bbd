//! The file system, its cache and memory as data.

use super::Sourced;
use crate::units::{Duration, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The file system and its cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Files {
    /// Size of a block.
    pub block: Sourced<Size>,
    /// Blocks in the cache.
    pub cache_blocks: Sourced<u32>,
    /// Blocks that the file system believes to lie on one track, and reads together.
    pub track_blocks: Sourced<u32>,
    /// Mean length, in blocks, of the contiguous pieces in which files lie on the disk.
    pub extent_blocks: Sourced<u32>,
    /// Blocks that an inode names itself. Others are named by indirect blocks, which are looked up with each of them; a file
    /// system whose inodes name extents has none.
    pub direct_blocks: Sourced<u32>,
    /// Cylinders over which the files of one folder are spread.
    pub spread_cylinders: Sourced<u32>,
    /// Whether the next block is fetched after the reply to a sequential read.
    pub read_ahead: Sourced<bool>,
    /// Most bytes that a sequential reader is ahead of itself on a monolithic kernel; the window grows up to it.
    pub read_ahead_window: Sourced<Size>,
    /// When changed blocks go to the drive.
    pub write_back: WriteBack,
}

/// How much memory a program is given when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sizing {
    /// What its file says (Minix: `chmem`).
    #[default]
    Declared,
    /// The most memory that any earlier run of the same program has held or been refused; for the first, what its file says.
    HighWater,
}

/// Memory of programs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Memory {
    /// How much a program is given.
    pub sizing: Sizing,
    /// Memory of the machine that the kernel does not keep for itself. None: unlimited, and nothing is paged.
    pub size: Option<Sourced<Size>>,
    /// Size of a page.
    pub page: Sourced<Size>,
    /// Swap area at the end of the drive; programs that outgrow memory and swap area are ended.
    pub swap: Sourced<Size>,
    /// Pages kept free for interrupts: programs get none of them (Linux 1.0: its secondary list).
    pub reserve: Sourced<u32>,
    /// The block cache takes a page only while more pages than this are free, not counting the reserve.
    pub cache_leaves: Sourced<u32>,
}

impl Default for Memory {
    fn default() -> Self {
        Memory {
            sizing: Sizing::default(),
            size: None,
            page: Sourced::Bare(Size(4096)),
            swap: Sourced::Bare(Size(1 << 30)),
            reserve: Sourced::Bare(20),
            cache_leaves: Sourced::Bare(20),
        }
    }
}

/// When dirty blocks are written back, apart from `sync` and the eviction of a dirty block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct WriteBack {
    /// Time between two rounds of the daemon; it writes what is older than `expire`.
    pub period: Sourced<Duration>,
    /// Age at which a changed block is written; 0 is everything (`sync` every period).
    pub expire: Sourced<Duration>,
    /// Percent of the cache that may be changed before the daemon writes without waiting for age.
    pub background: Sourced<u32>,
    /// Percent of the cache that may be changed before writers wait.
    pub limit: Sourced<u32>,
}

impl Default for WriteBack {
    /// Linux from 2.6 on: vm.dirty_writeback_centisecs, dirty_expire_centisecs, dirty_background_ratio, dirty_ratio.
    fn default() -> Self {
        WriteBack {
            period: Sourced::Bare(Duration(5 * crate::SECOND)),
            expire: Sourced::Bare(Duration(30 * crate::SECOND)),
            background: Sourced::Bare(10),
            limit: Sourced::Bare(20),
        }
    }
}

impl Default for Files {
    fn default() -> Self {
        Files {
            block: Sourced::Bare(Size(1024)),
            cache_blocks: Sourced::Bare(1024),
            track_blocks: Sourced::Bare(15),
            extent_blocks: Sourced::Bare(16),
            direct_blocks: Sourced::Bare(7),
            spread_cylinders: Sourced::Bare(10),
            read_ahead: Sourced::Bare(true),
            read_ahead_window: Sourced::Bare(Size(128 * 1024)),
            write_back: WriteBack::default(),
        }
    }
}
