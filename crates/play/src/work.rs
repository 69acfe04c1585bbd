//! Work of a fixed amount: a chain of dependent multiplications that touches no memory, and the cheapest system call. The
//! clock is read every 10 us in between, so that no gap is missed; the calibration includes those readings.

use crate::{plan::Calibration, shared::Slot};
use schedlab_linux::{clock::now, process::cheapest_call};
use std::{hint::black_box, sync::atomic::Ordering::Relaxed};

/// Nominal time between two readings of the clock, ns.
pub(crate) const CHUNK_NS: u64 = 10_000;

/// The work that a processor time is worth, and the size of its chunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measure {
    rounds_per_ns: f64,
    calls_per_ns: f64,
    rounds_per_chunk: u64,
    calls_per_chunk: u64,
}

impl Measure {
    pub fn new(calibration: &Calibration) -> Measure {
        let chunk = |per_ns: f64| ((per_ns * CHUNK_NS as f64) as u64).max(1);
        let (rounds_per_ns, calls_per_ns) = (calibration.rounds_per_second / 1e9, calibration.calls_per_second / 1e9);
        let (rounds_per_chunk, calls_per_chunk) = (chunk(rounds_per_ns), chunk(calls_per_ns));
        Measure { rounds_per_ns, calls_per_ns, rounds_per_chunk, calls_per_chunk }
    }

    /// Rounds of the compute loop that take `ns`.
    pub fn rounds(&self, ns: u64) -> u64 {
        (ns as f64 * self.rounds_per_ns).round() as u64
    }

    /// System calls that take `ns`, at least one.
    pub fn calls(&self, ns: u64) -> u64 {
        ((ns as f64 * self.calls_per_ns).round() as u64).max(1)
    }
}

/// Detects times without a processor: two readings of the clock are further apart than the work between them takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GapDetector<'a> {
    /// The last reading.
    last: u64,
    longest_gap: u64,
    /// Where other processes read both.
    slot: &'a Slot,
}

impl<'a> GapDetector<'a> {
    pub fn new(slot: &'a Slot) -> GapDetector<'a> {
        GapDetector { last: now(), longest_gap: 0, slot }
    }

    /// Reads the clock after work that takes `nominal` ns without interruption; the excess is a gap.
    #[inline]
    pub fn look(&mut self, nominal: u64) {
        let time = now();
        self.gap((time - self.last).saturating_sub(nominal));
        self.seen(time);
    }

    #[inline]
    fn seen(&mut self, time: u64) {
        self.last = time;
        self.slot.seen.store(time, Relaxed);
    }

    /// Notes a time without a processor, ns.
    #[inline]
    pub fn gap(&mut self, length: u64) {
        if length > self.longest_gap {
            self.longest_gap = length;
            self.slot.longest_gap.store(length, Relaxed);
        }
    }

    /// The last reading of the clock.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The task is going to wait for something else than a processor, from now on until [`GapDetector::restart`].
    #[inline]
    pub fn rest(&mut self) {
        self.slot.seen.store(0, Relaxed);
    }

    /// The wait is over; gives the time.
    #[inline]
    pub fn restart(&mut self) -> u64 {
        let time = now();
        self.seen(time);
        time
    }
}

/// Computes for a number of rounds.
pub(crate) fn compute(rounds: u64, measure: &Measure, gaps: &mut GapDetector<'_>) {
    let mut left = rounds;
    while left > 0 {
        let chunk = left.min(measure.rounds_per_chunk);
        chain(chunk);
        left -= chunk;
        gaps.look((chunk as f64 / measure.rounds_per_ns) as u64);
    }
}

/// The loop itself: each round needs the one before, so neither the compiler nor the processor can shorten it.
#[inline(never)]
fn chain(rounds: u64) {
    let mut x = black_box(0x9E37_79B9_7F4A_7C15u64);
    for _ in 0..rounds {
        x = (x ^ (x >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    }
    black_box(x);
}

/// Makes a number of system calls.
pub(crate) fn call(calls: u64, measure: &Measure, gaps: &mut GapDetector<'_>) {
    let mut left = calls;
    while left > 0 {
        let chunk = left.min(measure.calls_per_chunk);
        (0..chunk).for_each(|_| cheapest_call());
        left -= chunk;
        gaps.look((chunk as f64 / measure.calls_per_ns) as u64);
    }
}
