//! How the recorded kernel treated a task, as far as the recording shows it: its priority with every switch, its processors by where it
//! ran and where it waited.

/// A scheduling policy, as priorities show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// A nice value, -20 to 19. Whether "batch" or "idle", priorities do not show.
    Fair(i8),
    /// A real-time priority, 1 to 99. Whether "fifo" or "rr", priorities do not show.
    RealTime(u8),
    /// A reservation, whose size no event shows.
    Deadline,
}

impl Policy {
    /// From the kernel's own priority: 100 to 139 is nice -20 to 19, 0 to 98 is 99 less the real-time priority, below 0 a reservation.
    pub fn of(priority: i32) -> Policy {
        match priority {
            100..=139 => Policy::Fair((priority - 120) as i8),
            0..=98 => Policy::RealTime((99 - priority) as u8),
            i32::MIN..0 => Policy::Deadline,
            _ => Policy::Fair(0),
        }
    }
}

/// How a task is treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Treatment {
    /// Its policy, the last that was seen.
    pub policy: Policy,
    /// The one processor that it may use; none if it may use all.
    pub bound: Option<u16>,
}

/// Where a task ran.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Places {
    first: Option<u16>,
    last: Option<u16>,
    moved: bool,
    waited: u64,
}

/// A task that waits so long in all for one processor while another is idle, ns, and never moves, is bound: an idle processor pulls a waiting
/// task that it may run at the next tick, so this is some ticks of any kernel.
const WAITED: u64 = 30_000_000;

impl Places {
    pub fn ran_on(&mut self, cpu: u16) {
        self.moved |= self.first.is_some_and(|first| first != cpu);
        self.first.get_or_insert(cpu);
        self.last = Some(cpu);
    }

    /// The processor on which it ran first.
    pub fn first(&self) -> Option<u16> {
        self.first
    }

    /// The processor on which it ran last.
    pub fn last(&self) -> Option<u16> {
        self.last
    }

    /// It waited so long for its processor while another was idle.
    pub fn waited_next_to_idle(&mut self, length: u64) {
        self.waited = self.waited.saturating_add(length);
    }

    /// The processor to which the task seems to be bound.
    pub fn bound(&self, name: &str) -> Option<u16> {
        let of_processor = name.starts_with("ksoftirqd/")
            || name.starts_with("migration/")
            || name.starts_with("cpuhp/")
            || name.starts_with("idle_inject/")
            || name.starts_with("kworker/") && !name.starts_with("kworker/u");
        (!self.moved && (of_processor || self.waited >= WAITED)).then_some(self.first).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_are_nice_values_and_real_time_priorities() {
        assert_eq!(Policy::of(120), Policy::Fair(0));
        assert_eq!(Policy::of(100), Policy::Fair(-20));
        assert_eq!(Policy::of(139), Policy::Fair(19));
        assert_eq!(Policy::of(98), Policy::RealTime(1));
        assert_eq!(Policy::of(0), Policy::RealTime(99));
        assert_eq!(Policy::of(-1), Policy::Deadline);
    }

    #[test]
    fn a_task_that_waits_next_to_an_idle_processor_is_bound() {
        let mut places = Places::default();
        places.ran_on(1);
        assert_eq!(places.bound("hog"), None, "it may as well have been left where it was");
        places.waited_next_to_idle(WAITED);
        assert_eq!(places.bound("hog"), Some(1));
        places.ran_on(0);
        assert_eq!(places.bound("hog"), None, "it ran elsewhere once");
    }

    #[test]
    fn threads_of_a_processor_are_bound_to_it() {
        let mut places = Places::default();
        places.ran_on(1);
        assert_eq!((places.bound("kworker/u4:1"), places.bound("ksoftirqd/1")), (None, Some(1)));
    }
}
