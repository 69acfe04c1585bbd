//! Task groups of the fair schedulers. A group has on each processor a queue of its own, and an entity that competes for it
//! in the queue of the group above; a task is an entity of its group's queue. To choose a task is to choose an entity on
//! every level from the root down; what a task uses is charged on every level up to the root.
//!
//! What an entity is entitled to within one queue is the matter of a [`Law`]: eevdf's or cfs'. Without groups there is one
//! queue a processor and every walk has one step.
//!
//! The running task and the groups above it are *current*: still competing in their queues, but not in their timelines.

use super::{
    bandwidth::Pools,
    nice_weights,
    pelt::Average,
    timeline::{EntityId, Spot, Timeline},
    walks::LEAST_WEIGHT,
};
use schedlab_model::{
    Nanos,
    task::{CpuId, Group, GroupId, Policy, Task, TaskId},
};

/// Index of a queue.
pub(super) type QueueId = u32;
/// No entity.
pub(super) const NOBODY: EntityId = EntityId::MAX;

/// How an entity comes to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placing {
    /// It is new.
    New,
    /// It slept, or its group had nothing to run.
    Wakeup,
    /// It was queued elsewhere.
    Move,
}

/// How an entity leaves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// It sleeps, or its group has nothing to run.
    Sleep,
    /// It ends, or its group may run no more.
    End,
    /// It goes to another processor.
    Move,
    /// It sleeps already, and now really leaves; where it stands, if that is known.
    Late(Option<Spot>),
}

/// Two entities of one queue that meet, on behalf of two tasks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meeting {
    pub current: EntityId,
    pub woken: EntityId,
    /// The woken task is new.
    pub forked: bool,
    /// The woken task may preempt at all: SCHED_OTHER, not batch or idle.
    pub normal: bool,
}

/// A competitor in a queue: a task or a group.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Entity<C> {
    pub vruntime: i64,
    pub weight: u64,
    /// Where it competes.
    pub queue: QueueId,
    /// Steps to the root.
    pub depth: u16,
    /// SCHED_IDLE.
    pub idle: bool,
    /// It competes, in the timeline or as the current one.
    pub queued: bool,
    pub claim: C,
}

/// Whom a queue would run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    pub entity: EntityId,
    /// Where it stands, if that is known.
    pub spot: Option<Spot>,
}

impl Choice {
    /// Of somebody who may stand anywhere, or is current.
    pub fn of(entity: EntityId) -> Self {
        Choice { entity, spot: None }
    }
}

/// A group on a processor.
#[derive(Debug)]
pub(super) struct Queue<S> {
    pub cpu: usize,
    pub line: Timeline,
    pub current: EntityId,
    /// Preferred at the next choice, if that is fair.
    pub next: EntityId,
    pub choice: Choice,
    /// Weight and number of all that compete here, the current one included.
    pub weight: u64,
    pub count: u32,
    /// Tasks here and below that can run.
    pub tasks: u32,
    /// The processor's time up to which the current one is charged.
    pub clock: Nanos,
    /// Its group has a quota; what is left of the portion that it took, and whether it must wait for the next one.
    pub limited: bool,
    pub runtime: i64,
    pub throttled: bool,
    /// The load of late, where there are several processors.
    pub load: Average,
    pub state: S,
}

/// The rule by which the entities of a queue share a processor.
pub(super) trait Law: Sized {
    /// What it notes of an entity.
    type Claim: std::fmt::Debug + Default + Copy;
    /// What it notes of a queue.
    type State: std::fmt::Debug + Default;

    /// What a task claims when it is first heard of.
    fn claim(&self, task: &Task) -> Self::Claim;
    /// Charges the current entity of a queue with what it used.
    fn account(&self, tree: &mut Tree<Self>, queue: QueueId);
    /// An entity begins to compete in its queue.
    fn enqueue(&self, tree: &mut Tree<Self>, entity: EntityId, how: Placing);
    /// An entity stops competing, and then is not current either; or it stays for a while although it sleeps: false.
    fn dequeue(&self, tree: &mut Tree<Self>, entity: EntityId, how: Leave) -> bool;
    /// Whether an entity stays although it sleeps.
    fn sleeps(_claim: &Self::Claim) -> bool {
        false
    }
    /// An entity that stayed although it sleeps is woken.
    fn rouse(&self, _tree: &mut Tree<Self>, _entity: EntityId) {}
    /// A group's entity learns what its queue has now.
    fn inherit(&self, _tree: &mut Tree<Self>, _group: EntityId) {}
    /// An entity's weight changes.
    fn reweigh(&self, tree: &mut Tree<Self>, entity: EntityId, weight: u64);
    /// A task that does not compete goes from one queue to another.
    fn carry(&self, _tree: &mut Tree<Self>, _task: EntityId, _to: QueueId) {}
    /// The key by which an entity stands in the timeline.
    fn key(entity: &Entity<Self::Claim>) -> i64;
    /// There is a task that asks for a slice of its own: queues have to look after such from now on.
    fn expect_slices(_queue: &mut Queue<Self::State>, _entities: &[Entity<Self::Claim>]) {}
    /// An entity begins to stand in the timeline.
    #[inline(always)]
    fn enter(queue: &mut Queue<Self::State>, entity: &Entity<Self::Claim>, id: EntityId) {
        queue.line.insert(Self::key(entity), entity.vruntime, id);
    }
    /// An entity was taken out of the timeline.
    #[inline(always)]
    fn left(_queue: &mut Queue<Self::State>, _id: EntityId) {}
    /// Names whom a queue that is not empty would run.
    fn choose(&self, tree: &mut Tree<Self>, queue: QueueId) -> Choice;
    /// An entity becomes current; it is in no timeline any more.
    fn begin(&self, tree: &mut Tree<Self>, entity: EntityId);
    /// A clock tick, for the current entity of a queue.
    fn tick(&self, tree: &mut Tree<Self>, queue: QueueId);
    /// Whether the woken one takes over from the current one.
    fn preempts(&self, tree: &mut Tree<Self>, meeting: Meeting) -> bool;
    /// The current task gives way.
    fn give_way(&self, tree: &mut Tree<Self>, task: EntityId);
    /// An entity is no longer preferred.
    fn forget(&self, tree: &mut Tree<Self>, entity: EntityId) {
        tree.forget_next(entity);
    }
}

/// All queues and entities. The queue of group g on processor p is number g * processors + p; the entity of a group on a
/// processor has the number of its queue; those of tasks come after them.
#[derive(Debug)]
pub(super) struct Tree<L: Law> {
    pub entities: Vec<Entity<L::Claim>>,
    pub queues: Vec<Queue<L::State>>,
    /// For each processor, the time that its tasks have used.
    pub clocks: Vec<Nanos>,
    pub pools: Pools,
    /// The time of the hook under way.
    pub now: Nanos,
    /// Somebody should be chosen anew where the hook under way is at work.
    pub resched: bool,
    pub processors: u32,
    first_task: EntityId,
    /// For each group, its weight against its siblings.
    pub shares: Vec<u64>,
    /// Every session has a group of its own; the number of the first of them.
    sessions: Option<GroupId>,
    /// Whether a task asks for a slice of its own.
    slices: bool,
}

impl<L: Law> Tree<L> {
    pub fn new(processors: u16, autogroup: bool) -> Self {
        Tree {
            entities: Vec::new(),
            queues: Vec::new(),
            clocks: vec![0; processors.into()],
            pools: Pools::default(),
            now: 0,
            resched: false,
            processors: processors.into(),
            first_task: 0,
            shares: Vec::new(),
            sessions: autogroup.then_some(0),
            slices: false,
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

    /// The group's entity that competes for a queue.
    #[inline(always)]
    pub fn owner(&self, queue: QueueId) -> EntityId {
        if queue < self.processors { NOBODY } else { queue }
    }

    #[inline(always)]
    pub fn entity(&mut self, entity: EntityId) -> &mut Entity<L::Claim> {
        &mut self.entities[entity as usize]
    }

    #[inline(always)]
    pub fn queue(&mut self, queue: QueueId) -> &mut Queue<L::State> {
        &mut self.queues[queue as usize]
    }

    /// An entity and the queue where it competes.
    #[inline(always)]
    pub fn pair(&mut self, entity: EntityId) -> (&mut Entity<L::Claim>, &mut Queue<L::State>) {
        let entity = &mut self.entities[entity as usize];
        let queue = &mut self.queues[entity.queue as usize];
        (entity, queue)
    }

    #[inline(always)]
    pub fn cpu(&self, queue: QueueId) -> usize {
        self.queues[queue as usize].cpu
    }

    /// Makes room for a task that is first heard of; with the first, for all groups.
    #[cold]
    pub fn admit(&mut self, law: &L, tasks: &[Task], groups: &[Group], task: TaskId) {
        if self.queues.is_empty() {
            self.plant(tasks, groups);
        }
        let known = self.entities.len() as u32 - self.first_task;
        for task in &tasks[known as usize..=task as usize] {
            let idle = task.policy == Policy::Idle;
            let weight = if idle { nice_weights::IDLE } else { nice_weights::weight(task.nice) };
            let queue = self.queue_of(task, task.cpu);
            let depth = self.depth(queue);
            self.entities.push(Entity {
                vruntime: 0,
                weight,
                queue,
                depth,
                idle,
                queued: false,
                claim: law.claim(task),
            });
        }
        if !self.slices && tasks.iter().any(|task| task.slice.is_some()) {
            self.slices = true;
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
                self.queues.push(Queue::new(cpu, group.quota.is_some()));
                self.entities.push(Entity {
                    vruntime: 0,
                    weight: self.shares[id],
                    queue: parent,
                    depth,
                    idle: false,
                    queued: false,
                    claim: L::Claim::default(),
                });
            }
        }
    }

    /// The depth of the entities of a queue.
    fn depth(&self, queue: QueueId) -> u16 {
        if queue < self.processors { 0 } else { self.entities[queue as usize].depth + 1 }
    }

    /// The queue of a task's group on a processor.
    #[inline(always)]
    pub fn queue_of(&self, task: &Task, cpu: CpuId) -> QueueId {
        let group = match self.sessions {
            Some(first) if task.group == 0 => first + task.session,
            _ => task.group,
        };
        u32::from(group) * self.processors + u32::from(cpu)
    }

    /// What the current entity of a queue has used since it was last asked.
    #[inline(always)]
    pub fn elapsed(&mut self, queue: QueueId) -> Nanos {
        let state = &mut self.queues[queue as usize];
        let clock = self.clocks[state.cpu];
        let used = clock - std::mem::replace(&mut state.clock, clock);
        if state.limited && used > 0 {
            self.spend(queue, used);
        }
        used
    }

    pub fn group(&self, queue: QueueId) -> GroupId {
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

impl<S: Default> Queue<S> {
    fn new(cpu: u32, limited: bool) -> Self {
        Queue {
            cpu: cpu as usize,
            line: Timeline::default(),
            current: NOBODY,
            next: NOBODY,
            choice: Choice::of(NOBODY),
            weight: 0,
            count: 0,
            tasks: 0,
            clock: 0,
            limited,
            runtime: 0,
            throttled: false,
            load: Average::default(),
            state: S::default(),
        }
    }
}
