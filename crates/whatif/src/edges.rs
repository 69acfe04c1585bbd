//! Who woke whom: the wakeups of a recording by their edges.

use crate::{
    causes::Cause,
    history::{Step, Task},
};

/// A wakeup by a task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wakeup {
    /// The task that woke the other; none if it is not known.
    waker: usize,
    /// The one that waited.
    pub waiter: usize,
    /// From when until when it did, ns since the recording began. What it found without a wait was there at any time.
    pub from: u64,
    pub to: u64,
}

/// No task.
const NONE: usize = usize::MAX;

/// All wakeups by tasks.
pub(crate) struct Edges(Vec<Wakeup>);

impl Edges {
    pub fn of(tasks: &[Task], edges: u32) -> Edges {
        let unknown = Wakeup { waker: NONE, waiter: NONE, from: 0, to: u64::MAX };
        let mut all = vec![unknown; edges as usize];
        for (number, task) in tasks.iter().enumerate() {
            for step in &task.steps {
                match *step {
                    Step::Signal { edge, .. } => all[edge as usize].waker = number,
                    Step::Found(edge) => all[edge as usize].waiter = number,
                    Step::Wait { from, to, cause: Cause::Task(edge) } => {
                        let edge = &mut all[edge as usize];
                        (edge.waiter, edge.from, edge.to) = (number, from, to);
                    }
                    _ => {}
                }
            }
        }
        Edges(all)
    }

    /// The task that ended a wait, and none of what is no wait for another task.
    pub fn waker(&self, step: &Step) -> Option<usize> {
        match *step {
            Step::Wait { cause: Cause::Task(edge), .. } | Step::Found(edge) => Some(self.0[edge as usize].waker),
            _ => None,
        }
    }

    /// The wakeup that a step is.
    pub fn wakeup(&self, step: &Step) -> Option<&Wakeup> {
        if let Step::Signal { edge, .. } = *step { self.0.get(edge as usize) } else { None }
    }

    /// The task that a step wakes.
    pub fn woken(&self, step: &Step) -> Option<usize> {
        self.wakeup(step).map(|wakeup| wakeup.waiter)
    }
}
