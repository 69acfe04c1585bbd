//! What real-time policies by reservation share: two classes of tasks, those whose reservation was granted, by key, on the
//! processor that granted it; and below them all others, round-robin with one slice each, wherever there is room.

use super::{
    ordered::Ordered,
    placement::{idle_or_last, pull},
    queue::Queues,
};
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, Reservation, TaskId};

/// The runqueues of both classes.
#[derive(Debug)]
pub struct Reserved<K> {
    granted: Ordered<K>,
    background: Queues,
    /// For each task whose reservation was granted, the processor that granted it.
    homes: Vec<CpuId>,
}

impl<K: Ord + Copy + Default> Reserved<K> {
    /// Empty ones.
    pub fn new(processors: u16) -> Reserved<K> {
        Reserved { granted: Ordered::new(processors), background: Queues::new(processors), homes: Vec::new() }
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

    /// Where a task that becomes ready goes.
    pub fn place(&self, cx: &Context<'_>, task: TaskId) -> CpuId {
        match reservation(cx, task) {
            Some(_) => self.homes[task as usize],
            None => idle_or_last(cx, task, |cpu| self.granted.is_empty(cpu) && self.background.is_empty(cpu)),
        }
    }

    /// A task joins: by its key if there is one, else behind all.
    #[inline]
    pub fn join(&mut self, cpu: CpuId, task: TaskId, key: Option<K>) {
        match key {
            Some(key) => self.granted.join(cpu, task, key),
            None => self.background.join(cpu, task),
        }
    }

    /// A task will not come back, or not to this processor.
    #[inline]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        match reservation(cx, task) {
            Some(_) => self.granted.leave(cx, cpu, task),
            None => self.background.leave(cx, cpu, task),
        }
    }

    /// The task that runs next leaves the queue.
    #[inline]
    pub fn next(&mut self, cpu: CpuId) -> Option<TaskId> {
        self.granted.next(cpu).or_else(|| self.background.next(cpu))
    }

    /// A task for an idle processor. Those with a reservation stay where it was granted.
    pub fn pull(&self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        pull(cx, to, |from, may| self.background.find(from, may))
    }
}

/// What was granted to a task, if anything: the kernel takes a refused reservation from it.
#[inline]
pub fn reservation(cx: &Context<'_>, task: TaskId) -> Option<Reservation> {
    cx.tasks[task as usize].reservation
}
