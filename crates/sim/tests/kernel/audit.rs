//! The audit itself: it must notice when an event of a sound run is left out, reported twice or reported late.

use schedlab_model::event::{Event, Kind, Observer};
use schedlab_policies::schedulers::All;
use schedlab_sim::Audit;
use schedlab_testing::schedulers::{Run, run, scenario};

const KINDS: [Kind; 7] =
    [Kind::Created, Kind::Wakeup, Kind::SwitchIn, Kind::SwitchOut, Kind::Exited, Kind::DiskStart, Kind::DiskDone];

/// A run with a bit of everything, on two processors.
fn sound() -> Run {
    let text = r#"
        duration = "2s"
        scheduler = { name = "round_robin", slice = "5ms" }
        workload.hog = { load = "spin", compute = "60ms", count = 3 }
        workload.make.steps = [{ fork = [{ compute = "20ms" }] }, { call = "3ms" }, "wait", "yield", { compute = "1ms" }]
        workload.reader = { load = "read_files", files = 5, size = "9KiB" }
        [machine]
        preset = "uniform"
        processors = 2
        costs = { context_switch = "100us", trap = "50us", interrupt = "70us" }
        files = { cache_blocks = 4 }
        [machine.disk]
        rotation = "3600/min"
        cylinders = 100
        heads = 4
        sectors = 18
        interleave = 1
        seek_track = "3ms"
        seek_full = "30ms"
        command = "100us"
        sector_copy = "100us"
    "#;
    run::<All>(&scenario(text), 1)
}

fn audit(events: impl IntoIterator<Item = Event>, end: u64) -> Vec<String> {
    let mut audit = Audit::new(2);
    events.into_iter().for_each(|event| audit.observe(event));
    audit.finish(end)
}

/// The places of the first few events of a kind.
fn places(run: &Run, kind: Kind) -> Vec<usize> {
    let all: Vec<_> = (0..run.events.len()).filter(|&place| run.events[place].kind == kind).collect();
    assert!(all.len() >= 5, "{} of {kind:?}", all.len());
    all.into_iter().take(20).collect()
}

#[test]
fn an_event_that_is_left_out_or_reported_twice_is_a_violation() {
    let run = sound();
    assert_eq!(audit(run.events.clone(), run.end), Vec::<String>::new());
    for kind in KINDS {
        for place in places(&run, kind) {
            let mut events = run.events.clone();
            let event = events.remove(place);
            assert!(!audit(events.clone(), run.end).is_empty(), "left out: {event:?}");
            events.splice(place..place, [event, event]);
            assert!(!audit(events, run.end).is_empty(), "told twice: {event:?}");
        }
    }
}

#[test]
fn time_that_does_not_add_up_is_noticed_to_the_nanosecond() {
    let run = sound();
    for kind in [Kind::SwitchOut, Kind::Overhead] {
        for place in places(&run, kind) {
            let mut events = run.events.clone();
            events[place].a += 1;
            assert!(!audit(events, run.end).is_empty(), "{:?}", run.events[place]);
        }
    }
    assert!(!audit(run.events.iter().rev().copied(), run.end).is_empty());
}

#[test]
fn a_wrong_processor_is_noticed() {
    let run = sound();
    for kind in [Kind::SwitchIn, Kind::SwitchOut, Kind::Wakeup] {
        for place in places(&run, kind) {
            for cpu in [1 - run.events[place].cpu, 7] {
                let mut events = run.events.clone();
                events[place].cpu = cpu;
                assert!(!audit(events, run.end).is_empty(), "{:?}", run.events[place]);
            }
        }
    }
}

#[test]
fn a_broken_run_does_not_fill_the_memory_with_complaints() {
    let run = sound();
    let nonsense = (0..10_000).map(|n| Event { task: n, kind: Kind::SwitchIn, ..run.events[0] });
    let complaints = audit(nonsense, 0);
    assert!(complaints.len() < 100 && complaints.last().unwrap().ends_with(" more"), "{}", complaints.len());
}
