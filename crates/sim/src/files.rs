//! What Minix's file server does about blocks: which a call needs, which of them must be fetched, and in what order.
//!
//! Departure: a block counts as cached as soon as it is requested. One file server reads for all tasks, so it makes no
//! difference.

use crate::{layout::Layout, process::OpenFile};
use schedlab_disk::Block;
use schedlab_memory::{BlockCache, Evicted, Name, Part, State};
use schedlab_model::{machine, request::Sector};
use schedlab_workloads::program::Files as FileSet;

/// Inodes in a block.
const INODES_PER_BLOCK: u32 = 32;
/// Blocks named by one indirect block.
const BLOCKS_PER_INDIRECT: u64 = 512;
/// A read looks at no more than this many blocks beyond those that lie on a track.
const CANDIDATES_BEYOND_TRACK: u64 = 6;
/// Buffers that a collected read leaves alone.
const BUFFERS_KEPT: usize = 2;

/// What a call found and what the drive must fetch for it, in order.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Cache lookups: found or not, with the first sector.
    pub lookups: Vec<(bool, Sector)>,
    /// Requests to the drive before the call can be answered.
    pub fetches: Vec<Box<[Block]>>,
    /// Request to the drive after the answer.
    pub ahead: Option<Box<[Block]>>,
    /// Bytes to copy to the caller.
    pub bytes: u64,
    /// Blocks that were touched.
    pub blocks: u64,
}

/// The file server's part of the file system.
#[derive(Debug)]
pub(crate) struct Files {
    cache: BlockCache,
    pub layout: Layout,
    track_blocks: u64,
    read_ahead: bool,
}

impl Files {
    pub fn new(machine: &machine::Files, layout: Layout, cache: BlockCache) -> Files {
        Files { cache, layout, track_blocks: machine.track_blocks.get().into(), read_ahead: machine.read_ahead.get() }
    }

    /// Opens a file: its inode must be in the cache.
    pub fn open(&mut self, set: u16, index: u32) -> Plan {
        let mut plan = Plan::default();
        self.need((set, Part::Inodes(index / INODES_PER_BLOCK)), &mut plan);
        plan
    }

    /// Reads from the place reached in the file, and moves on.
    pub fn read(&mut self, file: &mut OpenFile, set: FileSet, bytes: u64) -> Plan {
        let mut plan = Plan::default();
        let block_size = self.layout.block;
        let end = (file.position + bytes).min(set.size);
        plan.bytes = end.saturating_sub(file.position);
        if plan.bytes == 0 {
            return plan;
        }
        let file_blocks = set.size.div_ceil(block_size);
        for block in file.position / block_size..end.div_ceil(block_size) {
            self.data_block(file, block, file_blocks, &mut plan);
            plan.blocks += 1;
        }
        file.position = end;
        if self.read_ahead && end.is_multiple_of(block_size) && end < set.size {
            let next = (file.set, Part::Data(file.index, (end / block_size) as u32));
            if self.layout.has_drive() && self.cache.find(next).is_none() {
                plan.ahead = Some(self.collect(file, end / block_size, file_blocks));
            }
        }
        plan
    }

    /// One data block of a file, and before it the indirect block that names it.
    fn data_block(&mut self, file: &OpenFile, block: u64, file_blocks: u64, plan: &mut Plan) {
        let direct_blocks = u64::from(self.layout.direct_blocks);
        if block >= direct_blocks {
            let n = (block - direct_blocks) / BLOCKS_PER_INDIRECT;
            self.need((file.set, Part::Indirect(file.index, n as u32)), plan);
        }
        let name = (file.set, Part::Data(file.index, block as u32));
        let found = self.get(name);
        plan.lookups.push((found, self.layout.sector(name)));
        if !found {
            plan.fetches.push(self.collect(file, block, file_blocks));
        }
    }

    /// Looks for a block and has it fetched alone if it is not cached.
    fn need(&mut self, name: Name, plan: &mut Plan) {
        let found = self.get(name);
        plan.lookups.push((found, self.layout.sector(name)));
        if !found {
            self.put(name);
            plan.fetches.push(Box::new([self.layout.place(name) as Block]));
        }
    }

    /// Whether the block is there, or would be without a drive.
    fn get(&mut self, name: Name) -> bool {
        let slot = self.cache.find(name);
        if let Some(slot) = slot {
            self.cache.hit(slot);
        }
        slot.is_some() || !self.layout.has_drive()
    }

    /// The block comes in, and another goes if it must.
    fn put(&mut self, name: Name) {
        if self.cache.is_full()
            && let Evicted::Clean(slot) = self.cache.evict(Some(name))
        {
            self.cache.take_out(slot);
        }
        let slot = self.cache.admit(name, self.layout.sector(name), State::Reading, 0);
        self.cache.transferred(slot);
    }

    /// The block and further ones of the same file on the same guessed track, by block number; all count as cached.
    fn collect(&mut self, file: &OpenFile, block: u64, file_blocks: u64) -> Box<[Block]> {
        let name = |n: u64| (file.set, Part::Data(file.index, n as u32));
        let track = self.layout.place(name(block)) / self.track_blocks;
        let most = (self.cache.capacity() as usize).saturating_sub(BUFFERS_KEPT).max(1);
        let candidates = block..file_blocks.min(block + self.track_blocks + CANDIDATES_BEYOND_TRACK);
        let mut places: Vec<Block> = Vec::new();
        for n in candidates {
            let place = self.layout.place(name(n));
            if places.len() < most && place / self.track_blocks == track && self.cache.find(name(n)).is_none() {
                self.put(name(n));
                places.push(place as Block);
            }
        }
        places.sort_unstable();
        places.into_boxed_slice()
    }
}
