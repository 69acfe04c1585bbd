//! The runqueue by key that many policies are built on: for each processor a [`Timeline`], in which a task that joins with
//! the greatest key costs as little as one that leaves first, and which a task can also leave from the middle. Equal keys are
//! served in order of arrival.

use super::timeline::Timeline;
use crate::schedulers::Context;
use schedlab_model::task::{CpuId, TaskId};

/// A queue for each processor: the tasks that wait, the least key first. The running task is not among them.
#[derive(Debug)]
pub struct Ordered<K> {
    lines: Vec<Line<K>>,
    /// The key with which each task joined; stale for those that have left.
    keys: Vec<K>,
}

#[derive(Debug, Default)]
struct Line<K> {
    waiting: Timeline<K>,
    count: usize,
}

impl<K: Ord + Copy + Default> Ordered<K> {
    /// Empty ones.
    pub fn new(processors: u16) -> Ordered<K> {
        Ordered { lines: (0..processors).map(|_| Line::default()).collect(), keys: Vec::new() }
    }

    /// Whether no task waits for a processor.
    #[inline]
    pub fn is_empty(&self, cpu: CpuId) -> bool {
        self.count(cpu) == 0
    }

    /// The first by key.
    #[inline]
    pub fn first(&self, cpu: CpuId) -> Option<TaskId> {
        self.lines[cpu as usize].waiting.first().map(|(task, ..)| task)
    }

    /// How many wait for a processor.
    #[inline]
    pub fn count(&self, cpu: CpuId) -> usize {
        self.lines[cpu as usize].count
    }

    /// A task joins.
    #[inline]
    pub fn join(&mut self, cpu: CpuId, task: TaskId, key: K) {
        if task as usize >= self.keys.len() {
            self.keys.resize(task as usize + 1, K::default());
        }
        self.keys[task as usize] = key;
        let line = &mut self.lines[cpu as usize];
        line.waiting.insert(key, 0, task);
        line.count += 1;
    }

    /// The first by key leaves, to run.
    #[inline]
    pub fn next(&mut self, cpu: CpuId) -> Option<TaskId> {
        let line = &mut self.lines[cpu as usize];
        let first = line.waiting.take_first()?;
        line.count -= 1;
        Some(first)
    }

    /// A task will not come back, or not to this processor. One that runs has left already.
    #[inline]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        if cx.processors[cpu as usize].running != Some(task) {
            self.remove(cpu, task);
        }
    }

    /// A task that waits leaves.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId, task: TaskId) {
        let line = &mut self.lines[cpu as usize];
        line.waiting.remove(self.keys[task as usize], task);
        line.count -= 1;
    }

    /// All that wait for a processor.
    pub fn waiting(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> {
        self.lines[cpu as usize].waiting.entities()
    }

    /// The first by key of those of which this is true.
    pub fn find(&self, cpu: CpuId, is: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        self.waiting(cpu).find(|&task| is(task))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Processor, View, Wishes};
    use schedlab_model::{processors::PerProcessor, rng::Rng, task::Group};

    #[test]
    fn tasks_leave_by_key_then_by_arrival_also_after_others_left_from_the_middle() {
        let (mut numbers, mut own) = (Rng::stream(1, 1), Rng::stream(1, 2));
        let (groups, processors) = (vec![Group::ROOT], PerProcessor::new(1, |_| Processor::default()));
        let view = View { groups, processors, ..View::default() };
        let cx = Context { now: 0, view: &view, rng: &mut own, wishes: &mut Wishes::default() };
        let (mut queue, mut kept) = (Ordered::new(1), Vec::new());
        for task in 0..500 {
            let key = numbers.below(50);
            queue.join(0, task, key);
            kept.push((key, task));
            if numbers.below(3) == 0 {
                let (_, gone) = kept.swap_remove(numbers.below(kept.len() as u64) as usize);
                queue.leave(&cx, 0, gone);
            }
        }
        kept.sort_unstable();
        let even = kept.iter().map(|pair| pair.1).find(|task| task % 2 == 0);
        assert_eq!(queue.find(0, |task| task % 2 == 0), even);
        assert_eq!((queue.first(0), queue.count(0)), (Some(kept[0].1), kept.len()));
        let left: Vec<_> = std::iter::from_fn(|| queue.next(0)).collect();
        assert_eq!(left, kept.iter().map(|pair| pair.1).collect::<Vec<_>>());
    }
}
