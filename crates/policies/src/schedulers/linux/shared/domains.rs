//! Scheduling domains: for each processor the levels on which it balances, from the threads of its core to the whole machine, and
//! the groups of processors that each level compares. (sched_init_numa, sd_init, build_sched_domains)

use super::loads::FULL;
use schedlab_model::{processors::CpuSet, task::CpuId, topology::Topology};
use std::collections::BTreeMap;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Its processors.
    pub span: CpuSet,
    /// Its number, common to all its processors, under which is noted whether bound tasks hide an imbalance in it.
    pub id: usize,
    /// Cores of which it has threads.
    pub cores: u64,
}

/// A level of a processor.
#[derive(Debug, Clone)]
pub struct Domain {
    pub level: Level,
    pub span: CpuSet,
    /// The own group first, then by ascending processors, beginning again after the last.
    pub groups: Vec<Group>,
    /// Whether tasks are to be spread over the groups even where none is overloaded (SD_PREFER_SIBLING of the level below).
    pub spreads: bool,
    /// Tasks by which nodes may differ while the busier one has no more than this number running (imb_numa_nr).
    pub tolerated: u64,
    /// Whether its processors differ in what they can do (SD_ASYM_CPUCAPACITY).
    pub asymmetric: bool,
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
        self.span.count().into()
    }
}

/// The domains of all processors.
#[derive(Debug, Default)]
pub struct Domains {
    /// For each processor its levels, the smallest first.
    pub chains: Vec<Vec<Domain>>,
    /// For each processor the threads of its core, and the processors that share its last-level cache.
    pub threads: Vec<CpuSet>,
    pub caches: Vec<CpuSet>,
    /// For each processor, what it can do when nothing disturbs it, of the most that any can.
    pub capacities: Vec<u64>,
    /// For each processor, the smallest domain with processors of every capacity there is, if they differ. (sd_asym_cpucapacity)
    pub unequal: Vec<Option<CpuSet>>,
    /// Whether bound tasks hide an imbalance in a group (sgc->imbalance).
    pub hidden: Vec<bool>,
}

/// The processors of a set, ascending from one on, beginning again after the last.
pub fn around(set: &CpuSet, first: CpuId) -> impl Iterator<Item = CpuId> {
    set.iter().filter(move |&cpu| cpu >= first).chain(set.iter().filter(move |&cpu| cpu < first))
}

impl Domains {
    pub fn new(topology: &Topology) -> Domains {
        let all = 0..topology.processors();
        let mut levels = vec![Level::Core, Level::Cache, Level::Node];
        levels.extend(topology.distances().into_iter().map(Level::Machine));
        let span = |level: Level, cpu: CpuId| match level {
            Level::Core => topology.threads(cpu),
            // One that several nodes share counts in each by itself (cpu_coregroup_mask).
            Level::Cache => topology.sharing_cache(cpu).and(&topology.within(cpu, 0)),
            Level::Node => topology.within(cpu, 0),
            Level::Machine(distance) => topology.within(cpu, distance),
        };
        // For each level and processor the span, after a level at which each processor is alone.
        let mut spans: Vec<Vec<CpuSet>> = vec![all.clone().map(CpuSet::only).collect()];
        spans.extend(levels.iter().map(|&level| all.clone().map(|cpu| span(level, cpu)).collect()));
        let capacities = all.clone().map(|cpu| u64::from(topology.place(cpu).capacity));
        let most = capacities.clone().max().unwrap_or(FULL).max(1);
        let mut domains = Domains {
            threads: spans[1].clone(),
            caches: spans[2].clone(),
            capacities: capacities.map(|capacity| capacity * FULL / most).collect(),
            ..Domains::default()
        };
        let mut known = Known::default();
        domains.chains = all.map(|cpu| domains.chain(cpu, &levels, &spans, &mut known)).collect();
        domains.unequal = domains.chains.iter().map(|chain| domains.of_every_capacity(chain)).collect();
        domains.hidden = vec![false; known.count];
        domains
    }

    /// Whether processors differ in what they can do.
    fn are_unequal(&self, span: &CpuSet) -> bool {
        let mut all = span.iter().map(|cpu| self.capacities[usize::from(cpu)]);
        let first = all.next();
        all.any(|capacity| Some(capacity) != first)
    }

    /// The smallest domain of a processor that has processors of every capacity there is, if they differ.
    fn of_every_capacity(&self, chain: &[Domain]) -> Option<CpuSet> {
        let has = |span: &CpuSet, one: u64| span.iter().any(|cpu| self.capacities[usize::from(cpu)] == one);
        let complete = |domain: &&Domain| self.capacities.iter().all(|&one| has(&domain.span, one));
        chain.iter().filter(|domain| domain.asymmetric).find(complete).map(|domain| domain.span.clone())
    }

    /// The last-level cache of a processor, by its first processor.
    pub fn cache_of(&self, cpu: CpuId) -> usize {
        self.caches[usize::from(cpu)].first().map_or(0, usize::from)
    }

    /// Whether a processor shares its core with others.
    pub fn has_siblings(&self, cpu: CpuId) -> bool {
        self.threads[usize::from(cpu)].count() > 1
    }

    /// The levels of a processor. One of the same processors as that below is left out.
    fn chain(&self, cpu: CpuId, levels: &[Level], spans: &[Vec<CpuSet>], known: &mut Known) -> Vec<Domain> {
        let mut chain: Vec<Domain> = Vec::new();
        for (below, &level) in levels.iter().enumerate() {
            let span = &spans[below + 1][usize::from(cpu)];
            if *span == spans[below][usize::from(cpu)] {
                continue;
            }
            let groups = self.ring(cpu, span, &spans[below], below, known);
            let asymmetric = self.are_unequal(span);
            let spreads = !asymmetric && chain.last().is_some_and(|lower| !lower.is_between_nodes());
            let size = |level: usize| u64::from(spans[level][usize::from(cpu)].count());
            let tolerated = match level {
                Level::Core | Level::Cache => 0,
                Level::Node => tolerated(size(2), size(3)),
                Level::Machine(_) => tolerated(size(2), size(3)) * (size(below + 1) / size(4)).max(1),
            };
            chain.push(Domain { level, span: span.clone(), groups, spreads, tolerated, asymmetric });
        }
        chain
    }

    /// The groups of a domain: what the level below spans, from the own group on; a processor that is covered makes none.
    fn ring(&self, cpu: CpuId, span: &CpuSet, below: &[CpuSet], level: usize, known: &mut Known) -> Vec<Group> {
        let mut covered = CpuSet::none();
        let mut groups = Vec::new();
        for other in around(span, cpu) {
            if covered.has(other) {
                continue;
            }
            let whole = &below[usize::from(other)];
            // Most often all of them are here, and the set is shared.
            let span = if whole.iter_without(span).next().is_none() { whole.clone() } else { whole.and(span) };
            span.iter().for_each(|cpu| covered.insert(cpu));
            let id = known.id(level, &span);
            let first = |cpu: CpuId| self.threads[usize::from(cpu)].first_of_both(&span) == Some(cpu);
            let cores = span.iter().filter(|&cpu| first(cpu)).count() as u64;
            groups.push(Group { span, id, cores });
        }
        groups
    }
}

/// The groups that were met, by the level of their domain and their first processor, and their numbers.
#[derive(Debug, Default)]
struct Known {
    groups: BTreeMap<(usize, CpuId), Vec<(CpuSet, usize)>>,
    count: usize,
}

impl Known {
    /// The number of a group.
    fn id(&mut self, level: usize, span: &CpuSet) -> usize {
        let alike = self.groups.entry((level, span.first().unwrap_or(0))).or_default();
        if let Some((_, id)) = alike.iter().find(|(group, _)| group == span) {
            return *id;
        }
        alike.push((span.clone(), self.count));
        self.count += 1;
        self.count - 1
    }
}

/// By how many tasks nodes of that size may differ, whose caches have as many processors: one for each cache, or, if there is one cache, one
/// for eight processors. (imb_numa_nr)
fn tolerated(cache: u64, node: u64) -> u64 {
    let caches = node / cache;
    if caches > 1 { caches } else { (node / 8).max(1) }
}

/// A level of the first processor's scheduling domains, under the kernel's names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedDomain {
    /// SMT, MC, PKG or NUMA.
    pub level: &'static str,
    /// Of nodes, the distance.
    pub distance: Option<u16>,
    /// What it spans.
    pub processors: Vec<CpuId>,
    /// The processors of each group, the own one first.
    pub groups: Vec<Vec<CpuId>>,
    /// In what it differs from the others.
    pub flags: Vec<&'static str>,
}

/// The scheduling domains of the first processor as `eevdf` and `cfs` build them, the smallest first.
pub fn named_domains(topology: &Topology) -> Vec<NamedDomain> {
    let named = |domain: &Domain| {
        let (level, distance) = match domain.level {
            Level::Core => ("SMT", None),
            Level::Cache => ("MC", None),
            Level::Node => ("PKG", None),
            Level::Machine(distance) => ("NUMA", Some(distance)),
        };
        let flags = [
            ("SHARE_CPUCAPACITY", domain.level == Level::Core),
            ("SHARE_LLC", domain.shares_cache()),
            ("ASYM_CPUCAPACITY", domain.asymmetric),
            ("NUMA", domain.is_between_nodes()),
        ];
        NamedDomain {
            level,
            distance,
            processors: domain.span.iter().collect(),
            groups: domain.groups.iter().map(|group| group.span.iter().collect()).collect(),
            flags: flags.into_iter().filter(|(_, has)| *has).map(|(flag, _)| flag).collect(),
        }
    };
    Domains::new(topology).chains.first().map(|chain| chain.iter().map(named).collect()).unwrap_or_default()
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
        let groups = |level: usize| chain[level].groups.iter().map(|group| group.span.word(0)).collect::<Vec<u64>>();
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

    /// Two nodes of sixteen processors and one cache: 16 / 8.
    #[test]
    fn nodes_of_one_cache_may_differ_by_a_task_for_eight_processors() {
        let place = |cpu: u16| Place { core: cpu, cache: cpu / 16, node: cpu / 16, capacity: CAPACITY };
        let distances = vec![vec![10, 21], vec![21, 10]];
        let domains = Domains::new(&Topology::new((0..32).map(place).collect(), distances, 1.0));
        let tolerated: Vec<u64> = domains.chains[0].iter().map(|domain| domain.tolerated).collect();
        assert_eq!(tolerated, [0, 2]);
    }

    #[test]
    fn processors_that_differ_make_a_domain_asymmetric_and_its_tasks_are_not_spread() {
        let capacity = |cpu: u16| if cpu < 4 { 400 } else { 800 };
        let place = |cpu: u16| Place { core: cpu, cache: cpu / 4, node: 0, capacity: capacity(cpu) };
        let domains = Domains::new(&Topology::new((0..8).map(place).collect(), vec![vec![10]], 1.0));
        let seen: Vec<(bool, bool)> =
            domains.chains[0].iter().map(|domain| (domain.asymmetric, domain.spreads)).collect();
        assert_eq!(seen, [(false, false), (true, false)]);
        assert_eq!((domains.capacities[0], domains.capacities[4]), (512, 1024), "of the most there is");
        assert!([0, 7].iter().all(|&cpu| domains.unequal[cpu] == Some(CpuSet::all(8))));
    }

    #[test]
    fn nodes_may_differ_by_a_task_for_each_cache() {
        let domains = two_nodes();
        let tolerated: Vec<u64> = domains.chains[0].iter().map(|domain| domain.tolerated).collect();
        assert_eq!(tolerated, [0, 0, 2, 2]);
    }
}
