//! Task groups of the fair schedulers. A group has on each processor a queue of its own, and an entity that competes for it
//! in the queue of the group above; a task is an entity of its group's queue. To choose a task is to choose an entity on
//! every level from the root down; what a task uses is charged on every level up to the root.
//!
//! What an entity is entitled to within one queue is the matter of a [`Law`]: eevdf's or cfs'. Without groups there is one
//! queue a processor and every walk has one step.
//!
//! The running task and the groups above it are *current*: still competing in their queues, but not in their timelines.

use super::{bandwidth::Pools, law::Law, nice_weights, pelt::Average, walks::LEAST_WEIGHT};
use crate::schedulers::kit::timeline::{EntityId, Spot, Timeline};
use schedlab_model::{
    Nanos,
    processors::PerProcessor,
    task::{CpuId, Group, GroupId, Policy, Task, TaskId},
};

/// Index of a queue.
pub type QueueId = u32;
/// No entity.
pub const NOBODY: EntityId = EntityId::MAX;

/// Whom an entity stands for.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A group, or an ordinary task.
    #[default]
    Normal,
    /// SCHED_BATCH.
    Batch,
    /// SCHED_IDLE.
    Idle,
    /// A task of the other class, which never competes here.
    Realtime,
}

/// A competitor in a queue: a task or a group.
#[derive(Debug, Default, Clone, Copy)]
pub struct Entity<C> {
    pub vruntime: i64,
    pub weight: u64,
    /// Where it competes.
    pub queue: QueueId,
    /// Steps to the root.
    pub depth: u16,
    pub kind: Kind,
    /// It competes, in the timeline or as the current one.
    pub queued: bool,
    pub claim: C,
}

impl<C> Entity<C> {
    /// SCHED_IDLE.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.kind == Kind::Idle
    }
}

/// Whom a queue would run.
#[derive(Debug, Clone, Copy)]
pub struct Choice {
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
pub struct Queue<S> {
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

/// All queues and entities. The queue of group g on processor p is number g * processors + p; the entity of a group on a
/// processor has the number of its queue; those of tasks come after them.
#[derive(Debug)]
pub struct Tree<L: Law> {
    pub entities: Vec<Entity<L::Claim>>,
    pub queues: Vec<Queue<L::State>>,
    /// For each processor, the time that its tasks have used.
    pub clocks: PerProcessor<Nanos>,
    pub pools: Pools,
    /// The time of the hook under way.
    pub now: Nanos,
    /// Somebody should be chosen anew where the hook under way is at work.
    pub resched: bool,
    pub processors: u32,
    pub first_task: EntityId,
    /// For each group, its weight against its siblings.
    pub shares: Vec<u64>,
    /// Every session has a group of its own; the number of the first of them.
    sessions: Option<GroupId>,
    /// Whether a task asks for a slice of its own; and how many tasks have been looked at for that.
    slices: bool,
    looked_at: usize,
}

impl<L: Law> Tree<L> {
    pub fn new(processors: u16, autogroup: bool) -> Self {
        Tree {
            entities: Vec::new(),
            queues: Vec::new(),
            clocks: PerProcessor::new(processors, |_| 0),
            pools: Pools::default(),
            now: 0,
            resched: false,
            processors: processors.into(),
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

    /// Whether nobody competes for a queue, since it is the first of its processor.
    #[inline(always)]
    pub fn is_root(&self, queue: QueueId) -> bool {
        queue < self.processors
    }

    /// The group's entity that competes for a queue.
    #[inline(always)]
    pub fn owner(&self, queue: QueueId) -> EntityId {
        if self.is_root(queue) { NOBODY } else { queue }
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
            let kind = Kind::of(task.policy);
            let weight = if kind == Kind::Idle { nice_weights::IDLE } else { nice_weights::weight(task.nice) };
            let queue = self.queue_of(task, task.cpu);
            let depth = self.depth(queue);
            self.entities.push(Entity {
                vruntime: 0,
                weight,
                queue,
                depth,
                kind,
                queued: false,
                claim: law.claim(task),
            });
        }
        let newer = &tasks[std::mem::replace(&mut self.looked_at, tasks.len())..];
        if !self.slices && newer.iter().any(|task| task.slice.is_some()) {
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
                    kind: Kind::Normal,
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

    /// Charges the current entity of a queue with what it has used since it was last charged.
    #[inline(always)]
    pub fn account(&mut self, law: &L, id: QueueId) {
        let queue = &mut self.queues[id as usize];
        let (clock, current) = (self.clocks[queue.cpu], queue.current);
        if queue.clock == clock || current == NOBODY {
            return;
        }
        let used = clock - std::mem::replace(&mut queue.clock, clock);
        let limited = queue.limited;
        if law.charge(&mut self.entities[current as usize], queue, used) {
            self.resched = true;
            self.forget(current);
        }
        if limited {
            self.spend(id, used);
        }
    }

    /// An entity is neither preferred nor avoided any more.
    #[inline(always)]
    pub fn forget(&mut self, entity: EntityId) {
        let (_, queue) = self.pair(entity);
        if L::notes(queue, entity) {
            L::forget(self, entity);
        }
    }

    pub fn group(&self, queue: QueueId) -> GroupId {
        (queue / self.processors) as GroupId
    }
}

impl Kind {
    fn of(policy: Policy) -> Kind {
        match policy {
            Policy::Batch => Kind::Batch,
            Policy::Idle => Kind::Idle,
            Policy::Fifo | Policy::Rr => Kind::Realtime,
            _ => Kind::Normal,
        }
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
