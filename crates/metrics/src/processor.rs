//! Where the time of one processor went.

use schedlab_model::{Nanos, event::NO_TASK, task::TaskId};

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

/// How a processor has nothing to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    /// It has something to run.
    Not,
    /// No task waits for a drive.
    Plain,
    /// A task waits for a drive.
    IoWait,
}

/// What a processor is doing. A task's time is reported exactly when the task leaves, and so is overhead; only the begin and
/// the end of idle time must be observed. The running task is needed only when the run ends.
#[derive(Debug, Clone)]
pub(crate) struct Processor {
    /// All uses but those that are the tasks' own.
    pub spent: Totals,
    idle: Idle,
    /// The last task that got it.
    task: TaskId,
    /// When it began to idle, or the task got it.
    since: Nanos,
    /// Overhead from then on.
    stolen: Nanos,
}

impl Default for Processor {
    fn default() -> Self {
        Processor { spent: Totals::default(), idle: Idle::Plain, task: NO_TASK, since: 0, stolen: 0 }
    }
}

impl Processor {
    /// Accounts for an idle period that ends now.
    #[inline(never)]
    fn close(&mut self, time: Nanos) {
        let length = self.length(time);
        match self.idle {
            Idle::Plain => self.spent.idle = self.spent.idle.saturating_add(length),
            Idle::IoWait => self.spent.io_wait = self.spent.io_wait.saturating_add(length),
            Idle::Not => {}
        }
        self.idle = Idle::Not;
    }

    /// Length of the current period so far, without overhead.
    fn length(&self, time: Nanos) -> Nanos {
        time.saturating_sub(self.since).saturating_sub(self.stolen)
    }

    #[inline(always)]
    pub fn switch_in(&mut self, task: TaskId, time: Nanos) {
        if self.idle != Idle::Not {
            self.close(time);
        }
        self.task = task;
        (self.since, self.stolen) = (time, 0);
    }

    #[inline(always)]
    pub fn overhead(&mut self, length: Nanos) {
        self.spent.overhead = self.spent.overhead.saturating_add(length);
        self.stolen = self.stolen.saturating_add(length);
    }

    #[inline(always)]
    pub fn idle(&mut self, waits_for_drive: bool, time: Nanos) {
        self.close(time);
        self.idle = if waits_for_drive { Idle::IoWait } else { Idle::Plain };
        (self.task, self.since, self.stolen) = (NO_TASK, time, 0);
    }

    /// The task that has it, and how long it has, without overhead, at that time.
    pub fn running(&self, time: Nanos) -> Option<(TaskId, Nanos)> {
        (self.idle == Idle::Not).then(|| (self.task, self.length(time)))
    }

    /// Closes the current period: the last task that got the processor, when, and how long ago without overhead.
    pub fn end(&mut self, time: Nanos) -> (TaskId, Nanos, Nanos) {
        let length = self.length(time);
        self.close(time);
        (self.task, self.since, length)
    }
}
