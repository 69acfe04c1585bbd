//! What there is to name: the tables of every family, and a page for each name.

use crate::arrangement::Arrangement;
use schedlab_metrics::METRICS;
use schedlab_model::{
    experiment::Catalogue,
    info::{Info, MetricInfo, Scope},
    machine::Machine,
    program::Step,
};
use schedlab_policies::{caches::CACHES, elevators::ELEVATORS, reclaim::RECLAIMS, schedulers::SCHEDULERS};
use schedlab_workloads::WORKLOADS;
use serde_json::{Value, json};

/// Machine presets: name and text.
const MACHINES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/machines.rs"));
/// Presets of drives, likewise.
const DRIVES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/drives.rs"));

/// What comes with the lab, the same everywhere.
pub const SHIPPED: Catalogue<'static> = Catalogue {
    schedulers: SCHEDULERS,
    elevators: ELEVATORS,
    caches: CACHES,
    reclaims: RECLAIMS,
    workloads: WORKLOADS,
    machines: MACHINES,
    drives: DRIVES,
    metrics: METRICS,
    host_scheduler: "eevdf",
};

/// An entry of a family, with its page in Markdown.
pub struct Entry {
    family: &'static str,
    info: Value,
    page: String,
}

impl Entry {
    fn name(&self) -> &str {
        self.info["name"].as_str().unwrap_or_default()
    }
}

const FAMILIES: [&str; 9] =
    ["schedulers", "elevators", "caches", "reclaims", "workloads", "machines", "drives", "metrics", "steps"];

/// Everything that can be named in an experiment, by family, as JSON.
///
/// # Errors
/// If it cannot be written, which is a fault of ours.
pub fn catalogue() -> Result<String, String> {
    crate::json(&everything())
}

/// The same as a value.
#[must_use]
pub fn everything() -> Value {
    let mut all = serde_json::Map::from_iter(FAMILIES.map(|family| (family.to_owned(), json!([]))));
    for entry in entries() {
        all[entry.family].as_array_mut().expect("made above").push(entry.info);
    }
    Value::Object(all)
}

/// The page of a name, in one family or in all, as JSON. A name of several families gets the pages of all, one after the other.
/// `more` are entries that are in no table.
///
/// # Errors
/// If nothing has that name; the error names the nearest one.
pub fn page(name: &str, family: Option<&str>, more: impl IntoIterator<Item = Entry>) -> Result<String, String> {
    crate::json(&page_of(name, family, more)?)
}

fn page_of(name: &str, family: Option<&str>, more: impl IntoIterator<Item = Entry>) -> Result<Value, String> {
    let all = entries().into_iter().chain(more);
    let all: Vec<Entry> = all.filter(|entry| family.is_none_or(|one| one == entry.family)).collect();
    let called = |entry: &&Entry| entry.name() == name || entry.info["asked"] == name;
    let found: Vec<&Entry> = all.iter().filter(called).collect();
    let Some(first) = found.first() else {
        let distance = |entry: &&Entry| strsim::damerau_levenshtein(&entry.name().to_lowercase(), &name.to_lowercase());
        let nearest = all.iter().min_by_key(distance).map(Entry::name).unwrap_or_default();
        return Err(format!("nothing is called {name:?}; did you mean {nearest:?}? See: schedlab list"));
    };
    let pages: Vec<&str> = found.iter().map(|entry| entry.page.trim()).collect();
    let each = found.iter().map(|entry| json!({ "family": entry.family, "page": entry.page, "info": entry.info }));
    let each: Vec<Value> = each.collect();
    let page = pages.join("\n\n---\n\n");
    Ok(json!({ "family": first.family, "name": name, "page": page, "info": first.info, "entries": each }))
}

fn entries() -> Vec<Entry> {
    let policies = [("schedulers", SCHEDULERS), ("elevators", ELEVATORS), ("caches", CACHES), ("reclaims", RECLAIMS)];
    let policies = policies.into_iter().flat_map(|(family, all)| all.iter().map(move |info| documented(family, info)));
    let workloads = WORKLOADS.iter().map(|info| documented("workloads", info));
    let machines = MACHINES.iter().map(|(name, text)| machine(name, text, arranged(text)));
    let drives = DRIVES.iter().map(|(name, text)| preset("drives", name, text));
    policies.chain(workloads).chain(machines).chain(drives).chain(METRICS.iter().map(metric)).chain(steps()).collect()
}

fn documented(family: &'static str, info: &Info) -> Entry {
    Entry { family, info: json!(info), page: info.page() }
}

fn preset(family: &'static str, name: &str, text: &str) -> Entry {
    let title = toml::from_str::<Value>(text).ok().and_then(|table| table["title"].as_str().map(str::to_owned));
    let info = json!({ "name": name, "summary": title, "text": text });
    Entry { family, info, page: format!("# {name}\n\n```toml\n{text}```\n") }
}

/// A machine with the arrangement of its processors, where it has several.
pub fn machine(name: &str, text: &str, arranged: Option<Arrangement>) -> Entry {
    let mut entry = preset("machines", name, text);
    if let Some(several) = arranged.filter(|one| !one.is_single()) {
        entry.info["topology"] = several.json();
        let drawing = format!("# {name}\n\n```text\n{}```\n", several.drawing());
        entry.page = entry.page.replacen(&format!("# {name}\n"), &drawing, 1);
    }
    entry
}

/// The processors of a preset. Its drive, which may be another preset's name, is none of them.
fn arranged(text: &str) -> Option<Arrangement> {
    let mut table: Value = toml::from_str(text).ok()?;
    table.as_object_mut()?.remove("drive");
    let machine: Machine = serde_json::from_value(table).ok()?;
    Some(Arrangement::of_machine(&machine.topology()))
}

fn metric(info: &MetricInfo) -> Entry {
    let asked = match info.scope {
        Scope::System => info.name.to_owned(),
        Scope::Nice => format!("nice.LEVEL.{}", info.name),
        Scope::Task => format!("tasks.JOB.{}", info.name),
    };
    let statistic = if info.distribution { ".STATISTIC" } else { "" };
    let choices = match info.distribution {
        true => format!(
            "\n\nSTATISTIC is one of {}. `censored` counts the values that had not ended when the run ended, and `censored_max` is \
             the age of the oldest: no other statistic has them. Where they could change one of {} by more than 1 %, its bounds \
             are `STATISTIC_low` and `STATISTIC_high`.",
            MetricInfo::STATISTICS.join(", "),
            MetricInfo::BOUNDED.join(", ")
        ),
        false => String::new(),
    };
    let page = format!(
        "# {}\n\n{} (unit: {})\n\nAsk for `{asked}{statistic}`.{choices}\n",
        info.name, info.meaning, info.unit
    );
    let mut value = json!(info);
    value["summary"] = json!(info.meaning);
    value["asked"] = json!(format!("{asked}{statistic}"));
    Entry { family: "metrics", info: value, page }
}

/// The step language, from its schema.
fn steps() -> Vec<Entry> {
    let schema = schemars::schema_for!(Step).to_value();
    let variants = schema["oneOf"].as_array().cloned().unwrap_or_default();
    variants.iter().flat_map(|variant| steps_of(variant, &schema["$defs"])).collect()
}

/// A variant of the schema is either a word alone or a table with one field.
fn steps_of(variant: &Value, definitions: &Value) -> Vec<Entry> {
    let meaning = variant["description"].as_str().unwrap_or_default().to_owned();
    let words = variant["const"]
        .as_str()
        .into_iter()
        .chain(variant["enum"].as_array().into_iter().flatten().filter_map(Value::as_str));
    let fields = variant["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let takes = &variant["properties"];
    words
        .chain(fields)
        .map(|name| {
            let takes = resolved(&takes[name], definitions);
            let page = format!("# {name}\n\n{meaning}\n\n{}", taken(takes));
            let info = json!({ "name": name, "summary": meaning, "takes": takes });
            Entry { family: "steps", info, page }
        })
        .collect()
}

/// What a schema refers to.
fn resolved<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
    name.map_or(schema, |name| &definitions[name])
}

/// What a step takes, for its page.
fn taken(schema: &Value) -> String {
    if schema.is_null() {
        return "Takes nothing: written as a word.\n".to_owned();
    }
    format!("Takes, as JSON Schema:\n\n```json\n{schema:#}\n```\n")
}
