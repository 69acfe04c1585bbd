//! An entry of a family's table: its name, promises and parameters. The command line, the checks of experiment
//! files, the tuning space, the pages and the conformance tests all derive from these entries.

mod values;

pub use values::{Params, Value};

use crate::Nanos;
use serde::Serialize;

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
    /// It is for one processor: its original has no rule for more. An experiment with several is refused.
    OneProcessor,
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

    /// Whether it is for a machine with that many processors. If not, what is wrong and what would be right.
    ///
    /// # Errors
    /// A [`Promise::OneProcessor`] and several processors.
    pub fn allows(&self, processors: u16) -> Result<(), String> {
        if processors == 1 || !self.promises.contains(&Promise::OneProcessor) {
            return Ok(());
        }
        let name = self.name;
        Err(format!(
            "{name} is for one processor, since its original has no rule for several, and the machine has {processors}: set \
             machine.processors = 1, or take another scheduler"
        ))
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
    fn a_page_is_the_documentation_without_its_marks() {
        let source = crate::documentation!("info.rs");
        assert!(source.ends_with("derive from these entries.\n"), "{source}");
        let info = Info { name: "", summary: "", year: 0, origin: "", promises: &[], parameters: &[], source };
        assert!(info.page().starts_with("An entry of a family's table: "));
    }
}
