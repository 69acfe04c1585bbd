//! What is known of a processor.

use super::credit::MAX_PRIO;
use crate::schedulers::{kit::priority_array::PriorityArray, linux::domain::Share};

/// The runqueue of one processor. The running task stays in its list.
#[derive(Debug, Clone)]
pub struct Queue {
    pub arrays: [PriorityArray<MAX_PRIO>; 2],
    /// Which of them is active.
    pub active: u8,
    /// The tick of the first expiry since the arrays were exchanged.
    pub expired_since: Option<u64>,
    /// The best static priority of those that expired since.
    pub best_expired: u8,
    pub share: Share,
}

impl Queue {
    pub fn new() -> Queue {
        Queue {
            arrays: Default::default(),
            active: 0,
            expired_since: None,
            best_expired: MAX_PRIO as u8,
            share: Share::default(),
        }
    }

    /// One of the two arrays.
    #[inline(always)]
    pub fn array(&mut self, array: u8) -> &mut PriorityArray<MAX_PRIO> {
        &mut self.arrays[usize::from(array)]
    }

    /// Exchanges the arrays if no task is left in the active one.
    #[inline]
    pub fn exchange(&mut self) {
        if self.array(self.active).is_empty() {
            self.active = 1 - self.active;
            self.expired_since = None;
            self.best_expired = MAX_PRIO as u8;
        }
    }
}
