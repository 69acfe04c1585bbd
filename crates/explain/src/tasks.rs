//! The tasks of a recording, found by the numbers that the kernel gave them.

use crate::{
    slot::{IDLE, NONE, Slot},
    task::Task,
};
use schedlab_traces::kernel::Pid;

/// The kernel gives no greater number (`PID_MAX_LIMIT`).
const PIDS: usize = 1 << 22;
/// Tasks that are distinguished. A recording has more only if it was made up: each takes several events of its file.
const MOST: usize = 1 << 22;

/// All tasks that were met, those included whose number was given to another one later.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    pub all: Vec<Task>,
    /// By pid, its slot; grows up to the largest one met.
    slots: Vec<Slot>,
    /// Those that found no room.
    pub left_out: u64,
}

impl Tasks {
    /// The slot of a task; [`NONE`] for numbers that no kernel gives.
    #[inline]
    pub fn slot(&mut self, pid: Pid, now: u64) -> Slot {
        match self.slots.get(pid as usize) {
            Some(slot) if *slot != NONE => *slot,
            _ => self.add(pid, now),
        }
    }

    /// The slot of a task that was met.
    pub fn known(&self, pid: Pid) -> Option<Slot> {
        let slot = *self.slots.get(usize::try_from(pid).ok()?)?;
        (slot != NONE && slot != IDLE).then_some(slot)
    }

    #[cold]
    fn add(&mut self, pid: Pid, now: u64) -> Slot {
        let place = pid as usize;
        if pid == 0 {
            return IDLE;
        }
        if pid < 0 || place >= PIDS || self.all.len() >= MOST {
            self.left_out += 1;
            return NONE;
        }
        if place >= self.slots.len() {
            self.slots.resize((place + 1).next_power_of_two(), NONE);
            self.slots[0] = IDLE;
        }
        let slot = self.all.len() as Slot;
        self.all.push(Task::new(pid, now));
        self.slots[place] = slot;
        slot
    }

    /// Gives the number to a new task; the one before it ends.
    pub fn renew(&mut self, pid: Pid, now: u64) -> Slot {
        if let Some(slot) = self.slots.get_mut(pid as usize).filter(|slot| **slot != IDLE) {
            *slot = NONE;
        }
        self.add(pid, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_task_until_it_is_renewed() {
        let mut tasks = Tasks::default();
        let first = tasks.slot(7, 0);
        assert_eq!(tasks.slot(7, 1), first);
        assert_eq!(tasks.slot(0, 1), IDLE);
        let second = tasks.renew(7, 2);
        assert_ne!(second, first);
        assert_eq!((tasks.slot(7, 3), tasks.all.len()), (second, 2));
    }

    #[test]
    fn numbers_that_no_kernel_gives_take_no_room() {
        let mut tasks = Tasks::default();
        for pid in [-1, i32::MIN, i32::MAX, PIDS as i32] {
            assert_eq!(tasks.slot(pid, 0), NONE);
        }
        assert_eq!((tasks.all.len(), tasks.slots.len(), tasks.left_out), (0, 0, 4));
    }
}
