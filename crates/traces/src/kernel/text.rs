//! Recordings as text: what the readers of perf script, trace-cmd and tracefs have in common.

use super::delivery::Delivery;
use super::kinds::Kinds;
use super::lines::{Line, Lines};
use super::prefix::{self, Prefix};
use super::printed::{self, Read as ReadFields};
use super::tasks::Source;
use super::{Event, Head, Kind, Listener, ReadError};
use std::io::Read;

/// Events that may wait for earlier ones: twice as far as they may be out of order.
const WAITING: usize = 1 << 17;
/// Bytes that are shown of a line that cannot be read.
const SHOWN: usize = 60;
/// Reports of lost events between two events that are distinguished.
const MOST_REPORTS: usize = 1 << 12;
/// Why events are missing, where the file does not say.
const TOO_SLOW: &str = "the recorder was too slow";

/// What lines that are no events say.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Number of processors.
    pub(super) processors: Option<u16>,
    /// The kernel.
    pub(super) release: Option<String>,
    /// Events lost before the next one: on which processor, and how many, as far as is said.
    lost: Vec<(Option<u16>, Option<u64>)>,
}

impl Notes {
    /// Notes lost events. Where too many reports of them follow one another, the last one sums up.
    pub(super) fn lose(&mut self, cpu: Option<u16>, events: Option<u64>) {
        if self.lost.len() < MOST_REPORTS {
            return self.lost.push((cpu, events));
        }
        let (of, sum) = self.lost.last_mut().expect("there are many");
        (*of, *sum) = (None, Some(sum.unwrap_or(1).saturating_add(events.unwrap_or(1))));
    }
}

/// Takes a line that is no event; whether it knows such a line.
pub(super) type Aside = fn(&[u8], &mut Notes) -> bool;

/// A text being read.
struct Text<'a, L> {
    delivery: Delivery<'a, L>,
    kinds: Kinds<Option<ReadFields>>,
    notes: Notes,
    aside: Aside,
    /// Time of the event read last.
    time: Option<u64>,
    /// The first line that could not be read, and whether it was for want of a processor.
    first_unread: Option<(String, bool)>,
}

/// Reads a text.
pub(super) fn read<L: Listener>(
    format: &'static str,
    input: impl Read,
    listener: &mut L,
    aside: Aside,
) -> Result<Head, ReadError> {
    let mut lines = Lines::new(input);
    let delivery = Delivery::new(format, WAITING, listener);
    let (kinds, notes) = (Kinds::default(), Notes::default());
    let mut text = Text { delivery, kinds, notes, aside, time: None, first_unread: None };
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        match line {
            Line::Text(line) => text.line(line, number),
            Line::TooLong => text.unread(number, "is longer than 64 KiB".to_owned(), false),
            Line::CutOff => text.unread(number, "has no end: the file is cut off".to_owned(), false),
        }
    }
    text.finish(format)
}

impl<L: Listener> Text<'_, L> {
    #[inline]
    fn line(&mut self, line: &[u8], number: u64) {
        match prefix::read(line) {
            Some(prefix) => {
                if self.event(&prefix, number).is_none() {
                    self.unread(number, shown(line), prefix.cpu.is_none());
                }
            }
            None if line.trim_ascii().is_empty() || (self.aside)(line, &mut self.notes) => {}
            None => self.unread(number, shown(line), false),
        }
    }

    /// Takes an event; `None` if it cannot be read.
    #[inline]
    fn event(&mut self, prefix: &Prefix<'_>, number: u64) -> Option<()> {
        let (time, pid) = (prefix.time, prefix.pid);
        let bits = Event::bits(0, prefix.context);
        let at = Event { time, value: 0, task: pid, other: pid, extra: 0, cpu: prefix.cpu?, kind: Kind::Named, bits };
        let known = || {
            let read = printed::reader(prefix.name);
            (read.is_some(), read)
        };
        let Some((recorded, read)) = self.kinds.find(prefix.name, known) else { return Some(()) };
        let found = match read {
            Some(read) => Some(read(prefix.text, at)?),
            None => None,
        };
        recorded.events += 1;
        self.time = Some(time);
        for (cpu, events) in self.notes.lost.drain(..) {
            self.delivery.lost(time, cpu, events, TOO_SLOW);
        }
        // Names in front of events are those of another moment: "<...>" and ":12" are none.
        if !(prefix.comm.starts_with(b"<") || prefix.comm.starts_with(b":")) {
            self.delivery.named(&at, pid, prefix.comm, Source::Tool);
        }
        if let Some(process) = prefix.tgid {
            self.delivery.member(&at, pid, process);
        }
        let Some(found) = found else { return Some(()) };
        for (task, comm) in found.names.into_iter().flatten() {
            self.delivery.named(&at, task, comm, Source::Event);
        }
        for event in found.event.into_iter().chain(found.second) {
            match event.kind {
                Kind::Lost => self.delivery.lost(time, Some(at.cpu), Some(event.value), TOO_SLOW),
                _ => self.delivery.event(event, || format!("line {number}")),
            }
        }
        Some(())
    }

    #[cold]
    fn unread(&mut self, number: u64, what: String, no_processor: bool) {
        self.first_unread.get_or_insert_with(|| (format!("line {number}: {what}"), no_processor));
        self.delivery.unread(self.time, || format!("line {number}: {what}"));
    }

    fn finish(mut self, format: &'static str) -> Result<Head, ReadError> {
        if let (None, Some((line, no_processor))) = (self.time, self.first_unread) {
            let wanted = match no_processor {
                true => "no processor is given; print it (perf script -F comm,tid,cpu,time,event,trace)",
                false => "no line is an event with a task, a processor and a time in seconds",
            };
            return Err(ReadError::Wrong { format, why: format!("{wanted}: {line}") });
        }
        for (cpu, events) in self.notes.lost.drain(..) {
            self.delivery.lost(self.time.unwrap_or(0), cpu, events, TOO_SLOW);
        }
        let mut head = self.delivery.finish("lines");
        head.recorded = self.kinds.finish();
        head.processors = head.processors.max(self.notes.processors.unwrap_or(0));
        head.release = self.notes.release;
        Ok(head)
    }
}

/// A line for a message: readable, and not long.
pub(super) fn shown(line: &[u8]) -> String {
    let line = line.trim_ascii();
    let cut = if line.len() > SHOWN { "..." } else { "" };
    format!("{:?}{cut}", String::from_utf8_lossy(&line[..line.len().min(SHOWN)]))
}
