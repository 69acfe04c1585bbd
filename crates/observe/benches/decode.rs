//! What reading a recording costs, in millions of events a second, one processor: pages into merged raw_events, and these
//! into rows of metrics. `cargo bench -p schedlab-observe`
//!
//! For comparison, as measured by others on their own traces: perf script 0.5 to 0.7, perf sched 3 to 4.5.

#[path = "../tests/ring/mod.rs"]
#[allow(dead_code, reason = "tests write more kinds of records")]
mod ring;

use ring::{Ring, layout};
use schedlab_observe::tracing::{Recorded, Roster, RosterTask, layout::EventKind};
use std::{hint::black_box, time::Instant};

const CYCLES: u64 = 250_000;
const PROCESSORS: u16 = 4;
/// Records in each cycle.
const EVENTS: f64 = 5.0;
const REPEATS: usize = 5;

/// Tasks in a ring: one wakes the next, is charged, blocks.
fn pages(cpu: u16) -> Vec<u8> {
    let mut ring = Ring::new(&layout());
    let task = |i: u64| (1000 + u64::from(cpu) * 100 + i % 50) as i32;
    for i in 0..CYCLES {
        let (time, now, next) = (i * 10_000 + 1000, task(i), task(i + 1));
        ring.waking(time, now, next, cpu.into());
        ring.woken(time + 500, now, next, cpu.into());
        ring.event(time + 700, now, EventKind::Runtime, &[now.into(), 9000]);
        ring.switch(time + 1000, now, 1, next);
        ring.event(time + 1500, next, EventKind::Runtime, &[next.into(), 500]);
    }
    ring.flush();
    ring.bytes
}

fn fastest<T>(mut work: impl FnMut() -> T) -> f64 {
    let once = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64()
    };
    (0..REPEATS).map(once).fold(f64::INFINITY, f64::min)
}

fn main() {
    let layout = layout();
    let all: Vec<(u16, Vec<u8>)> = (0..PROCESSORS).map(|cpu| (cpu, pages(cpu))).collect();
    let end_ns = CYCLES * 10_000 + 10_000;
    let decode = || Recorded::decode(&layout, all.clone(), &[], (0, end_ns));
    let recorded = decode();
    assert_eq!(recorded.lost(), 0);
    let copy = fastest(|| all.clone());
    let decoding = fastest(decode) - copy;
    let member = |i: u64| RosterTask { pid: (1000 + i / 50 * 100 + i % 50) as i32, job: 0, nice: 0, parent: None };
    let roster = Roster {
        jobs: vec!["ring".to_owned()],
        tasks: (0..u64::from(PROCESSORS) * 50).map(member).collect(),
        processors: (0..PROCESSORS).collect(),
        begin_ns: 0,
        end_ns,
        ..Roster::default()
    };
    let rows = fastest(|| recorded.rows(&roster));
    let millions = CYCLES as f64 * f64::from(PROCESSORS) * EVENTS / 1e6;
    println!("decode and merge {:>8.1} M events/s", millions / decoding);
    // Charges are used up in decoding.
    println!("rows of metrics  {:>8.1} M events/s", recorded.len() as f64 / 1e6 / rows);
    println!("together         {:>8.1} M events/s", millions / (decoding + rows));
}
