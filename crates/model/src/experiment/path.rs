//! The path of a value in an experiment: `workload.io.steps[3].compute`. A name with other characters than
//! letters, digits, `_`, `-` and `*` is quoted.

use super::snippet::snippet;
use serde_json::{Map, Value};
use std::{borrow::Cow, fmt};

/// Deepest path accepted from a user; the deepest meaningful one (eight repeats and a span) is shorter.
const DEEPEST: usize = 64;

/// Longest name shown in full, in characters.
const LONGEST_SHOWN: usize = 100;

/// One step down.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment {
    Key(String),
    Index(usize),
}

impl Segment {
    /// Which element of a list it may mean.
    fn number(&self) -> Option<usize> {
        match self {
            Segment::Key(key) => key.parse().ok(),
            Segment::Index(index) => Some(*index),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        }
    }
}

/// The steps from the top.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Path(pub(super) Vec<Segment>);

impl Path {
    /// The path of a field at the top.
    pub(super) fn top(key: &str) -> Path {
        Path::default().key(key)
    }

    /// The path of a field below.
    pub(super) fn key(&self, key: &str) -> Path {
        let mut below = self.clone();
        below.0.push(Segment::Key(key.to_owned()));
        below
    }

    /// The path of an element below.
    pub(super) fn index(&self, index: usize) -> Path {
        let mut below = self.clone();
        below.0.push(Segment::Index(index));
        below
    }

    /// Whether this is `above` or lies below it.
    pub(super) fn within(&self, above: &Path) -> bool {
        self.0.starts_with(&above.0)
    }

    /// The keys, as long as no list comes between.
    pub(super) fn keys(&self) -> Vec<&str> {
        self.0.iter().map_while(Segment::key).collect()
    }

    /// Whether both name the same field: `steps[3]` and `steps.3` do.
    pub(super) fn is(&self, other: &Path) -> bool {
        let same = |(one, other): (&Segment, &Segment)| {
            one == other || one.number().is_some_and(|it| Some(it) == other.number())
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }

    /// Reads a path as users write it; an element is `steps[3]` or `steps.3`.
    pub(super) fn parse(text: &str) -> Result<Path, String> {
        let wrong = || format!("{text:?} is not a path: write names with dots between them, like scheduler.slice");
        let mut path = Path::default();
        let mut rest = text.trim();
        loop {
            let (key, after) = first_key(rest).ok_or_else(wrong)?;
            path.0.push(Segment::Key(key.to_owned()));
            rest = after;
            while let Some(inner) = rest.strip_prefix('[') {
                let (index, after) = inner.split_once(']').ok_or_else(wrong)?;
                path.0.push(Segment::Index(index.parse().map_err(|_| wrong())?));
                rest = after;
            }
            if path.0.len() > DEEPEST {
                return Err(format!("a path has at most {DEEPEST} parts"));
            }
            if rest.is_empty() {
                return Ok(path);
            }
            rest = rest.strip_prefix('.').ok_or_else(wrong)?;
        }
    }

    /// The value there.
    pub(super) fn get<'v>(&self, tree: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(tree, |node, segment| match segment {
            Segment::Key(key) => node.get(key),
            Segment::Index(index) => node.get(index),
        })
    }

    /// Puts `value` there and creates missing tables on the way. On an error (the value that is in the way) the tree is left
    /// half changed.
    pub(super) fn set(&self, tree: &mut Value, value: Value) -> Result<(), String> {
        let mut node = tree;
        for segment in &self.0 {
            if node.is_null() {
                *node = Value::Object(Map::new());
            }
            node = match (node, segment) {
                (Value::Object(table), Segment::Key(key)) => table.entry(key.clone()).or_insert(Value::Null),
                (Value::Array(list), segment) => {
                    let length = list.len();
                    let index = match segment {
                        Segment::Index(index) => Some(*index),
                        Segment::Key(key) => key.parse().ok(),
                    };
                    index
                        .and_then(|index| list.get_mut(index))
                        .ok_or_else(|| format!("the list has {length} elements, counted from 0"))?
                }
                (Value::Object(_), Segment::Index(_)) => return Err("a table's fields have names".to_owned()),
                (other, _) => return Err(format!("{} has no fields", snippet(other))),
            };
        }
        *node = value;
        Ok(())
    }
}

/// Splits the first name off, out of its quotes.
fn first_key(text: &str) -> Option<(&str, &str)> {
    if let Some(quote) = text.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return text[1..].split_once(quote);
    }
    let end = text.find(|c: char| matches!(c, '.' | '[' | ']' | '"' | '\'') || c.is_whitespace()).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// A name as part of a path: quoted if necessary, cut if it is long.
fn shown(key: &str) -> Cow<'_, str> {
    let bare = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*');
    match key.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{:?}...", &key[..end]).into(),
        None if !key.is_empty() && key.chars().all(bare) => key.into(),
        None if key.contains('"') && !key.contains('\'') && !key.contains(char::is_control) => {
            format!("'{key}'").into()
        }
        None => format!("{key:?}").into(),
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (depth, segment) in self.0.iter().enumerate() {
            let dot = if depth > 0 { "." } else { "" };
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) => write!(f, "{dot}{}", shown(key))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_read_back_as_shown() {
        for text in ["scheduler.slice", "workload.io.steps[3].compute", r#"sweep."scheduler.slice"[2]"#] {
            assert_eq!(Path::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Path::parse("sweep.'a b'").unwrap().to_string(), r#"sweep."a b""#);
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", ".", "a.", ".a", "a..b", "a[", "a[x]", "a\nb", "a\"b", "[1]", &"a.".repeat(65)] {
            assert!(Path::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_is_set_through_tables_and_lists() {
        let mut tree = json!({ "steps": [{ "compute": "1ms" }] });
        Path::parse("steps.0.compute").unwrap().set(&mut tree, json!("2ms")).unwrap();
        Path::parse("new.field").unwrap().set(&mut tree, json!(1)).unwrap();
        assert_eq!(tree, json!({ "steps": [{ "compute": "2ms" }], "new": { "field": 1 } }));
        assert!(Path::parse("steps[1].compute").unwrap().set(&mut tree, json!("2ms")).is_err());
        assert!(Path::parse("new.field.deeper").unwrap().set(&mut tree, json!(1)).is_err());
    }
}
