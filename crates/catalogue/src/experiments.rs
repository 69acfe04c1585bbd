//! Experiment files: their schema, reading and checking them, and the cells of a sweep.

use crate::{from_json, json, tables};
use schedlab_model::experiment::{self, Catalogue, Digest, Experiment, Files, Format};
use schedlab_workloads::roster::{self, NoSteps};
use std::sync::{Mutex, PoisonError};

/// The experiment that was read last, with the digests of its cells: its cells are asked for next.
static LAST: Mutex<Option<(Experiment, Vec<Digest>)>> = Mutex::new(None);

/// JSON Schema of experiment files.
///
/// # Errors
/// If it cannot be written, which is a fault of ours.
pub fn schema() -> Result<String, String> {
    serde_json::to_string_pretty(&experiment::schema(&tables::SHIPPED)).map_err(|why| why.to_string())
}

/// Reads and checks an experiment in "toml" or "json", and returns it as JSON. A file in "toml" may be a task set of rt-app, too.
///
/// # Errors
/// What is wrong with it: file, place, what was found and what would be right.
pub fn read(
    text: &str,
    label: &str,
    format: &str,
    overrides: &[String],
    files: &Files,
    catalogue: &Catalogue<'_>,
) -> Result<String, String> {
    let read = experiment::read_with(text, label, named(format, text)?, overrides, files, catalogue);
    let (experiment, digests) = read.map_err(|problem| problem.to_string())?;
    let canonical = json(&experiment);
    *LAST.lock().unwrap_or_else(PoisonError::into_inner) = Some((experiment, digests));
    canonical
}

/// The names of the files that an experiment in "toml" or "json" names; `read` needs their texts.
///
/// # Errors
/// If the format is none of these.
pub fn files(text: &str, format: &str, overrides: &[String]) -> Result<Vec<String>, String> {
    Ok(experiment::files(text, named(format, text)?, overrides))
}

/// What is ignored of a file, or done in another way than it says, in sentences.
#[must_use]
pub fn notes(text: &str) -> Vec<String> {
    if experiment::is_rt_app(text) { experiment::notes(text) } else { Vec::new() }
}

/// The text of an experiment in "toml", or as a task set of "rt-app". `label` is what messages call it.
///
/// # Errors
/// What rt-app has no event for.
pub fn write(experiment_json: &str, label: &str, format: &str, catalogue: &Catalogue<'_>) -> Result<String, String> {
    let experiment: Experiment = from_json("experiment", experiment_json)?;
    match format {
        "toml" => experiment::spelled(&experiment),
        "rt-app" => task_set(&experiment, label, catalogue),
        other => Err(format!("{other:?} is neither toml nor rt-app")),
    }
}

/// The only cell of an experiment, with the steps of its loads.
fn task_set(experiment: &Experiment, label: &str, catalogue: &Catalogue<'_>) -> Result<String, String> {
    let cells = experiment::expand_some(experiment, catalogue, 0..2).map_err(|problem| problem.to_string())?;
    let [cell] = <[_; 1]>::try_from(cells)
        .map_err(|_| format!("{label}: sweep: a task set is one setting: give each swept field a value with --set"))?;
    let mut scenario = cell.scenario;
    let steps = roster::steps(&scenario.workload).map_err(|why| match why {
        NoSteps::UnknownLoad { job, load } => format!("{label}: workload.{job}.load: {load:?} is no load"),
        NoSteps::Setting { job, setting, why, .. } => format!("{label}: workload.{job}.{setting}: {why}"),
    })?;
    for (job, steps) in scenario.workload.values_mut().zip(steps) {
        (job.load, job.steps) = (None, Some(steps));
        job.settings.clear();
    }
    experiment::write_rt_app(&scenario, label).map_err(|problem| problem.to_string())
}

/// The format of that name; a text in "toml" that is a task set of rt-app is read as one.
///
/// # Errors
/// If no format has that name.
pub fn named(format: &str, text: &str) -> Result<Format, String> {
    match format {
        "toml" if experiment::is_rt_app(text) => Ok(Format::RtApp),
        "toml" => Ok(Format::Toml),
        "json" => Ok(Format::Json),
        other => Err(format!("{other:?} is neither toml nor json")),
    }
}

/// The cells of an experiment from a place on, and at most that many, as a JSON list of scenario, factors and hash.
///
/// # Errors
/// What is wrong with a cell.
pub fn expand(experiment_json: &str, first: u64, most: u64, catalogue: &Catalogue<'_>) -> Result<String, String> {
    let experiment: Experiment = from_json("experiment", experiment_json)?;
    let cells = experiment::expand_some(&experiment, catalogue, first..first.saturating_add(most));
    json(&cells.map_err(|problem| problem.to_string())?)
}

/// The outlines of the same cells: the names of the swept fields, and for each cell its hash and its values of these.
///
/// # Errors
/// What is wrong with a cell.
pub fn outline(
    experiment_json: &str,
    first: u64,
    most: u64,
    catalogue: &Catalogue<'_>,
) -> Result<experiment::Outlines, String> {
    let experiment: Experiment = from_json("experiment", experiment_json)?;
    let places = first..first.saturating_add(most);
    let outlines = match &*LAST.lock().unwrap_or_else(PoisonError::into_inner) {
        Some((known, digests)) if *known == experiment => experiment::outline_read(&experiment, digests, places),
        _ => experiment::outline_some(&experiment, catalogue, places),
    };
    outlines.map_err(|problem| problem.to_string())
}

/// What a tuner may change of an experiment, and what has to hold, as JSON: `{"space": [Dimension], "keep": [Condition]}`.
///
/// # Errors
/// What is wrong with the experiment.
pub fn space(experiment_json: &str, catalogue: &Catalogue<'_>) -> Result<String, String> {
    let experiment: Experiment = from_json("experiment", experiment_json)?;
    let space = experiment::space(&experiment, catalogue).map_err(|problem| problem.to_string())?;
    let keep = experiment.goal.conditions(catalogue.metrics).map_err(|problem| problem.to_string())?;
    json(&serde_json::json!({ "space": space, "keep": keep }))
}
