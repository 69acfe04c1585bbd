//! What ULE remembers of a thread, and the priority that follows from it: how long it slept and ran of late, which tells
//! the interactive from the others, and its share of the processor over the last ten seconds.
//!
//! Times are ticks of the periodic clock, in 1024ths where they are sums (`TICK_SHIFT` of the kernel).

/// One tick in the sums.
pub const TICK: u64 = 1 << 10;
/// The score of a thread that ran as long as it slept (SCHED_INTERACT_HALF); twice that is the worst.
const HALF: u64 = 50;
/// Seconds over which the share of the processor is taken (SCHED_TICK_SECS).
const SHARE_SECONDS: i64 = 10;
/// Nice levels on either side of 0 (SCHED_PRI_NHALF).
const NICE_LEVELS: u8 = 20;

/// Constants that follow from clocks, version and parameters.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Ticks per second.
    pub hz: i64,
    /// What a tick of the statistics clock adds to the time run, in 1024ths of a tick (tickincr).
    pub increment: u64,
    /// The best interactive priority (PRI_MIN_REALTIME, PRI_MIN_INTERACT).
    pub first_interactive: u8,
    /// Distance that the scores of interactive threads are spread over.
    pub interactive_levels: i64,
    /// The best batch priority (PRI_MIN_TIMESHARE, PRI_MIN_BATCH).
    pub first_batch: u8,
    /// Levels by share of the processor (SCHED_PRI_RANGE).
    pub share_levels: i64,
    /// The score from which on a thread is not interactive (kern.sched.interact).
    pub interact: i64,
    /// Whether nice is added to the score.
    pub nice_in_score: bool,
}

impl Rules {
    /// The most history that is kept (SCHED_SLP_RUN_MAX).
    fn most(&self) -> u64 {
        5 * self.hz as u64 * TICK
    }

    /// The most that a child inherits (SCHED_SLP_RUN_FORK).
    fn most_inherited(&self) -> u64 {
        self.hz as u64 / 2 * TICK
    }
}

/// A thread's past.
#[derive(Debug, Clone, Copy, Default)]
pub struct History {
    /// Time slept of its own will, and time run by the statistics clock, 1024ths of a tick (ts_slptime, ts_runtime).
    slept: u64,
    ran: u64,
    /// Ticks it was found running, 1024ths, between two ticks (ts_ticks, ts_ftick, ts_ltick).
    found: u64,
    first: i64,
    last: i64,
}

impl History {
    /// Of a thread without parent.
    pub fn new(now: i64) -> History {
        History { first: now, last: now, ..History::default() }
    }

    /// Of a child: the parent's, scaled down so that the child's own ways show soon.
    pub fn child(&self, rules: &Rules) -> History {
        let ratio = ((self.slept + self.ran) / rules.most_inherited()).max(1);
        History { slept: self.slept / ratio, ran: self.ran / ratio, ..*self }
    }

    /// It ran, or a child that ended did.
    pub fn run_for(&mut self, time: u64, rules: &Rules) {
        self.ran += time;
        self.trim(rules);
    }

    /// It slept for so many ticks.
    pub fn sleep_for(&mut self, ticks: i64, now: i64, rules: &Rules) {
        self.slept += ticks as u64 * TICK;
        self.trim(rules);
        self.update_share(now, rules);
    }

    /// The time it ran.
    pub fn ran(&self) -> u64 {
        self.ran
    }

    /// Keeps the past below its limit (sched_interact_update).
    fn trim(&mut self, rules: &Rules) {
        let (sum, most) = (self.slept + self.ran, rules.most());
        if sum < most {
            return;
        }
        (self.slept, self.ran) = if sum > 2 * most {
            if self.ran > self.slept { (1, most) } else { (most, 1) }
        } else if sum > most / 5 * 6 {
            (self.slept / 2, self.ran / 2)
        } else {
            (self.slept / 5 * 4, self.ran / 5 * 4)
        };
    }

    /// A tick of the periodic clock found it running.
    #[inline]
    pub fn tick(&mut self, now: i64, rules: &Rules) {
        self.found += TICK;
        self.last = now;
        if self.first + (SHARE_SECONDS + 1) * rules.hz < now {
            self.update_share(now, rules);
        }
    }

    /// It is taken from the calendar.
    #[inline]
    pub fn leave_calendar(&mut self, now: i64, rules: &Rules) {
        self.last = now;
        self.update_share(now, rules);
    }

    /// Ticks over which its share is taken, at least a second (SCHED_TICK_TOTAL).
    #[inline]
    fn span(&self, rules: &Rules) -> i64 {
        (self.last - self.first).max(rules.hz)
    }

    /// Brings the window of the share to the present (sched_pctcpu_update).
    #[inline]
    fn update_share(&mut self, now: i64, rules: &Rules) {
        let fresh = self.last > now - rules.hz / 10;
        if self.found == 0 || fresh && self.span(rules) < (SHARE_SECONDS + 1) * rules.hz {
            return;
        }
        let window = SHARE_SECONDS * rules.hz;
        let in_window = self.last > now - window;
        self.found = if in_window { self.found / (now - self.first) as u64 * window as u64 } else { 0 };
        self.last = now;
        self.first = now - window;
    }

    /// 0 for a thread that only sleeps to 100 for one that only runs (sched_interact_score).
    fn score(&self, rules: &Rules) -> u64 {
        let (slept, ran) = (self.slept, self.ran);
        if rules.interact <= HALF as i64 && ran >= slept {
            HALF
        } else if ran > slept {
            2 * HALF - slept / (ran / HALF).max(1)
        } else if slept > ran {
            ran / (slept / HALF).max(1)
        } else if ran > 0 {
            HALF
        } else {
            0
        }
    }

    /// The priority in user mode (sched_priority).
    #[inline]
    pub fn priority(&self, nice: i8, rules: &Rules) -> u8 {
        let nice_in_score = if rules.nice_in_score { i64::from(nice) } else { 0 };
        let score = (self.score(rules) as i64 + nice_in_score).max(0);
        if score < rules.interact {
            return rules.first_interactive + (rules.interactive_levels / rules.interact * score) as u8;
        }
        let ticks = (self.found / TICK) as i64;
        let share = ticks / ((self.span(rules) + rules.share_levels - 1) / rules.share_levels);
        let least = i64::from(rules.first_batch + NICE_LEVELS);
        (least + i64::from(nice) + share.min(rules.share_levels - 1)) as u8
    }
}
