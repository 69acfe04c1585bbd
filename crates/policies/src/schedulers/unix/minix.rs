//! # minix
//!
//! Promises drivers and servers the processor before any user, and users round robin with a quantum of a global clock. A
//! task that makes many short system calls while another one never waits pays one quantum a call.
//!
//! ## The idea
//!
//!     Three first-in first-out lists by strict priority: kernel tasks, servers, users. The head of the first list
//!     that is not empty runs and stays at the head while it runs.
//!     A kernel task that becomes ready while no other is preempts at once. No other task preempts.
//!     A user that becomes ready joins the tail of its list (`ready_at = "tail"`, as shipped) or its head
//!     (`ready_at = "head"`, the change of August 1990).
//!     The quantum is a phase of the clock, not a budget: every N-th tick, if the same user is billed as at the last
//!     one, the head of the user list goes to its tail.
//!
//! ## The formula
//!
//!     N  =  floor(slice * ticks per second)        at least 1
//!
//! At 60 ticks a second 100 ms are 6 ticks, 50 ms 3, 36 ms 2 (33.3 ms), 18 ms 1 (16.7 ms). Because the clock task
//! compares the user billed now with the one billed at the last quantum end, two tasks that never wait get 2 N ticks each.
//!
//! ## A schedule
//!
//! Three tasks that start together, at N = 3, so that a slice is 6 ticks or 100 ms; the first slice is shorter or longer
//! by the phase at which they start:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "60/s" } }
//! scheduler = { name = "minix", slice = "50ms" }
//! workload.a = { load = "spin", compute = "500ms" }
//! workload.b = { load = "spin", compute = "300ms" }
//! workload.c = { load = "spin", compute = "200ms" }
//! ```
//!
//! ```text
//!         0ms       500ms
//!         |         |
//! a#0     ##....##....#..#####
//! b#1     ..##....##...##
//! c#2     ....##....##
//! idle 0
//!         a column is 50ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant.
//!
//! ## Good for, not for
//!
//! A small machine with one user at a time. Not for a job of many calls alongside a computing one: every call, even one
//! that waits for nothing, ends with the caller behind the computing task, so its time is calls * N ticks.
//!
//! ## Departures
//!
//! The original has one processor and no rule for several, so an experiment with more is refused. The clock interrupt and
//! the clock task belong to the kernel here (`sim`); this file has what they need of the scheduler.
//!
//! ## References
//!
//! - Minix 1.5: kernel/proc.c (`pick_proc`, `ready`, `unready`, `sched`), kernel/clock.c (`clock_handler`, `do_clocktick`).
//! - B. Evans, comp.os.minix, August 1990 (insertion at the head).

use crate::schedulers::{
    Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler,
    kit::queue::{Links, List},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{Class, CpuId, TaskId},
    topology::Topology,
};

/// Three lists and a global quantum phase.
#[derive(Debug)]
pub struct Minix {
    links: Links,
    kernel_tasks: List,
    servers: List,
    users: List,
    /// Ticks to the end of the quantum.
    ticks_left: u64,
    /// The task billed at the last end of a quantum.
    previous: Option<TaskId>,
    /// N: ticks in a quantum.
    quantum_ticks: u64,
    /// Whether a user that becomes ready joins the head of its list.
    ready_at_head: bool,
}

impl Minix {
    fn list(&mut self, class: Class) -> (&mut Links, &mut List) {
        let list = match class {
            Class::KernelTask => &mut self.kernel_tasks,
            Class::Server => &mut self.servers,
            Class::User => &mut self.users,
        };
        (&mut self.links, list)
    }

    /// Begins the next quantum.
    fn new_quantum(&mut self, billed: Option<TaskId>) {
        self.ticks_left = self.quantum_ticks;
        self.previous = billed;
    }

    /// A task joins its list, or moves to its tail.
    fn join(&mut self, cx: &Context<'_>, task: TaskId, why: Enqueue) {
        let class = cx.tasks[task as usize].class;
        let at_head = class == Class::User && self.ready_at_head;
        let (links, list) = self.list(class);
        if why == Enqueue::Yield {
            list.remove(links, task);
            list.push_tail(links, task);
        } else if at_head {
            list.push_head(links, task);
        } else {
            list.push_tail(links, task);
        }
    }
}

impl Scheduler for Minix {
    const INFO: Info = Info {
        name: "minix",
        summary: "three priority lists and a global quantum phase; message-passing kernels",
        year: 1990,
        origin: "Minix 1.5",
        promises: &[Promise::WorkConserving(Reach::Everywhere), Promise::OneProcessor],
        parameters: &[
            Parameter {
                name: "slice",
                meaning: "the quantum (MILLISEC), cut to whole clock ticks",
                domain: Domain::Duration { low: MILLISECOND, high: 10 * SECOND },
                default: Some("100ms"),
                logarithmic: true,
                grows: false,
                host: Some("rr_slice"),
            },
            Parameter {
                name: "ready_at",
                meaning: "where a user task that becomes ready joins its list",
                domain: Domain::Choice { names: &["tail", "head"] },
                default: Some("tail"),
                logarithmic: false,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("minix.rs"),
    };
    const FEATURES: Features = Features { ticks: true, charges_at_wakeups: true, ..Features::NONE };

    fn new(params: &Params, _: &Topology, tick: Nanos) -> Self {
        // The kernel computes MILLISEC * HZ / 1000 in whole numbers; a tick is 1/HZ rounded to a nanosecond, hence
        // the half nanosecond per tick of tolerance. Zero ticks would never end: the kernel would count past zero.
        let quantum_ticks = ((params.whole("slice") + 1_000) / tick).max(1);
        Minix {
            links: Links::default(),
            kernel_tasks: List::default(),
            servers: List::default(),
            users: List::default(),
            ticks_left: quantum_ticks,
            previous: None,
            quantum_ticks,
            ready_at_head: params.name("ready_at") == "head",
        }
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        // A preempted task has kept its place at the head.
        if why != Enqueue::Preempted {
            self.join(cx, task, why);
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, _: Dequeue) {
        let (links, list) = self.list(cx.tasks[task as usize].class);
        list.remove(links, task);
    }

    #[inline]
    fn pick_next(&mut self, _: &mut Context<'_>, _: CpuId) -> Option<Pick> {
        let task = self.kernel_tasks.head().or(self.servers.head()).or(self.users.head())?;
        Some(Pick { task, slice: None })
    }

    #[inline]
    fn wakeup_preempts(&mut self, cx: &mut Context<'_>, _: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let class = |task: TaskId| cx.tasks[task as usize].class;
        (class(woken) == Class::KernelTask && class(running) != Class::KernelTask).into()
    }

    /// The interrupt itself only counts.
    #[inline]
    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        self.ticks_left -= 1;
        if self.ticks_left == 0 {
            self.new_quantum(cx.processors[cpu as usize].billed);
        }
    }

    #[inline]
    fn tick_needs_clock_task(&self, cx: &Context<'_>, cpu: CpuId) -> bool {
        self.ticks_left == 1 && cx.processors[cpu as usize].billed == self.previous && !self.users.is_empty()
    }

    /// The clock task ends the quantum: a task billed at both its ends goes to the tail.
    #[inline(always)]
    fn clock_task(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let billed = cx.processors[cpu as usize].billed;
        self.ticks_left -= 1;
        if self.ticks_left > 0 {
            return;
        }
        if billed == self.previous
            && let Some(head) = self.users.pop_head(&mut self.links)
        {
            self.users.push_tail(&mut self.links, head);
            cx.resched(cpu);
        }
        self.new_quantum(billed);
    }
}
