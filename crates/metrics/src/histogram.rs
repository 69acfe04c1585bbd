//! Counts of values in classes that are a hundredth of their values wide, or narrower: quantiles to two digits.
//!
//! Measuring is the subject of this lab, and this is what most of measuring comes to, so it is our own: twelve instructions a
//! value. The classes are those of HdrHistogram with two significant digits, and so are the quantiles.
//!
//!   value < 256                 a class of its own
//!   2^k <= value < 2^(k + 1)    128 classes, for k from 8 on

use schedlab_model::Nanos;

/// Classes of each power of two; the first two powers' worth have a value each.
const PER_POWER: u32 = 128;

/// How many values of which size there were.
#[derive(Debug, Clone, Default)]
pub struct Histogram {
    /// By class, as far as values have come.
    counts: Vec<u64>,
}

/// How many classes there are: every value has one, and all of them take 58 KiB.
pub const CLASSES: usize = class_of(Nanos::MAX) + 1;

impl Histogram {
    /// The histogram of values that were counted elsewhere, by their [`class_of`].
    pub fn of_counts(counts: Vec<u64>) -> Histogram {
        Histogram { counts }
    }

    /// Counts a value.
    #[inline(always)]
    pub fn record(&mut self, value: Nanos) {
        match self.counts.get_mut(class_of(value)) {
            Some(count) => *count += 1,
            None => self.record_large(value),
        }
    }

    #[cold]
    #[inline(never)]
    fn record_large(&mut self, value: Nanos) {
        self.record_times(value, 1);
    }

    /// Counts a value that many times.
    pub fn record_times(&mut self, value: Nanos, times: u64) {
        let class = class_of(value);
        if class >= self.counts.len() {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += times;
    }

    /// Adds the counts of another one.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The classes that have values: the largest value of each, and how many there were.
    pub(crate) fn classes(&self) -> impl Iterator<Item = (Nanos, u64)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(class, count)| (largest(class), *count))
    }

    /// The value that this share of all values, from 0 to 1, does not exceed: the largest of its class. None of nothing.
    pub fn quantile(&self, share: f64) -> Option<Nanos> {
        self.rising().quantile(share)
    }

    /// The same for several shares, each larger than the one before: all of them in one pass over the classes.
    pub(crate) fn rising(&self) -> Rising<'_> {
        Rising { counts: &self.counts, count: self.count(), class: 0, passed: 0 }
    }

    /// The same of these values and others together, but the smallest of its class.
    pub(crate) fn quantile_with(&self, others: &Histogram, share: f64) -> Option<Nanos> {
        self.reaches(rank(share, self.count() + others.count()), &others.counts).map(smallest)
    }

    /// The same of these values and `larger` values that exceed all of them. None if it is one of those.
    pub(crate) fn quantile_below(&self, larger: u64, share: f64) -> Option<Nanos> {
        self.reaches(rank(share, self.count() + larger), &[]).map(largest)
    }

    /// The class in which these counts and others reach that number, from the smallest values on.
    fn reaches(&self, wanted: u64, others: &[u64]) -> Option<usize> {
        let count = |counts: &[u64], class| counts.get(class).copied().unwrap_or(0);
        let mut passed = 0;
        (0..self.counts.len().max(others.len())).find(|&class| {
            passed += count(&self.counts, class) + count(others, class);
            passed >= wanted
        })
    }
}

/// A pass over the classes, from the smallest values on.
pub(crate) struct Rising<'a> {
    counts: &'a [u64],
    /// All of them.
    count: u64,
    /// The next class, and how many values are in those before it.
    class: usize,
    passed: u64,
}

impl Rising<'_> {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// As [`Histogram::quantile`], for a share that is at least the one before.
    pub fn quantile(&mut self, share: f64) -> Option<Nanos> {
        let wanted = rank(share, self.count);
        while self.passed < wanted {
            self.passed += self.counts.get(self.class)?;
            self.class += 1;
        }
        Some(largest(self.class - 1))
    }
}

/// The rank, from 1 in ascending order, of the value that a share of `count` values does not exceed.
fn rank(share: f64, count: u64) -> u64 {
    ((share * count as f64).ceil() as u64).max(1)
}

/// The class in which a value is counted, below [`CLASSES`].
#[inline(always)]
pub const fn class_of(value: Nanos) -> usize {
    // How far to shift the value to have it below 256.
    let shift = 63 - (value | (2 * PER_POWER - 1) as u64).leading_zeros() - PER_POWER.trailing_zeros();
    (shift * PER_POWER) as usize + (value >> shift) as usize
}

/// The largest value of a class.
fn largest(class: usize) -> Nanos {
    let class = class as u64;
    let shift = (class / u64::from(PER_POWER)).saturating_sub(1);
    let first = class - shift * u64::from(PER_POWER);
    (first << shift) + ((1 << shift) - 1)
}

/// The smallest value of a class.
fn smallest(class: usize) -> Nanos {
    class.checked_sub(1).map_or(0, |before| largest(before) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_value_is_within_a_hundredth_of_the_largest_of_its_class() {
        let powers = (0..64).flat_map(|power| [0, 1, 2].map(|more| (1u64 << power) - 1 + more));
        for value in powers.chain(0..100_000).chain([Nanos::MAX]) {
            let largest = largest(class_of(value));
            assert!(largest >= value && largest - value <= value / 100, "{largest} for {value}");
            let next = largest.checked_add(1).map_or(CLASSES, class_of);
            assert_eq!((class_of(largest), next), (class_of(value), class_of(value) + 1));
        }
    }

    #[test]
    fn memory_is_bounded_and_no_value_is_too_large() {
        let mut histogram = Histogram::default();
        [u64::MAX, u64::MAX / 2, 0].iter().for_each(|&value| histogram.record(value));
        assert_eq!((histogram.count(), histogram.quantile(1.0)), (3, Some(u64::MAX)));
        assert_eq!(histogram.quantile(0.5), Some(u64::MAX / 2));
        assert_eq!(histogram.counts.len(), CLASSES);
        const { assert!(CLASSES * size_of::<u64>() <= 58 << 10) };
    }

    proptest! {
        #[test]
        fn quantiles_are_those_of_hdrhistogram(
            values in prop::collection::vec((any::<u64>(), 0u32..64), 1..200),
            share in 0.001..1.0f64,
        ) {
            let (mut ours, mut theirs) = (Histogram::default(), hdrhistogram::Histogram::<u32>::new(2).unwrap());
            for value in values.into_iter().map(|(value, shift)| value >> shift >> 1) {
                ours.record(value);
                theirs.record(value).unwrap();
            }
            let (once, twice) = (ours.clone(), theirs.clone());
            ours.merge(&once);
            theirs.add(&twice).unwrap();
            prop_assert_eq!(ours.count(), theirs.len());
            for share in [share, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(ours.quantile(share), Some(theirs.value_at_quantile(share)));
            }
        }
    }
}
