//! Control groups of tasks: from the state at the start of a recording of our own.

use crate::task::Task;
use hashbrown::HashMap;
use schedlab_traces::kernel::{Head, Pid};

/// The group of a task of which the recording does not say it.
const NOT_KNOWN: &str = "(not known)";
/// Generations of tasks made during a recording that are followed.
const GENERATIONS: usize = 64;

/// Groups by the numbers of tasks, as they were when the recording began.
#[derive(Debug, Default)]
pub(crate) struct Groups<'a>(HashMap<Pid, &'a str>);

impl<'a> Groups<'a> {
    /// Those that a file has; without a state none.
    pub fn of(head: &'a Head) -> Groups<'a> {
        let tasks = head.state.as_deref().into_iter().flat_map(|state| &state.tasks);
        Groups(tasks.map(|task| (task.pid, task.group.as_str())).collect())
    }

    /// The group of a task: its own if it was there at the start, else that of the one that made it. Moves are not recorded.
    pub fn group(&self, all: &[Task], task: &Task, start: u64) -> &'a str {
        let parent = |task: &Task| all.get(task.parent as usize);
        let line = std::iter::successors(Some(task), |task| parent(task)).take(GENERATIONS);
        let mut there = line.filter(|task| task.born <= start && parent(task).is_none());
        there
            .next()
            .and_then(|task| self.0.get(&task.pid))
            .copied()
            .filter(|group| !group.is_empty())
            .unwrap_or(NOT_KNOWN)
    }
}
