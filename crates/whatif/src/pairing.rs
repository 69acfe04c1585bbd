//! Whether tasks come to the processors of those that wake them. A task that writes into a pipe or a socket says to the kernel that it waits
//! soon itself (WF_SYNC); one that gives back a lock, signals a condition or comes last to a barrier (futex) does not. A recording of the
//! scheduler's events does not say what a task waited for. Where it went shows it:
//!
//! ```text
//! a task is woken by another that is alone on its processor, while the one where the woken task ran is busy
//! a waker that says so             the woken task comes to the waker's processor (kernel/sched/fair.c, wake_affine_idle)
//! one that does not say so         it goes where less is to do, which may be where it was
//! both with many partners          it stays where it was, whatever the waker says (wake_wide): this shows nothing
//! ```
//!
//! A task that stayed in a quarter of at least 20 such wakeups waits for locks.

use schedlab_traces::kernel::Pid;

/// Wakeups that are too few to say.
const FEW: u32 = 20;
/// One of that many stayed where it was.
const SELDOM: u32 = 4;

/// Wakeups of the kind that shows it.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shown {
    stayed: u32,
    came: u32,
}

impl Shown {
    pub fn add(self, more: Shown) -> Shown {
        Shown { stayed: self.stayed.saturating_add(more.stayed), came: self.came.saturating_add(more.came) }
    }

    /// Whether it waits for locks, if these wakeups are enough to say.
    pub fn locks(self) -> Option<bool> {
        let all = self.stayed.saturating_add(self.came);
        (all >= FEW).then(|| self.stayed.saturating_mul(SELDOM) >= all)
    }
}

/// How often a task woke another one than before; halved every second, as the kernel does (record_wakee).
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Flips {
    wakee: Pid,
    count: u32,
    halved: u64,
}

/// ns.
const SECOND: u64 = 1_000_000_000;

impl Flips {
    /// It wakes that task.
    pub fn wakes(&mut self, now: u64, task: Pid) {
        if now > self.halved.saturating_add(SECOND) {
            (self.count, self.halved) = (self.count / 2, now);
        }
        if self.wakee != task {
            (self.count, self.wakee) = (self.count.saturating_add(1), task);
        }
    }

    /// Whether the kernel leaves a task where it was because it and its waker have many partners each, and one far more: more than fit
    /// next to that many processors.
    pub fn are_wide(self, other: Flips, processors: usize) -> bool {
        let factor = u32::try_from(processors).unwrap_or(u32::MAX);
        let (few, many) = (self.count.min(other.count), self.count.max(other.count));
        few >= factor && many >= few.saturating_mul(factor)
    }
}

/// What one task shows of it.
#[derive(Debug, Default)]
pub(crate) struct Pairing {
    pub flips: Flips,
    /// It was woken by a task on the first, and ran on the second before.
    woken: Option<(u16, u16)>,
    pub shown: Shown,
}

impl Pairing {
    /// It was woken, by a task alone on a processor while another, where it ran, is busy; or otherwise.
    pub fn woken(&mut self, by: Option<(u16, u16)>) {
        self.woken = by.filter(|(here, before)| here != before);
    }

    /// It gets a processor.
    pub fn runs(&mut self, cpu: u16) {
        match self.woken.take() {
            Some((here, _)) if here == cpu => self.shown.came = self.shown.came.saturating_add(1),
            Some((_, before)) if before == cpu => self.shown.stayed = self.shown.stayed.saturating_add(1),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task that ran on processor 1 and is woken on 0 gets these processors.
    fn shown(gets: &[u16]) -> Shown {
        let mut task = Pairing::default();
        for &cpu in gets {
            task.woken(Some((0, 1)));
            task.runs(cpu);
            task.runs(cpu); // after a preemption, which shows nothing
        }
        task.shown
    }

    #[test]
    fn a_task_that_stays_in_a_quarter_of_such_wakeups_waits_for_locks() {
        assert_eq!(shown(&[0; 19]).locks(), None);
        assert_eq!(shown(&[0; 20]).locks(), Some(false));
        assert_eq!(shown(&[&[0; 15][..], &[1; 5]].concat()).locks(), Some(true));
        assert_eq!(shown(&[&[0; 16][..], &[1; 5]].concat()).locks(), Some(false));
        assert_eq!(shown(&[2; 40]).locks(), None, "an idle processor was found");
    }

    #[test]
    fn tasks_of_many_partners_are_left_where_they_were() {
        let flips = |partners: i32| {
            let mut flips = Flips::default();
            (0..partners).for_each(|task| flips.wakes(5, 10 + task));
            flips
        };
        assert!(flips(2).are_wide(flips(4), 2) && flips(4).are_wide(flips(2), 2));
        assert!(!flips(1).are_wide(flips(4), 2) && !flips(2).are_wide(flips(3), 2) && !flips(4).are_wide(flips(4), 2));
        let mut again = flips(2);
        again.wakes(6, 11);
        assert_eq!(again.count, 2, "the same as before");
        again.wakes(SECOND + 1, 11);
        assert_eq!(again.count, 1, "half as many after a second");
    }

    #[test]
    fn wakeups_on_the_processor_where_it_ran_and_unknown_ones_show_nothing() {
        let mut task = Pairing::default();
        for by in [Some((1, 1)), None] {
            task.woken(by);
            task.runs(1);
        }
        assert_eq!(task.shown, Shown::default());
    }
}
