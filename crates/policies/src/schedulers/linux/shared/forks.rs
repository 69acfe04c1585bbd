//! The processor for a new task, or one that executes another program, as Linux has chosen it since 5.5: in each domain in which such tasks
//! move, from the largest on, it goes to the idlest group, and in that to the idlest processor.

use super::{
    balancer::Kernel,
    busiest::Seen,
    domains::{Domain, Group},
    hierarchy::FairClass,
    imbalance::adjust,
    linux::Linux,
    loads::{FULL, LOAD},
    statistics::{Kind, Statistics},
};
use crate::schedulers::Context;
use schedlab_model::{
    processors::CpuSet,
    task::{CpuId, TaskId},
};

impl Statistics {
    /// Whether a new task had better go there than to another one. (update_pick_idlest)
    fn is_idler(&self, other: &Statistics) -> bool {
        self.kind < other.kind
            || self.kind == other.kind
                && match self.kind {
                    Kind::Overloaded | Kind::FullyBusy => self.mean() < other.mean(),
                    Kind::HasSpare => self.idle > other.idle || self.idle == other.idle && self.util < other.util,
                    Kind::Misfit => self.largest > other.largest,
                    Kind::Hidden | Kind::LessFavoured | Kind::SharesCore => false,
                }
    }
}

impl Domain {
    /// Whether a new task leaves its group, of which it may use as many processors, for the idlest one. (find_idlest_group)
    fn leaves(&self, local: &Statistics, idlest: &Statistics, kernel: Kernel, usable: u64) -> bool {
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
            Kind::HasSpare if self.is_between_nodes() && kernel == Kernel::V5_10 => local.idle == 0 && idlest.idle > 0,
            Kind::HasSpare if self.is_between_nodes() => {
                let difference = local.idle.abs_diff(idlest.idle);
                let tolerated = self.tolerated.min(usable);
                idlest.idle > local.idle && adjust(difference, local.tasks + 1, tolerated) > 0
            }
            Kind::HasSpare => idlest.idle > local.idle,
            Kind::Misfit => idlest.largest > local.largest,
            Kind::Hidden | Kind::LessFavoured | Kind::SharesCore => false,
        }
    }
}

impl<L: FairClass> Linux<L> {
    /// find_idlest_cpu
    pub fn idlest(&mut self, cx: &mut Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = &cx.view.tasks[task as usize].allowed;
        let mut at = last;
        let mut level = self.balancer.domains.chains[usize::from(at)].len();
        while level > 0 {
            level -= 1;
            if !self.domain(at, level).is_near() {
                continue;
            }
            let Some(group) = self.find_idlest_group(cx, task, at, level) else { continue };
            let found = self.find_idlest_group_cpu(cx, &group, allowed, at);
            if found != at {
                // The processor found may have other levels: those smaller than the one just seen.
                let weight = self.domain(at, level).weight();
                let smaller = |domain: &&Domain| domain.weight() < weight;
                level = self.balancer.domains.chains[usize::from(found)].iter().take_while(smaller).count();
                at = found;
            }
        }
        if allowed.has(at) { at } else { last }
    }

    /// The group of a domain to which a new task goes, unless it stays in the own one.
    fn find_idlest_group(&mut self, cx: &mut Context<'_>, task: TaskId, cpu: CpuId, level: usize) -> Option<CpuSet> {
        let allowed = &cx.view.tasks[task as usize].allowed;
        let groups = std::mem::take(&mut self.balancer.domains.chains[usize::from(cpu)][level].groups);
        let mut idlest: Option<(CpuSet, Statistics)> = None;
        for other in groups[1..].iter().filter(|group| group.span.meets(allowed)) {
            let there = self.statistics_for(cx, task, (cpu, level), other);
            if idlest.as_ref().is_none_or(|(_, best)| there.is_idler(best)) {
                idlest = Some((other.span.clone(), there));
            }
        }
        let local = self.statistics_for(cx, task, (cpu, level), &groups[0]);
        let usable = groups[0].span.iter_both(allowed).count() as u64;
        self.balancer.domains.chains[usize::from(cpu)][level].groups = groups;
        let (span, there) = idlest?;
        let leaves = || self.domain(cpu, level).leaves(&local, &there, self.balancer.kernel, usable);
        (usable == 0 || leaves()).then_some(span)
    }

    /// A group as a new task sees it, or as one that runs there sees it without itself: where cores differ, one of which none can do what the
    /// task needs is less good. (update_sg_wakeup_stats)
    fn statistics_for(
        &self,
        cx: &mut Context<'_>,
        task: TaskId,
        (cpu, level): (CpuId, usize),
        group: &Group,
    ) -> Statistics {
        let runs_on = cx.tasks[task as usize].cpu;
        let without = (cx.processors[usize::from(runs_on)].running == Some(task)).then_some((runs_on, task));
        let seen = Seen { idle: true, excluded: &CpuSet::none(), others: false, without };
        let mut seen = self.statistics(cx, cpu, level, group, seen);
        if self.domain(cpu, level).asymmetric && seen.kind < Kind::Misfit {
            let needs = self.task_util_est(cx.now, task);
            if !group.span.iter().any(|cpu| self.fits_capacity(cx.now, needs, cpu)) {
                seen.kind = Kind::Misfit;
            }
        }
        seen
    }

    /// In a group: one with SCHED_IDLE tasks only, or the one that has been idle for the shortest time, or the one of least load.
    /// (find_idlest_group_cpu)
    fn find_idlest_group_cpu(&self, cx: &Context<'_>, group: &CpuSet, allowed: &CpuSet, at: CpuId) -> CpuId {
        let all = || group.iter_both(allowed);
        let free = |cpu: CpuId| self.available_idle_cpu(cx, cpu);
        let since = |cpu: CpuId| self.balancer.states[usize::from(cpu)].idle_since;
        let later = |best: CpuId, cpu: CpuId| if since(cpu) > since(best) { cpu } else { best };
        let gives_way = all().find(|&cpu| !free(cpu) && self.is_idle(cx, cpu));
        let idle = gives_way.or_else(|| all().filter(|&cpu| free(cpu)).reduce(later));
        idle.or_else(|| all().min_by_key(|&cpu| self.tree.loads_of(cx.now, cpu)[LOAD])).unwrap_or(at)
    }
}
