//! # srtf
//!
//! Promises the least mean turnaround that any policy can give on one processor. It requires knowledge of the future, which
//! no kernel has: it is the bound to compare others with.
//!
//! ## The idea
//!
//!     An oracle gives the time that each task will run before it next waits or ends. The task with the least remaining
//!     time runs.
//!     One that becomes ready with less left than the running one preempts it.
//!
//! ## The formula
//!
//!     left  =  burst - used
//!
//! burst, the length of the CPU burst given by the oracle when the task became ready; used, the processor time it has had
//! since; both in ns.
//!
//! ## A schedule
//!
//! The longest comes first, the shortest last:
//!
//! ```toml
//! machine = "uniform"
//! scheduler = { name = "srtf" }
//! workload.a = { load = "spin", compute = "60ms" }
//! workload.b = { load = "spin", compute = "30ms", start = "10ms" }
//! workload.c = { load = "spin", compute = "10ms", start = "20ms" }
//! ```
//!
//! ```text
//!         0ms
//!         |
//! a#0     #....#####
//! b#1      #.##
//! c#2       #
//! idle 0
//!         a column is 10ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the tasks that wait; and the oracle, which reads ahead in a task's program.
//!
//! ## Good for, not for
//!
//! A lower bound: a sum of turnaround times below its own indicates an error. As a policy it lets long tasks starve, and it
//! knows what no kernel can; kernels predict from the past ("shortest process next").
//!
//! ## Departures
//!
//! The textbook's jobs never wait; here a task's burst ends where it waits, and the next one is counted separately. The
//! oracle reads programs: what a system call adds in the kernel is not foreseen, and servers and drivers of
//! message-passing kernels, which have no program, go first. It is optimal for one processor only; on several, each has
//! its own queue, new and woken tasks go to an idle processor if there is one, and an idle one pulls the shortest.
//!
//! ## References
//!
//! - L. E. Schrage: A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research
//!   16(3), 1968.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::{
        ordered::Ordered,
        placement::{idle_or_last, offer, pull},
    },
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{Class, CpuId, TaskId},
    topology::Topology,
};

/// The task with the least remaining time runs.
#[derive(Debug)]
pub struct Srtf {
    queue: Ordered<Nanos>,
    /// For each task, the processor time it has had since it became ready.
    used: Vec<Nanos>,
}

impl Srtf {
    #[inline]
    fn left(&self, cx: &Context<'_>, task: TaskId) -> Nanos {
        match cx.tasks[task as usize].class {
            Class::User => cx.bursts[task as usize].saturating_sub(self.used[task as usize]),
            Class::KernelTask | Class::Server => 0,
        }
    }
}

impl Scheduler for Srtf {
    const INFO: Info = Info {
        name: "srtf",
        summary: "shortest remaining time first; clairvoyant",
        year: 1968,
        origin: "Schrage",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::Clairvoyant],
        parameters: &[],
        source: schedlab_model::documentation!("srtf.rs"),
    };
    const FEATURES: Features = Features {
        // What is left is compared at wakeups.
        charges_at_wakeups: true,
        clairvoyant: true,
        ..Features::NONE
    };

    fn new(_: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Srtf { queue: Ordered::new(processors), used: Vec::new() }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        idle_or_last(cx, task, |cpu| self.queue.is_empty(cpu))
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if task as usize >= self.used.len() {
            self.used.resize(task as usize + 1, 0);
        }
        match why {
            Enqueue::New | Enqueue::Wakeup => self.used[task as usize] = 0,
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => offer(cx, task),
            Enqueue::Migrate => {}
        }
        self.queue.join(cpu, task, self.left(cx, task));
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.queue.leave(cx, cpu, task);
    }

    #[inline]
    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.next(cpu)?;
        Some(Pick { task, slice: None })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        self.used[task as usize] += ran;
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        (self.left(cx, woken) < self.left(cx, running)).into()
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        match why {
            Balance::Idle => pull(cx, cpu, |from, may| self.queue.find(from, may)),
            Balance::Tick => None,
        }
    }
}
