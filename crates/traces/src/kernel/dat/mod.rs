//! Recordings by trace-cmd, versions 6 and 7 (`trace-cmd.dat.v6(5)`, `trace-cmd.dat.v7(5)`).
//!
//!   version 6  what recorders copy of tracefs; number of processors (u32); options; for each processor the place of its buffer (u64 each
//!              offset, length)
//!   version 7  magic, version, byte order, size of a long, of a page; how parts are packed (two texts); offset of the first options (u64);
//!              sections: number (u16), flags (u16; 1: packed), description (u32), length (u64), content. Options say where all others are,
//!              and the last one where more options are
//!
//! A packed section has its length and that of what it holds (u32 each) before it; a packed buffer consists of chunks.

mod options;
mod part;

use super::{
    Head, Listener, Loss, ReadError,
    buffers::{Buffer, merge},
    copied::{self, Copied},
    decoder::Decoder,
    description::PageHead,
    state::{self, State},
};
use options::{DONE, Options};
use part::{Chunks, Packing, part};
use std::{fs::File, io::Read};

/// The name of the format.
const FORMAT: &str = "trace.dat";
/// Bytes of an option.
const LONGEST: u64 = 1 << 20;
/// Options, and sections of them, that are read.
const MOST: usize = 1 << 16;
/// In the flags of a section.
const PACKED: u16 = 1;
/// Bytes of the chunks of all processors together.
const MOST_CHUNKS: usize = 1 << 26;

fn wrong(why: impl Into<String>) -> ReadError {
    ReadError::Wrong { format: FORMAT, why: why.into() }
}

/// A file, and what is known of it.
struct Recording<'a> {
    file: &'a File,
    packing: Packing,
    head: Head,
    decoder: Decoder,
    options: Options,
    names: String,
}

/// Reads a recording. It has to be a file, not a pipe, since its parts are in no order.
pub fn read(file: File, listener: &mut impl Listener) -> Result<Head, ReadError> {
    let length = file.metadata()?.len();
    if !file.metadata()?.is_file() {
        return Err(wrong("it is no ordinary file, and cannot be read through a pipe"));
    }
    let mut recording = Recording {
        file: &file,
        packing: Packing::Plain,
        head: Head { format: FORMAT.to_owned(), ..Head::default() },
        decoder: Decoder::default(),
        options: Options::default(),
        names: String::new(),
    };
    let mut beginning = Copied::new(part(&file, 0, length), FORMAT);
    let pages = match beginning.beginning()?.as_str() {
        "6" => recording.version_6(beginning)?,
        "7" => recording.version_7(beginning)?,
        other => return Err(wrong(format!("it is of version {other:?}; 6 and 7 are read"))),
    };
    if recording.options.is_text {
        return Err(wrong(
            "it holds a text (a latency tracer's): trace-cmd report gives it, and events in it can be read then",
        ));
    }
    recording.events(&pages, length, listener)
}

impl<'a> Recording<'a> {
    /// The rest of a file of version 6, up to the buffers.
    fn version_6(&mut self, mut rest: Copied<impl Read>) -> Result<PageHead, ReadError> {
        let pages = rest.page_head()?;
        rest.pass_ftrace()?;
        rest.tracepoints(&mut self.decoder)?;
        rest.pass_symbols()?;
        self.names = rest.names()?;
        let processors = rest.u32()?;
        self.head.processors = u16::try_from(processors).unwrap_or(0);
        let mut kind = rest.text()?;
        if kind.trim_end() == "options" {
            self.read_options(&mut rest, 6)?;
            kind = rest.text()?;
        }
        self.places_6(&mut rest, &kind, processors)?;
        for offset in std::mem::take(&mut self.options.instances) {
            let mut places = Copied::new(part(self.file, offset, u64::MAX), FORMAT);
            let kind = places.text()?;
            self.places_6(&mut places, &kind, processors)?;
        }
        Ok(pages)
    }

    fn places_6(&mut self, from: &mut Copied<impl Read>, kind: &str, processors: u32) -> Result<(), ReadError> {
        match kind.trim_end() {
            "flyrecord" => {}
            "latency" => self.options.is_text = true,
            other => return Err(wrong(format!("{other:?} is where \"flyrecord\" should be"))),
        }
        for cpu in 0..if self.options.is_text { 0 } else { processors } {
            let (offset, length) = (from.u64()?, from.u64()?);
            self.options.place(cpu, offset, length)?;
        }
        Ok(())
    }

    /// Options up to the last, whose content is given.
    fn read_options(&mut self, from: &mut Copied<impl Read>, version: u8) -> Result<Vec<u8>, ReadError> {
        for _ in 0..MOST {
            let number = u16::from_ne_bytes(from.bytes()?);
            if number == DONE && version == 6 {
                return Ok(Vec::new());
            }
            let length = from.u32()?;
            let content = from.content_bytes(length.into(), LONGEST)?;
            if number == DONE {
                return Ok(content);
            }
            self.options.read(number, &content, version, &mut self.head)?;
        }
        Err(wrong(format!("it has more than {MOST} options")))
    }

    /// The rest of a file of version 7, up to the buffers.
    fn version_7(&mut self, mut rest: Copied<impl Read>) -> Result<PageHead, ReadError> {
        let packing = rest.text()?;
        rest.text()?;
        self.packing = Packing::of(&packing)
            .ok_or_else(|| wrong(format!("it is packed by {packing:?}; none, zlib and zstd are read")))?;
        let mut next = rest.u64()?;
        for count in 0.. {
            if count == MOST {
                return Err(wrong("its options go round in a circle"));
            }
            let mut section = self.section(next, "options")?;
            let last = self.read_options(&mut section, 7)?;
            next = last.first_chunk().map_or(0, |&offset| u64::from_ne_bytes(offset));
            if next == 0 {
                break;
            }
        }
        let offset =
            |offset: Option<u64>, what: &str| offset.ok_or_else(|| wrong(format!("it has no section of {what}")));
        let pages =
            self.section(offset(self.options.header_info, "the head of pages")?, "the head of pages")?.page_head()?;
        let mut formats = self.section(offset(self.options.formats, "descriptions")?, "descriptions")?;
        formats.tracepoints(&mut self.decoder)?;
        if let Some(offset) = self.options.names {
            self.names = self.section(offset, "names")?.names()?;
        }
        if let Some(offset) = self.options.state {
            self.head.state = self.state(offset)?;
        }
        Ok(pages)
    }

    /// The state of the host at the start. One that cannot be read is a loss, since all else can be.
    fn state(&mut self, offset: u64) -> Result<Option<Box<State>>, ReadError> {
        let document = self.section(offset, "the state at the start")?.rest(state::MOST_BYTES as u64)?;
        match State::read(&document) {
            Ok(state) => Ok(Some(Box::new(state))),
            Err(why) => {
                self.head.lose(Loss { time: None, cpu: None, events: Some(0), why });
                Ok(None)
            }
        }
    }

    /// What the section at that place holds.
    fn section(&self, offset: u64, what: &str) -> Result<Copied<Box<dyn Read + 'a>>, ReadError> {
        let mut head = Copied::new(part(self.file, offset, u64::MAX), FORMAT);
        let [_number, flags] = [u16::from_ne_bytes(head.bytes()?), u16::from_ne_bytes(head.bytes()?)];
        let (_description, mut length) = (head.u32()?, head.u64()?);
        let mut begin = offset.saturating_add(16);
        let mut packing = Packing::Plain;
        if flags & PACKED != 0 {
            (length, packing, begin) = (head.u32()?.into(), self.packing, begin.saturating_add(8));
        }
        let content = packing.unpack(part(self.file, begin, length));
        let content = content.map_err(|why| wrong(format!("its section of {what}: {why}")))?;
        Ok(Copied::new(content, FORMAT))
    }

    /// Reads the buffers.
    fn events(mut self, pages: &PageHead, length: u64, listener: &mut impl Listener) -> Result<Head, ReadError> {
        let mut pages = *pages;
        if let Some(page) = self.options.page.filter(|&page| page != pages.page()) {
            pages.data.size = page
                .checked_sub(pages.data.offset)
                .filter(|_| (64..=1 << 20).contains(&page))
                .ok_or_else(|| wrong(format!("its pages have {page} bytes, which makes no sense")))?;
        }
        self.decoder.machine = self.options.machine;
        let mut before = Vec::new();
        for (task, name) in copied::listed(&self.names) {
            self.decoder.named(0, task, name.as_bytes(), &mut before);
        }
        let places = std::mem::take(&mut self.options.places);
        let most = MOST_CHUNKS / places.len().max(1);
        let mut buffers = Vec::new();
        for place in places {
            if place.offset.saturating_add(place.length) > length {
                let why = format!("the file ends within the buffer of processor {}", place.cpu);
                self.head.lose(Loss { time: None, cpu: Some(place.cpu), events: None, why });
            }
            buffers.push(match self.packing {
                Packing::Plain => Buffer::new(place.cpu, part(self.file, place.offset, place.length)),
                packing => {
                    // The length leaves out the number of chunks.
                    let bytes = part(self.file, place.offset, place.length.saturating_add(4));
                    Buffer::new(place.cpu, Chunks::new(bytes, packing, most))
                }
            });
        }
        let missed = merge(buffers, &pages, &mut self.decoder, before, &mut self.head, listener)?;
        for &(cpu, lost) in &self.options.overruns {
            let known = missed.iter().filter(|(other, _)| *other == cpu).map(|(_, missed)| missed).sum();
            if let Some(more @ 1..) = lost.checked_sub(known) {
                let why =
                    format!("the kernel's statistics of processor {cpu} count more lost events than its buffer says");
                self.head.lose(Loss { time: None, cpu: Some(cpu), events: Some(more), why });
            }
        }
        Ok(self.head)
    }
}
