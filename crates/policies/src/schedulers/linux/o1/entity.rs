//! A task as the scheduler keeps it.

use super::credit::{Account, Credit, MAX_RT_PRIO, Sleep};
use schedlab_model::{
    Nanos,
    task::{Class, Policy, Task},
};

/// What the scheduler keeps of a task, in one line of the cache.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Entity {
    pub account: Account,
    /// The list that it is in, or belongs to.
    pub prio: u8,
    /// The array that it is in.
    pub array: u8,
    /// Ticks left of its slice.
    pub slice: u64,
    /// It has the slice that its parent gave it.
    pub first_slice: bool,
    pub turns: Turns,
    /// The task that wakes it is about to leave its processor.
    pub sync: bool,
    /// When it was last queued, picked or accounted for.
    pub since: Nanos,
    pub last_ran: Nanos,
    pub weight: u64,
    /// It moves between processors, from an expired array to an expired array.
    pub moves_expired: bool,
}

/// What ends its CPU burst.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turns {
    /// The end of its slice: it expires.
    Shared,
    /// The end of its slice: it goes to the tail of its list (SCHED_RR).
    RealTime,
    /// It alone (SCHED_FIFO).
    Endless,
}

impl Entity {
    pub fn new(credit: &Credit, task: &Task) -> Entity {
        let user = task.class != Class::KernelTask;
        let mut entity = Entity {
            account: Account { static_prio: 0, sleep_avg: 0, sleep: Sleep::Normal, batch: false, user },
            prio: 0,
            array: 0,
            slice: 0,
            first_slice: false,
            turns: Turns::Shared,
            sync: false,
            since: 0,
            last_ran: 0,
            weight: 0,
            moves_expired: false,
        };
        entity.read(credit, task);
        entity.slice = credit.slice(entity.account.static_prio);
        entity
    }

    /// What follows from the record of its task, but its slice.
    pub fn read(&mut self, credit: &Credit, task: &Task) {
        let nice = if task.policy == Policy::Idle { 19 } else { task.nice.min(19) };
        self.turns = match task.policy {
            Policy::Fifo => Turns::Endless,
            Policy::Rr => Turns::RealTime,
            _ => Turns::Shared,
        };
        self.account.static_prio = (120 + i32::from(nice)) as u8;
        self.account.batch = matches!(task.policy, Policy::Batch | Policy::Idle);
        (self.prio, self.weight) = match self.turns {
            Turns::Shared => (credit.priority(&self.account), credit.weight(credit.slice(self.account.static_prio))),
            _ => (MAX_RT_PRIO as u8 - 1 - task.priority.min(99), credit.real_time_weight(task.priority)),
        };
    }

    pub fn real_time(&self) -> bool {
        self.turns != Turns::Shared
    }

    /// Its account has changed.
    pub fn reprioritize(&mut self, credit: &Credit) {
        if !self.real_time() {
            self.prio = credit.priority(&self.account);
        }
    }
}
