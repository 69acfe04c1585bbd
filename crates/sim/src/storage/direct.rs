//! Direct reads and writes: what they ask of the drive, past the block cache.
//!
//! ```text
//!   indirect blocks, one after the other, through the cache          (Blocks::names, before this work)
//!   changed blocks of the range are written, and waited for
//!   a write drops what the cache has of the range
//!   all sectors of the range go to the drive together; the task waits for the last
//!   a write drops what the cache has got of the range meanwhile
//! ```
//!
//! As Linux has it (`generic_file_read_iter`, `generic_file_direct_write`): a read does not change the cache, not even what it
//! has of the file itself. Data are not copied by the processor.

use super::{Outcome, Owner, Storage, Transfer};
use schedlab_memory::{Part, State};
use schedlab_model::{
    Nanos,
    request::{Direction, SECTOR_SIZE, Sector},
    task::TaskId,
};
use schedlab_policies::caches::Slot;

/// Bytes of a file that a call reads or writes past the cache.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Direct {
    set: u16,
    file: u32,
    /// The first byte, and the one behind the last.
    bytes: [u64; 2],
    direction: Direction,
    stage: Stage,
}

/// How far a call has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Nothing has been done.
    New,
    /// What is changed in the cache is on its way.
    Flushing,
    /// The drive is at work on the call's own sectors.
    Moving,
}

impl Direct {
    pub fn new(set: u16, file: u32, bytes: [u64; 2], direction: Direction) -> Direct {
        Direct { set, file, bytes, direction, stage: Stage::New }
    }

    /// The blocks that it touches.
    fn blocks(&self, block: u64) -> std::ops::Range<u32> {
        (self.bytes[0] / block) as u32..self.bytes[1].div_ceil(block) as u32
    }
}

impl Storage {
    /// Continues a direct call.
    pub(super) fn move_directly(&mut self, now: Nanos, owner: Owner, call: &mut Direct) -> Outcome {
        if self.disk.is_none() {
            return Outcome::Done;
        }
        if call.stage == Stage::New {
            call.stage = Stage::Flushing;
            let slots = self.cached(call);
            self.write_for(now, owner, &slots, true);
        }
        if call.stage == Stage::Flushing {
            if let Some(token) = self.cached(call).iter().find_map(|&slot| self.being_written(slot)) {
                return self.wait_for(token, owner.task);
            }
            self.drop_written(call);
            call.stage = Stage::Moving;
            self.submit_directly(now, owner, call);
        }
        if *self.moving(owner.task) > 0 {
            return Outcome::Waits;
        }
        self.drop_written(call);
        Outcome::Done
    }

    /// What the cache has of the call's range.
    fn cached(&self, call: &Direct) -> Vec<Slot> {
        let blocks = call.blocks(self.layout.block);
        blocks.filter_map(|n| self.memory.cache.find((call.set, Part::Data(call.file, n)))).collect()
    }

    /// The transfer that takes a block to the drive, if there is one.
    fn being_written(&self, slot: Slot) -> Option<u32> {
        let state = self.memory.cache.block(slot).state;
        self.of_block(slot).filter(|_| matches!(state, State::Writing | State::ChangedAgain))
    }

    /// A write makes what the cache has of its range stale.
    fn drop_written(&mut self, call: &Direct) {
        if call.direction == Direction::Write {
            self.cached(call).into_iter().for_each(|slot| self.memory.delete(slot));
            self.tell_usage();
        }
    }

    /// Requests of the task's direct call that have not ended.
    fn moving(&mut self, task: TaskId) -> &mut u32 {
        if self.direct.len() <= task as usize {
            self.direct.resize(task as usize + 1, 0);
        }
        &mut self.direct[task as usize]
    }

    /// A request of a task's direct call has ended: the last one wakes it.
    pub(super) fn moved_directly(&mut self, task: TaskId) {
        let left = self.moving(task);
        *left -= 1;
        if *left == 0 {
            self.woken.push(task);
        }
    }

    /// Has all sectors of the range moved: a request for each piece that lies together, as large as a request may be.
    fn submit_directly(&mut self, now: Nanos, owner: Owner, call: &Direct) {
        let pieces = self.pieces(call);
        *self.moving(owner.task) = pieces.len() as u32;
        self.plugged(now, |storage| {
            for [first, sectors] in pieces {
                let what = Transfer::Direct { task: owner.task, first, sectors: sectors as u32 };
                storage.transfer(now, owner, what, call.direction, true);
            }
        });
    }

    /// First sector and number of sectors of each piece.
    fn pieces(&self, call: &Direct) -> Vec<[Sector; 2]> {
        let per_block = Sector::from(self.layout.sectors());
        let [from, to] = [call.bytes[0] / SECTOR_SIZE, call.bytes[1].div_ceil(SECTOR_SIZE)];
        let mut pieces: Vec<[Sector; 2]> = Vec::new();
        for n in call.blocks(self.layout.block) {
            let start = Sector::from(n) * per_block;
            let (low, high) = (from.max(start), to.min(start + per_block));
            let first = self.layout.sector((call.set, Part::Data(call.file, n))) + low - start;
            match pieces.last_mut() {
                Some([begin, length]) if *begin + *length == first && *length + high - low <= self.largest => {
                    *length += high - low;
                }
                _ => pieces.push([first, high - low]),
            }
        }
        pieces
    }
}
