//! A lock that one task holds for itself, or several for reading. Tasks get it in the order of their requests, so that a reader that
//! comes behind a waiting writer waits too, as with the kernel's rwsem; the default lock of glibc lets such a reader pass.
//!
//!   tickets    drawn so far: each request draws one
//!   readers    tickets that no longer keep a reader from entering: writers that have left, readers that have entered
//!   writers    tickets that no longer keep a writer from entering: those of tasks that have left
//!   writer     the number of the task that has it for itself
//!   reading    a bit for each task that has it for reading
//!
//! A reader enters when `readers` has come to its ticket, a writer when `writers` has. The last two are only for the supervisor: they are
//! set after a task has entered, and cleared after it has left.

use super::turns;
use schedlab_linux::shareable;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

shareable! {
    /// The words of the lock, without `reading`. Locks do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct ReadWrite {
        tickets: AtomicU32,
        readers: AtomicU32,
        writers: AtomicU32,
        writer: AtomicU32,
    }
}

impl ReadWrite {
    /// Draws a ticket.
    pub fn draw(&self) -> u32 {
        self.tickets.fetch_add(1, SeqCst)
    }

    /// Takes the lock with that ticket for a task with a number from 1, waiting as long as it takes.
    pub fn take(&self, ticket: u32, reads: bool, task: u32, reading: &[AtomicU64]) {
        if reads {
            turns::wait(&self.readers, ticket);
            self.advance(&self.readers);
            let (word, bit) = place(task);
            reading[word].fetch_or(bit, Relaxed);
        } else {
            turns::wait(&self.writers, ticket);
            self.writer.store(task, Relaxed);
        }
    }

    /// Gives it back; only for a task that has it in that way.
    pub fn give_back(&self, reads: bool, task: u32, reading: &[AtomicU64]) {
        if reads {
            self.advance(&self.writers);
            let (word, bit) = place(task);
            reading[word].fetch_and(!bit, Relaxed);
        } else {
            // Readers first: a writer that enters must find that no reader can.
            self.advance(&self.readers);
            self.advance(&self.writers);
            // The next one may have it by now.
            let _ = self.writer.compare_exchange(task, 0, Relaxed, Relaxed);
        }
    }

    /// One ticket more is no hindrance; the next one's task may enter, if it waits.
    fn advance(&self, counter: &AtomicU32) {
        let next = counter.fetch_add(1, SeqCst).wrapping_add(1);
        if self.tickets.load(SeqCst) != next {
            turns::wake(counter, next);
        }
    }

    /// Whether the task with that ticket may enter.
    pub fn admits(&self, ticket: u32, reads: bool) -> bool {
        turns::has_come(if reads { &self.readers } else { &self.writers }, ticket)
    }

    /// The tasks that have it, by their numbers from 1.
    pub fn holders(&self, reading: &[AtomicU64]) -> Vec<u32> {
        let writer = Some(self.writer.load(Relaxed)).filter(|&task| task > 0);
        let tasks = 1..=reading.len() as u32 * u64::BITS;
        let reads = |&task: &u32| {
            let (word, bit) = place(task);
            reading[word].load(Relaxed) & bit != 0
        };
        writer.into_iter().chain(tasks.filter(reads)).collect()
    }
}

/// Where the bit of a task is.
fn place(task: u32) -> (usize, u64) {
    let index = task - 1;
    ((index / u64::BITS) as usize, 1 << (index % u64::BITS))
}
