//! How the kernel is to treat a task: processors, policy, nice value, slice, reservation, class of its requests to drives. Each is set
//! and read back; what did not take effect is noted in the task's slot.

use crate::shared::{Slot, Trouble};
use schedlab_linux::{
    clock::exact_timers,
    io_priority::IoPriority,
    sched::{self, Attributes, RESET_ON_FORK, allowed, is_pinned, pin},
};
use schedlab_model::{
    request::IoClass,
    scenario::{Job, ReservationSpec},
    task::Policy,
};
use std::io;

/// The level of a class whose level is not given.
pub(crate) const USUAL_LEVEL: u8 = 4;
/// The highest nice value of Linux.
const MOST_NICE: i8 = 19;

/// How a task is scheduled, as far as it has asked for it and the kernel agreed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scheduling {
    pub policy: u32,
    pub priority: u32,
    /// Also under a policy that makes nothing of it.
    pub nice: i32,
    /// ns; 0 leaves it to the scheduler.
    pub slice: u64,
    /// Of a task of the policy "deadline".
    reservation: Option<ReservationSpec>,
    flags: u64,
    /// The highest priority that a lock gives it while it holds it; 0 if none does.
    ceiling: u32,
}

impl Scheduling {
    const ORDINARY: Scheduling = Scheduling {
        policy: libc::SCHED_OTHER as u32,
        priority: 0,
        nice: 0,
        slice: 0,
        reservation: None,
        flags: 0,
        ceiling: 0,
    };

    /// What a job asks for.
    fn of(job: &Job, slice: Option<u64>) -> Scheduling {
        let reservation = job.reservation.filter(|_| job.policy == Policy::Deadline);
        let (policy, flags) = match reservation {
            // A task with a reservation may not fork otherwise.
            Some(_) => (libc::SCHED_DEADLINE, RESET_ON_FORK),
            None => (number(job.policy), 0),
        };
        Scheduling {
            policy: policy as u32,
            priority: job.priority.into(),
            nice: nice(job.nice),
            slice: slice.unwrap_or(0),
            reservation,
            flags,
            ceiling: 0,
        }
    }

    /// The policy and the priority by which it is scheduled: its own, or the ceiling of a lock that it holds.
    fn effective(&self) -> (u32, u32) {
        let real_time = is_real_time(self.policy);
        match self.ceiling {
            0 => (self.policy, self.priority),
            ceiling if real_time => (self.policy, self.priority.max(ceiling)),
            ceiling => (libc::SCHED_FIFO as u32, ceiling),
        }
    }

    /// Has the calling task hold a lock with that ceiling, the highest of those that it holds, or none: 0.
    pub fn hold(&mut self, ceiling: u32, slot: &Slot) {
        // Nothing is set anew: attention may have treated the task otherwise than it has asked for.
        if ceiling == self.ceiling {
            return;
        }
        *self = self.changed(Scheduling { ceiling, ..*self }, Trouble::Ceiling, slot);
    }

    /// Whether its policy makes something of its nice value and its slice.
    fn is_fair(&self) -> bool {
        [libc::SCHED_OTHER, libc::SCHED_BATCH].contains(&(self.effective().0 as i32))
    }

    fn attributes(&self) -> Attributes {
        let (policy, priority) = self.effective();
        let plain = Attributes { policy, flags: self.flags, ..Attributes::default() };
        match self.reservation.filter(|_| policy == libc::SCHED_DEADLINE as u32) {
            Some(wish) => Attributes {
                runtime: wish.runtime.0,
                deadline: wish.deadline.unwrap_or(wish.period).0,
                period: wish.period.0,
                ..plain
            },
            None if self.is_fair() => Attributes { nice: self.nice, runtime: self.slice, ..plain },
            None => Attributes { priority, ..plain },
        }
    }

    /// Has the calling task scheduled so, which was scheduled as `before`.
    fn set(&self, before: &Scheduling) -> io::Result<()> {
        let same = self.effective() == before.effective();
        if self.is_fair() || !same {
            self.attributes().set(0)?;
        }
        if !self.is_fair() && self.nice != before.nice {
            sched::set_nice(self.nice)?;
        }
        let [was, is] = [before, self].map(|one| is_real_time(one.effective().0));
        // The kernel forgets it then.
        if was && !is { exact_timers() } else { Ok(()) }
    }

    /// This, if the kernel agrees; else as it was, with that trouble.
    fn changed(self, to: Scheduling, trouble: Trouble, slot: &Slot) -> Scheduling {
        match to.set(&self) {
            Ok(()) => to,
            Err(why) => {
                slot.failed(trouble, &why);
                self
            }
        }
    }

    /// What its children begin with.
    pub fn of_child(self) -> Scheduling {
        match self.flags & RESET_ON_FORK {
            0 => self,
            _ if is_real_time(self.effective().0) => Scheduling::ORDINARY,
            _ => Scheduling { nice: self.nice.max(0), slice: 0, flags: 0, ceiling: 0, ..self },
        }
    }

    /// Notes what the kernel has otherwise, of what was asked for just now.
    fn check(&self, policy: bool, nice: bool, slice: bool, slot: &Slot) {
        let found = match Attributes::current() {
            Ok(found) => found,
            Err(why) => return slot.failed(Trouble::Policy, &why),
        };
        if slice && self.is_fair() && self.slice > 0 && found.runtime != self.slice {
            slot.note(Trouble::Slice, found.runtime);
        }
        let wanted = self.attributes();
        if policy && (found.policy, found.priority) != (wanted.policy, wanted.priority) {
            slot.note(Trouble::Policy, 0);
        }
        let reserved = |of: &Attributes| (of.runtime, of.deadline, of.period);
        if policy && wanted.policy == libc::SCHED_DEADLINE as u32 && reserved(&found) != reserved(&wanted) {
            slot.note(Trouble::Reservation, 0);
        }
        if nice && !sched::nice().is_ok_and(|found| found == self.nice) {
            slot.note(Trouble::Nice, 0);
        }
    }
}

fn is_real_time(policy: u32) -> bool {
    [libc::SCHED_FIFO, libc::SCHED_RR, libc::SCHED_DEADLINE].contains(&(policy as i32))
}

/// A policy's number. "iso" is unknown to Linux and becomes the ordinary one, as does "deadline" without a reservation.
fn number(policy: Policy) -> i32 {
    match policy {
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Other | Policy::Iso | Policy::Deadline => libc::SCHED_OTHER,
    }
}

fn nice(asked: i8) -> i32 {
    asked.min(MOST_NICE).into()
}

/// Moves this process to processors other than those, if there are any: the supervisor wakes up, and a wakeup makes a scheduler
/// choose anew. Returns whether there are any.
pub(crate) fn keep_off(processors: &[u16]) -> bool {
    let others: Vec<u16> = allowed().into_iter().filter(|cpu| !processors.contains(cpu)).collect();
    !others.is_empty() && pin(&others).is_ok()
}

/// Lets this task be treated as its job says; gives how it is scheduled. `processors` is where it may run.
pub(crate) fn take(job: &Job, slice: Option<u64>, processors: &[u16], slot: &Slot) -> Scheduling {
    confine(processors, slot);
    if let Err(why) = exact_timers() {
        slot.failed(Trouble::TimerSlack, &why);
    }
    if let Some(wanted) = io_priority(job.io_class, job.io_level) {
        take_io(wanted, slot);
    }
    let wanted = Scheduling::of(job, slice);
    if let Err(why) = wanted.attributes().set(0) {
        return refused(job, &wanted, &why, slot);
    }
    wanted.check(true, wanted.is_fair(), true, slot);
    wanted
}

/// What is left when the kernel says no: a refused reservation makes an ordinary task, as everywhere; a policy or a nice
/// value that is not permitted leaves the task as near to it as it may be.
fn refused(job: &Job, wanted: &Scheduling, why: &io::Error, slot: &Slot) -> Scheduling {
    let trouble = match job.policy {
        Policy::Deadline => Trouble::Reservation,
        Policy::Other | Policy::Iso => Trouble::Nice,
        Policy::Batch | Policy::Idle | Policy::Fifo | Policy::Rr => Trouble::Policy,
    };
    slot.failed(trouble, why);
    let ordinary = Scheduling { nice: wanted.nice, ..Scheduling::ORDINARY };
    let least = Scheduling { nice: wanted.nice.max(0), ..ordinary };
    if ordinary.attributes().set(0).is_ok() {
        return ordinary;
    }
    if least.attributes().set(0).is_err() {
        slot.failed(Trouble::Nice, why);
    }
    least
}

/// Confines the calling task to those processors.
pub(crate) fn confine(processors: &[u16], slot: &Slot) {
    match pin(processors) {
        Err(why) => slot.failed(Trouble::Affinity, &why),
        Ok(()) if !is_pinned(processors) => slot.note(Trouble::Affinity, 0),
        Ok(()) => {}
    }
}

/// The class and the level of requests, where a class is given.
pub(crate) fn io_priority(class: Option<IoClass>, level: Option<u8>) -> Option<IoPriority> {
    let level = level.unwrap_or(USUAL_LEVEL);
    class.map(|class| match class {
        IoClass::RealTime => IoPriority::real_time(level),
        IoClass::BestEffort => IoPriority::best_effort(level),
        IoClass::Idle => IoPriority::idle(),
    })
}

pub(crate) fn take_io(wanted: IoPriority, slot: &Slot) {
    match wanted.set().and_then(|()| IoPriority::of(0)) {
        Err(why) => slot.failed(Trouble::IoPriority, &why),
        Ok(found) if found != wanted => slot.note(Trouble::IoPriority, 0),
        Ok(_) => {}
    }
}

/// How a task asks to be scheduled from now on; what is not named stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rescheduling {
    /// A policy and a priority.
    policy: Option<(u32, u32)>,
    nice: Option<i32>,
    slice: Option<u64>,
}

impl Rescheduling {
    pub fn new(policy: Option<Policy>, priority: Option<u8>, asked: Option<i8>, slice: Option<u64>) -> Rescheduling {
        let policy = policy.map(|policy| (number(policy) as u32, priority.unwrap_or(0).into()));
        Rescheduling { policy, nice: asked.map(nice), slice }
    }

    /// Has the calling task scheduled so. What the kernel does not permit is left as it was, and the rest is done.
    pub fn apply(&self, now: &mut Scheduling, slot: &Slot) {
        if *self == Rescheduling::default() {
            return;
        }
        let (policy, priority) = self.policy.unwrap_or((now.policy, now.priority));
        let with_policy = |of: Scheduling| Scheduling { policy, priority, ..of };
        let with_nice = |of: Scheduling| Scheduling { nice: self.nice.unwrap_or(of.nice), ..of };
        let with_slice = |of: Scheduling| Scheduling { slice: self.slice.unwrap_or(of.slice), ..of };
        let wanted = with_slice(with_nice(with_policy(*now)));
        if wanted.set(now).is_ok() {
            *now = wanted;
        } else {
            // Each by itself.
            if self.policy.is_some() {
                *now = now.changed(with_policy(*now), Trouble::Policy, slot);
            }
            if self.nice.is_some() {
                *now = now.changed(with_nice(*now), Trouble::Nice, slot);
            }
            if self.slice.is_some() {
                *now = now.changed(with_slice(*now), Trouble::Policy, slot);
            }
        }
        now.check(self.policy.is_some(), self.nice.is_some(), self.slice.is_some(), slot);
    }
}
