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
pub const FRACTION: u32 = 10;

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

/// The averages of quantities that change in steps, in units of 2^-10.
#[derive(Debug, Clone, Copy)]
pub struct Averages<const N: usize> {
    /// Up to when the levels have been taken into the averages.
    since: Nanos,
    levels: [u64; N],
    scaled: [u64; N],
}

impl<const N: usize> Default for Averages<N> {
    fn default() -> Self {
        Averages { since: 0, levels: [0; N], scaled: [0; N] }
    }
}

impl<const N: usize> Averages<N> {
    /// Takes in the time that has passed; from now on the quantities have other levels.
    #[inline]
    pub fn advance(&mut self, now: Nanos, levels: [u64; N]) {
        if now > self.since {
            self.pass(now);
        }
        self.levels = levels;
    }

    fn pass(&mut self, now: Nanos) {
        let kept = kept(now - std::mem::replace(&mut self.since, now));
        for (scaled, level) in self.scaled.iter_mut().zip(self.levels) {
            *scaled = fade(*scaled, level, kept);
        }
    }

    /// As of the last advance.
    #[inline]
    pub fn scaled(&self, which: usize) -> u64 {
        self.scaled[which]
    }

    /// As of the last advance, in whole units.
    #[inline]
    pub fn value(&self, which: usize) -> u64 {
        self.scaled[which] >> FRACTION
    }

    /// All of them at a later time, in whole units.
    #[inline]
    pub fn values_at(&self, now: Nanos) -> [u64; N] {
        let kept = if now > self.since { kept(now - self.since) } else { 1 << 32 };
        std::array::from_fn(|which| fade(self.scaled[which], self.levels[which], kept) >> FRACTION)
    }

    /// The most that an average can become while its quantity stays as it is, in whole units: it goes from where it is to the level.
    #[inline]
    pub fn highest(&self, which: usize) -> u64 {
        self.value(which).max(self.levels[which])
    }

    /// Some of a quantity comes from elsewhere with its past, or goes there.
    #[inline]
    pub fn shift(&mut self, which: usize, part: i64) {
        self.scaled[which] = self.scaled[which].saturating_add_signed(part);
    }

    /// From now on its time is that of another clock.
    #[cfg(test)]
    pub fn rebase(&mut self, now: Nanos) {
        self.since = now;
    }

    /// An average is something else from now on.
    #[cfg(test)]
    pub fn set(&mut self, which: usize, scaled: u64) {
        self.scaled[which] = scaled;
    }
}

/// Parts of its time that an entity has, at most all of it, which is 1024. Half a line of a real processor's cache, since there are many.
#[derive(Debug, Clone, Copy, Default)]
#[repr(align(32))]
pub struct Parts {
    since: Nanos,
    scaled: [u32; 3],
    levels: [u16; 3],
}

const _: () = assert!(size_of::<Parts>() == 32);

impl Parts {
    /// As [`Averages::advance`].
    #[inline]
    pub fn advance(&mut self, now: Nanos, levels: [u64; 3]) {
        self.reach(now);
        self.levels = levels.map(|level| level as u16);
    }

    /// Takes in the time that has passed.
    #[inline]
    pub fn reach(&mut self, now: Nanos) {
        if now > self.since {
            self.pass(now);
        }
    }

    fn pass(&mut self, now: Nanos) {
        let kept = kept(now - std::mem::replace(&mut self.since, now)) as i64;
        for (scaled, level) in self.scaled.iter_mut().zip(self.levels) {
            let level = i64::from(level) << FRACTION;
            *scaled = (level + (((i64::from(*scaled) - level) * kept) >> 32)) as u32;
        }
    }

    /// As of the last advance.
    #[inline]
    pub fn scaled(&self, which: usize) -> u64 {
        self.scaled[which].into()
    }

    /// As of the last advance, in whole units.
    #[inline]
    pub fn values(&self) -> [u64; 3] {
        self.scaled.map(|scaled| u64::from(scaled >> FRACTION))
    }

    /// All of them at a later time, in whole units.
    pub fn values_at(mut self, now: Nanos) -> [u64; 3] {
        self.reach(now);
        self.values()
    }

    /// From now on its time is that of another clock.
    pub fn rebase(&mut self, now: Nanos) {
        self.since = now;
    }

    /// An average is something else from now on.
    #[inline]
    pub fn set(&mut self, which: usize, scaled: u64) {
        self.scaled[which] = scaled as u32;
    }
}

/// An average after a time that leaves this fraction of 2^32: what it differs from its level by is what fades.
#[inline]
fn fade(scaled: u64, level: u64, kept: u64) -> u64 {
    let level = (level << FRACTION) as i64;
    let rest = i128::from(scaled as i64 - level) * i128::from(kept);
    (level + (rest >> 32) as i64) as u64
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
    fn parts_are_averages_of_levels_up_to_the_whole() {
        let (mut parts, mut averages, mut now) = (Parts::default(), Averages::<3>::default(), 0);
        for step in 0..2000u64 {
            now += (step * 7_919 * 7_919) % (1 << (10 + step % 18));
            let levels = [step % 3, step % 5, step % 7].map(|which| if which == 0 { 1024 } else { 0 });
            parts.advance(now, levels);
            averages.advance(now, levels);
            assert_eq!([0, 1, 2].map(|which| parts.scaled(which)), averages.scaled, "at {now}");
            assert_eq!(parts.values_at(now + 999_983), averages.values_at(now + 999_983));
        }
    }

    /// One quantity that has this average and level.
    fn at(average: u64, level: u64) -> Averages<1> {
        Averages { since: 0, levels: [level], scaled: [average << FRACTION] }
    }

    #[test]
    fn what_was_32_periods_ago_counts_half() {
        let load = at(1024, 0);
        for n in 1..6 {
            let [value] = load.values_at(n * HALF);
            assert!(value.abs_diff(1024 >> n) <= 1, "{value} after {n}");
        }
        assert_eq!(load.values_at(1000 * HALF), [0]);
    }

    #[test]
    fn small_steps_and_large_ones_come_to_the_same() {
        let mut fine = at(0, 5000);
        let [coarse] = fine.values_at(40_000_000);
        (1..=400).for_each(|n| fine.advance(n * 100_000, [5000]));
        let [fine] = fine.values_at(40_000_000);
        assert!(fine.abs_diff(coarse) <= 3, "{fine} {coarse}");
    }
}
