//! What recorders copy of tracefs: the descriptions of pages and tracepoints, and the names of tasks. perf has it in a section of
//! its own, trace.dat begins with it.
//!
//!   magic "\x17\x08\x44tracing", version (text), byte order (u8), size of a long (u8), size of a page (u32)
//!   "header_page" (text), length (u64), content; "header_event" (text), length (u64), content
//!   number of tracepoints of ftrace itself (u32), for each: length (u64), content
//!   number of groups (u32), for each: name (text), number (u32), for each tracepoint: length (u64), content
//!   kallsyms: length (u32), content; formats of trace_printk: length (u32), content; names of tasks: length (u64), content
//!
//! A text ends with a zero byte.

use super::{ReadError, decoder::Decoder, description::PageHead};
use std::io::{self, Read};

/// How it begins.
pub(super) const MAGIC: [u8; 10] = *b"\x17\x08\x44tracing";
/// Bytes of a description; those with the most fields have 10000.
const LONGEST: u64 = 1 << 20;
/// Bytes of a name.
const LONGEST_NAME: usize = 256;
/// Tracepoints have numbers of 16 bits.
const MOST: u32 = 1 << 16;
/// Times on these clocks are no nanoseconds.
const NO_TIMES: [&str; 2] = ["counter", "x86-tsc"];
/// Bytes of a list of names: 4 Mi tasks of 25 bytes would be 100 MB, the kernel keeps a few thousand.
const LONGEST_LIST: u64 = 1 << 24;

/// Reads numbers and texts in this machine's byte order, and fails where they make no sense.
#[derive(Debug)]
pub(super) struct Copied<R> {
    from: R,
    format: &'static str,
}

impl<R: Read> Copied<R> {
    /// Reads from there, as part of a file of that format.
    pub fn new(from: R, format: &'static str) -> Self {
        Copied { from, format }
    }

    fn wrong(&self, why: impl Into<String>) -> ReadError {
        ReadError::Wrong { format: self.format, why: why.into() }
    }

    fn ended(&self, why: io::Error) -> ReadError {
        match why.kind() {
            io::ErrorKind::UnexpectedEof => {
                self.wrong("it ends within the description of its events, so that none can be read")
            }
            _ => why.into(),
        }
    }

    /// The next N bytes.
    pub fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ReadError> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes).map_err(|why| self.ended(why))?;
        Ok(bytes)
    }

    /// A number.
    pub fn u32(&mut self) -> Result<u32, ReadError> {
        self.bytes().map(u32::from_ne_bytes)
    }

    /// A number.
    pub fn u64(&mut self) -> Result<u64, ReadError> {
        self.bytes().map(u64::from_ne_bytes)
    }

    /// A text that ends with a zero byte.
    pub fn text(&mut self) -> Result<String, ReadError> {
        let mut text = Vec::new();
        loop {
            match self.bytes()? {
                [0] => return Ok(String::from_utf8_lossy(&text).into_owned()),
                _ if text.len() == LONGEST_NAME => return Err(self.wrong("a name in it does not end")),
                [byte] => text.push(byte),
            }
        }
    }

    /// A content of a known length, at most `longest`, as text.
    pub fn content(&mut self, length: u64, longest: u64) -> Result<String, ReadError> {
        let content = self.content_bytes(length, longest)?;
        Ok(String::from_utf8(content).unwrap_or_else(|why| String::from_utf8_lossy(why.as_bytes()).into_owned()))
    }

    /// A content of a known length, at most `longest`.
    pub fn content_bytes(&mut self, length: u64, longest: u64) -> Result<Vec<u8>, ReadError> {
        if length > longest {
            return Err(self.wrong(format!("one of its descriptions has {length} bytes; {longest} would be many")));
        }
        let mut content = Vec::new();
        self.from.by_ref().take(length).read_to_end(&mut content)?;
        if (content.len() as u64) < length {
            return Err(self.ended(io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(content)
    }

    /// All that is left, up to `longest` bytes.
    pub fn rest(&mut self, longest: u64) -> Result<Vec<u8>, ReadError> {
        let mut content = Vec::new();
        self.from.by_ref().take(longest).read_to_end(&mut content)?;
        Ok(content)
    }

    /// Passes over a content.
    pub fn pass(&mut self, length: u64) -> Result<(), ReadError> {
        match io::copy(&mut self.from.by_ref().take(length), &mut io::sink())? {
            passed if passed < length => Err(self.ended(io::ErrorKind::UnexpectedEof.into())),
            _ => Ok(()),
        }
    }

    /// What comes before the first description: magic, version, byte order. Gives the version.
    pub fn beginning(&mut self) -> Result<String, ReadError> {
        if self.bytes()? != MAGIC {
            return Err(self.wrong("the descriptions of its events do not begin as they should (0x17 0x08 D tracing)"));
        }
        let version = self.text()?;
        let [order, _long] = self.bytes()?;
        self.same_order(order != 0)?;
        self.u32()?;
        Ok(version)
    }

    /// Fails if the file was written on a machine of another byte order than this one's.
    pub fn same_order(&self, big: bool) -> Result<(), ReadError> {
        if big == cfg!(target_endian = "big") {
            return Ok(());
        }
        let (its, ours) = if big { ("big", "little") } else { ("little", "big") };
        let why =
            format!("it was written on a {its}-endian machine; on this {ours}-endian one, such files are not read");
        Err(self.wrong(why))
    }

    /// The head of pages.
    pub fn page_head(&mut self) -> Result<PageHead, ReadError> {
        self.named("header_page")?;
        let length = self.u64()?;
        let text = self.content(length, LONGEST)?;
        let head = PageHead::parse(&text).map_err(|why| self.wrong(format!("header_page: {why}")))?;
        self.named("header_event")?;
        let length = self.u64()?;
        self.pass(length)?;
        Ok(head)
    }

    fn named(&mut self, name: &str) -> Result<(), ReadError> {
        match self.text()? {
            found if found == name => Ok(()),
            found => Err(self.wrong(format!("{found:?} is where {name:?} should be"))),
        }
    }

    /// The descriptions of ftrace's own tracepoints, which no reader needs.
    pub fn pass_ftrace(&mut self) -> Result<(), ReadError> {
        for _ in 0..self.number()? {
            let length = self.u64()?;
            self.pass(length)?;
        }
        Ok(())
    }

    /// How many of something that has numbers of 16 bits.
    fn number(&mut self) -> Result<u32, ReadError> {
        match self.u32()? {
            number if number > MOST => {
                Err(self.wrong(format!("it describes {number} tracepoints; {MOST} are possible")))
            }
            number => Ok(number),
        }
    }

    /// The descriptions of the tracepoints of all groups.
    pub fn tracepoints(&mut self, decoder: &mut Decoder) -> Result<(), ReadError> {
        for _ in 0..self.number()? {
            let system = self.text()?;
            for _ in 0..self.number()? {
                let length = self.u64()?;
                let text = self.content(length, LONGEST)?;
                decoder.describe(&system, &text).map_err(|why| self.wrong(why))?;
            }
        }
        Ok(())
    }

    /// Passes over the addresses of functions and the formats of trace_printk.
    pub fn pass_symbols(&mut self) -> Result<(), ReadError> {
        for _ in 0..2 {
            let length = self.u32()?;
            self.pass(length.into())?;
        }
        Ok(())
    }

    /// The names of tasks, a line each: number, name.
    pub fn names(&mut self) -> Result<String, ReadError> {
        let length = self.u64()?;
        self.content(length, LONGEST_LIST)
    }
}

/// The numbers and names in a list of names.
pub(super) fn listed(list: &str) -> impl Iterator<Item = (i32, &str)> {
    list.lines()
        .filter_map(|line| line.trim_start().split_once(' '))
        .filter_map(|(pid, name)| Some((pid.parse().ok()?, name)))
}

/// The clock that `trace_clock` says is in use: the one in brackets, or all of it.
pub(super) fn clock(text: &str, format: &'static str) -> Result<String, ReadError> {
    let marked = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let clock = marked.map_or(text, |(clock, _)| clock).trim_matches(['\0', '\n', ' ']);
    if NO_TIMES.contains(&clock) {
        let why = format!(
            "its clock {clock:?} does not count nanoseconds: record with \"local\" or \"mono\" (trace-cmd record -C mono)"
        );
        return Err(ReadError::Wrong { format, why });
    }
    Ok(clock.to_owned())
}
