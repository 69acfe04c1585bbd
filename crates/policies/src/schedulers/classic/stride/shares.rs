//! The tickets of all tasks that are ready, and how many of them count: no task can use more than one processor.

use super::Pass;
use crate::schedulers::kit::tickets::tickets;
use schedlab_model::Nanos;

/// The stride of a task with one ticket; the prototype's value.
const STRIDE1: u64 = 1 << 20;
/// The nice levels, those with the most tickets first.
const LEVELS: std::ops::RangeInclusive<i8> = -20..=20;

/// How far a pass shared by `tickets` moves for a given run time. A CPU burst of more than five hours counts as five.
#[inline]
pub fn advance(ran: Nanos, tickets: u64) -> Pass {
    Pass::from(ran.saturating_mul(STRIDE1) / tickets)
}

/// Of the tasks that are ready.
#[derive(Debug)]
pub struct Shares {
    processors: u64,
    /// How many there are of each nice level; not counted where there is one processor.
    ready: [u32; 41],
    tickets: u64,
    cap: Option<Cap>,
}

/// The most tickets of a task that count, if a task has more: `rest / left`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Cap {
    /// The tickets of the tasks that have no more.
    rest: u64,
    /// The processors that those with more leave to them, and all that can be used.
    left: u64,
    used: u64,
}

impl Shares {
    /// Of no task.
    pub fn new(processors: u16) -> Shares {
        Shares { processors: processors.into(), ready: [0; 41], tickets: 0, cap: None }
    }

    /// A task becomes ready.
    #[inline]
    pub fn join(&mut self, nice: i8) {
        self.tickets += tickets(nice);
        if self.processors > 1 {
            *self.count(nice) += 1;
            self.cap = self.cap();
        }
    }

    /// A task stops being ready.
    #[inline]
    pub fn leave(&mut self, nice: i8) {
        self.tickets -= tickets(nice);
        if self.processors > 1 {
            *self.count(nice) -= 1;
            self.cap = self.cap();
        }
    }

    fn count(&mut self, nice: i8) -> &mut u32 {
        &mut self.ready[(nice.clamp(*LEVELS.start(), *LEVELS.end()) - LEVELS.start()) as usize]
    }

    /// Tasks of a level have more than a processor if their tickets are more than an equal part of those of all with no more, for as many
    /// processors as are left to these.
    fn cap(&self) -> Option<Cap> {
        let tasks = self.ready.iter().map(|&count| u64::from(count)).sum();
        let used = self.processors.min(tasks);
        let (mut rest, mut left) = (self.tickets, used);
        for (&count, nice) in self.ready.iter().zip(LEVELS).filter(|(count, _)| **count > 0) {
            let (count, each) = (u64::from(count), tickets(nice));
            if each * left <= rest {
                break;
            }
            (rest, left) = (rest - count * each, left - count);
        }
        (left < used).then_some(Cap { rest, left, used })
    }

    /// How far the pass of a task with that many tickets moves for a given run time.
    #[inline]
    pub fn advance(&self, ran: Nanos, tickets: u64) -> Pass {
        match self.cap {
            Some(cap) if tickets * cap.left > cap.rest => advance_by(ran, cap.left, cap.rest),
            _ => advance(ran, tickets),
        }
    }

    /// How far the average moves: all tickets that count are `rest * used / left`.
    #[inline]
    pub fn advance_all(&self, ran: Nanos) -> Pass {
        match self.cap {
            Some(cap) => advance_by(ran, cap.left, cap.rest * cap.used),
            None => advance(ran, self.tickets),
        }
    }
}

/// [`advance`], for tickets that are no whole number: `tickets / parts`.
#[inline(never)]
fn advance_by(ran: Nanos, parts: u64, tickets: u64) -> Pass {
    Pass::from(ran) * Pass::from(STRIDE1 * parts) / Pass::from(tickets)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RAN: Nanos = 9_000_000;

    fn of(processors: u16, nices: &[i8]) -> Shares {
        let mut shares = Shares::new(processors);
        nices.iter().for_each(|&nice| shares.join(nice));
        shares
    }

    #[test]
    fn no_tickets_count_that_would_be_worth_more_than_a_processor() {
        // 3 of at least 9 times as many tickets, and three of 1024.
        let shares = of(4, &[-20, -15, -10, 0, 0, 0]);
        assert_eq!(shares.cap, Some(Cap { rest: 3 * 1024, left: 1, used: 4 }));
        // A processor each, and one for three: each of these advances three times as far for the same time.
        assert_eq!(shares.advance(RAN, tickets(-10)) * 3, shares.advance(RAN, tickets(0)));
        assert_eq!(shares.advance(RAN, tickets(-10)), 4 * shares.advance_all(RAN));
    }

    #[test]
    fn tasks_that_have_a_processor_each_advance_together() {
        let shares = of(4, &[-20, 0, 20]);
        let each = [-20, 0, 20].map(|nice| shares.advance(RAN, tickets(nice)));
        assert_eq!(each, [3 * shares.advance_all(RAN); 3]);
    }

    #[test]
    fn shares_that_fit_are_not_capped() {
        assert_eq!(of(2, &[0, 0, 0]).cap, None);
        assert_eq!(of(2, &[0, 0]).cap, None);
        assert_eq!(of(1, &[-20, 20]).cap, None);
        let mut shares = of(2, &[-20, 0, 0]);
        assert_eq!(shares.cap, Some(Cap { rest: 2048, left: 1, used: 2 }));
        shares.leave(-20);
        assert_eq!((shares.cap, shares.tickets), (None, 2048));
    }
}
