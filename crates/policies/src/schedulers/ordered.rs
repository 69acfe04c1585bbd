//! The runqueue by key that many policies are built on: a binary heap a processor, with the place of every task in it, so
//! that a task can also leave from the middle. Equal keys are served in order of arrival.

use super::Context;
use schedlab_model::task::{CpuId, TaskId};

#[derive(Debug, Clone, Copy)]
struct Entry<K> {
    key: K,
    arrival: u64,
    task: TaskId,
}

impl<K: Ord> Entry<K> {
    #[inline(always)]
    fn before(&self, other: &Entry<K>) -> bool {
        (&self.key, self.arrival) < (&other.key, other.arrival)
    }
}

/// A queue for each processor: the tasks that wait, the least key first. Who runs is not among them.
#[derive(Debug)]
pub struct Ordered<K> {
    heaps: Vec<Vec<Entry<K>>>,
    /// Where each task stands in its heap; stale for those in none.
    places: Vec<u32>,
    arrivals: u64,
}

impl<K: Ord + Copy> Ordered<K> {
    /// Empty ones.
    pub fn new(processors: u16) -> Ordered<K> {
        Ordered { heaps: (0..processors).map(|_| Vec::new()).collect(), places: Vec::new(), arrivals: 0 }
    }

    /// Whether nobody waits for a processor.
    #[inline]
    pub fn is_empty(&self, cpu: CpuId) -> bool {
        self.heaps[cpu as usize].is_empty()
    }

    /// The first by key.
    #[inline]
    pub fn first(&self, cpu: CpuId) -> Option<TaskId> {
        self.heaps[cpu as usize].first().map(|entry| entry.task)
    }

    /// How many wait for a processor.
    #[inline]
    pub fn count(&self, cpu: CpuId) -> usize {
        self.heaps[cpu as usize].len()
    }

    /// A task joins.
    #[inline]
    pub fn join(&mut self, cpu: CpuId, task: TaskId, key: K) {
        if task as usize >= self.places.len() {
            self.places.resize(task as usize + 1, 0);
        }
        let heap = &mut self.heaps[cpu as usize];
        self.arrivals += 1;
        heap.push(Entry { key, arrival: self.arrivals, task });
        let last = heap.len() - 1;
        rise(heap, &mut self.places, last);
    }

    /// The first by key leaves, to run.
    #[inline]
    pub fn next(&mut self, cpu: CpuId) -> Option<TaskId> {
        let heap = &mut self.heaps[cpu as usize];
        let first = heap.first()?.task;
        take(heap, &mut self.places, 0);
        Some(first)
    }

    /// A task will not come back, or not to this processor. One that runs has left already.
    #[inline]
    pub fn leave(&mut self, cx: &Context<'_>, cpu: CpuId, task: TaskId) {
        if cx.processors[cpu as usize].running != Some(task) {
            let place = self.places[task as usize] as usize;
            take(&mut self.heaps[cpu as usize], &mut self.places, place);
        }
    }

    /// The first by key of those of which this is true.
    pub fn find(&self, cpu: CpuId, is: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let those = self.heaps[cpu as usize].iter().filter(|entry| is(entry.task));
        those.min_by_key(|entry| (entry.key, entry.arrival)).map(|entry| entry.task)
    }
}

/// Takes an entry out of a heap; the last one fills the hole.
#[inline]
fn take<K: Ord + Copy>(heap: &mut Vec<Entry<K>>, places: &mut [u32], at: usize) {
    heap.swap_remove(at);
    if at < heap.len() {
        let at = sink(heap, places, at);
        rise(heap, places, at);
    }
}

/// Moves an entry towards the head for as long as it goes before the one above it.
#[inline]
fn rise<K: Ord + Copy>(heap: &mut [Entry<K>], places: &mut [u32], mut at: usize) {
    let entry = heap[at];
    while at > 0 && entry.before(&heap[(at - 1) / 2]) {
        heap[at] = heap[(at - 1) / 2];
        places[heap[at].task as usize] = at as u32;
        at = (at - 1) / 2;
    }
    heap[at] = entry;
    places[entry.task as usize] = at as u32;
}

/// Moves an entry away from the head for as long as one below it goes before it; gives its new place.
#[inline]
fn sink<K: Ord + Copy>(heap: &mut [Entry<K>], places: &mut [u32], mut at: usize) -> usize {
    let entry = heap[at];
    while 2 * at + 1 < heap.len() {
        let (left, right) = (2 * at + 1, 2 * at + 2);
        let below = if right < heap.len() && heap[right].before(&heap[left]) { right } else { left };
        if !heap[below].before(&entry) {
            break;
        }
        heap[at] = heap[below];
        places[heap[at].task as usize] = at as u32;
        at = below;
    }
    heap[at] = entry;
    places[entry.task as usize] = at as u32;
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::{Processor, View, Wishes};
    use schedlab_model::{rng::Rng, task::Group};

    #[test]
    fn tasks_leave_by_key_then_by_arrival_also_after_others_left_from_the_middle() {
        let (mut numbers, mut own) = (Rng::stream(1, 1), Rng::stream(1, 2));
        let (groups, processors) = (vec![Group::ROOT], vec![Processor::default()]);
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
