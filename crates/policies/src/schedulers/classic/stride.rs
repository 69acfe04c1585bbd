//! # stride
//!
//! Promises every task its tickets' share of the processor, exactly: of any two that compete, neither is ever more than
//! one slice ahead of its share.
//!
//! ## The idea
//!
//!     Every task has a stride, the smaller the more tickets it has, and a pass. The task of the least pass runs for a
//!     slice at most; its pass goes forward by its stride, or by the part of it that it used of the slice.
//!     When a task stops being ready, its distance ahead of, or behind, the average pass is kept. When it becomes ready
//!     again, it is as far ahead or behind as before: sleeping neither earns nor costs anything.
//!
//! ## The formula
//!
//!     stride  =  stride1 / tickets
//!     pass    +=  stride * used / slice
//!     global  +=  stride1 / (sum of tickets) * used / slice       by the running task
//!     sleep:     remain  =  pass - global
//!     wakeup:    pass  =  global + remain                         a new task has remain = stride
//!
//! stride1 = 2^20; tickets 1024 at nice 0, a quarter more for each level less; used, slice in ns; the sum over the tasks
//! that are ready. Passes are kept times the slice, in stride1 * ns a ticket, so nothing is rounded but the last of some 10^6
//! parts of a nanosecond.
//!
//! On m processors (or m ready tasks, if these are fewer) no task can use more than one of them, so its tickets count as
//!
//!     w_i  <=  (sum of w_j over those with fewer tickets) / (m - i)       for i = 1, 2, ..., most tickets first, while it has more
//!
//! With tickets 10 : 1 : 1 on two processors, 10 count as 2: one task has a processor, the others share the second one.
//!
//! ## A schedule
//!
//! Three tasks whose tickets are almost 3 : 2 : 1, with slices of 10 ms:
//!
//! ```toml
//! machine = "uniform"
//! duration = "180ms"
//! scheduler = { name = "stride", slice = "10ms" }
//! workload.a = { load = "spin", passes = "forever" }
//! workload.b = { load = "spin", passes = "forever", nice = 2 }
//! workload.c = { load = "spin", passes = "forever", nice = 5 }
//! ```
//!
//! ```text
//!         0ms       100ms
//!         |         |
//! a#0     #.##..#.##..#.##..
//! b#1     .#...#.#...#.#...#
//! c#2     ....#.....#.....#.
//! idle 0
//!         a column is 10ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the tasks that wait; on several processors, a pick is linear in those up to the first that may run
//! there, and where a task becomes ready or stops being so the tickets of at most 41 nice levels are looked at. Every CPU burst, two
//! divisions.
//!
//! ## Good for, not for
//!
//! Shares that must be accurate even over short times. Not for response: no task is preempted, so a task that wakes waits
//! at least for the end of a slice, and one with few tickets for many slices.
//!
//! ## Departures
//!
//! Tickets come from the nice level; the original lets users make, lend and inflate tickets of their own currencies.
//! The average pass goes forward with the processor time that tasks use; the original's goes with the clock, which is the
//! same where nothing is lost to interrupts and switching.
//!
//! The original's prototype had one processor. On several there is one order and one average for all: each processor takes the
//! least pass that it may run, and tickets are capped as above (the readjustment of surplus fair scheduling); without that, a task with too
//! many would fall ever farther behind the average, and later have a processor for as long as that is worth. The cap assumes that tasks
//! may use all processors. Tasks that are bound to a crowded one get less than their tickets say, and fall behind the average. So for
//! a task that may use some processors only, the average is at most the largest pass that one of these has chosen last. Tasks that may use
//! all run ahead of the average where others are bound: when one more comes, they wait until it has come as far, which may be for as long as
//! they were alone.
//!
//! ## References
//!
//! - C. A. Waldspurger, W. E. Weihl: Stride Scheduling: Deterministic Proportional-Share Resource Management, MIT
//!   LCS TM-528, 1995, sections 2 and 3 (dynamic client participation, figure 5; non-uniform quanta).
//! - A. Chandra, M. Adler, P. Goyal, P. Shenoy: Surplus Fair Scheduling: A Proportional-Share CPU Scheduling Algorithm for
//!   Symmetric Multiprocessors, OSDI 2000, section 2 (weight readjustment).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Scheduler,
    kit::{ordered::Ordered, shared_queue::Shared, tickets::tickets},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    processors::CpuSet,
    task::{CpuId, Task, TaskId},
    topology::Topology,
};
use shares::{Shares, advance};

mod shares;

/// A pass, in stride1 * ns a ticket: 64 bits are two days of a task at nice 20.
type Pass = i128;

#[derive(Debug, Default, Clone, Copy)]
struct Client {
    tickets: u64,
    /// While it is ready, its pass; while not, how far that was ahead of the average.
    pass: Pass,
}

/// The least pass runs.
#[derive(Debug)]
pub struct Stride {
    slice: Nanos,
    /// One for all processors.
    queue: Ordered<Pass>,
    shared: Shared,
    clients: Vec<Client>,
    /// All ready tasks, and their average pass.
    shares: Shares,
    average: Pass,
    /// For each of several processors, the pass of the task that it chose last; while it idles, the largest.
    reached: Vec<Pass>,
}

impl Stride {
    /// The average for a task that may use those processors: if these are not all, at most what they have come to.
    fn average_for(&self, cx: &Context<'_>, allowed: &CpuSet) -> Pass {
        if !self.shared.several() || allowed.count() as usize >= cx.processors.len() {
            return self.average;
        }
        allowed.iter().map(|cpu| self.reached[cpu as usize]).max().map_or(self.average, |most| most.min(self.average))
    }
}

impl Scheduler for Stride {
    const INFO: Info = Info {
        name: "stride",
        summary: "exact shares by tickets: the task with the least pass value runs for a slice",
        year: 1995,
        origin: "Waldspurger and Weihl, MIT",
        promises: &[
            Promise::WorkConserving(Reach::Everywhere),
            Promise::StarvationFree(Reach::Unbound),
            Promise::FairToEquals(Reach::Unbound),
        ],
        parameters: &[Parameter {
            name: "slice",
            meaning: "longest run without a switch while others wait",
            domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
            default: Some("100ms"),
            logarithmic: true,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("stride.rs"),
    };
    const FEATURES: Features = Features {
        // The average must be up to date when a task joins or leaves.
        charges_at_wakeups: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let processors = topology.processors();
        Stride {
            slice: params.whole("slice"),
            queue: Ordered::new(1),
            shared: Shared::new(processors),
            clients: Vec::new(),
            shares: Shares::new(processors),
            average: 0,
            reached: vec![Pass::MAX; processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        self.shared.place(cx, task)
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, why: Enqueue) {
        if !self.shared.joins(cx, task, why) {
            return;
        }
        if task as usize >= self.clients.len() {
            self.clients.resize(task as usize + 1, Client::default());
        }
        let Task { nice, ref allowed, .. } = cx.tasks[task as usize];
        if self.clients[task as usize].tickets == 0 {
            let tickets = tickets(nice);
            self.clients[task as usize] = Client { tickets, pass: advance(self.slice, tickets) };
        }
        if matches!(why, Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate) {
            self.clients[task as usize].pass += self.average_for(cx, allowed);
            self.shares.join(nice);
        }
        self.queue.join(0, task, self.clients[task as usize].pass);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if self.shared.moves(task) {
            return;
        }
        if self.shared.queued(cx, cpu, task) {
            self.queue.remove(0, task);
        }
        let Task { nice, ref allowed, .. } = cx.tasks[task as usize];
        self.clients[task as usize].pass -= self.average_for(cx, allowed);
        self.shares.leave(nice);
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.shared.next_by_key(cx, cpu, &mut self.queue);
        if self.shared.several() {
            self.reached[cpu as usize] = task.map_or(Pass::MAX, |task| self.clients[task as usize].pass);
        }
        Some(Pick { task: task?, slice: Some(self.slice) })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        let client = &mut self.clients[task as usize];
        client.pass += self.shares.advance(ran, client.tickets);
        self.average += self.shares.advance_all(ran);
    }

    /// How far it is ahead of the average is scaled by the change of its stride (client_modify).
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let after = &cx.tasks[task as usize];
        let averages = [&before.allowed, &after.allowed].map(|allowed| self.average_for(cx, allowed));
        let Some(client) = self.clients.get_mut(task as usize).filter(|client| client.tickets > 0) else { return };
        let earlier = std::mem::replace(&mut client.tickets, tickets(after.nice));
        let scaled = |remain: Pass| remain * Pass::from(earlier) / Pass::from(client.tickets);
        if cx.processors[cpu as usize].running != Some(task) {
            client.pass = scaled(client.pass);
            return;
        }
        client.pass = averages[1] + scaled(client.pass - averages[0]);
        self.shares.leave(before.nice);
        self.shares.join(after.nice);
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}
