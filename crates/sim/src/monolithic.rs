//! The monolithic personality: a system call runs in its caller's context, and a task that must wait for the drive sleeps there.

use crate::{
    interpret::Flow,
    kernel::{Kernel, Personality},
    process::{Action, Call, Mode, OpenFile, State, Touching, Use},
    storage::{Blocks, Direct, Outcome, Owner, PageWork, Storage, StorageEvent, Work, Write},
    timers::Expiry,
};
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Irq, Kind, Observer},
    page::SpaceId,
    program::{Place, Span, TouchOrder},
    request::Direction,
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;
use schedlab_workloads::{draws::draw, program::Files};

/// A task's use of memory is simulated in chunks of at most this length and this many pages: the pages of a chunk count as touched
/// at its begin.
const CHUNK: Nanos = 10 * MILLISECOND;
const MOST_PAGES: u32 = 4096;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    fn storage(&mut self) -> &mut Storage {
        match &mut self.personality {
            Personality::Monolithic(storage) => storage,
            Personality::MessagePassing(_) => unreachable!("servers have no storage"),
        }
    }

    /// What a file call still needs after its own processor time: blocks, copies, output.
    pub fn file_actions(&mut self, caller: TaskId, call: Call) -> Vec<Action> {
        match call {
            Call::Print(bytes) => vec![Action::Burst(per_kib(self.costs.print_per_kib, bytes), Mode::System)],
            Call::Open(set) => {
                let file = self.next_file(caller, set, Use::Open);
                self.processes[caller as usize].life.file = Some(file);
                vec![storage(Work::Blocks(Blocks::inode(set, file.index, false)))]
            }
            Call::Create(set) => {
                let file = self.next_file(caller, set, Use::Create);
                self.processes[caller as usize].life.file = Some(file);
                self.truncate(set, file.index)
            }
            Call::Delete(set) => {
                let file = self.next_file(caller, set, Use::Delete);
                self.truncate(set, file.index)
            }
            Call::Read(bytes) => self.read(caller, bytes),
            Call::Write(bytes) => self.write(caller, bytes),
            Call::Seek(place) => {
                self.seek(caller, place);
                Vec::new()
            }
            Call::Sync => vec![storage(Work::Sync)],
            Call::Close => {
                self.processes[caller as usize].life.file = None;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// A file is emptied, and its inode says so.
    fn truncate(&mut self, set: u16, index: u32) -> Vec<Action> {
        let size = self.programs.files[usize::from(set)].size;
        self.storage().truncate(set, index, size);
        vec![storage(Work::Blocks(Blocks::inode(set, index, true))), storage(Work::Throttle)]
    }

    fn read(&mut self, caller: TaskId, bytes: u64) -> Vec<Action> {
        let Some(file) = self.processes[caller as usize].life.file else { return Vec::new() };
        let OpenFile { set, index, position, mut window } = file;
        let (now, owner) = (self.now, self.owner(caller));
        let Files { size, direct, .. } = self.programs.files[usize::from(set)];
        let store = self.storage();
        let block = store.layout.block;
        let length = store.length(set, index, size);
        let end = (position + bytes).min(length);
        if end <= position {
            return Vec::new();
        }
        let range = [(position / block) as u32, end.div_ceil(block) as u32];
        if direct {
            self.processes[caller as usize].life.file = Some(OpenFile { position: end, ..file });
            return directly(set, index, range, [position, end], None);
        }
        store.read_ahead(now, owner, (set, index), range, length.div_ceil(block) as u32, &mut window);
        self.processes[caller as usize].life.file = Some(OpenFile { position: end, window, ..file });
        let blocks = storage(Work::Blocks(Blocks::data(set, index, range, None)));
        vec![blocks, self.copy(range[1] - range[0], end - position)]
    }

    fn write(&mut self, caller: TaskId, bytes: u64) -> Vec<Action> {
        let Some(file) = self.processes[caller as usize].life.file else { return Vec::new() };
        let OpenFile { set, index, position, .. } = file;
        let Files { size, direct, .. } = self.programs.files[usize::from(set)];
        let store = self.storage();
        let block = store.layout.block;
        let length = store.length(set, index, size);
        let end = position + bytes;
        let range = [(position / block) as u32, end.div_ceil(block) as u32];
        store.set_length(set, index, length.max(end));
        self.processes[caller as usize].life.file = Some(OpenFile { position: end, ..file });
        let covers = Write { from: position, to: end, length };
        if direct {
            return directly(set, index, range, [position, end], Some(covers));
        }
        let blocks = storage(Work::Blocks(Blocks::data(set, index, range, Some(covers))));
        vec![blocks, self.copy(range[1] - range[0], bytes), storage(Work::Throttle)]
    }

    /// Time for the blocks beyond the first, for which the call itself was charged, and for copying.
    fn copy(&self, blocks: u32, bytes: u64) -> Action {
        let more = self.costs.read.saturating_mul(u64::from(blocks.saturating_sub(1)));
        Action::Burst(more.saturating_add(per_kib(self.costs.copy_per_kib, bytes)), Mode::System)
    }

    fn seek(&mut self, caller: TaskId, place: Place) {
        let Some(mut file) = self.processes[caller as usize].life.file else { return };
        let size = self.programs.files[usize::from(file.set)].size;
        let store = self.storage();
        let block = store.layout.block;
        let length = store.length(file.set, file.index, size);
        file.position = match place {
            Place::Start => 0,
            Place::End => length,
            Place::Random => self.processes[caller as usize].rng.below(length.div_ceil(block).max(1)) * block,
        };
        self.processes[caller as usize].life.file = Some(file);
    }

    fn owner(&self, task: TaskId) -> Owner {
        let (class, level) = self.io_priority(task);
        Owner { task, class, level }
    }

    /// Continues work that may have to wait.
    pub fn on_storage(&mut self, cpu: usize, task: TaskId, mut work: Box<Work>) -> Flow {
        let (now, owner) = (self.now, self.owner(task));
        let outcome = self.storage().work(now, owner, &mut work);
        // The time of its own search is the task's, also when it must then wait: it is spent when it is back.
        let searched = std::mem::take(&mut self.storage().searched);
        match outcome {
            Outcome::Done => {
                self.after_storage();
                Flow::Burst(searched, Mode::System)
            }
            Outcome::Waits => {
                let first = [Action::Burst(searched, Mode::System), Action::Storage(work)];
                self.processes[task as usize].plan_all_first(first);
                self.block_rarely(cpu, State::Waiting(Wait::Disk));
                self.count_disk_waiters(self.disk_waiters, self.disk_waiters + 1);
                self.after_storage();
                Flow::Stop
            }
            Outcome::Hopeless => {
                self.after_storage();
                self.block_rarely(cpu, State::Dead);
                self.bury(task, true);
                Flow::Stop
            }
        }
    }

    /// Reports the storage's events, wakes the tasks that it wakes, and sets its timer.
    pub fn after_storage(&mut self) {
        let store = self.storage();
        let (mut events, mut woken) = (std::mem::take(&mut store.events), std::mem::take(&mut store.woken));
        let (begun, moved) = (std::mem::take(&mut store.begun), std::mem::take(&mut store.moved));
        let interrupts = std::mem::take(&mut store.interrupts);
        let searched = std::mem::take(&mut store.searched);
        for _ in 0..interrupts {
            self.interrupt(Irq::Disk);
        }
        let handled = self.costs.disk_command * u64::from(begun) + self.costs.sector_copy * moved;
        self.steal(0, handled + searched);
        for StorageEvent { kind, flag, task, a, b } in events.drain(..) {
            let cpu =
                if matches!(kind, Kind::CacheLookup | Kind::Fault) { self.view.tasks[task as usize].cpu } else { 0 };
            self.emit(kind, flag, cpu, task, a, b);
        }
        for task in woken.drain(..) {
            self.complete(task);
            self.count_disk_waiters(self.disk_waiters, self.disk_waiters - 1);
        }
        if interrupts > 0 {
            self.interrupted(0);
        }
        let store = self.storage();
        (store.events, store.woken) = (events, woken);
        self.set_drive_timer();
    }

    fn set_drive_timer(&mut self) {
        let store = self.storage();
        let Some(next) = store.next_event() else { return };
        if next < store.timer {
            store.timer = next;
            self.set_timer(next, Expiry::Drive);
        }
    }

    /// The drive interrupts, or was asked to be looked at.
    pub fn drive_interrupt(&mut self) {
        if let Personality::MessagePassing(_) = self.personality {
            return self.sector_ready();
        }
        let now = self.now;
        let store = self.storage();
        // An earlier timer that was overtaken says nothing.
        if store.timer == now {
            store.timer = Nanos::MAX;
        }
        store.advance(now);
        self.after_storage();
    }

    /// The write-back daemon's round.
    pub fn write_back(&mut self) {
        let now = self.now;
        let store = self.storage();
        store.write_back_round(now);
        let next = now + store.write_back_period();
        self.set_timer(next, Expiry::WriteBack);
        self.after_storage();
    }

    /// A program uses memory: a chunk of it, up to the next page that is not present.
    pub fn touch(&mut self, task: TaskId, mut touching: Touching) -> Flow {
        let touches = self.programs.touches[usize::from(touching.touches)];
        let Personality::Monolithic(store) = &mut self.personality else {
            return Flow::Burst(self.untouched(task, &touching), Mode::User);
        };
        let Some(pages) = store.pages_of(touches.from, touches.size) else {
            return Flow::Burst(self.untouched(task, &touching), Mode::User);
        };
        let space: SpaceId = task;
        let bytes = touches.image.map_or(touches.from + touches.size, |image| self.programs.images[usize::from(image)]);
        let first = store.segment(space, touches.image, bytes) + pages.start;
        let count = u64::from(pages.end - pages.start);
        let rng = &mut self.processes[task as usize].rng;
        let mut length: Nanos = 0;
        for _ in 0..MOST_PAGES {
            if touching.done == count * u64::from(touches.times) {
                return Flow::Burst(length, Mode::User);
            }
            let page = touching.pending.take().unwrap_or_else(|| match touches.order {
                TouchOrder::Sequential => first + (touching.done % count) as u32,
                TouchOrder::Random => first + rng.below(count) as u32,
            });
            if !store.memory.touch(space, page, touches.write) {
                touching.pending = Some(page);
                let fault = self.costs.trap + self.costs.fault;
                let next = [
                    Action::Burst(fault, Mode::System),
                    storage(Work::Page(PageWork::new(page))),
                    Action::Touch(touching),
                ];
                self.processes[task as usize].plan_all_first(next);
                return Flow::Burst(length, Mode::User);
            }
            touching.done += 1;
            length = length.saturating_add(draw(touches.compute, rng));
            if length >= CHUNK {
                break;
            }
        }
        self.processes[task as usize].plan_first(Action::Touch(touching));
        Flow::Burst(length, Mode::User)
    }

    /// The time of a use of memory where nothing is paged.
    fn untouched(&mut self, task: TaskId, touching: &Touching) -> Nanos {
        let touches = self.programs.touches[usize::from(touching.touches)];
        let pages = touches.size.div_ceil(4096) * u64::from(touches.times);
        let rng = &mut self.processes[task as usize].rng;
        match touches.compute {
            Span::Fixed(each) => each.0.saturating_mul(pages),
            span => (0..pages).fold(0, |sum: Nanos, _| sum.saturating_add(draw(span, rng))),
        }
    }

    /// A task has ended: its memory is free.
    pub fn release(&mut self, task: TaskId) {
        let now = self.now;
        if let Personality::Monolithic(store) = &mut self.personality {
            store.ended(now, task);
            self.after_storage();
        }
    }

    /// The state of the storage at the begin of the run.
    pub fn begin_storage(&mut self) {
        debug_assert!(self.view.waker.is_none());
        self.storage().tell_beginning();
        self.after_storage();
    }
}

fn storage(work: Work) -> Action {
    Action::Storage(Box::new(work))
}

/// A call past the cache: what names the blocks comes through the cache first, then the data move without it.
fn directly(set: u16, file: u32, blocks: [u32; 2], bytes: [u64; 2], write: Option<Write>) -> Vec<Action> {
    let direction = if write.is_some() { Direction::Write } else { Direction::Read };
    let names = Blocks::names(set, file, blocks, write);
    vec![storage(Work::Blocks(names)), storage(Work::Direct(Direct::new(set, file, bytes, direction)))]
}

/// A cost per KiB for a number of bytes.
pub(crate) fn per_kib(cost: Nanos, bytes: u64) -> Nanos {
    (u128::from(cost) * u128::from(bytes) / 1024) as Nanos
}
