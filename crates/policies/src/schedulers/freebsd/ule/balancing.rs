//! Which processor a thread is put on, and which threads move to another one: when it idles, and periodically. What follows the tree of groups, as
//! since FreeBSD 9, is in `search.rs`.

use super::{
    Ule, Version,
    calendar::FIRST_IDLE,
    tree::{self, Tree},
};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
    topology::Topology,
};

/// A processor with nothing to run counts as this bad (PRI_MAX_IDLE).
pub const IDLE: u8 = 255;

/// How often tasks that always run move, a second and processor: twice a second the balancer plans moves from one processor to another,
/// as many as half of the difference, which is one once loads are even.
pub const MOVES_AT_MOST: u32 = 2;

/// Moves that the balancer of 2007 has planned from one processor to another.
#[derive(Debug)]
struct Moves {
    from: CpuId,
    to: CpuId,
    left: u32,
}

/// The long-term balancer and what else concerns several processors.
#[derive(Debug)]
pub struct Balancer {
    /// Ticks of the statistics clock from one balancing to the next, on average.
    interval: u64,
    /// Ticks to the next one, and to the next within cores (balance_ticks, balance_group_ticks); 0 if it is to be drawn.
    left: u64,
    left_inside: u64,
    /// The moves that are still to be made.
    plan: Vec<Moves>,
    /// The thread that the balancer moves at present: its new processor is interrupted.
    moving: Option<TaskId>,
    /// When a timer last woke a thread, and the processor that it interrupted.
    pub timer: (Nanos, CpuId),
    /// The least load from which an idle processor takes a thread (kern.sched.steal_thresh).
    pub steal_thresh: u32,
    /// Processors with at least that load: where there are none, idle ones need not look.
    crowded: u32,
    /// Ticks for which a thread's processor is taken to have its memory in its cache (kern.sched.affinity).
    pub affinity: i64,
    /// The groups: of 2007, cores with their threads; since, a tree.
    cores: Vec<Vec<CpuId>>,
    pub tree: Tree,
    /// Whether any core has several threads.
    has_threads: bool,
    /// Room for searches: processors that were tried or may give, those that may take, and the moves that are planned.
    pub tried: Vec<bool>,
    pub takers: Vec<bool>,
    pub planned: Vec<(CpuId, CpuId)>,
}

impl Balancer {
    pub fn new(topology: &Topology, stathz: u64, version: &Version) -> Balancer {
        let processors = topology.processors();
        let affinity = version.rules.hz / if version.old { 300 } else { 1000 };
        let cores = tree::cores(topology);
        Balancer {
            interval: stathz,
            left: 0,
            left_inside: 0,
            plan: Vec::new(),
            moving: None,
            timer: (Nanos::MAX, 0),
            steal_thresh: if version.today { 2 } else { processors.ilog2().min(3) },
            crowded: 0,
            affinity: affinity.max(1),
            has_threads: cores.iter().any(|core| core.len() > 1),
            cores,
            tree: Tree::new(topology),
            tried: vec![false; processors.into()],
            takers: Vec::new(),
            planned: Vec::new(),
        }
    }

    /// A processor has that load, which is one more than before.
    #[inline(always)]
    pub fn grown(&mut self, load: u32) {
        self.crowded += u32::from(load == self.steal_thresh);
    }

    /// A processor has that load, and will have one less.
    #[inline(always)]
    pub fn shrinks(&mut self, load: u32) {
        self.crowded -= u32::from(load == self.steal_thresh);
    }

    /// Whether any processor has the load from which an idle one takes a thread.
    #[inline(always)]
    pub fn is_crowded(&self) -> bool {
        self.crowded > 0
    }

    /// Whether threads of a core are evened out in between (sched_balance_groups).
    fn balances_inside(&self, version: &Version) -> bool {
        version.old && self.has_threads
    }

    /// A tick of the statistics clock before a balancing, or that of the balancing.
    fn counts_down(left: &mut u64, interval: u64, cx: &mut Context<'_>) -> bool {
        if *left == 0 {
            *left = (interval / 2).max(1) + cx.rng.below(interval);
        }
        *left -= 1;
        *left == 0
    }

    /// A thread is woken. If no other one does it, softclock does: in 2007 on the first processor, since only its clock runs callouts;
    /// in 2011 where the thread fell asleep.
    pub fn wakes(&mut self, cx: &Context<'_>, task: TaskId, old: bool) {
        if cx.waker.is_none() {
            self.timer = (cx.now, if old { 0 } else { cx.tasks[task as usize].cpu });
        }
    }

    /// The processor that was interrupted, where the kernel reports that of the woken thread for a timer.
    pub fn interrupted(&self, now: Nanos, cpu: CpuId) -> CpuId {
        if self.timer.0 == now { self.timer.1 } else { cpu }
    }
}

/// Whether a task may use a processor.
pub fn may_use(cx: &Context<'_>, task: TaskId, cpu: CpuId) -> bool {
    cx.tasks[task as usize].allowed.has(cpu)
}

impl Ule {
    /// The processor whose kernel wakes a thread: that of the waker, or of softclock.
    pub fn here(&self, cx: &Context<'_>) -> CpuId {
        cx.waker.map_or(self.balancer.timer.1, |waker| cx.tasks[waker as usize].cpu)
    }

    /// The best priority that runs or waits on a processor, as its own kernel has it (tdq_lowpri). That of 2007 notes it at
    /// switches and as threads are queued, so that a thread that woke counts with its sleep's priority until the next switch.
    /// Later ones compare the running thread with the next one (tdq_setlowpri). While softclock wakes threads, it runs.
    pub fn best_priority(&self, cx: &Context<'_>, cpu: CpuId) -> u8 {
        let processor = &self.processors[cpu as usize];
        let best = if self.version.old {
            processor.lowpri
        } else {
            let running = cx.processors[cpu as usize].running;
            let queued = processor.queue.first().map(|(task, _)| task);
            running.into_iter().chain(queued).map(|task| self.priority(task)).min().unwrap_or(IDLE)
        };
        let softclock = cx.waker.is_none() && cpu == self.here(cx) && !self.version.today;
        if softclock { best.min(self.version.softclock) } else { best }
    }

    /// Whether a thread that was added to another processor than this one interrupts it (tdq_notify): judged by what runs there, today by the
    /// best that ran or waited there before.
    pub fn notifies(&self, cx: &Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> bool {
        let (new, current) = (self.priority(woken), self.priority(running));
        let (last, thresh) = (self.version.rules.first_batch - 1, self.preempt_thresh);
        if self.version.old {
            return new <= current && (current > FIRST_IDLE || new < last && current > last || new <= thresh);
        }
        let best = if self.version.today { self.best_but(cx, cpu, woken) } else { current };
        new < best && (best >= FIRST_IDLE || new <= thresh || new <= last && best > last)
    }

    /// The best priority on a processor without a thread that has just been added.
    fn best_but(&self, cx: &Context<'_>, cpu: CpuId, added: TaskId) -> u8 {
        let queued = self.processors[cpu as usize].queue.first_but(&self.links, added);
        let running = cx.processors[cpu as usize].running;
        running.into_iter().chain(queued).map(|task| self.priority(task)).min().unwrap_or(IDLE)
    }

    /// The processor for a thread that becomes ready (sched_pickcpu). In 2007: where it was, if that is idle or may still have its
    /// memory; an idle one; here, if it is better than the thread that runs here; else where the best is worst.
    pub fn place(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        if !self.version.old {
            return self.place_by_tree(cx, task, false);
        }
        let last = cx.tasks[task as usize].cpu;
        let (priority, left) = {
            let thread = self.thread(task);
            (thread.priority, thread.left)
        };
        if may_use(cx, task, last) {
            let there = self.best_priority(cx, last);
            let warm = left > self.now - self.balancer.affinity;
            if there > FIRST_IDLE || warm && there > priority {
                return last;
            }
        }
        let allowed = || (0..self.processors.len() as CpuId).filter(|&cpu| may_use(cx, task, cpu));
        // A core is idle if all its threads are; its bit in the mask is that of the first (tdg_mask in tdq_idle).
        let idle = |core: &&Vec<CpuId>| core.iter().all(|&cpu| self.processors[cpu as usize].idle);
        let mut idle = self.balancer.cores.iter().filter(idle).map(|core| core[0]);
        if let Some(idle) = idle.find(|&cpu| may_use(cx, task, cpu)) {
            return idle;
        }
        let here = self.here(cx);
        if may_use(cx, task, here) && priority < self.current(cx, here) {
            return here;
        }
        let badness =
            |&cpu: &CpuId| (self.best_priority(cx, cpu), std::cmp::Reverse(self.processors[cpu as usize].load));
        allowed().max_by_key(badness).unwrap_or(last)
    }

    /// The priority of the thread that wakes another: softclock's, if no other one does.
    fn current(&self, cx: &Context<'_>, here: CpuId) -> u8 {
        match cx.waker {
            None => self.version.softclock,
            Some(_) => cx.processors[here as usize].running.map_or(IDLE, |running| self.priority(running)),
        }
    }

    /// Threads that wait on a processor, whatever processors they may use (tdq_transferable).
    pub fn transferable(&self, cx: &Context<'_>, cpu: CpuId) -> u32 {
        self.processors[cpu as usize].load.saturating_sub(u32::from(cx.processors[cpu as usize].running.is_some()))
    }

    /// Whether any of them may use another processor.
    fn has_any_for(&self, cx: &Context<'_>, from: CpuId, to: CpuId) -> bool {
        self.transferable(cx, from) > 0
            && self.processors[from as usize].queue.any(&self.links, |task| may_use(cx, task, to))
    }

    /// The thread that goes from one processor to another, if any (tdq_steal).
    pub fn spare(&self, cx: &Context<'_>, from: CpuId, to: CpuId) -> Option<TaskId> {
        self.processors[from as usize].queue.spare(&self.links, self.version.spares, |task| may_use(cx, task, to))
    }

    /// The threads of a processor's core, in the order of the kernel's list.
    fn core_of(&self, cpu: CpuId) -> impl Iterator<Item = CpuId> {
        let core = self.balancer.cores.iter().find(|core| core.contains(&cpu));
        core.into_iter().flatten().rev().copied()
    }

    /// An idle processor takes a thread (tdq_idled): in 2007, one that waits on its core (kern.sched.steal_htt), else one of the processor with the
    /// highest load, if that is high enough.
    pub fn steal(&mut self, cx: &mut Context<'_>, to: CpuId) -> Option<TaskId> {
        if !self.version.old {
            return self.steal_by_tree(cx, to);
        }
        if self.balancer.has_threads
            && let Some(sibling) = self.core_of(to).find(|&cpu| cpu != to && self.has_any_for(cx, cpu, to))
        {
            return self.spare(cx, sibling, to);
        }
        if !self.balancer.is_crowded() {
            return None;
        }
        let load = |&cpu: &CpuId| self.processors[cpu as usize].load;
        let high = (0..self.processors.len() as CpuId).filter(|cpu| load(cpu) >= self.balancer.steal_thresh);
        let victim = high.filter(|&cpu| cpu != to && self.has_any_for(cx, cpu, to)).max_by_key(load)?;
        self.spare(cx, victim, to)
    }

    /// The idle thread looks again after every interrupt; today only after a switch (kern.sched.always_steal), which for an idle processor counts as of
    /// every other.
    pub fn steal_again(&mut self, cx: &mut Context<'_>, to: CpuId) -> Option<TaskId> {
        let idles = cx.processors[to as usize].running.is_none() && self.processors[to as usize].load == 0;
        if idles && !self.version.today { self.steal(cx, to) } else { None }
    }

    /// Ticks of the statistics clock before the next that plans a balancing, or begins to count down to one; none while one is carried out.
    pub fn ticks_until_balancing(&self) -> u64 {
        let Balancer { left, left_inside, plan, .. } = &self.balancer;
        match (self.processors.len(), plan.len()) {
            (1, _) => u64::MAX,
            (_, 0) if self.balancer.balances_inside(&self.version) => left.min(left_inside).saturating_sub(1),
            (_, 0) => left.saturating_sub(1),
            _ => 0,
        }
    }

    /// As many of them pass.
    pub fn pass_countdown(&mut self, ticks: u64) {
        if self.processors.len() == 1 {
            return;
        }
        self.balancer.left -= ticks;
        if self.balancer.balances_inside(&self.version) {
            self.balancer.left_inside -= ticks;
        }
    }

    /// Counts down to the next balancing, and to the next within cores (sched_clock).
    pub fn count_down(&mut self, cx: &mut Context<'_>) {
        if self.processors.len() == 1 {
            return;
        }
        let interval = self.balancer.interval;
        if Balancer::counts_down(&mut self.balancer.left, interval, cx) {
            if self.version.old { self.balance_cores(cx) } else { self.balance_by_tree(cx) }
        }
        if self.balancer.balances_inside(&self.version)
            && Balancer::counts_down(&mut self.balancer.left_inside, interval, cx)
        {
            self.balance_inside(cx);
        }
    }

    fn load(&self, cpu: CpuId) -> u32 {
        self.processors[cpu as usize].load
    }

    /// Plans a balancing of 2007: from the core with the highest load and something to move to that with the lowest, half of the difference, rounded
    /// up, at most what may move (sched_balance, sched_balance_pair).
    fn balance_cores(&mut self, cx: &mut Context<'_>) {
        let cores = &self.balancer.cores;
        let count = cores.len() as u64;
        let start = cx.rng.below(count);
        let in_turn = || (start..start + count).map(|core| (core % count) as usize);
        let load = |core: usize| cores[core].iter().map(|&cpu| self.load(cpu)).sum::<u32>();
        // The kernel's list of a core's threads begins with the last.
        let to_of = |core: usize| cores[core][cores[core].len() - 1];
        let Some(low) = in_turn().min_by_key(|&core| load(core)) else { return };
        let gives = |core: usize| cores[core].iter().any(|&cpu| self.has_any_for(cx, cpu, to_of(low)));
        // The first of the highest: the last one of those turned around.
        let high = in_turn().filter(|&core| core != low && gives(core));
        let Some(high) =
            high.max_by_key(|&core| (load(core), std::cmp::Reverse((core as u64 + count - start) % count)))
        else {
            return;
        };
        let half = load(high).saturating_sub(load(low)).div_ceil(2);
        let left = half.min(cores[high].iter().map(|&cpu| self.transferable(cx, cpu)).sum());
        let (from, to) = (to_of(high), to_of(low));
        self.plan(Moves { from, to, left });
    }

    fn plan(&mut self, moves: Moves) {
        if moves.left > 0 {
            self.balancer.plan.push(moves);
        }
    }

    /// Plans one within each core: from the first of its threads with the highest load to the first with the lowest (sched_balance_group).
    fn balance_inside(&mut self, cx: &Context<'_>) {
        for core in 0..self.balancer.cores.len() {
            let members = || self.balancer.cores[core].iter().rev().copied();
            let Some(to) = members().min_by_key(|&cpu| self.load(cpu)) else { continue };
            // The first of the highest, again.
            let Some(from) = self.balancer.cores[core].iter().copied().max_by_key(|&cpu| self.load(cpu)) else {
                continue;
            };
            let half = self.load(from).saturating_sub(self.load(to)).div_ceil(2);
            let left = half.min(self.transferable(cx, from));
            self.plan(Moves { from, to, left });
        }
    }

    /// The next planned move to a processor (tdq_move): from the one that was chosen, else from another thread of its core where any waits.
    pub fn next_move(&mut self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        let at = self.balancer.plan.iter().position(|moves| moves.to == to)?;
        let moves = &mut self.balancer.plan[at];
        moves.left -= 1;
        let (from, left) = (moves.from, moves.left);
        let other = || self.core_of(from).find(|&cpu| cpu != from && self.transferable(cx, cpu) > 0);
        let moved = self.spare(cx, from, to).or_else(|| self.spare(cx, other().filter(|&cpu| cpu != to)?, to));
        if moved.is_none() || left == 0 {
            self.balancer.plan.remove(at);
        }
        self.balancer.moving = moved;
        moved
    }

    /// A thread joins another queue. In 2007 the balancer interrupts the processor of the one that it moves, whatever runs there
    /// (sched_balance_pair); else a better thread preempts a worse one. Later the processor is notified as of any other thread.
    pub fn pull(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        if !self.version.old {
            return;
        }
        let balanced = self.balancer.moving.take() == Some(task);
        if let Some(running) = cx.processors[cpu as usize].running
            && (balanced || self.priority(task) < self.priority(running))
        {
            self.processors[cpu as usize].preempting = true;
            cx.resched_at_once(cpu);
        }
    }
}
