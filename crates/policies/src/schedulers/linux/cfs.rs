//! # cfs
//!
//! Promises every task its weight's share of the processor, and that a task that sleeps much runs as soon as it wakes.
//!
//! ## The idea
//!
//!     Every task has a virtual time that advances the more slowly the greater its weight. The one with the least runs.
//!     All ready tasks run once in a period; each slice is the task's share of that period.
//!     A task that slept is placed half a period before the least virtual time of the queue, but never before its own
//!     earlier virtual time.
//!     A new task is placed one slice behind the least virtual time.
//!     A woken task preempts if its virtual time is more than the wakeup granularity behind that of the running task.
//!     At a tick the running task is preempted if its slice is over, or if it is more than a slice ahead of the first in
//!     the queue.
//!
//! ## The formula
//!
//!     v      =  sum(ran * 1024 / w)
//!     slice  =  max(period * w / W, min_granularity)
//!     period =  latency, or n * min_granularity if n > 8
//!
//! v virtual time in ns, w weight by nice level (1024 at nice 0, a quarter more or less for each level), W that of all
//! ready tasks, n their number; times in ns. latency, min_granularity and wakeup_granularity are, where they
//! are left out, those of one processor times 1 + floor(log2(min(processors, 8))).
//!
//! ## A schedule
//!
//! Two tasks that never wait and one that sleeps; at 250 ticks a second a slice of 3 ms is a tick. The sleeper preempts
//! each time it wakes:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "250/s" } }
//! scheduler = { name = "cfs" }
//! workload.a = { load = "spin", compute = "20ms" }
//! workload.b = { load = "spin", compute = "20ms" }
//! workload.c = { steps = [{ sleep = "9ms" }, { compute = "3ms" }, { sleep = "9ms" }, { compute = "3ms" }] }
//! ```
//!
//! ```text
//!         0ms       10ms      20ms      30ms      40ms
//!         |         |         |         |         |
//! a#0     .....####........####....####....####....####
//! b#1     #####....#...####....#.......####....####....#
//! c#2     .         ###         ###
//! idle 0
//!         a column is 1ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! A task joins and leaves a sorted list of blocks: a comparison for each doubling of the tasks, and a block of 32 moves. A
//! choice takes the first. Groups cost that on each level.
//!
//! ## Good for, not for
//!
//! Desktops: a task that uses less than its share hardly waits. The cost: a task that sleeps a little and computes much
//! preempts as well, and with many tasks every wakeup causes a switch. There is no way to ask for a shorter slice.
//!
//! ## Departures
//!
//! - The kernel keeps queues in a red-black tree; here they are kept in blocks (the order is the same). Virtual times are
//!   divided as in the kernel, by multiplying with inverse weights; sums of them exactly.
//! - Averages of load, of the time able to run and of the time run are those of the kernel as if its periods were infinitely short. The
//!   kernel's vary by some units in a thousand, and its processors see the common count of ticks a little earlier or later: here a
//!   busy processor that compares loads sees them up to 1/512 smaller by chance, and its next interval is a tick longer or
//!   shorter by chance where there was an imbalance. Of a group the load alone is kept.
//! - Scheduling domains are built from the machine's threads, last-level caches, nodes and distances; there are none for clusters.
//!   Cores are favoured (asym packing) as the machine's `priorities` say, at the levels at which x86 does it: within a core and within a
//!   last-level cache.
//!   There is no energy model; idle states do not differ. Real-time tasks alone reduce what a processor can do for others.
//! - A processor that becomes idle counts 2 us for each that it looks at, and under 5.10 a search for an idle one 0.1 us.
//! - Idle processors balance at the tick of the busy one that asks for it, after its own balancing; in the kernel the first of them does so for all,
//!   itself last, while the busy one balances. A task that sleeps but stays in its queue does not move.
//! - A sleep of months, after which the kernel forgets where a task was, does not occur here.
//! - Real-time tasks go to processors by the rules of Linux, as in a kernel without clamps of utilisation: what cores can do is not
//!   looked at. Under 5.10, too, a processor with a reservation's task counts as one with a better task; the kernel does that since 5.11.
//!   A processor pulls where its real-time task leaves, where it becomes idle and at ticks; in the kernel only the first, and there the
//!   others send it theirs. Of waiting tasks of equal priority the first of the list is sent elsewhere; in the kernel, the one that has
//!   waited longest. Where the best waiting task may not use the processor that it needs, those after it are tried; in the kernel, none.
//!   A processor that has stopped its real-time tasks (`rt_throttling`) takes none.
//! - Tasks with a reservation (the policy `deadline`, SCHED_DEADLINE) run before real-time tasks: each is a constant bandwidth
//!   server, the earliest deadlines of all processors run, and a budget is looked at only at ticks and when a task stops running,
//!   as in the kernel without hrtick; what was used too much is taken from the next budget. All together get at most `rt_runtime` of
//!   `rt_period` of the machine's capacity (under `off`, there is no limit); under `fair_server` the server's part counts among it.
//!   Refused, as in the kernel: a reservation beyond that; one of a task that is bound to some processors (`cpus`); a runtime below
//!   1024 ns; a period below 0.1 ms or above 4.194304 s; that of a child, which is an ordinary task. A reservation under another
//!   policy is refused, too.
//! - Of several equally good processors for a task with a reservation the first is taken; the kernel takes turns. A task that holds a
//!   lock for one with a reservation gets the highest real-time priority; the kernel lends the deadline.
//! - SCHED_ISO, which this kernel does not have, is an ordinary task, and so are the drivers and servers of a message-passing kernel.
//!
//! ## References
//!
//! - Linux 5.10, 6.1: kernel/sched/fair.c (`update_curr`, `sched_slice`, `place_entity`, `check_preempt_tick`,
//!   `check_preempt_wakeup`, `wakeup_preempt_entity`, `pick_next_entity`, `yield_task_fair`),
//!   kernel/sched/rt.c (`select_task_rq_rt`, `find_lowest_rq`, `check_preempt_equal_prio`, `push_rt_task`), kernel/sched/cpupri.c,
//!   kernel/sched/deadline.c (`update_dl_entity`, `update_curr_dl`, `grub_reclaim`, `push_dl_task`), kernel/sched/cpudeadline.c.
//! - L. Abeni, G. Buttazzo: Integrating Multimedia Applications in Hard Real-Time Systems, RTSS 1998 (the server of a reservation).
//!
//! Long, because the page and the rule belong in one file.

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Pick, Preempt, Scheduler,
    kit::timeline::EntityId,
    linux::shared::{
        balance,
        balancer::Kernel,
        deadline,
        entity::{CfsRq, CfsRqId, Choice, Leave, Meeting, NOBODY, Placing, SchedEntity},
        hierarchy::{FairClass, Tree},
        linux::{self, Linux},
        nice_weights::virtual_time,
        realtime,
    },
};
use schedlab_model::{
    MICROSECOND, Nanos, SECOND,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Task, TaskId},
    topology::Topology,
};

/// More ready tasks than this lengthen the period (sched_nr_latency). With at least this number of entities, preempted
/// ones become buddies.
const FEW: u32 = 8;
/// Shortest slice of a SCHED_IDLE task that competes with others (sysctl_sched_idle_min_granularity).
const IDLE_GRANULARITY: Nanos = 750 * MICROSECOND;

/// The rule of one queue.
#[derive(Debug)]
pub struct Rule {
    latency: Nanos,
    min_granularity: Nanos,
    wakeup_granularity: Nanos,
    gentle_sleepers: bool,
    /// Whether buddies count.
    buddies: bool,
    wakeup_preemption: bool,
}

/// What is noted of an entity.
#[derive(Debug, Default, Clone, Copy)]
pub struct Claim {
    /// Processor time it has used since it was chosen.
    ran: Nanos,
}

/// What is noted of a queue besides the entities that compete in it.
#[derive(Debug)]
pub struct State {
    /// The least virtual time of the queue; it never goes back.
    min_vruntime: i64,
    /// Of those that compete, the weight of SCHED_IDLE.
    idle: u32,
    /// [`LAST`] and [`SKIP`].
    noted: [EntityId; 2],
}

/// Preempted by a wakeup, to run again after it.
const LAST: usize = 0;
/// Skipped once, because it yielded.
const SKIP: usize = 1;

impl Default for State {
    fn default() -> Self {
        State { min_vruntime: 0, idle: 0, noted: [NOBODY; 2] }
    }
}

impl Rule {
    /// The least virtual time of the queue rises with that of its entities.
    #[inline(always)]
    fn update_min_vruntime(queue: &mut CfsRq<State>, current: Option<i64>) {
        let first = queue.line.first().map(|(_, vruntime, _)| vruntime);
        let least = current.unwrap_or(i64::MAX).min(first.unwrap_or(i64::MAX));
        if least < i64::MAX {
            queue.state.min_vruntime = queue.state.min_vruntime.max(least);
        }
    }

    /// An entity's slice: its share of a period in its queue, and of its group's in the one above. (sched_slice)
    #[inline(always)]
    fn sched_slice(&self, tree: &Tree<Self>, entity: &SchedEntity<Claim>, queue: &CfsRq<State>) -> Nanos {
        let ready = tree.queues[queue.cpu].tasks + u32::from(!entity.queued);
        let period = if ready > FEW { u64::from(ready) * self.min_granularity } else { self.latency };
        let mut turn = Self::share(period, entity, queue);
        let mut at = entity.queue;
        while !tree.is_root(at) {
            let group = &tree.entities[at as usize];
            turn = Self::share(turn, group, &tree.queues[group.queue as usize]);
            at = group.queue;
        }
        let beside_others = entity.is_idle() && queue.state.idle < queue.count;
        turn.max(if beside_others { IDLE_GRANULARITY } else { self.min_granularity })
    }

    /// An entity's share of a time in its queue, by weight.
    #[inline(always)]
    fn share(time: Nanos, entity: &SchedEntity<Claim>, queue: &CfsRq<State>) -> Nanos {
        time * entity.weight / (queue.weight + if entity.queued { 0 } else { entity.weight })
    }

    /// How far one entity is behind another, against what a woken one must be behind to be preferred: more, less, or not
    /// behind at all. (wakeup_preempt_entity)
    #[inline(always)]
    fn wakeup_preempt_entity(&self, current: &SchedEntity<Claim>, woken: &SchedEntity<Claim>) -> Option<bool> {
        let behind = current.vruntime - woken.vruntime;
        (behind > 0).then(|| behind > virtual_time(self.wakeup_granularity, woken.weight))
    }

    /// Whether an entity may run before the first one, if there is a reason.
    fn near_enough(&self, entities: &[SchedEntity<Claim>], entity: EntityId, first: EntityId) -> bool {
        self.wakeup_preempt_entity(&entities[entity as usize], &entities[first as usize]) != Some(true)
    }

    /// A preempted task runs again after the one that preempts it.
    fn set_last_buddy(tree: &mut Tree<Self>, mut id: EntityId) {
        while id != NOBODY {
            let (entity, queue) = tree.pair(id);
            if !entity.queued || entity.is_idle() {
                return;
            }
            queue.state.noted[LAST] = id;
            let queue = entity.queue;
            id = tree.owner(queue);
        }
    }
}

impl FairClass for Rule {
    type Claim = Claim;
    type State = State;

    fn claim(&self, _: &Task) -> Claim {
        Claim::default()
    }

    #[inline(always)]
    fn key(entity: &SchedEntity<Claim>) -> i64 {
        entity.vruntime
    }

    #[inline(always)]
    fn charge(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>, used: Nanos) -> bool {
        entity.vruntime += virtual_time(used, entity.weight);
        entity.claim.ran += used;
        Self::update_min_vruntime(queue, Some(entity.vruntime));
        false
    }

    /// One slice behind the others. (place_entity)
    fn place_entity_initial(&self, tree: &mut Tree<Self>, id: EntityId) {
        let entity = &tree.entities[id as usize];
        let queue = &tree.queues[entity.queue as usize];
        let place = queue.state.min_vruntime + virtual_time(self.sched_slice(tree, entity, queue), entity.weight);
        tree.entity(id).vruntime = entity.vruntime.max(place);
    }

    #[inline(always)]
    fn enqueue(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>, id: EntityId, how: Placing) {
        if how == Placing::Wakeup {
            let credit = if entity.is_idle() { self.min_granularity } else { self.latency };
            let credit = if self.gentle_sleepers { credit / 2 } else { credit };
            entity.vruntime = entity.vruntime.max(queue.state.min_vruntime - credit as i64); // place_entity
        }
        queue.weight += entity.weight;
        queue.count += 1;
        queue.state.idle += u32::from(entity.is_idle());
        entity.queued = true;
        Self::insert_in_timeline(queue, entity, id);
    }

    #[inline(always)]
    fn dequeue(&self, entities: &mut [SchedEntity<Claim>], queue: &mut CfsRq<State>, id: EntityId, _: Leave) -> bool {
        let entity = &mut entities[id as usize];
        queue.weight -= entity.weight;
        queue.count -= 1;
        queue.state.idle -= u32::from(entity.is_idle());
        entity.queued = false;
        if queue.current == id {
            queue.current = NOBODY;
            Self::update_min_vruntime(queue, None);
        } else {
            queue.line.remove(entity.vruntime, id);
            let current = entities.get(queue.current as usize);
            Self::update_min_vruntime(queue, current.map(|current| current.vruntime));
        }
        true
    }

    /// Virtual times of two queues are compared by their least ones.
    fn migrate_entity(&self, tree: &mut Tree<Self>, task: EntityId, to: CfsRqId) {
        let from = tree.entity(task).queue;
        let change = tree.queue(to).state.min_vruntime - tree.queue(from).state.min_vruntime;
        tree.entity(task).vruntime += change;
    }

    /// In the other class, its virtual time is relative to the queue's. (switched_from_fair, switched_to_fair)
    fn change_class(&self, tree: &mut Tree<Self>, entity: EntityId, leaves: bool) {
        let (entity, queue) = tree.pair(entity);
        let least = queue.state.min_vruntime;
        entity.vruntime += if leaves { -least } else { least };
    }

    fn reweight_entity(&self, tree: &mut Tree<Self>, entity: EntityId, weight: u64) {
        let &mut SchedEntity { queue, queued, weight: old, .. } = tree.entity(entity);
        if queued {
            tree.update_curr(self, queue);
            tree.queue(queue).weight += weight;
            tree.queue(queue).weight -= old;
        }
        tree.entity(entity).weight = weight;
    }

    /// The first, unless it has just yielded and the second is hardly behind it; a next or last buddy goes before either, if
    /// it is hardly behind. (pick_next_entity)
    #[inline(always)]
    fn pick_entity(&self, entities: &[SchedEntity<Claim>], queue: &mut CfsRq<State>) -> Choice {
        let (current, head) = (queue.current, queue.line.first());
        let first = match head {
            Some((entity, vruntime, _)) if current == NOBODY || vruntime <= entities[current as usize].vruntime => {
                entity
            }
            _ => current,
        };
        let [last, skip] = queue.state.noted;
        let plain = queue.next == NOBODY && last == NOBODY && skip != first;
        let chosen = if plain { first } else { self.pick_buddy(entities, queue, first) };
        Choice { entity: chosen, spot: head.and_then(|(entity, _, spot)| (entity == chosen).then_some(spot)) }
    }

    #[inline(always)]
    fn begin(&self, entity: &mut SchedEntity<Claim>, _: &mut CfsRq<State>) {
        entity.claim.ran = 0;
    }

    #[inline(always)]
    fn is_buddy(queue: &CfsRq<State>, entity: EntityId) -> bool {
        queue.next == entity || queue.state.noted.contains(&entity)
    }

    fn is_preferred(queue: &CfsRq<State>, entity: EntityId) -> bool {
        queue.next == entity || queue.state.noted[LAST] == entity
    }

    /// clear_buddies
    fn clear_buddies(tree: &mut Tree<Self>, entity: EntityId) {
        tree.clear_next_buddy(entity);
        for kind in [LAST, SKIP] {
            let mut at = entity;
            while at != NOBODY {
                let queue = tree.entity(at).queue;
                let noted = &mut tree.queue(queue).state.noted[kind];
                if *noted != at {
                    break;
                }
                *noted = NOBODY;
                at = tree.owner(queue);
            }
        }
    }

    /// check_preempt_tick
    #[inline(always)]
    fn check_preempt_tick(&self, tree: &mut Tree<Self>, queue: CfsRqId) {
        let queue = &tree.queues[queue as usize];
        if queue.count < 2 {
            return;
        }
        let id = queue.current;
        let current = &tree.entities[id as usize];
        let (ran, turn) = (current.claim.ran, self.sched_slice(tree, current, queue));
        if ran > turn {
            tree.resched = true;
            if Self::is_buddy(queue, id) {
                Self::clear_buddies(tree, id);
            }
            return;
        }
        let ahead = queue.line.first().map_or(0, |(_, first, _)| current.vruntime - first);
        let too_far = ran >= self.min_granularity && ahead > turn as i64;
        tree.resched |= too_far;
    }

    /// check_preempt_wakeup
    #[inline(always)]
    fn check_preempt_wakeup(&self, tree: &mut Tree<Self>, meeting: Meeting) -> bool {
        let Meeting { current, woken, normal, .. } = meeting;
        let (one, other) = (&tree.entities[current as usize], &tree.entities[woken as usize]);
        if one.is_idle() && !other.is_idle() {
            return true;
        }
        if !self.wakeup_preemption || one.is_idle() != other.is_idle() || !normal {
            return false;
        }
        tree.update_curr(self, one.queue);
        let (one, other) = (&tree.entities[current as usize], &tree.entities[woken as usize]);
        if self.wakeup_preempt_entity(one, other) != Some(true) {
            return false;
        }
        let many = tree.queues[one.queue as usize].count >= FEW;
        tree.set_next_buddy(woken);
        if many && tree.is_task(current) {
            Self::set_last_buddy(tree, current);
        }
        true
    }

    fn yield_task_fair(&self, tree: &mut Tree<Self>, task: EntityId) {
        tree.clear_buddies_of(task);
        let queue = tree.entity(task).queue;
        tree.update_curr(self, queue);
        let mut entity = task;
        while entity != NOBODY {
            let queue = tree.entity(entity).queue;
            tree.queue(queue).state.noted[SKIP] = entity;
            entity = tree.owner(queue);
        }
    }
}

impl Rule {
    /// In place of the first: the second, if the first is the skip buddy, or the next or last buddy, if it is near enough.
    fn pick_buddy(&self, entities: &[SchedEntity<Claim>], queue: &CfsRq<State>, first: EntityId) -> EntityId {
        let near_enough = |entity: &EntityId| self.near_enough(entities, *entity, first);
        let [last, skip] = queue.state.noted;
        let buddies = if self.buddies { [queue.next, last] } else { [NOBODY; 2] };
        let buddy = buddies.into_iter().filter(|&buddy| buddy != NOBODY).find(near_enough);
        let second = || Self::second(entities, queue, first).filter(|_| skip == first).filter(near_enough);
        buddy.or_else(second).unwrap_or(first)
    }

    /// The entity after the first, the current one included.
    fn second(entities: &[SchedEntity<Claim>], queue: &CfsRq<State>, first: EntityId) -> Option<EntityId> {
        let (current, line) = (queue.current, &queue.line);
        if first == current {
            return line.first().map(|(entity, ..)| entity);
        }
        match line.second() {
            Some((entity, vruntime)) if current == NOBODY || vruntime <= entities[current as usize].vruntime => {
                Some(entity)
            }
            _ => (current != NOBODY).then_some(current),
        }
    }
}

/// The least virtual time first.
#[derive(Debug)]
pub struct Cfs(Linux<Rule>);

const THROTTLING: [Parameter; 4] = realtime::parameters("group");

/// A length of time that grows with the number of processors.
const fn length(name: &'static str, meaning: &'static str, default: &'static str, host: &'static str) -> Parameter {
    let domain = Domain::Duration { low: 100 * MICROSECOND, high: SECOND };
    Parameter { name, meaning, domain, default: Some(default), logarithmic: true, grows: true, host: Some(host) }
}

/// A feature that can be turned off.
const fn feature(name: &'static str, meaning: &'static str, host: Option<&'static str>) -> Parameter {
    Parameter { name, meaning, domain: Domain::Switch, default: Some("true"), logarithmic: false, grows: false, host }
}

impl Scheduler for Cfs {
    const INFO: Info = Info {
        name: "cfs",
        summary: "the scheduler of Linux until 6.5: the task with the least virtual time",
        year: 2007,
        origin: "Linux 6.1",
        promises: &[
            Promise::WorkConserving(Reach::EachProcessor),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FairToEquals(Reach::EachProcessor),
            Promise::FindsWork(balance::FINDS_WORK),
            Promise::MovesAtMost(balance::MOVES_AT_MOST),
            Promise::LimitsGroups,
        ],
        parameters: &[
            length(
                "latency",
                "period in which all ready tasks run once; left out, 6 ms times 1 + log2 of the processors",
                "6ms",
                "latency",
            ),
            length(
                "min_granularity",
                "shortest slice; left out, 0.75 ms times 1 + log2 of the processors",
                "0.75ms",
                "min_granularity",
            ),
            length(
                "wakeup_granularity",
                "how far a woken task must be behind to take the processor; left out, 1 ms times 1 + log2 of them",
                "1ms",
                "wakeup_granularity",
            ),
            feature(
                "gentle_sleepers",
                "whether a sleeper is placed half a period back rather than a whole one",
                Some("gentle_sleepers"),
            ),
            feature(
                "buddies",
                "whether a task that preempts at a wakeup, and the task that it preempts, are preferred next",
                None,
            ),
            feature(
                "wakeup_preemption",
                "whether a woken task may preempt before the next tick",
                Some("wakeup_preemption"),
            ),
            Parameter {
                name: "variant",
                meaning: "how tasks are placed and balanced on several processors: by the rules of 6.1 or by those of 5.10",
                domain: Domain::Choice { names: &["6.1", "5.10"] },
                default: Some("6.1"),
                logarithmic: false,
                grows: false,
                host: None,
            },
            linux::AUTOGROUP,
            THROTTLING[0],
            THROTTLING[1],
            THROTTLING[2],
            THROTTLING[3],
            deadline::RECLAIM,
        ],
        source: schedlab_model::documentation!("cfs.rs"),
    };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let rule = Rule {
            latency: params.whole("latency"),
            min_granularity: params.whole("min_granularity"),
            wakeup_granularity: params.whole("wakeup_granularity"),
            gentle_sleepers: params.switch("gentle_sleepers"),
            buddies: params.switch("buddies"),
            wakeup_preemption: params.switch("wakeup_preemption"),
        };
        let kernel = if params.name("variant") == "5.10" { Kernel::V5_10 } else { Kernel::V6_1 };
        Cfs(Linux::new(rule, params, topology, tick, kernel))
    }

    linux::hooks!();
}
