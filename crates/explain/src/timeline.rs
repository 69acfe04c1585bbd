//! The runs of a recording as they happened, each with the wait before it; `packed` writes them.

use crate::{slot::Slot, worst::After};
use schedlab_traces::kernel::Left;

/// Runs that are kept: a page with more is slow to open.
pub const MOST_RUNS: usize = 2_000_000;

/// How a run ended, by its number.
const RUNNABLE: u16 = 0;
const SLEEPS: u16 = 1;
const UNINTERRUPTIBLE: u16 = 2;
const STOPPED: u16 = 3;
const DEAD: u16 = 4;
/// Events are missing.
const UNKNOWN: u16 = 5;
/// It had not ended when the recording did.
pub(crate) const GOES_ON: u16 = 6;
/// It never began: the task waits when the recording ends.
pub(crate) const WAITS: u16 = 7;

/// What a run came after, by its number.
pub(crate) const WOKEN: u16 = 1;
pub(crate) const PREEMPTED: u16 = 2;
const NEW: u16 = 3;

/// It ran already when the recording began.
const CUT: u16 = 1 << 5;

/// A run; times are the clock's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub from: u64,
    pub to: u64,
    /// From when it had waited, if that is known.
    pub waited_from: u64,
    pub task: Slot,
    /// Who woke or preempted it.
    pub by: Slot,
    pub cpu: u16,
    pub how: u16,
}

/// The runs so far.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    pub runs: Vec<Run>,
    /// By task, the run that has begun.
    pub begun: Vec<Option<Run>>,
    /// Runs that found no room.
    pub left_out: u64,
}

impl Timeline {
    /// A task gets a processor.
    pub fn enter(&mut self, task: Slot, cpu: u16, from: u64, waited: Option<(After, u64)>) {
        let (how, by) = waited.map_or((0, task), |(after, _)| code(after, task));
        let waited_from = waited.map_or(from, |it| it.1);
        self.begin(Run { from, to: from, waited_from, task, by, cpu, how });
    }

    /// It had one when the recording began.
    pub fn was_there(&mut self, task: Slot, cpu: u16, from: u64) {
        self.begin(Run { from, to: from, waited_from: from, task, by: task, cpu, how: CUT });
    }

    fn begin(&mut self, run: Run) {
        let place = run.task as usize;
        if place >= self.begun.len() {
            self.begun.resize(place + 1, None);
        }
        self.begun[place] = Some(run);
    }

    /// It leaves, at a time in the window or not.
    pub fn leave(&mut self, task: Slot, to: u64, left: Option<Left>, window: (u64, u64)) {
        let end = match left {
            Some(Left::Runnable) => RUNNABLE,
            Some(Left::Sleeping) => SLEEPS,
            Some(Left::Uninterruptible) => UNINTERRUPTIBLE,
            Some(Left::Stopped) => STOPPED,
            Some(Left::Dead) => DEAD,
            None => UNKNOWN,
        };
        let Some(run) = self.begun.get_mut(task as usize).and_then(Option::take) else { return };
        if to < window.0 || run.waited_from > window.1 {
            return;
        }
        if self.runs.len() == MOST_RUNS {
            self.left_out += 1;
            return;
        }
        self.runs.push(Run { to, how: run.how | end << 2, ..run });
    }

    /// When it left is not known.
    pub fn forget(&mut self, task: Slot) {
        if let Some(run) = self.begun.get_mut(task as usize) {
            *run = None;
        }
    }
}

/// What a run came after, and by whom; the task itself stands for none.
pub(crate) fn code(after: After, task: Slot) -> (u16, Slot) {
    match after {
        After::Waking(waking) => (WOKEN | (waking.cause as u16) << 5, waking.waker),
        After::Preemption(by) => (PREEMPTED, by),
        After::Start => (NEW, task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: (u64, u64) = (0, u64::MAX);

    #[test]
    fn runs_that_do_not_reach_into_the_window_are_left_out() {
        let mut timeline = Timeline::default();
        for (from, waited_from, to) in [(10, 10, 19), (30, 25, 40), (60, 41, 70), (60, 39, 70)] {
            timeline.enter(0, 0, from, Some((After::Start, waited_from)));
            timeline.leave(0, to, Some(Left::Sleeping), (20, 40));
        }
        let kept: Vec<_> = timeline.runs.iter().map(|run| (run.from, run.waited_from, run.to)).collect();
        assert_eq!(kept, [(30, 25, 40), (60, 39, 70)], "those that run or wait in it");
    }

    #[test]
    fn a_run_that_never_began_or_is_forgotten_does_not_end() {
        let mut timeline = Timeline::default();
        timeline.leave(7, 5, Some(Left::Dead), ALL);
        timeline.enter(7, 0, 6, None);
        timeline.forget(7);
        timeline.leave(7, 9, None, ALL);
        assert!(timeline.runs.is_empty());
    }
}
