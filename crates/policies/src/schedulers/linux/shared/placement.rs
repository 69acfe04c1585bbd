//! The processor for a task that becomes ready on several of them; and what is noted of a task that comes to a processor, is chosen there
//! or leaves.

use super::{entity::Placing, hierarchy::FairClass, linux::Linux, task_class::is_fair};
use crate::schedulers::{Context, Dequeue, Enqueue, kit::timeline::EntityId};
use schedlab_model::task::{CpuId, Policy, TaskId};

impl<L: FairClass> Linux<L> {
    pub fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        let known = &cx.tasks[task as usize];
        let last = known.last_or_first();
        if known.allowed.iter().nth(1).is_none() {
            return last;
        }
        if !is_fair(known) {
            return self.select_above(cx, task, last, why);
        }
        let entity = self.entity(cx, task);
        if L::sleeps(&self.tree.entity(entity).claim) {
            return known.cpu; // it has not left
        }
        match why {
            Enqueue::New => self.idlest(cx, task, last),
            _ => self.near(cx, task, last),
        }
    }

    /// For a task that executes another program: chosen as for a new one, but only for a fair task. (sched_exec)
    pub fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        let known = &cx.tasks[task as usize];
        let (cpu, may_move) = (known.cpu, is_fair(known) && known.allowed.iter().nth(1).is_some());
        if may_move { self.idlest(cx, task, cpu) } else { cpu }
    }

    /// Whether nothing runs or is ready on a processor.
    pub fn idle_cpu(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        cx.idle.has(cpu) && self.nr_running(cpu) == 0
    }

    /// The same as a task that is woken or forked finds it: a virtual processor that has halted counts as preempted. (vcpu_is_preempted)
    pub fn available_idle_cpu(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        self.idle_cpu(cx, cpu) && !self.balancer.has_halted(cx.now, cpu)
    }

    /// Whether a woken task finds at most SCHED_IDLE tasks on a processor, running or ready.
    pub fn is_idle(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        if cx.idle.has(cpu) {
            self.available_idle_cpu(cx, cpu)
        } else {
            self.tree.idle_tasks && self.sched_idle_cpu(cx, cpu)
        }
    }

    /// The same of one on which a task runs.
    fn sched_idle_cpu(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let others = || self.waiting(cpu).all(|entity| self.tree.entities[entity as usize].is_idle());
        cx.processors[cpu as usize].running.is_some_and(|running| cx.tasks[running as usize].policy == Policy::Idle)
            && self.realtime.count(cpu) + self.deadline.count(cpu) == 0
            && (self.nr_running(cpu) == 1 || others())
    }

    /// Tasks of all classes that can run on a processor.
    #[inline]
    pub fn nr_running(&self, cpu: CpuId) -> u32 {
        self.tree.h_nr_running(cpu) + self.realtime.count(cpu) + self.deadline.count(cpu)
    }

    /// The same of one of several processors, before it gets more.
    #[inline(always)]
    pub fn crowd(&self, cpu: CpuId) -> Option<u32> {
        self.several().then(|| self.nr_running(cpu))
    }

    /// Of a processor that had at most one task and has more now it is known that tasks wait. One that had more changes nothing: they may
    /// have been found to be bound. (add_nr_running)
    #[inline(always)]
    pub fn add_nr_running(&mut self, cpu: CpuId, before: Option<u32>) {
        self.balancer.overloaded |= before.is_some_and(|before| before < 2 && self.nr_running(cpu) >= 2);
    }

    /// What is noted of a task that leaves one of several processors.
    #[inline(never)]
    pub fn leave_cpu(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        if is_fair(&cx.tasks[task as usize]) {
            self.balancer.leave(cpu, task, why);
            if matches!(why, Dequeue::Sleep(_)) {
                let [runnable, util] = self.tree.averages_of_leaving(self.tree.of_task(task));
                self.balancer.util_est_update(task, util, runnable);
            }
        }
    }

    /// Loads and the balancer follow a choice. Where there are several processors.
    #[inline(never)]
    pub fn note_choice(&mut self, cx: &Context<'_>, cpu: CpuId, task: Option<TaskId>) {
        let (last, realtime) = (self.balancer.states[cpu as usize].last, self.cpus[cpu as usize].realtime);
        if last == task {
            return;
        }
        self.balancer.picked(cx.now, cpu, task, !realtime);
        for task in [last, task].into_iter().flatten() {
            self.tree.update_load_avg_of(self.tree.of_task(task));
        }
        if let Some(load) = self.tree.loads.queues.get_mut(usize::from(cpu)) {
            load.realtime = realtime && task.is_some();
            self.tree.update_load_avg(cpu.into());
        }
        self.tree.loads.turn(cx.now, cpu, task.is_none());
        self.update_misfit_status(cx, cpu, task);
        if task.is_none() {
            self.update_idle_core(cx, cpu);
        }
    }

    /// Tasks of a processor that wait for it; throttled groups are left out.
    fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = EntityId> + '_ {
        let processors = self.cpus.len();
        let queues = self.tree.queues.iter().skip(cpu.into()).step_by(processors);
        queues.flat_map(|queue| queue.line.entities()).filter(|&entity| {
            self.tree.is_task(entity)
                && !L::sleeps(&self.tree.entities[entity as usize].claim)
                && !(self.tree.pools.exist() && self.tree.throttled_hierarchy(entity))
        })
    }

    /// A task may come from another processor.
    pub fn settle_in(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, entity: EntityId, placing: Placing) {
        let (from, to) = (self.tree.entity(entity).queue, self.tree.queue_of(&cx.tasks[task as usize], cpu));
        self.balancer.ready(cpu, task);
        if placing == Placing::New {
            self.tree.entity(entity).queue = to;
            self.tree.init_entity_runnable_average(entity);
            self.tree.attach_entity_load_avg(entity);
        } else if from != to {
            match placing {
                Placing::Wakeup => self.tree.remove_entity_load_avg(entity),
                _ => self.tree.detach_entity_load_avg(&self.class, entity),
            }
            self.class.migrate_entity(&mut self.tree, entity, to);
            self.tree.entity(entity).queue = to;
            self.tree.attach_entity_load_avg(entity);
        }
    }
}
