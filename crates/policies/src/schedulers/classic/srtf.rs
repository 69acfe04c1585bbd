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
//! since, on a smaller core the part of it that a core of full size would have needed; both in ns.
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
//! message-passing kernels, which have no program, go first.
//!
//! On several processors one queue is shared: each takes the shortest task that it may run, and one that becomes ready while none is
//! idle goes to the one whose task has most left. For more than one processor that is not optimal: short tasks first can leave the
//! long ones to one processor while the others idle. What is left of a task that runs elsewhere is as of its last charge, less the
//! time since; on smaller cores that is less work. That a thread is slower while its sibling runs is not foreseen.
//!
//! ## References
//!
//! - L. E. Schrage: A Proof of the Optimality of the Shortest Remaining Processing Time Discipline, Operations Research
//!   16(3), 1968.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::{ordered::Ordered, shared_queue::Shared},
};
use schedlab_model::{
    Nanos,
    info::{Info, Params, Promise, Reach},
    task::{Class, CpuId, TaskId},
    topology::{CAPACITY, Topology},
};

/// The task with the least remaining time runs.
#[derive(Debug)]
pub struct Srtf {
    /// One for all processors.
    queue: Ordered<Nanos>,
    shared: Shared,
    /// For each task, the work it has done since it became ready.
    done: Vec<Nanos>,
    /// For each processor, up to when its task was charged.
    charged: Vec<Nanos>,
}

/// The work that is done in a time on a processor, as the time that it takes on a core of full size.
#[inline(always)]
fn work(cx: &Context<'_>, cpu: CpuId, time: Nanos) -> Nanos {
    time * Nanos::from(cx.topology.place(cpu).capacity) / Nanos::from(CAPACITY)
}

/// The remaining work of a task that has done some.
#[inline]
fn left(cx: &Context<'_>, task: TaskId, done: Nanos) -> Nanos {
    match cx.tasks[task as usize].class {
        Class::User => cx.bursts[task as usize].saturating_sub(done),
        Class::KernelTask | Class::Server => 0,
    }
}

impl Srtf {
    #[inline]
    fn left(&self, cx: &Context<'_>, task: TaskId) -> Nanos {
        left(cx, task, self.done[task as usize])
    }

    /// A task that may be seen for the first time; where it becomes ready, a burst begins.
    #[inline]
    fn know(&mut self, task: TaskId, why: Enqueue) {
        if task as usize >= self.done.len() {
            self.done.resize(task as usize + 1, 0);
        }
        if matches!(why, Enqueue::New | Enqueue::Wakeup) {
            self.done[task as usize] = 0;
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
        Srtf {
            queue: Ordered::new(1),
            shared: Shared::new(processors),
            done: Vec::new(),
            charged: vec![0; processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        self.know(task, why);
        let own = self.left(cx, task);
        let worse = |running: TaskId| {
            let cpu = cx.tasks[running as usize].cpu;
            let since = work(cx, cpu, cx.now - self.charged[cpu as usize]);
            let theirs = left(cx, running, self.done[running as usize] + since);
            (theirs > own).then_some(theirs)
        };
        self.shared.place_over(cx, task, worse)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        self.know(task, why);
        if self.shared.joins(cx, task, why) {
            self.queue.join(0, task, self.left(cx, task));
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if self.shared.queued(cx, cpu, task) {
            self.queue.remove(0, task);
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.shared.next_by_key(cx, cpu, &mut self.queue)?;
        self.charged[cpu as usize] = cx.now;
        Some(Pick { task, slice: None })
    }

    #[inline]
    fn charge(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        self.done[task as usize] += work(cx, cpu, ran);
        self.charged[cpu as usize] = cx.now;
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let shorter = self.left(cx, woken) < self.left(cx, running);
        self.shared.preempts(cpu, shorter)
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}
