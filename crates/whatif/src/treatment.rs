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
    runs: u32,
    moved: bool,
}

/// So many runs on one processor of several, and none on another, show that a task is bound: the balancing of an unbound one would have
/// moved it sooner.
const RUNS: u32 = 20;

impl Places {
    pub fn ran_on(&mut self, cpu: u16) {
        self.runs = self.runs.saturating_add(1);
        self.moved |= self.first.is_some_and(|first| first != cpu);
        self.first.get_or_insert(cpu);
    }

    /// The processor to which the task seems to be bound.
    pub fn bound(&self, name: &str) -> Option<u16> {
        let of_processor = name.starts_with("ksoftirqd/")
            || name.starts_with("migration/")
            || name.starts_with("cpuhp/")
            || name.starts_with("idle_inject/")
            || name.starts_with("kworker/") && !name.starts_with("kworker/u");
        (!self.moved && (of_processor || self.runs >= RUNS)).then_some(self.first).flatten()
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
    fn a_task_that_ran_elsewhere_once_is_not_bound() {
        let mut places = Places::default();
        (0..30).for_each(|_| places.ran_on(1));
        assert_eq!(places.bound("hog"), Some(1));
        places.ran_on(0);
        assert_eq!(places.bound("hog"), None);
        let mut once = Places::default();
        once.ran_on(1);
        assert_eq!((once.bound("hog"), once.bound("ksoftirqd/1")), (None, Some(1)));
    }
}
