//! Tasks between processors as in Linux 2.6.20 to 2.6.22, on a machine whose processors are one domain, each a group of its own: where
//! a woken task goes, and what a processor pulls that has less load than another, when it idles and periodically. Policies that
//! replaced what a processor does kept all of this.

mod share;

use crate::schedulers::{Balance, Context, Enqueue, Ticks};
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};
pub use share::Share;
use share::{MIN_INTERVAL, Pull};

/// A processor pulls from one that has more than this many hundredths of its load.
const IMBALANCE_PCT: u64 = 125;
/// The factor by which a busy processor balances less often.
const BUSY_FACTOR: u64 = 64;
/// A task that ran less than this ago has its data in the cache, and stays (the default of a domain of processors).
const CACHE_HOT: Nanos = 2_500_000;
/// After more failed looks than this, a cache-hot task is moved nevertheless.
const CACHE_NICE_TRIES: u32 = 1;
/// Which average of the load a look goes by: see [`Load::low`].
const BUSY_INDEX: usize = 2;
const IDLE_INDEX: usize = 1;
const NEWLY_IDLE_INDEX: usize = 2;
const WAKE_INDEX: usize = 1;

/// A policy with a runqueue a processor that is balanced by these rules.
pub trait Balanced {
    /// What is known of a processor.
    fn share(&self, cpu: CpuId) -> &Share;
    /// The same, to change.
    fn share_mut(&mut self, cpu: CpuId) -> &mut Share;
    /// The number of processors.
    fn processors(&self) -> CpuId;
    /// The weight of a task of nice 0 (SCHED_LOAD_SCALE).
    fn scale(&self) -> u64;
    /// The weight of a task, if it is known.
    fn weight(&self, task: TaskId) -> Option<u64>;
    /// When a task last ran.
    fn last_ran(&self, task: TaskId) -> Nanos;
    /// Whether a sleeping task waits for a message in a pipe: its sender is about to wait, too (a sync wakeup).
    fn awaits_pipe(&self, task: TaskId) -> bool;
    /// Visits the tasks of a processor, the running one included, in the order in which others take them, with their priority (0 is
    /// the best), until one is taken.
    fn visit(&self, cx: &Context<'_>, cpu: CpuId, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId>;
    /// Takes a ready task out of its list; it still counts.
    fn take_out(&mut self, cpu: CpuId, task: TaskId);
}

/// The processor for a task that becomes ready (sched_exec, try_to_wake_up). A program that starts goes to the least loaded one, a forked
/// task to its parent's. A woken task stays, unless its waker's processor has less load; nothing looks for an idle one.
pub fn select(policy: &impl Balanced, cx: &Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
    let view = &cx.tasks[task as usize];
    if why == Enqueue::New && view.parent.is_none() {
        let allowed = (0..policy.processors()).filter(|cpu| view.allowed >> cpu & 1 == 1);
        let load = |cpu: CpuId| (policy.share(cpu).load.now, cpu != view.cpu);
        return allowed.min_by_key(|&cpu| load(cpu)).unwrap_or(view.cpu);
    }
    let was = if view.allowed >> view.cpu & 1 == 1 { view.cpu } else { view.allowed.trailing_zeros() as CpuId };
    let Some(waker) = cx.waker.filter(|_| why == Enqueue::Wakeup) else { return was };
    let here = cx.tasks[waker as usize].cpu;
    if here == was || view.allowed >> here & 1 == 0 {
        return was;
    }
    let Some((weight, wakers)) = policy.weight(task).zip(policy.weight(waker)) else { return was };
    let leaves = if policy.awaits_pipe(task) { wakers } else { 0 };
    let (there, this) = (policy.share(was), policy.share(here));
    let load = there.load.low(WAKE_INDEX);
    let target = this.load.high(WAKE_INDEX).saturating_sub(leaves);
    let affine = target <= load && target + there.load.high(WAKE_INDEX) <= this.load_per_task(policy.scale())
        || 100 * (target + weight) <= (100 + (IMBALANCE_PCT - 100) / 2) * load;
    if affine { here } else { was }
}

/// A task for a processor that looks for work.
pub fn pull(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
    let pushed = (0..policy.processors()).filter_map(|from| policy.share(from).pushed);
    if let Some((task, _)) = pushed.into_iter().find(|pushed| pushed.1 == cpu) {
        return Some(task);
    }
    if why == Balance::Idle {
        return pull_newly_idle(policy, cx, cpu);
    }
    if let Some(pull) = policy.share_mut(cpu).pull.take() {
        return go_on(policy, cx, cpu, pull);
    }
    let idle = cx.processors[cpu as usize].running.is_none();
    let share = policy.share_mut(cpu);
    if share.ticks < share.last + share.ticks_between_looks(if idle { 1 } else { BUSY_FACTOR }, cx.tick) {
        return None;
    }
    share.last = share.ticks;
    look(policy, cx, cpu, idle)
}

/// How many ticks pass as [`Share::rest`] counts them while all processors are idle: all, unless a task is still on its way.
pub fn idle_ticks(policy: &impl Balanced) -> Ticks {
    let rests = (0..policy.processors()).all(|cpu| policy.share(cpu).is_empty());
    if rests { Ticks::ALL } else { Ticks::default() }
}

/// The migration thread runs on a processor, whose task is among the ready ones again: it takes one out of its list, which the idle
/// processor pulls (active_load_balance).
pub fn push(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId) {
    let Some(to) = policy.share_mut(cpu).push.take() else { return };
    if policy.share(cpu).count < 2 || cx.processors[to as usize].running.is_some() {
        return;
    }
    let may = |task: TaskId| cx.tasks[task as usize].allowed >> to & 1 == 1;
    let Some(task) = policy.visit(cx, cpu, &mut |task, _| may(task)) else { return };
    policy.take_out(cpu, task);
    policy.share_mut(cpu).pushed = Some((task, to));
    cx.resched(to);
}

/// load_balance_newidle: processors of which no task may or should move are struck out.
fn pull_newly_idle(policy: &mut impl Balanced, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
    let mut struck = 0;
    while let Some(pull) = busiest(policy, cpu, NEWLY_IDLE_INDEX, struck) {
        if let Movable::This(task) = movable(policy, cx, cpu, &pull) {
            return Some(take(policy, cpu, pull, task));
        }
        struck |= 1 << pull.from;
    }
    policy.share_mut(cpu).failed = 0;
    None
}

/// load_balance: a processor all of whose tasks are pinned is struck out; another one with tasks that should not move yet is a failure.
fn look(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId, idle: bool) -> Option<TaskId> {
    let mut struck = 0;
    while let Some(pull) = busiest(policy, cpu, if idle { IDLE_INDEX } else { BUSY_INDEX }, struck) {
        match movable(policy, cx, cpu, &pull) {
            Movable::This(task) => {
                policy.share_mut(cpu).interval = MIN_INTERVAL;
                return Some(take(policy, cpu, pull, task));
            }
            Movable::None => {
                fail(policy, cx, cpu, pull.from);
                return None;
            }
            Movable::Pinned => struck |= 1 << pull.from,
        }
    }
    let share = policy.share_mut(cpu);
    share.failed = 0;
    share.wait_longer(struck != 0);
    None
}

/// No task could be moved though there is too much load. After some such looks the migration thread moves even a running one.
fn fail(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId, from: CpuId) {
    let idle = cx.processors[cpu as usize].running.is_none();
    let running = cx.processors[from as usize].running;
    let share = policy.share_mut(cpu);
    share.failed += 1;
    if share.failed <= CACHE_NICE_TRIES + 2 {
        share.interval = MIN_INTERVAL;
    } else if running.is_some_and(|task| cx.tasks[task as usize].allowed >> cpu & 1 == 0) {
        share.wait_longer(true);
    } else {
        share.failed = CACHE_NICE_TRIES + 1;
        share.wait_longer(false);
        if idle {
            policy.share_mut(from).push = Some(cpu);
            cx.resched(from);
        }
    }
}

/// A task is taken; more may follow.
fn take(policy: &mut impl Balanced, cpu: CpuId, pull: Pull, task: TaskId) -> TaskId {
    let load = pull.load.saturating_sub(policy.weight(task).unwrap_or(0));
    let share = policy.share_mut(cpu);
    share.failed = 0;
    share.pull = Some(Pull { load, tasks: pull.tasks - 1, ..pull });
    task
}

/// What else move_tasks moves.
fn go_on(policy: &mut impl Balanced, cx: &Context<'_>, cpu: CpuId, pull: Pull) -> Option<TaskId> {
    if pull.tasks == 0 || pull.load == 0 {
        return None;
    }
    match movable(policy, cx, cpu, &pull) {
        Movable::This(task) => Some(take(policy, cpu, pull, task)),
        Movable::None | Movable::Pinned => None,
    }
}

/// find_busiest_group, each processor a group of its own: where there is enough more load that some should be moved here. Processors
/// that are struck out count as empty.
fn busiest(policy: &impl Balanced, cpu: CpuId, index: usize, struck: u64) -> Option<Pull> {
    let this = policy.share(cpu);
    let this_load = this.load.high(index);
    let (mut total, mut max_load, mut from) = (this_load, 0, cpu);
    for other in (0..policy.processors()).filter(|&other| other != cpu && struck >> other & 1 == 0) {
        let load = policy.share(other).load.low(index);
        total += load;
        if load > max_load && policy.share(other).count > 1 {
            (max_load, from) = (load, other);
        }
    }
    let busiest = policy.share(from);
    let average = total / u64::from(policy.processors());
    if from == cpu || this_load >= max_load || this_load >= average {
        return None;
    }
    let per_task = busiest.load_per_task(policy.scale());
    if 100 * max_load <= IMBALANCE_PCT * this_load || max_load <= per_task {
        return None;
    }
    let most = max_load.saturating_sub(average).min(max_load - per_task);
    let load = match most.min(average - this_load) {
        enough if enough >= per_task => enough,
        _ => small_imbalance(per_task, max_load, this, this_load, policy.scale())?,
    };
    Some(Pull { from, load, tasks: busiest.count - 1 })
}

/// What there is to move.
enum Movable {
    This(TaskId),
    /// Nothing now.
    None,
    /// Nothing ever: no task may use the other processor.
    Pinned,
}

/// move_tasks: the expired ones first, the best priority first, from the tail of its list; no task that weighs more than
/// what is to be moved, unless it would be the best on its new processor and is not the last of the best where it is.
fn movable(policy: &impl Balanced, cx: &Context<'_>, cpu: CpuId, pull: &Pull) -> Movable {
    let running = cx.processors[pull.from as usize].running;
    let (mut best, mut running_prio, mut this_best) = (usize::MAX, usize::MAX, usize::MAX);
    policy.visit(cx, cpu, &mut |_, prio| {
        this_best = this_best.min(prio);
        false
    });
    policy.visit(cx, pull.from, &mut |task, prio| {
        best = best.min(prio);
        if running == Some(task) {
            running_prio = prio;
        }
        false
    });
    let impatient = policy.share(cpu).failed > CACHE_NICE_TRIES;
    let (mut seen, mut pinned) = (running_prio == best, true);
    let taken = policy.visit(cx, pull.from, &mut |task, prio| {
        let heavy = policy.weight(task).is_some_and(|weight| weight > pull.load);
        let skip = heavy && (prio >= this_best || !seen && prio == best);
        seen |= prio == best;
        if skip || cx.tasks[task as usize].allowed >> cpu & 1 == 0 {
            return false;
        }
        pinned = false;
        // can_migrate_task
        running != Some(task) && (impatient || cx.now - policy.last_ran(task) >= CACHE_HOT)
    });
    match taken {
        Some(task) => Movable::This(task),
        None if pinned => Movable::Pinned,
        None => Movable::None,
    }
}

/// Where a task's load is more than what should be moved: one nevertheless, if the difference is two tasks of the busier
/// processor (or one that is heavier than those here), or if more load would be served.
fn small_imbalance(per_task: u64, max_load: u64, this: &Share, this_load: u64, scale: u64) -> Option<u64> {
    let this_per_task = this.load_per_task(scale);
    let wanted = if this.count > 0 && per_task > this_per_task { per_task } else { 2 * per_task };
    let now = per_task.min(max_load) + this_per_task.min(this_load);
    let moved = per_task.min(max_load.saturating_sub(per_task)) + this_per_task.min(this_load + per_task.min(max_load));
    (max_load - this_load >= wanted || moved > now).then_some(per_task)
}
