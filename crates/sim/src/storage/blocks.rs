//! Reading and writing files: which blocks a call needs, one after the other, and what is read ahead of it.
//!
//! ```text
//!   first window   p = requested blocks, rounded up to a power of two;  4p if p <= max/32,  2p if p <= max/4,  else max
//!   next window    4w if w < max/16,  2w if w <= max/2,  else max       w the window before
//! ```
//!
//! A read at the begin of the file, or at or behind the block before, is sequential: it opens a window. Reading the window's mark, the
//! first block that was not requested, has the next window fetched while this one is read. Other reads fetch only what they need.

use super::{Outcome, Owner, Storage, Transfer};
use schedlab_memory::{Name, Part, Room, State};
use schedlab_model::{Nanos, event::Kind, request::Direction, task::TaskId};
use schedlab_policies::{caches::Slot, reclaim::Walk};

/// Inodes in a block of 1 KiB; larger blocks hold more.
const INODE_SIZE: u64 = 32;
/// Bytes that name a block in an indirect block.
const NAME_SIZE: u64 = 2;

/// Flags of a [`Kind::CacheLookup`].
const FOUND: u8 = 1;
const WRITE: u8 = 2;

/// Blocks of one file that a call still has to go through.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blocks {
    pub set: u16,
    pub file: u32,
    /// What is wanted of it.
    pub what: Wanted,
    /// Whether the block in turn was looked for already.
    looked: bool,
    /// Whether it was read while the call waited for it: the call holds what it read, even if the cache has given it up since.
    in_hand: bool,
    /// How far its search for a page has come.
    walk: Option<Walk>,
}

/// What is wanted of a file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wanted {
    /// Its inode; dirty, if `change`.
    Inode { change: bool },
    /// No more.
    Nothing,
    /// Its data.
    Data { next: u32, end: u32, write: Option<Write>, named: bool },
    /// Only the indirect blocks that name its data.
    Names { next: u32, end: u32, write: Option<Write> },
}

/// The bytes that a write covers, and how long the file was before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Write {
    pub from: u64,
    pub to: u64,
    pub length: u64,
}

/// How far an open file is read ahead, in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Window {
    start: u32,
    size: u32,
    /// Reading this block has the next window fetched.
    mark: u32,
    /// The block read last, plus one.
    behind: u32,
}

impl Blocks {
    fn new(set: u16, file: u32, what: Wanted) -> Blocks {
        Blocks { set, file, what, looked: false, in_hand: false, walk: None }
    }

    pub fn inode(set: u16, file: u32, change: bool) -> Blocks {
        Blocks::new(set, file, Wanted::Inode { change })
    }

    pub fn data(set: u16, file: u32, [next, end]: [u32; 2], write: Option<Write>) -> Blocks {
        Blocks::new(set, file, Wanted::Data { next, end, write, named: false })
    }

    /// What names those blocks of the file, for a call that moves the data themselves past the cache.
    pub fn names(set: u16, file: u32, [next, end]: [u32; 2], write: Option<Write>) -> Blocks {
        Blocks::new(set, file, Wanted::Names { next, end, write })
    }
}

impl Storage {
    /// The length of a file whose set says `size`.
    pub fn length(&self, set: u16, file: u32, size: u64) -> u64 {
        self.lengths.get(&(set, file)).copied().unwrap_or(size)
    }

    /// A file is that long now.
    pub fn set_length(&mut self, set: u16, file: u32, length: u64) {
        self.lengths.insert((set, file), length);
    }

    /// The file's blocks are gone, the changed ones too.
    pub fn truncate(&mut self, set: u16, file: u32, size: u64) {
        let blocks = self.length(set, file, size).div_ceil(self.layout.block) as u32;
        for part in (0..blocks).map(|n| Part::Data(file, n)) {
            self.forget((set, part));
        }
        for n in 0..blocks.saturating_sub(self.layout.direct_blocks).div_ceil(self.blocks_per_indirect()) {
            self.forget((set, Part::Indirect(file, n)));
        }
        self.set_length(set, file, 0);
        self.tell_usage();
    }

    /// Requests made meanwhile reach the drive together, so that neighbours are merged.
    pub(super) fn plugged(&mut self, now: Nanos, ask: impl FnOnce(&mut Storage)) {
        let Some(disk) = &mut self.disk else { return };
        disk.queue.plug();
        ask(self);
        let disk = self.disk.as_mut().expect("looked at above");
        disk.queue.unplug(now, &mut disk.progress);
        self.digest(now);
    }

    fn forget(&mut self, name: Name) {
        if let Some(slot) = self.memory.cache.find(name) {
            self.memory.delete(slot);
        }
    }

    fn blocks_per_indirect(&self) -> u32 {
        (self.layout.block / NAME_SIZE) as u32
    }

    /// Goes through the blocks until one must be waited for.
    pub(super) fn go_through(&mut self, now: Nanos, owner: Owner, blocks: &mut Blocks) -> Outcome {
        if self.disk.is_none() {
            return Outcome::Done;
        }
        while let Some((name, change)) = self.in_turn(blocks) {
            match self.have(now, owner, name, change, blocks) {
                Ok(()) => blocks.step(self.layout.direct_blocks, self.blocks_per_indirect()),
                Err(outcome) => return outcome,
            }
        }
        Outcome::Done
    }

    /// The next block, and if it is to be changed, whether as a whole.
    fn in_turn(&self, blocks: &Blocks) -> Option<(Name, Option<bool>)> {
        let (set, file) = (blocks.set, blocks.file);
        match blocks.what {
            Wanted::Inode { change } => {
                let per_block = (self.layout.block / INODE_SIZE) as u32;
                Some(((set, Part::Inodes(file / per_block)), change.then_some(false)))
            }
            Wanted::Nothing => None,
            Wanted::Data { next, end, .. } | Wanted::Names { next, end, .. } if next >= end => None,
            Wanted::Data { next, named: false, write, .. } if next >= self.layout.direct_blocks => {
                Some(self.indirect(set, file, next, write))
            }
            Wanted::Names { next, end, write } => {
                let named = next.max(self.layout.direct_blocks);
                (named < end).then(|| self.indirect(set, file, named, write))
            }
            Wanted::Data { next, write, .. } => {
                Some(((set, Part::Data(file, next)), write.map(|write| self.covers(&write, next))))
            }
        }
    }

    /// The indirect block that names a block of a file, and if that is written, whether it is new itself: one that begins what it
    /// names is.
    fn indirect(&self, set: u16, file: u32, block: u32, write: Option<Write>) -> (Name, Option<bool>) {
        let n = (block - self.layout.direct_blocks) / self.blocks_per_indirect();
        let first = self.layout.direct_blocks + n * self.blocks_per_indirect();
        let change = write.map(|write| u64::from(first) * self.layout.block >= write.length);
        ((set, Part::Indirect(file, n)), change)
    }

    /// Whether nothing of the block's old contents is left or was there.
    fn covers(&self, write: &Write, block: u32) -> bool {
        let start = u64::from(block) * self.layout.block;
        let old = write.length.clamp(start, start + self.layout.block);
        start >= write.length || write.from <= start && write.to >= old
    }

    /// The block is present and used, and dirty if `change` is set; else the state of the work.
    fn have(
        &mut self,
        now: Nanos,
        owner: Owner,
        name: Name,
        change: Option<bool>,
        blocks: &mut Blocks,
    ) -> Result<(), Outcome> {
        loop {
            let found = self.memory.cache.find(name);
            if !std::mem::replace(&mut blocks.looked, true) {
                let there = found.filter(|&slot| self.memory.cache.block(slot).state != State::Reading);
                self.look_up(owner.task, name, there, change.is_some());
            }
            if let Some(slot) = found {
                if self.memory.cache.block(slot).state != State::Reading {
                    self.memory.cache.hit(slot);
                    if change.is_some() {
                        self.memory.cache.change(slot, now);
                    }
                    return Ok(());
                }
                blocks.in_hand = true;
                let token = self.of_block(slot).expect("a block that is being read has a transfer");
                return Err(self.wait_for(token, owner.task));
            }
            if blocks.in_hand && change.is_none() {
                return Ok(());
            }
            match self.memory.room(name) {
                Room::Free if change == Some(true) || blocks.in_hand => {
                    self.memory.admit(name, self.layout.sector(name), State::Changed, now);
                    self.tell_usage();
                    return Ok(());
                }
                Room::Free => self.read(now, owner, name, true),
                Room::After(slots) => return Err(self.clean(now, owner.task, &slots)),
                Room::NoPage => self.gain(now, owner, &mut blocks.walk)?,
            }
        }
    }

    fn look_up(&mut self, task: TaskId, name: Name, found: Option<Slot>, write: bool) {
        let flag = if found.is_some() { FOUND } else { 0 } | if write { WRITE } else { 0 };
        self.record(Kind::CacheLookup, flag, task, self.layout.sector(name), self.layout.sectors().into());
    }

    /// Has a block read for which room was taken.
    pub(super) fn read(&mut self, now: Nanos, owner: Owner, name: Name, sync: bool) {
        let slot = self.memory.admit(name, self.layout.sector(name), State::Reading, now);
        self.tell_usage();
        self.transfer(now, owner, Transfer::Block(slot), Direction::Read, sync);
    }

    /// Has victims written that are changed, and waits for the first of those on their way.
    fn clean(&mut self, now: Nanos, task: TaskId, slots: &[Slot]) -> Outcome {
        self.write(now, slots);
        match slots.iter().find_map(|&slot| self.of_block(slot)) {
            Some(token) => self.wait_for(token, task),
            None => self.wait_for_any(task),
        }
    }

    /// Reads ahead of a reader of `next` to `end`: the requested blocks and those of its window go to the drive together.
    pub fn read_ahead(
        &mut self,
        now: Nanos,
        owner: Owner,
        at: (u16, u32),
        range: [u32; 2],
        file_blocks: u32,
        window: &mut Window,
    ) {
        self.plugged(now, |storage| {
            let [next, end] = range;
            let missing = (next..end).find(|&n| storage.memory.cache.find((at.0, Part::Data(at.1, n))).is_none());
            let sequential = next == 0 || next == window.behind || next + 1 == window.behind;
            let asked = end - next;
            if let Some(missing) = missing {
                let size = if sequential { first_window(asked, storage.read_ahead) } else { 0 };
                *window = Window { start: next, size: size.max(asked), mark: end, behind: window.behind };
                storage.fetch(now, owner, at, missing, (next + window.size).min(file_blocks));
            } else if storage.read_ahead > 0 && (next..end).contains(&window.mark) && window.size > 0 {
                let start = window.start + window.size;
                let size = next_window(window.size, storage.read_ahead);
                *window = Window { start, size, mark: start, behind: window.behind };
                storage.fetch(now, owner, at, start, (start + size).min(file_blocks));
            }
            window.behind = end;
        });
    }

    /// Has those blocks read that are not there, as long as there is room without waiting.
    fn fetch(&mut self, now: Nanos, owner: Owner, (set, file): (u16, u32), from: u32, to: u32) {
        for n in from..to {
            let name = (set, Part::Data(file, n));
            if self.memory.cache.find(name).is_some() {
                continue;
            }
            if self.memory.room(name) != Room::Free {
                return;
            }
            // The reader looks up the requested blocks, and so counts them; blocks read ahead count as they come.
            self.read(now, owner, name, n == from);
        }
    }

    /// A block of a program file for a page fault.
    pub(super) fn read_for_fault(
        &mut self,
        now: Nanos,
        owner: Owner,
        name: Name,
        walk: &mut Option<Walk>,
    ) -> Result<(), Outcome> {
        match self.memory.room(name) {
            Room::Free => {
                self.look_up(owner.task, name, None, false);
                self.read(now, owner, name, true);
                Ok(())
            }
            Room::After(slots) => Err(self.clean(now, owner.task, &slots)),
            Room::NoPage => self.gain(now, owner, walk),
        }
    }
}

impl Blocks {
    /// On to the next block.
    fn step(&mut self, direct_blocks: u32, per_indirect: u32) {
        (self.looked, self.in_hand) = (false, false);
        match &mut self.what {
            Wanted::Inode { .. } | Wanted::Nothing => self.what = Wanted::Nothing,
            Wanted::Data { next, named, .. } if *next >= direct_blocks && !*named => *named = true,
            Wanted::Data { next, named, .. } => (*next, *named) = (*next + 1, false),
            Wanted::Names { next, .. } => {
                let named = (*next).max(direct_blocks) - direct_blocks;
                *next = direct_blocks + (named / per_indirect + 1) * per_indirect;
            }
        }
    }
}

fn first_window(asked: u32, most: u32) -> u32 {
    let p = asked.max(1).next_power_of_two();
    match p {
        _ if p <= most / 32 => 4 * p,
        _ if p <= most / 4 => 2 * p,
        _ => most,
    }
}

fn next_window(before: u32, most: u32) -> u32 {
    match before {
        _ if before < most / 16 => 4 * before,
        _ if before <= most / 2 => 2 * before,
        _ => most,
    }
}
