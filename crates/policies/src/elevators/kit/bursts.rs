//! Queues that are created together: an application that starts many tasks at once is served best if none of them is favoured.

use schedlab_model::{MILLISECOND, Nanos};

/// Queues that follow each other this closely belong together.
const INTERVAL: Nanos = 180 * MILLISECOND;
/// This many make a large burst.
const LARGE: usize = 8;

/// The last burst.
#[derive(Debug, Default)]
pub(in crate::elevators) struct Bursts {
    last: Option<Nanos>,
    members: Vec<usize>,
}

impl Bursts {
    /// A queue is created. Gives the queues that are known by this to be part of a large burst.
    pub(in crate::elevators) fn created(&mut self, now: Nanos, queue: usize) -> &[usize] {
        if self.last.is_none_or(|last| now - last > INTERVAL) {
            self.members.clear();
        }
        self.last = Some(now);
        self.members.push(queue);
        match self.members.len() {
            ..LARGE => &[],
            LARGE => &self.members,
            len => &self.members[len - 1..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_queues_that_follow_each_other_are_a_large_burst_and_a_pause_ends_it() {
        let mut bursts = Bursts::default();
        for n in 0..7 {
            assert!(bursts.created(n as Nanos * INTERVAL, n).is_empty());
        }
        assert_eq!(bursts.created(7 * INTERVAL, 7), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(bursts.created(8 * INTERVAL, 8), [8]);
        assert!(bursts.created(9 * INTERVAL + 1, 9).is_empty());
    }
}
