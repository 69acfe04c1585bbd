//! Keys that were evicted and are remembered for a while: a list by key, the oldest of which is forgotten first.

use super::weights::{Ones, Weighed, Weights};
use crate::caches::Key;

/// Remembered keys, as many as there is room for.
#[derive(Debug)]
pub(in crate::caches) struct Ghosts<W = Ones> {
    keys: Weighed<1, W>,
    room: u64,
}

impl<W: Weights> Ghosts<W> {
    /// An empty one, for at most `room` keys.
    pub fn new(room: u64) -> Self {
        Ghosts { keys: Weighed::new(0), room }
    }

    /// What the remembered ones come to: their number, or the bytes that they had.
    pub fn sum(&self) -> u64 {
        self.keys.sum(0)
    }

    /// Whether this key is remembered.
    #[inline]
    pub fn contains(&self, key: Key) -> bool {
        self.keys.contains(key)
    }

    /// Remembers a key that is not remembered, and forgets the oldest while there is no room.
    #[inline]
    pub fn remember(&mut self, key: Key, weight: u64) {
        if weight > self.room {
            return;
        }
        while self.sum() + weight > self.room {
            self.keys.pop(0);
        }
        self.keys.reach(key);
        self.keys.weigh(key, weight);
        self.keys.push(0, key);
    }

    /// Forgets a key; whether it was remembered.
    #[inline]
    pub fn recall(&mut self, key: Key) -> bool {
        let known = self.contains(key);
        if known {
            self.keys.remove(0, key);
        }
        known
    }

    /// Forgets the oldest, if there is any.
    #[inline]
    pub fn forget_oldest(&mut self) {
        if !self.keys.is_empty(0) {
            self.keys.pop(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut ghosts = Ghosts::<Ones>::new(2);
        for key in [7, 3, 9] {
            ghosts.remember(key, 1);
        }
        assert_eq!([7, 3, 9].map(|key| ghosts.contains(key)), [false, true, true]);
        assert!(ghosts.recall(9));
        assert!(!ghosts.recall(9));
        ghosts.forget_oldest();
        ghosts.forget_oldest();
        assert_eq!(ghosts.sum(), 0);
    }

    #[test]
    fn without_room_no_key_is_remembered() {
        let mut ghosts = Ghosts::<Ones>::new(0);
        ghosts.remember(1, 1);
        assert!(!ghosts.contains(1));
    }
}
