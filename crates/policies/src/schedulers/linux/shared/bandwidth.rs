//! Quotas of task groups, as CFS bandwidth control has them: a group's pool is filled up once a period, and its queue on each
//! processor takes portions of 5 ms from it. A queue without any left waits for the next period.

use super::{
    hierarchy::{NOBODY, QueueId, Tree},
    law::{Law, Leave},
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{Group, GroupId},
};

/// What a queue takes from the pool at once (sysctl_sched_cfs_bandwidth_slice).
const PORTION: i64 = 5 * MILLISECOND as i64;
/// What a queue with nothing to run keeps (min_cfs_rq_runtime).
const KEPT: i64 = MILLISECOND as i64;

/// The pools of all groups that have a quota.
#[derive(Debug, Default)]
pub struct Pools {
    /// By group.
    pools: Vec<Option<Pool>>,
    /// Timers that should be set: when, and for which group.
    pub alarms: Vec<(Nanos, GroupId)>,
    any: bool,
}

#[derive(Debug)]
struct Pool {
    quota: i64,
    period: Nanos,
    left: i64,
    period_end: Nanos,
    /// Queues that wait for the next period, in order.
    waiting: Vec<QueueId>,
}

impl Pool {
    /// What the pool gives of what is wanted.
    fn draw(&mut self, now: Nanos, wanted: i64) -> i64 {
        if now >= self.period_end {
            self.left = self.quota;
            self.period_end = (now / self.period + 1) * self.period;
        }
        let given = wanted.min(self.left);
        self.left -= given;
        given
    }
}

impl Pools {
    pub fn new(groups: &[Group]) -> Self {
        let pool = |group: &Group| {
            let (quota, period) = group.quota?;
            Some(Pool { quota: quota as i64, period: period.max(1), left: 0, period_end: 0, waiting: Vec::new() })
        };
        let any = groups.iter().any(|group| group.quota.is_some());
        Pools { pools: groups.iter().map(pool).collect(), alarms: Vec::new(), any }
    }

    fn of(&mut self, group: GroupId) -> &mut Pool {
        self.pools[group as usize].as_mut().expect("a queue is limited only where its group has a quota")
    }

    /// Whether any group has a quota.
    #[inline(always)]
    pub fn exist(&self) -> bool {
        self.any
    }

    /// A queue waits for the next period of its group.
    pub fn wait(&mut self, group: GroupId, queue: QueueId) {
        let pool = self.of(group);
        let when = pool.period_end;
        let first = pool.waiting.is_empty();
        pool.waiting.push(queue);
        if first {
            self.alarms.push((when, group));
        }
    }
}

impl<L: Law> Tree<L> {
    /// A queue has used so much of its group's time.
    pub fn spend(&mut self, queue: QueueId, used: Nanos) {
        self.queue(queue).runtime -= used as i64;
        if !self.has_runtime(queue) {
            self.resched = true;
        }
    }

    /// Whether a queue that is about to run has to wait for its quota instead.
    pub fn must_wait(&mut self, queue: QueueId) -> bool {
        !self.has_runtime(queue)
    }

    /// Whether a queue has some time left, after it has tried to get a portion.
    fn has_runtime(&mut self, queue: QueueId) -> bool {
        let runtime = self.queue(queue).runtime;
        if runtime > 0 {
            return true;
        }
        let (group, now) = (self.group(queue), self.now);
        let given = self.pools.of(group).draw(now, PORTION - runtime);
        self.queue(queue).runtime += given;
        runtime + given > 0
    }

    /// A queue with nothing to run gives back what it will not need soon.
    pub fn give_back(&mut self, queue: QueueId) {
        let spare = self.queue(queue).runtime - KEPT;
        if spare > 0 {
            let group = self.group(queue);
            self.queue(queue).runtime -= spare;
            self.pools.of(group).left += spare;
        }
    }

    /// A period of a group's quota begins: those that wait get just enough to run, in turn, as long as there is some.
    /// Gives the processors on which it may run again, a bit each.
    pub fn refill(&mut self, law: &L, group: GroupId) -> u64 {
        let mut freed = 0;
        for _ in 0..self.pools.of(group).waiting.len() {
            let queue = self.pools.of(group).waiting.remove(0);
            let (runtime, now) = (self.queue(queue).runtime, self.now);
            let given = self.pools.of(group).draw(now, 1 - runtime);
            self.queue(queue).runtime += given;
            if runtime + given > 0 {
                self.unthrottle(law, queue);
                freed |= 1 << self.cpu(queue);
            } else {
                self.pools.wait(group, queue);
            }
        }
        freed
    }

    /// Whether a task or a group above it waits for its quota.
    pub fn held_back(&self, task: EntityId) -> bool {
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
    pub fn throttle(&mut self, law: &L, queue: QueueId) {
        self.put_back(law, queue);
        let tasks = self.queue(queue).tasks as i32;
        self.pools.wait(self.group(queue), queue);
        self.count_tasks(queue, -tasks);
        let state = self.queue(queue);
        (state.tasks, state.throttled) = (tasks as u32, true);
        let owner = self.owner(queue);
        let above = self.entity(owner).queue;
        // What was current in it may have had to wait for a quota of its own, so that nothing was left and it has left already.
        if self.entity(owner).queued {
            self.leave(law, owner, Leave::End);
            self.descend(law, above, false, Leave::End);
        }
        self.refresh(law, above);
    }

    /// A queue's group may run again on this processor.
    fn unthrottle(&mut self, law: &L, queue: QueueId) {
        let owner = self.owner(queue);
        let state = self.queue(queue);
        state.throttled = false;
        let tasks = std::mem::take(&mut state.tasks) as i32;
        self.count_tasks(queue, tasks);
        if self.queue(queue).count > 0 {
            self.climb(law, queue);
            let above = self.entity(owner).queue;
            self.refresh(law, above);
        }
    }
}
