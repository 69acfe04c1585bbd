//! Waits of which the recording does not show what ended them.

use super::*;
use crate::work::{Wish, work};
use schedlab_model::replay::Act;

/// Task 6 waits for task 5 in sixty turns; of some of these the waking is missing. Its waits: for 5, until a time, for so long.
fn waits(missing: impl Fn(u64) -> bool) -> [usize; 3] {
    let mut history = History::default();
    for turn in 0..60 {
        let at = 100 * turn;
        history.event(&event(Kind::Switch, at, 6, 5, 1));
        if !missing(turn) {
            history.event(&event(Kind::Waking, at + 50, 6, 5, 0));
        }
        history.event(&event(Kind::Switch, at + 60, 5, 6, 0));
    }
    let work = work(&history.finish(), |_| Wish::default());
    let stream = work.replay.streams.iter().find(|stream| stream.pid == 6).unwrap();
    let count = |is: fn(Act) -> bool| stream.acts.iter().filter(|act| is(act.act())).count();
    [
        count(|act| matches!(act, Act::Wait(_))),
        count(|act| matches!(act, Act::Until(_))),
        count(|act| act == Act::Sleep(60_000)),
    ]
}

#[test]
fn a_rare_wait_without_a_cause_lasts_as_long_as_it_did() {
    assert_eq!(waits(|turn| turn == 30), [59, 0, 1]);
    assert_eq!(waits(|turn| turn % 10 == 0), [54, 6, 0], "as many as these are of the task's own");
}
