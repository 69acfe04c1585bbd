//! Scheduling domains: for each processor the levels on which it balances, from the threads of its core to the whole machine, and
//! the groups of processors that each level compares. (sched_init_numa, sd_init, build_sched_domains)

use schedlab_model::{task::CpuId, topology::Topology};

/// Beyond this distance a new task does not go to another node, nor a woken one to its waker's (RECLAIM_DISTANCE).
const FAR: u16 = 30;

/// What the processors of a domain share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// A core (SMT).
    Core,
    /// A last-level cache (MC).
    Cache,
    /// A memory node (PKG, once DIE).
    Node,
    /// Nothing: they are in nodes at most this far apart (NUMA).
    Machine(u16),
}

/// Processors that a level compares as one with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its processors, a bit each.
    pub span: u64,
    /// Its number, common to all its processors, under which is noted whether bound tasks hide an imbalance in it.
    pub id: usize,
    /// Cores of which it has threads.
    pub cores: u64,
}

/// A level of a processor.
#[derive(Debug, Clone)]
pub struct Domain {
    pub level: Level,
    pub span: u64,
    /// The own group first, then by ascending processors, beginning again after the last.
    pub groups: Vec<Group>,
    /// Whether tasks are to be spread over the groups even where none is overloaded (SD_PREFER_SIBLING of the level below).
    pub spreads: bool,
    /// Tasks by which nodes may differ while the busier one has no more than this number running (imb_numa_nr).
    pub tolerated: u64,
}

impl Domain {
    /// What counts as more, in hundredths (imbalance_pct).
    pub fn imbalance_pct(&self) -> u64 {
        if self.level == Level::Core { 110 } else { 117 }
    }

    /// After more failures than that, even what is in the cache is pulled (cache_nice_tries).
    pub fn cache_nice_tries(&self) -> u32 {
        match self.level {
            Level::Core => 0,
            Level::Cache | Level::Node => 1,
            Level::Machine(_) => 2,
        }
    }

    /// Whether its processors share a cache (SD_SHARE_LLC).
    pub fn shares_cache(&self) -> bool {
        matches!(self.level, Level::Core | Level::Cache)
    }

    /// Whether new and woken tasks move within it (SD_BALANCE_FORK, SD_WAKE_AFFINE).
    pub fn is_near(&self) -> bool {
        !matches!(self.level, Level::Machine(distance) if distance > FAR)
    }

    pub fn is_between_nodes(&self) -> bool {
        matches!(self.level, Level::Machine(_))
    }

    pub fn weight(&self) -> u64 {
        self.span.count_ones().into()
    }
}

/// The domains of all processors.
#[derive(Debug, Default)]
pub struct Domains {
    /// For each processor its levels, the smallest first.
    pub chains: Vec<Vec<Domain>>,
    /// For each processor the threads of its core, and the processors that share its last-level cache.
    pub threads: Vec<u64>,
    pub caches: Vec<u64>,
    /// For each processor, what it can do when nothing disturbs it.
    pub capacities: Vec<u64>,
    /// Whether bound tasks hide an imbalance in a group (sgc->imbalance).
    pub hidden: Vec<bool>,
}

/// The processors of a mask, ascending.
pub fn processors(mut mask: u64) -> impl Iterator<Item = CpuId> {
    std::iter::from_fn(move || {
        let cpu = (mask != 0).then(|| mask.trailing_zeros() as CpuId)?;
        mask &= mask - 1;
        Some(cpu)
    })
}

impl Domains {
    pub fn new(topology: &Topology) -> Domains {
        let all = 0..topology.processors();
        let mut levels = vec![Level::Core, Level::Cache, Level::Node];
        levels.extend(topology.distances().into_iter().map(Level::Machine));
        let span = |level: Level, cpu: CpuId| match level {
            Level::Core => topology.threads(cpu),
            Level::Cache => topology.sharing_cache(cpu),
            Level::Node => topology.within(cpu, 0),
            Level::Machine(distance) => topology.within(cpu, distance),
        };
        // For each level and processor the span, after a level at which each processor is alone.
        let mut spans: Vec<Vec<u64>> = vec![all.clone().map(|cpu| 1 << cpu).collect()];
        spans.extend(levels.iter().map(|&level| all.clone().map(|cpu| span(level, cpu)).collect()));
        let mut domains = Domains {
            threads: spans[1].clone(),
            caches: spans[2].clone(),
            capacities: all.clone().map(|cpu| topology.place(cpu).capacity.into()).collect(),
            ..Domains::default()
        };
        let mut known = Vec::new();
        domains.chains = all.map(|cpu| domains.chain(cpu, &levels, &spans, &mut known)).collect();
        domains.hidden = vec![false; known.len()];
        domains
    }

    /// The levels of a processor. One of the same processors as that below is left out.
    fn chain(&self, cpu: CpuId, levels: &[Level], spans: &[Vec<u64>], known: &mut Vec<(usize, u64)>) -> Vec<Domain> {
        let mut chain: Vec<Domain> = Vec::new();
        for (below, &level) in levels.iter().enumerate() {
            let span = spans[below + 1][usize::from(cpu)];
            if span == spans[below][usize::from(cpu)] {
                continue;
            }
            let groups = self.ring(cpu, span, &spans[below], below, known);
            let spreads = chain.last().is_some_and(|lower| !lower.is_between_nodes());
            let tolerated = tolerated(&chain, level, span);
            chain.push(Domain { level, span, groups, spreads, tolerated });
        }
        chain
    }

    /// The groups of a domain: what the level below spans, from the own group on; a processor that is covered makes none.
    fn ring(&self, cpu: CpuId, span: u64, below: &[u64], level: usize, known: &mut Vec<(usize, u64)>) -> Vec<Group> {
        let mut covered = 0;
        let mut groups = Vec::new();
        let after = processors(span).filter(|&other| other >= cpu);
        for other in after.chain(processors(span).filter(|&other| other < cpu)) {
            if covered >> other & 1 == 1 {
                continue;
            }
            let span = below[usize::from(other)] & span;
            covered |= span;
            let id = known.iter().position(|&group| group == (level, span)).unwrap_or_else(|| {
                known.push((level, span));
                known.len() - 1
            });
            let first = |cpu: CpuId| (self.threads[usize::from(cpu)] & span).trailing_zeros() == u32::from(cpu);
            let cores = processors(span).filter(|&cpu| first(cpu)).count() as u64;
            groups.push(Group { span, id, cores });
        }
        groups
    }
}

/// By how many tasks nodes may differ: one for each cache of the first level beyond the caches, or one for eight processors, if that level
/// has one cache; more by as much as the level is larger. (imb_numa_nr)
fn tolerated(chain: &[Domain], level: Level, span: u64) -> u64 {
    let weight = u64::from(span.count_ones());
    match chain.last() {
        _ if matches!(level, Level::Core | Level::Cache) => 0,
        None => (weight / 8).max(1),
        Some(below) if below.shares_cache() => {
            let caches = weight / below.weight();
            if caches > 1 { caches } else { (weight / 8).max(1) }
        }
        Some(below) => {
            let first = chain.iter().find(|domain| domain.is_between_nodes()).map_or(weight, Domain::weight);
            below.tolerated.max(1) * (weight / first).max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::{CAPACITY, Place};

    /// Cores of two threads, numbered cores first; four cores a node, two of them a cache.
    fn two_nodes() -> Domains {
        let place = |cpu: u16| {
            let core = cpu % 8;
            Place { core, cache: core / 2, node: core / 4, capacity: CAPACITY }
        };
        let distances = vec![vec![10, 32], vec![32, 10]];
        Domains::new(&Topology::new((0..16).map(place).collect(), distances, 0.6))
    }

    #[test]
    fn every_level_has_the_groups_of_the_one_below_and_begins_with_its_own() {
        let domains = two_nodes();
        let chain = &domains.chains[9];
        let levels: Vec<Level> = chain.iter().map(|domain| domain.level).collect();
        assert_eq!(levels, [Level::Core, Level::Cache, Level::Node, Level::Machine(32)]);
        let groups = |level: usize| chain[level].groups.iter().map(|group| group.span).collect::<Vec<u64>>();
        assert_eq!(groups(0), [1 << 9, 1 << 1]);
        assert_eq!(groups(1), [0x202, 0x101]);
        assert_eq!(groups(2), [0x303, 0xc0c]);
        assert_eq!(groups(3), [0x0f0f, 0xf0f0]);
        assert_eq!(chain[2].groups[0].id, domains.chains[0][2].groups[0].id, "a group is common to its processors");
        assert_eq!(chain[3].groups[0].cores, 4);
        assert!(!chain[3].is_near() && chain[2].is_near());
    }

    #[test]
    fn a_level_of_the_same_processors_as_the_one_below_is_left_out() {
        let domains = Domains::new(&Topology::uniform(4));
        assert_eq!(domains.chains[2].len(), 1);
        assert_eq!(domains.chains[2][0].level, Level::Cache);
        assert!(!domains.chains[2][0].spreads);
        assert!(Domains::new(&Topology::uniform(1)).chains[0].is_empty());
    }

    #[test]
    fn nodes_may_differ_by_a_task_for_each_cache() {
        let domains = two_nodes();
        let tolerated: Vec<u64> = domains.chains[0].iter().map(|domain| domain.tolerated).collect();
        assert_eq!(tolerated, [0, 0, 2, 2]);
    }
}
