//! From where a processor should pull, and how much: the statistics of the groups of a domain and their comparison.

use super::{
    balancer::Amount,
    domains::{Domain, Group, Level, processors},
    hierarchy::FairClass,
    linux::Linux,
    loads::{FULL, LOAD, REALTIME, RUNNABLE, UTIL},
};
use crate::schedulers::Context;
use schedlab_model::task::CpuId;

/// The load of tasks that always run varies by this part: the kernel's averages are of whole periods.
const PRECISION: u64 = 512;
/// Nodes may differ by as many tasks as this, where a difference is tolerated (NUMA_IMBALANCE_MIN).
const TOLERATED: u64 = 2;

/// How busy a group is (group_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    HasSpare,
    FullyBusy,
    /// Threads of a core compete while another core is idle (group_smt_balance).
    SharesCore,
    /// Bound tasks hide an imbalance in it (group_imbalanced).
    Hidden,
    Overloaded,
}

/// A group as the others see it (sg_lb_stats).
#[derive(Debug, Clone, Copy)]
pub struct Statistics {
    pub kind: Kind,
    pub load: u64,
    pub util: u64,
    pub capacity: u64,
    /// Tasks, and those of them that are fair.
    pub tasks: u64,
    pub fair: u64,
    /// Processors, and those of them without a task.
    pub weight: u64,
    pub idle: u64,
    cores: u64,
}

impl Statistics {
    /// The load of as much as a whole processor.
    pub fn mean(&self) -> u64 {
        self.load * FULL / self.capacity
    }

    /// Whether it is a better choice than another one that was seen before (update_sd_pick_busiest).
    fn is_busier(&self, other: &Statistics, first_busy: bool) -> bool {
        let spare = self.idle < other.idle || self.idle == other.idle && self.tasks > other.tasks;
        self.kind > other.kind
            || self.kind == other.kind
                && match self.kind {
                    Kind::Overloaded => self.mean() > other.mean(),
                    Kind::Hidden => false,
                    Kind::SharesCore if self.idle == 0 && other.idle == 0 => true,
                    Kind::FullyBusy => !first_busy,
                    Kind::SharesCore | Kind::HasSpare => spare,
                }
    }

    /// Whether a new task had better go there than to another one. (update_pick_idlest)
    pub fn is_idler(&self, other: &Statistics) -> bool {
        self.kind < other.kind
            || self.kind == other.kind
                && match self.kind {
                    Kind::Overloaded | Kind::FullyBusy => self.mean() < other.mean(),
                    Kind::HasSpare => self.idle > other.idle || self.idle == other.idle && self.util < other.util,
                    Kind::Hidden | Kind::SharesCore => false,
                }
    }

    /// By how many tasks another group has more than this one, as far as both have as many cores (sibling_imbalance).
    fn fewer_by(&self, other: &Statistics, by_cores: bool) -> u64 {
        let (own, there) = (self.cores, other.cores);
        if own == there || !by_cores {
            return other.tasks.saturating_sub(self.tasks);
        }
        let more = (own * other.tasks).saturating_sub(there * self.tasks);
        let scaled = (2 * more + own + there) / (own + there);
        if scaled <= 1 && self.tasks == 0 && other.tasks > 1 { 2 } else { scaled }
    }
}

/// What is compared with what.
struct Comparison<'a> {
    own: &'a Statistics,
    busiest: &'a Statistics,
    /// The load of as much as a whole processor, of the whole domain.
    mean: u64,
    domain: &'a Domain,
    /// The processor that pulls is idle.
    idle: bool,
    /// Groups of threads are compared by cores (6.12).
    by_cores: bool,
}

impl Comparison<'_> {
    /// How much to pull; nothing if it is balanced. (find_busiest_group, calculate_imbalance)
    fn imbalance(&self) -> Amount {
        let (own, busiest) = (self.own, self.busiest);
        if busiest.kind == Kind::Hidden {
            return Amount::Tasks(1);
        }
        if own.kind > busiest.kind {
            return Amount::Tasks(0);
        }
        if own.kind == Kind::Overloaded {
            return self.of_loads(100 * busiest.mean() > self.domain.imbalance_pct() * own.mean());
        }
        let spreads = self.spreads() && own.kind == Kind::HasSpare && self.fewer_by() > 1;
        if !spreads && busiest.kind != Kind::Overloaded && self.leaves_as_it_is() {
            return Amount::Tasks(0);
        }
        match own.kind {
            _ if busiest.kind == Kind::SharesCore => Amount::Tasks(1),
            Kind::HasSpare => self.of_tasks(),
            _ => self.of_loads(true),
        }
    }

    fn spreads(&self) -> bool {
        self.domain.spreads && (self.idle || !self.by_cores)
    }

    fn fewer_by(&self) -> u64 {
        self.own.fewer_by(self.busiest, self.by_cores)
    }

    /// The busiest group is not overloaded: a busy processor takes nothing, nor one whose group has hardly more idle ones.
    fn leaves_as_it_is(&self) -> bool {
        let (own, busiest) = (self.own, self.busiest);
        !self.idle || busiest.fair == 1 || busiest.weight > 1 && own.idle <= busiest.idle + 1
    }

    /// Half the difference, where the own group has time to spare.
    fn of_tasks(&self) -> Amount {
        let (own, busiest) = (self.own, self.busiest);
        if busiest.kind > Kind::FullyBusy && !self.domain.shares_cache() {
            let spare = own.capacity.saturating_sub(own.util);
            return if spare == 0 && self.idle { Amount::Tasks(1) } else { Amount::Util(spare) };
        }
        let more = match () {
            () if self.spreads() => self.fewer_by(),
            () if self.domain.spreads => 0,
            () if busiest.weight == 1 => busiest.tasks.saturating_sub(own.tasks),
            () => own.idle.saturating_sub(busiest.idle),
        };
        let more =
            if self.domain.is_between_nodes() { adjust(more, own.tasks + 1, self.domain.tolerated) } else { more };
        Amount::Tasks(more / 2)
    }

    /// What makes both groups' loads the mean, if they are `unlike` enough.
    fn of_loads(&self, unlike: bool) -> Amount {
        let (here, there, mean) = (self.own.mean(), self.busiest.mean(), self.mean);
        if here >= there || here >= mean || !unlike {
            return Amount::Load(0);
        }
        Amount::Load((there.saturating_sub(mean) * self.busiest.capacity).min((mean - here) * self.own.capacity) / FULL)
    }
}

/// A difference between nodes, none if it is small and the own node has few tasks. (adjust_numa_imbalance)
pub fn adjust(difference: u64, running: u64, tolerated: u64) -> u64 {
    if running <= tolerated && difference <= TOLERATED { 0 } else { difference }
}

impl Domain {
    /// Whether a new task leaves its group for the idlest one. (find_idlest_group)
    pub fn leaves(&self, local: &Statistics, idlest: &Statistics) -> bool {
        if local.kind != idlest.kind {
            return local.kind > idlest.kind;
        }
        let pct = self.imbalance_pct();
        let little = FULL * (pct - 100) / 100;
        match local.kind {
            Kind::Overloaded | Kind::FullyBusy => {
                let (here, there) = (local.mean(), idlest.mean());
                let alike = self.is_between_nodes() && there + little >= here;
                !alike && there < here + little && 100 * here > pct * there
            }
            Kind::HasSpare if self.is_between_nodes() => {
                let difference = local.idle.abs_diff(idlest.idle);
                idlest.idle > local.idle && adjust(difference, local.tasks + 1, self.tolerated) > 0
            }
            Kind::HasSpare => idlest.idle > local.idle,
            Kind::Hidden | Kind::SharesCore => false,
        }
    }
}

/// Whether a group is one core whose threads compete. (smt_balance)
fn is_crowded_core(group: &Statistics) -> bool {
    group.cores == 1 && group.weight > 1 && group.fair > 1
}

impl<L: FairClass> Linux<L> {
    /// The processor from which another should pull in one of its domains, and how much. (find_busiest_group, find_busiest_queue)
    pub fn find_busiest(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        (level, idle): (usize, bool),
        excluded: u64,
    ) -> Option<(CpuId, Amount)> {
        if !self.balancer.overloaded && level == 0 && self.balancer.domains.chains[usize::from(cpu)].len() == 1 {
            return None;
        }
        let domain = std::mem::take(&mut self.balancer.domains.chains[usize::from(cpu)][level].groups);
        let found = self.busiest_group(cx, cpu, &domain, (level, idle), excluded);
        self.balancer.domains.chains[usize::from(cpu)][level].groups = domain;
        let (group, amount) = found?;
        Some((self.busiest_queue(cx, group, amount, excluded)?, amount))
    }

    fn busiest_group(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        groups: &[Group],
        (level, idle): (usize, bool),
        excluded: u64,
    ) -> Option<(u64, Amount)> {
        let version = self.balancer.version;
        let own = self.statistics(cx, cpu, level, &groups[0], (idle, 0));
        let (mut load, mut capacity) = (own.load, own.capacity);
        let mut busiest: Option<(u64, Statistics)> = None;
        for group in &groups[1..] {
            let mut statistics = self.statistics(cx, cpu, level, group, (idle, excluded));
            if statistics.kind < Kind::SharesCore && idle && version.by_cores && is_crowded_core(&statistics) {
                statistics.kind = Kind::SharesCore;
            }
            (load, capacity) = (load + statistics.load, capacity + statistics.capacity);
            let busier = |(_, busiest): (u64, Statistics)| statistics.is_busier(&busiest, version.first_busy);
            if statistics.fair > 0 && busiest.is_none_or(busier) {
                busiest = Some((group.span, statistics));
            }
        }
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        if level + 1 == self.balancer.domains.chains[usize::from(cpu)].len() {
            self.balancer.overloaded = processors(domain.span).any(|cpu| self.nr_running(cpu) > 1);
        }
        let (span, busiest) = busiest?;
        let (own, busiest, mean, by_cores) = (&own, &busiest, load * FULL / capacity, version.by_cores);
        let amount = Comparison { own, busiest, mean, domain, idle, by_cores }.imbalance();
        (!amount.is_nothing()).then_some((span, amount))
    }

    /// Of the processors of a group the one with the most of what is to be moved; the first of several. (find_busiest_queue)
    fn busiest_queue(&self, cx: &Context<'_>, span: u64, amount: Amount, excluded: u64) -> Option<CpuId> {
        let mut busiest: Option<(CpuId, u64)> = None;
        for cpu in processors(span & !excluded) {
            let (fair, loads) = (self.tree.h_nr_running(cpu), self.tree.loads_of(cx.now, cpu));
            let much = match amount {
                _ if fair == 0 => continue,
                Amount::Tasks(_) => fair.into(),
                Amount::Util(_) if fair == 1 => continue,
                Amount::Util(_) => loads[UTIL],
                Amount::Load(most) if span.count_ones() > 1 && self.nr_running(cpu) == 1 && loads[LOAD] > most => {
                    continue;
                }
                Amount::Load(_) => loads[LOAD] * FULL / self.capacity(cpu, loads[REALTIME]),
            };
            if busiest.is_none_or(|(_, most)| much > most) {
                busiest = Some((cpu, much));
            }
        }
        busiest.map(|(cpu, _)| cpu)
    }

    /// What a processor can do for fair tasks.
    pub fn capacity(&self, cpu: CpuId, realtime: u64) -> u64 {
        self.balancer.domains.capacities[usize::from(cpu)].saturating_sub(realtime).max(1)
    }

    /// Whether a group has more to do than it can, has just enough, or less. A busy processor compares loads, which vary a little.
    /// What is excluded counts as capacity only.
    pub fn statistics(
        &self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        level: usize,
        group: &Group,
        (idle, excluded): (bool, u64),
    ) -> Statistics {
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let mut sum = Statistics {
            kind: Kind::HasSpare,
            load: 0,
            util: 0,
            capacity: 0,
            tasks: 0,
            fair: 0,
            weight: group.span.count_ones().into(),
            idle: 0,
            cores: group.cores,
        };
        let mut runnable = 0;
        for cpu in processors(group.span) {
            let loads = self.tree.loads_of(cx.now, cpu);
            let tasks = u64::from(self.nr_running(cpu));
            let less = if idle || tasks == 0 { 0 } else { cx.rng.below(loads[LOAD] / PRECISION + 1) };
            sum.capacity += self.capacity(cpu, loads[REALTIME]);
            if excluded >> cpu & 1 == 1 {
                continue;
            }
            sum.load += loads[LOAD] - less;
            sum.util += loads[UTIL];
            runnable += loads[RUNNABLE];
            sum.tasks += tasks;
            sum.fair += u64::from(self.tree.h_nr_running(cpu));
            sum.idle += u64::from(tasks == 0);
        }
        sum.kind = self.classify(&sum, runnable, domain, group);
        sum
    }

    /// How busy a group is. (group_classify)
    fn classify(&self, sum: &Statistics, runnable: u64, domain: &Domain, group: &Group) -> Kind {
        let (pct, capacity) = (domain.imbalance_pct(), sum.capacity);
        let beyond = capacity * 100 < sum.util * pct || capacity * pct < runnable * 100;
        let spare = capacity * pct >= runnable * 100 && capacity * 100 > sum.util * pct;
        match () {
            () if sum.tasks > sum.weight && beyond => Kind::Overloaded,
            () if self.balancer.domains.hidden[group.id] => Kind::Hidden,
            () if sum.tasks < sum.weight || spare => Kind::HasSpare,
            () => Kind::FullyBusy,
        }
    }

    /// Whether a processor is to balance a level for its group: an idle one, in 6.12 first one of a core that is idle; else the first.
    /// (should_we_balance)
    pub fn is_its_turn(&self, cx: &Context<'_>, cpu: CpuId, level: usize) -> bool {
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let own = domain.groups[0].span;
        let idle = |cpu: &CpuId| self.available_idle_cpu(cx, *cpu);
        let whole = |cpu: &CpuId| processors(self.balancer.domains.threads[usize::from(*cpu)]).all(|cpu| idle(&cpu));
        let by_cores = self.balancer.version.by_cores && domain.level != Level::Core;
        let core = by_cores.then(|| processors(own).find(|cpu| idle(cpu) && whole(cpu))).flatten();
        let first = || processors(own).find(idle).or(processors(own).next());
        core.or_else(first) == Some(cpu)
    }
}
