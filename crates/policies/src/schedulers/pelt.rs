//! Load of late, as Linux tracks it for each entity (PELT): an average over time in which what was a millisecond ago counts
//! about two hundredths less than what is now, and what was 32 ms ago half.

use schedlab_model::Nanos;

/// A period, 1024 * 1024 ns, as a power of two.
const PERIOD_BITS: u32 = 20;
/// Periods after which a contribution counts half.
const HALF_LIFE: u64 = 32;
/// What a period leaves of a contribution, 2^(-1/32), as a fraction of 2^64.
const DECAY: u128 = 18_051_468_387_014_017_850;
/// Bits behind the binary point of an average.
const FRACTION: u32 = 10;

/// 2^(-n/32) for n from 0 to 32, as fractions of 2^32.
const POWERS: [u64; HALF_LIFE as usize + 1] = {
    let mut powers = [1 << 32; HALF_LIFE as usize + 1];
    let (mut exact, mut n) = (1 << 64, 1);
    while n <= HALF_LIFE as usize {
        exact = (exact * (DECAY >> 8)) >> 56;
        powers[n] = (exact >> 32) as u64;
        n += 1;
    }
    powers
};

/// The average of a quantity that changes in steps.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Average {
    level: u64,
    /// Up to when the level has been taken into the average.
    since: Nanos,
    /// In units of 2^-10.
    scaled: u64,
}

impl Average {
    /// One that has been at a level for long.
    pub fn at(now: Nanos, level: u64) -> Self {
        Average { level, since: now, scaled: level << FRACTION }
    }

    /// Takes in the time that has passed; from now on the quantity has another level.
    pub fn advance(&mut self, now: Nanos, level: u64) {
        let kept = kept(now - self.since);
        let old = u128::from(self.scaled) * u128::from(kept);
        let new = u128::from(self.level << FRACTION) * u128::from((1 << 32) - kept);
        self.scaled = ((old + new) >> 32) as u64;
        (self.since, self.level) = (now, level);
    }

    /// As [`Average::advance`], at the same level.
    pub fn pass(&mut self, now: Nanos) {
        self.advance(now, self.level);
    }

    pub fn value(&self) -> u64 {
        self.scaled >> FRACTION
    }

    /// Some of the quantity goes elsewhere, with its past.
    pub fn remove(&mut self, part: u64) {
        self.scaled = self.scaled.saturating_sub(part << FRACTION);
    }

    /// Some of the quantity comes from elsewhere, with its past.
    pub fn add(&mut self, part: u64) {
        self.scaled += part << FRACTION;
    }
}

/// What so much time leaves of a contribution, as a fraction of 2^32; between two periods on a straight line.
fn kept(time: Nanos) -> u64 {
    let periods = time >> PERIOD_BITS;
    let halvings = periods / HALF_LIFE;
    if halvings >= 32 {
        return 0;
    }
    let (from, to) = (POWERS[(periods % HALF_LIFE) as usize], POWERS[(periods % HALF_LIFE) as usize + 1]);
    let rest = time & ((1 << PERIOD_BITS) - 1);
    (from - (((from - to) * rest) >> PERIOD_BITS)) >> halvings
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Nanos = HALF_LIFE << PERIOD_BITS;

    #[test]
    fn what_was_32_periods_ago_counts_half() {
        let mut load = Average::at(0, 1024);
        load.advance(0, 0);
        for n in 1..6 {
            load.pass(n * HALF);
            assert!(load.value().abs_diff(1024 >> n) <= 1, "{} after {n}", load.value());
        }
        load.pass(1000 * HALF);
        assert_eq!(load.value(), 0);
    }

    #[test]
    fn small_steps_and_large_ones_come_to_the_same() {
        let mut fine = Average::default();
        fine.advance(0, 5000);
        let mut coarse = fine;
        (1..=400).for_each(|n| fine.pass(n * 100_000));
        coarse.pass(40_000_000);
        assert!(fine.value().abs_diff(coarse.value()) <= 3, "{} {}", fine.value(), coarse.value());
    }
}
