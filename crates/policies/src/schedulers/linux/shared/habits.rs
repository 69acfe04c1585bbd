//! What follows from a task's past: whether it wakes many others, and what it is likely to need when it runs next.

use super::balancer::{Balancer, Kernel};
use schedlab_model::{
    Nanos, SECOND,
    task::{CpuId, TaskId},
};

/// Less does not change what a task is likely to need (UTIL_EST_MARGIN).
const MARGIN: u64 = 10;

impl Balancer {
    /// Of a task that wakes others, how many different ones these are. (record_wakee)
    pub fn record_wakee(&mut self, now: Nanos, waker: TaskId, woken: TaskId) {
        let past = &mut self.tasks[waker as usize];
        if now > past.halved + SECOND {
            past.flips /= 2;
            past.halved = now;
        }
        if past.wakee != Some(woken) {
            past.wakee = Some(woken);
            past.flips += 1;
        }
    }

    /// Whether two tasks wake enough different others that they need not be close to each other. (wake_wide)
    pub fn wake_wide(&self, waker: TaskId, woken: TaskId, cache: u64) -> bool {
        let [one, other] = [waker, woken].map(|task| self.tasks[task as usize].flips);
        let (less, more) = (one.min(other), one.max(other));
        less >= cache && more >= less * cache
    }

    pub fn util_est_enqueue(&mut self, cpu: CpuId, task: TaskId) {
        self.states[cpu as usize].util_est += self.tasks[task as usize].util_est;
    }

    pub fn util_est_dequeue(&mut self, cpu: CpuId, task: TaskId) {
        self.states[cpu as usize].util_est -= self.tasks[task as usize].util_est;
    }

    /// A task that has left to sleep is likely to need as much next time, or a little less than it once did; in 6.12, not less if it had to
    /// wait. (util_est_update)
    pub fn util_est_update(&mut self, task: TaskId, util: u64, runnable: u64) {
        let past = &mut self.tasks[task as usize];
        let waited = self.kernel >= Kernel::V6_12 && util + MARGIN < runnable;
        if util >= past.util_est {
            past.util_est = util;
        } else if past.util_est - util >= MARGIN && !waited {
            past.util_est -= (past.util_est - util) / 4;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::{MILLISECOND, processors::CpuSet, task::Task, topology::Topology};

    fn balancer(tasks: TaskId) -> Balancer {
        let mut balancer = Balancer::new(&Topology::uniform(8), 4 * MILLISECOND, Kernel::V6_1);
        let all: Vec<Task> = (0..tasks).map(|id| Task::ordinary(id, CpuSet::all(8))).collect();
        balancer.admit(&all, tasks - 1);
        balancer
    }

    /// Its workers wake it alone, so that they have changed once: 1 < 8.
    #[test]
    fn one_that_wakes_64_who_wake_only_it_is_not_wide() {
        let mut balancer = balancer(65);
        for now in 0..20 {
            for worker in 1..65 {
                balancer.record_wakee(now, 0, worker);
                balancer.record_wakee(now, worker, 0);
            }
        }
        assert!((1..65).all(|worker| !balancer.wake_wide(0, worker, 8) && !balancer.wake_wide(worker, 0, 8)));
    }

    /// Task 0 has woken ten others in turn, task 19 as many as given when it makes a child. With a cache of two, 0 and the child are wide only if that
    /// is 3: 3 >= 2 and 10 >= 3 * 2; 0 < 2; 10 < 6 * 2.
    #[test]
    fn a_child_has_woken_as_many_as_its_parent_when_it_was_made() {
        let mut balancer = balancer(20);
        let mut tasks: Vec<Task> = (0..20).map(|id| Task::ordinary(id, CpuSet::all(8))).collect();
        (1..11).for_each(|woken| balancer.record_wakee(0, 0, woken));
        let mut wide_after = |flips: u64, child: TaskId| {
            while balancer.tasks[19].flips < flips {
                let next = balancer.tasks[19].flips as TaskId;
                balancer.record_wakee(0, 19, next);
            }
            tasks.push(Task { parent: Some(19), ..Task::ordinary(child, CpuSet::all(8)) });
            balancer.admit(&tasks, child);
            assert_eq!(balancer.tasks[child as usize].flips, flips);
            balancer.wake_wide(0, child, 2)
        };
        assert_eq!([wide_after(0, 20), wide_after(3, 21), wide_after(6, 22)], [false, true, false]);
    }

    #[test]
    fn two_are_wide_if_one_wakes_8_others_and_the_other_8_times_as_many() {
        let mut balancer = balancer(80);
        (2..10).for_each(|woken| balancer.record_wakee(0, 0, woken));
        (2..65).for_each(|woken| balancer.record_wakee(0, 1, woken));
        assert!(!balancer.wake_wide(0, 1, 8), "63 < 8 * 8");
        balancer.record_wakee(0, 1, 65);
        assert!(balancer.wake_wide(0, 1, 8) && balancer.wake_wide(1, 0, 8));
        balancer.record_wakee(SECOND + 1, 1, 65);
        assert!(!balancer.wake_wide(0, 1, 8), "half of it is forgotten after a second");
    }

    #[test]
    fn what_a_task_is_likely_to_need_rises_at_once_and_falls_by_quarters() {
        let mut balancer = balancer(1);
        let mut after = |util| {
            balancer.util_est_update(0, util, util);
            balancer.tasks[0].util_est
        };
        assert_eq!([after(400), after(200), after(345), after(341), after(500)], [400, 350, 350, 350, 500]);
    }
}
