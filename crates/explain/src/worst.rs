//! The longest waits of runnable tasks, each with what had the processors meanwhile.

use crate::{
    processor::{Processor, Run},
    slot::{IDLE, Slot},
    task::Waking,
};

/// Waits that are kept.
const KEPT: usize = 10;
/// Other processors that are looked at for each.
const LOOKED_AT: usize = 1024;
/// Tasks that are named for each.
const NAMED: usize = 8;

/// What a task waited after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// Being woken.
    Waking(Waking),
    /// Being preempted, by that task.
    Preemption(Slot),
    /// Being made.
    Start,
}

/// A wait in a runqueue. Times in ns.
#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub task: Slot,
    pub after: After,
    pub from: u64,
    pub to: u64,
    /// Where it ended.
    pub cpu: u16,
    /// The task's priority, 0 if not known.
    pub priority: u32,
    /// What ran there meanwhile, and how long; the longest first.
    pub ran: Vec<(Slot, u64)>,
    /// How long other tasks ran than those that are named.
    pub others: u64,
    /// How long that processor, and in sum the others, had nothing to run.
    pub idle: u64,
    pub idle_elsewhere: u64,
    /// Whether runs of the wait's beginning are forgotten.
    pub forgotten: bool,
}

/// The longest of them, longest first.
#[derive(Debug, Default)]
pub(crate) struct Worst {
    pub waits: Vec<Wait>,
    least: u64,
}

impl Worst {
    /// Whether a wait of that length is one of the longest.
    #[inline]
    pub fn takes(&self, wait: u64) -> bool {
        wait > self.least
    }

    /// Adds one, as it ends on one of the processors.
    #[cold]
    pub fn add(&mut self, mut wait: Wait, processors: &[Processor]) {
        let here = processors.get(usize::from(wait.cpu)).map(|it| (usize::from(wait.cpu), it));
        let others = processors.iter().enumerate().filter(|it| it.0 != usize::from(wait.cpu));
        for (cpu, processor) in here.into_iter().chain(others.take(LOOKED_AT)) {
            let (runs, forgotten) = processor.runs_since(wait.from);
            // The current run is not remembered yet, unless it has just ended.
            let current = (!processor.busy && processor.switches > 0).then_some((IDLE, processor.since));
            let current = current.map(|(task, from)| Run { task, from, to: wait.to });
            let part = |run: &Run| run.to.min(wait.to).saturating_sub(run.from.max(wait.from));
            let here = cpu == usize::from(wait.cpu);
            for run in runs.iter().chain(current.iter().filter(|_| !here)) {
                match (run.task, here) {
                    (IDLE, true) => wait.idle += part(run),
                    (IDLE, false) => wait.idle_elsewhere += part(run),
                    (task, true) => match wait.ran.iter_mut().find(|it| it.0 == task) {
                        Some(it) => it.1 += part(run),
                        None => wait.ran.push((task, part(run))),
                    },
                    _ => {}
                }
            }
            wait.forgotten |= here && forgotten;
        }
        wait.ran.retain(|it| it.1 > 0);
        wait.ran.sort_by_key(|it| std::cmp::Reverse(it.1));
        wait.others = wait.ran.iter().skip(NAMED).map(|it| it.1).sum();
        wait.ran.truncate(NAMED);
        let place = self.waits.partition_point(|it| it.to - it.from >= wait.to - wait.from);
        self.waits.insert(place, wait);
        self.waits.truncate(KEPT);
        if self.waits.len() == KEPT {
            self.least = self.waits[KEPT - 1].to - self.waits[KEPT - 1].from;
        }
    }
}
