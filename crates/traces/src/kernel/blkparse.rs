//! Text of `blkparse`: a line for each step of each request to a drive.
//!
//!   8,0    1       12     0.000123456  1234  D   W 223490 + 8 [kjournald]
//!   device cpu sequence   seconds      pid   action, operation, first sector + sectors, [command] or [error]

use super::delivery::Delivery;
use super::kinds::Kinds;
use super::lines::{Line, Lines};
use super::prefix::{decimal, pid, seconds};
use super::printed::{drive, request};
use super::tasks::Source;
use super::text::shown;
use super::{Context, Event, Head, Kind, Listener, ReadError};
use memchr::memmem;
use std::io::Read;

/// Requests that may wait for earlier ones.
const WAITING: usize = 1 << 16;
/// Bytes of a sector.
const SECTOR: u64 = 512;

/// A line taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step<'a> {
    action: &'a [u8],
    /// What a listener is interested in: the issue or completion of a request.
    event: Option<Event>,
    comm: &'a [u8],
}

/// Reads such a text.
pub(super) fn read<L: Listener>(input: impl Read, listener: &mut L) -> Result<Head, ReadError> {
    let mut lines = Lines::new(input);
    let mut delivery = Delivery::new("blkparse", WAITING, listener);
    let mut kinds = Kinds::default();
    let (mut number, mut time) = (0, None);
    while let Some(line) = lines.next()? {
        number += 1;
        let place = || format!("line {number}");
        match line {
            Line::Text(line) => match step(line) {
                Some(step) => {
                    let known = step.event.is_some();
                    if let Some((recorded, ())) = kinds.find(step.action, || (known, ())) {
                        recorded.events += 1;
                    }
                    if let Some(event) = step.event {
                        time = Some(event.time);
                        delivery.named(&event, event.other, step.comm, Source::Tool);
                        delivery.event(event, place);
                    }
                }
                // Totals by processor and device follow at the end.
                None if summary(line) => break,
                None if line.trim_ascii().is_empty() || line.starts_with(b"Input file ") => {}
                None => delivery.unread(time, || format!("line {number}: {}", shown(line))),
            },
            Line::TooLong => delivery.unread(time, || format!("line {number}: is longer than 64 KiB")),
            Line::CutOff => delivery.unread(time, || format!("line {number}: has no end: the file is cut off")),
        }
    }
    let mut head = delivery.finish("lines");
    head.recorded = kinds.finish();
    Ok(head)
}

/// "CPU0 (vda):", "Total (vda):", "Reads Queued: ...", "Throughput (R/W): ...".
fn summary(line: &[u8]) -> bool {
    let named = line.starts_with(b"CPU") || line.starts_with(b"Total (");
    named && line.ends_with(b"):")
}

/// Takes a line apart; `None` if it is none of a request.
pub(super) fn step(line: &[u8]) -> Option<Step<'_>> {
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let drive = drive(words.next()?)?;
    let cpu = u16::try_from(decimal(words.next()?)?).ok().filter(|cpu| *cpu != Event::ALL)?;
    decimal(words.next()?)?;
    let (time, current) = (seconds(words.next()?)?, pid(words.next()?)?);
    let (action, operation) = (words.next()?, words.next()?);
    let kind = match action {
        b"D" => Kind::BlockIssue,
        b"C" => Kind::BlockComplete,
        _ => return Some(Step { action, event: None, comm: b"" }),
    };
    let bits = Event::bits(request(operation), Context::Unknown);
    let at = Event { time, value: 0, task: drive, other: current, extra: 0, cpu, kind, bits };
    // A flush has no sectors, and a request of a program to the drive itself has only bytes.
    let sector = words.next().and_then(decimal);
    let event = match (sector, words.next()) {
        (Some(sector), Some(b"+")) => {
            let sectors = decimal(words.next()?)?;
            let bytes = u32::try_from(sectors.saturating_mul(SECTOR)).unwrap_or(u32::MAX);
            Event { value: sector, extra: bytes, ..at }
        }
        (Some(sector), _) => Event { value: sector, ..at },
        (None, _) => at,
    };
    Some(Step { action, event: Some(event), comm: command(line, kind) })
}

/// The command in brackets at the end of an issue. At the end of a completion is the error.
fn command(line: &[u8], kind: Kind) -> &[u8] {
    let line = line.trim_ascii_end();
    let inner = line.strip_suffix(b"]").filter(|_| kind == Kind::BlockIssue);
    inner.and_then(|line| Some(&line[memmem::rfind(line, b" [")? + 2..])).unwrap_or(b"")
}
