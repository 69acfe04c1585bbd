//! What ULE remembers of a thread, and the priority that follows from it: how long it slept and ran recently, which
//! distinguishes the interactive from the others, and its share of the processor over the last ten seconds.
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

    /// Of a child: the parent's, scaled down so that the child's own behaviour soon dominates.
    pub fn child(&self, rules: &Rules) -> History {
        let ratio = ((self.slept + self.ran) / rules.most_inherited()).max(1);
        History { slept: self.slept / ratio, ran: self.ran / ratio, ..*self }
    }

    /// It ran, or a child that ended did.
    pub fn run_for(&mut self, time: u64, rules: &Rules) {
        self.ran += time;
        self.trim(rules);
    }

    /// It slept for n ticks.
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

    /// Ticks that find it running before its share has to be brought to the present.
    #[inline]
    pub fn quiet_ticks(&self, now: i64, rules: &Rules) -> u64 {
        (self.first + (SHARE_SECONDS + 1) * rules.hz - now).max(0) as u64
    }

    /// Accounts for n of these that have found it running, the last of them `now`.
    #[inline]
    pub fn pass_ticks(&mut self, ticks: u64, now: i64) {
        if ticks > 0 {
            self.found += ticks * TICK;
            self.last = now;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(nice_in_score: bool) -> Rules {
        Rules {
            hz: 1000,
            increment: 7699,
            first_interactive: 128,
            interactive_levels: 31,
            first_batch: 160,
            share_levels: 23,
            interact: 30,
            nice_in_score,
        }
    }

    fn past(ran: u64, slept: u64) -> History {
        History { ran: ran * TICK, slept: slept * TICK, ..History::default() }
    }

    /// The least share of run time, in 1000ths, with which a thread is not interactive.
    fn threshold(nice: i8, nice_in_score: bool) -> u64 {
        let rules = rules(nice_in_score);
        (0..=1000).find(|&ran| past(ran, 1000 - ran).priority(nice, &rules) >= 160).unwrap()
    }

    #[test]
    fn ticks_that_are_passed_over_leave_what_each_of_them_would() {
        let (rules, mut each, mut now) = (rules(true), History::new(100), 100);
        let mut at_once = each;
        for _ in 0..4 {
            let quiet = at_once.quiet_ticks(now, &rules) as i64;
            assert!(quiet > 900, "{quiet}");
            (1..=quiet).for_each(|tick| each.tick(now + tick, &rules));
            now += quiet;
            at_once.pass_ticks(quiet as u64, now);
            now += 1;
            for history in [&mut each, &mut at_once] {
                history.tick(now, &rules);
            }
            assert_eq!([each.found as i64, each.first, each.last], [at_once.found as i64, at_once.first, at_once.last]);
        }
    }

    #[test]
    fn statement_05_a_thread_is_interactive_below_a_share_that_follows_from_its_nice_level() {
        for (nice, expected) in [(0, 375), (10, 286), (20, 167), (-10, 444), (-20, 500)] {
            assert!(threshold(nice, true).abs_diff(expected) <= 6, "nice {nice}: {}", threshold(nice, true));
            assert_eq!(threshold(nice, false), threshold(0, true));
        }
    }

    #[test]
    fn statement_06_an_interactive_priority_is_128_and_the_score() {
        for (duty, priority) in [(10, 133), (20, 140), (30, 149), (37, 157)] {
            assert_eq!(past(10 * duty, 1000 - 10 * duty).priority(0, &rules(true)), priority, "{duty} %");
        }
    }

    #[test]
    fn statement_09_the_child_of_a_shell_that_only_slept_is_interactive_for_40_to_45_ticks_of_the_statistics_clock() {
        let rules = rules(true);
        for slept in (4000..5000).step_by(10) {
            let mut child = past(0, slept).child(&rules);
            let ticks = (1..).find(|_| {
                child.run_for(rules.increment, &rules);
                child.priority(0, &rules) >= 160
            });
            assert!((40..=45).contains(&ticks.unwrap()), "{ticks:?} after {slept} ms");
        }
    }

    #[test]
    fn statement_10_one_sleep_that_brings_the_past_over_ten_seconds_makes_a_hog_interactive() {
        let rules = rules(true);
        for ran in [4000, 4500, 4990] {
            let after = |slept: i64| {
                let mut hog = past(ran, 0);
                hog.sleep_for(slept, 0, &rules);
                hog.priority(0, &rules)
            };
            assert_eq!(after(10_100 - ran as i64), 128);
            assert!(after(9_900 - ran as i64) >= 160);
        }
    }

    #[test]
    fn statement_13_the_share_shown_rises_by_a_tenth_a_second_and_falls_only_when_it_is_brought_to_the_present() {
        let rules = rules(true);
        let mut hog = History::new(0);
        let shown = |hog: &mut History, now| {
            hog.update_share(now, &rules);
            (hog.found / TICK) as f64 / (10.0 * rules.hz as f64)
        };
        for now in 1..=15_000 {
            hog.tick(now, &rules);
            if now % 1000 == 0 {
                let expected = (now as f64 / 10_000.0).min(1.0);
                let shown = shown(&mut hog.clone(), now).min(1.0);
                assert!((shown - expected).abs() < 0.01, "{shown} after {now} ms");
            }
        }
        let stale = hog.found;
        assert!(shown(&mut hog.clone(), 20_000) < 0.7);
        assert_eq!(shown(&mut hog.clone(), 26_000), 0.0);
        assert_eq!(hog.found, stale);
    }
}
