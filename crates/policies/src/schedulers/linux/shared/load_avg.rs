//! How the recent loads follow what happens. A task that moves takes its averages along on every level: the entity of its group is then
//! less or more able to run, and with it the load of the queue above.

use super::{
    entity::{CfsRqId, NOBODY, SchedEntity},
    hierarchy::{FairClass, Tree},
    loads::{Contribution, FULL, LOAD, REPORTED, RUNNABLE, UTIL, WHOLE},
    nice_weights::LEAST_WEIGHT,
    pelt::FRACTION,
};
use crate::schedulers::kit::timeline::EntityId;
use schedlab_model::{Nanos, task::CpuId};

impl<L: FairClass> Tree<L> {
    /// The averages of a queue up to now, from where its tasks are as they are now.
    #[inline(never)]
    pub fn update_load_avg(&mut self, id: CfsRqId) {
        if self.loads.queues[id as usize].removed_at.is_some_and(|at| at < self.now) {
            self.subtract_removed(id);
        }
        let queue = &self.queues[id as usize];
        let now = self.loads.clock(self.now, queue.cpu);
        let load = &mut self.loads.queues[id as usize];
        if id < self.processors {
            let (able, runs) = (u64::from(queue.tasks) * FULL, u64::from(queue.current != NOBODY) * FULL);
            load.averages.advance(now, [queue.weight, able, runs, u64::from(load.realtime) * FULL]);
            return;
        }
        load.averages.advance(now, [queue.weight, 0, 0, 0]);
        let (value, group) = (load.averages.value(LOAD), (id / self.processors) as usize);
        if value.abs_diff(load.reported) > load.reported / REPORTED {
            let before = std::mem::replace(&mut load.reported, value);
            self.loads.groups[group] += value;
            self.loads.groups[group] -= before; // update_tg_load_avg
        }
    }

    /// Those of an entity.
    pub fn update_load_avg_of(&mut self, id: EntityId) {
        let SchedEntity { queue, queued, .. } = self.entities[id as usize];
        let runs = self.queues[queue as usize].current == id;
        let now = self.loads.clock(self.now, self.cpu(queue));
        let (able, runs) = (u64::from(queued) * FULL, u64::from(runs) * FULL);
        self.loads.entities[id as usize].advance(now, [able, able, runs]);
    }

    /// What an entity adds to the load of its queue, scaled.
    fn load_of_entity(&self, id: EntityId) -> i64 {
        let able = self.loads.entities[id as usize].scaled(LOAD);
        (self.entities[id as usize].weight * able / FULL) as i64
    }

    /// A new task counts as if it had been able to run for long, but may have half of what its processor has left at most.
    /// (post_init_entity_util_avg)
    pub fn init_entity_runnable_average(&mut self, id: EntityId) {
        let SchedEntity { queue, weight, .. } = self.entities[id as usize];
        let now = self.loads.clock(self.now, self.cpu(queue));
        let [load, _, util, _] = self.loads.queues[self.cpu(queue)].averages.values_at(now);
        let half = self.loads.capacity(self.cpu(queue)).saturating_sub(util) / 2;
        let share = if util == 0 { half } else { (util * weight / (load + 1)).min(half) };
        let averages = &mut self.loads.entities[id as usize];
        averages.advance(now, [0; 3]);
        averages.set(LOAD, WHOLE as u64);
        averages.set(RUNNABLE, share << FRACTION);
        averages.set(UTIL, share << FRACTION);
    }

    /// A task that is not enqueued brings its averages to its queue. The groups above follow when it is enqueued.
    pub fn attach_entity_load_avg(&mut self, task: EntityId) {
        let queue = self.entities[task as usize].queue;
        let now = self.loads.clock(self.now, self.cpu(queue));
        self.loads.entities[task as usize].rebase(now);
        let own = self.contribution(task);
        self.shift_averages(queue, own);
    }

    /// A task that is not enqueued takes its averages away from its queue, on every level.
    pub fn detach_entity_load_avg(&mut self, class: &L, task: EntityId) {
        let queue = self.entities[task as usize].queue;
        let own = self.contribution(task);
        self.shift_averages(queue, -own);
        if !self.is_root(queue) {
            self.update_ancestors(class, queue);
        }
    }

    /// A task has ended, or is woken on another processor. A kernel does not lock the queue for that: it notes what the queue still has of
    /// the task, and subtracts it when the queue is brought up to date next. What is chosen until then, the processor of another new
    /// task for example, finds it. A task that ends is noted after the choice that follows, which is at the same time here: what is noted is
    /// subtracted at a later time only. (remove_entity_load_avg)
    pub fn remove_entity_load_avg(&mut self, task: EntityId) {
        let queue = self.entities[task as usize].queue;
        let left = self.contribution(task);
        let state = &mut self.loads.queues[queue as usize];
        state.removed += left;
        state.removed_at = Some(self.now);
    }

    #[inline(never)]
    fn subtract_removed(&mut self, queue: CfsRqId) {
        let state = &mut self.loads.queues[queue as usize];
        state.removed_at = None;
        let left = std::mem::take(&mut state.removed);
        self.shift_averages(queue, -left);
    }

    /// What a task adds to its queue and its processor, all brought up to date.
    fn contribution(&mut self, task: EntityId) -> Contribution {
        let queue = self.entities[task as usize].queue;
        let root = self.cpu(queue) as CfsRqId;
        self.update_load_avg_of(task);
        self.update_load_avg(queue);
        if root != queue {
            self.update_load_avg(root);
        }
        let scaled = |which| self.loads.entities[task as usize].scaled(which) as i64;
        Contribution {
            load: self.load_of_entity(task),
            able: scaled(LOAD),
            runnable: scaled(RUNNABLE),
            util: scaled(UTIL),
        }
    }

    fn shift_averages(&mut self, queue: CfsRqId, by: Contribution) {
        let root = self.cpu(queue);
        let state = &mut self.loads.queues[queue as usize];
        state.averages.shift(LOAD, by.load);
        state.moved += by.able;
        let root = &mut self.loads.queues[root].averages;
        root.shift(RUNNABLE, by.runnable);
        root.shift(UTIL, by.util);
    }

    /// Tasks have come to a group's queue, or have left it: its entity has been able to run for as much longer or shorter, but
    /// after they left, not for longer than the average of those that stay. (propagate_entity_load_avg)
    pub fn propagate_load(&mut self, owner: EntityId) {
        let moved = std::mem::take(&mut self.loads.queues[owner as usize].moved);
        if moved == 0 {
            return;
        }
        let above = self.entities[owner as usize].queue;
        self.update_load_avg_of(owner);
        self.update_load_avg(above);
        let before = self.load_of_entity(owner);
        let own = self.loads.entities[owner as usize].scaled(LOAD) as i64;
        let able = if moved > 0 {
            (own + moved).min(WHOLE)
        } else {
            let load = self.loads.queues[owner as usize].averages.scaled(LOAD);
            let mean = (load * FULL).checked_div(self.queues[owner as usize].weight).unwrap_or(0);
            own.min(mean as i64)
        };
        self.loads.entities[owner as usize].set(LOAD, able as u64);
        let change = self.load_of_entity(owner) - before;
        let state = &mut self.loads.queues[above as usize];
        state.averages.shift(LOAD, change);
        state.moved += moved;
    }

    /// The entities of the groups above a queue, and their queues, follow what has changed in it.
    #[inline(never)]
    pub fn update_ancestors(&mut self, class: &L, mut queue: CfsRqId) {
        let several = self.processors > 1;
        if several {
            self.update_load_avg(queue);
        }
        while !self.is_root(queue) {
            let owner = queue;
            if several {
                self.propagate_load(owner);
                self.update_cfs_group(class, owner);
            }
            class.update_group_slice(self, owner);
            queue = self.entity(owner).queue;
            if several {
                self.update_load_avg(queue);
            }
        }
    }

    /// The weight of a group that runs on several processors is divided among them by load (calc_group_shares).
    #[inline(never)]
    pub fn update_cfs_group(&mut self, class: &L, owner: EntityId) {
        if self.queue(owner).count == 0 {
            return;
        }
        let group = (owner / self.processors) as usize;
        let state = &self.loads.queues[owner as usize];
        let load = self.queues[owner as usize].weight.max(state.averages.value(LOAD));
        let (shares, total) = (self.shares[group], self.loads.groups[group]);
        let weight = (shares * load).checked_div(total - state.reported + load).unwrap_or(shares);
        let weight = weight.clamp(LEAST_WEIGHT, shares);
        if weight != self.entity(owner).weight {
            self.reweight_entity(class, owner, weight);
        }
    }

    /// An entity has another weight: its load, and with it that of its queue, is at once what it would be with that weight.
    pub fn reweight_entity(&mut self, class: &L, entity: EntityId, weight: u64) {
        if self.processors == 1 {
            return class.reweight_entity(self, entity, weight);
        }
        let queue = self.entity(entity).queue;
        self.update_load_avg_of(entity);
        self.update_load_avg(queue);
        let before = self.load_of_entity(entity);
        class.reweight_entity(self, entity, weight);
        let change = self.load_of_entity(entity) - before;
        self.loads.queues[queue as usize].averages.shift(LOAD, change);
        self.update_load_avg(queue);
    }

    /// Loads that those who left a processor's queues have left behind fade. (update_blocked_averages)
    pub fn update_blocked_averages(&mut self, cpu: CpuId) {
        for id in (u32::from(cpu)..self.queues.len() as u32).step_by(self.processors as usize).skip(1).rev() {
            self.update_load_avg_of(id);
            self.update_load_avg(id);
            self.propagate_load(id);
        }
        if !self.queues.is_empty() {
            self.update_load_avg(cpu.into());
        }
    }

    /// The load of a processor, the times for which tasks could run and did run there, and that of the real-time class.
    pub fn loads_of(&self, now: Nanos, cpu: CpuId) -> [u64; 4] {
        let now = self.loads.clock(now, cpu.into());
        self.loads.queues.get(usize::from(cpu)).map_or([0; 4], |queue| queue.averages.values_at(now))
    }

    /// The most that the load of a processor can be before the weight of its tasks changes.
    #[inline]
    pub fn highest_load_of(&self, cpu: CpuId) -> u64 {
        self.loads.queues.get(usize::from(cpu)).map_or(0, |queue| queue.averages.highest(LOAD))
    }

    /// The times for which a task could run, and did. (task_runnable, task_util)
    pub fn task_averages(&self, now: Nanos, task: EntityId) -> [u64; 2] {
        let Some(entity) = self.entities.get(task as usize) else { return [0; 2] };
        let now = self.loads.clock(now, self.cpu(entity.queue));
        let [_, runnable, util] = self.loads.entities[task as usize].values_at(now);
        [runnable, util]
    }

    /// The same, of a task that leaves now.
    pub fn averages_of_leaving(&mut self, task: EntityId) -> [u64; 2] {
        let queue = self.entities[task as usize].queue;
        let now = self.loads.clock(self.now, self.cpu(queue));
        let averages = &mut self.loads.entities[task as usize];
        averages.reach(now);
        let [_, runnable, util] = averages.values();
        [runnable, util]
    }

    /// What a task adds to its processor's load: its own, as its groups count. (task_h_load)
    pub fn task_h_load(&self, now: Nanos, task: EntityId) -> u64 {
        let Some(entity) = self.entities.get(task as usize) else { return 0 };
        let now = self.loads.clock(now, self.cpu(entity.queue));
        let own = entity.weight * self.loads.entities[task as usize].values_at(now)[LOAD] / FULL;
        self.part_of_h_load(now, own, entity.queue)
    }

    fn part_of_h_load(&self, now: Nanos, own: u64, queue: CfsRqId) -> u64 {
        let load = self.loads.queues[queue as usize].averages.values_at(now)[LOAD];
        let whole = if self.is_root(queue) {
            load
        } else {
            let owner = &self.entities[queue as usize];
            let own = owner.weight * self.loads.entities[queue as usize].values_at(now)[LOAD] / FULL;
            self.part_of_h_load(now, own, owner.queue)
        };
        own * whole / (load + 1)
    }
}
