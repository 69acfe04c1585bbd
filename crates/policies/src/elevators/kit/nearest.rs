//! The next request of a one-way sweep that goes back a little where that is worth it.
//!
//! ```text
//!   cost(ahead)   =  first - from
//!   cost(behind)  =  penalty * (from - first),  if that is within back_max
//!   else the lowest request, as a one-way sweep would
//! ```

use super::sorted::Sorted;
use schedlab_model::request::{RequestId, Sector};

/// Going back costs as much as going twice as far ahead; Linux 2.6.20 to 6.18.
pub(in crate::elevators) const BACK_PENALTY: u64 = 2;

/// The cheapest from there; of two that cost the same, the one ahead.
pub(in crate::elevators) fn nearest(
    sorted: &Sorted,
    from: Sector,
    back_max: Sector,
    penalty: u64,
) -> Option<RequestId> {
    let ahead = sorted.at_or_after(from).map(|(first, id)| (first - from, id));
    let behind = sorted.before(from).map(|(first, id)| (from - first, id));
    let behind = behind.filter(|&(back, _)| back <= back_max).map(|(back, id)| (back.saturating_mul(penalty), id));
    let chosen = ahead.into_iter().chain(behind).min_by_key(|&(cost, _)| cost);
    chosen.or(sorted.lowest()).map(|(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_back_only_for_less_than_half_of_the_way_ahead_and_only_so_far() {
        let mut sorted = Sorted::default();
        for (first, id) in [(10, 0), (95, 1), (110, 2)] {
            sorted.insert(first, id);
        }
        assert_eq!(nearest(&sorted, 100, 50, 2), Some(2)); // 5 back cost as much as 10 ahead
        assert_eq!(nearest(&sorted, 99, 50, 2), Some(1));
        sorted.remove(110, 2);
        assert_eq!(nearest(&sorted, 200, 50, 2), Some(0)); // 105 back is too far: begin again
    }
}
