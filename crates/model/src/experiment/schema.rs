//! The JSON Schema of experiment files, for editors: types from the structs, names and parameters from the catalogue.
//! A help for writing only; the judge is [`super::read`].

use super::{
    Catalogue, Experiment,
    resolve::{HOST, spelled},
    shape,
};
use crate::{
    attention::Attending,
    info::{Domain, Info, MetricInfo, Parameter, Scope},
    machine::Machine,
    scenario::{GroupSpec, Job, Shared},
    units::{Duration, Rate, Size, spell_duration, spell_size},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The schema (draft 2020-12) of an experiment that may name what `catalogue` holds.
pub fn schema(catalogue: &Catalogue<'_>) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let machine = definition::<Machine>(&mut generator);
    let job = definition::<Job>(&mut generator);
    let group = generator.subschema_for::<GroupSpec>();
    let shared = generator.subschema_for::<Shared>();
    let attending = generator.subschema_for::<Attending>();
    let quantity = Quantities::new(&mut generator);
    let duration = quantity.duration.clone();
    let mut schema = generator.into_root_schema_for::<Experiment>().to_value();
    let definitions = schema["$defs"].clone();
    schema["title"] = json!("An experiment of schedlab");
    let properties = &mut schema["properties"];
    extend(&mut properties["machine"], any_machine(catalogue, &machine, &definitions));
    let families = [
        ("scheduler", catalogue.schedulers),
        ("elevator", catalogue.elevators),
        ("cache", catalogue.caches),
        ("reclaim", catalogue.reclaims),
    ];
    for (field, family) in families {
        extend(&mut properties[field], one_of(family, |info| policy(info, &quantity)));
    }
    let mut programs: Vec<Value> = catalogue.workloads.iter().map(|info| loaded_job(info, &job, &quantity)).collect();
    programs.push(job_of("steps", "A program written out.", &job));
    programs.push(job_of("replay", "Tasks of a recording.", &job));
    let name = json!({ "pattern": r"^[\w-]{1,64}$" });
    extend(
        &mut properties["workload"],
        json!({ "additionalProperties": { "oneOf": programs }, "propertyNames": name }),
    );
    extend(&mut properties["groups"], json!({ "additionalProperties": group, "propertyNames": name }));
    extend(&mut properties["shared"], json!({ "additionalProperties": shared, "propertyNames": name }));
    extend(&mut properties["duration"], duration);
    extend(&mut properties["attention"], attending.to_value());
    let setting = json!({ "type": ["string", "integer", "boolean"] });
    extend(
        &mut properties["tunables"],
        json!({ "additionalProperties": setting, "propertyNames": { "pattern": r"^[\w.@-]{1,64}$" } }),
    );
    let metric = json!({ "$ref": "#/$defs/Metric" });
    properties["metrics"]["items"] = metric.clone();
    schema["$defs"]["Goal"]["properties"]["minimize"]["items"] = metric.clone();
    schema["$defs"]["Goal"]["properties"]["maximize"]["items"] = metric;
    schema["$defs"]["Goal"]["properties"]["weights"]["propertyNames"] = json!({ "$ref": "#/$defs/Metric" });
    // A layout without levels has the usual ones here.
    schema["$defs"]["AttentionLayout"].as_object_mut().map(|layout| layout.remove("required"));
    schema["$defs"]["Metric"] = any_metric(catalogue.metrics);
    sweep(&mut schema["$defs"]["Sweep"]);
    schema
}

/// The schema of a type, its parts left among the definitions.
fn definition<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    generator.subschema_for::<T>();
    generator.definitions()[&*T::schema_name()].clone()
}

/// Puts the fields of `more` into `schema`, in place of any of the same name.
fn extend(schema: &mut Value, more: Value) {
    let kept = schema.get("description").cloned();
    let mut fields = more.as_object().cloned().unwrap_or_default();
    fields.extend(kept.map(|text| ("description".to_owned(), text)));
    *schema = Value::Object(fields);
}

fn one_of(family: &[Info], each: impl FnMut(&Info) -> Value) -> Value {
    json!({ "oneOf": family.iter().map(each).collect::<Vec<_>>() })
}

fn any_machine(catalogue: &Catalogue<'_>, machine: &Value, definitions: &Value) -> Value {
    let mut names: Vec<&str> = catalogue.machines.iter().map(|(name, _)| *name).collect();
    names.push(HOST);
    let drives: Vec<&str> = catalogue.drives.iter().map(|(name, _)| *name).collect();
    let drive = json!({ "description": "A drive that comes with the lab.", "type": "string", "enum": drives });
    let preset = json!({ "description": "A machine that comes with the lab.", "type": "string", "enum": names });
    let mut changed = machine.clone();
    if let Some(properties) = changed["properties"].as_object_mut() {
        properties.values_mut().for_each(|property| in_part(property, definitions));
        properties.insert("preset".to_owned(), preset.clone());
        properties.insert("drive".to_owned(), drive.clone());
    }
    changed["required"] = json!(["preset"]);
    changed["description"] = json!("A preset, and fields that replace its own.");
    let mut whole = machine.clone();
    whole["properties"]["drive"] = drive;
    json!({ "anyOf": [preset, changed, whole] })
}

/// Replaces references to tables by the tables themselves with no field required.
fn in_part(schema: &mut Value, definitions: &Value) {
    if let Some(alternatives) = schema.get_mut("anyOf").and_then(Value::as_array_mut) {
        alternatives.iter_mut().for_each(|schema| in_part(schema, definitions));
    }
    let meant = schema.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    let table = meant.and_then(|name| definitions.get(name)).filter(|table| table.get("properties").is_some());
    if let Some(mut fields) = table.and_then(Value::as_object).cloned() {
        fields.remove("required");
        extend(schema, Value::Object(fields));
    }
}

/// References to the schemas of quantities.
struct Quantities {
    duration: Value,
    size: Value,
    rate: Value,
}

impl Quantities {
    fn new(generator: &mut SchemaGenerator) -> Quantities {
        let mut of = |schema: fn(&mut SchemaGenerator) -> Schema| schema(generator).to_value();
        Quantities {
            duration: of(SchemaGenerator::subschema_for::<Duration>),
            size: of(SchemaGenerator::subschema_for::<Size>),
            rate: of(SchemaGenerator::subschema_for::<Rate>),
        }
    }

    fn parameter(&self, parameter: &Parameter) -> Value {
        let (mut schema, range) = match parameter.domain {
            Domain::Duration { low, high } => {
                (self.duration.clone(), format!(" From {} to {}.", spell_duration(low), spell_duration(high)))
            }
            Domain::Size { low, high } => {
                (self.size.clone(), format!(" From {} to {}.", spell_size(low), spell_size(high)))
            }
            Domain::Rate { low, high } => (self.rate.clone(), format!(" From {low}/s to {high}/s.")),
            Domain::Count { low, high } => {
                (json!({ "type": "integer", "minimum": low, "maximum": high }), String::new())
            }
            Domain::Choice { names } => (json!({ "type": "string", "enum": names }), String::new()),
            Domain::Text => (json!({ "type": "string", "minLength": 1 }), String::new()),
            Domain::Switch => (json!({ "type": "boolean" }), String::new()),
        };
        schema["description"] = json!(format!("{}{range}", parameter.meaning));
        let default = parameter.default.and_then(|text| parameter.domain.read(text).ok());
        if let Some(value) = default {
            schema["default"] = json!(spelled(&parameter.domain, value));
        }
        schema
    }

    /// Schemas of all parameters of an entry.
    fn parameters(&self, info: &Info) -> Map<String, Value> {
        info.parameters.iter().map(|parameter| (parameter.name.to_owned(), self.parameter(parameter))).collect()
    }
}

/// A table whose field `kind` has the entry's name, with the entry's parameters and `fields`.
fn entry(info: &Info, kind: &str, mut fields: Map<String, Value>) -> Value {
    fields.insert(kind.to_owned(), json!({ "const": info.name, "description": info.summary }));
    let asked = info.parameters.iter().filter(|parameter| parameter.default.is_none()).map(|parameter| parameter.name);
    let required: Vec<&str> = std::iter::once(kind).chain(asked).collect();
    json!({
        "title": info.name,
        "description": info.summary,
        "type": "object",
        "properties": fields,
        "required": required,
        "additionalProperties": false,
    })
}

fn policy(info: &Info, quantities: &Quantities) -> Value {
    entry(info, "name", quantities.parameters(info))
}

/// What a job does is said by one of these fields.
const WORK: [&str; 3] = ["load", "steps", "replay"];

/// The fields of every job, without those in which programs differ.
fn job_fields(job: &Value) -> Map<String, Value> {
    let mut fields = job["properties"].as_object().cloned().unwrap_or_default();
    fields.retain(|field, _| shape::job_fields().contains(&field.as_str()) && !WORK.contains(&field.as_str()));
    fields
}

fn loaded_job(info: &Info, job: &Value, quantities: &Quantities) -> Value {
    let mut fields = job_fields(job);
    fields.extend(quantities.parameters(info));
    entry(info, "load", fields)
}

/// A job whose work is said by that field of its own.
fn job_of(work: &str, description: &str, job: &Value) -> Value {
    let mut fields = job_fields(job);
    fields.insert(work.to_owned(), job["properties"][work].clone());
    json!({
        "title": work,
        "description": description,
        "type": "object",
        "properties": fields,
        "required": [work],
        "additionalProperties": false,
    })
}

fn any_metric(table: &[MetricInfo]) -> Value {
    let [statistics, bounded] = [MetricInfo::STATISTICS, MetricInfo::BOUNDED].map(|names| names.join("|"));
    let statistic = format!(r"\.({statistics}|({bounded})_(low|high))");
    let form = |info: &MetricInfo| {
        let whose = match info.scope {
            Scope::System => "",
            Scope::Nice => r"nice\.(\*|-?\d+)\.",
            Scope::Task => r"tasks\.(\*|[\w-]+)\.",
        };
        let statistic = if info.distribution { &*statistic } else { "" };
        let meaning = format!("{} Unit: {}.", info.meaning, info.unit);
        match (info.scope, info.distribution) {
            (Scope::System, false) => json!({ "const": info.name, "description": meaning }),
            _ => json!({ "pattern": format!("^{whose}{}{statistic}$", info.name), "description": meaning }),
        }
    };
    json!({ "type": "string", "anyOf": table.iter().map(form).collect::<Vec<_>>() })
}

/// A zip may be alone or in a list; lists have values.
fn sweep(schema: &mut Value) {
    let lists = json!({ "type": "object", "additionalProperties": { "type": "array", "minItems": 1 } });
    schema["properties"]["zip"] = json!({
        "description": schema["properties"]["zip"]["description"],
        "anyOf": [lists, { "type": "array", "items": lists }],
    });
    schema["additionalProperties"] = json!({ "type": "array", "minItems": 1 });
    schema["propertyNames"] = json!({ "pattern": r"^(zip$|duration$|machine|scheduler|elevator|cache|reclaim|workload|groups|shared|attention)" });
}
