//! What is asked of a recording.

use regex_lite::Regex;

/// What a row of the table of tasks is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum By {
    /// A thread.
    #[default]
    Pid,
    /// All threads of one name.
    Comm,
    /// All threads of one process.
    Tgid,
    /// All threads of one control group, as it was when the recording began; those made since then are in that of their parent.
    Cgroup,
}

impl By {
    /// All of them, by the names that users give.
    pub const ALL: [(&str, By); 4] = [("pid", By::Pid), ("comm", By::Comm), ("tgid", By::Tgid), ("cgroup", By::Cgroup)];
}

/// Tasks that are reported together.
#[derive(Debug, Clone)]
pub struct Group {
    /// What the user calls it.
    pub name: String,
    /// What the whole name of a task must match.
    pub pattern: Regex,
}

impl Group {
    /// Reads `NAME=REGEX`.
    ///
    /// # Errors
    /// Without a name, or with a pattern that is no regular expression.
    pub fn read(text: &str) -> Result<Group, String> {
        let (name, pattern) = text.split_once('=').unwrap_or_default();
        if name.is_empty() {
            return Err(format!("group {text:?}: give a name and a regular expression, as in server=redis.*"));
        }
        let whole =
            Regex::new(&format!("^(?:{pattern})$")).map_err(|why| format!("group {name}: {pattern:?}: {why}"))?;
        Ok(Group { name: name.to_owned(), pattern: whole })
    }
}

/// What is asked.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only runs on this processor, and waits that ended on it.
    pub cpu: Option<u16>,
    /// Only tasks of this name or number; processors are reported in full.
    pub task: Option<String>,
    /// From when, ns after the first event.
    pub from: Option<u64>,
    /// Until when, ns after the first event.
    pub to: Option<u64>,
    /// What is a row.
    pub by: By,
    /// Tasks that are also reported together.
    pub groups: Vec<Group>,
    /// Whether sums are kept by blocks of time, for intervals by bootstrap.
    pub blocks: bool,
    /// Whether a turn that the end of the recording cuts off is a run as far as it goes: of shares and their blocks, not of lengths.
    pub unfinished: bool,
    /// Whether every run is kept, for [`Explainer::timeline`](crate::Explainer::timeline).
    pub timeline: bool,
}

impl Options {
    /// Refuses a window that has ended before it begins.
    ///
    /// # Errors
    /// Names both ends.
    pub fn check(&self) -> Result<(), String> {
        let (from, to) = (self.from.unwrap_or(0), self.to.unwrap_or(u64::MAX));
        if to <= from {
            return Err(format!("--to {} s must be after --from {} s", to as f64 / 1e9, from as f64 / 1e9));
        }
        Ok(())
    }
}
