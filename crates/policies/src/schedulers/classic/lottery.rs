//! # lottery
//!
//! Promises every task that is ready when a ticket is drawn a chance in proportion to its tickets, and no task anything for
//! certain. Tasks that never sleep get, on average, their tickets' part of the processor.
//!
//! ## The idea
//!
//!     Every task holds tickets. At the end of each slice one ticket of those that are ready is drawn, all with the
//!     same chance, and its holder runs for a slice at most.
//!     A task that waits or yields before its slice is over would get less than its share; so until it wins again its
//!     tickets are multiplied by the ratio of the slice to the time it used.
//!
//! ## The formula
//!
//!     chance to win  =  t / (sum of t)
//!     t  =  tickets * slice / used        after a slice given up early, used being at least slice / 2^20
//!     t  =  tickets                       else
//!     slices won in n draws: mean n p, standard deviation sqrt(n p (1 - p))
//!
//!     share of a task that sleeps briefly after a part f of each slice, alongside m equal tasks that never sleep
//!           =  f / (f + 1 + m f)
//!
//! p the chance of a task; tickets 1024 at nice 0, a quarter more for each level less; the sum over the tasks that wait for the
//! processor when a ticket is drawn, the one whose slice has ended included; slice and used (of its last slice) in ns.
//!
//! ## A schedule
//!
//! Three tasks whose tickets are almost 3 : 2 : 1, with slices of 10 ms; seed 1:
//!
//! ```toml
//! machine = "uniform"
//! duration = "240ms"
//! scheduler = { name = "lottery", slice = "10ms" }
//! workload.a = { load = "spin", passes = "forever" }
//! workload.b = { load = "spin", passes = "forever", nice = 2 }
//! workload.c = { load = "spin", passes = "forever", nice = 5 }
//! ```
//!
//! ```text
//!         0ms       100ms     200ms
//!         |         |         |
//! a#0     #...#.##.#....#..#.##.##
//! b#1     .###.#......##.##.#.....
//! c#2     ........#.##.........#..
//! idle 0
//!         a column is 10ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: logarithmic in the tasks that wait (a tree of sums), and one random number a pick. Where tasks are bound to some
//! processors, a pick may take two, and be linear in the tasks that wait.
//!
//! ## Good for, not for
//!
//! Shares over many slices, without a record of past allocations. Not for short times: after n slices a share is off by about
//! sqrt(p (1 - p) / n).
//!
//! Nor for tasks that sleep often alongside tasks that do not. A compensation counts in the draws after a sleep, but the draw
//! during the sleep is lost, and its winner has the processor for a whole slice. A task that sleeps 1 ms after every 98 ms
//! of running has 33 % alongside one equal task that never sleeps. The original does the same; `stride`, which gives the same
//! shares without chance, remembers how much each task has received.
//!
//! ## Departures
//!
//! Tickets come from the nice level; the original lets users make, lend and inflate tickets of their own currencies, and
//! a client that waits for a server lends it its tickets. The original bounds no compensation; here it is at most
//! 2^20-fold.
//!
//! The original's prototype had one processor. On several, each processor draws from the tickets of all tasks that wait and that it
//! may run. Tasks that run are not drawn, so shares are not in proportion to tickets where one task has many: with 2 : 1 : 1 on two
//! processors whose slices end apart, that task competes with one other in each draw, and has 80 % of a processor, not 100.
//!
//! ## References
//!
//! - C. A. Waldspurger, W. E. Weihl: Lottery Scheduling: Flexible Proportional-Share Resource Management, OSDI 1994,
//!   sections 2.1, 3.4 (compensation tickets) and 4.2 (tree of partial ticket sums).

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Pick, Scheduler,
    kit::{shared_queue::Shared, tickets::tickets},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Task, TaskId},
    topology::Topology,
};

/// A CPU burst counts as at least this part of a slice: this bounds the compensation, and with it the sums of tickets.
const LEAST_PART: u32 = 20;

/// The tickets of the tasks that wait, as the leaves of a tree of sums.
#[derive(Debug)]
struct Hat {
    /// A complete binary tree: the root is 1, below `n` are `2 n` and `2 n + 1`, the second half are the leaves.
    sums: Vec<u64>,
    /// The task whose tickets each leaf holds.
    holders: Vec<TaskId>,
}

impl Hat {
    fn leaves(&self) -> usize {
        self.sums.len() / 2
    }

    /// Puts n tickets into a leaf.
    #[inline]
    fn set(&mut self, leaf: usize, tickets: u64) {
        let mut node = self.leaves() + leaf;
        let before = self.sums[node];
        while node > 0 {
            self.sums[node] = self.sums[node] - before + tickets;
            node /= 2;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let leaves = self.sums.split_off(self.leaves());
        self.sums = vec![0; 4 * leaves.len()];
        leaves.iter().enumerate().for_each(|(leaf, &tickets)| self.set(leaf, tickets));
    }

    /// Gives the leaf where the tickets are.
    #[inline]
    fn put(&mut self, task: TaskId, tickets: u64) -> usize {
        let leaf = self.holders.len();
        if leaf == self.leaves() {
            self.grow();
        }
        self.holders.push(task);
        self.set(leaf, tickets);
        leaf
    }

    /// Takes tickets out; the last leaf takes the free place, and the task to which it belonged is returned.
    #[inline]
    fn take(&mut self, leaf: usize) -> Option<TaskId> {
        let last = self.holders.len() - 1;
        self.set(leaf, self.sums[self.leaves() + last]);
        self.set(last, 0);
        self.holders.swap_remove(leaf);
        self.holders.get(leaf).copied()
    }

    /// The holder of the ticket of that number, counted from 0.
    #[inline]
    fn holder(&self, mut ticket: u64) -> TaskId {
        let mut node = 1;
        while node < self.leaves() {
            node *= 2;
            if ticket >= self.sums[node] {
                ticket -= self.sums[node];
                node += 1;
            }
        }
        self.holders[node - self.leaves()]
    }

    /// Draws a ticket of all.
    #[inline]
    fn draw(&self, cx: &mut Context<'_>) -> Option<TaskId> {
        (!self.holders.is_empty()).then(|| self.holder(cx.rng.below(self.sums[1])))
    }

    /// Draws a ticket of those whose holders may run on a processor. One of another task is drawn again, among these only.
    fn draw_for(&self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let tasks = &cx.view.tasks;
        let may = |task: TaskId| tasks[task as usize].allowed.has(cpu);
        let holder = self.draw(cx)?;
        if may(holder) {
            return Some(holder);
        }
        let leaves = self.holders.iter().copied().zip(&self.sums[self.leaves()..]);
        let usable = leaves.filter(|&(task, _)| may(task));
        let sum = usable.clone().map(|(_, tickets)| tickets).sum::<u64>();
        let mut ticket = if sum > 0 { cx.rng.below(sum) } else { return None };
        for (task, &tickets) in usable {
            if ticket < tickets {
                return Some(task);
            }
            ticket -= tickets;
        }
        None
    }
}

#[derive(Debug, Default, Clone, Copy)]
struct Client {
    /// What it holds by its nice level.
    tickets: u64,
    /// What that counts as in its next draws.
    worth: u64,
    /// Processor time since it last won.
    used: Nanos,
    /// Where its tickets are while it waits for a processor.
    leaf: u32,
}

/// A drawn ticket's holder runs.
#[derive(Debug)]
pub struct Lottery {
    slice: Nanos,
    /// One for all processors.
    hat: Hat,
    shared: Shared,
    clients: Vec<Client>,
}

impl Lottery {
    /// What a client's tickets count as after a CPU burst.
    #[inline]
    fn settle(&mut self, task: TaskId, early: bool) {
        let client = &mut self.clients[task as usize];
        let least = (self.slice >> LEAST_PART).max(1);
        let used = if early { client.used.clamp(least, self.slice) } else { self.slice };
        client.worth = client.tickets * self.slice / used;
    }

    #[inline]
    fn remove(&mut self, task: TaskId) {
        let leaf = self.clients[task as usize].leaf;
        if let Some(moved) = self.hat.take(leaf as usize) {
            self.clients[moved as usize].leaf = leaf;
        }
    }

    /// The holder of a drawn ticket, for a processor.
    #[inline]
    fn draw(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<TaskId> {
        if !self.shared.several() {
            return self.hat.draw(cx);
        }
        let task = self.shared.take(cx, cpu, |cx| self.hat.draw_for(cx, cpu))?;
        self.shared.leave_others(cx, cpu, self.hat.holders.iter().copied().filter(|&other| other != task));
        Some(task)
    }
}

impl Scheduler for Lottery {
    const INFO: Info = Info {
        name: "lottery",
        summary: "shares by chance: the holder of a drawn ticket runs for a slice",
        year: 1994,
        origin: "Waldspurger and Weihl, MIT",
        promises: &[Promise::WorkConserving(Reach::Everywhere)],
        parameters: &[Parameter {
            name: "slice",
            meaning: "longest run without a switch while others wait",
            domain: Domain::Duration { low: MILLISECOND / 1000, high: 100 * SECOND },
            default: Some("100ms"),
            logarithmic: true,
            grows: false,
            host: None,
        }],
        source: schedlab_model::documentation!("lottery.rs"),
    };

    fn new(params: &Params, topology: &Topology, _: Nanos) -> Self {
        let hat = Hat { sums: vec![0; 2], holders: Vec::new() };
        let shared = Shared::new(topology.processors());
        Lottery { slice: params.whole("slice"), hat, shared, clients: Vec::new() }
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
        if self.clients[task as usize].tickets == 0 {
            let tickets = tickets(cx.tasks[task as usize].nice);
            self.clients[task as usize] = Client { tickets, worth: tickets, ..Client::default() };
        }
        match why {
            Enqueue::Yield => self.settle(task, true),
            Enqueue::SliceEnd | Enqueue::Preempted => self.settle(task, false),
            Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate => {}
        }
        let client = &mut self.clients[task as usize];
        client.leaf = self.hat.put(task, client.worth) as u32;
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, _: Dequeue) {
        if cx.processors[cpu as usize].running == Some(task) {
            self.settle(task, true);
        } else if !self.shared.moves(task) {
            self.remove(task);
        }
    }

    #[inline]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        let task = self.draw(cx, cpu)?;
        self.remove(task);
        self.clients[task as usize].used = 0;
        Some(Pick { task, slice: Some(self.slice) })
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        self.clients[task as usize].used += ran;
    }

    /// What compensates for an unused part of a slice keeps its factor.
    fn changed(&mut self, cx: &mut Context<'_>, _: CpuId, task: TaskId, _: &Task) {
        let Some(client) = self.clients.get_mut(task as usize).filter(|client| client.tickets > 0) else { return };
        let tickets = tickets(cx.tasks[task as usize].nice);
        client.worth = client.worth * tickets / client.tickets;
        client.tickets = tickets;
    }

    fn balance(&mut self, _: &mut Context<'_>, _: CpuId, _: Balance) -> Option<TaskId> {
        self.shared.pulled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ticket_keeps_its_holder_when_others_come_and_go() {
        let mut hat = Hat { sums: vec![0; 2], holders: Vec::new() };
        for task in 0..6 {
            assert_eq!(hat.put(task, u64::from(task) + 1), task as usize);
        }
        assert_eq!(hat.take(1), Some(5));
        assert_eq!(hat.take(4), None);
        // Left: 0 with one ticket, 5 with six, 2 with three, 3 with four.
        assert_eq!(hat.sums[1], 14);
        let holders: Vec<_> = (0..14).map(|ticket| hat.holder(ticket)).collect();
        assert_eq!(holders, [0, 5, 5, 5, 5, 5, 5, 2, 2, 2, 3, 3, 3, 3]);
    }
}
