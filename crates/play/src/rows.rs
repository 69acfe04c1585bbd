//! The rows of an outcome, by the names of the metrics table.

use schedlab_metrics::{Distribution, METRICS};
use schedlab_model::info::{MetricInfo, Scope};
use schedlab_observe::Number;
use std::collections::BTreeSet;

/// Rows in the order in which they are added.
#[derive(Debug, Default)]
pub(crate) struct Rows(Vec<Number>);

impl Rows {
    /// All of them, in order.
    pub fn into_numbers(self) -> Vec<Number> {
        self.0
    }

    fn of(scope: Scope, name: &str) -> Option<&'static MetricInfo> {
        METRICS.iter().find(|metric| metric.scope == scope && metric.name == name)
    }

    /// A number of the system, or of a job if `prefix` names one. A metric that is not in the table has no row.
    pub fn number(&mut self, prefix: &str, name: &str, value: Option<f64>) {
        let scope = if prefix.is_empty() { Scope::System } else { Scope::Task };
        let (Some(value), Some(metric)) = (value.filter(|value| value.is_finite()), Rows::of(scope, name)) else {
            return;
        };
        self.0.push(Number { metric: format!("{prefix}{name}"), unit: metric.unit.to_owned(), value });
    }

    /// Takes these rows in place of those of the same metric.
    pub fn replace(&mut self, better: &[Number]) {
        let names: BTreeSet<&str> = better.iter().map(|row| row.metric.as_str()).collect();
        // Bounds go with what they are the bounds of.
        let of = |name: &'_ str| {
            let bounded = name.strip_suffix("_low").or_else(|| name.strip_suffix("_high"));
            bounded.is_some_and(|name| names.contains(name))
        };
        self.0.retain(|row| !names.contains(row.metric.as_str()) && !of(&row.metric));
        self.0.extend(better.iter().filter(|row| row.value.is_finite()).cloned());
    }

    pub fn spread(&mut self, prefix: &str, name: &str, values: &Distribution) {
        let scope = if prefix.is_empty() { Scope::System } else { Scope::Task };
        let Some(metric) = Rows::of(scope, name) else { return };
        values.for_each_statistic(|statistic, value| {
            let unit = metric.unit_of(statistic).to_owned();
            self.0.push(Number { metric: format!("{prefix}{name}.{statistic}"), unit, value });
        });
    }

    /// Which of these numbers of a job is the largest, in its unit; 0 if there is none.
    pub fn largest(&self, job: &str, names: &[&str]) -> f64 {
        let of = |row: &&Number| {
            let name = row.metric.strip_prefix("tasks.").and_then(|rest| rest.strip_prefix(job)?.strip_prefix('.'));
            name.is_some_and(|name| names.contains(&name))
        };
        self.0.iter().filter(of).map(|row| row.value).fold(0.0, f64::max)
    }
}
