//! How waits are replayed.

use super::Causes;
use crate::{
    causes::Cause,
    history::{RARE, Step, Task},
    timers::{Timers, timers},
};
use schedlab_model::replay::Act;

/// From when until when, of a wait that a timer ended.
pub(super) fn timer_wait(step: &Step) -> Option<(u64, u64)> {
    match *step {
        Step::Wait { from, to, cause: Cause::Timer } => Some((from, to)),
        _ => None,
    }
}

/// How a task's waits are taken that other tasks do not end.
#[derive(Clone, Copy)]
pub(super) struct Alone {
    timers: Timers,
    /// Timers are timeouts: they are rare among its waits for other tasks, and their times are not the task's own.
    pub timeouts: bool,
    /// Those of unknown cause are as rare: another task ended them, too, and they last as long as they did.
    strays: bool,
}

impl Alone {
    /// Of a task with these waits for timers.
    pub fn of(task: &Task, waits: &[(u64, u64)]) -> Alone {
        let timeouts = is_rare(task, waits.len());
        let is_unknown = |step: &&Step| matches!(step, Step::Wait { cause: Cause::Unknown, .. });
        let strays = is_rare(task, task.steps.iter().filter(is_unknown).count());
        Alone {
            timers: if timeouts || task.starts.are_relative() { Timers::Relative } else { timers(waits) },
            timeouts,
            strays,
        }
    }
}

/// Whether that many of its waits are rare among those for other tasks.
fn is_rare(task: &Task, waits: usize) -> bool {
    let is_by_task =
        |step: &&Step| matches!(step, Step::Wait { cause: Cause::Task(_), .. } | Step::Meet { waited: Some(_), .. });
    let by_tasks = task.steps.iter().filter(is_by_task).count();
    RARE * waits <= by_tasks
}

/// What a task does in place of such a wait, and counts it.
pub(super) fn wait(cause: Cause, from: u64, to: u64, alone: Alone, causes: &mut Causes) -> Act {
    let (act, count) = match (cause, alone.timers) {
        (Cause::Task(edge), _) => (Act::Wait(edge), &mut causes.tasks),
        (Cause::Timer, Timers::Absolute) => (Act::Until(to), &mut causes.absolute),
        (Cause::Timer, Timers::Relative) => (Act::Sleep(to - from), &mut causes.relative),
        (Cause::Device, _) => (Act::Sleep(to - from), &mut causes.devices),
        (Cause::Outside, _) => (Act::Until(to), &mut causes.outside),
        (Cause::Unknown, _) if alone.strays => (Act::Sleep(to - from), &mut causes.unknown),
        (Cause::Unknown, _) => (Act::Until(to), &mut causes.unknown),
    };
    *count += 1;
    act
}
