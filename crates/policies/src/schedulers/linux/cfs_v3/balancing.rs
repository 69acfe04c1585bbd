//! How tasks move between processors: by the rules of [`domain`].

use super::{CfsV3, NICE_0, REAL_TIME};
use crate::schedulers::{
    Context, Enqueue, Pick, Preempt, Scheduler,
    linux::domain::{self, Balanced, Domains, Share},
};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl Balanced for CfsV3 {
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
        NICE_0 as u64
    }

    fn weight(&self, task: TaskId) -> Option<u64> {
        self.entities.get(task as usize).filter(|entity| entity.weight > 0).map(|entity| entity.weight as u64)
    }

    fn last_ran(&self, task: TaskId) -> Nanos {
        self.entities[task as usize].last_ran
    }

    fn wakes_in_sync(&self, task: TaskId) -> bool {
        self.entities[task as usize].sync
    }

    /// Real-time tasks, then the tree from the left. The running ordinary task is not in it here.
    fn visit(&self, cx: &Context<'_>, cpu: CpuId, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        let prio = |task: TaskId| (REAL_TIME as i32 + 21 + i32::from(cx.tasks[task as usize].nice)) as usize;
        let running = cx.processors[cpu as usize].running;
        let running = running.filter(|&task| self.entities[task as usize].priority.is_none());
        let urgent = self.queues[cpu as usize].urgent.find_from_tails(&self.links, takes);
        urgent.or_else(|| running.into_iter().chain(self.ready.waiting(cpu)).find(|&task| takes(task, prio(task))))
    }

    fn take_out(&mut self, cpu: CpuId, task: TaskId) {
        match self.entities[task as usize].priority {
            Some(priority) => self.queues[cpu as usize].urgent.remove(&mut self.links, priority, task),
            None => self.ready.remove(cpu, task),
        }
    }
}

impl CfsV3 {
    /// The running task is among the ready ones again: the migration thread may take it. One that was pulled preempts a worse one.
    pub(super) fn queued_among_several(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        match why {
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => {
                self.entities[task as usize].last_ran = cx.now;
                domain::push(self, cx, cpu);
            }
            Enqueue::Migrate => {
                let Some(running) = cx.processors[cpu as usize].running else { return };
                if self.wakeup_preempts(cx, cpu, running, task) != Preempt::No {
                    cx.resched(cpu);
                }
            }
            Enqueue::New | Enqueue::Wakeup => {}
        }
    }

    /// There is nothing to run but the task that the migration thread has taken out for another processor, which has found other work.
    #[inline(never)]
    pub(super) fn pick_pushed(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let queue = &mut self.queues[cpu as usize];
        let task = queue.share.take_back()?;
        let entity = &self.entities[task as usize];
        match entity.priority {
            Some(priority) => queue.urgent.push_tail(&mut self.links, priority, task),
            None => self.ready.join(cpu, task, entity.key),
        }
        self.pick_next(cx, cpu)
    }
}
