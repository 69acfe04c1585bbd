//! What the hooks of the schedulers of Linux do where there are real-time tasks in addition to the fair ones. Most often
//! there are none, so this is kept separate.

use super::{hierarchy::FairClass, linux::Linux, realtime::is_realtime};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl<L: FairClass> Linux<L> {
    /// Which of two tasks goes first where one is a real-time one.
    #[inline(never)]
    pub fn decide(&self, cx: &Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Option<bool> {
        if is_realtime(&cx.tasks[woken as usize]) {
            return Some(self.realtime.beats(cx, cpu, woken, running));
        }
        is_realtime(&cx.tasks[running as usize]).then_some(false)
    }

    /// A real-time task, if there is one and it may run, else a fair one.
    #[inline(never)]
    pub fn pick_of_both(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu as usize].realtime = false;
        if !self.realtime.any(cpu) {
            return self.pick_fair(cpu);
        }
        let others = !self.tree.queues.is_empty() && self.tree.queue(cpu.into()).tasks > 0;
        let Some(task) = self.realtime.pick(cx, cpu, others) else {
            return self.pick_fair(cpu).or_else(|| self.realtime.idle(cpu));
        };
        if !self.tree.queues.is_empty() {
            self.tree.put_prev_task_fair(&self.class, cpu.into());
        }
        self.cpus[cpu as usize].realtime = true;
        if self.realtime.is_overloaded(cpu) {
            self.realtime.push(cx, cpu, task);
        }
        Some(task)
    }

    /// As [`Linux::charge`], by class of the running task.
    #[inline(never)]
    pub fn charge_either(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        if self.cpus[cpu as usize].realtime {
            self.realtime.charge(cpu, ran);
        } else {
            self.realtime.charge_others(cx, cpu, ran);
        }
    }

    /// As [`Linux::tick`], by class of the running task.
    #[inline(never)]
    pub fn tick_either(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId) {
        let resched = if self.cpus[cpu as usize].realtime {
            self.realtime.tick(cx, cpu, running)
        } else {
            self.tree.task_tick_fair(&self.class, cpu);
            self.realtime.any(cpu) && self.realtime.tick_others(cx, cpu)
        };
        if resched {
            self.resched(cx, cpu);
        }
    }
}
