//! What a tuner may change: fields of an experiment, each with the levels that are tried.
//!
//! ```text
//! [space]
//! "scheduler.slice" = { low = "1ms", high = "1s" }     a range, whose levels `levels` says
//! "scheduler.ready_at" = ["head", "tail"]              a list
//! ```
//!
//! Without a `[space]` it is the parameters of the policies that the experiment names, within the bounds of their tables.

use super::{
    Catalogue, Experiment,
    cells::judged,
    levels::{Kind, is_logarithmic, levels, quantity},
    path::Path,
    problem::{Fault, Problem},
    resolve::{Judge, Judged, is_host, spelled},
    snippet::snippet,
    sweep::{Grid, put, read_key},
};
use crate::{
    info::{Domain, Info, Parameter},
    scenario::{Choice, Scenario},
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;
use std::collections::BTreeMap;

/// Most fields that a search may change, and most levels of one.
const MOST_FIELDS: usize = 32;
const MOST_LEVELS: usize = 1000;
/// How far from the default a parameter is looked at if the experiment does not say: this many times less and more.
const AROUND: f64 = 100.0;
/// The parameter that says which version of a kernel a policy is. That is no setting.
const VERSION: &str = "variant";

/// What a real machine has, whether an experiment says it or not.
const HOSTS_OWN: [&str; 5] = ["scheduler", "elevator", "cache", "reclaim", "tunables"];

/// What a tuner may change, by the path of the field.
pub type Space = BTreeMap<String, Span>;

/// The values that a field may take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Span {
    /// Quantities between two of them, both included.
    Range {
        /// The least.
        low: Value,
        /// The greatest.
        high: Value,
    },
    /// These.
    List(#[schemars(length(min = 2))] Vec<Value>),
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let advice =
            r#"is neither a range nor a list; write "scheduler.slice" = { low = "1ms", high = "1s" } or [...]"#;
        match Value::deserialize(from)? {
            Value::Array(list) => Ok(Span::List(list)),
            Value::Object(mut ends) => match (ends.remove("low"), ends.remove("high"), ends.is_empty()) {
                (Some(low), Some(high), true) => Ok(Span::Range { low, high }),
                _ => Err(de::Error::custom("a range has low and high, and nothing else")),
            },
            _ => Err(de::Error::custom(advice)),
        }
    }
}

/// A field that a search changes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Dimension {
    /// The path of the field.
    pub path: String,
    /// Its values; in order, if they are quantities.
    pub levels: Vec<Value>,
    /// The numbers that the values denote, in `unit`; none of names and switches.
    pub positions: Option<Vec<f64>>,
    /// The unit of the positions: "ns", "B", "1/s" or "1".
    pub unit: &'static str,
    /// Whether the axis is stepped through by factors.
    pub logarithmic: bool,
    /// The place among the levels of the value that the experiment has now; none if it is not among them.
    pub present: Option<usize>,
    /// The value that the experiment has now, if it is known.
    pub value: Option<Value>,
}

/// The fields that a search changes: those of `[space]`, else the parameters of the policies that are named. Fails only if the
/// experiment did not come from [`super::read`] with the same catalogue.
pub fn space(experiment: &Experiment, catalogue: &Catalogue<'_>) -> Result<Vec<Dimension>, Problem> {
    let found = || {
        let judge = Judge::new(catalogue);
        let grid = Grid::new(experiment)?;
        dimensions(experiment, &judge, &grid, catalogue)
    };
    found().map_err(|fault: Fault| fault.in_file("experiment", None, &Value::Null))
}

/// As [`space`]; of what is written, every level was tried in the first cell.
pub(super) fn dimensions(
    experiment: &Experiment,
    judge: &Judge<'_>,
    grid: &Grid<'_>,
    catalogue: &Catalogue<'_>,
) -> Result<Vec<Dimension>, Fault> {
    let first = judged(judge, grid, 0, None).map_err(|rejected| rejected.fault)?;
    if experiment.space.is_empty() {
        return Ok(of_tables(&first, catalogue, grid));
    }
    let at = Path::top("space");
    if experiment.space.len() > MOST_FIELDS {
        return Err(Fault::new(at, format!("has {} fields; at most {MOST_FIELDS}", experiment.space.len())));
    }
    let mut paths: Vec<Path> = Vec::new();
    let written = experiment.space.iter().map(|(written, span)| {
        let at = at.key(written);
        let levels = match span {
            Span::List(list) => of_list(&at, list)?,
            Span::Range { low, high } => of_range(&at, low, high)?,
        };
        let path = read_key(&first.0, &Path::top("space"), written, &levels)?.path;
        if grid.sweeps(&path) {
            return Err(Fault::new(at, format!("{path} is swept: leave it out of [sweep] or of [space]")));
        }
        if paths.iter().any(|other| other.is(&path)) {
            return Err(Fault::new(at, format!("{path} is there twice")));
        }
        paths.push(path.clone());
        let levels = with_present(levels, present(&first, &path).as_ref(), matches!(span, Span::Range { .. }));
        levels.iter().try_for_each(|level| try_level(judge, &first, &at, &path, level))?;
        Ok(dimension(written.clone(), levels, present(&first, &path)))
    });
    written.collect()
}

fn of_list(at: &Path, list: &[Value]) -> Result<Vec<Value>, Fault> {
    if !(2..=MOST_LEVELS).contains(&list.len()) {
        let reason = format!("has length {}; a choice is among 2 to {MOST_LEVELS} values", list.len());
        return Err(Fault::new(at.clone(), reason));
    }
    let number = |value: &Value| quantity(value).map(|(_, number)| number);
    for (place, value) in list.iter().enumerate() {
        let same = |other: &Value| other == value || number(other).is_some_and(|other| number(value) == Some(other));
        if list[..place].iter().any(same) {
            return Err(Fault::new(at.index(place), format!("{} is there twice", snippet(value))));
        }
    }
    Ok(list.to_vec())
}

fn of_range(at: &Path, low: &Value, high: &Value) -> Result<Vec<Value>, Fault> {
    let read = |end: &str, value: &Value| {
        let reason =
            || format!("{} is no quantity: a range is of times, sizes, rates or whole numbers", snippet(value));
        quantity(value).ok_or_else(|| Fault::new(at.key(end), reason()))
    };
    let ((kind, from), (other, to)) = (read("low", low)?, read("high", high)?);
    if kind != other {
        let reason = format!("{} and {} are not of one kind", snippet(low), snippet(high));
        return Err(Fault::new(at.clone(), reason));
    }
    if from >= to {
        let reason = format!("low = {} is not less than high = {}", snippet(low), snippet(high));
        return Err(Fault::new(at.clone(), reason));
    }
    Ok(levels(kind, from, to).into_iter().map(|level| kind.spell(level)).collect())
}

/// Refuses a level that the experiment cannot have, all other fields being as they are.
fn try_level(judge: &Judge<'_>, first: &Judged, at: &Path, path: &Path, level: &Value) -> Result<(), Fault> {
    let mut tree = first.0.clone();
    put(&mut tree, path, level.clone())?;
    judge.scenario(&tree, Some(first.clone())).map(drop).map_err(|fault| {
        let of = if fault.at.is(path) { String::new() } else { format!("{}: ", fault.at) };
        Fault { at: at.clone(), reason: format!("{}: {of}{}", snippet(level), fault.reason), ..fault }
    })
}

/// The value of a field, also of one that is not written: a parameter of a policy or a load, or another field with a default. Of what
/// is not written, a real machine has a value that is not known here.
fn present((tree, scenario): &Judged, path: &Path) -> Option<Value> {
    let is_hosts_own = path.keys().first().is_some_and(|family| HOSTS_OWN.contains(family));
    if is_hosts_own && is_host(&tree["machine"]) {
        return path.get(tree).cloned();
    }
    let setting = match path.keys()[..] {
        ["workload", job, parameter] => scenario.workload.get(job).and_then(|job| job.settings.get(parameter)),
        [family, parameter] => choice(scenario, family).and_then(|choice| choice.settings.get(parameter)),
        _ => None,
    };
    let setting = setting.and_then(|setting| serde_json::to_value(setting).ok());
    let filled_in = || path.get(&serde_json::to_value(scenario).ok()?).cloned();
    let value = setting.or_else(|| path.get(tree).cloned()).or_else(filled_in)?;
    // A value of a machine may have its source next to it.
    Some(value.get("source").and(value.get("value")).cloned().unwrap_or(value))
}

fn choice<'s>(scenario: &'s Scenario, family: &str) -> Option<&'s Choice> {
    match family {
        "scheduler" => Some(&scenario.scheduler),
        "elevator" => scenario.elevator.as_ref(),
        "cache" => scenario.cache.as_ref(),
        "reclaim" => scenario.reclaim.as_ref(),
        _ => None,
    }
}

/// Quantities in order. The present one is a level of its own where it lies within a range.
fn with_present(mut levels: Vec<Value>, present: Option<&Value>, is_range: bool) -> Vec<Value> {
    let Some(mut numbers) = numbers(&levels) else { return levels };
    if let Some((kind, now)) = present.and_then(quantity).filter(|_| is_range)
        && let Some(place) = numbers.iter().position(|(_, number)| *number >= now)
        && place > 0
        && numbers[place].1 > now
        && numbers[place].0 == kind
    {
        levels.insert(place, kind.spell(now));
        numbers.insert(place, (kind, now));
    }
    let mut order: Vec<_> = numbers.into_iter().zip(levels).collect();
    order.sort_by(|((_, one), _), ((_, other), _)| one.total_cmp(other));
    order.into_iter().map(|(_, level)| level).collect()
}

/// The numbers of levels that are quantities of one kind.
fn numbers(levels: &[Value]) -> Option<Vec<(Kind, f64)>> {
    let numbers: Vec<_> = levels.iter().map(quantity).collect::<Option<_>>()?;
    numbers.iter().all(|(kind, _)| *kind == numbers[0].0).then_some(numbers)
}

fn dimension(path: String, levels: Vec<Value>, value: Option<Value>) -> Dimension {
    let numbers = numbers(&levels);
    let unit = numbers.as_ref().map_or("1", |numbers| numbers[0].0.unit());
    let positions: Option<Vec<f64>> = numbers.map(|numbers| numbers.into_iter().map(|(_, number)| number).collect());
    let ends = positions.as_ref().and_then(|all| Some((*all.iter().find(|one| **one > 0.0)?, *all.last()?)));
    let now = value.as_ref().and_then(quantity);
    let is_present = |level: &Value| value.as_ref() == Some(level) || now.is_some() && quantity(level) == now;
    Dimension {
        present: levels.iter().position(is_present),
        logarithmic: ends.is_some_and(|(low, high)| is_logarithmic(low, high)),
        path,
        levels,
        positions,
        unit,
        value,
    }
}

/// The parameters of the policies that an experiment names.
fn of_tables((tree, scenario): &Judged, catalogue: &Catalogue<'_>, grid: &Grid<'_>) -> Vec<Dimension> {
    let families = [
        ("scheduler", catalogue.schedulers),
        ("elevator", catalogue.elevators),
        ("cache", catalogue.caches),
        ("reclaim", catalogue.reclaims),
    ];
    let mut found = Vec::new();
    for (family, table) in families {
        // Policies that are swept have no parameters in common.
        let swept = grid.sweeps(&Path::top(family)) || grid.sweeps(&Path::top(family).key("name"));
        let named = tree.get(family).and(choice(scenario, family)).filter(|_| !swept);
        let info = named.and_then(|named| table.iter().find(|info: &&Info| info.name == named.name));
        for parameter in info.into_iter().flat_map(|info| info.parameters).filter(|one| one.name != VERSION) {
            let path = Path::top(family).key(parameter.name);
            let value = present(&(tree.clone(), scenario.clone()), &path);
            if let Some(levels) = of_parameter(parameter, value.as_ref()).filter(|_| !grid.sweeps(&path)) {
                let levels = with_present(levels, value.as_ref(), true);
                found.push(dimension(path.to_string(), levels, value));
            }
        }
    }
    found
}

/// The levels of a parameter within its bounds and, where they are far, around its default. None of a free text.
fn of_parameter(parameter: &Parameter, present: Option<&Value>) -> Option<Vec<Value>> {
    let (kind, low, high) = match parameter.domain {
        Domain::Choice { names } => return Some(names.iter().map(|&name| Value::from(name)).collect()),
        Domain::Switch => return Some(vec![Value::from(false), Value::from(true)]),
        Domain::Text => return None,
        Domain::Duration { low, high } => (Kind::Duration, low as f64, high as f64),
        Domain::Size { low, high } => (Kind::Size, low as f64, high as f64),
        Domain::Count { low, high } => (Kind::Count, low as f64, high as f64),
        Domain::Rate { low, high } => (Kind::Rate, low, high),
    };
    let default = parameter.default.and_then(|text| parameter.domain.read(text).ok());
    let default = default.map(|value| Value::from(spelled(&parameter.domain, value).to_string()));
    let around = [default.as_ref(), present].into_iter().flatten().filter_map(quantity).map(|(_, number)| number);
    let around: Vec<f64> = around.filter(|_| parameter.logarithmic).filter(|number| *number > 0.0).collect();
    let least = around.iter().map(|number| number / AROUND).fold(f64::INFINITY, f64::min);
    let most = around.iter().map(|number| number * AROUND).fold(0.0, f64::max);
    let (low, high) = if around.is_empty() { (low, high) } else { (low.max(least.ceil()), high.min(most)) };
    (low < high).then(|| levels(kind, low, high).into_iter().map(|level| kind.spell(level)).collect())
}
