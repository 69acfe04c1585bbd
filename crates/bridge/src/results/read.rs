//! What is asked of files of results: which runs they have, which metrics, and the values of some.

use super::{Opened, SEEDED, Seeded, Texts, numbers, values};
use arrow_array::{Array, UInt64Array, cast::AsArray, types::UInt32Type};
use arrow_ipc::reader::StreamReader;
use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::Path,
};

/// Warnings, each with its run; the runs that have values; and those of the latter that are the same under every seed.
pub type About = (Vec<(u32, String)>, Vec<u32>, Vec<u32>);

/// What there is to know of a stream of `batch` before it is appended.
///
/// # Errors
/// If the stream is none of `batch`.
pub fn about(stream: &[u8]) -> Result<About, String> {
    let (mut warned, mut valued, mut unseeded) = (Vec::new(), Vec::new(), Vec::new());
    for batch in StreamReader::try_new(stream, None).map_err(|why| why.to_string())? {
        let batch = batch.map_err(|why| why.to_string())?;
        let runs = batch.column_by_name("run").and_then(|runs| runs.as_primitive_opt::<UInt32Type>());
        let (runs, texts) = (runs.ok_or("rows without run")?, Texts::of(&batch, "warning"));
        let seeded = Seeded::of(&batch);
        for place in 0..batch.num_rows() {
            match texts.at(place) {
                Some(text) => warned.push((runs.value(place), text.to_owned())),
                None if valued.last() == Some(&runs.value(place)) => {}
                None => {
                    valued.push(runs.value(place));
                    unseeded.extend((!seeded.at(place)).then(|| runs.value(place)));
                }
            }
        }
    }
    Ok((warned, valued, unseeded))
}

/// The runs of a scenario in a file: scenario, engine, the seeds, and whether the runs depend on them.
pub type Known = (String, String, Vec<u64>, bool);

/// The runs in a file.
///
/// # Errors
/// If it is no file of results.
pub fn known(path: &Path) -> Result<Vec<Known>, String> {
    let mut found: HashMap<(String, String), (BTreeSet<u64>, bool)> = HashMap::new();
    for batch in Opened::at(path)?.columns(&["scenario", "engine", "seed", SEEDED])? {
        let batch = batch.map_err(|why| why.to_string())?;
        let [scenarios, engines] = ["scenario", "engine"].map(|name| Texts::of(&batch, name));
        let (seeds, seeded) = (numbers(&batch, "seed")?, Seeded::of(&batch));
        let mut last = None;
        for place in 0..batch.num_rows() {
            let run = (scenarios.key(place), engines.key(place), seeds.value(place));
            if last.replace(run) != Some(run) {
                let key = [&scenarios, &engines].map(|texts| texts.at(place).unwrap_or_default().to_owned());
                let entry = found.entry(key.into()).or_default();
                entry.0.insert(run.2);
                entry.1 = seeded.at(place);
            }
        }
    }
    let known = |((scenario, engine), (seeds, seeded)): (_, (BTreeSet<u64>, bool))| {
        (scenario, engine, seeds.into_iter().collect(), seeded)
    };
    Ok(found.into_iter().map(known).collect())
}

/// Which runs are asked for.
#[derive(Debug)]
pub struct Runs {
    scenarios: HashSet<String>,
    seeds: HashSet<u64>,
}

impl Runs {
    /// All of these scenarios with these seeds, and those that are the same under every seed.
    pub fn new(scenarios: Vec<String>, seeds: Vec<u64>) -> Runs {
        Runs { scenarios: scenarios.into_iter().collect(), seeds: seeds.into_iter().collect() }
    }

    /// For each row of a batch, whether it is of these runs.
    fn chosen(&self, scenarios: &Texts<'_>, seeds: &UInt64Array, seeded: &Seeded<'_>) -> Vec<bool> {
        let named = scenarios.each(|text| text.is_some_and(|text| self.scenarios.contains(text)));
        let mut last = (u64::MAX, self.seeds.contains(&u64::MAX));
        let asked = |place| {
            let seed = seeds.value(place);
            if last.0 != seed {
                last = (seed, self.seeds.contains(&seed));
            }
            named[scenarios.key(place)] && (last.1 || !seeded.at(place))
        };
        (0..seeds.len()).map(asked).collect()
    }
}

/// Names of the metrics that some runs have, in the order of the files.
///
/// # Errors
/// If one is no file of results.
pub fn metrics(path: &Path, runs: &Runs) -> Result<Vec<String>, String> {
    let (mut found, mut names) = (HashSet::new(), Vec::new());
    for batch in Opened::at(path)?.columns(&["scenario", "seed", SEEDED, "metric"])? {
        let batch = batch.map_err(|why| why.to_string())?;
        let [scenarios, metrics] = ["scenario", "metric"].map(|name| Texts::of(&batch, name));
        let chosen = runs.chosen(&scenarios, numbers(&batch, "seed")?, &Seeded::of(&batch));
        let mut seen = metrics.each(|_| false);
        for place in (0..batch.num_rows()).filter(|&place| chosen[place]) {
            if !std::mem::replace(&mut seen[metrics.key(place)], true)
                && let Some(name) = metrics.at(place)
                && found.insert(name.to_owned())
            {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names)
}

/// The values of a metric in the runs of a scenario, in the order of the file: scenario, metric, unit, seeds, values.
pub type Series = (String, String, Option<String>, Vec<u64>, Vec<Option<f64>>);

/// The values of some metrics in some runs.
///
/// # Errors
/// If it is no file of results.
pub fn series(path: &Path, runs: &Runs, wanted: &HashSet<String>) -> Result<Vec<Series>, String> {
    let mut found: Vec<Series> = Vec::new();
    let mut places: HashMap<(String, String, Option<String>), usize> = HashMap::new();
    for batch in Opened::at(path)?.columns(&["scenario", "seed", SEEDED, "metric", "unit", "value"])? {
        let batch = batch.map_err(|why| why.to_string())?;
        let [scenarios, metrics, units] = ["scenario", "metric", "unit"].map(|name| Texts::of(&batch, name));
        let (seeds, numbers) = (numbers(&batch, "seed")?, values(&batch, "value")?);
        let chosen = runs.chosen(&scenarios, seeds, &Seeded::of(&batch));
        let named = metrics.each(|text| text.is_some_and(|text| wanted.contains(text)));
        for place in (0..batch.num_rows()).filter(|&place| chosen[place] && named[metrics.key(place)]) {
            let text = |texts: &Texts<'_>| texts.at(place).unwrap_or_default().to_owned();
            let key = (text(&scenarios), text(&metrics), units.at(place).map(str::to_owned));
            let at = *places.entry(key).or_insert_with_key(|(scenario, metric, unit)| {
                found.push((scenario.clone(), metric.clone(), unit.clone(), Vec::new(), Vec::new()));
                found.len() - 1
            });
            found[at].3.push(seeds.value(place));
            found[at].4.push(numbers.is_valid(place).then(|| numbers.value(place)));
        }
    }
    Ok(found)
}
