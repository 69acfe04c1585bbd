//! Which group and which of its processors has so much more load that some should be moved from there.

use super::{
    Balanced,
    levels::Group,
    share::{Load, Pull},
};
use crate::schedulers::Context;
use schedlab_model::{processors::CpuSet, task::CpuId};

/// Whether a processor looks at a domain for its group: the first idle one of it does, or the first (find_busiest_group).
pub fn balances(policy: &impl Balanced, cx: &Context<'_>, cpu: CpuId, level: usize) -> bool {
    let level = &policy.domains().of(cpu)[level];
    let own = &level.groups[level.own].cpus;
    own.iter().find(|&&cpu| cx.processors[cpu as usize].running.is_none()).unwrap_or(&own[0]) == &cpu
}

/// Tasks and load of a group.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    /// By the estimate that a look goes by, for each processor's worth.
    mean: u64,
    count: usize,
    weight: u64,
    power: u64,
}

impl Sum {
    fn of(policy: &impl Balanced, group: &Group, struck: &CpuSet, load: impl Fn(&Load) -> u64) -> (u64, Sum) {
        let (mut all, mut sum) = (0, Sum { power: group.power, ..Sum::default() });
        for &cpu in group.cpus.iter().filter(|&&cpu| !struck.has(cpu)) {
            let share = policy.share(cpu);
            all += load(&share.load);
            sum.count += share.count;
            sum.weight += share.load.now;
        }
        sum.mean = all / group.power;
        (all, sum)
    }

    fn per_task(&self, scale: u64) -> u64 {
        if self.count == 0 { scale } else { self.weight / self.count as u64 }
    }
}

/// find_busiest_group, find_busiest_queue: where there is enough more load that some should be moved here. Processors that are struck out count as
/// empty.
pub fn busiest(policy: &impl Balanced, cpu: CpuId, level: usize, index: usize, struck: &CpuSet) -> Option<Pull> {
    let domain = &policy.domains().of(cpu)[level];
    let (mut total, this) = Sum::of(policy, &domain.groups[domain.own], struck, |load| load.high(index));
    let (mut power, mut max, mut from) = (this.power, Sum::default(), None);
    for group in domain.groups.iter().enumerate().filter(|(at, _)| *at != domain.own).map(|(_, group)| group) {
        let (all, sum) = Sum::of(policy, group, struck, |load| load.low(index));
        total += all;
        power += group.power;
        if sum.mean > max.mean && sum.count as u64 > group.power {
            (max, from) = (sum, Some(group));
        }
    }
    let from = from?;
    let average = total / power;
    let pct = domain.kind.imbalance_pct;
    let per_task = max.per_task(policy.scale());
    if this.mean >= max.mean || this.mean >= average || 100 * max.mean <= pct * this.mean || max.mean <= per_task {
        return None;
    }
    let most = max.mean.saturating_sub(average).min(max.mean - per_task);
    let load = match (most * max.power).min((average - this.mean) * this.power) {
        enough if enough >= per_task => enough,
        _ => small_imbalance(per_task, &max, &this, policy.scale())?,
    };
    // A single task that weighs more than that does not go.
    let may = |&cpu: &CpuId| {
        let share = policy.share(cpu);
        !struck.has(cpu) && share.load.now > 0 && (share.count > 1 || share.load.now <= load)
    };
    let weight = |&cpu: &CpuId| (policy.share(cpu).load.now, std::cmp::Reverse(cpu));
    let from = from.cpus.iter().copied().filter(may).max_by_key(weight)?;
    Some(Pull { level, from, load, tasks: policy.share(from).count.saturating_sub(1) })
}

/// Where a task's load is more than what should be moved: one nevertheless, if the difference is two tasks of the busier
/// group (or one that is heavier than those here), or if more load would be served.
fn small_imbalance(per_task: u64, max: &Sum, this: &Sum, scale: u64) -> Option<u64> {
    let this_per_task = this.per_task(scale);
    let wanted = if this.count > 0 && per_task > this_per_task { per_task } else { 2 * per_task };
    let now = max.power * per_task.min(max.mean) + this.power * this_per_task.min(this.mean);
    let stays = max.mean.saturating_sub(per_task / max.power);
    let added = (max.mean * max.power).min(per_task) / this.power;
    let moved = max.power * per_task.min(stays) + this.power * this_per_task.min(this.mean + added);
    (max.mean - this.mean >= wanted || moved > now).then_some(per_task)
}
