//! Which format a recording has: by its content, never by its name.

use super::prefix::Prefix;
use super::{Head, Listener, ReadError, blkparse, blktrace, dat, own, perf, perfetto, prefix, raw, script, tracefs};
use crate::requests::unpack;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// What is read, for messages; traces of drives are, too, but there is no verb for them.
const FORMATS: &str = "perf.data; trace.dat; text of perf script, trace-cmd report and tracefs (trace, trace_pipe); \
                       Perfetto traces; recordings of schedlab; folders with raw buffers of tracefs";
/// Lines of the beginning that are looked at.
const MOST_LINES: usize = 1000;
/// Bytes that a message shows.
const SHOWN: usize = 24;
/// How files begin that need more than bytes in their order.
const PERF: &[u8] = b"PERFILE2";
const PERF_SWAPPED: &[u8] = b"2ELIFREP";
const DAT: &[u8] = b"\x17\x08\x44tracing";

/// A format that is recognised by its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Perf,
    TraceDat,
    PerfScript,
    TraceCmdReport,
    Tracefs,
    Perfetto,
    Own,
    Blktrace,
    Blkparse,
}

/// Reads a recording: a file, a pipe or, as "-", the standard input, packed with gzip or zstd or not; or a folder with raw buffers.
pub fn read(path: &Path, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let mut file = match path.as_os_str() == "-" {
        true => File::from(io::stdin().as_fd().try_clone_to_owned()?),
        false => File::open(path)?,
    };
    let kind = file.metadata()?;
    if kind.is_dir() {
        // That of `perf record --threads` has the head of the recording in the file `data`, and the events in others.
        let is_of_perf = path.join("data").is_file() && !path.join("events").exists();
        return if is_of_perf { perf::read(file, listener) } else { raw::read(path, listener) };
    }
    // Some formats are read here and there, which only a file permits: it is not to be read as a stream.
    if kind.is_file() {
        let mut magic = Vec::new();
        (&file).take(DAT.len() as u64).read_to_end(&mut magic)?;
        file.seek_relative(-(magic.len() as i64))?;
        match format(&magic) {
            Some(Format::Perf) => return perf::read(file, listener),
            Some(Format::TraceDat) => return dat::read(file, listener),
            _ => {}
        }
    }
    read_stream(file, listener)
}

/// Reads a recording that cannot be read twice.
pub fn read_stream(input: impl Read + Send + 'static, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let (beginning, input) = unpack(Box::new(input)).map_err(|problem| ReadError::Unknown(problem.what))?;
    match format(&beginning) {
        Some(Format::Perf) => perf::read(pipe(input)?, listener),
        Some(Format::TraceDat) => dat::read(pipe(input)?, listener),
        Some(Format::PerfScript) => script::read_perf(input, listener),
        Some(Format::TraceCmdReport) => script::read_trace_cmd(input, listener),
        Some(Format::Tracefs) => tracefs::read(input, listener),
        Some(Format::Perfetto) => perfetto::read(input, listener),
        Some(Format::Own) => own::read(input, listener),
        Some(Format::Blktrace) => blktrace::read(input, listener),
        Some(Format::Blkparse) => blkparse::read(input, listener),
        None => Err(ReadError::Unknown(unknown(&beginning))),
    }
}

/// What was looked at already and the rest, as a file again. A thread copies; it ends with the reader.
fn pipe(mut input: impl Read + Send + 'static) -> io::Result<File> {
    let (reader, mut writer) = io::pipe()?;
    std::thread::spawn(move || io::copy(&mut input, &mut writer));
    Ok(File::from(OwnedFd::from(reader)))
}

/// The format of what begins so.
fn format(beginning: &[u8]) -> Option<Format> {
    let begins = |magic| beginning.starts_with(magic);
    match () {
        () if begins(PERF) || begins(PERF_SWAPPED) => Some(Format::Perf),
        () if begins(DAT) => Some(Format::TraceDat),
        () if begins(own::MAGIC) => Some(Format::Own),
        () if blktrace::begins(beginning) => Some(Format::Blktrace),
        () => text(beginning).or_else(|| perfetto::begins(beginning).then_some(Format::Perfetto)),
    }
}

/// The format of a text. A header names its tool; without one, the first line of an event decides.
fn text(beginning: &[u8]) -> Option<Format> {
    let mut lines = beginning.split(|byte| *byte == b'\n').take(MOST_LINES);
    let headed = |line: &[u8]| match () {
        () if line.starts_with(b"# tracer: ") => Some(Format::Tracefs),
        () if line.starts_with(b"cpus=") => Some(Format::TraceCmdReport),
        () => None,
    };
    lines.clone().find_map(headed).or_else(|| lines.find_map(of_event))
}

fn of_event(line: &[u8]) -> Option<Format> {
    if blkparse::step(line).is_some() {
        return Some(Format::Blkparse);
    }
    let Prefix { name, cpu, .. } = prefix::read(line)?;
    // perf prints the system of an event, the kernel does not.
    let of_perf = name.contains(&b':') || name.starts_with(b"PERF_RECORD_") || cpu.is_none();
    Some(if of_perf { Format::PerfScript } else { Format::Tracefs })
}

/// What was found instead of a recording.
fn unknown(beginning: &[u8]) -> String {
    if beginning.is_empty() {
        return format!("the recording is empty; what is read: {FORMATS}");
    }
    let first = beginning[..beginning.len().min(SHOWN)].escape_ascii();
    format!("no recording of a known format: it begins with \"{first}\"; what is read: {FORMATS}")
}
