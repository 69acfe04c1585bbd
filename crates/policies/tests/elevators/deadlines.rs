//! deadline, mq_deadline and kyber: batches, expiry, classes, tokens.

use crate::rig;
use schedlab_model::{
    MILLISECOND, SECOND,
    request::{Direction, IoClass, Request},
};
use schedlab_testing::elevators::{drive::*, streams::*};

fn page_of(name: &str) -> String {
    schedlab_policies::elevators::ELEVATORS.iter().find(|info| info.name == name).unwrap().page()
}

fn reads_and_writes(name: &str, settings: &[(&str, &str)], reads: &[u64], writes: &[u64]) -> String {
    let mut rig = rig::plain(name, settings);
    for (direction, firsts) in [(Read, reads), (Write, writes)] {
        for &first in firsts {
            rig.submit(single(direction, first));
        }
    }
    rig.drain();
    rig.order()
}

#[test]
fn the_schedules_on_the_pages_are_what_they_do() {
    let order = reads_and_writes("deadline", &[], &[10, 30, 50, 70], &[20, 40, 60]);
    assert!(page_of("deadline").contains(&order), "{order}");
    let order = reads_and_writes("mq_deadline", &[("fifo_batch", "2")], &[10, 20, 30, 40, 50], &[15, 25, 35]);
    assert!(page_of("mq_deadline").contains(&order), "{order}");
    let mut rig = rig::plain("kyber", &[]);
    for first in 0..20 {
        rig.submit(single(Read, first * 10));
        rig.submit(single(Write, first * 10));
    }
    rig.drain();
    let spoken = runs(&rig, |served| served.request.direction)
        .into_iter()
        .map(|(direction, n)| format!("{n} {}", if direction == Read { "reads" } else { "writes" }));
    let spoken = spoken.collect::<Vec<_>>().join("  ");
    assert!(page_of("kyber").contains(&spoken), "{spoken}");
}

#[test]
fn with_random_readers_and_writers_mq_deadline_gives_two_batches_of_reads_then_one_of_writes() {
    let mut rig = rig::new("mq_deadline", &[], 1, |_, _| MILLISECOND / 10);
    play(&mut rig, &[random(block(1, Read, 0), 30), random(block(2, Write, 0), 30)], 2 * SECOND);
    let mut at = 0;
    let batches = runs(&rig, |served| served.request.direction);
    assert!(batches.len() > 100);
    for (direction, count) in &batches[..batches.len() - 1] {
        let run = &rig.log[at..at + count];
        let descents = run.windows(2).filter(|pair| pair[1].request.first < pair[0].request.first).count();
        let of = if *direction == Read { 2 } else { 1 };
        assert!(*count <= 16 * of && descents < of, "{count} of {direction:?}, {descents} times backwards");
        at += count;
    }
    let full = |of, count| batches.iter().filter(|&&batch| batch == (of, count)).count();
    assert!(full(Read, 32) > 10 && full(Write, 16) > 10);
}

#[test]
fn without_neighbours_deadline_gives_two_reads_then_one_write() {
    let mut rig = rig::new("deadline", &[], 1, |_, _| MILLISECOND / 10);
    play(&mut rig, &[random(block(1, Read, 0), 20), random(block(2, Write, 0), 20)], SECOND);
    let runs = runs(&rig, |served| served.request.direction);
    assert_eq!(&runs[..4], &[(Read, 2), (Write, 1), (Read, 2), (Write, 1)]);
    assert!(runs[..runs.len() - 1].iter().all(|&run| run == (Read, 2) || run == (Write, 1)));
}

#[test]
fn a_run_of_neighbours_is_a_batch_of_sixteen_for_deadline() {
    let mut rig = rig::plain("deadline", &[]);
    for n in 0..20 {
        rig.submit(single(Read, 1000 + n));
        rig.submit(single(Write, 5000 + n));
    }
    rig.drain();
    let runs = runs(&rig, |served| served.request.direction);
    // The second batch of reads is the rest of the first run; writes were passed over twice then.
    assert_eq!(runs, [(Read, 17), (Write, 16), (Read, 3), (Write, 4)]);
}

#[test]
fn with_one_request_of_each_direction_at_a_time_batches_shrink_to_one() {
    for name in ["deadline", "mq_deadline"] {
        let thinking = |stream| Stream { think: MILLISECOND / 10, ..stream };
        let mut rig = rig::plain(name, &[]);
        let streams = [random(block(1, Read, 0), 1), random(block(2, Write, 0), 1)].map(thinking);
        play(&mut rig, &streams, SECOND);
        assert!(runs(&rig, |served| served.request.direction).iter().all(|&(_, count)| count == 1), "{name}");
    }
}

#[test]
fn fifo_batch_1_serves_in_order_of_expiry_once_the_oldest_has_expired() {
    for name in ["deadline", "mq_deadline"] {
        let mut rig = rig::plain(name, &[("fifo_batch", "1")]);
        let firsts = [500, 100, 900, 300, 700];
        for first in firsts {
            rig.submit(single(Read, first));
        }
        rig.advance(600 * MILLISECOND);
        rig.drain();
        assert_eq!(rig.log.iter().map(|served| served.request.first).collect::<Vec<_>>(), firsts, "{name}");
    }
}

/// When a request behind the heads is served that competes with a stream of neighbours of the same direction, and how many
/// requests go before it after its expiry.
fn behind_a_stream(name: &str, direction: Direction, expire: u64) -> usize {
    let mut rig = rig::plain(name, &[]);
    let crowd = Stream { outstanding: 4, ..sequential(block(1, direction, 1_000_000)) };
    let victim = Stream { begins: 3 * MILLISECOND, think: 100 * SECOND, ..sequential(block(2, direction, 0)) };
    play(&mut rig, &[crowd, victim], 8 * SECOND);
    let served = rig.log.iter().position(|served| served.request.owner == 2).expect("it is served");
    let due = victim.begins + expire;
    assert!(rig.log[served].started >= due, "{name} serves it before it is urgent: the test shows nothing");
    rig.log[..served].iter().filter(|served| served.started > due).count()
}

#[test]
fn an_expired_request_is_served_after_the_current_batch_at_the_latest() {
    for name in ["deadline", "mq_deadline"] {
        assert!(behind_a_stream(name, Read, 500 * MILLISECOND) <= 16, "{name}");
        assert!(behind_a_stream(name, Write, 5 * SECOND) <= 16, "{name}");
    }
}

#[test]
fn next_to_a_real_time_stream_others_are_served_only_when_ten_seconds_old() {
    let mut rig = rig::plain("mq_deadline", &[]);
    let realtime = random(Request { class: IoClass::RealTime, ..block(1, Read, 0) }, 4);
    let others = Stream { think: 100 * SECOND, ..random(block(2, Read, 0), 3) };
    play(&mut rig, &[realtime, others], 10 * SECOND + 50 * MILLISECOND);
    let others: Vec<_> = rig.log.iter().filter(|served| served.request.owner == 2).collect();
    assert_eq!(others.len(), 3);
    assert!(others.iter().all(|served| served.started >= 10 * SECOND));
}

#[test]
fn a_lower_class_waits_for_what_a_higher_one_has_in_the_drive() {
    let mut rig = rig::new("mq_deadline", &[], 4, constant);
    rig.submit(single(Read, 10));
    rig.submit(Request { class: IoClass::Idle, ..single(Read, 20) });
    rig.drain();
    assert_eq!(rig.log[1].started, rig.log[0].ended);
}

#[test]
fn a_request_that_touches_the_front_is_joined_unless_that_is_switched_off() {
    for (name, setting, merged) in [
        ("deadline", "true", true),
        ("deadline", "false", false),
        ("mq_deadline", "true", true),
        ("mq_deadline", "false", false),
    ] {
        let mut rig = rig::plain(name, &[("front_merges", setting)]);
        let old = rig.submit(block(1, Read, 108)).unwrap();
        assert_eq!(rig.submit(block(1, Read, 100)) == Some(old), merged, "{name} {setting}");
        assert_eq!(rig.submit(block(1, Read, 116)), Some(old), "{name} {setting}: at the back in any case");
        rig.drain();
        assert_eq!(rig.log.iter().map(|served| served.request.sectors).sum::<u32>(), 24);
    }
}

#[test]
fn writes_wait_outside_when_async_depth_requests_are_held() {
    let mut rig = rig::plain("mq_deadline", &[("async_depth", "2")]);
    for first in [10, 20] {
        assert!(rig.submit(single(Write, first)).is_some());
    }
    assert!(rig.submit(single(Write, 30)).is_none() && rig.submit(single(Read, 30)).is_some());
}

#[test]
fn none_joins_a_request_only_to_the_last_one_of_its_owner() {
    let mut rig = rig::plain("none", &[]);
    let last = rig.submit(block(1, Read, 0)).unwrap();
    assert_eq!(rig.submit(block(1, Read, 8)), Some(last));
    assert_ne!(rig.submit(block(2, Read, 16)), Some(last), "another owner");
    rig.submit(block(1, Read, 100));
    assert_ne!(rig.submit(block(1, Read, 24)), Some(last), "no longer its last");
}

#[test]
fn kyber_gives_at_most_sixteen_reads_or_eight_writes_in_a_row_while_others_wait() {
    let mut rig = rig::plain("kyber", &[]);
    play(&mut rig, &[random(block(1, Read, 0), 30), random(block(2, Write, 0), 30)], SECOND);
    let runs = runs(&rig, |served| served.request.direction);
    assert!(runs.len() > 50);
    assert!(runs[..runs.len() - 1].iter().all(|&run| run == (Read, 16) || run == (Write, 8)), "{runs:?}");
}

/// The most requests of each direction that a drive of depth 64 has at a time in the last of these seconds, when it takes
/// three times kyber's target for a read and less than half of it for a write.
fn in_the_drive(seconds: u64, readers: usize, writers: usize) -> [usize; 2] {
    let mut rig = rig::new("kyber", &[], 64, |_, request| if request.direction == Read { 6 } else { 4 } * MILLISECOND);
    play(&mut rig, &[random(block(1, Read, 0), readers), random(block(2, Write, 0), writers)], seconds * SECOND);
    let last: Vec<_> = rig.log.iter().filter(|served| served.started >= (seconds - 1) * SECOND).collect();
    [Read, Write].map(|direction| {
        let of = || last.iter().filter(|served| served.request.direction == direction);
        let in_flight = |at| of().filter(|other| other.started <= at && at < other.ended).count();
        of().map(|served| in_flight(served.started)).max().unwrap_or(0)
    })
}

#[test]
fn kyber_takes_tokens_from_who_is_well_off_when_the_drive_is_late() {
    let [_, writes] = in_the_drive(20, 10, 20); // reads take three times their target, writes half of theirs
    assert!(writes < 20, "{writes} writes at a time");
    let [_, alone] = in_the_drive(20, 0, 20);
    assert_eq!(alone, 20, "nobody is late, nobody is held back");
}
