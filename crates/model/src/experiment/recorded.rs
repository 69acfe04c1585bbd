//! Times of arrival that are in a file: `arrivals = { recorded = { file = "times.txt" } }`. They take the place of the file's name
//! before anything is checked, so that an experiment that has been read needs no file, and its hash depends on the times.
//!
//! This module opens no file: its caller does, which knows what may be opened.

use super::{check::arrivals::MOST_RECORDED, path::Path, problem::Fault, problem::Problem, snippet::shorten};
use crate::units::parse_duration;
use serde_json::Value;
use std::collections::BTreeMap;

/// The texts of files by the names that an experiment has for them: what messages call each, and the text.
pub type Files = BTreeMap<String, (String, String)>;

/// The field whose value names a file.
const FIELD: [&str; 3] = ["arrivals", "recorded", "file"];

/// What to write where several files are to be compared.
const NO_SWEEP: &str = "a file of times cannot be swept: give a job, or an experiment, for each file";

/// The names of files in a tree as written, each once.
pub(super) fn named(tree: &Value) -> Vec<String> {
    let mut names: Vec<String> = jobs(tree).filter_map(|(_, job)| file_of(job)).map(str::to_owned).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Puts the times in the places of the names.
pub(super) fn resolve(tree: &mut Value, files: &Files) -> Result<(), Wrong> {
    refuse_swept(&Path::top("sweep"), tree.get("sweep").unwrap_or(&Value::Null))?;
    let Some(jobs) = tree.get_mut("workload").and_then(Value::as_object_mut) else { return Ok(()) };
    for (title, job) in jobs {
        let at = || FIELD.iter().fold(Path::top("workload").key(title), |path, name| path.key(name));
        let Some(name) = file_of(job) else { continue };
        let Some((label, text)) = files.get(name) else {
            let reason = format!("{name:?} was not read; only an experiment that is read from a file can name others");
            return Err(Wrong::Experiment(Fault::new(at(), reason)));
        };
        let times = times(text).map_err(|(line, reason)| Wrong::File(in_file(label, line, &reason)))?;
        job["arrivals"]["recorded"] = Value::Array(times);
    }
    Ok(())
}

/// What can be wrong: something in the experiment, or in the file of times.
pub(super) enum Wrong {
    Experiment(Fault),
    File(Problem),
}

impl From<Fault> for Wrong {
    fn from(fault: Fault) -> Wrong {
        Wrong::Experiment(fault)
    }
}

fn jobs(tree: &Value) -> impl Iterator<Item = (&String, &Value)> {
    tree.get("workload").and_then(Value::as_object).into_iter().flatten()
}

fn file_of(job: &Value) -> Option<&str> {
    let value = FIELD.iter().try_fold(job, |value, name| value.as_object()?.get(*name))?;
    (job["arrivals"]["recorded"].as_object()?.len() == 1).then(|| value.as_str())?
}

/// Refuses files in lists of the sweep, by whatever path.
fn refuse_swept(at: &Path, value: &Value) -> Result<(), Fault> {
    match value {
        Value::Object(table) => table.iter().try_for_each(|(name, inner)| {
            let ends = name.ends_with("arrivals.recorded.file") || (name == "recorded" && inner.get("file").is_some());
            match ends || (name.ends_with("arrivals.recorded") && names_a_file(inner)) {
                true => Err(Fault::new(at.key(name), NO_SWEEP)),
                false => refuse_swept(&at.key(name), inner),
            }
        }),
        Value::Array(list) => list.iter().enumerate().try_for_each(|(i, inner)| refuse_swept(&at.index(i), inner)),
        _ => Ok(()),
    }
}

fn names_a_file(list: &Value) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|value| value.get("file").is_some()))
}

/// The times in a text, one a line; the line, from 1, and what is wrong there.
fn times(text: &str) -> Result<Vec<Value>, (usize, String)> {
    let (mut found, mut last) = (Vec::new(), 0);
    for (line, written) in (1..).zip(text.lines()) {
        let time = written.split('#').next().unwrap_or_default().trim();
        if time.is_empty() {
            continue;
        }
        let spelled = if time.ends_with(|c: char| c.is_ascii_digit()) { format!("{time}s") } else { time.to_owned() };
        let wrong = || {
            format!("{:?} is not a time: write one a line, in seconds (0.25) or with a unit (\"250ms\")", shorten(time))
        };
        let ns = parse_duration(&spelled).map_err(|_| (line, wrong()))?;
        if ns < last {
            return Err((
                line,
                format!("{:?} is earlier than the time before: write the times in order", shorten(time)),
            ));
        }
        if found.len() == MOST_RECORDED {
            return Err((line, format!("is the {}th time: at most {MOST_RECORDED}", MOST_RECORDED + 1)));
        }
        last = ns;
        found.push(Value::from(spelled));
    }
    match found.is_empty() {
        true => Err((1, "has no times: write one a line, in seconds (0.25) or with a unit (\"250ms\")".to_owned())),
        false => Ok(found),
    }
}

fn in_file(label: &str, line: usize, reason: &str) -> Problem {
    Fault::new(Path::default(), reason).in_file(label, Some(line), &Value::Null)
}
