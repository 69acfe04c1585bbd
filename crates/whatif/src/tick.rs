//! The length of the kernel's clock tick, which no event shows: a processor looks at a running task that does not wait only at ticks, so
//! its switches away from tasks that can run are a whole number of ticks apart.
//!
//! For each length that kernels are built with, the times of these switches are taken modulo the length, as points of a circle; the
//! length of their mean, as vectors, is 1 if all are equal and about 0 if they are spread. Wakeups preempt at any time and only
//! blur it. A length that fits has its divisors fit too, so the longest that fits as well as the best is taken.

use crate::timers::median;

/// Ticks a second of the kernels that distributions build (CONFIG_HZ).
const RATES: [u64; 5] = [100, 250, 300, 500, 1000];
/// Fewer switches show nothing.
const FEW: usize = 20;
/// The mean vector of a length that fits. Of spread times it is about 1 / sqrt(their number).
const FITS: f64 = 0.5;
/// How much worse a longer tick may fit.
const AS_WELL: f64 = 0.8;

/// Ticks a second, from times of involuntary switches in ns; none where they do not show it.
pub fn tick(preemptions: &[u64]) -> Option<u64> {
    if preemptions.len() < FEW {
        return None;
    }
    let fits = RATES.map(|rate| (rate, concentration(preemptions, 1_000_000_000 / rate)));
    let best = fits.iter().map(|(_, fit)| *fit).fold(0.0, f64::max);
    if best < FITS {
        return None;
    }
    fits.iter().find(|(_, fit)| *fit >= AS_WELL * best).map(|(rate, _)| *rate)
}

/// The length of the mean of the times as vectors on a circle. A clock that drifts against the recording's turns them slowly, so it is
/// taken of a hundred at a time.
fn concentration(times: &[u64], tick: u64) -> f64 {
    let of_some = |some: &[u64]| {
        let (mut x, mut y) = (0.0, 0.0);
        for time in some {
            let angle = (time % tick) as f64 / tick as f64 * std::f64::consts::TAU;
            (x, y) = (x + angle.cos(), y + angle.sin());
        }
        ((x * x + y * y).sqrt() / some.len() as f64 * 1e6) as u64
    };
    median(times.chunks(100).filter(|some| some.len() >= FEW).map(of_some).collect()) as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_found_where_switches_keep_to_them() {
        for rate in RATES {
            let length = 1_000_000_000 / rate;
            let times: Vec<u64> = (0..200).map(|i| i * i % 37 * length + length / 3 + i % 5 * 2000).collect();
            assert_eq!(tick(&times), Some(rate));
        }
    }

    #[test]
    fn spread_switches_and_few_show_no_tick() {
        let spread: Vec<u64> = (0..500_u64).map(|i| i * 2_718_281 + i * i * 31_415).collect();
        assert_eq!(tick(&spread), None);
        assert_eq!(tick(&[4_000_000; 10]), None);
    }
}
