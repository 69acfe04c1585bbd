//! The loop: takes the next event, lets the kernel act on it, chooses the task that runs.
//!
//! Order of events: by time, and at equal times by class ([`Next`]): a CPU burst ends, a timer expires, the clock ticks, a
//! slice ends; within a class by processor, or by the order in which timers were set. Nothing else decides, so a run is a
//! pure function of scenario and seed.

use crate::{
    cpu::Cpu,
    kernel::{Kernel, Personality},
    process::Mode,
    standing_still::MOST_STEPS_AT_ONCE,
};
use schedlab_model::{
    Nanos,
    event::{Leave, NO_TASK, Observer},
    machine::Preemption,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Enqueue, Scheduler};

/// What happens next. Of two at the same time, the first in this order goes first.
#[derive(Clone, Copy)]
enum Next {
    /// The CPU burst of a processor's running task ends.
    Burst(usize),
    /// A timer expires.
    Timer,
    /// The clock ticks.
    Tick,
    /// The slice of a processor's running task ends, or an idle one has left its idle state.
    Slice(usize),
    /// Nothing more, up to the limit.
    End,
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Runs until every awaited task has ended, or nothing more happens up to the limit.
    pub fn run_to_limit(&mut self) {
        // Asked first and on its own: then the loop that is never called is not compiled, either.
        if O::ONE_LOOP {
            self.run_all::<false>();
        } else if self.cpus.len() == 1 {
            self.run_all::<true>();
        } else {
            self.run_all::<false>();
        }
    }

    /// The loop. With `ONE` processor, its number is a constant for the compiler.
    fn run_all<const ONE: bool>(&mut self) {
        let mut rounds = 0u32;
        let mut checked: Nanos = Nanos::MAX;
        while self.awaited > 0 || self.endless {
            let next = self.next::<ONE>();
            if matches!(next, Next::Timer | Next::Tick) && self.pass_ticks() {
                continue;
            }
            // The processor whose task is to run but has no burst.
            let mut over = match next {
                Next::Burst(cpu) => {
                    self.changes::<ONE>(cpu);
                    self.now = self.cpus[cpu].burst_end;
                    self.settle_running(cpu);
                    Some(cpu)
                }
                Next::Timer => {
                    self.now = self.timers.next();
                    self.timer_expired::<ONE>();
                    None
                }
                Next::Tick => {
                    self.now = self.clock.next;
                    self.tick();
                    None
                }
                Next::Slice(cpu) => {
                    self.changes::<ONE>(cpu);
                    self.now = self.cpus[cpu].slice_end;
                    self.slice_ended(cpu).then_some(cpu)
                }
                Next::End => break,
            };
            loop {
                if let Some(cpu) = over {
                    self.advance(cpu);
                }
                rounds = rounds.wrapping_add(1);
                if rounds.is_multiple_of(MOST_STEPS_AT_ONCE) && std::mem::replace(&mut checked, self.now) == self.now {
                    return self.stand_still(self.view.waker);
                }
                if !self.wishes.moves.is_empty() {
                    self.carry_out_moves();
                }
                let Some(cpu) = self.wishes.resched.take_one::<ONE>() else { break };
                self.changes::<ONE>(cpu);
                let preempts = self.preemption == Preemption::Full || self.preempt_or_defer(cpu);
                over = (preempts && self.schedule(cpu)).then_some(cpu);
            }
            if !self.wishes.timers.is_empty() {
                self.set_scheduler_timers();
            }
        }
    }

    /// What happens next.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn next<const ONE: bool>(&mut self) -> Next {
        let cpu = if ONE { 0 } else { self.earliest() };
        let ends = self.cpus[cpu].next();
        let burst = self.cpus[cpu].burst_end == ends;
        let timer = self.timers.next();
        let other = timer.min(self.clock.next);
        if ends < other || burst && ends == other {
            return match ends > self.limit {
                true => Next::End,
                false if burst => Next::Burst(cpu),
                false => Next::Slice(cpu),
            };
        }
        match other > self.limit || self.nothing_happens::<ONE>() {
            true => Next::End,
            false if timer == other => Next::Timer,
            false => Next::Tick,
        }
    }

    /// Whether nothing but clock ticks can happen any more: every task that is left waits for another one.
    pub fn stalled(&self) -> bool {
        if self.cpus.len() == 1 { self.nothing_happens::<true>() } else { self.nothing_happens::<false>() }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn nothing_happens<const ONE: bool>(&self) -> bool {
        let idle = |cpu: &Cpu| cpu.running == NO_TASK && cpu.next() == Nanos::MAX;
        let all_idle = if ONE { idle(&self.cpus[0]) } else { self.cpus.iter().all(idle) };
        all_idle && self.timers.len() <= self.perpetual && !self.has_alarms()
    }

    fn has_alarms(&self) -> bool {
        match &self.personality {
            Personality::MessagePassing(servers) => servers.has_alarms(),
            Personality::Monolithic(_) => false,
        }
    }

    /// Whether a processor's task is preempted now. If it is inside a kernel that does not allow that, its preemption is put off
    /// until it leaves the kernel.
    fn preempt_or_defer(&mut self, cpu: usize) -> bool {
        let at_once = self.wishes.at_once.has(cpu as CpuId);
        self.wishes.at_once.remove(cpu as CpuId);
        let state = &self.cpus[cpu];
        let in_kernel = state.running != NO_TASK && state.leaving != Enqueue::Yield && state.mode == Mode::System;
        let deferred = in_kernel && !at_once && !self.checks_often(state.running);
        if deferred {
            self.deferred.insert(cpu as CpuId);
            self.cpus[cpu].slice_end = Nanos::MAX;
        } else {
            self.deferred.remove(cpu as CpuId);
        }
        !deferred
    }

    /// Whether a task is in a call in which a kernel of voluntary preemption checks every few pages whether to preempt it
    /// (`cond_resched`).
    fn checks_often(&self, task: TaskId) -> bool {
        self.preemption == Preemption::Voluntary && self.processes[task as usize].goes_through_memory()
    }

    /// What a processor does next may change: where there are many, that is noted.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn changes<const ONE: bool>(&mut self, cpu: usize) {
        if !ONE && let Some(earliest) = &mut self.earliest {
            earliest.changes(cpu);
        }
    }

    /// The processor whose running task has something to do first.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn earliest(&mut self) -> usize {
        let Some(earliest) = &mut self.earliest else { return self.earliest_of_few() };
        let first = earliest.first(&self.cpus);
        debug_assert_eq!(first, self.earliest_of_few(), "a change was not noted");
        first
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn earliest_of_few(&self) -> usize {
        let mut best = (0, self.cpus[0].next());
        for index in 1..self.cpus.len() {
            // The end of a burst goes before the end of a slice at the same time.
            let cpu = &self.cpus[index];
            let next = cpu.next();
            if next < best.1 || next == best.1 && cpu.burst_end == next && self.cpus[best.0].burst_end != next {
                best = (index, next);
            }
        }
        best.0
    }

    /// The running task is preempted, or will be when it leaves the kernel; nothing else has requested a choice. Returns whether
    /// the task that runs then has no burst.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn slice_ended(&mut self, cpu: usize) -> bool {
        if self.cpus[cpu].running == NO_TASK {
            return self.schedule_out_of_idle_state(cpu);
        }
        if self.preemption == Preemption::Full || self.preempt_or_defer(cpu) {
            let task = self.cpus[cpu].running;
            return self.schedule_running(cpu, task, Enqueue::SliceEnd);
        }
        self.cpus[cpu].leaving = Enqueue::SliceEnd;
        false
    }

    /// The run ends: what is under way is accounted for.
    pub fn stop(&mut self) {
        for cpu in 0..self.cpus.len() {
            let task = self.cpus[cpu].running;
            if task != NO_TASK {
                self.settle(cpu);
                let left = self.switch_out(cpu, task, Leave::Stopped);
                self.observer.observe(left);
            }
        }
    }
}
