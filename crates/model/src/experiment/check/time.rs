//! Whether steps can take time, by themselves or by waiting: a loop of those that cannot would stop the clock of a run.

use crate::{
    machine::{Machine, Sourced},
    program::{Repeat, Span, Step},
    scenario::Scenario,
    units::Duration,
};
use std::collections::{BTreeMap, BTreeSet};

/// What decides whether a step of one program can take time.
pub(super) struct Time<'s> {
    machine: &'s Machine,
    has_drive: bool,
    /// For each lock, tasks that may want it at the same time.
    wanted: BTreeMap<&'s str, u32>,
    /// Locks that some task may hold while time passes.
    held: BTreeSet<&'s str>,
    /// Whether there are other tasks to which it can yield.
    company: bool,
    /// Whether the program has children that can take time, to wait for.
    children: bool,
}

impl<'s> Time<'s> {
    /// For a program of this scenario.
    pub fn new(scenario: &'s Scenario, program: &'s [Step]) -> Time<'s> {
        let machine = &scenario.machine;
        let mut time = Time {
            machine,
            has_drive: machine.disk.is_some() || machine.solid_state.is_some(),
            wanted: BTreeMap::new(),
            held: BTreeSet::new(),
            company: scenario.workload.values().map(|job| job.count).sum::<u32>() > 1,
            children: false,
        };
        for job in scenario.workload.values() {
            time.survey(job.steps.as_deref().unwrap_or_default(), job.count);
        }
        // That a lock is held for a while may be because its holder waits for another one.
        loop {
            let known = time.held.len();
            for steps in scenario.workload.values().filter_map(|job| job.steps.as_deref()) {
                time.children = time.forks(steps);
                time.hold(steps);
            }
            if time.held.len() == known {
                break;
            }
        }
        time.children = time.forks(program);
        time
    }

    /// Counts the tasks that may want each lock; a step that forks may start several.
    fn survey(&mut self, steps: &'s [Step], tasks: u32) {
        let mut own: Vec<&str> = Vec::new();
        for step in steps {
            match step {
                Step::Lock(name) | Step::ReadLock(name) if !own.contains(&name.as_str()) => {
                    own.push(name);
                    *self.wanted.entry(name).or_default() += tasks;
                }
                Step::Repeat(Repeat { steps, .. }) => self.survey(steps, tasks),
                Step::Fork(steps) => {
                    self.company = true;
                    self.survey(steps, 2);
                }
                _ => {}
            }
        }
    }

    /// Notes the locks that are held over a step of a program that can take time, or over its end.
    fn hold(&mut self, steps: &'s [Step]) {
        let mut held = Vec::new();
        self.hold_within(steps, &mut held);
        self.held.extend(held);
    }

    fn hold_within(&mut self, steps: &'s [Step], held: &mut Vec<&'s str>) {
        for step in steps {
            match step {
                Step::Unlock(name) => held.retain(|lock| lock != name),
                Step::Repeat(Repeat { steps, .. }) => {
                    let before = held.clone();
                    self.hold_within(steps, held);
                    // The second time round, with what the first one has left locked.
                    if *held != before {
                        self.hold_within(steps, held);
                    }
                }
                Step::Fork(child) => self.hold(child),
                _ => {}
            }
            if !held.is_empty() && self.can_last(step) {
                self.held.extend(held.iter());
            }
            if let Step::Lock(name) | Step::ReadLock(name) = step
                && !held.contains(&name.as_str())
            {
                held.push(name);
            }
        }
    }

    /// Whether there is a child that can take time.
    fn forks(&self, steps: &[Step]) -> bool {
        steps.iter().any(|step| match step {
            Step::Fork(child) => self.exit_costs() || child.iter().any(|step| self.can_last(step)) || self.forks(child),
            Step::Repeat(Repeat { steps, .. }) => self.forks(steps),
            _ => false,
        })
    }

    fn exit_costs(&self) -> bool {
        self.machine.calls.exit.get().0 + self.machine.costs.trap.get().0 > 0
    }

    /// How many steps are done at one instant if none of the steps can take time; nothing if one can.
    pub fn instant(&self, steps: &[Step]) -> Option<u64> {
        let each = |step: &Step| match step {
            Step::Repeat(Repeat { times, steps }) => {
                Some(self.instant(steps)?.saturating_mul(times.count().unwrap_or(u32::MAX).into()))
            }
            other => (!self.can_last(other)).then_some(1),
        };
        steps.iter().map(each).try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
    }

    /// Whether the step can take time: the processor's, or a wait for a drive, a lock, a message, a signal, a child or a turn.
    fn can_last(&self, step: &Step) -> bool {
        match step {
            Step::Compute(length) => longest(*length) > 0,
            Step::Call(length) | Step::Sleep(length) => longest(*length) > 0 || self.costs(step),
            Step::Period(_) | Step::Exit | Step::Run(_) | Step::Pause | Step::Receive(_) => true,
            Step::Barrier(_) | Step::ConditionWait(_) | Step::Timer(_) | Step::Busy(_) => true,
            Step::Mark(_) => false,
            Step::Set(_) => self.costs(step),
            Step::Repeat(Repeat { steps, .. }) => self.instant(steps).is_none(),
            Step::Touch(touch) => longest(touch.compute) > 0 || self.machine.memory.size.is_some(),
            Step::Yield => self.company,
            // A futex that happens to be free is taken in no time, as often as a task asks for it.
            Step::Lock(_) | Step::ReadLock(_) | Step::Unlock(_) | Step::Acquire(_) | Step::Release(_)
                if self.machine.calls.futex.is_some() =>
            {
                false
            }
            Step::Lock(name) | Step::ReadLock(name) => self.costs(step) || self.is_waited_for(name),
            Step::Wait => self.costs(step) || self.children,
            Step::Open(_) | Step::Create(_) | Step::Delete(_) | Step::Read(_) | Step::Write(_) | Step::Sync => {
                self.has_drive || self.costs(step)
            }
            Step::Close
            | Step::Seek(_)
            | Step::Print(_)
            | Step::Unlock(_)
            | Step::Acquire(_)
            | Step::Release(_)
            | Step::ConditionSignal(_)
            | Step::ConditionBroadcast(_)
            | Step::Send(_)
            | Step::Fork(_)
            | Step::Signal
            | Step::Exec
            | Step::Grow(_) => self.costs(step),
        }
    }

    /// Whether a task can find the lock taken: another one holds it while time passes.
    fn is_waited_for(&self, lock: &str) -> bool {
        self.held.contains(lock) && self.wanted.get(lock).is_some_and(|&tasks| tasks > 1)
    }

    /// Whether the step's call uses the processor on this machine.
    fn costs(&self, step: &Step) -> bool {
        let (calls, costs) = (&self.machine.calls, &self.machine.costs);
        let or_any = |cost: &Option<Sourced<Duration>>| cost.as_ref().unwrap_or(&calls.manage).get().0;
        let own = match step {
            Step::Call(_) => 0,
            Step::Open(_) | Step::Create(_) | Step::Delete(_) => calls.open.get().0,
            Step::Read(_) => calls.read.get().0 + costs.copy_per_kib.get().0,
            Step::Write(_) => calls.write.get().0 + costs.copy_per_kib.get().0,
            Step::Print(_) => calls.write.get().0 + self.machine.terminal.per_kib.get().0,
            Step::Close => calls.close.get().0,
            Step::Fork(_) => calls.fork.get().0,
            Step::Sleep(_) => or_any(&calls.sleep),
            Step::Wait => or_any(&calls.wait),
            Step::Send(_) => or_any(&calls.send),
            Step::Receive(_) => or_any(&calls.receive),
            _ => calls.manage.get().0,
        };
        own + costs.trap.get().0 > 0
    }
}

fn longest(span: Span) -> u64 {
    match span {
        Span::Fixed(length) => length.0,
        Span::Exp { exp } => exp.0,
        Span::Uniform { uniform } => uniform[1].0,
    }
}
