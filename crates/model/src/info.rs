//! An entry of a family's table: its name, promises and parameters. The command line, the checks of experiment
//! files, the tuning space, the pages and the conformance tests all derive from these entries.

use crate::{Nanos, units};
use serde::Serialize;
use std::collections::BTreeMap;

/// What an entry guarantees, with its default parameters. The definitions are those that the conformance tests check:
/// `crates/testing/src/schedulers/laws.rs` for schedulers, `crates/testing/src/elevators/laws.rs` for elevators.
///
/// A task *waits* from when it becomes able to run until it gets a processor. No promise covers a task that is held back by
/// a limit that was set for it: a group's quota, the throttling of real-time tasks, the processor of its reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "promise", content = "reach")]
pub enum Promise {
    /// No processor idles while a task waits for it, not even for a nanosecond.
    ///
    /// Of an elevator: the drive never idles while a request is queued that it could take.
    WorkConserving(Reach),
    /// No task waits for more than a second times the number of tasks that exist meanwhile, itself included, whatever the
    /// others do: compute, sleep, fork, end, arrive. All have the same nice level and the policy `other`. (With other nice
    /// levels the wait is bounded too, by a longer time.)
    ///
    /// Of an elevator: no request of the best-effort class stays queued for more than ten seconds, whatever other tasks of that
    /// class request, as long as the drive serves at least fifty requests a second.
    StarvationFree(Reach),
    /// Tasks that are alike and always able to run get equal processor time, whatever other tasks run: from 100 s on, none
    /// is farther from their mean than a twentieth of it or 200 ms. Alike are tasks of the same nice level, policy, group and
    /// processors that started together.
    ///
    /// Of an elevator: tasks of the same class and level that read files one block after the other without a pause are served
    /// for equal times, to within a tenth.
    FairToEquals(Reach),
    /// On several processors, while tasks only compute: no processor idles for longer than this time (ns) times the number of
    /// processors while a task waits that may use it. It covers tasks that are bound to some processors where all processors share
    /// the same, and unbound ones where all cores have as many threads, all caches as many cores and all nodes as many caches:
    /// elsewhere the rules of Linux can leave a processor idle for good. It is for policies that look for work elsewhere now
    /// and then; those that are work-conserving need not promise it.
    FindsWork(Nanos),
    /// On several processors, while tasks only compute and none begins or ends: tasks change processors at most this number of times
    /// a second and processor, once they have been there for five seconds.
    MovesAtMost(u32),
    /// A group's tasks, with those of the groups in it, have no more processor time than its quota of each period that has begun; a tick
    /// more on each processor, which is taken from what comes next. A policy that makes tasks wait for a quota has to promise it, since
    /// that alone excuses an idle processor.
    LimitsGroups,
    /// Tasks run to their next wait; they are never preempted.
    RunsToBlock,
    /// It uses knowledge of the future, which no real system has: a bound to compare the others with.
    Clairvoyant,
}

/// Where a promise holds. On a machine with one processor all three say the same. An elevator has one drive, and reaches
/// everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// Of one processor and the tasks that are bound to it or, where a processor idles, queued on it. Nothing is promised
    /// about a task that could use another processor.
    EachProcessor,
    /// Of all processors together, as long as no task is bound to some of them.
    Unbound,
    /// Of all processors together, whatever tasks are bound to.
    Everywhere,
}

/// What values a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Domain {
    /// A length of time, bounds in ns.
    Duration {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// A number of bytes.
    Size {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// Events per second.
    Rate {
        /// Smallest.
        low: f64,
        /// Largest.
        high: f64,
    },
    /// A whole number.
    Count {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// One of the names.
    Choice {
        /// All of them.
        names: &'static [&'static str],
    },
    /// Any text that is not empty.
    Text,
    /// true or false.
    Switch,
}

/// A parameter of an entry.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Parameter {
    /// As the user writes it.
    pub name: &'static str,
    /// One line: what it does.
    pub meaning: &'static str,
    /// Allowed values.
    pub domain: Domain,
    /// Default, written as the user would ("100ms", "tail", "true"); `None` if it must be given.
    pub default: Option<&'static str>,
    /// Whether a search should step by factors rather than by differences.
    pub logarithmic: bool,
    /// Whether the default is that of one processor, and grows with the machine as Linux has it: times 1 + log2 of the processors, of at
    /// most eight. What is given is what the kernel's file of that name holds, and does not grow. (get_update_sysctl_factor)
    #[serde(skip)]
    pub grows: bool,
    /// The same knob on a live Linux host, if there is one: its name among the host's tunables.
    pub host: Option<&'static str>,
}

/// An entry of a table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Info {
    /// The string a user types, and the name of the file.
    pub name: &'static str,
    /// One line.
    pub summary: &'static str,
    /// Year of the original.
    pub year: u16,
    /// Where it comes from.
    pub origin: &'static str,
    /// What it guarantees.
    pub promises: &'static [Promise],
    /// Its parameters.
    pub parameters: &'static [Parameter],
    /// The head of the source file, or all of it: its module documentation is the entry's page. See [`crate::documentation!`].
    #[serde(skip)]
    pub source: &'static str,
}

/// The module documentation at the head of a source file, as written there; the code after it is not in the binary.
#[macro_export]
macro_rules! documentation {
    ($file:literal) => {{
        const TEXT: &str = include_str!($file);
        const HEAD: [u8; $crate::info::documented(TEXT)] = *$crate::info::head(TEXT);
        match std::str::from_utf8(&HEAD) {
            Ok(head) => head,
            Err(_) => panic!("it is cut between lines"),
        }
    }};
}

/// How many bytes of a text are in the lines at its head that begin with `//!`.
pub const fn documented(text: &str) -> usize {
    let (text, mut line) = (text.as_bytes(), 0);
    while line + 2 < text.len() && text[line] == b'/' && text[line + 1] == b'/' && text[line + 2] == b'!' {
        while line < text.len() && text[line] != b'\n' {
            line += 1;
        }
        line += 1;
    }
    if line < text.len() { line } else { text.len() }
}

/// The first `N` bytes of a text.
pub const fn head<const N: usize>(text: &str) -> &[u8; N] {
    text.as_bytes().first_chunk().expect("a text has a head of itself")
}

impl Info {
    /// The entry's page: the module documentation of its file, as Markdown.
    pub fn page(&self) -> String {
        let line = |l: &str| l.strip_prefix("//!").map(|t| t.strip_prefix(' ').unwrap_or(t).to_owned());
        self.source.lines().map_while(line).collect::<Vec<_>>().join("\n")
    }

    /// The parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| p.name == name)
    }
}

/// What a metric describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// The whole system; named by the bare name.
    System,
    /// The tasks of one nice level; named `nice.<level>.<name>`, or `nice.*.<name>` for every level.
    Nice,
    /// The tasks of one job; named `tasks.<job>.<name>`, or `tasks.*.<name>` for every job.
    Task,
}

/// An entry of the table of metrics.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct MetricInfo {
    /// The string a user types, without job, nice level or statistic.
    pub name: &'static str,
    /// Unit of its numbers: "s", "1" for a count or a ratio, "%", "B", "KiB", "1/s", "KiB/s".
    pub unit: &'static str,
    /// One line: what it measures.
    pub meaning: &'static str,
    /// What it describes.
    pub scope: Scope,
    /// Whether it is a distribution, of which one of [`MetricInfo::STATISTICS`] is named.
    pub distribution: bool,
}

impl MetricInfo {
    /// What may be asked of a distribution, behind its name: `wakeup_latency.p99`.
    /// `censored` counts the values that had begun and not ended when the run ended, which the others leave out, and
    /// `censored_max` is the age of the oldest of them.
    pub const STATISTICS: &'static [&'static str] =
        &["mean", "min", "max", "p50", "p90", "p95", "p99", "p999", "count", "censored", "censored_max"];
    /// Those that censored values could change. Where they do, the bounds have suffixes: `p99_low` and `p99_high`.
    pub const BOUNDED: &'static [&'static str] = &["mean", "max", "p50", "p90", "p95", "p99", "p999"];

    /// Whether a distribution may have this statistic, or bound of one.
    pub fn is_statistic(name: &str) -> bool {
        let bounded = name.strip_suffix("_low").or_else(|| name.strip_suffix("_high"));
        MetricInfo::STATISTICS.contains(&name) || bounded.is_some_and(|name| MetricInfo::BOUNDED.contains(&name))
    }

    /// The unit of a distribution's statistic.
    pub fn unit_of(&self, statistic: &str) -> &'static str {
        if matches!(statistic, "count" | "censored") { "1" } else { self.unit }
    }
}

/// A checked value, in base units.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nanoseconds, bytes or a count.
    Whole(u64),
    /// Per second.
    Real(f64),
    /// A choice, or a text.
    Name(String),
    /// A switch.
    Switch(bool),
}

impl Domain {
    /// Reads a value written by a user. The error says what was found and what is allowed.
    pub fn read(&self, text: &str) -> Result<Value, String> {
        match *self {
            Domain::Duration { low, high } => within(units::parse_duration(text)?, low, high, units::spell_duration),
            Domain::Size { low, high } => within(units::parse_size(text)?, low, high, units::spell_size),
            Domain::Count { low, high } => {
                let value = text.parse().map_err(|_| format!("{text:?} is not a whole number"))?;
                within(value, low, high, |v| v.to_string())
            }
            Domain::Rate { low, high } => {
                let value = units::parse_rate(text)?;
                if value < low || value > high {
                    return Err(format!("{text:?} is out of range: from {low}/s to {high}/s"));
                }
                Ok(Value::Real(value))
            }
            Domain::Choice { names } => {
                if names.contains(&text) {
                    return Ok(Value::Name(text.to_owned()));
                }
                Err(format!("{text:?} is not one of {}", names.join(", ")))
            }
            Domain::Text if text.trim().is_empty() => Err("is empty".to_owned()),
            Domain::Text => Ok(Value::Name(text.to_owned())),
            Domain::Switch => {
                text.parse().map(Value::Switch).map_err(|_| format!("{text:?} is neither true nor false"))
            }
        }
    }
}

fn within(value: u64, low: u64, high: u64, spell: impl Fn(u64) -> String) -> Result<Value, String> {
    if value < low || value > high {
        return Err(format!("{} is out of range: from {} to {}", spell(value), spell(low), spell(high)));
    }
    Ok(Value::Whole(value))
}

/// The checked parameters of one entry, defaults filled in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Params(BTreeMap<String, Value>);

impl Parameter {
    /// The default on a machine with that many processors; none if it must be given.
    pub fn default_on(&self, processors: u16) -> Option<Result<Value, String>> {
        let factor = if self.grows { 1 + u64::from(processors.clamp(1, 8).ilog2()) } else { 1 };
        let grown = |value| if let Value::Whole(one) = value { Value::Whole(one * factor) } else { value };
        Some(self.domain.read(self.default?).map(grown))
    }
}

impl Params {
    /// Checks what was `given` (name, text) against `info` and fills in defaults, as of one processor.
    /// The error names the parameter first: (name, what is wrong).
    pub fn check<'a>(
        info: &Info,
        given: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Params, (String, String)> {
        Params::check_on(1, info, given)
    }

    /// The same, with defaults as of that many processors.
    pub fn check_on<'a>(
        processors: u16,
        info: &Info,
        given: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Params, (String, String)> {
        let mut values = BTreeMap::new();
        for (name, text) in given {
            let known = info
                .parameter(name)
                .ok_or_else(|| (name.to_owned(), format!("{} has no such parameter", info.name)))?;
            let value = known.domain.read(&text).map_err(|why| (name.to_owned(), why))?;
            values.insert(name.to_owned(), value);
        }
        for parameter in info.parameters {
            if values.contains_key(parameter.name) {
                continue;
            }
            let missing = || (parameter.name.to_owned(), "is missing".to_owned());
            let value = parameter.default_on(processors).ok_or_else(missing)?;
            values.insert(parameter.name.to_owned(), value.map_err(|why| (parameter.name.to_owned(), why))?);
        }
        Ok(Params(values))
    }

    /// A duration, size or count.
    ///
    /// # Panics
    /// If the entry has no such parameter: a slip in the entry's own file.
    pub fn whole(&self, name: &str) -> u64 {
        match &self.0[name] {
            Value::Whole(v) => *v,
            other => panic!("{name} is {other:?}, not a whole number"),
        }
    }

    /// A rate per second. Panics as [`Params::whole`].
    pub fn real(&self, name: &str) -> f64 {
        match &self.0[name] {
            Value::Real(v) => *v,
            other => panic!("{name} is {other:?}, not a rate"),
        }
    }

    /// A choice or a text. Panics as [`Params::whole`].
    pub fn name(&self, name: &str) -> &str {
        match &self.0[name] {
            Value::Name(v) => v,
            other => panic!("{name} is {other:?}, not a choice"),
        }
    }

    /// A switch. Panics as [`Params::whole`].
    pub fn switch(&self, name: &str) -> bool {
        match &self.0[name] {
            Value::Switch(v) => *v,
            other => panic!("{name} is {other:?}, not a switch"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_of_a_file_ends_where_its_code_begins() {
        for (text, head) in [
            ("//! one\n//!\n//! two\n\nuse std;\n//! three\n", "//! one\n//!\n//! two\n"),
            ("//! only", "//! only"),
            ("//!", "//!"),
            ("// none\n", ""),
            ("/", ""),
            ("", ""),
        ] {
            assert_eq!(&text[..documented(text)], head);
        }
        assert_eq!(head::<5>("//! one"), b"//! o");
    }

    #[test]
    fn a_default_that_grows_does_so_with_the_logarithm_of_at_most_eight_processors() {
        const SLICE: Parameter = Parameter {
            name: "slice",
            meaning: "",
            domain: Domain::Duration { low: 0, high: 1000 },
            default: Some("100ns"),
            logarithmic: true,
            grows: true,
            host: None,
        };
        for (processors, expected) in
            [(1, 100), (2, 200), (3, 200), (4, 300), (7, 300), (8, 400), (9, 400), (1024, 400)]
        {
            assert_eq!(SLICE.default_on(processors), Some(Ok(Value::Whole(expected))), "{processors}");
            let info =
                Info { name: "", summary: "", year: 0, origin: "", promises: &[], parameters: &[SLICE], source: "" };
            assert_eq!(Params::check_on(processors, &info, []).unwrap().whole("slice"), expected);
            assert_eq!(Params::check_on(processors, &info, [("slice", "70ns".to_owned())]).unwrap().whole("slice"), 70);
        }
        assert_eq!(Parameter { grows: false, ..SLICE }.default_on(8), Some(Ok(Value::Whole(100))));
        assert_eq!(Parameter { default: None, ..SLICE }.default_on(8), None);
    }

    #[test]
    fn a_page_is_the_documentation_without_its_marks() {
        let source = crate::documentation!("info.rs");
        assert!(source.ends_with("derive from these entries.\n"), "{source}");
        let info = Info { name: "", summary: "", year: 0, origin: "", promises: &[], parameters: &[], source };
        assert!(info.page().starts_with("An entry of a family's table: "));
    }
}
