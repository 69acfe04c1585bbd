//! Random numbers: one independent stream for each purpose and owner, so that a change of scheduler does not
//! change what the tasks draw (paired comparison), and a run is a pure function of scenario and seed.
//!
//! Until its first draw, a run is the same under every seed. So either all seeds of a scenario draw or none does, and where
//! none does, the seeds change nothing: [`watch`] tells. What a seed decides and [`Rng`] does not give is a [`Seeded`].

use rand::{
    SeedableRng,
    distr::uniform::{SampleUniform, UniformSampler},
};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg32;
use std::cell::Cell;

thread_local! {
    /// Whether this thread has used what depends on a seed. Work stays on one thread, so no stream, copy or child of one is missed.
    static DRAWN: Cell<bool> = const { Cell::new(false) };
}

/// Does work on this thread, and says whether it used any number that depends on a seed.
pub fn watch<T>(work: impl FnOnce() -> T) -> (T, bool) {
    let before = DRAWN.replace(false);
    let done = work();
    let drawn = DRAWN.get();
    DRAWN.set(before || drawn);
    (done, drawn)
}

/// A number that a seed decides. It counts as drawn when it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeded {
    number: u64,
    drawn: bool,
}

impl Seeded {
    /// The seed itself.
    pub fn seed(seed: u64) -> Seeded {
        Seeded { number: seed, drawn: true }
    }

    /// A number that is the same for every seed.
    pub fn fixed(number: u64) -> Seeded {
        Seeded { number, drawn: false }
    }

    /// Uses it.
    #[inline]
    pub fn get(self) -> u64 {
        if self.drawn {
            DRAWN.set(true);
        }
        self.number
    }
}

/// A small fast generator (16 bytes of state).
#[derive(Debug, Clone)]
pub struct Rng(Pcg32);

impl Rng {
    /// The stream of `owner` under `seed`. Equal arguments give equal streams.
    pub fn stream(seed: u64, owner: u64) -> Rng {
        let mut mixed = seed ^ owner.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Rng(Pcg32::seed_from_u64(mixed ^ (mixed >> 31)))
    }

    /// A whole number in `0..bound`; 0 when `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        DRAWN.set(bound > 1 || DRAWN.get());
        self.number(bound)
    }

    /// As [`Rng::below`], of a number that may not be used.
    pub fn below_later(&mut self, bound: u64) -> Seeded {
        Seeded { number: self.number(bound), drawn: bound > 1 }
    }

    /// The stream that this one names next. Only what is drawn from it counts.
    pub fn child(&mut self, seed: u64) -> Rng {
        Rng::stream(seed, self.number(u64::MAX))
    }

    #[inline]
    fn number(&mut self, bound: u64) -> u64 {
        // As `random_range`, whose function is not inlined: 4 % of the instructions of a switch between sleepers.
        if bound == 0 { 0 } else { <u64 as SampleUniform>::Sampler::sample_single(0, bound, &mut self.0).unwrap_or(0) }
    }

    /// An exponentially distributed length with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: u64) -> u64 {
        DRAWN.set(mean > 0 || DRAWN.get());
        let unit: f64 = Exp1.sample(&mut self.0);
        (unit * mean as f64).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt;

    #[test]
    fn below_draws_what_random_range_draws() {
        let mut ours = Rng::stream(1, 2);
        let mut theirs = ours.clone();
        for round in 0..1000u64 {
            for bound in [1, 2, 3, 1000 + round, u64::from(u32::MAX) + round, u64::MAX / 3, u64::MAX] {
                assert_eq!(ours.below(bound), theirs.0.random_range(0..bound));
            }
        }
        assert_eq!(ours.below(0), 0);
    }

    #[test]
    fn only_what_may_differ_between_seeds_counts_as_drawn() {
        let rng = || Rng::stream(1, 2);
        let drawn = |work: fn(&mut Rng) -> u64| watch(|| work(&mut rng())).1;
        assert!(drawn(|rng| rng.below(2)) && drawn(|rng| rng.exponential(1)));
        assert!(!drawn(|rng| rng.below(0) + rng.below(1) + rng.exponential(0)));
        assert!(drawn(|rng| rng.below_later(2).get()) && !drawn(|rng| rng.below_later(1).get()));
        assert!(!drawn(|rng| u64::from(rng.below_later(2) == Seeded::fixed(7))));
        assert!(drawn(|rng| rng.child(1).below(2)) && !drawn(|rng| rng.child(1).below(1)));
        assert!(drawn(|rng| rng.clone().below(2)), "what a copy says may decide, too");
        assert!(drawn(|_| Seeded::seed(1).get()) && !drawn(|_| Seeded::fixed(1).get()));
    }

    #[test]
    fn work_within_work_is_watched_for_both() {
        let mut rng = Rng::stream(1, 2);
        let ((inner, outer), after) = (watch(|| watch(|| rng.below(2)).1), watch(|| ()).1);
        assert!(inner && outer && !after);
    }

    #[test]
    fn a_number_that_is_used_later_is_that_of_now() {
        let (mut now, mut later) = (Rng::stream(1, 2), Rng::stream(1, 2));
        assert_eq!(now.below(1000), later.below_later(1000).get());
        assert_eq!(now.below(1000), later.below(1000));
    }
}
