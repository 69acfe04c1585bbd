//! The clocks: when they tick, and what a tick does. The periodic one drives the scheduler; a statistics clock, where there
//! is one, samples who runs.

use crate::{
    accounting::Cpu,
    run::{Kernel, context},
    timers::Expiry,
};
use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Irq, Kind, NO_TASK, Observer},
    machine::Preemption,
    task::CpuId,
};
use schedlab_policies::schedulers::{Balance, Context, Scheduler, Ticks};

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

    /// Goes on by so many ticks at once; gives the time of the last of them.
    fn pass(&mut self, ticks: u64) -> Option<Nanos> {
        let before = ticks.checked_sub(1)?;
        let fraction = self.fraction + before * (SPAN - self.tick * self.millihertz);
        let last = self.next + before * self.tick + fraction / self.millihertz;
        (self.next, self.fraction) = (last, fraction % self.millihertz);
        self.advance();
        Some(last)
    }

    /// How many ticks come before a time; of a time too far away for 64 bits, some of them.
    ///
    ///   next + k ticks < time    while    k * SPAN < (time - next) * millihertz - fraction
    fn ticks_before(&self, time: Nanos) -> u64 {
        let ahead = time.saturating_sub(self.next).saturating_mul(self.millihertz);
        ahead.saturating_sub(self.fraction).div_ceil(SPAN)
    }

    /// As [`Clock::ticks_before`], but so many at most: where there are more, `time` becomes that of the first too many.
    fn quiet_before(&self, time: &mut Nanos, most: u64) -> u64 {
        let ticks = self.ticks_before(*time);
        if ticks <= most {
            return ticks;
        }
        let mut clock = self.clone();
        clock.pass(most);
        *time = clock.next;
        most
    }

    /// The times of so many ticks.
    fn times(&self, ticks: u64) -> impl ExactSizeIterator<Item = Nanos> + Clone + use<> {
        let mut clock = self.clone();
        (0..ticks as usize).map(move |_| {
            let time = clock.next;
            clock.advance();
            time
        })
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
        self.view.waker = None;
        self.clock.advance();
        if self.preemption == Preemption::Lazy {
            self.wishes.resched |= self.deferred;
            self.wishes.at_once |= self.deferred;
        }
        // The first one apart, since it is most often the only one, and its own code is the shorter for it.
        self.tick_on(0);
        if self.cpus.count() > 1 {
            self.tick_on_others();
        }
    }

    #[inline(never)]
    fn tick_on_others(&mut self) {
        self.even_out(0);
        for cpu in 1..self.cpus.count() {
            self.tick_on(cpu);
            self.even_out(cpu);
        }
    }

    #[inline(always)]
    fn tick_on(&mut self, cpu: usize) {
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
    }

    /// Where the next thing is a tick of either clock: passes over all ticks before anything else that the policy knows to
    /// change nothing but counts. Whether there were any.
    #[inline(always)]
    pub fn pass_ticks(&mut self) -> bool {
        let until = self.cpus[0].next().min(self.timers.next_in_heap()).min(self.limit + 1);
        let tick = self.clock.next.min(self.timers.next());
        self.passes_ticks && tick < until && self.pass_ticks_until(until)
    }

    #[inline(never)]
    fn pass_ticks_until(&mut self, mut until: Nanos) -> bool {
        let Cpu { running: task, overhead, .. } = self.cpus[0];
        if task == NO_TASK || self.deferred != 0 || S::WHOLE_TICKS && overhead > 0 {
            return false;
        }
        self.settle_running(0);
        let quiet = self.scheduler.quiet_ticks(&context!(self), 0, task);
        if quiet == Ticks::default() {
            return false;
        }
        let statistics = self.stat_clock.as_ref().filter(|_| S::STAT_TICKS);
        let mut samples = statistics.map_or(0, |clock| clock.quiet_before(&mut until, quiet.statistics));
        let before = until;
        let ticks = self.clock.quiet_before(&mut until, quiet.clock);
        if until < before {
            samples = samples.min(statistics.map_or(0, |clock| clock.ticks_before(until)));
        }
        if ticks + samples == 0 {
            return false;
        }
        self.view.waker = None;
        let ticked =
            Event { time: 0, a: Irq::Clock as u64, b: 0, task: NO_TASK, cpu: 0, kind: Kind::Interrupt, flag: 0 };
        self.observer.observe_row(ticked, self.clock.times(ticks));
        let last = [self.clock.pass(ticks), self.pass_statistics(samples)];
        self.now = last.into_iter().flatten().fold(self.now, Nanos::max);
        self.settle_running(0);
        self.scheduler.pass_ticks(&context!(self), 0, task, Ticks { clock: ticks, statistics: samples });
        true
    }

    /// So many ticks of the statistics clock are passed over: the time of the last.
    fn pass_statistics(&mut self, ticks: u64) -> Option<Nanos> {
        let clock = self.stat_clock.as_mut()?;
        let last = clock.pass(ticks)?;
        let then = clock.next;
        self.set_timer(then, Expiry::Stat);
        Some(last)
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
        for cpu in 0..self.cpus.count() {
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
    use schedlab_model::scenario::Scenario;
    use schedlab_policies::schedulers::{self, SCHEDULERS, Visitor};

    /// Hears everything, and counts the ticks that did not come in rows.
    #[derive(Default)]
    struct Heard {
        events: Vec<Event>,
        single: usize,
    }

    impl Observer for Heard {
        fn observe(&mut self, event: Event) {
            self.single += usize::from(event.kind == Kind::Interrupt && event.a == Irq::Clock as u64);
            self.events.push(event);
        }

        fn observe_row(&mut self, event: Event, times: impl ExactSizeIterator<Item = Nanos> + Clone) {
            self.events.extend(times.map(|time| Event { time, ..event }));
        }
    }

    /// Runs a workload twice under a scheduler with a setting: with every tick on its own, and passing over those that only
    /// count.
    struct Twice<'a>(&'a serde_json::Value, [&'a str; 2]);

    impl Visitor for Twice<'_> {
        type Output = Option<[Heard; 2]>;

        fn visit<S: Scheduler>(self) -> Self::Output {
            if !S::PASSES_TICKS {
                return None;
            }
            let scenario: Result<Scenario, _> = serde_json::from_value(serde_json::json!({
                "machine": { "name": "bare", "processors": 1, "clock": { "hz": "1024/s" } },
                "scheduler": { "name": S::INFO.name, (self.1[0]): self.1[1] },
                "duration": "20s",
                "workload": self.0,
            }));
            let scenario = scenario.expect("a scenario");
            Some([false, true].map(|passes| {
                let mut heard = Heard::default();
                let mut kernel = Kernel::<S, _>::boot(&scenario, 7, &mut heard).expect("it can be run");
                assert!(std::mem::replace(&mut kernel.passes_ticks, passes), "{}", S::INFO.name);
                kernel.run(&[]);
                heard
            }))
        }
    }

    #[test]
    fn a_run_is_the_same_whether_ticks_are_passed_over_or_not() {
        let compute = serde_json::json!([{ "compute": "100s" }]);
        let sleeper = serde_json::json!([{ "repeat": { "times": "forever", "steps": [
            { "compute": { "uniform": ["1ms", "30ms"] } }, { "sleep": { "uniform": ["1ms", "400ms"] } }
        ] } }]);
        let workload = serde_json::json!({
            "hogs": { "count": 3, "steps": compute },
            "nice": { "count": 2, "nice": 7, "steps": compute, "start": "1s" },
            "sleepers": { "count": 3, "steps": sleeper },
            "batch": { "policy": "batch", "nice": -5, "steps": sleeper },
            "turns": { "count": 2, "policy": "rr", "priority": 5, "steps": sleeper },
            "idle": { "policy": "idle", "steps": compute },
        });
        // Each as it is by default, and what changes their ticks.
        let variants = [
            ("muqss", ["variant", "bfs"]),
            ("bsd4", ["quantum_form", "slice"]),
            ("bsd4", ["weights", "evans"]),
            ("ule", ["slice", "1"]),
            ("ule", ["variant", "2011"]),
            ("round_robin", ["slice_size", "7"]),
        ];
        let plain = SCHEDULERS.iter().map(|info| (info.name, ["name", info.name]));
        let mut passing = 0;
        for (name, setting) in plain.chain(variants) {
            let Some([each, rows]) = schedulers::visit(name, Twice(&workload, setting)).flatten() else { continue };
            let differs = each.events.iter().zip(&rows.events).position(|(one, other)| one != other);
            assert_eq!(differs.map(|at| (&each.events[at], &rows.events[at])), None, "{name} {setting:?}");
            assert_eq!(each.events.len(), rows.events.len(), "{name} {setting:?}");
            passing += usize::from(rows.single < each.single / 2);
        }
        assert!(passing >= 5, "{passing}");
    }

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

    #[test]
    fn ticks_that_are_passed_over_are_those_that_would_have_come() {
        for millihertz in [1_000, 60_000, 127_000, 999_999, 1_024_000, 10_000_000] {
            let mut clock = Clock { tick: SPAN / millihertz, millihertz, phase: 5, fraction: 0, next: 5 };
            for most in [0, 1, 2, 7, 1000] {
                let (mut all, mut passed) = (clock.clone(), clock.clone());
                let times: Vec<_> = clock.times(most).collect();
                (0..most).for_each(|_| all.advance());
                assert_eq!(passed.pass(most), times.last().copied());
                assert_eq!((passed.next, passed.fraction), (all.next, all.fraction));
                for (before, &time) in (0..).zip(&times) {
                    assert_eq!([0, 1].map(|later| clock.ticks_before(time + later)), [before, before + 1]);
                }
                let mut until = all.next + 1;
                assert_eq!((clock.quiet_before(&mut until, most), until), (most, all.next));
                clock.advance();
            }
        }
    }
}
