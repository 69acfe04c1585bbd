//! Tasks that take what others send to them as it comes: readers of one pipe into which several write, and those that wait for several
//! connections at once.
//!
//! ```text
//! inbox    two tasks or more end its waits, the second most frequent of them a twentieth, and at least 8
//! ```
//!
//! In the recording one of them was first, and in a replay it may be another. That wait ends then, too: the n-th takes the n-th wakeup that
//! is sent to the task. No wait can last for ever: in the recording the n-th had been sent by then, and in later passes nothing is waited for in
//! place of a sender that has ended (`sim`).

use crate::{
    edges::Edges,
    history::{RARE, Step, Task},
};
use hashbrown::HashMap;

/// Fewer waits are chance.
const FEW: usize = 8;

/// Whether a task has one.
pub(crate) fn has_several_senders(task: &Task, edges: &Edges) -> bool {
    let mut senders: HashMap<usize, usize> = HashMap::new();
    let waits = task.steps.iter().filter(|step| matches!(step, Step::Wait { .. }));
    waits.filter_map(|step| edges.waker(step)).for_each(|sender| *senders.entry(sender).or_default() += 1);
    let all: usize = senders.values().sum();
    let mut counts: Vec<usize> = senders.into_values().collect();
    counts.sort_unstable();
    counts.iter().rev().nth(1).is_some_and(|&second| second >= FEW && RARE * second >= all)
}
