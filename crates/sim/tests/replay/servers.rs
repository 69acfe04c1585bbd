//! Servers, their clients, and connections between tasks that answer each other.

use super::*;
use schedlab_model::replay::Connections;

#[test]
fn a_server_takes_requests_in_the_order_in_which_they_come() {
    let asks = |after| stream(&[Act::Compute(after), Act::Ask(0), Act::Compute(5), Act::Exit]);
    let service = [Act::Take(0), Act::Compute(30), Act::Answer(0)];
    let waits = stream(&[&service.repeat(2)[..], &[Act::Exit]].concat());
    let busy = stream(&[&[Act::Compute(25)], &service.repeat(2)[..], &[Act::Exit]].concat());
    for (first, second) in [(10, 20), (20, 10)] {
        for (server, left, begun) in [(&waits, vec![0, 70], 10), (&busy, vec![85], 25)] {
            let events = run(&scenario(vec![asks(first), asks(second), server.clone()], 100, "fifo", 3, 1000));
            let ends = |after| begun + if after == 10 { 35 } else { 65 };
            assert_eq!(leaves(&events, 0), [first, ends(first)]);
            assert_eq!(leaves(&events, 1), [second, ends(second)]);
            assert_eq!(leaves(&events, 2), left, "what was there it did not wait for");
        }
    }
}

#[test]
fn a_server_that_is_faster_than_its_client_waits_for_each_request() {
    let asks = stream(&[Act::Compute(10), Act::Ask(0)]);
    let server = stream(&[Act::Take(0), Act::Compute(30), Act::Answer(0)].repeat(3));
    let events = run(&scenario(vec![asks, server], 1000, "fifo", 2, 175));
    assert_eq!(leaves(&events, 0), [10, 50, 90, 130, 170]);
    assert_eq!(leaves(&events, 1), [0, 40, 80, 120, 160]);
}

#[test]
fn a_server_that_ends_lets_its_clients_go_and_a_request_that_it_never_answers_comes_again() {
    let asks = |after| stream(&[Act::Compute(after), Act::Ask(0), Act::Compute(5), Act::Ask(0), Act::Exit]);
    let ends = stream(&[Act::Take(0), Act::Compute(30), Act::Answer(0), Act::Exit]);
    let events = run(&scenario(vec![asks(10), asks(20), ends], 100, "fifo", 3, 1000));
    assert_eq!(leaves(&events, 0), [10, 45], "what it asks later is no wait");
    assert_eq!(leaves(&events, 1), [20, 45]);
    let takes_twice = stream(&[Act::Take(0), Act::Compute(30), Act::Take(0), Act::Compute(30), Act::Answer(0)]);
    let once = |after| stream(&[Act::Compute(after), Act::Ask(0), Act::Compute(5), Act::Exit]);
    let events = run(&scenario(vec![once(10), once(20), takes_twice], 1000, "fifo", 3, 1000));
    assert_eq!((leaves(&events, 0), leaves(&events, 1)), (vec![10, 135], vec![20, 75]));
}

/// A task that answers others over connections to them, in `hub` ns; for each of these the number of connections and the time of an answer, ns.
/// All have processors of their own.
fn connected(hub: u64, ends: &[(u32, u64)], until: u64) -> Scenario {
    let answers = |number, length| stream(&[Act::Take(number), Act::Compute(length), Act::Answer(number)]);
    let ends = || (1..).zip(ends);
    let all = ends().map(|(number, &(_, length))| answers(number, length));
    let streams: Vec<Stream> = [answers(0, hub)].into_iter().chain(all).collect();
    let connections = ends().map(|(end, &(count, _))| Connections { hub: 0, end, count }).collect();
    with_connections(streams, connections, until)
}

fn with_connections(streams: Vec<Stream>, connections: Vec<Connections>, until: u64) -> Scenario {
    let processors = streams.len() as u16;
    let mut scenario = scenario(streams, 1_000_000, "fifo", processors, until);
    let recording = scenario.recording.as_mut().unwrap();
    let work = recording.work.take().unwrap();
    recording.work = Some(Arc::new(Replay { connections, ..(*work).clone() }));
    scenario
}

#[test]
fn an_answer_over_a_connection_goes_to_where_the_message_came_from() {
    let events = run(&connected(10, &[(1, 30), (1, 90)], 180));
    assert_eq!(leaves(&events, 0), [0, 40, 80, 100, 120, 160]);
    assert_eq!(leaves(&events, 1), [30, 70, 110, 150], "the other end does not hold it up");
    assert_eq!(leaves(&events, 2), [90]);
}

#[test]
fn a_task_answers_what_came_first_and_does_not_wait_while_there_is_any() {
    let events = run(&connected(25, &[(2, 20), (2, 20)], 1000));
    assert_eq!(leaves(&events, 0), [0], "four connections are more than it can answer");
    let events = run(&connected(5, &[(3, 20)], 1000));
    assert!(leaves(&events, 1).is_empty(), "nor does one end that is the slower one");
}

#[test]
fn connections_to_a_task_that_ends_are_closed() {
    let answers = |number| [Act::Take(number), Act::Compute(10), Act::Answer(number)];
    let ends = [&answers(1)[..], &[Act::Exit]].concat();
    let connections = vec![Connections { hub: 0, end: 1, count: 3 }, Connections { hub: 0, end: 2, count: 1 }];
    let streams = vec![stream(&answers(0)), stream(&ends), stream(&answers(2))];
    let events = run(&with_connections(streams, connections, 95));
    assert_eq!(leaves(&events, 1), [10], "two of its messages are never answered");
    assert_eq!(leaves(&events, 2), [10, 40, 60, 80], "the other goes on");
}

proptest! {
    /// The bounds of a closed network, which constant times attain: messages a second are as many as the slower task answers, or as many as
    /// there are connections in one turn of both.
    #[test]
    fn over_connections_go_as_many_messages_as_the_slower_task_or_all_of_them_allow(
        hub in 1..200_u64, end in 1..200_u64, count in 1..6_u32,
    ) {
        let until = 100_000;
        let exact = (hub.max(end) as f64).max((hub + end) as f64 / f64::from(count));
        let computed = computed(&run(&connected(hub, &[(count, end)], until)));
        let messages = |task: u32, length: u64| computed.get(&task).copied().unwrap_or(0) as f64 / length as f64;
        let wanted = until as f64 / exact;
        for (task, length) in [(0, hub), (1, end)] {
            prop_assert!((messages(task, length) - wanted).abs() <= f64::from(count) + 2.0, "{task}: {computed:?}, {wanted}");
        }
    }
}
