//! Reading: text and overrides in, a checked experiment out, or the first problem with the place it comes from.

use super::{
    Catalogue, Experiment, Format, Goal,
    cells::{self, Rejected},
    document::{self, Override},
    hash::{Digest, Hasher},
    keep,
    metrics::{self, Known},
    path::Path,
    problem::{Fault, Problem},
    recorded::{self, Files, Wrong},
    resolve::Judge,
    snippet::snippet,
    space,
    spread::spread,
    sweep::{Grid, SWEPT, put},
    translate::typed,
};
use crate::scenario::Scenario;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Reads and checks an experiment that names no files; see [`read_with`].
pub fn read(
    text: &str,
    label: &str,
    format: Format,
    overrides: &[String],
    catalogue: &Catalogue<'_>,
) -> Result<Experiment, Problem> {
    read_with(text, label, format, overrides, &Files::new(), catalogue).map(|(experiment, _)| experiment)
}

/// The names of the files whose texts [`read_with`] needs. None of a text that it will refuse.
pub fn files(text: &str, format: Format, overrides: &[String]) -> Vec<String> {
    let Ok(mut tree) = document::parse(text, format) else { return Vec::new() };
    for one in overrides.iter().filter_map(|text| Override::parse(text).ok()) {
        if put(&mut tree, &one.path, one.value).is_err() {
            return Vec::new();
        }
    }
    recorded::named(&tree)
}

/// Reads and checks an experiment with the texts of the files that it names. `label` is what messages call the file; each override is `PATH=VALUE`.
/// An override of a swept field takes that field out of the sweep. Gives also the digests of its cells, which checking them works
/// out; [`super::outline_read`] takes them.
pub fn read_with(
    text: &str,
    label: &str,
    format: Format,
    overrides: &[String],
    files: &Files,
    catalogue: &Catalogue<'_>,
) -> Result<(Experiment, Vec<Digest>), Problem> {
    let judge = Judge::new(catalogue);
    let reading = Reading::new(text, label, format, &judge)?;
    let read_override = |text| {
        Override::parse(text).map_err(|why| {
            let problem = Fault::new(Path::default(), why).in_file(label, None, &Value::Null);
            Problem { source_of_value: Some(option(text)), ..problem }
        })
    };
    let mut set: Vec<Override<'_>> = overrides.iter().map(|text| read_override(text)).collect::<Result<_, _>>()?;
    let mut before: Option<Problem> = None;
    loop {
        let problem = match reading.experiment(&set, files, catalogue) {
            Ok(read) => return Ok(read),
            Err(problem) => problem,
        };
        let guilty = set.iter_mut().find(|set| set.path.to_string() == problem.field);
        let Some(value) = guilty.and_then(|guilty| guilty.read_otherwise(&problem.reason)) else {
            return Err(before.filter(|before| before.field == problem.field).unwrap_or(problem));
        };
        // What the number is not, if it may not be that one, is said of the number.
        before = (!value.is_f64()).then_some(problem);
    }
}

/// Reads and checks a single scenario, as [`super::Cell`] holds it.
pub fn read_scenario(text: &str, label: &str, format: Format, catalogue: &Catalogue<'_>) -> Result<Scenario, Problem> {
    let judge = Judge::new(catalogue);
    let reading = Reading::new(text, label, format, &judge)?;
    let unknown = reading.written.as_object().into_iter().flatten().find(|(field, _)| !SWEPT.contains(&field.as_str()));
    let scenario = match unknown {
        Some((field, _)) => Err(Fault::field(&Path::default(), field, SWEPT)),
        None => judge.scenario(&reading.written, None),
    };
    scenario.map_err(|fault| reading.problem(fault, &reading.written, &[]))
}

/// How a message repeats an override.
fn option(text: &str) -> String {
    format!("--set {}", text.chars().take(100).map(|c| if c.is_control() { ' ' } else { c }).collect::<String>())
}

/// A text on its way to an experiment.
struct Reading<'a> {
    label: &'a str,
    /// The text, if it has lines that can be referred to.
    lines: Option<&'a str>,
    written: Value,
    judge: &'a Judge<'a>,
}

impl<'a> Reading<'a> {
    fn new(text: &'a str, label: &'a str, format: Format, judge: &'a Judge<'a>) -> Result<Reading<'a>, Problem> {
        let unreadable = |error: document::Unreadable| error.fault.in_file(label, error.line, &Value::Null);
        let written = document::parse(text, format).map_err(unreadable)?;
        Ok(Reading { label, lines: (format == Format::Toml).then_some(text), written, judge })
    }

    fn experiment(
        &self,
        set: &[Override<'_>],
        files: &Files,
        catalogue: &Catalogue<'_>,
    ) -> Result<(Experiment, Vec<Digest>), Problem> {
        let mut tree = self.written.clone();
        for one in set {
            take_out_of_sweep(&mut tree, &one.path);
            put(&mut tree, &one.path, one.value.clone()).map_err(|fault| self.problem(fault, &tree, set))?;
        }
        refuse_lists_in_fields(&Path::default(), &tree).map_err(|fault| self.problem(fault, &tree, set))?;
        recorded::resolve(&mut tree, files).map_err(|wrong| match wrong {
            Wrong::Experiment(fault) => self.problem(fault, &tree, set),
            Wrong::File(problem) => problem,
        })?;
        let experiment: Experiment = typed(&Path::default(), &tree).map_err(|fault| self.problem(fault, &tree, set))?;
        let (known, digests) = self.cells(&experiment, &tree, set, catalogue)?;
        check_metrics(&experiment, catalogue, &known).map_err(|fault| self.problem(fault, &tree, set))?;
        check_space(&experiment, self.judge, catalogue).map_err(|fault| self.problem(fault, &tree, set))?;
        Ok((experiment, digests))
    }

    /// Checks every cell and returns what metrics may describe, and the digest of each.
    fn cells(
        &self,
        experiment: &Experiment,
        tree: &Value,
        set: &[Override<'_>],
        catalogue: &Catalogue<'_>,
    ) -> Result<(Known, Vec<Digest>), Problem> {
        let grid = Grid::new(experiment).map_err(|fault| self.problem(fault, tree, set))?;
        let lines: BTreeSet<u64> = grid.lines().into_iter().flatten().collect();
        let check = |part: Range<u64>| {
            let (mut known, mut made, mut hasher) = (Known::default(), BTreeMap::new(), Hasher::default());
            let (mut digests, mut before) = (Vec::new(), None);
            for cell in part {
                let judged = cells::judged(self.judge, &grid, cell, before)?;
                let digest = hasher.digest(&judged.1);
                known.add(&judged.1);
                digests.push(digest);
                if lines.contains(&cell) {
                    made.insert(cell, cells::made(digest, &judged, catalogue));
                }
                before = Some(judged);
            }
            Ok((known, made, digests))
        };
        let parts = spread(0..grid.cells, check).map_err(|rejected: Box<Rejected>| {
            let Rejected { fault, tree, place, cell } = *rejected;
            let swept = place.map(|place| (self.source(&place, set), place));
            let mut problem = self.problem(fault, &tree, set);
            if let Some(((line, option), place)) = swept {
                problem.line = line;
                problem.source_of_value = Some(option.unwrap_or_else(|| place.to_string()));
            }
            Problem { cell, ..problem }
        })?;
        let (mut known, mut made, mut digests) = (Known::default(), BTreeMap::new(), Vec::new());
        for (of_part, made_there, digests_there) in parts {
            known.join(of_part);
            made.extend(made_there);
            digests.extend(digests_there);
        }
        cells::repeated(&grid, &made).map_or(Ok((known, digests)), |fault| Err(self.problem(fault, tree, set)))
    }

    /// Completes a fault by where its value comes from: a line of the file, or an override.
    fn problem(&self, fault: Fault, tree: &Value, set: &[Override<'_>]) -> Problem {
        let (line, option) = self.source(&fault.at, set);
        Problem { source_of_value: option, ..fault.in_file(self.label, line, tree) }
    }

    fn source(&self, at: &Path, set: &[Override<'_>]) -> (Option<usize>, Option<String>) {
        match set.iter().rev().find(|one| at.within(&one.path)) {
            Some(one) => (None, Some(option(one.text))),
            None => (self.lines.and_then(|text| document::line_of(text, at)), None),
        }
    }
}

/// A field that is set is no longer swept.
fn take_out_of_sweep(tree: &mut Value, path: &Path) {
    let same = |key: &str| Path::parse(key).is_ok_and(|key| key.is(path));
    let Some(sweep) = tree.get_mut("sweep").and_then(Value::as_object_mut) else { return };
    sweep.retain(|key, _| !same(key));
    let Some(zips) = sweep.get_mut("zip") else { return };
    match zips {
        Value::Object(zip) => zip.retain(|key, _| !same(key)),
        Value::Array(zips) => {
            for zip in zips.iter_mut().filter_map(Value::as_object_mut) {
                zip.retain(|key, _| !same(key));
            }
            zips.retain(|zip| zip.as_object().is_none_or(|zip| !zip.is_empty()));
        }
        _ => {}
    }
    if zips.as_object().is_some_and(|zip| zip.is_empty()) {
        sweep.remove("zip");
    }
}

/// Refuses `slice = { sweep = [...] }`: what is swept is written in a table of its own.
fn refuse_lists_in_fields(at: &Path, value: &Value) -> Result<(), Fault> {
    match value {
        Value::Object(table) => table.iter().try_for_each(|(name, inner)| match inner.get("sweep") {
            Some(Value::Array(list)) if inner.as_object().is_some_and(|inner| inner.len() == 1) => {
                let at = at.key(name);
                let list = snippet(&Value::from(list.as_slice()));
                let reason = format!("a list to try is not written here: leave the field out, and write it in the table [sweep]: \"{at}\" = {list}");
                Err(Fault::new(at, reason))
            }
            _ => refuse_lists_in_fields(&at.key(name), inner),
        }),
        Value::Array(list) => {
            list.iter().enumerate().try_for_each(|(i, inner)| refuse_lists_in_fields(&at.index(i), inner))
        }
        _ => Ok(()),
    }
}

fn check_metrics(experiment: &Experiment, catalogue: &Catalogue<'_>, known: &Known) -> Result<(), Fault> {
    let top = Path::top("metrics");
    if experiment.metrics.as_ref().is_some_and(Vec::is_empty) {
        return Err(Fault::new(top, "is empty: name a metric, or leave the field out for every metric"));
    }
    for (i, name) in experiment.metrics.iter().flatten().enumerate() {
        metrics::check(&top.index(i), name, catalogue.metrics, known)?;
    }
    check_goal(&experiment.goal, catalogue, known)
}

fn check_goal(goal: &Goal, catalogue: &Catalogue<'_>, known: &Known) -> Result<(), Fault> {
    let top = Path::top("goal");
    let one = |at: &Path, name: &str| {
        metrics::check(at, name, catalogue.metrics, known)?;
        for (start, one) in [("tasks.*.", "job"), ("nice.*.", "nice level")] {
            if name.starts_with(start) {
                let reason = format!("{name:?} is a number for each {one}; a goal names one {one}");
                return Err(Fault::new(at.clone(), reason));
            }
        }
        Ok(())
    };
    for (field, names) in [("minimize", &goal.minimize), ("maximize", &goal.maximize)] {
        for (i, name) in names.iter().enumerate() {
            let at = top.key(field).index(i);
            one(&at, name)?;
            if field == "maximize" && goal.minimize.contains(name) {
                return Err(Fault::new(at, format!("{name:?} cannot be both less and more")));
            }
        }
    }
    for (i, text) in goal.keep.iter().enumerate() {
        let at = top.key("keep").index(i);
        one(&at, &keep::read(&at, text, catalogue.metrics)?.metric)?;
    }
    for (name, weight) in &goal.weights {
        let at = top.key("weights").key(name);
        let mut goals = goal.minimize.iter().chain(&goal.maximize).map(String::as_str);
        if !goals.clone().any(|goal| goal == name) {
            let reason = format!("{name:?} is neither in minimize nor in maximize");
            return Err(Fault::unknown(at, name, &reason, &mut goals));
        }
        if !(weight.is_finite() && *weight > 0.0) {
            return Err(Fault::new(at, format!("{weight} is no weight: a number greater than 0 is wanted")));
        }
    }
    Ok(())
}

fn check_space(experiment: &Experiment, judge: &Judge<'_>, catalogue: &Catalogue<'_>) -> Result<(), Fault> {
    if experiment.space.is_empty() {
        return Ok(());
    }
    let grid = Grid::new(experiment)?;
    space::dimensions(experiment, judge, &grid, catalogue).map(drop)
}
