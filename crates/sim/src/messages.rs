//! The message-passing personality: Minix's clock, system, disk and terminal tasks, its memory manager and its file
//! server, and the rendezvous by which they and the users talk.
//!
//! A message is copied when its receiver waits for it; else its sender waits. Users may only send and wait for the answer,
//! and only to the two servers. A server does one call completely, waiting in place for drivers, before it looks at the
//! next. An interrupt becomes a message to its driver; one that comes too early is remembered, a second one is lost.
//!
//! What a server will do with a call is settled when it takes the call, since nothing else changes its tables meanwhile:
//! it goes on the server's agenda, fetch by fetch and answer, and the read-ahead after the answer.

use crate::{
    files::{Files, Plan},
    interpret::Flow,
    kernel::{Kernel, Personality, context},
    monolithic::per_kib,
    process::{Action, Call, Message, Mode, Served, State, Use},
    servers::{CLOCK, DISK, FILES, KERNEL_TASKS, MEMORY, Port, Receiving, SYSTEM, Servers, TERMINAL},
    timers::Expiry,
};
use schedlab_disk::{Block, SECTORS_PER_BLOCK};
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, Observer},
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};
use std::cmp::Reverse;

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
    #[cfg_attr(not(debug_assertions), inline(always))]
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

    /// A sector is ready: the disk task is notified.
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

    /// A server carries out a call for its caller, which is answered unless the call waits.
    pub fn serve_other(&mut self, caller: TaskId, call: Call) -> Flow {
        match self.serve(caller, call) {
            Served::Done | Served::Woke(_) | Served::Moved => return self.reply(caller),
            Served::Ended { cut_off } => self.bury(caller, cut_off),
            Served::Waits(wait) => self.processes[caller as usize].state = State::Waiting(wait),
        }
        Flow::Continue
    }

    /// What a file call needs from cache and drive. The lookups are reported here.
    pub fn plan(&mut self, caller: TaskId, call: Call) -> Plan {
        let plan = match call {
            Call::Open(set) => {
                let file = self.next_file(caller, set, Use::Open);
                self.processes[caller as usize].life.file = Some(file);
                self.files().open(set, file.index)
            }
            Call::Read(bytes) => self.plan_read(caller, bytes),
            Call::Close => {
                self.processes[caller as usize].life.file = None;
                Plan::default()
            }
            _ => Plan::default(),
        };
        let cpu = self.view.tasks[caller as usize].cpu;
        let sectors = self.files().layout.sectors();
        for &(found, sector) in &plan.lookups {
            self.emit(Kind::CacheLookup, u8::from(found), cpu, caller, sector, sectors.into());
        }
        plan
    }

    fn plan_read(&mut self, caller: TaskId, bytes: u64) -> Plan {
        let Some(mut file) = self.processes[caller as usize].life.file else { return Plan::default() };
        let set = self.programs.files[file.set as usize];
        let plan = self.files().read(&mut file, set, bytes);
        self.processes[caller as usize].life.file = Some(file);
        plan
    }

    fn files(&mut self) -> &mut Files {
        match &mut self.personality {
            Personality::MessagePassing(servers) => &mut servers.files,
            Personality::Monolithic(_) => unreachable!("only a file server plans"),
        }
    }
}
