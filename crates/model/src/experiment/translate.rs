//! Translates serde's errors about a value into messages for users.

use super::{
    path::{Path, Segment},
    problem::Fault,
    snippet::snippet,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment as Step;

/// Reads the value at `at`.
pub(super) fn typed<T: DeserializeOwned>(at: &Path, value: &Value) -> Result<T, Fault> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let below = below(error.path());
        let found = below.get(value);
        let whole = Path(at.0.iter().chain(&below.0).cloned().collect());
        fault(whole, &error.inner().to_string(), found)
    })
}

fn below(path: &serde_path_to_error::Path) -> Path {
    let segment = |step: &Step| match step {
        Step::Seq { index } => Some(Segment::Index(*index)),
        Step::Map { key } | Step::Enum { variant: key } => Some(Segment::Key(key.clone())),
        Step::Unknown => None,
    };
    Path(path.iter().filter_map(segment).collect())
}

fn fault(at: Path, message: &str, found: Option<&Value>) -> Fault {
    let found = found.map(snippet).unwrap_or_else(|| "this".to_owned());
    if let Some(rest) = message.strip_prefix("unknown field `") {
        let (name, known) = names(rest);
        // serde's path ends at the unknown field or at its table, depending on the reader.
        let at = if at.0.last() == Some(&Segment::Key(name.to_owned())) { at } else { at.key(name) };
        return Fault::unknown(at, name, "unknown field", known);
    }
    if let Some(rest) = message.strip_prefix("unknown variant `") {
        let (name, known) = names(rest);
        return Fault::unknown(at, name, &format!("{name:?} is not known here"), known);
    }
    if let Some(name) = message.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return Fault::new(at.key(name), "is missing");
    }
    let other_kind = message.starts_with("invalid type: ") || message.starts_with("invalid value: ");
    let reason = match message.split_once(", expected ") {
        Some((_, wanted)) if other_kind => format!("{found} is not {}", plain(wanted)),
        Some((_, wanted)) if message.starts_with("invalid length ") => {
            format!("{found} has the wrong length: {} is wanted", plain(wanted))
        }
        _ => message.to_owned(),
    };
    Fault::new(at, reason)
}

/// From "laod`, expected one of `load`, `steps`" to "laod" and ["load", "steps"].
fn names(rest: &str) -> (&str, Vec<&str>) {
    let (name, expected) = rest.split_once("`, ").unwrap_or((rest.trim_end_matches('`'), ""));
    (name, expected.split('`').skip(1).step_by(2).collect())
}

/// What serde wants, in the words of an experiment file.
fn plain(wanted: &str) -> String {
    match wanted {
        // Each narrow type is used for one kind of field, whose bounds are narrower still.
        "i8" => "a whole number from -20 to 20".to_owned(),
        "u8" => "a whole number from 0 to 99".to_owned(),
        "u16" => "a whole number up to 1024".to_owned(),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" => "a whole number from 0".to_owned(),
        "i32" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a string" => "a text in quotes".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "an array of length 2" | "fewer elements in array" => "a list of two".to_owned(),
        "a map" => "a table".to_owned(),
        "string or map" | "map with a single key" => "a name in quotes".to_owned(),
        other if other.starts_with("struct ") => "a table".to_owned(),
        other => other.to_owned(),
    }
}
