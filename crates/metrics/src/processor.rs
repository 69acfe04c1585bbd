//! Where the time of one processor went.

use schedlab_model::{Nanos, task::TaskId};

/// Processor time by use, ns, over all processors. After the end of a run they add up to the time elapsed times the
/// number of processors, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// In the tasks' own code.
    pub user: Nanos,
    /// In the kernel, on a task's behalf.
    pub system: Nanos,
    /// In interrupts and switching.
    pub overhead: Nanos,
    /// With nothing to run, and no task waiting for a drive.
    pub idle: Nanos,
    /// With nothing to run, and a task waiting for a drive.
    pub io_wait: Nanos,
}

impl Totals {
    /// All uses together, ns.
    pub fn sum(&self) -> Nanos {
        self.busy().saturating_add(self.idle).saturating_add(self.io_wait)
    }

    pub(crate) fn plus(self, other: &Totals) -> Totals {
        Totals {
            user: self.user.saturating_add(other.user),
            system: self.system.saturating_add(other.system),
            overhead: self.overhead.saturating_add(other.overhead),
            idle: self.idle.saturating_add(other.idle),
            io_wait: self.io_wait.saturating_add(other.io_wait),
        }
    }

    /// Time in which the processors had something to do, ns.
    pub fn busy(&self) -> Nanos {
        self.user.saturating_add(self.system).saturating_add(self.overhead)
    }
}

/// What a processor is doing. Time between a switch-out and the next switch-in is overhead, and reported as such.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stretch {
    Switching,
    Running(TaskId),
    Idle,
    IoWait,
}

#[derive(Debug, Clone)]
pub(crate) struct Processor {
    /// All uses but those that are the tasks' own.
    pub spent: Totals,
    stretch: Stretch,
    since: Nanos,
    /// Overhead within the present stretch.
    stolen: Nanos,
}

impl Default for Processor {
    fn default() -> Self {
        Processor { spent: Totals::default(), stretch: Stretch::Idle, since: 0, stolen: 0 }
    }
}

impl Processor {
    /// A stretch begins; the time of an idle one before it is known now. That of others is told exactly, by the switch-out
    /// and as overhead.
    #[inline(always)]
    fn open(&mut self, stretch: Stretch, time: Nanos) {
        match self.stretch {
            Stretch::Idle => self.spent.idle = self.spent.idle.saturating_add(self.length(time)),
            Stretch::IoWait => self.spent.io_wait = self.spent.io_wait.saturating_add(self.length(time)),
            Stretch::Running(_) | Stretch::Switching => {}
        }
        self.stretch = stretch;
        // Nobody asks how long a switch took.
        if !matches!(stretch, Stretch::Switching) {
            (self.since, self.stolen) = (time, 0);
        }
    }

    /// Length of the present stretch so far, without overhead.
    fn length(&self, time: Nanos) -> Nanos {
        time.saturating_sub(self.since).saturating_sub(self.stolen)
    }

    #[inline(always)]
    pub fn switch_in(&mut self, task: TaskId, time: Nanos) {
        self.open(Stretch::Running(task), time);
    }

    #[inline(always)]
    pub fn switch_out(&mut self, time: Nanos) {
        self.open(Stretch::Switching, time);
    }

    #[inline(always)]
    pub fn overhead(&mut self, length: Nanos) {
        self.spent.overhead = self.spent.overhead.saturating_add(length);
        self.stolen = self.stolen.saturating_add(length);
    }

    #[inline(always)]
    pub fn idle(&mut self, waits_for_drive: bool, time: Nanos) {
        self.open(if waits_for_drive { Stretch::IoWait } else { Stretch::Idle }, time);
    }

    /// Closes the present stretch: who still runs, and how long since its switch-in without overhead.
    pub fn end(&mut self, time: Nanos) -> Option<(TaskId, Nanos)> {
        let running = match self.stretch {
            Stretch::Running(task) => Some((task, self.length(time))),
            _ => None,
        };
        self.open(Stretch::Switching, time);
        running
    }
}
