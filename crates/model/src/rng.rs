//! Random numbers: one independent stream for each purpose and owner, so that a change of scheduler does not
//! change what the tasks draw (paired comparison), and a run is a pure function of scenario and seed.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg32;

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
        if bound == 0 { 0 } else { self.0.random_range(0..bound) }
    }

    /// An exponentially distributed length with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let unit: f64 = Exp1.sample(&mut self.0);
        (unit * mean as f64).round() as u64
    }
}
