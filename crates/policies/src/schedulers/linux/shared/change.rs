//! What a change of a task's record does to it: another weight or slice, another group, another class. As the kernel's pattern of
//! sched_change has it: the task leaves, is changed, and comes back; one that runs goes on, unless a new choice is requested.

use super::{
    entity::{Choice, Kind, Leave, Placing, SchedEntity},
    hierarchy::{FairClass, Tree},
    linux::Linux,
    nice_weights,
    realtime::is_realtime,
};
use crate::schedulers::{Context, kit::timeline::EntityId};
use schedlab_model::task::{CpuId, Task, TaskId};

impl<L: FairClass> Linux<L> {
    pub fn changed(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId, before: &Task) {
        let entity = self.tree.of_task(task);
        if entity as usize >= self.tree.entities.len() || self.tree.queues.is_empty() {
            return; // it was not seen yet
        }
        self.tree.now = cx.now;
        let (after, runs) = (&cx.tasks[task as usize], cx.processors[cpu as usize].running == Some(task));
        if L::sleeps(&self.tree.entity(entity).claim) {
            self.tree.dequeue_delayed(&self.class, Choice::of(entity));
        }
        let resched = match (is_realtime(before), is_realtime(after)) {
            (true, true) => runs && self.realtime.requeue(cx, cpu, task, before),
            (true, false) => {
                if runs {
                    self.realtime.leave(cpu, before);
                    self.cpus[cpu as usize].realtime = false;
                }
                self.join_fair(cx, task, entity, runs);
                if runs {
                    self.go_on(entity);
                }
                runs
            }
            (false, true) => {
                self.leave_fair(cpu, task, entity, runs);
                if runs {
                    self.tree.put_prev_task_fair(&self.class, cpu.into());
                    self.realtime.enqueue(cx, cpu, task);
                    self.cpus[cpu as usize].realtime = true;
                    if self.tree.queue(cpu.into()).tasks > 0 {
                        self.realtime.others_came(cx, cpu);
                    }
                }
                false
            }
            (false, false) => self.change_fair(after, entity, runs) || runs && after.nice > before.nice,
        };
        if runs && resched {
            self.resched(cx, cpu);
        }
        self.pass_on(cx, cpu);
    }

    /// A task stays in the fair class. Whether its group has changed, so that it competes anew. (sched_move_task)
    fn change_fair(&mut self, after: &Task, entity: EntityId, runs: bool) -> bool {
        let SchedEntity { queue, kind, .. } = *self.tree.entity(entity);
        let to = self.tree.queue_of(after, self.tree.cpu(queue) as CpuId);
        let moves = to != queue || kind != Kind::of(after.policy);
        if moves && runs {
            self.tree.dequeue_task_fair_rarely(&self.class, entity, Leave::Move);
        }
        self.read(after, entity);
        if to != queue {
            if self.several() {
                self.tree.detach_entity_load_avg(&self.class, entity);
            }
            self.class.migrate_entity(&mut self.tree, entity, to);
            self.tree.entity(entity).queue = to;
            self.tree.entity(entity).depth = self.tree.depth(to);
            if self.several() {
                self.tree.attach_entity_load_avg(entity);
            }
        }
        if moves && runs {
            self.go_on(entity);
        } else {
            self.tree.update_groups(&self.class, to);
        }
        runs && to != queue
    }

    /// Its kind, weight and slice.
    fn read(&mut self, after: &Task, entity: EntityId) {
        self.tree.entity(entity).kind = Kind::of(after.policy);
        if after.slice.is_some() {
            self.tree.expect_slices();
        }
        let weight = nice_weights::of(after);
        if weight != self.tree.entity(entity).weight {
            self.tree.reweight_entity(&self.class, entity, weight);
        }
        self.class.change_claim(&mut self.tree, entity, after);
    }

    /// A running task is enqueued and current again, unless its group may not run now.
    fn go_on(&mut self, entity: EntityId) {
        self.tree.enqueue_task_fair(&self.class, entity, Placing::Move);
        if !(self.tree.pools.exist() && self.tree.throttled_hierarchy(entity)) {
            self.tree.set_next_task_fair(&self.class, entity);
        }
    }

    /// A task becomes a real-time one.
    fn leave_fair(&mut self, cpu: CpuId, task: TaskId, entity: EntityId, runs: bool) {
        if runs {
            self.tree.dequeue_task_fair_rarely(&self.class, entity, Leave::Move);
        }
        if self.several() {
            self.tree.detach_entity_load_avg(&self.class, entity);
            if runs {
                self.balancer.unlist(cpu, task);
            }
        }
        self.class.change_class(&mut self.tree, entity, true);
        self.tree.entity(entity).kind = Kind::Realtime;
    }

    /// A real-time task becomes an ordinary one.
    fn join_fair(&mut self, cx: &Context<'_>, task: TaskId, entity: EntityId, runs: bool) {
        let after = &cx.tasks[task as usize];
        let to = self.tree.queue_of(after, after.cpu);
        let depth = self.tree.depth(to);
        let fair = self.tree.entity(entity);
        (fair.queue, fair.depth) = (to, depth);
        self.class.change_class(&mut self.tree, entity, false);
        self.read(after, entity);
        if self.several() {
            self.tree.init_entity_runnable_average(entity);
            self.tree.attach_entity_load_avg(entity);
            if runs {
                self.balancer.put_first(after.cpu, task);
            }
        }
    }
}

impl<L: FairClass> Tree<L> {
    /// Makes a task current that waits, and the groups above it.
    fn set_next_task_fair(&mut self, class: &L, entity: EntityId) {
        let queue = self.entity(entity).queue;
        if !self.is_root(queue) {
            self.set_next_task_fair(class, queue);
        }
        self.set_next(class, queue, Choice::of(entity));
    }
}
