//! The names of metrics, as experiments ask for them: `context_switches`, `wakeup_latency.p99`,
//! `tasks.io.real`, `tasks.*.wakeup_latency.max`, `nice.5.load1`.

use super::{path::Path, problem::Fault};
use crate::{
    info::{MetricInfo, Scope},
    machine::Personality,
    program::Step,
    scenario::{Job, Scenario},
};
use std::collections::BTreeSet;

/// What metrics may describe, in any cell.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) jobs: BTreeSet<String>,
    /// Nice levels of their tasks.
    pub(super) levels: BTreeSet<i8>,
    /// Jobs whose tasks may end, and those that may wait for periods.
    ending: BTreeSet<String>,
    periodic: BTreeSet<String>,
}

/// Metrics and statistics that every run has, whatever happens in it.
const COUNTS: [&str; 3] = ["count", "censored", "censored_max"];

impl Known {
    /// Adds those of a cell.
    pub(super) fn add(&mut self, scenario: &Scenario) {
        self.jobs.extend(scenario.workload.keys().cloned());
        self.levels.extend(scenario.workload.values().map(|job| job.nice));
        let those = |may: fn(&Job) -> bool| scenario.workload.iter().filter(move |(_, job)| may(job));
        self.ending.extend(those(may_end).map(|(name, _)| name.clone()));
        self.periodic.extend(those(may_be_late).map(|(name, _)| name.clone()));
        // The kernel's own tasks have the ordinary level.
        self.levels.extend((scenario.machine.personality == Personality::MessagePassing).then_some(0));
    }

    /// Adds what other cells have.
    pub(super) fn join(&mut self, other: Known) {
        self.jobs.extend(other.jobs);
        self.levels.extend(other.levels);
        self.ending.extend(other.ending);
        self.periodic.extend(other.periodic);
    }

    /// Checks that the programs of a job let a metric have a value.
    fn value(&self, at: &Path, asked: &str, job: &str, name: &str) -> Result<(), Fault> {
        let (metric, statistic) = name.split_once('.').unwrap_or((name, ""));
        let (able, why, instead) = match metric {
            "real" => (&self.ending, "no task of it ever ends", "passes"),
            "lateness" if !COUNTS.contains(&statistic) => {
                (&self.periodic, "it has no step \"period\"", "pass_time.p99")
            }
            _ => return Ok(()),
        };
        if able.contains(job) || job == "*" && !able.is_empty() {
            return Ok(());
        }
        let reason = format!("{asked:?} has no value in any run of {job:?}: {why}");
        Err(Fault { nearest: Some(format!("tasks.{job}.{instead}")), ..Fault::new(at.clone(), reason) })
    }

    /// Checks that there are tasks of this nice level.
    fn level(&self, at: &Path, asked: &str, level: &str) -> Result<(), Fault> {
        let number = level.parse::<i8>();
        if number.as_ref().is_ok_and(|number| self.levels.contains(number)) {
            return Ok(());
        }
        let reason = format!("{asked:?}: the workload has no task of nice level {level:?}");
        let known = self.levels.iter().map(i8::to_string).chain(["*".to_owned()]).collect();
        let nearest = number.ok().and_then(|number| self.levels.iter().min_by_key(|other| other.abs_diff(number)));
        let found = Some(level.chars().take(100).collect());
        Err(Fault { found, known, nearest: nearest.map(i8::to_string), ..Fault::new(at.clone(), reason) })
    }
}

/// Checks `asked` against the table of metrics and what they may describe.
pub(super) fn check(at: &Path, asked: &str, table: &[MetricInfo], known: &Known) -> Result<(), Fault> {
    if let Some(of_level) = asked.strip_prefix("nice.") {
        let Some((level, name)) = of_level.split_once('.') else {
            return Err(Fault::new(at.clone(), format!("{asked:?} is not a metric: write nice.LEVEL.METRIC")));
        };
        if level != "*" {
            known.level(at, asked, level)?;
        }
        return named(at, asked, &asked[..asked.len() - name.len()], name, Scope::Nice, table);
    }
    let Some(of_task) = asked.strip_prefix("tasks.") else {
        return named(at, asked, "", asked, Scope::System, table);
    };
    let Some((job, name)) = of_task.split_once('.') else {
        return Err(Fault::new(at.clone(), format!("{asked:?} is not a metric: write tasks.JOB.METRIC")));
    };
    if job != "*" && !known.jobs.contains(job) {
        let names = known.jobs.iter().map(String::as_str).chain(["*"]);
        return Err(Fault::unknown(at.clone(), job, &format!("{asked:?}: the workload has no job {job:?}"), names));
    }
    named(at, asked, &asked[..asked.len() - name.len()], name, Scope::Task, table)?;
    known.value(at, asked, job, name)
}

/// The unit of a metric that is in the table: that of what is counted for numbers of values.
pub(super) fn unit(asked: &str, table: &[MetricInfo]) -> Option<&'static str> {
    let of_whom = asked.strip_prefix("nice.").or_else(|| asked.strip_prefix("tasks."));
    let name = of_whom.map_or(Some(asked), |rest| rest.split_once('.').map(|(_, name)| name))?;
    let find = |name: &str| table.iter().find(|info| info.name == name).map(|info| info.unit);
    find(name).or_else(|| match name.rsplit_once('.') {
        Some((_, "count" | "censored")) => Some("1"),
        Some((metric, _)) => find(metric),
        None => None,
    })
}

/// Of a load it is not known here what its tasks do.
fn may_end(job: &Job) -> bool {
    job.is_finite()
        || job.steps.as_ref().is_none_or(|steps| any(steps, |step| matches!(step, Step::Exit | Step::Grow(_))))
}

fn may_be_late(job: &Job) -> bool {
    job.steps
        .as_ref()
        .is_none_or(|steps| any(steps, |step| matches!(step, Step::Period(_) | Step::Timer(_) | Step::Fork(_))))
}

fn any(steps: &[Step], is: fn(&Step) -> bool) -> bool {
    steps.iter().any(|step| match step {
        Step::Repeat(repeat) => any(&repeat.steps, is),
        other => is(other),
    })
}

/// Checks the part behind `before`: a metric, whose name may have two parts, and a statistic if it is a distribution.
fn named(at: &Path, asked: &str, before: &str, name: &str, scope: Scope, table: &[MetricInfo]) -> Result<(), Fault> {
    let whole = table.iter().any(|info| info.name == name && info.scope == scope);
    let (metric, statistic) = match name.split_once('.').filter(|_| !whole) {
        Some((metric, statistic)) => (metric, Some(statistic)),
        None => (name, None),
    };
    let Some(info) = table.iter().find(|info| info.name == metric && info.scope == scope) else {
        return Err(no_metric(at, asked, before, metric, scope, table));
    };
    match statistic {
        None if !info.distribution => Ok(()),
        Some(statistic) if info.distribution && MetricInfo::is_statistic(statistic) => Ok(()),
        Some(_) if !info.distribution => {
            Err(Fault::new(at.clone(), format!("{asked:?}: {metric} is one number, it has no statistics")))
        }
        _ => {
            let statistic = statistic.unwrap_or_default();
            let reason = format!("{asked:?}: {metric} is a distribution: append a statistic, as in {metric}.p99");
            let known = MetricInfo::STATISTICS.iter().copied();
            Err(Fault::unknown(at.clone(), statistic, &reason, known))
        }
    }
}

fn no_metric(at: &Path, asked: &str, before: &str, metric: &str, scope: Scope, table: &[MetricInfo]) -> Fault {
    if let Some(other) = table.iter().find(|info| info.name == metric) {
        let form = match other.scope {
            Scope::Task => format!("belongs to tasks: write tasks.*.{metric}, or a job for the *"),
            Scope::Nice => format!("belongs to nice levels: write nice.*.{metric}, or a level for the *"),
            Scope::System => format!("belongs to the whole system: write {metric}"),
        };
        return Fault::new(at.clone(), format!("{asked:?}: {metric} {form}"));
    }
    let known: Vec<String> =
        table.iter().filter(|info| info.scope == scope).map(|info| format!("{before}{}", info.name)).collect();
    let fault = Fault::unknown(
        at.clone(),
        &format!("{before}{metric}"),
        &format!("{asked:?} is not a metric"),
        known.iter().map(String::as_str),
    );
    Fault { found: Some(asked.chars().take(100).collect()), ..fault }
}
