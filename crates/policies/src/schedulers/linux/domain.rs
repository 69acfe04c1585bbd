//! Tasks between processors as in Linux 2.6.20 to 2.6.22: what a processor pulls that has less load than another, when it idles and periodically, at each
//! of its domains (`levels.rs`); where a woken task goes is in `placing.rs`. Policies that replaced what a processor does kept all of this.

mod busiest;
mod levels;
mod placing;
mod share;

use crate::schedulers::{Balance, Context, Ticks};
use busiest::{balances, busiest};
pub use levels::Domains;
pub use placing::{exec, select};
use schedlab_model::{
    MILLISECOND, Nanos,
    processors::CpuSet,
    task::{CpuId, TaskId, Wait},
};
pub use share::Share;
use share::{MAX_PINNED_INTERVAL, Pull};

/// A task that ran less than this ago has its data in the cache, and stays (the default of a domain of processors).
const CACHE_HOT: Nanos = 2_500_000;
/// What is promised of a processor that idles while a task waits elsewhere, over the two processors that there are at least: bound tasks make
/// looks rare, the first ones find only what is in the cache, and then the migration thread has to push.
pub const FINDS_WORK: Nanos = (levels::CPU.cache_nice_tries as u64 + 3) * MAX_PINNED_INTERVAL * MILLISECOND / 2;
/// How often tasks that always run move, a second and processor: a busy one looks at most every 64 ms.
pub const MOVES_AT_MOST: u32 = 1000 / 64 + 1;

/// A policy with a runqueue a processor that is balanced by these rules.
pub trait Balanced {
    /// The domains of the machine.
    fn domains(&self) -> &Domains;
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
    /// Whether the [`sync`] of its last wait is so.
    fn wakes_in_sync(&self, task: TaskId) -> bool;
    /// Visits the tasks of a processor, the running one included, in the order in which others take them, with their priority (0 is
    /// the best), until one is taken.
    fn visit(&self, cx: &Context<'_>, cpu: CpuId, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId>;
    /// Takes a ready task out of its list; it still counts.
    fn take_out(&mut self, cpu: CpuId, task: TaskId);
}

/// Whether a wait ends with a sync wakeup, by a task that is about to leave its processor: it waits for the answer to its message (`pipe_write`), or
/// it ends, and wakes its parent (`__wake_up_parent`).
pub fn sync(wait: Wait) -> bool {
    matches!(wait, Wait::Pipe | Wait::Child)
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
    let tour = policy.share_mut(cpu).tour.take();
    if let Some(pull) = policy.share_mut(cpu).pull.take() {
        let more = go_on(policy, cx, cpu, pull);
        if more.is_some() || tour.is_none() {
            policy.share_mut(cpu).tour = tour;
            return more;
        }
    }
    look_around(policy, cx, cpu, tour)
}

/// run_rebalance_domains: the domains that are due, from the lowest up. It goes on there when a task has been taken, as the processor of one that is
/// busy.
fn look_around(
    policy: &mut impl Balanced,
    cx: &mut Context<'_>,
    cpu: CpuId,
    tour: Option<(usize, bool)>,
) -> Option<TaskId> {
    let (begin, mut idle) = tour.unwrap_or_else(|| (0, cx.processors[cpu as usize].running.is_none()));
    for level in begin..policy.domains().of(cpu).len() {
        let factor = if idle { 1 } else { policy.domains().of(cpu)[level].kind.busy_factor };
        let share = policy.share_mut(cpu);
        let looks = &mut share.looks[level];
        if share.ticks < looks.last + looks.ticks_between(factor, cx.tick) {
            continue;
        }
        looks.last = share.ticks;
        if !balances(policy, cx, cpu, level) {
            rest(policy, cpu, level, false);
            break;
        }
        if let Some(task) = look(policy, cx, cpu, level, idle) {
            policy.share_mut(cpu).tour = Some((level + 1, false));
            return Some(task);
        }
        // A thread whose core is busy looks further up as a busy one.
        idle &= !is_core_busy(policy, cx, cpu, level);
    }
    None
}

/// Whether a domain is that of the threads of a core of which one runs a task.
fn is_core_busy(policy: &impl Balanced, cx: &Context<'_>, cpu: CpuId, level: usize) -> bool {
    let level = &policy.domains().of(cpu)[level];
    level.kind.shares_core && level.cpus().any(|cpu| cx.processors[cpu as usize].running.is_some())
}

/// There was nothing to do.
fn rest(policy: &mut impl Balanced, cpu: CpuId, level: usize, pinned: bool) {
    let mut looks = policy.share(cpu).looks[level];
    looks.failed = 0;
    looks.wait_longer(pinned, &policy.domains().of(cpu)[level]);
    policy.share_mut(cpu).looks[level] = looks;
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
    let may = |task: TaskId| cx.tasks[task as usize].allowed.has(to);
    let Some(task) = policy.visit(cx, cpu, &mut |task, _| may(task)) else { return };
    policy.take_out(cpu, task);
    policy.share_mut(cpu).pushed = Some((task, to));
    cx.resched(to);
}

/// idle_balance, load_balance_newidle: processors of which no task may or should move are struck out. Where the core of the thread is busy, that is
/// all.
fn pull_newly_idle(policy: &mut impl Balanced, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
    for level in 0..policy.domains().of(cpu).len() {
        let kind = policy.domains().of(cpu)[level].kind;
        if !kind.newly_idle {
            continue;
        }
        let mut struck = CpuSet::none();
        while let Some(pull) = busiest(policy, cpu, level, kind.newly_idle_index, &struck) {
            if let Movable::This(task) = movable(policy, cx, cpu, &pull) {
                return Some(take(policy, cpu, pull, task));
            }
            struck.insert(pull.from);
        }
        policy.share_mut(cpu).looks[level].failed = 0;
        if is_core_busy(policy, cx, cpu, level) {
            break;
        }
    }
    None
}

/// load_balance: a processor all of whose tasks are pinned is struck out; another one with tasks that should not move yet is a failure.
fn look(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId, level: usize, idle: bool) -> Option<TaskId> {
    let kind = policy.domains().of(cpu)[level].kind;
    let index = if idle { kind.idle_index } else { kind.busy_index };
    let mut struck = CpuSet::none();
    while let Some(pull) = busiest(policy, cpu, level, index, &struck) {
        match movable(policy, cx, cpu, &pull) {
            Movable::This(task) => {
                policy.share_mut(cpu).looks[level].interval = kind.min_interval;
                return Some(take(policy, cpu, pull, task));
            }
            Movable::None => {
                fail(policy, cx, cpu, &pull);
                return None;
            }
            Movable::Pinned => struck.insert(pull.from),
        }
    }
    rest(policy, cpu, level, !struck.is_empty());
    None
}

/// No task could be moved though there is too much load. After some such looks the migration thread moves even a running one, and one that is alone
/// on its processor.
fn fail(policy: &mut impl Balanced, cx: &mut Context<'_>, cpu: CpuId, pull: &Pull) {
    let idle = cx.processors[cpu as usize].running.is_none();
    let running = cx.processors[pull.from as usize].running;
    let level = &policy.domains().of(cpu)[pull.level];
    let (tries, min_interval) = (level.kind.cache_nice_tries, level.kind.min_interval);
    let mut looks = policy.share(cpu).looks[pull.level];
    looks.failed += 1;
    let mut pushes = None;
    if looks.failed <= tries + 2 {
        looks.interval = min_interval;
    } else if running.is_some_and(|task| !cx.tasks[task as usize].allowed.has(cpu)) {
        looks.wait_longer(true, level);
    } else {
        looks.failed = tries + 1;
        looks.wait_longer(false, level);
        pushes = running.filter(|_| idle);
    }
    policy.share_mut(cpu).looks[pull.level] = looks;
    match pushes {
        Some(task) if policy.share(pull.from).count == 1 => cx.move_to(task, cpu),
        Some(_) => {
            policy.share_mut(pull.from).push = Some(cpu);
            cx.resched(pull.from);
        }
        None => {}
    }
}

/// A task is taken; more may follow.
fn take(policy: &mut impl Balanced, cpu: CpuId, pull: Pull, task: TaskId) -> TaskId {
    let load = pull.load.saturating_sub(policy.weight(task).unwrap_or(0));
    let share = policy.share_mut(cpu);
    share.looks[pull.level].failed = 0;
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
    if policy.share(pull.from).count < 2 {
        return Movable::None;
    }
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
    let tries = policy.domains().of(cpu)[pull.level].kind.cache_nice_tries;
    let impatient = policy.share(cpu).looks[pull.level].failed > tries;
    let (mut seen, mut pinned) = (running_prio == best, true);
    let taken = policy.visit(cx, pull.from, &mut |task, prio| {
        let heavy = policy.weight(task).is_some_and(|weight| weight > pull.load);
        let skip = heavy && (prio >= this_best || !seen && prio == best);
        seen |= prio == best;
        if skip || !cx.tasks[task as usize].allowed.has(cpu) {
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
