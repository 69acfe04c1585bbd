//! The scheduling domains of Linux 2.6.20 on x86-64: threads of a core, cores that share a cache, processors of a memory node, the nearest nodes, all
//! nodes. A level that adds no processor to the one below is left out, so that a flat machine has one.

use schedlab_model::{
    processors::CpuSet,
    task::CpuId,
    topology::{Place, Topology},
};
use std::sync::Arc;

/// What the levels of a kind have in common (SD_SIBLING_INIT, SD_CPU_INIT, SD_NODE_INIT, SD_ALLNODES_INIT).
#[derive(Debug)]
pub struct Kind {
    /// The interval between two looks of an idle processor, ms. It doubles after a look that found nothing to do, up to the second, and falls
    /// back after a try.
    pub min_interval: u64,
    pub max_interval: u64,
    /// Whether the longest interval is that for each processor of the machine.
    pub max_for_each: bool,
    /// The factor by which a busy processor looks less often.
    pub busy_factor: u64,
    /// A group is pulled from if it has more than this many hundredths of the own load.
    pub imbalance_pct: u64,
    /// After more failed looks than this, a cache-hot task is moved nevertheless.
    pub cache_nice_tries: u32,
    /// Which average of the load a look goes by, see [`Load::low`](super::share::Load::low): of a busy, an idle and a newly idle processor, of a
    /// wakeup, of a fork.
    pub busy_index: usize,
    pub idle_index: usize,
    pub newly_idle_index: usize,
    pub wake_index: usize,
    pub fork_index: usize,
    /// Whether a processor that is about to idle looks here (SD_BALANCE_NEWIDLE), and programs that start and forked tasks are spread
    /// (SD_BALANCE_EXEC, SD_BALANCE_FORK).
    pub newly_idle: bool,
    pub exec: bool,
    pub fork: bool,
    /// What a waker may draw to its processor: a task that adds little to it (SD_WAKE_AFFINE), or one from a processor with more load
    /// (SD_WAKE_BALANCE). And whether a woken task takes an idle processor here (SD_WAKE_IDLE).
    pub affine: bool,
    pub balance: bool,
    pub wake_idle: bool,
    /// Whether its processors are threads of one core (SD_SHARE_CPUPOWER).
    pub shares_core: bool,
}

pub const CPU: Kind = Kind {
    min_interval: 1,
    max_interval: 4,
    max_for_each: false,
    busy_factor: 64,
    imbalance_pct: 125,
    cache_nice_tries: 1,
    busy_index: 2,
    idle_index: 1,
    newly_idle_index: 2,
    wake_index: 1,
    fork_index: 1,
    newly_idle: true,
    exec: true,
    fork: false,
    affine: true,
    balance: false,
    wake_idle: false,
    shares_core: false,
};

const SMT: Kind = Kind {
    max_interval: 2,
    imbalance_pct: 110,
    cache_nice_tries: 0,
    busy_index: 0,
    idle_index: 0,
    newly_idle_index: 1,
    wake_index: 0,
    fork_index: 0,
    wake_idle: true,
    shares_core: true,
    ..CPU
};

const NODE: Kind = Kind {
    min_interval: 8,
    max_interval: 32,
    busy_factor: 32,
    cache_nice_tries: 2,
    busy_index: 3,
    idle_index: 2,
    newly_idle_index: 0,
    newly_idle: false,
    fork: true,
    affine: false,
    balance: true,
    ..CPU
};

const ALL_NODES: Kind = Kind {
    min_interval: 64,
    max_interval: 64,
    max_for_each: true,
    busy_factor: 128,
    imbalance_pct: 133,
    cache_nice_tries: 1,
    busy_index: 3,
    idle_index: 3,
    newly_idle: false,
    exec: false,
    affine: false,
    ..CPU
};

/// The nodes of a level of nodes (SD_NODES_PER_DOMAIN).
const NODES_PER_DOMAIN: usize = 16;
/// Levels that a processor can have: threads, cache, node, nearest nodes, all nodes.
pub const MOST_LEVELS: usize = 5;

/// Processors that count as one, and what they can do, in processors of their own (cpu_power, of which SCHED_LOAD_SCALE is one).
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub cpus: Vec<CpuId>,
    pub power: u64,
}

/// A domain of a processor (struct sched_domain).
#[derive(Debug)]
pub struct Level {
    pub kind: &'static Kind,
    pub max_interval: u64,
    /// The groups, which other processors have too, and which is that of the processor.
    pub groups: Arc<[Group]>,
    pub own: usize,
    /// Their processors, and how many these are.
    pub span: CpuSet,
    pub size: usize,
    /// Whether the processor is the first of its group.
    pub first: bool,
}

impl Level {
    pub fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.groups.iter().flat_map(|group| &group.cpus).copied()
    }
}

/// The domains of all processors.
#[derive(Debug)]
pub struct Domains {
    levels: Vec<Vec<Level>>,
    /// Whether any core has several threads: it is a kernel for such machines.
    pub has_threads: bool,
    /// Whether any processor has several levels.
    pub deep: bool,
}

impl Domains {
    pub fn new(topology: &Topology) -> Domains {
        let mut known = Known::new();
        let levels: Vec<Vec<Level>> = (0..topology.processors()).map(|cpu| levels(topology, cpu, &mut known)).collect();
        Domains {
            has_threads: levels.iter().flatten().any(|level| level.kind.shares_core),
            deep: levels.iter().any(|levels| levels.len() > 1),
            levels,
        }
    }

    /// The domains of a processor, the lowest first.
    #[inline]
    pub fn of(&self, cpu: CpuId) -> &[Level] {
        &self.levels[usize::from(cpu)]
    }

    /// The lowest one of a processor that spans another.
    pub fn spanning(&self, cpu: CpuId, other: CpuId) -> Option<&Level> {
        self.of(cpu).iter().find(|level| level.span.has(other))
    }
}

/// The nodes nearest to one, itself among them (sched_domain_node_span).
fn near(topology: &Topology, node: u16) -> Vec<u16> {
    let last = (0..topology.processors()).map(|cpu| topology.place(cpu).node).max().unwrap_or(0);
    let mut nodes: Vec<u16> = (0..=last).collect();
    nodes.sort_by_key(|&other| (other != node, topology.distance(node, other), other));
    nodes.truncate(NODES_PER_DOMAIN);
    nodes
}

/// Groups that were made for another processor, by their kind and their processors.
type Known = Vec<(Parts, Vec<CpuId>, Arc<[Group]>)>;

fn levels(topology: &Topology, cpu: CpuId, known: &mut Known) -> Vec<Level> {
    let all = topology.processors();
    let place = topology.place(cpu);
    let near = near(topology, place.node);
    let which = |holds: &dyn Fn(Place) -> bool| (0..all).filter(|&cpu| holds(topology.place(cpu))).collect::<Vec<_>>();
    // Where the level below shares a core or a cache, a group is worth one processor (init_sched_groups_power); a node, its caches.
    let spans: [(&'static Kind, Vec<CpuId>, Parts); MOST_LEVELS] = [
        (&SMT, which(&|other| other.core == place.core), Parts::Processors),
        (&CPU, which(&|other| other.cache == place.cache), Parts::Cores),
        (&CPU, which(&|other| other.node == place.node), Parts::Caches),
        (&NODE, which(&|other| near.contains(&other.node)), Parts::Nodes),
        (&ALL_NODES, which(&|_| true), Parts::Nodes),
    ];
    let mut levels: Vec<Level> = Vec::new();
    let mut below = vec![cpu];
    for (kind, span, parts_of) in spans {
        if span.len() <= below.len() {
            continue;
        }
        let same = known.iter().find(|(parts, cpus, _)| *parts == parts_of && *cpus == span);
        let groups = match same {
            Some((.., groups)) => groups.clone(),
            None => {
                let groups: Arc<[Group]> = groups(topology, span.clone(), parts_of).into();
                known.push((parts_of, span.clone(), groups.clone()));
                groups
            }
        };
        let own = groups.iter().position(|group| group.cpus.contains(&cpu)).unwrap_or(0);
        let max_interval = kind.max_interval * if kind.max_for_each { all.into() } else { 1 };
        let first = groups[own].cpus[0] == cpu;
        levels.push(Level {
            kind,
            max_interval,
            groups,
            own,
            span: span.iter().copied().collect(),
            size: span.len(),
            first,
        });
        below = span;
    }
    levels
}

/// By what the processors of a level are in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parts {
    Processors,
    Cores,
    Caches,
    Nodes,
}

fn groups(topology: &Topology, cpus: Vec<CpuId>, by: Parts) -> Vec<Group> {
    let group = |cpus: Vec<CpuId>| {
        let power = if matches!(by, Parts::Nodes) { groups(topology, cpus.clone(), Parts::Caches).len() } else { 1 };
        Group { power: power as u64, cpus }
    };
    let key = |cpu: CpuId| match (by, topology.place(cpu)) {
        (Parts::Processors, _) => cpu,
        (Parts::Cores, Place { core, .. }) => core,
        (Parts::Caches, Place { cache, .. }) => cache,
        (Parts::Nodes, Place { node, .. }) => node,
    };
    let mut parts: Vec<(u16, Vec<CpuId>)> = Vec::new();
    for cpu in cpus {
        match parts.iter_mut().find(|part| part.0 == key(cpu)) {
            Some(part) => part.1.push(cpu),
            None => parts.push((key(cpu), vec![cpu])),
        }
    }
    parts.into_iter().map(|part| group(part.1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::CAPACITY;

    #[test]
    fn a_flat_machine_has_one_domain_of_processors() {
        let domains = Domains::new(&Topology::uniform(4));
        let [level] = domains.of(2) else { panic!("one level") };
        assert_eq!((level.kind.imbalance_pct, level.max_interval, level.own), (125, 4, 2));
        assert!(level.groups.iter().all(|group| group.cpus.len() == 1 && group.power == 1));
        assert!(!domains.deep && !domains.has_threads && Domains::new(&Topology::uniform(1)).of(0).is_empty());
    }

    #[test]
    fn a_group_of_a_shared_core_or_cache_is_worth_one_processor_and_a_node_its_caches() {
        // Two nodes; in each two caches with two cores of two threads.
        let place = |cpu: u16| Place { core: cpu / 2, cache: cpu / 4, node: cpu / 8, capacity: CAPACITY, priority: 0 };
        let domains = Domains::new(&Topology::new((0..16).map(place).collect(), vec![vec![10, 20], vec![20, 10]], 0.6));
        let levels = domains.of(5);
        let shapes: Vec<_> =
            levels.iter().map(|level| (level.size, level.groups.len(), level.groups[0].power)).collect();
        assert_eq!(shapes, [(2, 2, 1), (4, 2, 1), (8, 2, 1), (16, 2, 2)]);
        assert_eq!(levels[3].groups[1].cpus, [8, 9, 10, 11, 12, 13, 14, 15]);
        assert!(levels[0].kind.shares_core && levels[3].kind.balance && domains.has_threads);
        assert_eq!(domains.spanning(5, 1).map(|level| level.size), Some(8));
    }

    #[test]
    fn more_than_sixteen_nodes_have_a_level_of_their_own_that_is_looked_at_less_the_more_processors_there_are() {
        let place = |cpu: u16| Place { core: cpu, cache: cpu, node: cpu, capacity: CAPACITY, priority: 0 };
        let domains = Domains::new(&Topology::new((0..20).map(place).collect(), vec![vec![10; 20]; 20], 1.0));
        let shapes: Vec<_> = domains.of(19).iter().map(|level| (level.size, level.max_interval)).collect();
        assert_eq!(shapes, [(16, 32), (20, 1280)]);
    }
}
