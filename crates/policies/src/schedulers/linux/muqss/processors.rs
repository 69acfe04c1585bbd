//! Between processors: where a woken task goes, which task it preempts there, and which task of another queue runs here.

use super::{Muqss, near::Distance};
use crate::schedulers::{Context, kit::placement::offer_left};
use schedlab_model::task::{CpuId, TaskId};

impl Muqss {
    /// What orders waiting tasks of all queues.
    fn rank(&self, task: TaskId) -> ((u8, u64), u64) {
        (self.key(task), self.tasks[task as usize].joined)
    }

    /// The task of another processor's queue that should run here rather than the first of the queue here, if any
    /// (earliest_deadline_task).
    pub(super) fn better_elsewhere(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let may = |task: TaskId| cx.tasks[task as usize].allowed.has(cpu);
        let best =
            if self.bfs || self.interactive { self.best_of_all(cpu, may) } else { self.best_of_longer(cpu, may) };
        best.filter(|&task| cx.tasks[task as usize].cpu != cpu)
    }

    /// Of all that may run here, the first.
    fn best_of_all(&self, cpu: CpuId, may: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let mut best = self.queues.first(cpu);
        for other in self.near.order(cpu).skip(1) {
            let earlier = |task: TaskId| best.is_none_or(|best| self.rank(task) < self.rank(best));
            let Some(first) = self.queues.first(other).filter(|&task| earlier(task)) else { continue };
            let found = if may(first) { Some(first) } else { self.queues.find(other, &may) };
            if let Some(task) = found.filter(|&task| earlier(task)) {
                best = Some(task);
            }
        }
        best
    }

    /// The first of the own list that may run here; of another list only its first, if the list is longer than that of the best so far. Once there is
    /// one, lists of other nodes are left alone.
    fn best_of_longer(&self, cpu: CpuId, may: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let earliest = |list: &[CpuId], may: &dyn Fn(TaskId) -> bool| {
            list.iter().filter_map(|&cpu| self.queues.find(cpu, may)).min_by_key(|&task| self.rank(task))
        };
        let own = self.near.sharing(cpu);
        let mut best = earliest(own, &may);
        let mut longest = self.waiting(cpu);
        for other in self.near.order(cpu) {
            let list = self.near.sharing(other);
            if list.contains(&cpu) || self.waiting(other) <= longest {
                continue;
            }
            if best.is_some() && self.near.distance(cpu, other) == Distance::Node {
                break;
            }
            let first = earliest(list, &|_| true).filter(|&task| may(task));
            if let Some(task) = first.filter(|&task| best.is_none_or(|best| self.rank(task) < self.rank(best))) {
                (best, longest) = (Some(task), self.waiting(other));
            }
        }
        best
    }

    /// Takes the first task of a processor's own queue. Where several were woken at the same instant for an idle processor, other
    /// idle ones look at those that stay.
    #[inline]
    pub(super) fn take_first(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.queues.next(cpu)?;
        if self.chosen.len() > 1 && cx.processors[cpu as usize].running.is_none() && !self.queues.is_empty(cpu) {
            offer_left(cx, cpu, self.queues.waiting(cpu));
        }
        Some(task)
    }

    /// Tasks in the list of a processor.
    fn waiting(&self, cpu: CpuId) -> usize {
        self.near.sharing(cpu).iter().map(|&cpu| self.queues.count(cpu)).sum()
    }

    /// Tasks that run on a processor or wait in its list (rq_load).
    fn load(&self, cx: &Context<'_>, cpu: CpuId) -> usize {
        self.waiting(cpu) + usize::from(cx.processors[cpu as usize].running.is_some())
    }

    /// The first other processor, by distance, whose task a woken one may preempt (try_preempt).
    pub(super) fn preemptible_elsewhere(&self, cx: &Context<'_>, cpu: CpuId, woken: TaskId) -> Option<CpuId> {
        let load = self.load(cx, cpu);
        let may = |&other: &CpuId| {
            let running = cx.processors[other as usize].running;
            cx.tasks[woken as usize].allowed.has(other)
                && (self.interactive || self.load(cx, other) > load)
                && running.is_some_and(|running| self.can_preempt(woken, running))
        };
        self.near.order(cpu).skip(1).find(may)
    }

    /// The best idle processor that a task may use: its own, or the nearest whose core and cache idle, too. Of equals the later one; in BFS the
    /// first (best_mask_cpu).
    pub(super) fn idle_processor(&self, cx: &Context<'_>, task: TaskId) -> Option<CpuId> {
        let view = &cx.tasks[task as usize];
        let runs = |&cpu: &CpuId| cx.processors[cpu as usize].running.is_some();
        let idles = |cpu: &CpuId| !runs(cpu) && self.queues.is_empty(*cpu);
        if view.allowed.has(view.cpu) && idles(&view.cpu) {
            return Some(view.cpu);
        }
        // Neighbours mostly share a cache, which is looked at once for all of them.
        let (mut cache, mut cache_busy) = (None, false);
        let mut best: Option<(u32, CpuId)> = None;
        for cpu in view.allowed.iter().filter(idles) {
            if cache != Some(self.near.cache(cpu)) {
                cache = Some(self.near.cache(cpu));
                cache_busy = self.near.of_cache(cpu).iter().any(runs);
            }
            let rank = self.near.rank(view.cpu, cpu, cache_busy, self.near.of_core(cpu).iter().any(runs));
            if best.is_none_or(|(least, _)| rank < least || rank == least && !self.bfs) {
                best = Some((rank, cpu));
            }
        }
        best.map(|(_, cpu)| cpu)
    }

    /// Where a task goes if no processor is idle: in BFS, where the latest deadline runs; in MuQSS, where the least load is.
    /// The nearest to the one where it was goes first among equals (select_best_cpu).
    pub(super) fn busy_processor(&self, cx: &Context<'_>, task: TaskId) -> CpuId {
        let view = &cx.tasks[task as usize];
        let may = self.near.order(view.cpu).filter(|&other| view.allowed.has(other));
        let runs = |cpu: CpuId| cx.processors[cpu as usize].running;
        // Neighbours share a list, which is counted once for all of them.
        let (mut list, mut waiting) = (CpuId::MAX, 0);
        match self.bfs {
            true => may.rev().max_by_key(|&other| runs(other).map_or((u8::MAX, 0), |task| self.key(task))),
            false => may.min_by_key(|&other| {
                let first = self.near.sharing(other)[0];
                if list != first {
                    (list, waiting) = (first, self.waiting(other));
                }
                waiting + usize::from(runs(other).is_some())
            }),
        }
        .unwrap_or(view.cpu)
    }
}
