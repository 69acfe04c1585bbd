//! Tasks of a run that can never continue, from the state of their slots, the locks and the pipes when it has ended.
//!
//! All tasks have been stopped by then, but some of them in the middle of something: a lock that is free, a message that lies in
//! its pipe, a child that has ended and a signal that was sent are on their way to a task that still waits for them.

use crate::{awaited::awaited, finished::FinishedRun, lock::holder, plan::Caution, rows::Rows, shared::Slot};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use schedlab_workloads::stuck::{Awaited, Scene, Stuck, TaskState};
use std::{os::fd::AsFd, sync::atomic::Ordering::Relaxed};

/// The tasks that can never continue, by job, and their description.
#[derive(Debug, Default)]
pub(crate) struct StuckTasks {
    /// By job: of all its tasks, and of those that it started.
    pub of_job: Vec<(u64, u64)>,
    deadlocks: usize,
    descriptions: Vec<String>,
}

impl StuckTasks {
    pub fn of(run: &FinishedRun<'_>) -> StuckTasks {
        let jobs = &run.setup.workload.jobs;
        let (scene, stuck) = look(run);
        let mut of_job = vec![(0, 0); jobs.len()];
        for &task in &stuck.tasks {
            let TaskState { job, copy, .. } = scene.tasks[task];
            of_job[job].0 += 1;
            of_job[job].1 += u64::from(copy.is_some());
        }
        StuckTasks { of_job, deadlocks: stuck.circles.len(), descriptions: scene.describe(&stuck) }
    }

    /// The numbers of the run.
    pub fn rows(&self, jobs: &[String], rows: &mut Rows) {
        rows.number("", "stuck", Some(self.count() as f64));
        rows.number("", "deadlocks", Some(self.deadlocks as f64));
        for (job, (stuck, _)) in jobs.iter().zip(&self.of_job) {
            rows.number(&format!("tasks.{job}."), "stuck", Some(*stuck as f64));
        }
    }

    pub fn caution(&self) -> Option<Caution> {
        let advice = match self.deadlocks {
            0 => "let some task send, end or signal: no run is long enough for this one",
            _ => "take the locks in the same order in every program",
        };
        let tasks = match self.count() {
            0 => return None,
            1 => "1 task".to_owned(),
            many => format!("{many} tasks"),
        };
        Some(Caution {
            seen: self.descriptions.join("; "),
            why: format!("{tasks} can never go on, so what is left of their work is in no metric"),
            advice: advice.to_owned(),
        })
    }

    fn count(&self) -> u64 {
        self.of_job.iter().map(|(all, _)| all).sum()
    }
}

fn look<'a>(run: &'a FinishedRun<'_>) -> (Scene<'a>, Stuck) {
    let (shared, workload) = (&run.setup.shared, &run.setup.workload);
    let died = |number: usize| run.ends.get(number).copied().flatten().is_some_and(|end| end.signal.is_some());
    let alive = |(number, slot): &(usize, &Slot)| {
        slot.began.load(Relaxed) > 0 && slot.ended.load(Relaxed) == 0 && !died(*number)
    };
    let living: Vec<(usize, &Slot)> = shared.used().iter().enumerate().filter(alive).collect();
    let place = |number: u32| living.binary_search_by_key(&(number as usize), |(number, _)| *number).ok();
    // A slot is counted from 1 wherever 0 means none.
    let of_number = |number: u32| number.checked_sub(1).and_then(place);
    let holders: Vec<Option<usize>> = shared.locks.iter().map(|word| of_number(holder(word))).collect();
    let is_parent = |number: usize| living.iter().any(|(_, slot)| slot.parent.load(Relaxed) as usize == number + 1);
    let standing = |&(number, slot): &(usize, &Slot)| {
        let comes = |awaited: &Awaited| match *awaited {
            Awaited::Lock(lock) => holders[usize::from(lock)].is_none(),
            Awaited::Message(pipe) => has_message(run, pipe),
            Awaited::Child => !is_parent(number) || slot.signals.load(Relaxed) > 0,
            Awaited::Signal => slot.signals.load(Relaxed) > 0,
        };
        TaskState {
            job: slot.job.load(Relaxed) as usize,
            copy: workload.tasks.get(number).map(|entry| entry.copy),
            program: slot.program.load(Relaxed),
            parent: of_number(slot.parent.load(Relaxed)),
            awaits: awaited(slot.awaits.load(Relaxed)).filter(|awaited| !comes(awaited)),
        }
    };
    let tasks = living.iter().map(standing).collect();
    let scene = Scene { jobs: &workload.jobs, programs: &workload.programs, tasks, holders };
    let stuck = scene.stuck();
    (scene, stuck)
}

fn has_message(run: &FinishedRun<'_>, pipe: u16) -> bool {
    let end = &run.setup.pipes[usize::from(pipe)].read;
    poll(&mut [PollFd::new(end.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO) != Ok(0)
}
