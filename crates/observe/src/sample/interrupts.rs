//! /proc/interrupts: how many of each, over all processors. The file costs half as much as all the others together,
//! and more the more processors there are, so it is read only on request, and with every Nth sample if so requested.

use super::column::{Column, column, rate};
use schedlab_linux::proc::text::{Name, lines, number, words};

/// Interrupts that are reported of at most.
pub(super) const MOST: usize = 512;

/// One interrupt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interrupt {
    /// Its number, or the kernel's short name of it.
    pub name: Name,
    /// The device, or what the short name means.
    pub device: Name,
    count: Option<u64>,
}

/// All of them, and when they were read: not with every sample.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    /// Of the monotonic clock, ns.
    pub at_ns: u64,
    /// Those that have ever happened.
    pub each: Vec<Interrupt>,
}

/// How often it happened.
pub const INTERRUPT: &[Column<Interrupt>] =
    &[column("rate", "1/s", "how often, over all processors", |now, was, s| rate(now.count, was.count, s))];

/// Reads the file.
pub(super) fn read(text: &[u8], into: &mut Vec<Interrupt>) {
    into.clear();
    let mut lines = lines(text);
    let processors = lines.next().map_or(0, |line| words(line).filter(|word| word.starts_with(b"CPU")).count());
    for interrupt in lines.filter_map(|line| parse(line, processors)) {
        if into.len() < MOST && interrupt.count.is_some_and(|count| count > 0) {
            into.push(interrupt);
        }
    }
}

/// ` 36: 0 699733 PCI-MSIX-0000:00:02.0 1-edge virtio1-req.0`, `LOC: 2757744 2874821 Local timer interrupts`.
fn parse(line: &[u8], processors: usize) -> Option<Interrupt> {
    let colon = line.iter().position(|&byte| byte == b':')?;
    let name = words(&line[..colon]).next()?;
    let rest = &line[colon + 1..];
    let counts = words(rest).take(processors).map_while(number);
    let (read, count) = counts.fold((0, 0u64), |(read, sum), count| (read + 1, sum.saturating_add(count)));
    let device = if number(name).is_some() {
        words(rest).skip(read).last().unwrap_or(b"")
    } else {
        words(rest).nth(read).map_or(&b""[..], |first| from(rest, first))
    };
    Some(Interrupt { name: Name::new(name), device: Name::new(device), count: (read > 0).then_some(count) })
}

/// What is left of a line from one of its words on.
fn from<'a>(line: &'a [u8], word: &[u8]) -> &'a [u8] {
    let at = (word.as_ptr() as usize).saturating_sub(line.as_ptr() as usize).min(line.len());
    line[at..].trim_ascii_end()
}
