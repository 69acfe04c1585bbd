//! One queue for all processors: each takes the first task that it may run, whatever the order. So no processor idles while a task
//! waits that may use it, and tasks that may use the same processors are treated alike whatever their number.
//!
//! [`Shared`] is what this takes apart from the order: where a task goes that becomes ready, which task a processor takes, and who
//! looks for those that are left. How the tasks that wait are kept is the policy's affair; [`SharedQueue`] keeps them in order of arrival.
//!
//! In the simulated kernel a ready task is on some processor's runqueue. Where a processor takes a task that is on another
//! one's, the policy first reports that it has none; then names that task when the kernel asks which to pull; and picks it
//! at the next call.

use super::ordered::Ordered;
use crate::schedulers::{Context, Dequeue, Enqueue, Preempt};
use schedlab_model::{
    processors::CpuSet,
    task::{CpuId, Task, TaskId},
};
use std::{cmp::Reverse, collections::VecDeque};

/// What processors with one queue agree on.
#[derive(Debug)]
pub struct Shared {
    several: bool,
    /// Those that were asked to choose anew, for a task that waits, and have not done so since.
    asked: CpuSet,
    /// The task that is being pulled.
    pulled: Option<TaskId>,
}

impl Shared {
    /// Of that many processors.
    pub fn new(processors: u16) -> Shared {
        Shared { several: processors > 1, asked: CpuSet::none(), pulled: None }
    }

    /// Whether there is more than one processor. If not, the first task is the first that may run, and nothing here is needed.
    #[inline(always)]
    pub fn several(&self) -> bool {
        self.several
    }

    /// Where a task goes that becomes ready: to an idle processor, where it was last if that one is, else the lowest. If none is,
    /// it waits where it was last.
    pub fn place(&mut self, cx: &Context<'_>, task: TaskId) -> CpuId {
        self.free(cx, task).unwrap_or_else(|| cx.tasks[task as usize].last_or_first())
    }

    /// The same, but if no processor is idle it goes to the one that runs the worst task. `worse` says of a running task that the
    /// new one may preempt how bad it is, and nothing of others.
    pub fn place_over<K: Ord>(&mut self, cx: &Context<'_>, task: TaskId, worse: impl Fn(TaskId) -> Option<K>) -> CpuId {
        if let Some(free) = self.free(cx, task) {
            return free;
        }
        let task = &cx.tasks[task as usize];
        let last = task.last_or_first();
        let badness = |cpu: CpuId| Some((worse(cx.processors[cpu as usize].running?)?, cpu == last, Reverse(cpu)));
        let worst = task.allowed.iter_without(&self.asked).filter_map(badness).max();
        worst.map_or(last, |(_, _, Reverse(cpu))| cpu)
    }

    /// An idle processor for a task that becomes ready; the kernel asks it to choose.
    fn free(&mut self, cx: &Context<'_>, task: TaskId) -> Option<CpuId> {
        let last = cx.tasks[task as usize].last_or_first();
        let stays = cx.idle.has(last) && !self.asked.has(last);
        let free = if stays { Some(last) } else { self.idle(cx, task, None) }?;
        self.asked.insert(free);
        Some(free)
    }

    /// A task preempts the one that runs on a processor, or does not. Until that processor has chosen anew, no other task is sent there
    /// to preempt the same one.
    #[inline]
    pub fn preempts(&mut self, cpu: CpuId, does: bool) -> Preempt {
        if self.several && does {
            self.asked.insert(cpu);
        }
        does.into()
    }

    /// Whether a task joins the queue: one that only moves to the processor that takes it keeps its place there. One whose record has
    /// changed while it waited may use other processors than before: an idle one of them looks for work.
    #[inline(always)]
    pub fn joins(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> bool {
        let joins = !self.moves(task);
        if self.several && joins && why == Enqueue::Migrate {
            self.offer(cx, task);
        }
        joins
    }

    /// A task that stays where it waits is offered to an idle processor.
    #[cold]
    fn offer(&mut self, cx: &mut Context<'_>, task: TaskId) {
        let Task { cpu, ref allowed, .. } = cx.tasks[task as usize];
        let stays = allowed.has(cpu) && !cx.idle.has(cpu);
        if let Some(idle) = self.idle(cx, task, None).filter(|_| stays) {
            self.asked.insert(idle);
            cx.resched(idle);
        }
    }

    /// Whether a task only moves to the processor that takes it. It keeps its place in the queue.
    #[inline(always)]
    pub fn moves(&self, task: TaskId) -> bool {
        self.pulled == Some(task)
    }

    /// Whether a task that leaves a processor is in the queue, and has to leave it: it does not run, and it does not only move.
    #[inline(always)]
    pub fn queued(&self, cx: &Context<'_>, cpu: CpuId, task: TaskId) -> bool {
        cx.processors[cpu as usize].running != Some(task) && !self.moves(task)
    }

    /// The first of the tasks that wait which a processor may run, if it is on that one's runqueue; it still has to leave the queue. If it
    /// is on another one's, it is the next to be pulled.
    pub fn next<I: Iterator<Item = TaskId>>(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        waiting: impl Fn() -> I,
    ) -> Option<TaskId> {
        let task = self.take(cx, cpu, |cx| waiting().find(|&task| cx.tasks[task as usize].allowed.has(cpu)))?;
        self.leave_others(cx, cpu, waiting().filter(|&other| other != task));
        Some(task)
    }

    /// The first by key leaves the one queue, likewise.
    #[inline]
    pub fn next_by_key<K: Ord + Copy + Default>(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        queue: &mut Ordered<K>,
    ) -> Option<TaskId> {
        if !self.several {
            return queue.next(0);
        }
        let task = self.next(cx, cpu, || queue.waiting(0))?;
        queue.remove(0, task);
        Some(task)
    }

    /// As [`Shared::next`], of the task that `first` finds.
    pub fn take(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        first: impl FnOnce(&mut Context<'_>) -> Option<TaskId>,
    ) -> Option<TaskId> {
        self.asked.remove(cpu);
        if let Some(here) = self.pulled.take() {
            return Some(here);
        }
        let task = first(cx)?;
        if cx.tasks[task as usize].cpu == cpu {
            return Some(task);
        }
        self.pulled = Some(task);
        None
    }

    /// A processor has taken a task, perhaps in place of the one that it ran: idle ones that may run those that are left look for work.
    pub fn leave_others(&mut self, cx: &mut Context<'_>, cpu: CpuId, left: impl Iterator<Item = TaskId>) {
        if !cx.idle.iter().any(|idle| idle != cpu && !self.asked.has(idle)) {
            return;
        }
        for task in left {
            if let Some(idle) = self.idle(cx, task, Some(cpu)) {
                self.asked.insert(idle);
                cx.resched(idle);
            }
        }
    }

    /// The task to be pulled by the processor that has just found its first one on another runqueue; else none, as at ticks.
    pub fn pulled(&self) -> Option<TaskId> {
        self.pulled
    }

    /// The lowest idle processor that a task may use and that was not asked, but for one.
    fn idle(&self, cx: &Context<'_>, task: TaskId, but: Option<CpuId>) -> Option<CpuId> {
        let mut usable = cx.tasks[task as usize].allowed.iter_both(&cx.idle);
        usable.find(|&cpu| !self.asked.has(cpu) && Some(cpu) != but)
    }
}

/// The tasks that wait, in order of arrival, without the running ones.
#[derive(Debug)]
pub struct SharedQueue {
    waiting: VecDeque<TaskId>,
    shared: Shared,
}

impl SharedQueue {
    /// An empty one.
    pub fn new(processors: u16) -> SharedQueue {
        SharedQueue { waiting: VecDeque::new(), shared: Shared::new(processors) }
    }

    /// The processor for a task that becomes ready: an idle one, if there is one.
    pub fn place(&mut self, cx: &Context<'_>, task: TaskId) -> CpuId {
        self.shared.place(cx, task)
    }

    /// A task joins the tail; one that moves to another processor, or whose record has changed, keeps its place.
    #[inline(always)]
    pub fn join(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) {
        if self.shared.joins(cx, task, why) && why != Enqueue::Migrate {
            self.waiting.push_back(task);
        }
    }

    /// A task waits or ends. It runs, and has left already, or it only moves to another processor.
    #[inline(always)]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        if why != Dequeue::Migrate && cx.processors[cpu as usize].running != Some(task) {
            self.remove(task);
        }
    }

    #[inline(never)]
    fn remove(&mut self, task: TaskId) {
        let at =
            self.waiting.iter().position(|&other| other == task).expect("a task that does not run is in the queue");
        self.waiting.remove(at);
    }

    /// The first task that a processor may run leaves, to run there, if it is queued there.
    #[inline(always)]
    pub fn next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if self.shared.several() { self.next_allowed(cx, cpu) } else { self.waiting.pop_front() }
    }

    #[inline(never)]
    fn next_allowed(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.shared.next(cx, cpu, || self.waiting.iter().copied())?;
        self.remove(task);
        Some(task)
    }

    /// The task that a processor is to pull, as of [`Shared::pulled`].
    pub fn pulled(&self) -> Option<TaskId> {
        self.shared.pulled()
    }
}
