//! Shares of a cache, given in percent.

/// A percentage of the slots, rounded down; at most 2^31.
pub(in crate::caches) fn share(slots: u32, percent: u64) -> u32 {
    (u64::from(slots) * percent / 100).min(1 << 31) as u32
}

/// A percentage of the bytes of a cache, rounded down.
pub(in crate::caches) fn share_of_bytes(capacity: u64, percent: u64) -> u64 {
    (u128::from(capacity) * u128::from(percent) / 100) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_rounded_down_and_does_not_overflow() {
        assert_eq!([share(19, 10), share(9, 10), share(10, 90), share(7, 200)], [1, 0, 9, 14]);
        assert_eq!(share(u32::MAX, 1000), 1 << 31);
    }
}
