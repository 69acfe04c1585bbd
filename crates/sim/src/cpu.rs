//! A processor: what it is doing, and up to when.

use crate::{
    process::Mode,
    speeds::{FULL, wall, work},
};
use schedlab_model::{Nanos, event::NO_TASK, task::TaskId};
use schedlab_policies::schedulers::Enqueue;

/// What a processor is doing.
#[derive(Debug, Clone)]
pub(crate) struct Cpu {
    pub running: TaskId,
    /// While it is idle, the task that ran last, which has its registers and cache here.
    pub last: TaskId,
    /// From here on, time is not settled yet.
    pub settled: Nanos,
    /// Of the time not settled, how much goes to interrupts and switching; it comes first. What is left of it when a task leaves
    /// is paid before the next task's burst.
    pub overhead: Nanos,
    /// How fast it is, of [`FULL`].
    pub speed: u64,
    /// When the running task's current burst ends.
    pub burst_end: Nanos,
    /// When its slice ends; of a processor that leaves its idle state, when it has.
    pub slice_end: Nanos,
    /// Since when it is idle, if it is.
    pub idle_since: Nanos,
    /// When it was last out of its idle state, or will be. One that is idle at another time is in one.
    pub awake: Nanos,
    /// Whose code the running task is in.
    pub mode: Mode,
    /// Why it leaves, if it leaves now while able to run.
    pub leaving: Enqueue,
    /// Time that the running task has had since it got the processor, by [`Mode`].
    pub spent: [Nanos; 2],
}

impl Default for Cpu {
    fn default() -> Self {
        Cpu {
            running: NO_TASK,
            last: NO_TASK,
            settled: 0,
            overhead: 0,
            speed: FULL,
            burst_end: Nanos::MAX,
            slice_end: Nanos::MAX,
            idle_since: 0,
            awake: 0,
            mode: Mode::User,
            leaving: Enqueue::Preempted,
            spent: [0; 2],
        }
    }
}

impl Cpu {
    /// When something happens here.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn next(&self) -> Nanos {
        self.burst_end.min(self.slice_end)
    }

    /// A burst of that much work begins, as soon as interrupts and switching are done.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn begin(&mut self, now: Nanos, length: Nanos) {
        self.burst_end = (now + self.overhead).saturating_add(wall(length, self.speed));
    }

    /// What is left of the burst, in work. All time before is settled.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub fn left(&self, now: Nanos) -> Nanos {
        work(self.burst_end - now - self.overhead, self.speed)
    }

    /// The rest of the burst has another speed.
    pub fn go_on_at(&mut self, now: Nanos, speed: u64) {
        if self.running == NO_TASK {
            self.speed = speed;
            return;
        }
        let left = self.left(now);
        self.speed = speed;
        self.begin(now, left);
    }
}
