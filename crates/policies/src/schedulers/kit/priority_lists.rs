//! Lists of tasks by priority: four priorities share a list, and a bit for each list that is not empty finds the best one
//! at once. The runqueue of the BSDs since 1983, and of what grew from it.

use super::queue::{Links, List};
use schedlab_model::task::TaskId;

/// Priorities that share a list (`RQ_PPQ`; `PPQ` before 5.0).
pub const PER_LIST: u16 = 4;

/// Which end of its list a task joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It runs before its equals.
    Head,
    /// It runs after its equals.
    Tail,
}

/// The lists, the first of them the best; 128 at most.
#[derive(Debug, Clone)]
pub struct PriorityLists<const LISTS: usize> {
    lists: [List; LISTS],
    /// A bit for each list that is not empty.
    occupied: u128,
}

impl<const LISTS: usize> Default for PriorityLists<LISTS> {
    fn default() -> Self {
        PriorityLists { lists: [List::default(); LISTS], occupied: 0 }
    }
}

impl<const LISTS: usize> PriorityLists<LISTS> {
    /// A task of that priority joins.
    #[inline(always)]
    pub fn add(&mut self, links: &mut Links, task: TaskId, priority: u16, end: End) {
        let index = usize::from(priority / PER_LIST);
        let list = &mut self.lists[index];
        match end {
            End::Head => list.push_head(links, task),
            End::Tail => list.push_tail(links, task),
        }
        self.occupied |= 1 << index;
    }

    /// A task leaves, which joined with that priority.
    #[inline(always)]
    pub fn remove(&mut self, links: &mut Links, task: TaskId, priority: u16) {
        let index = usize::from(priority / PER_LIST);
        self.lists[index].remove(links, task);
        if self.lists[index].is_empty() {
            self.occupied &= !(1 << index);
        }
    }

    /// The best task of which this is true.
    pub fn find(&self, links: &Links, is: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.lists.iter().find_map(|list| list.find(links, &is))
    }

    /// The head of the best list.
    #[inline]
    pub fn best(&self) -> Option<TaskId> {
        if self.occupied == 0 { None } else { self.lists[self.occupied.trailing_zeros() as usize].head() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_the_best_list_is_the_best() {
        let (mut lists, mut links) = (PriorityLists::<64>::default(), Links::default());
        assert_eq!(lists.best(), None);
        lists.add(&mut links, 0, 255, End::Tail);
        lists.add(&mut links, 1, 183, End::Tail);
        lists.add(&mut links, 2, 180, End::Tail);
        assert_eq!(lists.best(), Some(1));
        lists.add(&mut links, 3, 182, End::Head);
        assert_eq!(lists.best(), Some(3));
        for (task, priority, next) in [(3, 182, Some(1)), (1, 183, Some(2)), (2, 180, Some(0)), (0, 255, None)] {
            lists.remove(&mut links, task, priority);
            assert_eq!(lists.best(), next);
        }
    }
}
