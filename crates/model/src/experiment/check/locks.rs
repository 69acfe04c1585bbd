//! No task may wait for a lock that it holds itself: the wait would never end. A program has no branches, so the locks that it
//! holds at each step are known.

use crate::{
    experiment::{
        path::{Path, Segment},
        problem::Fault,
    },
    program::{Repeat, Step, Times},
};
use std::collections::BTreeMap;

/// The locks that a program holds, each with the step that took it, and whether for reading.
type Held<'s> = BTreeMap<&'s str, (Path, bool)>;

/// Checks the steps of a program with its number of passes. A lock that is kept to the end of a pass is held in the next.
pub(super) fn check(at: &Path, steps: &[Step], passes: Times) -> Result<(), Fault> {
    repeated(at, steps, passes, &mut Held::new()).map(drop)
}

/// Whether what follows is reached.
fn repeated<'s>(at: &Path, steps: &'s [Step], times: Times, held: &mut Held<'s>) -> Result<bool, Fault> {
    // After the second time everything is as after the first.
    for _ in 0..times.count().unwrap_or(2).min(2) {
        if !list(at, steps, held)? {
            return Ok(false);
        }
    }
    Ok(times.count().is_some())
}

fn key(step: &Step) -> &'static str {
    if matches!(step, Step::ReadLock(_)) { "read_lock" } else { "lock" }
}

/// Only the holder of a lock, not one of several readers, may wait for a condition under it.
fn has_for_itself(at: &Path, lock: &str, held: &Held<'_>) -> Result<(), Fault> {
    let why = match held.get(lock) {
        Some((_, false)) => return Ok(()),
        Some((_, true)) => "is held for reading here: other readers could change nothing of what is waited for",
        None => "is not held here: lock it first",
    };
    Err(Fault::new(at.key("lock"), format!("{lock:?} {why}")))
}

fn list<'s>(at: &Path, steps: &'s [Step], held: &mut Held<'s>) -> Result<bool, Fault> {
    for (index, step) in steps.iter().enumerate() {
        let here = at.index(index);
        match step {
            Step::Lock(name) | Step::ReadLock(name) => {
                if let Some((taken, _)) = held.get(name.as_str()) {
                    let reason =
                        format!("{name:?} is held here already, since {taken}: the task would wait for itself");
                    return Err(Fault::new(here.key(key(step)), reason));
                }
                held.insert(name, (here, matches!(step, Step::ReadLock(_))));
            }
            Step::ConditionWait(wait) => has_for_itself(&here.key("condition_wait"), &wait.lock, held)?,
            Step::Unlock(name) => drop(held.remove(name.as_str())),
            // A child holds nothing when it begins.
            Step::Fork(steps) => drop(list(&here.key("fork"), steps, &mut Held::new())?),
            Step::Repeat(Repeat { times, steps }) => {
                let mut within = here;
                within.0.extend(["repeat", "steps"].map(|key| Segment::Key(key.to_owned())));
                if !repeated(&within, steps, *times, held)? {
                    return Ok(false);
                }
            }
            Step::Exit => return Ok(false),
            _ => {}
        }
    }
    Ok(true)
}
