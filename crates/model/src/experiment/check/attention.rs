//! Rules of attention levels: the bounds of a layout file, jobs that exist, times in order, and nothing that only a host's programs have.

use super::bounded;
use crate::{
    MILLISECOND, SECOND,
    attention::{self, Attending, Layout, Rule},
    experiment::{path::Path, problem::Fault},
    scenario::Scenario,
    units::spell_duration,
};

/// Most changes of focus.
const MOST_CHANGES: u64 = 100_000;
/// Bounds of the period, as those of `schedlab attend --every`.
const PERIOD: (u64, u64) = (100 * MILLISECOND, 60 * SECOND);

pub(super) fn check(scenario: &Scenario) -> Result<(), Fault> {
    let Some(attending) = &scenario.attention else { return Ok(()) };
    let at = Path::top("attention");
    period(&at.key("period"), attending)?;
    layout(&at.key("layout"), &attending.layout)?;
    focus(&at.key("focus"), attending, scenario)?;
    if attending.focus.is_empty() && !scenario.workload.keys().any(|job| attending.home(job).is_some()) {
        let reason = "moves no job: name one in focus ([{ at = \"0s\", job = \"NAME\" }]), or in a rule of the layout";
        return Err(Fault::new(at, reason));
    }
    Ok(())
}

fn period(at: &Path, attending: &Attending) -> Result<(), Fault> {
    let (low, high) = PERIOD;
    if (low..=high).contains(&attending.period.0) {
        return Ok(());
    }
    let [found, low, high] = [attending.period.0, low, high].map(spell_duration);
    Err(Fault::new(at.clone(), format!("{found} is out of range: from {low} to {high}")))
}

fn layout(at: &Path, layout: &Layout) -> Result<(), Fault> {
    attention::check(layout).map_err(|(field, reason)| {
        let within = Path::parse(&field).unwrap_or_default();
        Fault::new(Path(at.0.iter().chain(&within.0).cloned().collect()), reason)
    })?;
    if layout.attention.other_users {
        let reason = "jobs have no users: leave it out";
        return Err(Fault::new(at.key("attention").key("other_users"), reason));
    }
    if let Some(place) = layout.level.iter().position(|level| level.weight.is_some()) {
        let reason = "a job has no control group of its own whose weight could change: leave it out";
        return Err(Fault::new(at.key("level").index(place).key("weight"), reason));
    }
    layout.rule.iter().enumerate().try_for_each(|(place, one)| rule(&at.key("rule").index(place), one))
}

/// A job has a name, and nothing else that a rule of a host's layout compares.
fn rule(at: &Path, rule: &Rule) -> Result<(), Fault> {
    let given =
        [("command", rule.command.is_some()), ("cgroup", rule.cgroup.is_some()), ("other_users", rule.other_users)];
    match given.iter().find(|(_, given)| *given) {
        Some((field, _)) => Err(Fault::new(at.key(field), "is not compared here: a rule goes by the job's name")),
        None => Ok(()),
    }
}

fn focus(at: &Path, attending: &Attending, scenario: &Scenario) -> Result<(), Fault> {
    let changes = &attending.focus;
    if changes.len() as u64 > MOST_CHANGES {
        let reason = format!("has {} changes; at most {MOST_CHANGES}", changes.len());
        return Err(Fault::new(at.clone(), reason));
    }
    for (place, change) in changes.iter().enumerate() {
        let at = at.index(place);
        bounded(&at.key("at"), change.at, super::LONGEST)?;
        if let Some(job) = change.job.as_ref().filter(|job| !scenario.workload.contains_key(*job)) {
            let known = scenario.workload.keys().map(String::as_str);
            return Err(Fault::unknown(at.key("job"), job, &format!("there is no job {job:?}"), known));
        }
        if let Some(before) = changes[..place].last().filter(|before| before.at.0 >= change.at.0) {
            let [found, before] = [change.at.0, before.at.0].map(spell_duration);
            return Err(Fault::new(
                at.key("at"),
                format!("{found} comes after {before}: changes stand in the order of time"),
            ));
        }
    }
    Ok(())
}
