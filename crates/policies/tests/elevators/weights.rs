//! bfq: sectors by weight, raising, waiting, classes.

use crate::rig;
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    request::{IoClass, Request, Sector},
    task::TaskId,
};
use schedlab_testing::elevators::{drive::*, streams::*};

fn reader(owner: TaskId, level: u8) -> Stream {
    let request = Request { level, sectors: 64, ..block(owner, Read, Sector::from(owner) << 22) };
    Stream { outstanding: 4, ..sequential(request) }
}

fn without_raising(streams: &[Stream], time: Nanos) -> Rig {
    let mut rig = rig::new("bfq", &[("low_latency", "false")], 1, seeking);
    play(&mut rig, streams, time);
    rig
}

#[test]
fn backlogged_readers_of_weights_40_and_80_have_sectors_one_to_two() {
    let rig = without_raising(&[reader(0, 4), reader(1, 0)], 20 * SECOND);
    let [a, b] = sectors(&rig, 2)[..] else { unreachable!() };
    assert!((190..=210).contains(&(b * 100 / a)), "{a} to {b}");
}

#[test]
fn readers_of_equal_weight_have_equal_sectors() {
    let rig = without_raising(&[reader(0, 4), reader(1, 4), reader(2, 4)], 20 * SECOND);
    let all = sectors(&rig, 3);
    assert!(all.iter().max().unwrap() * 100 / all.iter().min().unwrap() <= 106, "{all:?}");
}

/// Sectors of a reader that has gone on for a minute, and of one that is new then, in a second.
fn a_second_beside_a_new_reader(low_latency: &str) -> [u64; 2] {
    let mut rig = rig::new("bfq", &[("low_latency", low_latency)], 1, seeking);
    let late = Stream { begins: 60 * SECOND, ..reader(1, 4) };
    // Within a second it cannot have the 120000 sectors that end the raise.
    play(&mut rig, &[reader(0, 4), late], 61 * SECOND);
    [0, 1].map(|owner| {
        let of = rig.log.iter().filter(|s| s.request.owner == owner && s.started >= 60 * SECOND);
        of.map(|s| u64::from(s.request.sectors)).sum()
    })
}

#[test]
fn a_queue_that_comes_after_two_seconds_counts_thirty_times_up_to_one_budget_of_the_other() {
    let [old, new] = a_second_beside_a_new_reader("true");
    assert!(old <= 16384 + new / 30, "{old} beside {new}");
    assert!(new > 5 * old, "{old} beside {new}");
    let [old, new] = a_second_beside_a_new_reader("false");
    assert!(new < 2 * old, "{old} beside {new}");
}

#[test]
fn none_of_many_queues_that_are_created_together_is_raised() {
    let mut rig = rig::new("bfq", &[], 1, seeking);
    let burst: Vec<_> = (1..=12).map(|n| Stream { begins: 60 * SECOND, ..reader(n, 4) }).collect();
    let streams: Vec<_> = [reader(0, 4)].into_iter().chain(burst).collect();
    play(&mut rig, &streams, 70 * SECOND);
    let after = |owner| rig.log.iter().filter(|s| s.request.owner == owner && s.started >= 62 * SECOND).count();
    let all: usize = (0..=12).map(after).sum();
    assert!(after(0) * 13 * 100 / all >= 80, "{} of {all}", after(0));
}

#[test]
fn write_back_counts_three_times_next_to_a_reader_of_the_same_weight() {
    let writer = Stream { outstanding: 40, ..sequential(Request { sectors: 64, ..block(1, Write, 1 << 24) }) };
    let rig = without_raising(&[reader(0, 4), writer], 20 * SECOND);
    let [read, written] = sectors(&rig, 2)[..] else { unreachable!() };
    assert!((270..=330).contains(&(read * 100 / written)), "{read} to {written}");
}

#[test]
fn the_idle_class_has_a_turn_every_200_ms_next_to_a_backlog_and_the_real_time_class_all_others() {
    let class = |owner, class| Stream { request: Request { class, ..reader(owner, 4).request }, ..reader(owner, 4) };
    let rig = without_raising(
        &[class(0, IoClass::RealTime), class(1, IoClass::BestEffort), class(2, IoClass::Idle)],
        10 * SECOND,
    );
    let served = |owner| rig.log.iter().filter(|s| s.request.owner == owner).count();
    assert_eq!(served(1), 0);
    assert!((25..=50).contains(&served(2)), "{}", served(2));
}

#[test]
fn the_drive_waits_slice_idle_for_a_reader_and_not_at_all_if_that_is_zero() {
    let waits = |slice_idle| {
        let mut rig = rig::new("bfq", &[("low_latency", "false"), ("slice_idle", slice_idle)], 1, constant);
        rig.submit(block(1, Read, 0));
        rig.start();
        rig.submit(block(2, Read, 1 << 20));
        rig.drain();
        rig.log[1].started - rig.log[0].ended
    };
    assert_eq!(waits("8ms"), 8 * MILLISECOND);
    assert_eq!(waits("0ms"), 0);
}

/// The longest that a reader waits for the drive in the second minute, with this think time after each read of 32 KiB,
/// next to one that always has requests.
fn longest_wait(level: u8, think: Nanos, low_latency: &str) -> Nanos {
    let mut rig = rig::new("bfq", &[("low_latency", low_latency)], 1, seeking);
    let thinker = Stream { think, outstanding: 1, ..reader(1, level) };
    play(&mut rig, &[reader(0, 4), thinker], 120 * SECOND);
    let late = rig.log.iter().filter(|s| s.request.owner == 1 && s.started >= 60 * SECOND);
    late.map(|s| s.started - s.request.arrived).max().unwrap()
}

/// The drive is in the middle of one request, with a seek.
const AT_ONCE: Nanos = 9 * MILLISECOND;

#[test]
fn who_comes_back_after_two_seconds_is_served_at_once_and_who_does_after_one_waits() {
    // Level 5, for whom soft real-time is no way out.
    assert!(longest_wait(5, 3 * SECOND, "true") <= AT_ONCE);
    assert!(longest_wait(5, SECOND, "true") > 4 * AT_ONCE);
    assert!(longest_wait(5, 3 * SECOND, "false") > 4 * AT_ONCE);
}

#[test]
fn who_reads_little_and_pauses_is_soft_real_time_and_served_at_once() {
    let [raised, plain] = ["true", "false"].map(|low_latency| longest_wait(4, 100 * MILLISECOND, low_latency));
    assert!(raised <= AT_ONCE && plain > 2 * AT_ONCE, "{raised} ns and {plain} ns");
}
