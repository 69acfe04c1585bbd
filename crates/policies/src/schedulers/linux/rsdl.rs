//! # rsdl
//!
//! Promises every nice level a bounded wait, and a task that uses less than its share the processor as soon as it wakes,
//! without guessing which tasks are interactive: SD 0.46, the staircase deadline scheduler, first announced as RSDL.
//!
//! ## The idea
//!
//!     A rotation has 40 slots, served from 0 to 39. A row of a matrix defines which slots a nice level may use: nice 0
//!     every second one, nice 19 the last one only, nice -20 all.
//!     A task gets its quota in its first slot. When the quota is used up it steps down to the next slot of its row that
//!     comes after what its level has reached already; when there is none left, it waits in the expired array with a new
//!     quota. When the active array is empty, the two arrays are exchanged and a new rotation begins.
//!     A woken task preempts if its slot comes before that of the running task. One that slept within
//!     its quota continues with the rest of it; one that slept into another rotation begins anew.
//!     SCHED_BATCH uses as many slots as its nice level allows, but takes the last ones.
//!
//! ## The formula
//!
//!     q(n)  =  r n^2 / 40   for n < -6          whole ms
//!              r            for -6 <= n <= 0
//!              r / 2        for n > 0           at least 1 ms
//!     slots(n)  =  20 - n
//!     share of a among tasks that never wait  ~  q(a) (slots(a) + 1)
//!
//! n nice level, q its quota in a slot, r the rr_interval. The additional slot is the first one, which a task that comes
//! from the expired array gets twice.
//!
//! ## A schedule
//!
//! Nice 0 with nice 10, and a task that slept past its slot: it wakes in its remaining slot, before that of b:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "1000/s" } }
//! scheduler = { name = "rsdl", rr_interval = "8ms" }
//! workload.a = { load = "spin", compute = "72ms" }
//! workload.b = { load = "spin", compute = "16ms", nice = 10 }
//! workload.c = { steps = [{ compute = "2ms" }, { sleep = "22ms" }, { compute = "4ms" }] }
//! ```
//!
//! ```text
//!         0ms       20ms      40ms      60ms      80ms
//!         |         |         |         |         |
//! a#0     ####...########....########..########..########
//! b#1     .....##........#..#........##........##
//! c#2     ....#           ##
//! idle 0
//!         a column is 2ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! Enqueue and pick: constant; at most 40 steps over nice levels when a task of a worse level steps down.
//!
//! ## Good for, not for
//!
//! A desktop with carefully chosen nice levels: latency follows from them and not from a guess. A batch job under
//! SCHED_BATCH lets rr_interval, and with it throughput, grow without harm to others. Not for a load of many equal tasks
//! with one that wakes often and needs nearly its share: having used its slots, it waits for the next rotation.
//!
//! A program gets more by forking, as each child begins with slots and a quota of its own: one that forks a child of 5 ms, waits
//! for it and forks the next has 87 % of the processor when run alongside a computing task of the same nice level, at 100 and
//! at 1000 ticks a second. With an interval of 16 ms or more, as on two processors and more, it can keep the other tasks of its
//! processor waiting for a minute; so no freedom from starvation is promised.
//!
//! ## Departures
//!
//! - On several processors tasks are placed and balanced by the rules of 2.6.20, as under o1 and with the departures listed there; a task
//!   weighs what its quotas allow it in a rotation.
//! - The kernel skips wakeup preemption where the waker says that it is about to sleep ("sync"); here a sync wakeup only counts
//!   where a processor is chosen.
//! - The kernel limits what a single charge can be to one or two ticks, against clocks that jump; clocks here do not.
//! - SCHED_IDLEPRIO is raised to nice 19 after a disk wait, as in the kernel, but not for locks, which here are the
//!   programs' own, nor for signals. Any normal task preempts it, even one that has expired.
//! - The average behind SCHED_ISO is held below 100 %, which the kernel leaves to its counter's width.
//! - SCHED_DEADLINE did not exist: such tasks are ordinary ones.
//! - `interactive = true` is a rule of 1.00; 0.46 had no such switch.
//!
//! ## References
//!
//! - C. Kolivas, Staircase Deadline scheduler for Linux 2.6.20 to 2.6.22, patches of March to July 2007: kernel/sched.c
//!   (`recalc_task_prio`, `next_entitled_slot`, `queue_expired`, `task_running_tick`, `check_deadline`, `rr_quota`),
//!   Documentation/sched-design.txt.
//!
//! Long, because the page and the rule belong in one file.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Features, Pick, Preempt, Scheduler, Ticks,
    kit::queue::Links,
    linux::domain::{self, Domains},
};
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Policy, Task, TaskId, Wait},
    topology::Topology,
};

mod balancing;
mod change;
mod queue;
mod rotation;
use queue::{EXPIRED, Entity, IDLE, ISO, Queue};

/// Staircase deadline.
#[derive(Debug)]
pub struct Rsdl {
    /// ms.
    interval: i64,
    interactive: bool,
    /// Percent, and ticks.
    iso_limit: u64,
    iso_period: u64,
    links: Links,
    queues: Vec<Queue>,
    domains: Domains,
    entities: Vec<Entity>,
}

impl Rsdl {
    /// A task that was not in a list joins one.
    #[inline(never)]
    fn join(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        if self.entities.get(task as usize).is_none_or(|entity| entity.quota == 0) {
            self.create(cx, task);
        }
        self.settle_in(cpu, task);
        self.put(cx, cpu, task, why);
        self.queues[cpu as usize].share.arrive(self.entities[task as usize].whole as u64);
        if why == Enqueue::Migrate && self.queues.len() > 1 {
            self.compete(cx, cpu, task);
        }
    }

    /// Puts a task into the list where it belongs now.
    #[inline(always)]
    fn put(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        let queue = &mut self.queues[cpu as usize];
        let view = &cx.tasks[task as usize];
        queue.choose_list(&mut self.entities[task as usize], view.priority, self.interactive);
        // A task forked by the running task in the same list goes first.
        let before = view.parent.filter(|&parent| {
            let (giver, entity) = (&self.entities[parent as usize], &self.entities[task as usize]);
            let here = why == Enqueue::New && cx.waker == Some(parent) && giver.cpu == cpu;
            here && queue.rank(giver) == queue.rank(entity)
        });
        let entity = &mut self.entities[task as usize];
        (entity.ahead, entity.queued) = (before.is_some(), true);
        queue.insert(&mut self.links, entity, task, before);
    }

    /// A task that has used up its quota goes where it belongs now, less its overrun.
    fn turn(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        let entity = &self.entities[task as usize];
        let too_much = entity.left.min(0);
        self.queues[cpu as usize].remove(&mut self.links, entity, task);
        self.put(cx, cpu, task, Enqueue::SliceEnd);
        let entity = &mut self.entities[task as usize];
        entity.left += too_much;
        entity.newborn = false;
    }

    /// A task that yields waits for the next rotation; one without slots goes to the tail of its list.
    #[inline(never)]
    fn give_way(&mut self, cpu: CpuId, task: TaskId) {
        let (queue, entity) = (&mut self.queues[cpu as usize], &mut self.entities[task as usize]);
        entity.settle();
        queue.remove(&mut self.links, entity, task);
        if entity.list == queue::FIRST {
            entity.expire(&mut queue.rotation);
        }
        queue.insert(&mut self.links, entity, task, None);
    }

    /// A task of which nothing is known yet. One that was forked goes on where its parent is, with half of what the parent
    /// has left, and before it.
    fn create(&mut self, cx: &Context<'_>, task: TaskId) {
        if task as usize >= self.entities.len() {
            self.entities.resize(task as usize + 1, Entity::default());
        }
        let view = &cx.tasks[task as usize];
        let Some(parent) = view.parent else {
            self.entities[task as usize] = Entity::new(view.policy, view.nice, self.interval);
            return;
        };
        let giver = &mut self.entities[parent as usize];
        giver.settle();
        let mut child = Entity { newborn: true, ..*giver };
        if child.policy != Policy::Fifo {
            child.left = (giver.left + 1) >> 1;
            giver.left >>= 1;
        }
        self.entities[task as usize] = child;
    }
}

impl Scheduler for Rsdl {
    const INFO: Info = Info {
        name: "rsdl",
        summary: "the staircase deadline scheduler: slots by nice level, no guess at which tasks are interactive",
        year: 2007,
        origin: "SD 0.46 (RSDL) for Linux 2.6.20 and 2.6.21",
        promises: &[
            Promise::WorkConserving(Reach::EachProcessor),
            Promise::FairToEquals(Reach::EachProcessor),
            Promise::FindsWork(domain::FINDS_WORK),
            Promise::MovesAtMost(domain::MOVES_AT_MOST),
        ],
        parameters: &[
            Parameter {
                name: "rr_interval",
                meaning: "the quota of nice 0 in a slot, cut to whole ms; times 1 + log2 of the processors",
                domain: Domain::Duration { low: MILLISECOND, high: 5 * SECOND },
                default: Some("8ms"),
                logarithmic: true,
                grows: false,
                host: None,
            },
            Parameter {
                name: "interactive",
                meaning: "a task of the best level takes any slot it has left, not only later ones (1.00)",
                domain: Domain::Switch,
                default: Some("false"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "iso_cpu",
                meaning: "percent of a processor that real time and SCHED_ISO may use before SCHED_ISO is normal",
                domain: Domain::Count { low: 0, high: 100 },
                default: Some("80"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            Parameter {
                name: "iso_period",
                meaning: "time over which that use is averaged",
                domain: Domain::Duration { low: 100 * MILLISECOND, high: 100 * SECOND },
                default: Some("5s"),
                logarithmic: true,
                grows: false,
                host: None,
            },
        ],
        source: schedlab_model::documentation!("rsdl.rs"),
    };
    const FEATURES: Features = Features {
        ticks: true,
        charges_at_wakeups: true,
        passes_ticks: true,
        passes_idle_ticks: true,
        ..Features::NONE
    };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let processors = topology.processors();
        let domains = Domains::new(topology);
        let mut queues: Vec<_> = (0..processors).map(|_| Queue::new()).collect();
        (0..).zip(&mut queues).for_each(|(cpu, queue)| queue.share.begin(domains.of(cpu)));
        Rsdl {
            interval: (params.whole("rr_interval") / MILLISECOND) as i64 * (1 + i64::from(processors.ilog2())),
            interactive: params.switch("interactive"),
            iso_limit: params.whole("iso_cpu"),
            iso_period: params.whole("iso_period") / tick + 1,
            links: Links::default(),
            queues,
            domains,
            entities: Vec::new(),
        }
    }

    fn select_cpu(&mut self, cx: &mut Context<'_>, task: TaskId, why: Enqueue) -> CpuId {
        domain::select(self, cx, task, why)
    }

    fn exec_cpu(&mut self, cx: &mut Context<'_>, task: TaskId) -> CpuId {
        domain::exec(self, cx, task)
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Enqueue) {
        match why {
            Enqueue::Preempted | Enqueue::SliceEnd => {
                self.entities[task as usize].settle(); // it kept its place
                self.may_leave(cx, cpu, task);
            }
            Enqueue::Yield => {
                self.give_way(cpu, task);
                self.may_leave(cx, cpu, task);
            }
            Enqueue::New | Enqueue::Wakeup | Enqueue::Migrate => self.join(cx, cpu, task, why),
        }
    }

    #[inline]
    fn dequeue(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, why: Dequeue) {
        let (queue, entity) = (&mut self.queues[cpu as usize], &mut self.entities[task as usize]);
        if !queue.share.was_pushed(task) {
            queue.remove(&mut self.links, entity, task);
        }
        queue.share.leave(entity.whole as u64);
        entity.settle();
        entity.queued = false;
        match why {
            Dequeue::Sleep(wait) => {
                entity.from_disk = wait == Wait::Disk;
                entity.sync = domain::sync(wait);
                entity.last_ran = cx.now;
                queue.share.stop();
            }
            Dequeue::Migrate if entity.rotation == queue.rotation.count => {
                entity.moving = Some(entity.array == queue.rotation.active);
            }
            Dequeue::Migrate | Dequeue::Exit => {}
        }
    }

    #[inline(always)]
    fn pick_next(&mut self, cx: &mut Context<'_>, cpu: CpuId) -> Option<Pick> {
        loop {
            let queue = &mut self.queues[cpu as usize];
            if let Some((list, task)) = queue.urgent() {
                if list < ISO || !queue.refractory {
                    return Some(Pick { task, slice: None });
                }
                self.turn(cx, cpu, task);
                continue;
            }
            if queue.rotation.active().first().is_none() && queue.rotation.expired().first().is_some() {
                queue.rotation.swap();
            }
            let Some((slot, task)) = queue.rotation.active().first() else {
                if queue.idle.is_empty() {
                    if queue.share.count > 0 {
                        return self.pick_pushed(cx, cpu);
                    }
                    queue.rotation.begin();
                }
                return queue.idle.head().map(|task| Pick { task, slice: None });
            };
            let entity = &mut self.entities[task as usize];
            if entity.left > 0 {
                entity.rotation = queue.rotation.count;
                queue.rotation.note(entity.level, slot);
                return Some(Pick { task, slice: None });
            }
            self.turn(cx, cpu, task);
        }
    }

    #[inline]
    fn charge(&mut self, _: &mut Context<'_>, _: CpuId, task: TaskId, ran: Nanos) {
        self.entities[task as usize].ran += ran;
    }

    #[inline]
    fn wakeup_preempts(&mut self, _: &mut Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> Preempt {
        let queue = &self.queues[cpu as usize];
        let (mine, other) = (queue.rank(&self.entities[woken as usize]), queue.rank(&self.entities[running as usize]));
        let ahead = self.entities[woken as usize].ahead;
        (ahead || mine < other && (mine != EXPIRED || other == IDLE)).into()
    }

    #[inline(always)]
    fn tick(&mut self, cx: &mut Context<'_>, cpu: CpuId) {
        let several = self.queues.len() > 1;
        let queue = &mut self.queues[cpu as usize];
        queue.ticked = cx.now;
        if several {
            queue.share.tick();
        }
        let running = cx.processors[cpu as usize].running;
        let list = running.map_or(IDLE, |task| self.entities[task as usize].list);
        queue.watch(list <= ISO, self.iso_limit, self.iso_period);
        let Some(task) = running else { return };
        let entity = &mut self.entities[task as usize];
        entity.settle();
        if entity.left <= 0 && entity.policy != Policy::Fifo || queue.refractory && list == ISO {
            self.turn(cx, cpu, task);
            cx.resched(cpu);
        }
    }

    /// A tick only counts while the quota lasts and there is nothing to watch. Since each takes whole us, those that are passed
    /// over begin at a tick.
    #[inline]
    fn quiet_ticks(&self, cx: &Context<'_>, cpu: CpuId, running: TaskId) -> Ticks {
        let (queue, entity) = (&self.queues[cpu as usize], &self.entities[running as usize]);
        if entity.ran > 0 || queue.ticked != cx.now || queue.watches(entity.list <= ISO) {
            return Ticks::default();
        }
        Ticks { clock: entity.ticks_within_quota(cx.tick), statistics: 0 }
    }

    #[inline]
    fn pass_ticks(&mut self, cx: &Context<'_>, cpu: CpuId, running: TaskId, ticks: Ticks) {
        self.queues[cpu as usize].ticked = cx.now;
        self.entities[running as usize].settle_ticks(ticks.clock, cx.tick);
    }

    fn idle_ticks(&self, _: &Context<'_>) -> Ticks {
        domain::idle_ticks(self)
    }

    fn pass_idle_ticks(&mut self, cx: &Context<'_>, ticks: Ticks) {
        let several = self.queues.len() > 1;
        for (cpu, queue) in (0..).zip(&mut self.queues) {
            queue.ticked = cx.now;
            queue.forget(ticks.clock, self.iso_limit, self.iso_period);
            if several {
                queue.share.rest(ticks.clock, cx.tick, self.domains.of(cpu));
            }
        }
    }

    fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        self.change(cx, cpu, task, before);
    }

    /// A child that ended within what its parent gave it gives back the rest.
    fn reaped(&mut self, _: &mut Context<'_>, parent: TaskId, child: TaskId) {
        let child = self.entities[child as usize];
        let parent = &mut self.entities[parent as usize];
        if child.newborn && child.left > 0 && child.cpu == parent.cpu {
            parent.left = (parent.left + child.left).min(parent.quota);
        }
    }

    fn balance(&mut self, cx: &mut Context<'_>, cpu: CpuId, why: Balance) -> Option<TaskId> {
        domain::pull(self, cx, cpu, why)
    }
}
