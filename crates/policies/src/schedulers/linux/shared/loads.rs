//! The recent loads of queues, entities and groups, where there are several processors: what is kept. Every entity has an average of the
//! time for which it could run; times its weight, that is its load. A queue's load is the sum of its entities' loads, of those
//! that sleep too.

use super::pelt::{Averages, FRACTION};

/// Weight times the time able to run; of an entity, that time alone.
pub const LOAD: usize = 0;
/// Time able to run, and of it time on a processor, of all tasks of a processor or of one. Not kept for groups.
pub const RUNNABLE: usize = 1;
pub const UTIL: usize = 2;
/// Time that tasks of the real-time class had the processor.
pub const REALTIME: usize = 3;
/// What a processor can do, and a task that always runs has done.
pub const FULL: u64 = 1024;
/// That, scaled as averages are.
pub const WHOLE: i64 = (FULL << FRACTION) as i64;
/// A queue reports a change of its load to its group if it is more than this part of what it reported last.
pub const REPORTED: u64 = 64;

/// What is kept of a queue.
#[derive(Debug, Default, Clone, Copy)]
pub struct QueueLoad {
    pub averages: Averages<4>,
    /// What is in the sum of its group's loads.
    pub reported: u64,
    /// Of the tasks that came less those that left: their time able to run, as far as the group's entity does not have it yet.
    pub moved: i64,
    /// A task of the real-time class runs.
    pub realtime: bool,
}

/// All of them. Empty where there is one processor.
#[derive(Debug, Default)]
pub struct Loads {
    /// Of all queues.
    pub queues: Vec<QueueLoad>,
    /// Of groups' entities, and of those of tasks.
    pub entities: Vec<Averages<3>>,
    /// For each group, the sum of the loads of its queues, as reported.
    pub groups: Vec<u64>,
}

impl Loads {
    /// Makes room.
    pub fn admit(&mut self, queues: usize, entities: usize, groups: usize) {
        self.queues.resize(queues, QueueLoad::default());
        self.entities.resize(entities, Averages::default());
        self.groups.resize(groups, 0);
    }
}
