//! What is wrong with an experiment: which file and line, which field, what was found there, what is allowed.

use super::{
    path::Path,
    snippet::{MOST, shorten, snippet},
};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The first fault of an experiment. `Display` gives it in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Problem {
    /// The file, as its reader called it.
    pub file: String,
    /// The line, from 1, if the value is in a file with lines.
    pub line: Option<usize>,
    /// What put the value there, if not its own field of the file: `--set scheduler.slice=36` or
    /// `sweep."scheduler.slice"[2]`.
    pub source_of_value: Option<String>,
    /// Path of the field; empty if the file as a whole is meant.
    pub field: String,
    /// The value found, as text.
    pub found: Option<String>,
    /// What is wrong and what is allowed.
    pub reason: String,
    /// The name that was probably meant.
    pub nearest: Option<String>,
    /// The names that are known here.
    pub known: Vec<String>,
    /// The settings of the sweep's cell in which it shows, if it does not show in every cell.
    pub cell: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(source) = &self.source_of_value {
            write!(f, ": {source}")?;
        }
        if !self.field.is_empty() {
            write!(f, ": {}", self.field)?;
        }
        write!(f, ": {}", self.reason)?;
        if let Some(nearest) = &self.nearest {
            write!(f, "; did you mean {nearest:?}?")?;
        }
        if !self.known.is_empty() {
            let more = if self.known.len() > MOST { ", ..." } else { "" };
            write!(f, " (known: {}{more})", self.known[..self.known.len().min(MOST)].join(", "))?;
        }
        if let Some(cell) = &self.cell {
            write!(f, " (in the cell {cell})")?;
        }
        Ok(())
    }
}

/// A problem before its file, line and source are known.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    pub(super) at: Path,
    pub(super) reason: String,
    pub(super) found: Option<String>,
    pub(super) nearest: Option<String>,
    pub(super) known: Vec<String>,
}

impl Fault {
    /// The value at `at` is wrong.
    pub(super) fn new(at: Path, reason: impl AsRef<str>) -> Fault {
        Fault { at, reason: shorten(reason.as_ref()), found: None, nearest: None, known: Vec::new() }
    }

    /// `name` is none of the `known` names.
    pub(super) fn unknown<'k>(at: Path, name: &str, reason: &str, known: impl IntoIterator<Item = &'k str>) -> Fault {
        let known: Vec<String> = known.into_iter().map(shorten).collect();
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Fault { found: Some(shorten(name)), nearest, known, ..Fault::new(at, reason) }
    }

    /// The table at `at` has no field of that name.
    pub(super) fn field<'k>(at: &Path, name: &str, known: impl IntoIterator<Item = &'k str>) -> Fault {
        Fault::unknown(at.key(name), name, "unknown field", known)
    }

    /// Names the file; the value is looked up in `tree`.
    pub(super) fn in_file(self, file: &str, line: Option<usize>, tree: &Value) -> Problem {
        let found = self.found.or_else(|| self.at.get(tree).map(snippet));
        Problem {
            file: file.to_owned(),
            line,
            source_of_value: None,
            field: self.at.to_string(),
            found,
            reason: self.reason,
            nearest: self.nearest,
            known: self.known,
            cell: None,
        }
    }
}

/// The known name that differs from `name` by the fewest slips of the keyboard, if they are few.
pub fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = name.chars().count();
    if length > 100 {
        return None;
    }
    let distance = |candidate: &'k str| (strsim::osa_distance(name, candidate), candidate);
    let (slips, candidate) = known.into_iter().map(distance).min()?;
    (slips <= (length / 3).max(1)).then_some(candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_few_slips_away() {
        assert_eq!(nearest("laod", ["count", "load"]), Some("load"));
        assert_eq!(nearest("minx", ["minix", "round_robin"]), Some("minix"));
        assert_eq!(nearest("zebra", ["minix", "round_robin"]), None);
        assert_eq!(nearest(&"a".repeat(1 << 20), ["minix"]), None);
    }
}
