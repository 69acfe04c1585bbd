//! How tasks move between processors: by the rules of [`domain`].

use super::{
    Rsdl,
    queue::EXPIRED,
    rotation::{SLOTS, WORST},
};
use crate::schedulers::{
    Context, Pick, Scheduler,
    linux::domain::{self, Balanced, Domains, Share},
};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl Balanced for Rsdl {
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

    /// What nice 0 may use in a rotation.
    fn scale(&self) -> u64 {
        1000 * self.interval as u64 * (SLOTS as u64 - NICE_0)
    }

    fn weight(&self, task: TaskId) -> Option<u64> {
        self.entities.get(task as usize).filter(|entity| entity.quota > 0).map(|entity| entity.whole as u64)
    }

    fn last_ran(&self, task: TaskId) -> Nanos {
        self.entities[task as usize].last_ran
    }

    fn wakes_in_sync(&self, task: TaskId) -> bool {
        self.entities[task as usize].sync
    }

    fn visit(&self, _: &Context<'_>, cpu: CpuId, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        self.queues[cpu as usize].visit(&self.links, takes)
    }

    fn take_out(&mut self, cpu: CpuId, task: TaskId) {
        self.queues[cpu as usize].remove(&mut self.links, &self.entities[task as usize], task);
    }
}

/// Level of nice 0.
const NICE_0: u64 = WORST as u64 - 19;

impl Rsdl {
    /// The running task is among the ready ones again: the migration thread may take it.
    #[inline(always)]
    pub(super) fn may_leave(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        if self.queues.len() > 1 {
            self.entities[task as usize].last_ran = cx.now;
            domain::push(self, cx, cpu);
        }
    }

    /// There is nothing to run but the task that the migration thread has taken out for another processor, which has found other work.
    #[cold]
    pub(super) fn pick_pushed(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu as usize];
        let task = queue.share.take_back()?;
        queue.insert(&mut self.links, &self.entities[task as usize], task, None);
        self.pick_next(cx, cpu)
    }

    /// A task that was pulled preempts a worse one.
    pub(super) fn compete(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let queue = &self.queues[cpu as usize];
        let rank = |task: TaskId| queue.rank(&self.entities[task as usize]);
        if rank(task) < EXPIRED && cx.processors[cpu as usize].running.is_some_and(|running| rank(task) < rank(running))
        {
            cx.resched(cpu);
        }
    }
}
