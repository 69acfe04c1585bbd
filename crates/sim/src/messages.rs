//! The message-passing personality: Minix's clock, system, disk and terminal tasks, its memory manager and its file
//! server, and the rendezvous by which they and the users talk.
//!
//! A message is copied when its receiver waits for it; else its sender waits. Users may only send and wait for the answer,
//! and only to the two servers. A server does one call completely, waiting in place for drivers, before it looks at the
//! next. An interrupt becomes a message to its driver; one that comes too early is remembered, a second one is lost.
//!
//! What a server will do with a call is settled when it takes the call, since nobody else changes its tables meanwhile:
//! it goes on the server's agenda, fetch by fetch and answer, and the read-ahead after the answer.

use crate::{
    files::Files,
    interpret::Flow,
    monolithic::per_kib,
    process::{Action, Call, Mode, Served, State},
    run::{Kernel, Personality, context},
    timers::Expiry,
};
use schedlab_disk::{Block, Rotating, SECTORS_PER_BLOCK};
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, Observer},
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// The kernel's own tasks, created first and in this order.
pub(crate) const CLOCK: TaskId = 0;
pub(crate) const SYSTEM: TaskId = 1;
pub(crate) const DISK: TaskId = 2;
pub(crate) const TERMINAL: TaskId = 3;
pub(crate) const MEMORY: TaskId = 4;
pub(crate) const FILES: TaskId = 5;
/// Their names, by number.
pub(crate) const NAMES: [&str; 6] = ["clock", "system", "disk", "terminal", "memory", "files"];
/// How many there are, and how many of them are drivers.
pub(crate) const KERNEL_TASKS: u32 = NAMES.len() as u32;
pub(crate) const DRIVERS: u32 = 4;

/// What is said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    /// A user's system call.
    Request(TaskId, Call),
    /// To the system task: copy so many bytes.
    Copy(u64),
    /// To the disk task: read these blocks.
    Fetch(Box<[Block]>),
    /// To the terminal task: show so many bytes.
    Print(u64),
    /// To the clock task: an alarm was set.
    SetAlarm,
}

/// What a kernel process waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Receiving {
    Nothing,
    Anything,
    Answer,
    Interrupt,
}

/// Where a kernel process takes messages.
#[derive(Debug)]
struct Port {
    receiving: Receiving,
    /// Tasks that wait to be heard, with what they say.
    senders: VecDeque<(TaskId, Message)>,
    /// An interrupt came while nobody waited for it.
    event: bool,
}

/// Ports, alarms and the command that the drive is carrying out.
#[derive(Debug)]
pub(crate) struct Servers {
    ports: Vec<Port>,
    /// When, whose, and which of its waits it ends.
    alarms: BinaryHeap<Reverse<(Nanos, TaskId, u32)>>,
    /// Alarms that have expired, for the memory manager to act on.
    rung: Vec<(TaskId, u32)>,
    /// Block under the heads, when it was asked for, and sectors still to come.
    transfer: Option<(Block, Nanos, u8)>,
    pub files: Files,
    /// Without one, everything is in the cache.
    drive: Option<Rotating>,
}

impl Servers {
    pub fn new(files: Files, drive: Option<Rotating>) -> Servers {
        let port = || Port { receiving: Receiving::Anything, senders: VecDeque::new(), event: false };
        Servers {
            ports: (0..KERNEL_TASKS).map(|_| port()).collect(),
            alarms: BinaryHeap::new(),
            rung: Vec::new(),
            transfer: None,
            files,
            drive,
        }
    }

    pub fn set_alarm(&mut self, when: Nanos, task: TaskId, number: u32) {
        self.alarms.push(Reverse((when, task, number)));
    }

    pub fn has_alarms(&self) -> bool {
        !self.alarms.is_empty()
    }

    /// The command that the drive is carrying out: whose, and since when.
    pub fn unfinished(&self) -> Option<(TaskId, Nanos)> {
        self.transfer.map(|(_, began, _)| (DISK, began))
    }

    fn alarm_due(&self, now: Nanos) -> bool {
        self.alarms.peek().is_some_and(|Reverse((when, ..))| *when <= now)
    }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    fn servers(&mut self) -> &mut Servers {
        match &mut self.personality {
            Personality::MessagePassing(servers) => servers,
            Personality::Monolithic(_) => unreachable!("only a message-passing kernel has servers"),
        }
    }

    fn port(&mut self, task: TaskId) -> &mut Port {
        &mut self.servers().ports[task as usize]
    }

    /// A user's call: into the kernel, a message to its server, and no way on before the answer.
    pub fn call_server(&mut self, task: TaskId, call: Call) -> Flow {
        let server = match call {
            Call::Plain(_) | Call::Open(_) | Call::Read(_) | Call::Close | Call::Print(_) => FILES,
            Call::Send(_) | Call::Receive(_) => FILES,
            _ => MEMORY,
        };
        let request = Action::SendReceive(server, Message::Request(task, call));
        self.processes[task as usize].plan([request]);
        Flow::Burst(self.costs.trap, Mode::System)
    }

    /// Sends, then waits for the answer.
    pub fn send_receive(&mut self, cpu: usize, from: TaskId, to: TaskId, message: Message) -> Flow {
        if self.port(to).receiving == Receiving::Anything {
            self.deliver(to, message);
        } else {
            self.port(to).senders.push_back((from, message));
        }
        if from < KERNEL_TASKS {
            self.port(from).receiving = Receiving::Answer;
        }
        self.block_rarely(cpu, State::Waiting(Wait::Message));
        Flow::Stop
    }

    /// A waiting receiver gets a message.
    fn deliver(&mut self, to: TaskId, message: Message) {
        self.port(to).receiving = Receiving::Nothing;
        self.accept(to, message);
        self.wake_rarely(to, Enqueue::Wakeup);
    }

    /// Answers a task that waits for it.
    pub fn reply(&mut self, to: TaskId) -> Flow {
        if to < KERNEL_TASKS {
            self.port(to).receiving = Receiving::Nothing;
        }
        self.wake_rarely(to, Enqueue::Wakeup);
        Flow::Continue
    }

    /// A kernel process with nothing left to do takes the next message, or an interrupt, or waits for either.
    pub fn receive(&mut self, cpu: usize, task: TaskId) -> Flow {
        let port = self.port(task);
        if let Some((_, message)) = port.senders.pop_front() {
            self.accept(task, message);
            return Flow::Continue;
        }
        if std::mem::take(&mut port.event) {
            self.accept_event(task);
            return Flow::Continue;
        }
        port.receiving = Receiving::Anything;
        self.block_rarely(cpu, State::Waiting(Wait::Message));
        Flow::Stop
    }

    /// An interrupt for a kernel process: a message if it waits for one, else remembered once.
    fn notify(&mut self, task: TaskId) {
        let port = self.port(task);
        match port.receiving {
            Receiving::Anything => {
                port.receiving = Receiving::Nothing;
                self.accept_event(task);
            }
            Receiving::Interrupt => port.receiving = Receiving::Nothing,
            _ => {
                port.event = true;
                return;
            }
        }
        self.wake_rarely(task, Enqueue::Wakeup);
    }

    /// Whether a tick must wake the clock task; only the first processor has it.
    pub fn clock_task_needed(&mut self, cpu: usize) -> bool {
        if self.scheduler.tick_needs_clock_task(&context!(self), cpu as u16) {
            return true;
        }
        match &self.personality {
            Personality::MessagePassing(servers) => cpu == 0 && servers.alarm_due(self.now),
            Personality::Monolithic(_) => false,
        }
    }

    /// A tick has work for the clock task; where there is none, or on a processor that it does not look after, the
    /// interrupt does it.
    #[inline(always)]
    pub fn notify_clock_task(&mut self, cpu: usize) {
        if cpu == 0 && matches!(self.personality, Personality::MessagePassing(_)) {
            self.notify(CLOCK);
        } else {
            self.settle(cpu);
            self.scheduler.clock_task(&mut context!(self), cpu as u16);
        }
    }

    /// The clock task: alarms that are due go to the memory manager, and the quantum may end.
    pub fn clock_work(&mut self, cpu: usize) -> Flow {
        let now = self.now;
        let servers = self.servers();
        let mut rang = false;
        while servers.alarm_due(now) {
            if let Some(Reverse((_, task, number))) = servers.alarms.pop() {
                servers.rung.push((task, number));
                rang = true;
            }
        }
        if rang {
            self.notify(MEMORY);
        }
        self.scheduler.clock_task(&mut context!(self), cpu as u16);
        Flow::Continue
    }

    /// The memory manager ends the waits of those whose alarms have rung.
    pub fn ring_alarms(&mut self) -> Flow {
        for (task, alarm) in std::mem::take(&mut self.servers().rung) {
            let process = &self.processes[task as usize];
            if process.alarm == alarm && process.state == State::Waiting(Wait::Timer) {
                self.complete(task);
            }
        }
        Flow::Continue
    }

    /// Plans what an interrupt asks of a kernel process that was waiting for anything.
    fn accept_event(&mut self, task: TaskId) {
        let actions = match task {
            CLOCK => [self.work(self.costs.clock_task), Action::ClockWork],
            MEMORY => [self.work(self.costs.manage), Action::RingAlarms],
            _ => return, // a stray interrupt
        };
        let back = self.work(self.costs.trap);
        self.processes[task as usize].plan(actions.into_iter().chain([back]));
    }

    /// Plans what a message asks of a kernel process. Its next receive costs a trap at the end.
    fn accept(&mut self, task: TaskId, message: Message) {
        let trap = self.costs.trap;
        let mut actions = match message {
            Message::Request(caller, call) => self.plan_request(caller, call),
            Message::Copy(bytes) => {
                vec![self.work(trap + per_kib(self.costs.copy_per_kib, bytes)), Action::Reply(FILES)]
            }
            Message::Print(bytes) => {
                vec![self.work(trap + per_kib(self.costs.print_per_kib, bytes)), Action::Reply(FILES)]
            }
            Message::SetAlarm => vec![self.work(trap), Action::Reply(MEMORY)],
            Message::Fetch(blocks) => self.plan_fetch(&blocks),
        };
        actions.push(self.work(trap));
        self.processes[task as usize].plan(actions);
    }

    /// Processor time of a kernel process.
    fn work(&self, length: Nanos) -> Action {
        Action::Burst(length, Mode::System)
    }

    /// A server's work for one call.
    fn plan_request(&mut self, caller: TaskId, call: Call) -> Vec<Action> {
        let (trap, cost) = (self.costs.trap, self.cost_of(caller, call));
        match call {
            Call::Print(bytes) => vec![
                self.work(cost + trap),
                Action::SendReceive(TERMINAL, Message::Print(bytes)),
                self.work(trap),
                Action::Reply(caller),
            ],
            Call::Open(_) | Call::Read(_) | Call::Close => self.plan_file_request(caller, call, cost),
            Call::Sleep(_) => {
                vec![self.work(cost + trap), Action::SendReceive(CLOCK, Message::SetAlarm), Action::Serve(caller, call)]
            }
            _ => vec![self.work(cost + trap), Action::Serve(caller, call)],
        }
    }

    fn plan_file_request(&mut self, caller: TaskId, call: Call, cost: Nanos) -> Vec<Action> {
        let trap = self.costs.trap;
        let plan = self.plan(caller, call);
        let fetch = |blocks| [self.work(trap), Action::SendReceive(DISK, Message::Fetch(blocks))];
        let mut actions = vec![self.work(cost.saturating_mul(plan.blocks.max(1)))];
        actions.extend(plan.fetches.into_iter().flat_map(fetch));
        if plan.bytes > 0 {
            actions.extend([self.work(trap), Action::SendReceive(SYSTEM, Message::Copy(plan.bytes))]);
        }
        actions.extend([self.work(trap), Action::Reply(caller)]);
        actions.extend(plan.ahead.into_iter().flat_map(fetch));
        actions
    }

    /// The disk task's work: a command a block, and two interrupts with a sector to copy each.
    fn plan_fetch(&mut self, blocks: &[Block]) -> Vec<Action> {
        let mut actions = Vec::with_capacity(blocks.len() * 6 + 1);
        for &block in blocks {
            actions.extend([self.work(self.costs.disk_command), Action::Command(block)]);
            for _ in 0..2 {
                actions.extend([Action::AwaitInterrupt, self.work(self.costs.sector_copy)]);
            }
        }
        actions.push(Action::Reply(FILES));
        actions
    }

    /// The drive starts on a block; it will interrupt once for each of the two sectors.
    pub fn command(&mut self, block: Block) -> Flow {
        let now = self.now;
        // Without a drive nothing is ever fetched: the file system says that everything is cached.
        let servers = self.servers();
        if let Some(drive) = &mut servers.drive {
            let ready = drive.access(now, block);
            servers.transfer = Some((block, now, 2));
            for sector in ready {
                self.set_timer(sector, Expiry::Drive);
            }
            let first = SECTORS_PER_BLOCK * u64::from(block);
            self.emit(Kind::DiskQueued, 0, 0, DISK, first, SECTORS_PER_BLOCK);
            self.emit(Kind::DiskStart, 0, 0, DISK, first, SECTORS_PER_BLOCK);
        }
        Flow::Continue
    }

    pub fn await_interrupt(&mut self, cpu: usize, task: TaskId) -> Flow {
        let port = self.port(task);
        if std::mem::take(&mut port.event) {
            return Flow::Continue;
        }
        port.receiving = Receiving::Interrupt;
        self.block_rarely(cpu, State::Waiting(Wait::Disk));
        self.count_disk_waiters(self.disk_waiters, self.disk_waiters + 1);
        Flow::Stop
    }

    /// A sector is ready: the disk task is told.
    pub fn sector_ready(&mut self) {
        self.interrupt(Irq::Disk);
        let now = self.now;
        if let Some((block, began, left)) = self.servers().transfer.take() {
            if left > 1 {
                self.servers().transfer = Some((block, began, left - 1));
            } else {
                self.emit(Kind::DiskDone, 0, 0, DISK, SECTORS_PER_BLOCK * u64::from(block), now - began);
            }
        }
        let waited = self.port(DISK).receiving == Receiving::Interrupt;
        self.notify(DISK);
        if waited {
            self.count_disk_waiters(self.disk_waiters, self.disk_waiters - 1);
        }
    }

    /// A server carries out a call for its caller, who is answered unless the call means waiting.
    pub fn serve_other(&mut self, caller: TaskId, call: Call) -> Flow {
        match self.serve(caller, call) {
            Served::Done | Served::Woke(_) => return self.reply(caller),
            Served::Ended { cut_off } => self.bury(caller, cut_off),
            Served::Waits(wait) => self.processes[caller as usize].state = State::Waiting(wait),
        }
        Flow::Continue
    }
}
