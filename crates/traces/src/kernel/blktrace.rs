//! Binary traces of `blktrace`: records of one device, of one processor or all. Their times are the
//! kernel's; `blkparse` prints them since the first one.
//!
//!   record = magic and version (u32), sequence (u32), time ns (u64), sector (u64), bytes (u32), action (u32), pid (u32),
//!            device (u32), cpu (u32), error (u16), length of what follows (u16), what follows
//!   action = step (16 bits), categories (16 bits); in the byte order of the machine that recorded (`linux/blktrace_api.h`)

use super::delivery::Delivery;
use super::tasks::Source;
use super::{Context, Event, Head, Kind, Listener, Loss, Pid, ReadError, Recorded};
use std::io::{self, BufRead, BufReader, Read};

const FORMAT: &str = "blktrace";
/// Events that may wait for those of other processors.
const WAITING: usize = 1 << 18;
/// Bytes of a record without what follows it.
const RECORD: usize = 48;
/// The magic number, above the version.
const MAGIC: u32 = 0x0065_6174;
/// The only version that was ever written by a released kernel.
const VERSION: u32 = 7;

/// Steps that are counted, by number. The letters are those of `blkparse`.
const STEPS: [&str; 18] =
    ["", "Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "abort", "driver data"];
const ISSUE: u32 = 7;
const COMPLETE: u32 = 8;
/// Set in a step whose record begins with the number of a control group.
const GROUP: u32 = 1 << 8;
/// Categories.
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;
const NOTIFY: u32 = 1 << 26;
const DISCARD: u32 = 1 << 29;
/// The step of a notification that gives the name of a task.
const PROCESS: u32 = 0;

/// Whether a file begins as such a trace. The other byte order counts too.
pub(super) fn begins(bytes: &[u8]) -> bool {
    bytes.first_chunk().is_some_and(|magic| order(*magic).is_some())
}

/// How to read a number of four bytes, from a magic number.
fn order(magic: [u8; 4]) -> Option<fn([u8; 4]) -> u32> {
    let orders: [fn([u8; 4]) -> u32; 2] = [u32::from_le_bytes, u32::from_be_bytes];
    orders.into_iter().find(|read| read(magic) >> 8 == MAGIC)
}

/// Reads such a trace.
pub(super) fn read<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    let mut input = BufReader::with_capacity(1 << 17, input);
    let mut delivery = Delivery::new(FORMAT, WAITING, listener);
    let mut counts: [u64; STEPS.len()] = [0; STEPS.len()];
    let (mut at, mut time, mut order) = (0u64, 0, None);
    let ends = |at: u64, time, why: &str| Loss { time, cpu: None, events: None, why: format!("byte {at}: {why}") };
    loop {
        let mut record = [0; RECORD];
        let length = fill(&mut input, &mut record)?;
        if length == 0 {
            break;
        }
        if length < RECORD {
            delivery.loss(ends(at, Some(time), "the file ends within a record"));
            break;
        }
        let magic: [u8; 4] = record[..4].try_into().expect("four bytes");
        let Some(number) = *order.get_or_insert_with(|| self::order(magic)) else {
            return Err(wrong(format!("it begins with {magic:02x?} instead of its magic number")));
        };
        if number(magic) != MAGIC << 8 | VERSION {
            // What follows cannot be found again: records have no fixed length.
            let what = format!("a record begins with {magic:02x?} instead of the magic number of version {VERSION}");
            if at == 0 {
                return Err(wrong(what));
            }
            delivery.loss(ends(at, Some(time), &what));
            break;
        }
        let of = Record::new(&record, number);
        let mut name = [0; 16];
        let more = usize::from(of.more);
        let length = fill(&mut input, &mut name[..more.min(16)])? + skip(&mut input, more.saturating_sub(16))?;
        if length < more {
            delivery.loss(ends(at, Some(time), "the file ends within a record"));
            break;
        }
        take(&of, &name[..more.min(16)], &mut delivery, &mut counts, at, &mut time);
        at += (RECORD + more) as u64;
    }
    let mut head = delivery.finish("records");
    let counted = counts.into_iter().zip(STEPS).zip(0..).filter(|((count, name), _)| *count > 0 && !name.is_empty());
    let recorded = |events, step: u32| Recorded { events, known: [ISSUE, COMPLETE].contains(&step) };
    head.recorded = counted.map(|((events, name), step)| (name.to_owned(), recorded(events, step))).collect();
    Ok(head)
}

fn wrong(why: String) -> ReadError {
    ReadError::Wrong { format: FORMAT, why }
}

/// A record without what follows it.
struct Record {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    drive: u32,
    cpu: u32,
    more: u16,
}

impl Record {
    fn new(bytes: &[u8; RECORD], number: fn([u8; 4]) -> u32) -> Self {
        let word = |at: usize| number(bytes[at..at + 4].try_into().expect("four bytes"));
        // Two words and two halves, in either byte order.
        let little = number([1, 0, 0, 0]) == 1;
        let long = |at: usize| match little {
            true => u64::from(word(at + 4)) << 32 | u64::from(word(at)),
            false => u64::from(word(at)) << 32 | u64::from(word(at + 4)),
        };
        let last = word(44);
        let more = if little { last >> 16 } else { last & 0xffff } as u16;
        let (bytes, action, pid, drive, cpu) = (word(24), word(28), word(32), word(36), word(40));
        Record { time: long(8), sector: long(16), bytes, action, pid, drive, cpu, more }
    }
}

fn take<L: Listener>(
    of: &Record,
    name: &[u8],
    delivery: &mut Delivery<'_, L>,
    counts: &mut [u64],
    at: u64,
    time: &mut u64,
) {
    let place = || format!("byte {at}");
    let (Ok(cpu), Ok(pid)) = (u16::try_from(of.cpu), Pid::try_from(of.pid)) else {
        return delivery.unread(Some(*time), place);
    };
    let step = of.action & 0xffff & !GROUP;
    let bits = Event::bits(0, Context::Unknown);
    let base = Event { time: of.time, value: 0, task: pid, other: pid, extra: 0, cpu, kind: Kind::Named, bits };
    if of.action & NOTIFY != 0 {
        if step == PROCESS {
            let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
            delivery.named(&Event { time: *time, ..base }, pid, &name[..end], Source::Tool);
        }
        return;
    }
    let Some(count) = counts.get_mut(step as usize).filter(|_| cpu != Event::ALL && step > 0) else {
        return delivery.unread(Some(*time), place);
    };
    *count += 1;
    *time = of.time;
    let kind = match step {
        ISSUE => Kind::BlockIssue,
        COMPLETE => Kind::BlockComplete,
        _ => return,
    };
    let flag = match of.action {
        action if action & DISCARD != 0 => 2,
        action if action & WRITE != 0 => 1,
        action if action & READ != 0 => 0,
        _ => 2,
    };
    let bits = Event::bits(flag, Context::Unknown);
    delivery.event(Event { kind, task: of.drive as Pid, value: of.sector, extra: of.bytes, bits, ..base }, place);
}

/// Fills a buffer as far as there is something; how far.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
            Err(why) => return Err(why),
        }
    }
    Ok(filled)
}

/// Passes over bytes; how many there were.
fn skip(input: &mut impl BufRead, length: usize) -> io::Result<usize> {
    Ok(io::copy(&mut input.take(length as u64), &mut io::sink())? as usize)
}
