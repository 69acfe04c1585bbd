//! Between processors: where a woken task goes, which task it preempts there, and which task of another queue runs here.

use super::Muqss;
use crate::schedulers::{Context, kit::placement::offer_left};
use schedlab_model::task::{CpuId, TaskId};

impl Muqss {
    /// The task of another processor's queue that should run here rather than the first of the queue here, if any.
    pub(super) fn better_elsewhere(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let processors = self.chosen.len() as CpuId;
        let mut best = self.queues.first(cpu);
        let mut longest = self.queues.count(cpu);
        for further in 1..processors {
            let other = (cpu + further) % processors;
            if !self.bfs && !self.interactive && self.queues.count(other) <= longest {
                continue;
            }
            let rank = |task: TaskId| (self.key(task), self.tasks[task as usize].joined);
            let earlier = |task: TaskId| best.is_none_or(|best| rank(task) < rank(best));
            let Some(first) = self.queues.first(other).filter(|&task| earlier(task)) else { continue };
            let may = |task: TaskId| cx.tasks[task as usize].allowed >> cpu & 1 == 1;
            let found = if may(first) { Some(first) } else { self.queues.find(other, may) };
            if let Some(task) = found.filter(|&task| earlier(task)) {
                (best, longest) = (Some(task), self.queues.count(other));
            }
        }
        best.filter(|&task| cx.tasks[task as usize].cpu != cpu)
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

    /// Tasks that run on a processor or wait for it.
    fn load(&self, cx: &Context<'_>, cpu: CpuId) -> usize {
        self.queues.count(cpu) + usize::from(cx.processors[cpu as usize].running.is_some())
    }

    /// Another processor whose task a woken one may preempt.
    pub(super) fn preemptible_elsewhere(&self, cx: &Context<'_>, cpu: CpuId, woken: TaskId) -> Option<CpuId> {
        let processors = self.chosen.len() as CpuId;
        let load = self.load(cx, cpu);
        let may = |&other: &CpuId| {
            let running = cx.processors[other as usize].running;
            cx.tasks[woken as usize].allowed >> other & 1 == 1
                && (self.interactive || self.load(cx, other) > load)
                && running.is_some_and(|running| self.can_preempt(woken, running))
        };
        (1..processors).map(|further| (cpu + further) % processors).find(may)
    }

    /// Where a task goes if no processor is idle: in BFS, where the latest deadline runs; in MuQSS, where the least load is.
    /// The one where it was goes first among equals.
    pub(super) fn busy_processor(&self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let view = &cx.tasks[task as usize];
        let processors = self.chosen.len() as CpuId;
        let others = (0..processors).map(|further| (last + further) % processors);
        let may = others.filter(|other| view.allowed >> other & 1 == 1);
        let runs = |cpu: CpuId| cx.processors[cpu as usize].running;
        match self.bfs {
            true => may.rev().max_by_key(|&other| runs(other).map_or((u8::MAX, 0), |task| self.key(task))),
            false => may.min_by_key(|&other| self.load(cx, other)),
        }
        .unwrap_or(last)
    }
}
