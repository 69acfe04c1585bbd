//! What a queue of eevdf knows of those in it: the sums of which V is made, and their slices.

use super::Claim;
use crate::schedulers::linux::shared::{
    entity::{CfsRq, SchedEntity},
    slice_tree::SliceTree,
};
use schedlab_model::Nanos;

/// Sums over a queue.
#[derive(Debug, Default)]
pub struct State {
    /// A virtual time near those of the queue, and the sum of weight * (virtual time - zero).
    pub(super) zero: i64,
    pub(super) sum: i64,
    pub(super) slices: Slices,
    /// Where tasks ask for slices: what the kernel knows of those that wait.
    pub(super) tree: Option<SliceTree>,
}

/// How many of a queue have which slice. There are few different ones, and most often one.
#[derive(Debug, Default)]
pub(super) struct Slices {
    usual: Nanos,
    count: u32,
    /// All others that there have been, in order.
    others: Vec<(Nanos, u32)>,
}

impl Slices {
    #[inline(always)]
    pub(super) fn add(&mut self, slice: Nanos) {
        if slice == self.usual {
            self.count += 1;
        } else {
            self.add_other(slice);
        }
    }

    #[cold]
    fn add_other(&mut self, slice: Nanos) {
        if self.count == 0 && self.others.is_empty() {
            (self.usual, self.count) = (slice, 1);
            return;
        }
        let at = self.others.partition_point(|(length, _)| *length < slice);
        match self.others.get_mut(at) {
            Some((length, count)) if *length == slice => *count += 1,
            _ => self.others.insert(at, (slice, 1)),
        }
    }

    #[inline(always)]
    pub(super) fn remove(&mut self, slice: Nanos) {
        if slice == self.usual {
            self.count -= 1;
        } else {
            let found = self.others.iter_mut().find(|(length, _)| *length == slice);
            found.expect("what leaves was there").1 -= 1;
        }
    }

    #[inline(always)]
    pub(super) fn shortest(&self) -> Nanos {
        if self.others.is_empty() { self.usual() } else { self.all().min().unwrap_or(0) }
    }

    #[inline(always)]
    pub(super) fn longest(&self) -> Nanos {
        if self.others.is_empty() { self.usual() } else { self.all().max().unwrap_or(0) }
    }

    /// The usual one, if any entity has it.
    #[inline(always)]
    fn usual(&self) -> Nanos {
        if self.count > 0 { self.usual } else { 0 }
    }

    /// Those that any entity has.
    fn all(&self) -> impl Iterator<Item = Nanos> {
        let usual = std::iter::once((self.usual, self.count));
        usual.chain(self.others.iter().copied()).filter(|(_, count)| *count > 0).map(|(length, _)| length)
    }
}

impl CfsRq<State> {
    /// The shortest slice of those that compete, one of which is `own`, as far as the kernel knows. (cfs_rq_min_slice)
    #[inline(always)]
    pub(super) fn cfs_rq_min_slice(&self, own: Option<Nanos>) -> Nanos {
        match &self.state.tree {
            None => self.state.slices.shortest(),
            Some(tree) => tree.shortest().into_iter().chain(own).min().unwrap_or(0),
        }
    }

    /// V: the mean virtual time of all that compete, by weight, rounded down. Of an empty queue, the last there was.
    #[inline(always)]
    pub(super) fn avg_vruntime(&mut self) -> i64 {
        let weight = self.weight as i64;
        let state = &mut self.state;
        if !(0..weight).contains(&state.sum) && weight > 0 {
            let step = state.sum.div_euclid(weight);
            state.zero += step;
            state.sum -= step * weight;
        }
        state.zero
    }

    #[inline(always)]
    pub(super) fn avg_vruntime_add(&mut self, entity: &SchedEntity<Claim>) {
        self.weight += entity.weight;
        self.count += 1;
        self.state.sum += entity.weight as i64 * (entity.vruntime - self.state.zero);
        self.state.slices.add(entity.claim.slice);
    }

    #[inline(always)]
    pub(super) fn avg_vruntime_sub(&mut self, entity: &SchedEntity<Claim>) {
        self.weight -= entity.weight;
        self.count -= 1;
        self.state.sum -= entity.weight as i64 * (entity.vruntime - self.state.zero);
        self.state.slices.remove(entity.claim.slice);
    }
}
