//! Requests per second that the queue and a rotating drive simulate, under every elevator of the table, compared with the bare
//! formula of the drive. Run it with
//!
//! ```sh
//! cargo run --release -p schedlab-disk --example throughput [NAME...]
//! ```
//!
//! A closed loop: as many random reads of 4 KiB are kept queued as the first column says; whenever one is complete, the
//! next is submitted. The bare loop gives the same reads to the drive one after the other. The fastest of
//! many short rounds counts: on a computer that others use as well, a long one is hardly ever left alone.

use schedlab_disk::{Drive, Progress, RequestQueue, Rotating, Submitted};
use schedlab_model::{
    event::NO_TASK,
    info::Params,
    machine::{Disk, DiskQueue, Sourced},
    request::{Direction, IoClass, Request, Sector},
    rng::Rng,
};
use schedlab_policies::elevators::{self, ELEVATORS, Entry, Visitor};
use std::{hint::black_box, time::Instant};

/// Requests of a round.
const REQUESTS: usize = 10_000;
const ROUNDS: u32 = 400;
/// A drive of the 1990s, with a voice coil.
const DISK: &str = r#"{
    "rotation": "7200/min", "cylinders": 16383, "heads": 16, "sectors": 63, "interleave": 1,
    "seek_track": "1ms", "seek_full": "16ms", "seek_curve": "root", "command": "0ns", "sector_copy": "0ns"
}"#;

fn disk() -> Rotating {
    Rotating::new(&serde_json::from_str::<Disk>(DISK).expect("the drive is written correctly"), &mut Rng::stream(1, 1))
}

fn read(first: Sector) -> Request {
    Request {
        first,
        sectors: 8,
        direction: Direction::Read,
        sync: true,
        mergeable: true,
        owner: NO_TASK,
        class: IoClass::BestEffort,
        level: 4,
        arrived: 0,
    }
}

/// ns per request, of the fastest round.
fn fastest(mut round: impl FnMut()) -> f64 {
    let timed = (0..ROUNDS).map(|_| {
        let began = Instant::now();
        round();
        began.elapsed().as_nanos() as f64 / REQUESTS as f64
    });
    timed.fold(f64::INFINITY, f64::min)
}

fn bare(places: &[Sector]) -> f64 {
    fastest(|| {
        let mut drive = disk();
        black_box(places.iter().fold(0, |now, &first| drive.serve(now, first, 8, Direction::Read)));
    })
}

/// A round of one elevator, with its type known to the compiler.
struct Loop<'a> {
    places: &'a [Sector],
    length: u32,
}

impl Visitor for Loop<'_> {
    type Output = f64;

    fn visit<E: Entry>(self) -> f64 {
        let limits = DiskQueue { requests: Sourced::Bare(256), writes: Sourced::Bare(256), ..DiskQueue::default() };
        let params = Params::check(&E::INFO, []).expect("defaults are valid");
        fastest(|| {
            let drive = disk();
            let elevator = Box::new(E::new(&params, &drive.device(256)));
            let mut queue = RequestQueue::new(&limits, drive, elevator);
            let mut progress = Progress::default();
            let mut places = self.places.iter();
            let mut now = 0;
            let mut submit = |queue: &mut RequestQueue<_, _>, now, count| {
                for &first in places.by_ref().take(count) {
                    assert_ne!(queue.submit(now, read(first), 0), Submitted::Full);
                }
            };
            submit(&mut queue, now, self.length as usize);
            queue.start(now, &mut progress);
            while let Some(next) = queue.next_event() {
                now = next;
                progress.clear();
                queue.advance(now, &mut progress);
                submit(&mut queue, now, progress.done.len());
                queue.start(now, &mut progress);
            }
            black_box(now);
        })
    }
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let sectors = disk().sectors();
    let mut rng = Rng::stream(2, 2);
    let places: Vec<Sector> = (0..REQUESTS).map(|_| rng.below(sectors / 8) * 8).collect();
    let barest = bare(&places);
    println!("queued  elevator            ns/request  million/s  x bare");
    let row = |queued: &str, name: &str, ns: f64| {
        println!("{queued:>6}  {name:18} {ns:>11.1} {:>10.2} {:>7.2}", 1e3 / ns, ns / barest);
    };
    row("-", "(the drive alone)", barest);
    for info in ELEVATORS.iter().filter(|info| wanted.is_empty() || wanted.iter().any(|name| name == info.name)) {
        for length in [1, 32, 128] {
            let ns = elevators::visit(info.name, Loop { places: &places, length }).expect("the table knows its own");
            row(&length.to_string(), info.name, ns);
        }
    }
}
