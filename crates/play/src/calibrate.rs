//! How much work a second of processor time is: the median of many short measurements on one processor, by the thread's own
//! clock, so that time in which others ran does not count.

use crate::{
    plan::Calibration,
    shared::Slot,
    work::{GapDetector, Measure, call, compute},
};
use schedlab_linux::{Fault, clock::thread_time, sched};

/// How many measurements, and how long each, ns of processor time: long enough that reading the clock is nothing, short
/// enough that most see neither a clock tick's worth of interrupts more nor less than others.
const MEASUREMENTS: usize = 61;
const LENGTH_NS: u64 = 4_000_000;

/// Measures on that processor, or wherever the kernel puts it.
pub fn calibrate(processor: Option<u16>) -> Result<Calibration, Fault> {
    if let Some(processor) = processor {
        sched::pin(&[processor])
            .map_err(|why| Fault::Call { doing: format!("moving to processor {processor}"), why })?;
    }
    let mut guess = Calibration { rounds_per_second: 5e8, calls_per_second: 5e6, spread: 0.0 };
    // The first measurements wake the processor up and say how many rounds a chunk has.
    for _ in 0..3 {
        guess.rounds_per_second = median(&mut rates(9, &guess, rounds));
        guess.calls_per_second = median(&mut rates(9, &guess, calls));
    }
    let mut rates_of_rounds = rates(MEASUREMENTS, &guess, rounds);
    let rounds_per_second = median(&mut rates_of_rounds);
    let calls_per_second = median(&mut rates(MEASUREMENTS, &guess, calls));
    let tenth = MEASUREMENTS / 10;
    let spread = (rates_of_rounds[MEASUREMENTS - 1 - tenth] - rates_of_rounds[tenth]) / 2.0 / rounds_per_second;
    Ok(Calibration { rounds_per_second, calls_per_second, spread })
}

/// Work of about [`LENGTH_NS`]: how much of it was done.
type Piece = fn(&Measure, &mut GapDetector<'_>) -> u64;

fn rounds(measure: &Measure, gaps: &mut GapDetector<'_>) -> u64 {
    let rounds = measure.rounds(LENGTH_NS);
    compute(rounds, measure, gaps);
    rounds
}

fn calls(measure: &Measure, gaps: &mut GapDetector<'_>) -> u64 {
    let calls = measure.calls(LENGTH_NS);
    call(calls, measure, gaps);
    calls
}

/// Work per second of processor time, measured so often.
fn rates(times: usize, guess: &Calibration, piece: Piece) -> Vec<f64> {
    let measure = Measure::new(guess);
    let slot = Slot::default();
    let mut gaps = GapDetector::new(&slot);
    let rate = |_| {
        let before = thread_time();
        let done = piece(&measure, &mut gaps);
        done as f64 * 1e9 / (thread_time() - before).max(1) as f64
    };
    (0..times).map(rate).collect()
}

/// The middle one; sorts them.
fn median(rates: &mut [f64]) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
