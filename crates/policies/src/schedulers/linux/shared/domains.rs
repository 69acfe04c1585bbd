//! Scheduling domains: for each processor the levels on which it balances, from the threads of its core to the whole machine, and
//! the groups of processors that each level compares. (sched_init_numa, sd_init, build_sched_domains)

use super::{kernel::Kernel, loads::FULL};
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

impl Level {
    /// Whether favoured cores count at a level: of threads up to 6.5, of nodes since 6.6 where cores differ in capacity and since 6.14 in any
    /// case. (x86_smt_flags, x86_core_flags, x86_die_flags)
    fn packs(self, kernel: Kernel, hybrid: bool) -> bool {
        match self {
            Level::Core => !kernel.by_cores(),
            Level::Cache => true,
            Level::Node => kernel > Kernel::V6_12 || kernel == Kernel::V6_12 && hybrid,
            Level::Machine(_) => false,
        }
    }
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
    /// The most favoured of its processors, the first of several (asym_prefer_cpu).
    pub preferred: CpuId,
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
    /// Whether tasks are to run on its favoured processors (SD_ASYM_PACKING).
    pub packs: bool,
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
    /// For each processor, how much it is favoured (sched_core_priority).
    pub priorities: Vec<u32>,
    /// For each processor, the smallest domain with processors of every capacity there is, if they differ. (sd_asym_cpucapacity)
    pub unequal: Vec<Option<CpuSet>>,
    /// Whether bound tasks hide an imbalance in a group (sgc->imbalance).
    pub hidden: Vec<bool>,
}

impl Domains {
    /// As a kernel builds them.
    pub fn new(topology: &Topology, kernel: Kernel) -> Domains {
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
            priorities: priorities(topology, kernel, &spans[1]),
            threads: spans[1].clone(),
            caches: spans[2].clone(),
            capacities: capacities.map(|capacity| capacity * FULL / most).collect(),
            ..Domains::default()
        };
        let hybrid = domains.are_unequal(&CpuSet::all(topology.processors().into()));
        let packs = |level: Level| topology.has_favoured() && level.packs(kernel, hybrid);
        let levels: Vec<(Level, bool)> = levels.into_iter().map(|level| (level, packs(level))).collect();
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
    fn chain(&self, cpu: CpuId, levels: &[(Level, bool)], spans: &[Vec<CpuSet>], known: &mut Known) -> Vec<Domain> {
        let mut chain: Vec<Domain> = Vec::new();
        for (below, &(level, packs)) in levels.iter().enumerate() {
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
            chain.push(Domain { level, span: span.clone(), groups, spreads, tolerated, asymmetric, packs });
        }
        chain
    }

    /// The groups of a domain: what the level below spans, from the own group on; a processor that is covered makes none.
    fn ring(&self, cpu: CpuId, span: &CpuSet, below: &[CpuSet], level: usize, known: &mut Known) -> Vec<Group> {
        let mut covered = CpuSet::none();
        let mut groups = Vec::new();
        for other in span.around(cpu) {
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
            groups.push(Group { preferred: self.most_favoured(&span), span, id, cores });
        }
        groups
    }

    /// The first of the most favoured processors of a group. (init_sched_groups_capacity)
    fn most_favoured(&self, span: &CpuSet) -> CpuId {
        let priority = |cpu: CpuId| self.priorities[usize::from(cpu)];
        span.iter().reduce(|best, cpu| if priority(cpu) > priority(best) { cpu } else { best }).unwrap_or(0)
    }
}

/// How much each processor is favoured. Since 6.6 the threads of a core are equal. Before, the further ones are less favoured than its
/// first: the i-th of n threads has n / i times the core's priority in 5.10, since 5.16 n / i^2 times. (sched_set_itmt_core_prio)
fn priorities(topology: &Topology, kernel: Kernel, threads: &[CpuSet]) -> Vec<u32> {
    let most = threads.iter().map(CpuSet::count).max().unwrap_or(1);
    let priority = |(cpu, threads): (CpuId, &CpuSet)| {
        let (own, place) =
            (u32::from(topology.place(cpu).priority), threads.iter().take_while(|&one| one <= cpu).count());
        match (kernel, place as u32) {
            (Kernel::V5_10, place) => own * most / place,
            (Kernel::V6_1, place) => own * most / (place * place),
            _ => own,
        }
    };
    (0..).zip(threads).map(priority).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use schedlab_model::topology::{CAPACITY, Place};

    /// Cores of two threads, numbered cores first; four cores a node, two of them a cache.
    fn two_nodes() -> Domains {
        let place = |cpu: u16| {
            let core = cpu % 8;
            Place { core, cache: core / 2, node: core / 4, capacity: CAPACITY, priority: 0 }
        };
        let distances = vec![vec![10, 32], vec![32, 10]];
        Domains::new(&Topology::new((0..16).map(place).collect(), distances, 0.6), Kernel::V6_18)
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
        let domains = Domains::new(&Topology::uniform(4), Kernel::V6_18);
        assert_eq!(domains.chains[2].len(), 1);
        assert_eq!(domains.chains[2][0].level, Level::Cache);
        assert!(!domains.chains[2][0].spreads);
        assert!(Domains::new(&Topology::uniform(1), Kernel::V6_18).chains[0].is_empty());
    }

    /// Two nodes of sixteen processors and one cache: 16 / 8.
    #[test]
    fn nodes_of_one_cache_may_differ_by_a_task_for_eight_processors() {
        let place = |cpu: u16| Place { core: cpu, cache: cpu / 16, node: cpu / 16, capacity: CAPACITY, priority: 0 };
        let distances = vec![vec![10, 21], vec![21, 10]];
        let domains = Domains::new(&Topology::new((0..32).map(place).collect(), distances, 1.0), Kernel::V6_18);
        let tolerated: Vec<u64> = domains.chains[0].iter().map(|domain| domain.tolerated).collect();
        assert_eq!(tolerated, [0, 2]);
    }

    #[test]
    fn processors_that_differ_make_a_domain_asymmetric_and_its_tasks_are_not_spread() {
        let capacity = |cpu: u16| if cpu < 4 { 400 } else { 800 };
        let place = |cpu: u16| Place { core: cpu, cache: cpu / 4, node: 0, capacity: capacity(cpu), priority: 0 };
        let domains = Domains::new(&Topology::new((0..8).map(place).collect(), vec![vec![10]], 1.0), Kernel::V6_18);
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

    /// Two nodes of four cores with two threads, one cache for two cores. The last core is favoured.
    fn favoured(kernel: Kernel, small: u16) -> Domains {
        let place = |cpu: u16| {
            let core = cpu % 8;
            let (capacity, priority) = if core == 7 { (CAPACITY, 40) } else { (small, 30) };
            Place { core, cache: core / 2, node: core / 4, capacity, priority }
        };
        let distances = vec![vec![10, 20], vec![20, 10]];
        Domains::new(&Topology::new((0..16).map(place).collect(), distances, 0.6), kernel)
    }

    #[test]
    fn favoured_cores_count_at_the_levels_at_which_they_do_in_each_kernel() {
        let packs = |kernel: Kernel, small: u16| -> Vec<bool> {
            favoured(kernel, small).chains[0].iter().map(|domain| domain.packs).collect()
        };
        for old in [Kernel::V5_10, Kernel::V6_1] {
            assert_eq!(packs(old, CAPACITY), [true, true, false, false]);
        }
        assert_eq!(packs(Kernel::V6_12, CAPACITY), [false, true, false, false]);
        for (kernel, small) in [(Kernel::V6_12, 600), (Kernel::V6_17, CAPACITY), (Kernel::V6_18, CAPACITY)] {
            assert_eq!(packs(kernel, small), [false, true, true, false]);
        }
        assert!(two_nodes().chains[0].iter().all(|domain| !domain.packs), "none is favoured");
    }

    #[test]
    fn further_threads_of_a_core_are_less_favoured_than_its_first_up_to_6_5() {
        let of = |kernel: Kernel| {
            let domains = favoured(kernel, CAPACITY);
            [0, 8, 7, 15].map(|cpu| domains.priorities[cpu])
        };
        assert_eq!(of(Kernel::V5_10), [60, 30, 80, 40]);
        assert_eq!(of(Kernel::V6_1), [60, 15, 80, 20]);
        assert_eq!(of(Kernel::V6_12), [30, 30, 40, 40]);
    }

    #[test]
    fn the_first_of_the_most_favoured_processors_stands_for_a_group() {
        let preferred = |kernel: Kernel, cpu: usize, level: usize| -> Vec<CpuId> {
            favoured(kernel, CAPACITY).chains[cpu][level].groups.iter().map(|group| group.preferred).collect()
        };
        assert_eq!(preferred(Kernel::V6_18, 4, 1), [4, 5]);
        assert_eq!(preferred(Kernel::V6_18, 13, 2), [4, 7]);
        assert_eq!(preferred(Kernel::V6_1, 15, 1), [7, 6]);
    }
}
