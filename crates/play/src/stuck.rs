//! Tasks of a run that can never continue, from the state of their slots, the locks and the pipes when it has ended.
//!
//! All tasks have been stopped by then, but some of them in the middle of something: a lock that is free, a message that lies in
//! its pipe or was just read from it, a child that has ended and a signal that was sent are on their way to a task that still
//! waits for them. What a task holds that was killed never comes back.

use crate::{awaited::awaited, finished::FinishedRun, plan::Caution, rows::Rows, shared::Slot};
use schedlab_workloads::stuck::{Awaited, Scene, Stuck, TaskState};
use std::sync::atomic::Ordering::Relaxed;

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
    let locks: Vec<Vec<u32>> = (0..shared.locks.len()).map(|lock| shared.locks.holders(lock)).collect();
    let mut holders: Vec<Vec<usize>> =
        locks.iter().map(|tasks| tasks.iter().filter_map(|&task| of_number(task)).collect()).collect();
    // Those that have got one and are not among its holders yet.
    for (at, (_, slot)) in living.iter().enumerate() {
        if let Some(Awaited::Lock(lock)) = awaited(slot.awaits.load(Relaxed))
            && let Some((ticket, reads)) = slot.ticket()
            && shared.locks.admits(lock.into(), ticket, reads)
            && !holders[usize::from(lock)].contains(&at)
        {
            holders[usize::from(lock)].push(at);
        }
    }
    let is_parent = |number: usize| living.iter().any(|(_, slot)| slot.parent.load(Relaxed) as usize == number + 1);
    let is_dead = |task: &u32| task.checked_sub(1).is_some_and(|number| died(number as usize));
    let standing = |&(number, slot): &(usize, &Slot)| TaskState {
        job: slot.job.load(Relaxed) as usize,
        copy: workload.tasks.get(number).map(|entry| entry.copy),
        program: slot.program.load(Relaxed),
        parent: of_number(slot.parent.load(Relaxed)),
        awaits: awaited(slot.awaits.load(Relaxed)).filter(|awaited| match *awaited {
            // A holder of which nothing is known may give it back.
            Awaited::Lock(lock) if holders[usize::from(lock)].is_empty() => {
                locks[usize::from(lock)].iter().any(is_dead)
            }
            Awaited::Child => is_parent(number) && slot.signals.load(Relaxed) == 0,
            Awaited::Signal => slot.signals.load(Relaxed) == 0,
            awaited => !comes(run, slot, awaited),
        }),
    };
    let tasks = living.iter().map(standing).collect();
    let scene = Scene { jobs: &workload.jobs, programs: &workload.programs, tasks, holders };
    let stuck = scene.stuck();
    (scene, stuck)
}

/// Whether what a task waits for is on its way.
fn comes(run: &FinishedRun<'_>, slot: &Slot, awaited: Awaited) -> bool {
    let (setup, shared) = (run.setup, &run.setup.shared);
    // One without a ticket has only begun to wait.
    let has = |reached: &dyn Fn(u32, bool) -> bool| slot.ticket().is_none_or(|(ticket, reads)| reached(ticket, reads));
    match awaited {
        Awaited::Lock(lock) if setup.shared.locks.has_tickets(lock.into()) => {
            has(&|ticket, reads| shared.locks.admits(lock.into(), ticket, reads))
        }
        Awaited::Lock(_) | Awaited::Child | Awaited::Signal => false,
        // Requests come until their pipe is closed.
        Awaited::Message(pipe) if setup.workload.programs.requests.contains(&Some(pipe)) => true,
        Awaited::Message(pipe) => {
            let traffic = &shared.traffic[usize::from(pipe)];
            let is_read = traffic.sent.load(Relaxed) != traffic.received.load(Relaxed);
            is_read || setup.pipes[usize::from(pipe)].has_message()
        }
        Awaited::Room(pipe) => has_room(run, usize::from(pipe)),
        Awaited::Permit(semaphore) => shared.semaphores[usize::from(semaphore)].permits() > 0,
        Awaited::Barrier(barrier) => has(&|group, _| shared.barriers[usize::from(barrier)].has_gone(group)),
        Awaited::Condition(condition) => has(&|ticket, _| shared.condition(condition).is_signalled(ticket)),
    }
}

fn has_room(run: &FinishedRun<'_>, pipe: usize) -> bool {
    let bounded = run.setup.workload.programs.capacities[pipe].is_some();
    run.setup.pipes[pipe].has_room() && (!bounded || run.setup.shared.traffic[pipe].room.permits() > 0)
}
