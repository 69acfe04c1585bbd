//! A processor: what runs on it, how long its runqueue is, and its last runs.

use crate::{blocks::Curve, cause::Interrupts, slot::Slot};
use schedlab_traces::kernel::Pid;

/// Runs of a processor that are remembered, to say what ran during a wait.
const REMEMBERED: usize = 1024;
/// Lengths of runqueues that are distinguished; longer ones count as the last.
pub(crate) const LENGTHS: usize = 17;

/// A task had the processor. The idle task is one, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub task: Slot,
    pub from: u64,
    pub to: u64,
}

/// What is known of who has the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Current {
    /// Nothing was seen of it yet.
    Unseen,
    /// This task, since its last switch.
    Known(Pid),
    /// Its task was seen elsewhere: events are missing, and that was counted.
    Missing,
}

/// A processor of a recording. Times in ns.
#[derive(Debug)]
pub(crate) struct Processor {
    pub current: Current,
    /// The next task of its last switch, which has to be the previous one of the next.
    pub next_pid: Pid,
    /// Its last switch.
    pub since: u64,
    pub interrupts: Interrupts,
    /// Tasks that wait in its runqueue.
    pub waiting: u32,
    /// Whether a task runs, whichever it is.
    pub busy: bool,
    /// Time for which tasks, and the idle task, had it for certain.
    pub ran: u64,
    pub idle: u64,
    pub switches: u64,
    /// Up to when `lengths` is counted.
    pub counted: u64,
    /// Time by length of the runqueue, the running task included.
    pub lengths: [u64; LENGTHS],
    /// Sum of length times time, task ns.
    pub queued: u128,
    pub longest: u32,
    /// Length times time by blocks of the recording.
    pub curve: Curve,
    /// Time it was idle while a task waited for another processor.
    pub wasted: u64,
    /// The clock of such moments when it became free; see `queues`.
    pub free_since: Option<u64>,
    runs: Vec<Run>,
    /// Where the next run goes.
    place: usize,
}

impl Processor {
    pub fn new(now: u64) -> Processor {
        Processor {
            current: Current::Unseen,
            next_pid: 0,
            since: now,
            interrupts: Interrupts::default(),
            waiting: 0,
            busy: false,
            ran: 0,
            idle: 0,
            switches: 0,
            counted: now,
            lengths: [0; LENGTHS],
            queued: 0,
            longest: 0,
            curve: Curve::default(),
            wasted: 0,
            free_since: None,
            runs: Vec::new(),
            place: 0,
        }
    }

    /// Remembers a run.
    #[inline]
    pub fn remember(&mut self, run: Run) {
        if self.runs.len() < REMEMBERED {
            self.runs.push(run);
        } else {
            self.runs[self.place] = run;
        }
        self.place = (self.place + 1) % REMEMBERED;
    }

    /// The runs since a time, the last one first, and whether earlier ones of that time were forgotten.
    pub fn runs_since(&self, time: u64) -> (Vec<Run>, bool) {
        let (new, old) = self.runs.split_at(self.place.min(self.runs.len()));
        let last_first = new.iter().rev().chain(old.iter().rev());
        let found: Vec<Run> = last_first.copied().take_while(|run| run.to > time).collect();
        let forgotten = found.len() == REMEMBERED && found.last().is_some_and(|run| run.from > time);
        (found, forgotten)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_runs_are_remembered_and_forgotten_ones_are_said() {
        let mut cpu = Processor::new(0);
        for at in 0..10 {
            cpu.remember(Run { task: 1, from: at, to: at + 1 });
        }
        assert_eq!(cpu.runs_since(7).0.iter().map(|run| run.from).collect::<Vec<_>>(), [9, 8, 7]);
        for at in 10..REMEMBERED as u64 + 20 {
            cpu.remember(Run { task: 1, from: at, to: at + 1 });
        }
        let (all, forgotten) = cpu.runs_since(0);
        assert_eq!((all.len(), all[0].from, forgotten), (REMEMBERED, REMEMBERED as u64 + 19, true));
        assert!(!cpu.runs_since(20).1);
    }
}
