//! A lock that one task holds for itself, or several for reading. Tasks get it in the order of their requests, so that a reader that
//! comes behind a waiting writer waits too, as with the kernel's rwsem; the default lock of glibc lets such a reader pass.
//!
//!   tickets    drawn so far: each request draws one
//!   readers    tickets that no longer keep a reader from entering: writers that have left, readers that have entered
//!   writers    tickets that no longer keep a writer from entering: those of tasks that have left
//!   writer     the number of the task that has it for itself
//!   dead       waiters that were killed and whose turn has not come
//!   reading    a bit for each task that has it for reading
//!   marks      the tickets of those that are dead
//!
//! A reader enters when `readers` has come to its ticket, a writer when `writers` has. `writer` and `reading` are only for the supervisor:
//! they are set after a task has entered, and cleared after it has left.
//!
//! The turn of a killed waiter is passed on when it comes: who brings a counter to its ticket takes its mark away, and advances the
//! counters as if that task had entered and left. If its turn has come before it is marked, the task that marks it does so. There
//! are fewer waiting tickets than marks: each is another task's.

use super::turns;
use schedlab_linux::shareable;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};

shareable! {
    /// The words of the lock. Locks do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct Words {
        tickets: AtomicU32,
        readers: AtomicU32,
        writers: AtomicU32,
        writer: AtomicU32,
        dead: AtomicU32,
    }
}

/// The lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReadWrite<'a> {
    pub words: &'a Words,
    pub reading: &'a [AtomicU64],
    /// A power of two of them, more than there are tasks.
    pub marks: &'a [AtomicU64],
}

impl ReadWrite<'_> {
    /// Draws a ticket.
    pub fn draw(&self) -> u32 {
        self.words.tickets.fetch_add(1, SeqCst)
    }

    /// Takes the lock with that ticket for a task with a number from 1, waiting as long as it takes.
    pub fn take(&self, ticket: u32, reads: bool, task: u32) {
        if reads {
            turns::wait(&self.words.readers, ticket);
            self.advance(1, 0);
            let (word, bit) = place(task);
            self.reading[word].fetch_or(bit, Relaxed);
        } else {
            turns::wait(&self.words.writers, ticket);
            self.words.writer.store(task, Relaxed);
        }
    }

    /// Gives it back; only for a task that has it in that way.
    pub fn give_back(&self, reads: bool, task: u32) {
        self.advance(u32::from(!reads), 1);
        self.forget(task);
    }

    /// It is not the task's any more; the next one may have it by now.
    fn forget(&self, task: u32) {
        let (word, bit) = place(task);
        self.reading[word].fetch_and(!bit, Relaxed);
        let _ = self.words.writer.compare_exchange(task, 0, Relaxed, Relaxed);
    }

    /// The task with that ticket has been killed before it went on with the lock.
    pub fn pass_on(&self, ticket: u32, reads: bool, task: u32) {
        self.forget(task);
        let (readers, writers) = (&self.words.readers, &self.words.writers);
        if reads && turns::has_come(readers, ticket.wrapping_add(1)) {
            // It had entered: only its own ticket brings the counter there.
            self.advance(0, 1);
        } else {
            self.mark(ticket).store(mark(ticket, reads), SeqCst);
            self.words.dead.fetch_add(1, SeqCst);
        }
        // Its turn may have come, or it may have been killed when it had brought another's.
        while self.is_passed_on(readers.load(SeqCst), true) || self.is_passed_on(writers.load(SeqCst), false) {
            self.advance(1, 1);
        }
        turns::wake_all(readers);
        turns::wake_all(writers);
    }

    /// Advances both counters by that many tickets. The task of the next ticket may enter, if it waits.
    fn advance(&self, mut readers: u32, mut writers: u32) {
        while readers + writers > 0 {
            // Readers first: a writer that enters must find that no reader can.
            let reads = readers > 0;
            let (counter, due) =
                if reads { (&self.words.readers, &mut readers) } else { (&self.words.writers, &mut writers) };
            *due -= 1;
            let next = counter.fetch_add(1, SeqCst).wrapping_add(1);
            if self.words.dead.load(SeqCst) > 0 && self.is_passed_on(next, reads) {
                (readers, writers) = (readers + 1, writers + 1);
            } else if self.words.tickets.load(SeqCst) != next {
                turns::wake(counter, next);
            }
        }
    }

    /// Takes the mark of that ticket away, if it has one.
    fn is_passed_on(&self, ticket: u32, reads: bool) -> bool {
        let taken = self.mark(ticket).compare_exchange(mark(ticket, reads), 0, SeqCst, SeqCst).is_ok();
        if taken {
            self.words.dead.fetch_sub(1, SeqCst);
        }
        taken
    }

    fn mark(&self, ticket: u32) -> &AtomicU64 {
        &self.marks[ticket as usize % self.marks.len()]
    }

    /// Whether the task with that ticket may enter.
    pub fn admits(&self, ticket: u32, reads: bool) -> bool {
        turns::has_come(if reads { &self.words.readers } else { &self.words.writers }, ticket)
    }

    /// The tasks that have it, by their numbers from 1.
    pub fn holders(&self) -> Vec<u32> {
        let writer = Some(self.words.writer.load(Relaxed)).filter(|&task| task > 0);
        let tasks = 1..=self.reading.len() as u32 * u64::BITS;
        let reads = |&task: &u32| {
            let (word, bit) = place(task);
            self.reading[word].load(Relaxed) & bit != 0
        };
        writer.into_iter().chain(tasks.filter(reads)).collect()
    }
}

/// The mark of a ticket; 0 is none.
fn mark(ticket: u32, reads: bool) -> u64 {
    u64::from(ticket) << 2 | u64::from(reads) << 1 | 1
}

/// Where the bit of a task is.
fn place(task: u32) -> (usize, u64) {
    let index = task - 1;
    ((index / u64::BITS) as usize, 1 << (index % u64::BITS))
}
