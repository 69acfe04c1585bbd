//! # eevdf
//!
//! Promises every task its weight's share of the processor, to within a request or a tick, and a shorter wait to a task
//! that asks for a shorter slice; it does not promise that a woken task preempts at once.
//!
//! ## The idea
//!
//!     Every task has a virtual time that advances the more slowly the greater its weight. V is the mean of all, by weight:
//!     a task behind V has positive lag, one ahead of V negative lag.
//!     A task asks for one slice after another; each request has a deadline in virtual time.
//!     Of the tasks without negative lag (the eligible ones), the one with the earliest deadline runs. It is protected
//!     until it has had the shortest slice that any task in the queue asks for.
//!     Lag is kept over sleep. A task that falls asleep with negative lag stays in the queue, without being picked, until
//!     V has caught up.
//!     A woken task preempts if it is eligible and its deadline is earlier, and a shorter slice breaks protection.
//!
//! ## The formula
//!
//!     d  =  v + r * 1024 / w           deadline of a request
//!     V  =  sum(w * v) / sum(w)        eligible: v <= V
//!     r  =  0.7 ms * (1 + floor(log2(min(processors, 8))))     where a task asks for no slice itself
//!
//! v virtual time in ns, w weight by nice level (1024 at nice 0, a quarter more or less for each level), r slice in ns, of
//! 0.1 ms to 100 ms. A processor checks its running task only at clock ticks and wakeups: among tasks that never wait, a
//! task runs for r, rounded up to whole ticks, at a time.
//!
//! ## A schedule
//!
//! Two tasks of equal weight, and one that sleeps and then wants 3 ms, at 250 ticks a second. When it first wakes, its
//! deadline is the earliest; the second time it wakes without lag, the running task's deadline is earlier, and it waits
//! for the tick:
//!
//! ```toml
//! machine = { preset = "uniform", clock = { hz = "250/s" } }
//! scheduler = { name = "eevdf" }
//! workload.a = { load = "spin", compute = "20ms" }
//! workload.b = { load = "spin", compute = "20ms", slice = "10ms" }
//! workload.c = { steps = [{ sleep = "9ms" }, { compute = "3ms" }, { sleep = "9ms" }, { compute = "3ms" }] }
//! ```
//!
//! ```text
//!         0ms       10ms      20ms      30ms      40ms
//!         |         |         |         |         |
//! a#0     #....####....####.....###........####....####
//! b#1     .####....#.......#####......#####....####....#
//! c#2     .         ###         ...###
//! idle 0
//!         a column is 1ms
//!         # running  . ready
//! ```
//!
//! ## Cost
//!
//! A task joins and leaves a sorted list of blocks: a comparison for each doubling of the tasks, and a block of 32 moves. A
//! choice visits the tasks in order of their deadlines up to the first that is eligible, and skips blocks without any.
//! Groups cost that on each level.
//!
//! ## Good for, not for
//!
//! Shares by weight, and latency by slice, independently. A task that wakes often alongside others sometimes waits for a
//! tick, however little it used before: sleeping earns no more than one request. Ticks are coarse: slices below a tick
//! have no effect among tasks that never wait.
//!
//! ## Departures
//!
//! - The shortest slice in the queue is what the kernel's tree believes it to be: where tasks ask for slices of their own, its
//!   rotations forget some (`slice_tree.rs`), and the running task is then protected for longer. This is a fault of the
//!   kernel's, kept because waits of short slices among long ones depend on it: on Linux 6.18 one in ten took a long slice
//!   more. The longest slice, which bounds lag in 6.18, is exact here.
//! - The kernel keeps queues in a red-black tree; here they are kept in blocks (the order is the same). Virtual times are
//!   divided as in the kernel, by multiplying with inverse weights; sums of them exactly.
//! - A group with a quota waits as a whole, as up to 6.17; 6.18 stops its tasks one by one as they return to their own code,
//!   which differs while a task is inside the kernel.
//! - Averages of load, of the time able to run and of the time run are those of the kernel as if its periods were infinitely short. The
//!   kernel's vary by some units in a thousand, and its processors see the common count of ticks a little earlier or later: here a
//!   busy processor that compares loads sees them up to 1/512 smaller by chance, and its next interval is a tick longer or
//!   shorter by chance where there was an imbalance. Of a group the load alone is kept.
//! - Scheduling domains are built from the machine's threads, last-level caches, nodes and distances; there are none for clusters.
//!   Cores are favoured (asym packing) as the machine's `priorities` say, at the levels at which x86 does it: within a last-level cache and
//!   within a node (6.12: within one whose cores differ in capacity), not between nodes.
//!   There is no energy model; idle states do not differ. Real-time tasks alone reduce what a processor can do for others.
//! - A processor that becomes idle counts 2 us for each that it looks at.
//! - Idle processors balance at the tick of the busy one that asks for it, after its own balancing; in the kernel the first of them does so for all,
//!   itself last, while the busy one balances. A task that sleeps but stays in its queue does not move.
//! - The server of fair tasks (`fair_server`) is that of 6.17; from 6.18 on it waits again once its deadline has passed, but takes idle
//!   time as in 6.17. On one processor it is followed from the first fair task on where a real-time task is among the first tasks of the
//!   run; else from the first real-time task on.
//! - Real-time tasks go to processors by the rules of Linux, as in a kernel without clamps of utilisation: what cores can do is not
//!   looked at. A processor pulls where its real-time task leaves, where it becomes idle and at ticks; in the kernel only the first, and
//!   there the others send it theirs. Of waiting tasks of equal priority the first of the list is sent elsewhere; in the kernel, the one
//!   that has waited longest. Where the best waiting task may not use the processor that it needs, those after it are tried; in the
//!   kernel, none. A processor that has stopped its real-time tasks (`rt_throttling`) takes none.
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
//! - Linux 6.18: kernel/sched/fair.c (`update_curr`, `place_entity`, `update_entity_lag`, `pick_eevdf`, `set_protect_slice`,
//!   `dequeue_entity`, `requeue_delayed_entity`, `check_preempt_wakeup_fair`, `yield_task_fair`),
//!   kernel/sched/rt.c (`select_task_rq_rt`, `find_lowest_rq`, `check_preempt_equal_prio`, `push_rt_task`), kernel/sched/cpupri.c,
//!   kernel/sched/deadline.c (`dl_server_timer`, `update_dl_entity`, `update_curr_dl`, `grub_reclaim`, `push_dl_task`),
//!   kernel/sched/cpudeadline.c, kernel/sched/autogroup.c.
//! - I. Stoica, H. Abdel-Wahab, Earliest Eligible Virtual Deadline First, TR-95-22, Old Dominion University, 1995.
//!
//! Long, because the page and the rule belong in one file.

mod queue;

use crate::schedulers::{
    Balance, Context, Dequeue, Enqueue, Pick, Preempt, Scheduler,
    kit::timeline::EntityId,
    linux::shared::{
        balance,
        balancer::Kernel,
        deadline,
        entity::{CfsRq, Choice, Leave, Meeting, NOBODY, Placing, SchedEntity},
        hierarchy::{FairClass, Tree},
        linux::{self, Linux},
        nice_weights::virtual_time,
        realtime,
        slice_tree::SliceTree,
    },
};
use queue::State;
use schedlab_model::{
    MICROSECOND, MILLISECOND, Nanos,
    info::{Domain, Info, Parameter, Params, Promise, Reach},
    task::{CpuId, Policy, Task, TaskId},
    topology::Topology,
};

/// Protection without parity (normalized_sysctl_sched_base_slice); another base slice does not change it.
const NORMALIZED_BASE_SLICE: Nanos = 700 * MICROSECOND;

/// What a task may ask for (sched_setattr).
const SLICES: [Nanos; 2] = [100 * MICROSECOND, 100 * MILLISECOND];

/// The rule of one queue.
#[derive(Debug)]
pub struct Rule {
    /// Of those that ask for none (sysctl_sched_base_slice).
    base_slice: Nanos,
    tick: Nanos,
    run_to_parity: bool,
    wakeup_preemption: bool,
    version: Version,
}

/// The first kernel with the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Version {
    /// The running entity is protected until its own deadline.
    V6_12,
    /// Until it has had the shortest slice in the queue.
    V6_17,
    /// Lag is bounded by the longest slice in the queue, and a wakeup that does not preempt may shorten protection.
    V6_18,
}

/// What an entity claims.
#[derive(Debug, Default, Clone, Copy)]
pub struct Claim {
    /// Virtual time by which its request should be fulfilled; relative to its virtual time while it moves.
    deadline: i64,
    /// V less its virtual time, when it left.
    lag: i64,
    /// Only a shorter slice preempts before this virtual time. (6.12: this deadline is changed.)
    protected: i64,
    /// Length of a request.
    slice: Nanos,
    /// It requested its slice itself.
    custom: bool,
    /// It sleeps, but stays until its lag is no longer negative.
    delayed: bool,
    /// The deadline is a relative one.
    relative: bool,
}

impl Rule {
    /// Keeps the lag of an entity that is still enqueued, within what one request can come to.
    #[inline(always)]
    fn update_entity_lag(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>) {
        let most = match self.version {
            Version::V6_18 => queue.state.slices.longest() + self.tick,
            Version::V6_12 | Version::V6_17 => (2 * entity.claim.slice).max(self.tick),
        };
        let most = virtual_time(most, entity.weight);
        entity.claim.lag = (queue.avg_vruntime() - entity.vruntime).clamp(-most, most);
    }

    /// Gives an entity that does not compete yet its place: where its lag is what it was, with a new deadline.
    #[inline(always)]
    fn place_entity(entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>, new: bool) {
        let (weight, claim) = (entity.weight, &mut entity.claim);
        let mut lag = 0;
        if queue.count > 0 && claim.lag != 0 {
            // Its joining moves V towards it; hence lag * (load + weight) / load.
            lag = claim.lag + claim.lag * weight as i64 / queue.weight as i64;
        }
        entity.vruntime = queue.avg_vruntime() - lag;
        if std::mem::take(&mut claim.relative) {
            claim.deadline += entity.vruntime;
            return;
        }
        let request = virtual_time(claim.slice, weight);
        claim.deadline = entity.vruntime + if new { request / 2 } else { request };
    }

    /// Whether the current entity is protected from those of slices as long as its own.
    #[inline(always)]
    fn protect_slice(&self, entity: &SchedEntity<Claim>) -> bool {
        if self.to_deadline() {
            return self.run_to_parity && entity.claim.protected == entity.claim.deadline;
        }
        entity.vruntime < entity.claim.protected
    }

    /// Whether the current entity is protected until its own deadline.
    #[inline(always)]
    fn to_deadline(&self) -> bool {
        self.version == Version::V6_12
    }

    fn cancel_protect_slice(&self, entity: &mut SchedEntity<Claim>) {
        entity.claim.protected = if self.to_deadline() { entity.claim.deadline + 1 } else { entity.vruntime };
    }

    /// The entity that a queue which is not empty runs: of the eligible ones, the one with the earliest deadline; before it the
    /// current one, if it is protected and that counts.
    #[inline(always)]
    fn pick_eevdf(&self, entities: &[SchedEntity<Claim>], queue: &mut CfsRq<State>, protection: bool) -> Choice {
        let (current, next) = (queue.current, queue.next);
        let standing = |entity, spot| Choice { entity, spot: Some(spot) };
        if queue.count == 1 {
            let alone = if current == NOBODY { queue.line.first() } else { None };
            return alone.map_or(Choice::of(current), |(entity, _, spot)| standing(entity, spot));
        }
        let mean = queue.avg_vruntime();
        if next != NOBODY && entities[next as usize].vruntime <= mean {
            return Choice::of(next);
        }
        let mut stays = i64::MAX;
        if current != NOBODY {
            let entity = &entities[current as usize];
            if entity.vruntime <= mean {
                if protection && self.protect_slice(entity) {
                    return Choice::of(current);
                }
                stays = entity.claim.deadline;
            }
        }
        match queue.line.first_within(mean) {
            Some((entity, deadline, spot)) if deadline <= stays => standing(entity, spot),
            _ => Choice::of(current),
        }
    }

    /// Whether the shorter slice of a woken entity lets it break the current one's protection.
    #[cold]
    fn breaks_protection(&self, tree: &mut Tree<Self>, Meeting { current, woken, .. }: Meeting) -> bool {
        let (one, other) = (*tree.entity(current), *tree.entity(woken));
        let mean = tree.queue(one.queue).avg_vruntime();
        !self.to_deadline()
            || other.vruntime <= mean && (other.claim.deadline < one.claim.deadline || one.vruntime > mean)
    }
}

impl FairClass for Rule {
    type Claim = Claim;
    type State = State;

    fn claim(&self, task: &Task) -> Claim {
        // SCHED_IDLE has no slice of its own, and real-time tasks are not in this class.
        let asked = task.slice.filter(|_| matches!(task.policy, Policy::Other | Policy::Batch));
        let slice = asked.map_or(self.base_slice, |slice| slice.clamp(SLICES[0], SLICES[1]));
        Claim { slice, custom: asked.is_some(), ..Claim::default() }
    }

    #[inline(always)]
    fn key(entity: &SchedEntity<Claim>) -> i64 {
        entity.claim.deadline
    }

    /// Virtual time advances for the current entity; if its request is fulfilled, it makes the next one. (update_curr)
    #[inline(always)]
    fn charge(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>, used: Nanos) -> bool {
        let passed = virtual_time(used, entity.weight);
        entity.vruntime += passed;
        queue.state.sum += passed * entity.weight as i64;
        let renewed = entity.vruntime >= entity.claim.deadline;
        if renewed {
            entity.claim.deadline = entity.vruntime + virtual_time(entity.claim.slice, entity.weight);
        }
        if queue.count == 1 {
            return false;
        }
        let over = match self.to_deadline() {
            false => !self.protect_slice(entity),
            true => entity.claim.protected == entity.claim.deadline + 1 && entity.vruntime > queue.avg_vruntime(),
        };
        renewed || over
    }

    #[inline(always)]
    fn enqueue(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>, id: EntityId, how: Placing) {
        Self::place_entity(entity, queue, how == Placing::New);
        entity.queued = true;
        queue.avg_vruntime_add(entity);
        Self::insert_in_timeline(queue, entity, id);
    }

    fn expect_slices(queue: &mut CfsRq<State>, entities: &[SchedEntity<Claim>]) {
        let mut tree = SliceTree::default();
        for id in queue.line.entities() {
            let SchedEntity { vruntime, claim: Claim { deadline, slice, .. }, .. } = entities[id as usize];
            tree.insert(id, deadline, vruntime, slice);
        }
        queue.state.tree = Some(tree);
    }

    #[inline(always)]
    fn insert_in_timeline(queue: &mut CfsRq<State>, entity: &SchedEntity<Claim>, id: EntityId) {
        queue.line.insert(entity.claim.deadline, entity.vruntime, id);
        if let Some(tree) = &mut queue.state.tree {
            tree.insert(id, entity.claim.deadline, entity.vruntime, entity.claim.slice);
        }
    }

    #[inline(always)]
    fn removed_from_timeline(queue: &mut CfsRq<State>, id: EntityId) {
        if let Some(tree) = &mut queue.state.tree {
            tree.remove(id);
        }
    }

    #[inline(always)]
    fn dequeue(&self, entities: &mut [SchedEntity<Claim>], queue: &mut CfsRq<State>, id: EntityId, how: Leave) -> bool {
        let entity = &mut entities[id as usize];
        if how == Leave::Sleep && entity.vruntime > queue.avg_vruntime() {
            entity.claim.delayed = true;
            return false;
        }
        self.update_entity_lag(entity, queue);
        if queue.current == id {
            queue.current = NOBODY;
        } else {
            match how {
                Leave::Delayed(Some(spot)) => queue.line.take(spot),
                _ => queue.line.remove(entity.claim.deadline, id),
            }
            Self::removed_from_timeline(queue, id);
        }
        queue.avg_vruntime_sub(entity);
        entity.queued = false;
        match how {
            Leave::Delayed(_) => {
                entity.claim.delayed = false;
                entity.claim.lag = entity.claim.lag.min(0);
            }
            Leave::Move => {
                entity.claim.relative = true;
                entity.claim.deadline -= entity.vruntime;
            }
            Leave::Sleep | Leave::End => {}
        }
        true
    }

    #[inline(always)]
    fn sleeps(claim: &Claim) -> bool {
        claim.delayed
    }

    /// If its lag is no longer negative, it begins anew. If it still is, it stays where it is. (requeue_delayed_entity)
    fn requeue_delayed_entity(&self, tree: &mut Tree<Self>, id: EntityId) {
        let (entity, queue) = tree.pair(id);
        self.update_entity_lag(entity, queue);
        entity.claim.delayed = false;
        if entity.claim.lag > 0 {
            queue.line.remove(entity.claim.deadline, id);
            Self::removed_from_timeline(queue, id);
            queue.avg_vruntime_sub(entity);
            entity.claim.lag = 0;
            Self::place_entity(entity, queue, false);
            queue.avg_vruntime_add(entity);
            Self::insert_in_timeline(queue, entity, id);
        }
    }

    /// task_is_ineligible_on_dst_cpu
    fn is_ineligible(&self, tree: &mut Tree<Self>, entity: EntityId) -> bool {
        let (entity, queue) = tree.pair(entity);
        self.version >= Version::V6_17 && entity.vruntime > queue.avg_vruntime()
    }

    /// A group asks for the shortest slice that any entity in it asks for.
    fn update_group_slice(&self, tree: &mut Tree<Self>, group: EntityId) {
        let current = tree.queue(group).current;
        let own = (current != NOBODY).then(|| tree.entity(current).claim.slice);
        let slice = tree.queue(group).cfs_rq_min_slice(own);
        let entity = *tree.entity(group);
        if slice == 0 || slice == entity.claim.slice {
            return;
        }
        if entity.queued {
            let queue = tree.queue(entity.queue);
            queue.state.slices.remove(entity.claim.slice);
            queue.state.slices.add(slice);
            if let Some(waiting) = queue.state.tree.as_mut().filter(|_| queue.current != group) {
                waiting.change(group, slice);
            }
        }
        (tree.entity(group).claim.slice, tree.entity(group).claim.custom) = (slice, true);
    }

    /// Another slice is that of its next request. (__setparam_fair)
    fn change_claim(&self, tree: &mut Tree<Self>, id: EntityId, task: &Task) {
        let Claim { slice, custom, .. } = self.claim(task);
        let entity = *tree.entity(id);
        if entity.queued && slice != entity.claim.slice {
            let queue = tree.queue(entity.queue);
            queue.state.slices.remove(entity.claim.slice);
            queue.state.slices.add(slice);
            if let Some(waiting) = queue.state.tree.as_mut().filter(|_| queue.current != id) {
                waiting.change(id, slice);
            }
        }
        let claim = &mut tree.entity(id).claim;
        (claim.slice, claim.custom) = (slice, custom);
    }

    /// Lag and what is left of the request are kept as real time. (reweight_entity)
    fn reweight_entity(&self, tree: &mut Tree<Self>, id: EntityId, weight: u64) {
        let SchedEntity { queue, queued, .. } = *tree.entity(id);
        if queued {
            tree.update_curr(self, queue);
        }
        let (entity, queue) = tree.pair(id);
        let old = std::mem::replace(&mut entity.weight, weight);
        let rescale = |virtual_time: i64| (i128::from(virtual_time) * i128::from(old) / i128::from(weight)) as i64;
        if !queued {
            entity.claim.lag = rescale(entity.claim.lag);
            if entity.claim.relative {
                entity.claim.deadline = rescale(entity.claim.deadline);
            }
            return;
        }
        entity.weight = old;
        self.update_entity_lag(entity, queue);
        let current = queue.current == id;
        if !current {
            queue.line.remove(entity.claim.deadline, id);
            Self::removed_from_timeline(queue, id);
        }
        queue.avg_vruntime_sub(entity);
        let (before, protected) = (entity.vruntime, entity.claim.protected);
        entity.claim.lag = rescale(entity.claim.lag);
        entity.claim.deadline = rescale(entity.claim.deadline - before);
        (entity.claim.relative, entity.weight) = (true, weight);
        Self::place_entity(entity, queue, false);
        entity.claim.protected = match self.to_deadline() {
            false => entity.vruntime + rescale(protected - before),
            true => entity.claim.deadline,
        };
        queue.avg_vruntime_add(entity);
        if !current {
            Self::insert_in_timeline(queue, entity, id);
        }
    }

    #[inline(always)]
    fn pick_entity(&self, entities: &[SchedEntity<Claim>], queue: &mut CfsRq<State>) -> Choice {
        self.pick_eevdf(entities, queue, true)
    }

    /// It is protected from the others until its deadline, or, if an entity here has a shorter slice, for that long.
    #[inline(always)]
    fn begin(&self, entity: &mut SchedEntity<Claim>, queue: &mut CfsRq<State>) {
        entity.claim.protected = entity.claim.deadline;
        if !self.to_deadline() {
            let parity = self.run_to_parity.then(|| queue.cfs_rq_min_slice(Some(entity.claim.slice)));
            let shortest = parity.unwrap_or(NORMALIZED_BASE_SLICE);
            if shortest < entity.claim.slice {
                let end = entity.vruntime + virtual_time(shortest, entity.weight);
                entity.claim.protected = entity.claim.protected.min(end);
            }
        }
    }

    /// check_preempt_wakeup_fair
    #[inline(always)]
    fn check_preempt_wakeup(&self, tree: &mut Tree<Self>, meeting: Meeting) -> bool {
        let Meeting { current, woken, forked, normal } = meeting;
        let (one, other) = (&tree.entities[current as usize], &tree.entities[woken as usize]);
        let (id, delayed, shorter) = (one.queue, other.claim.delayed, other.claim.slice < one.claim.slice);
        if one.is_idle() && !other.is_idle() {
            self.cancel_protect_slice(tree.entity(current));
            return true;
        }
        if !self.wakeup_preemption || one.is_idle() != other.is_idle() || !normal {
            return false;
        }
        tree.update_curr(self, id);
        let shorter = shorter && self.breaks_protection(tree, meeting);
        let latest = self.version == Version::V6_18;
        if latest && !shorter && (forked || delayed) {
            return false;
        }
        if self.to_deadline() && shorter && self.protect_slice(tree.entity(current)) {
            self.cancel_protect_slice(tree.entity(current));
        }
        let protection = self.to_deadline() || !shorter;
        let chosen = loop {
            let choice = self.pick_eevdf(&tree.entities, &mut tree.queues[id as usize], protection);
            if !latest || !tree.entity(choice.entity).claim.delayed {
                break choice.entity;
            }
            tree.dequeue_delayed(self, choice);
        };
        if chosen == woken {
            if shorter {
                self.cancel_protect_slice(tree.entity(current));
            }
            return true;
        }
        if latest || self.version == Version::V6_17 && shorter && self.run_to_parity {
            let (entity, queue) = tree.pair(current);
            let shortest = queue.cfs_rq_min_slice(Some(entity.claim.slice));
            let end = entity.vruntime + virtual_time(shortest, entity.weight);
            entity.claim.protected = entity.claim.protected.min(end);
        }
        false
    }

    /// It gives up the rest of its request. (yield_task_fair)
    fn yield_task_fair(&self, tree: &mut Tree<Self>, task: EntityId) {
        let queue = tree.entity(task).queue;
        tree.clear_buddies_of(task);
        tree.update_curr(self, queue);
        let (entity, queue) = tree.pair(task);
        if entity.vruntime <= queue.avg_vruntime() {
            queue.state.sum += (entity.claim.deadline - entity.vruntime) * entity.weight as i64;
            entity.vruntime = entity.claim.deadline;
            entity.claim.deadline += virtual_time(entity.claim.slice, entity.weight);
        }
    }
}

/// Eligible tasks by earliest virtual deadline.
#[derive(Debug)]
pub struct Eevdf(Linux<Rule>);

const THROTTLING: [Parameter; 4] = realtime::parameters("fair_server");

impl Scheduler for Eevdf {
    const INFO: Info = Info {
        name: "eevdf",
        summary: "the scheduler of Linux since 6.6: of the tasks that are owed time, the one with the earliest deadline",
        year: 2023,
        origin: "Linux 6.18",
        promises: &[
            Promise::WorkConserving(Reach::EachProcessor),
            Promise::StarvationFree(Reach::Everywhere),
            Promise::FairToEquals(Reach::EachProcessor),
            Promise::FindsWork(balance::FINDS_WORK),
            Promise::MovesAtMost(balance::MOVES_AT_MOST),
            Promise::LimitsGroups,
        ],
        parameters: &[
            Parameter {
                name: "base_slice",
                meaning: "request of a task that asks for no slice; left out, 0.7 ms times 1 + log2 of the processors",
                domain: Domain::Duration { low: SLICES[0], high: SLICES[1] },
                default: Some("0.7ms"),
                logarithmic: true,
                grows: true,
                host: Some("slice"),
            },
            Parameter {
                name: "run_to_parity",
                meaning: "whether the running task is protected for the shortest slice of those in the queue, or else for 0.7 ms",
                domain: Domain::Switch,
                default: Some("true"),
                logarithmic: false,
                grows: false,
                host: Some("run_to_parity"),
            },
            Parameter {
                name: "wakeup_preemption",
                meaning: "whether a woken task may preempt before the next tick",
                domain: Domain::Switch,
                default: Some("true"),
                logarithmic: false,
                grows: false,
                host: Some("wakeup_preemption"),
            },
            Parameter {
                name: "variant",
                meaning: "the rules of 6.18, of 6.17, or of 6.12 to 6.16, where the running task is protected until its own deadline",
                domain: Domain::Choice { names: &["6.18", "6.17", "6.12"] },
                default: Some("6.18"),
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
        source: schedlab_model::documentation!("eevdf.rs"),
    };

    fn new(params: &Params, topology: &Topology, tick: Nanos) -> Self {
        let version = match params.name("variant") {
            "6.12" => Version::V6_12,
            "6.17" => Version::V6_17,
            _ => Version::V6_18,
        };
        let rule = Rule {
            base_slice: params.whole("base_slice"),
            tick,
            run_to_parity: params.switch("run_to_parity"),
            wakeup_preemption: params.switch("wakeup_preemption"),
            version,
        };
        let kernel = match version {
            Version::V6_12 => Kernel::V6_12,
            Version::V6_17 => Kernel::V6_17,
            Version::V6_18 => Kernel::V6_18,
        };
        Eevdf(Linux::new(rule, params, topology, tick, kernel))
    }

    linux::hooks!();
}

#[cfg(test)]
mod tests;
