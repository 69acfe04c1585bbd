//! Whether a task's timers are absolute or relative. Events of the scheduler alone do not say, so it is decided by regularity over all
//! waits of the task that a timer ended:
//!
//! ```text
//! p = time from one wakeup to the next        T = their median
//! d = length of a wait                        D = their median
//! absolute    if |p - kT| (k whole, at least 1) is typically smaller than |d - D|
//! ```
//!
//! A task that computes for a varying time and sleeps for a fixed one has regular d; one that keeps a period has regular p, and where
//! it misses some periods, p is a multiple of T. *Typically*: the median.
//!
//! Starts of high-resolution timers say more (`hrtimer_start`, with its mode since Linux 4.16): one that is started for a time from now is
//! relative. One that is started for a time may be either, since `poll(2)`, `futex(2)` and others add now to the length that they are given.

/// How the timer waits of a task end in a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timers {
    /// At the recording's own times.
    Absolute,
    /// As long after the wait began as in the recording.
    Relative,
}

/// Fewer waits show no regularity.
const FEW: usize = 4;

/// How the timers that ended the waits of a task were started, as far as the recording says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Starts {
    /// Whether the last one that the task has started since it waited last counts from then.
    last: Option<bool>,
    /// Waits that a timer ended, and those of them whose timer counted from then.
    ended: u32,
    relative: u32,
}

impl Starts {
    /// The task starts a timer, for a time from then or not.
    pub fn started(&mut self, relative: bool) {
        self.last = Some(relative);
    }

    /// A wait of the task ends, by a timer or otherwise.
    pub fn waited(&mut self, by_timer: bool) {
        let relative = self.last.take() == Some(true);
        self.ended += u32::from(by_timer);
        self.relative += u32::from(by_timer && relative);
    }

    /// Whether its timers are relative for certain: nine of ten, and at least four.
    pub fn are_relative(self) -> bool {
        self.ended as usize >= FEW && 10 * self.relative >= 9 * self.ended
    }
}

/// How far the waits of a task are from a period and from a length, ns.
struct Fit {
    period: u64,
    length: u64,
    off_period: u64,
    off_length: u64,
}

/// None if there are too few waits, or if all end at once.
fn fit(waits: &[(u64, u64)]) -> Option<Fit> {
    let (periods, lengths) =
        (periods(waits), waits.iter().map(|&(from, to)| to.saturating_sub(from)).collect::<Vec<u64>>());
    let (period, length) = (median(periods.clone()), median(lengths.clone()));
    if waits.len() < FEW || period == 0 {
        return None;
    }
    let off_period = |p: &u64| {
        let multiple = ((p + period / 2) / period).max(1);
        p.abs_diff(multiple * period)
    };
    let off_period = median(periods.iter().map(off_period).collect());
    let off_length = median(lengths.iter().map(|d| d.abs_diff(length)).collect());
    Some(Fit { period, length, off_period, off_length })
}

fn periods(waits: &[(u64, u64)]) -> Vec<u64> {
    waits.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect()
}

/// Decides from the waits of a task: from when and until when each was, in order of time.
pub fn timers(waits: &[(u64, u64)]) -> Timers {
    let absolute = fit(waits).is_some_and(|fit| fit.off_period < fit.off_length);
    if absolute { Timers::Absolute } else { Timers::Relative }
}

/// Whether the waits keep neither a period nor a length, both being off by more than a tenth: then the timers may be either. So may those of a
/// task that is busy for longer than it waits, if its lengths are off by more than a hundredth: one that counts its period anew after it was
/// late, and was late in all of them, waits for what is left of the last.
pub fn irregular(waits: &[(u64, u64)]) -> bool {
    fit(waits).is_some_and(|fit| {
        let part = if is_busy(waits, fit.length) { 100 } else { 10 };
        10 * fit.off_period > fit.period && part * fit.off_length > fit.length
    })
}

/// Whether nineteen of twenty times from one wakeup to the next are more than twice as long as a wait.
fn is_busy(waits: &[(u64, u64)], length: u64) -> bool {
    let periods = periods(waits);
    20 * periods.iter().filter(|&&p| p > 2 * length).count() >= 19 * periods.len()
}

/// Of waits of a task that keeps a period, those that ended more than a period and a half after the one before: it was late.
pub fn missed(waits: &[(u64, u64)]) -> u32 {
    let periods = periods(waits);
    let period = median(periods.clone());
    periods.iter().map(|p| u32::from(*p > period + period / 2)).sum()
}

/// The middle one of these, the upper of two; 0 of none.
pub(crate) fn median(mut values: Vec<u64>) -> u64 {
    if values.is_empty() {
        return 0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable(middle).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waits of a task that computes for these times.
    fn waits(computes: &[u64], next: impl Fn(u64) -> u64) -> Vec<(u64, u64)> {
        let mut now = 0;
        let one = |&compute: &u64| {
            let from = now + compute;
            now = next(from);
            (from, now)
        };
        computes.iter().map(one).collect()
    }

    const COMPUTES: [u64; 8] = [10, 300, 150, 40, 90, 260, 30, 500];

    #[test]
    fn a_task_that_keeps_a_period_has_absolute_timers() {
        assert_eq!(timers(&waits(&COMPUTES, |from| (from / 1000 + 1) * 1000)), Timers::Absolute);
    }

    #[test]
    fn a_task_that_sleeps_equally_long_has_relative_ones() {
        assert_eq!(timers(&waits(&COMPUTES, |from| from + 1000)), Timers::Relative);
    }

    #[test]
    fn missed_periods_are_multiples() {
        let missing = [10, 1300, 150, 2040, 90, 260, 1030, 500, 20, 340];
        let waits = waits(&missing, |from| (from / 1000 + 1) * 1000);
        assert_eq!((timers(&waits), missed(&waits)), (Timers::Absolute, 3));
    }

    #[test]
    fn a_task_that_is_late_and_then_counts_anew_keeps_neither() {
        let due = std::cell::Cell::new(0);
        let late = waits(&[600, 1700, 900, 2500, 300, 1300, 2800, 700, 1900, 400], |from| {
            due.set((due.get() + 1000).max(from + 10));
            due.get()
        });
        assert!(irregular(&late));
        assert!(!irregular(&waits(&COMPUTES, |from| (from / 1000 + 1) * 1000)));
        assert!(!irregular(&waits(&COMPUTES, |from| from + 1000)));
    }

    #[test]
    fn a_task_that_is_late_in_all_periods_keeps_no_length_unless_it_is_exact() {
        let work = [3400, 7300, 3350, 11_200, 7420, 3510, 7150, 14_900, 3460, 10_950];
        let late = waits(&work, |from| from + 1400 + from % 160);
        assert_eq!(timers(&late), Timers::Relative);
        assert!(irregular(&late));
        assert!(!irregular(&waits(&work, |from| from + 1400 + from % 16)), "a relative timer");
        assert!(!irregular(&waits(&COMPUTES, |from| from + 1400 + from % 160)), "it waits for longer than it computes");
    }

    #[test]
    fn few_waits_show_nothing() {
        assert_eq!(timers(&waits(&COMPUTES[..3], |from| (from / 1000 + 1) * 1000)), Timers::Relative);
        assert_eq!(timers(&[]), Timers::Relative);
    }
}
