//! Tasks that take what others send as it comes.

use super::*;
use crate::work::{Wish, work};

/// Task 5 waits on processor 0 for what tasks 6 and 7 send, which run on processors of their own: in each round the one that is named does.
fn receiving(rounds: u64, sender: impl Fn(u64) -> Pid) -> Recording {
    let mut history = History::default();
    for cpu in 0..3 {
        history.event(&Event { cpu, ..event(Kind::Switch, 0, 0, 5 + Pid::from(cpu), 0) });
    }
    history.event(&event(Kind::Switch, 10, 5, 0, 1));
    for round in 0..rounds {
        let (begin, from) = (100 * round, sender(round));
        history.event(&Event { cpu: from as u16 - 5, ..event(Kind::Waking, begin + 50, 5, from, 0) });
        history.event(&event(Kind::Switch, begin + 55, 0, 5, 0));
        history.event(&event(Kind::Switch, begin + 80, 5, 0, 1));
    }
    history.finish()
}

fn has_inbox(recording: &Recording, pid: Pid) -> bool {
    let streams = work(recording, |_| Wish::default()).replay.streams;
    streams.iter().find(|stream| stream.pid == pid).unwrap().inbox
}

#[test]
fn a_task_that_waits_for_several_senders_in_turn_has_an_inbox_and_they_have_none() {
    let recording = receiving(40, |round| if round % 3 == 0 { 6 } else { 7 });
    assert_eq!([5, 6, 7].map(|pid| has_inbox(&recording, pid)), [true, false, false]);
}

#[test]
fn one_sender_and_one_that_is_rare_are_none() {
    assert!(!has_inbox(&receiving(40, |_| 6), 5));
    assert!(!has_inbox(&receiving(40, |round| if round < 7 { 6 } else { 7 }), 5), "seven of forty are few");
    assert!(has_inbox(&receiving(40, |round| if round < 8 { 6 } else { 7 }), 5));
    assert!(!has_inbox(&receiving(200, |round| if round < 9 { 6 } else { 7 }), 5), "less than a twentieth");
}
