//! The lists of the real-time classes: a first-in first-out list for each priority, of which the best with a task is found in
//! one step. Who runs stays at the head of its list.

use super::queue::{Links, List};
use schedlab_model::task::TaskId;

/// Priorities, 0 the best. SCHED_FIFO and SCHED_RR have 0 to 98 (99 less `rt_priority`, as in the kernel).
const COUNT: usize = 100;
/// The last one, which real time does not use.
pub const LAST: u8 = COUNT as u8 - 1;

/// All lists of a processor.
#[derive(Debug)]
pub struct Priorities {
    lists: Vec<List>,
    /// Lists with a task, a bit each.
    used: u128,
}

impl Default for Priorities {
    fn default() -> Self {
        Priorities { lists: vec![List::default(); COUNT], used: 0 }
    }
}

impl Priorities {
    /// Puts a task into the list of a priority, before all others of it or after.
    #[inline]
    pub fn push(&mut self, links: &mut Links, priority: u8, task: TaskId, ahead: bool) {
        let list = &mut self.lists[priority as usize];
        if ahead {
            list.push_head(links, task)
        } else {
            list.push_tail(links, task)
        }
        self.used |= 1 << priority;
    }

    /// Takes a task out of the list of its priority.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, priority: u8, task: TaskId) {
        let list = &mut self.lists[priority as usize];
        list.remove(links, task);
        self.used &= !(u128::from(list.is_empty()) << priority);
    }

    /// The first task of the best list that has one, and its priority.
    #[inline]
    pub fn first(&self) -> Option<(u8, TaskId)> {
        let priority = self.used.trailing_zeros();
        let task = self.lists.get(priority as usize)?.head()?;
        Some((priority as u8, task))
    }
}
