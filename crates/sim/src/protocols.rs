//! Locks with a protocol against priority inversion: who waits before whom, and which priority the holder has meanwhile.
//!
//! As the kernel's rt_mutex, and glibc's mutexes with a ceiling: only real-time priorities count. Ordinary tasks are equals, wait first
//! come, first served, and lend nothing. A task with a reservation goes before all of them; it lends the highest priority, where the kernel
//! lends its deadline, and borrows none. What a task asked for itself is kept apart from what the scheduler sees; a scheduler
//! without real-time tasks sees the record and ignores it, as it ignores such jobs.

use crate::{
    kernel::Kernel,
    process::{Asked, Served, State},
};
use schedlab_model::{
    event::Observer,
    scenario::Protocol,
    task::{Policy, Task, TaskId},
};
use schedlab_policies::schedulers::Scheduler;
use std::cmp::Reverse;

/// The highest real-time priority.
const HIGHEST: u8 = 99;

/// How far a task goes before others: its real-time priority; farther with a reservation; 0 for all others.
fn rank((policy, priority): Asked) -> u8 {
    match policy {
        Policy::Fifo | Policy::Rr => priority,
        Policy::Deadline => HIGHEST + 1,
        Policy::Other | Policy::Batch | Policy::Idle | Policy::Iso => 0,
    }
}

fn asked(task: &Task) -> Asked {
    (task.policy, task.priority)
}

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// What a task asked for itself, whatever is lent to it.
    pub fn own(&self, task: TaskId) -> Asked {
        self.processes[task as usize].life.own.unwrap_or_else(|| asked(&self.view.tasks[task as usize]))
    }

    /// A task asks for a policy and a priority; what is lent to it may be more.
    pub fn ask(&mut self, task: TaskId, mut after: Task) -> Served {
        let own = asked(&after);
        let (policy, priority) = self.own(task);
        self.report_treated(&Task { policy, priority, ..self.view.tasks[task as usize].clone() }, &after);
        let due = self.due(task, own);
        self.processes[task as usize].life.own = (due != own).then_some(own);
        (after.policy, after.priority) = due;
        self.change(task, after)
    }

    /// A task waits for a lock that it did not get.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn await_lock(&mut self, task: TaskId, lock: u16, reads: bool) {
        let wanted = &mut self.resources.locks[usize::from(lock)];
        wanted.waiting.push_back((task, reads));
        if wanted.protocol != Protocol::None {
            self.processes[task as usize].life.awaits = Some(lock);
            self.lend_behind(task);
        }
    }

    /// A task has got a lock, or given it back.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn lock_changed(&mut self, task: TaskId, lock: u16) {
        if self.resources.locks[usize::from(lock)].protocol != Protocol::None {
            self.follow_protocol(task, lock);
        }
    }

    #[cold]
    #[inline(never)]
    fn follow_protocol(&mut self, task: TaskId, lock: u16) {
        let life = &mut self.processes[task as usize].life;
        let changed = &self.resources.locks[usize::from(lock)];
        if life.awaits == Some(lock) && changed.holder == Some(task) {
            life.awaits = None;
        }
        if self.lend(task) {
            self.lend_behind(task);
        }
    }

    /// The priority of a task that waits has changed, or it has just come: it takes its place among the waiters, and the holder has
    /// what they lend; so on along the chain of holders that wait themselves. Priorities on the way only rise, so a circle ends.
    fn lend_behind(&mut self, mut task: TaskId) {
        while let Some(lock) = self.processes[task as usize].life.awaits {
            self.place_waiter(task, lock);
            let Some(holder) = self.resources.locks[usize::from(lock)].holder else { return };
            if !self.lend(holder) {
                return;
            }
            task = holder;
        }
    }

    /// Behind all waiters of its priority or a higher one.
    fn place_waiter(&mut self, task: TaskId, lock: u16) {
        let rank = |task: TaskId| rank(asked(&self.view.tasks[task as usize]));
        let waiting = &mut self.resources.locks[usize::from(lock)].waiting;
        let Some(at) = waiting.iter().position(|&(other, _)| other == task) else { return };
        let Some(waiter) = waiting.remove(at) else { return };
        let place = waiting.iter().position(|&(other, _)| rank(other) < rank(task)).unwrap_or(waiting.len());
        waiting.insert(place, waiter);
    }

    /// The place of the waiter that a futex wakes: of the highest priority, and of equals the one that has waited longest, as in the kernel's
    /// list by priorities (`plist`).
    pub fn first_to_wake(&self, waiting: impl IntoIterator<Item = TaskId>) -> Option<usize> {
        let rank = |task: TaskId| rank(asked(&self.view.tasks[task as usize]));
        waiting
            .into_iter()
            .enumerate()
            .max_by_key(|&(place, task)| (rank(task), Reverse(place)))
            .map(|(place, _)| place)
    }

    /// Gives a task the priority that is due to it; whether that is another one than before.
    fn lend(&mut self, task: TaskId) -> bool {
        if self.processes[task as usize].state == State::Dead {
            return false;
        }
        let own = self.own(task);
        let before = &self.view.tasks[task as usize];
        if self.due(task, own) == asked(before) {
            return false;
        }
        let after = Task { policy: own.0, priority: own.1, ..before.clone() };
        self.ask(task, after);
        true
    }

    /// What is due to a task that asks for `own`: the most of that and of what the locks that it holds lend to it. One that is
    /// ordinary otherwise runs as under SCHED_FIFO meanwhile.
    fn due(&self, task: TaskId, own: Asked) -> Asked {
        let held = self.resources.locks.iter().filter(|lock| lock.holder == Some(task));
        let lent = held.filter_map(|lock| match lock.protocol {
            Protocol::None => None,
            Protocol::Ceiling(ceiling) => Some(ceiling),
            Protocol::Inherit => lock.waiting.front().map(|&(first, _)| rank(asked(&self.view.tasks[first as usize]))),
        });
        let lent = lent.max().unwrap_or(0).min(HIGHEST);
        if lent <= rank(own) {
            return own;
        }
        (if rank(own) > 0 { own.0 } else { Policy::Fifo }, lent)
    }
}
