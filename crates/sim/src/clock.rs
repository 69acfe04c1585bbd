//! The clocks: when they tick, and what a tick does. The periodic one drives the scheduler; a statistics clock, where there
//! is one, samples who runs.

use crate::{
    run::{Kernel, context},
    timers::Expiry,
};
use schedlab_model::{
    Nanos, SECOND,
    event::{Irq, Kind, NO_TASK, Observer},
    machine::Preemption,
    task::CpuId,
};
use schedlab_policies::schedulers::{Balance, Context, Scheduler};

/// The time in which there are `millihertz` ticks.
const SPAN: Nanos = 1000 * SECOND;

/// The periodic clock: tick k comes at phase + k / hz, in whole ns and without drift.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    /// Length of a tick, rounded.
    pub tick: Nanos,
    /// A thousand times the ticks per second.
    pub millihertz: u64,
    pub phase: Nanos,
    /// What of a tick is shorter than a ns and has not been counted yet, in parts of which `millihertz` make a ns.
    pub fraction: u64,
    /// The time of the next tick; never, if nobody needs ticks.
    pub next: Nanos,
}

impl Clock {
    #[inline(always)]
    pub fn advance(&mut self) {
        self.fraction += SPAN - self.tick * self.millihertz;
        let whole = u64::from(self.fraction >= self.millihertz);
        self.fraction -= whole * self.millihertz;
        self.next += self.tick + whole;
    }

    /// So many ticks, in ns.
    fn length_of(&self, ticks: u64) -> Nanos {
        (u128::from(ticks) * u128::from(SPAN) / u128::from(self.millihertz)) as Nanos
    }

    /// The first tick at or after a time.
    pub fn tick_from(&self, time: Nanos) -> Nanos {
        let Some(since) = time.checked_sub(self.phase) else { return self.phase };
        let ticks = (u128::from(since) * u128::from(self.millihertz) / u128::from(SPAN)) as u64;
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
            if self.cpus.len() > 1 {
                self.even_out(cpu);
            }
        }
    }

    /// The policy may pull queued tasks at a tick, where there is somewhere to pull them from.
    fn even_out(&mut self, cpu: usize) {
        while let Some(task) = self.scheduler.balance(&mut context!(self), cpu as CpuId, Balance::Tick) {
            self.migrate(task, cpu as CpuId);
            if self.cpus[cpu].running == NO_TASK {
                self.wishes.resched |= 1 << cpu;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_do_not_drift_at_rates_that_divide_no_second() {
        for millihertz in [1, 7, 18_207, 60_000, 99_999, 1_024_000, 1_193_182_000, 999_999_999] {
            let mut clock = Clock { tick: SPAN / millihertz, millihertz, phase: 5, fraction: 0, next: 5 };
            for count in 1..3000 {
                clock.advance();
                assert_eq!(clock.next, 5 + clock.length_of(count), "tick {count} of {millihertz}");
            }
        }
    }
}
