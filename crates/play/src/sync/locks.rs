//! The locks of a run. One that a program takes for reading is a reader-writer lock, one whose protocol is priority inheritance is the
//! kernel's, all others are mutexes; those with a ceiling too, whose holder sees to its own priority.

use super::{
    inheriting::Inheriting,
    mutex::Mutex,
    read_write::{ReadWrite, Words},
};
use schedlab_linux::{Fault, shared::Shared};
use schedlab_model::scenario::Protocol;
use schedlab_workloads::Programs;
use std::{io, sync::atomic::AtomicU64};

/// How a task has a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Hold {
    #[default]
    Nothing,
    Alone,
    Reading,
}

/// A task that takes locks: its number from 1, and that of its process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taker {
    pub task: u32,
    pub process: u32,
}

/// What a lock is, and which of its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Mutex(usize),
    Inheriting(usize),
    ReadWrite(usize),
}

/// All locks, by their numbers.
pub(crate) struct Locks {
    kinds: Vec<Kind>,
    mutexes: Shared<Mutex>,
    inheriting: Shared<Inheriting>,
    read_write: Shared<Words>,
    /// By reader-writer lock, a bit for each task.
    reading: Shared<AtomicU64>,
    /// And a mark for each task that was killed while it waited.
    marks: Shared<AtomicU64>,
    /// How many of both each of them has.
    words: usize,
    places: usize,
}

impl Locks {
    /// Those of the programs, for that many tasks.
    pub fn new(programs: &Programs, tasks: usize) -> Result<Locks, Fault> {
        let mut counts = [0; 3];
        let mut next = |kind: fn(usize) -> Kind, which: usize| {
            counts[which] += 1;
            kind(counts[which] - 1)
        };
        let kinds = (0..programs.locks.len()).map(|lock| match programs.protocols.get(lock) {
            Some(Protocol::Inherit) => next(Kind::Inheriting, 1),
            _ if programs.is_read(lock) => next(Kind::ReadWrite, 2),
            _ => next(Kind::Mutex, 0),
        });
        let kinds: Vec<Kind> = kinds.collect();
        let [mutexes, inheriting, read_write] = counts;
        if inheriting > 0 && !Inheriting::are_there() {
            return Err(Fault::Refused {
                what: "a lock with the protocol \"inherit\"".to_owned(),
                why: "this kernel has no futexes with priority inheritance (CONFIG_FUTEX_PI)".to_owned(),
                advice: "take another kernel, or give the lock a ceiling".to_owned(),
            });
        }
        let (words, places) = (tasks.div_ceil(u64::BITS as usize), (tasks + 1).next_power_of_two());
        Ok(Locks {
            kinds,
            mutexes: Shared::new(mutexes)?,
            inheriting: Shared::new(inheriting)?,
            read_write: Shared::new(read_write)?,
            reading: Shared::new(read_write * words)?,
            marks: Shared::new(read_write * places)?,
            words,
            places,
        })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.kinds.len()
    }

    fn read_write(&self, which: usize) -> ReadWrite<'_> {
        ReadWrite {
            words: &self.read_write[which],
            reading: &self.reading[which * self.words..][..self.words],
            marks: &self.marks[which * self.places..][..self.places],
        }
    }

    /// Takes a lock. `on_ticket` is called with the ticket of a waiter, if such a lock has tickets.
    pub fn take(&self, lock: usize, hold: Hold, by: Taker, on_ticket: impl FnOnce(u32)) {
        match self.kinds[lock] {
            Kind::Mutex(which) => self.mutexes[which].take(by.task),
            Kind::Inheriting(which) => self.inheriting[which].take(by.task, by.process),
            Kind::ReadWrite(which) => {
                let words = self.read_write(which);
                let ticket = words.draw();
                on_ticket(ticket);
                words.take(ticket, hold == Hold::Reading, by.task);
            }
        }
    }

    /// Gives a lock back that the task holds in that way.
    pub fn give_back(&self, lock: usize, hold: Hold, by: Taker) -> io::Result<()> {
        match self.kinds[lock] {
            Kind::Mutex(which) => self.mutexes[which].give_back(by.task),
            Kind::Inheriting(which) => return self.inheriting[which].give_back(by.task, by.process),
            Kind::ReadWrite(which) => self.read_write(which).give_back(hold == Hold::Reading, by.task),
        }
        Ok(())
    }

    /// The tasks that hold a lock, by their numbers from 1.
    pub fn holders(&self, lock: usize) -> Vec<u32> {
        let holder = match self.kinds[lock] {
            Kind::Mutex(which) => self.mutexes[which].holder(),
            Kind::Inheriting(which) => self.inheriting[which].holder(),
            Kind::ReadWrite(which) => return self.read_write(which).holders(),
        };
        Some(holder).filter(|&task| task > 0).into_iter().collect()
    }

    /// A task was killed while it waited for that lock, if for any, with a ticket if the lock has tickets.
    pub fn was_killed(&self, waited_for: Option<usize>, ticket: Option<(u32, bool)>, by: Taker) {
        self.inheriting.iter().for_each(|lock| lock.bury(by.process));
        match (waited_for.map(|lock| self.kinds[lock]), ticket) {
            (Some(Kind::Mutex(which)), _) => self.mutexes[which].wake_another(),
            (Some(Kind::ReadWrite(which)), Some((ticket, reads))) => {
                self.read_write(which).pass_on(ticket, reads, by.task);
            }
            _ => {}
        }
    }

    /// Whether the waiters of a lock have tickets.
    pub fn has_tickets(&self, lock: usize) -> bool {
        matches!(self.kinds[lock], Kind::ReadWrite(_))
    }

    /// Whether the task with that ticket, if such a lock has tickets, may have the lock.
    pub fn admits(&self, lock: usize, ticket: u32, reads: bool) -> bool {
        match self.kinds[lock] {
            Kind::ReadWrite(which) => self.read_write(which).admits(ticket, reads),
            Kind::Mutex(_) | Kind::Inheriting(_) => false,
        }
    }
}
