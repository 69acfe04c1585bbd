//! Tests of `follow.rs`.

use super::*;
use schedlab_policies::schedulers::Cfs;

const TICK: Nanos = 4_000_000;
const HOGS: &str = r#"{
    "machine": { "name": "bare", "processors": 1, "clock": { "hz": "250/s" } },
    "scheduler": { "name": "cfs" },
    "workload": { "a": { "steps": [{ "compute": "1s" }] }, "b": { "steps": [{ "compute": "1s" }] } }
}"#;

fn event(time: Nanos, kind: Kind, task: TaskId, a: Nanos) -> Event {
    Event { time, a, b: 0, task, cpu: 0, kind, flag: if kind == Kind::Created { 128 } else { 0 } }
}

/// A kernel switches between two hogs at every tick, looking at its clock at the tick and at the choice.
fn alternating(turns: u64) -> Vec<Event> {
    let mut events = vec![event(0, Kind::Created, 0, 0), event(0, Kind::Created, 1, 1)];
    events.extend([event(10, Kind::Wakeup, 0, 0), event(20, Kind::SwitchIn, 0, 0), event(30, Kind::Wakeup, 1, 0)]);
    for turn in 1..turns {
        let (time, from, to) = (turn * TICK + 7_000, 1 - (turn % 2) as u32, (turn % 2) as u32);
        events.push(event(time, Kind::Charged, from, TICK - 9_000));
        events.push(event(time + 9_000, Kind::Charged, from, 9_000));
        events.push(event(time + 12_000, Kind::SwitchOut, from, 0));
        events.push(event(time + 12_000, Kind::SwitchIn, to, 0));
    }
    events
}

fn followed(events: &[Event]) -> Followed {
    followed_as(HOGS, events)
}

fn followed_as(scenario: &str, events: &[Event]) -> Followed {
    let scenario: Scenario = serde_json::from_str(scenario).unwrap();
    let jobs = ["a".to_owned(), "b".to_owned()];
    let story = Story { jobs: &jobs, events, from: 0, until: Nanos::MAX, tick: TICK };
    follow::<Cfs>(&scenario, &story).unwrap()
}

#[test]
fn a_kernel_with_the_rules_of_the_policy_is_followed_to_the_end() {
    let found = followed(&alternating(100));
    assert_eq!((found.choices, found.switches, found.difference), (100, 100, None));
}

#[test]
fn the_first_choice_of_another_task_is_reported() {
    let mut events = alternating(100);
    let at = events.iter().rposition(|it| it.kind == Kind::SwitchIn).unwrap();
    events[at].task = 1 - events[at].task;
    let difference = followed(&events).difference.unwrap();
    assert_eq!((difference.at, difference.what), (99 * TICK + 19_000, "they choose differently"));
    assert_eq!((difference.policy, difference.kernel), (Some(1), Some(0)));
}

#[test]
fn a_switch_that_the_policy_did_not_want_is_reported() {
    let mut events = alternating(10);
    let early = 9 * TICK + TICK / 2;
    events.extend([event(early, Kind::SwitchOut, 1, 0), event(early, Kind::SwitchIn, 0, 0)]);
    assert_eq!(followed(&events).difference.unwrap().what, "only the kernel chooses anew");
}

#[test]
fn a_task_that_is_ready_at_the_begin_has_waited_since_the_switch_before() {
    let (events, jobs) = (alternating(10), []);
    let story = Story { jobs: &jobs, events: &events, from: 5 * TICK, until: Nanos::MAX, tick: TICK };
    assert_eq!(story.ready(), [1, 0]);
}

#[test]
fn a_tick_that_an_interrupt_delays_is_still_the_tick() {
    let mut events = alternating(100);
    let late = |it: &Event| (50 * TICK..51 * TICK).contains(&it.time);
    events.iter_mut().filter(|it| late(it)).for_each(|it| it.time += 100_000);
    let found = followed(&events);
    assert_eq!((found.choices, found.difference), (100, None));
}

#[test]
fn a_switch_that_an_interrupt_delays_still_belongs_to_its_choice() {
    let mut events = alternating(100);
    let switches = |it: &Event| matches!(it.kind, Kind::SwitchOut | Kind::SwitchIn) && it.time > 50 * TICK;
    events.iter_mut().filter(|it| switches(it)).take(2).for_each(|it| it.time += 70_000);
    let found = followed(&events);
    assert_eq!((found.choices, found.difference), (100, None));
}

/// Ticks of a slice under SCHED_RR, ticks until 950 ms are exceeded, and when in a tick the kernel switches.
const SLICE: u64 = 25;
const ENOUGH: u64 = 238;
const SWITCHES: Nanos = 20_000;
const WAKES: Nanos = 30_000;

/// Two SCHED_RR hogs on a kernel that reports no charges of theirs: they take turns of 100 ms, are stopped at the first tick after
/// 950 ms, and go on a second after the first of them woke, where they were.
fn real_time(period: Nanos) -> Vec<Event> {
    let mut events = vec![event(0, Kind::Created, 0, 0), event(0, Kind::Created, 1, 1)];
    let woken = [
        event(WAKES, Kind::Wakeup, 0, 0),
        event(WAKES + 9, Kind::SwitchIn, 0, 0),
        event(WAKES + 19, Kind::Wakeup, 1, 0),
    ];
    events.extend(woken);
    let mut switch = |time, from: u64, to: u64| {
        events.push(event(time, Kind::SwitchOut, from as u32 % 2, 0));
        events.push(event(time, Kind::SwitchIn, to as u32 % 2, 0));
    };
    (1..=ENOUGH / SLICE).for_each(|turn| switch(turn * SLICE * TICK + SWITCHES, turn - 1, turn));
    let last = ENOUGH / SLICE;
    let rest = (SLICE - ENOUGH % SLICE) * TICK;
    switch(period / TICK * TICK + rest + SWITCHES, last, last + 1);
    let at = events.len() - 2;
    let stops = ENOUGH * TICK + SWITCHES;
    let stopped = [
        event(stops, Kind::SwitchOut, last as u32 % 2, 0),
        event(stops, Kind::Idle, u32::MAX, 0),
        event(period, Kind::SwitchIn, last as u32 % 2, 0),
    ];
    events.splice(at..at, stopped);
    events
}

#[test]
fn real_time_tasks_are_stopped_and_go_on_by_the_rules_of_the_policy() {
    let scenario = HOGS.replace(r#""steps""#, r#""policy": "rr", "priority": 10, "steps""#);
    let second = 1_000_000_000;
    let found = followed_as(&scenario, &real_time(second + WAKES + 15));
    assert_eq!((found.choices, found.difference), (ENOUGH / SLICE + 3, None));
    // A kernel that lets them go on earlier has another rule.
    let found = followed_as(&scenario, &real_time(second - 2 * TICK));
    assert_eq!(found.difference.unwrap().what, "they choose differently");
}

/// One tick came while the second task had its policy and had not gone to sleep yet: its first slice is shorter, and no other is.
#[test]
fn a_tick_before_the_recording_counts_for_the_first_slice_under_round_robin() {
    let scenario = HOGS.replace(r#""steps""#, r#""policy": "rr", "priority": 10, "steps""#);
    let turns = |lengths: &[u64]| {
        let mut events = real_time(1_000_000_000);
        events.truncate(5);
        let mut ticks = 0;
        for (turn, length) in (0..).zip(lengths) {
            ticks += length;
            events.push(event(ticks * TICK + SWITCHES, Kind::SwitchOut, turn % 2, 0));
            events.push(event(ticks * TICK + SWITCHES, Kind::SwitchIn, (turn + 1) % 2, 0));
        }
        followed_as(&scenario, &events).difference.map(|difference| difference.what)
    };
    assert_eq!(turns(&[SLICE, SLICE, SLICE]), None);
    assert_eq!(turns(&[SLICE, SLICE - 1, SLICE, SLICE]), None);
    assert_eq!(turns(&[SLICE, SLICE - 2]), Some("only the kernel chooses anew"));
    assert_eq!(turns(&[SLICE, SLICE - 1, SLICE, SLICE - 1]), Some("only the kernel chooses anew"));
}
