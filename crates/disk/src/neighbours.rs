//! Which queued requests begin, or end, at a sector: a table of chains, with a link for each request.
//!
//! Several requests may have the same sector; the latest comes first, as in the hash of Linux's `elv_rqhash_add`.

use schedlab_model::request::{RequestId, Sector};

/// End of a chain.
const NONE: RequestId = RequestId::MAX;

/// Requests by one of their sectors, which the caller chooses.
#[derive(Debug)]
pub(crate) struct Neighbours {
    heads: Vec<RequestId>,
    next: Vec<RequestId>,
    shift: u32,
}

impl Neighbours {
    /// For ids below `slots`.
    pub fn new(slots: usize) -> Neighbours {
        // At most half full; at least two chains, so that the shift stays below the width of a word.
        let chains = (2 * slots).next_power_of_two().max(2);
        Neighbours { heads: vec![NONE; chains], next: vec![NONE; slots], shift: 64 - chains.trailing_zeros() }
    }

    /// The upper bits of the product are mixed best (Knuth's multiplicative hash).
    fn chain(&self, sector: Sector) -> usize {
        (sector.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    pub fn insert(&mut self, sector: Sector, id: RequestId) {
        let chain = self.chain(sector);
        self.next[id as usize] = self.heads[chain];
        self.heads[chain] = id;
    }

    /// Takes out a request that is in, under that sector.
    pub fn remove(&mut self, sector: Sector, id: RequestId) {
        let chain = self.chain(sector);
        let after = self.next[id as usize];
        if self.heads[chain] == id {
            self.heads[chain] = after;
            return;
        }
        let mut before = self.heads[chain];
        while self.next[before as usize] != id {
            before = self.next[before as usize];
        }
        self.next[before as usize] = after;
    }

    /// Those that may have that sector; others may be among them.
    pub fn near(&self, sector: Sector) -> impl Iterator<Item = RequestId> {
        let real = |id: RequestId| (id != NONE).then_some(id);
        std::iter::successors(real(self.heads[self.chain(sector)]), move |&id| real(self.next[id as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sectors_and_colliding_ones_are_found_and_taken_out_one_by_one() {
        let mut table = Neighbours::new(1);
        table.next.resize(6, NONE);
        // Two chains for six requests: they collide.
        let sectors = [5, 5, 6, 7, 8, 5];
        (0..6).for_each(|id| table.insert(sectors[id as usize], id));
        let with = |table: &Neighbours, sector| {
            table.near(sector).filter(|&id| sectors[id as usize] == sector).collect::<Vec<_>>()
        };
        assert_eq!(with(&table, 5), [5, 1, 0]);
        table.remove(5, 1);
        assert_eq!(with(&table, 5), [5, 0]);
        table.remove(5, 5);
        table.remove(5, 0);
        assert!(with(&table, 5).is_empty());
        assert_eq!([6, 7, 8].map(|sector| with(&table, sector)), [[2], [3], [4]]);
    }
}
