//! Which format a recording has: by its content, never by its name.

use super::prefix::Prefix;
use super::{Head, Listener, ReadError, prefix, script, tracefs};
use crate::requests::unpack;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsFd;
use std::path::Path;

/// What is read, for messages.
const FORMATS: &str = "text of perf script, trace-cmd report and tracefs (trace, trace_pipe)";
/// Lines of the beginning that are looked at.
const MOST_LINES: usize = 1000;
/// Bytes that a message shows.
const SHOWN: usize = 24;

/// A format that can be told from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    PerfScript,
    TraceCmdReport,
    Tracefs,
}

/// Reads a recording: a file, a pipe or, as "-", the standard input. Text may be packed with gzip or zstd.
pub fn read(path: &Path, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let file = match path.as_os_str() == "-" {
        true => File::from(std::io::stdin().as_fd().try_clone_to_owned()?),
        false => File::open(path)?,
    };
    read_stream(file, listener)
}

/// Reads a recording that cannot be read twice.
pub fn read_stream(input: impl Read + Send + 'static, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let (beginning, input) = unpack(Box::new(input)).map_err(|problem| ReadError::Unknown(problem.what))?;
    match format(&beginning) {
        Some(Format::PerfScript) => script::read_perf(input, listener),
        Some(Format::TraceCmdReport) => script::read_trace_cmd(input, listener),
        Some(Format::Tracefs) => tracefs::read(input, listener),
        None => Err(ReadError::Unknown(unknown(&beginning))),
    }
}

/// The format of what begins so.
fn format(beginning: &[u8]) -> Option<Format> {
    // A header names its tool. Without one, the first line of an event decides.
    let lines = || beginning.split(|byte| *byte == b'\n').take(MOST_LINES);
    let mut first = lines();
    if first.clone().any(|line| line.starts_with(b"# tracer: ")) {
        return Some(Format::Tracefs);
    }
    if first.clone().any(|line| line.starts_with(b"cpus=")) {
        return Some(Format::TraceCmdReport);
    }
    first.find_map(|line| {
        let Prefix { name, cpu, .. } = prefix::read(line)?;
        // perf prints the system of an event, the kernel does not.
        let of_perf = name.contains(&b':') || name.starts_with(b"PERF_RECORD_") || cpu.is_none();
        Some(if of_perf { Format::PerfScript } else { Format::Tracefs })
    })
}

/// What was found instead of a recording.
fn unknown(beginning: &[u8]) -> String {
    if beginning.is_empty() {
        return format!("the recording is empty; what is read: {FORMATS}");
    }
    let first = beginning[..beginning.len().min(SHOWN)].escape_ascii();
    format!("no recording of a known format: it begins with \"{first}\"; what is read: {FORMATS}")
}
