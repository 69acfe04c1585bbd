//! anticipatory: who is waited for, and for how long.

use crate::rig;
use schedlab_model::{MILLISECOND, Nanos, SECOND, request::Sector};
use schedlab_testing::elevators::{drive::*, streams::*};

const ANTIC_EXPIRE: Nanos = 6_666_667;
/// Far from everybody else.
const FAR: Sector = 1 << 28;

/// A sequential reader with think time, next to a random one without: the runs of the first, in time and in requests.
fn runs_of_a_thinker(think: Nanos, settings: &[(&str, &str)]) -> Vec<(Nanos, usize)> {
    let mut rig = rig::new("anticipatory", settings, 1, seeking);
    let thinker = Stream { think, ..sequential(block(1, Read, FAR)) };
    play(&mut rig, &[thinker, random(block(2, Read, 0), 1)], 10 * SECOND);
    let mut at = 0;
    let mut found = Vec::new();
    for (owner, count) in runs(&rig, |served| served.request.owner) {
        let run = &rig.log[at..at + count];
        at += count;
        if owner == 1 {
            found.push((run[count - 1].ended - run[0].started, count));
        }
    }
    found.pop();
    found.split_off(found.len() / 4)
}

#[test]
fn a_stream_that_thinks_2_ms_keeps_the_drive_until_the_other_read_has_expired() {
    let kept = runs_of_a_thinker(2 * MILLISECOND, &[]);
    assert!(kept.len() > 10);
    for (time, count) in kept {
        assert!((100 * MILLISECOND..=135 * MILLISECOND).contains(&time), "{time} ns");
        assert!(count >= 40);
    }
}

#[test]
fn without_anticipation_the_stream_loses_the_drive_at_each_thought() {
    assert!(runs_of_a_thinker(2 * MILLISECOND, &[("antic_expire", "0ms")]).iter().all(|run| run.1 == 1));
}

#[test]
fn the_drive_does_not_wait_for_a_task_that_thinks_longer_than_antic_expire() {
    assert!(runs_of_a_thinker(9 * MILLISECOND, &[]).iter().all(|run| run.1 == 1));
}

/// A read of task 1 is served while one of task 2 waits at `other`; how long the drive waits after it.
fn waits(other: Sector, exit: bool) -> Nanos {
    let mut rig = rig::new("anticipatory", &[], 1, constant);
    rig.submit(block(1, Read, FAR));
    rig.start();
    rig.submit(block(2, Read, other));
    if exit {
        rig.exit(1);
    }
    rig.drain();
    rig.log[1].started - rig.log[0].ended
}

#[test]
fn the_drive_waits_antic_expire_unless_the_next_read_is_close_or_the_task_has_ended() {
    assert_eq!(waits(0, false), ANTIC_EXPIRE);
    assert_eq!(waits(0, true), 0);
    assert_eq!(waits(FAR + 8192, false), 0);
    assert_eq!(waits(FAR - 4096 + 8, false), 0);
    assert_eq!(waits(FAR + 8 + 8193, false), ANTIC_EXPIRE);
}

#[test]
fn reads_and_write_back_take_turns_by_time_when_both_wait() {
    let mut rig = rig::new("anticipatory", &[], 1, constant);
    play(&mut rig, &[random(block(1, Read, 0), 10), random(block(2, Write, 0), 30)], 70 * SECOND);
    let runs = runs(&rig, |served| served.request.direction);
    let batches: Vec<_> = runs.iter().filter(|run| run.0 == Write).map(|run| run.1).collect();
    assert_eq!(batches[..4], [12, 24, 48, 49], "doubled while it takes less than a third of its time");
    let late = &runs[runs.len() * 7 / 8..runs.len() - 1];
    assert!(late.len() > 6);
    for &(direction, count) in late {
        // A request takes 1 ms; the number of writes is tuned towards 125.
        let range = if direction == Read { 495..=510 } else { 115..=135 };
        assert!(range.contains(&count), "{count} of {direction:?}");
    }
}
