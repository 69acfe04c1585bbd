//! `oracle_general`: the binary format of libCacheSim (`oracleGeneral`), in which its public traces are kept.
//!
//! Records of 24 bytes, little endian, without gaps: time in s (u32), object (u64), size in bytes (u32), number of the
//! request that asks for it next (i64; -1 or the largest number: never).
//!
//! ## Departures
//!
//! The next request is checked and not used: in a part of a trace it points out of the file; we look ahead ourselves.
//! libCacheSim leaves out records of size 0 by default; here every record is a request.

use super::{Format, Input, Key, Place, Problem, Request, Requests, Wanted, reason};
use std::io::Read;

pub(super) const FORMAT: Format = Format {
    name: "oracle_general",
    summary: "libCacheSim's oracleGeneral: binary records of 24 bytes",
    fits,
    open: |input, _: &Wanted| Ok(Box::new(OracleGeneral::new(input))),
};

/// Bytes of a record.
const RECORD: usize = 24;
/// Records read at once.
const AT_ONCE: usize = 4096;

/// Binary, and the records of the beginning are possible ones. Text has no zero bytes.
fn fits(beginning: &[u8]) -> bool {
    beginning.contains(&0) && beginning.chunks_exact(RECORD).all(|record| next_use(record) >= -1)
}

fn next_use(record: &[u8]) -> i64 {
    i64::from_le_bytes(record[16..24].try_into().expect("eight bytes"))
}

struct OracleGeneral {
    input: Input,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes before the buffer.
    before: u64,
}

impl OracleGeneral {
    fn new(input: Input) -> Self {
        OracleGeneral { input, buffer: Vec::new(), at: 0, before: 0 }
    }

    fn fill(&mut self) -> Result<(), Problem> {
        self.before += self.buffer.len() as u64;
        self.buffer.clear();
        self.at = 0;
        let read = self.input.by_ref().take((RECORD * AT_ONCE) as u64).read_to_end(&mut self.buffer);
        read.map_err(|why| Place::Byte(self.before + self.buffer.len() as u64).problem(reason(&why)))?;
        Ok(())
    }
}

impl Requests for OracleGeneral {
    fn next(&mut self) -> Result<Option<Request<'_>>, Problem> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        let place = Place::Byte(self.before + self.at as u64);
        let record = match self.buffer[self.at..] {
            [] => return Ok(None),
            ref rest if rest.len() < RECORD => {
                let left = rest.len();
                return Err(
                    place.problem(format!("{left} bytes are left and a record has {RECORD}: the file is cut off"))
                );
            }
            ref rest => &rest[..RECORD],
        };
        self.at += RECORD;
        let next = next_use(record);
        if next < -1 {
            return Err(place.problem(format!(
                "the next request for this object is {next}, not -1 (never) or a number from 0: these are no records of oracleGeneral"
            )));
        }
        let key = u64::from_le_bytes(record[4..12].try_into().expect("eight bytes"));
        let size = u32::from_le_bytes(record[12..16].try_into().expect("four bytes"));
        Ok(Some(Request { key: Key::Number(key), size: Some(u64::from(size)), operation: b"" }))
    }

    fn has_operations(&self) -> bool {
        false
    }
}
