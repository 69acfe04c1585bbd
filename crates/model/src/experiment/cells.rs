//! The cells of a checked experiment, their hashes, and the parameters in them.

use super::{
    Catalogue, Experiment,
    path::Path,
    problem::{Fault, Problem},
    resolve::Judge,
    snippet::snippet,
    sweep::{Factor, Grid},
};
use crate::{
    info::{Info, Params},
    scenario::{Scenario, Setting},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, ops::Range};

/// What messages call an experiment that is in memory.
const IN_MEMORY: &str = "experiment";

/// One combination of a sweep's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What to simulate: machine resolved, every setting given in its canonical spelling.
    pub scenario: Scenario,
    /// The swept values: path to text, both as written.
    pub factors: BTreeMap<String, String>,
    /// [`hash`] of the scenario.
    pub hash: String,
    /// What the same settings are on a live host.
    pub host: HostSettings,
}

/// Those parameters of policies that the experiment gives, as a live host would have them set. A host has one scheduler of its
/// own, so parameters that are not given are left as they are there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct HostSettings {
    /// Values by name of the tunable, as written in an experiment.
    pub tunables: BTreeMap<String, String>,
    /// Paths of parameters that are given and that no kernel has.
    pub without: Vec<String>,
}

/// The cells of an experiment; one, if nothing is swept. Fails only if the experiment did not come from
/// [`super::read`] with the same catalogue.
pub fn expand(experiment: &Experiment, catalogue: &Catalogue<'_>) -> Result<Vec<Cell>, Problem> {
    expand_some(experiment, catalogue, 0..u64::MAX)
}

/// As [`expand`], those of the cells whose places in the order are in a range: large sweeps need not be in memory at once.
pub fn expand_some(
    experiment: &Experiment,
    catalogue: &Catalogue<'_>,
    places: Range<u64>,
) -> Result<Vec<Cell>, Problem> {
    let judge = Judge::new(catalogue);
    let grid = Grid::new(experiment).map_err(|fault| fault.in_file(IN_MEMORY, None, &Value::Null))?;
    let cell = |number| {
        let (scenario, factors, tree) = judged(&judge, &grid, number).map_err(|rejected| {
            let Rejected { fault, tree, place, cell } = *rejected;
            let problem = fault.in_file(IN_MEMORY, None, &tree);
            Problem { source_of_value: place.map(|place| place.to_string()), cell, ..problem }
        })?;
        let factors = factors.iter().map(|factor| (factor.written.to_owned(), factor.text())).collect();
        Ok(Cell { hash: hash(&scenario), host: host_settings(&scenario, &tree, catalogue), scenario, factors })
    };
    (places.start..places.end.min(grid.cells)).map(cell).collect()
}

/// A cell that is not a scenario.
pub(super) struct Rejected {
    pub(super) fault: Fault,
    pub(super) tree: Value,
    /// The position of the faulty value in the sweep, if it is a swept one.
    pub(super) place: Option<Path>,
    /// The cell's values, if another cell may be right.
    pub(super) cell: Option<String>,
}

/// The scenario of a cell.
pub(super) fn judged<'g>(
    judge: &Judge<'_>,
    grid: &'g Grid<'_>,
    cell: u64,
) -> Result<(Scenario, Vec<Factor<'g>>, Value), Box<Rejected>> {
    let factors = grid.factors(cell);
    let tree = grid
        .tree(&factors)
        .map_err(|fault| Box::new(Rejected { fault, tree: Value::Null, place: None, cell: None }))?;
    match judge.scenario(&tree) {
        Ok(scenario) => Ok((scenario, factors, tree)),
        Err(fault) => {
            let place =
                factors.iter().rev().find(|factor| fault.at.within(&factor.path)).map(|factor| factor.at.clone());
            let (guilty, others): (Vec<_>, Vec<_>) =
                factors.into_iter().partition(|factor| place.as_ref().is_some_and(|place| factor.at == *place));
            // If the value is as wrong without the others, they need no mention.
            let alone = || grid.tree(&guilty).and_then(|tree| judge.scenario(&tree)).is_err_and(|other| other == fault);
            let cell = (!others.is_empty() && !alone())
                .then(|| others.iter().map(Factor::equation).collect::<Vec<_>>().join(", "));
            Err(Box::new(Rejected { fault, tree, place, cell }))
        }
    }
}

/// A value of the sweep that makes the same cells as an earlier one, whatever its spelling. What a host would be set to counts,
/// too: a parameter that is given there may be the simulator's default.
pub(super) fn repeated(judge: &Judge<'_>, grid: &Grid<'_>, catalogue: &Catalogue<'_>) -> Option<Fault> {
    for line in grid.lines() {
        let mut met: BTreeMap<(String, BTreeMap<String, String>), u64> = BTreeMap::new();
        for cell in line {
            let Ok((scenario, factors, tree)) = judged(judge, grid, cell) else { continue };
            let host = host_settings(&scenario, &tree, catalogue).tunables;
            let Some(earlier) = met.insert((hash(&scenario), host), cell) else { continue };
            let before = grid.factors(earlier);
            // Of the keys that differ between the two; the others are those of both.
            let changed = factors.iter().zip(&before).filter(|(one, other)| one.at != other.at);
            let (here, there): (Vec<_>, Vec<_>) = changed.map(|(one, other)| (one, snippet(other.value))).unzip();
            let at = here.first()?.at.clone();
            let values = here.iter().map(|one| snippet(one.value)).collect::<Vec<_>>().join(", ");
            let reason =
                format!("{values} makes the same cell as {}: identical runs add no information", there.join(", "));
            return Some(Fault::new(at, reason));
        }
    }
    None
}

/// The parameters given in `tree`, by their names on a live host.
fn host_settings(scenario: &Scenario, tree: &Value, catalogue: &Catalogue<'_>) -> HostSettings {
    let mut all = HostSettings::default();
    let families = [
        ("scheduler", catalogue.schedulers, Some(&scenario.scheduler)),
        ("elevator", catalogue.elevators, scenario.elevator.as_ref()),
        ("cache", catalogue.caches, scenario.cache.as_ref()),
        ("reclaim", catalogue.reclaims, scenario.reclaim.as_ref()),
    ];
    for (field, family, choice) in families {
        let (Some(choice), Some(given)) = (choice, tree[field].as_object()) else { continue };
        let info = family.iter().find(|info| info.name == choice.name);
        for (name, setting) in choice.settings.iter().filter(|(name, _)| given.contains_key(*name)) {
            match info.and_then(|info| info.parameter(name)).and_then(|parameter| parameter.host) {
                Some(tunable) => drop(all.tunables.insert(tunable.to_owned(), setting.to_string())),
                None => all.without.push(format!("{field}.{name}")),
            }
        }
    }
    if let Some(elevator) = &scenario.elevator {
        all.tunables.insert("elevator".to_owned(), elevator.name.replace('_', "-"));
    }
    let own = scenario.tunables.iter().map(|(name, setting)| (name.clone(), setting.to_string()));
    all.tunables.extend(own);
    all
}

/// SHA-256 of what decides the results of a checked scenario: not its spelling, its title, or where values come from.
pub fn hash(scenario: &Scenario) -> String {
    let mut canonical = serde_json::to_value(scenario).expect("a scenario has text keys only");
    if let Some(machine) = canonical["machine"].as_object_mut() {
        machine.remove("title");
        machine.values_mut().for_each(drop_sources);
    }
    Sha256::digest(canonical.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// From `{ value, source }` to the value.
fn drop_sources(value: &mut Value) {
    if let Value::Object(table) = value {
        match table.contains_key("source").then(|| table.remove("value")).flatten() {
            Some(bare) => *value = bare,
            None => table.values_mut().for_each(drop_sources),
        }
    }
}

/// The parameters of a scenario's policies, ready for use.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Of the scheduler.
    pub scheduler: Params,
    /// Of each job that has a load.
    pub loads: BTreeMap<String, Params>,
}

/// The parameters of a scenario, defaults filled in. Fails only if the scenario was not checked against `catalogue`.
pub fn parameters(scenario: &Scenario, catalogue: &Catalogue<'_>) -> Result<Parameters, Problem> {
    let found = |at: &Path, family: &[Info], name: &str, settings: &BTreeMap<String, Setting>| {
        let known = || family.iter().map(|info| info.name);
        let info = family
            .iter()
            .find(|info| info.name == name)
            .ok_or_else(|| Fault::unknown(at.clone(), name, &format!("{name:?} is not known"), known()))?;
        let given = settings.iter().map(|(name, setting)| (name.as_str(), setting.to_string()));
        Params::check(info, given).map_err(|(name, why)| Fault::new(at.key(&name), why))
    };
    let all = || {
        let Scenario { scheduler, workload, .. } = scenario;
        let loads = workload.iter().filter_map(|(title, job)| {
            let at = Path::top("workload").key(title);
            let params = found(&at, catalogue.workloads, job.load.as_deref()?, &job.settings);
            Some(params.map(|params| (title.clone(), params)))
        });
        Ok(Parameters {
            scheduler: found(&Path::top("scheduler"), catalogue.schedulers, &scheduler.name, &scheduler.settings)?,
            loads: loads.collect::<Result<_, _>>()?,
        })
    };
    all().map_err(|fault: Fault| fault.in_file(IN_MEMORY, None, &Value::Null))
}
