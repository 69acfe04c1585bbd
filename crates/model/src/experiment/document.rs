//! The text of an experiment as a tree of values: TOML or JSON in, line numbers for messages, `--set` overrides.

use super::{Format, path::Path, path::Segment, problem::Fault, rt_app};
use serde_json::{Map, Value};
use toml::{
    Spanned,
    de::{DeInteger, DeTable, DeValue},
};

/// Longest file, in bytes.
pub(super) const LARGEST: usize = 1 << 20;
/// The same of what programs pass on: the times of files are in it.
const LARGEST_JSON: usize = 16 << 20;

/// A text that could not be read, and its line.
pub(super) struct Unreadable {
    pub(super) fault: Fault,
    pub(super) line: Option<usize>,
}

/// Reads `text` into a tree. Both formats bound the depth themselves.
pub(super) fn parse(text: &str, format: Format) -> Result<Value, Unreadable> {
    let largest = if format == Format::Json { LARGEST_JSON } else { LARGEST };
    if text.len() > largest {
        let reason = format!("has {} bytes; an experiment has at most {largest}", text.len());
        return Err(Unreadable { fault: Fault::new(Path::default(), reason), line: None });
    }
    let tree = match format {
        Format::Toml => parse_toml(text)?,
        Format::Json => parse_json(text)?,
        Format::RtApp => rt_app::translate(text).map_err(|(fault, line)| Unreadable { fault, line })?.tree,
    };
    if !tree.is_object() {
        let fault = Fault::new(Path::default(), "an experiment is a table of fields");
        return Err(Unreadable { fault, line: None });
    }
    Ok(tree)
}

fn parse_json(text: &str) -> Result<Value, Unreadable> {
    let mut tree = serde_json::from_str(text).map_err(|error: serde_json::Error| {
        let message = error.to_string();
        let reason = message.split(" at line ").next().unwrap_or_default();
        Unreadable { fault: Fault::new(Path::default(), format!("is not JSON: {reason}")), line: Some(error.line()) }
    })?;
    drop_nulls(&mut tree);
    Ok(tree)
}

/// A field that is null is a field left out.
pub(super) fn drop_nulls(tree: &mut Value) {
    match tree {
        Value::Object(table) => {
            table.retain(|_, value| !value.is_null());
            table.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

pub(super) fn parse_toml(text: &str) -> Result<Value, Unreadable> {
    let table = DeTable::parse(text).map_err(|error| Unreadable {
        fault: Fault::new(Path::default(), format!("is not TOML: {}", error.message())),
        line: error.span().map(|span| line_at(text, span.start)),
    })?;
    let plain = |fault: Fault| Unreadable { line: line_of(text, &fault.at), fault };
    table_of(&Path::default(), table.get_ref()).map_err(plain)
}

fn table_of(at: &Path, table: &DeTable<'_>) -> Result<Value, Fault> {
    let mut plain = Map::new();
    for (key, value) in table {
        let key: &str = key.get_ref();
        plain.insert(key.to_owned(), value_of(&at.key(key), value.get_ref())?);
    }
    Ok(Value::Object(plain))
}

fn value_of(at: &Path, value: &DeValue<'_>) -> Result<Value, Fault> {
    match value {
        DeValue::String(text) => Ok(Value::from(text.as_ref())),
        DeValue::Boolean(switch) => Ok(Value::from(*switch)),
        DeValue::Integer(digits) => integer(digits)
            .ok_or_else(|| Fault::new(at.clone(), format!("{} is too large for a whole number", digits.as_str()))),
        DeValue::Float(digits) => {
            let number = digits.as_str().parse().ok().and_then(serde_json::Number::from_f64);
            let reason = || format!("{} is not a finite number", digits.as_str());
            number.map(Value::Number).ok_or_else(|| Fault::new(at.clone(), reason()))
        }
        DeValue::Datetime(date) => Err(Fault::new(at.clone(), format!("{date} is a date, which no field takes"))),
        DeValue::Array(list) => {
            let element = |(i, value): (usize, &Spanned<DeValue<'_>>)| value_of(&at.index(i), value.get_ref());
            list.iter().enumerate().map(element).collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Table(table) => table_of(at, table),
    }
}

fn integer(digits: &DeInteger<'_>) -> Option<Value> {
    let (text, radix) = (digits.as_str(), digits.radix());
    let whole = u64::from_str_radix(text, radix).map(Value::from);
    whole.or_else(|_| i64::from_str_radix(text, radix).map(Value::from)).ok()
}

/// The line, from 1, of the field or element at `path` in a TOML text, or of what comes nearest above it.
pub(super) fn line_of(text: &str, path: &Path) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let (mut table, mut list) = (Some(root.get_ref()), None);
    let mut start = None;
    for segment in &path.0 {
        let (at, value) = match segment {
            Segment::Key(name) => {
                let Some((key, value)) = table.and_then(|table: &DeTable<'_>| table.get_key_value(name.as_str()))
                else {
                    break;
                };
                (key.span().start, value)
            }
            Segment::Index(index) => {
                let Some(value) = list.and_then(|list: &toml::de::DeArray<'_>| list.get(*index)) else { break };
                (value.span().start, value)
            }
        };
        start = Some(at);
        (table, list) = (value.get_ref().as_table(), value.get_ref().as_array());
    }
    start.map(|start| line_at(text, start))
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// A value set from outside the file: `scheduler.slice=36ms`.
pub(super) struct Override<'t> {
    /// As written.
    pub(super) text: &'t str,
    /// What it sets.
    pub(super) path: Path,
    /// To what: a TOML value if it reads as one, else the text itself. A number with a point or a date is meant as a name first.
    pub(super) value: Value,
    /// The same in its other reading, if it has one, for fields that take only that.
    pub(super) other: Option<Value>,
}

impl<'t> Override<'t> {
    /// Reads `PATH=VALUE`. The error says what is wrong.
    pub(super) fn parse(text: &'t str) -> Result<Override<'t>, String> {
        if text.len() > LARGEST {
            return Err(format!("has {} bytes; at most {LARGEST} are read", text.len()));
        }
        let equals = first_equals(text).ok_or("has no \"=\": write PATH=VALUE, like scheduler.slice=36ms")?;
        let (left, right) = (&text[..equals], text[equals + 1..].trim());
        let (value, other) = readings(right);
        Ok(Override { text, path: Path::parse(left)?, value, other })
    }

    /// Takes it in its other reading, once, after it was refused for that reason: what reads as a number or a switch may be meant as a name
    /// (`workload.io.group=1`), and a number with a point is one where a number is wanted. Gives the value that it has then.
    pub(super) fn read_otherwise(&mut self, reason: &str) -> Option<&Value> {
        let other = self.other.take_if(|other| !other.is_f64() || reason.ends_with(" is not a number"))?;
        self.value = other;
        Some(&self.value)
    }
}

/// The position of the first "=" outside quotes.
fn first_equals(text: &str) -> Option<usize> {
    let mut quote = None;
    text.char_indices().find_map(|(place, c)| {
        match (quote, c) {
            (None, '=') => return Some(place),
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            _ => {}
        }
        None
    })
}

/// `text` as a TOML value and as itself, that which is meant more often first.
fn readings(text: &str) -> (Value, Option<Value>) {
    let value = DeValue::parse(text).ok().and_then(|value| value_of(&Path::default(), value.get_ref()).ok());
    match value {
        None => (Value::from(text), None),
        Some(number) if number.is_f64() => (Value::from(text), Some(number)),
        Some(value) => (value, Some(Value::from(text))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_override_is_a_toml_value_or_else_a_text() {
        let value = |text| Override::parse(text).unwrap().value;
        assert_eq!(value("a.b=36ms"), json!("36ms"));
        assert_eq!(value("a.b = 4"), json!(4));
        assert_eq!(value("a.b=true"), json!(true));
        assert_eq!(value("a.b=[1, \"x\"]"), json!([1, "x"]));
        assert_eq!(value("a.b={ load = \"spin\" }"), json!({ "load": "spin" }));
        assert_eq!(value("a.b=1.5"), json!("1.5"));
        let other = |text| Override::parse(text).unwrap().other;
        assert_eq!([other("a=1.5"), other("a=1"), other("a=36ms")], [Some(json!(1.5)), Some(json!("1")), None]);
        assert_eq!(value("a.b=1979-05-27"), json!("1979-05-27"));
        assert_eq!(value("a.b=x=y"), json!("x=y"));
        assert_eq!(value("a.b="), json!(""));
        assert!(Override::parse("slice").is_err());
        assert_eq!(Override::parse("'a=b'.c=1").unwrap().path.keys(), ["a=b", "c"]);
    }

    #[test]
    fn deep_nesting_is_refused_not_followed() {
        for text in [vec!["a"; 100_000].join(".") + "=1", "x=".to_owned() + &"[".repeat(100_000)] {
            assert!(parse(&text, Format::Toml).is_err());
        }
        assert!(parse(&"[".repeat(100_000), Format::Json).is_err());
    }
}
