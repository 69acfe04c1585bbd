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
};
use schedlab_model::{
    Nanos,
    task::{CpuId, Group, GroupId, Policy, Task, TaskId},
};

/// Index of a queue.
pub(super) type QueueId = u32;
/// No entity.
pub(super) const NOBODY: EntityId = EntityId::MAX;
/// A weight that rounding must not lose.
const LEAST_WEIGHT: u64 = 2;

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
    /// It sleeps already, and now really leaves.
    Late,
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

/// A group on a processor.
#[derive(Debug)]
pub(super) struct Queue<S> {
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
    clock: Nanos,
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
    processors: u32,
    first_task: EntityId,
    /// For each group, its weight against its siblings.
    shares: Vec<u64>,
    /// Every session has a group of its own; the number of the first of them.
    sessions: Option<GroupId>,
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

    #[inline(always)]
    pub fn cpu(&self, queue: QueueId) -> usize {
        (queue % self.processors) as usize
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
                self.queues.push(Queue::new(group.quota.is_some()));
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
        let clock = self.clocks[self.cpu(queue)];
        let used = clock - std::mem::replace(&mut self.queue(queue).clock, clock);
        if self.queue(queue).limited && used > 0 {
            self.spend(queue, used);
        }
        used
    }

    /// A task becomes able to run.
    #[inline]
    pub fn enqueue(&mut self, law: &L, task: EntityId, how: Placing) {
        let queue = self.entity(task).queue;
        self.climb(law, task, how);
        self.count_tasks(queue, 1);
        self.refresh(law, queue);
    }

    /// An entity and those groups above it that had nothing to run begin to compete.
    #[inline(always)]
    fn climb(&mut self, law: &L, mut entity: EntityId, mut how: Placing) {
        loop {
            let Entity { queue, queued, claim, .. } = *self.entity(entity);
            if queued {
                if L::sleeps(&claim) {
                    law.rouse(self, entity);
                }
                return;
            }
            law.enqueue(self, entity, how);
            how = Placing::Wakeup;
            entity = self.owner(queue);
            if entity == NOBODY || self.queue(queue).throttled {
                return;
            }
            law.inherit(self, entity);
        }
    }

    /// A task leaves; false if it stays for a while although it sleeps. Either way it is not current any more.
    #[inline]
    pub fn dequeue(&mut self, law: &L, task: EntityId, how: Leave) -> bool {
        let queue = self.entity(task).queue;
        if how != Leave::Late {
            self.count_tasks(queue, -1);
        }
        let gone = law.dequeue(self, task, how);
        if gone {
            self.descend(law, queue, how != Leave::Move, Leave::Sleep);
        } else if self.queue(queue).current == task {
            self.rest(queue);
        }
        self.refresh(law, queue);
        gone
    }

    /// A queue has lost an entity: if it was the last one, its group stops competing, and so on.
    #[inline(always)]
    fn descend(&mut self, law: &L, mut queue: QueueId, prefer: bool, how: Leave) {
        loop {
            let owner = self.owner(queue);
            if owner == NOBODY || self.queue(queue).throttled {
                return;
            }
            if self.queue(queue).count > 0 {
                if prefer {
                    self.prefer(owner); // what its siblings do is likely to belong together
                }
                return;
            }
            if self.queue(queue).limited {
                self.give_back(queue);
            }
            queue = self.entity(owner).queue;
            let how = if L::sleeps(&self.entity(owner).claim) { Leave::Late } else { how };
            if !law.dequeue(self, owner, how) {
                if self.queue(queue).current == owner {
                    self.rest(queue);
                }
                return;
            }
        }
    }

    /// Puts the current entity of a queue back among those that wait, as it is.
    #[inline(always)]
    fn rest(&mut self, queue: QueueId) {
        let current = std::mem::replace(&mut self.queue(queue).current, NOBODY);
        self.insert(current);
    }

    /// Puts an entity into its queue's timeline.
    #[inline(always)]
    pub fn insert(&mut self, entity: EntityId) {
        let Entity { queue, vruntime, .. } = self.entities[entity as usize];
        let key = L::key(&self.entities[entity as usize]);
        self.queue(queue).line.insert(key, vruntime, entity);
    }

    /// Takes an entity out of its queue's timeline.
    #[inline]
    pub fn remove(&mut self, entity: EntityId) {
        let key = L::key(&self.entities[entity as usize]);
        let queue = self.entity(entity).queue;
        self.queue(queue).line.remove(key, entity);
    }

    /// So many more tasks below a queue can run.
    #[inline(always)]
    fn count_tasks(&mut self, mut queue: QueueId, more: i32) {
        loop {
            let state = self.queue(queue);
            state.tasks = state.tasks.wrapping_add_signed(more);
            let owner = self.owner(queue);
            if owner == NOBODY || self.queue(queue).throttled {
                return;
            }
            queue = self.entity(owner).queue;
        }
    }

    /// The groups above a queue learn what has changed in it.
    #[inline(always)]
    fn refresh(&mut self, law: &L, mut queue: QueueId) {
        if self.processors > 1 {
            self.refresh_load(queue);
        }
        while self.owner(queue) != NOBODY {
            let owner = queue;
            if self.processors > 1 {
                self.refresh_weight(law, owner);
            }
            law.inherit(self, owner);
            queue = self.entity(owner).queue;
            if self.processors > 1 {
                self.refresh_load(queue);
            }
        }
    }

    fn refresh_load(&mut self, queue: QueueId) {
        let now = self.now;
        let queue = self.queue(queue);
        queue.load.advance(now, queue.weight);
    }

    /// A group that runs on several processors has its weight divided among them by load.
    fn refresh_weight(&mut self, law: &L, owner: EntityId) {
        let (cpu, now) = (owner % self.processors, self.now);
        let first = owner - cpu;
        let total: u64 = (first..first + self.processors)
            .map(|queue| {
                let queue = self.queue(queue);
                queue.load.advance(now, queue.weight);
                queue.load.value()
            })
            .sum();
        let queue = self.queue(owner);
        let contribution = queue.load.value();
        let load = queue.weight.max(contribution);
        let shares = self.shares[(owner / self.processors) as usize];
        let weight = (shares * load).checked_div(total - contribution + load).unwrap_or(shares);
        let weight = weight.clamp(LEAST_WEIGHT, shares);
        if weight != self.entity(owner).weight && self.queue(owner).count > 0 {
            law.reweigh(self, owner, weight);
        }
    }

    /// Prefers an entity and the groups above it at the next choice.
    pub fn prefer(&mut self, mut entity: EntityId) {
        while entity != NOBODY {
            let Entity { queue, queued, idle, .. } = *self.entity(entity);
            if !queued || idle {
                return;
            }
            self.queue(queue).next = entity;
            entity = self.owner(queue);
        }
    }

    /// An entity and the groups above it are no longer preferred.
    #[inline(always)]
    pub fn forget_next(&mut self, mut entity: EntityId) {
        while entity != NOBODY {
            let queue = self.entity(entity).queue;
            if self.queue(queue).next != entity {
                return;
            }
            self.queue(queue).next = NOBODY;
            entity = self.owner(queue);
        }
    }

    /// Chooses a task of a processor, if there is any; nothing changes but what time and sleep change.
    #[inline]
    pub fn choose(&mut self, law: &L, cpu: CpuId) -> Option<EntityId> {
        'again: loop {
            let mut queue = u32::from(cpu);
            if self.queues.is_empty() || self.queue(queue).count == 0 {
                return None;
            }
            loop {
                if self.queue(queue).current != NOBODY {
                    law.account(self, queue);
                }
                if self.queue(queue).limited && self.must_wait(queue) {
                    self.throttle(law, queue);
                    continue 'again;
                }
                let choice = law.choose(self, queue);
                self.queue(queue).choice = choice;
                if L::sleeps(&self.entity(choice.entity).claim) {
                    self.leave_late(law, choice.entity);
                    continue 'again;
                }
                if self.is_task(choice.entity) {
                    return Some(choice.entity);
                }
                queue = choice.entity;
            }
        }
    }

    /// One that sleeps already and was chosen leaves.
    pub fn leave_late(&mut self, law: &L, entity: EntityId) {
        if self.is_task(entity) {
            self.dequeue(law, entity, Leave::Late);
        } else {
            let queue = self.entity(entity).queue;
            law.dequeue(self, entity, Leave::Late);
            self.descend(law, queue, true, Leave::Sleep);
            self.refresh(law, queue);
        }
    }

    /// Makes current on every level what [`Tree::choose`] chose; what is current already goes on.
    #[inline]
    pub fn commit(&mut self, law: &L, cpu: CpuId) {
        let mut queue = u32::from(cpu);
        let chosen = loop {
            let choice = self.queue(queue).choice;
            if self.queue(queue).current != choice.entity {
                break choice;
            }
            if self.is_task(choice.entity) {
                return;
            }
            queue = choice.entity;
        };
        self.make_current(law, queue, chosen);
        let mut entity = chosen.entity;
        while !self.is_task(entity) {
            queue = entity;
            let choice = self.queue(queue).choice;
            self.make_current(law, queue, choice);
            entity = choice.entity;
        }
    }

    #[inline(always)]
    fn make_current(&mut self, law: &L, queue: QueueId, choice: Choice) {
        match choice.spot {
            Some(spot) => self.queue(queue).line.take(spot),
            None => self.remove(choice.entity),
        }
        self.put_back(law, queue);
        self.queue(queue).clock = self.clocks[self.cpu(queue)];
        law.forget(self, choice.entity);
        law.begin(self, choice.entity);
        self.queue(queue).current = choice.entity;
    }

    /// What is current in a queue and below it waits again.
    #[inline(always)]
    pub fn put_back(&mut self, law: &L, mut queue: QueueId) {
        loop {
            let current = self.queue(queue).current;
            if current == NOBODY {
                return;
            }
            law.account(self, queue);
            self.rest(queue);
            if self.is_task(current) {
                return;
            }
            queue = current;
        }
    }

    /// A clock tick on every level of what is current.
    #[inline]
    pub fn tick(&mut self, law: &L, cpu: CpuId) {
        let mut queue = u32::from(cpu);
        loop {
            let current = self.queue(queue).current;
            if current == NOBODY {
                return;
            }
            law.tick(self, queue);
            if self.processors > 1 {
                self.refresh_load(queue);
                if !self.is_task(current) {
                    self.refresh_weight(law, current);
                }
            }
            if self.is_task(current) {
                return;
            }
            queue = current;
        }
    }

    /// The two groups or tasks of one queue on whose behalf two tasks compete.
    #[inline(always)]
    pub fn siblings(&self, mut one: EntityId, mut other: EntityId) -> (EntityId, EntityId) {
        let at = |entity: EntityId| &self.entities[entity as usize];
        while at(one).depth > at(other).depth {
            one = at(one).queue;
        }
        while at(other).depth > at(one).depth {
            other = at(other).queue;
        }
        while at(one).queue != at(other).queue {
            (one, other) = (at(one).queue, at(other).queue);
        }
        (one, other)
    }

    /// Whether a task or a group above it waits for its quota.
    pub fn held_back(&self, task: EntityId) -> bool {
        let mut queue = self.entities[task as usize].queue;
        loop {
            if self.queues[queue as usize].throttled {
                return true;
            }
            match self.owner(queue) {
                NOBODY => return false,
                owner => queue = self.entities[owner as usize].queue,
            }
        }
    }

    /// A queue's group may run no more on this processor.
    fn throttle(&mut self, law: &L, queue: QueueId) {
        self.put_back(law, queue);
        let tasks = self.queue(queue).tasks as i32;
        self.pools.wait(self.group(queue), queue);
        self.count_tasks(queue, -tasks);
        let state = self.queue(queue);
        (state.tasks, state.throttled) = (tasks as u32, true);
        let owner = self.owner(queue);
        let above = self.entity(owner).queue;
        law.dequeue(self, owner, Leave::End);
        self.descend(law, above, false, Leave::End);
        self.refresh(law, above);
    }

    /// A queue's group may run again on this processor.
    pub fn unthrottle(&mut self, law: &L, queue: QueueId) {
        let owner = self.owner(queue);
        let state = self.queue(queue);
        state.throttled = false;
        let tasks = std::mem::take(&mut state.tasks) as i32;
        self.count_tasks(queue, tasks);
        if self.queue(queue).count > 0 {
            law.inherit(self, owner);
            self.climb(law, owner, Placing::Wakeup);
            let above = self.entity(owner).queue;
            self.refresh(law, above);
        }
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
    fn new(limited: bool) -> Self {
        Queue {
            line: Timeline::default(),
            current: NOBODY,
            next: NOBODY,
            choice: Choice { entity: NOBODY, spot: None },
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
