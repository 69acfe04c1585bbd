//! A run whose clock does not advance: tasks run endless loops in which nothing takes time.

use crate::{RunError, kernel::Kernel};
use schedlab_model::{event::Observer, scenario::Scenario, task::TaskId, units::spell_duration};
use schedlab_policies::schedulers::Scheduler;

/// Most steps of tasks at one instant. It is more than a checked loop may do without taking time.
pub(crate) const MOST_STEPS_AT_ONCE: u32 = 1 << 24;

impl<S: Scheduler, O: Observer> Kernel<S, O> {
    /// The run is over: the clock does not advance because of this task.
    #[cold]
    pub fn stand_still(&mut self, task: Option<TaskId>) {
        self.stuck = task;
        (self.awaited, self.endless) = (0, false);
    }

    /// Names the loop in which a task is.
    pub fn loop_of(&self, scenario: &Scenario, task: TaskId) -> RunError {
        let process = &self.processes[task as usize];
        let (name, job) = scenario.workload.iter().nth(process.job.into()).expect("a task belongs to a job");
        let place = self.programs.loop_around(process.program, process.next_instruction);
        let place = place.filter(|_| job.steps.is_some()).map_or(String::new(), |place| format!(".{place}"));
        let at = spell_duration(self.now);
        let why =
            format!("goes on for more than {MOST_STEPS_AT_ONCE} steps at {at} of simulated time, and none takes any");
        RunError(format!("workload.{name}{place}: {why}: compute, sleep or wait in it"))
    }
}
