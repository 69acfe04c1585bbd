//! The walks through the tree of groups: a task comes or leaves, one is chosen and becomes current, a tick. Most often there
//! are no groups, and a walk is its first step; what goes on from there stands in functions of its own.

use super::{
    hierarchy::{Choice, Entity, NOBODY, Queue, QueueId, Tree},
    law::{Law, Leave, Placing},
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::task::CpuId;

/// A weight that rounding must not lose.
pub const LEAST_WEIGHT: u64 = 2;

impl<L: Law> Tree<L> {
    /// A task becomes able to run.
    #[inline(always)]
    pub fn enqueue(&mut self, law: &L, task: EntityId, how: Placing) {
        let queue = self.entity(task).queue;
        if self.join(law, task, how) && !self.is_root(queue) {
            self.climb(law, queue);
        }
        self.count_tasks(queue, 1);
        self.refresh(law, queue);
    }

    /// An entity begins to compete; false if it did already.
    #[inline(always)]
    fn join(&mut self, law: &L, id: EntityId, how: Placing) -> bool {
        let &mut Entity { queue, queued, ref claim, .. } = self.entity(id);
        if queued {
            if L::sleeps(claim) {
                law.rouse(self, id);
            }
            return false;
        }
        self.account(law, queue);
        if how == Placing::New {
            law.place_new(self, id);
        }
        law.enqueue(&mut self.entities[id as usize], &mut self.queues[queue as usize], id, how);
        true
    }

    /// A queue has something to run now: its group begins to compete, and those above it.
    #[inline(never)]
    pub fn climb(&mut self, law: &L, mut queue: QueueId) {
        loop {
            if self.is_root(queue) || self.queue(queue).throttled {
                return;
            }
            let owner = queue;
            law.inherit(self, owner);
            if !self.join(law, owner, Placing::Wakeup) {
                return;
            }
            queue = self.entity(owner).queue;
        }
    }

    /// A task leaves, or stays for a while although it sleeps. Either way it is not current any more.
    #[inline(always)]
    pub fn dequeue(&mut self, law: &L, task: EntityId, how: Leave) {
        let queue = self.entity(task).queue;
        self.count_tasks(queue, -1);
        if self.leave(law, task, how) && !self.is_root(queue) {
            self.descend(law, queue, how != Leave::Move, Leave::Sleep);
        }
        self.refresh(law, queue);
    }

    /// As [`Tree::dequeue`], where it is rare.
    #[inline(never)]
    pub fn dequeue_anyhow(&mut self, law: &L, task: EntityId, how: Leave) {
        self.dequeue(law, task, how);
    }

    /// An entity leaves its queue, or waits in it although it sleeps: false.
    #[inline(always)]
    pub fn leave(&mut self, law: &L, entity: EntityId, how: Leave) -> bool {
        let id = self.entity(entity).queue;
        self.account(law, id);
        let mut queue = &mut self.queues[id as usize];
        if L::notes(queue, entity) {
            L::forget(self, entity);
            queue = &mut self.queues[id as usize];
        }
        let gone = law.dequeue(&mut self.entities, queue, entity, how);
        if !gone && queue.current == entity {
            Self::rest(&self.entities, queue);
        }
        gone
    }

    /// A queue has lost an entity: if it was the last one, its group stops competing, and so on.
    #[inline(never)]
    pub fn descend(&mut self, law: &L, mut queue: QueueId, prefer: bool, how: Leave) {
        loop {
            if self.is_root(queue) || self.queue(queue).throttled {
                return;
            }
            let owner = queue;
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
            let how = if L::sleeps(&self.entity(owner).claim) { Leave::Late(None) } else { how };
            if !self.leave(law, owner, how) {
                return;
            }
        }
    }

    /// Puts the current entity of a queue, if there is one, back among those that wait, as it is.
    #[inline(always)]
    fn rest(entities: &[Entity<L::Claim>], queue: &mut Queue<L::State>) {
        let current = std::mem::replace(&mut queue.current, NOBODY);
        if current != NOBODY {
            L::enter(queue, &entities[current as usize], current);
        }
    }

    /// So many more tasks in a queue and below it can run.
    #[inline(always)]
    pub fn count_tasks(&mut self, id: QueueId, more: i32) {
        let queue = self.queue(id);
        queue.tasks = queue.tasks.wrapping_add_signed(more);
        if !queue.throttled && !self.is_root(id) {
            self.count_above(id, more);
        }
    }

    #[inline(never)]
    fn count_above(&mut self, id: QueueId, more: i32) {
        let above = self.entities[id as usize].queue;
        self.count_tasks(above, more);
    }

    /// The groups above a queue learn what has changed in it.
    #[inline(always)]
    pub fn refresh(&mut self, law: &L, queue: QueueId) {
        if self.processors > 1 || !self.is_root(queue) {
            self.refresh_above(law, queue);
        }
    }

    #[inline(never)]
    fn refresh_above(&mut self, law: &L, mut queue: QueueId) {
        if self.processors > 1 {
            self.refresh_load(queue);
        }
        while !self.is_root(queue) {
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

    #[inline(never)]
    fn refresh_load(&mut self, queue: QueueId) {
        let now = self.now;
        let queue = self.queue(queue);
        queue.load.advance(now, queue.weight);
    }

    /// A group that runs on several processors has its weight divided among them by load.
    #[inline(never)]
    fn refresh_weight(&mut self, law: &L, owner: EntityId) {
        let (cpu, now) = (owner % self.processors, self.now);
        let first = owner - cpu;
        let queues = &self.queues[first as usize..(first + self.processors) as usize];
        let total: u64 = queues.iter().map(|queue| queue.load.value_at(now)).sum();
        let queue = &queues[cpu as usize];
        let contribution = queue.load.value_at(now);
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
            let (state, line) = self.pair(entity);
            if !state.queued || state.is_idle() {
                return;
            }
            line.next = entity;
            let queue = state.queue;
            entity = self.owner(queue);
        }
    }

    /// An entity and the groups above it are no longer preferred.
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

    /// Chooses a task of a processor, if there is any, and makes it current.
    #[inline(always)]
    pub fn pick(&mut self, law: &L, cpu: CpuId) -> Option<EntityId> {
        let root = QueueId::from(cpu);
        while self.queues.get(root as usize)?.count > 0 {
            let Some(choice) = self.choose(law, root) else { continue };
            if self.is_task(choice.entity) {
                self.commit(law, root, choice);
                return Some(choice.entity);
            }
            if let Some(task) = self.pick_below(law, root, choice) {
                return Some(task);
            }
        }
        None
    }

    /// As [`Tree::pick`], where the root has chosen a group. None if somebody turned out to be unable to run, and has left.
    #[inline(never)]
    fn pick_below(&mut self, law: &L, root: QueueId, mut choice: Choice) -> Option<EntityId> {
        self.queue(root).choice = choice;
        while !self.is_task(choice.entity) {
            let group = choice.entity;
            choice = self.choose(law, group)?;
            self.queue(group).choice = choice;
        }
        let mut queue = root;
        loop {
            let choice = self.queue(queue).choice;
            self.commit(law, queue, choice);
            if self.is_task(choice.entity) {
                return Some(choice.entity);
            }
            queue = choice.entity;
        }
    }

    /// Whom a queue that is not empty would run. None if it, or who was chosen, turned out to be unable to run, and has left.
    #[inline(always)]
    fn choose(&mut self, law: &L, id: QueueId) -> Option<Choice> {
        self.account(law, id);
        let mut queue = &mut self.queues[id as usize];
        if queue.limited {
            if self.must_wait(id) {
                self.throttle(law, id);
                return None;
            }
            queue = &mut self.queues[id as usize];
        }
        let choice = law.choose(&self.entities, queue);
        if L::sleeps(&self.entities[choice.entity as usize].claim) {
            self.leave_late(law, choice);
            return None;
        }
        Some(choice)
    }

    /// One that sleeps already and was chosen leaves.
    #[inline(never)]
    pub fn leave_late(&mut self, law: &L, Choice { entity, spot }: Choice) {
        let queue = self.entity(entity).queue;
        self.leave(law, entity, Leave::Late(spot));
        if !self.is_root(queue) {
            self.descend(law, queue, true, Leave::Sleep);
        }
        self.refresh(law, queue);
    }

    /// Makes current whom a queue has chosen; who is current already goes on.
    #[inline(always)]
    fn commit(&mut self, law: &L, id: QueueId, choice: Choice) {
        if self.queue(id).current != choice.entity {
            self.make_current(law, id, choice);
        }
    }

    /// The current entity of the queue is charged.
    #[inline(always)]
    fn make_current(&mut self, law: &L, id: QueueId, Choice { entity, spot }: Choice) {
        let mut queue = &mut self.queues[id as usize];
        match spot {
            Some(spot) => queue.line.take(spot),
            None => queue.line.remove(L::key(&self.entities[entity as usize]), entity),
        }
        let before = queue.current;
        if before < self.first_task {
            self.put_back_below(law, before);
            queue = &mut self.queues[id as usize];
        }
        Self::rest(&self.entities, queue);
        L::left(queue, entity); // after the other has entered, as in the kernel
        law.begin(&mut self.entities[entity as usize], queue);
        (queue.current, queue.clock) = (entity, self.clocks[queue.cpu]);
        if L::notes(queue, entity) {
            L::forget(self, entity);
        }
    }

    /// What is current in a queue and below it waits again: a task, before it the groups in which it runs.
    pub fn put_back(&mut self, law: &L, id: QueueId) {
        self.account(law, id);
        let current = self.queue(id).current;
        if current < self.first_task {
            self.put_back_below(law, current);
        }
        Self::rest(&self.entities, &mut self.queues[id as usize]);
    }

    /// A group whose quota is used up waits for the next period from now on, not from when it would run again.
    /// (put_prev_entity)
    #[inline(never)]
    fn put_back_below(&mut self, law: &L, queue: QueueId) {
        self.put_back(law, queue);
        if self.queue(queue).limited && !self.queue(queue).throttled && self.must_wait(queue) {
            self.throttle(law, queue);
        }
    }

    /// A clock tick on every level of what is current.
    #[inline(always)]
    pub fn tick(&mut self, law: &L, cpu: CpuId) {
        let current = self.tick_in(law, cpu.into());
        if !self.is_task(current) {
            self.tick_below(law, current);
        }
    }

    #[inline(never)]
    fn tick_below(&mut self, law: &L, mut group: EntityId) {
        while !self.is_task(group) {
            group = self.tick_in(law, group);
        }
    }

    /// A clock tick for what is current in a queue.
    #[inline(always)]
    fn tick_in(&mut self, law: &L, queue: QueueId) -> EntityId {
        let current = self.queue(queue).current;
        if current == NOBODY {
            return current;
        }
        self.account(law, queue);
        law.tick(self, queue);
        if self.processors > 1 {
            self.refresh_load(queue);
            if !self.is_task(current) {
                self.refresh_weight(law, current);
            }
        }
        current
    }

    /// The two groups or tasks of one queue on whose behalf two tasks compete.
    #[inline(always)]
    pub fn siblings(&self, one: EntityId, other: EntityId) -> (EntityId, EntityId) {
        let at = |entity: EntityId| &self.entities[entity as usize];
        if at(one).queue == at(other).queue { (one, other) } else { self.siblings_above(one, other) }
    }

    #[inline(never)]
    fn siblings_above(&self, mut one: EntityId, mut other: EntityId) -> (EntityId, EntityId) {
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
}
