//! Tasks with a reservation on several processors: the earliest deadlines of all run. A task looks for a processor without such
//! tasks, else for the one whose earliest deadline is the latest, when it wakes behind an earlier deadline (select_task_rq_dl) or waits
//! behind one (push_dl_task); and a processor that such a task has left looks for one that waits elsewhere (pull_dl_task).

use super::{deadline::Deadline, domains::Domains, task_class::is_deadline};
use crate::schedulers::Context;
use schedlab_model::{
    Nanos,
    processors::CpuSet,
    task::{CpuId, TaskId},
};

impl Deadline {
    /// The earliest deadline on a processor.
    fn earliest(&self, cpu: CpuId) -> Option<Nanos> {
        self.best(cpu).map(|task| self.deadline(task))
    }

    fn dl_task_is_earliest_deadline(&self, task: TaskId, cpu: CpuId) -> bool {
        self.earliest(cpu).is_none_or(|earliest| self.deadline(task) < earliest)
    }

    /// Whether a core is fast enough for the task to have its budget in time. (dl_task_fits_capacity)
    fn fits(&self, task: TaskId, cpu: CpuId) -> bool {
        let server = &self.tasks[task as usize];
        u128::from(server.dl_deadline) * u128::from(self.capacities[usize::from(cpu)])
            >= u128::from(server.dl_runtime) << 10
    }

    /// Where the task would run at once: all processors without such tasks that are fast enough, or the fastest of them; else the one
    /// with the latest of the earliest deadlines, if that is later than the task's. Those in `taken` are left out.
    fn cpudl_find(&self, task: TaskId, taken: &CpuSet) -> CpuSet {
        let all = || (0..self.capacities.len() as CpuId).filter(|&cpu| !taken.has(cpu));
        let free = || all().filter(|&cpu| self.count(cpu) == 0);
        let fitting: CpuSet = free().filter(|&cpu| self.fits(task, cpu)).collect();
        if !fitting.is_empty() {
            return fitting;
        }
        if let Some(fastest) = free().max_by_key(|&cpu| self.capacities[usize::from(cpu)]) {
            return CpuSet::only(fastest);
        }
        let latest = all().max_by_key(|&cpu| self.earliest(cpu));
        latest.into_iter().filter(|&cpu| self.dl_task_is_earliest_deadline(task, cpu)).collect()
    }

    /// The processor where the task would run at once: its last one, else the nearest. `here` is where this is asked.
    fn find_later_rq(
        &self,
        domains: &Domains,
        (task, last): (TaskId, CpuId),
        here: CpuId,
        taken: &CpuSet,
    ) -> Option<CpuId> {
        let later = self.cpudl_find(task, taken);
        if later.has(last) {
            return Some(last);
        }
        let here = Some(here).filter(|&here| later.has(here));
        for domain in domains.chains[usize::from(last)].iter().filter(|domain| domain.is_near()) {
            let within = here.filter(|&here| domain.span.has(here));
            if let Some(cpu) = within.or_else(|| later.first_of_both(&domain.span)) {
                return Some(cpu);
            }
        }
        here.or_else(|| later.first())
    }

    /// The processor for a woken task: where it was, unless an earlier deadline runs there. (select_task_rq_dl)
    pub fn select(&self, cx: &Context<'_>, domains: &Domains, task: TaskId) -> CpuId {
        let last = cx.tasks[task as usize].cpu;
        let running = cx.processors[usize::from(last)].running.filter(|&it| is_deadline(&cx.tasks[it as usize]));
        let waits = running.is_some_and(|running| self.deadline(task) >= self.deadline(running));
        if !waits && self.fits(task, last) {
            return last;
        }
        let here = cx.waker.map_or(last, |waker| cx.tasks[waker as usize].cpu);
        let target = self.find_later_rq(domains, (task, last), here, &CpuSet::none());
        target.filter(|&cpu| self.dl_task_is_earliest_deadline(task, cpu)).unwrap_or(last)
    }

    /// Sends tasks that wait on a processor where `running` runs, at most the given number, the earliest deadline first, to others where they
    /// run at once. (push_dl_tasks)
    pub fn push(&self, cx: &mut Context<'_>, domains: &Domains, cpu: CpuId, running: Option<TaskId>, most: usize) {
        let mut taken = CpuSet::none();
        for task in self.queue.waiting(cpu).filter(|&task| Some(task) != running).take(most) {
            let to = self.find_later_rq(domains, (task, cpu), cpu, &taken);
            let Some(to) = to.filter(|&to| to != cpu && self.dl_task_is_earliest_deadline(task, to)) else { return };
            taken.insert(to);
            cx.move_to(task, to);
        }
    }

    /// Has tasks come that wait elsewhere behind earlier deadlines, and would be the earliest here. (pull_dl_task)
    pub fn pull(&self, cx: &mut Context<'_>, cpu: CpuId) {
        let mut earliest = self.earliest(cpu).unwrap_or(Nanos::MAX);
        for other in (0..self.capacities.len() as CpuId).filter(|&other| other != cpu && self.count(other) > 1) {
            let running = cx.processors[usize::from(other)].running;
            let Some(task) = self.queue.find(other, |task| Some(task) != running) else { continue };
            let deadline = self.deadline(task);
            let before =
                |running: TaskId| is_deadline(&cx.tasks[running as usize]) && deadline < self.deadline(running);
            if deadline < earliest && !running.is_some_and(before) {
                earliest = deadline;
                cx.move_to(task, cpu);
            }
        }
    }
}
