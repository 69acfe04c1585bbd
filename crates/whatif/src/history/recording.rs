//! A recording, taken apart into its tasks and times.

use super::{
    meetings::Barrier,
    task::{Step, Task},
};

/// A recording, taken apart.
#[derive(Debug, Default)]
pub struct Recording {
    /// Its tasks, in the order in which they were first seen.
    pub tasks: Vec<Task>,
    /// Edges are numbered from 0 to below this.
    pub edges: u32,
    /// From the first to the last event, ns.
    pub span: u64,
    /// The numbers of the processors that were recorded, ascending: others may exist, and tasks may have run there unseen.
    pub processors: Vec<u16>,
    /// From a wakeup to the switch to the woken task where nothing was in its way, by `model::replay::Waking`, ns.
    pub delays: [Vec<u32>; 3],
    /// Tasks that meet at barriers.
    pub barriers: Vec<Barrier>,
    /// Times of switches from tasks that could run to tasks that were not just woken, ns on the clock of the file.
    pub preemptions: Vec<u64>,
    /// Whether the processors are virtual ones that count as preempted when they have halted. See `halting`.
    pub halts: bool,
    /// Whether processors that are idle for short times pull hardly any task: looking for one costs more. See `looking`.
    pub looks_in_vain: bool,
    /// Tasks that were current on a processor which had gone to another one: the switch to them was not recorded.
    pub repaired: u64,
}

impl Recording {
    /// By edge, whether the task that signals it lives at the end.
    pub(super) fn lasting(&self) -> Vec<bool> {
        let mut lasting = vec![false; self.edges as usize];
        for task in self.tasks.iter().filter(|task| task.life.1.is_none()) {
            for step in &task.steps {
                if let Step::Signal { edge, .. } = step {
                    lasting[*edge as usize] = true;
                }
            }
        }
        lasting
    }
}
