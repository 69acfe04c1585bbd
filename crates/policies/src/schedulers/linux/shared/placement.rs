//! The processor for a new or woken task on several of them, as Linux has chosen it since 5.5.

use super::{balance::IMBALANCE, entity::Placing, hierarchy::FairClass, linux::Linux, realtime::is_realtime};
use crate::schedulers::{Context, Enqueue, kit::timeline::EntityId};
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
        let node = |cpu: CpuId| cx.processors[cpu as usize].node;
        let count = self.cpus.len() as CpuId;
        let around = (1..count).map(|step| (target + step) % count);
        let shared = |cpu: &CpuId| node(*cpu) == node(target);
        let mut candidates = [target, last].into_iter().chain(around).filter(shared);
        candidates.find(|&cpu| allowed >> cpu & 1 == 1 && self.is_idle(cx, cpu)).unwrap_or(target)
    }

    /// Where it is woken, or where it was. (wake_affine)
    fn affine(&self, cx: &Context<'_>, task: TaskId, here: CpuId, last: CpuId) -> CpuId {
        let paired = self.balancer.tasks[task as usize].paired;
        if paired && self.cpus[here as usize].running == 1 {
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
    pub fn load(&self, now: Nanos, cpu: CpuId) -> u64 {
        self.tree.queues.get(usize::from(cpu)).map_or(0, |queue| queue.load.value_at(now))
    }

    /// What a task adds to its processor's load: its own, as its groups count.
    pub fn load_of(&self, now: Nanos, task: TaskId) -> u64 {
        let Some(past) = self.balancer.tasks.get(task as usize) else { return 0 };
        let mut load = past.load.value_at(now);
        let mut queue = self.tree.entities[self.tree.of_task(task) as usize].queue;
        while !self.tree.is_root(queue) {
            let owner = &self.tree.entities[queue as usize];
            load = load * owner.weight / self.tree.queues[queue as usize].weight.max(1);
            queue = owner.queue;
        }
        load
    }

    /// Whether only SCHED_IDLE tasks run or are ready on a processor.
    pub fn is_idle(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let Some(running) = cx.processors[cpu as usize].running else { return self.cpus[cpu as usize].running == 0 };
        cx.tasks[running as usize].policy == Policy::Idle && self.cpus[cpu as usize].running == 1
    }

    /// A task may come from another processor.
    pub fn settle_in(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, entity: EntityId, placing: Placing) {
        let (from, to) = (self.tree.entity(entity).queue, self.tree.queue_of(&cx.tasks[task as usize], cpu));
        let weight = self.tree.entity(entity).weight;
        if placing == Placing::New {
            self.tree.entity(entity).queue = to;
            self.balancer.begin(cx, task, weight);
            self.add_load(cx, cpu, task);
            return;
        }
        self.balancer.ready(cx, task, weight);
        if from != to {
            self.move_load(cx, task, self.tree.cpu(from) as CpuId, cpu);
            self.class.migrate_entity(&mut self.tree, entity, to);
            self.tree.entity(entity).queue = to;
        }
    }
}
