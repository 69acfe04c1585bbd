//! The fair class: what happens on every level of the tree of groups when a task is enqueued or dequeued, when one is picked and
//! becomes current, and at a tick. Functions have the names of kernel/sched/fair.c where they do what those do. Most often there
//! are no groups and there is one level; what groups need is in functions of its own.

use super::{
    entity::{CfsRq, CfsRqId, Choice, Leave, NOBODY, Placing, SchedEntity},
    hierarchy::{FairClass, Tree},
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::task::CpuId;

impl<L: FairClass> Tree<L> {
    /// A task becomes able to run.
    #[inline(always)]
    pub fn enqueue_task_fair(&mut self, class: &L, task: EntityId, how: Placing) {
        let queue = self.entity(task).queue;
        if self.enqueue_entity(class, task, how) && !self.is_root(queue) {
            self.enqueue_ancestors(class, queue);
        }
        self.add_nr_running(queue, 1);
        self.update_groups(class, queue);
    }

    /// An entity begins to compete; false if it did already.
    #[inline(always)]
    fn enqueue_entity(&mut self, class: &L, id: EntityId, how: Placing) -> bool {
        let &mut SchedEntity { queue, queued, ref claim, .. } = self.entity(id);
        if queued {
            if L::sleeps(claim) {
                class.requeue_delayed_entity(self, id);
            }
            return false;
        }
        self.update_curr(class, queue);
        if how == Placing::New {
            class.place_entity_initial(self, id);
        }
        class.enqueue(&mut self.entities[id as usize], &mut self.queues[queue as usize], id, how);
        if self.processors > 1 {
            self.update_load_avg_of(id);
        }
        true
    }

    /// A queue has something to run now: its group's entity is enqueued in the queue above, and so on up to the root.
    #[inline(never)]
    pub fn enqueue_ancestors(&mut self, class: &L, mut queue: CfsRqId) {
        loop {
            if self.is_root(queue) || self.queue(queue).throttled {
                return;
            }
            let owner = queue;
            class.update_group_slice(self, owner);
            if !self.enqueue_entity(class, owner, Placing::Wakeup) {
                return;
            }
            queue = self.entity(owner).queue;
        }
    }

    /// A task leaves, or stays for a while although it sleeps: then it is current until the next choice, which may end its stay.
    #[inline(always)]
    pub fn dequeue_task_fair(&mut self, class: &L, task: EntityId, how: Leave) {
        let queue = self.entity(task).queue;
        self.add_nr_running(queue, -1);
        if self.dequeue_entity(class, task, how) && !self.is_root(queue) {
            self.dequeue_ancestors(class, queue, how != Leave::Move, Leave::Sleep);
        }
        self.update_groups(class, queue);
    }

    /// As [`Tree::dequeue_task_fair`], where it is rare.
    #[inline(never)]
    pub fn dequeue_task_fair_rarely(&mut self, class: &L, task: EntityId, how: Leave) {
        self.dequeue_task_fair(class, task, how);
    }

    /// An entity leaves its queue, or stays in it although it sleeps: false.
    #[inline(always)]
    pub fn dequeue_entity(&mut self, class: &L, entity: EntityId, how: Leave) -> bool {
        let id = self.entity(entity).queue;
        self.update_curr(class, id);
        let mut queue = &mut self.queues[id as usize];
        if L::is_buddy(queue, entity) {
            L::clear_buddies(self, entity);
            queue = &mut self.queues[id as usize];
        }
        let gone = class.dequeue(&mut self.entities, queue, entity, how);
        if self.processors > 1 {
            self.update_load_avg_of(entity);
        }
        gone
    }

    /// A queue has lost an entity: if it was the last one, its group's entity is dequeued, and so on up to the root.
    #[inline(never)]
    pub fn dequeue_ancestors(&mut self, class: &L, mut queue: CfsRqId, prefer: bool, how: Leave) {
        loop {
            if self.is_root(queue) || self.queue(queue).throttled {
                return;
            }
            let owner = queue;
            if self.queue(queue).count > 0 {
                if prefer {
                    self.set_next_buddy(owner); // what its siblings do is likely to belong together
                }
                return;
            }
            if self.queue(queue).limited {
                self.return_cfs_rq_runtime(queue);
            }
            queue = self.entity(owner).queue;
            let how = if L::sleeps(&self.entity(owner).claim) { Leave::Delayed(None) } else { how };
            if !self.dequeue_entity(class, owner, how) {
                return;
            }
        }
    }

    /// Puts the current entity of a queue, if there is one, back among those that wait, as it is.
    #[inline(always)]
    fn requeue_current(entities: &[SchedEntity<L::Claim>], queue: &mut CfsRq<L::State>) {
        let current = std::mem::replace(&mut queue.current, NOBODY);
        if current != NOBODY {
            L::insert_in_timeline(queue, &entities[current as usize], current);
        }
    }

    /// The number of tasks that can run in a queue and below it changes (h_nr_running).
    #[inline(always)]
    pub fn add_nr_running(&mut self, id: CfsRqId, more: i32) {
        let (root, several) = (self.is_root(id), self.processors > 1);
        let queue = self.queue(id);
        queue.tasks = queue.tasks.wrapping_add_signed(more);
        let (tasks, throttled) = (queue.tasks, queue.throttled);
        if root && several {
            self.crowded.set(id as CpuId, tasks > 1);
        } else if !root && !throttled {
            self.add_nr_running_above(id, more);
        }
    }

    #[inline(never)]
    fn add_nr_running_above(&mut self, id: CfsRqId, more: i32) {
        let above = self.entities[id as usize].queue;
        self.add_nr_running(above, more);
    }

    /// Loads, weights and slices of the groups above a queue follow what has changed in it.
    #[inline(always)]
    pub fn update_groups(&mut self, class: &L, queue: CfsRqId) {
        if self.processors > 1 || !self.is_root(queue) {
            self.update_ancestors(class, queue);
        }
    }

    /// Prefers an entity and the groups above it at the next choice.
    pub fn set_next_buddy(&mut self, mut entity: EntityId) {
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
    pub fn clear_next_buddy(&mut self, mut entity: EntityId) {
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
    pub fn pick_next_task_fair(&mut self, class: &L, cpu: CpuId) -> Option<EntityId> {
        let root = CfsRqId::from(cpu);
        while self.queues.get(root as usize)?.count > 0 {
            let Some(choice) = self.pick_next_entity(class, root) else { continue };
            if self.is_task(choice.entity) {
                self.set_next(class, root, choice);
                return Some(choice.entity);
            }
            if let Some(task) = self.pick_in_groups(class, root, choice) {
                return Some(task);
            }
        }
        None
    }

    /// As [`Tree::pick_next_task_fair`], where the root has chosen a group. None if an entity turned out to be unable to
    /// run, and was dequeued.
    #[inline(never)]
    fn pick_in_groups(&mut self, class: &L, root: CfsRqId, mut choice: Choice) -> Option<EntityId> {
        self.queue(root).choice = choice;
        while !self.is_task(choice.entity) {
            let group = choice.entity;
            choice = self.pick_next_entity(class, group)?;
            self.queue(group).choice = choice;
        }
        let mut queue = root;
        loop {
            let choice = self.queue(queue).choice;
            self.set_next(class, queue, choice);
            if self.is_task(choice.entity) {
                return Some(choice.entity);
            }
            queue = choice.entity;
        }
    }

    /// The entity that a queue which is not empty would run. None if its quota is used up, or if the entity's dequeue was
    /// delayed: either is dequeued now.
    #[inline(always)]
    fn pick_next_entity(&mut self, class: &L, id: CfsRqId) -> Option<Choice> {
        self.update_curr(class, id);
        let mut queue = &mut self.queues[id as usize];
        if queue.limited {
            if self.check_cfs_rq_runtime(id) {
                self.throttle_cfs_rq(class, id);
                return None;
            }
            queue = &mut self.queues[id as usize];
        }
        let choice = class.pick_entity(&self.entities, queue);
        if L::sleeps(&self.entities[choice.entity as usize].claim) {
            self.dequeue_delayed(class, choice);
            return None;
        }
        Some(choice)
    }

    /// An entity that sleeps already and was picked is dequeued.
    #[inline(never)]
    pub fn dequeue_delayed(&mut self, class: &L, Choice { entity, spot }: Choice) {
        let queue = self.entity(entity).queue;
        self.dequeue_entity(class, entity, Leave::Delayed(spot));
        if !self.is_root(queue) {
            self.dequeue_ancestors(class, queue, true, Leave::Sleep);
        }
        self.update_groups(class, queue);
    }

    /// Makes the entity current that a queue has picked, unless it is current already.
    #[inline(always)]
    pub fn set_next(&mut self, class: &L, id: CfsRqId, choice: Choice) {
        if self.queue(id).current != choice.entity {
            self.set_next_entity(class, id, choice);
        }
    }

    /// The current entity of the queue is charged.
    #[inline(always)]
    fn set_next_entity(&mut self, class: &L, id: CfsRqId, Choice { entity, spot }: Choice) {
        let mut queue = &mut self.queues[id as usize];
        match spot {
            Some(spot) => queue.line.take(spot),
            None => queue.line.remove(L::key(&self.entities[entity as usize]), entity),
        }
        let before = queue.current;
        if before < self.first_task {
            self.put_prev_entity(class, before);
            queue = &mut self.queues[id as usize];
        }
        Self::requeue_current(&self.entities, queue);
        L::removed_from_timeline(queue, entity); // after the other has entered, as in the kernel
        class.begin(&mut self.entities[entity as usize], queue);
        (queue.current, queue.clock) = (entity, self.clocks[queue.cpu]);
        if L::is_buddy(queue, entity) {
            L::clear_buddies(self, entity);
        }
    }

    /// What is current in a queue and below it waits again: a task, before it the groups in which it runs.
    pub fn put_prev_task_fair(&mut self, class: &L, id: CfsRqId) {
        self.update_curr(class, id);
        let current = self.queue(id).current;
        if current < self.first_task {
            self.put_prev_entity(class, current);
        }
        Self::requeue_current(&self.entities, &mut self.queues[id as usize]);
    }

    /// A group whose quota is used up waits for the next period from now on, not from when it would run again.
    /// (put_prev_entity)
    #[inline(never)]
    fn put_prev_entity(&mut self, class: &L, queue: CfsRqId) {
        self.put_prev_task_fair(class, queue);
        if self.queue(queue).limited && !self.queue(queue).throttled && self.check_cfs_rq_runtime(queue) {
            self.throttle_cfs_rq(class, queue);
        }
    }

    /// A clock tick on every level of what is current.
    #[inline(always)]
    pub fn task_tick_fair(&mut self, class: &L, cpu: CpuId) {
        let current = self.entity_tick(class, cpu.into());
        if !self.is_task(current) {
            self.tick_groups(class, current);
        }
    }

    #[inline(never)]
    fn tick_groups(&mut self, class: &L, mut group: EntityId) {
        while !self.is_task(group) {
            group = self.entity_tick(class, group);
        }
    }

    /// A clock tick for what is current in a queue.
    #[inline(always)]
    fn entity_tick(&mut self, class: &L, queue: CfsRqId) -> EntityId {
        let current = self.queue(queue).current;
        if current == NOBODY {
            return current;
        }
        self.update_curr(class, queue);
        class.check_preempt_tick(self, queue);
        if self.processors > 1 {
            self.update_load_avg(queue);
            if !self.is_task(current) {
                self.propagate_load(current);
                self.update_cfs_group(class, current);
            }
        }
        current
    }

    /// The two entities of one queue, tasks or groups, on whose behalf two tasks compete.
    #[inline(always)]
    pub fn find_matching_se(&self, one: EntityId, other: EntityId) -> (EntityId, EntityId) {
        let at = |entity: EntityId| &self.entities[entity as usize];
        if at(one).queue == at(other).queue { (one, other) } else { self.find_matching_se_above(one, other) }
    }

    #[inline(never)]
    fn find_matching_se_above(&self, mut one: EntityId, mut other: EntityId) -> (EntityId, EntityId) {
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
