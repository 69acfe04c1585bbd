//! The cells of a checked experiment, their hashes, and the parameters in them.

use super::{
    Catalogue, Experiment,
    hash::{Digest, Hasher, hex},
    path::Path,
    problem::{Fault, Problem},
    resolve::{Judge, Judged},
    snippet::snippet,
    spread::spread,
    sweep::{Factor, Grid},
};
use crate::{
    info::{Info, Params},
    scenario::{Scenario, Setting},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
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
    /// [`super::hash`] of the scenario.
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
    let parts = spread(within(places, &grid), |part| {
        let (mut hasher, mut before) = (Hasher::default(), None);
        let cell = |number| {
            let (tree, scenario) =
                judged(&judge, &grid, number, before.take()).map_err(|rejected| rejected.problem())?;
            let factors = grid.factors(number);
            let cell = Cell {
                scenario: scenario.clone(),
                factors: factors.iter().map(|factor| (factor.written.to_owned(), factor.text())).collect(),
                hash: hex(&hasher.digest(&scenario)),
                host: host_settings(&scenario, &tree, catalogue),
            };
            before = Some((tree, scenario));
            Ok(cell)
        };
        part.map(cell).collect::<Result<Vec<_>, _>>()
    })?;
    Ok(parts.into_iter().flatten().collect())
}

/// What cells are known by, without their scenarios: the names of the swept fields in order, and for each cell its hash and its
/// values of these.
pub type Outlines = (Vec<String>, Vec<(String, Vec<String>)>);

/// The outlines of those cells whose places in the order are in a range: the same hashes and factors as [`expand_some`] gives.
pub fn outline_some(
    experiment: &Experiment,
    catalogue: &Catalogue<'_>,
    places: Range<u64>,
) -> Result<Outlines, Problem> {
    let judge = Judge::new(catalogue);
    let grid = Grid::new(experiment).map_err(|fault| fault.in_file(IN_MEMORY, None, &Value::Null))?;
    let places = within(places, &grid);
    let parts = spread(places.clone(), |part| {
        let (mut hasher, mut before, mut digests) = (Hasher::default(), None, Vec::new());
        for number in part {
            let (tree, scenario) = judged(&judge, &grid, number, before).map_err(|rejected| rejected.problem())?;
            digests.push(hasher.digest(&scenario));
            before = Some((tree, scenario));
        }
        Ok(digests)
    })?;
    Ok(outlined(&grid, places.zip(parts.into_iter().flatten())))
}

/// As [`outline_some`], of an experiment of which [`super::read_with`] gave these digests.
pub fn outline_read(experiment: &Experiment, digests: &[Digest], places: Range<u64>) -> Result<Outlines, Problem> {
    let grid = Grid::new(experiment).map_err(|fault| fault.in_file(IN_MEMORY, None, &Value::Null))?;
    let places = within(places, &grid);
    Ok(outlined(&grid, places.map(|number| (number, digests[number as usize]))))
}

fn outlined(grid: &Grid<'_>, cells: impl Iterator<Item = (u64, Digest)>) -> Outlines {
    let by_name = |number| {
        let mut factors = grid.factors(number);
        factors.sort_by_key(|factor| factor.written);
        factors
    };
    let names = by_name(0).iter().map(|factor| factor.written.to_owned()).collect();
    let cells = cells.map(|(number, digest)| (hex(&digest), by_name(number).iter().map(Factor::text).collect()));
    (names, cells.collect())
}

fn within(places: Range<u64>, grid: &Grid<'_>) -> Range<u64> {
    places.start.min(grid.cells)..places.end.min(grid.cells)
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

impl Rejected {
    /// The problem of an experiment in memory.
    fn problem(self) -> Problem {
        let problem = self.fault.in_file(IN_MEMORY, None, &self.tree);
        Problem { source_of_value: self.place.map(|place| place.to_string()), cell: self.cell, ..problem }
    }
}

/// The scenario of a cell, with its tree; `before` is that of another cell, from which it takes over what is the same.
pub(super) fn judged(
    judge: &Judge<'_>,
    grid: &Grid<'_>,
    cell: u64,
    before: Option<Judged>,
) -> Result<Judged, Box<Rejected>> {
    let factors = grid.factors(cell);
    let tree = grid
        .tree(&factors)
        .map_err(|fault| Box::new(Rejected { fault, tree: Value::Null, place: None, cell: None }))?;
    match judge.scenario(&tree, before) {
        Ok(scenario) => Ok((tree, scenario)),
        Err(fault) => {
            let place =
                factors.iter().rev().find(|factor| fault.at.within(&factor.path)).map(|factor| factor.at.clone());
            let (guilty, others): (Vec<_>, Vec<_>) =
                factors.into_iter().partition(|factor| place.as_ref().is_some_and(|place| factor.at == *place));
            // If the value is as wrong without the others, they need no mention.
            let alone =
                || grid.tree(&guilty).and_then(|tree| judge.scenario(&tree, None)).is_err_and(|other| other == fault);
            let cell = (!others.is_empty() && !alone())
                .then(|| others.iter().map(Factor::equation).collect::<Vec<_>>().join(", "));
            Err(Box::new(Rejected { fault, tree, place, cell }))
        }
    }
}

/// What two values of a sweep must not both make: the hash of a scenario, and what a host would be set to. That counts, too: a
/// parameter that is given there may be the simulator's default.
pub(super) type Made = (Digest, BTreeMap<String, String>);

/// What a cell makes.
pub(super) fn made(digest: Digest, (tree, scenario): &Judged, catalogue: &Catalogue<'_>) -> Made {
    (digest, host_settings(scenario, tree, catalogue).tunables)
}

/// A value of the sweep that makes the same cells as an earlier one, whatever its spelling. `made` has the cells of the
/// grid's lines.
pub(super) fn repeated(grid: &Grid<'_>, made: &BTreeMap<u64, Made>) -> Option<Fault> {
    for line in grid.lines() {
        let mut met: BTreeMap<&Made, u64> = BTreeMap::new();
        for cell in line {
            let Some(earlier) = made.get(&cell).and_then(|made| met.insert(made, cell)) else { continue };
            let (factors, before) = (grid.factors(cell), grid.factors(earlier));
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
        Params::check_on(scenario.machine.processors.get(), info, given)
            .map_err(|(name, why)| Fault::new(at.key(&name), why))
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
