//! Quotas of task groups, as CFS bandwidth control has them: a group's pool is filled up once a period, and its queue on each
//! processor takes portions of 5 ms from it. A queue without any left waits for the next period, or for what others return.

use super::{
    entity::{CfsRqId, Leave, NOBODY},
    hierarchy::{FairClass, Tree},
    pools::PORTION,
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::{
    MILLISECOND, Nanos,
    processors::CpuSet,
    task::{CpuId, GroupId},
};

/// What a queue with nothing to run keeps (min_cfs_rq_runtime).
const KEPT: i64 = MILLISECOND as i64;

impl<L: FairClass> Tree<L> {
    /// A queue has used some of its group's time; if nothing is left, another task is to be chosen.
    pub fn account_cfs_rq_runtime(&mut self, queue: CfsRqId, used: Nanos) {
        self.queue(queue).runtime -= used as i64;
        if !self.assign_cfs_rq_runtime(queue) {
            self.resched = true;
        }
    }

    /// Whether a queue that is about to run, or has just run, has to wait for its quota, after it has tried to get more.
    pub fn check_cfs_rq_runtime(&mut self, queue: CfsRqId) -> bool {
        !self.assign_cfs_rq_runtime(queue)
    }

    /// A queue without time takes a portion from its group's pool. Returns whether it has some then.
    fn assign_cfs_rq_runtime(&mut self, queue: CfsRqId) -> bool {
        let runtime = self.queue(queue).runtime;
        if runtime > 0 {
            return true;
        }
        let (group, now) = (self.group(queue), self.now);
        let given = self.pools.of(group).draw(now, PORTION - runtime);
        self.queue(queue).runtime += given;
        runtime + given > 0
    }

    /// A queue with nothing to run returns what it will not need soon.
    pub fn return_cfs_rq_runtime(&mut self, queue: CfsRqId) {
        let spare = self.queue(queue).runtime - KEPT;
        if spare > 0 {
            let (group, now) = (self.group(queue), self.now);
            self.queue(queue).runtime -= spare;
            self.pools.give_back(group, now, spare);
        }
    }

    /// What queues have returned is distributed before the period is over. Returns as [`Tree::distribute_cfs_runtime`].
    pub fn do_sched_cfs_slack_timer(&mut self, class: &L, group: GroupId) -> CpuSet {
        let now = self.now;
        if self.pools.slack_over(group, now) { self.distribute_cfs_runtime(class, group) } else { CpuSet::none() }
    }

    /// A period of a group's quota begins: queues that wait get just enough to run, one after the other, as long as some
    /// is left. Returns the processors on which the group may run again.
    pub fn distribute_cfs_runtime(&mut self, class: &L, group: GroupId) -> CpuSet {
        let mut freed = CpuSet::none();
        for _ in 0..self.pools.of(group).waiting.len() {
            let queue = self.pools.of(group).waiting.remove(0);
            let (runtime, now) = (self.queue(queue).runtime, self.now);
            let given = self.pools.of(group).draw(now, 1 - runtime);
            self.queue(queue).runtime += given;
            if runtime + given > 0 {
                self.unthrottle_cfs_rq(class, queue);
                freed.insert(self.cpu(queue) as CpuId);
            } else {
                self.pools.wait(group, queue);
            }
        }
        freed
    }

    /// Whether a task or a group above it waits for its quota.
    pub fn throttled_hierarchy(&self, task: EntityId) -> bool {
        let mut queue = self.entities[task as usize].queue;
        loop {
            if self.queues[queue as usize].throttled {
                return true;
            }
            match self.owner(queue) {
                NOBODY => return false,
                owner => queue = self.entities[owner as usize].queue,
            }
        }
    }

    /// A queue's group may run no more on this processor.
    #[inline(never)]
    pub fn throttle_cfs_rq(&mut self, class: &L, queue: CfsRqId) {
        self.put_prev_task_fair(class, queue);
        let tasks = self.queue(queue).tasks as i32;
        self.pools.wait(self.group(queue), queue);
        self.add_nr_running(queue, -tasks);
        let state = self.queue(queue);
        (state.tasks, state.throttled) = (tasks as u32, true);
        let owner = self.owner(queue);
        let above = self.entity(owner).queue;
        // What was current in it may have had to wait for a quota of its own, so that nothing was left and it has left already.
        if self.entity(owner).queued {
            // It may be there for its lag alone, all of its tasks asleep.
            let how = if L::sleeps(&self.entity(owner).claim) { Leave::Delayed(None) } else { Leave::End };
            self.dequeue_entity(class, owner, how);
            self.dequeue_ancestors(class, above, false, Leave::End);
        }
        self.update_groups(class, above);
    }

    /// A queue's group may run again on this processor.
    fn unthrottle_cfs_rq(&mut self, class: &L, queue: CfsRqId) {
        let owner = self.owner(queue);
        let state = self.queue(queue);
        state.throttled = false;
        let tasks = std::mem::take(&mut state.tasks) as i32;
        self.add_nr_running(queue, tasks);
        if self.queue(queue).count > 0 {
            self.enqueue_ancestors(class, queue);
            let above = self.entity(owner).queue;
            self.update_groups(class, above);
        }
    }
}
