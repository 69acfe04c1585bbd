//! How the kernel treats a task changes while the task lives: its record in the scheduler's view, and its class at the drive.

use crate::{
    kernel::{Kernel, context},
    process::{Mode, Served, State},
    resources::Change,
};
use schedlab_model::{
    event::{Kind, Leave, NO_TASK, Observer},
    machine::Preemption,
    request::IoClass,
    task::{CpuId, Policy, Task, TaskId},
};
use schedlab_policies::schedulers::{Context, Dequeue, Enqueue, Preempt, Scheduler};

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The task changes how it is treated, or which processors the tasks of a job may use.
    pub fn set(&mut self, task: TaskId, change: u16) -> Served {
        let change = self.resources.changes[usize::from(change)].clone();
        if let Some(job) = change.job {
            return self.set_job(task, job, &change);
        }
        let io = &mut self.processes[task as usize].life.io;
        *io = change.io.or(*io);
        let mut after = self.view.tasks[task as usize].clone();
        (after.policy, after.priority) = self.own(task);
        change.apply(&mut after);
        self.ask(task, after)
    }

    /// The living tasks of a job are changed, one after the other; the caller may be one of them.
    fn set_job(&mut self, caller: TaskId, job: u16, change: &Change) -> Served {
        let mut served = Served::Done;
        for task in 0..self.view.tasks.len() as TaskId {
            let process = &self.processes[task as usize];
            if process.job != job || matches!(process.state, State::Unborn | State::Dead) {
                continue;
            }
            let before = self.view.tasks[task as usize].clone();
            let mut after = before.clone();
            change.apply(&mut after);
            self.report_treated(&before, &after);
            let done = self.change(task, after);
            if task == caller {
                served = done;
            }
        }
        served
    }

    /// A task has another record from now on. A running task goes on where it is, unless the policy wants a new choice or the task
    /// may not use its processor any more.
    pub fn change(&mut self, task: TaskId, after: Task) -> Served {
        let cpu = after.cpu;
        if self.cpus[usize::from(cpu)].running == task {
            self.settle_running(cpu.into());
            self.replace(task, after);
            if self.view.tasks[task as usize].allowed.has(cpu) {
                return Served::Done;
            }
            self.put_back(cpu.into(), task);
            self.go_elsewhere(task);
            return Served::Moved;
        }
        if self.processes[task as usize].state == State::Runnable {
            self.scheduler.dequeue(&mut context!(self), cpu, task, Dequeue::Migrate);
            self.replace(task, after);
            self.queue_again(cpu, task);
        } else {
            self.replace(task, after);
        }
        Served::Done
    }

    /// The running task executes another program: it has nothing in caches then, so the policy may want it on another processor.
    pub fn exec(&mut self, task: TaskId) -> Served {
        let cpu = self.view.tasks[task as usize].cpu;
        if self.cpus[usize::from(cpu)].running != task {
            return Served::Done;
        }
        self.emit(Kind::Executed, 0, cpu, task, 0, 0);
        if self.cpus.len() == 1 {
            return Served::Done;
        }
        let to = self.scheduler.exec_cpu(&mut context!(self), task);
        if to == cpu {
            return Served::Done;
        }
        self.settle_running(cpu.into());
        self.put_back(cpu.into(), task);
        self.migrate(task, to);
        self.may_preempt(to, task);
        Served::Moved
    }

    fn replace(&mut self, task: TaskId, after: Task) {
        let cpu = after.cpu;
        let before = std::mem::replace(&mut self.view.tasks[task as usize], after);
        self.scheduler.changed(&mut context!(self), cpu, task, &before);
        self.report_allowed(task, &before.allowed);
    }

    /// A queued task moves to a processor that it may use.
    fn go_elsewhere(&mut self, task: TaskId) {
        let to = self.scheduler.select_cpu(&mut context!(self), task, Enqueue::Migrate);
        self.migrate(task, to);
        self.may_preempt(to, task);
    }

    /// A running task, whose time is settled, is queued again on its processor, which then chooses anew.
    fn put_back(&mut self, cpu: usize, task: TaskId) {
        self.scheduler.enqueue(&mut context!(self), cpu as CpuId, task, Enqueue::Preempted);
        let left = self.switch_out(cpu, task, Leave::Preempted);
        self.observer.observe(left);
        self.vacate(cpu);
        self.wishes.resched.insert(cpu as CpuId);
    }

    /// Tasks go where the policy wants them, as far as they can run and may run there. A running one is moved only where the kernel can
    /// preempt it.
    #[cold]
    #[inline(never)]
    pub fn carry_out_moves(&mut self) {
        for (task, to) in std::mem::take(&mut self.wishes.moves) {
            let Task { cpu: from, ref allowed, .. } = self.view.tasks[task as usize];
            let runnable = self.processes[task as usize].state == State::Runnable;
            if !runnable || from == to || !allowed.has(to) {
                continue;
            }
            let cpu = usize::from(from);
            if self.cpus[cpu].running == task {
                if self.preemption != Preemption::Full && self.cpus[cpu].mode == Mode::System {
                    continue;
                }
                self.settle_running(cpu);
                self.put_back(cpu, task);
            }
            self.migrate(task, to);
            self.may_preempt(to, task);
        }
    }

    /// A queued task whose record has changed joins its runqueue again.
    fn queue_again(&mut self, cpu: CpuId, task: TaskId) {
        self.scheduler.enqueue(&mut context!(self), cpu, task, Enqueue::Migrate);
        if self.view.tasks[task as usize].allowed.has(cpu) {
            self.may_preempt(cpu, task);
        } else {
            self.go_elsewhere(task);
        }
    }

    /// A task has joined a runqueue: an idle processor takes it, a busy one asks the policy.
    fn may_preempt(&mut self, cpu: CpuId, task: TaskId) {
        let running = self.cpus[usize::from(cpu)].running;
        if running == NO_TASK {
            self.wishes.resched.insert(cpu);
            return;
        }
        if S::FEATURES.charges_at_wakeups {
            self.settle(cpu.into());
        }
        let preempts = self.scheduler.wakeup_preempts(&mut context!(self), cpu, running, task);
        self.wishes.resched.insert_if(cpu, preempts != Preempt::No);
        self.wishes.at_once.insert_if(cpu, preempts == Preempt::AtOnce);
    }

    /// The class and level of a task at the drive: what it asked for; else by its policy and nice value, as Linux has it.
    pub fn io_priority(&self, task: TaskId) -> (IoClass, u8) {
        let record = &self.view.tasks[task as usize];
        self.processes[task as usize].life.io.unwrap_or_else(|| {
            let class = match self.own(task).0 {
                Policy::Fifo | Policy::Rr | Policy::Deadline => IoClass::RealTime,
                Policy::Idle => IoClass::Idle,
                Policy::Other | Policy::Batch | Policy::Iso => IoClass::BestEffort,
            };
            (class, ((i16::from(record.nice) + 20) / 5).clamp(0, 7) as u8)
        })
    }
}
