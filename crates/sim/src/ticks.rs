//! What a tick does: the periodic clock drives the scheduler; a statistics clock, where there is one, samples the running task. Ticks
//! that only count are passed over.

use crate::{
    cpu::Cpu,
    kernel::{Kernel, context},
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Event, Irq, Kind, NO_TASK, Observer},
    machine::Preemption,
    task::{CpuId, TaskId},
};
use schedlab_policies::schedulers::{Balance, Context, Scheduler, Ticks};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The clock interrupt, on every processor.
    pub fn tick(&mut self) {
        self.view.waker = None;
        self.clock.advance();
        if self.preemption == Preemption::Lazy {
            self.wishes.resched.add(&self.deferred);
            self.wishes.at_once.add(&self.deferred);
        }
        // The first one apart, since it is most often the only one, and its own code is the shorter for it.
        self.tick_on(0);
        if self.cpus.len() > 1 {
            self.tick_on_others();
        }
    }

    #[inline(never)]
    fn tick_on_others(&mut self) {
        self.even_out(0);
        for cpu in 1..self.cpus.len() {
            if self.omits_tick(cpu) {
                self.emit(Kind::Interrupt, 0, cpu as CpuId, NO_TASK, Irq::Clock as u64, 0);
                continue;
            }
            self.tick_on(cpu);
            self.even_out(cpu);
        }
    }

    /// Whether the tick of a processor is nothing but an interrupt, which takes no time from an idle one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn omits_tick(&mut self, cpu: usize) -> bool {
        S::FEATURES.passes_idle_ticks
            && self.passes_idle_ticks
            && self.cpus[cpu].running == NO_TASK
            && !self.wishes.resched.has(cpu as CpuId)
            && self.scheduler.omits_tick(&context!(self), cpu as CpuId)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn tick_on(&mut self, cpu: usize) {
        self.emit(Kind::Interrupt, 0, cpu as CpuId, NO_TASK, Irq::Clock as u64, 0);
        self.steal(cpu, self.costs.clock_interrupt);
        if self.stat_clock.is_none() {
            self.stat_tick_on(cpu, self.clock.tick);
        }
        if self.clock_task_needed(cpu) {
            self.notify_clock_task(cpu);
        } else if S::FEATURES.ticks {
            self.settle(cpu);
            self.scheduler.tick(&mut context!(self), cpu as CpuId);
        }
    }

    /// If the next event is a tick of either clock: skips all ticks before any other event that, according to the policy, only
    /// count. Returns whether there were any.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn pass_ticks(&mut self) -> bool {
        let Cpu { running: task, .. } = self.cpus[0];
        let passes = match task {
            NO_TASK => S::FEATURES.passes_idle_ticks && self.passes_idle_ticks,
            _ => S::FEATURES.passes_ticks && self.passes_ticks,
        };
        if !passes {
            return false;
        }
        let until = self.cpus[0].next().min(self.timers.next_in_heap()).min(self.limit + 1);
        let tick = self.clock.next.min(self.timers.next());
        if tick >= until || !self.deferred.is_empty() {
            return false;
        }
        if task == NO_TASK { self.pass_idle_ticks_until(until) } else { self.pass_ticks_until(until, task) }
    }

    /// Those of the only processor, which runs a task that has all of their time.
    #[inline(never)]
    fn pass_ticks_until(&mut self, until: Nanos, task: TaskId) -> bool {
        if self.cpus[0].overhead > 0 {
            return false;
        }
        self.settle_running(0);
        let quiet = self.scheduler.quiet_ticks(&context!(self), 0, task);
        let Some(ticks) = self.quiet_before(until, quiet) else { return false };
        self.skip(ticks);
        self.settle_running(0);
        self.scheduler.pass_ticks(&context!(self), 0, task, ticks);
        true
    }

    /// Those of all processors, if they are idle.
    #[inline(never)]
    fn pass_idle_ticks_until(&mut self, until: Nanos) -> bool {
        if self.cpus.iter().any(|cpu| cpu.running != NO_TASK || cpu.next() != Nanos::MAX) {
            return false;
        }
        let quiet = self.scheduler.idle_ticks(&context!(self));
        let Some(ticks) = self.quiet_before(until, quiet) else { return false };
        self.skip(ticks);
        self.scheduler.pass_idle_ticks(&context!(self), ticks);
        true
    }

    /// How many ticks of either clock come before a time and before the first that is not quiet; none if there is no such tick.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn quiet_before(&self, mut until: Nanos, quiet: Ticks) -> Option<Ticks> {
        if quiet == Ticks::default() {
            return None;
        }
        let statistics = self.stat_clock.as_ref();
        let mut samples = statistics.map_or(0, |clock| clock.quiet_before(&mut until, quiet.statistics));
        let before = until;
        let ticks = self.clock.quiet_before(&mut until, quiet.clock);
        if until < before {
            samples = samples.min(statistics.map_or(0, |clock| clock.ticks_before(until)));
        }
        (ticks + samples > 0).then_some(Ticks { clock: ticks, statistics: samples })
    }

    /// Time goes on by as many ticks of either clock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn skip(&mut self, ticks: Ticks) {
        self.view.waker = None;
        let ticked =
            Event { time: 0, a: Irq::Clock as u64, b: 0, task: NO_TASK, cpu: 0, kind: Kind::Interrupt, flag: 0 };
        self.observer.observe_row(ticked, self.cpus.len() as CpuId, self.clock.times(ticks.clock));
        let last = [self.clock.pass(ticks.clock), self.pass_statistics(ticks.statistics)];
        self.now = last.into_iter().flatten().fold(self.now, Nanos::max);
    }

    /// Passes over n ticks of the statistics clock; returns the time of the last.
    fn pass_statistics(&mut self, ticks: u64) -> Option<Nanos> {
        let clock = self.stat_clock.as_mut()?;
        let last = clock.pass(ticks)?;
        let then = clock.next;
        self.set_timer(then, Expiry::Stat);
        Some(last)
    }

    /// The policy may pull queued tasks at a tick, where there is somewhere to pull them from; and for other processors, if it wants to.
    fn even_out(&mut self, cpu: usize) {
        self.pull_at_tick(cpu);
        let mut done = 0;
        while let Some(&other) = self.wishes.balances.get(done) {
            self.pull_at_tick(other.into());
            done += 1;
        }
        self.wishes.balances.clear();
    }

    fn pull_at_tick(&mut self, cpu: usize) {
        while let Some(task) = self.scheduler.balance(&mut context!(self), cpu as CpuId, Balance::Tick) {
            self.migrate(task, cpu as CpuId);
            if self.cpus[cpu].running == NO_TASK {
                self.wishes.resched.insert(cpu as CpuId);
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

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn stat_tick_on(&mut self, cpu: usize, tick: Nanos) {
        if self.sampled {
            self.sample(cpu, tick);
        }
        if S::FEATURES.stat_ticks {
            self.settle(cpu);
            self.scheduler.stat_tick(&mut context!(self), cpu as CpuId);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::scenario::Scenario;
    use schedlab_policies::schedulers::{All, SCHEDULERS, Table, Visitor};

    /// Records every event, and counts the ticks that were not passed over.
    #[derive(Default)]
    struct Heard {
        events: Vec<Event>,
        single: usize,
        /// What the policy would draw next, from which its earlier draws are known.
        drawn: u64,
    }

    impl Observer for Heard {
        // Both loops pass over ticks alike: one of them is enough here, and takes half as long to compile.
        const ONE_LOOP: bool = true;

        fn observe(&mut self, event: Event) {
            self.single += usize::from(event.kind == Kind::Interrupt && event.a == Irq::Clock as u64);
            self.events.push(event);
        }

        fn observe_row(
            &mut self,
            event: Event,
            processors: CpuId,
            times: impl ExactSizeIterator<Item = Nanos> + Clone,
        ) {
            self.events.extend(times.flat_map(|time| (0..processors).map(move |cpu| Event { time, cpu, ..event })));
        }
    }

    /// Runs a workload on a machine twice under a scheduler with a setting: with every tick on its own, and passing over those that
    /// only count.
    struct Twice<'a> {
        machine: &'a serde_json::Value,
        workload: &'a serde_json::Value,
        setting: [&'a str; 2],
    }

    impl Visitor for Twice<'_> {
        type Output = Option<[Heard; 2]>;

        fn visit<S: Scheduler>(self) -> Self::Output {
            if !S::FEATURES.passes_ticks && !S::FEATURES.passes_idle_ticks {
                return None;
            }
            let scenario: Result<Scenario, _> = serde_json::from_value(serde_json::json!({
                "machine": self.machine,
                "scheduler": { "name": S::INFO.name, (self.setting[0]): self.setting[1] },
                "duration": "20s",
                "workload": self.workload,
            }));
            let scenario = scenario.expect("a scenario");
            Some([false, true].map(|passes| {
                let mut heard = Heard::default();
                let mut kernel = Kernel::<S, _>::boot(&scenario, 7, &mut heard).expect("it can be run");
                assert!(kernel.passes_idle_ticks, "{}", S::INFO.name);
                kernel.passes_ticks &= passes;
                kernel.passes_idle_ticks &= passes;
                kernel.run(&[]);
                let drawn = kernel.policy_rng.below(u64::MAX);
                Heard { drawn, ..heard }
            }))
        }
    }

    /// The number of settings with which most ticks were passed over; with none anything else may differ.
    fn passing(machine: &serde_json::Value, workload: &serde_json::Value) -> usize {
        // Each with its defaults, and with the parameters that change its ticks.
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
            let twice = Twice { machine, workload, setting };
            let Some([each, rows]) = All::visit(name, twice).flatten() else { continue };
            let differs = each.events.iter().zip(&rows.events).position(|(one, other)| one != other);
            assert_eq!(differs.map(|at| (&each.events[at], &rows.events[at])), None, "{name} {setting:?} {machine}");
            assert_eq!(each.events.len(), rows.events.len(), "{name} {setting:?}");
            assert_eq!(each.drawn, rows.drawn, "{name} {setting:?} {machine}");
            passing += usize::from(rows.single < each.single / 2);
        }
        passing
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
        let machine = serde_json::json!({ "name": "bare", "processors": 1, "clock": { "hz": "1024/s" } });
        assert!(passing(&machine, &workload) >= 5);
        let with_statistics =
            serde_json::json!({ "name": "bare", "processors": 1, "clock": { "hz": "1024/s", "stat_hz": "127/s" } });
        assert!(passing(&with_statistics, &workload) >= 5);
    }

    #[test]
    fn a_run_is_the_same_whether_ticks_of_idle_processors_are_passed_over_or_not() {
        let sleeper = |least: &str, sleeps: [&str; 2]| {
            serde_json::json!([{ "repeat": { "times": "forever", "steps": [
                { "compute": { "uniform": [least, "12ms"] } }, { "sleep": { "uniform": sleeps } }
            ] } }])
        };
        let workload = serde_json::json!({
            "seldom": { "count": 3, "steps": sleeper("1ms", ["300ms", "2s"]) },
            "nice": { "nice": 7, "steps": sleeper("5ms", ["1s", "3s"]) },
            "batch": { "policy": "batch", "nice": -5, "steps": sleeper("5ms", ["900ms", "2s"]) },
            "turns": { "count": 2, "policy": "rr", "priority": 5, "start": "3s", "steps": sleeper("2ms", ["1s", "2s"]) },
            "first": { "policy": "fifo", "priority": 7, "start": "9s", "steps": sleeper("1ms", ["100ms", "4s"]) },
            "together": { "count": 9, "steps": [{ "repeat": { "times": 5, "steps": [
                { "compute": "7ms" }, { "sleep": "2s" }
            ] } }] },
        });
        let machines = [
            serde_json::json!({ "processors": 1 }),
            serde_json::json!({ "processors": 3 }),
            serde_json::json!({ "processors": 4, "idle_states": [
                { "residency": "0s", "latency": "40us" }, { "residency": "300ms", "latency": "5ms" }
            ] }),
            serde_json::json!({ "processors": 8, "nodes": 2, "topology": { "threads": 2, "thread_speed": 0.7 } }),
        ];
        for machine in machines {
            for clock in [
                serde_json::json!({ "hz": "250/s" }),
                serde_json::json!({ "hz": "1024/s", "interrupt": "2us", "stat_hz": "127/s" }),
            ] {
                let mut machine = machine.clone();
                machine["name"] = "bare".into();
                machine["clock"] = clock;
                assert!(passing(&machine, &workload) >= 12, "{machine}");
            }
        }
    }
}
