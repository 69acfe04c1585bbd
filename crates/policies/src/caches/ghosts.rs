//! Keys that were evicted and are remembered for a while: a list by key, the oldest of which is forgotten first.

use super::{Key, links::Lists};

/// Remembered keys, as many as there is room for.
#[derive(Debug)]
pub(super) struct Ghosts {
    keys: Lists<1>,
    room: u32,
}

impl Ghosts {
    /// Nobody yet; at most `room`.
    pub fn new(room: u32) -> Self {
        Ghosts { keys: Lists::new(0), room }
    }

    /// How many are remembered.
    pub fn len(&self) -> u32 {
        self.keys.len(0)
    }

    /// Whether this key is remembered.
    #[inline]
    pub fn contains(&self, key: Key) -> bool {
        self.keys.contains(key)
    }

    /// Remembers a key that is not remembered, and forgets the oldest if there is no room.
    #[inline]
    pub fn remember(&mut self, key: Key) {
        if self.room == 0 {
            return;
        }
        if self.len() == self.room {
            self.keys.pop(0);
        }
        self.keys.reach(key);
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
        if self.len() > 0 {
            self.keys.pop(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut ghosts = Ghosts::new(2);
        for key in [7, 3, 9] {
            ghosts.remember(key);
        }
        assert_eq!([7, 3, 9].map(|key| ghosts.contains(key)), [false, true, true]);
        assert!(ghosts.recall(9));
        assert!(!ghosts.recall(9));
        ghosts.forget_oldest();
        ghosts.forget_oldest();
        assert_eq!(ghosts.len(), 0);
    }

    #[test]
    fn without_room_nobody_is_remembered() {
        let mut ghosts = Ghosts::new(0);
        ghosts.remember(1);
        assert!(!ghosts.contains(1));
    }
}
