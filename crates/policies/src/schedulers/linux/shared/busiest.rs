//! From where a processor should pull, and how much: the statistics of the groups of a domain and their comparison.

use super::{
    balancer::{Amount, Kernel, Pull},
    capacity::{fits, is_greater},
    crowded::is_overloaded,
    domains::{Domain, Group, Level},
    hierarchy::FairClass,
    linux::Linux,
    loads::{FULL, LOAD, REALTIME, RUNNABLE, UTIL},
};
use crate::schedulers::Context;
use schedlab_model::{Nanos, processors::CpuSet, task::CpuId};

/// The load of tasks that always run varies by this part: the kernel's averages are of whole periods.
const PRECISION: u64 = 512;
/// Nodes may differ by as many tasks as this, where a difference is tolerated (NUMA_IMBALANCE_MIN).
const TOLERATED: u64 = 2;

/// How busy a group is (group_type).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    HasSpare,
    FullyBusy,
    /// A task needs more than its processor can do, or has one alone that real-time tasks take a part of (group_misfit_task).
    Misfit,
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
    /// What the least and the most able of its processors can do.
    least: u64,
    pub largest: u64,
    /// The load of a task that would be better off elsewhere.
    misfit: u64,
}

/// How one looks at a group: as an idle processor; what is excluded counts as capacity only; as at a group of others, whose misfits count.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub idle: bool,
    pub excluded: &'a CpuSet,
    pub others: bool,
}

impl Statistics {
    /// The load of as much as a whole processor.
    pub fn mean(&self) -> u64 {
        self.load * FULL / self.capacity
    }

    /// Whether it is a better choice than another one of its kind that was seen before (update_sd_pick_busiest).
    fn is_busier(&self, other: &Statistics, first_busy: bool) -> bool {
        match self.kind {
            Kind::Overloaded => self.mean() > other.mean(),
            Kind::Hidden => false,
            Kind::SharesCore if self.idle == 0 && other.idle == 0 => true,
            Kind::FullyBusy => !first_busy,
            Kind::Misfit => self.misfit > other.misfit,
            Kind::SharesCore | Kind::HasSpare => {
                self.idle < other.idle || self.idle == other.idle && self.tasks > other.tasks
            }
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
    kernel: Kernel,
}

impl Comparison<'_> {
    /// How much to pull; nothing if it is balanced. (find_busiest_group, calculate_imbalance)
    fn imbalance(&self) -> Amount {
        let (own, busiest) = (self.own, self.busiest);
        match busiest.kind {
            Kind::Misfit if self.domain.asymmetric => return Amount::Misfit(1),
            Kind::Misfit => return Amount::Load(busiest.misfit),
            Kind::Hidden => return Amount::Tasks(1),
            _ => {}
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
        self.domain.spreads && (self.idle || !self.kernel.by_cores())
    }

    fn fewer_by(&self) -> u64 {
        self.own.fewer_by(self.busiest, self.kernel.by_cores())
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
        Amount::Tasks(match self.domain.is_between_nodes() {
            // In 5.10 a pair of tasks stays where it is.
            true if self.kernel == Kernel::V5_10 => {
                if busiest.tasks <= TOLERATED {
                    0
                } else {
                    more / 2
                }
            }
            true => adjust(more, own.tasks + 1, self.domain.tolerated) / 2,
            false => more / 2,
        })
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

/// Whether a group is one core whose threads compete. (smt_balance)
fn is_crowded_core(group: &Statistics) -> bool {
    group.cores == 1 && group.weight > 1 && group.fair > 1
}

impl<L: FairClass> Linux<L> {
    /// [`Linux::find_busiest`] by looking at all processors.
    pub fn busiest_of_all(&mut self, cx: &mut Context<'_>, cpu: CpuId, pull: &Pull) -> Option<(CpuId, Amount)> {
        let groups = std::mem::take(&mut self.balancer.domains.chains[usize::from(cpu)][pull.level].groups);
        let found = self.busiest_group(cx, cpu, &groups, pull);
        self.balancer.domains.chains[usize::from(cpu)][pull.level].groups = groups;
        let (group, amount) = found?;
        Some((self.busiest_queue(cx, (cpu, pull), &group, amount)?, amount))
    }

    fn busiest_group(
        &mut self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        groups: &[Group],
        pull: &Pull,
    ) -> Option<(CpuSet, Amount)> {
        let (kernel, level, idle) = (self.balancer.kernel, pull.level, pull.idle);
        let own = self.statistics(cx, cpu, level, &groups[0], Seen { idle, excluded: &CpuSet::none(), others: false });
        let (mut load, mut capacity, mut util, mut misfit) = (own.load, own.capacity, own.util, 0);
        let mut busiest: Option<(&CpuSet, Statistics)> = None;
        for group in &groups[1..] {
            let seen = Seen { idle, excluded: &pull.excluded, others: true };
            let mut statistics = self.statistics(cx, cpu, level, group, seen);
            if statistics.kind < Kind::SharesCore && idle && kernel.by_cores() && is_crowded_core(&statistics) {
                statistics.kind = Kind::SharesCore;
            }
            (load, capacity, util) = (load + statistics.load, capacity + statistics.capacity, util + statistics.util);
            misfit = misfit.max(statistics.misfit);
            if self.is_busiest(cx.now, (cpu, level), &own, &statistics, busiest.as_ref().map(|(_, before)| before)) {
                busiest = Some((&group.span, statistics));
            }
        }
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let (pct, weight) = (domain.imbalance_pct(), domain.weight());
        if level + 1 == self.balancer.domains.chains[usize::from(cpu)].len() {
            // What is excluded is not seen here either: its tasks are bound.
            let several = domain.span.iter_without(&pull.excluded).any(|cpu| self.nr_running(cpu) > 1);
            self.balancer.overloaded = several || domain.asymmetric && misfit > 0;
        }
        if kernel > Kernel::V5_10 && !pull.newly && weight == self.cache_size(cpu) {
            self.update_idle_cpu_scan(cpu, util, pct);
        }
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let (span, busiest) = busiest?;
        let (own, busiest, mean) = (&own, &busiest, load * FULL / capacity);
        let amount = Comparison { own, busiest, mean, domain, idle, kernel }.imbalance();
        (!amount.is_nothing()).then(|| (span.clone(), amount))
    }

    /// Whether a group is to be pulled from rather than from the busiest before. Where cores differ, not for a task that would not
    /// be better off, nor from larger cores that are not overloaded. (update_sd_pick_busiest)
    fn is_busiest(
        &self,
        now: Nanos,
        (cpu, level): (CpuId, usize),
        own: &Statistics,
        group: &Statistics,
        before: Option<&Statistics>,
    ) -> bool {
        if group.fair == 0 {
            return false;
        }
        let asymmetric = self.domain(cpu, level).asymmetric;
        let here = if asymmetric { self.capacity_of(now, cpu) } else { 0 };
        let old = self.balancer.kernel == Kernel::V5_10;
        if asymmetric && group.kind == Kind::Misfit {
            let more = if old { fits(group.largest, own.largest) } else { is_greater(here, group.largest) };
            if !more || own.kind != Kind::HasSpare {
                return false;
            }
        }
        let first_busy = !self.balancer.kernel.by_cores();
        let kind = before.map_or(Kind::HasSpare, |before| before.kind);
        if group.kind != kind {
            return group.kind > kind;
        }
        let busier = before.is_none_or(|before| group.is_busier(before, first_busy));
        let less = || if old { fits(own.least, group.least) } else { is_greater(group.least, here) };
        busier && !(asymmetric && group.kind <= Kind::FullyBusy && less())
    }

    /// Of the processors of a group the one with the most of what is to be moved; the first of several. (find_busiest_queue)
    fn busiest_queue(
        &self,
        cx: &Context<'_>,
        (cpu, pull): (CpuId, &Pull),
        span: &CpuSet,
        amount: Amount,
    ) -> Option<CpuId> {
        let domain = self.domain(cpu, pull.level);
        let here = self.capacity_of(cx.now, cpu);
        let mut busiest: Option<(CpuId, u64)> = None;
        for cpu in span.iter_without(&pull.excluded) {
            let (fair, loads) = (self.tree.h_nr_running(cpu), self.tree.loads_of(cx.now, cpu));
            let capacity = self.capacity(cpu, loads[REALTIME]);
            let alone = || fair == 1 && span.count() > 1 && self.nr_running(cpu) == 1;
            let much = match amount {
                _ if fair == 0 => continue,
                // Nothing goes from a core to one that is not larger only because it was alone.
                _ if domain.asymmetric && fair == 1 && !self.has_more(here, capacity) => continue,
                Amount::Misfit(_) => self.balancer.states[usize::from(cpu)].misfit,
                Amount::Tasks(_) => fair.into(),
                Amount::Util(_) if fair == 1 => continue,
                Amount::Util(_) => self.cpu_util(cpu, loads[UTIL]),
                Amount::Load(most) if alone() && loads[LOAD] > most && !self.is_reduced(cx.now, cpu, domain) => {
                    continue;
                }
                Amount::Load(_) => loads[LOAD] * FULL / capacity,
            };
            if much > 0 && busiest.is_none_or(|(_, most)| much > most) {
                busiest = Some((cpu, much));
            }
        }
        busiest.map(|(cpu, _)| cpu)
    }

    /// Whether a group has more to do than it can, has just enough, or less. A busy processor compares loads, which vary a little.
    /// (update_sg_lb_stats)
    pub fn statistics(
        &self,
        cx: &mut Context<'_>,
        cpu: CpuId,
        level: usize,
        group: &Group,
        Seen { idle, excluded, others }: Seen<'_>,
    ) -> Statistics {
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let mut sum = Statistics {
            kind: Kind::HasSpare,
            load: 0,
            util: 0,
            capacity: 0,
            tasks: 0,
            fair: 0,
            weight: group.span.count().into(),
            idle: 0,
            cores: group.cores,
            least: u64::MAX,
            largest: 0,
            misfit: 0,
        };
        let mut runnable = 0;
        for cpu in group.span.iter() {
            let loads = self.tree.loads_of(cx.now, cpu);
            let tasks = u64::from(self.nr_running(cpu));
            let less = if idle || tasks == 0 { 0 } else { cx.rng.below(loads[LOAD] / PRECISION + 1) };
            let capacity = self.capacity(cpu, loads[REALTIME]);
            sum.capacity += capacity;
            (sum.least, sum.largest) = (sum.least.min(capacity), sum.largest.max(capacity));
            if excluded.has(cpu) {
                continue;
            }
            sum.load += loads[LOAD] - less;
            sum.util += self.cpu_util(cpu, loads[UTIL]);
            runnable += loads[RUNNABLE];
            sum.tasks += tasks;
            let fair = u64::from(self.tree.h_nr_running(cpu));
            sum.fair += fair;
            sum.idle += u64::from(tasks == 0);
            let misfit = match domain.asymmetric {
                true => self.balancer.states[usize::from(cpu)].misfit,
                false if idle && fair == 1 && self.leaves_reduced(cx.now, cpu, domain) => loads[LOAD],
                false => 0,
            };
            sum.misfit = sum.misfit.max(if others { misfit } else { 0 });
        }
        sum.kind = self.classify(&sum, runnable, domain, group);
        sum
    }

    /// Whether a task had better leave a processor of which others take a part. In 5.10 only the last step of balancing knows that.
    fn leaves_reduced(&self, now: Nanos, cpu: CpuId, domain: &Domain) -> bool {
        self.realtime.known && self.balancer.kernel > Kernel::V5_10 && self.is_reduced(now, cpu, domain)
    }

    /// How busy a group is. (group_classify)
    fn classify(&self, sum: &Statistics, runnable: u64, domain: &Domain, group: &Group) -> Kind {
        let (pct, capacity) = (domain.imbalance_pct(), sum.capacity);
        let beyond = is_overloaded(capacity, sum.util, runnable, pct);
        let spare = capacity * pct >= runnable * 100 && capacity * 100 > sum.util * pct;
        match () {
            () if sum.tasks > sum.weight && beyond => Kind::Overloaded,
            () if self.balancer.domains.hidden[group.id] => Kind::Hidden,
            () if sum.misfit > 0 => Kind::Misfit,
            () if sum.tasks < sum.weight || spare => Kind::HasSpare,
            () => Kind::FullyBusy,
        }
    }

    /// Whether a processor is to balance a level for its group: an idle one, in 6.12 first one of a core that is idle; else the first.
    /// (should_we_balance)
    pub fn is_its_turn(&self, cx: &Context<'_>, cpu: CpuId, level: usize) -> bool {
        let domain = &self.balancer.domains.chains[usize::from(cpu)][level];
        let own = &domain.groups[0].span;
        let idle = |cpu: &CpuId| self.available_idle_cpu(cx, *cpu);
        let whole = |cpu: &CpuId| self.balancer.domains.threads[usize::from(*cpu)].iter().all(|cpu| idle(&cpu));
        let by_cores = self.balancer.kernel.by_cores() && domain.level != Level::Core;
        let core = by_cores.then(|| own.iter().find(|cpu| idle(cpu) && whole(cpu))).flatten();
        let first = || own.iter().find(idle).or(own.iter().next());
        core.or_else(first) == Some(cpu)
    }
}
