//! The locks of a run. One that a program takes for reading is a reader-writer lock, all others are mutexes.

use super::{mutex::Mutex, read_write::ReadWrite};
use schedlab_linux::{Fault, shared::Shared};
use schedlab_workloads::{Instruction, Programs};
use std::sync::atomic::AtomicU64;

/// How a task has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hold {
    #[default]
    Nothing,
    Alone,
    Reading,
}

/// All locks, by their numbers.
pub(crate) struct Locks {
    mutexes: Shared<Mutex>,
    read_write: Shared<ReadWrite>,
    /// By reader-writer lock, a bit for each task.
    reading: Shared<AtomicU64>,
    /// By lock that is read, which of those locks it is.
    read: Vec<Option<usize>>,
    /// Words of bits that each of them has.
    words: usize,
}

impl Locks {
    /// Those of the programs, for that many tasks.
    pub fn new(programs: &Programs, tasks: usize) -> Result<Locks, Fault> {
        let mut read = vec![None; programs.locks.len()];
        let mut count = 0;
        for instruction in programs.programs.iter().flatten() {
            if let Instruction::ReadLock(lock) = instruction {
                read[usize::from(*lock)].get_or_insert_with(|| {
                    count += 1;
                    count - 1
                });
            }
        }
        let words = tasks.div_ceil(u64::BITS as usize);
        let (mutexes, read_write) = (Shared::new(read.len())?, Shared::new(count)?);
        Ok(Locks { mutexes, read_write, reading: Shared::new(count * words)?, read, words })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.read.len()
    }

    fn read_write(&self, lock: usize) -> Option<(&ReadWrite, &[AtomicU64])> {
        let number = self.read[lock]?;
        Some((&self.read_write[number], &self.reading[number * self.words..][..self.words]))
    }

    /// Takes a lock for a task with a number from 1. `on_ticket` is called with the ticket of a waiter, if such a lock has tickets.
    pub fn take(&self, lock: usize, hold: Hold, task: u32, on_ticket: impl FnOnce(u32)) {
        let reads = hold == Hold::Reading;
        match self.read_write(lock) {
            None => self.mutexes[lock].take(task),
            Some((words, reading)) => {
                let ticket = words.draw();
                on_ticket(ticket);
                words.take(ticket, reads, task, reading);
            }
        }
    }

    /// Gives a lock back that the task holds in that way.
    pub fn give_back(&self, lock: usize, hold: Hold, task: u32) {
        match self.read_write(lock) {
            None => self.mutexes[lock].give_back(task),
            Some((words, reading)) => words.give_back(hold == Hold::Reading, task, reading),
        }
    }

    /// The tasks that hold a lock, by their numbers from 1.
    pub fn holders(&self, lock: usize) -> Vec<u32> {
        match self.read_write(lock) {
            None => Some(self.mutexes[lock].holder()).filter(|&task| task > 0).into_iter().collect(),
            Some((words, reading)) => words.holders(reading),
        }
    }

    /// Whether the waiters of a lock have tickets.
    pub fn has_tickets(&self, lock: usize) -> bool {
        self.read[lock].is_some()
    }

    /// Whether the task with that ticket, if such a lock has tickets, may have the lock.
    pub fn admits(&self, lock: usize, ticket: u32, reads: bool) -> bool {
        self.read_write(lock).is_some_and(|(words, _)| words.admits(ticket, reads))
    }
}
