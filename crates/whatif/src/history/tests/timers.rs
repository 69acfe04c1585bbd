//! Waits that timers end, by how the timers were started.

use super::*;
use crate::work::{Causes, Wish, work};
use schedlab_model::replay::Act;

/// Task 5 computes for 1 ms and sleeps for one of these times, 80 times; its timers start in that context and mode.
fn slept(ms: &[u64], context: Context, relative: u8) -> Causes {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 0, 5, 0));
    let mut now = 0;
    for turn in 0..80 {
        now += 1000;
        let start = event(Kind::TimerStart, now - 1, Event::NO_TASK, 5, 0);
        history.event(&start);
        history.event(&Event { kind: Kind::TimerExpiry, bits: Event::bits(relative, context), ..start });
        history.event(&event(Kind::Switch, now, 5, 0, 1));
        now += 1000 * ms[turn % ms.len()];
        let by_timer =
            |kind, task| Event { bits: Event::bits(0, Context::HardInterrupt), ..event(kind, now, task, 0, 0) };
        history.event(&by_timer(Kind::VectorEntry, Event::NO_TASK));
        history.event(&by_timer(Kind::TimerExpire, Event::NO_TASK));
        history.event(&by_timer(Kind::Waking, 5));
        history.event(&by_timer(Kind::TimerDone, Event::NO_TASK));
        history.event(&by_timer(Kind::VectorExit, Event::NO_TASK));
        history.event(&event(Kind::Switch, now, 0, 5, 0));
    }
    work(&history.finish(), |_| Wish::default()).causes[0]
}

const IRREGULAR: [u64; 7] = [2, 7, 3, 5, 11, 1, 6];

#[test]
fn timers_that_are_started_for_a_time_from_then_are_relative_whatever_their_lengths() {
    let by_length = slept(&IRREGULAR, Context::Task, 1);
    assert_eq!((by_length.relative, by_length.irregular), (80, 0));
    let by_time = slept(&IRREGULAR, Context::Task, 0);
    assert_eq!((by_time.relative, by_time.irregular), (80, 80), "it may have added now to a length");
}

#[test]
fn a_timer_that_an_interrupt_starts_is_not_the_task_s() {
    assert_eq!(slept(&IRREGULAR, Context::HardInterrupt, 1).irregular, 80);
}

/// Task 5 has a period of 5 ms and 2 ms of work in each, in the middle of which task 6 runs for a while; it counts the period anew after it was late.
fn player() -> Recording {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 0, 5, 0));
    let (mut now, mut due) = (0, 0);
    for turn in 0..200 {
        let other = [0, 2_300, 1_100, 9_700, 50, 6_200, 0, 2_900][turn as usize % 8] + turn % 7;
        history.event(&event(Kind::Switch, now + 1000, 5, 6, 0));
        history.event(&event(Kind::Switch, now + 1000 + other, 6, 5, 0));
        now += 2000 + other;
        due = now.max(due + 5000);
        if due > now {
            history.event(&event(Kind::Switch, now, 5, 0, 1));
            history.event(&event(Kind::VectorEntry, due, Event::NO_TASK, 0, 0));
            history.event(&event(Kind::TimerExpire, due, Event::NO_TASK, 0, 0));
            history.event(&event(Kind::Waking, due, 5, 0, 0));
            history.event(&event(Kind::TimerDone, due, Event::NO_TASK, 0, 0));
            history.event(&event(Kind::VectorExit, due, Event::NO_TASK, 0, 0));
            history.event(&event(Kind::Switch, due, 0, 5, 0));
            now = due;
        }
    }
    history.finish()
}

#[test]
fn a_task_that_counts_its_period_anew_does_in_each_what_it_did_in_one() {
    let work = work(&player(), |_| Wish::default());
    let at = work.replay.streams.iter().position(|stream| stream.pid == 5).unwrap();
    assert!(work.causes[at].restarting > 100 && work.causes[at].relative == 0, "{:?}", work.causes[at]);
    let acts: Vec<Act> = work.replay.streams[at].acts.iter().map(|act| act.act()).collect();
    let periods: Vec<u64> = acts
        .split(|act| matches!(act, Act::Period(5_000_000) | Act::Sleep(_)))
        .map(|acts| acts.iter().map(|act| if let Act::Compute(length) = act { *length } else { 0 }).sum())
        .collect();
    assert_eq!(periods[..200], [2_000_000; 200]);
    assert_eq!(periods[200..].iter().sum::<u64>(), 0);
}
