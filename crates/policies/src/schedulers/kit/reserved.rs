//! What real-time policies by reservation share: two classes of tasks, those whose reservation was granted, by key; and below
//! them all others, round-robin with one slice each. Partitioned, a task with a reservation stays on the processor that granted it, and the
//! others go wherever there is room; global, one queue serves all processors.

use super::{
    ordered::Ordered,
    placement::{idle_or_last, pull},
    queue::Queues,
    shared_queue::Shared,
};
use crate::schedulers::{Context, Enqueue, Preempt};
use schedlab_model::task::{CpuId, Reservation, TaskId};

/// The runqueues of both classes.
#[derive(Debug)]
pub struct Reserved<K> {
    granted: Ordered<K>,
    background: Queues,
    /// For each task whose reservation was granted, the processor that granted it.
    homes: Vec<CpuId>,
    /// Where one queue serves several processors; the first of each class is that queue then.
    global: Option<Shared>,
}

impl<K: Ord + Copy + Default> Reserved<K> {
    /// Empty ones, a queue for each processor.
    pub fn partitioned(processors: u16) -> Reserved<K> {
        Reserved {
            granted: Ordered::new(processors),
            background: Queues::new(processors),
            homes: Vec::new(),
            global: None,
        }
    }

    /// An empty one for all processors.
    pub fn global(processors: u16) -> Reserved<K> {
        let global = Some(Shared::new(processors)).filter(Shared::several);
        Reserved { global, ..Reserved::partitioned(1) }
    }

    /// A reservation is granted by the first processor that the task may use and that has `room` for it.
    pub fn grant(&mut self, cx: &Context<'_>, task: TaskId, room: impl FnMut(CpuId) -> bool) -> Option<CpuId> {
        let mut room = room;
        let home = cx.tasks[task as usize].allowed.iter().find(|&cpu| room(cpu))?;
        if task as usize >= self.homes.len() {
            self.homes.resize(task as usize + 1, 0);
        }
        self.homes[task as usize] = home;
        Some(home)
    }

    /// Where a task that becomes ready goes. `worse` says of a running task that it may preempt how bad that is, and nothing of
    /// others.
    pub fn place(&mut self, cx: &Context<'_>, task: TaskId, worse: impl Fn(TaskId) -> Option<K>) -> CpuId {
        match (&mut self.global, reservation(cx, task)) {
            (Some(shared), _) => shared.place_over(cx, task, worse),
            (None, Some(_)) => self.homes[task as usize],
            (None, None) => idle_or_last(cx, task, |cpu| self.granted.is_empty(cpu) && self.background.is_empty(cpu)),
        }
    }

    /// A woken task preempts the one that runs on a processor, or does not.
    #[inline]
    pub fn preempts(&mut self, cpu: CpuId, does: bool) -> Preempt {
        self.global.as_mut().map_or(does.into(), |shared| shared.preempts(cpu, does))
    }

    /// A task joins: by its key if there is one, else behind all. In the queue of all, one that only moves to another processor keeps its
    /// place.
    #[inline]
    pub fn join(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue, key: Option<K>) {
        let line = if self.global.is_some() { 0 } else { cpu };
        match key {
            _ if self.global.as_mut().is_some_and(|shared| !shared.joins(cx, task, why)) => {}
            Some(key) => self.granted.join(line, task, key),
            None => self.background.join(line, task),
        }
    }

    /// A task will not come back, or not to this processor.
    #[inline]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        match (&self.global, reservation(cx, task)) {
            (None, Some(_)) => self.granted.leave(cx, cpu, task),
            (None, None) => self.background.leave(cx, cpu, task),
            (Some(shared), _) if shared.queued(cx, cpu, task) => self.remove(cx, task),
            (Some(_), _) => {}
        }
    }

    /// A task leaves the queue of all.
    fn remove(&mut self, cx: &Context<'_>, task: TaskId) {
        match reservation(cx, task) {
            Some(_) => self.granted.remove(0, task),
            None => self.background.remove(0, task),
        }
    }

    /// The task that runs next leaves the queue.
    #[inline]
    pub fn next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let Some(shared) = &mut self.global else {
            return self.granted.next(cpu).or_else(|| self.background.next(cpu));
        };
        let task = shared.next(cx, cpu, || self.granted.waiting(0).chain(self.background.waiting(0)))?;
        self.remove(cx, task);
        Some(task)
    }

    /// A task for an idle processor. Partitioned, those with a reservation stay where it was granted.
    pub fn pull(&self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        match &self.global {
            Some(shared) => shared.pulled(),
            None => pull(cx, to, |from, may| self.background.waiting(from).find(|&task| may(task))),
        }
    }
}

/// What was granted to a task, if anything: the kernel takes a refused reservation from it.
#[inline]
pub fn reservation(cx: &Context<'_>, task: TaskId) -> Option<Reservation> {
    cx.tasks[task as usize].reservation
}
