//! The processor for a woken task, as Linux has chosen it since 5.5: where it was or where it is woken, or an idle processor that shares
//! the cache with that one.

use super::{
    balancer::Kernel,
    hierarchy::FairClass,
    linux::Linux,
    loads::{FULL, LOAD, REALTIME},
};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    processors::CpuSet,
    task::{CpuId, TaskId},
};

/// Part of the mean idle time that a search for an idle processor may take (5.10), and at how many it looks at least.
const IDLE_PART: u64 = 512;
const LEAST: u64 = 4;
/// What a look at a processor costs one that searches. An assumption: the kernel measures it.
const LOOK: Nanos = 100;

impl<L: FairClass> Linux<L> {
    /// select_task_rq_fair, for a woken task.
    pub fn near(&mut self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let allowed = &cx.view.tasks[task as usize].allowed;
        let here = cx.waker.map_or(last, |waker| cx.tasks[waker as usize].cpu);
        let waker = cx.waker.or(cx.processors[here as usize].running).filter(|&waker| waker != task);
        let (mut wide, size) = (false, self.cache_size(here));
        if let Some(waker) = waker {
            self.entity(cx, waker);
            self.balancer.record_wakee(cx.now, waker, task);
            wide = self.balancer.wake_wide(waker, task, size);
        }
        let affine = !wide && allowed.has(here);
        let mut chain = self.balancer.domains.chains[usize::from(here)].iter();
        let common = chain.find(|domain| domain.is_near() && domain.span.has(last));
        let target = match common {
            Some(domain) if here != last && affine => self.affine(cx, task, (here, last), domain.imbalance_pct()),
            _ => last,
        };
        let cpu = self.select_idle_sibling(cx, task, (here, last), target);
        if let Some(waker) = waker.filter(|_| affine && self.balancer.kernel == Kernel::V5_10) {
            self.balancer.tasks[waker as usize].recent = here;
        }
        cpu
    }

    /// Where it is woken, or where it was. (wake_affine)
    fn affine(&self, cx: &Context<'_>, task: TaskId, (here, last): (CpuId, CpuId), imbalance: u64) -> CpuId {
        let paired = self.balancer.tasks[task as usize].paired;
        if paired && self.nr_running(here) == 1 {
            return here;
        }
        if self.available_idle_cpu(cx, last) {
            return last;
        }
        let own = self.load_of(cx.now, task);
        let waker = cx.waker.filter(|_| paired).map_or(0, |waker| self.load_of(cx.now, waker));
        let of = |cpu: CpuId| {
            let loads = self.tree.loads_of(cx.now, cpu);
            (loads[LOAD], self.capacity(cpu, loads[REALTIME]))
        };
        let ((load, capacity), (there, large)) = (of(here), of(last));
        if waker > load {
            return here;
        }
        let with_it = (load - waker + own) * 100 * large;
        let without = there.saturating_sub(own) * (100 + (imbalance - 100) / 2) * capacity + u64::from(paired);
        if with_it < without { here } else { last }
    }

    /// What a task adds to its processor's load.
    fn load_of(&self, now: Nanos, task: TaskId) -> u64 {
        self.tree.task_h_load(now, self.tree.of_task(task))
    }

    /// The first of these that is free, in the cache of the target: the target; where the task was; where it was before; one that a limited
    /// search finds. (select_idle_sibling)
    fn select_idle_sibling(
        &mut self,
        cx: &Context<'_>,
        task: TaskId,
        (here, last): (CpuId, CpuId),
        target: CpuId,
    ) -> CpuId {
        let allowed = &cx.view.tasks[task as usize].allowed;
        let domains = &self.balancer.domains;
        let (unequal, shared) = (&domains.unequal[usize::from(target)], &domains.caches[usize::from(target)]);
        let has_siblings = domains.has_siblings(target);
        let needs = if unequal.is_some() { self.task_util_est(cx.now, task) } else { 0 };
        let large = |cpu: CpuId| unequal.is_none() || self.fits_capacity(cx.now, needs, cpu);
        let free = |cpu: CpuId| shared.has(cpu) && self.is_idle(cx, cpu) && large(cpu);
        if let Some(cpu) = [target, last].into_iter().find(|&cpu| free(cpu)) {
            return cpu;
        }
        let recent = self.balancer.tasks[task as usize].recent;
        let takes = recent != last && recent != target && allowed.has(recent) && free(recent);
        if takes || self.balancer.kernel > Kernel::V5_10 {
            self.balancer.tasks[task as usize].recent = last;
        }
        if takes {
            return recent;
        }
        if let Some(span) = &self.balancer.domains.unequal[usize::from(target)] {
            return self.select_idle_capacity(cx, &span.and(allowed), target, needs).unwrap_or(target);
        }
        let near = &self.balancer.domains.caches[usize::from(target)].and(allowed);
        let found = if self.balancer.kernel == Kernel::V5_10 {
            let core = if has_siblings { self.select_idle_core(cx, near, target) } else { None };
            core.or_else(|| self.select_idle_cpu_that_pays(cx, near, (here, target)))
                .or_else(|| has_siblings.then(|| self.select_idle_smt(cx, near, target)).flatten())
        } else {
            let cores = has_siblings && self.balancer.shared[self.balancer.domains.cache_of(target)].idle_cores;
            let sibling = if has_siblings && !cores { self.select_idle_smt(cx, near, last) } else { None };
            sibling.or_else(|| self.select_idle_cpu(cx, near, target, cores))
        };
        found.unwrap_or(target)
    }

    /// A free thread of a core (select_idle_smt).
    fn select_idle_smt(&self, cx: &Context<'_>, allowed: &CpuSet, cpu: CpuId) -> Option<CpuId> {
        let threads = &self.balancer.domains.threads[usize::from(cpu)];
        threads.iter_both(allowed).find(|&thread| thread != cpu && self.is_idle(cx, thread))
    }

    /// Where there may be a core that is wholly idle, the first such; else the first free processor of as many as are likely to suffice
    /// (SIS_UTIL). (select_idle_cpu)
    fn select_idle_cpu(&mut self, cx: &Context<'_>, allowed: &CpuSet, target: CpuId, cores: bool) -> Option<CpuId> {
        let cache = self.balancer.domains.cache_of(target);
        let most = self.balancer.shared[cache].idle_scan;
        if most == 0 {
            return None;
        }
        let first = (target + 1) % self.cpus.len() as CpuId;
        if !cores {
            return allowed.around(first).take(most as usize).find(|&cpu| self.is_idle(cx, cpu));
        }
        let (mut left, mut noted) = (allowed.clone(), None);
        for cpu in allowed.around(first) {
            let threads = &self.balancer.domains.threads[usize::from(cpu)];
            if !left.has(cpu) {
                continue; // its core was seen already
            }
            left = left.and_not(threads);
            if threads.iter().all(|thread| self.available_idle_cpu(cx, thread)) {
                return Some(cpu);
            }
            noted = noted.or_else(|| threads.iter_both(allowed).find(|&thread| self.is_idle(cx, thread)));
        }
        self.balancer.shared[cache].idle_cores = false;
        noted
    }

    /// In 5.10, a core that is wholly idle is looked for first. (select_idle_core)
    fn select_idle_core(&mut self, cx: &Context<'_>, allowed: &CpuSet, target: CpuId) -> Option<CpuId> {
        let cache = self.balancer.domains.cache_of(target);
        if !self.balancer.shared[cache].idle_cores {
            return None;
        }
        let threads = |cpu: CpuId| self.balancer.domains.threads[usize::from(cpu)].iter();
        let whole = |&cpu: &CpuId| threads(cpu).all(|thread| self.available_idle_cpu(cx, thread));
        let found = allowed.around(target).find(whole);
        self.balancer.shared[cache].idle_cores = found.is_some();
        found
    }

    /// In 5.10, at as many processors is looked as can be in a part of the time for which the waker's is idle (SIS_PROP). (select_idle_cpu)
    fn select_idle_cpu_that_pays(
        &mut self,
        cx: &Context<'_>,
        allowed: &CpuSet,
        (here, target): (CpuId, CpuId),
    ) -> Option<CpuId> {
        let state = &self.balancer.states[usize::from(here)];
        let (span, cost) = (self.cache_size(target) * (state.mean_idle / IDLE_PART), state.scan_cost + 1);
        let most = if span > LEAST * cost { span / cost } else { LEAST } - 1;
        let found = allowed.around(target).take(most as usize).position(|cpu| self.is_idle(cx, cpu))?;
        let (cost, took) = (state.scan_cost as i64, (found as u64 + 1) * LOOK);
        self.balancer.states[usize::from(here)].scan_cost = (cost + (took as i64 - cost) / 8) as Nanos;
        allowed.around(target).nth(found)
    }

    /// The first free processor that can do what a task needs, else the free one that can do most. (select_idle_capacity)
    fn select_idle_capacity(&self, cx: &Context<'_>, allowed: &CpuSet, target: CpuId, needs: u64) -> Option<CpuId> {
        let free = || allowed.around(target).filter(|&cpu| self.is_idle(cx, cpu));
        let large = free().find(|&cpu| self.fits_capacity(cx.now, needs, cpu));
        let capacity = |cpu: CpuId| self.capacity(cpu, self.tree.loads_of(cx.now, cpu)[REALTIME]);
        large.or_else(|| free().reduce(|best, cpu| if capacity(cpu) > capacity(best) { cpu } else { best }))
    }

    /// Processors that share the cache of one (sd_llc_size).
    pub fn cache_size(&self, cpu: CpuId) -> u64 {
        self.balancer.domains.caches[usize::from(cpu)].count().into()
    }

    /// What a cache's processors have to do says at how many of them a woken task should look.
    pub fn update_idle_cpu_scan(&mut self, cpu: CpuId, util: u64, pct: u64) {
        let size = self.cache_size(cpu);
        let cache = self.balancer.domains.cache_of(cpu);
        self.balancer.shared[cache].idle_scan = idle_scan(size, util / size, pct);
    }

    /// A processor becomes idle: its core may be wholly so. (update_idle_core)
    pub fn update_idle_core(&mut self, cx: &Context<'_>, cpu: CpuId) {
        let domains = &self.balancer.domains;
        let (cache, threads) = (domains.cache_of(cpu), &domains.threads[usize::from(cpu)]);
        let mut siblings = threads.iter().filter(|&thread| thread != cpu);
        if domains.has_siblings(cpu) && siblings.all(|thread| self.available_idle_cpu(cx, thread)) {
            self.balancer.shared[cache].idle_cores = true;
        }
    }
}

/// At how many of as many processors, which have that much to do on average, a woken task looks: at all if they are idle, and at fewer with the
/// square of it. (update_idle_cpu_scan)
fn idle_scan(processors: u64, util: u64, pct: u64) -> u64 {
    let busy = (util * util * pct * pct / (10_000 * FULL)).min(FULL);
    processors * (FULL - busy) / FULL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_processors_at_both_is_looked_up_to_27_and_at_one_up_to_619() {
        let looked = [0, 27, 28, 619, 620, 1024].map(|util| idle_scan(2, util, 117));
        assert_eq!(looked, [2, 2, 1, 1, 0, 0]);
    }
}
