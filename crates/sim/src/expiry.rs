//! Timers that expire: whom they wake, and what they are for otherwise.

use crate::{
    process::State,
    run::{Kernel, context},
    timers::Expiry,
};
use schedlab_model::{
    event::{Irq, Kind, Observer},
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::{Context, Enqueue, Scheduler};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    #[inline]
    pub fn timer_expired(&mut self) {
        self.view.waker = None;
        match self.timers.take() {
            Some(Expiry::Wake { task, number }) if self.awaits(task, number) => {
                self.emit(Kind::Interrupt, 0, 0, task, Irq::Timer as u64, 0);
                if self.costs.timer_interrupt > 0 {
                    return self.begin_timer_interrupt(task);
                }
                self.wake(task, Enqueue::Wakeup);
                self.interrupted(self.view.tasks[task as usize].cpu);
            }
            Some(Expiry::Awake { task, number }) if self.awaits(task, number) => {
                self.wake_rarely(task, Enqueue::Wakeup);
                self.interrupted(self.view.tasks[task as usize].cpu);
            }
            Some(Expiry::Wake { .. } | Expiry::Awake { .. }) | None => {}
            Some(Expiry::Start { task }) => self.begin(task),
            Some(Expiry::Drive) => self.drive_interrupt(),
            Some(Expiry::Scheduler { cpu, token }) => self.scheduler.timer(&mut context!(self), cpu, token),
            Some(Expiry::Device { device }) => self.device_interrupt(device),
            Some(Expiry::Stat) => self.stat_tick(),
            Some(Expiry::WriteBack) => self.write_back(),
        }
    }

    /// Whether a task waits for the timer of this number, and not for a later one.
    #[inline(always)]
    fn awaits(&self, task: TaskId, number: u32) -> bool {
        let process = &self.processes[task as usize];
        process.alarm == number && process.state == State::Waiting(Wait::Timer)
    }

    /// The interrupt of a timer takes its time from whoever runs before it wakes the task that waits for it.
    #[cold]
    fn begin_timer_interrupt(&mut self, task: TaskId) {
        self.steal(self.view.tasks[task as usize].cpu.into(), self.costs.timer_interrupt);
        if self.timers.exhausted() {
            self.renumber_timers();
        }
        let number = self.timers.awake(self.now + self.costs.timer_interrupt, task);
        self.processes[task as usize].alarm = number;
    }

    pub fn set_scheduler_timers(&mut self) {
        for at in 0..self.wishes.timers.len() {
            let (when, cpu, token) = self.wishes.timers[at];
            self.set_timer(when.max(self.now), Expiry::Scheduler { cpu, token });
        }
        self.wishes.timers.clear();
    }
}
