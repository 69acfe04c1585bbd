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
//! that are ready on the same processor. Passes are kept times the slice, in stride1 * ns a ticket, so nothing is rounded
//! but the last of some 10^6 parts of a nanosecond.
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
//! Enqueue and pick: logarithmic in the tasks that wait; every CPU burst, two divisions.
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
//! same where nothing is lost to interrupts and switching. The original's prototype had one processor; on several, each
//! has its own queue and average, new and woken tasks go to an idle processor if there is one, and an idle one pulls.
//!
//! ## References
//!
//! - C. A. Waldspurger, W. E. Weihl: Stride Scheduling: Deterministic Proportional-Share Resource Management, MIT
//!   LCS TM-528, 1995, sections 2 and 3 (dynamic client participation, figure 5; non-uniform quanta).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Scheduler,
    kit::{
        ordered::Ordered,
        placement::{idle_or_last, offer, pull},
        tickets::tickets,
    },
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Task, TaskId},
    topology::Topology,
};

/// The stride of a task with one ticket; the prototype's value.
const STRIDE1: u64 = 1 << 20;

/// A pass, in stride1 * ns a ticket: 64 bits are two days of a task at nice 20.
type Pass = i128;

/// How far a pass shared by `tickets` moves for a given run time. A CPU burst of more than five hours counts as five.
#[inline]
fn advance(ran: Nanos, tickets: u64) -> Pass {
    Pass::from(ran.saturating_mul(STRIDE1) / tickets)
}

#[derive(Debug, Default, Clone, Copy)]
struct Client {
    tickets: u64,
    /// While it is ready, its pass; while not, how far that was ahead of the average.
    pass: Pass,
}

/// All ready tasks of a processor together.
#[derive(Debug, Default, Clone, Copy)]
struct Global {
    tickets: u64,
    pass: Pass,
}

/// The least pass runs.
#[derive(Debug)]
pub struct Stride {
    slice: Nanos,
    queue: Ordered<Pass>,
    clients: Vec<Client>,
    globals: Vec<Global>,
}

impl Stride {
    /// A task becomes ready on a processor: `remain` is made a pass.
    #[inline]
    fn enter(&mut self, cpu: CpuId, task: TaskId) {
        let (client, global) = (&mut self.clients[task as usize], &mut self.globals[cpu as usize]);
        client.pass += global.pass;
        global.tickets += client.tickets;
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
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FairToEquals(Reach::EachProcessor),
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
            queue: Ordered::new(processors),
            clients: Vec::new(),
            globals: vec![Global::default(); processors.into()],
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, _: Enqueue) -> CpuId {
        idle_or_last(cx, task, |cpu| self.queue.is_empty(cpu))
    }

    #[inline]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if task as usize >= self.clients.len() {
            self.clients.resize(task as usize + 1, Client::default());
        }
        if self.clients[task as usize].tickets == 0 {
            let tickets = tickets(cx.tasks[task as usize].nice);
            self.clients[task as usize] = Client { tickets, pass: advance(self.slice, tickets) };
        }
        match why {
            Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate => self.enter(cpu, task),
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yield => offer(cx, task),
        }
        self.queue.join(cpu, task, self.clients[task as usize].pass);
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.queue.leave(cx, cpu, task);
        let (client, global) = (&mut self.clients[task as usize], &mut self.globals[cpu as usize]);
        client.pass -= global.pass;
        global.tickets -= client.tickets;
    }

    #[inline]
    fn pick_next(&mut self, _: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.queue.next(cpu)?;
        Some(Pick { task, slice: Some(self.slice) })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, cpu: CpuId, task: TaskId, ran: Nanos) {
        let (client, global) = (&mut self.clients[task as usize], &mut self.globals[cpu as usize]);
        client.pass += advance(ran, client.tickets);
        global.pass += advance(ran, global.tickets);
    }

    /// How far it is ahead of the average is scaled by the change of its stride (client_modify).
    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: &Task) {
        let Some(client) = self.clients.get_mut(task as usize).filter(|client| client.tickets > 0) else { return };
        let before = std::mem::replace(&mut client.tickets, tickets(cx.tasks[task as usize].nice));
        let scaled = |remain: Pass| remain * Pass::from(before) / Pass::from(client.tickets);
        if cx.processors[cpu as usize].running != Some(task) {
            client.pass = scaled(client.pass);
            return;
        }
        let global = &mut self.globals[cpu as usize];
        client.pass = global.pass + scaled(client.pass - global.pass);
        global.tickets = global.tickets - before + client.tickets;
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        match why {
            Balance::Idle => pull(cx, cpu, |from, may| self.queue.find(from, may)),
            Balance::Tick => None,
        }
    }
}
