//! Real-time tasks on several processors: the best of all run. Every processor has the priority of the best real-time task that runs or
//! waits there; without one it is normal, whether it idles or runs fair tasks. A task looks for a processor of the lowest priority when it
//! wakes behind one that it cannot preempt, or that is bound there (select_task_rq_rt), and when it waits (push_rt_task). Functions have the
//! names of kernel/sched/rt.c and kernel/sched/cpupri.c where they do what those do.

use super::{
    balancer::Kernel,
    hierarchy::FairClass,
    linux::Linux,
    realtime::{PRIORITIES, level},
    task_class::{is_deadline, is_realtime},
};
use crate::schedulers::Context;
use schedlab_model::{
    processors::CpuSet,
    task::{CpuId, Task, TaskId},
};
use std::cmp::Ordering;

/// Whether a task may use one processor only (nr_cpus_allowed).
fn is_bound(task: &Task) -> bool {
    task.allowed.iter().nth(1).is_none()
}

impl<L: FairClass> Linux<L> {
    /// The priority of a processor: 0 is normal, and above all real-time tasks are those with a reservation and the server of fair tasks.
    /// (cpupri_set, CPUPRI_NORMAL, CPUPRI_HIGHER)
    fn priority_of(&self, cpu: CpuId) -> usize {
        if self.deadline.count(cpu) > 0 { PRIORITIES } else { self.realtime.highest_prio(cpu) }
    }

    /// The lowest priority of the processors that a task may use, if it is below the task's. Those in `taken` are left out.
    fn cpupri_find(&self, task: &Task, taken: &CpuSet) -> Option<usize> {
        let mut lowest = level(task);
        for cpu in task.allowed.iter_without(taken) {
            lowest = lowest.min(self.priority_of(cpu));
            if lowest == 0 {
                break;
            }
        }
        (lowest < level(task)).then_some(lowest)
    }

    /// A processor of the lowest priority for a task: its last one, else the nearest to that; among equally near ones `here`, where this is
    /// asked, since preempting there is cheaper.
    fn find_lowest_rq(
        &mut self,
        cx: &Context<'_>,
        (task, last): (TaskId, CpuId),
        here: CpuId,
        taken: &CpuSet,
    ) -> Option<CpuId> {
        let task = &cx.view.tasks[task as usize];
        let lowest = self.cpupri_find(task, taken)?;
        let fits = |cpu: CpuId| task.allowed.has(cpu) && !taken.has(cpu) && self.priority_of(cpu) == lowest;
        if fits(last) {
            return Some(last);
        }
        let own = Some(here).filter(|&here| fits(here));
        let first =
            if self.balancer.kernel > Kernel::V5_10 { self.realtime.distributed[usize::from(here)] + 1 } else { 0 };
        let mut chain = self.balancer.domains.chains[usize::from(last)].iter().filter(|domain| domain.is_near());
        let near = chain.find_map(|domain| {
            let within = own.filter(|&own| domain.span.has(own));
            within.or_else(|| domain.span.around(first).find(|&cpu| fits(cpu)))
        });
        let found = near.or(own).or_else(|| task.allowed.around(first).find(|&cpu| fits(cpu)));
        if let Some(found) = found.filter(|&found| found != here) {
            self.realtime.distributed[usize::from(here)] = found;
        }
        found
    }

    /// The processor for a woken or new task: where it was, unless the task that runs there is as good or bound to it, and another
    /// processor has a lower priority.
    pub fn select_task_rq_rt(&mut self, cx: &Context<'_>, task: TaskId, last: CpuId) -> CpuId {
        let known = &cx.tasks[task as usize];
        let running = cx.processors[usize::from(last)].running.map(|running| &cx.tasks[running as usize]);
        let leaves = running.is_some_and(|running| {
            is_deadline(running) || is_realtime(running) && (is_bound(running) || level(running) >= level(known))
        });
        if !leaves {
            return last;
        }
        let here = cx.waker.map_or(last, |waker| cx.tasks[waker as usize].cpu);
        self.find_lowest_rq(cx, (task, last), here, &CpuSet::none()).unwrap_or(last)
    }

    /// Whether a woken task of this class goes before the running one.
    pub fn wakeup_preempt_rt(&mut self, cx: &Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> bool {
        match self.realtime.compare(cx, cpu, woken, running) {
            Ordering::Greater => true,
            Ordering::Equal => self.check_preempt_equal_prio(cx, cpu, running, woken),
            Ordering::Less => false,
        }
    }

    /// Of equal priority it does so where it cannot go elsewhere and the running one can, which is sent away then.
    fn check_preempt_equal_prio(&mut self, cx: &Context<'_>, cpu: CpuId, running: TaskId, woken: TaskId) -> bool {
        let goes = |task: TaskId| {
            let task = &cx.tasks[task as usize];
            !is_bound(task) && self.cpupri_find(task, &CpuSet::none()).is_some()
        };
        if !goes(running) || goes(woken) {
            return false;
        }
        self.realtime.put_first(cx, cpu, woken);
        true
    }

    /// Sends tasks that wait on a processor, the best first, to others where they run at once.
    pub fn push_rt_tasks(&mut self, cx: &mut Context<'_>, cpu: CpuId, chosen: TaskId) {
        let mut taken = std::mem::take(&mut self.realtime.targets);
        let mut next = self.realtime.best(cpu);
        while let Some(task) = next {
            next = self.realtime.next_best(cx, cpu, task);
            let known = &cx.view.tasks[task as usize];
            if task == chosen || is_bound(known) {
                continue;
            }
            match self.find_lowest_rq(cx, (task, cpu), cpu, &taken) {
                Some(to) => {
                    taken.insert(to);
                    cx.move_to(task, to);
                }
                // Where a task finds none though it may use all, those after it find none either.
                None if known.allowed.count() as usize == self.cpus.len() => break,
                None => {}
            }
        }
        while taken.take_first().is_some() {}
        self.realtime.targets = taken;
    }
}
