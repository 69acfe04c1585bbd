//! The processor for a new or woken task on several of them, as Linux has chosen it since 5.5; and what is noted of a task that comes
//! to a processor, is chosen there or leaves.

use super::{
    busiest::IMBALANCE, entity::Placing, hierarchy::FairClass, linux::Linux, loads::LOAD, realtime::is_realtime,
};
use crate::schedulers::{Context, Dequeue, Enqueue, kit::timeline::EntityId};
use schedlab_model::{
    Nanos,
    task::{CpuId, Policy, TaskId},
};

impl<L: FairClass> Linux<L> {
    pub fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        let known = &cx.tasks[task as usize];
        let last =
            if known.allowed >> known.cpu & 1 == 1 { known.cpu } else { known.allowed.trailing_zeros() as CpuId };
        if is_realtime(known) {
            return self.realtime.select(cx, task, last);
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

    /// The processor with the least to do, for a new task.
    fn idlest(&self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = cx.tasks[task as usize].allowed;
        let all = (0..self.cpus.len() as CpuId).filter(|cpu| allowed >> cpu & 1 == 1);
        all.min_by_key(|&cpu| (!self.is_idle(cx, cpu), self.load(cx.now, cpu), cpu != last)).unwrap_or(last)
    }

    /// The processor for a woken task: an idle one that shares the cache with where it was or where it is woken, else one
    /// of these two. (select_task_rq_fair)
    fn near(&self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = cx.tasks[task as usize].allowed;
        let here = cx.waker.map_or(last, |waker| cx.tasks[waker as usize].cpu);
        let affine = here != last && allowed >> here & 1 == 1;
        let target = if affine { self.affine(cx, task, here, last) } else { last };
        let node = |cpu: CpuId| cx.topology.place(cpu).node;
        let count = self.cpus.len() as CpuId;
        let around = (1..count).map(|step| (target + step) % count);
        let shared = |cpu: &CpuId| node(*cpu) == node(target);
        let mut candidates = [target, last].into_iter().chain(around).filter(shared);
        candidates.find(|&cpu| allowed >> cpu & 1 == 1 && self.is_idle(cx, cpu)).unwrap_or(target)
    }

    /// Where it is woken, or where it was. (wake_affine)
    fn affine(&self, cx: &Context<'_>, task: TaskId, here: CpuId, last: CpuId) -> CpuId {
        let paired = self.balancer.tasks[task as usize].paired;
        if paired && self.nr_running(here) == 1 {
            return here;
        }
        if self.is_idle(cx, last) {
            return last;
        }
        let own = self.load_of(cx.now, task);
        let waker = cx.waker.filter(|_| paired).map_or(0, |waker| self.load_of(cx.now, waker));
        let there = self.load(cx.now, last).saturating_sub(own);
        let with_it = self.load(cx.now, here).saturating_sub(waker) + own;
        if with_it * 100 < there * (100 + (IMBALANCE - 100) / 2) { here } else { last }
    }

    /// The recent load of a processor.
    fn load(&self, now: Nanos, cpu: CpuId) -> u64 {
        self.tree.loads_of(now, cpu)[LOAD]
    }

    /// What a task adds to its processor's load.
    fn load_of(&self, now: Nanos, task: TaskId) -> u64 {
        self.tree.task_h_load(now, self.tree.of_task(task))
    }

    /// Whether nothing runs or is ready on a processor.
    pub fn available_idle_cpu(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        cx.processors[cpu as usize].running.is_none() && self.nr_running(cpu) == 0
    }

    /// Whether at most SCHED_IDLE tasks run or are ready on a processor. (available_idle_cpu, sched_idle_cpu)
    pub fn is_idle(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let Some(running) = cx.processors[cpu as usize].running else { return self.nr_running(cpu) == 0 };
        let others = || self.waiting(cpu).all(|entity| self.tree.entities[entity as usize].is_idle());
        cx.tasks[running as usize].policy == Policy::Idle
            && self.realtime.count(cpu) == 0
            && (self.nr_running(cpu) == 1 || others())
    }

    /// Tasks of both classes that can run on a processor.
    #[inline]
    pub fn nr_running(&self, cpu: CpuId) -> u32 {
        self.tree.h_nr_running(cpu) + self.realtime.count(cpu)
    }

    /// What is noted of a task that leaves one of several processors.
    #[inline(never)]
    pub fn leave_cpu(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        if !is_realtime(&cx.tasks[task as usize]) {
            self.balancer.leave(cpu, task, why);
        }
    }

    /// Loads and the balancer follow a choice. Where there are several processors.
    #[inline(never)]
    pub fn note_choice(&mut self, now: Nanos, cpu: CpuId, task: Option<TaskId>) {
        let (last, realtime) = (self.balancer.states[cpu as usize].last, self.cpus[cpu as usize].realtime);
        if last == task {
            return;
        }
        self.balancer.picked(now, cpu, task, !realtime);
        for task in [last, task].into_iter().flatten() {
            self.tree.update_load_avg_of(self.tree.of_task(task));
        }
        if let Some(load) = self.tree.loads.queues.get_mut(usize::from(cpu)) {
            load.realtime = realtime && task.is_some();
            self.tree.update_load_avg(cpu.into());
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
            self.tree.detach_entity_load_avg(&self.class, entity);
            self.class.migrate_entity(&mut self.tree, entity, to);
            self.tree.entity(entity).queue = to;
            self.tree.attach_entity_load_avg(entity);
        }
    }
}
