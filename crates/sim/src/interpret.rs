//! What the running task does next: its agenda inside the kernel first, then the instructions of its program.

use crate::{
    kernel::{Kernel, Personality, context},
    process::{Action, Call, Mode, Served, State, Touching},
    standing_still::MOST_STEPS_AT_ONCE,
};
use schedlab_model::{
    Nanos,
    event::{Kind, Observer},
    machine::Preemption,
    program::{LOOK, TimerMode},
    task::{CpuId, TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};
use schedlab_workloads::{Instruction, draws::draw};

/// The outcome of a step.
pub(crate) enum Flow {
    /// Runs for this time.
    Burst(Nanos, Mode),
    /// Continues immediately.
    Continue,
    /// Does not run any more, or not now.
    Stop,
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The running task lets others go before it (sched_yield).
    pub fn give_way(&mut self, cpu: usize) -> Flow {
        self.cpus[cpu].leaving = Enqueue::Yield;
        self.wishes.resched.insert(cpu as CpuId);
        Flow::Stop
    }

    /// The running task's burst is over: goes on until it has a new one or leaves.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn advance(&mut self, cpu: usize) {
        let task = self.cpus[cpu].running;
        self.view.waker = Some(task);
        // A task whose preemption was put off, or that is looked at on its way out of the kernel, is preempted before its next
        // instruction.
        let leaving =
            self.deferred.has(cpu as CpuId) || S::FEATURES.user_returns && self.cpus[cpu].mode == Mode::System;
        if leaving && self.preempted_between_bursts(cpu, task) {
            return;
        }
        match self.step(cpu, task) {
            Flow::Burst(0, _) | Flow::Continue => self.advance_on(cpu, task),
            Flow::Burst(length, mode) => self.run_for(cpu, task, length, mode),
            Flow::Stop => {}
        }
    }

    /// The rest of [`Kernel::advance`], after a step that took no time. Measured: its loop within that function would cost 8 % of
    /// all instructions.
    #[inline(never)]
    fn advance_on(&mut self, cpu: usize, task: TaskId) {
        for _ in 0..MOST_STEPS_AT_ONCE {
            if self.preempted_between_bursts(cpu, task) {
                return;
            }
            match self.step(cpu, task) {
                Flow::Burst(0, _) | Flow::Continue => {}
                Flow::Burst(length, mode) => return self.run_for(cpu, task, length, mode),
                Flow::Stop => return,
            }
        }
        self.stand_still(Some(task));
    }

    /// Whether the running task, which is between two bursts, is preempted before the next one. The kernel's own tasks do
    /// what takes no time as one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn preempted_between_bursts(&mut self, cpu: usize, task: TaskId) -> bool {
        let process = &self.processes[task as usize];
        if process.kernel {
            return false;
        }
        if process.busy() {
            let at_once = self.preemption == Preemption::Full || self.wishes.at_once.has(cpu as CpuId);
            return at_once && self.wishes.resched.has(cpu as CpuId);
        }
        self.exit_to_user_mode(cpu, task)
    }

    /// The running task's program goes on, if only with another call: the moment at which every kernel checks whether a wakeup
    /// or a tick requested a new choice. Returns whether one did.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn exit_to_user_mode(&mut self, cpu: usize, task: TaskId) -> bool {
        let at = cpu as CpuId;
        if S::FEATURES.user_returns && self.cpus[cpu].mode == Mode::System {
            self.cpus[cpu].mode = Mode::User;
            self.scheduler.return_to_user(&mut context!(self), at, task);
        }
        let deferred = self.deferred.has(at);
        if !deferred && !self.wishes.resched.has(at) {
            return false;
        }
        self.cpus[cpu].mode = Mode::User;
        self.wishes.resched.insert(at);
        if deferred {
            self.wishes.at_once.insert(at);
        }
        true
    }

    /// The running task has a new burst.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn run_for(&mut self, cpu: usize, task: TaskId, length: Nanos, mode: Mode) {
        let before = std::mem::replace(&mut self.cpus[cpu].mode, mode);
        let length = if self.caches.is_some() { self.load(cpu, length) } else { length };
        self.cpus[cpu].begin(self.now, length);
        if S::FEATURES.user_returns && (before, mode) == (Mode::System, Mode::User) {
            self.scheduler.return_to_user(&mut context!(self), cpu as CpuId, task);
        }
        if self.deferred.has(cpu as CpuId) {
            self.preempt_deferred(cpu, mode);
        }
    }

    /// A task whose preemption was put off begins another burst: in its own code, or at a preemption point of this kernel.
    #[cold]
    #[inline(never)]
    fn preempt_deferred(&mut self, cpu: usize, mode: Mode) {
        if mode == Mode::User || self.preemption == Preemption::Voluntary {
            self.wishes.resched.insert(cpu as CpuId);
            self.wishes.at_once.insert(cpu as CpuId);
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self, cpu: usize, task: TaskId) -> Flow {
        let process = &mut self.processes[task as usize];
        if process.busy() {
            return self.act(cpu, task);
        }
        if process.kernel {
            return self.receive(cpu, task);
        }
        loop {
            let process = &mut self.processes[task as usize];
            let program = &self.programs.programs[process.program as usize];
            let mut next = process.next_instruction;
            loop {
                let instruction = &program[next as usize];
                next += 1;
                match *instruction {
                    Instruction::Enter { depth } => process.life.loops[depth as usize] = 0,
                    Instruction::Again { start, times: u32::MAX, .. } => next = start,
                    Instruction::Again { depth, start, times } => {
                        let done = &mut process.life.loops[depth as usize];
                        *done += 1;
                        if *done < times {
                            next = start;
                        }
                    }
                    Instruction::Compute { span, then } => {
                        process.next_instruction = then;
                        return Flow::Burst(draw(span, &mut process.rng), Mode::User);
                    }
                    Instruction::Sleep { span, then } => {
                        process.next_instruction = then;
                        let length = draw(span, &mut process.rng);
                        return self.call(cpu, task, Call::Sleep(self.now.saturating_add(length)));
                    }
                    // An endless program continues directly with its beginning.
                    Instruction::Pass => {
                        process.next_instruction = next;
                        break;
                    }
                    other => {
                        process.next_instruction = next;
                        return self.rare(cpu, task, other);
                    }
                }
            }
            self.pass(cpu, task);
        }
    }

    /// A pass over the program is done.
    #[inline(never)]
    fn pass(&mut self, cpu: usize, task: TaskId) {
        let life = &mut self.processes[task as usize].life;
        let length = self.now - std::mem::replace(&mut life.pass_began, self.now);
        self.emit(Kind::Pass, 0, cpu as CpuId, task, length, 0);
        self.done_with_all(task);
    }

    /// Instructions that are no part of a hot loop.
    #[inline(never)]
    fn rare(&mut self, cpu: usize, task: TaskId, instruction: Instruction) -> Flow {
        let process = &mut self.processes[task as usize];
        let call = match instruction {
            Instruction::Period(length) => return self.period(cpu, task, length),
            // A page opens no files, so it has no recordings, and is smaller without their kernels.
            Instruction::Replay if cfg!(target_family = "wasm") => unreachable!("no work of a recording is there"),
            Instruction::Replay => {
                process.next_instruction -= 1;
                return self.replay(cpu, task);
            }
            Instruction::Timer { timer, period, mode } => return self.timer(cpu, task, timer, period, mode),
            Instruction::Busy(length) => return self.be_busy(task, length),
            Instruction::Yield => return self.give_way(cpu),
            Instruction::Mark(name) => {
                self.emit(Kind::Mark, 0, cpu as CpuId, task, name.into(), 0);
                return Flow::Continue;
            }
            Instruction::Call(span) => Call::Plain(draw(span, &mut process.rng)),
            Instruction::Touch(touches) => {
                process.plan([Action::Touch(Touching { touches, done: 0, pending: None })]);
                return Flow::Continue;
            }
            Instruction::Open(set) => Call::Open(set),
            Instruction::Create(set) => Call::Create(set),
            Instruction::Delete(set) => Call::Delete(set),
            Instruction::Read(bytes) => Call::Read(bytes),
            Instruction::Write(bytes) => Call::Write(bytes),
            Instruction::Seek(place) => Call::Seek(place),
            Instruction::Sync => Call::Sync,
            Instruction::Close => Call::Close,
            Instruction::Print(bytes) => Call::Print(bytes),
            Instruction::Lock(lock) => Call::Lock(lock),
            Instruction::ReadLock(lock) => Call::ReadLock(lock),
            Instruction::Unlock(lock) => Call::Unlock(lock),
            Instruction::Acquire(semaphore) => Call::Acquire(semaphore),
            Instruction::Release(semaphore) => Call::Release(semaphore),
            Instruction::Barrier(barrier) => Call::Barrier(barrier),
            Instruction::ConditionWait { condition, lock } => Call::ConditionWait { condition, lock },
            Instruction::ConditionSignal(condition) => Call::ConditionSignal(condition),
            Instruction::ConditionBroadcast(condition) => Call::ConditionBroadcast(condition),
            Instruction::Send(pipe) => Call::Send(pipe),
            Instruction::Receive(pipe) | Instruction::Serve(pipe) => Call::Receive(pipe),
            Instruction::Set(change) => Call::Set(change),
            Instruction::Fork(program) => Call::Fork(program),
            Instruction::Wait => Call::Wait,
            Instruction::Signal => Call::Signal,
            Instruction::Pause => Call::Pause,
            Instruction::Grow(demand) => Call::Grow(demand),
            Instruction::Exec => Call::Exec,
            Instruction::Exit => Call::Exit,
            Instruction::Run(_) => unreachable!("refused by boot"),
            Instruction::Compute { .. } | Instruction::Sleep { .. } => unreachable!("taken by step"),
            Instruction::Enter { .. } | Instruction::Again { .. } | Instruction::Pass => {
                unreachable!("taken by step")
            }
        };
        match call {
            Call::Receive(_) => self.done_with_message(task),
            Call::Lock(_) | Call::ReadLock(_) | Call::Acquire(_) => {
                self.processes[task as usize].life.requested = Some(self.now);
                if self.without_call(task, call) {
                    return Flow::Continue;
                }
            }
            Call::Unlock(_) | Call::Release(_) if self.without_call(task, call) => return Flow::Continue,
            _ => {}
        }
        self.call(cpu, task, call)
    }

    /// Waits for the next multiple of `length` since the task began. Late means that it has passed already: the task continues
    /// immediately with the current period, and those that passed meanwhile are missed too.
    fn period(&mut self, cpu: usize, task: TaskId, length: Nanos) -> Flow {
        let life = &self.processes[task as usize].life;
        let mut deadline = life.began + ((life.deadline - life.began) / length + 1) * length;
        if self.now <= deadline {
            self.processes[task as usize].life.deadline = deadline;
            self.emit(Kind::Period, 1, cpu as CpuId, task, 0, 0);
            return self.call(cpu, task, Call::Sleep(deadline));
        }
        while deadline <= self.now {
            self.emit(Kind::Period, 0, cpu as CpuId, task, self.now - deadline, 0);
            self.processes[task as usize].life.deadline = deadline;
            deadline += length;
        }
        Flow::Continue
    }

    /// Waits for a timer of the task's own, or, late, only notes how late.
    fn timer(&mut self, cpu: usize, task: TaskId, timer: u16, period: Nanos, mode: TimerMode) -> Flow {
        let (life, timer) = (&mut self.processes[task as usize].life, usize::from(timer));
        if life.timers.len() <= timer {
            life.timers.resize(timer + 1, life.began);
        }
        let due = life.timers[timer].saturating_add(period);
        let late = self.now.checked_sub(due).filter(|&late| late > 0);
        life.timers[timer] = if late.is_some() && mode == TimerMode::Relative { self.now } else { due };
        self.emit(Kind::Period, u8::from(late.is_none()), cpu as CpuId, task, late.unwrap_or(0), 0);
        if late.is_some() { Flow::Continue } else { self.call(cpu, task, Call::Sleep(due)) }
    }

    /// Works for a while, and comes back to the same instruction, until that much time has passed since it came first.
    fn be_busy(&mut self, task: TaskId, length: Nanos) -> Flow {
        let process = &mut self.processes[task as usize];
        let until = *process.life.busy_until.get_or_insert(self.now.saturating_add(length));
        if self.now >= until {
            process.life.busy_until = None;
            return Flow::Continue;
        }
        process.next_instruction -= 1;
        Flow::Burst(LOOK, Mode::User)
    }

    /// The program enters the kernel.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn call(&mut self, cpu: usize, task: TaskId, call: Call) -> Flow {
        self.emit(Kind::SystemCall, 0, cpu as CpuId, task, 0, 0);
        if S::FEATURES.user_returns {
            self.cpus[cpu].mode = Mode::System;
        }
        match self.personality {
            Personality::Monolithic(_) => {
                let cost = self.costs.trap + self.cost_of(task, call);
                if cost == 0 {
                    return self.serve_caller(cpu, task, call);
                }
                self.processes[task as usize].plan([Action::Serve(task, call)]);
                Flow::Burst(cost, Mode::System)
            }
            Personality::MessagePassing(_) => self.call_server(task, call),
        }
    }

    /// The next entry of a task's agenda.
    #[inline(never)]
    fn act(&mut self, cpu: usize, task: TaskId) -> Flow {
        match self.processes[task as usize].next_action() {
            Some(Action::Burst(length, mode)) => Flow::Burst(length, mode),
            Some(Action::Serve(caller, call)) if caller == task => self.serve_caller(cpu, task, call),
            Some(Action::Serve(caller, call)) => self.serve_other(caller, call),
            Some(Action::Storage(work)) => self.on_storage(cpu, task, work),
            Some(Action::Touch(touching)) => self.touch(task, touching),
            Some(Action::Granted) => {
                self.granted(task);
                Flow::Continue
            }
            Some(Action::Look(call)) => self.look(cpu, task, call),
            Some(Action::SendReceive(to, message)) => self.send_receive(cpu, task, to, message),
            Some(Action::Reply(to)) => self.reply(to),
            Some(Action::Command(block)) => self.command(block),
            Some(Action::AwaitInterrupt) => self.await_interrupt(cpu, task),
            Some(Action::ClockWork) => self.clock_work(cpu),
            Some(Action::RingAlarms) => self.ring_alarms(),
            None => Flow::Continue,
        }
    }

    /// A call in the caller's own context.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn serve_caller(&mut self, cpu: usize, task: TaskId, call: Call) -> Flow {
        match self.serve(task, call) {
            Served::Done => Flow::Continue,
            // The woken task waits for the rest of the call, if it is to run here.
            Served::Woke(tasks) => Flow::Burst(self.costs.wake.saturating_mul(tasks.into()), Mode::System),
            Served::Moved => Flow::Stop,
            Served::Ended { cut_off } => {
                self.bury(task, cut_off);
                self.block_rarely(cpu, State::Dead);
                Flow::Stop
            }
            Served::Waits(wait) => {
                if self.costs.block > 0 && wait != Wait::Timer {
                    self.processes[task as usize].plan_first(Action::Burst(self.costs.block, Mode::System));
                }
                self.block(cpu, State::Waiting(wait));
                Flow::Stop
            }
        }
    }
}
