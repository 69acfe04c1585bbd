//! The pages of the kernel's ring buffer, as `per_cpu/cpuN/trace_pipe_raw` gives them.
//!
//!   page    = head, records ..., nothing
//!   record  = word, then by the word's low 5 bits:
//!             1 to 28  that many times 4 bytes of data
//!             0        length in bytes (u32, itself included), data
//!             29       padding: no time: to the end of the page; else a length in bytes (u32) and a record withdrawn
//!             30       (u32) steps of 2^27 ns, added to the word's own time
//!             31       (u32) with the word's own time: the time itself, but for its top 5 bits
//!   word    = kind (5 bits), ns since the record before (27 bits); big-endian machines have the kind in the top bits
//!
//! Whatever the bytes, reading ends: it goes forward by at least 4 bytes a step.

use super::description::PageHead;

/// In `commit`: records were lost before this page.
const MISSED: u64 = 1 << 31;
/// In `commit`: the number of lost events follows the records.
const MISSED_STORED: u64 = 1 << 30;
/// Time bits of an absolute stamp.
const STAMP_BITS: u32 = 59;
/// Time bits of a record's word.
const DELTA_BITS: u32 = 27;

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// From when the time of the first record counts, ns.
    pub time: u64,
    /// Whether events were lost before it, and how many if it says so.
    pub missed: Option<Option<u64>>,
    records: &'a [u8],
}

impl<'a> Page<'a> {
    /// Reads the head of a page; none if it makes no sense.
    pub fn parse(head: &PageHead, bytes: &'a [u8]) -> Option<Page<'a>> {
        let (time, commit) = (head.timestamp.of(bytes)? as u64, head.commit.of(bytes)?);
        let commit = if head.commit.size == 4 { u64::from(commit as u32) } else { commit as u64 };
        let (records, behind) =
            bytes.get(head.data.offset..)?.split_at_checked((commit & (MISSED_STORED - 1)) as usize)?;
        // The kernel's `long`, which is as long as the field that has the flag.
        let count = match head.commit.size {
            4 => behind.first_chunk().map(|&bytes| u64::from(u32::from_ne_bytes(bytes))),
            _ => behind.first_chunk().map(|&bytes| u64::from_ne_bytes(bytes)),
        };
        let missed = (commit & MISSED != 0).then(|| count.filter(|_| commit & MISSED_STORED != 0));
        Some(Page { time, missed, records })
    }

    /// Its records.
    pub fn records(&self) -> Records<'a> {
        Records { rest: self.records, time: self.time, is_damaged: false }
    }
}

/// The records of a page: time and data of each.
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
    time: u64,
    /// Whether it ended at a record that makes no sense.
    pub is_damaged: bool,
}

impl<'a> Records<'a> {
    /// The next record; none at the end, and two nones at one that makes no sense.
    #[inline]
    fn step(&mut self) -> Option<Option<(u64, &'a [u8])>> {
        loop {
            if self.rest.is_empty() {
                return Some(None);
            }
            let rest = self.rest;
            let (kind, delta) = split(u32::from_ne_bytes(*rest.first_chunk()?));
            let second = || Some(u32::from_ne_bytes(*rest.get(4..8)?.first_chunk()?));
            let (head, taken) = match kind {
                29 if delta == 0 => return Some(None),
                30 | 31 => {
                    let stamp = (u64::from(second()?) << DELTA_BITS) + u64::from(delta);
                    self.time = match kind {
                        30 => self.time.wrapping_add(stamp),
                        _ => self.time >> STAMP_BITS << STAMP_BITS | stamp & ((1 << STAMP_BITS) - 1),
                    };
                    self.rest = &rest[8..];
                    continue;
                }
                29 | 0 => (8, 4 + second()? as usize),
                words => (4, 4 + 4 * words as usize),
            };
            // The writer keeps records at multiples of four bytes.
            let (record, rest) = rest.split_at_checked(taken.checked_next_multiple_of(4)?)?;
            self.rest = rest;
            self.time = self.time.wrapping_add(delta.into());
            if kind != 29 {
                return Some(Some((self.time, record.get(head..)?)));
            }
        }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.step().unwrap_or_else(|| {
            self.is_damaged = true;
            self.rest = &[];
            None
        })
    }
}

/// Kind and time of a record, from its first word.
const fn split(word: u32) -> (u32, u32) {
    if cfg!(target_endian = "little") {
        (word & 31, word >> 5)
    } else {
        (word >> DELTA_BITS, word & ((1 << DELTA_BITS) - 1))
    }
}
