//! The lines that a recording of peaks consists of, a JSON object each.

use serde::Serialize;

/// A line, by its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Line<'a> {
    /// The first one.
    Begin(Begin),
    /// A process ended.
    Process(End<'a>),
    /// A control group's peak.
    Group(Group<'a>),
    /// Ends were lost.
    Gap(Gap),
    /// All that ended before that time has been reported.
    Until {
        /// Time since 1970, ns.
        time_ns: u64,
    },
    /// The last one.
    Finish(Finish),
}

/// How the recording is made.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Begin {
    /// Time since 1970, ns.
    pub time_ns: u64,
    /// How peaks are obtained: `taskstats`, exact, or `polled`, lower bounds.
    pub how: &'static str,
    /// How programs are learned: `events` or `scan`, which misses short ones.
    pub programs: &'static str,
    /// Time between two looks, where there are any, ns.
    pub every_ns: Option<u64>,
    /// What is not known, and why.
    pub missing: Vec<String>,
}

/// A process that ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct End<'a> {
    /// When its end was read, time since 1970, ns.
    pub time_ns: u64,
    /// Its number.
    pub pid: u32,
    /// Number of its user.
    pub user: u32,
    /// Name of its last task.
    pub name: String,
    /// Its program's file, if known.
    pub path: Option<&'a str>,
    /// What tells versions of that file apart.
    pub file: Option<File>,
    /// Its arguments, its own name first, if known; cut after some thousand bytes.
    pub arguments: Option<&'a [String]>,
    /// The folder in which it began.
    pub folder: Option<&'a str>,
    /// It executed nothing: program and arguments are those of the process that forked it.
    pub forked: bool,
    /// Name of the program that made it.
    pub parent: Option<&'a str>,
    /// Its control group when it began its program.
    pub group: Option<&'a str>,
    /// Largest resident memory, bytes.
    pub peak_bytes: u64,
    /// Largest mapped memory, bytes.
    pub peak_virtual_bytes: u64,
    /// From the creation of the process to its end, ns.
    pub elapsed_ns: u64,
    /// As wait(2) gives it; none where it is not known.
    pub status: Option<u32>,
    /// `taskstats` or `polled`.
    pub how: &'static str,
}

/// The identity of a file's content, as far as it can be had without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct File {
    /// Device and inode.
    pub device: u64,
    /// Number within the device.
    pub inode: u64,
    /// Bytes.
    pub size: u64,
    /// When it was last written, time since 1970, ns.
    pub modified_ns: i64,
}

/// The peak of a control group.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Group<'a> {
    /// When it was read, time since 1970, ns.
    pub time_ns: u64,
    /// The group, as /proc/PID/cgroup has it.
    pub path: &'a str,
    /// Largest memory charged to it, page cache and the kernel's own included, bytes.
    pub peak_bytes: u64,
    /// For how long it was observed, ns.
    pub elapsed_ns: u64,
    /// The kernel's file.
    pub how: &'static str,
}

/// A loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When it was noticed, time since 1970, ns.
    pub time_ns: u64,
    /// What was lost: `ends`; `records` of ends in a layout that is not known (Linux 6.14); or `programs`, whose processes have
    /// unknown arguments.
    pub what: &'static str,
}

/// What the whole recording was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finish {
    /// Time since 1970, ns.
    pub time_ns: u64,
    /// Processor time that the recorder used itself, ns.
    pub own_ns: u64,
    /// Processes that ended.
    pub processes: u64,
    /// Of them those whose arguments were not known.
    pub unknown: u64,
}
