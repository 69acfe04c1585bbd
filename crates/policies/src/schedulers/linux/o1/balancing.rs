//! How tasks move between processors: by the rules of [`domain`], a task that moves to an array of the same kind.

use super::O1;
use crate::schedulers::{
    Context, Pick, Scheduler,
    linux::domain::{self, Balanced, Domains, Share},
};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl Balanced for O1 {
    fn domains(&self) -> &Domains {
        &self.domains
    }

    fn share(&self, cpu: CpuId) -> &Share {
        &self.queues[cpu as usize].share
    }

    fn share_mut(&mut self, cpu: CpuId) -> &mut Share {
        &mut self.queues[cpu as usize].share
    }

    fn processors(&self) -> CpuId {
        self.queues.len() as CpuId
    }

    fn scale(&self) -> u64 {
        super::credit::SCHED_LOAD_SCALE
    }

    fn weight(&self, task: TaskId) -> Option<u64> {
        self.tasks.get(task as usize).map(|entity| entity.weight)
    }

    fn last_ran(&self, task: TaskId) -> Nanos {
        self.tasks[task as usize].last_ran
    }

    fn wakes_in_sync(&self, task: TaskId) -> bool {
        self.tasks[task as usize].sync
    }

    fn visit(&self, _: &Context<'_>, cpu: CpuId, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        let from = &self.queues[cpu as usize];
        let arrays = [1 - from.active, from.active].map(|array| &from.arrays[usize::from(array)]);
        arrays.into_iter().find_map(|array| array.find_from_tails(&self.links, takes))
    }

    fn take_out(&mut self, cpu: CpuId, task: TaskId) {
        self.note_array(cpu, task);
        self.remove(cpu, task);
    }
}

impl O1 {
    /// Whether it is in the expired array, for when it moves.
    pub(super) fn note_array(&mut self, cpu: CpuId, task: TaskId) {
        let active = self.queues[cpu as usize].active;
        let entity = &mut self.tasks[task as usize];
        entity.moves_expired = entity.array != active;
    }

    /// The running task is among the ready ones again: the migration thread may take it.
    #[inline(always)]
    pub(super) fn may_leave(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        if self.queues.len() > 1 {
            domain::push(self, cx, cpu);
        }
    }

    /// There is nothing to run but the task that the migration thread has taken out for another processor, which has found other work.
    #[cold]
    pub(super) fn pick_pushed(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu as usize];
        let (task, active) = (queue.share.take_back()?, queue.active);
        self.insert(cpu, task, active);
        self.pick_next(cx, cpu)
    }

    /// A task comes from another processor, to an array of the same kind.
    pub(super) fn pulled(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let active = self.queues[cpu as usize].active;
        let entity = &self.tasks[task as usize];
        let (prio, expired) = (entity.prio, entity.moves_expired);
        self.insert(cpu, task, if expired { 1 - active } else { active });
        self.arrive(cpu, task);
        if cx.processors[cpu as usize].running.is_some_and(|running| prio < self.tasks[running as usize].prio) {
            cx.resched(cpu);
        }
    }
}
