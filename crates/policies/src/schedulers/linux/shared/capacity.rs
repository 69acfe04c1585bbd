//! What processors can do, and whether that is enough for a task: cores of several sizes, and what real-time tasks leave.

use super::{balancer::Kernel, domains::Domain, hierarchy::FairClass, linux::Linux, loads::REALTIME};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

/// Whether something that needs so much leaves a fifth of a capacity free (fits_capacity).
pub fn fits(needs: u64, capacity: u64) -> bool {
    needs * 1280 < capacity * 1024
}

/// Whether a capacity is greater by more than a twentieth (capacity_greater).
pub fn is_greater(one: u64, other: u64) -> bool {
    one * 1024 > other * 1078
}

impl<L: FairClass> Linux<L> {
    /// What a processor can do for fair tasks. (scale_rt_capacity)
    pub fn capacity(&self, cpu: CpuId, realtime: u64) -> u64 {
        self.balancer.domains.capacities[usize::from(cpu)].saturating_sub(realtime).max(1)
    }

    /// As it is now. (capacity_of)
    pub fn capacity_of(&self, now: Nanos, cpu: CpuId) -> u64 {
        self.capacity(cpu, self.tree.loads_of(now, cpu)[REALTIME])
    }

    /// Whether real-time tasks leave clearly less of a processor than it can do. (check_cpu_capacity)
    pub fn is_reduced(&self, now: Nanos, cpu: CpuId, domain: &Domain) -> bool {
        let whole = self.balancer.domains.capacities[usize::from(cpu)];
        self.capacity_of(now, cpu) * domain.imbalance_pct() < whole * 100
    }

    /// Whether a lone task had better be on a processor of one capacity than on one of another. In 5.10 also if both are the same.
    pub fn has_more(&self, one: u64, other: u64) -> bool {
        if self.balancer.kernel == Kernel::V5_10 { one >= other } else { is_greater(one, other) }
    }

    /// Whether a processor can do what a task needs.
    pub fn fits_capacity(&self, now: Nanos, needs: u64, cpu: CpuId) -> bool {
        fits(needs, self.capacity_of(now, cpu))
    }

    /// What a task needs: what it has had of late, or had when it last slept. (task_util_est)
    pub fn task_util_est(&self, now: Nanos, task: TaskId) -> u64 {
        let [_, util] = self.tree.task_averages(now, self.tree.of_task(task));
        util.max(self.balancer.tasks[task as usize].util_est)
    }

    /// What the fair tasks of a processor need, perhaps without one of them. (cpu_util_cfs, cpu_util_without)
    pub fn cpu_util(&self, cpu: CpuId, util: u64, without: Option<TaskId>) -> u64 {
        let own = without.map_or(0, |task| self.balancer.tasks[task as usize].util_est);
        let expected = self.balancer.states[usize::from(cpu)].util_est.saturating_sub(own);
        util.max(expected).min(self.balancer.domains.capacities[usize::from(cpu)])
    }

    /// Whether a task needs more than its processor can do, and may use one that can do more. (update_misfit_status)
    pub fn update_misfit_status(&mut self, cx: &Context<'_>, cpu: CpuId, task: Option<TaskId>) {
        let capacities = &self.balancer.domains.capacities;
        if self.tree.loads.clocks.is_empty() {
            return;
        }
        let own = capacities[usize::from(cpu)];
        let misfit = task.filter(|_| !self.cpus[usize::from(cpu)].realtime).filter(|&task| {
            let allowed = &cx.tasks[task as usize].allowed;
            let larger = capacities.iter().enumerate().any(|(other, &one)| one > own && allowed.has(other as CpuId));
            larger && !self.fits_capacity(cx.now, self.task_util_est(cx.now, task), cpu)
        });
        let load = misfit.map_or(0, |task| self.tree.task_h_load(cx.now, self.tree.of_task(task)).max(1));
        self.balancer.states[usize::from(cpu)].misfit = load;
    }
}
