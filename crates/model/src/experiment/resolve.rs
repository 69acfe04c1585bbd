//! From the tree of one scenario to the scenario itself: presets, tables of schedulers and loads, types.
//! Settings come out complete and in their canonical spelling.

use super::{
    Catalogue, check, document,
    path::Path,
    problem::{Fault, nearest},
    shape,
    snippet::snippet,
    translate::typed,
};
use crate::{
    attention::{Attending, Layout},
    info::{self, Domain, Info, Promise},
    machine::Machine,
    scenario::{Choice, GroupSpec, Job, RECLAIM, Recording, Scenario, Setting, Shared},
    units::{Duration, spell_duration, spell_rate, spell_size},
};
use serde_json::{Map, Value};
use std::{borrow::Cow, collections::BTreeMap};

/// The fields of a machine that a drive's preset gives, in addition to its own name and title.
const DRIVEN: [&str; 3] = ["disk", "solid_state", "queue"];

/// The machine in front of the user.
pub(super) const HOST: &str = "host";

/// Judges scenarios by a catalogue.
pub(super) struct Judge<'a> {
    catalogue: &'a Catalogue<'a>,
    presets: BTreeMap<&'a str, Result<Value, String>>,
    drives: BTreeMap<&'a str, Result<Value, String>>,
}

/// A scenario that was found right, and the tree that describes it.
pub(super) type Judged = (Value, Scenario);

impl<'a> Judge<'a> {
    pub(super) fn new(catalogue: &'a Catalogue<'a>) -> Judge<'a> {
        let read = |text| document::parse_toml(text).map_err(|error| error.fault.reason);
        let all = |texts: &[(&'a str, &'a str)]| texts.iter().map(|&(name, text)| (name, read(text))).collect();
        Judge { catalogue, presets: all(catalogue.machines), drives: all(catalogue.drives) }
    }

    /// The scenario that `tree` describes, or the first fault in it. Most cells of a sweep have the machine and the workload of the
    /// cell before, from which they are taken over.
    pub(super) fn scenario(&self, tree: &Value, before: Option<Judged>) -> Result<Scenario, Fault> {
        let given = |field: &str| tree.get(field).ok_or_else(|| Fault::new(Path::top(field), "is missing"));
        let (machine, workload) = match before.filter(|(written, _)| written["machine"] == tree["machine"]) {
            Some((written, right)) => {
                (Some(right.machine), (written["workload"] == tree["workload"]).then_some(right.workload))
            }
            None => (None, None),
        };
        let is_checked = machine.is_some();
        let machine = machine.map_or_else(|| self.machine(given("machine")?), Ok)?;
        let processors = machine.processors.get();
        let policy = |field: &str, family, written: &Value| policy(field, family, written, processors);
        let chosen = |field: &str, family| tree.get(field).map(|written| policy(field, family, written)).transpose();
        let mut scenario = Scenario {
            machine,
            scheduler: policy("scheduler", self.catalogue.schedulers, self.scheduler(tree)?.as_ref())?,
            elevator: chosen("elevator", self.catalogue.elevators)?,
            cache: chosen("cache", self.catalogue.caches)?,
            reclaim: chosen("reclaim", self.catalogue.reclaims)?,
            workload: workload.map_or_else(|| self.workload(given("workload")?), Ok)?,
            groups: BTreeMap::new(),
            shared: BTreeMap::new(),
            duration: None,
            attention: None,
            tunables: BTreeMap::new(),
            recording: None,
        };
        if let Some(groups) = tree.get("groups") {
            scenario.groups = typed::<BTreeMap<String, GroupSpec>>(&Path::top("groups"), groups)?;
        }
        if let Some(shared) = tree.get("shared") {
            scenario.shared = typed::<BTreeMap<String, Shared>>(&Path::top("shared"), shared)?;
        }
        if let Some(duration) = tree.get("duration") {
            scenario.duration = Some(typed::<Duration>(&Path::top("duration"), duration)?);
        }
        if let Some(written) = tree.get("attention") {
            scenario.attention = Some(attention(written)?);
        }
        if let Some(tunables) = tree.get("tunables") {
            scenario.tunables = typed::<BTreeMap<String, Setting>>(&Path::top("tunables"), tunables)?;
        }
        if let Some(recording) = tree.get("recording") {
            scenario.recording = Some(typed::<Recording>(&Path::top("recording"), recording)?);
        }
        if !is_checked {
            check::machine::check(&scenario.machine)?;
        }
        check::scenario(&scenario)?;
        scenario.attention = scenario.attention.filter(|attention| attention.enabled);
        if scenario.cache.is_none() && !is_host(&tree["machine"]) {
            scenario.cache = self.cache_with_reclaim(&scenario)?;
        }
        let processors = scenario.machine.processors.get();
        scenario.workload.values_mut().for_each(|job| one_spelling(&mut job.cpus, processors));
        Ok(scenario)
    }

    /// What is written of the scheduler. A real machine has one of its own.
    fn scheduler<'t>(&self, tree: &'t Value) -> Result<Cow<'t, Value>, Fault> {
        let machine = &tree["machine"];
        match tree.get("scheduler") {
            Some(written) => Ok(Cow::Borrowed(written)),
            None if is_host(machine) => Ok(Cow::Owned(serde_json::json!({ "name": self.catalogue.host_scheduler }))),
            None => Err(Fault::new(Path::top("scheduler"), "is missing")),
        }
    }

    /// The cache of an experiment that names none: where files and programs share memory, the lists of the policy of reclaim, if there
    /// is an eviction policy of that name. Reclaim asks the cache which blocks are in use and which come back, as its kernel does.
    fn cache_with_reclaim(&self, scenario: &Scenario) -> Result<Option<Choice>, Fault> {
        let name = scenario.reclaim.as_ref().map_or(RECLAIM, |reclaim| &reclaim.name);
        let known = self.catalogue.caches.iter().any(|cache| cache.name == name);
        let shared = scenario.machine.memory.size.is_some();
        let chosen = || policy("cache", self.catalogue.caches, &serde_json::json!({ "name": name }), 1);
        (known && shared).then(chosen).transpose()
    }

    fn machine(&self, written: &Value) -> Result<Machine, Fault> {
        let at = Path::top("machine");
        match (written, written.get("preset")) {
            (Value::String(name), _) => self.driven(&at, self.preset(&at, name)?),
            (Value::Object(own), Some(Value::String(name))) => {
                let mut machine = self.preset(&at.key("preset"), name)?.clone();
                let mut own = own.clone();
                own.remove("preset");
                if let (true, Some(machine)) = (own.contains_key("drive"), machine.as_object_mut()) {
                    DRIVEN.iter().for_each(|field| drop(machine.remove(*field)));
                }
                merge(&mut machine, Value::Object(own));
                self.driven(&at, &machine)
            }
            (Value::Object(_), Some(other)) => {
                Err(Fault::new(at.key("preset"), format!("{} is not the name of a machine", snippet(other))))
            }
            (Value::Object(_), None) => self.driven(&at, written),
            _ => Err(Fault::new(at, format!("{} is neither the name of a machine nor a table", snippet(written)))),
        }
    }

    /// A machine whose drive may be the name of a preset: what the machine says of it itself goes before that.
    fn driven(&self, at: &Path, machine: &Value) -> Result<Machine, Fault> {
        let Some(drive) = machine.get("drive") else { return typed(at, machine) };
        let at_drive = at.key("drive");
        let name = drive
            .as_str()
            .ok_or_else(|| Fault::new(at_drive.clone(), format!("{} is not the name of a drive", snippet(drive))))?;
        let known = self.drives.keys().copied();
        let preset = self.drives.get(name);
        let preset =
            preset.ok_or_else(|| Fault::unknown(at_drive, name, &format!("{name:?} is not a drive"), known))?;
        let mut whole =
            preset.clone().map_err(|why| Fault::new(at.key("drive"), format!("{name} is broken: {why}")))?;
        let mut own = machine.clone();
        own.as_object_mut().map(|own| own.remove("drive"));
        merge(&mut whole, own);
        typed(at, &whole)
    }

    fn preset(&self, at: &Path, name: &str) -> Result<&Value, Fault> {
        let known = self.presets.keys().copied();
        match self.presets.get(name) {
            Some(Ok(machine)) => Ok(machine),
            Some(Err(why)) => Err(Fault::new(at.clone(), format!("the preset {name} is broken: {why}"))),
            None if name.starts_with("guest:") => {
                let reason = format!("{name:?} is a guest kernel; this version has simulated machines and the host");
                Err(Fault { nearest: None, ..Fault::unknown(at.clone(), name, &reason, known) })
            }
            None => Err(Fault::unknown(at.clone(), name, &format!("{name:?} is not a machine"), known)),
        }
    }

    fn workload(&self, written: &Value) -> Result<BTreeMap<String, Job>, Fault> {
        let at = Path::top("workload");
        let jobs = written.as_object().ok_or_else(|| Fault::new(at.clone(), "is not a table of jobs"))?;
        jobs.iter().map(|(name, job)| Ok((name.clone(), self.job(&at.key(name), job)?))).collect()
    }

    fn job(&self, at: &Path, written: &Value) -> Result<Job, Fault> {
        let own = shape::job_fields();
        let table = written.as_object().ok_or_else(|| {
            Fault::new(at.clone(), "is not a table: a job has a load or steps, like { load = \"spin\" }")
        })?;
        let load = match table.get("load") {
            Some(name) => Some(entry(self.catalogue.workloads, "load", &at.key("load"), name)?),
            None => None,
        };
        let settings = match load {
            Some(info) => settings(info, at, table, own, 1)?,
            None => only_known(at, table, own.iter().copied()).map(|()| BTreeMap::new())?,
        };
        match (load, table.get("steps")) {
            (None, None) if table.contains_key("replay") => {}
            (Some(_), _) | (_, Some(_)) if table.contains_key("replay") => {
                return Err(Fault::new(at.key("replay"), "stands next to a load or steps; a job has one of them"));
            }
            (None, None) => return Err(Fault::new(at.clone(), "has neither load nor steps; a job has one of them")),
            (Some(_), Some(_)) => return Err(Fault::new(at.clone(), "has both load and steps; a job has one of them")),
            (None, Some(steps)) => shape::steps(&at.key("steps"), steps)?,
            (Some(_), None) => {}
        }
        if table.get("cpus").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            let reason = "is empty: name a processor on which its tasks may run, or leave the field out for all";
            return Err(Fault::new(at.key("cpus"), reason));
        }
        let own_fields = table.iter().filter(|(field, _)| own.contains(&field.as_str()));
        let fixed: Map<String, Value> = own_fields.map(|(field, value)| (field.clone(), value.clone())).collect();
        let job: Job = typed(at, &Value::Object(fixed))?;
        Ok(Job { settings, ..job })
    }
}

/// Whether an experiment's machine is the one in front of the user.
pub(super) fn is_host(machine: &Value) -> bool {
    machine == HOST || machine["preset"] == HOST
}

/// The policy that `field` of a scenario chooses from its family.
fn policy(field: &str, family: &[Info], written: &Value, processors: u16) -> Result<Choice, Fault> {
    let at = Path::top(field);
    let table = written
        .as_object()
        .ok_or_else(|| Fault::new(at.clone(), "is not a table: write { name = ... } with its parameters"))?;
    let name = table.get("name").ok_or_else(|| Fault::new(at.key("name"), "is missing"))?;
    let kind = match field {
        "elevator" => "known elevator",
        "cache" => "known eviction policy",
        "reclaim" => "policy of reclaim",
        other => other,
    };
    let info = entry(family, kind, &at.key("name"), name)?;
    if field == "cache" && info.promises.contains(&Promise::Clairvoyant) {
        let reason = format!("{} is clairvoyant: it needs a trace of requests, see schedlab cache", info.name);
        return Err(Fault::new(at.key("name"), reason));
    }
    info.allows(processors).map_err(|why| Fault::new(at.key("name"), why))?;
    let settings = settings(info, &at, table, &["name"], processors)?;
    Ok(Choice { name: info.name.to_owned(), settings })
}

/// Attention levels. A layout that has no levels has the usual ones; its title decides nothing.
fn attention(written: &Value) -> Result<Attending, Fault> {
    let mut whole = written.clone();
    if let Some(layout) = whole.get_mut("layout").and_then(Value::as_object_mut) {
        layout.entry("level").or_insert_with(|| serde_json::json!(Layout::default().level));
    }
    let mut attending: Attending = typed(&Path::top("attention"), &whole)?;
    attending.layout.title.clear();
    Ok(attending)
}

/// Each processor once, in order; all of them are none named.
fn one_spelling(cpus: &mut Vec<u16>, processors: u16) {
    cpus.sort_unstable();
    cpus.dedup();
    if cpus.len() == usize::from(processors) {
        cpus.clear();
    }
}

/// Lays `over` on `base`, field by field. A value with its source is one value: half of it is not kept.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) if !over.contains_key("value") && !base.contains_key("value") => {
            for (field, value) in over {
                merge(base.entry(field).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// The entry of a family's table that `name` means.
fn entry<'i>(family: &'i [Info], kind: &str, at: &Path, name: &Value) -> Result<&'i Info, Fault> {
    let name = name
        .as_str()
        .ok_or_else(|| Fault::new(at.clone(), format!("{} is not the name of a {kind}", snippet(name))))?;
    let unknown =
        || Fault::unknown(at.clone(), name, &format!("{name:?} is not a {kind}"), family.iter().map(|info| info.name));
    family.iter().find(|info| info.name == name).ok_or_else(unknown)
}

/// Refuses unknown fields; of several, first the one that looks most like a slip.
fn only_known<'k>(
    at: &Path,
    table: &Map<String, Value>,
    known: impl Iterator<Item = &'k str> + Clone,
) -> Result<(), Fault> {
    let mut unknown = table.keys().filter(|field| !known.clone().any(|known| known == field.as_str())).peekable();
    let Some(first) = unknown.peek().copied() else { return Ok(()) };
    let slip = unknown.find(|field| nearest(field, known.clone()).is_some()).unwrap_or(first);
    Err(Fault::field(at, slip, known))
}

/// All parameters of `info`, given in `table` together with the fields in `own`, or else at their default on that many processors.
fn settings(
    info: &Info,
    at: &Path,
    table: &Map<String, Value>,
    own: &[&str],
    processors: u16,
) -> Result<BTreeMap<String, Setting>, Fault> {
    let parameters = info.parameters.iter().map(|parameter| parameter.name);
    only_known(at, table, own.iter().copied().chain(parameters))?;
    let mut settings = BTreeMap::new();
    for parameter in info.parameters {
        let at = at.key(parameter.name);
        let text = match table.get(parameter.name) {
            Some(Value::String(text)) => Some(text.clone()),
            Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Some(scalar.to_string()),
            Some(other) => return Err(Fault::new(at, format!("{} is not a single value", snippet(other)))),
            None => None,
        };
        let value = match &text {
            Some(text) => parameter.domain.read(text),
            None => parameter
                .default_on(processors)
                .ok_or_else(|| Fault::new(at.clone(), format!("is missing: {}", parameter.meaning)))?,
        };
        let value = value.map_err(|why| {
            let meant = match (parameter.domain, &text) {
                (Domain::Choice { names }, Some(text)) => nearest(text, names.iter().copied()),
                _ => None,
            };
            Fault { nearest: meant.map(str::to_owned), ..Fault::new(at, why) }
        })?;
        settings.insert(parameter.name.to_owned(), spelled(&parameter.domain, value));
    }
    Ok(settings)
}

/// The one spelling of a value, whichever of its spellings was written.
pub(super) fn spelled(domain: &Domain, value: info::Value) -> Setting {
    match (domain, value) {
        (Domain::Duration { .. }, info::Value::Whole(length)) => Setting::Text(spell_duration(length)),
        (Domain::Size { .. }, info::Value::Whole(bytes)) => Setting::Text(spell_size(bytes)),
        (_, info::Value::Whole(count)) => Setting::Count(count),
        (_, info::Value::Real(rate)) => Setting::Text(spell_rate(rate)),
        (_, info::Value::Name(name)) => Setting::Text(name),
        (_, info::Value::Switch(switch)) => Setting::Switch(switch),
    }
}
