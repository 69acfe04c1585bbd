//! Conditions of a goal: "tasks.player.deadline_misses = 0", "tasks.hog.share >= 20%", "wakeup_latency.p99 < 5ms".

use super::{metrics, path::Path, problem::Fault};
use crate::{
    SECOND,
    info::MetricInfo,
    units::{parse_duration, parse_rate, parse_size},
};
use serde::Serialize;

/// How a value is to lie to its bound, longer signs first.
const RELATIONS: [&str; 5] = ["<=", ">=", "=", "<", ">"];

/// A condition that a setting has to meet.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Condition {
    /// The metric.
    pub metric: String,
    /// `<=`, `>=`, `=`, `<` or `>`.
    pub relation: &'static str,
    /// The bound, in the metric's unit.
    pub bound: f64,
    /// As it is written.
    pub text: String,
}

/// Reads a condition whose metric is known.
pub(super) fn read(at: &Path, text: &str, table: &[MetricInfo]) -> Result<Condition, Fault> {
    let wrong = || {
        let reason = format!("{text:?} is no condition: write a metric, one of {}, and a bound", RELATIONS.join(" "));
        Fault::new(at.clone(), reason)
    };
    let place = text.find(['<', '>', '=']).ok_or_else(wrong)?;
    let (metric, rest) = (text[..place].trim(), &text[place..]);
    let relation = RELATIONS.into_iter().find(|relation| rest.starts_with(relation)).ok_or_else(wrong)?;
    let written = rest[relation.len()..].trim();
    // An unknown metric is refused where names are checked.
    let unit = metrics::unit(metric, table).unwrap_or("1");
    let bound = bound(written, unit).ok_or_else(|| {
        Fault::new(at.clone(), format!("{text:?}: {written:?} is no bound of {metric}: write {}", example(unit)))
    })?;
    Ok(Condition { metric: metric.to_owned(), relation, bound, text: text.trim().to_owned() })
}

/// The number that is written, in the unit of the metric.
fn bound(written: &str, unit: &str) -> Option<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    match unit {
        "s" => parse_duration(written).ok().map(|length| length as f64 / SECOND as f64),
        "B" => parse_size(written).ok().map(|bytes| bytes as f64),
        "KiB" => parse_size(written).ok().map(|bytes| bytes as f64 / 1024.0),
        "1/s" => parse_rate(written).ok().or_else(|| number(written)),
        "%" => number(written.strip_suffix('%').unwrap_or(written)),
        _ => match written.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(written),
        },
    }
}

fn example(unit: &str) -> &'static str {
    match unit {
        "s" => "a time like \"5ms\"",
        "B" | "KiB" => "a size like \"4MiB\"",
        "1/s" => "a rate like \"60/s\"",
        _ => "a number or a share like \"20%\"",
    }
}
