//! One runqueue for all processors, as BSD kernels had it: any processor takes the best task that waits anywhere. In
//! addition, each processor has a queue of its own for tasks that may not run everywhere.
//!
//! In the simulated kernel a ready task is on some processor's runqueue. Where a processor takes a task that is on another
//! one's, the policy first reports that it has none; then names that task when the kernel asks which to pull; and picks it
//! at the next call.

use crate::schedulers::{
    Context,
    kit::{
        priority_lists::{End, PER_LIST, PriorityLists},
        queue::Links,
    },
};
use schedlab_model::task::{CpuId, TaskId};

/// The queue, of `LISTS` lists.
#[derive(Debug)]
pub struct GlobalQueue<const LISTS: usize> {
    links: Links,
    shared: PriorityLists<LISTS>,
    /// The queues of single processors, each with the number of tasks in it.
    own: Vec<(PriorityLists<LISTS>, u32)>,
    /// The priority with which each task was last queued.
    priorities: Vec<u16>,
}

impl<const LISTS: usize> GlobalQueue<LISTS> {
    pub fn new(processors: u16) -> Self {
        GlobalQueue {
            links: Links::default(),
            shared: PriorityLists::default(),
            own: vec![Default::default(); processors.into()],
            priorities: Vec::new(),
        }
    }

    /// Whether a task may run on some processors only.
    #[inline]
    pub fn is_bound(&self, cx: &Context<'_>, task: TaskId) -> bool {
        self.own.len() > 1 && cx.tasks[task as usize].allowed.count_ones() < self.own.len() as u32
    }

    /// A task joins, with that priority.
    #[inline(always)]
    pub fn add(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, priority: u16, end: End) {
        if task as usize >= self.priorities.len() {
            self.priorities.resize(task as usize + 1, 0);
        }
        self.priorities[task as usize] = priority;
        if self.is_bound(cx, task) {
            let (lists, length) = &mut self.own[usize::from(cpu)];
            lists.add(&mut self.links, task, priority, end);
            *length += 1;
        } else {
            self.shared.add(&mut self.links, task, priority, end);
        }
    }

    /// A queued task leaves.
    #[inline(always)]
    fn remove(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let priority = self.priorities[task as usize];
        if self.is_bound(cx, task) {
            let (lists, length) = &mut self.own[usize::from(cpu)];
            lists.remove(&mut self.links, task, priority);
            *length -= 1;
        } else {
            self.shared.remove(&mut self.links, task, priority);
        }
    }

    /// A queued task that may use some processors only leaves one of them; any other one stays, for the queue is the same.
    pub fn take_bound(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        if self.is_bound(cx, task) {
            self.remove(cx, cpu, task);
        }
    }

    /// It joins another one.
    pub fn add_bound(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, priority: u16) {
        if self.is_bound(cx, task) {
            self.add(cx, cpu, task, priority, End::Tail);
        }
    }

    /// A queued task has another priority: it goes to the tail of its new list, or keeps its place if that is the old one.
    #[inline(never)]
    pub fn change(&mut self, cx: &Context<'_>, task: TaskId, priority: u16) {
        if self.priorities[task as usize] / PER_LIST == priority / PER_LIST {
            self.priorities[task as usize] = priority;
        } else {
            let cpu = cx.tasks[task as usize].cpu;
            self.remove(cx, cpu, task);
            self.add(cx, cpu, task, priority, End::Tail);
        }
    }

    /// The best task for a processor; the shared queue wins ties.
    #[inline]
    fn best(&self, cpu: CpuId) -> Option<TaskId> {
        let shared = self.shared.best();
        match &self.own[usize::from(cpu)] {
            (_, 0) => shared,
            (own, _) => {
                let priority = |task: &TaskId| self.priorities[*task as usize];
                shared.into_iter().chain(own.best()).min_by_key(priority)
            }
        }
    }

    /// Takes the best task for a processor, if it is queued there.
    #[inline(always)]
    pub fn take(&mut self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let task = self.best(cpu).filter(|&task| cx.tasks[task as usize].cpu == cpu)?;
        self.remove(cx, cpu, task);
        Some(task)
    }

    /// The best task for a processor, if it is queued on another one.
    pub fn elsewhere(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        self.best(cpu).filter(|&task| cx.tasks[task as usize].cpu != cpu)
    }

    /// Where a new or woken task joins: on the first idle processor, else on that of its waker. A bound one goes where it
    /// finds the fewest others, if possible where it was.
    pub fn place(&self, cx: &Context<'_>, task: TaskId) -> CpuId {
        let bound = self.is_bound(cx, task);
        let task = &cx.tasks[task as usize];
        if bound {
            let may = (0..self.own.len() as CpuId).filter(|cpu| task.allowed >> cpu & 1 == 1);
            return may.min_by_key(|&cpu| (self.own[usize::from(cpu)].1, cpu != task.cpu)).unwrap_or(task.cpu);
        }
        let idle = cx.processors.iter().position(|processor| processor.running.is_none());
        let waker = || cx.waker.map_or(task.cpu, |waker| cx.tasks[waker as usize].cpu);
        idle.map_or_else(waker, |cpu| cpu as CpuId)
    }

    /// A task was queued that may run anywhere: every idle processor is asked to reschedule.
    #[inline]
    pub fn tell_idle(&self, cx: &mut Context<'_>, task: TaskId) {
        if self.own.len() == 1 || self.is_bound(cx, task) {
            return;
        }
        for cpu in 0..self.own.len() {
            if cx.processors[cpu].running.is_none() {
                cx.resched(cpu as CpuId);
            }
        }
    }
}
