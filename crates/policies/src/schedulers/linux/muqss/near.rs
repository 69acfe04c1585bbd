//! Which processors are near to which, and which share a list of waiting tasks.

use schedlab_model::{
    task::CpuId,
    topology::{Place, Topology},
};

/// How far a processor is from another, the nearest first (LOCALITY_SAME to LOCALITY_DISTANT). A package is a node here, so that two of a node
/// are always of one package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    Same,
    Thread,
    SharedCache,
    Package,
    Node,
}

/// What makes an idle processor a worse choice (CPUIDLE_DIFF_THREAD and others): another thread of the core, another core with the same cache,
/// another core, a cache with a busy processor, a core with a busy thread, another node.
const DIFF_THREAD: u32 = 1;
const DIFF_CORE_LLC: u32 = 2;
const DIFF_CORE: u32 = 4;
const CACHE_BUSY: u32 = 8;
const THREAD_BUSY: u32 = 32;
const DIFF_NODE: u32 = 64;

/// The machine as each processor sees it.
#[derive(Debug)]
pub struct Near {
    places: Vec<Place>,
    /// The processors of each core and of each cache.
    cores: Vec<Vec<CpuId>>,
    caches: Vec<Vec<CpuId>>,
    /// The others by distance, in a circle that begins with the processor itself (cpu_order).
    orders: Vec<Vec<CpuId>>,
    /// The processors that share a list with each, itself among them (rqshare).
    sharing: Vec<Vec<CpuId>>,
}

impl Near {
    /// For a machine whose lists are shared at that level.
    pub fn new(topology: &Topology, rqshare: &str) -> Near {
        let count = topology.processors();
        let places: Vec<Place> = (0..count).map(|cpu| topology.place(cpu)).collect();
        let (cores, caches) = (by(&places, |place| place.core), by(&places, |place| place.cache));
        let mut near = Near { places, cores, caches, orders: Vec::new(), sharing: Vec::new() };
        let shares = |distance: Distance| match rqshare {
            "none" => distance == Distance::Same,
            "smt" => distance <= Distance::Thread,
            "llc" => distance <= Distance::SharedCache,
            "all" => true,
            _ => distance <= Distance::Package,
        };
        for cpu in 0..count {
            let mut order: Vec<CpuId> = (0..count).map(|further| (cpu + further) % count).collect();
            order.sort_by_key(|&other| near.distance(cpu, other));
            near.sharing.push((0..count).filter(|&other| shares(near.distance(cpu, other))).collect());
            near.orders.push(order);
        }
        near
    }

    pub fn distance(&self, from: CpuId, to: CpuId) -> Distance {
        let (own, other) = (&self.places[usize::from(from)], &self.places[usize::from(to)]);
        match () {
            () if from == to => Distance::Same,
            () if own.core == other.core => Distance::Thread,
            () if own.cache == other.cache => Distance::SharedCache,
            () if own.node == other.node => Distance::Package,
            () => Distance::Node,
        }
    }

    /// All processors, the nearest first.
    #[inline]
    pub fn order(&self, cpu: CpuId) -> impl DoubleEndedIterator<Item = CpuId> {
        self.orders[usize::from(cpu)].iter().copied()
    }

    /// Those whose waiting tasks are in one list with its own.
    #[inline]
    pub fn sharing(&self, cpu: CpuId) -> &[CpuId] {
        &self.sharing[usize::from(cpu)]
    }

    /// The last-level cache of a processor, the processors that share it, and the threads of its core.
    pub fn cache(&self, cpu: CpuId) -> u16 {
        self.places[usize::from(cpu)].cache
    }

    pub fn of_cache(&self, cpu: CpuId) -> &[CpuId] {
        &self.caches[usize::from(self.cache(cpu))]
    }

    pub fn of_core(&self, cpu: CpuId) -> &[CpuId] {
        &self.cores[usize::from(self.places[usize::from(cpu)].core)]
    }

    /// How much worse an idle processor is than the own one, if it idled (best_mask_cpu), by whether any processor of its cache and of its core is
    /// busy.
    pub fn rank(&self, from: CpuId, to: CpuId, cache_busy: bool, thread_busy: bool) -> u32 {
        let far = match self.distance(from, to) {
            Distance::Same => return 0,
            Distance::Thread => DIFF_THREAD,
            Distance::SharedCache => DIFF_CORE_LLC,
            Distance::Package => DIFF_CORE,
            Distance::Node => DIFF_NODE,
        };
        let cache = if cache_busy { CACHE_BUSY } else { 0 };
        let thread = if thread_busy { THREAD_BUSY } else { 0 };
        far + cache + thread
    }
}

/// Processors by a number of their places.
fn by(places: &[Place], number: fn(&Place) -> u16) -> Vec<Vec<CpuId>> {
    let mut all = vec![Vec::new(); places.iter().map(|place| usize::from(number(place)) + 1).max().unwrap_or(0)];
    (0..).zip(places).for_each(|(cpu, place)| all[usize::from(number(place))].push(cpu));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::CAPACITY;

    /// Two nodes of two caches of two cores of two threads, one after another.
    fn machine(rqshare: &str) -> Near {
        let place = |cpu: u16| Place { core: cpu / 2, cache: cpu / 4, node: cpu / 8, capacity: CAPACITY, priority: 0 };
        Near::new(&Topology::new((0..16).map(place).collect(), vec![vec![10, 20], vec![20, 10]], 0.6), rqshare)
    }

    #[test]
    fn the_others_come_by_distance() {
        let order: Vec<_> = machine("mc").order(5).collect();
        assert_eq!(order, [5, 4, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]);
    }

    #[test]
    fn lists_are_shared_at_the_level_that_is_asked_for() {
        let sizes = ["none", "smt", "llc", "mc", "smp", "all"].map(|level| machine(level).sharing(5).len());
        assert_eq!(sizes, [1, 2, 4, 8, 8, 16]);
    }

    #[test]
    fn a_busy_core_is_worse_than_another_cache_and_better_than_another_node() {
        let near = machine("mc");
        let rank = |to, busy: &[CpuId]| {
            let any = |cpus: &[CpuId]| cpus.iter().any(|cpu| busy.contains(cpu));
            near.rank(5, to, any(near.of_cache(to)), any(near.of_core(to)))
        };
        assert_eq!([rank(5, &[]), rank(4, &[5]), rank(6, &[5]), rank(0, &[5]), rank(8, &[5])], [0, 41, 10, 4, 64]);
        assert_eq!([rank(6, &[5, 7]), rank(8, &[9])], [42, 104]);
    }
}
