//! Tasks that answer others: how they are recognised, and what their streams are.

use super::*;
use crate::{
    Server,
    causes::Override,
    work::{Wish, Work, work},
};
use schedlab_model::replay::{Act, Stream};

const MS: u64 = 1000;

/// A server, task 5, and two clients, 6 and 7, each on its own processor. Every millisecond one of them sends a request, for which the server
/// waits, computes for some us and waits; the other sends one while the server is busy. The server computes 200 us for the first, 10 and
/// 190 for the second, and 10 before it waits.
fn serving(rounds: u64, computes: u64) -> Vec<Event> {
    serving_first(rounds, computes, |round| if round % 3 == 0 { 1 } else { 2 })
}

/// The same, and which of them comes first in each round: its processor.
fn serving_first(rounds: u64, computes: u64, first: impl Fn(u64) -> Pid) -> Vec<Event> {
    let on = |cpu: Pid, event: Event| Event { cpu: cpu as u16, ..event };
    let mut events: Vec<Event> = (0..3).map(|cpu| on(cpu, event(Kind::Switch, 0, 0, 5 + cpu, 0))).collect();
    events.push(event(Kind::Switch, 10, 5, 0, 1));
    for round in 0..rounds {
        let begin = MS * round;
        let first = first(round);
        let second = 3 - first;
        let answers =
            |at, client: Pid| Event { value: client as u64, ..event(Kind::Waking, begin + at, 5 + client, 5, 0) };
        events.extend([
            on(first, event(Kind::Waking, begin + 100, 5, 5 + first, 0)),
            event(Kind::Switch, begin + 105, 0, 5, 0),
            on(first, event(Kind::Switch, begin + 100 + computes, 5 + first, 0, 1)),
            on(second, event(Kind::Switch, begin + 170, 5 + second, 0, 1)),
            answers(305, first),
            on(first, event(Kind::Switch, begin + 310, 0, 5 + first, 0)),
            answers(505, second),
            on(second, event(Kind::Switch, begin + 510, 0, 5 + second, 0)),
            event(Kind::Switch, begin + 515, 5, 0, 1),
        ]);
    }
    events
}

fn recorded(mut events: Vec<Event>) -> Recording {
    events.sort_by_key(|event| event.time);
    let mut history = History::default();
    events.iter().for_each(|event| history.event(event));
    history.finish()
}

fn acts(stream: &Stream) -> Vec<Act> {
    stream.acts.iter().map(|act| act.act()).collect()
}

fn plainly(recording: &Recording) -> Work {
    work(recording, |_| Wish::default())
}

#[test]
fn a_server_takes_a_request_before_each_answer_and_its_clients_ask_for_each() {
    let recording = recorded(serving(9, 10));
    let work = plainly(&recording);
    assert_eq!(work.servers, [Server { task: 0, clients: vec![1, 2], answers: 18, shown: 9 }]);
    let server = acts(&work.replay.streams[0]);
    let us = |length: u64| Act::Compute(length * 1000);
    let round = [Act::Take(0), us(200), Act::Answer(0), us(10), Act::Take(0), us(190), Act::Answer(0), us(10)];
    assert_eq!(server[0], us(10), "before its first wait");
    assert_eq!(server[1..], round.repeat(9));
    for stream in &work.replay.streams[1..] {
        let (asks, others): (Vec<Act>, Vec<Act>) = acts(stream).into_iter().partition(|act| matches!(act, Act::Ask(0)));
        assert_eq!(asks.len(), 9);
        assert!(others.iter().all(|act| matches!(act, Act::Compute(_))), "{others:?}");
    }
    assert_eq!(work.causes.iter().map(|causes| causes.tasks).collect::<Vec<_>>(), [9, 9, 9]);
}

#[test]
fn a_client_whose_requests_were_all_there_is_known_by_the_name_of_one_that_was_waited_for() {
    let named = |name: &str| {
        let events = serving_first(9, 10, |_| 1);
        let mut history = History::default();
        for (number, (pid, name)) in (0..).zip([(5, "server"), (6, "client"), (7, name)]) {
            history.name(number, name);
            history.event(&Event { cpu: Event::ALL, value: number, ..event(Kind::Named, 0, pid, Event::NO_TASK, 0) });
        }
        let mut events = events;
        events.sort_by_key(|event| event.time);
        events.iter().for_each(|event| history.event(event));
        plainly(&history.finish()).servers
    };
    assert_eq!(named("client"), [Server { task: 0, clients: vec![1, 2], answers: 18, shown: 9 }]);
    // Then the server has one client that shows all of its requests.
    assert_eq!(named("other"), []);
}

#[test]
fn what_only_looks_like_a_server_is_none() {
    // A task that is no client of it ends one of its waits in ten.
    let mut others = serving(30, 10);
    others.push(Event { cpu: 3, ..event(Kind::Switch, 0, 0, 8, 0) });
    for round in (0..30).step_by(10) {
        let at = MS * round + 600;
        others.push(Event { cpu: 3, ..event(Kind::Waking, at, 5, 8, 0) });
        others.extend([event(Kind::Switch, at + 5, 0, 5, 0), event(Kind::Switch, at + 10, 5, 0, 1)]);
    }
    // Its clients wait elsewhere, too: one in six waits.
    let mut elsewhere = serving(30, 10);
    elsewhere.push(Event { cpu: 3, ..event(Kind::Switch, 0, 0, 8, 0) });
    for round in (0..30).step_by(5) {
        let at = MS * round + 600;
        for client in [1, 2] {
            let on = |event: Event| Event { cpu: client as u16, ..event };
            elsewhere.push(on(event(Kind::Switch, at, 5 + client, 0, 1)));
            elsewhere.push(Event { cpu: 3, value: client as u64, ..event(Kind::Waking, at + 10, 5 + client, 8, 0) });
            elsewhere.push(on(event(Kind::Switch, at + 15, 0, 5 + client, 0)));
        }
    }
    // The second client begins to wait when most of what it waits for is done: that was not for it.
    let mut late = serving(30, 10);
    let at = |us: u64| move |event: &&mut Event| event.time / 1000 % MS == us && event.kind == Kind::Switch;
    late.iter_mut().filter(at(170)).for_each(|event| event.time += 250 * 1000);
    let all = [
        ("few", serving(7, 10)),
        ("what it does is not for them", late),
        ("the client goes on computing", serving(30, 53)),
        ("others end its waits", others),
        ("the clients wait for others", elsewhere),
    ];
    for (why, events) in all {
        let work = plainly(&recorded(events));
        assert_eq!(work.servers, [], "{why}");
        let calls = |act: &Act| matches!(act, Act::Ask(_) | Act::Take(_) | Act::Answer(_));
        assert!(!work.replay.streams.iter().flat_map(acts).any(|act| calls(&act)), "{why}");
    }
}

/// Events of a task on its own processor, as those of processor 0 with another's number.
fn on(cpu: u16, events: &[Event]) -> Vec<Event> {
    events.iter().map(|&event| Event { cpu, ..event }).collect()
}

/// A master, task 5, wakes two workers each round and waits until the last of them, by turns, has come and wakes it.
fn forking_and_joining(rounds: u64) -> Vec<Event> {
    let mut events: Vec<Event> =
        (0..3).flat_map(|cpu| on(cpu, &[event(Kind::Switch, 0, 0, 5 + Pid::from(cpu), 0)])).collect();
    for round in 0..rounds {
        let (begin, last) = (MS * round, 1 + round as u16 % 2);
        let (pid, first) = (5 + Pid::from(last), 3 - last);
        events.extend(on(first, &[event(Kind::Switch, begin + 100, 5 + Pid::from(first), 0, 1)]));
        events.extend(on(
            last,
            &[event(Kind::Waking, begin + 400, 5, pid, 0), event(Kind::Switch, begin + 410, pid, 0, 1)],
        ));
        events.push(event(Kind::Switch, begin + 405, 0, 5, 0));
        for (at, worker) in [(500, 1), (520, 2)] {
            events.push(Event { value: worker, ..event(Kind::Waking, begin + at, 5 + worker as Pid, 5, 0) });
            events.extend(on(worker as u16, &[event(Kind::Switch, begin + at + 5, 0, 5 + worker as Pid, 0)]));
        }
        events.push(event(Kind::Switch, begin + 530, 5, 0, 1));
    }
    events.push(event(Kind::Switch, 1, 5, 0, 1));
    events
}

#[test]
fn one_that_waits_for_the_last_of_several_is_no_server() {
    assert_eq!(plainly(&recorded(forking_and_joining(30))).servers, []);
}

#[test]
fn a_request_that_came_after_what_the_server_did_by_itself_is_taken_after_that() {
    // In one round the server sleeps until 300 us, and the first client waits from 250 on; it is answered at 505 without a wait for it.
    let mut events = serving(9, 10);
    let at = MS * 9;
    events.extend([
        event(Kind::Switch, at + 95, 0, 5, 0),
        event(Kind::Switch, at + 100, 5, 0, 1),
        Event { bits: Event::bits(0, Context::HardInterrupt), ..event(Kind::Waking, at + 300, 5, 0, 0) },
        event(Kind::Switch, at + 302, 0, 5, 0),
        Event { cpu: 1, ..event(Kind::Switch, at + 260, 6, 0, 1) },
        Event { value: 1, ..event(Kind::Waking, at + 402, 6, 5, 0) },
        Event { cpu: 1, ..event(Kind::Switch, at + 410, 0, 6, 0) },
        event(Kind::Switch, at + 412, 5, 0, 1),
    ]);
    let work = plainly(&recorded(events));
    assert_eq!(work.servers.len(), 1);
    let all = acts(&work.replay.streams[0]);
    let last = all.iter().rposition(|act| *act == Act::Take(0)).unwrap();
    let slept = all.iter().rposition(|act| matches!(act, Act::Sleep(_) | Act::Until(_))).unwrap();
    let begun = all[..=slept].iter().filter(|act| **act == Act::Take(0)).count();
    assert!((slept < last, begun) == (true, 18), "{all:?}");
}

#[test]
fn a_server_that_makes_its_clients_takes_their_requests_when_there_are_some() {
    // It makes the first, answers it at 300 us, makes the second, and answers that at 500. Both have waited since they began.
    let mut events = vec![event(Kind::Switch, 0, 0, 5, 0)];
    for (client, made) in [(1, 10), (2, 310)] {
        let (pid, cpu) = (5 + Pid::from(client), client);
        let begins = [event(Kind::Switch, made + 3, 0, pid, 0), event(Kind::Switch, made + 5, pid, 0, 1)];
        let answered = 100 + 200 * u64::from(client);
        events.push(event(Kind::Fork, made, 5, pid, 0));
        events.extend(on(cpu, &begins));
        events.push(Event { value: cpu.into(), ..event(Kind::Waking, answered, pid, 5, 0) });
        events.extend(on(cpu, &[event(Kind::Switch, answered + 5, 0, pid, 0)]));
    }
    events.push(event(Kind::Switch, 900, 5, 0, 1));
    let later = |event: Event| Event { time: event.time + MS * 1000, ..event };
    events.extend(serving(9, 10).into_iter().filter(|event| event.time > 20_000).map(later));
    let work = plainly(&recorded(events));
    assert_eq!(work.servers.len(), 1);
    let calls = |act: &Act| matches!(act, Act::Begin(_) | Act::Take(_) | Act::Answer(_));
    let first: Vec<Act> = acts(&work.replay.streams[0]).into_iter().filter(calls).take(6).collect();
    assert_eq!(first, [Act::Begin(1), Act::Take(0), Act::Answer(0), Act::Begin(2), Act::Take(0), Act::Answer(0)]);
}

#[test]
fn what_servers_and_clients_wait_for_others_they_wait_as_long() {
    let mut events = serving(30, 10);
    events.extend(on(3, &[event(Kind::Switch, 0, 0, 8, 0)]));
    // Task 8 ends one of 31 waits of the server, and one of 31 of a client.
    events.extend(on(3, &[event(Kind::Waking, 600, 5, 8, 0)]));
    events.extend([event(Kind::Switch, 605, 0, 5, 0), event(Kind::Switch, 610, 5, 0, 1)]);
    events.extend(on(1, &[event(Kind::Switch, 700, 6, 0, 1), event(Kind::Switch, 760, 0, 6, 0)]));
    events.push(Event { cpu: 3, value: 1, ..event(Kind::Waking, 750, 6, 8, 0) });
    let work = plainly(&recorded(events));
    assert_eq!(work.servers.len(), 1);
    for (stream, length) in [(0, 85_000), (1, 50_000)] {
        let all = acts(&work.replay.streams[stream]);
        assert!(all.contains(&Act::Sleep(length)), "{all:?}");
        assert!(!all.iter().any(|act| matches!(act, Act::Wait(_))));
    }
    assert_eq!(work.causes[..2].iter().map(|causes| causes.tasks).collect::<Vec<_>>(), [31, 31]);
}

#[test]
fn a_request_whose_answer_the_end_cuts_off_is_left_out() {
    let mut events = serving(9, 10);
    let at = MS * 9;
    events.extend(on(1, &[event(Kind::Waking, at + 100, 5, 6, 0), event(Kind::Switch, at + 110, 6, 0, 1)]));
    events.extend([event(Kind::Switch, at + 105, 0, 5, 0), event(Kind::Switch, at + 150, 5, 0, 0)]);
    let work = plainly(&recorded(events));
    let count = |wanted| acts(&work.replay.streams[0]).into_iter().filter(|act| *act == wanted).count();
    assert_eq!((count(Act::Take(0)), count(Act::Answer(0))), (18, 18));
}

#[test]
fn a_server_does_not_do_what_it_did_for_a_client_that_is_left_out() {
    let recording = recorded(serving(9, 10));
    let with = |wish: Wish| work(&recording, |task| if task.pid == 6 { wish } else { Wish::default() });
    let less = with(Wish { removed: true, ..Wish::default() });
    assert_eq!(less.servers, [Server { task: 0, clients: vec![2], answers: 9, shown: 6 }]);
    let server = acts(&less.replay.streams[0]);
    let computed: u64 = server.iter().map(|act| if let Act::Compute(length) = act { *length } else { 0 }).sum();
    // Of 400 us, and 10 before the first wait, those for the other client: 200 in six rounds, 190 in three, and what comes after its answers.
    assert_eq!(computed / 1000, 10 + 6 * 200 + 3 * 190 + 9 * 10 + 9 * 10);
    assert_eq!(with(Wish { waits: Some(Override::Open), ..Wish::default() }).servers, []);
    let all = work(&recording, |task| Wish { removed: task.pid > 5, ..Wish::default() });
    assert_eq!(all.servers, []);
}

#[test]
fn copies_of_a_client_ask_the_same_server_and_those_of_a_server_answer_none() {
    let recording = recorded(serving(9, 10));
    let with = |pid| work(&recording, |task| Wish { copies: u32::from(task.pid == pid), ..Wish::default() });
    let copies = with(6);
    assert_eq!(acts(&copies.replay.streams[3]), acts(&copies.replay.streams[1]));
    let numbers: Vec<Pid> = copies.replay.streams.iter().map(|stream| stream.pid).collect();
    assert_eq!(numbers, [5, 6, 7, 1], "each has its own");
    let calls = |act: &Act| matches!(act, Act::Ask(_) | Act::Take(_) | Act::Answer(_));
    let of_server = acts(&with(5).replay.streams[3]);
    assert!(!of_server.iter().any(calls));
    assert_eq!(of_server.iter().filter(|act| matches!(act, Act::Sleep(_))).count(), 9);
}

#[test]
fn a_server_that_ended_answers_copies_of_its_clients_before_that() {
    let mut events = serving(9, 10);
    events.extend([event(Kind::Switch, 9500, 0, 5, 0), event(Kind::Switch, 9510, 5, 0, 4)]);
    let ends = |cpu: u16| on(cpu, &[event(Kind::Switch, 9600, 5 + Pid::from(cpu), 0, 4)]);
    events.extend((1..3).flat_map(ends));
    let recording = recorded(events);
    let copied = work(&recording, |task| Wish { copies: if task.pid == 6 { 2 } else { 0 }, ..Wish::default() });
    let server = acts(&copied.replay.streams[0]);
    let count = |wanted| server.iter().filter(|act| **act == wanted).count();
    assert_eq!((count(Act::Take(0)), count(Act::Answer(0)), count(Act::Exit)), (36, 36, 1));
    assert_eq!(server.last(), Some(&Act::Exit));
}
