//! Task groups of the fair schedulers. A group has on each processor a queue of its own, and an entity that competes for it
//! in the queue of the group above; a task is an entity of its group's queue. To choose a task is to choose an entity on
//! every level from the root down; what a task uses is charged on every level up to the root.
//!
//! What an entity is entitled to within one queue is defined by a [`FairClass`]: eevdf's or cfs'. Without groups there is one
//! queue a processor and every walk has one step.
//!
//! The running task and the groups above it are *current*: still competing in their queues, but not in their timelines.

use super::{
    entity::{CfsRq, CfsRqId, Choice, Kind, Leave, Meeting, NOBODY, Placing, SchedEntity},
    loads::Loads,
    nice_weights::{self, LEAST_WEIGHT},
    pools::Pools,
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::{
    Nanos,
    processors::{CpuSet, PerProcessor},
    task::{CpuId, Group, GroupId, Task, TaskId},
};

/// How the entities of a queue share a processor.
pub trait FairClass: Sized {
    /// What it notes of an entity.
    type Claim: std::fmt::Debug + Default + Copy;
    /// What it notes of a queue.
    type State: std::fmt::Debug + Default;

    /// The claim of a task that is seen for the first time.
    fn claim(&self, task: &Task) -> Self::Claim;
    /// Charges the current entity of a queue with what it used; whether the processor should reschedule.
    fn charge(&self, entity: &mut SchedEntity<Self::Claim>, queue: &mut CfsRq<Self::State>, used: Nanos) -> bool;
    /// An entity that is new gets its place in its queue, whose current one is charged.
    fn place_entity_initial(&self, _tree: &mut Tree<Self>, _entity: EntityId) {}
    /// An entity begins to compete in its queue, whose current one is charged.
    fn enqueue(
        &self,
        entity: &mut SchedEntity<Self::Claim>,
        queue: &mut CfsRq<Self::State>,
        id: EntityId,
        how: Placing,
    );
    /// An entity of such a queue stops competing, and then is not current either; or it stays for a while although it
    /// sleeps: false, and is current until the next choice if it was. It is neither preferred nor avoided any more.
    fn dequeue(
        &self,
        entities: &mut [SchedEntity<Self::Claim>],
        queue: &mut CfsRq<Self::State>,
        id: EntityId,
        how: Leave,
    ) -> bool;
    /// Whether an entity stays although it sleeps.
    fn sleeps(_claim: &Self::Claim) -> bool {
        false
    }
    /// An entity that stayed although it sleeps is woken.
    fn requeue_delayed_entity(&self, _tree: &mut Tree<Self>, _entity: EntityId) {}
    /// A group's entity takes over the slice of its queue (cfs_rq_min_slice).
    fn update_group_slice(&self, _tree: &mut Tree<Self>, _group: EntityId) {}
    /// An entity's weight changes.
    fn reweight_entity(&self, tree: &mut Tree<Self>, entity: EntityId, weight: u64);
    /// A task's record has changed: what it claims.
    fn change_claim(&self, _tree: &mut Tree<Self>, _entity: EntityId, _task: &Task) {}
    /// A task that is not enqueued leaves the class for real time, or comes from there.
    fn change_class(&self, _tree: &mut Tree<Self>, _entity: EntityId, _leaves: bool) {}
    /// Whether an entity has had more than its share in its queue, so that another processor should not take it yet.
    fn is_ineligible(&self, _tree: &mut Tree<Self>, _entity: EntityId) -> bool {
        false
    }
    /// A task that is not enqueued goes from one queue to another.
    fn migrate_entity(&self, _tree: &mut Tree<Self>, _task: EntityId, _to: CfsRqId) {}
    /// The key of an entity in the timeline.
    fn key(entity: &SchedEntity<Self::Claim>) -> i64;
    /// There is a task that asks for a slice of its own: queues have to look after such from now on.
    fn expect_slices(_queue: &mut CfsRq<Self::State>, _entities: &[SchedEntity<Self::Claim>]) {}
    /// An entity enters the timeline.
    #[inline(always)]
    fn insert_in_timeline(queue: &mut CfsRq<Self::State>, entity: &SchedEntity<Self::Claim>, id: EntityId) {
        queue.line.insert(Self::key(entity), entity.vruntime, id);
    }
    /// An entity was taken out of the timeline.
    #[inline(always)]
    fn removed_from_timeline(_queue: &mut CfsRq<Self::State>, _id: EntityId) {}
    /// The entity that a queue which is not empty would run.
    fn pick_entity(&self, entities: &[SchedEntity<Self::Claim>], queue: &mut CfsRq<Self::State>) -> Choice;
    /// An entity becomes current; it is in no timeline any more.
    fn begin(&self, entity: &mut SchedEntity<Self::Claim>, queue: &mut CfsRq<Self::State>);
    /// A clock tick, for the current entity of a queue, which is charged.
    #[inline(always)]
    fn check_preempt_tick(&self, _tree: &mut Tree<Self>, _queue: CfsRqId) {}
    /// Whether the woken entity preempts the current one.
    fn check_preempt_wakeup(&self, tree: &mut Tree<Self>, meeting: Meeting) -> bool;
    /// The current task yields.
    fn yield_task_fair(&self, tree: &mut Tree<Self>, task: EntityId);
    /// Whether an entity is preferred in its queue, or avoided.
    #[inline(always)]
    fn is_buddy(queue: &CfsRq<Self::State>, entity: EntityId) -> bool {
        queue.next == entity
    }
    /// Whether an entity is preferred when the next one is chosen.
    fn is_preferred(queue: &CfsRq<Self::State>, entity: EntityId) -> bool {
        queue.next == entity
    }
    /// An entity that was preferred or avoided no longer is, nor are its groups on its behalf.
    fn clear_buddies(tree: &mut Tree<Self>, entity: EntityId) {
        tree.clear_next_buddy(entity);
    }
}

/// All groups, their queues and entities (`task_group`). The queue of group g on processor p is number g * processors + p;
/// the entity of a group on a processor has the number of its queue; those of tasks come after them.
#[doc(alias = "task_group")]
#[derive(Debug)]
pub struct Tree<L: FairClass> {
    pub entities: Vec<SchedEntity<L::Claim>>,
    pub queues: Vec<CfsRq<L::State>>,
    /// For each processor, the time that its tasks have used.
    pub clocks: PerProcessor<Nanos>,
    pub pools: Pools,
    pub loads: Loads,
    /// The time of the hook under way.
    pub now: Nanos,
    /// The processor for which the hook was called should reschedule.
    pub resched: bool,
    pub processors: u32,
    /// Whether there has been a task under SCHED_IDLE: else a processor that runs one is not free.
    pub idle_tasks: bool,
    /// Of several processors, those with more than one task that can run.
    pub crowded: CpuSet,
    pub first_task: EntityId,
    /// For each group, its weight against its siblings.
    pub shares: Vec<u64>,
    /// Every session has a group of its own; the number of the first of them.
    sessions: Option<GroupId>,
    /// Whether a task asks for a slice of its own; and how many tasks have been looked at for that.
    slices: bool,
    looked_at: usize,
}

impl<L: FairClass> Tree<L> {
    pub fn new(processors: u16, autogroup: bool, loads: Loads) -> Self {
        Tree {
            entities: Vec::new(),
            queues: Vec::new(),
            clocks: PerProcessor::new(processors, |_| 0),
            pools: Pools::default(),
            loads,
            now: 0,
            resched: false,
            processors: processors.into(),
            idle_tasks: false,
            crowded: CpuSet::none(),
            first_task: 0,
            shares: Vec::new(),
            sessions: autogroup.then_some(0),
            slices: false,
            looked_at: 0,
        }
    }

    /// The entity of a task.
    #[inline(always)]
    pub fn of_task(&self, task: TaskId) -> EntityId {
        self.first_task + task
    }

    /// The task of an entity that is no group.
    #[inline(always)]
    pub fn task(&self, entity: EntityId) -> TaskId {
        entity - self.first_task
    }

    #[inline(always)]
    pub fn is_task(&self, entity: EntityId) -> bool {
        entity >= self.first_task
    }

    /// Whether no entity competes for a queue, since it is the first of its processor.
    #[inline(always)]
    pub fn is_root(&self, queue: CfsRqId) -> bool {
        queue < self.processors
    }

    /// The group's entity that competes for a queue.
    #[inline(always)]
    pub fn owner(&self, queue: CfsRqId) -> EntityId {
        if self.is_root(queue) { NOBODY } else { queue }
    }

    #[inline(always)]
    pub fn entity(&mut self, entity: EntityId) -> &mut SchedEntity<L::Claim> {
        &mut self.entities[entity as usize]
    }

    #[inline(always)]
    pub fn queue(&mut self, queue: CfsRqId) -> &mut CfsRq<L::State> {
        &mut self.queues[queue as usize]
    }

    /// An entity and the queue where it competes.
    #[inline(always)]
    pub fn pair(&mut self, entity: EntityId) -> (&mut SchedEntity<L::Claim>, &mut CfsRq<L::State>) {
        let entity = &mut self.entities[entity as usize];
        let queue = &mut self.queues[entity.queue as usize];
        (entity, queue)
    }

    #[inline(always)]
    pub fn cpu(&self, queue: CfsRqId) -> usize {
        self.queues[queue as usize].cpu
    }

    /// Makes room for a task that is seen for the first time; with the first one, for all groups.
    #[cold]
    pub fn admit(&mut self, class: &L, tasks: &[Task], groups: &[Group], task: TaskId) {
        if self.queues.is_empty() {
            self.plant(tasks, groups);
        }
        let known = self.entities.len() as u32 - self.first_task;
        for task in &tasks[known as usize..=task as usize] {
            let (kind, weight) = (Kind::of(task.policy), nice_weights::of(task));
            let queue = self.queue_of(task, task.cpu);
            let depth = self.depth(queue);
            self.idle_tasks |= kind == Kind::Idle;
            self.entities.push(SchedEntity {
                vruntime: 0,
                weight,
                queue,
                depth,
                kind,
                queued: false,
                claim: class.claim(task),
            });
        }
        if self.processors > 1 {
            self.loads.admit(self.queues.len(), self.entities.len(), self.shares.len());
        }
        let newer = &tasks[std::mem::replace(&mut self.looked_at, tasks.len())..];
        if newer.iter().any(|task| task.slice.is_some()) {
            self.expect_slices();
        }
    }

    /// A task asks for a slice of its own.
    pub fn expect_slices(&mut self) {
        if !std::mem::replace(&mut self.slices, true) {
            self.queues.iter_mut().for_each(|queue| L::expect_slices(queue, &self.entities));
        }
    }

    fn plant(&mut self, tasks: &[Task], groups: &[Group]) {
        let mut all = groups.to_vec();
        if let Some(first) = &mut self.sessions {
            *first = all.len() as GroupId;
            let sessions = tasks.iter().map(|task| usize::from(task.session) + 1).max().unwrap_or(0);
            all.resize(all.len() + sessions, Group::ROOT);
        }
        self.first_task = all.len() as u32 * self.processors;
        self.shares = all.iter().map(|group| u64::from(group.weight).max(LEAST_WEIGHT)).collect();
        self.pools = Pools::new(&all);
        for (id, group) in all.iter().enumerate() {
            for cpu in 0..self.processors {
                let parent = u32::from(group.parent) * self.processors + cpu;
                let depth = depth(&all, id as GroupId).saturating_sub(1);
                self.queues.push(CfsRq::new(cpu, group.quota.is_some()));
                self.entities.push(SchedEntity {
                    vruntime: 0,
                    weight: self.shares[id],
                    queue: parent,
                    depth,
                    kind: Kind::Normal,
                    queued: false,
                    claim: L::Claim::default(),
                });
            }
        }
    }

    /// The depth of the entities of a queue.
    pub fn depth(&self, queue: CfsRqId) -> u16 {
        if queue < self.processors { 0 } else { self.entities[queue as usize].depth + 1 }
    }

    /// The queue of a task's group on a processor.
    #[inline(always)]
    pub fn queue_of(&self, task: &Task, cpu: CpuId) -> CfsRqId {
        let group = match self.sessions {
            Some(first) if task.group == 0 => first + task.session,
            _ => task.group,
        };
        u32::from(group) * self.processors + u32::from(cpu)
    }

    /// Entities of a processor's first queue, those that sleep but stay included.
    #[inline]
    pub fn nr_queued(&self, cpu: CpuId) -> u32 {
        self.queues.get(usize::from(cpu)).map_or(0, |root| root.count)
    }

    /// Fair tasks that can run on a processor, in all its groups.
    #[inline]
    pub fn h_nr_running(&self, cpu: CpuId) -> u32 {
        self.queues.get(usize::from(cpu)).map_or(0, |root| root.tasks)
    }

    /// Charges the current entity of a queue with what it has used since it was last charged.
    #[inline(always)]
    pub fn update_curr(&mut self, class: &L, id: CfsRqId) {
        let queue = &mut self.queues[id as usize];
        let (clock, current) = (self.clocks[queue.cpu], queue.current);
        if queue.clock == clock || current == NOBODY {
            return;
        }
        let used = clock - std::mem::replace(&mut queue.clock, clock);
        let limited = queue.limited;
        if class.charge(&mut self.entities[current as usize], queue, used) {
            self.resched = true;
            self.clear_buddies_of(current);
        }
        if limited {
            self.account_cfs_rq_runtime(id, used);
        }
    }

    /// An entity is no buddy any more, if it was one.
    #[inline(always)]
    pub fn clear_buddies_of(&mut self, entity: EntityId) {
        let (_, queue) = self.pair(entity);
        if L::is_buddy(queue, entity) {
            L::clear_buddies(self, entity);
        }
    }

    pub fn group(&self, queue: CfsRqId) -> GroupId {
        (queue / self.processors) as GroupId
    }
}

/// Steps from a group up to the root.
fn depth(groups: &[Group], mut group: GroupId) -> u16 {
    let mut steps = 0;
    while group != 0 {
        (group, steps) = (groups[group as usize].parent, steps + 1);
    }
    steps
}
