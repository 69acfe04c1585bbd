//! Credit for sleep: the average sleep of a task, the bonus that it gives, and the slice of a priority.

use schedlab_model::{Nanos, SECOND};

/// Priorities below this are real time.
pub const MAX_RT_PRIO: usize = 100;
/// Priorities there are.
pub const MAX_PRIO: usize = 140;
/// The static priority of nice 0.
const NICE_0: usize = 120;
/// The steps of bonus of a full account of sleep; the middle one is no bonus.
const MAX_BONUS: u64 = 10;
/// Nice levels, of which there are 40, for a step of them.
const LEVELS_A_STEP: u8 = 40 / MAX_BONUS as u8;
/// How many steps above the middle make a task of nice 0 interactive.
const INTERACTIVE_DELTA: i64 = 2;
/// Hundredths of its parent's bonus that a child keeps. (A parent keeps all of it, rounded to whole steps.)
const CHILD_PENALTY: u64 = 95;
/// A child that slept less than its parent counts for one part in this many and one of the parent's account.
const EXIT_WEIGHT: u64 = 3;
/// Time in the runqueue counts as this many 128ths of sleep after a wakeup by another task: 30 % in whole numbers.
const ON_RUNQUEUE_WEIGHT: u64 = 30 * 128 / 100;
/// The load of a task of nice 0.
pub const SCHED_LOAD_SCALE: u64 = 128;

/// How a task's sleep ended, which decides what waiting for the processor afterwards is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sleep {
    /// It has run since, or its waking is not over yet.
    #[default]
    Normal,
    /// For a drive or a pipe, or so long that it has its reward already.
    NonInteractive,
    /// By another task.
    Interactive,
    /// By an interrupt.
    Interrupted,
}

/// The constants that depend on the clock, in ticks.
#[derive(Debug, Clone)]
pub struct Credit {
    tick: Nanos,
    /// Sleep that is worth a step of bonus, ns.
    step: Nanos,
    /// DEF_TIMESLICE, 100 ms.
    default_slice: u64,
    /// MIN_TIMESLICE, 5 ms, at least a tick.
    least_slice: u64,
    /// GRANULARITY, 10 ms, times the processors.
    granularity: u64,
}

/// What the account of a task depends on.
#[derive(Debug, Clone, Copy)]
pub struct Account {
    /// 100 + nice + 20.
    pub static_prio: u8,
    /// Average sleep, ns; at most MAX_SLEEP_AVG.
    pub sleep_avg: Nanos,
    /// How its last sleep ended.
    pub sleep: Sleep,
    /// SCHED_BATCH: sleeping is worth nothing.
    pub batch: bool,
    /// It has memory of its own, as everything but the kernel's own tasks.
    pub user: bool,
}

impl Account {
    /// DELTA: steps of bonus above none that make it interactive; -3 for nice -20 to 6 for nice 19.
    fn delta(&self) -> i64 {
        let steps = i64::from((self.static_prio - MAX_RT_PRIO as u8) / LEVELS_A_STEP);
        steps - MAX_BONUS as i64 / 2 + INTERACTIVE_DELTA
    }

    /// Whether a task of that dynamic priority returns to the active array at the end of a slice.
    pub fn interactive(&self, prio: u8) -> bool {
        i64::from(prio) <= i64::from(self.static_prio) - self.delta()
    }
}

impl Credit {
    pub fn new(tick: Nanos, processors: u16) -> Credit {
        let hz = ((SECOND + tick / 2) / tick).max(1);
        let ticks = |ms: u64| (ms * hz / 1000).max(1);
        let granularity = ticks(10) * u64::from(processors);
        let default_slice = ticks(100);
        Credit { tick, step: default_slice * tick, default_slice, least_slice: ticks(5), granularity }
    }

    /// MAX_SLEEP_AVG, and STARVATION_LIMIT: 1 s, in ticks.
    pub fn second(&self) -> u64 {
        self.default_slice * MAX_BONUS
    }

    /// The slice of a static priority, ticks: 800 ms at nice -20, 100 at 0, 5 at 19.
    pub fn slice(&self, static_prio: u8) -> u64 {
        let static_prio = usize::from(static_prio);
        let base = if static_prio < NICE_0 { 4 * self.default_slice } else { self.default_slice };
        (base * (MAX_PRIO - static_prio) as u64 / 20).max(self.least_slice)
    }

    /// What a slice weighs on a processor's load: 128 for that of nice 0.
    pub fn weight(&self, slice: u64) -> u64 {
        slice * SCHED_LOAD_SCALE / self.default_slice
    }

    /// What the slice of a real-time task of that priority, 1 to 99, weighs.
    pub fn real_time_weight(&self, priority: u8) -> u64 {
        self.weight(self.slice(MAX_RT_PRIO as u8)) + self.weight(priority.into())
    }

    /// The bonus, in steps from 0 to 10; 5 is none. The kernel's rounding to ticks on the way takes nothing more from it:
    ///
    ///   floor(floor(sleep / tick) * 10 / second)  =  floor(sleep / (tick * second / 10))    second / 10 = default_slice
    #[inline]
    fn bonus(&self, account: &Account) -> u64 {
        account.sleep_avg / self.step
    }

    /// The dynamic priority.
    pub fn priority(&self, account: &Account) -> u8 {
        let worst = account.static_prio + MAX_BONUS as u8 / 2;
        (worst - self.bonus(account) as u8).clamp(MAX_RT_PRIO as u8, MAX_PRIO as u8 - 1)
    }

    /// INTERACTIVE_SLEEP: a single sleep fills the account so far at most; a tick less than the next step.
    fn ceiling(&self, account: &Account) -> Nanos {
        let steps = (MAX_BONUS as i64 / 2 + account.delta() + 1) as u64;
        steps * self.step - self.tick
    }

    /// Credits a sleep, or what counts as one.
    #[inline]
    pub fn slept(&self, account: &mut Account, length: Nanos) {
        let ceiling = self.ceiling(account);
        let most = MAX_BONUS * self.step;
        if account.batch || length == 0 {
            return;
        }
        if account.user && length > ceiling && account.sleep_avg < ceiling {
            account.sleep_avg = ceiling;
            account.sleep = Sleep::NonInteractive;
        } else if account.user && account.sleep == Sleep::NonInteractive {
            // Growth stops at the ceiling.
            let grown = account.sleep_avg.saturating_add(length);
            account.sleep_avg = if grown >= ceiling { account.sleep_avg.max(ceiling) } else { grown };
        } else {
            account.sleep_avg = account.sleep_avg.saturating_add(length);
        }
        account.sleep_avg = account.sleep_avg.min(most);
    }

    /// Credits waiting in the runqueue after a wakeup, once the task is picked.
    #[inline]
    pub fn waited(&self, account: &mut Account, length: Nanos) {
        match account.sleep {
            Sleep::Interrupted => self.slept(account, length),
            Sleep::Interactive => self.slept(account, length.saturating_mul(ON_RUNQUEUE_WEIGHT) / 128),
            Sleep::Normal | Sleep::NonInteractive => {}
        }
    }

    /// Debits a CPU burst: the more bonus, the slower.
    pub fn ran(&self, account: &mut Account, length: Nanos) {
        let debit = length.min(MAX_BONUS * self.step) / self.bonus(account).max(1);
        account.sleep_avg = account.sleep_avg.saturating_sub(debit);
    }

    /// Whole steps of the account, of which the given hundredths are left.
    fn steps(&self, account: &Account, hundredths: u64) -> Nanos {
        self.bonus(account) * hundredths / 100 * self.step
    }

    /// The accounts after a fork; the child's is a copy of its parent's before.
    pub fn forked(&self, parent: &mut Account, child: &mut Account) {
        child.sleep_avg = self.steps(child, CHILD_PENALTY);
        parent.sleep_avg = self.steps(parent, 100);
    }

    /// The account of a parent after the end of a child.
    pub fn reaped(parent: &mut Account, child: &Account) {
        if child.sleep_avg < parent.sleep_avg {
            let part = EXIT_WEIGHT + 1;
            parent.sleep_avg = parent.sleep_avg / part * EXIT_WEIGHT + child.sleep_avg / part;
        }
    }

    /// TIMESLICE_GRANULARITY: ticks after which an interactive task lets its equals run.
    pub fn turn(&self, account: &Account) -> u64 {
        self.granularity << (MAX_BONUS.saturating_sub(self.bonus(account)).max(1) - 1)
    }
}
