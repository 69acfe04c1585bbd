//! The processor for a new or woken task on several of them, as Linux has chosen it since 5.5; and what is noted of a task that comes
//! to a processor, is chosen there or leaves.

use super::{
    busiest::Statistics, domains::processors, entity::Placing, hierarchy::FairClass, linux::Linux, loads::LOAD,
    realtime::is_realtime,
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

    /// The processor with the least to do, for a new task: in each domain, from the largest on in which new tasks move, it goes to the idlest
    /// group. (find_idlest_cpu)
    fn idlest(&mut self, cx: &mut Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = cx.tasks[task as usize].allowed;
        let (mut at, mut span) = (last, u64::MAX >> (64 - self.cpus.len()));
        for level in (1..self.balancer.domains.chains[usize::from(last)].len()).rev() {
            // The processor found above may have other levels than the one before.
            let Some(domain) = self.balancer.domains.chains[usize::from(at)].get(level) else { continue };
            if domain.is_near() {
                span = self.find_idlest_group(cx, at, level, allowed);
                at = if span >> at & 1 == 1 { at } else { (span & allowed).trailing_zeros() as CpuId };
            } else {
                span = domain.groups[0].span;
            }
        }
        let span = if span & allowed == 0 { u64::MAX } else { span };
        let all = (0..self.cpus.len() as CpuId).filter(|cpu| (allowed & span) >> cpu & 1 == 1);
        all.min_by_key(|&cpu| (!self.is_idle(cx, cpu), self.load(cx.now, cpu), cpu != last)).unwrap_or(last)
    }

    /// The group of a domain to which a new task goes: the own one unless another is clearly idler. (find_idlest_group)
    fn find_idlest_group(&mut self, cx: &mut Context<'_>, cpu: CpuId, level: usize, allowed: u64) -> u64 {
        let count = self.domain(cpu, level).groups.len();
        let group = |this: &Self, index: usize| this.domain(cpu, level).groups[index];
        let own = group(self, 0);
        let local = self.statistics(cx, cpu, level, &own, (true, 0));
        let mut idlest: Option<(u64, Statistics)> = None;
        for other in (1..count).map(|index| group(self, index)).filter(|group| group.span & allowed != 0) {
            let there = self.statistics(cx, cpu, level, &other, (true, 0));
            if idlest.is_none_or(|(_, best)| there.is_idler(&best)) {
                idlest = Some((other.span, there));
            }
        }
        match idlest {
            Some((span, _)) if own.span & allowed == 0 => span,
            Some((span, there)) if self.domain(cpu, level).leaves(&local, &there) => span,
            _ => own.span,
        }
    }

    /// The processor for a woken task: an idle one that shares the cache with where it was or where it is woken, else one
    /// of these two. (select_task_rq_fair, select_idle_sibling)
    fn near(&self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = cx.tasks[task as usize].allowed;
        let here = cx.waker.map_or(last, |waker| cx.tasks[waker as usize].cpu);
        let mut chain = self.balancer.domains.chains[usize::from(here)].iter();
        let common = chain.find(|domain| domain.is_near() && domain.span >> last & 1 == 1);
        let target = match common {
            Some(domain) if here != last && allowed >> here & 1 == 1 => {
                self.affine(cx, task, (here, last), domain.imbalance_pct())
            }
            _ => last,
        };
        let free = |cpu: &CpuId| allowed >> cpu & 1 == 1 && self.is_idle(cx, *cpu);
        let (threads, caches) = (&self.balancer.domains.threads, &self.balancer.domains.caches);
        let shared = caches[usize::from(target)];
        if let Some(cpu) = [target, last].into_iter().find(|cpu| shared >> cpu & 1 == 1 && free(cpu)) {
            return cpu;
        }
        let count = self.cpus.len() as CpuId;
        let around = || (1..count).map(|step| (target + step) % count).filter(|cpu| shared >> cpu & 1 == 1);
        let alone = |cpu: &CpuId| threads[usize::from(*cpu)] == 1 << cpu;
        let whole = |cpu: &CpuId| processors(threads[usize::from(*cpu)]).all(|thread| self.is_idle(cx, thread));
        let core = || around().find(|cpu| !alone(cpu) && whole(cpu) && free(cpu));
        let sibling = || processors(threads[usize::from(last)] & shared).find(free);
        let has_threads = !alone(&target);
        let by_core = has_threads.then(|| core().or_else(sibling)).flatten();
        by_core.or_else(|| around().find(free)).unwrap_or(target)
    }

    /// Where it is woken, or where it was. (wake_affine)
    fn affine(&self, cx: &Context<'_>, task: TaskId, (here, last): (CpuId, CpuId), imbalance: u64) -> CpuId {
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
        if with_it * 100 < there * (100 + (imbalance - 100) / 2) { here } else { last }
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
