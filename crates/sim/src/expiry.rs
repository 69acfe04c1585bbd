//! Timers that are set and expire: which task they wake, and what they are for otherwise.

use crate::{
    kernel::{Kernel, context},
    process::State,
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    event::{Irq, Kind, NO_TASK, Observer},
    task::{CpuId, TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The first timer expires. With `ONE` processor, its number is a constant for the compiler.
    #[inline]
    pub fn timer_expired<const ONE: bool>(&mut self) {
        self.view.waker = None;
        match self.timers.take() {
            Some(Expiry::Wake { task, number }) if self.awaits(task, number) => {
                self.emit(Kind::Interrupt, 0, 0, task, Irq::Timer as u64, 0);
                if self.costs.delays_timers {
                    return self.begin_timer_interrupt(task);
                }
                self.wake::<ONE>(task, Enqueue::Wakeup);
                self.interrupted(self.view.tasks[task as usize].cpu);
            }
            Some(Expiry::Awake { task, number }) if self.awaits(task, number) => {
                self.wake_rarely(task, Enqueue::Wakeup);
                self.interrupted(self.view.tasks[task as usize].cpu);
            }
            Some(Expiry::Wake { .. } | Expiry::Awake { .. }) | None => {}
            Some(Expiry::Start { task }) => self.begin(task),
            Some(Expiry::Drive) => self.drive_interrupt(),
            Some(Expiry::Scheduler { cpu, token }) => self.timer_of_scheduler(cpu, token),
            Some(Expiry::Device { device }) => self.device_interrupt(device),
            Some(Expiry::Stat) => self.stat_tick(),
            Some(Expiry::WriteBack) => self.write_back(),
            Some(Expiry::Arrival { pool }) => self.request_arrives(pool),
            Some(Expiry::Attention) => self.attend(),
        }
    }

    /// A timer of the policy's may make tasks ready on any processor, where it compares them with the running one by up-to-date times.
    fn timer_of_scheduler(&mut self, cpu: CpuId, token: u32) {
        if S::FEATURES.charges_at_wakeups {
            (0..self.cpus.len()).for_each(|cpu| self.settle(cpu));
        }
        self.scheduler.timer(&mut context!(self), cpu, token);
    }

    /// Whether a task waits for the timer of this number, and not for a later one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn awaits(&self, task: TaskId, number: u32) -> bool {
        let process = &self.processes[task as usize];
        process.alarm == number && process.state == State::Waiting(Wait::Timer)
    }

    /// The interrupt of a timer takes its time from the running task before it wakes the task that waits for it. An idle processor leaves its
    /// idle state first.
    #[cold]
    fn begin_timer_interrupt(&mut self, task: TaskId) {
        let cpu = usize::from(self.view.tasks[task as usize].cpu);
        self.steal(cpu, self.costs.timer_interrupt);
        let mut end = self.now + self.costs.timer_interrupt;
        if self.cpus[cpu].running == NO_TASK {
            end = self.awake(cpu) + self.costs.timer_interrupt;
            self.cpus[cpu].awake = end;
        }
        if self.timers.exhausted() {
            self.renumber_timers();
        }
        let number = self.timers.awake(end, task);
        self.processes[task as usize].alarm = number;
    }

    pub fn set_scheduler_timers(&mut self) {
        for at in 0..self.wishes.timers.len() {
            let (when, cpu, token) = self.wishes.timers[at];
            self.set_timer(when.max(self.now), Expiry::Scheduler { cpu, token });
        }
        self.wishes.timers.clear();
    }

    /// Sets a timer that wakes no task.
    #[inline]
    pub fn set_timer(&mut self, when: Nanos, what: Expiry) {
        if self.timers.exhausted() {
            self.renumber_timers();
        }
        self.timers.set(when, what);
    }

    /// Timers get new numbers, and the tasks that wait for them learn these.
    #[cold]
    pub fn renumber_timers(&mut self) {
        let processes = &mut self.processes;
        self.timers.renumber(|task, before, now| {
            let alarm = &mut processes[task as usize].alarm;
            if *alarm == before {
                *alarm = now;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::{event::Event, scenario::Scenario};
    use schedlab_policies::schedulers::RoundRobin;

    /// Sleepers that are woken early by signals, at times that coincide.
    const SCENARIO: &str = r#"{
        "machine": { "name": "bare", "processors": 2 },
        "scheduler": { "name": "round_robin", "slice": "1ms" },
        "workload": { "sleepers": { "count": 20, "steps": [{ "repeat": { "times": 50, "steps": [
            { "compute": { "uniform": ["1ms", "3ms"] } }, { "sleep": "10ms" }, "signal"
        ] } }] } }
    }"#;

    fn events(first_number: u32) -> Vec<Event> {
        let scenario: Scenario = serde_json::from_str(SCENARIO).unwrap();
        let mut events = Vec::new();
        let mut kernel = Kernel::<RoundRobin, _>::boot(&scenario, 1, &mut events).unwrap();
        // The tasks' starts are numbered already.
        kernel.timers.number_from(first_number);
        kernel.run(&[]);
        events
    }

    #[test]
    fn a_run_is_the_same_when_timers_run_out_of_numbers() {
        let plain = events(100);
        assert!(plain.len() > 10_000);
        for first in [u32::MAX - 1, u32::MAX - 100, u32::MAX - 333] {
            assert!(events(first) == plain);
        }
    }
}
