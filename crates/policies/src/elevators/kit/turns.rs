//! The order in which the queues of cfq are served.
//!
//! ```text
//!   levels    0;  0 1;  0 1 2;  ...;  0 1 2 3 4 5 6 7;  and again
//! ```
//!
//! All queues of the level that is next go to the current list, and from there one after the other.

use schedlab_model::request::IoClass;
use std::collections::VecDeque;

const LEVELS: usize = 8;

/// Queues that have requests, by number; each is in one list.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Turns {
    levels: [VecDeque<usize>; LEVELS],
    /// Those whose level has come up, and all of the real-time class.
    current: VecDeque<usize>,
    /// Those that still have requests in the drive: others go first, or queues with many requests would get more.
    busy: VecDeque<usize>,
    pub(in crate::elevators) idle: VecDeque<usize>,
    level: usize,
    last_level: usize,
}

impl Turns {
    fn lists(&mut self) -> impl Iterator<Item = &mut VecDeque<usize>> {
        self.levels.iter_mut().chain([&mut self.current, &mut self.busy, &mut self.idle])
    }

    pub(in crate::elevators) fn remove(&mut self, queue: usize) {
        for list in self.lists() {
            if let Some(at) = list.iter().position(|&other| other == queue) {
                list.remove(at);
                return;
            }
        }
    }

    /// Puts a queue where it belongs, at the end. One that was never served goes before the last of the others of that
    /// kind that lead the list, which is what the kernel's loop comes to.
    pub(in crate::elevators) fn file(
        &mut self,
        queue: usize,
        class: IoClass,
        level: u8,
        busy: bool,
        new: bool,
        is_new: impl Fn(usize) -> bool,
    ) {
        self.remove(queue);
        let list = match class {
            IoClass::RealTime => &mut self.current,
            IoClass::Idle => &mut self.idle,
            IoClass::BestEffort if busy => &mut self.busy,
            IoClass::BestEffort => &mut self.levels[usize::from(level)],
        };
        let leading = list.iter().take_while(|&&other| is_new(other)).count();
        let at = if new && leading > 0 { leading - 1 } else { list.len() };
        list.insert(at, queue);
    }

    /// Puts a queue that is in a list before all others.
    pub(in crate::elevators) fn front(&mut self, queue: usize) {
        self.remove(queue);
        self.current.push_front(queue);
    }

    /// The one that is next, without the idle class. It stays in its list until it is filed again or removed.
    pub(in crate::elevators) fn next(&mut self) -> Option<usize> {
        if self.current.is_empty() {
            self.next_level();
        }
        self.current.front().or(self.busy.front()).copied()
    }

    /// Takes the queues of the next level that has any.
    fn next_level(&mut self) {
        if self.levels.iter().all(VecDeque::is_empty) {
            return;
        }
        let level = loop {
            if let Some(level) = (self.level..=self.last_level).find(|&level| !self.levels[level].is_empty()) {
                break level;
            }
            self.level = 0;
            self.last_level = (self.last_level + 1) % LEVELS;
        };
        self.current.append(&mut self.levels[level]);
        self.level = level + 1;
        if self.level > self.last_level {
            self.last_level = self.level;
            self.level = 0;
        }
        if self.last_level == LEVELS {
            (self.level, self.last_level) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_numbered_levels_come_up_more_often() {
        let mut turns = Turns::default();
        let file = |turns: &mut Turns, n: usize| turns.file(n, IoClass::BestEffort, n as u8, false, false, |_| false);
        for n in 0..LEVELS {
            file(&mut turns, n);
        }
        let mut order = Vec::new();
        for _ in 0..36 {
            let next = turns.next().unwrap();
            order.push(next);
            file(&mut turns, next);
        }
        let triangle: Vec<_> = (0..LEVELS).flat_map(|last| 0..=last).collect();
        assert_eq!(order, triangle);
    }
}
