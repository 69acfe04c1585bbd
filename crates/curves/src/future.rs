//! The input of clairvoyant policies: when each object is requested again. One pass from the end.

use schedlab_policies::caches::{Key, NOTHING};

/// For each request the index of the next one for the same key; [`NOTHING`] if there is none.
pub(crate) fn next_uses(keys: &[Key], objects: u32) -> Vec<u32> {
    let mut seen = vec![NOTHING; objects as usize];
    let mut next: Vec<u32> =
        keys.iter().enumerate().rev().map(|(at, &key)| std::mem::replace(&mut seen[key as usize], at as u32)).collect();
    next.reverse();
    next
}

/// That index as policies receive it: requests are counted from 1.
#[inline]
pub(crate) fn as_given(next: u32) -> u64 {
    if next == NOTHING { u64::MAX } else { u64::from(next) + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_next_use_is_the_first_of_the_same_key_behind(keys in prop::collection::vec(0..6u32, 0..60)) {
            let next = next_uses(&keys, 6);
            for (at, key) in keys.iter().enumerate() {
                let behind = keys[at + 1..].iter().position(|other| other == key);
                prop_assert_eq!(as_given(next[at]), behind.map_or(u64::MAX, |steps| (at + 1 + steps + 1) as u64));
            }
        }
    }
}
