//! Storage of a monolithic kernel: memory, the block cache, the request queue and the drive, and their waiters.
//!
//! Nothing here depends on schedulers or observers, so it is compiled once. The kernel hands over a task's *work* and gets its
//! state: done, to be tried again later, failed. Tasks to wake and events to report are left in [`Storage::woken`] and
//! [`Storage::events`]. Work that had to wait is resumed from where it was: much may have happened meanwhile.
//!
//! `blocks.rs` is reading and writing files, `direct.rs` past the cache, `paging.rs` page faults and reclaim, `write_back.rs` when
//! dirty blocks are written.
//!
//! Long, because all kinds of work that a task can hand over are in one place.

mod blocks;
mod direct;
mod paging;
mod write_back;

pub(crate) use blocks::{Blocks, Window, Write};
pub(crate) use direct::Direct;
pub(crate) use paging::PageWork;

use crate::layout::Layout;
use rustc_hash::FxHashMap;
use schedlab_disk::{AnyDrive, Progress, RequestQueue, Submitted};
use schedlab_memory::Memory;
use schedlab_model::{
    Nanos,
    event::{Kind, NO_TASK},
    machine::{self, WriteBack},
    page::{PageId, SpaceId, SwapSlot},
    request::{Direction, IoClass, Request, SECTOR_SIZE, Sector},
    task::TaskId,
};
use schedlab_policies::{caches::Slot, elevators::Elevator, reclaim::Walk};
use std::collections::VecDeque;

/// What a task has the storage do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Work {
    /// Goes through blocks of files.
    Blocks(Blocks),
    /// Makes a page present.
    Page(PageWork),
    /// Reads or writes past the cache.
    Direct(Direct),
    /// Waits until everything changed is on the drive.
    Sync,
    /// Waits until few enough blocks are changed.
    Throttle,
}

/// The state of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is done.
    Done,
    /// It is to be tried again when the task is woken.
    Waits,
    /// Memory and swap area are full.
    Hopeless,
}

/// What is under way.
#[derive(Debug, Clone, PartialEq)]
enum Transfer {
    Block(Slot),
    PageOut { space: SpaceId, page: PageId, slot: SwapSlot, walk: Option<Walk> },
    SwapIn { space: SpaceId, page: PageId, slot: SwapSlot },
    Image { space: SpaceId, page: PageId, image: u16, index: u32 },
    Direct { task: TaskId, first: Sector, sectors: u32 },
}

/// A transfer and its waiters.
#[derive(Debug)]
struct Io {
    what: Transfer,
    waiting: Vec<TaskId>,
}

/// An event for observers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StorageEvent {
    pub kind: Kind,
    pub flag: u8,
    pub task: TaskId,
    pub a: u64,
    pub b: u64,
}

/// Flags of [`Kind::DiskQueued`], [`Kind::DiskStart`] and [`Kind::DiskDone`].
const WRITE: u8 = 1;
const SWAP: u8 = 2;

/// A task for which something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub task: TaskId,
    pub class: IoClass,
    pub level: u8,
}

impl Owner {
    /// The kernel itself.
    const KERNEL: Owner = Owner { task: NO_TASK, class: IoClass::BestEffort, level: 4 };
}

/// The drive and its queue.
#[derive(Debug)]
pub(crate) struct Disk {
    queue: RequestQueue<AnyDrive, dyn Elevator>,
    progress: Progress,
    /// Where the swap area begins.
    swap: Sector,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Storage {
    pub memory: Memory,
    pub layout: Layout,
    /// None: everything is in the cache.
    pub disk: Option<Disk>,
    /// Sectors of a page.
    page_sectors: u32,
    /// Time to examine a page that may be reclaimed.
    scan: Nanos,
    write_back: WriteBack,
    /// Most blocks that a reader is ahead of itself.
    read_ahead: u32,
    /// Sectors of the largest request.
    largest: Sector,
    /// For each task, requests of its direct call that have not ended.
    direct: Vec<u32>,
    /// Lengths of files that have been created or written; others are as long as their set says.
    lengths: FxHashMap<(u16, u32), u64>,
    ios: Vec<Option<Io>>,
    free: Vec<u32>,
    /// The transfer of each slot that has one.
    of_slot: Vec<u32>,
    /// Transfers for which the queue had no place, reads and writes.
    held: [VecDeque<(Request, u32)>; 2],
    /// Tasks that wait for any transfer to end.
    any: Vec<TaskId>,
    /// Tasks that wait for the swap area.
    swapping: u32,
    /// Until then the daemon that keeps pages free rests.
    daemon_rests: Nanos,
    /// The time of the earliest timer that the kernel has set for the drive.
    pub timer: Nanos,
    pub events: Vec<StorageEvent>,
    pub woken: Vec<TaskId>,
    /// Requests that the drive has begun, sectors that it has moved, and requests that it has ended, since the kernel last asked.
    pub begun: u32,
    pub moved: u64,
    pub interrupts: u32,
    /// Time that looking for pages has cost since then.
    pub searched: Nanos,
}

const NONE: u32 = u32::MAX;

impl Disk {
    pub fn new(queue: RequestQueue<AnyDrive, dyn Elevator>, swap: Sector) -> Disk {
        Disk { queue, progress: Progress::default(), swap }
    }
}

impl Storage {
    pub fn new(machine: &machine::Machine, memory: Memory, layout: Layout, disk: Option<Disk>) -> Storage {
        let files = &machine.files;
        let window = if files.read_ahead.get() { files.read_ahead_window.get().0 / layout.block } else { 0 };
        Storage {
            memory,
            layout,
            disk,
            page_sectors: (machine.memory.page.get().0 / SECTOR_SIZE) as u32,
            scan: machine.calls.scan.get().0,
            write_back: files.write_back.clone(),
            read_ahead: window as u32,
            largest: (machine.queue.most.get().0 / SECTOR_SIZE).max(1),
            direct: Vec::new(),
            lengths: FxHashMap::default(),
            ios: Vec::new(),
            free: Vec::new(),
            of_slot: Vec::new(),
            held: Default::default(),
            any: Vec::new(),
            swapping: 0,
            daemon_rests: 0,
            timer: Nanos::MAX,
            events: Vec::new(),
            woken: Vec::new(),
            begun: 0,
            moved: 0,
            interrupts: 0,
            searched: 0,
        }
    }

    /// Continues a task's work.
    pub fn work(&mut self, now: Nanos, owner: Owner, work: &mut Work) -> Outcome {
        let outcome = match work {
            Work::Blocks(blocks) => self.go_through(now, owner, blocks),
            Work::Page(page) => self.make_present(now, owner, page),
            Work::Direct(call) => self.move_directly(now, owner, call),
            Work::Sync => self.sync(now, owner.task),
            Work::Throttle => self.throttle(now, owner.task),
        };
        // Blocks take pages as programs do: the reclaim daemon is notified.
        self.daemon(now);
        self.start(now);
        outcome
    }

    /// When the drive will have something to say.
    pub fn next_event(&self) -> Option<Nanos> {
        self.disk.as_ref()?.queue.next_event()
    }

    /// Requests queued or in service: whose, and since when.
    pub fn unfinished(&self) -> impl Iterator<Item = (TaskId, Nanos)> {
        let requests = self.disk.iter().flat_map(|disk| disk.queue.unfinished());
        requests.map(|request| (request.owner, request.arrived))
    }

    /// What the drive has done up to `now`.
    pub fn advance(&mut self, now: Nanos) {
        let Some(disk) = &mut self.disk else { return };
        disk.queue.advance(now, &mut disk.progress);
        self.digest(now);
        self.submit_held(now);
        self.background(now);
        self.start(now);
    }

    /// A task has ended.
    pub fn ended(&mut self, now: Nanos, task: TaskId) {
        self.memory.end(task);
        if let Some(disk) = &mut self.disk {
            disk.queue.exited(now, task);
        }
    }

    /// The drive begins what the elevator chooses.
    fn start(&mut self, now: Nanos) {
        let Some(disk) = &mut self.disk else { return };
        disk.queue.set_swapping(self.swapping);
        disk.queue.start(now, &mut disk.progress);
        self.digest(now);
    }

    /// Takes note of what the queue reports.
    fn digest(&mut self, now: Nanos) {
        let Some(disk) = &mut self.disk else { return };
        let mut progress = std::mem::take(&mut disk.progress);
        for done in progress.done.drain(..) {
            self.moved += u64::from(done.request.sectors);
            if done.leads {
                self.interrupts += 1;
                let Request { first, owner, .. } = done.request;
                self.record(Kind::DiskDone, flags(&done.request), owner, first, done.finished - done.started);
            }
            self.finish(now, done.token);
        }
        for started in progress.started.drain(..) {
            self.begun += 1;
            let Request { first, sectors, owner, .. } = started.request;
            self.record(Kind::DiskStart, flags(&started.request), owner, first, sectors.into());
        }
        progress.clear();
        self.disk.as_mut().expect("looked at above").progress = progress;
    }

    fn record(&mut self, kind: Kind, flag: u8, task: TaskId, a: u64, b: u64) {
        self.events.push(StorageEvent { kind, flag, task, a, b });
    }

    /// Reports the current use of memory.
    fn tell_usage(&mut self) {
        if self.memory.limited() {
            let usage = self.memory.usage();
            let cached = u64::from(usage.cached) << 32 | u64::from(usage.swapped);
            self.record(Kind::MemoryUse, 0, NO_TASK, usage.free.into(), cached);
        }
    }

    /// Begins a transfer; gives its number.
    fn transfer(&mut self, now: Nanos, owner: Owner, what: Transfer, direction: Direction, sync: bool) -> u32 {
        let (first, sectors, mergeable) = match what {
            Transfer::Block(slot) => (self.memory.cache.block(slot).place, self.layout.sectors(), true),
            Transfer::PageOut { slot, .. } | Transfer::SwapIn { slot, .. } => {
                (self.swap_place(slot), self.page_sectors, false)
            }
            Transfer::Image { image, index, .. } => (self.image_place(image, index), self.page_sectors, true),
            Transfer::Direct { first, sectors, .. } => (first, sectors, true),
        };
        let Owner { task, class, level } = owner;
        let request = Request { first, sectors, direction, sync, mergeable, owner: task, class, level, arrived: now };
        let token = self.free.pop().unwrap_or_else(|| {
            self.ios.push(None);
            self.ios.len() as u32 - 1
        });
        if let Transfer::Block(slot) = what {
            if self.of_slot.len() <= slot as usize {
                self.of_slot.resize(slot as usize + 1, NONE);
            }
            self.of_slot[slot as usize] = token;
        }
        self.ios[token as usize] = Some(Io { what, waiting: Vec::new() });
        self.submit(now, request, token);
        token
    }

    fn submit(&mut self, now: Nanos, request: Request, token: u32) {
        let queue = &mut self.disk.as_mut().expect("transfers need a drive").queue;
        // First come, first served among those of one direction.
        let line = &mut self.held[request.direction as usize];
        if !line.is_empty() {
            return line.push_back((request, token));
        }
        match queue.submit(now, request, token) {
            Submitted::Full => line.push_back((request, token)),
            Submitted::Queued(_) => {
                self.record(Kind::DiskQueued, flags(&request), request.owner, request.first, request.sectors.into());
            }
            Submitted::Merged(_) => {}
        }
    }

    fn submit_held(&mut self, now: Nanos) {
        for direction in 0..2 {
            for _ in 0..self.held[direction].len() {
                let Some((request, token)) = self.held[direction].pop_front() else { break };
                let waiting = std::mem::take(&mut self.held[direction]);
                self.submit(now, request, token);
                let full = !self.held[direction].is_empty();
                self.held[direction].extend(waiting);
                if full {
                    break;
                }
            }
        }
    }

    /// A transfer has ended.
    fn finish(&mut self, now: Nanos, token: u32) {
        let Some(io) = self.ios[token as usize].take() else { return };
        self.free.push(token);
        if matches!(io.what, Transfer::PageOut { .. } | Transfer::SwapIn { .. }) {
            self.swapping -= io.waiting.len() as u32;
        }
        match io.what {
            Transfer::Block(slot) => {
                self.of_slot[slot as usize] = NONE;
                self.memory.transferred(slot);
            }
            Transfer::PageOut { space, page, walk, .. } => self.memory.left(space, page, walk.as_ref()),
            Transfer::SwapIn { space, page, slot } => self.memory.swapped_in(space, page, slot),
            Transfer::Image { space, page, image, index } => self.memory.image_read(space, page, image, index),
            Transfer::Direct { task, .. } => self.moved_directly(task),
        }
        debug_assert_eq!(self.memory.check(), Ok(()), "at {now}");
        self.tell_usage();
        self.woken.extend(io.waiting);
        self.woken.append(&mut self.any);
    }

    /// The task waits for that transfer.
    fn wait_for(&mut self, token: u32, task: TaskId) -> Outcome {
        let io = self.ios[token as usize].as_mut().expect("a transfer under way");
        io.waiting.push(task);
        self.swapping += u32::from(matches!(io.what, Transfer::PageOut { .. } | Transfer::SwapIn { .. }));
        Outcome::Waits
    }

    /// The task waits for any transfer to end.
    fn wait_for_any(&mut self, task: TaskId) -> Outcome {
        if self.ios.iter().all(Option::is_none) {
            return Outcome::Hopeless;
        }
        self.any.push(task);
        Outcome::Waits
    }

    /// The transfer of a block.
    fn of_block(&self, slot: Slot) -> Option<u32> {
        self.of_slot.get(slot as usize).copied().filter(|&token| token != NONE)
    }

    /// The transfer of a task's page.
    fn of_page(&self, space: SpaceId, page: PageId) -> Option<u32> {
        let is_it = |io: &Option<Io>| match io.as_ref().map(|io| &io.what) {
            Some(
                &Transfer::PageOut { space: whose, page: which, .. }
                | &Transfer::SwapIn { space: whose, page: which, .. }
                | &Transfer::Image { space: whose, page: which, .. },
            ) => (whose, which) == (space, page),
            _ => false,
        };
        self.ios.iter().position(is_it).map(|token| token as u32)
    }
}

fn flags(request: &Request) -> u8 {
    let write = if request.direction == Direction::Write { WRITE } else { 0 };
    // Nothing but pages of the swap area refuses to be merged.
    write | if request.mergeable { 0 } else { SWAP }
}
