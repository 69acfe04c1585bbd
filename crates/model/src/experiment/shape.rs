//! The outer form of jobs and steps, looked at before their types, where serde would only say that nothing
//! matched. The names come from the types themselves, by way of their schemas.

use super::{path::Path, problem::Fault, snippet::snippet};
use crate::{program::Step, scenario::Job};
use schemars::schema_for;
use serde_json::Value;
use std::sync::LazyLock;

static JOB: LazyLock<Value> = LazyLock::new(|| schema_for!(Job).to_value());
static STEP: LazyLock<Value> = LazyLock::new(|| schema_for!(Step).to_value());

/// The fields that every job has, whatever its load.
pub(super) fn job_fields() -> &'static [&'static str] {
    static FIELDS: LazyLock<Vec<&'static str>> =
        LazyLock::new(|| JOB["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect());
    &FIELDS
}

/// Names of steps: those written as a bare word, and those written with a value.
struct Words {
    bare: Vec<&'static str>,
    valued: Vec<&'static str>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let variants = || STEP["oneOf"].as_array().into_iter().flatten();
    Words {
        bare: variants().filter_map(|variant| variant["const"].as_str()).collect(),
        valued: variants().filter_map(|variant| variant["required"][0].as_str()).collect(),
    }
});

/// Checks that `value` is a list of steps, each a bare word or a table with one name.
pub(super) fn steps(at: &Path, value: &Value) -> Result<(), Fault> {
    let list =
        value.as_array().ok_or_else(|| Fault::new(at.clone(), format!("{} is not a list of steps", snippet(value))))?;
    list.iter().enumerate().try_for_each(|(i, value)| step(&at.index(i), value))
}

fn step(at: &Path, value: &Value) -> Result<(), Fault> {
    let known = || WORDS.valued.iter().chain(&WORDS.bare).copied();
    match value {
        Value::String(word) if WORDS.bare.contains(&word.as_str()) => Ok(()),
        Value::String(word) if WORDS.valued.contains(&word.as_str()) => {
            Err(Fault::new(at.clone(), format!("{word:?} needs a value: {{ {word} = ... }}")))
        }
        Value::String(word) => Err(Fault::unknown(at.clone(), word, &format!("{word:?} is not a step"), known())),
        Value::Object(table) => match table.iter().next() {
            Some((name, inner)) if table.len() == 1 => named_step(at, name, inner),
            Some(_) => Err(Fault::new(at.clone(), format!("a step has one name, this has {}", table.len()))),
            None => Err(Fault::new(at.clone(), "is empty: a step has one name")),
        },
        other => {
            Err(Fault::new(at.clone(), format!("{} is not a step: write {{ name = value }} or a name", snippet(other))))
        }
    }
}

fn named_step(at: &Path, name: &str, inner: &Value) -> Result<(), Fault> {
    if WORDS.bare.contains(&name) {
        return Err(Fault::new(at.key(name), format!("takes no value: write {name:?} alone")));
    }
    if !WORDS.valued.contains(&name) {
        let known = WORDS.valued.iter().chain(&WORDS.bare).copied();
        return Err(Fault::unknown(at.key(name), name, &format!("{name:?} is not a step"), known));
    }
    match (name, inner.get("steps")) {
        ("fork", _) => steps(&at.key(name), inner),
        ("repeat", Some(inner)) => steps(&at.key(name).key("steps"), inner),
        _ => Ok(()),
    }
}
