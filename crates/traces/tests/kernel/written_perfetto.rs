//! Recordings of kernels written as Perfetto traces: what is read from such a trace is what was read from the recording.

use crate::text::{Heard, events, hear};
use proptest::prelude::*;
use schedlab_traces::{
    kernel::{Call, Context, Event, Kind, Listener, read},
    perfetto::Recorded,
};
use std::{io, path::Path};

const LEFT_OUT: [Kind; 3] = [Kind::Runtime, Kind::Fault, Kind::Treated];
/// The vector of the local timer of x86, of which alone Perfetto has events.
const LOCAL_TIMER: u64 = 0xec;

/// What a trace can say of these events, in an order that does not depend on that of bundles.
fn in_trace(heard: &Heard) -> Vec<Event> {
    let kept = |event: &Event| {
        let is_vector = matches!(event.kind, Kind::VectorEntry | Kind::VectorExit);
        let is_named = event.kind == Kind::SyscallEnter && event.value == u64::MAX && event.call() != Call::Other;
        let is_somewhere = event.cpu != Event::ALL || event.kind == Kind::Lost;
        is_somewhere && !is_named && !LEFT_OUT.contains(&event.kind) && (!is_vector || event.value == LOCAL_TIMER)
    };
    let mut events: Vec<_> = heard.found().into_iter().filter(kept).map(as_in_trace).collect();
    events.sort_by_key(|event| (event.time, event.cpu, event.kind, event.task, event.value, event.extra));
    events
}

/// Completions say their length in sectors; of a loss only its place is known.
fn as_in_trace(event: Event) -> Event {
    match event.kind {
        Kind::BlockComplete => Event { extra: event.extra.div_ceil(512) * 512, ..event },
        Kind::Lost => {
            let cpu = if event.cpu == Event::ALL { 0 } else { event.cpu };
            Event { value: 0, time: 0, bits: 0, cpu, ..event }
        }
        _ => event,
    }
}

fn written(heard: &Heard) -> Vec<u8> {
    let mut trace = Recorded::new(Vec::new());
    for (number, name) in heard.names.iter().enumerate() {
        trace.name(number as u64, name);
    }
    heard.events.iter().for_each(|event| trace.event(event));
    trace.finish().unwrap()
}

fn sample(name: &str) -> Heard {
    let mut heard = Heard::default();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name), &mut heard).unwrap();
    heard
}

#[test]
fn a_trace_says_what_the_recording_says() {
    for name in ["file.perf", "mixed.perf", "t7.dat", "i6.dat", "tracefs.txt", "perf-script.txt", "perfetto.trace"] {
        let recorded = sample(name);
        let (head, found) = hear(&written(&recorded));
        let head = head.unwrap();
        assert_eq!(head.format, "Perfetto trace", "{name}");
        assert!(in_trace(&recorded).len() > 10, "{name}");
        let (found_events, expected) = (in_trace(&found), in_trace(&recorded));
        for (at, both) in found_events.iter().zip(&expected).enumerate() {
            assert_eq!(both.0, both.1, "{name}: event {at}");
        }
        assert_eq!(found_events.len(), expected.len(), "{name}");
        assert_eq!(found.names_of_tasks(), recorded.names_of_tasks(), "{name}");
    }
}

#[test]
fn a_renaming_is_an_event_of_its_own() {
    let at = Event { time: 5, value: 0, task: 7, other: 7, extra: 0, cpu: 1, kind: Kind::Named, bits: 0 };
    let names = ["sh".to_owned(), "cat".to_owned()].to_vec();
    let events = [0, 1].map(|value| Event { value, time: 5 + value, ..at }).to_vec();
    let (head, _) = hear(&written(&Heard { events, names }));
    let renamed = &head.unwrap().recorded["task_rename"];
    assert_eq!(renamed.events, 1, "the first name is no renaming");
}

#[test]
fn a_loss_stands_before_what_follows_it_on_its_processor() {
    let switch = Event { time: 9, value: 0, task: 1, other: 2, extra: 0, cpu: 3, kind: Kind::Switch, bits: 0 };
    let lost = Event { kind: Kind::Lost, task: 0, other: Event::NO_TASK, ..switch };
    let events = [switch, lost, Event { time: 12, ..switch }].to_vec();
    let (head, _) = hear(&written(&Heard { events, names: Vec::new() }));
    let losses = head.unwrap().losses;
    assert_eq!(losses.iter().map(|loss| (loss.time, loss.cpu)).collect::<Vec<_>>(), [(Some(12), Some(3))]);
}

#[test]
fn the_first_failed_write_is_the_answer() {
    #[derive(Debug)]
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is full"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut trace = Recorded::new(Full);
    sample("tracefs.txt").events.iter().for_each(|event| trace.event(event));
    assert_eq!(trace.finish().unwrap_err().to_string(), "the disk is full");
}

proptest! {
    #[test]
    fn any_events_are_written_and_read(recorded in events(1)) {
        let heard = Heard { events: recorded, names: Vec::new() };
        let (head, found) = hear(&written(&heard));
        prop_assert!(head.is_ok());
        prop_assert_eq!(in_trace(&found), in_trace(&heard));
    }
}

#[test]
fn contexts_are_kept() {
    let recorded = sample("t7.dat");
    let wakings = |heard: &Heard| -> Vec<_> {
        heard.events.iter().filter(|it| it.kind == Kind::Waking).map(|it| (it.time, it.context())).collect()
    };
    let all = wakings(&recorded);
    assert!(all.iter().any(|it| it.1 == Context::HardInterrupt) && all.iter().any(|it| it.1 == Context::Task));
    assert_eq!(wakings(&hear(&written(&recorded)).1), all);
}
