//! Reads a layout and says what is wrong with one: file, line, field, what was found, what is allowed.

use super::layout::{ByAttention, Layout, Overload};
use crate::{MILLISECOND, Nanos, SECOND, units::spell_duration};
use std::fmt;

/// Longest file, in bytes.
const LARGEST: usize = 256 << 10;
/// Most levels and most rules.
const MOST_LEVELS: usize = 20;
const MOST_RULES: usize = 1000;
/// What a level may add to a nice value. Below, tasks go before threads of the kernel that serve them; above there is nothing.
const NICE: (i32, i32) = (-10, 19);
/// Slices that Linux takes (since 6.12); it brings others to these ends.
const SLICE: (Nanos, Nanos) = (100_000, 100 * MILLISECOND);
/// Weights that cpu.weight takes.
const WEIGHT: (u64, u64) = (1, 10_000);
/// Where attention moves programs, in this order.
pub(super) const MOVED: [&str; 3] = ["foreground", "background", "batch"];

/// The first fault of a layout. `Display` gives it in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, as its reader called it.
    pub file: String,
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// The field; empty if the file as a whole is meant.
    pub field: String,
    /// What was found and what is allowed.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let colon = if self.field.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}: {}", self.field, self.reason)
    }
}

/// Field and reason.
pub(crate) type Fault = (String, String);

impl Layout {
    /// Reads TOML. `file` is what messages call it.
    pub fn read(text: &str, file: &str) -> Result<Layout, Problem> {
        let problem = |line, field: String, reason| Problem { file: file.to_owned(), line, field, reason };
        let line = |at: usize| 1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count();
        if text.len() > LARGEST {
            return Err(problem(
                None,
                String::new(),
                format!("has {} bytes; a layout has at most {LARGEST}", text.len()),
            ));
        }
        let plain =
            |why: &toml::de::Error| (why.span().map(|span| line(span.start)), why.message().replace('\n', "; "));
        let parsed = toml::Deserializer::parse(text).map_err(|why| {
            let (line, message) = plain(&why);
            problem(line, String::new(), format!("is not TOML: {message}"))
        })?;
        let layout: Layout = serde_path_to_error::deserialize(parsed).map_err(|why| {
            let (line, message) = plain(why.inner());
            let field = why.path().to_string();
            problem(line, if field == "." { String::new() } else { field }, message)
        })?;
        check(&layout).map_err(|(field, reason)| problem(None, field, reason))?;
        Ok(layout)
    }
}

/// The first fault of a layout whose types are right.
pub(crate) fn check(layout: &Layout) -> Result<(), Fault> {
    levels(layout)?;
    rules(layout)?;
    attention(&layout.attention)?;
    overload(&layout.overload)
}

fn within<T: PartialOrd + fmt::Display>(field: &str, value: T, (low, high): (T, T)) -> Result<(), Fault> {
    if value >= low && value <= high {
        return Ok(());
    }
    Err((field.to_owned(), format!("{value} is not allowed; {low} to {high} is")))
}

fn lasts(field: &str, value: Nanos, (low, high): (Nanos, Nanos)) -> Result<(), Fault> {
    if value >= low && value <= high {
        return Ok(());
    }
    let [value, low, high] = [value, low, high].map(spell_duration);
    Err((field.to_owned(), format!("{value} is not allowed; {low} to {high} is")))
}

fn levels(layout: &Layout) -> Result<(), Fault> {
    within("level", layout.level.len(), (1, MOST_LEVELS)).map_err(|(field, why)| (field, format!("{why} (levels)")))?;
    for (at, level) in layout.level.iter().enumerate() {
        let field = |name: &str| format!("level[{at}].{name}");
        if layout.number(&level.name) != Some(at) {
            return Err((field("name"), format!("{:?} is there twice; each level has a name of its own", level.name)));
        }
        within(&field("nice"), level.nice, NICE)?;
        let above = layout.level[..at].last().map_or(NICE.0, |above| above.nice);
        if level.nice < above {
            let why = format!("{} comes after {above}; levels stand in the order of nice, the least first", level.nice);
            return Err((field("nice"), why));
        }
        level.slice.map_or(Ok(()), |slice| lasts(&field("slice"), slice.0, SLICE))?;
        level.weight.map_or(Ok(()), |weight| within(&field("weight"), weight, WEIGHT))?;
    }
    let mut last = 0;
    for name in MOVED {
        let found = layout.number(name).filter(|at| *at >= last);
        last = found.ok_or_else(|| {
            let why = format!("no {name:?}; levels of the names {} are there, in this order", MOVED.join(", "));
            ("level".to_owned(), why)
        })?;
    }
    Ok(())
}

fn rules(layout: &Layout) -> Result<(), Fault> {
    within("rule", layout.rule.len(), (0, MOST_RULES)).map_err(|(field, why)| (field, format!("{why} (rules)")))?;
    for (at, rule) in layout.rule.iter().enumerate() {
        if rule.name.is_none() && rule.command.is_none() && rule.cgroup.is_none() {
            let why = "names nothing: write name, command or cgroup".to_owned();
            return Err((format!("rule[{at}]"), why));
        }
        if layout.number(&rule.level).is_none() {
            let known: Vec<&str> = layout.level.iter().map(|level| level.name.as_str()).collect();
            let why = format!("{:?} is no level; there is {}", rule.level, known.join(", "));
            return Err((format!("rule[{at}].level"), why));
        }
    }
    Ok(())
}

fn attention(given: &ByAttention) -> Result<(), Fault> {
    let hour = 3600 * SECOND;
    lasts("attention.half_life", given.half_life.0, (SECOND, hour))?;
    lasts("attention.dwell", given.dwell.0, (0, 60 * SECOND))?;
    lasts("attention.stay", given.stay.0, (0, hour))?;
    within("attention.foreground", given.foreground, (1, 100))?;
    within("attention.leave", given.leave, (0.0, 1.0))?;
    within("attention.rest", given.rest, (0.0, given.leave))?;
    within("attention.busy", given.busy, (0.01, 1000.0))
}

fn overload(given: &Overload) -> Result<(), Fault> {
    let hour = 3600 * SECOND;
    within("overload.share", given.share, (0.05, 1.0))?;
    lasts("overload.within", given.within.0, (SECOND, hour))?;
    lasts("overload.calm", given.calm.0, (SECOND, hour))?;
    within("overload.margin", given.margin, (0.0, given.share))
}
