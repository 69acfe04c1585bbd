//! /proc/pressure/* and the pressure files of control groups: the share of time in which tasks were stalled.

use super::column::{Column, column, percent, rate};
use schedlab_linux::proc::text::{decimal, lines, number, words};

/// One line: the time in which some, or all, non-idle tasks were stalled.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Stall {
    avg10: Option<f64>,
    total_us: Option<u64>,
}

/// Pressure for one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pressure {
    some: Stall,
    /// The system's `full` line for processors exists since 5.13 and is always 0: not all tasks can wait for a processor.
    full: Stall,
}

impl Stall {
    /// Exact share of the time between, percent.
    fn share(&self, before: &Stall, seconds: f64) -> Option<f64> {
        rate(self.total_us, before.total_us, seconds).and_then(|us| percent(us, 1e6))
    }
}

/// Pressure for one resource.
pub const PRESSURE: &[Column<Pressure>] = &[
    column("some", "%", "of the time between: at least one task was stalled", |now, was, s| {
        now.some.share(&was.some, s)
    }),
    column("full", "%", "of the time between: all non-idle tasks were stalled", |now, was, s| {
        now.full.share(&was.full, s)
    }),
    column("some_avg10", "%", "the kernel's own mean of `some` over 10 s", |now, _, _| now.some.avg10),
    column("full_avg10", "%", "the kernel's own mean of `full` over 10 s", |now, _, _| now.full.avg10),
];

/// Reads `some avg10=0.23 avg60=0.39 avg300=0.97 total=6471963386` and the like.
pub(super) fn read(text: &[u8]) -> Pressure {
    let mut pressure = Pressure::default();
    for line in lines(text) {
        let mut words = words(line);
        let stall = match words.next() {
            Some(b"some") => &mut pressure.some,
            Some(b"full") => &mut pressure.full,
            _ => continue,
        };
        for word in words {
            if let Some(value) = word.strip_prefix(b"avg10=") {
                stall.avg10 = decimal(value);
            } else if let Some(value) = word.strip_prefix(b"total=") {
                stall.total_us = number(value);
            }
        }
    }
    pressure
}
