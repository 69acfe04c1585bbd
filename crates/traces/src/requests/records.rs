//! Binary records of one length, little endian and without gaps: where the fields are, what they must hold, and the reader.

use super::{Beginning, Input, Key, Place, Problem, Request, Requests, Take, reason};
use std::{
    collections::HashSet,
    io::Read,
    ops::ControlFlow::{self, Break, Continue},
};

/// Records per read.
const AT_ONCE: usize = 4096;
/// Most records of the beginning that are looked at to recognise a layout, and the fewest that show one.
const MOST_LOOKED_AT: usize = 4096;
const FEWEST: usize = 2;
/// No trace has more requests: a larger number is not the number of a request.
const MOST_VIRTUAL_TIME: i64 = 1 << 40;

/// Where the fields of a record are: bytes from its beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    /// Bytes of a record.
    pub record: usize,
    pub time: Time,
    /// Of 8 bytes.
    pub key: usize,
    pub size: Size,
    pub operation: Option<Operation>,
    /// The number of the request that asks for this object next, of 8 bytes; -1 or the largest number: none does.
    pub next: Option<usize>,
    /// A byte that every record has in common, and its value.
    pub mark: Option<(usize, u8)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Time {
    /// Seconds in 4 bytes.
    Seconds(usize),
    /// Microseconds in 8 bytes, of requests that several processors wrote down: it may go back.
    Microseconds(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Size {
    Four(usize),
    /// With a sign.
    Eight(usize),
    /// Of the key in 2 bytes, of the value in the 4 after them.
    KeyAndValue(usize),
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Operation {
    /// A number of libCacheSim's in one byte.
    Cache(usize),
    /// The first byte of a SCSI command.
    Scsi(usize),
}

/// libCacheSim's operations by number.
const OPERATIONS: [&str; 15] = [
    "", "get", "gets", "set", "add", "cas", "replace", "append", "prepend", "delete", "incr", "decr", "read", "write",
    "update",
];

fn four(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

fn eight(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

impl Operation {
    fn read(self, record: &[u8]) -> Result<&'static str, String> {
        match self {
            Operation::Cache(at) => OPERATIONS.get(usize::from(record[at])).copied().ok_or_else(|| {
                format!("the operation is {}, not one of libCacheSim's (0 to {})", record[at], OPERATIONS.len() - 1)
            }),
            Operation::Scsi(at) => Ok(match record[at] {
                0x08 | 0x28 | 0xa8 | 0x88 => "read",
                0x0a | 0x2a | 0xaa | 0x8a => "write",
                _ => "other",
            }),
        }
    }
}

impl Layout {
    #[inline(always)]
    fn request<'a>(&self, record: &'a [u8]) -> Result<Request<'a>, String> {
        let size = match self.size {
            Size::Four(at) => u64::from(four(record, at)),
            Size::Eight(at) => {
                let size = eight(record, at);
                i64::try_from(size).map_err(|_| format!("the size is {}, which is negative", size as i64))? as u64
            }
            Size::KeyAndValue(at) => {
                u64::from(u16::from_le_bytes([record[at], record[at + 1]])) + u64::from(four(record, at + 2))
            }
        };
        if let Some(next) = self.next(record)
            && next < -1
        {
            return Err(format!("the next request for this object is {next}, not -1 (none) or a number from 0"));
        }
        if let Some((at, mark)) = self.mark
            && record[at] != mark
        {
            return Err(format!("the version is {}, not {mark} as in the records before", record[at]));
        }
        let operation = self.operation.map_or(Ok(""), |operation| operation.read(record))?;
        Ok(Request { key: Key::Number(eight(record, self.key)), size: Some(size), operation: operation.as_bytes() })
    }

    #[inline(always)]
    fn next(&self, record: &[u8]) -> Option<i64> {
        self.next.map(|at| eight(record, at) as i64)
    }

    /// Whether a file that begins so has records of this layout; else why not. `from` is where the records begin.
    ///
    /// The time never goes back, no size is the largest possible number, and the numbers of the next requests agree with one
    /// another: each occurs once, and an object without a next request does not occur again. Where no record has a next
    /// request, the field was not filled in.
    pub(super) fn fits(&self, beginning: &Beginning<'_>, from: usize) -> Result<(), String> {
        let records = beginning.bytes.get(from..).unwrap_or_default().chunks_exact(self.record).take(MOST_LOOKED_AT);
        let count = records.len();
        if count < FEWEST {
            return Err(format!("{count} records of {} bytes show too little", self.record));
        }
        let filled_in = records.clone().any(|record| !matches!(self.next(record), Some(-1 | i64::MAX)));
        let mut seen = Seen { filled_in, ..Seen::default() };
        for (number, record) in (1..).zip(records) {
            let request = self.request(record).map_err(|why| format!("record {number}: {why}"))?;
            let plausible = self.plausible(record, &request, &mut seen);
            plausible.map_err(|why| format!("record {number}: {why}"))?;
        }
        Ok(())
    }

    fn plausible(&self, record: &[u8], request: &Request<'_>, seen: &mut Seen) -> Result<(), String> {
        match self.time {
            Time::Seconds(at) => {
                let (before, time) = (seen.time, four(record, at));
                if time < before {
                    return Err(format!("the time goes back from {before} to {time}"));
                }
                seen.time = time;
            }
            Time::Microseconds(at) => {
                let time = eight(record, at);
                if time > MOST_MICROSECONDS {
                    return Err(format!("a time of {time} us"));
                }
            }
        }
        if let Some(size @ (4_294_967_295 | (MOST_SIZE..))) = request.size {
            return Err(format!("a size of {size}"));
        }
        let (Some(next), Key::Number(key), true) = (self.next(record), request.key, seen.filled_in) else {
            return Ok(());
        };
        if seen.over.contains(&key) {
            return Err(format!("object {key} is asked for after its last request"));
        }
        match next {
            -1 | i64::MAX => drop(seen.over.insert(key)),
            1..MOST_VIRTUAL_TIME if seen.next.insert(next) => {}
            1..MOST_VIRTUAL_TIME => return Err(format!("the next request is {next} as of a record before")),
            _ => return Err(format!("the next request is {next}")),
        }
        Ok(())
    }
}

/// No object has more bytes.
const MOST_SIZE: u64 = 1 << 50;
/// Three centuries.
const MOST_MICROSECONDS: u64 = 1 << 53;

/// State from the records before.
#[derive(Default)]
struct Seen {
    filled_in: bool,
    time: u32,
    /// Objects without a next request.
    over: HashSet<u64>,
    /// Numbers of next requests.
    next: HashSet<i64>,
}

/// Reads records of one layout.
pub(super) struct Records {
    layout: Layout,
    input: Input,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes before the buffer.
    before: u64,
}

impl Records {
    /// `input` is positioned where the records begin, after `before` bytes.
    pub(super) fn new(layout: Layout, input: Input, before: usize) -> Self {
        Records { layout, input, buffer: Vec::new(), at: 0, before: before as u64 }
    }

    /// Reads the next block; false at the end.
    fn fill(&mut self) -> Result<bool, Problem> {
        self.before += self.buffer.len() as u64;
        self.buffer.clear();
        self.at = 0;
        let most = (self.layout.record * AT_ONCE) as u64;
        let read = self.input.by_ref().take(most).read_to_end(&mut self.buffer);
        read.map_err(|why| Place::Byte(self.before + self.buffer.len() as u64).problem(reason(&why)))?;
        Ok(!self.buffer.is_empty())
    }

    /// Hands over the records of the buffer.
    #[inline]
    fn block(&mut self, take: &mut Take<'_>) -> Result<ControlFlow<()>, Problem> {
        let (layout, from, before) = (self.layout, self.at, self.before);
        let records = self.buffer[from..].chunks_exact(layout.record);
        let left = records.remainder().len();
        let mut at = from;
        for record in records {
            let request = layout.request(record).map_err(|why| Place::Byte(before + at as u64).problem(why))?;
            at += layout.record;
            if !take(&request)? {
                self.at = at;
                return Ok(Break(()));
            }
        }
        self.at = self.buffer.len();
        if left > 0 {
            let what = format!("{left} bytes are left and a record has {}: the file is cut off", layout.record);
            return Err(Place::Byte(before + at as u64).problem(what));
        }
        Ok(Continue(()))
    }
}

impl Requests for Records {
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem> {
        if self.at == self.buffer.len() && !self.fill()? {
            return Ok(None);
        }
        let place = Place::Byte(self.before + self.at as u64);
        let (layout, left) = (self.layout, self.buffer.len() - self.at);
        if left < layout.record {
            let what = format!("{left} bytes are left and a record has {}: the file is cut off", layout.record);
            return Err(place.problem(what));
        }
        self.at += layout.record;
        let record = &self.buffer[self.at - layout.record..self.at];
        layout.request(record).map(Some).map_err(|why| place.problem(why))
    }

    fn has_operations(&self) -> bool {
        self.layout.operation.is_some()
    }

    fn each(&mut self, take: &mut Take<'_>) -> Result<(), Problem> {
        loop {
            if self.at == self.buffer.len() && !self.fill()? {
                return Ok(());
            }
            if self.block(take)?.is_break() {
                return Ok(());
            }
        }
    }
}
