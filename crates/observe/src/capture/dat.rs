//! Writes a `trace.dat` of version 7: the file of trace-cmd (from 3.1 on), which KernelShark reads too.
//!
//! ```text
//!   head       mark, version, byte order, size of a long, size of a page, compression, where the options are
//!   sections   number, flags, name, length, contents; one after the other without gaps
//!                descriptions of pages and events, names of tasks, the state at the start, the pages of all processors,
//!                options (where the others are, clock, kernel, counters of buffers), the names of sections
//! ```
//!
//! Pages are as the kernel gave them. Compressed, they are in chunks, each a frame of Zstandard, so that a reader needs one at a time;
//! not compressed, those of each processor begin at a multiple of the page's size, so that they can be mapped.

use schedlab_traces::kernel::state;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// What every file begins with.
const MARK: &[u8] = b"\x17\x08\x44tracing7\0";
/// The flag of a compressed section.
const COMPRESSED: u16 = 1;
/// Level of compression: the quickest.
const LEVEL: i32 = 1;
/// Pages of a chunk.
const PAGES_OF_A_CHUNK: usize = 64;

/// Numbers of sections and options, as trace-cmd has them.
mod number {
    pub const OPTIONS: u16 = 0;
    pub const COUNTERS: u16 = 2;
    pub const BUFFER: u16 = 3;
    pub const CLOCK: u16 = 4;
    pub const KERNEL: u16 = 5;
    pub const PROCESSORS: u16 = 8;
    pub const VERSION: u16 = 9;
    pub const STRINGS: u16 = 15;
    pub const HEADERS: u16 = 16;
    pub const OWN_EVENTS: u16 = 17;
    pub const EVENTS: u16 = 18;
    pub const NAMES: u16 = 21;
}

/// What the kernel says of its pages and events, and of itself.
#[derive(Debug, Clone, Default)]
pub struct Description {
    /// `events/header_page` and `events/header_event`.
    pub headers: [Vec<u8>; 2],
    /// By system, the descriptions of its events.
    pub systems: Vec<(String, Vec<Vec<u8>>)>,
    /// Names of tasks.
    pub names: Vec<(i32, String)>,
    /// Text of `trace_clock`, with the chosen one in brackets.
    pub clocks: String,
    /// The chosen one.
    pub clock: String,
    /// System, host, release, architecture.
    pub kernel: String,
    /// Which program wrote the file.
    pub writer: String,
    /// Size of a page of the buffers, bytes.
    pub page: usize,
    /// The state at the start, JSON.
    pub state: Vec<u8>,
}

/// What a processor recorded.
#[derive(Debug)]
pub struct Pages<R> {
    /// Its number.
    pub processor: u16,
    /// The pages, one after the other.
    pub pages: R,
    /// Text of the buffer's counters at the end.
    pub counters: String,
}

/// Writes a file. The output must be empty.
pub fn write<W: Write + Seek, R: Read>(
    out: W,
    about: &Description,
    processors: Vec<Pages<R>>,
    compress: bool,
) -> io::Result<W> {
    let mut file = Dat::begin(out, about.page, compress)?;
    let headers = file.section(number::HEADERS, "headers", &headers(about))?;
    // Events of ftrace's own tracers, of which none is used.
    let own = file.section(number::OWN_EVENTS, "ftrace events", &word(0))?;
    let events = file.section(number::EVENTS, "event formats", &formats(about))?;
    let names = file.section(number::NAMES, "names of tasks", &names(about))?;
    let state = file.section(state::OPTION, "schedlab: state at the start", &about.state)?;

    let mut options = Vec::new();
    for (kind, at) in [
        (number::HEADERS, headers),
        (number::OWN_EVENTS, own),
        (number::EVENTS, events),
        (number::NAMES, names),
        (state::OPTION, state),
    ] {
        option(&mut options, kind, &at.to_ne_bytes());
    }
    option(&mut options, number::CLOCK, &text(&about.clocks));
    option(&mut options, number::KERNEL, &text(&about.kernel));
    option(&mut options, number::VERSION, &text(&about.writer));
    let all = processors.iter().map(|one| u32::from(one.processor) + 1).max().unwrap_or(0);
    option(&mut options, number::PROCESSORS, &word(all));
    for one in &processors {
        option(&mut options, number::COUNTERS, &text(&format!("CPU: {}\n{}", one.processor, one.counters)));
    }
    let buffer = file.buffer(about, processors)?;
    option(&mut options, number::BUFFER, &buffer);
    file.end(options)
}

/// A file under way.
struct Dat<W> {
    out: W,
    /// Bytes so far.
    at: u64,
    /// Where the place of the options is to be written.
    options_at: u64,
    /// Names of sections, each with its end.
    strings: Vec<u8>,
    page: usize,
    compressor: Option<zstd::bulk::Compressor<'static>>,
}

impl<W: Write + Seek> Dat<W> {
    fn begin(out: W, page: usize, compress: bool) -> io::Result<Self> {
        let compressor = if compress { Some(zstd::bulk::Compressor::new(LEVEL)?) } else { None };
        let mut file = Dat { out, at: 0, options_at: 0, strings: Vec::new(), page, compressor };
        file.put(MARK)?;
        file.put(&[u8::from(cfg!(target_endian = "big")), size_of::<usize>() as u8])?;
        file.put(&word(page as u32))?;
        // A version is asked for, and compared by none.
        file.put(if compress { b"zstd\x001.5.0\0".as_slice() } else { b"none\0\0" })?;
        file.options_at = file.at;
        file.put(&[0; 8])?;
        Ok(file)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Writes bytes over those that are there, and goes on at the end.
    fn put_at(&mut self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.out.seek(SeekFrom::Start(place))?;
        self.out.write_all(bytes)?;
        self.out.seek(SeekFrom::Start(self.at)).map(drop)
    }

    /// The head of a section; gives where it begins.
    fn head(&mut self, kind: u16, name: &str, flags: u16, length: u64) -> io::Result<u64> {
        let (at, string) = (self.at, self.strings.len() as u32);
        self.strings.extend(text(name));
        self.put(&[&kind.to_ne_bytes()[..], &flags.to_ne_bytes(), &word(string), &length.to_ne_bytes()].concat())?;
        Ok(at)
    }

    /// A section; gives where it begins.
    fn section(&mut self, kind: u16, name: &str, contents: &[u8]) -> io::Result<u64> {
        let Some(compressor) = &mut self.compressor else {
            let at = self.head(kind, name, 0, contents.len() as u64)?;
            self.put(contents)?;
            return Ok(at);
        };
        let packed = compressor.compress(contents)?;
        let at = self.head(kind, name, COMPRESSED, packed.len() as u64 + 8)?;
        self.put(&[&word(packed.len() as u32)[..], &word(contents.len() as u32)].concat())?;
        self.put(&packed)?;
        Ok(at)
    }

    /// The pages of all processors; gives the option that says where they are.
    fn buffer<R: Read>(&mut self, about: &Description, processors: Vec<Pages<R>>) -> io::Result<Vec<u8>> {
        let flags = if self.compressor.is_some() { COMPRESSED } else { 0 };
        let at = self.head(number::BUFFER, "pages of all processors", flags, 0)?;
        let begun = self.at;
        // The top buffer, which has no name.
        let mut found = [&at.to_ne_bytes()[..], &text(""), &text(&about.clock)].concat();
        found.extend([word(self.page as u32), word(processors.len() as u32)].concat());
        for mut one in processors {
            self.put(&vec![0; (self.at as usize).next_multiple_of(self.page) - self.at as usize])?;
            let from = self.at;
            let pages = self.pages(&mut one.pages)?;
            // A processor without events has no length: even the count of its chunks is none.
            let length = if pages == 0 { 0 } else { self.at - from };
            found.extend(word(one.processor.into()));
            found.extend([from.to_ne_bytes(), length.to_ne_bytes()].concat());
        }
        // The length is the last 8 bytes of the head.
        self.put_at(begun - 8, &(self.at - begun).to_ne_bytes())?;
        Ok(found)
    }

    /// The pages of a processor; gives how many bytes they are.
    fn pages<R: Read>(&mut self, pages: &mut R) -> io::Result<u64> {
        let (counted_at, mut chunks, mut length) = (self.at, 0u32, 0);
        if self.compressor.is_some() {
            self.put(&word(0))?;
        }
        let mut chunk = Vec::new();
        loop {
            chunk.clear();
            let size = pages.by_ref().take((PAGES_OF_A_CHUNK * self.page) as u64).read_to_end(&mut chunk)?;
            if size == 0 {
                break;
            }
            // Whole pages, also if what was kept ends within one.
            chunk.resize(size.next_multiple_of(self.page), 0);
            (chunks, length) = (chunks + 1, length + chunk.len() as u64);
            match &mut self.compressor {
                None => self.put(&chunk)?,
                Some(compressor) => {
                    let packed = compressor.compress(&chunk)?;
                    self.put(&[&word(packed.len() as u32)[..], &word(chunk.len() as u32)].concat())?;
                    self.put(&packed)?;
                }
            }
        }
        if self.compressor.is_some() {
            self.put_at(counted_at, &word(chunks))?;
        }
        Ok(length)
    }

    /// Writes the options and the names of sections, and where the options are.
    fn end(mut self, mut options: Vec<u8>) -> io::Result<W> {
        // No options follow elsewhere.
        option(&mut options, number::OPTIONS, &[0; 8]);
        let at = self.head(number::OPTIONS, "options", 0, options.len() as u64)?;
        self.put(&options)?;
        let before = self.strings.len();
        let name = "names of sections";
        self.head(number::STRINGS, name, 0, (before + name.len() + 1) as u64)?;
        let strings = std::mem::take(&mut self.strings);
        self.put(&strings)?;
        self.put_at(self.options_at, &at.to_ne_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn word(value: u32) -> [u8; 4] {
    value.to_ne_bytes()
}

/// A text with its end; a byte 0 within it would be one.
fn text(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().map(|byte| if byte == 0 { b'?' } else { byte }).collect();
    bytes.push(0);
    bytes
}

fn option(options: &mut Vec<u8>, kind: u16, value: &[u8]) {
    options.extend(kind.to_ne_bytes());
    options.extend(word(value.len() as u32));
    options.extend(value);
}

/// A text of the kernel with its length before it.
fn counted(bytes: &[u8]) -> Vec<u8> {
    [&(bytes.len() as u64).to_ne_bytes()[..], bytes].concat()
}

fn headers(about: &Description) -> Vec<u8> {
    let [page, event] = &about.headers;
    [&b"header_page\0"[..], &counted(page), b"header_event\0", &counted(event)].concat()
}

fn formats(about: &Description) -> Vec<u8> {
    let mut all = word(about.systems.len() as u32).to_vec();
    for (system, events) in &about.systems {
        all.extend(text(system));
        all.extend(word(events.len() as u32));
        events.iter().for_each(|event| all.extend(counted(event)));
    }
    all
}

/// Lines of a number and a name. What would end a line within a name is replaced.
fn names(about: &Description) -> Vec<u8> {
    let mut lines = String::new();
    for (pid, name) in &about.names {
        let name: String = name.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
        lines += &format!("{pid} {name}\n");
    }
    counted(lines.as_bytes())
}
