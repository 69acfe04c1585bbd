//! Recordings by `perf record`, from a file or a pipe (perf's `perf.data-file-format.txt`; records: `include/uapi/linux/perf_event.h`).
//!
//!   file  = magic "PERFILE2", length of this head (u64), length of an attr (u64), sections of attrs, data, types (offset, length: u64 each),
//!           which features there are (256 bits); attrs: structure, section of ids; data: records;
//!           behind them, a section for each feature
//!   pipe  = magic, 16 (u64), records, among them what is in sections of a file
//!
//! A file has the descriptions of its tracepoints behind the data, a pipe before it. All numbers are in the byte order of the recorded
//! machine, and must be in that of this one.

mod attr;
mod features;
mod session;
mod source;
mod unpack;

use super::{
    Head, Listener, Loss, ReadError,
    copied::{self, Copied},
};
use attr::{Attr, SMALLEST};
use session::{Behind, Session};
use source::Source;
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

/// The name of the format.
const FORMAT: &str = "perf.data";
/// How a recording begins.
const MAGIC: u64 = u64::from_ne_bytes(*b"PERFILE2");
/// Length of the head of a pipe, and of a file.
const PIPE: u64 = 16;
const FILE: usize = 104;
/// An attr of a future perf may be longer, but not so long.
const LONGEST_ATTR: u64 = 4096;
/// Bytes of ids and of attrs that are read.
const LONGEST_SECTION: u64 = 1 << 26;
/// Bytes of a feature that are read.
const LONGEST_FEATURE: u64 = 1 << 16;

/// A part of the file.
#[derive(Debug, Clone, Copy)]
struct Section {
    offset: u64,
    length: u64,
}

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError::Wrong { format: FORMAT, why: why.into() }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |&bytes| u64::from_ne_bytes(bytes))
}

/// Reads a recording; the file is at its beginning. A recording in the form of a pipe may come from one, a file has to be one.
pub fn read(mut file: File, listener: &mut impl Listener) -> Result<Head, ReadError> {
    if file.metadata()?.is_dir() {
        let why = "a folder of `perf record --threads` is not read, but its text is: `perf script -i FOLDER > trace.txt`; or record without \
                   --threads";
        return Err(wrong(why));
    }
    let mut head = vec![0; PIPE as usize];
    file.read_exact(&mut head).map_err(|_| wrong("it ends within its head"))?;
    match u64_at(&head, 0) {
        MAGIC => {}
        swapped if swapped == MAGIC.swap_bytes() => {
            return Err(wrong("it was written on a machine of another byte order; such files are not read"));
        }
        _ => return Err(wrong("it does not begin with PERFILE2")),
    }
    let mut session = Session::new();
    let length = u64_at(&head, 8);
    if length == PIPE {
        let mut source = Source::new(file, PIPE);
        records(&mut source, &mut session, listener)?;
        return session.finish(listener);
    }
    if length < FILE as u64 {
        return Err(wrong(format!("its head has {length} bytes; {FILE} are the least")));
    }
    head.resize(FILE, 0);
    file.read_exact(&mut head[PIPE as usize..]).map_err(|_| wrong("it ends within its head"))?;
    from_file(file, &head, session, listener)
}

fn from_file(
    mut file: File,
    head: &[u8],
    mut session: Session,
    listener: &mut impl Listener,
) -> Result<Head, ReadError> {
    let section = |at| Section { offset: u64_at(head, at), length: u64_at(head, at + 8) };
    let (attrs, data) = (section(24), section(40));
    let features: Vec<u64> =
        (0..256).filter(|bit| head[72 + bit / 8] >> (bit % 8) & 1 == 1).map(|bit| bit as u64).collect();
    file.seek(SeekFrom::Start(attrs.offset)).map_err(|why| match why.kind() {
        io::ErrorKind::NotSeekable => {
            wrong("it comes through a pipe, which only recordings in the form of a pipe can: give the file itself")
        }
        _ => why.into(),
    })?;
    read_attrs(&mut file, attrs, u64_at(head, 16), &mut session)?;
    if data.length != 0 {
        read_features(&mut file, data, &features, &mut session)?;
    }
    file.seek(SeekFrom::Start(data.offset))?;
    if data.length == 0 {
        let why = "perf was killed before it completed the file";
        session.head.lose(Loss { time: None, cpu: None, events: None, why: why.to_owned() });
        records(&mut Source::new(file, data.offset), &mut session, listener)?;
    } else {
        records(&mut Source::new(file.take(data.length), data.offset), &mut session, listener)?;
    }
    session.finish(listener)
}

/// A section, as far as the file has it.
fn content(file: &mut File, section: Section, most: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(section.offset))?;
    let mut content = Vec::new();
    file.take(section.length.min(most)).read_to_end(&mut content)?;
    Ok(content)
}

fn read_attrs(file: &mut File, section: Section, each: u64, session: &mut Session) -> Result<(), ReadError> {
    let least = SMALLEST as u64 + 16;
    if !(least..=LONGEST_ATTR).contains(&each) {
        return Err(wrong(format!("its attrs have {each} bytes each; {least} to {LONGEST_ATTR} are possible")));
    }
    let all = content(file, section, LONGEST_SECTION)?;
    for attr in all.chunks_exact(each as usize) {
        let (structure, ids) = attr.split_at(attr.len() - 16);
        let ids = content(file, Section { offset: u64_at(ids, 0), length: u64_at(ids, 8) }, LONGEST_SECTION)?;
        let attr = Attr::parse(structure).expect("it is as long as the smallest");
        let ids = ids.chunks_exact(8).map(|id| u64_at(id, 0));
        session.attrs.add(attr, ids).map_err(wrong)?;
    }
    if session.attrs.is_empty() {
        return Err(wrong("it says nothing of what was recorded (its section of attrs is empty)"));
    }
    Ok(())
}

/// The sections of features are behind the data, in the order of their numbers.
fn read_features(file: &mut File, data: Section, all: &[u64], session: &mut Session) -> Result<(), ReadError> {
    let Some(behind) = data.offset.checked_add(data.length) else {
        return Err(wrong(format!("its data have {} bytes", data.length)));
    };
    let table = content(file, Section { offset: behind, length: 16 * all.len() as u64 }, LONGEST_FEATURE)?;
    for (section, &number) in table.chunks_exact(16).zip(all) {
        let section = Section { offset: u64_at(section, 0), length: u64_at(section, 8) };
        if number == features::TRACING_DATA {
            file.seek(SeekFrom::Start(section.offset))?;
            describe(io::BufReader::new(file.take(section.length)), session)?;
        } else if features::is_of_use(number) {
            let content = content(file, section, LONGEST_FEATURE)?;
            session.feature(number, &content);
        }
    }
    Ok(())
}

/// The descriptions of tracepoints.
fn describe(from: impl Read, session: &mut Session) -> Result<(), ReadError> {
    let mut copied = Copied::new(from, FORMAT);
    let version = copied.beginning()?;
    copied.page_head()?;
    copied.pass_ftrace()?;
    copied.tracepoints(&mut session.decoder)?;
    if version != "0.5" {
        copied.pass_symbols()?;
        for (task, name) in copied::listed(&copied.names()?) {
            session.named(task, name);
        }
    }
    Ok(())
}

/// Reads records to the end. A rest that is no whole record, or in which nothing can be read, is lost.
fn records(
    source: &mut Source<impl Read>,
    session: &mut Session,
    listener: &mut impl Listener,
) -> Result<(), ReadError> {
    let why = loop {
        match session.records(source.unused(), listener) {
            // What was read is of use, whatever follows.
            Err(ReadError::Wrong { why, .. }) if session.ready => {
                break format!("{why}. What follows, after about byte {}, cannot be read", source.position);
            }
            Err(why) => return Err(why),
            Ok((used, behind)) => {
                source.used(used);
                match behind {
                    Some(Behind::Descriptions(length)) => {
                        let mut section = source.by_ref().take(length.into());
                        describe(&mut section, session)?;
                        io::copy(&mut section, &mut io::sink())?;
                    }
                    Some(Behind::Nothing(length)) => {
                        io::copy(&mut source.by_ref().take(length), &mut io::sink())?;
                    }
                    None if source.more()? => {}
                    None if source.unused().is_empty() => return Ok(()),
                    None => break format!("the file ends within a record, at byte {}", source.position),
                }
            }
        }
    };
    session.head.lose(Loss { time: None, cpu: None, events: None, why });
    Ok(())
}
