//! The trace is what Perfetto's formats say, by a reader of our own, and agrees with the run.

#[path = "../sample/mod.rs"]
mod sample;
mod wire;

use proptest::prelude::*;
use sample::{MS, event, names, run};
use schedlab_model::event::{Event, Irq, Kind, Leave, NO_TASK, Observer, Waker};
use schedlab_traces::{
    Names,
    perfetto::Tracer,
    turns::{Turn, Turns},
};
use std::io::{self, Write};
use wire::{Message, Switch, scheduling};

fn written(events: &[Event], names: &Names, until: Option<u64>) -> Vec<u8> {
    let mut tracer = Tracer::new(Vec::new(), names, until);
    events.iter().for_each(|&e| tracer.observe(e));
    tracer.finish().unwrap()
}

fn packets(events: &[Event], until: Option<u64>) -> Vec<Message> {
    Message::of(&written(events, &names(), until)).messages(1)
}

/// (cpu, task, from, to, state after) of the tasks that ran; the idle task is left out.
fn slices(switches: &[Switch]) -> Vec<(u64, u64, u64, u64, u64)> {
    let mut slices = Vec::new();
    let mut begun: Vec<Option<&Switch>> = vec![None; 64];
    for switch in switches {
        let before = begun[switch.cpu as usize].replace(switch);
        if let Some(before) = before.filter(|before| before.next != 0) {
            slices.push((switch.cpu, before.next - 1000, before.time, switch.time, switch.state));
        }
    }
    slices
}

/// Name and time of the instants.
fn instants(packets: &[Message]) -> Vec<(String, u64)> {
    let interned = packets[0].message(12).unwrap().messages(2);
    let name = |of: u64| interned.iter().find(|entry| entry.number(1) == Some(of)).unwrap().text(2).unwrap();
    let mut time = 0;
    let mut found = Vec::new();
    for packet in packets {
        if let Some(event) = packet.message(11) {
            time += packet.number(8).unwrap();
            assert_eq!((packet.number(13), packet.number(10), event.number(9)), (Some(2), Some(1), Some(3)));
            found.push((name(event.number(10).unwrap()), time));
        }
    }
    found
}

#[test]
fn a_processor_shows_the_tasks_that_ran_and_why_they_left() {
    let (switches, _) = scheduling(&packets(&run(), None));
    let (ready, waits, preempted) = (0, 1, 0x800);
    assert_eq!(
        slices(&switches)[..3],
        [(0, 1, 10 * MS, 30 * MS, ready), (0, 2, 30 * MS, 40 * MS, preempted), (0, 0, 40 * MS, 48 * MS, waits)]
    );
    assert_eq!(switches[2].name, "hog <&\"1\">");
}

#[test]
fn the_slices_are_the_turns_of_the_run() {
    let mut turns = Turns::default();
    run().into_iter().for_each(|e| turns.observe(e));
    let (switches, _) = scheduling(&packets(&run(), None));
    let found: Vec<_> = slices(&switches).into_iter().map(|(_, task, from, to, _)| (task, from, to)).collect();
    let as_drawn = |turn: &Turn| (u64::from(turn.task), turn.begin, turn.end);
    assert_eq!(found, turns.all.iter().map(as_drawn).collect::<Vec<_>>());
}

#[test]
fn a_wakeup_has_the_task_and_claims_no_waker_where_none_is_recorded() {
    let (_, wakeups) = scheduling(&packets(&run(), None));
    let of_run: Vec<_> = run().into_iter().filter(|e| e.kind == Kind::Wakeup).collect();
    assert_eq!(wakeups.len(), of_run.len());
    for (found, event) in wakeups.iter().zip(of_run) {
        assert_eq!((found.time, found.task), (event.time, 1000 + u64::from(event.task)));
        assert_eq!((found.target, found.by_task), (found.cpu, false));
    }
}

#[test]
fn a_waker_is_the_task_that_runs_where_the_wakeup_is_unless_a_switch_has_its_time() {
    let names = Names { processors: 2, jobs: vec!["all".to_owned()], ..Names::default() };
    let at = |time, task, cpu, kind, flag| Event { time, a: 0, b: 0, task, cpu, kind, flag };
    let wakes =
        |time, task, cpu, by: Waker, on| Event { a: by.packed(), b: on, ..at(time, task, cpu, Kind::Wakeup, 0) };
    let mut events: Vec<_> = (0..3).map(|task| at(0, task, 0, Kind::Created, 128)).collect();
    events.extend([
        at(0, 0, 1, Kind::SwitchIn, 0),
        // To another processor, by a task; in an interrupt; as it leaves; and by nothing that is known.
        wakes(10, 1, 0, Waker::Task(0), 1),
        wakes(20, 2, 0, Waker::Interrupt, 1),
        wakes(30, 2, 0, Waker::Task(0), 1),
        at(30, 0, 1, Kind::SwitchOut, Leave::Blocked as u8),
        wakes(40, 0, 0, Waker::Unknown, 1),
    ]);
    let (_, wakeups) = scheduling(&Message::of(&written(&events, &names, None)).messages(1));
    // Bundles of processor 0 come first.
    let found: Vec<_> = wakeups.iter().map(|it| (it.cpu, it.time, it.target, it.by_task)).collect();
    assert_eq!(found, [(0, 40, 0, false), (1, 10, 0, true), (1, 20, 0, false), (1, 30, 0, false)]);
}

#[test]
fn a_job_is_a_process_and_its_tasks_are_threads() {
    let trees: Vec<_> = packets(&run(), None).iter().filter_map(|packet| packet.message(2)).collect();
    let processes: Vec<_> = trees.iter().flat_map(|tree| tree.messages(1)).collect();
    let threads: Vec<_> = trees.iter().flat_map(|tree| tree.messages(2)).collect();
    let shown = |of: &Message, number, name| (of.number(number).unwrap(), of.text(name).unwrap());
    let named: Vec<_> = processes.iter().map(|process| shown(process, 1, 3)).collect();
    assert_eq!(named, [(1000, "editor".to_owned()), (1001, "hog <&\"1\">".to_owned())]);
    let of: Vec<_> = threads.iter().map(|thread| (thread.number(1).unwrap(), thread.number(3).unwrap())).collect();
    assert_eq!(of, [(1000, 1000), (1001, 1001), (1002, 1001)]);
    assert_eq!(threads[2].text(2).unwrap(), "hog <&\"1\">#2");
}

#[test]
fn a_server_is_a_process_of_its_own() {
    let names = Names { processors: 1, servers: vec!["disk".to_owned(), "tty".to_owned()], ..Names::default() };
    let created = |task| event(0, task, Kind::Created, 128, 7, NO_TASK.into());
    let trace = Message::of(&written(&[created(0), created(1)], &names, None)).messages(1);
    let processes = trace.iter().filter_map(|packet| packet.message(2)).flat_map(|tree| tree.messages(1));
    assert_eq!(processes.map(|process| process.text(3).unwrap()).collect::<Vec<_>>(), ["disk", "tty"]);
}

#[test]
fn marks_signals_interrupts_and_ends_are_instants() {
    let mut events = run();
    let last = events.last().unwrap().time / MS;
    events.push(event(last, 2, Kind::Period, 0, 1, 0));
    events.push(event(last + 1, 2, Kind::Exited, 1, 0, 0));
    events.push(event(last + 2, NO_TASK, Kind::Interrupt, 0, Irq::Disk as u64, 0));
    events.push(event(last + 2, 2, Kind::Mark, 0, 99, 0));
    let found = instants(&packets(&events, None));
    let words: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["clock", "signal sent", "page \"3\"\n", "ended", "deadline missed", "ended", "disk", "mark"];
    assert_eq!(words, expected);
    let times: Vec<_> = found.iter().map(|(_, time)| *time).collect();
    assert_eq!(times[4..], [last * MS, (last + 1) * MS, (last + 2) * MS, (last + 2) * MS]);
}

#[test]
fn every_instant_is_on_a_track_that_was_described_before() {
    let mut described = Vec::new();
    for packet in packets(&run(), None) {
        described.extend(packet.message(60).map(|track| track.number(1).unwrap()));
        if let Some(event) = packet.message(11) {
            assert!(described.contains(&event.number(11).unwrap()));
        }
    }
    assert!(described.len() >= 2);
}

#[test]
fn times_count_from_the_packet_before_by_a_clock_that_the_first_packet_defines() {
    let first = packets(&run(), None).remove(0);
    let clocks = first.message(6).unwrap();
    let pairs: Vec<_> = clocks.messages(1).iter().map(|clock| (clock.number(1), clock.number(3))).collect();
    assert_eq!(pairs, [(Some(6), None), (Some(64), Some(1))]);
    assert_eq!(first.message(59).unwrap().number(58), Some(64));
    assert_eq!((first.number(10), first.number(13)), (Some(1), Some(1)));
}

#[test]
fn nothing_is_drawn_after_the_limit() {
    let packets = packets(&run(), Some(35 * MS));
    let (switches, wakeups) = scheduling(&packets);
    assert!(switches.iter().all(|switch| switch.time <= 35 * MS) && wakeups.iter().all(|w| w.time <= 35 * MS));
    assert_eq!(slices(&switches)[1], (0, 2, 30 * MS, 35 * MS, 0));
    assert!(instants(&packets).iter().all(|(_, time)| *time <= 35 * MS));
}

/// Context switches of tasks in a ring on two processors: a wakeup, a switch-out and a switch-in each.
fn ring(switches: u64, tasks: u64) -> Vec<Event> {
    let mut events = Vec::new();
    let at = |time, task: u64, cpu, kind, flag| Event { time, a: 0, b: 0, task: task as u32, cpu, kind, flag };
    events.extend((0..tasks).map(|task| at(0, task, 0, Kind::Created, 128)));
    for i in 0..switches {
        let (time, cpu) = (i * 1_234_567, (i % 2) as u16);
        events.push(at(time, (i + 2) % tasks, cpu, Kind::Wakeup, 0));
        if i >= 2 {
            events.push(at(time, (i - 2) % tasks, cpu, Kind::SwitchOut, Leave::Blocked as u8));
        }
        events.push(at(time, i % tasks, cpu, Kind::SwitchIn, 0));
    }
    events
}

#[test]
fn a_switch_with_its_wakeup_takes_less_than_thirty_bytes() {
    const SWITCHES: u64 = 100_000;
    let names = Names { processors: 2, jobs: vec!["a load with a long name".to_owned()], ..Names::default() };
    for tasks in [5, 100, 1000] {
        let bytes = written(&ring(SWITCHES, tasks), &names, None);
        let each = bytes.len() as f64 / SWITCHES as f64;
        assert!(each < 30.0, "{each} bytes with {tasks} tasks");
        let (switches, wakeups) = scheduling(&Message::of(&bytes).messages(1));
        // Two to begin with and one to end, on each processor.
        assert_eq!((switches.len() as u64, wakeups.len() as u64), (SWITCHES + 6, SWITCHES));
    }
}

#[test]
fn however_many_tasks_the_events_name_jobs_and_threads_have_names_of_their_own() {
    let names = Names {
        processors: 2,
        jobs: vec!["ring".to_owned(), "other".to_owned()],
        servers: vec!["disk".to_owned(), "tty".to_owned()],
        ..Names::default()
    };
    let mut events = ring(50_000, 1000);
    // Two servers come first, the rest are of two jobs by turns; of one task nothing is said.
    events.iter_mut().for_each(|e| e.a = if e.kind == Kind::Created { u64::from(e.task % 2) } else { 0 });
    events.retain(|e| e.kind != Kind::Created || e.task != 999);
    let packets = Message::of(&written(&events, &names, None)).messages(1);
    let expected = |task: u64| match task {
        0 => "disk",
        1 => "tty",
        999 => "task",
        other => ["ring", "other"][(other % 2) as usize],
    };
    let (switches, wakeups) = scheduling(&packets);
    let of_switches = switches.iter().filter(|switch| switch.next != 0).map(|switch| (switch.next, &switch.name));
    for (task, name) in of_switches.chain(wakeups.iter().map(|wakeup| (wakeup.task, &wakeup.name))) {
        assert_eq!(name, expected(task - 1000));
    }
    let bundles = packets.iter().filter_map(|packet| packet.message(1)?.message(4));
    assert!(bundles.clone().count() > 5 && bundles.into_iter().all(|bundle| bundle.texts(5).len() <= 6));
    let threads = packets.iter().filter_map(|packet| packet.message(2)).flat_map(|tree| tree.messages(2));
    let named: Vec<_> = threads.map(|thread| thread.text(2).unwrap()).collect();
    assert_eq!((named.len(), &*named[1], &*named[998]), (999, "tty", "ring#998"));
}

/// Each switch is two, to the idle task and from it: more than a bundle has room for in the end.
#[test]
fn no_switch_is_lost_where_a_bundle_ends() {
    for shift in 0..2 {
        let mut events = ring(shift, 3);
        for i in 0..40_000 {
            let at = |time, kind, flag| Event { time, a: 0, b: 0, task: i % 3, cpu: 0, kind, flag };
            let begin = 1_000_000_000 + u64::from(i) * 10;
            events.push(at(begin, Kind::SwitchIn, 0));
            events.push(at(begin + 5, Kind::SwitchOut, Leave::Blocked as u8));
        }
        let mut turns = Turns::default();
        events.iter().for_each(|&e| turns.observe(e));
        let names = Names { processors: 2, ..Names::default() };
        let (switches, _) = scheduling(&Message::of(&written(&events, &names, None)).messages(1));
        let found: Vec<_> = slices(&switches).into_iter().map(|(_, task, from, to, _)| (task, from, to)).collect();
        let drawn = turns.all.iter().filter(|turn| turn.begin >= 1_000_000_000);
        let drawn: Vec<_> = drawn.map(|turn| (u64::from(turn.task), turn.begin, turn.end)).collect();
        assert_eq!(drawn.len(), 40_000);
        assert!(found.ends_with(&drawn));
    }
}

#[test]
fn a_switch_that_is_observed_as_one_has_the_bytes_of_its_two_events() {
    let names = Names { processors: 1, ..Names::default() };
    let at = |time, task, kind, flag| Event { time, a: 0, b: 0, task, cpu: 0, kind, flag };
    let mut tracers = [(); 2].map(|()| Tracer::new(Vec::new(), &names, Some(9000)));
    tracers.iter_mut().for_each(|tracer| tracer.observe(at(1, 0, Kind::SwitchIn, 0)));
    let [one, two] = &mut tracers;
    for i in 1..10_000 {
        let (left, next) =
            (at(i, (i as u32 - 1) % 7, Kind::SwitchOut, (i % 3) as u8), at(i, i as u32 % 7, Kind::SwitchIn, 0));
        one.observe_switch(left, next);
        two.observe(left);
        two.observe(next);
    }
    let [one, two] = tracers.map(|tracer| tracer.finish().unwrap());
    assert_eq!(scheduling(&Message::of(&one).messages(1)).0.len(), 9004);
    assert!(one == two);
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("disk full"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let mut tracer = Tracer::new(Full, &names(), None);
    (0..1000).flat_map(|_| run()).for_each(|e| tracer.observe(e));
    assert_eq!(tracer.finish().map(|_| ()).unwrap_err().to_string(), "disk full");
}

fn any_event() -> impl Strategy<Value = Event> {
    let kinds = [
        Kind::Created,
        Kind::Exited,
        Kind::Wakeup,
        Kind::SwitchIn,
        Kind::SwitchOut,
        Kind::Interrupt,
        Kind::Mark,
        Kind::Signal,
        Kind::Period,
        Kind::Idle,
    ];
    let kind = prop::sample::select(kinds.to_vec());
    let task = prop_oneof![0..20_u32, Just(NO_TASK), any::<u32>()];
    (any::<u64>(), 0..5_u64, task, 0..4_u16, kind, any::<u8>()).prop_map(|(time, a, task, cpu, kind, flag)| Event {
        time,
        a,
        b: 0,
        task,
        cpu,
        kind,
        flag,
    })
}

proptest! {
    #[test]
    fn whatever_the_events_the_trace_can_be_read_and_its_times_do_not_go_back(
        events in prop::collection::vec(any_event(), 0..200),
        ordered in any::<bool>(),
    ) {
        let mut events = events;
        if ordered {
            events.sort_by_key(|e| e.time);
        }
        let names = Names { processors: 3, jobs: vec!["one".to_owned()], ..Names::default() };
        let packets = Message::of(&written(&events, &names, None)).messages(1);
        let (switches, wakeups) = scheduling(&packets);
        instants(&packets);
        for cpu in 0..3 {
            let times: Vec<_> = switches.iter().filter(|switch| switch.cpu == cpu).map(|switch| switch.time).collect();
            prop_assert!(times.is_sorted());
        }
        prop_assert!(wakeups.len() <= events.len());
    }
}
