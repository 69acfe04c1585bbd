//! A thread: its class, its two priorities, and what falling asleep and waking up do to them.

use super::{
    calendar::{FIRST_IDLE, Place},
    interactivity::{History, Rules},
    version::Version,
};
use crate::schedulers::Ticks;
use schedlab_model::task::{Policy, Task, Wait};

/// How a thread is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Fifo,
    Realtime,
    Timeshare,
    Idle,
}

impl Class {
    fn of(policy: Policy) -> Class {
        match policy {
            Policy::Fifo => Class::Fifo,
            Policy::Rr => Class::Realtime,
            Policy::Idle => Class::Idle,
            Policy::Other | Policy::Batch | Policy::Iso | Policy::Deadline => Class::Timeshare,
        }
    }
}

/// It has not yet been on a processor.
pub const NEVER: i64 = i64::MIN;

/// A thread.
#[derive(Debug, Clone, Copy)]
pub struct Thread {
    pub history: History,
    pub class: Class,
    /// What the formulas say (td_user_pri).
    pub user_priority: u8,
    /// What queues and preemption look at (td_priority): the former as of the last return to user mode, or a sleep's.
    pub priority: u8,
    /// Its position while it is queued.
    pub place: Place,
    /// Ticks of the statistics clock that it has had of its slice.
    pub used: u64,
    /// The tick at which it fell asleep; 0 while it is awake.
    pub asleep_since: i64,
    /// The tick at which it last left a processor (ts_rltick), or [`NEVER`].
    pub left: i64,
}

impl Thread {
    /// A thread that no other forked.
    pub fn first(task: &Task, now: i64, version: &Version) -> Thread {
        let (class, user_priority) = Thread::class_of(task, version);
        let (history, place) = (History::new(now), Place::List(0));
        Thread { history, class, user_priority, priority: user_priority, place, used: 0, asleep_since: 0, left: NEVER }
    }

    /// The class that a task asks for, and its priority there; 0 where that depends on its past.
    pub fn class_of(task: &Task, version: &Version) -> (Class, u8) {
        let class = Class::of(task.policy);
        let priority = match class {
            Class::Fifo | Class::Realtime => version.realtime(task.priority),
            Class::Timeshare => 0,
            Class::Idle => FIRST_IDLE,
        };
        (class, priority)
    }

    /// Brings the priority in user mode to the present.
    #[inline]
    pub fn compute(&mut self, task: &Task, rules: &Rules) {
        if self.class == Class::Timeshare {
            self.user_priority = self.history.priority(task.nice, rules);
        }
    }

    /// Ticks before one has an effect: until its slice is used up, a thread that shares the processor is only found running.
    #[inline]
    pub fn quiet_ticks(&self, slice: u64, now: i64, rules: &Rules) -> Ticks {
        if self.class != Class::Timeshare {
            return Ticks::default();
        }
        Ticks { clock: self.history.quiet_ticks(now, rules), statistics: slice.saturating_sub(self.used + 1) }
    }

    /// Accounts for n of them that have found it running.
    #[inline]
    pub fn pass_ticks(&mut self, ticks: Ticks, now: i64, rules: &Rules) {
        self.history.pass_ticks(ticks.clock, now);
        self.used += ticks.statistics;
        (0..ticks.statistics).for_each(|_| self.history.run_for(rules.increment, rules));
    }

    /// It falls asleep at that tick.
    pub fn sleep(&mut self, wait: Wait, now: i64, version: &Version) {
        self.asleep_since = now;
        self.left = now;
        self.priority = version.asleep(wait, self.class == Class::Timeshare, self.priority);
    }

    /// It wakes up: its sleep counts, and its slice begins anew.
    pub fn wake(&mut self, task: &Task, now: i64, rules: &Rules) {
        let since = std::mem::take(&mut self.asleep_since);
        if since != 0 && since != now {
            self.history.sleep_for(now - since, now, rules);
        }
        self.used = 0;
        self.compute(task, rules);
    }
}
