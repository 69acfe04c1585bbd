//! From where a processor should pull: the statistics of the groups of a domain and their comparison.

use super::{
    balancer::{Amount, Kernel, Pull},
    capacity::{fits, is_greater},
    crowded::is_overloaded,
    domains::{Domain, Group, Level},
    hierarchy::FairClass,
    imbalance::Comparison,
    linux::Linux,
    loads::{FULL, LOAD, REALTIME, RUNNABLE, UTIL},
    statistics::{Kind, Statistics},
};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    processors::CpuSet,
    task::{CpuId, TaskId},
};

/// The load of tasks that always run varies by this part: the kernel's averages are of whole periods.
const PRECISION: u64 = 512;

/// How one looks at a group: as an idle processor; what is excluded counts as capacity only; as at a group of others, whose misfits count;
/// without a task that runs on a processor.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    pub idle: bool,
    pub excluded: &'a CpuSet,
    pub others: bool,
    pub without: Option<(CpuId, TaskId)>,
}

/// Whether a group is one core whose threads compete. (smt_balance)
fn is_crowded_core(group: &Statistics) -> bool {
    group.is_core_of_threads() && group.fair > 1
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
        let seen = Seen { idle, excluded: &CpuSet::none(), others: false, without: None };
        let own = self.statistics(cx, cpu, level, &groups[0], seen);
        let (mut load, mut capacity, mut util, mut misfit) = (own.load, own.capacity, own.util, 0);
        let mut busiest: Option<(&CpuSet, Statistics)> = None;
        for group in &groups[1..] {
            let seen = Seen { idle, excluded: &pull.excluded, others: true, without: None };
            let mut statistics = self.statistics(cx, cpu, level, group, seen);
            if statistics.kind < Kind::SharesCore && idle && kernel.by_cores() && is_crowded_core(&statistics) {
                statistics.kind = Kind::SharesCore;
            }
            if idle
                && statistics.kind < Kind::LessFavoured
                && self.takes_over(cx, (cpu, level), &own, (group, &statistics))
            {
                statistics.kind = Kind::LessFavoured;
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
        let kind = before.map_or(Kind::HasSpare, |before| before.kind);
        if group.kind != kind {
            return group.kind > kind;
        }
        let busier = before.is_none_or(|before| group.is_busier(before, !self.balancer.kernel.by_cores()));
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
        let favoured = |other: CpuId| self.balancer.kernel > Kernel::V5_10 && self.goes_before(cx, domain, other, cpu);
        let mut busiest: Option<(CpuId, u64)> = None;
        for cpu in span.iter_without(&pull.excluded) {
            let (fair, loads) = (self.tree.h_nr_running(cpu), self.tree.loads_of(cx.now, cpu));
            let capacity = self.capacity(cpu, loads[REALTIME]);
            let alone = || fair == 1 && span.count() > 1 && self.nr_running(cpu) == 1;
            let much = match amount {
                _ if fair == 0 => continue,
                // Nothing goes from a core to one that is not larger only because it was alone.
                _ if domain.asymmetric && fair == 1 && !self.has_more(here, capacity) => continue,
                // Nor, since 5.16, from a more favoured processor.
                _ if domain.packs && fair == 1 && favoured(cpu) => continue,
                Amount::Misfit(_) => self.balancer.states[usize::from(cpu)].misfit,
                Amount::Tasks(_) => fair.into(),
                Amount::Util(_) if fair == 1 => continue,
                Amount::Util(_) => self.cpu_util(cpu, loads[UTIL], None),
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
        Seen { idle, excluded, others, without }: Seen<'_>,
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
            priority: self.balancer.domains.priorities[usize::from(group.preferred)],
            misfit: 0,
        };
        let mut runnable = 0;
        for cpu in group.span.iter() {
            let mut loads = self.tree.loads_of(cx.now, cpu);
            let left_out = without.filter(|&(on, _)| on == cpu).map(|(_, task)| task);
            let one = u64::from(left_out.is_some());
            if let Some(task) = left_out {
                self.leave_out(cx.now, task, &mut loads);
            }
            let tasks = u64::from(self.nr_running(cpu)).saturating_sub(one);
            let less = if idle || tasks == 0 { 0 } else { cx.rng.below(loads[LOAD] / PRECISION + 1) };
            let capacity = self.capacity(cpu, loads[REALTIME]);
            sum.capacity += capacity;
            (sum.least, sum.largest) = (sum.least.min(capacity), sum.largest.max(capacity));
            if excluded.has(cpu) {
                continue;
            }
            sum.load += loads[LOAD] - less;
            sum.util += self.cpu_util(cpu, loads[UTIL], left_out);
            runnable += loads[RUNNABLE];
            sum.tasks += tasks;
            // One whose group has just used up its quota still runs, and is no longer counted.
            let fair = u64::from(self.tree.h_nr_running(cpu)).saturating_sub(one);
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

    /// The loads of a processor without a task that runs there. (cpu_load_without, cpu_runnable_without, cpu_util_without)
    fn leave_out(&self, now: Nanos, task: TaskId, loads: &mut [u64; 4]) {
        let entity = self.tree.of_task(task);
        let [runnable, util] = self.tree.task_averages(now, entity);
        for (of, own) in [(LOAD, self.tree.task_h_load(now, entity)), (RUNNABLE, runnable), (UTIL, util)] {
            loads[of] = loads[of].saturating_sub(own);
        }
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
        let idle = |cpu: &CpuId| self.idle_cpu(cx, *cpu);
        let whole = |cpu: &CpuId| self.balancer.domains.threads[usize::from(*cpu)].iter().all(|cpu| idle(&cpu));
        let by_cores = self.balancer.kernel.by_cores() && domain.level != Level::Core;
        let core = by_cores.then(|| own.iter().find(|cpu| idle(cpu) && whole(cpu))).flatten();
        let first = || own.iter().find(idle).or(own.iter().next());
        core.or_else(first) == Some(cpu)
    }
}
