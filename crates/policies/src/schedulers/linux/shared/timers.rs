//! The timers of the schedulers of Linux: ends of periods of the real-time class, of its server for the others, of quotas and of
//! reservations; and what happens when one expires.

use super::{
    deadline, fair_server::SERVER, hierarchy::FairClass, linux::Linux, pools::Alarm, realtime::RT_PERIOD,
    task_class::is_deadline,
};
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, GroupId};

/// Timers of the quota of a group, by its number, after those of the real-time class: the end of a period, and of the wait for what
/// queues have returned.
const QUOTA: u32 = 2;
const SLACK: u32 = QUOTA + (1 << 16);

impl<L: FairClass> Linux<L> {
    #[cold]
    pub fn set_alarms(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        for Alarm { when, group, slack } in self.tree.pools.alarms.drain(..) {
            cx.set_timer(when, cpu, if slack { SLACK } else { QUOTA } + u32::from(group));
        }
    }

    pub fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, token: u32) {
        self.tree.now = cx.now;
        match token {
            RT_PERIOD => {
                if self.realtime.period_over(cx, cpu) {
                    self.resched(cx, cpu);
                }
            }
            SERVER => {
                if self.realtime.server_timer(cx, cpu) && cx.processors[cpu as usize].running.is_some() {
                    self.resched(cx, cpu);
                }
            }
            token if token >= deadline::TIMERS => self.deadline_timer(cx, token - deadline::TIMERS),
            token => self.refill(cx, cpu, token),
        }
    }

    /// A group may run again where it was throttled; on an idle processor it does so at once.
    fn refill(&mut self, cx: &mut Context<'_>, cpu: CpuId, token: u32) {
        let freed = if token >= SLACK {
            self.tree.do_sched_cfs_slack_timer(&self.class, (token - SLACK) as GroupId)
        } else {
            self.tree.distribute_cfs_runtime(&self.class, (token - QUOTA) as GroupId)
        };
        for other in freed.iter() {
            if cx.processors[other as usize].running.is_none() {
                self.resched(cx, other);
            }
        }
        self.balancer.overloaded |= !freed.is_empty();
        self.tree.resched = false;
        self.set_alarms(cx, cpu);
    }

    /// A timer of the deadline class: a task has its next budget, or its claim has ended. (dl_task_timer, inactive_task_timer)
    #[cold]
    pub fn deadline_timer(&mut self, cx: &mut Context<'_>, token: u32) {
        let task = token / 2;
        if token % 2 == 1 {
            self.deadline.inactive_task_timer(cx.now, task);
            return;
        }
        let cpu = cx.tasks[task as usize].cpu;
        let before = self.crowd(cpu);
        if !self.deadline.dl_task_timer(cx, task) {
            return;
        }
        self.add_nr_running(cpu, before);
        let running = cx.processors[cpu as usize].running;
        let reserved = running.filter(|&running| is_deadline(&cx.tasks[running as usize]));
        let before = |running| self.deadline.deadline(task) < self.deadline.deadline(running);
        let first = reserved.is_none_or(before);
        if first {
            self.resched(cx, cpu);
        }
        if self.several() && self.deadline.count(cpu) > 1 && !(first && reserved.is_some()) {
            self.deadline.push(cx, &self.balancer.domains, cpu, running, 1);
        }
    }
}
