//! The pools of task groups that have a quota: filled up once a period, and drawn on by the group's queue on each processor.

use super::entity::CfsRqId;
use schedlab_model::{
    MILLISECOND, Nanos,
    task::{Group, GroupId},
};

/// What a queue takes from the pool at once (sysctl_sched_cfs_bandwidth_slice).
pub const PORTION: i64 = 5 * MILLISECOND as i64;
/// How long what queues return stays in the pool before it is distributed (cfs_bandwidth_slack_period), and how long before the end of a
/// period nothing is distributed any more (min_bandwidth_expiration).
const SLACK_PERIOD: Nanos = 5 * MILLISECOND;
const MIN_EXPIRATION: Nanos = 2 * MILLISECOND;

/// The pools of all groups that have a quota.
#[derive(Debug, Default)]
pub struct Pools {
    /// By group.
    pools: Vec<Option<Pool>>,
    /// Timers that should be set.
    pub alarms: Vec<Alarm>,
    any: bool,
}

/// A timer that should be set: for the end of a group's period, or for what its queues have returned meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct Alarm {
    pub when: Nanos,
    pub group: GroupId,
    pub slack: bool,
}

/// What a group may use of a period.
#[derive(Debug)]
pub struct Pool {
    quota: i64,
    /// What it may have left from periods before, in addition.
    burst: i64,
    period: Nanos,
    /// What is left of it in this period.
    pub left: i64,
    period_end: Nanos,
    /// Queues that wait for the next period, in order.
    pub waiting: Vec<CfsRqId>,
    /// For when the timer for the end of a period was set last; whether that for what queues have returned is set.
    alarm: Nanos,
    slack_started: bool,
}

impl Pool {
    /// Periods that have begun add their quota to what is left, up to what may be left. (__refill_cfs_bandwidth_runtime)
    ///
    ///   left + quota for each period, at most quota + burst
    pub fn refill(&mut self, now: Nanos) {
        if now < self.period_end {
            return;
        }
        // Two fill it to the brim, for a burst is at most a quota; the first use finds one.
        let begun = if self.period_end == 0 { 1 } else { ((now - self.period_end) / self.period + 1).min(2) as i64 };
        self.left = (self.left + begun * self.quota).min(self.quota + self.burst);
        self.period_end = (now / self.period + 1) * self.period;
    }

    /// Whether the next period begins before that time is over. (runtime_refresh_within)
    fn refresh_within(&self, now: Nanos, time: Nanos) -> bool {
        now + time > self.period_end
    }

    /// What the pool gives of what is wanted.
    pub fn draw(&mut self, now: Nanos, wanted: i64) -> i64 {
        self.refill(now);
        let given = wanted.min(self.left);
        self.left -= given;
        given
    }
}

impl Pools {
    pub fn new(groups: &[Group]) -> Self {
        let pool = |group: &Group| {
            let (quota, period) = group.quota?;
            Some(Pool {
                quota: quota as i64,
                burst: group.burst as i64,
                period: period.max(1),
                left: 0,
                period_end: 0,
                waiting: Vec::new(),
                alarm: 0,
                slack_started: false,
            })
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
        pool.waiting.push(queue);
        if std::mem::replace(&mut pool.alarm, when) != when {
            self.alarms.push(Alarm { when, group, slack: false });
        }
    }

    /// A queue returns time. Where others wait and there is a portion to give, they get it after a while, unless the next period begins
    /// soon: queues that return time may want it back. (__return_cfs_rq_runtime, start_cfs_slack_bandwidth)
    pub fn give_back(&mut self, group: GroupId, now: Nanos, spare: i64) {
        let pool = self.of(group);
        pool.refill(now);
        pool.left += spare;
        let worth = pool.left > PORTION && !pool.waiting.is_empty();
        if worth && !pool.slack_started && !pool.refresh_within(now, SLACK_PERIOD + MIN_EXPIRATION) {
            pool.slack_started = true;
            self.alarms.push(Alarm { when: now + SLACK_PERIOD, group, slack: true });
        }
    }

    /// The wait is over. Whether there is something to distribute. (do_sched_cfs_slack_timer)
    pub fn slack_over(&mut self, group: GroupId, now: Nanos) -> bool {
        let pool = self.of(group);
        pool.slack_started = false;
        !pool.refresh_within(now, MIN_EXPIRATION) && pool.left > PORTION
    }
}
