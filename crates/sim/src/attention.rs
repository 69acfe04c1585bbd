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
    attended::{Attended, Treatment},
    kernel::Kernel,
    process::{Process, State},
    timers::Expiry,
};
use schedlab_model::{
    Nanos,
    attention::{Placement, Program},
    event::{NO_TASK, Observer},
    task::{Policy, Task, TaskId},
};
use schedlab_policies::schedulers::Scheduler;
use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The focus changes, a period ends, or a program has had the focus for long enough.
    #[cold]
    #[inline(never)]
    pub fn attend(&mut self) {
        let Some(mut attended) = self.attended.take() else { return };
        attended.change_focus(self.now);
        if attended.period_ends <= self.now {
            self.forget_ended(&mut attended);
            let used = self.used_by_jobs();
            attended.end_period(self.now, used);
        } else {
            attended.rule.settle(self.now);
        }
        self.treat(&mut attended);
        self.set_timer(attended.next(), Expiry::Attention);
        self.attended = Some(attended);
    }

    /// Jobs all of whose tasks have ended are no programs any more.
    fn forget_ended(&self, attended: &mut Attended) {
        let mut alive = vec![false; attended.homes.len()];
        let living = |process: &&Process| !process.kernel && process.state != State::Dead;
        self.processes.iter().filter(living).for_each(|process| alive[usize::from(process.job)] = true);
        let ended = alive.iter().enumerate().filter(|(_, alive)| !**alive);
        ended.for_each(|(job, _)| attended.rule.leave(job as Program));
    }

    /// The processor time of each job so far.
    fn used_by_jobs(&mut self) -> BTreeMap<Program, Nanos> {
        let mut used = BTreeMap::new();
        for cpu in 0..self.cpus.len() {
            self.settle(cpu);
            let task = self.cpus[cpu].running;
            if task != NO_TASK && !self.is_kernel(task) {
                *used.entry(self.program_of(task)).or_default() += self.cpus[cpu].spent.iter().sum::<Nanos>();
            }
        }
        let Some(caches) = &self.caches else { return used };
        for task in (0..self.view.tasks.len() as TaskId).filter(|task| !self.is_kernel(*task)) {
            *used.entry(self.program_of(task)).or_default() += caches.ran(task);
        }
        used
    }

    fn program_of(&self, task: TaskId) -> Program {
        self.processes[task as usize].job.into()
    }

    /// Has every task of a job that the rule knows treated as its level says. All are seen before the first is changed.
    fn treat(&mut self, attended: &mut Attended) {
        let placed: BTreeMap<Program, Placement> = attended.rule.placements().collect();
        let level = |kernel: &Self, task| placed.get(&kernel.program_of(task)).map(|placement| placement.level);
        let all = 0..self.view.tasks.len() as TaskId;
        let due: Vec<(TaskId, usize)> =
            all.filter(|task| self.may_be_treated(*task)).filter_map(|task| Some((task, level(self, task)?))).collect();
        for (task, _) in &due {
            attended.see(*task, self.view.tasks[*task as usize].parent, self.treatment(*task));
        }
        for (task, level) in due {
            let Some(known) = &mut attended.treated[task as usize] else { continue };
            let wanted = known.own.at(&attended.rule.layout().level[level]);
            if wanted != known.ours && self.treatment(task) == known.ours {
                known.ours = wanted;
                self.set_treatment(task, wanted);
            }
        }
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
