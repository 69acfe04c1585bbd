//! Choosing: which task runs on a processor, where a woken task goes, and how a task comes to be able to run and stops being so.

use crate::{
    accounting::leave_of,
    kernel::{Kernel, context},
    process::{Mode, State},
};
use schedlab_model::{
    Nanos,
    event::{Kind, Leave, NO_TASK, Observer, Waker},
    machine::exit_latency,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Balance, Context, Dequeue, Enqueue, Pick, Preempt, Scheduler};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Chooses the task that runs on a processor, and puts it there. Returns whether that task has no burst to run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn schedule(&mut self, cpu: usize) -> bool {
        let task = self.cpus[cpu].running;
        let why = std::mem::replace(&mut self.cpus[cpu].leaving, Enqueue::Preempted);
        match task {
            NO_TASK if !self.costs.idle_states.is_empty() => self.leave_idle_state(cpu),
            NO_TASK => self.schedule_idle(cpu),
            _ => self.schedule_running(cpu, task, why),
        }
    }

    /// An idle processor is interrupted, and chooses as soon as it has left its idle state. Returns whether it has, and the task that runs
    /// then has no burst.
    #[cold]
    fn leave_idle_state(&mut self, cpu: usize) -> bool {
        let awake = self.awake(cpu);
        let state = &mut self.cpus[cpu];
        state.slice_end = state.slice_end.min(awake);
        if state.slice_end == self.now {
            return self.schedule_out_of_idle_state(cpu);
        }
        if self.speeds.as_ref().is_some_and(|speeds| speeds.take_turns()) {
            self.change_speeds(cpu, true, 0); // to leave it takes instructions
        }
        false
    }

    /// When an idle processor that is interrupted now is out of its idle state. It may be, or have begun to leave it, before.
    pub fn awake(&mut self, cpu: usize) -> Nanos {
        let state = &mut self.cpus[cpu];
        let latency = exit_latency(&self.costs.idle_states, self.now - state.idle_since);
        let end = self.now + self.speeds.as_ref().map_or(latency, |speeds| speeds.overhead(cpu, latency));
        state.awake = if state.awake < self.now { end } else { state.awake.min(end) };
        state.awake
    }

    /// A processor that has left its idle state chooses. Returns whether the task that runs then has no burst.
    #[cold]
    pub fn schedule_out_of_idle_state(&mut self, cpu: usize) -> bool {
        self.cpus[cpu].slice_end = Nanos::MAX;
        self.schedule_idle(cpu)
    }

    /// Chooses the task that runs on an idle processor.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn schedule_idle(&mut self, cpu: usize) -> bool {
        self.cpus[cpu].settled = self.now;
        let Some(pick) = self.choose(cpu) else {
            self.idle(cpu);
            return false;
        };
        let stayed = self.cpus[cpu].last == pick.task;
        let signals = self.switch_in(cpu, pick, stayed);
        self.observer.observe(self.switched_in(cpu, pick.task));
        self.start(cpu, pick.task, signals)
    }

    /// Chooses the task that runs on a processor whose task is put back into the runqueue: the same one or another.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn schedule_running(&mut self, cpu: usize, task: TaskId, why: Enqueue) -> bool {
        self.settle_running(cpu);
        self.scheduler.enqueue(&mut context!(self), cpu as CpuId, task, why);
        match self.choose(cpu) {
            Some(pick) if pick.task == task => {
                self.cpus[cpu].slice_end = pick.slice.map_or(Nanos::MAX, |slice| self.now + slice);
                false
            }
            Some(pick) => {
                let left = self.switch_out(cpu, task, leave_of(why));
                let signals = self.switch_in(cpu, pick, false);
                self.observer.observe_switch(left, self.switched_in(cpu, pick.task));
                self.start(cpu, pick.task, signals)
            }
            None => {
                let left = self.switch_out(cpu, task, leave_of(why));
                self.observer.observe(left);
                self.idle(cpu);
                false
            }
        }
    }

    /// The policy's choice; an idle processor may pull a task from another.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn choose(&mut self, cpu: usize) -> Option<Pick> {
        let cpu = cpu as CpuId;
        let pick = self.scheduler.pick_next(&mut context!(self), cpu);
        if pick.is_some() || self.cpus.len() == 1 {
            return pick;
        }
        let task = self.scheduler.balance(&mut context!(self), cpu, Balance::Idle)?;
        self.migrate(task, cpu);
        self.scheduler.pick_next(&mut context!(self), cpu)
    }

    /// Moves a queued task to another processor.
    pub fn migrate(&mut self, task: TaskId, to: CpuId) {
        let from = self.view.tasks[task as usize].cpu;
        debug_assert!(self.processes[task as usize].state == State::Runnable && from != to);
        self.scheduler.dequeue(&mut context!(self), from, task, Dequeue::Migrate);
        self.view.tasks[task as usize].cpu = to;
        self.emit(Kind::Migrated, 0, to, task, from.into(), 0);
        self.scheduler.enqueue(&mut context!(self), to, task, Enqueue::Migrate);
    }

    /// The policy's choice of a processor for a new or woken task; there is none to make where there is but one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn place<const ONE: bool>(&mut self, task: TaskId, why: Enqueue) -> CpuId {
        if ONE || self.cpus.len() == 1 {
            return 0;
        }
        let begins = if why == Enqueue::New { self.begins_on(task) } else { None };
        let cpu = begins.unwrap_or_else(|| self.scheduler.select_cpu(&mut context!(self), task, why));
        let from = std::mem::replace(&mut self.view.tasks[task as usize].cpu, cpu);
        if from != cpu {
            self.emit(Kind::Migrated, u8::from(why == Enqueue::New), cpu, task, from.into(), 0);
        }
        cpu
    }

    /// [`Kernel::wake`], where it is rare.
    #[cold]
    #[inline(never)]
    pub fn wake_rarely(&mut self, task: TaskId, why: Enqueue) {
        self.wake::<false>(task, why);
    }

    /// What makes a task able to run, and on which processor: interrupts come on the one that the task had last. Tasks that a run begins
    /// with, or that arrive in it, are made by nothing.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn waker(&self, task: TaskId, why: Enqueue) -> (Waker, CpuId) {
        match self.view.waker {
            Some(waker) => (Waker::Task(waker), self.view.tasks[waker as usize].cpu),
            None if why == Enqueue::New => (Waker::Unknown, 0),
            None => (Waker::Interrupt, self.view.tasks[task as usize].cpu),
        }
    }

    /// A task that waited, or is new, becomes able to run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn wake<const ONE: bool>(&mut self, task: TaskId, why: Enqueue) {
        let process = &mut self.processes[task as usize];
        process.state = State::Runnable;
        if S::FEATURES.user_returns {
            process.mode = Mode::System; // in which it waited
        }
        if S::FEATURES.clairvoyant {
            self.foresee(task);
        }
        let (by, on) = self.waker(task, why);
        let cpu = self.place::<ONE>(task, why);
        self.emit(Kind::Wakeup, u8::from(why == Enqueue::New), cpu, task, by.packed(), on.into());
        let running = self.cpus[cpu as usize].running;
        if self.replayed.is_some() && why == Enqueue::Wakeup {
            self.note_wakeup(task, running == NO_TASK);
        }
        if running == NO_TASK {
            self.scheduler.enqueue(&mut context!(self), cpu, task, why);
            self.wishes.resched.insert(cpu);
            return;
        }
        if S::FEATURES.charges_at_wakeups {
            self.settle(cpu as usize); // the policy compares up-to-date times
        }
        self.scheduler.enqueue(&mut context!(self), cpu, task, why);
        let preempts = self.scheduler.wakeup_preempts(&mut context!(self), cpu, running, task);
        self.wishes.resched.insert_if(cpu, preempts != Preempt::No);
        self.wishes.at_once.insert_if(cpu, preempts == Preempt::AtOnce);
    }

    /// [`Kernel::block`], where it is rare.
    #[cold]
    #[inline(never)]
    pub fn block_rarely(&mut self, cpu: usize, state: State) {
        self.block(cpu, state);
    }

    /// The running task, whose time is settled, stops being able to run.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn block(&mut self, cpu: usize, state: State) {
        let task = self.cpus[cpu].running;
        debug_assert!(self.cpus[cpu].settled == self.now);
        self.processes[task as usize].state = state;
        let (why, leave) = match state {
            State::Waiting(wait) => (Dequeue::Sleep(wait), Leave::Blocked),
            _ => (Dequeue::Exit, Leave::Exited),
        };
        self.scheduler.dequeue(&mut context!(self), cpu as CpuId, task, why);
        let left = self.switch_out(cpu, task, leave);
        self.observer.observe(left);
        self.vacate(cpu);
        self.wishes.resched.insert(cpu as CpuId);
    }
}
