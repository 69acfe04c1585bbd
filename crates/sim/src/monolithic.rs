//! The monolithic personality: a system call runs in its caller's context, and a task that needs the drive sleeps there.

use crate::{
    drive::Block,
    files::Plan,
    interpret::Flow,
    process::{Action, Call, Mode, State},
    run::{Kernel, Personality},
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, NO_TASK, Observer},
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;
use std::collections::VecDeque;

/// Requests to the drive, first come, first served. Read-ahead has nobody who waits.
#[derive(Debug, Default)]
pub(crate) struct DiskQueue {
    requests: VecDeque<(Option<TaskId>, Box<[Block]>)>,
    /// When the one in service began.
    began: Option<Nanos>,
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// What a file call still needs after its own processor time: transfers, copies, output.
    pub fn file_actions(&mut self, caller: TaskId, call: Call) -> Vec<Action> {
        if let Call::Print(bytes) = call {
            return vec![Action::Burst(per_kib(self.costs.print_per_kib, bytes), Mode::System)];
        }
        let plan = self.plan(caller, call);
        // The call itself was charged for one block.
        let more_blocks = self.costs.read.saturating_mul(plan.blocks.saturating_sub(1));
        let copy = per_kib(self.costs.copy_per_kib, plan.bytes);
        let copy = Action::Burst(more_blocks.saturating_add(copy), Mode::System);
        let ahead = plan.ahead.map(Action::ReadAhead);
        plan.fetches.into_iter().map(Action::Transfer).chain(ahead).chain([copy]).collect()
    }

    /// What a file call needs from cache and drive. The lookups are reported here.
    pub fn plan(&mut self, caller: TaskId, call: Call) -> Plan {
        let plan = match call {
            Call::Open(set) => {
                let file = self.next_file(caller, set);
                self.processes[caller as usize].life.file = Some(file);
                self.files.open(set, file.index)
            }
            Call::Read(bytes) => match &mut self.processes[caller as usize].life.file {
                Some(file) => {
                    let set = self.programs.files[file.set as usize];
                    self.files.read(file, set, bytes)
                }
                None => Plan::default(),
            },
            Call::Close => {
                self.processes[caller as usize].life.file = None;
                Plan::default()
            }
            _ => Plan::default(),
        };
        for &(found, block) in &plan.lookups {
            self.emit(Kind::CacheLookup, u8::from(found), self.tasks[caller as usize].cpu, caller, block.into(), 0);
        }
        plan
    }

    /// Sleeps until the drive has transferred the blocks.
    pub fn transfer(&mut self, cpu: usize, task: TaskId, blocks: Box<[Block]>) -> Flow {
        self.block(cpu, State::Waiting(Wait::Disk));
        self.count_disk_waiters(self.disk_waiters, self.disk_waiters + 1);
        self.request(Some(task), blocks);
        Flow::Stop
    }

    /// Asks for blocks for which nobody waits.
    pub fn read_ahead(&mut self, blocks: Box<[Block]>) -> Flow {
        self.request(None, blocks);
        Flow::Continue
    }

    fn request(&mut self, task: Option<TaskId>, blocks: Box<[Block]>) {
        let Personality::Monolithic(queue) = &mut self.personality else { return };
        queue.requests.push_back((task, blocks));
        if queue.began.is_none() {
            self.start_request();
        }
    }

    /// The drive begins with the first request of the queue.
    fn start_request(&mut self) {
        let Personality::Monolithic(queue) = &mut self.personality else { return };
        let (Some((task, blocks)), Some(drive)) = (queue.requests.front(), &mut self.drive) else { return };
        queue.began = Some(self.now);
        let done = blocks.iter().fold(self.now, |at, &block| drive.access(at, block)[1]);
        let (task, first, count) = (task.unwrap_or(NO_TASK), blocks[0], blocks.len());
        self.set_timer(done, Expiry::Drive);
        self.emit(Kind::DiskStart, 0, 0, task, first.into(), count as u64);
    }

    /// The drive has ended a request: whoever waits for it goes on, and the next one begins.
    fn request_done(&mut self) {
        let Personality::Monolithic(queue) = &mut self.personality else { return };
        let (Some((task, blocks)), Some(began)) = (queue.requests.pop_front(), queue.began.take()) else { return };
        self.interrupt(Irq::Disk);
        self.steal(0, self.costs.sector_copy * 2 * blocks.len() as u64);
        self.emit(Kind::DiskDone, 0, 0, task.unwrap_or(NO_TASK), blocks[0].into(), self.now - began);
        if let Some(task) = task {
            self.complete(task);
            self.count_disk_waiters(self.disk_waiters, self.disk_waiters - 1);
        }
        self.interrupted(0);
        self.start_request();
    }

    /// The drive interrupts.
    pub fn drive_interrupt(&mut self) {
        match self.personality {
            Personality::Monolithic(_) => self.request_done(),
            Personality::MessagePassing(_) => self.sector_ready(),
        }
    }
}

/// A cost per KiB for so many bytes.
pub(crate) fn per_kib(cost: Nanos, bytes: u64) -> Nanos {
    (u128::from(cost) * u128::from(bytes) / 1024) as Nanos
}
