//! Lists over one set of numbered nodes (slots, or keys): what every policy keeps its order in.
//!
//! A node is in at most one of the lists. Its two links are in one array at its number, so putting it in, taking it out
//! and moving it are constant and allocate nothing. Each list is a ring through an anchor of its own, which spares the
//! code every question of whether an end was reached; the anchors precede the nodes, so nodes can be added.

use crate::caches::NOTHING;

const BEFORE: usize = 0;
const AFTER: usize = 1;

/// `N` lists, called 0 to below `N`.
#[derive(Debug)]
pub(in crate::caches) struct Lists<const N: usize> {
    /// First the anchors, then for each node the ones before and after it, counted as in this array; [`NOTHING`] twice for
    /// a node that is in no list.
    links: Vec<[u32; 2]>,
    lengths: [u32; N],
}

impl<const N: usize> Lists<N> {
    /// Empty lists for nodes from 0 to below `nodes`.
    pub fn new(nodes: u32) -> Self {
        let anchors = (0..N as u32).map(|anchor| [anchor; 2]);
        let out = std::iter::repeat_n([NOTHING; 2], nodes as usize);
        Lists { links: anchors.chain(out).collect(), lengths: [0; N] }
    }

    /// Makes room for `node`, if it is larger than all before.
    #[inline]
    pub fn reach(&mut self, node: u32) {
        let wanted = node as usize + N + 1;
        if wanted > self.links.len() {
            self.links.resize(wanted.max(2 * self.links.len()), [NOTHING; 2]);
        }
    }

    /// Nodes in a list.
    #[inline]
    pub fn len(&self, list: usize) -> u32 {
        self.lengths[list]
    }

    /// Whether a node, which [`Lists::reach`] need not know, is in any list.
    #[inline]
    pub fn contains(&self, node: u32) -> bool {
        self.links.get(node as usize + N).is_some_and(|links| links[BEFORE] != NOTHING)
    }

    /// The first node of a list, or [`NOTHING`].
    #[inline]
    pub fn first(&self, list: usize) -> u32 {
        Self::node(self.links[list][AFTER])
    }

    /// The last node of a list, or [`NOTHING`].
    #[inline]
    pub fn last(&self, list: usize) -> u32 {
        Self::node(self.links[list][BEFORE])
    }

    /// The node before this one in its list, or [`NOTHING`].
    #[inline]
    pub fn before(&self, node: u32) -> u32 {
        Self::node(self.links[node as usize + N][BEFORE])
    }

    /// The node after this one in its list, or [`NOTHING`].
    #[inline]
    pub fn after(&self, node: u32) -> u32 {
        Self::node(self.links[node as usize + N][AFTER])
    }

    /// Puts a node that is in no list first in a list.
    #[inline]
    pub fn push(&mut self, list: usize, node: u32) {
        self.lengths[list] += 1;
        self.join(list as u32, node + N as u32);
    }

    /// Puts a node that is in no list right before another, which is in this list; last, if the other is [`NOTHING`].
    #[inline]
    pub fn push_before(&mut self, list: usize, other: u32, node: u32) {
        self.lengths[list] += 1;
        let behind = if other == NOTHING { list } else { other as usize + N };
        self.join(self.links[behind][BEFORE], node + N as u32);
    }

    /// Takes a node out of the list that it is in.
    #[inline]
    pub fn remove(&mut self, list: usize, node: u32) {
        self.lengths[list] -= 1;
        self.part(node + N as u32);
        self.links[node as usize + N] = [NOTHING; 2];
    }

    /// Takes the last node out of a list, which is not empty.
    #[inline]
    pub fn pop(&mut self, list: usize) -> u32 {
        let last = self.last(list);
        self.remove(list, last);
        last
    }

    /// Puts a node of a list first in it.
    #[inline]
    pub fn touch(&mut self, list: usize, node: u32) {
        self.part(node + N as u32);
        self.join(list as u32, node + N as u32);
    }

    #[inline]
    fn node(at: u32) -> u32 {
        if at < N as u32 { NOTHING } else { at - N as u32 }
    }

    #[inline]
    fn part(&mut self, at: u32) {
        let [before, after] = self.links[at as usize];
        self.links[before as usize][AFTER] = after;
        self.links[after as usize][BEFORE] = before;
    }

    #[inline]
    fn join(&mut self, before: u32, at: u32) {
        let after = std::mem::replace(&mut self.links[before as usize][AFTER], at);
        self.links[after as usize][BEFORE] = at;
        self.links[at as usize] = [before, after];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order<const N: usize>(lists: &Lists<N>, list: usize) -> Vec<u32> {
        let or_end = |node| Some(node).filter(|&node| node != NOTHING);
        std::iter::successors(or_end(lists.first(list)), |&node| or_end(lists.after(node))).collect()
    }

    #[test]
    fn the_last_pushed_is_first_and_the_first_pushed_is_last() {
        let mut lists = Lists::<1>::new(4);
        assert_eq!((lists.first(0), lists.last(0)), (NOTHING, NOTHING));
        for node in [2, 0, 3] {
            lists.push(0, node);
        }
        assert_eq!(order(&lists, 0), [3, 0, 2]);
        assert_eq!((lists.before(3), lists.before(2), lists.after(2)), (NOTHING, 0, NOTHING));
        lists.touch(0, 0);
        assert_eq!(order(&lists, 0), [0, 3, 2]);
        assert_eq!((lists.pop(0), lists.len(0)), (2, 2));
    }

    #[test]
    fn two_lists_share_nodes_but_not_members() {
        let mut lists = Lists::<2>::new(4);
        lists.push(0, 0);
        lists.push(1, 1);
        lists.push_before(1, 1, 2);
        lists.push_before(1, NOTHING, 3);
        assert_eq!((order(&lists, 0), order(&lists, 1)), (vec![0], vec![2, 1, 3]));
        assert_eq!((lists.len(0), lists.len(1)), (1, 3));
        lists.remove(0, 0);
        assert_eq!((lists.first(0), lists.contains(0), lists.contains(2)), (NOTHING, false, true));
    }

    #[test]
    fn a_larger_node_finds_room_and_leaves_the_others_in_place() {
        let mut lists = Lists::<1>::new(1);
        lists.push(0, 0);
        assert!(!lists.contains(1000));
        lists.reach(1000);
        lists.push(0, 1000);
        assert_eq!(order(&lists, 0), [1000, 0]);
        assert!(!lists.contains(999));
    }
}
