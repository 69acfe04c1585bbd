//! An experiment as the text of a file, as a person would write it: a table for each job, a line for each step.

use super::Experiment;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// The text in TOML.
///
/// # Errors
/// If a value cannot be written in TOML, which no experiment that was read has.
pub fn spelled(experiment: &Experiment) -> Result<String, String> {
    let tree = serde_json::to_value(experiment).map_err(|why| why.to_string())?;
    let fields = tree.as_object().cloned().unwrap_or_default();
    let (tables, plain): (Vec<_>, Vec<_>) = fields.into_iter().partition(|(name, value)| is_of_tables(name, value));
    let mut text = String::new();
    put(&mut text, plain)?;
    for (name, value) in tables {
        for (title, inner) in value.as_object().cloned().unwrap_or_default() {
            let Value::Object(inner) = inner else { return Err(format!("{name}.{title} is no table")) };
            let _ = write!(text, "\n[{name}.{}]\n", key(&title)?);
            put(&mut text, inner)?;
        }
    }
    Ok(text)
}

/// Whether each entry of a field gets a table of its own.
fn is_of_tables(name: &str, value: &Value) -> bool {
    let Value::Object(table) = value else { return false };
    ["workload", "groups"].contains(&name) && table.values().all(Value::is_object)
}

fn put(text: &mut String, fields: impl IntoIterator<Item = (String, Value)>) -> Result<(), String> {
    for (name, value) in fields {
        match &value {
            Value::Array(list) if name == "steps" => {
                let _ = writeln!(text, "steps = [");
                for step in list {
                    let _ = writeln!(text, "    {},", inline(step)?);
                }
                text.push_str("]\n");
            }
            Value::Object(table) if table.is_empty() => {}
            _ => {
                let _ = writeln!(text, "{} = {}", key(&name)?, inline(&value)?);
            }
        }
    }
    Ok(())
}

fn inline(value: &Value) -> Result<String, String> {
    let mut text = String::new();
    value.serialize(toml::ser::ValueSerializer::new(&mut text)).map_err(|why| why.to_string())?;
    Ok(text)
}

/// A key, quoted if it must be.
fn key(name: &str) -> Result<String, String> {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match !name.is_empty() && name.chars().all(bare) {
        true => Ok(name.to_owned()),
        false => inline(&Value::from(name)),
    }
}
