//! Where a task goes that becomes ready, or executes another program.

use super::{
    Balanced,
    levels::{Group, Kind, Level},
};
use crate::schedulers::{Context, Enqueue};
use schedlab_model::task::{CpuId, TaskId};

/// The processor for a task that becomes ready. A program that starts goes to the least loaded one, a forked task to its parent's or to another
/// node, where there are several (sched_exec, sched_fork). A woken task stays, or is drawn to its waker's processor; only where cores have threads
/// does anything look for an idle one (try_to_wake_up).
pub fn select(policy: &impl Balanced, cx: &Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
    let view = &cx.tasks[task as usize];
    let may = |cpu: CpuId| view.allowed.has(cpu);
    let was = view.last_or_first();
    let forked = view.parent.is_some();
    match why {
        Enqueue::New if !policy.domains().deep && !forked => {
            let load = |cpu: CpuId| (policy.share(cpu).load.now, cpu != view.cpu);
            view.allowed.iter().min_by_key(|&cpu| load(cpu)).unwrap_or(view.cpu)
        }
        Enqueue::New if forked => balance_self(policy, &may, was, |kind| kind.fork, true),
        // Many start in the same instant, between two ticks: their loads count at once.
        Enqueue::New => balance_self(policy, &may, was, |kind| kind.exec, false),
        Enqueue::Wakeup => {
            let cpu = if drawn(policy, cx, task, was) { cx.tasks[cx.waker.unwrap_or(task) as usize].cpu } else { was };
            if policy.domains().has_threads { idle_thread(policy, cx, &may, cpu) } else { cpu }
        }
        _ => was,
    }
}

/// The processor for a task that executes another program, which counts where it is. (sched_exec)
pub fn exec(policy: &impl Balanced, cx: &Context<'_>, task: TaskId) -> CpuId {
    let view = &cx.tasks[task as usize];
    balance_self(policy, &|cpu| view.allowed.has(cpu), view.cpu, |kind| kind.exec, true)
}

/// Whether a woken task goes from its processor to its waker's (try_to_wake_up), by the lowest domain that has both.
fn drawn(policy: &impl Balanced, cx: &Context<'_>, task: TaskId, was: CpuId) -> bool {
    let Some(waker) = cx.waker else { return false };
    let here = cx.tasks[waker as usize].cpu;
    if here == was || !cx.tasks[task as usize].allowed.has(here) {
        return false;
    }
    let Some(Level { kind, .. }) = policy.domains().spanning(here, was) else { return false };
    let Some((weight, wakers)) = policy.weight(task).zip(policy.weight(waker)) else { return false };
    let leaves = if policy.wakes_in_sync(task) { wakers } else { 0 };
    let (there, this) = (policy.share(was), policy.share(here));
    let (load, target) = (there.load.low(kind.wake_index), this.load.high(kind.wake_index));
    let imbalance = 100 + (kind.imbalance_pct - 100) / 2;
    let left = target.saturating_sub(leaves);
    let affine = left <= load && left + there.load.high(kind.wake_index) <= this.load_per_task(policy.scale())
        || 100 * (left + weight) <= imbalance * load;
    kind.affine && affine || kind.balance && imbalance * target <= 100 * load
}

/// An idle thread of a busy processor's core (wake_idle).
fn idle_thread(policy: &impl Balanced, cx: &Context<'_>, may: &impl Fn(CpuId) -> bool, cpu: CpuId) -> CpuId {
    let idles = |cpu: CpuId| cx.processors[cpu as usize].running.is_none();
    if idles(cpu) {
        return cpu;
    }
    let levels = policy.domains().of(cpu).iter().take_while(|level| level.kind.wake_idle);
    levels.flat_map(Level::cpus).find(|&other| may(other) && idles(other)).unwrap_or(cpu)
}

/// From the highest domain of that kind down, the least loaded processor of the least loaded group, if that is much less loaded than the own one
/// (sched_balance_self).
fn balance_self(
    policy: &impl Balanced,
    may: &impl Fn(CpuId) -> bool,
    from: CpuId,
    has: fn(&Kind) -> bool,
    averaged: bool,
) -> CpuId {
    let below =
        |cpu: CpuId, span: usize| policy.domains().of(cpu).iter().rfind(|level| level.size < span && has(level.kind));
    let (mut cpu, mut domain) = (from, below(from, usize::MAX));
    while let Some(level) = domain {
        let index = if averaged { level.kind.fork_index } else { 0 };
        let load = |other: CpuId| (policy.share(other).load.now, other != cpu);
        let idlest = idlest_group(policy, level, may, index);
        let least =
            idlest.and_then(|group| group.cpus.iter().copied().filter(|&cpu| may(cpu)).min_by_key(|&cpu| load(cpu)));
        cpu = least.unwrap_or(cpu);
        domain = below(cpu, level.size);
    }
    cpu
}

/// The group with the least load, unless that is not much less than the load of the own one (find_idlest_group).
fn idlest_group<'a>(
    policy: &impl Balanced,
    level: &'a Level,
    may: &impl Fn(CpuId) -> bool,
    index: usize,
) -> Option<&'a Group> {
    let mean =
        |group: &Group, load: &dyn Fn(CpuId) -> u64| group.cpus.iter().map(|&cpu| load(cpu)).sum::<u64>() / group.power;
    let own = mean(&level.groups[level.own], &|cpu| policy.share(cpu).load.low(index));
    let others = level
        .groups
        .iter()
        .enumerate()
        .filter(|(at, group)| *at != level.own && group.cpus.iter().any(|&cpu| may(cpu)));
    let least = others.map(|(_, group)| (mean(group, &|cpu| policy.share(cpu).load.high(index)), group));
    let (least, group) = least.min_by_key(|(load, _)| *load)?;
    (100 * own >= (100 + (level.kind.imbalance_pct - 100) / 2) * least).then_some(group)
}
