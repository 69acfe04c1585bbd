//! Lengths of time as a distribution: quantiles to 1 %, and mean, smallest and largest exactly.

use crate::histogram::Histogram;
use schedlab_model::{Nanos, SECOND};

/// A distribution of lengths of time.
#[derive(Debug, Clone)]
pub struct Distribution {
    histogram: Histogram,
    /// Sum of all values: its low half, and how often that ran over.
    sum: u64,
    carried: u64,
    min: Nanos,
    max: Nanos,
}

impl Default for Distribution {
    fn default() -> Self {
        Distribution { histogram: Histogram::default(), sum: 0, carried: 0, min: Nanos::MAX, max: 0 }
    }
}

impl Distribution {
    /// The distribution of values that were counted elsewhere: by their [`crate::class_of`], with their sum, smallest and largest.
    pub fn of_counts(counts: Vec<u64>, sum: u64, min: Nanos, max: Nanos) -> Distribution {
        Distribution { histogram: Histogram::of_counts(counts), sum, carried: 0, min, max }
    }

    /// Counts a value, ns. What is rare is a call, so that a value takes three comparisons beside its histogram.
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

    /// One of [`schedlab_model::info::MetricInfo::STATISTICS`], in seconds (the count as a number). Nothing has no
    /// statistic but its count.
    pub fn statistic(&self, name: &str) -> Option<f64> {
        let seconds = |ns: f64| ns / SECOND as f64;
        match name {
            "count" => Some(self.count() as f64),
            _ if self.count() == 0 => None,
            "mean" => Some(seconds(self.sum() as f64 / self.count() as f64)),
            "min" => Some(seconds(self.min as f64)),
            "max" => Some(seconds(self.max as f64)),
            _ => Some(seconds(self.quantile(name.strip_prefix('p')?)? as f64)),
        }
    }

    /// `digits` are those behind the decimal point: "99" is 0.99, "999" is 0.999. Never outside smallest and largest.
    fn quantile(&self, digits: &str) -> Option<Nanos> {
        let share: f64 = format!("0.{digits}").parse().ok()?;
        Some(self.histogram.quantile(share)?.clamp(self.min, self.max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::info::MetricInfo;

    #[test]
    fn a_distribution_answers_every_statistic_of_the_table() {
        let mut d = Distribution::default();
        (1..=1000).for_each(|i| d.record(i * 1_000_000));
        let expected = [0.5005, 0.001, 1.0, 0.5, 0.9, 0.99, 0.999, 1000.0];
        for (name, expected) in MetricInfo::STATISTICS.iter().zip(expected) {
            let value = d.statistic(name).unwrap();
            assert!((value / expected - 1.0).abs() < 0.01, "{name}: {value} for {expected}");
        }
    }

    #[test]
    fn nothing_has_no_mean_but_a_count() {
        assert_eq!(Distribution::default().statistic("mean"), None);
        assert_eq!(Distribution::default().statistic("p50"), None);
        assert_eq!(Distribution::default().statistic("count"), Some(0.0));
    }

    #[test]
    fn days_are_kept_in_mean_and_maximum() {
        let mut d = Distribution::default();
        d.record(u64::MAX);
        d.record(u64::MAX);
        assert_eq!((d.max(), d.sum()), (u64::MAX, 2 * u128::from(u64::MAX)));
        let once = d.clone();
        d.merge(&once);
        assert_eq!(d.sum(), 4 * u128::from(u64::MAX));
    }
}
