//! Part of a trace in place of all of it: SHARDS (Waldspurger, Park, Garthwaite, Ahmad, FAST 2015), and for policies other
//! than LRU its use on caches of smaller size (Waldspurger, Saemundsson, Ahmad, Park, USENIX ATC 2017).
//!
//!     An object is in the sample if its hash is: so all requests for it are, or none. A cache for a share R of the objects
//!     needs a share R of the slots to treat them as the whole cache treats all objects.
//!
//!         miss ratio = m / (R N)        m: misses of the sample in a cache of R C slots    N: requests of the whole trace
//!                                       R: rate of the sample    C: slots of the whole cache
//!
//! Dividing by R N, which the sample should have, and not by the requests that it has is the correction that the paper calls
//! SHARDS-adj: whether the few most requested objects are in the sample changes its requests much and its misses little.
//!
//! ## How sure
//!
//! Several disjoint samples are taken: the groups of one hash. The spread of their miss ratios gives
//! the interval of their mean (by Student's t, in Python). It covers the choice of objects; it does not
//! cover that a cache of few slots behaves unlike a large one, so a sample whose cache would have fewer than [`FEWEST_SLOTS`] is refused.
//! On a skewed trace (`tests/curves.rs`) 95 % of LRU's intervals held the exact miss ratio with samples of 0.5 %, nearly all with
//! samples of 5 % (eight of them are two fifths of the objects; the interval ignores this gain); of the other policies'
//! 17 to 20 of 20, but of MRU's 12: what becomes of its one changing slot is no matter of scale.

use schedlab_policies::caches::{Key, NOTHING};

/// Fewest slots of a sample's cache. With so few, the rounding of a size is at most 1.6 %.
pub const FEWEST_SLOTS: u32 = 32;
/// As many samples as are taken, unless they would be more than the whole.
pub const GROUPS: u32 = 8;
/// Largest rate: two samples are the least that has a spread.
pub const MOST: f64 = 0.5;

/// How a sample is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Share of the objects in each sample.
    pub rate: f64,
    /// Number of samples.
    pub groups: u32,
    /// Another number, other samples.
    pub salt: u64,
}

impl Sampling {
    /// Samples of that rate.
    pub fn new(rate: f64, salt: u64) -> Result<Self, String> {
        if !(rate > 0.0 && rate <= MOST) {
            return Err(format!(
                "a sample of {rate} is out of range: above 0, up to {MOST}; leave it out for the whole trace"
            ));
        }
        Ok(Sampling { rate, groups: GROUPS.min((1.0 / rate) as u32), salt })
    }

    /// Slots of a sample's cache in place of `slots`.
    pub(crate) fn scaled(&self, slots: u32) -> Result<u32, String> {
        let scaled = (f64::from(slots) * self.rate).round() as u32;
        if scaled >= FEWEST_SLOTS {
            return Ok(scaled);
        }
        let least = (f64::from(FEWEST_SLOTS) / self.rate).ceil();
        Err(format!(
            "a cache of {slots} has {scaled} slots in a sample of {}: take sizes from {least} on, a larger sample, or none",
            self.rate
        ))
    }

    /// The group of an object, if it is in any.
    #[inline]
    fn group(&self, key: Key) -> Option<u32> {
        let share =
            (mixed(u64::from(key) ^ self.salt.wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 11) as f64 / (1u64 << 53) as f64;
        let group = (share / self.rate) as u32;
        (group < self.groups).then_some(group)
    }

    /// The samples of a trace, each numbered anew from 0.
    pub(crate) fn take(&self, keys: &[Key], objects: u32) -> Vec<Sample> {
        let mut samples: Vec<Sample> = (0..self.groups).map(|_| Sample::default()).collect();
        let mut numbers = vec![NOTHING; objects as usize];
        for &key in keys {
            let Some(group) = self.group(key) else { continue };
            let Sample { keys, objects } = &mut samples[group as usize];
            let number = &mut numbers[key as usize];
            if *number == NOTHING {
                *number = *objects;
                *objects += 1;
            }
            keys.push(*number);
        }
        samples
    }
}

/// Part of a trace.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    pub keys: Vec<Key>,
    pub objects: u32,
}

/// A hash whose every bit depends on every bit (the finalizer of SplitMix64, Steele, Lea, Flood 2014).
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_disjoint_and_have_about_the_share_they_should() {
        let keys: Vec<Key> = (0..100_000).chain(0..100_000).collect();
        let sampling = Sampling::new(0.1, 7).unwrap();
        let mut seen = vec![0; keys.len()];
        (0..100_000).filter_map(|key| sampling.group(key).map(|_| key)).for_each(|key| seen[key as usize] += 1);
        assert!(seen.iter().all(|&times| times <= 1));
        for sample in sampling.take(&keys, 100_000) {
            assert!((9_500..10_500).contains(&sample.objects), "{}", sample.objects);
            assert_eq!(sample.keys.len(), 2 * sample.objects as usize, "all requests for an object, or none");
        }
    }

    #[test]
    fn another_salt_takes_other_samples() {
        let groups = |salt| (0..1000).map(|key| Sampling::new(0.1, salt).unwrap().group(key)).collect::<Vec<_>>();
        assert_eq!(groups(1), groups(1));
        assert_ne!(groups(1), groups(2));
    }

    #[test]
    fn a_rate_out_of_range_and_a_cache_too_small_are_refused() {
        for rate in [0.0, -1.0, 0.6, f64::NAN, f64::INFINITY] {
            assert!(Sampling::new(rate, 0).unwrap_err().contains("out of range"));
        }
        let sampling = Sampling::new(0.01, 0).unwrap();
        assert_eq!((sampling.groups, Sampling::new(0.3, 0).unwrap().groups), (8, 3));
        assert_eq!(sampling.scaled(5000), Ok(50));
        assert!(sampling.scaled(1000).unwrap_err().contains("take sizes from 3200 on"));
    }
}
