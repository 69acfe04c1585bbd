//! Recent load, as Linux tracks it for each entity (PELT): an average over time in which the load of a millisecond ago
//! counts about two hundredths less than the present one, and that of 32 ms ago half.

use schedlab_model::Nanos;

/// A period, 1024 * 1024 ns, as a power of two.
const PERIOD_BITS: u32 = 20;
/// Periods after which a contribution counts half.
const HALF_LIFE: u64 = 32;
/// What a period leaves of a contribution, 2^(-1/32), as a fraction of 2^64.
const DECAY: u128 = 18_051_468_387_014_017_850;
/// ln 2 / 32, the part that a period takes of itself, as a fraction of 2^32.
const RATE: u64 = 93_032_640;
/// Bits behind the binary point of an average.
const FRACTION: u32 = 10;

/// 2^(-n/32) for n below 32, as fractions of 2^32, of which the first is just below 1 so that products fit.
const POWERS: [u64; HALF_LIFE as usize] = {
    let mut powers = [u32::MAX as u64; HALF_LIFE as usize];
    let (mut exact, mut n) = (1 << 64, 1);
    while n < HALF_LIFE as usize {
        exact = (exact * (DECAY >> 8)) >> 56;
        powers[n] = (exact >> 32) as u64;
        n += 1;
    }
    powers
};

/// The average of a quantity that changes in steps.
#[derive(Debug, Default, Clone, Copy)]
pub struct Average {
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

    pub fn value_at(mut self, now: Nanos) -> u64 {
        self.pass(now);
        self.scaled >> FRACTION
    }

    /// Some of the quantity goes elsewhere, with its past.
    pub fn remove(&mut self, now: Nanos, part: u64) {
        self.pass(now);
        self.scaled = self.scaled.saturating_sub(part << FRACTION);
    }

    /// Some of the quantity comes from elsewhere, with its past.
    pub fn add(&mut self, now: Nanos, part: u64) {
        self.pass(now);
        self.scaled += part << FRACTION;
    }
}

/// What a given time leaves of a contribution, as a fraction of 2^32; within a period by the first terms of the series of
/// the exponential function, which are exact to five millionths.
fn kept(time: Nanos) -> u64 {
    let periods = time >> PERIOD_BITS;
    let halvings = periods / HALF_LIFE;
    if halvings >= 32 {
        return 0;
    }
    let rest = ((time & ((1 << PERIOD_BITS) - 1)) * RATE) >> PERIOD_BITS;
    let part = (1 << 32) - rest + ((rest * rest) >> 33);
    ((POWERS[(periods % HALF_LIFE) as usize] * part) >> 32) >> halvings
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
            let value = load.value_at(n * HALF);
            assert!(value.abs_diff(1024 >> n) <= 1, "{value} after {n}");
        }
        assert_eq!(load.value_at(1000 * HALF), 0);
    }

    #[test]
    fn small_steps_and_large_ones_come_to_the_same() {
        let mut fine = Average::default();
        fine.advance(0, 5000);
        let coarse = fine.value_at(40_000_000);
        (1..=400).for_each(|n| fine.pass(n * 100_000));
        let fine = fine.value_at(40_000_000);
        assert!(fine.abs_diff(coarse) <= 3, "{fine} {coarse}");
    }
}
