//! The pools of task groups that have a quota: filled up once a period, and drawn on by the group's queue on each processor.

use super::entity::CfsRqId;
use schedlab_model::{
    Nanos,
    task::{Group, GroupId},
};

/// The pools of all groups that have a quota.
#[derive(Debug, Default)]
pub struct Pools {
    /// By group.
    pools: Vec<Option<Pool>>,
    /// Timers that should be set: when, and for which group.
    pub alarms: Vec<(Nanos, GroupId)>,
    any: bool,
}

/// What a group may use of a period.
#[derive(Debug)]
pub struct Pool {
    quota: i64,
    period: Nanos,
    /// What is left of it in this period.
    pub left: i64,
    period_end: Nanos,
    /// Queues that wait for the next period, in order.
    pub waiting: Vec<CfsRqId>,
}

impl Pool {
    /// What the pool gives of what is wanted.
    pub fn draw(&mut self, now: Nanos, wanted: i64) -> i64 {
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

    pub fn of(&mut self, group: GroupId) -> &mut Pool {
        self.pools[group as usize].as_mut().expect("a queue is limited only where its group has a quota")
    }

    /// Whether any group has a quota.
    #[inline(always)]
    pub fn exist(&self) -> bool {
        self.any
    }

    /// A queue waits for the next period of its group.
    pub fn wait(&mut self, group: GroupId, queue: CfsRqId) {
        let pool = self.of(group);
        let when = pool.period_end;
        let first = pool.waiting.is_empty();
        pool.waiting.push(queue);
        if first {
            self.alarms.push((when, group));
        }
    }
}
