//! The reading side. A file may be cut off, damaged or made to harm: whatever its bytes, reading ends with events and at
//! most one error, and holds no more than one block (the names: 16 MiB).

use super::{BLOCK, CONTROL, HEAD, KINDS, LAST, MAGIC, NAMES, STEP, VERSION, Widths, checksum};
use crate::Names;
use schedlab_model::{Nanos, event::Event};
use std::io::{self, Read};

/// Why a recording cannot be read, or not further.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Another kind of file.
    #[error("this is not a recording: it does not begin with \"schedlab\"")]
    NotARecording,
    /// Made by a later program.
    #[error("this recording has format version {0}, and only {VERSION} is known: read it with a newer schedlab")]
    Version(u32),
    /// The end is missing.
    #[error("the recording is cut off after {0} events: its run was stopped, or the file was not copied whole")]
    CutOff(u64),
    /// Bytes have changed.
    #[error("the recording is damaged after {events} events: {what}")]
    Damaged {
        /// Events that were read before.
        events: u64,
        /// What was found.
        what: &'static str,
    },
    /// The file cannot be read.
    #[error("the recording cannot be read: {0}")]
    Io(io::Error),
}

/// Reads a recording event by event. After an error it ends.
#[derive(Debug)]
pub struct Reader<R: Read> {
    input: R,
    names: Names,
    block: Vec<u8>,
    /// Start of the unread part of the block.
    at: usize,
    time: Nanos,
    events: u64,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Opens a recording. A buffer around `input` is not needed.
    pub fn new(mut input: R) -> Result<Self, RecordingError> {
        let mut magic = [0; 12];
        input.read_exact(&mut magic).map_err(|e| end_or(e, RecordingError::NotARecording))?;
        let (magic, version) = magic.split_at(8);
        if magic != MAGIC {
            return Err(RecordingError::NotARecording);
        }
        let version = u32::from_le_bytes(version.try_into().expect("four bytes"));
        if version != VERSION {
            return Err(RecordingError::Version(version));
        }
        let mut reader =
            Reader { input, names: Names::default(), block: Vec::new(), at: 0, time: 0, events: 0, ended: false };
        let last = reader.read_block(NAMES)?;
        let names = serde_json::from_slice(&reader.block).ok().filter(|_| !last);
        reader.names = names.ok_or(reader.damaged("its names cannot be read"))?;
        reader.block = Vec::new();
        Ok(reader)
    }

    /// What the recording says of jobs, marks and processors.
    pub fn names(&self) -> &Names {
        &self.names
    }

    fn damaged(&self, what: &'static str) -> RecordingError {
        RecordingError::Damaged { events: self.events, what }
    }

    /// Replaces the block by the next one of at most `limit` bytes. True if it is the last.
    fn read_block(&mut self, limit: usize) -> Result<bool, RecordingError> {
        let mut head = [0; HEAD];
        self.input.read_exact(&mut head).map_err(|e| end_or(e, RecordingError::CutOff(self.events)))?;
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (head, crc) = (word(0), word(4));
        let length = (head & !LAST) as usize;
        if length == 0 || length > limit {
            return Err(self.damaged("a block has an impossible length"));
        }
        self.block.clear();
        self.at = 0;
        // Grows with what is really there, not with what the length promises.
        self.input.by_ref().take(length as u64).read_to_end(&mut self.block).map_err(RecordingError::Io)?;
        if self.block.len() < length {
            return Err(RecordingError::CutOff(self.events));
        }
        if checksum(head, &self.block) != crc {
            return Err(self.damaged("the checksum of a block does not fit"));
        }
        Ok(head & LAST != 0)
    }

    /// The count in the last block must fit, and nothing may follow.
    fn check_end(&mut self) -> Result<(), RecordingError> {
        if self.block != self.events.to_le_bytes() {
            return Err(self.damaged("its number of events is wrong"));
        }
        match self.input.read_exact(&mut [0]) {
            Ok(()) => Err(self.damaged("something follows its end")),
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            Err(e) => Err(RecordingError::Io(e)),
        }
    }

    fn read_event(&mut self) -> Result<Option<Event>, RecordingError> {
        loop {
            if self.at == self.block.len() && self.read_block(BLOCK)? {
                return self.check_end().map(|()| None);
            }
            let decoded = self.decode().ok_or_else(|| self.damaged("a record makes no sense"))?;
            if decoded.is_some() {
                self.events += 1;
                return Ok(decoded);
            }
        }
    }

    /// The next record of the block: an event, or a step in time alone. The outer `None` is nonsense.
    fn decode(&mut self) -> Option<Option<Event>> {
        let word = self.field(CONTROL)?;
        let widths = Widths::unpack(word as u32)?;
        if self.block.len() - self.at < widths.sum() {
            return None;
        }
        let passed = self.field(widths.time)?;
        let (a, b) = (self.field(widths.a)?, self.field(widths.b)?);
        let task = (self.field(widths.task)? as u32).wrapping_sub(1);
        let (cpu, flag) = (self.field(widths.cpu)? as u16, self.field(widths.flag)? as u8);
        if widths.kind == STEP {
            self.time = self.time.wrapping_add(a);
            return Some(None);
        }
        self.time = self.time.wrapping_add(passed);
        let kind = *KINDS.get(usize::from(widths.kind))?;
        Some(Some(Event { time: self.time, a, b, task, cpu, kind, flag }))
    }

    /// A number of `width` bytes, at most 8.
    fn field(&mut self, width: usize) -> Option<u64> {
        let mut bytes = [0; 8];
        bytes[..width].copy_from_slice(self.block.get(self.at..self.at + width)?);
        self.at += width;
        Some(u64::from_le_bytes(bytes))
    }
}

/// Distinguishes a file that ends too early from one that cannot be read.
fn end_or(error: io::Error, at_end: RecordingError) -> RecordingError {
    if error.kind() == io::ErrorKind::UnexpectedEof { at_end } else { RecordingError::Io(error) }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Event, RecordingError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let event = self.read_event().transpose();
        self.ended = !matches!(event, Some(Ok(_)));
        event
    }
}
