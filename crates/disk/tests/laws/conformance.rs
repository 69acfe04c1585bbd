//! What every elevator of the table must leave true of the queue: each request is served once, all of it, and the drive
//! does not rest while it could work.

use crate::{disk, elevator, finish, merging, read, room, write};
use schedlab_disk::{Done, Drive, Progress, RequestQueue, Rotating, SolidState, Started, Submitted};
use schedlab_model::{
    Nanos,
    info::Promise,
    machine::{self, DiskQueue},
    request::{IoClass, Request},
    rng::Rng,
};
use schedlab_policies::elevators::ELEVATORS;
use std::collections::VecDeque;

/// A drive with chips: four channels, eight requests at a time.
fn chips() -> SolidState {
    let text = r#"{"size":"64MiB","read":"80us","write":"300us","page":"4KiB","channels":4,"queue_depth":8,"overhead":"10us"}"#;
    SolidState::new(&serde_json::from_str::<machine::SolidState>(text).unwrap())
}

/// Bursts of requests of several tasks, near each other and far away.
fn random(rng: &mut Rng, sectors: u64) -> Request {
    let sectors_wanted = 1 + rng.below(16) as u32;
    let near = rng.below(2) == 0;
    let first = if near { rng.below(500) } else { rng.below(sectors - 16) };
    let make = if rng.below(3) == 0 { write } else { read };
    let class = [IoClass::BestEffort, IoClass::BestEffort, IoClass::Idle, IoClass::RealTime][rng.below(4) as usize];
    let (owner, level, mergeable) = (rng.below(5) as u32, rng.below(8) as u8, rng.below(10) > 0);
    let request = make(first, sectors_wanted);
    Request { owner, class, level, mergeable, sync: request.sync || rng.below(4) == 0, ..request }
}

/// Everything that was accepted, and everything that happened.
#[derive(Debug, PartialEq)]
struct Run {
    accepted: Vec<Request>,
    done: Vec<Done>,
    started: Vec<Started>,
    /// Whether the drive was ever left idle while requests were queued.
    rested: bool,
}

fn run<D: Drive>(name: &str, drive: D, queue: &DiskQueue, seed: u64) -> Run {
    let mut rng = Rng::stream(seed, 1);
    let policy = elevator(name, &drive, queue);
    let sectors = drive.sectors();
    let mut queue = RequestQueue::new(queue, drive, policy);
    let (mut progress, mut accepted, mut waiting) = (Progress::default(), Vec::new(), VecDeque::new());
    let (mut now, mut rested) = (0, false);
    for _ in 0..300 {
        // What waits for the drive is retried after each completion, as a kernel does.
        let until = now + [0, rng.below(2_000_000), rng.below(60_000_000)][rng.below(3) as usize];
        while let Some(next) = queue.next_event().filter(|&next| next <= until) {
            now = next;
            queue.advance(now, &mut progress);
            submit(&mut queue, now, &mut waiting, &mut accepted);
            queue.start(now, &mut progress);
            rested |= queue.in_service() == 0 && queue.held() > 0;
        }
        now = until;
        (0..rng.below(12)).for_each(|_| waiting.push_back(random(&mut rng, sectors)));
        if rng.below(2) == 0 {
            queue.plug();
        }
        submit(&mut queue, now, &mut waiting, &mut accepted);
        queue.unplug(now, &mut progress);
        queue.set_swapping(rng.below(2) as u32);
        queue.start(now, &mut progress);
        rested |= queue.in_service() == 0 && queue.held() > 0;
    }
    while !waiting.is_empty() || queue.held() > 0 {
        now = queue.next_event().unwrap_or_else(|| panic!("{name} forgets {} requests", queue.held()));
        queue.advance(now, &mut progress);
        submit(&mut queue, now, &mut waiting, &mut accepted);
        queue.start(now, &mut progress);
    }
    finish(&mut queue, &mut progress);
    Run { accepted, done: progress.done, started: progress.started, rested }
}

/// Submits what waits, first come, first served, until the queue is full.
fn submit<D: Drive, E: schedlab_policies::elevators::Elevator + ?Sized>(
    queue: &mut RequestQueue<D, E>,
    now: Nanos,
    waiting: &mut VecDeque<Request>,
    accepted: &mut Vec<Request>,
) {
    while let Some(request) = waiting.pop_front() {
        if queue.submit(now, request, accepted.len() as u32) == Submitted::Full {
            assert!(queue.held() > 0, "an empty queue admits everything");
            waiting.push_front(request);
            return;
        }
        accepted.push(Request { arrived: now, ..request });
    }
}

/// Runs each elevator over each drive with some queues.
fn each(check: impl Fn(&str, Run)) {
    let small = "cylinders = 200";
    for info in ELEVATORS {
        for (seed, queue) in [DiskQueue::default(), room(16, 6), merging(24)].iter().enumerate() {
            let seed = seed as u64;
            let heads = Rotating::new(&disk(small), &mut Rng::stream(seed, 2));
            check(info.name, run(info.name, heads, queue, seed));
            check(info.name, run(info.name, chips(), queue, seed));
        }
    }
}

#[test]
fn every_part_is_completed_once_and_after_it_arrived() {
    each(|name, Run { accepted, mut done, .. }| {
        done.sort_by_key(|part| part.token);
        assert_eq!(
            done.iter().map(|part| part.token).collect::<Vec<_>>(),
            (0..accepted.len() as u32).collect::<Vec<_>>(),
            "{name}"
        );
        for (part, request) in done.iter().zip(&accepted) {
            assert_eq!(part.request, *request, "{name}");
            assert!(request.arrived <= part.started && part.started < part.finished, "{name}: {part:?}");
        }
    });
}

#[test]
fn as_many_sectors_are_served_as_were_requested() {
    let sum = |requests: &mut dyn Iterator<Item = Request>| requests.map(|r| u64::from(r.sectors)).sum::<u64>();
    each(|name, Run { accepted, started, .. }| {
        let served = sum(&mut started.iter().map(|started| started.request));
        assert_eq!(served, sum(&mut accepted.into_iter()), "{name}");
    });
}

#[test]
fn what_promises_to_conserve_work_never_rests_while_a_request_is_queued() {
    each(|name, run| {
        let info = ELEVATORS.iter().find(|info| info.name == name).unwrap();
        if info.promises.iter().any(|promise| matches!(promise, Promise::WorkConserving(_))) {
            assert!(!run.rested, "{name}");
        }
    });
}

#[test]
fn the_same_requests_give_the_same_run() {
    for info in ELEVATORS {
        let once = || run(info.name, Rotating::new(&disk(""), &mut Rng::stream(9, 2)), &room(32, 20), 9);
        assert_eq!(once(), once(), "{}", info.name);
    }
}
