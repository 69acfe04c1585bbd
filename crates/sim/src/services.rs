//! What system calls do under both personalities: sleeping, children, signals, memory. What tasks share is in `sharing.rs`.

use crate::{
    kernel::{Kernel, Personality, context},
    process::{Action, Call, Mode, OpenFile, Process, Served, State, Use},
    resources::Device,
    storage::Window,
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Attributes, Irq, Kind, NO_TASK, Observer},
    machine::Sizing,
    processors::CpuSet,
    program::Demand,
    task::{CpuId, Policy, Task, TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};
use schedlab_workloads::draws::{self, draw};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Processor time of a call in the kernel, without entering, leaving and copying.
    pub fn cost_of(&self, caller: TaskId, call: Call) -> Nanos {
        match call {
            Call::Sleep(_) => self.costs.sleep,
            Call::Plain(cost) => cost,
            Call::Open(_) | Call::Create(_) | Call::Delete(_) => self.costs.open,
            Call::Read(_) => self.costs.read,
            Call::Write(_) => self.costs.write,
            Call::Close => self.costs.close,
            Call::Print(_) => self.costs.write,
            Call::Fork(_) => self.costs.fork,
            Call::Exit if self.view.tasks[caller as usize].parent.is_none() => self.costs.last_exit,
            Call::Exit => self.costs.exit,
            Call::Wait => self.costs.wait,
            Call::Send(_) => self.costs.send,
            Call::Receive(_) => self.costs.receive,
            Call::Lock(_) | Call::ReadLock(_) | Call::Unlock(_) | Call::Acquire(_) | Call::Release(_) => {
                self.costs.lock
            }
            Call::Barrier(_) | Call::ConditionWait { .. } | Call::ConditionSignal(_) | Call::ConditionBroadcast(_) => {
                self.costs.lock
            }
            _ => self.costs.manage,
        }
    }

    /// Carries out a call.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn serve(&mut self, caller: TaskId, call: Call) -> Served {
        match call {
            Call::Sleep(until) => self.sleep(caller, until),
            other => self.serve_rarely(caller, other),
        }
    }

    /// Calls that are no part of a hot loop.
    fn serve_rarely(&mut self, caller: TaskId, call: Call) -> Served {
        match call {
            Call::Plain(_) => Served::Done,
            Call::Open(_)
            | Call::Create(_)
            | Call::Delete(_)
            | Call::Read(_)
            | Call::Write(_)
            | Call::Seek(_)
            | Call::Sync
            | Call::Close
            | Call::Print(_) => {
                self.file_call(caller, call);
                Served::Done
            }
            Call::Sleep(_) => unreachable!("taken by serve"),
            Call::Lock(_)
            | Call::ReadLock(_)
            | Call::Unlock(_)
            | Call::Acquire(_)
            | Call::Release(_)
            | Call::Barrier(_)
            | Call::ConditionWait { .. }
            | Call::ConditionSignal(_)
            | Call::ConditionBroadcast(_)
            | Call::Send(_)
            | Call::Receive(_) => self.serve_sharing(caller, call),
            Call::Fork(program) => self.fork(caller, program),
            Call::Wait => self.wait(caller),
            Call::Set(change) => self.set(caller, change),
            Call::Signal => self.signal(caller),
            Call::Pause => Served::Waits(Wait::Signal),
            Call::Exec => self.exec(caller),
            Call::Grow(demand) => self.grow(caller, demand),
            Call::Exit => Served::Ended { cut_off: false },
        }
    }

    /// File calls in the caller's own context: what must be fetched, copied or printed goes on its agenda.
    fn file_call(&mut self, caller: TaskId, call: Call) {
        let actions = self.file_actions(caller, call);
        self.processes[caller as usize].plan(actions);
        self.after_storage();
    }

    /// The file of a set that comes after the last one taken for that use.
    pub fn next_file(&mut self, task: TaskId, set: u16, what_for: Use) -> OpenFile {
        let taken = &mut self.processes[task as usize].life.taken;
        if taken.len() <= set as usize {
            taken.resize(set as usize + 1, [0; 3]);
        }
        let count = &mut taken[set as usize][what_for as usize];
        let files = self.programs.files[set as usize];
        // Files are distinguished only by number, which wraps at 2^32.
        let first = if files.own { task.wrapping_mul(files.files) } else { 0 };
        let index = first.wrapping_add(*count % files.files);
        *count = count.wrapping_add(1);
        OpenFile { set, index, position: 0, window: Window::default() }
    }

    /// The wait of a task is over.
    pub fn complete(&mut self, task: TaskId) {
        self.wake_rarely(task, Enqueue::Wakeup);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn sleep(&mut self, task: TaskId, until: Nanos) -> Served {
        if self.timers.exhausted() {
            self.renumber_timers();
        }
        let alarm = &mut self.processes[task as usize].alarm;
        match &mut self.personality {
            Personality::Monolithic(_) => {
                let until = if self.tick_timers { self.clock.tick_from(until) } else { until };
                *alarm = self.timers.wake(until.max(self.now), task);
            }
            Personality::MessagePassing(servers) => {
                *alarm = alarm.wrapping_add(1);
                servers.set_alarm(until, task, *alarm);
            }
        }
        Served::Waits(Wait::Timer)
    }

    fn fork(&mut self, parent: TaskId, program: u32) -> Served {
        let child = self.view.tasks.len() as TaskId;
        let template = &self.view.tasks[parent as usize];
        let task = Task { id: child, parent: Some(parent), ..template.clone() };
        let job = self.processes[parent as usize].job;
        let rng = draws::of_child(self.seed, &mut self.processes[parent as usize].rng);
        self.view.tasks.push(task);
        self.processes.push(Process::new(job, program, rng));
        self.processes[child as usize].life.io = self.processes[parent as usize].life.io;
        self.processes[parent as usize].life.children += 1;
        if let Some(caches) = &mut self.caches {
            caches.inherit(parent, child);
        }
        self.awaited += u32::from(self.finite[job as usize]);
        if self.costs.start > 0 && matches!(self.personality, Personality::Monolithic(_)) {
            self.processes[child as usize].plan([Action::Burst(self.costs.start, Mode::System)]);
        }
        self.begin(child);
        // A child asks for what its parent asked for, whatever was lent to that.
        if let Some((policy, priority)) = self.processes[parent as usize].life.own {
            let before = self.view.tasks[child as usize].clone();
            let after = Task { policy, priority, ..before.clone() };
            self.report_treated(&before, &after);
            self.change(child, after);
        }
        Served::Done
    }

    /// A task comes to be.
    pub fn begin(&mut self, task: TaskId) {
        let process = &mut self.processes[task as usize];
        process.life.began = self.now;
        process.life.pass_began = self.now;
        process.life.deadline = self.now;
        let job = process.job.into();
        let (cpu, nice) = (self.view.tasks[task as usize].cpu, self.view.tasks[task as usize].nice);
        let parent = self.view.tasks[task as usize].parent.unwrap_or(NO_TASK);
        self.emit(Kind::Created, (i16::from(nice) + 128) as u8, cpu, task, job, parent.into());
        self.reserve(task);
        let ordinary = Task { nice, ..Task::ordinary(task, CpuSet::only(0)) };
        self.report_treated(&ordinary, &self.view.tasks[task as usize].clone());
        self.report_allowed(task, &CpuSet::all(self.cpus.len()));
        self.wake_rarely(task, Enqueue::New);
    }

    /// Reports how a task asks to be treated, if that is otherwise than before.
    pub fn report_treated(&mut self, before: &Task, now: &Task) {
        let of = |task: &Task| (Attributes::of_task(task), task.nice, task.slice);
        if of(now) != of(before) {
            let (flag, slice) = ((i16::from(now.nice) + 128) as u8, now.slice.unwrap_or(0));
            self.emit(Kind::Treated, flag, now.cpu, now.id, Attributes::of_task(now).packed(), slice);
        }
    }

    /// Reports where a task may run, if that is elsewhere than before.
    pub fn report_allowed(&mut self, task: TaskId, before: &CpuSet) {
        let Task { ref allowed, cpu, .. } = self.view.tasks[task as usize];
        if allowed == before {
            return;
        }
        let allowed = allowed.clone();
        for word in (0..allowed.words().max(before.words())).rev() {
            self.emit(Kind::Allowed, 0, cpu, task, allowed.word(word), word as u64);
        }
    }

    /// A new task's reservation is granted or not.
    fn reserve(&mut self, task: TaskId) {
        if self.view.tasks[task as usize].reservation.is_none() || self.scheduler.admits(&mut context!(self), task) {
            return;
        }
        let cpu = {
            let task = &mut self.view.tasks[task as usize];
            task.reservation = None;
            if task.policy == Policy::Deadline {
                task.policy = Policy::Other;
            }
            task.cpu
        };
        self.emit(Kind::Refused, 0, cpu, task, 0, 0);
    }

    fn wait(&mut self, parent: TaskId) -> Served {
        let life = &mut self.processes[parent as usize].life;
        if let Some(child) = life.zombies.pop() {
            self.scheduler.reaped(&mut context!(self), parent, child);
            return Served::Done;
        }
        // Without a child the call returns immediately, with an error.
        if life.children > 0 { Served::Waits(Wait::Child) } else { Served::Done }
    }

    /// The task ends: its memory is noted, its locks go on, its parent learns of it. Every kernel that has calls in the caller's context
    /// wakes the parent while the child still runs (`exit_notify` before `do_task_dead` in Linux, `wakeup` before `thread_exit` in FreeBSD's
    /// `exit1`, before `swtch` in older ones), so the caller of this takes it off its processor afterwards.
    pub fn bury(&mut self, task: TaskId, cut_off: bool) {
        let process = &mut self.processes[task as usize];
        process.state = State::Dead;
        process.abandon();
        let (job, memory) = (process.job as usize, process.life.memory);
        if memory > 0 && !cut_off {
            let known = &mut self.resources.high_water[job];
            *known = Some(known.unwrap_or(0).max(memory));
        }
        self.release(task);
        self.done_with_all(task);
        self.awaited -= u32::from(self.finite[job]);
        self.emit(Kind::Exited, u8::from(cut_off), self.view.tasks[task as usize].cpu, task, 0, 0);
        for lock in 0..self.resources.locks.len() {
            self.unlock(task, lock as u16);
        }
        let Some(parent) = self.view.tasks[task as usize].parent else { return };
        let process = &mut self.processes[parent as usize];
        process.life.children -= 1;
        process.life.zombies.push(task);
        if process.state == State::Waiting(Wait::Child) {
            process.plan([Action::Serve(parent, Call::Wait)]); // its call goes on when it runs
            self.complete(parent);
        }
    }

    /// A signal to every other living task of the job, in order of age. Waits that a signal may interrupt end.
    fn signal(&mut self, sender: TaskId) -> Served {
        let job = self.processes[sender as usize].job;
        let mut woken = 0;
        for task in 0..self.view.tasks.len() as TaskId {
            let process = &mut self.processes[task as usize];
            let alive = !matches!(process.state, State::Unborn | State::Dead);
            if process.job != job || task == sender || !alive {
                continue;
            }
            process.signals += 1;
            let (state, unhandled) = (process.state, process.signals);
            self.emit(Kind::Signal, 0, self.view.tasks[task as usize].cpu, task, unhandled.into(), 0);
            if matches!(state, State::Waiting(Wait::Signal | Wait::Child | Wait::Timer)) {
                self.complete(task);
                woken += 1;
            }
        }
        Served::Woke(woken)
    }

    /// The handlers of all signals that came since the task last ran begin.
    pub fn handle_signals(&mut self, cpu: usize, task: TaskId) {
        let unhandled = std::mem::take(&mut self.processes[task as usize].signals);
        self.emit(Kind::Signal, 1, cpu as CpuId, task, unhandled.into(), 0);
    }

    /// The program's memory grows to what it needs. Its limit was fixed when it started: the declared
    /// size, or the most that earlier runs have held at their end or been refused.
    fn grow(&mut self, task: TaskId, demand: Demand) -> Served {
        let process = &mut self.processes[task as usize];
        let wanted = demand.from.0 + process.rng.below(demand.to.0 - demand.from.0 + 1);
        let known = &mut self.resources.high_water[process.job as usize];
        let given = match self.resources.sizing {
            Sizing::Declared => demand.declared.0,
            Sizing::HighWater => known.unwrap_or(demand.declared.0),
        };
        let granted = wanted <= given;
        process.life.memory = if granted { wanted } else { 0 };
        if !granted {
            *known = Some(known.unwrap_or(0).max(wanted));
        }
        self.emit(Kind::Memory, u8::from(granted), self.view.tasks[task as usize].cpu, task, wanted, given);
        if granted { Served::Done } else { Served::Ended { cut_off: true } }
    }

    /// A device interrupt: its handler takes time on the first processor.
    pub fn interrupt(&mut self, line: Irq) {
        self.emit(Kind::Interrupt, 0, 0, self.cpus[0].running, line as u64, 0);
        self.steal(0, self.costs.interrupt);
    }

    /// A device of the machine's list interrupts, and will again.
    pub fn device_interrupt(&mut self, device: u32) {
        let Device { every, cost, cpu } = self.devices[device as usize];
        let next = self.now.saturating_add(draw(every, &mut self.device_rng));
        self.set_timer(next, Expiry::Device { device });
        self.emit(Kind::Interrupt, 0, cpu, self.cpus[usize::from(cpu)].running, Irq::Device as u64, 0);
        self.steal(cpu.into(), cost);
        self.interrupted(cpu);
    }

    /// The handler of an interrupt is done.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn interrupted(&mut self, cpu: CpuId) {
        if S::FEATURES.interrupts {
            self.settle(cpu.into());
            self.scheduler.interrupted(&mut context!(self), cpu);
        }
    }
}
