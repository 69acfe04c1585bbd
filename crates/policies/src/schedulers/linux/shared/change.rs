//! What a change of a task's record does to it: another weight or slice, another group, another class. As the kernel's pattern of
//! sched_change has it: the task leaves, is changed, and comes back; one that runs goes on, unless a new choice is requested.

use super::{
    entity::{Choice, Kind, Leave, Placing, SchedEntity},
    hierarchy::{FairClass, Tree},
    linux::{Cpu, Linux},
    nice_weights,
    task_class::{is_deadline, is_fair},
};
use crate::schedulers::{Context, kit::timeline::EntityId};
use schedlab_model::task::{CpuId, Policy, Task, TaskId};

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
        let resched = match (is_fair(before), is_fair(after)) {
            (false, false) => self.change_above(cx, cpu, (task, before), runs),
            (false, true) => {
                self.change_class(cx, cpu, (task, before), runs);
                self.join_fair(cx, task, entity, runs);
                if runs {
                    self.go_on(entity);
                }
                runs
            }
            (true, false) => {
                self.leave_fair(cpu, task, entity, runs);
                if runs {
                    self.tree.put_prev_task_fair(&self.class, cpu.into());
                    self.realtime.enqueue(cx, cpu, task);
                    self.cpus[cpu as usize].realtime = true;
                }
                runs && self.has_fair(cpu) && self.realtime.others_came(cx, cpu)
            }
            (true, true) => self.change_fair(after, entity, runs) || runs && after.nice > before.nice,
        };
        if runs && resched {
            self.resched(cx, cpu);
        }
        self.pass_on(cx, cpu);
    }

    /// A task of a class above the fair one stays above it. Whether another task may go before it now.
    fn change_above(&mut self, cx: &mut Context<'_>, cpu: CpuId, (task, before): (TaskId, &Task), runs: bool) -> bool {
        match (is_deadline(before), is_deadline(&cx.tasks[task as usize])) {
            (false, false) => runs && self.realtime.requeue(cx, cpu, task, before),
            (true, false) => {
                self.change_class(cx, cpu, (task, before), runs);
                if runs {
                    self.realtime.enqueue(cx, cpu, task);
                    self.cpus[cpu as usize].realtime = true;
                }
                runs
            }
            (_, true) => false,
        }
    }

    /// A task leaves a class above the fair one.
    fn change_class(&mut self, cx: &mut Context<'_>, cpu: CpuId, (task, before): (TaskId, &Task), runs: bool) {
        if is_deadline(before) {
            self.deadline.leave_class(cx, cpu, task, self.tree.h_nr_running(cpu) > 0);
        } else if runs {
            self.realtime.leave(cpu, before);
        }
        if runs {
            self.cpus[cpu as usize] = Cpu::default();
        }
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
    pub fn read(&mut self, after: &Task, entity: EntityId) {
        self.tree.entity(entity).kind = Kind::of(after.policy);
        self.tree.idle_tasks |= after.policy == Policy::Idle;
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
                self.balancer.util_est_dequeue(cpu, task);
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
                self.balancer.util_est_enqueue(after.cpu, task);
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
