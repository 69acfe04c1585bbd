//! One first-come first-served queue for all processors: each takes the first task that it may run. So no processor idles
//! while a task waits that may use it, and tasks that may use the same processors run round-robin whatever their number.
//!
//! In the simulated kernel a ready task is on some processor's runqueue. Where a processor takes a task that is on another
//! one's, the policy first reports that it has none; then names that task when the kernel asks which to pull; and picks it
//! at the next call.

use super::placement::{idle_or_last, offer, offer_left};
use crate::schedulers::{Context, Dequeue, Enqueue};
use schedlab_model::task::{CpuId, TaskId};
use std::collections::VecDeque;

/// The tasks that wait, in order of arrival, without the running ones.
#[derive(Debug)]
pub struct SharedQueue {
    waiting: VecDeque<TaskId>,
    several: bool,
}

impl SharedQueue {
    /// An empty one.
    pub fn new(processors: u16) -> SharedQueue {
        SharedQueue { waiting: VecDeque::new(), several: processors > 1 }
    }

    /// The processor for a task that becomes ready: an idle one, if there is one.
    pub fn place(&self, cx: &Context<'_>, task: TaskId) -> CpuId {
        let stands_on = |cpu: CpuId| self.waiting.iter().any(|&other| cx.tasks[other as usize].cpu == cpu);
        idle_or_last(cx, task, |cpu| !stands_on(cpu))
    }

    /// A task joins the tail; one that moves to another processor keeps its place.
    #[inline(always)]
    pub fn join(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) {
        if why == Enqueue::Migrate {
            return;
        }
        self.waiting.push_back(task);
        if self.several && matches!(why, Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield) {
            offer(cx, task);
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
        if self.several { self.next_standing(cx, cpu) } else { self.waiting.pop_front() }
    }

    #[inline(never)]
    fn next_standing(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let at = self.first(cx, cpu)?;
        let task = self.waiting[at];
        if cx.tasks[task as usize].cpu != cpu {
            return None;
        }
        self.waiting.remove(at);
        let tasks = &cx.view.tasks;
        offer_left(cx, cpu, self.waiting.iter().copied().filter(|&other| tasks[other as usize].cpu == cpu));
        Some(task)
    }

    /// The first task that a processor may run, if it is queued on another one.
    pub fn elsewhere(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.waiting[self.first(cx, cpu)?];
        (cx.tasks[task as usize].cpu != cpu).then_some(task)
    }

    fn first(&self, cx: &Context<'_>, cpu: CpuId) -> Option<usize> {
        self.waiting.iter().position(|&task| cx.tasks[task as usize].allowed.has(cpu))
    }
}
