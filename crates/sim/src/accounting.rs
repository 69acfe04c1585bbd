//! A processor, and whose time is whose: true time, settled at every change, and beside it what a clock tick sees.

use crate::{
    process::{Mode, State},
    run::{Kernel, context},
};
use schedlab_model::{
    Nanos,
    event::{Kind, Leave, NO_TASK, Observer, Sample},
    task::{Class, CpuId, TaskId},
};
use schedlab_policies::schedulers::{Context, Enqueue, Pick, Scheduler};

/// What a processor is doing.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    pub running: TaskId,
    /// Who ran before, and so has its registers and cache here.
    pub last: TaskId,
    /// From here on, time is not settled yet.
    pub settled: Nanos,
    /// Of the time not settled, how much goes to interrupts and switching; it comes first.
    pub overhead: Nanos,
    /// When the running task's present stretch ends.
    pub burst_end: Nanos,
    /// When its slice ends.
    pub slice_end: Nanos,
    /// Why it leaves, if it leaves now while able to run.
    pub leaving: Enqueue,
    /// User and system time since it got the processor.
    pub user: Nanos,
    pub system: Nanos,
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu {
            running: NO_TASK,
            last: NO_TASK,
            settled: 0,
            overhead: 0,
            burst_end: Nanos::MAX,
            slice_end: Nanos::MAX,
            leaving: Enqueue::Preempted,
            user: 0,
            system: 0,
        }
    }
}

impl Cpu {
    /// When something happens here.
    #[inline(always)]
    pub fn next(&self) -> Nanos {
        self.burst_end.min(self.slice_end)
    }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Charges the running task, the policy and the books with the time since the last settlement.
    #[inline]
    pub fn settle(&mut self, cpu: usize) {
        let state = &mut self.cpus[cpu];
        let elapsed = self.now - state.settled;
        state.settled = self.now;
        if state.running == NO_TASK || elapsed == 0 {
            return;
        }
        let task = state.running;
        let overhead = state.overhead.min(elapsed);
        state.overhead -= overhead;
        let ran = elapsed - overhead;
        let process = &mut self.processes[task as usize];
        process.left -= ran;
        match process.mode {
            Mode::User => state.user += ran,
            Mode::System => state.system += ran,
        }
        if overhead > 0 {
            self.emit(Kind::Overhead, 0, cpu as CpuId, task, overhead, 0);
        }
        self.scheduler.charge(&mut context!(self), cpu as CpuId, task, ran);
    }

    /// An interrupt takes time from whoever runs. An idle processor handles it in its idle time.
    pub fn steal(&mut self, cpu: usize, cost: Nanos) {
        let state = &mut self.cpus[cpu];
        if state.running != NO_TASK && cost > 0 {
            state.overhead += cost;
            state.burst_end = state.burst_end.saturating_add(cost);
        }
    }

    /// A tick charges its whole length to whoever it finds: a user's own code is that user's user time; the kernel,
    /// a server or a driver is system time of the user who is billed.
    pub fn sample(&mut self, cpu: usize) {
        let running = self.cpus[cpu].running;
        let own_code = running != NO_TASK
            && self.processes[running as usize].mode == Mode::User
            && self.tasks[running as usize].class == Class::User;
        let (task, sample) = match (own_code, self.processors[cpu].billed) {
            (true, _) => (running, Sample::User),
            (false, Some(billed)) => (billed, Sample::System),
            (false, None) => (NO_TASK, Sample::Idle),
        };
        self.emit(Kind::Sampled, sample as u8, cpu as CpuId, task, self.clock.tick, 0);
    }

    /// Puts a task on a processor that has none.
    #[inline]
    pub fn dispatch(&mut self, index: usize, pick: Pick) {
        let task = pick.task;
        let cpu = &mut self.cpus[index];
        if cpu.last != task {
            cpu.overhead += self.costs.context_switch;
            cpu.last = task;
        }
        cpu.running = task;
        cpu.settled = self.now;
        cpu.slice_end = pick.slice.map_or(Nanos::MAX, |slice| self.now + cpu.overhead + slice);
        let view = &mut self.processors[index];
        view.running = Some(task);
        if self.tasks[task as usize].class == Class::User {
            view.billed = Some(task);
        }
        let process = &mut self.processes[task as usize];
        process.state = State::Running;
        let (left, signals) = (process.left, process.signals);
        self.emit(Kind::SwitchIn, 0, index as CpuId, task, 0, 0);
        if signals > 0 {
            self.handle_signals(index, task);
        }
        let cpu = &mut self.cpus[index];
        // What takes no time itself, such as giving way, is done after the switch nevertheless.
        match cpu.overhead + left {
            0 => self.advance(index),
            length => cpu.burst_end = self.now + length,
        }
    }

    /// The running task leaves a processor; its time is settled.
    #[inline]
    pub fn switch_out(&mut self, index: usize, leave: Leave) {
        let cpu = &mut self.cpus[index];
        let task = std::mem::replace(&mut cpu.running, NO_TASK);
        let (user, system) = (std::mem::take(&mut cpu.user), std::mem::take(&mut cpu.system));
        cpu.burst_end = Nanos::MAX;
        cpu.slice_end = Nanos::MAX;
        cpu.overhead = 0;
        self.processors[index].running = None;
        self.emit(Kind::SwitchOut, leave as u8, index as CpuId, task, user, system);
    }

    /// A processor has nothing to run.
    pub fn idle(&mut self, index: usize) {
        self.processors[index].billed = None;
        self.emit(Kind::Idle, u8::from(self.disk_waiters > 0), index as CpuId, NO_TASK, 0, 0);
    }

    /// One more or one less task waits for the drive; what idle processors wait for may have changed.
    pub fn count_disk_waiters(&mut self, before: u32, after: u32) {
        self.disk_waiters = after;
        if (before > 0) == (after > 0) {
            return;
        }
        for index in 0..self.cpus.len() {
            // A processor that is about to choose is not idle.
            if self.cpus[index].running == NO_TASK && self.wishes.resched >> index & 1 == 0 {
                self.emit(Kind::Idle, u8::from(after > 0), index as CpuId, NO_TASK, 0, 0);
            }
        }
    }
}
