//! Whose time is whose: true time, settled at every change, and apart from it what a clock tick samples.

use crate::{
    kernel::{Kernel, context},
    process::Mode,
    speeds::FULL,
};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, NO_TASK, Observer, Sample},
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Context, Enqueue, Pick, Scheduler};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Charges the running task, the policy and the books with the time since the last settlement.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn settle(&mut self, cpu: usize) {
        match self.cpus[cpu].running {
            NO_TASK => self.cpus[cpu].settled = self.now,
            _ => self.settle_running(cpu),
        }
    }

    /// As [`Kernel::settle`], of a processor that is known to run a task.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn settle_running(&mut self, cpu: usize) {
        let state = &mut self.cpus[cpu];
        let elapsed = self.now - state.settled;
        if elapsed == 0 {
            return;
        }
        state.settled = self.now;
        let task = state.running;
        let mut ran = elapsed;
        if state.overhead > 0 {
            let overhead = state.overhead.min(elapsed);
            state.overhead -= overhead;
            ran -= overhead;
            if self.charges_interrupts {
                state.spent[Mode::System as usize] += overhead;
                self.scheduler.charge(&mut context!(self), cpu as CpuId, task, overhead);
            } else {
                self.emit(Kind::Overhead, 0, cpu as CpuId, task, overhead, 0);
            }
        }
        let state = &mut self.cpus[cpu];
        state.spent[state.mode as usize] += ran;
        self.scheduler.charge(&mut context!(self), cpu as CpuId, task, ran);
    }

    /// An interrupt or work for a device takes its time from the running task, and what is left when that one leaves from the
    /// next task: a reader blocks as soon as it has sent a command, and a woken task may preempt the interrupted one. An idle
    /// processor does it in its idle time; one that is about to choose is not idle.
    pub fn steal(&mut self, cpu: usize, cost: Nanos) {
        let cost = self.speeds.as_ref().map_or(cost, |speeds| speeds.overhead(cpu, cost));
        let state = &mut self.cpus[cpu];
        if state.running != NO_TASK || self.wishes.resched.has(cpu as CpuId) {
            state.overhead += cost;
            state.burst_end = state.burst_end.saturating_add(cost);
            if cost > 0 {
                self.changes::<false>(cpu);
            }
        }
    }

    /// A tick charges its whole length to the task that it finds: a task in its own code gets user time; for the kernel, a server
    /// or a driver, the billed task gets system time.
    pub fn sample(&mut self, cpu: usize, tick: Nanos) {
        let running = self.cpus[cpu].running;
        let own_code = running != NO_TASK && self.cpus[cpu].mode == Mode::User && !self.is_kernel(running);
        let (task, sample) = match (own_code, self.view.processors[cpu].billed) {
            (true, _) => (running, Sample::User),
            (false, Some(billed)) => (billed, Sample::System),
            (false, None) => (NO_TASK, Sample::Idle),
        };
        self.emit(Kind::Sampled, sample as u8, cpu as CpuId, task, tick, 0);
    }

    /// Puts a task on a processor, where it `stayed` if no other task has run there since. All time before is settled. Gives
    /// the number of signals that it has to handle first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn switch_in(&mut self, index: usize, pick: Pick, stayed: bool) -> u32 {
        let task = pick.task;
        let process = &self.processes[task as usize];
        let (left, signals, kernel) = (process.left, process.signals, process.kernel);
        let mode = process.mode;
        let mut cost = if stayed { 0 } else { self.costs.context_switch };
        if self.speeds.is_some() {
            cost = self.change_speeds(index, true, cost);
        }
        let cpu = &mut self.cpus[index];
        cpu.mode = mode;
        cpu.overhead += cost;
        cpu.running = task;
        cpu.slice_end = pick.slice.map_or(Nanos::MAX, |slice| self.now + cpu.overhead + slice);
        let left = if self.caches.is_some() { self.move_in(index, task, left, stayed) } else { left };
        self.cpus[index].begin(self.now, left);
        self.view.runs(index, Some(task));
        if !kernel {
            self.view.processors[index].billed = Some(task);
        }
        signals
    }

    /// The event of a [`Kernel::switch_in`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn switched_in(&self, index: usize, task: TaskId) -> Event {
        Event { time: self.now, a: 0, b: 0, task, cpu: index as CpuId, kind: Kind::SwitchIn, flag: 0 }
    }

    /// A task that has just got a processor begins. Returns whether it has no burst to run: an action that takes no time, such
    /// as yielding, is done after the switch nevertheless.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn start(&mut self, index: usize, task: TaskId, signals: u32) -> bool {
        if signals > 0 {
            self.handle_signals(index, task);
        }
        self.cpus[index].burst_end == self.now
    }

    /// The running task, whose time is settled, leaves its processor to the next one, or to none ([`Kernel::vacate`]). Returns
    /// the event, which is still to be reported: that of the next task may go with it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn switch_out(&mut self, index: usize, task: TaskId, leave: Leave) -> Event {
        let cpu = &mut self.cpus[index];
        let process = &mut self.processes[task as usize];
        process.left = cpu.left(self.now);
        process.mode = cpu.mode;
        let [user, system] = std::mem::take(&mut cpu.spent);
        if let Some(caches) = &mut self.caches {
            caches.leave(index, task, user + system);
        }
        let (kind, flag) = (Kind::SwitchOut, leave as u8);
        Event { time: self.now, a: user, b: system, task, cpu: index as CpuId, kind, flag }
    }

    /// No task is on a processor any more.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn vacate(&mut self, index: usize) {
        let cpu = &mut self.cpus[index];
        cpu.last = std::mem::replace(&mut cpu.running, NO_TASK);
        cpu.awake = self.now;
        cpu.burst_end = Nanos::MAX;
        cpu.slice_end = Nanos::MAX;
        self.view.runs(index, None);
    }

    /// A processor has nothing to run.
    pub fn idle(&mut self, index: usize) {
        if self.cpus[index].running != NO_TASK {
            self.vacate(index);
        }
        if self.speeds.is_some() {
            self.change_speeds(index, false, 0);
        }
        self.cpus[index].overhead = 0;
        self.cpus[index].idle_since = self.now;
        self.view.processors[index].billed = None;
        self.emit(Kind::Idle, u8::from(self.disk_waiters > 0), index as CpuId, NO_TASK, 0, 0);
    }

    /// A processor has something to run, or nothing any more: those that share with it become slower or faster. Gives what
    /// the switch to it then costs.
    #[cold]
    #[inline(never)]
    pub fn change_speeds(&mut self, cpu: usize, runs: bool, switch: Nanos) -> Nanos {
        let Some(speeds) = &mut self.speeds else { return switch };
        let changed = speeds.note(cpu, runs);
        let cost = speeds.overhead(cpu, switch);
        self.cpus[cpu].speed = speeds.now(cpu);
        let affected = if changed { speeds.affected(cpu) } else { 0 };
        for n in 0..affected {
            let Some(other) = self.speeds.as_ref().map(|speeds| speeds.other(cpu, n)) else { break };
            self.settle(other);
            let speed = self.speeds.as_ref().map_or(FULL, |speeds| speeds.now(other));
            self.cpus[other].go_on_at(self.now, speed);
            self.changes::<false>(other);
        }
        cost
    }

    /// One more or one less task waits for the drive; what idle processors wait for may have changed.
    pub fn count_disk_waiters(&mut self, before: u32, after: u32) {
        self.disk_waiters = after;
        if (before > 0) == (after > 0) {
            return;
        }
        for index in 0..self.cpus.len() {
            // A processor that is about to choose is not idle.
            if self.cpus[index].running == NO_TASK && !self.wishes.resched.has(index as CpuId) {
                self.emit(Kind::Idle, u8::from(after > 0), index as CpuId, NO_TASK, 0, 0);
            }
        }
    }

    /// A task that has `left` to run comes to a processor, where it `stayed` if no other task has run there since: how long
    /// its run takes here.
    pub fn move_in(&mut self, cpu: usize, task: TaskId, left: Nanos, stayed: bool) -> Nanos {
        let before = std::mem::replace(&mut self.processes[task as usize].ran_on, cpu as CpuId);
        let moved = before != cpu as CpuId;
        if moved && before != CpuId::MAX {
            self.cpus[cpu].overhead += self.costs.migration;
        }
        let node = self.view.topology.place(cpu as CpuId).node;
        let Some(caches) = &mut self.caches else { return left };
        if !stayed {
            caches.enter(cpu, task, node, moved);
        }
        self.load(cpu, left)
    }

    /// How long a burst takes with the data that it must load.
    pub fn load(&mut self, cpu: usize, length: Nanos) -> Nanos {
        let loaded = self.caches.as_mut().map_or(0, |caches| caches.load(cpu, length));
        length.saturating_add(loaded)
    }
}

/// What observers are to know of the reason for which a task is queued again.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn leave_of(why: Enqueue) -> Leave {
    match why {
        Enqueue::SliceEnd => Leave::SliceEnd,
        Enqueue::Yield => Leave::Yielded,
        Enqueue::New | Enqueue::Wakeup | Enqueue::Preempted | Enqueue::Migrate => Leave::Preempted,
    }
}
