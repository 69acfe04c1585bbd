//! The walks through the tree of groups: a task comes or leaves, one is chosen and becomes current, a tick, a group that has
//! to wait for its quota.

use super::{
    hierarchy::{Choice, Entity, Law, Leave, NOBODY, Placing, QueueId, Tree},
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
        if !matches!(how, Leave::Late(_)) {
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
            let how = if L::sleeps(&self.entity(owner).claim) { Leave::Late(None) } else { how };
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
        let queue = &mut self.queues[queue as usize];
        let current = std::mem::replace(&mut queue.current, NOBODY);
        let entity = &self.entities[current as usize];
        L::enter(queue, entity, current);
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
    #[inline(always)]
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
                    self.leave_late(law, choice);
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
    #[inline(never)]
    pub fn leave_late(&mut self, law: &L, Choice { entity, spot }: Choice) {
        if self.is_task(entity) {
            self.dequeue(law, entity, Leave::Late(spot));
        } else {
            let queue = self.entity(entity).queue;
            law.dequeue(self, entity, Leave::Late(spot));
            self.descend(law, queue, true, Leave::Sleep);
            self.refresh(law, queue);
        }
    }

    /// Makes current on every level what [`Tree::choose`] chose; what is current already goes on.
    #[inline(always)]
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
        let (state, line) = self.pair(choice.entity);
        match choice.spot {
            Some(spot) => line.line.take(spot),
            None => line.line.remove(L::key(state), choice.entity),
        }
        self.put_back(law, queue);
        L::left(self.queue(queue), choice.entity); // after the other has entered, as in the kernel
        law.forget(self, choice.entity);
        law.begin(self, choice.entity);
        let state = &mut self.queues[queue as usize];
        (state.current, state.clock) = (choice.entity, self.clocks[state.cpu]);
    }

    /// What is current in a queue and below it waits again: a task, before it the groups in which it runs.
    #[inline(always)]
    pub fn put_back(&mut self, law: &L, queue: QueueId) {
        let current = self.queue(queue).current;
        if current == NOBODY {
            return;
        }
        law.account(self, queue);
        if !self.is_task(current) {
            self.put_back_below(law, current);
        }
        if self.queue(queue).current == current {
            self.rest(queue);
        }
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
}
