//! How a run ends, and what its end cuts off.
//!
//! A run without a limit ends when every awaited task has ended, or when none of them can continue: a deadlock must end the run
//! even if another task runs endlessly. Deadlocks are looked for after 1 s, 2 s, 4 s ... of the run, at no cost in between.

use crate::{
    kernel::{FOREVER, Kernel, Personality},
    process::{Process, State},
};
use schedlab_metrics::Warning;
use schedlab_model::{
    Nanos, SECOND,
    event::{Kind, Observer, Unfinished},
    task::{TaskId, Wait},
};
use schedlab_policies::schedulers::Scheduler;
use schedlab_workloads::stuck::{Awaited, Scene, Stuck, TaskState};
use std::collections::BTreeMap;

/// When a run without a limit is first looked at.
const FIRST_LOOK: Nanos = SECOND;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// Runs to the end: every awaited task has ended or can never end, or the limit is reached. Returns a warning about tasks
    /// that can never continue, by the names of the jobs.
    pub fn run(&mut self, jobs: &[String]) -> Option<Warning> {
        if self.limit < FOREVER {
            self.run_to_limit();
        } else {
            self.run_while_hopeful(jobs);
        }
        self.reach_the_end();
        let warning = self.tell_stuck(jobs);
        self.tell_unfinished();
        self.stop();
        warning
    }

    fn run_while_hopeful(&mut self, jobs: &[String]) {
        self.limit = FIRST_LOOK;
        loop {
            self.run_to_limit();
            let over = self.awaited == 0 && !self.endless;
            if over || self.stalled() && !self.hopeful(jobs) || self.limit == FOREVER {
                self.limit = FOREVER;
                return;
            }
            if !self.hopeful(jobs) {
                return;
            }
            self.limit = self.limit.saturating_mul(2).min(FOREVER);
        }
    }

    /// Whether an awaited task may still end.
    fn hopeful(&self, jobs: &[String]) -> bool {
        let awaited = |process: &Process| self.finite[usize::from(process.job)] && process.state != State::Dead;
        if self.endless || self.processes.iter().any(|process| awaited(process) && !waits_for_others(process)) {
            return true;
        }
        let (scene, ids) = self.scene(jobs);
        let stuck = scene.stuck();
        let hopeless = stuck.tasks.iter().filter(|&&one| awaited(&self.processes[ids[one] as usize]));
        hopeless.count() < self.awaited as usize
    }

    /// The time at which the run ends. Without a limit, a run whose awaited tasks wait endlessly ends after the last event.
    fn reach_the_end(&mut self) {
        if (self.awaited > 0 || self.endless) && self.limit < FOREVER {
            self.now = self.limit;
        }
    }

    /// The living tasks and what they wait for, and their numbers.
    fn scene<'a>(&'a self, jobs: &'a [String]) -> (Scene<'a>, Vec<TaskId>) {
        let alive = |process: &Process| !process.kernel && process.state != State::Dead;
        let all = 0..self.processes.len() as TaskId;
        let ids: Vec<TaskId> = all.filter(|&task| alive(&self.processes[task as usize])).collect();
        let place = |task: TaskId| ids.binary_search(&task).ok();
        let mut awaited = BTreeMap::new();
        for (number, lock) in (0u16..).zip(&self.resources.locks) {
            awaited.extend(lock.waiting.iter().map(|&(task, _)| (task, Awaited::Lock(number))));
        }
        for (number, pipe) in (0u16..).zip(&self.resources.pipes) {
            // Requests come by themselves until their pipe is closed.
            if pipe.pool.is_none() {
                awaited.extend(pipe.waiting.iter().map(|&task| (task, Awaited::Message(number))));
            }
            awaited.extend(pipe.full.iter().map(|&(task, _)| (task, Awaited::Room(number))));
        }
        for (number, semaphore) in (0u16..).zip(&self.resources.semaphores) {
            awaited.extend(semaphore.waiting.iter().map(|&task| (task, Awaited::Permit(number))));
        }
        for (number, barrier) in (0u16..).zip(&self.resources.barriers) {
            awaited.extend(barrier.waiting.iter().map(|&task| (task, Awaited::Barrier(number))));
        }
        for (number, waiting) in (0u16..).zip(&self.resources.conditions) {
            awaited.extend(waiting.iter().map(|&(task, _)| (task, Awaited::Condition(number))));
        }
        let mut first_of: BTreeMap<u16, TaskId> = BTreeMap::new();
        for (task, process) in (0..).zip(&self.processes) {
            first_of.entry(process.job).or_insert(task);
        }
        let standing = |&task: &TaskId| {
            let process = &self.processes[task as usize];
            let parent = self.view.tasks[task as usize].parent;
            TaskState {
                job: process.job.into(),
                copy: parent.is_none().then(|| task - first_of[&process.job]),
                program: process.program,
                parent: parent.and_then(place),
                awaits: match process.state {
                    State::Waiting(Wait::Lock | Wait::Pipe) => awaited.get(&task).copied(),
                    State::Waiting(Wait::Child) => Some(Awaited::Child),
                    State::Waiting(Wait::Signal) => Some(Awaited::Signal),
                    _ => None,
                },
            }
        };
        let tasks = ids.iter().map(standing).collect();
        let holders = self
            .resources
            .locks
            .iter()
            .map(|lock| lock.holder.iter().chain(&lock.readers).filter_map(|&task| place(task)).collect());
        let holders = holders.collect();
        (Scene { jobs, programs: &self.programs, tasks, holders }, ids)
    }

    /// Reports the tasks that can never go on.
    fn tell_stuck(&mut self, jobs: &[String]) -> Option<Warning> {
        if !self.processes.iter().any(waits_for_others) {
            return None;
        }
        let (scene, ids) = self.scene(jobs);
        let stuck = scene.stuck();
        let lines = scene.describe(&stuck);
        for &one in &stuck.tasks {
            let closes = stuck.circles.iter().any(|circle| circle[0] == one);
            let what = if closes { Unfinished::Deadlock } else { Unfinished::Stuck };
            self.unfinished(what, ids[one], 0);
        }
        warning(&lines, &stuck)
    }

    /// Reports what else had begun and not ended.
    fn tell_unfinished(&mut self) {
        let periods: Vec<Option<Nanos>> =
            (0..self.programs.programs.len()).map(|program| self.programs.period(program as u32)).collect();
        for task in 0..self.processes.len() as TaskId {
            let process = &self.processes[task as usize];
            if process.kernel || matches!(process.state, State::Unborn | State::Dead) {
                continue;
            }
            let (pass_began, began, last) = (process.life.pass_began, process.life.began, process.life.deadline);
            let period = periods[process.program as usize];
            if let Some(since) = process.life.requested {
                self.unfinished(Unfinished::Grant, task, self.now - since);
            }
            // Children have no passes, nor have tasks of a pool that wait for a request.
            let process = &self.processes[task as usize];
            let idle = self.programs.requests.get(usize::from(process.job)).is_some_and(Option::is_some)
                && process.life.request.is_none();
            if self.view.tasks[task as usize].parent.is_none() && !idle {
                self.unfinished(Unfinished::Pass, task, self.now - pass_began);
            }
            if let Some(length) = period {
                let next = last - (last - began) % length + length;
                for deadline in (next..self.now).step_by(length as usize) {
                    self.unfinished(Unfinished::Period, task, self.now - deadline);
                }
            }
        }
        for (task, sent) in self.open_messages() {
            self.unfinished(Unfinished::Message, task, self.now - sent);
        }
        let requests: Vec<(TaskId, Nanos)> = match &self.personality {
            Personality::Monolithic(storage) => storage.unfinished().collect(),
            Personality::MessagePassing(servers) => servers.unfinished().into_iter().collect(),
        };
        for (task, since) in requests {
            self.unfinished(Unfinished::Request, task, self.now - since);
        }
    }

    fn unfinished(&mut self, what: Unfinished, task: TaskId, age: Nanos) {
        self.emit(Kind::Unfinished, what as u8, 0, task, age, 0);
    }
}

/// Whether a task waits for what only another task can give.
fn waits_for_others(process: &Process) -> bool {
    matches!(process.state, State::Waiting(Wait::Lock | Wait::Pipe | Wait::Child | Wait::Signal))
}

/// The warning about tasks that can never continue.
fn warning(lines: &[String], stuck: &Stuck) -> Option<Warning> {
    let advice = match stuck.circles.is_empty() {
        true => "let some task send, end or signal: no run is long enough for this one",
        false => "take the locks in the same order in every program",
    };
    let tasks = match stuck.tasks.len() {
        0 => return None,
        1 => "1 task".to_owned(),
        many => format!("{many} tasks"),
    };
    Some(Warning {
        metric: Some("stuck".to_owned()),
        seen: lines.join("; "),
        why: format!("{tasks} can never go on, so what is left of their work is in no metric"),
        advice: advice.to_owned(),
    })
}
