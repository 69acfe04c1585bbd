//! How the kernel is to treat a task: processors, policy, nice value, slice, reservation. Each is set and read back; what
//! did not take effect is noted in the task's slot.

use crate::shared::{Slot, Trouble};
use schedlab_linux::{
    clock::exact_timers,
    sched::{Attributes, RESET_ON_FORK, allowed, pin},
};
use schedlab_model::{scenario::Job, task::Policy};
use std::io;

/// What a job asks for. `None` of the policies is unknown to Linux but "iso", which becomes the ordinary one.
fn wanted(job: &Job, slice: Option<u64>) -> Attributes {
    let ordinary =
        Attributes { nice: job.nice.clamp(-20, 19).into(), runtime: slice.unwrap_or(0), ..Attributes::default() };
    let real_time = |policy: i32| Attributes {
        policy: policy as u32,
        priority: job.priority.into(),
        runtime: 0,
        nice: 0,
        ..ordinary
    };
    match (job.policy, job.reservation) {
        (Policy::Batch, _) => Attributes { policy: libc::SCHED_BATCH as u32, ..ordinary },
        (Policy::Idle, _) => Attributes { policy: libc::SCHED_IDLE as u32, runtime: 0, ..ordinary },
        (Policy::Fifo, _) => real_time(libc::SCHED_FIFO),
        (Policy::Rr, _) => real_time(libc::SCHED_RR),
        (Policy::Deadline, Some(wish)) => Attributes {
            policy: libc::SCHED_DEADLINE as u32,
            // A task with a reservation may not fork otherwise.
            flags: RESET_ON_FORK,
            runtime: wish.runtime.0,
            deadline: wish.deadline.unwrap_or(wish.period).0,
            period: wish.period.0,
            ..ordinary
        },
        (Policy::Other | Policy::Iso | Policy::Deadline, _) => ordinary,
    }
}

/// Moves this process to processors other than those, if there are any: the supervisor wakes up, and a wakeup makes a scheduler
/// choose anew. Returns whether there are any.
pub(crate) fn keep_off(processors: &[u16]) -> bool {
    let others: Vec<u16> = allowed().into_iter().filter(|cpu| !processors.contains(cpu)).collect();
    !others.is_empty() && pin(&others).is_ok()
}

/// Lets this task be treated as its job says. `processors` is where it may run.
pub(crate) fn take(job: &Job, slice: Option<u64>, processors: &[u16], slot: &Slot) {
    let note = |trouble, done: io::Result<()>| {
        if let Err(why) = done {
            slot.failed(trouble, &why);
        }
    };
    note(Trouble::Affinity, pin(processors));
    note(Trouble::TimerSlack, exact_timers());
    let wanted = wanted(job, slice);
    if let Err(why) = wanted.set(0) {
        return refused(job, &wanted, &why, slot);
    }
    let found = match Attributes::current() {
        Ok(found) => found,
        Err(why) => return slot.failed(Trouble::Policy, &why),
    };
    if wanted.runtime > 0 && found.runtime != wanted.runtime {
        slot.note(Trouble::Slice, found.runtime);
    }
    if found.policy != wanted.policy || found.priority != wanted.priority {
        slot.note(Trouble::Policy, 0);
    }
}

/// What is left when the kernel says no: a refused reservation makes an ordinary task, as everywhere; a policy or a nice
/// value that is not permitted leaves the task as near to it as it may be.
fn refused(job: &Job, wanted: &Attributes, why: &io::Error, slot: &Slot) {
    let trouble = match job.policy {
        Policy::Deadline => Trouble::Reservation,
        Policy::Other | Policy::Iso => Trouble::Nice,
        Policy::Batch | Policy::Idle | Policy::Fifo | Policy::Rr => Trouble::Policy,
    };
    slot.failed(trouble, why);
    let ordinary = Attributes { nice: wanted.nice, ..Attributes::default() };
    let least = Attributes { nice: wanted.nice.max(0), ..ordinary };
    if ordinary.set(0).is_err() && least.set(0).is_err() {
        slot.failed(Trouble::Nice, why);
    }
}
