//! The size of a list: the number of its nodes, or their bytes. A policy whose shares are parts of the cache is written
//! once for both; where nodes count one each, none of this is left after compiling.

use super::links::Lists;
use std::fmt::Debug;

/// What nodes count for.
pub trait Weights: Debug + Default + Send + 'static {
    /// Whether they count differently.
    const BYTES: bool;

    /// Sets what a node that is in no list counts for.
    fn set(&mut self, node: u32, weight: u64);

    /// What a node counts for.
    fn of(&self, node: u32) -> u64;
}

/// One each.
#[derive(Debug, Default)]
pub struct Ones;

impl Weights for Ones {
    const BYTES: bool = false;

    #[inline(always)]
    fn set(&mut self, _: u32, _: u64) {}

    #[inline(always)]
    fn of(&self, _: u32) -> u64 {
        1
    }
}

/// Bytes, by node.
#[derive(Debug, Default)]
pub struct Bytes(Vec<u64>);

impl Weights for Bytes {
    const BYTES: bool = true;

    #[inline]
    fn set(&mut self, node: u32, weight: u64) {
        let place = node as usize;
        if place >= self.0.len() {
            self.0.resize((place + 1).max(2 * self.0.len()), 0);
        }
        self.0[place] = weight;
    }

    #[inline]
    fn of(&self, node: u32) -> u64 {
        self.0[node as usize]
    }
}

/// Lists that know what they come to.
#[derive(Debug)]
pub(in crate::caches) struct Weighed<const N: usize, W> {
    lists: Lists<N>,
    weights: W,
    sums: [u64; N],
}

impl<const N: usize, W: Weights> Weighed<N, W> {
    /// Empty lists for nodes from 0 to below `nodes`.
    pub fn new(nodes: u32) -> Self {
        Weighed { lists: Lists::new(nodes), weights: W::default(), sums: [0; N] }
    }

    /// Sets what a node that is in no list counts for.
    #[inline(always)]
    pub fn weigh(&mut self, node: u32, weight: u64) {
        self.weights.set(node, weight);
    }

    /// What a node counts for.
    #[inline(always)]
    pub fn of(&self, node: u32) -> u64 {
        self.weights.of(node)
    }

    /// What a list comes to.
    #[inline(always)]
    pub fn sum(&self, list: usize) -> u64 {
        if W::BYTES { self.sums[list] } else { self.lists.len(list).into() }
    }

    /// Whether a list has no nodes.
    #[inline(always)]
    pub fn is_empty(&self, list: usize) -> bool {
        self.lists.len(list) == 0
    }

    /// See [`Lists::reach`].
    #[inline(always)]
    pub fn reach(&mut self, node: u32) {
        self.lists.reach(node);
    }

    /// See [`Lists::contains`].
    #[inline(always)]
    pub fn contains(&self, node: u32) -> bool {
        self.lists.contains(node)
    }

    /// See [`Lists::last`].
    #[inline(always)]
    pub fn last(&self, list: usize) -> u32 {
        self.lists.last(list)
    }

    /// See [`Lists::push`].
    #[inline(always)]
    pub fn push(&mut self, list: usize, node: u32) {
        if W::BYTES {
            self.sums[list] += self.weights.of(node);
        }
        self.lists.push(list, node);
    }

    /// See [`Lists::remove`].
    #[inline(always)]
    pub fn remove(&mut self, list: usize, node: u32) {
        if W::BYTES {
            self.sums[list] -= self.weights.of(node);
        }
        self.lists.remove(list, node);
    }

    /// See [`Lists::pop`].
    #[inline(always)]
    pub fn pop(&mut self, list: usize) -> u32 {
        let last = self.lists.last(list);
        self.remove(list, last);
        last
    }

    /// See [`Lists::touch`].
    #[inline(always)]
    pub fn touch(&mut self, list: usize, node: u32) {
        self.lists.touch(list, node);
    }
}
