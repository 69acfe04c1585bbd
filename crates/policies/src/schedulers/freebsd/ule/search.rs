//! Placing, stealing and balancing along the tree of groups, as since FreeBSD 9. A group counts with the sum of its processors' loads, so that the
//! least loaded processor of the least loaded path is found, which may not be the least loaded of the machine.

use super::{
    Ule,
    balancing::may_use,
    calendar::FIRST_IDLE,
    calendar::LAST_BATCH,
    tree::{SHARE_L2, Tree},
};
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, TaskId};

/// A thread in the sums of loads.
const ONE: i64 = 256;

/// How much less the last processor counts in the search for the least loaded, and below which numbers the draws are that decide between
/// equals there and in the search for the most loaded (cpu_search; cpu_search_lowest, cpu_search_highest).
const BONUS_2011: i64 = 64;
const BONUS_2023: i64 = 128;
const DRAWS_HIGHEST_2023: i64 = 256;

/// What [`Ule::lowest`] looks for (struct cpu_search).
#[derive(Debug, Clone, Copy)]
struct Low {
    /// Only where all that runs or waits is worse than this priority; -1: anywhere.
    than: i32,
    /// The most threads there.
    most: u32,
    /// The processor that is preferred.
    last: CpuId,
    /// Whether the thread runs there at present, so that it counts itself.
    running: bool,
}

/// What a search found: the sum of a group's loads, and the best of those that are acceptable, with what it counts as.
type Found = (i64, Option<(CpuId, i64)>);

impl Ule {
    /// The processor with the least load on the least loaded path (sched_lowest).
    fn lowest(&self, cx: &mut Context<'_>, group: usize, low: &Low, usable: &impl Fn(CpuId) -> bool) -> Found {
        let groups = &self.balancer.tree.groups;
        let (mut total, mut best, mut best_path) = (0, None, i64::MAX);
        for &child in groups[group].children.iter().rev() {
            let (load, found) = self.lowest(cx, child, low, usable);
            total += load;
            // A thread that runs does not prefer its core if another one runs there too.
            let crowded = low.running && groups[child].threads && load >= ONE / 2 && load & (ONE / 2) != 0;
            let path = if crowded { load + ONE / 2 } else { load };
            if let Some((_, key)) = found
                && (path < best_path || path == best_path && best.is_none_or(|(_, least)| key < least))
            {
                (best, best_path) = (found, path);
            }
        }
        if !groups[group].children.is_empty() {
            return (total, best);
        }
        let bonus = if self.version.today { BONUS_2023 } else { BONUS_2011 };
        for &cpu in groups[group].cpus.iter().rev() {
            let preferred = cpu == low.last;
            let itself = preferred && low.running;
            let load = self.processors[usize::from(cpu)].load.saturating_sub(u32::from(itself));
            let counts = i64::from(load) * ONE;
            total += counts - if preferred { bonus } else { 0 };
            if load > low.most || !usable(cpu) || !itself && i32::from(self.best_priority(cx, cpu)) <= low.than {
                continue;
            }
            let less = if preferred && !(itself && load > 0) { bonus } else { 0 };
            let key = counts - less - cx.rng.below(bonus as u64) as i64;
            if best.is_none_or(|(_, least)| key < least) {
                best = Some((cpu, key));
            }
        }
        (total, best)
    }

    /// The processor with the highest load, of at least the given numbers of threads and of waiting ones, on the most loaded path (sched_highest).
    fn highest(&self, cx: &mut Context<'_>, group: usize, least: (u32, u32), usable: &impl Fn(CpuId) -> bool) -> Found {
        let groups = &self.balancer.tree.groups;
        let (mut total, mut best, mut best_path) = (0, None, i64::MIN);
        for &child in groups[group].children.iter().rev() {
            let (load, found) = self.highest(cx, child, least, usable);
            total += load;
            if let Some((_, key)) = found
                && (load > best_path || load == best_path && best.is_none_or(|(_, most)| key > most))
            {
                (best, best_path) = (found, load);
            }
        }
        if !groups[group].children.is_empty() {
            return (total, best);
        }
        let draws = if self.version.today { DRAWS_HIGHEST_2023 } else { BONUS_2011 };
        for &cpu in groups[group].cpus.iter().rev() {
            let load = self.processors[usize::from(cpu)].load;
            total += i64::from(load) * ONE;
            if load < least.0 || self.transferable(cx, cpu) < least.1 || !usable(cpu) {
                continue;
            }
            let key = i64::from(load) * ONE - cx.rng.below(draws as u64) as i64;
            if best.is_none_or(|(_, most)| key > most) {
                best = Some((cpu, key));
            }
        }
        (total, best)
    }

    /// The processor for a thread that becomes ready or, at the balancer's wish, leaves its processor (sched_pickcpu): the last one if that is
    /// idle and warm, with all its core; an idle one that shares a warm cache; the least loaded where it would run at once; the least loaded; or
    /// the one that wakes it, if that is not much more loaded.
    pub fn place_by_tree(&self, cx: &mut Context<'_>, task: TaskId, running: bool) -> CpuId {
        let (last, allowed) = (cx.tasks[task as usize].cpu, &cx.view.tasks[task as usize].allowed);
        let usable = |cpu: CpuId| allowed.has(cpu);
        let (priority, left) =
            self.threads[task as usize].as_ref().map_or((0, 0), |thread| (thread.priority, thread.left));
        let (tree, affinity, now) = (&self.balancer.tree, self.balancer.affinity, self.now);
        let idles = |cx: &Context<'_>, cpu: CpuId| self.best_priority(cx, cpu) >= FIRST_IDLE;
        if !running && usable(last) && idles(cx, last) && Tree::warm(left, now, SHARE_L2, affinity) {
            let own = &tree.groups[tree.of[usize::from(last)]];
            if !own.threads || own.cpus.iter().all(|&cpu| idles(cx, cpu)) {
                return last;
            }
        }
        let low = |than: i32| Low { than, most: u32::MAX, last, running };
        let warm = if running { None } else { tree.warm_group(last, left, now, affinity) };
        let idle = i32::from(priority.max(LAST_BATCH));
        let mut found = warm.and_then(|group| self.lowest(cx, group, &low(idle), &usable).1);
        for than in [priority.into(), -1] {
            found = found.or_else(|| self.lowest(cx, 0, &low(than), &usable).1);
        }
        let Some((found, _)) = found else { return last };
        let here = if running { last } else { self.here(cx) };
        let load = |cpu: CpuId| self.processors[usize::from(cpu)].load;
        let better = usable(here) && self.best_priority(cx, here) > priority && !idles(cx, found);
        if better && load(here) <= load(found) + 1 { here } else { found }
    }

    /// An idle processor takes a thread from the most loaded of its own group, then of the groups above (tdq_idled; before it idles, tdq_trysteal
    /// looks at the first two of the same groups, which changes nothing here, where looking takes no time).
    pub fn steal_by_tree(&mut self, cx: &mut Context<'_>, to: CpuId) -> Option<TaskId> {
        let mut tried = std::mem::take(&mut self.balancer.tried);
        tried.fill(false);
        tried[usize::from(to)] = true;
        let mut group = Some(self.balancer.tree.of[usize::from(to)]);
        let mut stolen = None;
        while let Some(at) = group {
            let of_core = self.balancer.tree.groups[at].threads && !self.version.today;
            if !of_core && !self.balancer.is_crowded() {
                break; // nor has any group above enough of them
            }
            let least = if of_core { 1 } else { self.balancer.steal_thresh };
            match self.highest(cx, at, (least, 1), &|cpu| !tried[usize::from(cpu)]).1 {
                None => group = self.balancer.tree.groups[at].parent,
                Some((from, _)) => {
                    stolen = self.spare(cx, from, to);
                    if stolen.is_some() {
                        break;
                    }
                    tried[usize::from(from)] = true;
                }
            }
        }
        self.balancer.tried = tried;
        stolen
    }

    /// The periodic balancing (sched_balance_group): from the most loaded with something to give to the least loaded one thread, and again with
    /// those that have neither given nor received. Today a thread that is alone on the most loaded looks for a processor itself.
    pub fn balance_by_tree(&mut self, cx: &mut Context<'_>) {
        self.balancer.timer = (cx.now, 0);
        let mut givers = std::mem::take(&mut self.balancer.tried);
        givers.fill(true);
        let waiting = u32::from(!self.version.today);
        while let Some((high, _)) = self.highest(cx, 0, (1, waiting), &|cpu| givers[usize::from(cpu)]).1 {
            givers[usize::from(high)] = false;
            let load = self.processors[usize::from(high)].load;
            if self.version.today && load == 1 {
                self.let_pick(cx, high);
                break;
            }
            if self.transferable(cx, high) == 0 {
                continue;
            }
            self.balancer.takers.clone_from(&givers);
            if !self.give(cx, high, load, &mut givers) {
                break;
            }
        }
        self.balancer.tried = givers;
        // The moves follow, and count then.
        for &(from, to) in &self.balancer.planned {
            self.processors[usize::from(from)].load += 1;
            self.processors[usize::from(to)].load -= 1;
        }
        self.balancer.planned.clear();
    }

    /// One thread goes from the most loaded to the least loaded that may have it. Returns whether it is worth to look at the next.
    fn give(&mut self, cx: &mut Context<'_>, high: CpuId, load: u32, givers: &mut [bool]) -> bool {
        let mut takers = std::mem::take(&mut self.balancer.takers);
        let low = Low { than: -1, most: load - 1, last: high, running: self.version.today };
        let mut others = false;
        let goes_on = loop {
            let Some((to, _)) = self.lowest(cx, 0, &low, &|cpu| takers[usize::from(cpu)]).1 else { break others };
            if let Some(task) = self.spare(cx, high, to) {
                cx.move_to(task, to);
                givers[usize::from(to)] = false;
                self.processors[usize::from(high)].load -= 1;
                self.processors[usize::from(to)].load += 1;
                self.balancer.planned.push((high, to));
                break true;
            }
            (takers[usize::from(to)], others) = (false, true);
        };
        self.balancer.takers = takers;
        goes_on
    }

    /// A running thread picks a processor anew (TDF_PICKCPU), as if its caches were cold. Its kernel waits for its return to user mode; here, one
    /// that cannot be preempted at present stays until the next balancing.
    fn let_pick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let Some(task) = cx.processors[usize::from(cpu)].running else { return };
        let to = self.place_by_tree(cx, task, true);
        if to != cpu && may_use(cx, task, to) {
            cx.move_to(task, to);
        }
    }
}
