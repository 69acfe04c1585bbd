//! Solid-state drives: channels side by side, pages on a channel one after the other.

use crate::{elevator, finish, read, room, unmerged};
use schedlab_disk::{Drive, Progress, RequestQueue, SolidState};
use schedlab_model::{
    Nanos, SECOND,
    machine::{self, DiskQueue},
    request::{Direction, Sector},
    rng::Rng,
};

const PAGE: u64 = 8;

/// Four channels, 100 us to read a page of 4 KiB, 400 us to write one.
fn drive(depth: u32, more: &str) -> SolidState {
    let text = format!(
        r#"{{"size":"64MiB","read":"100us","write":"400us","page":"4KiB","channels":4,"queue_depth":{depth}{more}}}"#
    );
    SolidState::new(&serde_json::from_str::<machine::SolidState>(&text).unwrap())
}

#[test]
fn a_request_takes_as_many_rounds_as_it_has_pages_on_its_fullest_channel() {
    let us = 1000;
    for (first, sectors, rounds) in [(0, 8, 1), (0, 32, 1), (0, 33, 2), (4, 32, 2), (7, 2, 1), (0, 1, 1), (8, 256, 8)] {
        assert_eq!(drive(1, "").serve(0, first, sectors, Direction::Read), rounds * 100 * us, "{sectors} from {first}");
        assert_eq!(
            drive(1, "").serve(0, first, sectors, Direction::Write),
            rounds * 400 * us,
            "{sectors} from {first}"
        );
    }
}

#[test]
fn overhead_and_bus_come_before_and_behind() {
    let done = drive(1, r#","overhead":"20us","bus_per_kib":"2us""#).serve(1000, 0, 16, Direction::Read);
    assert_eq!(done, 1000 + 20_000 + 100_000 + 16_000);
}

#[test]
fn requests_on_the_same_channel_wait_for_each_other_and_others_do_not() {
    let mut drive = drive(8, "");
    assert_eq!(drive.serve(0, 0, 8, Direction::Read), 100_000);
    assert_eq!(drive.serve(0, 4 * PAGE, 8, Direction::Write), 500_000);
    assert_eq!(drive.serve(0, PAGE, 8, Direction::Read), 100_000);
    assert_eq!(drive.serve(600_000, 0, 8, Direction::Read), 700_000);
}

/// Page reads per second with a number in parallel, on the channels in turn or at random.
fn reads_per_second(depth: u32, place: impl Fn(u64) -> Sector) -> f64 {
    const READS: u64 = 20_000;
    let (drive, limits) = (drive(depth, ""), unmerged());
    let policy = elevator("fifo", &drive, &limits);
    let mut queue = RequestQueue::new(&DiskQueue { requests: room(64, 64).requests, ..limits }, drive, policy);
    let mut progress = Progress::default();
    let (mut submitted, mut now) = (0, 0);
    while submitted < READS {
        while queue.held() < 64 && submitted < READS {
            queue.submit(now, read(place(submitted), 8), 0);
            submitted += 1;
        }
        queue.start(now, &mut progress);
        now = queue.next_event().unwrap();
        queue.advance(now, &mut progress);
    }
    let end: Nanos = finish(&mut queue, &mut progress).max(now);
    assert_eq!(progress.done.len() as u64, READS);
    READS as f64 * SECOND as f64 / end as f64
}

#[test]
fn throughput_is_depth_over_page_time_until_all_channels_work() {
    let in_turn = |n: u64| n % 1000 * PAGE;
    for (depth, channels) in [(1, 1.0), (2, 2.0), (4, 4.0), (16, 4.0)] {
        let (rate, expected) = (reads_per_second(depth, in_turn), channels * 10_000.0);
        assert!((rate / expected - 1.0).abs() < 0.001, "depth {depth}: {rate}");
    }
}

#[test]
fn random_pages_need_depth_to_keep_the_channels_busy() {
    let random = |n: u64| Rng::stream(n, 3).below(1000) * PAGE;
    let rates = [1, 4, 32].map(|depth| reads_per_second(depth, random));
    // One at a time is one channel; four at a time collide; with many, hardly a channel is ever idle.
    assert!((rates[0] / 10_000.0 - 1.0).abs() < 0.001, "{rates:?}");
    assert!(rates[1] > 20_000.0 && rates[1] < 32_000.0, "{rates:?}");
    assert!(rates[2] > 36_000.0 && rates[2] <= 40_000.0, "{rates:?}");
}
