//! How the kernel is to treat a task: processors, policy, nice value, slice, reservation. Each is asked for, read back, and
//! noted in the task's slot where it did not take.

use super::{
    arena::{Slot, Trouble},
    system::{checked, prctl},
};
use schedlab_model::{scenario::Job, task::Policy};
use std::io;

/// The kernel's `struct sched_attr`, as of Linux 5.3.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    /// The slice of an ordinary task (since Linux 6.12), the reservation of a deadline task, ns.
    pub runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// Children begin with the ordinary policy.
const RESET_ON_FORK: u64 = 1;

impl Attributes {
    /// What a job asks for. `None` of the policies is unknown to Linux but "iso", which becomes the ordinary one.
    fn of(job: &Job, slice: Option<u64>) -> Attributes {
        let ordinary = Attributes {
            size: size_of::<Attributes>() as u32,
            nice: job.nice.clamp(-20, 19).into(),
            runtime: slice.unwrap_or(0),
            ..Attributes::default()
        };
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

    /// For the thread with that number; 0 is this one.
    fn set(&self, thread: i32) -> io::Result<()> {
        // SAFETY: the pointer is of a structure of the size that it names, alive for the call.
        checked(unsafe { libc::syscall(libc::SYS_sched_setattr, thread, self, 0) }).map(|_| ())
    }

    /// Those of this thread.
    fn now() -> io::Result<Attributes> {
        let mut found = Attributes::default();
        let size = size_of::<Attributes>() as u32;
        // SAFETY: the pointer is of a structure of the size given, alive for the call; 0 is this thread.
        checked(unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &mut found, size, 0) })?;
        Ok(found)
    }
}

/// Confines this thread to those processors.
pub(super) fn pin(processors: &[u16]) -> io::Result<()> {
    let mut set = nix::sched::CpuSet::new();
    processors.iter().try_for_each(|&cpu| set.set(cpu.into())).map_err(io::Error::from)?;
    nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set).map_err(io::Error::from)
}

/// Moves this process to processors other than those, if there are any: whoever watches wakes up, and a scheduler chooses anew
/// where somebody wakes up. Says whether there are any.
pub(super) fn keep_off(processors: &[u16]) -> bool {
    let others: Vec<u16> = allowed().into_iter().filter(|cpu| !processors.contains(cpu)).collect();
    !others.is_empty() && pin(&others).is_ok()
}

/// The processors this thread may use.
pub(super) fn allowed() -> Vec<u16> {
    let set = nix::sched::sched_getaffinity(nix::unistd::Pid::from_raw(0)).unwrap_or_default();
    (0..nix::sched::CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap_or(false)).map(|cpu| cpu as u16).collect()
}

/// Timers that expire when they are due: with the usual slack of 50 us they would be the slowest thing measured.
pub(super) fn exact_timers() -> io::Result<()> {
    prctl(libc::PR_SET_TIMERSLACK, 1)
}

/// Lets this task be treated as its job says. `processors` is where it may run.
pub(super) fn take(job: &Job, slice: Option<u64>, processors: &[u16], slot: &Slot) {
    let note = |trouble, done: io::Result<()>| {
        if let Err(why) = done {
            slot.failed(trouble, &why);
        }
    };
    note(Trouble::Affinity, pin(processors));
    note(Trouble::TimerSlack, exact_timers());
    let wanted = Attributes::of(job, slice);
    if let Err(why) = wanted.set(0) {
        return refused(job, &wanted, &why, slot);
    }
    let found = match Attributes::now() {
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
    let ordinary = Attributes { size: wanted.size, nice: wanted.nice, ..Attributes::default() };
    let least = Attributes { nice: wanted.nice.max(0), ..ordinary };
    if ordinary.set(0).is_err() && least.set(0).is_err() {
        slot.failed(Trouble::Nice, why);
    }
}

/// How the agent itself runs beside the tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Above all ordinary tasks and the lower half of real-time ones.
    RealTime,
    /// The most favoured of ordinary tasks.
    Favoured,
    /// As one of them.
    Ordinary,
}

/// Lets the agent run beside hogs: it sleeps nearly always, and must be on time when it does not.
pub(super) fn stand_out() -> Standing {
    raise(0)
}

/// The same for a process of its own.
pub(super) fn raise(process: i32) -> Standing {
    let plain = Attributes { size: size_of::<Attributes>() as u32, flags: RESET_ON_FORK, ..Attributes::default() };
    let real_time = Attributes { policy: libc::SCHED_FIFO as u32, priority: 50, ..plain };
    let favoured = Attributes { nice: -20, ..plain };
    if real_time.set(process).is_ok() {
        Standing::RealTime
    } else if favoured.set(process).is_ok() {
        Standing::Favoured
    } else {
        Standing::Ordinary
    }
}
