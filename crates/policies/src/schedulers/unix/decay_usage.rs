//! The state of a decay-usage scheduler: for each task an estimate of its recent processor time, which ticks raise and
//! which decays every second, the faster the lower the load; and the load average.

/// One, where the load average is a fraction of eleven bits (`FSCALE`).
pub const ONE: u64 = 1 << FRACTION;
const FRACTION: u32 = 11;
/// exp(-1/12), which a sample every five seconds makes an average over a minute (`cexp[0]`).
const KEPT: u64 = 1884;

/// The increase of an estimate that makes a priority worse by one. A division by `length` is a multiplication by
/// `inverse`, 2^63 / length.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    length: u32,
    inverse: u64,
}

impl Step {
    pub const fn new(length: u32) -> Step {
        Step { length, inverse: (1 << 63) / length as u64 + 1 }
    }

    /// How many whole ones there are in an estimate below 2^31.
    ///
    ///   inverse * length  =  2^63 + r    0 < r <= length < 2^32
    ///   estimate * inverse / 2^63  =  (estimate + estimate * r / 2^63) / length  <  (estimate + 1) / length
    #[inline]
    fn count(self, estimate: u32) -> u32 {
        ((u128::from(estimate) * u128::from(self.inverse)) >> 63) as u32
    }
}

/// How a task's estimate grows and what it does to its priority.
#[derive(Debug, Clone, Copy)]
pub struct Estimator {
    /// What a tick adds at nice 0.
    pub tick: u32,
    /// What makes a priority worse by one (`INVERSE_ESTCPU_WEIGHT`).
    pub step: Step,
    /// It grows no further (`ESTCPULIM`).
    pub limit: u32,
    /// Priority of a task at nice 0 that used nothing.
    pub base: u16,
    /// The shift of the priority by a level of nice (`NICE_WEIGHT`); not at all, where it acts by weights.
    pub nice: i32,
    /// No priority is better or worse than these.
    pub range: (u16, u16),
    /// Whether nice acts by weights: what a tick adds doubles every four levels, and what a task counts in the load halves.
    pub weighted: bool,
}

/// Twice the fourth roots of 1, 2, 4 and 8, in the fifteen bits of [`Estimator::WEIGHTED_TICK`].
const ROOTS: [u64; 4] = [32_768, 38_968, 46_341, 55_109];

/// 2 ** (level / 4), in the same bits.
fn doubling_every_four(level: i32) -> u64 {
    let (octave, root) = (level.div_euclid(4), ROOTS[level.rem_euclid(4) as usize]);
    if octave < 0 { root >> -octave } else { root << octave }
}

impl Estimator {
    /// What a tick adds at nice 0 where nice acts by weights: enough that at nice -20 something is left.
    pub const WEIGHTED_TICK: u32 = ROOTS[0] as u32;

    /// What a tick adds to an estimate.
    #[inline]
    fn of_tick(&self, nice: i8) -> u32 {
        if self.weighted { doubling_every_four(nice.into()) as u32 } else { self.tick }
    }

    /// Two estimates together.
    #[inline]
    pub fn sum(&self, one: u32, other: u32) -> u32 {
        (one + other).min(self.limit)
    }

    /// An estimate after n ticks.
    #[inline]
    pub fn after(&self, estimate: u32, ticks: u64, nice: i8) -> u32 {
        let more = ticks.saturating_mul(self.of_tick(nice).into());
        more.saturating_add(estimate.into()).min(self.limit.into()) as u32
    }

    /// By how much an estimate makes a priority worse.
    #[inline]
    pub fn steps(&self, estimate: u32) -> u32 {
        self.step.count(estimate)
    }

    /// What a ready task counts in the load, in units of 1 / [`ONE`].
    pub fn load(&self, nice: i8) -> u64 {
        if self.weighted { doubling_every_four(-i32::from(nice)) * ONE / ROOTS[0] } else { ONE }
    }

    /// The least estimate that makes a priority no better than this one does.
    #[inline]
    pub fn floor(&self, estimate: u32) -> u32 {
        self.steps(estimate) * self.step.length
    }

    /// The priority that an estimate makes.
    #[inline]
    pub fn priority(&self, estimate: u32, nice: i8) -> u16 {
        let priority = i32::from(self.base) + self.steps(estimate) as i32 + self.nice * i32::from(nice);
        priority.max(self.range.0.into()).min(self.range.1.into()) as u16
    }
}

/// The load average over a minute, and the decay that follows from it.
#[derive(Debug, Default)]
pub struct Load {
    average: u64,
    /// What a second leaves of an estimate, in parts of 2^64.
    kept: u64,
}

impl Load {
    /// It is sampled, for the given load of ready and running tasks, in units of 1 / [`ONE`].
    pub fn sample(&mut self, ready: u64) {
        self.average = (KEPT * self.average + ready * (ONE - KEPT)) >> FRACTION;
        let twice = 2 * self.average;
        self.kept = ((u128::from(twice) << 64) / u128::from(twice + ONE)) as u64 + 1;
    }

    /// Whether there has been nothing to do for so long that nothing is left of it.
    pub fn is_zero(&self) -> bool {
        self.average == 0
    }

    /// What is left of an estimate after a second: 2 L / (2 L + 1) of it, in whole numbers. L is the average by [`ONE`].
    ///
    ///   d  =  2 average + ONE    kept * d  =  2^64 * 2 average + r    0 <= r <= d
    ///   estimate * kept / 2^64  =  (estimate * 2 average + estimate * r / 2^64) / d  <  (estimate * 2 average + 1) / d
    ///
    /// while estimate * d < 2^64: the greatest estimate there can be, 2^30, under a load of four million.
    #[inline]
    pub fn decayed(&self, estimate: u32) -> u32 {
        ((u128::from(estimate) * u128::from(self.kept)) >> 64) as u32
    }

    /// What is left of an estimate when a task wakes that was asleep at n passes in a row, at least two. The passes
    /// have decayed it themselves up to the first; the kernel makes up for all the others but the last.
    pub fn decayed_asleep(&self, estimate: u32, passes: u32) -> u32 {
        // The kernel compares the passes with the load's fixed-point number, not with the load.
        if u64::from(passes) > 10 * self.average {
            return 0;
        }
        let mut left = estimate;
        for _ in 2..passes {
            if left == 0 {
                break;
            }
            left = self.decayed(left);
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: Estimator =
        Estimator { tick: 1, step: Step::new(8), limit: 295, base: 180, nice: 1, range: (160, 223), weighted: false };

    /// The load average after five minutes with n hogs.
    fn load(hogs: u64) -> Load {
        let mut load = Load::default();
        (0..60).for_each(|_| load.sample(hogs * ONE));
        load
    }

    #[test]
    fn statement_19_nine_tenths_are_forgotten_in_five_times_the_load_seconds() {
        for (hogs, seconds) in [(1, 5.7), (2, 10.3), (3, 14.9), (4, 19.6)] {
            let load = load(hogs);
            let mut estimate = 1_000_000_000;
            let passed = (1..).find(|_| {
                estimate = load.decayed(estimate);
                estimate <= 100_000_000
            });
            assert_eq!(passed, Some(f64::ceil(seconds) as u32), "{hogs} hogs");
        }
    }

    #[test]
    fn a_second_leaves_what_the_formula_says_under_any_load() {
        for hogs in [0, 1, 2, 3, 10, 47, 1000] {
            let load = load(hogs);
            let twice = 2 * u128::from(load.average);
            for estimate in (0..5000).chain([32_768 * 200, u32::MAX / 2]) {
                let left = u128::from(estimate) * twice / (twice + u128::from(ONE));
                assert_eq!(u128::from(load.decayed(estimate)), left, "{estimate} under {hogs} hogs");
            }
        }
    }

    #[test]
    fn whole_steps_are_those_of_a_division() {
        for length in [1, 7, 8, 24, 512, 8 * 32_768, 3 * 8 * 32_768, 64 * 8 * 32_768] {
            let multiples = (0..200).map(|steps| steps * length).filter(|&estimate: &u32| estimate < 1 << 31);
            for estimate in multiples.flat_map(|estimate| [estimate, estimate + 1, estimate + length - 1]) {
                assert_eq!(Step::new(length).count(estimate), estimate / length, "{estimate} in steps of {length}");
            }
        }
    }

    #[test]
    fn a_priority_is_shifted_by_nice_and_held_in_its_range() {
        let priority = |estimate, nice| STOCK.priority(estimate, nice);
        assert_eq!((priority(0, 0), priority(295, 0)), (180, 216));
        assert_eq!((priority(0, 20), priority(295, 20)), (200, 223));
        assert_eq!((priority(0, -20), priority(295, -20)), (160, 196));
        assert_eq!((STOCK.after(290, 4, 0), STOCK.after(290, u64::MAX, 0), STOCK.sum(290, 6)), (294, 295, 295));
    }

    #[test]
    fn weights_double_every_four_levels() {
        let weighted =
            Estimator { tick: Estimator::WEIGHTED_TICK, limit: u32::MAX / 2, nice: 0, weighted: true, ..STOCK };
        let at = |nice| weighted.of_tick(nice);
        assert_eq!((at(-20), at(0), at(4), at(20)), (1024, 32_768, 65_536, 1_048_576));
        assert!((at(1) * 10_000 / at(0)).abs_diff(11_892) <= 1);
        assert_eq!((weighted.load(-20), weighted.load(0), weighted.load(20)), (32 * ONE, ONE, ONE / 32));
    }

    #[test]
    fn a_lone_hogs_load_is_one_but_for_what_truncation_takes() {
        let mut settled = Load::default();
        (0..1000).for_each(|_| settled.sample(ONE));
        assert_eq!(settled.average, 2036);
    }
}
