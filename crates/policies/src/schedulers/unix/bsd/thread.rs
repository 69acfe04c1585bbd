//! What is remembered of a task: its usage, and its two priorities.

use super::{Load, Rules};
use schedlab_model::task::TaskId;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Unborn,
    Queued,
    Running,
    Asleep,
    Ended,
}

#[derive(Debug, Clone, Copy)]
pub struct Thread {
    pub state: State,
    /// Whether its priority comes from its usage.
    pub timeshare: bool,
    /// It ran since the last pass at which it was not running.
    pub ran: bool,
    pub nice: i8,
    /// The priority that it has in its own code.
    pub user_priority: u16,
    /// The priority by which it is queued and compared.
    pub priority: u16,
    /// Its usage (`estcpu`).
    pub estimate: u32,
    /// Passes in a row at which it was asleep (`slptime`); none while it is awake.
    pub asleep: u32,
    /// Passes that leave this part of its usage change nothing else of it.
    pub floor: u32,
}

/// A floor that every pass goes below.
const ABOVE_ALL: u32 = u32::MAX;

pub const UNBORN: Thread = Thread {
    state: State::Unborn,
    timeshare: true,
    ran: false,
    nice: 0,
    user_priority: 0,
    priority: 0,
    estimate: 0,
    asleep: 0,
    floor: ABOVE_ALL,
};

impl Thread {
    /// What its usage is when it wakes, after passes that left it alone (`updatepri`).
    pub fn unwind(&mut self, rules: &Rules, load: &Load) {
        let passes = std::mem::take(&mut self.asleep);
        if passes > 1 {
            self.estimate = load.decayed_asleep(self.estimate, passes);
            self.recompute(rules);
        }
    }

    /// Its usage has changed: so does its own priority, not yet the one by which it is queued.
    #[inline]
    fn recompute(&mut self, rules: &Rules) {
        if self.timeshare {
            self.user_priority = rules.estimator.priority(self.estimate, self.nice);
        }
    }

    /// The priority by which it is queued follows its own, if it is not raised by a sleep.
    #[inline]
    pub fn follow(&mut self, rules: &Rules) {
        let (best, worst) = rules.follows;
        if (best..=worst).contains(&self.priority) {
            self.priority = self.user_priority;
        }
    }

    /// Accounts for n ticks of the statistics clock that find it running. Its priority changes with every whole step of
    /// its usage.
    #[inline(always)]
    pub fn charge_ticks(&mut self, rules: &Rules, ticks: u64) {
        if self.user_priority >= rules.follows.0 {
            return self.charge(rules, ticks);
        }
        // From a priority that is better than any that is followed, the other one may fall behind on the way.
        (0..ticks).for_each(|_| self.charge(rules, 1));
    }

    #[inline]
    fn charge(&mut self, rules: &Rules, ticks: u64) {
        let steps = rules.estimator.steps(self.estimate);
        self.estimate = rules.estimator.after(self.estimate, ticks, self.nice);
        if rules.estimator.steps(self.estimate) != steps {
            self.recompute(rules);
            self.follow(rules);
        }
    }

    /// Its part of a pass that leaves the given part of its usage; whether all passes after it find it as this one leaves
    /// it, if nothing else changes it.
    #[inline(always)]
    pub fn pass(&mut self, rules: &Rules, left: u32) -> bool {
        match self.state {
            State::Queued => {
                self.ran = false;
                self.decay(rules, left);
                self.floor = rules.estimator.floor(self.estimate).max(1);
                self.estimate == 0
            }
            State::Running => {
                self.decay(rules, left);
                false
            }
            State::Asleep => {
                let awake = std::mem::take(&mut self.ran) && rules.ran_is_awake;
                self.asleep = if awake { 0 } else { self.asleep.saturating_add(1) };
                if self.asleep <= 1 {
                    self.decay(rules, left);
                }
                false
            }
            State::Unborn | State::Ended => true,
        }
    }

    #[inline]
    fn decay(&mut self, rules: &Rules, left: u32) {
        // A task that has used nothing keeps the corresponding priority.
        if self.estimate > 0 {
            self.estimate = left;
            self.recompute(rules);
        }
        self.follow(rules);
    }
}

/// All tasks.
#[derive(Debug, Default)]
pub struct Threads {
    pub all: Vec<Thread>,
    /// Those that the next pass may change, a bit each. Of ten thousand hogs only those that ran recently are among them:
    /// the others are in the queue, and their usage has decayed to nothing.
    pub stirred: Vec<u64>,
}

impl Threads {
    /// A task that may be seen for the first time.
    #[inline]
    pub fn know(&mut self, task: TaskId) {
        if task as usize >= self.all.len() {
            self.all.resize(task as usize + 1, UNBORN);
            self.stirred.resize(self.all.len().div_ceil(u64::BITS as usize), 0);
        }
    }

    /// A task's record, to be changed outside a pass.
    #[inline]
    pub fn stir(&mut self, task: TaskId) -> &mut Thread {
        self.stirred[(task / u64::BITS) as usize] |= 1 << (task % u64::BITS);
        let thread = &mut self.all[task as usize];
        thread.floor = ABOVE_ALL;
        thread
    }
}
