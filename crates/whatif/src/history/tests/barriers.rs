//! Tasks that meet at barriers: how they are recognised, and what their streams are.

use super::*;
use crate::{causes::Override, work::Wish};
use schedlab_model::replay::{Act, Stream};

/// Three tasks, each on its own processor, that meet every millisecond: in each round one, chosen by its number, comes last and wakes the others,
/// us apart. The second of these begins its wait then.
fn meeting(rounds: u64, last: impl Fn(u64) -> Pid, apart: u64, second: u64) -> Recording {
    let on = |cpu: Pid, event: Event| Event { cpu: cpu as u16, ..event };
    let mut events: Vec<Event> = (0..3).map(|cpu| on(cpu, event(Kind::Switch, 0, 0, 5 + cpu, 0))).collect();
    for round in 0..rounds {
        let (begin, last) = (1000 * round, last(round));
        let others = (0..3).filter(|&cpu| cpu != last).zip([500, second]);
        for (at, (cpu, waits)) in (0..).zip(others) {
            let waking = event(Kind::Waking, begin + 700 + at * apart, 5 + cpu, 5 + last, 0);
            events.push(on(cpu, event(Kind::Switch, begin + waits, 5 + cpu, 0, 1)));
            events.push(Event { value: cpu as u64, ..on(last, waking) });
            events.push(on(cpu, event(Kind::Switch, begin + 900 + at, 0, 5 + cpu, 0)));
        }
    }
    events.sort_by_key(|event| event.time);
    let mut history = History::default();
    events.iter().for_each(|event| history.event(event));
    history.finish()
}

/// Each comes last in its turn.
fn in_turn(round: u64) -> Pid {
    (round % 3) as Pid
}

#[test]
fn tasks_of_which_another_comes_last_in_every_round_meet_at_a_barrier() {
    let recording = meeting(9, in_turn, 5, 501);
    assert_eq!(recording.barriers, [crate::Barrier { tasks: vec![0, 1, 2], rounds: 9 }]);
    for task in &recording.tasks {
        let waited = |step: &&Step| matches!(step, Step::Meet { waited: Some(_), .. });
        let meets = task.steps.iter().filter(|step| matches!(step, Step::Meet { .. }));
        assert_eq!((meets.clone().count(), meets.filter(waited).count()), (9, 6));
        let is_left = |step: &Step| matches!(step, Step::Signal { .. } | Step::Wait { .. });
        assert!(!task.steps[..task.steps.len() - 1].iter().any(is_left), "{:?}", task.steps);
    }
    let numbers = |task: &Task| {
        let number = |step: &Step| if let Step::Meet { number, .. } = *step { Some(number) } else { None };
        let mut numbers: Vec<u32> = task.steps.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    assert!(recording.tasks.iter().all(|task| numbers(task) == (0..9).collect::<Vec<u32>>()));
}

#[test]
fn what_only_looks_like_a_barrier_is_none() {
    let mostly_one = |round| if round == 7 { 0 } else { 1 };
    let all = [
        meeting(30, mostly_one, 5, 501),
        meeting(7, in_turn, 5, 501),   // few rounds
        meeting(9, in_turn, 150, 501), // work between the wakeups
        meeting(9, in_turn, 5, 702),   // the second did not wait yet when the first was woken
    ];
    for recording in all {
        assert_eq!(recording.barriers, []);
        assert!(recording.tasks.iter().flat_map(|task| &task.steps).all(|step| !matches!(step, Step::Meet { .. })));
    }
}

#[test]
fn tasks_that_are_left_out_or_open_are_met_by_no_other_and_copies_meet_none() {
    let recording = meeting(9, in_turn, 5, 501);
    let streams = |wish: Wish| {
        let work = crate::work::work(&recording, |task| if task.pid == 5 { wish } else { Wish::default() });
        let count = |stream: &Stream| {
            let acts = || stream.acts.iter().map(|act| act.act());
            let meets = acts().filter(|act| matches!(act, Act::Meet(number) if *number < 9)).count();
            let waits = acts().filter(|act| matches!(act, Act::Until(_) | Act::Sleep(_) | Act::Wait(_))).count();
            (stream.pid, meets, waits)
        };
        (work.replay.streams.iter().map(count).collect::<Vec<_>>(), work.causes[0].tasks)
    };
    assert_eq!(streams(Wish::default()), (vec![(5, 9, 0), (6, 9, 0), (7, 9, 0)], 6));
    assert_eq!(streams(Wish { removed: true, ..Wish::default() }), (vec![(6, 9, 0), (7, 9, 0)], 6));
    let open = Wish { waits: Some(Override::Open), ..Wish::default() };
    assert_eq!(streams(open), (vec![(5, 0, 6), (6, 9, 0), (7, 9, 0)], 0));
    let copied = Wish { copies: 1, ..Wish::default() };
    assert_eq!(streams(copied).0[3], (1, 0, 6), "with a number of its own");
}
