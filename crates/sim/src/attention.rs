//! Attention levels: a policy over the scheduler. The rule of `model::attention` is asked at each change of focus and after each period, and
//! the tasks of a job are treated as its level says, from outside and in no time, as `schedlab attend` has it on a host:
//!
//! ```text
//! nice     what the task has by itself + the level's        policy   the level's, of ordinary tasks
//! slice    the level's, unless the task has asked for one   io       the level's, unless the task has asked for a class
//! ```
//!
//! A job is known to the rule once it has had the focus, or if a rule of the layout names it; all other jobs are left alone, and so are
//! real-time tasks and those that have changed their own treatment since. New tasks are seen when the rule is asked next. What a task has
//! by itself is what it had when it was first seen, or, if it came from a treated one, what that one had.

use crate::{
    kernel::Kernel,
    process::{Process, State},
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    attention::{Found, Program, Treatment},
    event::{NO_TASK, Observer},
    task::{Policy, Task, TaskId},
};
use schedlab_policies::schedulers::Scheduler;

#[cfg(test)]
mod tests;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The focus changes, a period ends, or a program has had the focus for long enough.
    #[cold]
    #[inline(never)]
    pub fn attend(&mut self) {
        let Some(mut attended) = self.attended.take() else { return };
        attended.ask(self.now, || self.used_by_jobs());
        let found: Vec<Found> = (0..self.view.tasks.len() as TaskId).filter_map(|task| self.found(task)).collect();
        for (task, wanted) in attended.due(&found) {
            self.set_treatment(task, wanted);
        }
        self.set_timer(attended.next(), Expiry::Attention);
        self.attended = Some(attended);
    }

    /// The processor time of each job so far; none if all of its tasks have ended.
    fn used_by_jobs(&mut self) -> Vec<Option<Nanos>> {
        let mut used = vec![None; self.finite.len()];
        let living = |process: &&Process| !process.kernel && process.state != State::Dead;
        self.processes.iter().filter(living).for_each(|process| used[usize::from(process.job)] = Some(0));
        let mut add = |job: Program, time| used[job as usize].iter_mut().for_each(|used| *used += time);
        for cpu in 0..self.cpus.len() {
            self.settle(cpu);
            let task = self.cpus[cpu].running;
            if task != NO_TASK && !self.is_kernel(task) {
                add(self.program_of(task), self.cpus[cpu].spent.iter().sum::<Nanos>());
            }
        }
        let Some(caches) = &self.caches else { return used };
        for task in (0..self.view.tasks.len() as TaskId).filter(|task| !self.is_kernel(*task)) {
            add(self.program_of(task), caches.ran(task));
        }
        used
    }

    fn program_of(&self, task: TaskId) -> Program {
        self.processes[task as usize].job.into()
    }

    /// A task that attention may treat.
    fn found(&self, task: TaskId) -> Option<Found> {
        let parent = self.view.tasks[task as usize].parent;
        let found = || Found { task, parent, job: self.program_of(task), now: self.treatment(task) };
        self.may_be_treated(task).then(found)
    }

    /// Whether a task lives and is an ordinary one.
    fn may_be_treated(&self, task: TaskId) -> bool {
        let process = &self.processes[task as usize];
        let lives = !process.kernel && !matches!(process.state, State::Unborn | State::Dead);
        let record = &self.view.tasks[task as usize];
        lives && record.reservation.is_none() && matches!(self.own(task).0, Policy::Other | Policy::Batch)
    }

    fn treatment(&self, task: TaskId) -> Treatment {
        let Task { nice, slice, .. } = self.view.tasks[task as usize];
        Treatment { nice, policy: self.own(task).0, slice, io: self.processes[task as usize].life.io }
    }

    fn set_treatment(&mut self, task: TaskId, wanted: Treatment) {
        let Treatment { nice, policy, slice, io } = wanted;
        self.processes[task as usize].life.io = io;
        let after = Task { nice, policy, priority: 0, slice, ..self.view.tasks[task as usize].clone() };
        self.ask(task, after);
    }
}
