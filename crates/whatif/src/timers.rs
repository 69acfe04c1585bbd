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

/// Decides from the waits of a task: from when and until when each was, in order of time.
pub fn timers(waits: &[(u64, u64)]) -> Timers {
    if waits.len() < FEW {
        return Timers::Relative;
    }
    let periods: Vec<u64> = waits.windows(2).map(|pair| pair[1].1.saturating_sub(pair[0].1)).collect();
    let lengths: Vec<u64> = waits.iter().map(|&(from, to)| to.saturating_sub(from)).collect();
    let (period, length) = (median(periods.clone()), median(lengths.clone()));
    if period == 0 {
        return Timers::Relative;
    }
    let off_period = |p: &u64| {
        let multiple = ((p + period / 2) / period).max(1);
        p.abs_diff(multiple * period)
    };
    let (of_periods, of_lengths) = (
        median(periods.iter().map(off_period).collect()),
        median(lengths.iter().map(|d| d.abs_diff(length)).collect()),
    );
    if of_periods < of_lengths { Timers::Absolute } else { Timers::Relative }
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
        assert_eq!(timers(&waits(&missing, |from| (from / 1000 + 1) * 1000)), Timers::Absolute);
    }

    #[test]
    fn few_waits_show_nothing() {
        assert_eq!(timers(&waits(&COMPUTES[..3], |from| (from / 1000 + 1) * 1000)), Timers::Relative);
        assert_eq!(timers(&[]), Timers::Relative);
    }
}
