//! Favoured cores: an idle processor takes tasks from processors that are less favoured than itself, though none waits there
//! (SD_ASYM_PACKING).

use super::{
    balancer::{Kernel, Pull},
    domains::{Domain, Group, Level},
    hierarchy::FairClass,
    linux::Linux,
    statistics::Statistics,
};
use crate::schedulers::Context;
use schedlab_model::task::CpuId;

impl<L: FairClass> Linux<L> {
    /// Whether a processor is more favoured than another one. (sched_asym_prefer)
    fn is_favoured(&self, one: CpuId, other: CpuId) -> bool {
        let priorities = &self.balancer.domains.priorities;
        priorities[usize::from(one)] > priorities[usize::from(other)]
    }

    /// Whether it counts in a domain how much a processor is favoured. Since 6.6, that counts between cores only for one whose other threads
    /// are idle. (sched_use_asym_prio)
    fn priority_counts(&self, cx: &Context<'_>, domain: &Domain, cpu: CpuId) -> bool {
        let mut others = self.balancer.domains.threads[usize::from(cpu)].iter().filter(|&thread| thread != cpu);
        let always = !self.balancer.kernel.by_cores() || domain.level == Level::Core;
        domain.packs && (always || others.all(|thread| self.idle_cpu(cx, thread)))
    }

    /// Whether a processor goes before another one in a domain. (sched_asym)
    pub fn goes_before(&self, cx: &Context<'_>, domain: &Domain, one: CpuId, other: CpuId) -> bool {
        self.priority_counts(cx, domain, one) && self.is_favoured(one, other)
    }

    /// Whether an idle processor takes tasks from a group because it is more favoured. Where threads share cores, 5.16 to 6.5 compare how many
    /// are busy; since 6.6, cores with several busy threads are left to other rules. (update_sg_lb_stats, sched_group_asym)
    pub fn takes_over(
        &self,
        cx: &Context<'_>,
        (cpu, level): (CpuId, usize),
        own: &Statistics,
        (group, seen): (&Group, &Statistics),
    ) -> bool {
        let domain = self.domain(cpu, level);
        if !domain.packs || seen.fair == 0 {
            return false;
        }
        let favoured = self.goes_before(cx, domain, cpu, group.preferred);
        match self.balancer.kernel {
            Kernel::V5_10 => favoured,
            Kernel::V6_1 => by_busy_threads(own, seen, favoured),
            _ => favoured && !(seen.is_core_of_threads() && seen.busy() != 1),
        }
    }

    /// Whether the stopper is to move a running task to an idle processor that is more favoured; since 6.6, also one of a core whose other
    /// threads are busy, to any idle core. (asym_active_balance)
    pub fn takes_running(&self, cx: &Context<'_>, cpu: CpuId, from: CpuId, pull: &Pull) -> bool {
        let domain = self.domain(cpu, pull.level);
        pull.idle
            && self.priority_counts(cx, domain, cpu)
            && (self.is_favoured(cpu, from) || !self.priority_counts(cx, domain, from))
    }

    /// Whether some processor is idle that is more favoured than a busy one, in the largest domain in which that counts. (nohz_balancer_kick)
    pub fn a_favoured_one_idles(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let chain = &self.balancer.domains.chains[usize::from(cpu)];
        chain.iter().rev().find(|domain| domain.packs).is_some_and(|domain| {
            let mut all = domain.span.iter();
            all.any(|other| self.idle_cpu(cx, other) && self.goes_before(cx, domain, other, cpu))
        })
    }
}

/// Whether an idle processor takes tasks from a group, from 5.16 to 6.5. A core without threads helps one with several busy ones in any case. One
/// with threads takes a task from another such core only if that has one busy thread more, and from a core without threads only if its own are
/// all idle. (asym_smt_can_pull_tasks)
fn by_busy_threads(own: &Statistics, seen: &Statistics, favoured: bool) -> bool {
    match (own.is_core_of_threads(), seen.is_core_of_threads()) {
        (false, false) => favoured,
        (false, true) => favoured || seen.busy() >= 2,
        (true, true) => favoured && seen.busy() == own.busy() + 1,
        (true, false) => favoured && own.tasks == 0,
    }
}
