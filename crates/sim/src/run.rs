//! THE LOOP: takes the next thing that happens, lets the kernel act on it, chooses who runs.
//!
//! Order of events: by time, and at equal times by class: a stretch of running ends, a timer expires, the clock ticks, a
//! slice ends; within a class by processor, or by the order in which timers were set. Nothing else decides, so a run is a
//! pure function of scenario and seed.

use crate::{
    accounting::{Cpu, leave_of},
    boot::Costs,
    caches::Caches,
    clock::Clock,
    messages::Servers,
    process::{Mode, Process, State},
    services::{Device, Resources},
    standing_still::MOST_STEPS_AT_ONCE,
    storage::Storage,
    timers::Timers,
};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Leave, NO_TASK, Observer},
    machine::Preemption,
    processors::PerProcessor,
    rng::Rng,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Balance, Context, Dequeue, Enqueue, Pick, Preempt, Scheduler, View, Wishes};
use schedlab_workloads::Programs;

/// The limit of a run that has none: later than anything that happens, earlier than what never happens.
pub(crate) const FOREVER: Nanos = Nanos::MAX - 1;

/// How a system call is carried out.
pub(crate) enum Personality {
    /// In the caller's context.
    Monolithic(Box<Storage>),
    /// By servers.
    MessagePassing(Box<Servers>),
}

/// A simulated kernel under one scheduler, with one listener.
pub(crate) struct Kernel<S, O> {
    pub now: Nanos,
    pub limit: Nanos,
    pub scheduler: S,
    pub observer: O,
    /// What the scheduler sees, in one place, so that a hook is handed one reference to it.
    pub view: View,
    pub wishes: Wishes,
    pub processes: Vec<Process>,
    pub cpus: PerProcessor<Cpu>,
    pub timers: Timers,
    pub clock: Clock,
    /// The statistics clock, if there is one apart.
    pub stat_clock: Option<Clock>,
    /// Whether ticks that only count may be passed over, see [`Kernel::boot`].
    pub passes_ticks: bool,
    /// Timers expire at ticks only.
    pub tick_timers: bool,
    pub costs: Costs,
    pub sampled: bool,
    /// Interrupts and switching are charged to whoever runs.
    pub charges_interrupts: bool,
    pub preemption: Preemption,
    /// Processors whose task is to give way as soon as it leaves the kernel, a bit each.
    pub deferred: u64,
    pub policy_rng: Rng,
    /// What moving from task to task and from processor to processor costs in caches, if it does.
    pub caches: Option<Box<Caches>>,
    pub devices: Vec<Device>,
    pub device_rng: Rng,
    /// Timers that are always set: of devices and of the statistics clock.
    pub perpetual: usize,
    pub programs: Programs,
    /// For each job, whether the run waits for it.
    pub finite: Vec<bool>,
    /// Tasks that the run waits for.
    pub awaited: u32,
    /// No job ends by itself: the run goes on to its limit.
    pub endless: bool,
    pub personality: Personality,
    pub resources: Resources,
    /// Tasks that wait for the drive.
    pub disk_waiters: u32,
    /// The task that goes on and on while the clock stands still.
    pub stuck: Option<TaskId>,
    pub seed: u64,
}

/// What a policy may see of this kernel, borrowed apart from the policy itself.
macro_rules! context {
    ($kernel:ident) => {
        Context { now: $kernel.now, view: &$kernel.view, rng: &mut $kernel.policy_rng, wishes: &mut $kernel.wishes }
    };
}
pub(crate) use context;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Runs until every awaited task has ended, or nothing more happens up to the limit.
    pub fn run_to_limit(&mut self) {
        if self.cpus.count() == 1 { self.run_all::<true>() } else { self.run_all::<false>() }
    }

    /// The loop. Where there is but `ONE` processor, its number is known to the compiler: it finds all of it at once.
    fn run_all<const ONE: bool>(&mut self) {
        let mut rounds = 0u32;
        let mut checked: Nanos = Nanos::MAX;
        while self.awaited > 0 || self.endless {
            let (cpu, ends) = if ONE { (0, self.cpus[0].next()) } else { self.earliest() };
            let burst = self.cpus[cpu].burst_end == ends;
            let other = self.timers.next().min(self.clock.next);
            // Where a task has no stretch to run, and is to go on.
            let mut over = if ends < other || burst && ends == other {
                if ends > self.limit {
                    break;
                }
                self.now = ends;
                let over = if burst { self.burst_ended(cpu) } else { self.slice_ended(cpu) };
                over.then_some(cpu)
            } else {
                if other > self.limit || self.nothing_happens::<ONE>() {
                    break;
                }
                if S::PASSES_TICKS && self.pass_ticks(ends) {
                    continue;
                }
                self.now = other;
                if self.timers.next() == other {
                    self.timer_expired()
                } else {
                    self.tick()
                }
                None
            };
            loop {
                if let Some(cpu) = over {
                    self.advance(cpu);
                }
                rounds = rounds.wrapping_add(1);
                if rounds.is_multiple_of(MOST_STEPS_AT_ONCE) && std::mem::replace(&mut checked, self.now) == self.now {
                    return self.stand_still(self.view.waker);
                }
                if self.wishes.resched == 0 {
                    break;
                }
                let cpu = if ONE { 0 } else { self.wishes.resched.trailing_zeros() as usize };
                self.wishes.resched &= self.wishes.resched - 1;
                let gives_way = self.preemption == Preemption::Full || self.lets_go(cpu);
                over = (gives_way && self.schedule(cpu)).then_some(cpu);
            }
            if !self.wishes.timers.is_empty() {
                self.set_scheduler_timers();
            }
        }
    }

    /// Whether nothing but clock ticks can happen any more: every task that is left waits for another one.
    pub fn stalled(&self) -> bool {
        if self.cpus.count() == 1 { self.nothing_happens::<true>() } else { self.nothing_happens::<false>() }
    }

    #[inline(always)]
    fn nothing_happens<const ONE: bool>(&self) -> bool {
        let idle = |cpu: &Cpu| cpu.running == NO_TASK;
        let all_idle = if ONE { idle(&self.cpus[0]) } else { self.cpus.iter().all(idle) };
        all_idle && self.timers.len() <= self.perpetual && !self.has_alarms()
    }

    fn has_alarms(&self) -> bool {
        match &self.personality {
            Personality::MessagePassing(servers) => servers.has_alarms(),
            Personality::Monolithic(_) => false,
        }
    }

    /// Whether a processor's task can be made to give way now. If not, it will as soon as it leaves the kernel.
    fn lets_go(&mut self, cpu: usize) -> bool {
        let bit = 1 << cpu;
        let at_once = self.wishes.at_once & bit != 0;
        self.wishes.at_once &= !bit;
        let state = &self.cpus[cpu];
        let in_kernel = state.running != NO_TASK && state.leaving != Enqueue::Yield && state.mode == Mode::System;
        let holds = in_kernel && !at_once && !self.looks_all_along(state.running);
        if holds {
            self.deferred |= bit;
            self.cpus[cpu].slice_end = Nanos::MAX;
        } else {
            self.deferred &= !bit;
        }
        !holds
    }

    /// Whether a task is in a call in which a kernel of voluntary preemption looks after every few pages.
    fn looks_all_along(&self, task: TaskId) -> bool {
        self.preemption == Preemption::Voluntary && self.processes[task as usize].goes_through_memory()
    }

    /// The processor whose running task has something to do first, and when.
    #[inline(always)]
    fn earliest(&self) -> (usize, Nanos) {
        let mut best = (0, self.cpus[0].next());
        for index in 1..self.cpus.count() {
            // An ended stretch goes before an ended slice at the same time.
            let cpu = &self.cpus[index];
            let next = cpu.next();
            if next < best.1 || next == best.1 && cpu.burst_end == next && self.cpus[best.0].burst_end != next {
                best = (index, next);
            }
        }
        best
    }

    /// Whoever runs has no stretch any more.
    #[inline(always)]
    fn burst_ended(&mut self, cpu: usize) -> bool {
        self.settle_running(cpu);
        true
    }

    /// Whoever runs gives way now, if the kernel lets go of it; nothing else has asked for a choice. Tells whether who runs
    /// then has no stretch.
    #[inline(always)]
    fn slice_ended(&mut self, cpu: usize) -> bool {
        if self.preemption == Preemption::Full || self.lets_go(cpu) {
            let task = self.cpus[cpu].running;
            return self.relieve(cpu, task, Enqueue::SliceEnd);
        }
        self.cpus[cpu].leaving = Enqueue::SliceEnd;
        false
    }

    /// Chooses who runs on a processor, and puts it there. Tells whether that task has no stretch to run.
    #[inline(always)]
    fn schedule(&mut self, cpu: usize) -> bool {
        let task = self.cpus[cpu].running;
        let why = std::mem::replace(&mut self.cpus[cpu].leaving, Enqueue::Preempted);
        if task == NO_TASK { self.fill(cpu) } else { self.relieve(cpu, task, why) }
    }

    /// Chooses who runs on a processor that has nobody.
    #[inline(always)]
    fn fill(&mut self, cpu: usize) -> bool {
        self.cpus[cpu].settled = self.now;
        let Some(pick) = self.choose(cpu) else {
            self.idle(cpu);
            return false;
        };
        let stayed = self.cpus[cpu].last == pick.task;
        let signals = self.take_in(cpu, pick, stayed);
        self.observer.observe(self.switched_in(cpu, pick.task));
        self.start(cpu, pick.task, signals)
    }

    /// Chooses who runs on a processor whose task gives way: the same one or another.
    #[inline(always)]
    fn relieve(&mut self, cpu: usize, task: TaskId, why: Enqueue) -> bool {
        self.settle_running(cpu);
        self.scheduler.enqueue(&mut context!(self), cpu as CpuId, task, why);
        match self.choose(cpu) {
            Some(pick) if pick.task == task => {
                self.cpus[cpu].slice_end = pick.slice.map_or(Nanos::MAX, |slice| self.now + slice);
                false
            }
            Some(pick) => {
                let left = self.take_off(cpu, task, leave_of(why));
                let signals = self.take_in(cpu, pick, false);
                self.observer.observe_switch(left, self.switched_in(cpu, pick.task));
                self.start(cpu, pick.task, signals)
            }
            None => {
                self.switch_out(cpu, task, leave_of(why));
                self.idle(cpu);
                false
            }
        }
    }

    /// The policy's choice; an idle processor may pull a task from another.
    #[inline(always)]
    fn choose(&mut self, cpu: usize) -> Option<Pick> {
        let cpu = cpu as CpuId;
        let pick = self.scheduler.pick_next(&mut context!(self), cpu);
        if pick.is_some() || self.cpus.count() == 1 {
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
    #[inline(always)]
    fn place(&mut self, task: TaskId, why: Enqueue) -> CpuId {
        if self.cpus.count() == 1 {
            return 0;
        }
        let cpu = self.scheduler.select_cpu(&mut context!(self), task, why);
        let from = std::mem::replace(&mut self.view.tasks[task as usize].cpu, cpu);
        if from != cpu {
            self.emit(Kind::Migrated, 0, cpu, task, from.into(), 0);
        }
        cpu
    }

    /// A task that waited, or is new, becomes able to run.
    #[inline(never)]
    pub fn wake(&mut self, task: TaskId, why: Enqueue) {
        self.make_ready(task, why);
    }

    /// As [`Kernel::wake`], where it is hot.
    #[inline(always)]
    pub fn make_ready(&mut self, task: TaskId, why: Enqueue) {
        let process = &mut self.processes[task as usize];
        process.state = State::Runnable;
        if S::USER_RETURNS {
            process.mode = Mode::System; // in which it waited
        }
        if S::CLAIRVOYANT {
            self.foresee(task);
        }
        let cpu = self.place(task, why);
        self.emit(Kind::Wakeup, u8::from(why == Enqueue::New), cpu, task, 0, 0);
        let running = self.cpus[cpu as usize].running;
        if running == NO_TASK {
            self.scheduler.enqueue(&mut context!(self), cpu, task, why);
            self.wishes.resched |= 1 << cpu;
            return;
        }
        if S::SETTLES {
            self.settle(cpu as usize); // the policy compares up-to-date times
        }
        self.scheduler.enqueue(&mut context!(self), cpu, task, why);
        let preempts = self.scheduler.wakeup_preempts(&mut context!(self), cpu, running, task);
        self.wishes.resched |= u64::from(preempts != Preempt::No) << cpu;
        self.wishes.at_once |= u64::from(preempts == Preempt::AtOnce) << cpu;
    }

    /// The running task, whose time is settled, stops being able to run.
    #[inline(never)]
    pub fn block(&mut self, cpu: usize, state: State) {
        self.give_up(cpu, state);
    }

    /// As [`Kernel::block`], where it is hot.
    #[inline(always)]
    pub fn give_up(&mut self, cpu: usize, state: State) {
        let task = self.cpus[cpu].running;
        debug_assert!(self.cpus[cpu].settled == self.now);
        self.processes[task as usize].state = state;
        let (why, leave) = match state {
            State::Waiting(wait) => (Dequeue::Sleep(wait), Leave::Blocked),
            _ => (Dequeue::Exit, Leave::Exited),
        };
        self.scheduler.dequeue(&mut context!(self), cpu as CpuId, task, why);
        self.switch_out(cpu, task, leave);
        self.vacate(cpu);
        self.wishes.resched |= 1 << cpu;
    }

    /// Whether this task belongs to the kernel itself.
    #[inline]
    pub fn is_kernel(&self, task: TaskId) -> bool {
        self.processes[task as usize].kernel
    }

    #[inline(always)]
    pub fn emit(&mut self, kind: Kind, flag: u8, cpu: CpuId, task: TaskId, a: u64, b: u64) {
        self.observer.observe(Event { time: self.now, a, b, task, cpu, kind, flag });
    }

    /// The run ends: what is under way is accounted for.
    pub fn stop(&mut self) {
        for cpu in 0..self.cpus.count() {
            let task = self.cpus[cpu].running;
            if task != NO_TASK {
                self.settle(cpu);
                self.switch_out(cpu, task, Leave::Stopped);
            }
        }
    }
}
