//! The longest waits of runnable tasks, each with what had the processors meanwhile.

use crate::{
    history::History,
    processor::Processor,
    slot::{IDLE, Slot},
    task::Waking,
};
use hashbrown::HashMap;

/// Waits that are kept.
const KEPT: usize = 10;
/// Processors that are looked at for each, for what goes on there.
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
    /// Whether some of what ran is forgotten.
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
    pub fn add(&mut self, mut wait: Wait, history: &History, processors: &[Processor]) {
        wait.forgotten = !history.knows(wait.from);
        let mut ran = HashMap::new();
        for part in history.between(wait.from, wait.to) {
            match (part.task, part.cpu == wait.cpu) {
                (IDLE, true) => wait.idle += part.time,
                (IDLE, false) => wait.idle_elsewhere = wait.idle_elsewhere.saturating_add(part.time),
                (task, true) => *ran.entry(task).or_default() += part.time,
                (_, false) => continue,
            }
            wait.forgotten |= !part.exact;
        }
        wait.idle_elsewhere = wait.idle_elsewhere.saturating_add(idle_now(&wait, processors));
        wait.ran = ran.into_iter().collect();
        wait.ran.sort_unstable_by_key(|it| (std::cmp::Reverse(it.1), it.0));
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

/// How long other processors were idle that still are: that is no run yet.
fn idle_now(wait: &Wait, processors: &[Processor]) -> u64 {
    let others = processors.iter().enumerate().take(LOOKED_AT).filter(|it| it.0 != usize::from(wait.cpu));
    let idle = others.map(|it| it.1).filter(|processor| !processor.busy && processor.switches > 0);
    idle.fold(0, |sum: u64, it| sum.saturating_add(wait.to.saturating_sub(it.since.max(wait.from))))
}
