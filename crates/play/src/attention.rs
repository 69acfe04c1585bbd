//! Attention levels over the tasks of a run: what the rule says of them, done by the kernel's calls. When the rule is asked, and what it
//! makes of a task, is as in a simulation: `model::attention::Attended` does both. The tasks end with the run, so nothing is to be taken
//! back, and no other process is touched.
//!
//! ```text
//! used by a job   clocks of its tasks that are there + what those of their children had used that they have waited for
//! ```

use crate::{
    attributes::{USUAL_LEVEL, io_priority},
    plan::Caution,
    setup::Setup,
    shared::Slot,
};
use nix::unistd::{Pid, getsid};
use schedlab_linux::{Fault, clock, io_priority::IoPriority, sched::Attributes};
use schedlab_model::{
    Nanos,
    attention::{Attended, Found, Treatment},
    request::IoClass,
    scenario::Scenario,
    task::{Policy, TaskId},
};
use schedlab_tune::treatment::Treatment as Kernels;
use std::{collections::BTreeSet, io, sync::atomic::Ordering::Relaxed};

/// Where the class begins in the kernel's number of class and level.
const CLASS: u16 = 13;

/// The rule, and those whom it is about.
pub(crate) struct Attention<'a> {
    pub setup: &'a Setup,
    /// None, if the experiment has no attention levels.
    attended: Option<Box<Attended>>,
    /// Processes that made the sessions of our tasks: a number that has become another process's is in none of these.
    leaders: &'a [i32],
    notes: Notes,
    usual_slice: Nanos,
    /// When the run began, ns of the monotonic clock.
    began: u64,
}

/// What was not as the levels say.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Tasks whose treatment the kernel has refused, and why the last time.
    refused: BTreeSet<TaskId>,
    why: Option<io::Error>,
    /// Whether levels have slices, and the kernel has none of a task's own.
    without_slices: bool,
}

impl<'a> Attention<'a> {
    /// For a run that has not begun. The calling process is treated as the kernel treats tasks by itself.
    pub fn new(scenario: &Scenario, setup: &'a Setup, leaders: &'a [i32]) -> Result<Attention<'a>, Fault> {
        let own = Attributes::current()
            .map_err(|why| Fault::Call { doing: "reading how this process is treated".to_owned(), why })?;
        let mut scenario = scenario.clone();
        let mut notes = Notes::default();
        for level in scenario.attention.iter_mut().flat_map(|attending| &mut attending.layout.level) {
            notes.without_slices |= level.slice.is_some() && own.runtime == 0;
            // The usual slice is none of a task's own.
            level.slice = level.slice.filter(|slice| own.runtime != 0 && slice.0 != own.runtime);
        }
        let attended = Attended::of(&scenario, setup.cpus.len());
        Ok(Attention { setup, attended, leaders, notes, usual_slice: own.runtime, began: u64::MAX })
    }

    /// The run begins at that time of the monotonic clock; what tasks have used by now was the agent's work.
    pub fn begin(&mut self, began: u64) {
        self.began = began;
        if let Some(attended) = &mut self.attended {
            attended.begin(&used(self.setup));
        }
    }

    /// When the rule is to be asked next, ns of the monotonic clock.
    pub fn next(&self) -> u64 {
        self.attended.as_ref().map_or(u64::MAX, |attended| attended.next().saturating_add(self.began))
    }

    /// Asks the rule, if it is time, and has tasks treated as it says.
    pub fn attend(&mut self, now: u64) {
        if now < self.next() {
            return;
        }
        let Some(attended) = &mut self.attended else { return };
        attended.ask(now - self.began, || used(self.setup));
        let found: Vec<Found> =
            living(self.setup).filter_map(|(task, slot)| found(task, slot, self.leaders, self.usual_slice)).collect();
        for (task, wanted) in attended.due(&found) {
            let pid = self.setup.shared.used()[task as usize].pid.load(Relaxed);
            let Err(why) = kernels(&wanted).set(pid) else { continue };
            // One that has ended needs nothing.
            if let Ok(now) = Kernels::of(pid, self.usual_slice) {
                attended.became(task, ours(&now).unwrap_or(wanted));
                self.notes.refused.insert(task);
                self.notes.why = Some(why);
            }
        }
    }

    /// What was not as the levels say, when the run has ended.
    pub fn into_notes(self) -> Notes {
        self.notes
    }
}

impl Notes {
    /// In words.
    pub fn cautions(&self) -> impl Iterator<Item = Caution> {
        let caution =
            |seen: String, why: &str, advice: &str| Caution { seen, why: why.to_owned(), advice: advice.to_owned() };
        let refused = self.why.as_ref().map(|why| {
            caution(
                format!("{} could not be treated as their attention level says: {why}", tasks(self.refused.len())),
                "the run is not one with these levels",
                "run as root, or allow lower nice values (`ulimit -e`)",
            )
        });
        let without_slices = self.without_slices.then(|| {
            caution(
                "attention levels have slices, and this kernel has none of a task's own".to_owned(),
                "levels differ in the rest only",
                "use Linux 6.12 or newer",
            )
        });
        refused.into_iter().chain(without_slices)
    }
}

fn tasks(count: usize) -> String {
    if count == 1 { "1 task".to_owned() } else { format!("{count} tasks") }
}

/// Tasks that have begun and not ended, by the numbers of their slots.
fn living(setup: &Setup) -> impl Iterator<Item = (TaskId, &Slot)> {
    let slots = setup.shared.used().iter().enumerate();
    slots.filter(|(_, slot)| slot.is_alive()).map(|(number, slot)| (number as TaskId, slot))
}

/// A task as it is treated now, if it is an ordinary one and there.
fn found(task: TaskId, slot: &Slot, leaders: &[i32], usual_slice: Nanos) -> Option<Found> {
    let pid = slot.pid.load(Relaxed);
    let session = getsid(Some(Pid::from_raw(pid))).ok().filter(|_| pid > 0)?;
    let now = ours(&Kernels::of(pid, usual_slice).ok()?).filter(|_| leaders.contains(&session.as_raw()))?;
    let parent = slot.parent.load(Relaxed).checked_sub(1);
    Some(Found { task, parent, job: slot.job.load(Relaxed).into(), now })
}

/// What the tasks of each job have used so far, ns; none, if all of them have ended.
fn used(setup: &Setup) -> Vec<Option<Nanos>> {
    let mut used = vec![None; setup.jobs.len()];
    let tasks = setup.workload.tasks.len();
    for (number, slot) in setup.shared.used().iter().enumerate() {
        let (pid, ended) = (slot.pid.load(Relaxed), slot.ended.load(Relaxed) > 0);
        // The process of an ended task of the workload stays until the run ends; that of a child is in its parent's account by now.
        if pid <= 0 || (ended && number >= tasks) {
            continue;
        }
        let waited_for = slot.reaped_us.load(Relaxed) * 1000;
        let of_job: &mut (Nanos, bool) = used[slot.job.load(Relaxed) as usize].get_or_insert((0, false));
        of_job.0 += clock::time_of(pid).unwrap_or(0) + waited_for;
        of_job.1 |= !ended;
    }
    used.into_iter().map(|job| job.filter(|(_, lives)| *lives).map(|(used, _)| used)).collect()
}

/// The kernel's treatment in our words; none of a task that is not an ordinary one.
fn ours(of: &Kernels) -> Option<Treatment> {
    let policy = match of.policy as i32 {
        libc::SCHED_OTHER => Policy::Other,
        libc::SCHED_BATCH => Policy::Batch,
        _ => return None,
    };
    let asked = of.io.filter(|number| !IoPriority::of_number(*number).is_usual());
    let io = asked.map(|number| {
        let level = (number & ((1 << CLASS) - 1)) as u8;
        match number >> CLASS {
            1 => (IoClass::RealTime, level),
            2 => (IoClass::BestEffort, level),
            // It has no levels.
            _ => (IoClass::Idle, USUAL_LEVEL),
        }
    });
    Some(Treatment { nice: of.nice as i8, policy, slice: of.slice, io })
}

/// A treatment as the kernel has it.
fn kernels(of: &Treatment) -> Kernels {
    let policy = if of.policy == Policy::Batch { libc::SCHED_BATCH } else { libc::SCHED_OTHER } as u32;
    let io = of.io.and_then(|(class, level)| io_priority(Some(class), Some(level))).unwrap_or(IoPriority::none());
    Kernels { nice: of.nice.into(), policy, slice: of.slice, io: Some(io.number()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_treatment_is_the_same_there_and_back() {
        let classes =
            [None, Some((IoClass::RealTime, 3)), Some((IoClass::BestEffort, 2)), Some((IoClass::BestEffort, 6))];
        for (io, policy) in classes
            .into_iter()
            .chain([Some((IoClass::Idle, USUAL_LEVEL))])
            .zip([Policy::Other, Policy::Batch].into_iter().cycle())
        {
            for slice in [None, Some(20_000_000)] {
                let one = Treatment { nice: -3, policy, slice, io };
                assert_eq!(ours(&kernels(&one)), Some(one));
            }
        }
    }

    #[test]
    fn real_time_and_idle_tasks_are_left_alone() {
        let kernels = kernels(&Treatment { nice: 0, policy: Policy::Other, slice: None, io: None });
        for policy in [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_IDLE, libc::SCHED_DEADLINE] {
            assert_eq!(ours(&Kernels { policy: policy as u32, ..kernels }), None);
        }
    }
}
