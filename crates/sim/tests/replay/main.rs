//! Tasks of a recording that do again what they did: closed forms, and laws over random recordings.

mod servers;

use proptest::prelude::*;
use schedlab_model::{
    event::{AnyObserver, Event, Kind, Leave},
    replay::{Act, Packed, Replay, Stream},
    scenario::{Recording, Scenario},
};
use schedlab_policies::schedulers::{Cfs, Eevdf, Fifo, RoundRobin};
use schedlab_sim::observe;
use std::{collections::BTreeMap, sync::Arc};

type Some = (Fifo, (RoundRobin, (Eevdf, Cfs)));

fn stream(acts: &[Act]) -> Stream {
    Stream { job: "tasks".to_owned(), acts: acts.iter().copied().map(Packed::from).collect(), ..Stream::default() }
}

fn scenario(streams: Vec<Stream>, span: u64, scheduler: &str, processors: u16, until: u64) -> Scenario {
    let edges = streams.iter().flat_map(|stream| &stream.acts).map(|act| match act.act() {
        Act::Signal(edge) | Act::Wait(edge) => edge + 1,
        _ => 0,
    });
    let work = Replay { edges: edges.max().unwrap_or(0), span, ..Replay::default() };
    let count = streams.len();
    let text = format!(
        r#"{{
        "machine": {{ "name": "m", "processors": {processors}, "clock": {{ "hz": "1000/s" }} }},
        "scheduler": {{ "name": "{scheduler}" }},
        "duration": "{until}ns",
        "workload": {{ "tasks": {{ "replay": "tasks", "count": {count}, "passes": "forever" }} }}
    }}"#
    );
    let recording = Recording {
        file: String::new(),
        sha256: String::new(),
        speed: None,
        work: Some(Arc::new(Replay { streams, ..work })),
    };
    Scenario { recording: Some(recording), ..serde_json::from_str(&text).unwrap() }
}

fn run(scenario: &Scenario) -> Vec<Event> {
    let mut events = Vec::new();
    observe::<Some, _>(scenario, 1, AnyObserver(&mut events)).unwrap();
    events
}

/// When each task left its processor because it waited or had ended.
fn leaves(events: &[Event], task: u32) -> Vec<u64> {
    let waits = |event: &&Event| {
        event.kind == Kind::SwitchOut
            && event.task == task
            && [Leave::Blocked as u8, Leave::Exited as u8].contains(&event.flag)
    };
    events.iter().filter(waits).map(|event| event.time).collect()
}

/// What each task computed, ns.
fn computed(events: &[Event]) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for event in events.iter().filter(|event| event.kind == Kind::SwitchOut) {
        *sums.entry(event.task).or_default() += event.a;
    }
    sums
}

#[test]
fn a_task_waits_for_the_progress_of_another_and_not_for_a_time() {
    let asks = stream(&[Act::Compute(10), Act::Signal(0), Act::Wait(1), Act::Compute(5), Act::Exit]);
    let answers = stream(&[Act::Wait(0), Act::Compute(40), Act::Signal(1), Act::Exit]);
    let events = run(&scenario(vec![asks.clone(), answers.clone()], 100, "fifo", 2, 1000));
    assert_eq!(leaves(&events, 0), [10, 55]);
    assert_eq!(leaves(&events, 1), [0, 50]);
    // On one processor the answer is there in time all the same.
    let events = run(&scenario(vec![asks, answers], 100, "fifo", 1, 1000));
    assert_eq!(leaves(&events, 0), [10, 55]);
}

#[test]
fn a_task_that_is_faster_than_it_was_goes_on_at_once_unless_it_keeps_times() {
    // It came at 10 ns; whatever it does then is done again after that, and again.
    let comes = stream(&[Act::Until(10), Act::Compute(10), Act::Sleep(20)]);
    let events = run(&scenario(vec![comes], 100, "fifo", 1, 130));
    assert_eq!(leaves(&events, 0), [0, 20, 50, 80, 110]);
    // Times of the recording come again when it would begin again.
    let keeps = stream(&[Act::Until(10), Act::Compute(5), Act::Until(50), Act::Compute(5)]);
    let events = run(&scenario(vec![keeps], 100, "fifo", 1, 180));
    assert_eq!(leaves(&events, 0), [0, 15, 55, 115, 155]);
}

#[test]
fn a_task_that_yields_goes_on_after_the_others() {
    let yields = stream(&[Act::Compute(10), Act::Yield, Act::Compute(10), Act::Exit]);
    let events = run(&scenario(vec![yields.clone(), yields.clone()], 100, "round_robin", 1, 1000));
    assert_eq!([leaves(&events, 0), leaves(&events, 1)], [[30], [40]]);
    let alone = run(&scenario(vec![yields], 100, "round_robin", 1, 1000));
    assert_eq!(leaves(&alone, 0), [20]);
}

#[test]
fn a_task_that_executes_a_program_goes_where_less_is_to_do() {
    let first = |acts: &[Act]| Stream { cpu: Some(0), ..stream(acts) };
    let executes = first(&[Act::Compute(10), Act::Exec, Act::Compute(500), Act::Exit]);
    let hog = first(&[Act::Compute(5000), Act::Exit]);
    let events = run(&scenario(vec![executes, hog], 5000, "eevdf", 2, 400));
    let moved = events.iter().find(|event| event.kind == Kind::Migrated && event.time > 0);
    assert_eq!(moved.map(|event| (event.task, event.time)), Some((0, 10)));
}

#[test]
fn an_answer_that_is_there_is_not_waited_for() {
    let early = stream(&[Act::Signal(0), Act::Exit]);
    let late = stream(&[Act::Compute(10), Act::Wait(0), Act::Compute(10), Act::Exit]);
    let events = run(&scenario(vec![early, late], 100, "fifo", 2, 1000));
    assert_eq!(leaves(&events, 1), [20]);
}

#[test]
fn times_of_the_recording_move_on_by_its_length_with_each_pass() {
    let ticking = stream(&[Act::Until(30), Act::Compute(1), Act::Until(60), Act::Compute(1)]);
    let events = run(&scenario(vec![ticking], 100, "fifo", 1, 250));
    assert_eq!(leaves(&events, 0), [0, 31, 61, 131, 161, 231]);
}

#[test]
fn a_late_task_does_not_wait_for_a_time_that_has_passed() {
    let late = stream(&[Act::Compute(50), Act::Until(30), Act::Compute(1), Act::Exit]);
    assert_eq!(leaves(&run(&scenario(vec![late], 100, "fifo", 1, 1000)), 0), [51]);
}

#[test]
fn a_relative_timer_counts_from_the_begin_of_the_wait() {
    let sleeps = stream(&[Act::Compute(5), Act::Sleep(30), Act::Compute(5), Act::Sleep(30), Act::Exit]);
    assert_eq!(leaves(&run(&scenario(vec![sleeps], 100, "fifo", 1, 1000)), 0), [5, 40, 70]);
}

#[test]
fn a_period_ends_a_period_after_the_one_before_and_begins_anew_where_the_task_is_late() {
    let period = Act::Period(100);
    let acts =
        [Act::Compute(10), Act::Sleep(90), Act::Compute(30), period, Act::Compute(130), period, Act::Compute(20)];
    let player = stream(&[&acts[..], &[period, Act::Exit]].concat());
    // The second ends at 200. The third is over at 300, when it still computes, and the fourth begins at 330.
    assert_eq!(leaves(&run(&scenario(vec![player], 1000, "fifo", 1, 2000)), 0), [10, 130, 350, 430]);
}

#[test]
fn a_child_begins_at_its_parents_progress_and_once() {
    let parent = stream(&[Act::Compute(20), Act::Begin(1), Act::Compute(20)]);
    let child = Stream { begun: true, ..stream(&[Act::Compute(7), Act::Exit]) };
    let events = run(&scenario(vec![parent, child], 40, "fifo", 2, 200));
    let created: Vec<_> = events.iter().filter(|event| event.kind == Kind::Created && event.task == 1).collect();
    assert_eq!((created.len(), created[0].time, created[0].b), (1, 20, 0));
    assert_eq!(leaves(&events, 1), [27]);
}

#[test]
fn what_an_ended_task_would_have_sent_is_not_waited_for_in_later_passes() {
    let ends = stream(&[Act::Compute(5), Act::Signal(0), Act::Exit]);
    let goes_on = stream(&[Act::Wait(0), Act::Compute(10), Act::Until(100)]);
    let events = run(&scenario(vec![ends, goes_on], 100, "fifo", 2, 350));
    assert_eq!(leaves(&events, 1), [0, 15, 110, 210, 310]);
}

#[test]
fn a_task_with_an_inbox_takes_what_comes_first() {
    let sends = |after, edge| stream(&[Act::Compute(after), Act::Signal(edge), Act::Exit]);
    let takes = [Act::Wait(0), Act::Compute(5), Act::Wait(1), Act::Compute(5), Act::Exit];
    let left = |inbox, first, second| {
        let takes = Stream { inbox, ..stream(&takes) };
        leaves(&run(&scenario(vec![sends(first, 0), sends(second, 1), takes], 100, "fifo", 3, 1000)), 2)
    };
    assert_eq!((left(false, 10, 30), left(true, 10, 30)), (vec![0, 15, 35], vec![0, 15, 35]));
    assert_eq!((left(false, 30, 10), left(true, 30, 10)), (vec![0, 40], vec![0, 15, 35]));
}

#[test]
fn what_was_sent_before_a_task_with_an_inbox_waits_is_there() {
    let sends = stream(&[Act::Signal(0), Act::Signal(1), Act::Exit]);
    let waits =
        [Act::Compute(10), Act::Wait(1), Act::Compute(5), Act::Wait(0), Act::Compute(5), Act::Wait(2), Act::Exit];
    let last = stream(&[Act::Compute(40), Act::Signal(2), Act::Exit]);
    let takes = Stream { inbox: true, ..stream(&waits) };
    assert_eq!(leaves(&run(&scenario(vec![takes, sends, last], 100, "fifo", 3, 1000)), 0), [20, 40]);
}

#[test]
fn a_sender_that_has_ended_gives_a_task_with_an_inbox_nothing_more_and_takes_nothing_from_it() {
    // What the first sends comes first, and what the second sends at 50 and 100 ends the other waits.
    let takes =
        [Act::Wait(1), Act::Compute(5), Act::Wait(0), Act::Compute(5), Act::Wait(2), Act::Compute(5), Act::Exit];
    let takes = Stream { inbox: true, ..stream(&takes) };
    let ends = stream(&[Act::Compute(3), Act::Signal(0), Act::Exit]);
    let sends = stream(&[Act::Compute(50), Act::Signal(1), Act::Compute(50), Act::Signal(2), Act::Exit]);
    assert_eq!(leaves(&run(&scenario(vec![takes, ends.clone(), sends], 200, "fifo", 3, 1000)), 0), [0, 8, 55, 105]);
    // In later passes only the second sends, which waits for the task itself.
    let takes = [Act::Wait(0), Act::Compute(10), Act::Wait(1), Act::Compute(10), Act::Signal(3), Act::Compute(10)];
    let takes = Stream { inbox: true, ..stream(&takes) };
    let answers = stream(&[Act::Compute(2), Act::Signal(1), Act::Wait(3)]);
    let events = run(&scenario(vec![takes, ends, answers], 200, "fifo", 3, 2000));
    assert!(computed(&events)[&0] > 1000, "{:?}", computed(&events));
}

#[test]
fn a_task_pays_for_leaving_idle_once_for_each_wakeup_there() {
    let sleeps = stream(&[Act::Compute(5), Act::Sleep(30), Act::Compute(5), Act::Exit]);
    let mut scenario = scenario(vec![sleeps], 100, "fifo", 1, 1000);
    let work = scenario.recording.as_mut().unwrap().work.as_mut().unwrap();
    Arc::get_mut(work).unwrap().delays = [vec![3], vec![], vec![]];
    assert_eq!(leaves(&run(&scenario), 0), [5, 43]);
}

#[test]
fn a_task_that_wakes_another_and_waits_is_not_preempted_in_between() {
    let asks = stream(&[Act::Compute(10), Act::Signal(0), Act::Wait(1), Act::Compute(5), Act::Exit]);
    let answers = stream(&[Act::Wait(0), Act::Compute(40), Act::Signal(1), Act::Exit]);
    let mut scenario = scenario(vec![asks, answers], 100, "eevdf", 1, 1000);
    let job = scenario.workload.get_mut("tasks").unwrap();
    job.slice = Some(schedlab_model::units::Duration(100_000));
    assert_eq!(leaves(&run(&scenario), 0), [10, 55]);
}

#[test]
fn a_woken_task_pays_for_a_preemption_and_not_for_a_processor_that_another_has_left() {
    const LONG: u64 = 50_000_000;
    let woken = stream(&[Act::Wait(0), Act::Compute(5), Act::Exit]);
    let ends = |rest: &[Act]| {
        let wakes = stream(&[&[Act::Compute(LONG), Act::Signal(0)], rest, &[Act::Exit]].concat());
        let mut scenario = scenario(vec![woken.clone(), wakes], 2 * LONG, "cfs", 1, 4 * LONG);
        let work = scenario.recording.as_mut().unwrap().work.as_mut().unwrap();
        Arc::get_mut(work).unwrap().delays = [vec![], vec![], vec![2]];
        leaves(&run(&scenario), 0)[1] - LONG
    };
    assert_eq!(ends(&[Act::Compute(LONG)]), 7);
    assert_eq!(ends(&[Act::Sleep(LONG)]), 5);
}

#[test]
fn a_task_begins_on_the_processor_where_it_was_seen_first_if_there_is_one() {
    let begins = |cpu| {
        let first = Stream { cpu, ..stream(&[Act::Compute(10), Act::Exit]) };
        let events = run(&scenario(vec![first], 100, "eevdf", 2, 1000));
        events.iter().find(|event| event.kind == Kind::SwitchIn).map(|event| event.cpu)
    };
    assert_eq!((begins(Some(0)), begins(Some(1)), begins(Some(7))), (Some(0), Some(1), begins(None)));
}

#[test]
fn tasks_that_meet_wait_until_the_last_has_come_whichever_that_is() {
    let comes = |after| stream(&[Act::Compute(after), Act::Meet(0), Act::Compute(5), Act::Exit]);
    for [first, second, third] in [[10, 20, 30], [30, 20, 10], [10, 30, 20]] {
        let events = run(&scenario(vec![comes(first), comes(second), comes(third)], 100, "fifo", 3, 1000));
        for (task, came) in (0..).zip([first, second, third]) {
            let wanted: &[u64] = if came == 30 { &[35] } else { &[came, 35] };
            assert_eq!(leaves(&events, task), wanted);
        }
    }
}

#[test]
fn tasks_that_begin_anew_meet_again_and_do_without_those_that_have_ended() {
    let (fast, slow) = (stream(&[Act::Compute(10), Act::Meet(0)]), stream(&[Act::Compute(30), Act::Meet(0)]));
    let ends = stream(&[Act::Compute(50), Act::Meet(0), Act::Exit]);
    let events = run(&scenario(vec![fast, slow, ends], 100, "fifo", 3, 145));
    assert_eq!(leaves(&events, 0), [10, 60, 90, 120]);
    assert_eq!(leaves(&events, 1), [30], "it is the last from then on");
    assert_eq!(leaves(&events, 2), [50]);
}

#[test]
fn a_task_that_ends_lets_those_go_that_waited_only_for_it() {
    // Two meet in every pass; the third has the meeting, too, and ends before it has come to it.
    let meets = stream(&[Act::Compute(10), Act::Meet(0)]);
    let ends = stream(&[Act::Compute(35), Act::Exit, Act::Meet(0)]);
    let events = run(&scenario(vec![meets.clone(), meets, ends], 100, "fifo", 3, 60));
    assert_eq!((leaves(&events, 0)[0], leaves(&events, 1)[0]), (10, 10));
    assert_eq!(leaves(&events, 2), [35]);
    let again = |task| leaves(&events, task).into_iter().filter(|&time| time > 35).collect::<Vec<_>>();
    assert_eq!([again(0), again(1)].concat().iter().min(), Some(&45));
}

#[test]
fn a_task_that_something_ends_by_the_clock_works_until_then_whatever_it_has_done() {
    let works = |length| Stream { until: Some(1_000_000), ..stream(&[Act::Compute(length)]) };
    for (length, processors) in [(300_000, 2), (1_000_000, 2), (1_000_000, 1)] {
        let events =
            run(&scenario(vec![works(length), works(length)], 2_000_000, "round_robin", processors, 5_000_000));
        let ends: Vec<u64> = events.iter().filter(|event| event.kind == Kind::Exited).map(|event| event.time).collect();
        assert_eq!(ends.len(), 2);
        assert!(ends.iter().all(|end| (1_000_000..=1_210_000).contains(end)), "{ends:?}");
        let all: u64 = computed(&events).values().sum();
        assert!(all >= 1_000_000 * u64::from(processors) && all <= 1_210_000 * u64::from(processors), "{all}");
    }
}

#[test]
fn a_task_may_wake_very_many_before_it_waits() {
    let wakes = stream(&[vec![Act::Signal(0); 500_000], vec![Act::Sleep(10), Act::Exit]].concat());
    assert_eq!(leaves(&run(&scenario(vec![wakes], 100, "fifo", 1, 1000)), 0), [0, 10]);
}

#[test]
fn a_task_that_waits_for_a_pipe_comes_to_its_waker_and_one_that_waits_for_a_lock_stays() {
    const MS: u64 = 1_000_000;
    let woken_on = |locks| {
        let on = |cpu, acts: &[Act]| Stream { cpu: Some(cpu), ..stream(acts) };
        let waits = on(1, &[Act::Compute(MS), Act::Wait(0), Act::Compute(10 * MS), Act::Exit]);
        let hog = on(1, &[Act::Compute(500 * MS), Act::Exit]);
        let wakes = on(0, &[Act::Compute(100 * MS), Act::Signal(0), Act::Compute(100 * MS), Act::Exit]);
        let streams = vec![Stream { locks, ..waits }, hog, wakes];
        let events = run(&scenario(streams, 500 * MS, "eevdf", 2, 400 * MS));
        let woken = events.iter().find(|event| event.kind == Kind::Wakeup && event.task == 0 && event.time > MS);
        woken.map(|event| event.cpu)
    };
    assert_eq!((woken_on(false), woken_on(true)), (Some(0), Some(1)));
}

/// Recordings whose waits were all answered: each edge is given by a task at an earlier moment than it is waited for. At some moments two to
/// four tasks meet, at others one asks the fifth, which wakes others, too. Some have inboxes.
fn any_recording() -> impl Strategy<Value = Vec<Stream>> {
    let moment = (0..5_usize, 0..5_usize, 1..50_u64, prop::option::weighted(0.2, 2..=4_usize));
    (prop::collection::vec(moment, 1..60), any::<[bool; 5]>()).prop_map(|(moments, inboxes)| {
        let mut acts: Vec<Vec<Act>> = vec![Vec::new(); 5];
        for (number, (from, to, length, meet)) in (0..).zip(moments) {
            acts[from].push(Act::Compute(length));
            if let Some(count) = meet.filter(|_| from < 4) {
                (from..from + count).for_each(|task| acts[task % 4].push(Act::Meet(number)));
            } else if to == 4 && from < 4 {
                acts[from].push(Act::Ask(0));
                acts[to].extend([Act::Take(0), Act::Compute(length), Act::Answer(0)]);
            } else if from != to {
                acts[from].push(Act::Signal(number));
                acts[to].push(Act::Wait(number));
            }
        }
        let all = acts.iter().map(|acts| stream(&[acts.as_slice(), &[Act::Exit]].concat()));
        all.zip(inboxes).map(|(stream, inbox)| Stream { inbox, ..stream }).collect()
    })
}

/// Recordings of messages alone; some tasks end, and others begin anew.
fn any_messages() -> impl Strategy<Value = Vec<Stream>> {
    let moment = (0..5_usize, 0..5_usize, 1..50_u64);
    (prop::collection::vec(moment, 1..40), any::<[(bool, bool); 5]>()).prop_map(|(moments, kinds)| {
        let mut acts: Vec<Vec<Act>> = vec![vec![Act::Compute(1)]; 5];
        for (number, (from, to, length)) in (0..).zip(moments) {
            acts[from].push(Act::Compute(length));
            if from != to {
                acts[from].push(Act::Signal(number));
                acts[to].push(Act::Wait(number));
            }
        }
        let of = |(mut acts, (inbox, ends)): (Vec<Act>, (bool, bool))| {
            acts.extend(ends.then_some(Act::Exit));
            Stream { inbox, ..stream(&acts) }
        };
        acts.into_iter().zip(kinds).map(of).collect()
    })
}

proptest! {
    #[test]
    fn tasks_that_begin_anew_go_on_for_ever_whichever_others_end(streams in any_messages()) {
        let ends: Vec<bool> = streams.iter().map(|stream| stream.acts.last() == Some(&Act::Exit.into())).collect();
        let events = run(&scenario(streams, 10_000, "fifo", 5, 200_000));
        let left = |task| leaves(&events, task).into_iter().next_back();
        let is_switch = |event: &&Event| matches!(event.kind, Kind::SwitchIn | Kind::SwitchOut);
        let last = |task| events.iter().rev().filter(is_switch).find(|event| event.task == task);
        for (task, ends) in (0..).zip(ends) {
            if ends {
                prop_assert!(left(task).is_some_and(|time| time < 100_000), "{task} ends");
            } else {
                let goes_on = |event: &Event| event.kind == Kind::SwitchIn || event.time > 180_000;
                prop_assert!(last(task).is_some_and(goes_on), "{task} goes on");
            }
        }
    }

    #[test]
    fn every_recording_comes_to_its_end_and_computes_what_it_computed(
        streams in any_recording(), processors in 1..4_u16, which in 0..4_usize,
    ) {
        let wanted: BTreeMap<u32, u64> = (0..).zip(&streams).map(|(task, stream)| {
            let length = |act: &Packed| if let Act::Compute(length) = act.act() { length } else { 0 };
            (task, stream.acts.iter().map(length).sum())
        }).collect();
        let scheduler = ["fifo", "round_robin", "eevdf", "cfs"][which];
        let events = run(&scenario(streams, 10_000, scheduler, processors, 1_000_000));
        prop_assert_eq!(events.iter().filter(|event| event.kind == Kind::Exited).count(), 5);
        prop_assert_eq!(computed(&events), wanted);
    }
}
