//! The processors of a machine as a tree of groups that share something (cpu_top, struct cpu_group): the whole machine, memory nodes, last-level
//! caches, cores. A group that is all of the one above it is that one.

use schedlab_model::{
    task::CpuId,
    topology::{Place, Topology},
};

/// What the processors of a group share (CG_SHARE_NONE, CG_SHARE_L1, CG_SHARE_L3): for this multiple of the basic span a thread that left one of them
/// is taken to have its memory near the others.
const SHARE_NONE: i64 = 0;
const SHARE_L1: i64 = 1;
const SHARE_L3: i64 = 3;
/// What a processor shares with itself: the cache below the last (CG_SHARE_L2).
pub const SHARE_L2: i64 = 2;

/// A group of processors.
#[derive(Debug)]
pub struct Group {
    pub cpus: Vec<CpuId>,
    /// The group above it, and those below.
    pub parent: Option<usize>,
    pub children: Vec<usize>,
    /// The nearest cache that all of them share.
    pub shares: i64,
    /// Whether they are the threads of one core (CG_FLAG_THREAD).
    pub threads: bool,
}

/// The tree; group 0 is the machine.
#[derive(Debug)]
pub struct Tree {
    pub groups: Vec<Group>,
    /// The smallest group of each processor (tdq_cg).
    pub of: Vec<usize>,
}

impl Tree {
    pub fn new(topology: &Topology) -> Tree {
        let cpus: Vec<CpuId> = (0..topology.processors()).collect();
        let mut tree = Tree { groups: Vec::new(), of: vec![0; cpus.len()] };
        tree.add(topology, cpus, None);
        tree
    }

    fn add(&mut self, topology: &Topology, cpus: Vec<CpuId>, parent: Option<usize>) {
        let one =
            |key: fn(Place) -> u16| cpus.iter().all(|&cpu| key(topology.place(cpu)) == key(topology.place(cpus[0])));
        let (node, cache, core) = (one(|place| place.node), one(|place| place.cache), one(|place| place.core));
        let threads = core && cpus.len() > 1;
        let shares = match (threads, cache) {
            (true, _) => SHARE_L1,
            (_, true) => SHARE_L3,
            _ => SHARE_NONE,
        };
        let has_threads = cpus.iter().any(|&cpu| topology.threads(cpu).count() > 1);
        let parts = match (node, cache) {
            (false, _) => parts(topology, &cpus, |place| place.node),
            (_, false) => parts(topology, &cpus, |place| place.cache),
            _ if !core && has_threads => parts(topology, &cpus, |place| place.core),
            _ => Vec::new(),
        };
        let number = self.groups.len();
        cpus.iter().for_each(|&cpu| self.of[usize::from(cpu)] = number);
        self.groups.push(Group { cpus, parent, children: Vec::new(), shares, threads });
        if let Some(parent) = parent {
            self.groups[parent].children.push(number);
        }
        parts.into_iter().for_each(|part| self.add(topology, part, Some(number)));
    }

    /// Whether a thread that left its processor at that tick is taken to have its memory in a cache of that level (SCHED_AFFINITY), where a
    /// level is worth this number of ticks.
    pub fn warm(left: i64, now: i64, level: i64, affinity: i64) -> bool {
        left > now - level * affinity
    }

    /// The largest group with a cache in which a thread that left may still have its memory: above cores, and not the whole machine.
    pub fn warm_group(&self, cpu: CpuId, left: i64, now: i64, affinity: i64) -> Option<usize> {
        let up = |group: &usize| self.groups[*group].parent;
        let warm = std::iter::successors(Some(self.of[usize::from(cpu)]), up).filter(|&at| {
            let group = &self.groups[at];
            !group.threads && group.shares != SHARE_NONE && Tree::warm(left, now, group.shares, affinity)
        });
        warm.last().filter(|&group| group != 0)
    }
}

/// Processors by what a place says, in the order of the first of each part.
fn parts(topology: &Topology, cpus: &[CpuId], key: fn(Place) -> u16) -> Vec<Vec<CpuId>> {
    let mut parts: Vec<(u16, Vec<CpuId>)> = Vec::new();
    for &cpu in cpus {
        let key = key(topology.place(cpu));
        match parts.iter_mut().find(|part| part.0 == key) {
            Some(part) => part.1.push(cpu),
            None => parts.push((key, vec![cpu])),
        }
    }
    parts.into_iter().map(|part| part.1).collect()
}

/// The cores, each with its threads: the groups of 2007 (struct tdq_group).
pub fn cores(topology: &Topology) -> Vec<Vec<CpuId>> {
    parts(topology, &(0..topology.processors()).collect::<Vec<_>>(), |place| place.core)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::CAPACITY;

    /// Processors whose core, cache and node are given.
    fn tree(places: &[(u16, u16, u16)]) -> Tree {
        let place =
            |&(core, cache, node): &(u16, u16, u16)| Place { core, cache, node, capacity: CAPACITY, priority: 0 };
        Tree::new(&Topology::new(places.iter().map(place).collect(), vec![vec![10; 9]; 9], 1.0))
    }

    #[test]
    fn a_flat_machine_is_one_group() {
        let tree = Tree::new(&Topology::uniform(8));
        assert_eq!(tree.groups.len(), 1);
        assert_eq!((tree.groups[0].shares, tree.groups[0].threads), (SHARE_L3, false));
    }

    #[test]
    fn a_node_of_one_cache_is_that_cache_and_its_cores_are_below_it() {
        let tree = tree(&[(0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1), (0, 0, 0), (1, 0, 0), (2, 1, 1), (3, 1, 1)]);
        assert_eq!(tree.groups[0].shares, SHARE_NONE);
        let nodes: Vec<_> = tree.groups[0].children.iter().map(|&node| &tree.groups[node]).collect();
        assert_eq!(nodes.iter().map(|node| node.shares).collect::<Vec<_>>(), [SHARE_L3; 2]);
        assert_eq!(nodes[1].cpus, [2, 3, 6, 7]);
        let core = &tree.groups[tree.of[7]];
        assert_eq!((&core.cpus[..], core.shares, core.threads), (&[3, 7][..], SHARE_L1, true));
    }

    #[test]
    fn a_cache_is_warm_for_three_spans_but_never_all_of_the_machine() {
        let tree = tree(&[(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0)]);
        let group = |ago: i64| tree.warm_group(3, 100 - ago, 100, 5);
        assert_eq!(group(14), Some(tree.of[3]));
        assert_eq!(group(15), None);
        assert_eq!(Tree::new(&Topology::uniform(4)).warm_group(3, 100, 100, 5), None);
    }
}
