//! A distribution in memory that tasks share: counted by all of them concurrently, read when they have ended.

use schedlab_linux::shareable;
use schedlab_metrics::{CLASSES, Distribution, class_of};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

shareable! {
    /// Counts by class, and what a histogram cannot give exactly. All zero is empty.
    pub(crate) struct Tally {
        sum: AtomicU64,
        max: AtomicU64,
        /// The complement of the smallest, so that zero is the start.
        min: AtomicU64,
        counts: [AtomicU64; CLASSES],
    }
}

impl Tally {
    /// Counts a value, ns.
    #[inline]
    pub fn record(&self, value: u64) {
        self.counts[class_of(value)].fetch_add(1, Relaxed);
        self.sum.fetch_add(value, Relaxed);
        self.max.fetch_max(value, Relaxed);
        self.min.fetch_max(!value, Relaxed);
    }

    /// What was counted.
    pub fn distribution(&self) -> Distribution {
        let counts = self.counts.iter().map(|count| count.load(Relaxed)).collect();
        Distribution::of_counts(counts, self.sum.load(Relaxed), !self.min.load(Relaxed), self.max.load(Relaxed))
    }
}
