//! Files on a drive and the block cache above it: which blocks a call needs, which of them must be fetched, and where
//! they lie.
//!
//! Layout: a file lies in contiguous pieces ("extents") of about `extent_blocks`, each somewhere within the cylinders of
//! its folder. Places are computed, not stored, so that a set of a million files costs nothing.
//! Departure: what is fetched counts as cached as soon as it is asked for. One file server reads for everybody in a
//! message-passing kernel, so there it makes no difference.

use crate::{drive::Block, process::OpenFile};
use lru::LruCache;
use schedlab_model::{machine, program::FileSet};
use std::num::NonZeroUsize;

/// Inodes in a block.
const INODES_PER_BLOCK: u64 = 32;
/// Blocks that an inode names directly; the rest are named by indirect blocks.
const DIRECT_BLOCKS: u64 = 7;
/// Blocks named by one indirect block.
const BLOCKS_PER_INDIRECT: u64 = 512;
/// A read looks at no more than this many blocks beyond those that lie on a track.
const CANDIDATES_BEYOND_TRACK: u64 = 6;
/// Buffers that a collected read leaves alone.
const BUFFERS_KEPT: usize = 2;

/// What a block holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    /// The n-th block of inodes of the set.
    Inodes(u64),
    /// The n-th indirect block of the file.
    Indirect(u32, u64),
    /// The n-th data block of the file.
    Data(u32, u64),
}

/// A block of a set, as the cache knows it.
type Key = (u16, Part);

/// What a call found and what the drive must fetch for it, in order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Cache lookups: found or not, with the block.
    pub lookups: Vec<(bool, Block)>,
    /// Requests to the drive before the call can be answered.
    pub fetches: Vec<Box<[Block]>>,
    /// Request to the drive after the answer.
    pub ahead: Option<Box<[Block]>>,
    /// Bytes to copy to the caller.
    pub bytes: u64,
    /// Blocks that were touched.
    pub blocks: u64,
}

/// The file system.
#[derive(Debug)]
pub(crate) struct Files {
    cache: LruCache<Key, ()>,
    block: u64,
    track_blocks: u64,
    extent_blocks: u64,
    read_ahead: bool,
    /// First block of the folders and number of blocks they spread over; no drive: everything is cached.
    region: Option<(u64, u64)>,
    seed: u64,
}

impl Files {
    /// `region`: first block of the folders and how many blocks they spread over, if there is a drive.
    pub fn new(machine: &machine::Files, region: Option<(u64, u64)>, seed: u64) -> Files {
        let blocks = NonZeroUsize::new(machine.cache_blocks.get() as usize).unwrap_or(NonZeroUsize::MIN);
        Files {
            cache: LruCache::new(blocks),
            block: machine.block.get().0,
            track_blocks: machine.track_blocks.get().into(),
            extent_blocks: machine.extent_blocks.get().into(),
            read_ahead: machine.read_ahead.get(),
            region,
            seed,
        }
    }

    /// Opens a file: its inode must be in the cache.
    pub fn open(&mut self, set: u16, index: u32) -> Plan {
        let mut plan = Plan::default();
        self.need((set, Part::Inodes(u64::from(index) / INODES_PER_BLOCK)), &mut plan);
        plan
    }

    /// Reads from the place reached in the file, and moves on.
    pub fn read(&mut self, file: &mut OpenFile, set: FileSet, bytes: u64) -> Plan {
        let mut plan = Plan::default();
        let end = (file.position + bytes).min(set.size.0);
        plan.bytes = end.saturating_sub(file.position);
        if plan.bytes == 0 {
            return plan;
        }
        let file_blocks = set.size.0.div_ceil(self.block);
        for block in file.position / self.block..end.div_ceil(self.block) {
            self.data_block(file, block, file_blocks, &mut plan);
            plan.blocks += 1;
        }
        file.position = end;
        if self.read_ahead && end.is_multiple_of(self.block) && end < set.size.0 {
            let next = (file.set, Part::Data(file.index, end / self.block));
            if self.region.is_some() && !self.cache.contains(&next) {
                plan.ahead = Some(self.collect(file, end / self.block, file_blocks));
            }
        }
        plan
    }

    /// One data block of a file, and before it the indirect block that names it.
    fn data_block(&mut self, file: &OpenFile, block: u64, file_blocks: u64, plan: &mut Plan) {
        if block >= DIRECT_BLOCKS {
            self.need((file.set, Part::Indirect(file.index, (block - DIRECT_BLOCKS) / BLOCKS_PER_INDIRECT)), plan);
        }
        let key = (file.set, Part::Data(file.index, block));
        let found = self.region.is_none() || self.cache.get(&key).is_some();
        plan.lookups.push((found, self.place(key) as Block));
        if !found {
            plan.fetches.push(self.collect(file, block, file_blocks));
        }
    }

    /// Looks for a block and has it fetched alone if it is not cached.
    fn need(&mut self, key: Key, plan: &mut Plan) {
        let found = self.region.is_none() || self.cache.get(&key).is_some();
        let place = self.place(key) as Block;
        plan.lookups.push((found, place));
        if !found {
            self.cache.put(key, ());
            plan.fetches.push(Box::new([place]));
        }
    }

    /// The block and further ones of the same file on the same guessed track, by block number; all count as cached.
    fn collect(&mut self, file: &OpenFile, block: u64, file_blocks: u64) -> Box<[Block]> {
        let key = |n| (file.set, Part::Data(file.index, n));
        let track = self.place(key(block)) / self.track_blocks;
        let most = self.cache.cap().get().saturating_sub(BUFFERS_KEPT).max(1);
        let candidates = block..file_blocks.min(block + self.track_blocks + CANDIDATES_BEYOND_TRACK);
        let mut places: Vec<Block> = Vec::new();
        for n in candidates {
            let place = self.place(key(n));
            if places.len() < most && place / self.track_blocks == track && !self.cache.contains(&key(n)) {
                self.cache.put(key(n), ());
                places.push(place as Block);
            }
        }
        places.sort_unstable();
        places.into_boxed_slice()
    }

    /// Where a block lies on the drive.
    fn place(&self, (set, part): Key) -> u64 {
        let Some((first, spread)) = self.region else { return 0 };
        let (piece, offset) = match part {
            Part::Inodes(n) => (mix(&[1, n]), 0),
            Part::Indirect(file, n) => (mix(&[2, file.into(), n]), 0),
            Part::Data(file, n) => {
                let shifted = n + mix(&[self.seed, set.into(), file.into()]) % self.extent_blocks;
                (mix(&[3, file.into(), shifted / self.extent_blocks]), shifted % self.extent_blocks)
            }
        };
        let room = spread.saturating_sub(self.extent_blocks).max(1);
        first + mix(&[self.seed, set.into(), piece]) % room + offset
    }
}

/// Mixes numbers into one that looks random (splitmix64's finaliser over a running sum).
fn mix(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |sum: u64, n| {
        let mut z = (sum ^ n).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    })
}
