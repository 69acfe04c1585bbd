//! No task may wait for a lock that it holds itself: the wait would never end. And none may lock above a ceiling: real kernels refuse it
//! (EINVAL). A program has no branches, so the locks that it holds at each step are known, and its policy.

use crate::{
    experiment::{
        path::{Path, Segment},
        problem::Fault,
    },
    program::{Repeat, Step, Times},
    scenario::{Job, Protocol, Shared},
    task::Policy,
};
use std::collections::BTreeMap;

/// A program at one of its steps.
struct State<'s> {
    shared: &'s BTreeMap<String, Shared>,
    /// The locks that it holds, each with the step that took it, and whether for reading.
    held: BTreeMap<&'s str, (Path, bool)>,
    policy: Policy,
    priority: u8,
}

/// Checks the steps of a job's program. A lock that is kept to the end of a pass is held in the next.
pub(super) fn check(at: &Path, job: &Job, steps: &[Step], shared: &BTreeMap<String, Shared>) -> Result<(), Fault> {
    let mut state = State { shared, held: BTreeMap::new(), policy: job.policy, priority: job.priority };
    state.repeated(at, steps, job.passes()).map(drop)
}

fn key(step: &Step) -> &'static str {
    if matches!(step, Step::ReadLock(_)) { "read_lock" } else { "lock" }
}

/// Only the holder of a lock, not one of several readers, may wait for a condition under it.
fn has_for_itself(at: &Path, lock: &str, held: &BTreeMap<&str, (Path, bool)>) -> Result<(), Fault> {
    let why = match held.get(lock) {
        Some((_, false)) => return Ok(()),
        Some((_, true)) => "is held for reading here: other readers could change nothing of what is waited for",
        None => "is not held here: lock it first",
    };
    Err(Fault::new(at.key("lock"), format!("{lock:?} {why}")))
}

impl<'s> State<'s> {
    /// Whether what follows is reached.
    fn repeated(&mut self, at: &Path, steps: &'s [Step], times: Times) -> Result<bool, Fault> {
        // After the second time everything is as after the first.
        for _ in 0..times.count().unwrap_or(2).min(2) {
            if !self.list(at, steps)? {
                return Ok(false);
            }
        }
        Ok(times.count().is_some())
    }

    fn list(&mut self, at: &Path, steps: &'s [Step]) -> Result<bool, Fault> {
        for (index, step) in steps.iter().enumerate() {
            let here = at.index(index);
            match step {
                Step::Lock(name) | Step::ReadLock(name) => self.lock(here, step, name)?,
                Step::ConditionWait(wait) => has_for_itself(&here.key("condition_wait"), &wait.lock, &self.held)?,
                Step::Unlock(name) => drop(self.held.remove(name.as_str())),
                Step::Set(change) => {
                    if let Some(policy) = change.policy {
                        (self.policy, self.priority) = (policy, change.priority.unwrap_or(0));
                    }
                }
                // A child holds nothing when it begins.
                Step::Fork(steps) => {
                    let mut child = State { held: BTreeMap::new(), ..*self };
                    child.list(&here.key("fork"), steps)?;
                }
                Step::Repeat(Repeat { times, steps }) => {
                    let mut within = here;
                    within.0.extend(["repeat", "steps"].map(|key| Segment::Key(key.to_owned())));
                    if !self.repeated(&within, steps, *times)? {
                        return Ok(false);
                    }
                }
                Step::Exit => return Ok(false),
                _ => {}
            }
        }
        Ok(true)
    }

    fn lock(&mut self, here: Path, step: &Step, name: &'s str) -> Result<(), Fault> {
        let fault = |reason: String| Err(Fault::new(here.key(key(step)), reason));
        if let Some((taken, _)) = self.held.get(name) {
            return fault(format!("{name:?} is held here already, since {taken}: the task would wait for itself"));
        }
        if let Some(&Shared::Lock(Protocol::Ceiling(ceiling))) = self.shared.get(name)
            && !(matches!(self.policy, Policy::Fifo | Policy::Rr) && self.priority <= ceiling)
        {
            return fault(format!(
                "{name:?} has the ceiling {ceiling}: only tasks under fifo or rr, of at most that priority, may lock it"
            ));
        }
        self.held.insert(name, (here, matches!(step, Step::ReadLock(_))));
        Ok(())
    }
}
