//! What is noted of a task for its placement: when it ran and where, whom it wakes, and what it is likely to need.

use schedlab_model::{
    Nanos,
    task::{CpuId, Task, TaskId},
};

/// What is known of a task.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// When it last had a processor; 0 if it has not run since it moved.
    pub ran: Nanos,
    /// It waits for a message: the sender is likely to wait soon.
    pub paired: bool,
    /// What it is likely to need when it runs next (util_est).
    pub util_est: u64,
    /// The processor before the last one (recent_used_cpu).
    pub recent: CpuId,
    /// Whom it woke last, how often that was another one than before, and when that number was last halved. (record_wakee)
    pub wakee: Option<TaskId>,
    pub flips: u64,
    pub halved: Nanos,
}

impl Past {
    pub fn new(task: &Task) -> Past {
        Past { ran: 0, paired: false, util_est: 0, recent: task.cpu, wakee: None, flips: 0, halved: 0 }
    }

    /// A new process is a copy of its parent and has woken as many as that one. (dup_task_struct; sched_fork resets none of this, in 5.10 as in 6.18)
    pub fn of_child(task: &Task, parent: &Past) -> Past {
        let &Past { wakee, flips, halved, .. } = parent;
        Past { wakee, flips, halved, ..Past::new(task) }
    }
}
