//! Perfetto traces.

use crate::text::{comm, current, damaged, event, events, hear, hear_text};
use flate2::{Compression, write::ZlibEncoder};
use proptest::prelude::*;
use schedlab_traces::kernel::{Context, Event, Kind, Pid};
use std::io::Write;

/// The events of `tracefs.txt`, encoded by the protobuf library with the definitions of the Python package `perfetto` 0.59: bundles of
/// 10 ms, those of processor 1 before those of processor 0.
const PLAIN: &[u8] = include_bytes!("../data/perfetto.trace");
/// The same with switches and wakeups in columns, and all but the first packet compressed.
const COMPACT: &[u8] = include_bytes!("../data/perfetto-compact.trace");
const TEXT: &str = include_str!("../data/tracefs.txt");

/// What the text has, as far as Perfetto records it: of system calls those that have a number.
fn of_text() -> Vec<Event> {
    let left_out = [Kind::Fault, Kind::Runtime, Kind::Lost];
    let one_call = |event: &Event| event.kind == Kind::SyscallEnter && event.value == u64::MAX;
    let found = hear_text(TEXT).1.found();
    found.into_iter().filter(|event| !left_out.contains(&event.kind) && !one_call(event)).collect()
}

/// Events in an order that does not depend on that of bundles, without their contexts.
fn sorted(events: impl IntoIterator<Item = Event>) -> Vec<Event> {
    let without = |event: Event| Event { bits: Event::bits(event.flag(), Context::Unknown), ..event };
    let mut events: Vec<_> = events.into_iter().map(without).collect();
    events.sort_by_key(|event| (event.time, event.cpu, event.kind, event.value));
    events
}

#[test]
fn a_trace_tells_the_same_as_the_text_of_its_events() {
    let (head, heard) = hear(PLAIN);
    let head = head.unwrap();
    let expected = of_text();
    assert!(expected.len() > 100);
    assert_eq!(sorted(heard.found()), sorted(expected));
    assert_eq!((head.format.as_str(), head.processors, head.losses.len()), ("Perfetto trace", 2, 0));
    assert_eq!((head.clock.as_deref(), head.release.as_deref()), (Some("boot"), Some("6.18.44")));
    let members = |events: &[Event]| {
        let mut members: Vec<_> = events.iter().filter(|e| e.kind == Kind::Member).map(|e| (e.task, e.other)).collect();
        members.sort_unstable();
        members
    };
    assert_eq!(members(&heard.events), members(&hear_text(TEXT).1.events));
}

#[test]
fn columns_and_compressed_packets_tell_the_same() {
    let (head, heard) = hear(COMPACT);
    assert_eq!(head.unwrap().losses, []);
    let expected = of_text();
    // Who left is known from the switch before; there is none before the first one of a processor, and others are not in the sample.
    let whole: Vec<_> =
        sorted(expected).into_iter().filter(|event| !matches!(event.kind, Kind::Switch | Kind::Waking)).collect();
    let found = heard.found();
    let others = found.iter().copied().filter(|event| !matches!(event.kind, Kind::Switch | Kind::Waking));
    assert_eq!(sorted(others), whole);
    let switches = |events: Vec<Event>| -> Vec<_> {
        let of = |e: &Event| (e.time, e.cpu, e.other, e.value as u32, e.flag());
        events.iter().filter(|event| event.kind == Kind::Switch).map(of).collect()
    };
    assert_eq!(switches(found.clone()), switches(of_text()));
    let wakings = |events: Vec<Event>| -> Vec<_> {
        let of = |e: &Event| (e.time, e.cpu, e.task, e.value, e.bits);
        events.iter().filter(|event| event.kind == Kind::Waking).map(of).collect()
    };
    assert_eq!(wakings(found.clone()), wakings(of_text()));
    // The chain of a processor is whole.
    for cpu in 0..2 {
        let mut before = Event::NO_TASK;
        for event in found.iter().filter(|event| event.cpu == cpu && event.kind == Kind::Switch) {
            assert_eq!(std::mem::replace(&mut before, event.other), event.task);
        }
    }
}

/// A field with a number.
fn number(field: u32, value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut value in [u64::from(field) << 3, value] {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
    bytes
}

/// A field with bytes.
fn bytes(field: u32, content: &[u8]) -> Vec<u8> {
    let mut head = number(field, content.len() as u64);
    let tag = number(field, 0).len() - 1;
    // The type of a field is in the lowest bits of its tag.
    head[0] |= 2;
    assert!(tag <= 5);
    [head, content.to_vec()].concat()
}

fn packet(fields: &[Vec<u8>]) -> Vec<u8> {
    bytes(1, &fields.concat())
}

fn bundle(cpu: u16, events: &[Vec<u8>]) -> Vec<u8> {
    packet(&[bytes(1, &[number(1, cpu.into()), events.concat()].concat())])
}

/// An event with its message, as `FtraceEvent` has it.
fn encoded(event: &Event) -> Vec<u8> {
    let of = |pid: Pid| i64::from(pid) as u64;
    let (high, low, value) = (event.value >> 32, event.value & 0xffff_ffff, event.value);
    let (task, other) = (number(2, of(event.task)), event.other);
    let name = bytes(1, comm(event.task).as_bytes());
    let woken = || [name.clone(), task.clone(), number(3, high), number(5, low)].concat();
    let letters = ["RA", "FWS", "DS"][usize::from(event.flag()) % 3].as_bytes();
    let (field, message) = match event.kind {
        Kind::Switch => {
            let state = [0x100, 1, 128, 8, 32][usize::from(event.flag()) % 5];
            let next = [bytes(5, comm(other).as_bytes()), number(6, of(other)), number(7, low)].concat();
            (4, [name, task, number(3, high), number(4, state), next].concat())
        }
        Kind::Waking => (20, woken()),
        Kind::Woken => (17, woken()),
        Kind::New => (114, woken()),
        Kind::Migrate => (491, [name, task, number(4, high), number(5, low)].concat()),
        Kind::Fork => (239, [name, task, bytes(3, comm(other).as_bytes()), number(4, of(other))].concat()),
        Kind::Exec => (237, task),
        Kind::Exit => (238, [name, task].concat()),
        Kind::Wait => (242, name),
        Kind::BlockIssue => (
            45,
            [number(1, of(event.task)), number(2, value), number(4, event.extra.into()), bytes(5, letters)].concat(),
        ),
        Kind::BlockComplete => {
            let sectors = number(3, u64::from(event.extra / 512));
            (125, [number(1, of(event.task)), number(2, value), sectors, bytes(5, letters)].concat())
        }
        Kind::IrqEntry => (36, number(1, value)),
        Kind::IrqExit => (37, number(1, value)),
        Kind::SoftirqEntry => (24, number(1, value)),
        Kind::SoftirqExit => (25, number(1, value)),
        Kind::VectorEntry => (559, number(1, value)),
        Kind::VectorExit => (560, number(1, value)),
        Kind::TimerStart => (551, [number(1, value), number(3, 77), number(5, 1)].concat()),
        Kind::TimerExpire => (553, number(1, value)),
        Kind::TimerDone => (554, number(1, value)),
        Kind::TimerCancel => (552, number(1, value)),
        Kind::WorkBegin => (58, number(1, value)),
        Kind::WorkEnd => (57, number(1, value)),
        Kind::SyscallEnter => (329, number(1, value)),
        Kind::SyscallExit => (330, number(1, value)),
        kind => unreachable!("{kind:?} is not in such a trace"),
    };
    bytes(2, &[number(1, event.time), number(2, of(current(event))), bytes(field, &message)].concat())
}

#[test]
fn bundles_of_many_processors_are_merged() {
    let (rounds, processors, each) = (200u64, 8u16, 100u64);
    let irq = |time: u64, cpu: u16| Event {
        time,
        value: time,
        task: 1,
        other: 1,
        extra: 0,
        cpu,
        kind: Kind::IrqEntry,
        bits: 0,
    };
    let mut trace = Vec::new();
    for round in 0..rounds {
        for cpu in 0..processors {
            let events: Vec<_> =
                (0..each).map(|n| encoded(&irq(1 + (round * each + n) * 8 + u64::from(cpu), cpu))).collect();
            trace.extend(bundle(cpu, &events));
        }
    }
    let (head, heard) = hear(&trace);
    let values: Vec<_> = heard.found().iter().map(|event| event.value).collect();
    assert_eq!(values, (1..=rounds * each * 8).collect::<Vec<_>>());
    assert_eq!((head.unwrap().losses.len(), heard.found()[7].cpu), (0, 7));
}

#[test]
fn lost_events_are_placed_before_those_of_their_bundle() {
    let irq = |time: u64| {
        encoded(&Event { time, value: 3, task: 1, other: 1, extra: 0, cpu: 1, kind: Kind::IrqEntry, bits: 0 })
    };
    let lossy = packet(&[bytes(1, &[number(1, 1), number(3, 1), irq(20)].concat())]);
    let (head, heard) = hear(&[bundle(1, &[irq(10)]), lossy].concat());
    let head = head.unwrap();
    assert_eq!((head.lost(), head.losses[0].time, head.losses[0].cpu), (1, Some(20), Some(1)));
    let kinds: Vec<_> = heard.found().iter().map(|event| (event.time, event.kind)).collect();
    assert_eq!(kinds, [(10, Kind::IrqEntry), (20, Kind::Lost), (20, Kind::IrqEntry)]);
}

#[test]
fn unknown_events_are_counted_by_their_names() {
    let generic = bytes(327, &bytes(1, b"my_event"));
    let event = |message: Vec<u8>| bytes(2, &[number(1, 5), message].concat());
    let (head, _) = hear(&bundle(
        0,
        &[event(generic.clone()), event(generic), event(bytes(11, b"")), event(bytes(24, &number(1, 2)))],
    ));
    let recorded: Vec<_> = head.unwrap().recorded.into_iter().map(|(name, of)| (name, of.events, of.known)).collect();
    let expected = [("field 11 of FtraceEvent", 1, false), ("my_event", 2, false), ("softirq_entry", 1, true)];
    assert_eq!(recorded, expected.map(|(name, events, known)| (name.to_owned(), events, known)));
}

#[test]
fn a_trace_that_is_cut_off_or_damaged_says_in_which_packet() {
    let (head, _) = hear(&PLAIN[..PLAIN.len() - 3]);
    let why = head.unwrap().losses[0].why.clone();
    assert!(why.starts_with("packet ") && why.ends_with(": the file ends within it"), "{why}");
    let uneven = bytes(
        4,
        &[bytes(1, &[1, 1]), bytes(2, &[0, 0]), bytes(3, &[1, 2]), bytes(4, &[120]), bytes(6, &[0, 0])].concat(),
    );
    let (head, heard) = hear(&[bundle(0, &[]), bundle(0, &[uneven])].concat());
    let why = head.unwrap().losses[0].why.clone();
    assert_eq!(why, "packets that cannot be read: packet 2: its columns of events have different lengths");
    assert_eq!(heard.found().len(), 1);
}

#[test]
fn packets_can_be_compressed_but_not_twice() {
    let zlib = |content: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        packet(&[bytes(50, &encoder.finish().unwrap())])
    };
    let once = zlib(PLAIN);
    assert_eq!(hear(&once).1.found(), hear(PLAIN).1.found());
    assert_eq!(hear(&zlib(&once)).1.found(), []);
    let damaged = packet(&[bytes(50, b"not compressed")]);
    let why = hear(&[bundle(0, &[]), damaged].concat()).0.unwrap().losses[0].why.clone();
    assert!(why.starts_with("packets that cannot be read: packet 2: it cannot be unpacked: "), "{why}");
}

/// Those that Perfetto has messages for.
fn recordable(event: &Event) -> bool {
    !matches!(event.kind, Kind::Fault | Kind::Runtime)
}

proptest! {
    #[test]
    fn any_events_are_read_back(events in events(1)) {
        let events: Vec<_> = events.into_iter().filter(recordable).collect();
        let trace: Vec<_> = [packet(&[number(8, 7)])].into_iter().chain(events.iter().map(|event| bundle(event.cpu, &[encoded(event)]))).collect();
        let (head, heard) = hear(&trace.concat());
        prop_assert_eq!(&head.unwrap().losses, &[]);
        prop_assert_eq!(heard.found(), crate::text::expected(&events, Context::Unknown));
        for (task, name) in heard.names_of_tasks() {
            prop_assert_eq!(name, comm(task));
        }
    }

    #[test]
    fn an_event_cut_anywhere_does_no_harm(event in event().prop_filter("has a message", recordable), cut in any::<prop::sample::Index>()) {
        let whole = bundle(event.cpu, &[encoded(&event)]);
        let _ = hear(&[packet(&[number(8, 7)]), whole[..cut.index(whole.len())].to_vec()].concat());
    }

    #[test]
    fn damaged_traces_end_in_events_and_losses(bytes in damaged(PLAIN)) {
        let _ = hear(&[packet(&[number(8, 7)]), bytes].concat());
    }

    #[test]
    fn damaged_columns_end_in_events_and_losses(changes in prop::collection::vec((0..200usize, any::<u8>()), 0..8)) {
        let mut sched: Vec<u8> = (0..13).flat_map(|field| bytes(field.max(1), &[1, 2, 0x80, 1])).collect();
        for (at, value) in changes.into_iter().filter(|(at, _)| *at < 60) {
            sched[at] = value;
        }
        let _ = hear(&[packet(&[number(8, 7)]), bundle(3, &[bytes(4, &sched)])].concat());
    }
}
