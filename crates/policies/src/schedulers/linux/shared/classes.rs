//! What the hooks of the schedulers of Linux do where there are real-time tasks, or tasks with a reservation, in addition to the fair
//! ones. Most often there are none, so this is kept separate.

use super::{
    entity::Placing,
    hierarchy::FairClass,
    linux::Linux,
    task_class::{is_deadline, is_realtime},
};
use crate::schedulers::{Context, Dequeue, Enqueue};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl<L: FairClass> Linux<L> {
    pub fn admits(&mut self, cx: &Context<'_>, task: TaskId) -> bool {
        let granted = self.deadline.admits(cx, task);
        if granted {
            self.realtime.note_known(cx.now);
        }
        granted
    }

    /// Whether a processor has fair tasks that can run.
    pub fn has_fair(&self, cpu: CpuId) -> bool {
        self.tree.h_nr_running(cpu) > 0
    }

    /// Whether it has tasks of the classes above.
    fn has_above(&self, cpu: CpuId) -> bool {
        self.realtime.any(cpu) || self.deadline.count(cpu) > 0
    }

    /// A fair task became ready where there was none.
    #[inline(never)]
    pub fn first_fair(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if !self.has_above(cpu) {
            self.realtime.note_idle_time(cx, cpu);
        }
        if self.realtime.others_came(cx, cpu) && self.has_above(cpu) {
            self.resched(cx, cpu);
        }
    }

    /// A task that may be of a class above the fair one becomes able to run. False if it is a fair one: its reservation was refused.
    #[inline(never)]
    pub fn join_above(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, placing: Placing) -> bool {
        let known = &cx.tasks[task as usize];
        if is_deadline(known) {
            self.deadline.enqueue(cx, cpu, task, placing);
        } else if is_realtime(known) {
            self.realtime.enqueue(cx, cpu, task);
        } else {
            self.read(known, self.tree.of_task(task));
            return false;
        }
        true
    }

    /// Such a task leaves.
    #[inline(never)]
    pub fn leave_above(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        let ran = cx.processors[cpu as usize].running == Some(task);
        if is_realtime(&cx.tasks[task as usize]) {
            self.realtime.dequeue(cx, cpu, task);
            if ran && let Some(better) = self.realtime.pull(cx, cpu) {
                cx.move_to(better, cpu); // balance_rt
            }
            return;
        }
        self.deadline.dequeue(cx, cpu, task, why, self.tree.h_nr_running(cpu) > 0);
        if ran {
            self.deadline.pull(cx, cpu);
        }
    }

    /// The processor for such a task.
    #[inline(never)]
    pub fn select_above(&mut self, cx: &Context<'_>, task: TaskId, last: CpuId, why: Enqueue) -> CpuId {
        match why {
            _ if is_realtime(&cx.tasks[task as usize]) => self.select_task_rq_rt(cx, task, last),
            Enqueue::Wakeup => self.deadline.select(cx, &self.balancer.domains, task),
            _ => last,
        }
    }

    /// Which of two tasks goes first where one is not a fair one.
    #[inline(never)]
    pub fn decide(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Option<bool> {
        let (one, other) = (&cx.tasks[running as usize], &cx.tasks[woken as usize]);
        if is_deadline(other) {
            return Some(self.preempts(cx, cpu, running, woken));
        }
        if is_deadline(one) {
            return Some(false);
        }
        if is_realtime(other) {
            return Some(self.wakeup_preempt_rt(cx, cpu, running, woken));
        }
        is_realtime(one).then_some(false)
    }

    /// Whether a task with a reservation goes before the running one. If not, it looks for another processor. (wakeup_preempt_dl,
    /// task_woken_dl; where deadlines are equal, both may go to the same processors, so check_preempt_equal_dl leaves it at that.)
    fn preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> bool {
        if !self.deadline.competes(woken) {
            return false;
        }
        if !is_deadline(&cx.tasks[running as usize]) {
            return !self.realtime.serves_before(cpu, self.deadline.deadline(woken));
        }
        let first = self.deadline.deadline(woken) < self.deadline.deadline(running);
        if !first && self.several() {
            self.deadline.push(cx, &self.balancer.domains, cpu, Some(running), usize::MAX);
        }
        first
    }

    /// A task with a reservation, a real-time task or a fair one: the first class that has one that may run.
    #[inline(never)]
    pub fn pick_of_all(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let before = std::mem::take(&mut self.cpus[cpu as usize]);
        if before.deadline {
            self.deadline.put_prev(cx, cpu, self.tree.h_nr_running(cpu) > 0);
        }
        // Between fair tasks the other classes are not asked.
        let asked = before.realtime || before.deadline || self.has_above(cpu);
        if asked && self.realtime.serves(cpu) && !self.has_fair(cpu) {
            self.pick_fair(cpu); // those that only stay leave now
            self.realtime.stop_serving(cpu);
        }
        let others = self.has_fair(cpu);
        let task = self.pick_deadline(cx, cpu, others).or_else(|| self.pick_realtime(cx, cpu, others));
        let Some(task) = task else {
            let fair = self.pick_fair(cpu);
            self.realtime.note_idle(cx, cpu, fair.is_none());
            return fair;
        };
        self.realtime.note_idle(cx, cpu, false);
        self.cpus[cpu as usize].realtime = true;
        if !self.tree.queues.is_empty() {
            self.tree.put_prev_task_fair(&self.class, cpu.into());
        }
        Some(task)
    }

    /// The earliest deadline, if that of the server of fair tasks, where it serves them, is not earlier.
    fn pick_deadline(&mut self, cx: &mut Context<'_>, cpu: CpuId, others: bool) -> Option<TaskId> {
        let task = self.deadline.best(cpu)?;
        if others && self.realtime.serves_before(cpu, self.deadline.deadline(task)) {
            return None;
        }
        if others {
            self.realtime.others_came(cx, cpu);
        }
        self.deadline.set_next(cpu, task);
        self.cpus[cpu as usize].deadline = true;
        if self.several() {
            self.deadline.push(cx, &self.balancer.domains, cpu, Some(task), usize::MAX);
        }
        Some(task)
    }

    fn pick_realtime(&mut self, cx: &mut Context<'_>, cpu: CpuId, others: bool) -> Option<TaskId> {
        if !self.realtime.any(cpu) {
            return None;
        }
        let task = self.realtime.pick(cx, cpu, others)?;
        if self.realtime.is_overloaded(cpu) {
            self.push_rt_tasks(cx, cpu, task);
        }
        Some(task)
    }

    /// As [`Linux::charge`], by class of the running task. What tasks with a reservation use counts against the limit of real-time
    /// tasks, too.
    #[inline(never)]
    pub fn charge_any(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        let state = self.cpus[cpu as usize];
        if state.deadline {
            self.deadline.charge(cpu, ran);
            self.realtime.charge_reserved(cpu, ran);
        } else if state.realtime {
            self.realtime.charge(cpu, ran);
        } else {
            self.realtime.charge_others(cx, cpu, ran);
        }
    }

    /// As [`Linux::tick`], by class of the running task.
    #[inline(never)]
    pub fn tick_any(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId) {
        let state = self.cpus[cpu as usize];
        let resched = if state.deadline {
            let throttled = self.deadline.update_curr_dl(cx, cpu, self.tree.h_nr_running(cpu) > 0);
            if throttled && !self.deadline.competes(running) {
                self.deadline.pull(cx, cpu);
            }
            throttled
        } else if state.realtime {
            self.realtime.tick(cx, cpu, running)
        } else {
            self.tree.task_tick_fair(&self.class, cpu);
            self.realtime.tick_others(cpu)
        };
        if resched {
            self.resched(cx, cpu);
        }
    }
}
