//! Which processor a thread is put on, and which threads move to another one: when it idles, and periodically.

use super::{Ule, Version, calendar::FIRST_IDLE};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

/// A processor with nothing to run counts as this bad (PRI_MAX_IDLE).
pub const IDLE: u8 = 255;

/// The long-term balancer and what else concerns several processors.
#[derive(Debug)]
pub struct Balancer {
    /// Ticks of the statistics clock from one balancing to the next, on average.
    interval: u64,
    /// Ticks to the next one; 0 if it is to be drawn.
    left: u64,
    /// The moves that are still to be made.
    from: CpuId,
    to: CpuId,
    moves: u32,
    /// The thread that the balancer moves at present: its new processor is interrupted.
    moving: Option<TaskId>,
    /// When a timer last woke a thread, and the processor that it interrupted.
    timer: (Nanos, CpuId),
    /// The least load from which an idle processor takes a thread (kern.sched.steal_thresh).
    steal_thresh: u32,
    /// Ticks for which a thread's processor is taken to have its memory in its cache (kern.sched.affinity).
    affinity: i64,
}

impl Balancer {
    pub fn new(processors: u16, stathz: u64, version: &Version) -> Balancer {
        let affinity = version.rules.hz / if version.old { 300 } else { 1000 };
        let steal_thresh = processors.ilog2().min(3);
        Balancer {
            interval: stathz,
            left: 0,
            from: 0,
            to: 0,
            moves: 0,
            moving: None,
            timer: (Nanos::MAX, 0),
            steal_thresh,
            affinity: affinity.max(1),
        }
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
fn may_use(cx: &Context<'_>, task: TaskId, cpu: CpuId) -> bool {
    cx.tasks[task as usize].allowed >> cpu & 1 == 1
}

impl Ule {
    /// The processor whose kernel wakes a thread: that of the waker, or of softclock.
    pub fn here(&self, cx: &Context<'_>) -> CpuId {
        cx.waker.map_or(self.balancer.timer.1, |waker| cx.tasks[waker as usize].cpu)
    }

    /// The best priority that runs or waits on a processor, as its own kernel has it (tdq_lowpri). That of 2007 notes it at
    /// switches and as threads are queued, so that a thread that woke counts with its sleep's priority until the next switch.
    /// Later ones compare the running thread with the next one (tdq_setlowpri). While softclock wakes threads, it runs.
    fn best_priority(&self, cx: &Context<'_>, cpu: CpuId) -> u8 {
        let processor = &self.processors[cpu as usize];
        let best = if self.version.old {
            processor.lowpri
        } else {
            let running = cx.processors[cpu as usize].running;
            let queued = processor.queue.first().map(|(task, _)| task);
            running.into_iter().chain(queued).map(|task| self.priority(task)).min().unwrap_or(IDLE)
        };
        if cx.waker.is_none() && cpu == self.here(cx) { best.min(self.version.softclock) } else { best }
    }

    /// The processor for a thread that becomes ready (sched_pickcpu): where it was, if that is idle or may still have its
    /// memory; an idle one; here, if it is better than the thread that runs here; else where the best is worst.
    pub fn place(&mut self, cx: &Context<'_>, task: TaskId) -> CpuId {
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
        if let Some(idle) = allowed().find(|&cpu| self.processors[cpu as usize].idle) {
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
    fn transferable(&self, cx: &Context<'_>, cpu: CpuId) -> u32 {
        self.processors[cpu as usize].load.saturating_sub(u32::from(cx.processors[cpu as usize].running.is_some()))
    }

    /// Whether any of them may use another processor.
    fn has_any_for(&self, cx: &Context<'_>, from: CpuId, to: CpuId) -> bool {
        self.transferable(cx, from) > 0
            && self.processors[from as usize].queue.any(&self.links, |task| may_use(cx, task, to))
    }

    /// The thread that goes from one processor to another, if any (tdq_steal).
    fn spare(&self, cx: &Context<'_>, from: CpuId, to: CpuId) -> Option<TaskId> {
        self.processors[from as usize].queue.spare(&self.links, |task| may_use(cx, task, to))
    }

    /// An idle processor takes a thread from the one with the highest load, if that is high enough (tdq_idled).
    pub fn steal(&self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        let load = |&cpu: &CpuId| self.processors[cpu as usize].load;
        let high = (0..self.processors.len() as CpuId).filter(|cpu| load(cpu) >= self.balancer.steal_thresh);
        let victim = high.filter(|&cpu| cpu != to && self.has_any_for(cx, cpu, to)).max_by_key(load)?;
        self.spare(cx, victim, to)
    }

    /// The idle thread looks again after every interrupt.
    pub fn steal_again(&self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        let idles = cx.processors[to as usize].running.is_none() && self.processors[to as usize].load == 0;
        if idles { self.steal(cx, to) } else { None }
    }

    /// Ticks of the statistics clock before the next that plans a balancing, or begins to count down to one; none while one is carried out.
    pub fn ticks_until_balancing(&self) -> u64 {
        match (self.processors.len(), self.balancer.moves) {
            (1, _) => u64::MAX,
            (_, 0) => self.balancer.left.saturating_sub(1),
            _ => 0,
        }
    }

    /// As many of them pass.
    pub fn pass_countdown(&mut self, ticks: u64) {
        if self.processors.len() > 1 {
            self.balancer.left -= ticks;
        }
    }

    /// Counts down to the next balancing and plans it: from the highest load with something to move to the lowest, half
    /// of the difference, rounded up (sched_balance, sched_balance_pair).
    pub fn count_down(&mut self, cx: &mut Context<'_>) {
        let count = self.processors.len() as u64;
        if count == 1 {
            return;
        }
        let Balancer { left, interval, .. } = &mut self.balancer;
        if *left == 0 {
            *left = (*interval / 2).max(1) + cx.rng.below(*interval);
        }
        *left -= 1;
        if *left > 0 {
            return;
        }
        let start = cx.rng.below(count);
        let in_turn = || (start..start + count).map(|cpu| (cpu % count) as CpuId);
        let load = |cpu: CpuId| self.processors[cpu as usize].load;
        let Some(to) = in_turn().min_by_key(|&cpu| load(cpu)) else { return };
        // The first of the highest: the last one of those turned around.
        let high = in_turn().filter(|&cpu| cpu != to && self.has_any_for(cx, cpu, to));
        let Some(from) =
            high.max_by_key(|&cpu| (load(cpu), std::cmp::Reverse((u64::from(cpu) + count - start) % count)))
        else {
            return;
        };
        let half = load(from).saturating_sub(load(to)).div_ceil(2);
        let moves = half.min(self.transferable(cx, from));
        (self.balancer.from, self.balancer.to, self.balancer.moves) = (from, to, moves);
    }

    /// The next planned move to a processor.
    pub fn next_move(&mut self, cx: &Context<'_>, to: CpuId) -> Option<TaskId> {
        if self.balancer.moves == 0 || self.balancer.to != to {
            return None;
        }
        self.balancer.moves -= 1;
        let moved = self.spare(cx, self.balancer.from, to);
        if moved.is_none() {
            self.balancer.moves = 0;
        }
        self.balancer.moving = moved;
        moved
    }

    /// A thread joins another queue. The balancer interrupts the processor of the one that it moves, whatever runs there
    /// (sched_balance_pair); else a better thread preempts a worse one.
    pub fn pull(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let balanced = self.balancer.moving.take() == Some(task);
        if let Some(running) = cx.processors[cpu as usize].running
            && (balanced || self.priority(task) < self.priority(running))
        {
            self.processors[cpu as usize].preempting = true;
            cx.resched_at_once(cpu);
        }
    }
}
