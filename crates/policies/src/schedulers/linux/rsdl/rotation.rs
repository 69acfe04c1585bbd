//! The rules of a rotation: which slots a nice level may use, how long it may stay in one, and what a runqueue remembers of
//! how far each level has come.

use crate::schedulers::kit::{priority_array::PriorityArray, queue::Links};
use schedlab_model::task::TaskId;

/// Slots of a rotation, and nice levels.
pub const SLOTS: usize = 40;
/// The level of nice 19, worse than which there is none.
pub const WORST: u8 = SLOTS as u8 - 1;
/// Slots that a level may use, a bit each.
const MATRIX: [u64; SLOTS] = matrix();

/// Spreads 40 - i slots of level i evenly, counted from the last one.
const fn matrix() -> [u64; SLOTS] {
    let mut rows = [0; SLOTS];
    let mut level = 0;
    while level < SLOTS {
        let step = SLOTS * SLOTS / (SLOTS - level);
        let mut place = 0;
        while place <= SLOTS * (SLOTS - 1) {
            rows[level] |= 1 << (SLOTS - 1 - place / SLOTS);
            place += step;
        }
        level += 1;
    }
    rows
}

/// The slots of a level (0 to 39 for nice -20 to 19), a bit each. SCHED_BATCH has as many, but the last ones.
#[inline]
pub fn slots_of(level: u8, batch: bool) -> u64 {
    let last = (1 << SLOTS) - (1 << level);
    if batch { last } else { MATRIX[level as usize] }
}

/// The time in one slot in ms, for an interval in ms.
pub fn quota(level: u8, interval: i64) -> i64 {
    let nice = i64::from(level) - 20;
    match nice {
        ..-6 => interval * nice * nice / SLOTS as i64,
        -6..=0 => interval,
        _ => (interval / 2).max(1),
    }
}

/// One of the two arrays: a first-in first-out list for each slot.
#[derive(Debug, Clone)]
pub struct Array {
    slots: PriorityArray<SLOTS>,
    /// The best level that was picked here, or that expired into here.
    pub best: u8,
}

impl Array {
    fn new() -> Array {
        Array { slots: PriorityArray::default(), best: WORST }
    }

    /// The first task in the first slot in use.
    #[inline]
    pub fn first(&self) -> Option<(u8, TaskId)> {
        let slot = self.slots.first()?;
        Some((slot as u8, self.slots.list(slot).head()?))
    }

    /// Puts a task into a slot, before another one that is there or behind all.
    #[inline]
    pub fn insert(&mut self, links: &mut Links, slot: u8, task: TaskId, before: Option<TaskId>) {
        match before {
            Some(mark) => self.slots.insert_before(links, slot.into(), mark, task),
            None => self.slots.push_tail(links, slot.into(), task),
        }
    }

    #[inline]
    pub fn remove(&mut self, links: &mut Links, slot: u8, task: TaskId) {
        self.slots.remove(links, slot.into(), task);
    }

    /// Goes through the tasks, the first slot first, each from its tail, until one is taken.
    pub fn find_from_tails(&self, links: &Links, takes: &mut dyn FnMut(TaskId, usize) -> bool) -> Option<TaskId> {
        self.slots.find_from_tails(links, takes)
    }
}

/// Both arrays of a processor, and how far its rotation has come.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// Counts rotations.
    pub count: u64,
    pub arrays: [Array; 2],
    /// Which of the arrays is the active one.
    pub active: u8,
    /// The last slot that each level has reached.
    reached: [u8; SLOTS],
}

impl Rotation {
    pub fn new() -> Rotation {
        Rotation { count: 0, arrays: [Array::new(), Array::new()], active: 0, reached: [0; SLOTS] }
    }

    #[inline]
    pub fn active(&mut self) -> &mut Array {
        &mut self.arrays[self.active as usize]
    }

    #[inline]
    pub fn expired(&mut self) -> &mut Array {
        &mut self.arrays[1 - self.active as usize]
    }

    /// The arrays change places.
    pub fn swap(&mut self) {
        self.active = 1 - self.active;
        self.begin();
    }

    /// A rotation begins.
    pub fn begin(&mut self) {
        self.count += 1;
        self.arrays.iter_mut().for_each(|array| array.best = WORST);
        self.reached = [0; SLOTS];
    }

    /// A task of that level runs in that slot.
    #[inline]
    pub fn note(&mut self, level: u8, slot: u8) {
        let active = self.active();
        active.best = active.best.min(level);
        let reached = &mut self.reached[level as usize];
        *reached = slot.max(*reached);
    }

    /// The next slot of a task that has had the `granted` ones; none if it is to expire. A task of the best level goes on
    /// where its level is, or, under `interactive`, in its first free slot; one of a worse level not before the better
    /// ones are there.
    pub fn next_slot(&mut self, level: u8, batch: bool, granted: u64, interactive: bool) -> Option<u8> {
        if level > self.expired().best {
            return None;
        }
        let own = if interactive { 0 } else { self.reached[level as usize] };
        let best = self.active().best;
        let from = match level {
            _ if level < best => {
                if !batch {
                    self.active().best = level;
                }
                0
            }
            _ if level == best => own,
            _ => self.reached[best as usize..=level as usize].iter().fold(own, |most, &slot| most.max(slot)),
        };
        let free = slots_of(level, batch) & !granted & (!0 << from);
        (free != 0).then(|| free.trailing_zeros() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(nice: i8) -> Vec<usize> {
        (0..SLOTS).filter(|slot| slots_of((nice + 20) as u8, false) >> slot & 1 == 1).collect()
    }

    #[test]
    fn each_nice_level_has_a_slot_less_and_the_last_slot_is_everybodys() {
        for nice in -20..20 {
            let slots = slots(nice);
            assert_eq!((slots.len() as i8, slots.last()), (20 - nice, Some(&39)), "nice {nice}");
            assert_eq!(slots_of((nice + 20) as u8, true).count_ones() as usize, slots.len(), "batch, nice {nice}");
        }
    }

    #[test]
    fn slots_are_spread_over_the_rotation() {
        assert_eq!(slots(0), (1..40).step_by(2).collect::<Vec<_>>());
        assert_eq!(slots(10), (3..40).step_by(4).collect::<Vec<_>>());
        assert_eq!(slots(15), [7, 15, 23, 31, 39]);
    }

    #[test]
    fn quotas_are_whole_milliseconds() {
        let of = |nice: i8| quota((nice + 20) as u8, 8);
        assert_eq!([-20, -10, -8, -7, -6, 0, 1, 19].map(of), [80, 20, 12, 9, 8, 8, 4, 4]);
        assert_eq!([1, 3].map(|interval| quota(39, interval)), [1, 1]);
    }
}
