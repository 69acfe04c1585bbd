//! The real-time class of Linux: SCHED_FIFO and SCHED_RR tasks in a list for each priority, before all others. A preempted
//! task stays at the head of its list, a woken one joins the tail. Several processors: `cpupri.rs`. So that a real-time task that
//! never waits leaves something to the others, either the whole class has a limit of time in each period (`group`), or a server runs
//! the others above it when they have starved for nearly a period (`fair_server.rs`).
//!
//! Long, because the class and its limit are one thing.

use super::{
    fair_server::FairServer,
    task_class::{is_deadline, is_realtime},
};
use crate::schedulers::{
    Context,
    kit::queue::{Links, List},
};
use schedlab_model::{
    Nanos, SECOND,
    info::{Domain, Parameter, Params},
    processors::CpuSet,
    task::{CpuId, Policy, Task, TaskId},
};
use std::cmp::Ordering;

/// The timer of the end of the period of the class's limit.
pub const RT_PERIOD: u32 = 0;
/// Priorities 1 to 99, the greater the better.
pub const PRIORITIES: usize = 100;

/// What real-time tasks may use, and of which period.
pub fn limit(params: &Params) -> (Nanos, Nanos) {
    let period = params.whole("rt_period");
    (params.whole("rt_runtime").min(period), period)
}

/// Its parameters, with what keeps the class in bounds by default: it depends on the version of the kernel.
pub const fn parameters(throttling: &'static str) -> [Parameter; 4] {
    [
        Parameter {
            name: "rr_timeslice",
            meaning: "slice of a real-time task under the policy rr, rounded up to whole ticks",
            domain: Domain::Duration { low: 1_000_000, high: 10 * SECOND },
            default: Some("100ms"),
            logarithmic: true,
            grows: false,
            host: Some("rr_slice"),
        },
        Parameter {
            name: "rt_throttling",
            meaning: "what keeps real-time tasks from starving the others: a limit to them, a server for the others, or nothing",
            domain: Domain::Choice { names: &["group", "fair_server", "off"] },
            default: Some(throttling),
            logarithmic: false,
            grows: false,
            host: None,
        },
        Parameter {
            name: "rt_runtime",
            meaning: "what real-time tasks may use of a period, if others want the rest",
            domain: Domain::Duration { low: 1_000_000, high: 100 * SECOND },
            default: Some("950ms"),
            logarithmic: true,
            grows: false,
            host: Some("rt_runtime"),
        },
        Parameter {
            name: "rt_period",
            meaning: "the period in which real-time tasks may use so much",
            domain: Domain::Duration { low: 1_000_000, high: 100 * SECOND },
            default: Some("1s"),
            logarithmic: true,
            grows: false,
            host: Some("rt_period"),
        },
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Throttling {
    Group,
    FairServer,
    Off,
}

/// Real-time tasks of all processors.
#[derive(Debug)]
pub struct Realtime {
    throttling: Throttling,
    /// A slice under SCHED_RR, in ticks.
    turn: u64,
    runtime: Nanos,
    period: Nanos,
    links: Links,
    /// By task, what is left of its slice.
    left: Vec<u64>,
    queues: Vec<Ready>,
    /// Processors with more than one.
    overloaded: CpuSet,
    /// By processor, where it sent a task last, having several to choose from (distribute_cpu_mask_prev).
    pub distributed: Vec<CpuId>,
    /// Where a processor sends tasks at present. Empty between hooks, and kept so that none allocates.
    pub targets: CpuSet,
    /// Whether there has ever been any, or any with a reservation; most often there has not, and nothing here is to be done.
    pub known: bool,
}

/// Those of one processor, the running one included.
#[derive(Debug, Clone)]
struct Ready {
    lists: [List; PRIORITIES],
    /// Which lists have a task.
    filled: u128,
    count: u32,
    /// `group`: time used that no period has paid for yet, whether that is too much, and whether the timer is set.
    used: Nanos,
    throttled: bool,
    armed: bool,
    /// `fair_server`: what serves the others.
    server: FairServer,
}

/// A priority as an index; tasks without one count as of the lowest.
#[inline(always)]
pub fn level(task: &Task) -> usize {
    usize::from(task.priority.clamp(1, PRIORITIES as u8 - 1))
}

impl Ready {
    fn new(server: FairServer) -> Self {
        Ready {
            lists: [List::default(); PRIORITIES],
            filled: 0,
            count: 0,
            used: 0,
            throttled: false,
            armed: false,
            server,
        }
    }

    fn push_tail(&mut self, links: &mut Links, task: &Task) {
        self.push(links, task, false);
    }

    fn push(&mut self, links: &mut Links, task: &Task, first: bool) {
        let list = &mut self.lists[level(task)];
        if first {
            list.push_head(links, task.id);
        } else {
            list.push_tail(links, task.id);
        }
        self.filled |= 1 << level(task);
        self.count += 1;
    }

    fn remove(&mut self, links: &mut Links, task: &Task) {
        let list = &mut self.lists[level(task)];
        list.remove(links, task.id);
        if list.is_empty() {
            self.filled &= !(1 << level(task));
        }
        self.count -= 1;
    }

    fn best(&self) -> Option<TaskId> {
        match self.filled {
            0 => None,
            filled => self.lists[filled.ilog2() as usize].head(),
        }
    }
}

impl Realtime {
    /// `renews`: the server of the others has the rule of a new start before 6.18.
    pub fn new(params: &Params, processors: u16, tick: Nanos, renews: bool) -> Self {
        let (runtime, period) = limit(params);
        let server = FairServer::new(period - runtime, period, renews);
        Realtime {
            throttling: match params.name("rt_throttling") {
                "group" => Throttling::Group,
                "fair_server" => Throttling::FairServer,
                _ => Throttling::Off,
            },
            turn: params.whole("rr_timeslice").div_ceil(tick),
            runtime,
            period,
            links: Links::default(),
            left: Vec::new(),
            queues: vec![Ready::new(server); processors.into()],
            overloaded: CpuSet::none(),
            distributed: vec![0; processors.into()],
            targets: CpuSet::none(),
            known: false,
        }
    }

    /// Tasks of this class on a processor, the running one included.
    #[inline(always)]
    pub fn count(&self, cpu: CpuId) -> u32 {
        self.queues[cpu as usize].count
    }

    /// Whether there is any of this class on a processor.
    #[inline(always)]
    pub fn any(&self, cpu: CpuId) -> bool {
        self.count(cpu) > 0
    }

    /// Whether there is more than one task of this class on a processor, and another processor to which it could go.
    pub fn is_overloaded(&self, cpu: CpuId) -> bool {
        self.queues.len() > 1 && self.overloaded.has(cpu)
    }

    /// Whether that is so of any processor.
    pub fn some_overloaded(&self) -> bool {
        !self.overloaded.is_empty()
    }

    /// The number of tasks on a processor has changed.
    fn note_count(&mut self, cpu: CpuId) {
        self.overloaded.set(cpu, self.count(cpu) > 1);
    }

    /// There is a task of this class, or one with a reservation. Before the first of them nothing was looked after here.
    pub fn note_known(&mut self, now: Nanos) {
        if !std::mem::replace(&mut self.known, true) {
            self.queues.iter_mut().for_each(|ready| ready.server.begin(now));
        }
    }

    /// A task that was not on this processor's lists joins the tail of its priority's.
    pub fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        if self.left.len() <= task as usize {
            self.left.resize(task as usize + 1, self.turn);
        }
        self.note_known(cx.now);
        let ready = &mut self.queues[cpu as usize];
        ready.push_tail(&mut self.links, &cx.tasks[task as usize]);
        if self.throttling == Throttling::Group && !ready.armed {
            ready.armed = true;
            cx.set_timer(cx.now + self.period, cpu, RT_PERIOD);
        }
        self.note_count(cpu);
    }

    pub fn dequeue(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        self.queues[cpu as usize].remove(&mut self.links, &cx.tasks[task as usize]);
        self.note_count(cpu);
    }

    /// A running task had another record: it leaves the list where it was.
    pub fn leave(&mut self, cpu: CpuId, before: &Task) {
        self.queues[cpu as usize].remove(&mut self.links, before);
        self.note_count(cpu);
    }

    /// A running task has another priority: with a better one it goes to the tail of its list, with a worse one to the head, and
    /// with the same it keeps its place (sched_setscheduler). Whether it is worse.
    pub fn requeue(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, before: &Task) -> bool {
        let (ready, after) = (&mut self.queues[cpu as usize], &cx.tasks[task as usize]);
        let (old, new) = (level(before), level(after));
        if old != new {
            ready.remove(&mut self.links, before);
            ready.push(&mut self.links, after, new < old);
        }
        new < old
    }

    /// A task goes to the tail of its list.
    pub fn yield_task(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let (ready, task) = (&mut self.queues[cpu as usize], &cx.tasks[task as usize]);
        ready.remove(&mut self.links, task);
        ready.push_tail(&mut self.links, task);
    }

    /// The task of this class that runs, if the class may. `others`: whether a task of another class is ready.
    pub fn pick(&mut self, cx: &mut Context<'_>, cpu: CpuId, others: bool) -> Option<TaskId> {
        let ready = &mut self.queues[cpu as usize];
        if ready.throttled || ready.server.serves() && others {
            return None;
        }
        let best = ready.best()?;
        if others && self.others_came(cx, cpu) {
            return None;
        }
        Some(best)
    }

    /// A fair task became ready where there was none. Whether it goes before the tasks of this class.
    pub fn others_came(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        self.throttling == Throttling::FairServer && self.queues[cpu as usize].server.start(cx, cpu)
    }

    /// Whether the server of the others serves them.
    #[inline(always)]
    pub fn serves(&self, cpu: CpuId) -> bool {
        self.queues[cpu as usize].server.serves()
    }

    /// None of the others is ready.
    pub fn stop_serving(&mut self, cpu: CpuId) {
        self.queues[cpu as usize].server.stop();
    }

    /// The running task of this class used `ran`.
    #[inline(always)]
    pub fn charge(&mut self, cpu: CpuId, ran: Nanos) {
        self.queues[cpu as usize].used += ran;
    }

    /// A task with a reservation used `ran`. The limit counts that where it counts what real-time tasks use. (update_curr_dl)
    #[inline(always)]
    pub fn charge_reserved(&mut self, cpu: CpuId, ran: Nanos) {
        let ready = &mut self.queues[cpu as usize];
        ready.used += if ready.armed { ran } else { 0 };
    }

    /// Whether the server of the others serves them, and its deadline is before that.
    pub fn serves_before(&self, cpu: CpuId, deadline: Nanos) -> bool {
        let ready = &self.queues[cpu as usize];
        ready.server.serves() && ready.server.deadline() < deadline
    }

    /// A task of another class used `ran`.
    #[inline(always)]
    pub fn charge_others(&mut self, cx: &mut Context<'_>, cpu: CpuId, ran: Nanos) {
        self.queues[cpu as usize].server.charge(cx, cpu, ran);
    }

    /// A processor that may be idle has been so until now.
    pub fn note_idle_time(&mut self, cx: &Context<'_>, cpu: CpuId) {
        self.queues[cpu as usize].server.dl_server_update_idle_time(cx.now);
    }

    /// A processor becomes idle, or has something to run.
    #[inline(always)]
    pub fn note_idle(&mut self, cx: &Context<'_>, cpu: CpuId, idle: bool) {
        let server = &mut self.queues[cpu as usize].server;
        if idle {
            server.idle_begins(cx.now);
        } else {
            server.idle_ends(cx.now);
        }
    }

    /// A tick while a task of this class runs; whether another task should be chosen. The tick at which the class has had its part is
    /// one of the slice, too.
    pub fn tick(&mut self, cx: &Context<'_>, cpu: CpuId, running: TaskId) -> bool {
        let ready = &mut self.queues[cpu as usize];
        if self.throttling == Throttling::Group && ready.used > self.runtime && self.runtime < self.period {
            ready.throttled = true;
        }
        let throttled = ready.throttled;
        self.task_tick_rt(cx, cpu, running) || throttled
    }

    /// A tick of a slice under SCHED_RR; whether it was the last, and another task of this priority waits.
    fn task_tick_rt(&mut self, cx: &Context<'_>, cpu: CpuId, running: TaskId) -> bool {
        let task = &cx.tasks[running as usize];
        if task.policy != Policy::Rr {
            return false;
        }
        let left = &mut self.left[running as usize];
        *left -= 1;
        if *left > 0 {
            return false;
        }
        *left = self.turn;
        let alone = self.queues[cpu as usize].lists[level(task)].is_alone();
        if !alone {
            self.yield_task(cx, cpu, running);
        }
        !alone
    }

    /// A tick while a task of another class runs; whether their part of the period is over.
    pub fn tick_others(&mut self, cpu: CpuId) -> bool {
        self.queues[cpu as usize].server.take_exhausted()
    }

    /// `group`: a period is over. Whether a task of this class may run again.
    pub fn period_over(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        let ready = &mut self.queues[cpu as usize];
        ready.used = ready.used.saturating_sub(self.runtime);
        let freed = ready.throttled && ready.used < self.runtime;
        ready.throttled &= !freed;
        ready.armed = ready.count > 0 || ready.used > 0;
        if ready.armed {
            cx.set_timer(cx.now + self.period, cpu, RT_PERIOD);
        }
        freed && self.any(cpu)
    }

    /// `fair_server`: the timer of the server of the others has expired. Whether another task should be chosen.
    pub fn server_timer(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> bool {
        self.queues[cpu as usize].server.timer(cx, cpu)
    }

    /// A woken task of this class and a running one of any: which is preferred. The running one stays where the class may not run.
    pub fn compare(&self, cx: &Context<'_>, cpu: CpuId, woken: TaskId, running: TaskId) -> Ordering {
        let (woken, running) = (&cx.tasks[woken as usize], &cx.tasks[running as usize]);
        let ready = &self.queues[cpu as usize];
        match is_realtime(running) {
            _ if ready.throttled || ready.server.serves() => Ordering::Less,
            true => level(woken).cmp(&level(running)),
            false => Ordering::Greater,
        }
    }

    /// A waiting task goes to the head of its list. (requeue_task_rt)
    pub fn put_first(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let (ready, task) = (&mut self.queues[cpu as usize], &cx.tasks[task as usize]);
        ready.remove(&mut self.links, task);
        ready.push(&mut self.links, task, true);
    }

    /// The best task of a processor, running or not.
    pub fn best(&self, cpu: CpuId) -> Option<TaskId> {
        self.queues[cpu as usize].best()
    }

    /// The next best after one of its tasks.
    pub fn next_best(&self, cx: &Context<'_>, cpu: CpuId, task: TaskId) -> Option<TaskId> {
        let (ready, at) = (&self.queues[cpu as usize], level(&cx.tasks[task as usize]));
        let below = ready.filled & ((1 << at) - 1);
        let lower = || below.checked_ilog2().and_then(|at| ready.lists[at as usize].head());
        ready.lists[at].after(&self.links, task).or_else(lower)
    }

    /// The priority of the best task of a processor, which no task of this class exceeds where the class may not run.
    pub fn highest_prio(&self, cpu: CpuId) -> usize {
        let ready = &self.queues[cpu as usize];
        match ready.filled.checked_ilog2() {
            _ if ready.throttled || ready.server.serves() => PRIORITIES,
            best => best.unwrap_or(0) as usize,
        }
    }

    /// The best task that waits on another processor and goes before what runs on this one.
    pub fn pull(&self, cx: &Context<'_>, cpu: CpuId) -> Option<TaskId> {
        let here = &self.queues[cpu as usize];
        if self.overloaded.iter().all(|other| other == cpu) || here.throttled || here.server.serves() {
            return None;
        }
        if cx.processors[cpu as usize].running.is_some_and(|running| is_deadline(&cx.tasks[running as usize])) {
            return None;
        }
        let min_vruntime = here.best().map_or(0, |best| level(&cx.tasks[best as usize]));
        let mut found: Option<(usize, TaskId)> = None;
        for other in self.overloaded.iter().map(usize::from).filter(|&other| other != usize::from(cpu)) {
            let ready = &self.queues[other];
            let mut filled = ready.filled;
            while filled != 0 && filled.ilog2() as usize > found.map_or(min_vruntime, |(best, _)| best) {
                let at = filled.ilog2() as usize;
                filled &= !(1 << at);
                let may = |task: &TaskId| {
                    cx.tasks[*task as usize].allowed.has(cpu) && cx.processors[other].running != Some(*task)
                };
                if let Some(task) = ready.lists[at].iter(&self.links).find(may) {
                    found = Some((at, task));
                    break;
                }
            }
        }
        found.map(|(_, task)| task)
    }
}
