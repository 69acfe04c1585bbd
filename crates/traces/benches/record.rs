//! What recording costs, in ns and bytes per event, into a sink, a file, and a file written behind; and what traces for viewers
//! cost, in ns and bytes per context switch with its wakeup, into a sink.
//! `cargo bench -p schedlab-traces`

use schedlab_model::event::{Event, Kind, Leave, NO_TASK, Observer};
use schedlab_traces::{Names, WriteBehind, chrome, perfetto, recording::Recorder};
use std::{fs::File, hint::black_box, io, io::Write, time::Instant};

const SWITCHES: u64 = 10_000_000;
const EVENTS: f64 = SWITCHES as f64 * 4.0;

/// Context switches of 100 tasks in a ring: wakeup, switch-in, switch-out, overhead.
#[inline(never)]
fn drive<O: Observer>(mut observer: O) -> O {
    let (mut now, mut random) = (0u64, 1u64);
    let event = |kind, task, flag, time, a, b| Event { time, a, b, task, cpu: 0, kind, flag };
    (0..100).for_each(|task| observer.observe(event(Kind::Created, task, 128, 0, 0, NO_TASK.into())));
    for i in 0..SWITCHES {
        let (task, woken) = ((i % 100) as u32, ((i + 3) % 100) as u32);
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let ran = 10_000 + (random >> 44);
        observer.observe(event(Kind::Wakeup, woken, 0, now, 0, 0));
        observer.observe(event(Kind::SwitchIn, task, 0, now, 0, 0));
        now += ran;
        observer.observe(event(Kind::SwitchOut, task, Leave::Blocked as u8, now, ran - 500, 500));
        observer.observe(event(Kind::Overhead, NO_TASK, 0, now, 1000, 0));
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

/// Counts the bytes and drops them.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn ns_per_event<T>(work: impl FnOnce() -> T) -> f64 {
    let start = Instant::now();
    black_box(work());
    start.elapsed().as_nanos() as f64 / EVENTS
}

fn main() -> io::Result<()> {
    let path = std::env::temp_dir().join("schedlab-bench.recording");
    let new = |names: &Names| Recorder::new(Count(0), names);
    let names = Names { processors: 1, ..Names::default() };
    let bytes = drive(new(&names)?).finish()?.0;
    let bare = ns_per_event(|| drive(Sum(0)));
    let recorder = new(&names)?;
    let sink = ns_per_event(|| drive(recorder).finish());
    let recorder = Recorder::new(File::create(&path)?, &names)?;
    let file = ns_per_event(|| drive(recorder).finish());
    let recorder = Recorder::new(WriteBehind::new(File::create(&path)?)?, &names)?;
    let behind = ns_per_event(|| drive(recorder).finish());
    std::fs::remove_file(path)?;
    let per_switch = |bytes: u64, ns: f64| (bytes as f64 / SWITCHES as f64, ns * EVENTS / SWITCHES as f64);
    let mut written = 0;
    let ns =
        ns_per_event(|| written = drive(perfetto::Tracer::new(Count(0), &names, None)).finish().map_or(0, |out| out.0));
    let protobuf = per_switch(written, ns);
    let ns =
        ns_per_event(|| written = drive(chrome::Tracer::new(Count(0), &names, None)).finish().map_or(0, |out| out.0));
    let json = per_switch(written, ns);
    println!("bytes per event {:.2}", bytes as f64 / EVENTS);
    println!("ns per event: bare loop {bare:.2}, into a sink {sink:.2}, into a file {file:.2}, behind {behind:.2}");
    println!("bytes per switch: Perfetto {:.1}, JSON {:.1}", protobuf.0, json.0);
    println!("ns per switch: Perfetto {:.1}, JSON {:.1}", protobuf.1, json.1);
    Ok(())
}
