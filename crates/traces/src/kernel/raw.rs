//! Raw buffers as copied from tracefs, in a folder with the names of tracefs:
//!
//!   events/header_page           the head of pages
//!   events/GROUP/NAME/format     descriptions of the tracepoints
//!   per_cpu/cpuN/trace_pipe_raw  whole pages, as read from there
//!   trace_clock, saved_cmdlines  clock and names of tasks, where they are there
//!
//! `docs/traces.md` has the commands that make such a folder. Only ordinary files are read, and as many and as much of them as a kernel has.
//! The files of tracefs itself look ordinary and empty; what is read from there would be taken from its readers, and has no end.

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
/// Bytes of a description, and of all of them: a kernel has some thousand, of 2 KB.
const LONGEST: u64 = 1 << 20;
const LONGEST_IN_ALL: usize = 1 << 28;
/// Entries of a folder: there are some hundred groups of tracepoints, with a thousand at most.
const MOST_ENTRIES: usize = 1 << 15;
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
    let entries = fs::read_dir(folder).map_err(named)?.take(MOST_ENTRIES + 1).map(|entry| Ok(entry?.path()));
    let mut all = entries.collect::<io::Result<Vec<PathBuf>>>().map_err(named)?;
    if all.len() > MOST_ENTRIES {
        return Err(wrong(format!(
            "{}: it has more than {MOST_ENTRIES} entries, and those of a kernel have fewer",
            folder.display()
        )));
    }
    all.sort();
    Ok(all)
}

fn last(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads the raw buffers in a folder.
pub fn read(folder: &Path, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let pages = page_head(folder)?;
    let mut decoder = described(&folder.join("events"))?;
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

/// The head of pages. Without it, this is another kind of folder.
fn page_head(folder: &Path) -> Result<PageHead, ReadError> {
    let path = folder.join("events/header_page");
    let named = |why: &dyn std::fmt::Display| wrong(format!("{}: {why}", path.display()));
    match fs::metadata(&path) {
        Err(why) => {
            let read = "a folder is read if it has events and per_cpu/cpuN/trace_pipe_raw, copied from tracefs";
            return Err(named(&format!("{why}; {read}")));
        }
        Ok(of) if of.is_file() && of.len() == 0 => {
            let why = "is empty, as the files of tracefs itself seem to be: give a folder to which they were copied";
            return Err(named(&why));
        }
        Ok(_) => {}
    }
    PageHead::parse(&text(&path)?).map_err(|why| named(&why))
}

/// The tracepoints, by their descriptions.
fn described(events: &Path) -> Result<Decoder, ReadError> {
    let (mut decoder, mut length) = (Decoder::default(), 0);
    for system in entries(events)?.iter().filter(|path| path.is_dir()) {
        for format in entries(system)?.iter().map(|event| event.join("format")).filter(|path| path.exists()) {
            let text = text(&format)?;
            length += text.len();
            if length > LONGEST_IN_ALL {
                let why =
                    format!("the descriptions have more than {} MiB; a kernel's have a few", LONGEST_IN_ALL >> 20);
                return Err(wrong(format!("{}: {why}", events.display())));
            }
            let described = decoder.describe(&last(system), &text);
            described.map_err(|why| wrong(format!("{}: {why}", format.display())))?;
        }
    }
    Ok(decoder)
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
        if name != format!("cpu{number}") {
            return Err(wrong(format!("{}: a processor is named cpu{number}", processor.display())));
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
