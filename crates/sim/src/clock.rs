//! The clocks: when they tick, and what a tick does. The periodic one drives the scheduler; a statistics clock, where there
//! is one, samples who runs.

use crate::{
    run::{Kernel, context},
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, NO_TASK, Observer},
    machine::Preemption,
    task::CpuId,
};
use schedlab_policies::schedulers::{Balance, Context, Scheduler};

/// The periodic clock: tick k comes at phase + k / hz, in whole ns and without drift.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    /// Length of a tick, rounded.
    pub tick: Nanos,
    /// A thousand times the ticks per second.
    pub millihertz: u64,
    pub phase: Nanos,
    /// Ticks so far.
    pub count: u64,
    /// The time of the next tick; never, if nobody needs ticks.
    pub next: Nanos,
}

impl Clock {
    pub fn advance(&mut self) {
        self.count += 1;
        self.next = self.phase + self.length_of(self.count);
    }

    /// So many ticks, in ns.
    fn length_of(&self, ticks: u64) -> Nanos {
        (u128::from(ticks) * 1_000_000_000_000 / u128::from(self.millihertz)) as Nanos
    }

    /// The first tick at or after a time.
    pub fn tick_from(&self, time: Nanos) -> Nanos {
        let Some(since) = time.checked_sub(self.phase) else { return self.phase };
        let ticks = (u128::from(since) * u128::from(self.millihertz) / 1_000_000_000_000) as u64;
        let before = self.length_of(ticks);
        self.phase.saturating_add(if before == since { before } else { self.length_of(ticks + 1) })
    }
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The clock interrupt, on every processor.
    pub fn tick(&mut self) {
        self.acting = NO_TASK;
        self.clock.advance();
        if self.preemption == Preemption::Lazy {
            self.wishes.resched |= self.deferred;
            self.wishes.at_once |= self.deferred;
        }
        for cpu in 0..self.cpus.len() {
            self.emit(Kind::Interrupt, 0, cpu as CpuId, NO_TASK, Irq::Clock as u64, 0);
            self.steal(cpu, self.costs.clock_interrupt);
            if self.stat_clock.is_none() {
                self.stat_tick_on(cpu, self.clock.tick);
            }
            if self.clock_task_needed(cpu) {
                self.notify_clock_task(cpu);
            } else if S::TICKS {
                self.settle(cpu);
                self.scheduler.tick(&mut context!(self), cpu as CpuId);
            }
            while let Some(task) = self.scheduler.balance(&mut context!(self), cpu as CpuId, Balance::Tick) {
                self.migrate(task, cpu as CpuId);
                if self.cpus[cpu].running == NO_TASK {
                    self.wishes.resched |= 1 << cpu;
                }
            }
        }
    }

    /// The interrupt of the statistics clock, on every processor.
    pub fn stat_tick(&mut self) {
        let Some(clock) = &mut self.stat_clock else { return };
        clock.advance();
        let (next, tick) = (clock.next, clock.tick);
        self.set_timer(next, Expiry::Stat);
        for cpu in 0..self.cpus.len() {
            self.stat_tick_on(cpu, tick);
        }
    }

    #[inline(always)]
    fn stat_tick_on(&mut self, cpu: usize, tick: Nanos) {
        if self.sampled {
            self.sample(cpu, tick);
        }
        if S::STAT_TICKS {
            self.settle(cpu);
            self.scheduler.stat_tick(&mut context!(self), cpu as CpuId);
        }
    }
}
