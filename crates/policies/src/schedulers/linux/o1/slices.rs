//! Slices: how they end, and how parents and children share them.

use super::{O1, credit::Credit, entity::Turns, queue::Queue};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    task::{CpuId, TaskId},
};

impl O1 {
    /// A tick for the running task.
    pub(super) fn running_tick(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let entity = &mut self.tasks[task as usize];
        if entity.array != self.queues[cpu as usize].active {
            return cx.resched(cpu);
        }
        if entity.turns == Turns::Endless {
            return;
        }
        entity.slice -= 1;
        if entity.slice == 0 {
            return self.slice_ends(cx, cpu, task);
        }
        let turn = self.credit.turn(&entity.account);
        let used = self.credit.slice(entity.account.static_prio).saturating_sub(entity.slice);
        let interactive = !entity.real_time() && entity.account.interactive(entity.prio);
        if interactive && used.is_multiple_of(turn) && entity.slice >= turn {
            self.rejoin(cx, cpu, task);
        }
    }

    /// Ticks before the first that ends the running task's slice or its part of one.
    #[inline]
    pub(super) fn quiet(&self, cpu: CpuId, task: TaskId) -> u64 {
        let entity = &self.tasks[task as usize];
        if entity.array != self.queues[cpu as usize].active {
            return 0;
        }
        match entity.turns {
            Turns::Endless => u64::MAX,
            Turns::Shared if entity.account.interactive(entity.prio) => 0,
            Turns::Shared | Turns::RealTime => entity.slice - 1,
        }
    }

    /// Accounts for n of them that have passed.
    #[inline]
    pub(super) fn pass_quiet(&mut self, cpu: CpuId, task: TaskId, ticks: u64) {
        self.jiffies += ticks;
        self.queues[cpu as usize].share.load.age_by(ticks);
        let entity = &mut self.tasks[task as usize];
        if entity.turns != Turns::Endless {
            entity.slice -= ticks;
        }
    }

    /// Accounts for n ticks of idle processors.
    pub(super) fn pass_idle(&mut self, ticks: u64, tick: Nanos) {
        self.jiffies += ticks;
        match &mut self.queues[..] {
            [one] => one.share.load.age_by(ticks),
            several => {
                let rest = |(cpu, queue): (_, &mut Queue)| queue.share.rest(ticks, tick, self.domains.of(cpu));
                (0..).zip(several).for_each(rest);
            }
        }
    }

    /// The running task lets its equals run.
    fn rejoin(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        self.remove(cpu, task);
        self.insert(cpu, task, self.tasks[task as usize].array);
        cx.resched(cpu);
    }

    /// The running task has used up its slice.
    fn slice_ends(&mut self, cx: &mut Context<'_>, cpu: CpuId, task: TaskId) {
        let entity = &mut self.tasks[task as usize];
        entity.slice = self.credit.slice(entity.account.static_prio);
        entity.first_slice = false;
        if entity.real_time() {
            return self.rejoin(cx, cpu, task);
        }
        self.remove(cpu, task);
        let entity = &mut self.tasks[task as usize];
        entity.reprioritize(&self.credit);
        let static_prio = entity.account.static_prio;
        let interactive = entity.account.interactive(entity.prio);
        let queue = &mut self.queues[cpu as usize];
        queue.expired_since.get_or_insert(self.jiffies);
        let stays = interactive && !self.starving(cpu, static_prio);
        let queue = &mut self.queues[cpu as usize];
        if !stays {
            queue.best_expired = queue.best_expired.min(static_prio);
        }
        let array = if stays { queue.active } else { 1 - queue.active };
        self.insert(cpu, task, array);
        cx.resched(cpu);
    }

    /// Whether the expired tasks of a processor where one of that static priority runs have waited for too long.
    fn starving(&self, cpu: CpuId, static_prio: u8) -> bool {
        let queue = &self.queues[cpu as usize];
        let waited = queue.expired_since.map_or(0, |since| self.jiffies - since);
        static_prio > queue.best_expired || waited > self.credit.second() * queue.share.count as u64
    }

    /// Parent and child have half of what the parent had left each. A parent that had one tick is at its end.
    pub(super) fn share_slice(&mut self, cx: &mut Context<'_>, cpu: CpuId, child: TaskId, parent: TaskId, runs: bool) {
        let left = self.tasks[parent as usize].slice;
        let entity = &mut self.tasks[child as usize];
        entity.slice = left.div_ceil(2);
        entity.first_slice = true;
        self.tasks[parent as usize].slice = (left / 2).max(1);
        if left < 2 && runs {
            self.running_tick(cx, cpu, parent);
        }
    }

    /// A parent learns of the end of its child, and gets back what is left of the slice that it gave it.
    pub(super) fn reap(&mut self, cx: &Context<'_>, parent: TaskId, child: TaskId) {
        let same_cpu = cx.tasks[parent as usize].cpu == cx.tasks[child as usize].cpu;
        let [mother, child] = self.tasks.get_disjoint_mut([parent as usize, child as usize]).expect("two tasks");
        if child.first_slice && same_cpu {
            mother.slice = (mother.slice + child.slice).min(self.credit.slice(child.account.static_prio));
        }
        Credit::reaped(&mut mother.account, &child.account);
    }
}
