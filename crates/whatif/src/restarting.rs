//! Whether a task counts its period anew after it was late, as rt-app does, and many players and games:
//!
//! ```text
//! due = due before + T        the work of a period is done before: it waits until then, else the next period begins at once, and due = now
//! ```
//!
//! So of the times from one wakeup to the next, p, none is between T and 2T: a task that is late starts a second period, and waits at the end
//! of that or of a later one. With d = length of a wait:
//!
//! ```text
//! T           shortest p, but for a twentieth of them; what is within a fiftieth of it counts as T, and the median of these is T
//! kept        p = T, though d is a tenth off its median: it is no relative timer
//! late        p is at least 2T, and the wait began after the period had passed: it was still computing
//! ```
//!
//! A task restarts its periods if a fiftieth of all p are kept, and at least 8; a twentieth are late and, as exactly as single periods are one,
//! no multiple of T, as they are where periods go on whether they are missed or not, and at least 8; and nineteen of twenty are T or late.

use crate::timers::median;

/// Fewer waits show nothing.
const FEWEST: usize = 8;
/// What counts as a period is off by that part of it at most.
const NEAR: u64 = 50;
/// Multiples of a period are off by at most four times what nine of ten single ones are off, or by this, ns.
const INEXACT: u64 = 4;
const EXACT: u64 = 1_000;

/// How long the period of such a task is, ns; none if its waits are others, or longer than an act can say, 4.3 s. The waits are given by when they began and ended, in order of time.
pub fn period(waits: &[(u64, u64)]) -> Option<u64> {
    let turns: Vec<(u64, (u64, u64))> =
        waits.windows(2).map(|pair| (pair[1].1.saturating_sub(pair[0].1), pair[1])).collect();
    let length = |(from, to): (u64, u64)| to.saturating_sub(from);
    let usual = median(waits.iter().map(|&wait| length(wait)).collect());
    let all: Vec<u64> = turns.iter().map(|turn| turn.0).collect();
    let shortest = percentile(all, 5)?;
    let period = median(turns.iter().map(|turn| turn.0).filter(|&p| is_near(p, shortest)).collect());
    if period == 0 || period > u32::MAX.into() {
        return None;
    }
    let off: Vec<u64> =
        turns.iter().filter(|turn| is_near(turn.0, period)).map(|turn| turn.0.abs_diff(period)).collect();
    let exact = (INEXACT * percentile(off.clone(), 90)?).max(EXACT);
    let (mut kept, mut late, mut anew) = (0, 0, 0);
    for &(p, wait) in &turns {
        if is_near(p, period) {
            kept += usize::from(length(wait).abs_diff(usual) > usual / 10);
        } else if p >= 2 * period - period / NEAR && length(wait) <= p - period {
            late += 1;
            anew += usize::from((p % period).min(period - p % period) > exact);
        }
    }
    let (all, whole) = (turns.len(), off.len());
    let is_one = kept >= FEWEST.max(all / 50) && anew >= FEWEST.max(all / 20) && 20 * (whole + late) >= 19 * all;
    is_one.then_some(period)
}

/// How many periods a task that restarts them has worked off between two wakeups, with so much work, if one usually has that much.
pub fn periods(period: u64, between: u64, work: u64, usual: u64) -> u64 {
    if is_near(between, period) || between < 2 * period - period / NEAR {
        return 1;
    }
    let most = between.saturating_add(period / NEAR) / period;
    (work.saturating_add(usual / 2) / usual.max(1)).clamp(2, most.max(2))
}

/// Whether a time is a period.
fn is_near(p: u64, period: u64) -> bool {
    p.abs_diff(period) <= period / NEAR
}

/// Of these times the least but for that share of them.
fn percentile(mut all: Vec<u64>, hundredths: usize) -> Option<u64> {
    let at = all.len() * hundredths / 100;
    (!all.is_empty()).then(|| *all.select_nth_unstable(at).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u64 = 5_000_000;

    /// Waits of a task whose periods take these times, until the next one begins.
    fn waits(takes: &[u64], next_due: impl Fn(u64, u64) -> u64) -> Vec<(u64, u64)> {
        let (mut now, mut due, mut all) = (0, 0, Vec::new());
        for take in takes {
            now += take;
            due = next_due(due, now);
            if due > now {
                all.push((now, due));
                now = due;
            }
        }
        all
    }

    fn restarts(due: u64, now: u64) -> u64 {
        (due + T).max(now)
    }

    /// What a task next to others takes for 2 ms of work: at once, after one of them, or after several.
    fn takes() -> Vec<u64> {
        (0..200)
            .map(|n| 1000 * ([2_000, 4_300, 3_100, 11_700, 2_050, 8_200, 2_000, 4_900][n % 8] + n as u64 % 7))
            .collect()
    }

    #[test]
    fn a_task_that_counts_anew_after_it_was_late_restarts_its_period() {
        assert_eq!(period(&waits(&takes(), restarts)), Some(T));
    }

    #[test]
    fn one_that_keeps_its_times_does_not_whether_it_catches_up_or_leaves_periods_out() {
        let catches_up = waits(&takes(), |due, _| due + T);
        assert_eq!(period(&catches_up), None);
        let leaves_out = waits(&takes(), |due, now| due + (now.saturating_sub(due) / T + 1) * T);
        assert_eq!(period(&leaves_out), None);
        let later = |(n, (from, to)): (u64, (u64, u64))| (from, to + n * 7_919 % 9_973);
        let inexact: Vec<(u64, u64)> = (0..).zip(leaves_out).map(later).collect();
        assert_eq!(period(&inexact), None, "woken up to 10 us late");
    }

    #[test]
    fn nor_does_one_that_sleeps_equally_long_or_by_chance() {
        assert_eq!(period(&waits(&takes(), |_, now| now + T)), None);
        let random: Vec<u64> = (0..200_u64).map(|n| n * 7_919 % 9_973 * 1000).collect();
        let by_chance = waits(&takes(), |_, now| now + random[(now / 1000 % 200) as usize]);
        assert_eq!(period(&by_chance), None);
        assert_eq!(period(&[]), None);
        assert_eq!(
            period(&[(0, 5), (5, 5), (5, 5), (7, 9), (u64::MAX - 1, u64::MAX)]),
            None,
            "some at once, one very late"
        );
    }

    #[test]
    fn one_that_is_never_late_keeps_a_period_all_the_same() {
        let in_time: Vec<u64> = takes().into_iter().map(|take| take % T).collect();
        assert_eq!(period(&waits(&in_time, restarts)), None);
    }

    #[test]
    fn as_many_periods_as_the_work_is_of_and_no_more_than_there_was_time_for() {
        assert_eq!(periods(5_000, 5_090, 9_000, 2_000), 1, "in time");
        assert_eq!(periods(5_000, 26_300, 6_800, 2_260), 3);
        assert_eq!(periods(5_000, 26_300, 20_000, 2_260), 5, "each of which lasted for a period at least");
        assert_eq!(periods(5_000, 26_300, 1_000, 2_260), 2, "one was late, the last was not");
        assert_eq!(periods(5_000, 7_000, 9_000, 2_000), 1, "another timer");
    }
}
