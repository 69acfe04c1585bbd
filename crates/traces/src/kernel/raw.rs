//! Raw buffers as copied from tracefs, in a folder with the names of tracefs:
//!
//!   events/header_page           the head of pages
//!   events/GROUP/NAME/format     descriptions of the tracepoints
//!   per_cpu/cpuN/trace_pipe_raw  whole pages, as read from there
//!   trace_clock, saved_cmdlines  clock and names of tasks, where they are there
//!
//! `cp -r events trace_clock saved_cmdlines FOLDER` in /sys/kernel/tracing, and `cat per_cpu/cpuN/trace_pipe_raw` for each processor,
//! make such a folder. Only ordinary files are read: what is read from tracefs itself would be taken from its readers.

use super::{
    Head, Listener, ReadError,
    buffers::{Buffer, merge},
    copied::{self, listed},
    decoder::Decoder,
    description::PageHead,
};
use std::{
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

/// The name of the format.
const FORMAT: &str = "raw buffers";
/// Bytes of a description.
const LONGEST: u64 = 1 << 20;
/// Bytes that are read at once.
const PIECE: usize = 1 << 16;
/// Processors.
const MOST: u16 = 1 << 14;

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError::Wrong { format: FORMAT, why: why.into() }
}

fn open(path: &Path) -> Result<File, ReadError> {
    let named = |why: io::Error| wrong(format!("{}: {why}", path.display()));
    // Asked before it is opened: a pipe would wait for its writer.
    if !fs::metadata(path).map_err(named)?.is_file() {
        return Err(wrong(format!("{}: it is no ordinary file", path.display())));
    }
    File::open(path).map_err(named)
}

fn text(path: &Path) -> Result<String, ReadError> {
    let mut text = Vec::new();
    open(path)?.take(LONGEST).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The entries of a folder in order of name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let named = |why: io::Error| wrong(format!("{}: {why}", folder.display()));
    let all: io::Result<Vec<PathBuf>> = fs::read_dir(folder).map_err(named)?.map(|entry| Ok(entry?.path())).collect();
    let mut all = all.map_err(named)?;
    all.sort();
    Ok(all)
}

fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads the raw buffers in a folder.
pub fn read(folder: &Path, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let path = folder.join("events/header_page");
    let pages = PageHead::parse(&text(&path)?).map_err(|why| wrong(format!("{}: {why}", path.display())))?;
    let mut decoder = Decoder::default();
    for system in entries(&folder.join("events"))?.iter().filter(|path| path.is_dir()) {
        for format in entries(system)?.iter().map(|event| event.join("format")).filter(|path| path.exists()) {
            decoder
                .describe(&last(system), &text(&format)?)
                .map_err(|why| wrong(format!("{}: {why}", format.display())))?;
        }
    }
    let mut head = Head { format: FORMAT.to_owned(), ..Head::default() };
    let clock = folder.join("trace_clock");
    if clock.exists() {
        head.clock = Some(copied::clock(&text(&clock)?, FORMAT)?);
    }
    let mut before = Vec::new();
    let names = folder.join("saved_cmdlines");
    if names.exists() {
        for (task, name) in listed(&text(&names)?) {
            decoder.named(0, task, name.as_bytes(), &mut before);
        }
    }
    merge(buffers(&folder.join("per_cpu"))?, &pages, &mut decoder, before, &mut head, listener)?;
    Ok(head)
}

fn buffers(folder: &Path) -> Result<Vec<Buffer<'static>>, ReadError> {
    let mut all = Vec::new();
    for processor in entries(folder)? {
        let name = last(&processor);
        let path = processor.join("trace_pipe_raw");
        let Some(number) = name.strip_prefix("cpu").and_then(|number| number.parse().ok()) else { continue };
        if number >= MOST {
            return Err(wrong(format!("{}: {MOST} processors are the most", processor.display())));
        }
        if path.exists() {
            all.push((number, open(&path)?));
        }
    }
    if all.is_empty() {
        return Err(wrong(format!("{}: there is no cpuN/trace_pipe_raw", folder.display())));
    }
    all.sort_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(number, file)| Buffer::new(number, BufReader::with_capacity(PIECE, file))).collect())
}
