//! The names of metrics, as experiments ask for them: `context_switches`, `wakeup_latency.p99`,
//! `tasks.io.real`, `tasks.*.wakeup_latency.max`.

use super::{path::Path, problem::Fault};
use crate::info::{MetricInfo, Scope};
use std::collections::BTreeSet;

/// Checks `asked` against the table of metrics and the names of the jobs.
pub(super) fn check(at: &Path, asked: &str, table: &[MetricInfo], jobs: &BTreeSet<String>) -> Result<(), Fault> {
    let Some(of_task) = asked.strip_prefix("tasks.") else {
        return named(at, asked, "", asked, Scope::System, table);
    };
    let Some((job, name)) = of_task.split_once('.') else {
        return Err(Fault::new(at.clone(), format!("{asked:?} is not a metric: write tasks.JOB.METRIC")));
    };
    if job != "*" && !jobs.contains(job) {
        let known = jobs.iter().map(String::as_str).chain(["*"]);
        return Err(Fault::unknown(at.clone(), job, &format!("{asked:?}: the workload has no job {job:?}"), known));
    }
    named(at, asked, &asked[..asked.len() - name.len()], name, Scope::Task, table)
}

/// Checks the part behind `before`: a metric, and a statistic if it is a distribution.
fn named(at: &Path, asked: &str, before: &str, name: &str, scope: Scope, table: &[MetricInfo]) -> Result<(), Fault> {
    let (metric, statistic) = match name.split_once('.') {
        Some((metric, statistic)) => (metric, Some(statistic)),
        None => (name, None),
    };
    let Some(info) = table.iter().find(|info| info.name == metric && info.scope == scope) else {
        return Err(no_metric(at, asked, before, metric, scope, table));
    };
    match statistic {
        None if !info.distribution => Ok(()),
        Some(statistic) if info.distribution && MetricInfo::STATISTICS.contains(&statistic) => Ok(()),
        Some(_) if !info.distribution => {
            Err(Fault::new(at.clone(), format!("{asked:?}: {metric} is one number, it has no statistics")))
        }
        _ => {
            let statistic = statistic.unwrap_or_default();
            let reason =
                format!("{asked:?}: {metric} is a distribution: a statistic stands behind it, like {metric}.p99");
            let known = MetricInfo::STATISTICS.iter().copied();
            Err(Fault::unknown(at.clone(), statistic, &reason, known))
        }
    }
}

fn no_metric(at: &Path, asked: &str, before: &str, metric: &str, scope: Scope, table: &[MetricInfo]) -> Fault {
    if let Some(other) = table.iter().find(|info| info.name == metric) {
        let form = match other.scope {
            Scope::Task => format!("belongs to tasks: write tasks.*.{metric}, or a job for the *"),
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
