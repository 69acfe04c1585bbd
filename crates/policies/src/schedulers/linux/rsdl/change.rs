//! A task has another record, or another processor.

use super::{Rsdl, queue::NEVER};
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, Task, TaskId};

impl Rsdl {
    /// It keeps its slot and what it has left there, up to its new quota. (set_user_nice, __setscheduler)
    pub(super) fn change(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let Some(entity) = self.entities.get_mut(task as usize).filter(|entity| entity.quota > 0) else { return };
        let (after, old) = (&cx.tasks[task as usize], *entity);
        entity.settle();
        entity.read(after.policy, after.nice, self.interval);
        if !old.queued {
            return;
        }
        let queue = &mut self.queues[cpu as usize];
        queue.remove(&mut self.links, &old, task);
        queue.choose_list(entity, after.priority, self.interactive);
        queue.insert(&mut self.links, entity, task, None);
        let worse = queue.rank(entity) > queue.rank(&old);
        queue.share.leave(old.whole as u64);
        queue.share.arrive(entity.whole as u64);
        if worse || before.nice != after.nice {
            cx.resched(cpu);
        }
    }

    /// The same rotation goes on for a task on another processor that pulled it, but not for one that is woken there.
    pub(super) fn settle_in(&mut self, cpu: CpuId, task: TaskId) {
        let rotation = &self.queues[cpu as usize].rotation;
        let entity = &mut self.entities[task as usize];
        match entity.moving.take() {
            Some(active) => {
                entity.rotation = rotation.count;
                entity.array = if active { rotation.active } else { 1 - rotation.active };
            }
            None if entity.cpu != cpu => entity.rotation = NEVER,
            None => {}
        }
        entity.cpu = cpu;
    }
}
