//! What types cannot say of a scenario: bounds that keep a run finite and free of overflow, names that must
//! exist, rules between fields.

pub(super) mod arrivals;
mod attention;
mod jobs;
mod locks;
pub(super) mod machine;
mod program;
mod time;
mod treatment;

use super::{path::Path, problem::Fault};
use crate::{
    Nanos, SECOND,
    scenario::{Protocol, Scenario, Shared},
    units::{Duration, spell_duration},
};
use std::ops::RangeInclusive;

/// Longest time of one request; a thousand of them still fit [`Nanos`].
const LONGEST: Nanos = 1000 * 3600 * SECOND;
/// Longest name of a job or group, in characters.
const LONGEST_NAME: usize = 64;
/// How fast recorded work is done again, of the recorded speed.
const SPEEDS: RangeInclusive<f64> = 0.01..=100.0;
/// Most messages of a queue, permits of a semaphore and tasks at a barrier.
const MOST_SHARED: u64 = 1 << 20;

/// Finds the first fault in a scenario whose types, settings and machine are right.
pub(super) fn scenario(scenario: &Scenario) -> Result<(), Fault> {
    jobs::check_groups(scenario)?;
    jobs::check(scenario)?;
    arrivals::check(scenario)?;
    shared(scenario)?;
    program::check(scenario)?;
    attention::check(scenario)?;
    tunables(scenario)?;
    recording(scenario)?;
    if let Some(length) = scenario.duration {
        lasting(&Path::top("duration"), length)?;
    } else if !scenario.workload.values().any(program::ends) {
        let reason =
            "is missing: every job goes on forever, so the run would never end; give a duration or a job that ends";
        return Err(Fault::new(Path::top("duration"), reason));
    }
    Ok(())
}

/// Names of tunables are files' names in the end, or names of devices behind an "@".
fn tunables(scenario: &Scenario) -> Result<(), Fault> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    match scenario.tunables.keys().find(|name| name.len() > LONGEST_NAME || name.is_empty() || !name.chars().all(fits))
    {
        None => Ok(()),
        Some(name) => {
            let reason = "is not the name of a tunable: letters, digits, \"_\", \"-\", \".\", \"@\", like elevator@vda";
            Err(Fault::new(Path::top("tunables").key(name), reason))
        }
    }
}

/// A recording is replayed at a speed at which its times still fit.
fn recording(scenario: &Scenario) -> Result<(), Fault> {
    match scenario.recording.as_ref().and_then(|recording| recording.speed) {
        Some(speed) if !SPEEDS.contains(&speed) => {
            let reason = format!("{speed} is out of range: from {} to {}", SPEEDS.start(), SPEEDS.end());
            Err(Fault::new(Path::top("recording").key("speed"), reason))
        }
        _ => Ok(()),
    }
}

/// What tasks share.
fn shared(scenario: &Scenario) -> Result<(), Fault> {
    let all = Path::top("shared");
    for (title, one) in &scenario.shared {
        name(&all, title)?;
        let of = |kind: &str| all.key(title).key(kind);
        match *one {
            Shared::Queue(size) => between(|| of("queue"), size.into(), 1, MOST_SHARED)?,
            Shared::Semaphore(size) => between(|| of("semaphore"), size.into(), 0, MOST_SHARED)?,
            Shared::Barrier(size) => between(|| of("barrier"), size.into(), 1, MOST_SHARED)?,
            Shared::Lock(Protocol::Ceiling(priority)) => {
                between(|| of("lock").key("ceiling"), priority.into(), 1, 99)?;
            }
            Shared::Lock(Protocol::None | Protocol::Inherit) => {}
        }
    }
    Ok(())
}

/// A whole number between bounds.
fn between(at: impl FnOnce() -> Path, value: u64, low: u64, high: u64) -> Result<(), Fault> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(Fault::new(at(), format!("{value} is out of range: from {low} to {high}")))
}

/// A length of time that may be zero.
fn bounded(at: &Path, length: Duration, high: Nanos) -> Result<(), Fault> {
    if length.0 <= high {
        return Ok(());
    }
    Err(Fault::new(at.clone(), format!("{} is too long: at most {}", spell_duration(length.0), spell_duration(high))))
}

/// A length of time that may not be zero.
fn lasting(at: &Path, length: Duration) -> Result<(), Fault> {
    if length.0 == 0 {
        return Err(Fault::new(at.clone(), "0s is too short: a time longer than nothing is wanted"));
    }
    bounded(at, length, LONGEST)
}

/// A name that may be used between dots: `tasks.<name>.real`.
fn name(at: &Path, name: &str) -> Result<(), Fault> {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().count() <= LONGEST_NAME && name.chars().all(fits) {
        return Ok(());
    }
    let reason = format!("a name has 1 to {LONGEST_NAME} letters, digits, \"_\" or \"-\"");
    Err(Fault { found: Some(name.chars().take(LONGEST_NAME).collect()), ..Fault::new(at.key(name), reason) })
}
