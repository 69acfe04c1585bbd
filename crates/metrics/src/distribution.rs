//! Lengths of time as a distribution: quantiles to 1 %, and mean, smallest and largest exactly.
//!
//! What has not ended when a run ends is *censored*: of its length only a lower bound is known, its age. It is in none of these
//! numbers, but kept separately, so that they come with bounds: every censored value may be as short as its age, or
//! longer than all others.

use crate::histogram::{Histogram, Rising, class_of};
use schedlab_model::{Nanos, SECOND, info::MetricInfo};

/// Statistics that differ by a smaller factor are the same.
const CLOSE: f64 = 1.01;

/// A distribution of lengths of time.
#[derive(Debug, Clone)]
pub struct Distribution {
    histogram: Histogram,
    /// Sum of all values: its low half, and how often that ran over.
    sum: u64,
    carried: u64,
    min: Nanos,
    max: Nanos,
    /// Boxed, since most have none and the size matters: those of a job are adjacent in memory.
    censored: Option<Box<Censored>>,
}

/// The ages of values that had not ended.
#[derive(Debug, Clone, Default)]
struct Censored {
    ages: Histogram,
    sum: u128,
    longest: Nanos,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution { histogram: Histogram::default(), sum: 0, carried: 0, min: Nanos::MAX, max: 0, censored: None }
    }
}

impl Distribution {
    /// The distribution of values that were counted elsewhere: by their [`crate::class_of`], with their sum, smallest and largest.
    pub fn of_counts(counts: Vec<u64>, sum: u64, min: Nanos, max: Nanos) -> Distribution {
        Distribution { histogram: Histogram::of_counts(counts), sum, carried: 0, min, max, censored: None }
    }

    /// Counts a value that had not ended at that age, ns. One that has just begun carries no information and is not counted.
    #[cold]
    pub fn censor(&mut self, age: Nanos) {
        if age > 0 {
            let censored = self.censored.get_or_insert_default();
            censored.ages.record(age);
            censored.sum += u128::from(age);
            censored.longest = censored.longest.max(age);
        }
    }

    /// Counts a value, ns. Rare cases are calls, so that a value takes three comparisons in addition to its histogram.
    #[inline(always)]
    pub fn record(&mut self, value: Nanos) {
        self.histogram.record(value);
        let (sum, over) = self.sum.overflowing_add(value);
        self.sum = sum;
        if over {
            self.carry();
        }
        if value > self.max {
            self.largest(value);
        }
        if value < self.min {
            self.smallest(value);
        }
    }

    /// Counts a value that many times.
    pub fn record_times(&mut self, value: u64, times: u64) {
        self.histogram.record_times(value, times);
        let sum = self.sum().saturating_add(u128::from(value) * u128::from(times));
        (self.sum, self.carried) = (sum as u64, (sum >> 64) as u64);
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    #[cold]
    #[inline(never)]
    fn carry(&mut self) {
        self.carried += 1;
    }

    #[cold]
    #[inline(never)]
    fn largest(&mut self, value: Nanos) {
        self.max = value;
    }

    #[cold]
    #[inline(never)]
    fn smallest(&mut self, value: Nanos) {
        self.min = value;
    }

    /// Adds the values of another one.
    pub fn merge(&mut self, other: &Distribution) {
        let sum = self.sum() + other.sum();
        (self.sum, self.carried) = (sum as u64, (sum >> 64) as u64);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.merge(&other.histogram);
        if let Some(more) = &other.censored {
            let censored = self.censored.get_or_insert_default();
            censored.ages.merge(&more.ages);
            censored.sum += more.sum;
            censored.longest = censored.longest.max(more.longest);
        }
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.histogram.count()
    }

    /// Sum of all values, ns.
    pub fn sum(&self) -> u128 {
        u128::from(self.carried) << 64 | u128::from(self.sum)
    }

    /// The largest value, ns; 0 if there is none.
    pub fn max(&self) -> Nanos {
        self.max
    }

    /// How many values had not ended.
    pub fn censored(&self) -> u64 {
        self.censored.as_ref().map_or(0, |censored| censored.ages.count())
    }

    /// Sum of their ages, ns.
    pub fn censored_sum(&self) -> u128 {
        self.censored.as_ref().map_or(0, |censored| censored.sum)
    }

    /// The largest of them all, ended or not so far, ns; 0 if there is none.
    pub fn longest(&self) -> Nanos {
        self.max.max(self.censored_longest())
    }

    fn censored_longest(&self) -> Nanos {
        self.censored.as_ref().map_or(0, |censored| censored.longest)
    }

    /// One of [`MetricInfo::STATISTICS`], in seconds (counts as numbers). Nothing has no statistic but its counts.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        self.statistic_by(name, &mut self.histogram.rising())
    }

    /// The same by a pass over the classes; of several quantiles, those of larger shares come later.
    fn statistic_by(&self, name: &str, pass: &mut Rising<'_>) -> Option<f64> {
        match name {
            "count" => Some(pass.count() as f64),
            "censored" => Some(self.censored() as f64),
            "censored_max" => Some(seconds(self.censored_longest() as f64)),
            _ if pass.count() == 0 => None,
            "mean" => Some(seconds(self.sum() as f64 / pass.count() as f64)),
            "min" => Some(seconds(self.min as f64)),
            "max" => Some(seconds(self.max as f64)),
            _ => {
                let quantile = pass.quantile(share(name)?)?;
                Some(seconds(quantile.clamp(self.min, self.max) as f64))
            }
        }
    }

    /// The distribution function in at most that many points, spread by shares: lengths in seconds, each with the share of all values
    /// that do not exceed it. The last one is the largest value, with a share of 1; nothing has no points.
    pub fn shares(&self, points: u32) -> Vec<(f64, f64)> {
        let (all, mut passed, mut steps) = (self.count(), 0, 0);
        let point = |(largest, count): (Nanos, u64)| {
            passed += count;
            // Of `points` equal steps of the share, those that are behind; a class in which no step ends is no point.
            let behind = u128::from(passed) * u128::from(points) / u128::from(all);
            let ends = behind > std::mem::replace(&mut steps, behind);
            ends.then(|| (seconds(largest.clamp(self.min, self.max) as f64), passed as f64 / all as f64))
        };
        self.histogram.classes().filter_map(point).collect()
    }

    /// Between what one of [`MetricInfo::BOUNDED`] lies, in seconds, if censored values could change it by more than the 1 % to
    /// which it is known. The upper bound is missing where there is none.
    pub fn bounds(&self, name: &str) -> Option<(f64, Option<f64>)> {
        let (censored, value) = (self.censored.as_ref()?, self.statistic(name)?);
        let (low, high) = match name {
            "mean" => {
                let count = self.count() + self.censored();
                (seconds((self.sum() + censored.sum) as f64 / count as f64), None)
            }
            "max" => (seconds(self.longest() as f64), None),
            _ => {
                let share = share(name)?;
                let low = self.histogram.quantile_with(&censored.ages, share)?;
                let shown = self.histogram.quantile(share)?.clamp(self.min, self.max);
                let low = if class_of(low) == class_of(shown) { shown } else { low };
                let high = self.histogram.quantile_below(self.censored(), share);
                (seconds(low as f64), high.map(|high| seconds(high.min(self.max) as f64)))
            }
        };
        let changed = match name {
            // For these, the values that ended carry no information about the others.
            "mean" | "max" => low > value * CLOSE,
            _ => value > low * CLOSE || high.is_none_or(|high| high > value * CLOSE),
        };
        changed.then_some((low, high))
    }

    /// Calls `row` with every statistic that there is, and with the bounds where they matter.
    pub fn for_each_statistic(&self, mut row: impl FnMut(&str, f64)) {
        let mut pass = self.histogram.rising();
        for name in MetricInfo::STATISTICS {
            if let Some(value) = self.statistic_by(name, &mut pass) {
                row(name, value);
            }
        }
        for name in MetricInfo::BOUNDED {
            let Some((low, high)) = self.bounds(name) else { continue };
            row(&format!("{name}_low"), low);
            if let Some(high) = high {
                row(&format!("{name}_high"), high);
            }
        }
    }
}

fn seconds(ns: f64) -> f64 {
    ns / SECOND as f64
}

/// The share that a quantile is named after: "p99" is 0.99, "p999" is 0.999.
fn share(quantile: &str) -> Option<f64> {
    let digits = quantile.strip_prefix('p')?;
    let parts: u32 = digits.parse().ok()?;
    Some(f64::from(parts) / 10f64.powi(i32::try_from(digits.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Distribution {
        let mut all = Distribution::default();
        values.into_iter().for_each(|value| all.record(value));
        all
    }

    #[test]
    fn a_distribution_answers_every_statistic_of_the_table() {
        let d = of((1..=1000).map(|i| i * 1_000_000));
        let expected = [0.5005, 0.001, 1.0, 0.5, 0.9, 0.95, 0.99, 0.999, 1000.0];
        for (name, expected) in MetricInfo::STATISTICS.iter().zip(expected) {
            let value = d.statistic(name).unwrap();
            assert!((value / expected - 1.0).abs() < 0.01, "{name}: {value} for {expected}");
        }
        assert_eq!((d.statistic("censored"), d.statistic("censored_max")), (Some(0.0), Some(0.0)));
        assert!(MetricInfo::BOUNDED.iter().all(|name| d.bounds(name).is_none()));
    }

    #[test]
    fn nothing_has_no_mean_but_a_count() {
        assert_eq!(Distribution::default().statistic("mean"), None);
        assert_eq!(Distribution::default().statistic("p50"), None);
        assert_eq!(Distribution::default().statistic("count"), Some(0.0));
    }

    #[test]
    fn days_are_kept_in_mean_maximum_and_quantiles() {
        let mut d = of([u64::MAX, u64::MAX]);
        assert_eq!((d.max(), d.sum()), (u64::MAX, 2 * u128::from(u64::MAX)));
        let once = d.clone();
        d.merge(&once);
        assert_eq!(d.sum(), 4 * u128::from(u64::MAX));
        // Fifty of 5,000 s to 9,000 s: the 25th is 6,959 s, the 45th 8,592 s.
        let d = of((0..50).map(|i| 5_000_000_000_000 + i * 81_632_653_061));
        for (name, expected) in [("p50", 6959.2), ("p90", 8591.8), ("p99", 9000.0)] {
            let value = d.statistic(name).unwrap();
            assert!((value / expected - 1.0).abs() < 0.01, "{name}: {value} for {expected}");
        }
    }

    #[test]
    fn a_maximum_that_is_smaller_than_a_censored_age_says_so() {
        let mut d = of([79_000_000; 100]);
        d.censor(10_000_000);
        assert_eq!((d.bounds("max"), d.bounds("p50")), (None, None));
        d.censor(60 * SECOND);
        assert_eq!(d.statistic("max"), Some(0.079));
        assert_eq!(d.bounds("max"), Some((60.0, None)));
        // The 99th of 100 is the 101st of 102, which may be the short one or any longer.
        assert_eq!(d.bounds("p99"), Some((0.079, None)));
        assert_eq!((d.statistic("censored"), d.statistic("censored_max")), (Some(2.0), Some(60.0)));
        let mut both = of([80_000_000]);
        both.merge(&d);
        assert_eq!((both.bounds("max"), both.censored(), both.longest()), (Some((60.0, None)), 2, 60 * SECOND));
    }

    #[test]
    fn what_has_just_begun_is_not_censored() {
        let mut d = of([1]);
        d.censor(0);
        assert_eq!((d.censored(), d.bounds("p50")), (0, None));
    }

    proptest! {
        #[test]
        fn points_of_the_distribution_function_rise_to_one_and_are_quantiles(
            values in prop::collection::vec((any::<u64>(), 0u32..64).prop_map(|(value, shift)| value >> shift), 0..300),
            points in 1u32..250,
        ) {
            let d = of(values.iter().copied());
            let shares = d.shares(points);
            prop_assert!(shares.len() <= points as usize && shares.is_empty() == values.is_empty());
            prop_assert!(shares.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1));
            prop_assert_eq!(shares.last().map(|last| last.1), d.statistic("max").map(|_| 1.0));
            d.for_each_statistic(|name, value| assert_eq!(d.statistic(name), Some(value), "{name} alone"));
            for (length, share) in shares {
                // The rank is rounded up: a little less than the share is surely the same value.
                let quantile = d.histogram.quantile(share - 0.5 / values.len() as f64).unwrap();
                prop_assert_eq!(length, seconds(quantile.clamp(d.min, d.max) as f64));
            }
        }

        /// Whatever the censored values become, a statistic of all of them lies within its bounds, and what has no bounds
        /// differs by no more than is known of it.
        #[test]
        fn whatever_the_censored_values_become_statistics_lie_within_their_bounds(
            ended in prop::collection::vec(1..1000u64, 1..60),
            cut in prop::collection::vec((1..1000u64, prop::sample::select(vec![0, 1, 500, 1 << 20])), 0..30),
        ) {
            let (mut shown, mut whole) = (of(ended.clone()), of(ended));
            for (age, more) in cut {
                shown.censor(age);
                whole.record(age + more);
            }
            for name in ["max", "p50", "p90", "p99", "p999"] {
                let (value, truth) = (shown.statistic(name).unwrap(), whole.statistic(name).unwrap());
                let (low, high) = shown.bounds(name).unwrap_or((value, (name != "max").then_some(value)));
                prop_assert!(truth * 1.02 >= low, "{name}: {truth} below {low}");
                prop_assert!(high.is_none_or(|high| truth <= high * 1.02), "{name}: {truth} above {high:?}");
            }
        }
    }
}
