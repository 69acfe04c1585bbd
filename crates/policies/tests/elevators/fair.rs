//! cfq: slices of the drive's time, levels, and waiting.

use crate::rig;
use schedlab_model::{
    MILLISECOND, Nanos, SECOND,
    request::{IoClass, Request, Sector},
    task::TaskId,
};
use schedlab_testing::elevators::{drive::*, streams::*};

fn reader(owner: TaskId, level: u8) -> Stream {
    sequential(Request { level, ..block(owner, Read, Sector::from(owner) << 22) })
}

/// Turns: whose, and from the start of the first request to the end of the last.
fn turns(rig: &Rig) -> Vec<(TaskId, Nanos)> {
    let mut at = 0;
    let lengths = runs(rig, |served| served.request.owner).into_iter().map(|(owner, count)| {
        let run = &rig.log[at..at + count];
        at += count;
        (owner, run[count - 1].ended - run[0].started)
    });
    lengths.collect()
}

/// A slice ends with the first request behind its end, so a turn is longer by a request at most.
fn is_about(turn: Nanos, slice: Nanos) -> bool {
    (slice..slice + 9 * MILLISECOND).contains(&turn)
}

#[test]
fn equal_readers_alternate_every_slice() {
    let mut rig = rig::new("cfq", &[], 1, seeking);
    play(&mut rig, &[reader(1, 4), reader(2, 4)], 5 * SECOND);
    let turns = turns(&rig);
    assert!(turns.len() > 40);
    for pair in turns[1..turns.len() - 1].windows(2) {
        assert!(pair[0].0 != pair[1].0 && is_about(pair[0].1, 100 * MILLISECOND), "{pair:?}");
    }
}

#[test]
fn a_reader_of_level_0_has_slices_of_180_ms_eight_times_for_one_of_40_ms_of_level_7() {
    let mut rig = rig::new("cfq", &[], 1, seeking);
    play(&mut rig, &[reader(1, 0), reader(2, 7)], 30 * SECOND);
    let turns = turns(&rig);
    let of = |owner| turns[2..turns.len() - 1].iter().filter(move |turn| turn.0 == owner);
    // The windows 0; 0 1; ...; 0 1 2 3 4 5 6 7 are eight turns of level 0 and one of level 7.
    assert!(of(1).count() > 10);
    for &(_, turn) in of(1) {
        assert!((8 * 180 * MILLISECOND..8 * 189 * MILLISECOND).contains(&turn), "{turn}");
    }
    assert!(of(2).all(|&(_, turn)| is_about(turn, 40 * MILLISECOND)));
}

/// How many requests in a row a sequential reader has next to random readers, with this think time between them, and the
/// longest time that the drive idles, in the second half of ten seconds.
fn in_a_row(think: Nanos) -> (usize, Nanos) {
    let mut rig = rig::new("cfq", &[], 1, seeking);
    play(&mut rig, &[Stream { think, ..reader(1, 4) }, random(block(2, Read, 0), 8)], 10 * SECOND);
    rig.log.retain(|served| served.started >= 5 * SECOND);
    let still = rig.log.windows(2).map(|pair| pair[1].started - pair[0].ended).max().unwrap();
    let runs = runs(&rig, |served| served.request.owner);
    (runs.iter().filter(|run| run.0 == 1).map(|run| run.1).max().unwrap(), still)
}

#[test]
fn the_drive_waits_for_a_reader_that_thinks_less_than_slice_idle_and_not_for_one_that_thinks_longer() {
    let (row, still) = in_a_row(5 * MILLISECOND);
    assert!(row >= 100 / 7 && still == 5 * MILLISECOND, "a slice full of requests and thoughts");
    assert_eq!(in_a_row(12 * MILLISECOND), (1, 0));
}

#[test]
fn the_drive_does_not_wait_for_a_task_that_has_ended() {
    let ends = |exit: bool| {
        let mut rig = rig::new("cfq", &[], 1, seeking);
        let first = rig.submit(block(1, Read, 0));
        assert!(first.is_some());
        rig.start();
        rig.submit(block(2, Read, 1 << 20));
        let done = rig.next_event().unwrap();
        if exit {
            rig.exit(1);
        }
        rig.advance(done);
        rig.drain();
        rig.log[1].started - rig.log[0].ended
    };
    assert_eq!(ends(false), 8 * MILLISECOND);
    assert_eq!(ends(true), 0);
}

#[test]
fn the_idle_class_waits_until_there_was_no_other_request_for_100_ms() {
    let mut rig = rig::new("cfq", &[("slice_idle", "0ms")], 1, constant);
    rig.submit(block(1, Read, 0));
    rig.submit(Request { class: IoClass::Idle, ..block(2, Read, 1000) });
    rig.drain();
    assert_eq!(rig.log[1].started - rig.log[0].ended, 100 * MILLISECOND);
}

#[test]
fn the_real_time_class_joins_those_whose_turn_has_come_and_then_no_other_has_one() {
    let mut rig = rig::new("cfq", &[], 1, seeking);
    let realtime = Stream {
        request: Request { class: IoClass::RealTime, ..reader(3, 4).request },
        begins: 250 * MILLISECOND,
        ..reader(3, 4)
    };
    play(&mut rig, &[reader(1, 4), reader(2, 4), realtime], 3 * SECOND);
    let first = rig.log.iter().position(|served| served.request.owner == 3).unwrap();
    assert!(rig.log[first].started < 420 * MILLISECOND, "after the slice that runs and the one whose turn has come");
    assert!(rig.log[first..].iter().all(|served| served.request.owner == 3));
}

#[test]
fn write_back_has_sixteen_requests_of_level_4_a_turn_next_to_a_reader() {
    let mut rig = rig::new("cfq", &[("slice_async", "10s")], 1, constant);
    play(&mut rig, &[reader(1, 4), random(block(2, Write, 0), 40)], 5 * SECOND);
    let runs = runs(&rig, |served| served.request.direction);
    assert!(runs.len() > 10);
    // In whole rounds of 4, so exactly.
    assert!(runs[1..runs.len() - 1].iter().all(|&(direction, count)| direction == Read || count == 16), "{runs:?}");
}
