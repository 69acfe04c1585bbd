//! # linux_1_0
//!
//! Promises every task as many clock ticks as its priority in each round, and a task that slept through a round additional
//! ticks in the next.
//!
//! ## The idea
//!
//!     A task has a counter of ticks. The one with the largest counter runs, the oldest of equals, until a tick brings
//!     its counter to 0 or a task with a larger one wakes.
//!     When all that are able to run have used up theirs, every task, asleep or not, keeps half of what it has and gets
//!     its priority in ticks in addition. So a task that sleeps accumulates up to twice its priority, and goes first when
//!     it wakes.
//!
//! ## The formula
//!
//!     counter   =  floor(counter / 2) + priority       in each round, for every task
//!     priority  =  15 - nice                           at least 1, at most 35
//!
//! A tick is 10 ms at 100 ticks a second, so that a slice is 150 ms at nice 0. Tasks that never wait share by their priorities:
//! nice 0 against 5 is 15 : 10. A task that sleeps for many rounds has 29 ticks at nice 0.
//!
//! ## A schedule
//!
//! Two tasks that never wait, one of them nice, and one that sleeps. When it wakes it always has more ticks left than they
//! have:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "linux_1_0" }
//! workload.a = { load = "spin", compute = "450ms" }
//! workload.b = { load = "spin", compute = "300ms", nice = 5 }
//! workload.c = { load = "sleeper", run = "60ms", sleep = "130ms", rounds = 4 }
//! ```
//!
//! ```text
//!         0ms       100ms     200ms     300ms     400ms     500ms     600ms     700ms     800ms     900ms
//!         |         |         |         |         |         |         |         |         |         |
//! a#0     ##############...............####......###########................#####......##########..........#
//! b#1     ....................#########.....................##......########.....................##########.#
//! c#2     ..............######             ######             ######             ######
//! idle 0
//!         a column is 10ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Pick: linear in the tasks that are able to run. A round: linear in all tasks; those asleep are brought up to date when
//! they wake.
//!
//! ## Good for, not for
//!
//! The few tasks of a personal computer of its time: an editor alongside a compiler responds at once. Not for many tasks,
//! as both a pick and a round grow with their number, nor for a task that has used its counter up and wakes alongside
//! eight others that have not: it waits a second.
//!
//! It does not prevent starvation, nor did the original. A round begins only when every task that is able to run has used up
//! its counter, and a child begins with half of its parent's. A program that forks a child of 5 ms, waits for it and forks the
//! next one keeps some task with ticks left: a task that computes alongside it gets 0.2 % of the processor at 100 ticks a
//! second and 0.05 % at 1000, and waits for most of a minute.
//!
//! On several processors a round begins, for all, when none of the tasks that wait has ticks left. A processor that may run none of those
//! that have some takes, until then, the oldest of those that have none.
//!
//! Nor does it always give equal tasks equal shares. A tick is charged to the task that it finds running, however little
//! that one has run, so that alongside tasks that sleep and wake in step with the clock one of four equals can have a
//! quarter less than another. Of three equal tasks that only compute on two processors the oldest has 75 % of one and the others
//! 62.5 %: a task that runs when a round begins keeps half of its ticks, and the oldest of equals goes first.
//!
//! ## Departures
//!
//! - The original has one processor. On several there is one list and there are rounds of all, as in Linux 2.0 to 2.4: each processor
//!   takes the largest counter among the tasks that wait and that it may run, a round begins when none of those that wait has ticks left,
//!   and a task that wakes while none is idle goes to the one whose task has the fewest. In Linux 2.4 a round begins as soon as a processor
//!   finds no ticks left among those that it may run: a task of nice 20 bound to one processor and two that compute bound to another
//!   would begin rounds so often that one of the two never runs.
//! - The counter is in ticks of the machine's clock, whatever their length, as in the original, whose clock had 100 a second.
//! - A task that no other one forked begins with a full counter.
//! - There was no way to yield: a task that does goes on unless another one has a larger counter. There were no scheduling
//!   policies but this one, and no groups.
//! - A sleep ends at a clock tick there, where the kernel checks all timers as it chooses. Here it ends when the machine
//!   says (`clock.timers`); the choice made then is the same: the larger counter. A comparison with `counter + 3` came
//!   with Linux 1.3.
//!
//! ## References
//!
//! - Linux 1.0, kernel/sched.c (`schedule`, `do_timer`, `wake_up`), kernel/fork.c, kernel/sys.c (`sys_nice`),
//!   include/linux/sched.h (`INIT_TASK`).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks, View, kit::shared_queue::Shared,
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{CpuId, Task, TaskId, Wait},
    topology::Topology,
};
use std::cmp::Reverse;

/// Ticks that a task of nice 0 gets in a round.
const DEF_PRIORITY: i32 = 15;
/// The least and the most.
const PRIORITIES: (i32, i32) = (1, 35);
/// After this many rounds a counter does not change any more, whatever its task's priority.
const ROUNDS: u64 = 8;

/// The largest counter.
#[derive(Debug)]
pub struct Linux10 {
    /// The tasks that are able to run, including the running ones, by age.
    able: Vec<TaskId>,
    /// Rounds so far.
    rounds: u64,
    shared: Shared,
    tasks: Vec<Entity>,
}

/// What the scheduler keeps of a task.
#[derive(Debug, Clone, Copy)]
struct Entity {
    /// Ticks left.
    counter: u32,
    /// Ticks that it gets in a round.
    priority: u32,
    /// While it sleeps: since which round, and whether for a timer.
    slept: u64,
    timer: bool,
}

impl Entity {
    fn new(task: &Task) -> Entity {
        let priority = priority(task);
        Entity { counter: priority, priority, slept: 0, timer: false }
    }

    /// A round begins.
    #[inline]
    fn refill(&mut self) {
        self.counter = self.counter / 2 + self.priority;
    }
}

/// Ticks that a task gets in a round.
fn priority(task: &Task) -> u32 {
    (DEF_PRIORITY - i32::from(task.nice)).clamp(PRIORITIES.0, PRIORITIES.1) as u32
}

impl Linux10 {
    /// A task that may be seen for the first time.
    #[inline]
    fn know(&mut self, cx: &Context<'_>, task: TaskId) {
        if self.tasks.len() <= task as usize {
            self.learn(cx);
        }
    }

    #[cold]
    fn learn(&mut self, cx: &Context<'_>) {
        self.tasks.extend(cx.tasks[self.tasks.len()..].iter().map(Entity::new));
    }

    /// A task is able to run.
    fn join(&mut self, task: TaskId) {
        self.able.insert(self.able.partition_point(|&other| other < task), task);
    }

    /// A task is not any more.
    fn leave(&mut self, task: TaskId) {
        self.able.remove(self.able.partition_point(|&other| other < task));
    }

    /// The counter of a task that becomes ready. A child has half of its parent's; one that wakes is given what the rounds that it
    /// slept through were worth.
    fn counter(&self, cx: &Context<'_>, task: TaskId, why: Enqueue) -> u32 {
        let mut entity = self.tasks[task as usize];
        match (why, cx.tasks[task as usize].parent) {
            (Enqueue::New, Some(parent)) => entity.counter = self.tasks[parent as usize].counter / 2,
            (Enqueue::Wakeup, _) => {
                let missed = self.rounds - entity.slept;
                (0..missed.min(ROUNDS)).for_each(|_| entity.refill());
            }
            _ => {}
        }
        entity.counter
    }

    /// Whether no task that waits has ticks left, when a processor has found none among those that it may run.
    #[inline]
    fn round_is_over(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        let left = |task: TaskId| self.tasks[task as usize].counter > 0 && waits(cx, cpu, task);
        !self.shared.several() || !self.able.iter().any(|&task| left(task))
    }

    /// The task with the largest counter, the oldest of equals. On several processors, of those that wait and that this one may run.
    #[inline]
    fn first(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let (able, tasks) = (&self.able, &self.tasks);
        if !self.shared.several() {
            return largest(tasks, able.iter().copied());
        }
        let view = cx.view;
        let waiting = || able.iter().copied().filter(|&task| waits(view, cpu, task));
        let may = |task: &TaskId| view.tasks[*task as usize].allowed.has(cpu);
        let task = self.shared.take(cx, cpu, |_| largest(tasks, waiting().filter(may)))?;
        self.shared.leave_others(cx, cpu, waiting().filter(|&other| other != task));
        Some(task)
    }
}

/// The task with the largest counter, the first of equals.
#[inline]
fn largest(all: &[Entity], tasks: impl Iterator<Item = TaskId>) -> Option<TaskId> {
    let mut best = None;
    for task in tasks {
        let counter = all[task as usize].counter;
        if best.is_none_or(|(most, _)| counter > most) {
            best = Some((counter, task));
        }
    }
    best.map(|(_, task)| task)
}

/// Whether a task waits while a processor chooses: the task that this one has run does.
#[inline]
fn waits(view: &View, cpu: CpuId, task: TaskId) -> bool {
    let at = view.tasks[task as usize].cpu;
    at == cpu || view.processors[at as usize].running != Some(task)
}

impl Scheduler for Linux10 {
    const INFO: Info = Info {
        name: "linux_1_0",
        summary: "the largest counter of ticks left; half of the rest is kept over a round",
        year: 1994,
        origin: "Linux 1.0",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[],
        source: schedlab_model::documentation!("linux_1_0.rs"),
    };
    const FEATURES: Features = Features { ticks: true, passes_ticks: true, passes_idle_ticks: true, ..Features::NONE };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        Linux10 { able: Vec::new(), rounds: 0, shared: Shared::new(topology.processors()), tasks: Vec::new() }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.know(cx, task);
        let own = self.counter(cx, task, why);
        let worse =
            |running: TaskId| Some(Reverse(self.tasks[running as usize].counter)).filter(|theirs| own > theirs.0);
        self.shared.place_over(cx, task, worse)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        let kept_its_place = matches!(why, Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield);
        if kept_its_place || !self.shared.joins(cx, task, why) {
            return;
        }
        self.know(cx, task);
        self.tasks[task as usize].counter = self.counter(cx, task, why);
        self.join(task);
    }

    #[inline]
    fn dequeue(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, why: Dequeue) {
        if self.shared.moves(task) {
            return;
        }
        self.leave(task);
        let entity = &mut self.tasks[task as usize];
        entity.slept = self.rounds;
        entity.timer = why == Dequeue::Sleep(Wait::Timer);
    }

    /// If all counters are used up, a round begins; the choice made before remains.
    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.first(cx, cpu)?;
        if self.tasks[task as usize].counter == 0 && self.round_is_over(cx, cpu) {
            self.rounds += 1;
            self.able.iter().for_each(|&task| self.tasks[task as usize].refill());
        }
        Some(Pick { task, slice: None })
    }

    /// The end of a sleep always makes the kernel choose anew; any other wakeup does if the woken one has more ticks left.
    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let (running, woken) = (&self.tasks[running as usize], &self.tasks[woken as usize]);
        let larger = woken.counter > running.counter;
        self.shared.preempts(cpu, larger || woken.timer && cx.waker.is_none())
    }

    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let Some(task) = cx.processors[cpu as usize].running else { return };
        let entity = &mut self.tasks[task as usize];
        entity.counter = entity.counter.saturating_sub(1);
        if entity.counter == 0 {
            cx.resched(cpu);
        }
    }

    #[inline]
    fn quiet_ticks(&self, _: &Context<'_>, _: CpuId, running: TaskId) -> Ticks {
        Ticks { clock: self.tasks[running as usize].counter.saturating_sub(1).into(), statistics: 0 }
    }

    #[inline]
    fn pass_ticks(&mut self, _: &Context<'_>, _: CpuId, running: TaskId, ticks: Ticks) {
        self.tasks[running as usize].counter -= ticks.clock as u32;
    }

    #[inline]
    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        Ticks::ALL
    }

    /// The ticks that it has left are its own; the next round gives it others (sys_setpriority).
    fn changed(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, _: &Task) {
        if let Some(entity) = self.tasks.get_mut(task as usize) {
            entity.priority = priority(&cx.tasks[task as usize]);
        }
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}
