//! A condition variable. A waiter draws a ticket before it gives its lock back, so that no signal after that is lost; a signal lets the
//! holder of the oldest ticket go on, and no other. A signal without a waiter is not remembered.
//!
//!   tickets      drawn so far
//!   signalled    of these, those whose tasks may go on; the futex
//!   broadcast    of these, those that the last broadcast has let go on, and all before them
//!   dead         waiters that were killed and have a mark
//!   marks        their tickets
//!
//! A signal that chooses a killed waiter is passed on to the next one: who brings `signalled` to the waiter's ticket takes its mark away and
//! signals again. If a signal has chosen the waiter before it is marked, the task that marks it does so. What a broadcast gave
//! it is not passed on: all others have it too. There are fewer waiting tickets than marks: each is another task's.

use super::turns;
use schedlab_linux::shareable;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

/// Tickets after which a broadcast is forgotten: those that are compared must be less than 2^31 apart.
const FORGOTTEN: u32 = 1 << 30;

shareable! {
    /// The words of the condition variable. They do not share a cache line.
    #[derive(Debug, Default)]
    #[repr(align(64))]
    pub(crate) struct ConditionWords {
        tickets: AtomicU32,
        signalled: AtomicU32,
        broadcast: AtomicU32,
        dead: AtomicU32,
    }
}

/// The condition variable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Condition<'a> {
    pub words: &'a ConditionWords,
    /// A power of two of them, more than there are tasks.
    pub marks: &'a [AtomicU64],
}

impl Condition<'_> {
    /// The calling task begins to wait.
    pub fn draw(&self) -> u32 {
        let ticket = self.words.tickets.fetch_add(1, SeqCst);
        if ticket.is_multiple_of(FORGOTTEN) {
            raise(&self.words.broadcast, ticket.wrapping_sub(FORGOTTEN));
        }
        ticket
    }

    /// Waits for the signal to the task with that ticket.
    pub fn wait(&self, ticket: u32) {
        turns::wait(&self.words.signalled, ticket.wrapping_add(1));
    }

    /// Lets the task go on that has waited longest, if one waits.
    pub fn signal(&self) {
        let next = |signalled: u32| (self.words.tickets.load(SeqCst) != signalled).then(|| signalled.wrapping_add(1));
        while let Ok(ticket) = self.words.signalled.fetch_update(SeqCst, SeqCst, next) {
            if self.words.dead.load(SeqCst) == 0 || !self.is_dead(ticket) {
                return turns::wake(&self.words.signalled, ticket.wrapping_add(1));
            }
        }
    }

    /// Lets all go on that wait.
    pub fn broadcast(&self) {
        let all = self.words.tickets.load(SeqCst);
        raise(&self.words.broadcast, all);
        if let Some(first) = raise(&self.words.signalled, all) {
            if self.words.dead.load(SeqCst) > 0 {
                // All others go on, too: there is none to pass it on to.
                (0..all.wrapping_sub(first)).for_each(|nth| _ = self.is_dead(first.wrapping_add(nth)));
            }
            turns::wake_all(&self.words.signalled);
        }
    }

    /// The task with that ticket has been killed before it went on.
    pub fn pass_on(&self, ticket: u32) {
        self.mark(ticket).store(mark(ticket), SeqCst);
        self.words.dead.fetch_add(1, SeqCst);
        let was_broadcast = turns::has_come(&self.words.broadcast, ticket.wrapping_add(1));
        if self.is_signalled(ticket) && self.is_dead(ticket) && !was_broadcast {
            self.signal();
        }
    }

    /// Takes the mark of that ticket away, if it has one.
    fn is_dead(&self, ticket: u32) -> bool {
        let taken = self.mark(ticket).compare_exchange(mark(ticket), 0, SeqCst, SeqCst).is_ok();
        if taken {
            self.words.dead.fetch_sub(1, SeqCst);
        }
        taken
    }

    fn mark(&self, ticket: u32) -> &AtomicU64 {
        &self.marks[ticket as usize % self.marks.len()]
    }

    /// Whether the task with that ticket may go on.
    pub fn is_signalled(&self, ticket: u32) -> bool {
        turns::has_come(&self.words.signalled, ticket.wrapping_add(1))
    }
}

/// The mark of a ticket; 0 is none.
fn mark(ticket: u32) -> u64 {
    u64::from(ticket) << 1 | 1
}

/// Brings a counter up to a number; returns where it was, unless it had come there.
fn raise(counter: &AtomicU32, to: u32) -> Option<u32> {
    let up = |count: u32| (to.wrapping_sub(count).cast_signed() > 0).then_some(to);
    counter.fetch_update(SeqCst, SeqCst, up).ok()
}
