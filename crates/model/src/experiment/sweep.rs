//! The cells of a sweep: every combination of the values that an experiment lists.
//!
//! ```text
//! [sweep]
//! "scheduler.slice" = ["100ms", "50ms"]    a key of the grid: its values combine with all others
//! [sweep.zip]                              keys of equal length that move together; [[sweep.zip]] for several
//! ```
//!
//! Cells come in the order of the keys' names, the first changing slowest, zips after the grid.

use super::{Experiment, document::drop_nulls, path::Path, problem::Fault, snippet::snippet};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};
use std::{collections::BTreeMap, fmt};

/// Most cells of a sweep.
const MOST_CELLS: u64 = 100_000;
/// Most runs of an experiment: cells times seeds.
const MOST_RUNS: u64 = 10_000_000;
/// Most bytes of all cells together, written out.
const MOST_BYTES: u64 = 1 << 28;
/// What can be swept.
pub(super) const SWEPT: [&str; 11] = [
    "machine",
    "scheduler",
    "elevator",
    "cache",
    "reclaim",
    "workload",
    "groups",
    "shared",
    "duration",
    "attention",
    "tunables",
];

/// Lists of values by the path of the field that takes them.
pub type Lists = BTreeMap<String, Vec<Value>>;

/// What an experiment varies.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Sweep {
    /// Lists of which every combination is a cell.
    #[serde(flatten)]
    pub grid: Lists,
    /// Lists that move together, the first values first; each zip combines with the grid and the other zips.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zip: Vec<Lists>,
}

impl<'de> Deserialize<'de> for Sweep {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> de::Visitor<'de> for Written {
            type Value = Sweep;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of lists")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<Sweep, A::Error> {
                let mut sweep = Sweep::default();
                while let Some(key) = table.next_key::<String>()? {
                    match key.as_str() {
                        "zip" => sweep.zip = table.next_value::<Zips>()?.0,
                        _ => {
                            sweep.grid.insert(key, table.next_value::<List>()?.0);
                        }
                    }
                }
                Ok(sweep)
            }
        }
        from.deserialize_map(Written)
    }
}

/// The values of one key.
struct List(Vec<Value>);

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let advice = r#"is not a list of values; quote the path: "scheduler.slice" = [...]"#;
        match Value::deserialize(from)? {
            Value::Array(list) if list.is_empty() => Err(de::Error::custom("has no values")),
            Value::Array(list) => Ok(List(list)),
            _ => Err(de::Error::custom(advice)),
        }
    }
}

/// One zip, or a list of them.
struct Zips(Vec<Lists>);

impl<'de> Deserialize<'de> for Zips {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Written;
        impl<'de> de::Visitor<'de> for Written {
            type Value = Zips;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of lists, or a list of such tables")
            }
            fn visit_map<A: de::MapAccess<'de>>(self, mut table: A) -> Result<Zips, A::Error> {
                let mut zip = Lists::new();
                while let Some(key) = table.next_key::<String>()? {
                    zip.insert(key, table.next_value::<List>()?.0);
                }
                Ok(Zips(vec![zip]))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Zips, A::Error> {
                let mut all = Zips(Vec::new());
                while let Some(Zips(mut zips)) = list.next_element()? {
                    all.0.append(&mut zips);
                }
                Ok(all)
            }
        }
        from.deserialize_any(Written)
    }
}

/// One key of the sweep, read.
pub(super) struct Key<'e> {
    written: &'e str,
    pub(super) path: Path,
    /// Its path in the experiment.
    at: Path,
    values: &'e [Value],
}

/// Keys that move together; a key of the grid moves alone.
struct Axis<'e>(Vec<Key<'e>>);

impl Axis<'_> {
    fn length(&self) -> u64 {
        self.0.first().map_or(1, |key| key.values.len() as u64)
    }
}

/// One value of one key in one cell.
pub(super) struct Factor<'e> {
    pub(super) written: &'e str,
    pub(super) path: Path,
    /// The place of the value in the experiment: `sweep."scheduler.slice"[2]`.
    pub(super) at: Path,
    pub(super) value: &'e Value,
}

impl Factor<'_> {
    /// The value as text.
    pub(super) fn text(&self) -> String {
        match self.value {
            Value::String(text) => text.clone(),
            Value::Null => "unset".to_owned(),
            other => other.to_string(),
        }
    }

    /// `scheduler.slice = "36ms"`, for messages.
    pub(super) fn equation(&self) -> String {
        format!("{} = {}", self.path, snippet(self.value))
    }
}

/// The sweep of an experiment, read and bounded.
pub(super) struct Grid<'e> {
    base: Value,
    axes: Vec<Axis<'e>>,
    pub(super) cells: u64,
}

impl<'e> Grid<'e> {
    pub(super) fn new(experiment: &'e Experiment) -> Result<Grid<'e>, Fault> {
        let base = base(experiment);
        let top = Path::top("sweep");
        let mut axes = Vec::new();
        for (key, values) in &experiment.sweep.grid {
            axes.push(Axis(vec![read_key(&base, &top, key, values)?]));
        }
        for (i, zip) in experiment.sweep.zip.iter().enumerate() {
            let at = top.key("zip");
            let at = if experiment.sweep.zip.len() > 1 { at.index(i) } else { at };
            axes.push(read_zip(&base, &at, zip)?);
        }
        no_key_twice(&axes)?;
        let cells = axes.iter().fold(1u64, |cells, axis| cells.saturating_mul(axis.length()));
        let grid = Grid { base, axes, cells };
        grid.bounded(experiment)?;
        Ok(grid)
    }

    fn bounded(&self, experiment: &Experiment) -> Result<(), Fault> {
        let cells = self.cells;
        if cells > MOST_CELLS {
            return Err(Fault::new(Path::top("sweep"), format!("makes {cells} cells; at most {MOST_CELLS}")));
        }
        let runs = cells.saturating_mul(experiment.seeds.len());
        if runs > MOST_RUNS {
            let reason = format!("makes {runs} runs with {cells} cells; at most {MOST_RUNS}");
            return Err(Fault::new(Path::top("seeds"), reason));
        }
        let length = |value: &Value| value.to_string().len() as u64;
        let largest = |key: &Key<'_>| key.values.iter().map(length).max().unwrap_or(0);
        let bytes = length(&self.base) + self.axes.iter().flat_map(|axis| &axis.0).map(largest).sum::<u64>();
        if cells > 1 && bytes.saturating_mul(cells) > MOST_BYTES {
            let reason = format!("makes {cells} cells of {bytes} bytes; at most {MOST_BYTES} bytes in all");
            return Err(Fault::new(Path::top("sweep"), reason));
        }
        Ok(())
    }

    /// Whether a field is swept.
    pub(super) fn sweeps(&self, path: &Path) -> bool {
        self.axes.iter().flat_map(|axis| &axis.0).any(|key| key.path.is(path))
    }

    /// For each axis, the numbers of the cells that differ in it alone, all other axes at their first values.
    pub(super) fn lines(&self) -> Vec<Vec<u64>> {
        let mut step = 1;
        let lines = self.axes.iter().rev().map(|axis| {
            let cells = (0..axis.length()).map(|index| index * step).collect();
            step *= axis.length();
            cells
        });
        lines.collect()
    }

    /// The values of the cell with that number, shorter paths first.
    pub(super) fn factors(&self, cell: u64) -> Vec<Factor<'_>> {
        let mut left = cell;
        let mut factors = Vec::new();
        for axis in self.axes.iter().rev() {
            let index = (left % axis.length()) as usize;
            left /= axis.length();
            factors.extend(axis.0.iter().map(|key| Factor {
                written: key.written,
                path: key.path.clone(),
                at: key.at.index(index),
                value: &key.values[index],
            }));
        }
        factors.sort_by_key(|factor| factor.path.0.len());
        factors
    }

    /// The scenario's tree with the factors put in; a value of null leaves its field out.
    pub(super) fn tree(&self, factors: &[Factor<'_>]) -> Result<Value, Fault> {
        let mut tree = self.base.clone();
        for factor in factors {
            put(&mut tree, &factor.path, factor.value.clone())
                .map_err(|fault| Fault { at: factor.at.clone(), ..fault })?;
        }
        if factors.iter().any(|factor| factor.value.is_null()) {
            drop_nulls(&mut tree);
        }
        Ok(tree)
    }
}

/// The scenario's part of an experiment.
fn base(experiment: &Experiment) -> Value {
    let mut base = Map::new();
    let mut put = |field: &str, value: Option<Value>| value.map(|value| base.insert(field.to_owned(), value));
    let table = |table: &BTreeMap<String, Value>| {
        let fields: Map<_, _> = table.clone().into_iter().collect();
        (!fields.is_empty()).then_some(Value::Object(fields))
    };
    put("machine", experiment.machine.clone());
    put("scheduler", experiment.scheduler.clone());
    put("elevator", experiment.elevator.clone());
    put("cache", experiment.cache.clone());
    put("reclaim", experiment.reclaim.clone());
    put("workload", table(&experiment.workload));
    put("groups", table(&experiment.groups));
    put("shared", table(&experiment.shared));
    put("duration", experiment.duration.clone());
    put("attention", experiment.attention.clone());
    put("tunables", table(&experiment.tunables));
    put("recording", experiment.recording.clone());
    Value::Object(base)
}

pub(super) fn read_key<'e>(
    base: &Value,
    above: &Path,
    written: &'e str,
    values: &'e [Value],
) -> Result<Key<'e>, Fault> {
    let at = above.key(written);
    let path = Path::parse(written).map_err(|why| Fault::new(at.clone(), why))?;
    let first = path.keys().first().copied().unwrap_or_default();
    if !SWEPT.contains(&first) {
        return Err(Fault::unknown(at, first, &format!("no scenario has a field {first:?}"), SWEPT));
    }
    put(&mut base.clone(), &path, values[0].clone()).map_err(|fault| Fault { at: at.clone(), ..fault })?;
    Ok(Key { written, path, at, values })
}

fn read_zip<'e>(base: &Value, at: &Path, zip: &'e Lists) -> Result<Axis<'e>, Fault> {
    let mut keys: Vec<Key<'e>> = Vec::new();
    for (written, values) in zip {
        let key = read_key(base, at, written, values)?;
        if let Some(first) = keys.first().filter(|first| first.values.len() != values.len()) {
            let (ours, theirs) = (values.len(), first.values.len());
            let reason =
                format!("lists of a zip move together: this one has length {ours}, {} has {theirs}", first.path);
            return Err(Fault::new(key.at, reason));
        }
        keys.push(key);
    }
    if keys.is_empty() {
        return Err(Fault::new(at.clone(), "has no lists"));
    }
    Ok(Axis(keys))
}

fn no_key_twice(axes: &[Axis<'_>]) -> Result<(), Fault> {
    let keys: Vec<&Key<'_>> = axes.iter().flat_map(|axis| &axis.0).collect();
    for (earlier, key) in keys.iter().enumerate() {
        if keys[..earlier].iter().any(|other| other.path.is(&key.path)) {
            return Err(Fault::new(key.at.clone(), format!("{} is swept twice", key.path)));
        }
    }
    Ok(())
}

/// Sets a field of a scenario's or experiment's tree. A job or group that is only touched must be there; a machine
/// given by its name becomes that preset with the field on top.
pub(super) fn put(tree: &mut Value, path: &Path, value: Value) -> Result<(), Fault> {
    if let [family @ ("workload" | "groups" | "shared"), name, _, ..] = path.keys()[..] {
        let family_table = tree.get(family).and_then(Value::as_object);
        if !family_table.is_some_and(|table| table.contains_key(name)) {
            let known = family_table.into_iter().flatten().map(|(name, _)| name.as_str());
            return Err(Fault::unknown(path.clone(), name, &format!("there is no {name:?} in the {family}"), known));
        }
    }
    if path.0.len() > 1
        && path.keys().first() == Some(&"machine")
        && let Some(Value::String(name)) = tree.get("machine")
    {
        tree["machine"] = serde_json::json!({ "preset": name });
    }
    path.set(tree, value).map_err(|why| Fault::new(path.clone(), why))
}
