//! Control groups of tasks: from the state at the start of a recording of our own.

use crate::task::Task;
use hashbrown::HashMap;
use schedlab_traces::kernel::{self, Head, Pid};

/// The group of a task of which the recording does not say it.
const NOT_KNOWN: &str = "(not known)";
/// Generations of tasks made during a recording that are followed.
const GENERATIONS: usize = 64;

/// Groups by the numbers of tasks, as they were when the recording began.
#[derive(Debug, Default)]
pub(crate) struct Groups<'a> {
    of: HashMap<Pid, &'a str>,
    /// The recording is one of a run, whose numbers of tasks do not come again: it says the group of those that begin later, too.
    whole: bool,
}

impl<'a> Groups<'a> {
    /// Those that a file has; without a state none.
    pub fn of(head: &'a Head) -> Groups<'a> {
        let tasks = head.state.as_deref().into_iter().flat_map(|state| &state.tasks);
        let of = tasks.map(|task| (task.pid, task.group.as_str())).collect();
        Groups { of, whole: head.format == kernel::OWN }
    }

    /// The group of a task: its own if it was there at the start, else that of the one that made it. Moves are not recorded.
    pub fn group(&self, all: &[Task], task: &Task, start: u64) -> &'a str {
        let parent = |task: &Task| all.get(task.parent as usize);
        let line = std::iter::successors(Some(task), |task| parent(task)).take(GENERATIONS);
        let mut there = line.filter(|task| (self.whole || task.born <= start) && parent(task).is_none());
        there
            .next()
            .and_then(|task| self.of.get(&task.pid))
            .copied()
            .filter(|group| !group.is_empty())
            .unwrap_or(NOT_KNOWN)
    }
}
