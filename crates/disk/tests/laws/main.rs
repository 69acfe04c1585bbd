//! What holds for drives and for the queue above them: laws for everything first, closed forms where theory has the number.

mod conformance;
mod merging;
mod presets;
mod queue;
mod rotating;
mod solid_state;

use schedlab_disk::{Drive, Progress, RequestQueue, Rotating};
use schedlab_model::{
    Nanos,
    event::NO_TASK,
    info::Params,
    machine::{self, DiskQueue, Sourced},
    request::{Direction, IoClass, Request, Sector},
    rng::Rng,
    units::Size,
};
use schedlab_policies::elevators::{self, ELEVATORS, Elevator};

/// A drive of 1990 as data, with some values in place of its own.
fn disk(changes: &str) -> machine::Disk {
    let mut table: toml::Table = toml::from_str(
        r#"rotation = "3600/min"
        cylinders = 820
        heads = 6
        sectors = 17
        interleave = 1
        seek_track = "8ms"
        seek_full = "80ms"
        command = "0ns"
        sector_copy = "0ns""#,
    )
    .unwrap();
    table.extend(toml::from_str::<toml::Table>(changes).unwrap());
    table.try_into().unwrap()
}

fn rotating(changes: &str, seed: u64) -> Rotating {
    Rotating::new(&disk(changes), &mut Rng::stream(seed, 1))
}

/// A mergeable request; a read has a waiter.
fn request(direction: Direction, first: Sector, sectors: u32) -> Request {
    Request {
        first,
        sectors,
        direction,
        sync: direction == Direction::Read,
        mergeable: true,
        owner: NO_TASK,
        class: IoClass::default(),
        level: 4,
        arrived: 0,
    }
}

fn read(first: Sector, sectors: u32) -> Request {
    request(Direction::Read, first, sectors)
}

fn write(first: Sector, sectors: u32) -> Request {
    request(Direction::Write, first, sectors)
}

/// Mean of a sample and half the width of its interval at 99.9 %.
fn interval(sample: &[Nanos]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().map(|&x| x as f64).sum::<f64>() / n;
    let variance = sample.iter().map(|&x| (x as f64 - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, 3.29 * (variance / n).sqrt())
}

/// A drive that takes the same time for every command, with a limited number in parallel.
#[derive(Debug, Clone, Copy)]
struct Constant {
    takes: Nanos,
    depth: u32,
}

impl Drive for Constant {
    fn serve(&mut self, now: Nanos, _: Sector, _: u32, _: Direction) -> Nanos {
        now + self.takes
    }

    fn depth(&self) -> u32 {
        self.depth
    }

    fn rotational(&self) -> bool {
        false
    }

    fn sectors(&self) -> Sector {
        1 << 30
    }

    fn mean_service(&self, _: u32, _: Direction) -> Nanos {
        self.takes
    }
}

/// A queue with room for a number of requests, of which a number may be writes.
fn room(requests: u32, writes: u32) -> DiskQueue {
    DiskQueue { requests: Sourced::Bare(requests), writes: Sourced::Bare(writes), ..DiskQueue::default() }
}

/// A queue of requests that touch without being merged.
fn unmerged() -> DiskQueue {
    DiskQueue { merge: Sourced::Bare(false), ..DiskQueue::default() }
}

/// One that merges up to a number of sectors.
fn merging(sectors: u64) -> DiskQueue {
    DiskQueue { most: Sourced::Bare(Size(sectors * 512)), ..DiskQueue::default() }
}

/// An elevator of the table with its defaults.
fn elevator(name: &str, drive: &impl Drive, queue: &DiskQueue) -> Box<dyn Elevator> {
    let info = ELEVATORS.iter().find(|info| info.name == name).unwrap();
    let params = Params::check(info, []).unwrap();
    elevators::build(name, &params, &drive.device(queue.requests.get())).unwrap()
}

/// A queue in order of arrival above a drive that takes 1 ms.
fn constant(queue: &DiskQueue, depth: u32) -> RequestQueue<Constant, dyn Elevator> {
    let drive = Constant { takes: 1_000_000, depth };
    RequestQueue::new(queue, drive, elevator("fifo", &drive, queue))
}

/// Runs until nothing is left to happen, and gives the time of the last event.
fn finish<D: Drive>(queue: &mut RequestQueue<D, dyn Elevator>, progress: &mut Progress) -> Nanos {
    let mut last = 0;
    while let Some(next) = queue.next_event() {
        queue.advance(next, progress);
        last = next;
    }
    last
}
