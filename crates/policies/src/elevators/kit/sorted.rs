//! Requests in order of their first sector, for elevators that look for the next one along the drive.
//!
//! A sorted vector: at the lengths of a request queue, moving a few hundred bytes costs less than following a tree's
//! pointers, and nothing is allocated once it has grown.

use schedlab_model::request::{RequestId, Sector};

/// Ids by first sector; equal sectors by id.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Sorted {
    entries: Vec<(Sector, RequestId)>,
}

impl Sorted {
    pub(in crate::elevators) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(in crate::elevators) fn insert(&mut self, first: Sector, id: RequestId) {
        let at = self.entries.partition_point(|&entry| entry < (first, id));
        self.entries.insert(at, (first, id));
    }

    /// Takes out a request that is known to begin at `first`.
    pub(in crate::elevators) fn remove(&mut self, first: Sector, id: RequestId) {
        let at = self.entries.partition_point(|&entry| entry < (first, id));
        debug_assert_eq!(self.entries.get(at), Some(&(first, id)));
        self.entries.remove(at);
    }

    /// A request that began at `from` begins at `to` now.
    pub(in crate::elevators) fn moved(&mut self, id: RequestId, from: Sector, to: Sector) {
        if from != to {
            self.remove(from, id);
            self.insert(to, id);
        }
    }

    /// The first that begins at that sector or behind it.
    pub(in crate::elevators) fn at_or_after(&self, sector: Sector) -> Option<(Sector, RequestId)> {
        let at = self.entries.partition_point(|&(first, _)| first < sector);
        self.entries.get(at).copied()
    }

    /// The last that begins before that sector.
    pub(in crate::elevators) fn before(&self, sector: Sector) -> Option<(Sector, RequestId)> {
        let at = self.entries.partition_point(|&(first, _)| first < sector);
        at.checked_sub(1).map(|at| self.entries[at])
    }

    /// The one of the lowest sector.
    pub(in crate::elevators) fn lowest(&self) -> Option<(Sector, RequestId)> {
        self.entries.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_neighbours_of_a_sector_on_either_side() {
        let mut sorted = Sorted::default();
        for (first, id) in [(30, 0), (10, 1), (20, 2), (20, 3)] {
            sorted.insert(first, id);
        }
        assert_eq!(sorted.lowest(), Some((10, 1)));
        assert_eq!(sorted.at_or_after(20), Some((20, 2)));
        assert_eq!(sorted.at_or_after(31), None);
        assert_eq!(sorted.before(20), Some((10, 1)));
        assert_eq!(sorted.before(10), None);
    }

    #[test]
    fn a_request_that_grew_at_its_front_is_found_at_its_new_place() {
        let mut sorted = Sorted::default();
        sorted.insert(10, 0);
        sorted.insert(20, 1);
        sorted.moved(1, 20, 5);
        assert_eq!(sorted.lowest(), Some((5, 1)));
        sorted.remove(5, 1);
        sorted.remove(10, 0);
        assert!(sorted.is_empty());
    }
}
