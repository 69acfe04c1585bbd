//! What listening costs, in ns per context switch (wakeup, switch-in, switch-out, overhead) and per event.
//! `cargo bench -p schedlab-metrics`

use schedlab_metrics::{Collector, Setup};
use schedlab_model::{
    event::{Event, Kind, Leave, NO_TASK, Observer},
    machine::Accounting,
};
use std::{hint::black_box, time::Instant};

const SWITCHES: u64 = 20_000_000;

/// Tasks in a ring that block after a slice of changing length, so that histograms see various values.
#[inline(never)]
fn drive<O: Observer>(tasks: u32, mut observer: O) -> O {
    let (mut now, mut random) = (0u64, 1u64);
    let event = |kind, task, flag, time, a, b| Event { time, a, b, task, cpu: 0, kind, flag };
    for task in 0..tasks {
        observer.observe(event(Kind::Created, task, 128, 0, 0, NO_TASK.into()));
    }
    for i in 0..SWITCHES {
        let (task, woken) = ((i % u64::from(tasks)) as u32, ((i + 3) % u64::from(tasks)) as u32);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ran = 10_000 + (random >> 48);
        observer.observe(event(Kind::Wakeup, woken, 0, now, 0, 0));
        observer.observe(event(Kind::SwitchIn, task, 0, now, 0, 0));
        now += ran;
        observer.observe(event(Kind::SwitchOut, task, Leave::Blocked as u8, now, ran - 500, 500));
        observer.observe(event(Kind::Overhead, task, 0, now, 1000, 0));
        now += 1000;
    }
    observer
}

/// The same loop with nothing to do but to add the events up.
struct Sum(u64);

impl Observer for Sum {
    #[inline]
    fn observe(&mut self, e: Event) {
        self.0 = self.0.wrapping_add(e.time ^ e.a ^ e.b ^ u64::from(e.task));
    }
}

fn ns_per_switch<O: Observer>(tasks: u32, observer: O) -> f64 {
    let start = Instant::now();
    black_box(drive(tasks, observer));
    start.elapsed().as_nanos() as f64 / SWITCHES as f64
}

fn main() {
    println!("{:>8} {:>14} {:>14} {:>14}", "tasks", "bare ns/switch", "with metrics", "ns/event more");
    for tasks in [10, 100, 1_000, 100_000] {
        let setup =
            Setup { jobs: vec!["job".to_owned()], processors: 1, accounting: Accounting::Exact, ..Setup::default() };
        let bare = ns_per_switch(tasks, Sum(0));
        let full = ns_per_switch(tasks, Collector::new(setup));
        println!("{tasks:>8} {bare:>14.2} {full:>14.2} {:>14.2}", (full - bare) / 4.0);
    }
}
