//! The walks through the tree of groups: a task comes or leaves, one is chosen and becomes current, a tick, a group that has
//! to wait for its quota.

use super::{
    hierarchy::{Choice, Entity, MOST, NOBODY, Queue, QueueId, Tree},
    law::{Law, Leave, Placing},
    timeline::EntityId,
};
use schedlab_model::task::CpuId;

/// A weight that rounding must not lose.
pub(super) const LEAST_WEIGHT: u64 = 2;

impl<L: Law> Tree<L> {
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
            let &mut Entity { queue, queued, ref claim, .. } = self.entity(entity);
            if queued {
                if L::sleeps(claim) {
                    law.rouse(self, entity);
                }
                return;
            }
            self.account(law, queue);
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
        if !matches!(how, Leave::Late(_)) {
            self.count_tasks(queue, -1);
        }
        let gone = self.leave(law, task, how);
        if gone {
            self.descend(law, queue, how != Leave::Move, Leave::Sleep);
        }
        self.refresh(law, queue);
        gone
    }

    /// An entity leaves its queue, or waits in it although it sleeps: false.
    #[inline(always)]
    fn leave(&mut self, law: &L, entity: EntityId, how: Leave) -> bool {
        let id = self.entity(entity).queue;
        self.account(law, id);
        let gone = law.dequeue(self, entity, how);
        if !gone {
            let queue = &mut self.queues[id as usize];
            if queue.current == entity {
                Self::rest(&self.entities, queue);
            }
        }
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

    /// So many more tasks below a queue can run.
    #[inline(always)]
    fn count_tasks(&mut self, mut queue: QueueId, more: i32) {
        loop {
            let state = self.queue(queue);
            state.tasks = state.tasks.wrapping_add_signed(more);
            let throttled = state.throttled;
            let owner = self.owner(queue);
            if owner == NOBODY || throttled {
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
        while self.queues.get(usize::from(cpu))?.count > 0 {
            if let Some(task) = self.choose(law, cpu) {
                self.commit(law, cpu);
                return Some(task);
            }
        }
        None
    }

    /// Chooses a task of a processor, for which there are some to choose from. None if somebody turned out to be unable to run,
    /// and has left.
    #[inline(always)]
    fn choose(&mut self, law: &L, cpu: CpuId) -> Option<EntityId> {
        let mut id = u32::from(cpu);
        loop {
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
            queue.choice = choice;
            if L::sleeps(&self.entities[choice.entity as usize].claim) {
                self.leave_late(law, choice);
                return None;
            }
            if self.is_task(choice.entity) {
                return Some(choice.entity);
            }
            id = choice.entity;
        }
    }

    /// One that sleeps already and was chosen leaves.
    #[inline(never)]
    pub fn leave_late(&mut self, law: &L, Choice { entity, spot }: Choice) {
        if self.is_task(entity) {
            self.dequeue(law, entity, Leave::Late(spot));
        } else {
            let queue = self.entity(entity).queue;
            self.leave(law, entity, Leave::Late(spot));
            self.descend(law, queue, true, Leave::Sleep);
            self.refresh(law, queue);
        }
    }

    /// Makes current on every level what [`Tree::choose`] chose; what is current already goes on.
    #[inline(always)]
    fn commit(&mut self, law: &L, cpu: CpuId) {
        let mut id = u32::from(cpu);
        loop {
            let &mut Queue { current, choice, .. } = self.queue(id);
            if current != choice.entity {
                self.make_current(law, id, choice);
            }
            if self.is_task(choice.entity) {
                return;
            }
            id = choice.entity;
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
        (queue.current, queue.clock) = (entity, self.clocks[queue.cpu % MOST]);
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
    #[inline]
    pub fn tick(&mut self, law: &L, cpu: CpuId) {
        let mut queue = u32::from(cpu);
        loop {
            let current = self.queue(queue).current;
            if current == NOBODY {
                return;
            }
            self.account(law, queue);
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
        self.leave(law, owner, Leave::End);
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
}
