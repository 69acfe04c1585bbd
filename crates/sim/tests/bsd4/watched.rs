//! A policy around one of the 4BSD family that writes down, at every tick of the statistics clock, what `ps -l` would show.

use schedlab_model::{
    Nanos,
    info::{Info, Params},
    scenario::Scenario,
    task::{CpuId, TaskId},
    topology::Topology,
};
use schedlab_policies::schedulers::{
    Balance, Bsd4, Bsd44x, Bsd452, Clocks, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
};
use schedlab_testing::schedulers::{Run, run_under};
use std::cell::RefCell;

/// A line of `ps -l`.
#[derive(Debug, Clone, Copy)]
pub struct Line {
    pub time: Nanos,
    pub task: TaskId,
    /// Its usage.
    pub usage: u32,
    /// The priority that it has in its own code.
    pub priority: u16,
}

/// A policy whose state `ps -l` can show.
pub trait Ps: Scheduler {
    fn ps(&self, task: TaskId) -> (u32, u16);
}

impl Ps for Bsd4 {
    fn ps(&self, task: TaskId) -> (u32, u16) {
        self.usage(task)
    }
}

impl Ps for Bsd452 {
    fn ps(&self, task: TaskId) -> (u32, u16) {
        self.usage(task)
    }
}

impl Ps for Bsd44x {
    fn ps(&self, task: TaskId) -> (u32, u16) {
        self.usage(task)
    }
}

thread_local! {
    static LINES: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Runs a scenario under a policy and returns the run and the lines of every task at every tick.
#[track_caller]
pub fn watch<S: Ps>(scenario: &Scenario, seed: u64) -> (Run, Vec<Line>) {
    LINES.take();
    let run = run_under::<Watched<S>>(scenario, seed).sound();
    (run, LINES.take())
}

struct Watched<S>(S, Vec<TaskId>);

impl<S: Ps> Scheduler for Watched<S> {
    const INFO: Info = S::INFO;
    const FEATURES: Features = Features {
        stat_ticks: true,
        interrupts: S::FEATURES.interrupts,
        user_returns: S::FEATURES.user_returns,
        ..Features::NONE
    };

    fn clocks(params: &Params, machine: Clocks) -> Clocks {
        S::clocks(params, machine)
    }

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        Watched(S::new(params, topology, tick), Vec::new())
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.0.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if why == Enqueue::New {
            self.1.push(task);
        }
        self.0.enqueue(cx, cpu, task, why);
    }

    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        if why == Dequeue::Exit {
            self.1.retain(|other| *other != task);
        }
        self.0.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        self.0.pick_next(cx, cpu)
    }

    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        self.0.wakeup_preempts(cx, cpu, running, woken)
    }

    fn return_to_user(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.0.return_to_user(cx, cpu, task);
    }

    fn stat_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.0.stat_tick(cx, cpu);
        for &task in &self.1 {
            let (usage, priority) = self.0.ps(task);
            LINES.with_borrow_mut(|lines| lines.push(Line { time: cx.now, task, usage, priority }));
        }
    }

    fn interrupted(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.0.interrupted(cx, cpu);
    }

    fn reaped(&mut self, cx: &mut Context<'_>, parent: TaskId, child: TaskId) {
        self.0.reaped(cx, parent, child);
    }

    fn timer(&mut self, cx: &mut Context<'_>, cpu: CpuId, token: u32) {
        self.0.timer(cx, cpu, token);
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        self.0.balance(cx, cpu, why)
    }
}
