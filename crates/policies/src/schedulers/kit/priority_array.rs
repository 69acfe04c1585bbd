//! Lists by priority, and a bitmap of those that are not empty: the best task is found in constant time, however
//! many there are.

use super::queue::{Links, List};
use schedlab_model::task::TaskId;

/// Words of the bitmap: enough for the most lists that an array may have.
const WORDS: usize = 4;

/// `LISTS` lists; the first is the best.
#[derive(Debug, Clone)]
pub struct PriorityArray<const LISTS: usize> {
    lists: [List; LISTS],
    /// A bit for each list that is not empty.
    occupied: [u64; WORDS],
    tasks: usize,
}

impl<const LISTS: usize> Default for PriorityArray<LISTS> {
    fn default() -> Self {
        const { assert!(LISTS <= WORDS * 64, "more lists than bits") };
        PriorityArray { lists: [List::default(); LISTS], occupied: [0; WORDS], tasks: 0 }
    }
}

impl<const LISTS: usize> PriorityArray<LISTS> {
    /// Whether it is empty.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.tasks == 0
    }

    /// The list of that priority.
    #[inline(always)]
    pub fn list(&self, priority: usize) -> &List {
        &self.lists[priority]
    }

    /// The best priority of any task, from this one on.
    #[inline]
    pub fn first_from(&self, priority: usize) -> Option<usize> {
        let (word, bit) = (priority / 64, priority % 64);
        let rest = self.occupied.get(word)? & (u64::MAX << bit);
        if rest != 0 {
            return Some(word * 64 + rest.trailing_zeros() as usize);
        }
        // No further than there are lists, which spares the short arrays most of the search.
        (word + 1..LISTS.div_ceil(64))
            .find(|&w| self.occupied[w] != 0)
            .map(|w| w * 64 + self.occupied[w].trailing_zeros() as usize)
    }

    /// The best priority of any task.
    #[inline(always)]
    pub fn first(&self) -> Option<usize> {
        self.first_from(0)
    }

    /// Goes through the tasks, the best priority first, each list from its tail, until one is taken.
    pub fn find_from_tails(&self, links: &Links, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        let mut priority = self.first();
        while let Some(at) = priority {
            let list = &self.lists[at];
            let mut next = list.tail();
            while let Some(task) = next {
                if takes(task, at) {
                    return Some(task);
                }
                next = list.before(links, task);
            }
            priority = self.first_from(at + 1);
        }
        None
    }

    /// Adds a task at the end of its list.
    #[inline(always)]
    pub fn push_tail(&mut self, links: &mut Links, priority: usize, task: TaskId) {
        self.lists[priority].push_tail(links, task);
        self.entered(priority);
    }

    /// Adds a task just before one that is in the list of that priority.
    #[inline]
    pub fn insert_before(&mut self, links: &mut Links, priority: usize, mark: TaskId, task: TaskId) {
        self.lists[priority].insert_before(links, mark, task);
        self.entered(priority);
    }

    /// Takes a task out of its list.
    #[inline]
    pub fn remove(&mut self, links: &mut Links, priority: usize, task: TaskId) {
        self.lists[priority].remove(links, task);
        self.tasks -= 1;
        if self.lists[priority].is_empty() {
            self.occupied[priority / 64] &= !(1 << (priority % 64));
        }
    }

    #[inline(always)]
    fn entered(&mut self, priority: usize) {
        self.tasks += 1;
        self.occupied[priority / 64] |= 1 << (priority % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All tasks, best first.
    fn order(array: &PriorityArray<140>, links: &Links) -> Vec<TaskId> {
        let mut all = Vec::new();
        let mut next = array.first();
        while let Some(priority) = next {
            let list = array.list(priority);
            let backwards = std::iter::successors(list.tail(), |&task| list.before(links, task));
            all.extend(backwards.collect::<Vec<_>>().into_iter().rev());
            next = array.first_from(priority + 1);
        }
        all
    }

    #[test]
    fn tasks_stand_by_priority_and_within_it_by_arrival() {
        let (mut array, mut links) = (PriorityArray::<140>::default(), Links::default());
        for (task, priority) in [139, 0, 64, 63, 64, 139, 128].into_iter().enumerate() {
            array.push_tail(&mut links, priority, task as TaskId);
        }
        assert_eq!(order(&array, &links), [1, 3, 2, 4, 6, 0, 5]);
    }

    #[test]
    fn a_list_that_empties_is_not_found_any_more() {
        let (mut array, mut links) = (PriorityArray::<140>::default(), Links::default());
        array.push_tail(&mut links, 70, 0);
        array.push_tail(&mut links, 70, 1);
        array.remove(&mut links, 70, 0);
        assert_eq!(array.first(), Some(70));
        array.remove(&mut links, 70, 1);
        assert_eq!((array.first(), array.is_empty()), (None, true));
    }

    #[test]
    fn a_task_is_put_before_another_at_the_head_and_in_the_middle() {
        let (mut array, mut links) = (PriorityArray::<140>::default(), Links::default());
        for task in 0..3 {
            array.push_tail(&mut links, 5, task);
        }
        array.insert_before(&mut links, 5, 0, 3);
        array.insert_before(&mut links, 5, 2, 4);
        assert_eq!(order(&array, &links), [3, 0, 1, 4, 2]);
    }
}
