//! Recordings of our own, as events of a kernel.

use crate::sample::{self, MS};
use crate::text::hear;
use proptest::prelude::*;
use schedlab_model::event::{Attributes, Event as Recorded, Kind as Of, Leave, NO_TASK, Observer, Waker};
use schedlab_model::names::RunGroup;
use schedlab_model::task::Policy;
use schedlab_traces::kernel::{Context, Event, Kind, Left};
use schedlab_traces::{Names, recording::Recorder};
use std::{fs, path::Path};

fn record(events: &[Recorded], names: &Names) -> Vec<u8> {
    let mut recorder = Recorder::new(Vec::new(), names).unwrap();
    events.iter().for_each(|event| recorder.observe(*event));
    recorder.finish().unwrap()
}

#[test]
fn a_run_is_given_as_a_kernel_records_it() {
    let (head, heard) = hear(&record(&sample::run(), &sample::names()));
    let head = head.unwrap();
    let left = |left: Left| left as u8;
    let found: Vec<_> = heard.found().iter().map(|e| (e.time / MS, e.kind, e.task, e.other, e.flag())).collect();
    let none = Event::NO_TASK;
    let expected = [
        (4, Kind::Treated, 1, none, 0),
        (10, Kind::Treated, 2, none, 0),
        (10, Kind::New, 2, none, 0),
        (10, Kind::Switch, 0, 2, left(Left::Runnable)),
        (16, Kind::Treated, 3, none, 0),
        (16, Kind::New, 3, none, 0),
        (30, Kind::Switch, 2, 3, left(Left::Runnable)),
        (40, Kind::Waking, 1, none, 0),
        (40, Kind::Switch, 3, 1, left(Left::Runnable)),
        (48, Kind::Switch, 1, 2, left(Left::Sleeping)),
        (68, Kind::Exit, 2, none, 0),
        (68, Kind::Switch, 2, 3, left(Left::Dead)),
        (80, Kind::Switch, 3, 0, left(Left::Sleeping)),
    ];
    assert_eq!(found, expected);
    let names: Vec<_> = heard.names_of_tasks().into_iter().collect();
    assert_eq!(names, [(1, "editor"), (2, "hog <&\"1\">"), (3, "hog <&\"1\">")]);
    assert_eq!((head.format.as_str(), head.processors, head.span), ("schedlab recording", 1, Some((4 * MS, 80 * MS))));
    assert!(head.recorded["SwitchIn"].known && !head.recorded["Mark"].known);
}

/// The input that fuzzing starts from (fuzz/fuzz_targets/own.rs): the length of the names, the names, events.
#[test]
#[ignore = "writes crates/traces/fuzz/corpus: --ignored"]
fn a_run_is_an_input_of_the_fuzzer() {
    let recording = record(&sample::run(), &sample::names());
    let payload = |at: usize| {
        let length = u32::from_le_bytes(recording[at..at + 4].try_into().unwrap()) as usize;
        &recording[at + 8..at + 8 + length]
    };
    let names = payload(12);
    let events = payload(12 + 8 + names.len());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/own");
    fs::create_dir_all(&folder).unwrap();
    let framed = [&(names.len() as u16).to_le_bytes(), names, events].concat();
    fs::write(folder.join("sample-framed"), framed).unwrap();
    fs::write(folder.join("sample-whole"), [&[0, 0], &recording[12..]].concat()).unwrap();
}

#[test]
fn forks_migrations_and_drives_keep_their_numbers() {
    let names = Names { processors: 4, jobs: vec!["j".to_owned()], servers: vec!["fs".to_owned()], ..Names::default() };
    let at = |task, kind, flag, a, b| Recorded { time: 7, a, b, task, cpu: 3, kind, flag };
    let events = [
        at(0, Of::Created, 118, 9, NO_TASK.into()),
        at(5, Of::Created, 128, 0, 0),
        at(5, Of::Migrated, 0, 1, 0),
        at(5, Of::Charged, 0, 44, 0),
        at(5, Of::Executed, 0, 0, 0),
        at(NO_TASK, Of::DiskStart, 1, 80, 16),
        at(NO_TASK, Of::DiskDone, 1, 80, 999),
    ];
    let (_, heard) = hear(&record(&events, &names));
    let found: Vec<_> = heard.found().iter().map(|e| (e.kind, e.task, e.other, e.value, e.extra, e.flag())).collect();
    let none = Event::NO_TASK;
    let expected = [
        (Kind::Treated, 1, none, -10i64 as u64, 0, 0),
        (Kind::Treated, 6, none, 0, 0, 0),
        (Kind::Fork, 1, 6, 0, 0, 0),
        (Kind::Migrate, 6, none, 1 << 32 | 3, 0, 0),
        (Kind::Runtime, 6, none, 44, 0, 0),
        (Kind::Exec, 6, none, 0, 0, 0),
        (Kind::BlockIssue, none, none, 80, 16 * 512, 1),
        (Kind::BlockComplete, none, none, 80, 0, 1),
    ];
    assert_eq!(found, expected);
    assert!(heard.found().iter().all(|event| event.context() == Context::Unknown && event.cpu == 3));
    assert_eq!(heard.names_of_tasks().into_iter().collect::<Vec<_>>(), [(1, "fs"), (6, "j")]);
}

#[test]
fn switches_have_the_priorities_of_the_kernel() {
    let at = |time, task, kind, flag, a| Recorded { time, a, b: NO_TASK.into(), task, cpu: 0, kind, flag };
    let events = [
        at(0, 0, Of::Created, 128 + 5, 0),
        at(0, 1, Of::Created, 128 - 20, 0),
        at(1, 0, Of::SwitchIn, 0, 0),
        at(2, 0, Of::SwitchOut, Leave::Blocked as u8, 0),
        at(2, 1, Of::SwitchIn, 0, 0),
    ];
    let (_, heard) = hear(&record(&events, &Names::default()));
    let switches = heard.found().into_iter().filter(|event| event.kind == Kind::Switch);
    let found: Vec<_> = switches.map(|event| (event.value >> 32, event.value as u32)).collect();
    assert_eq!(found, [(120, 125), (125, 100)]);
}

#[test]
fn how_tasks_are_treated_is_the_state_at_the_start() {
    let at = |time, task, kind, flag, a, b| Recorded { time, a, b, task, cpu: 0, kind, flag };
    let of = |policy, priority, group| Attributes { policy, priority, group }.packed();
    let made = |task, nice: u8| at(1, task, Of::Created, 128 + nice, 0, NO_TASK.into());
    let events = [
        made(0, 5),
        made(1, 0),
        at(1, 1, Of::Treated, 128, of(Policy::Rr, 10, 2), 0),
        made(2, 0),
        at(1, 2, Of::Treated, 128, of(Policy::Batch, 0, 0), 3_000_000),
        at(1, 2, Of::Allowed, 0, 1, 1),
        at(1, 2, Of::Allowed, 0, 0b1_0111, 0),
        made(3, 0),
        at(1, 3, Of::Treated, 128, of(Policy::Deadline, 0, 0), 0),
        at(2, 4, Of::Created, 128, 0, 0),
        at(2, 5, Of::Created, 128, 1, NO_TASK.into()),
        at(3, 0, Of::SwitchIn, 0, 0, 0),
        at(4, 0, Of::SwitchOut, Leave::Preempted as u8, 0, 0),
        at(4, 1, Of::SwitchIn, 0, 0, 0),
        at(5, 1, Of::Treated, 128 + 7, of(Policy::Other, 0, 2), 0),
        at(6, 1, Of::SwitchOut, Leave::Preempted as u8, 0, 0),
        at(6, 3, Of::SwitchIn, 0, 0, 0),
    ];
    let group = |name: &str, parent, quota| RunGroup { name: name.to_owned(), parent, weight: 512, quota, burst: 0 };
    let groups = vec![group("all", 0, None), group("some", 1, Some((5, 20)))];
    let jobs = vec!["job".to_owned()];
    let (head, heard) = hear(&record(
        &events,
        &Names { processors: 68, jobs, tick: Some(4), groups: Some(groups), ..Names::default() },
    ));
    let state = head.unwrap().state.unwrap();
    let found: Vec<_> = state.tasks.iter().map(|it| (it.pid, it.nice, it.policy, it.priority, it.slice_ns)).collect();
    let expected = [(1, 5, 0, 0, 0), (2, 0, 2, 10, 0), (3, 0, 3, 0, 3_000_000), (4, 0, 6, 0, 0)];
    assert_eq!(
        found, expected,
        "as they began; what a task of the run has made is treated as that one, and others are not known"
    );
    let found: Vec<_> = state.tasks.iter().map(|it| (it.group.as_str(), it.processors.as_str())).collect();
    assert_eq!(found, [("/", ""), ("/all/some", ""), ("/", "0-2,4,64"), ("/", "")]);
    let found: Vec<_> =
        state.groups.iter().map(|it| (it.path.as_str(), it.shares, it.quota_ns, it.period_ns)).collect();
    assert_eq!(found, [("/all", Some(512), None, None), ("/all/some", Some(512), Some(5), Some(20))]);
    assert_eq!((state.processors.len(), state.kernel.tick_ns), (68, Some(4)));
    let switches = heard.found().into_iter().filter(|event| event.kind == Kind::Switch);
    let found: Vec<_> = switches.map(|event| ((event.value >> 32) as i32, event.value as u32 as i32)).collect();
    assert_eq!(found, [(120, 125), (125, 89), (127, -1)], "and as they are treated then");
}

#[test]
fn a_recording_that_does_not_say_how_tasks_are_treated_has_no_state() {
    assert_eq!(hear(&record(&sample::run(), &sample::names())).0.unwrap().state, None);
}

#[test]
fn groups_in_a_circle_have_an_end() {
    let group = |parent| RunGroup { parent, name: "x".repeat(1000), ..RunGroup::default() };
    let names = Names { groups: Some(vec![group(2), group(1)]), ..Names::default() };
    let groups = hear(&record(&[], &names)).0.unwrap().state.unwrap().groups;
    assert!(groups.len() == 2 && groups.iter().all(|group| group.path.len() < 1000), "and names are cut")
}

#[test]
fn a_wakeup_is_recorded_where_its_waker_is() {
    let wakes =
        |by: Waker, on, new| Recorded { time: 7, a: by.packed(), b: on, task: 4, cpu: 1, kind: Of::Wakeup, flag: new };
    let events = [
        wakes(Waker::Unknown, 0, 0),
        wakes(Waker::Interrupt, 3, 0),
        wakes(Waker::Task(0), 2, 0),
        wakes(Waker::Task(8), 0, 1),
        wakes(Waker::Task(8), 1 << 16, 1),
    ];
    let (_, heard) = hear(&record(&events, &Names { processors: 4, ..Names::default() }));
    let found: Vec<_> = heard.found().iter().map(|e| (e.kind, e.context(), e.other, e.cpu, e.value)).collect();
    let expected = [
        (Kind::Waking, Context::Unknown, Event::NO_TASK, 1, 1),
        (Kind::Waking, Context::HardInterrupt, Event::NO_TASK, 3, 1),
        (Kind::Waking, Context::Task, 1, 2, 1),
        (Kind::New, Context::Task, 9, 0, 1),
    ];
    assert_eq!(found, expected, "and one from a processor that cannot be is left out");
}

#[test]
fn what_a_switch_takes_belongs_to_the_next_task() {
    let at = |time, task, kind, flag| Recorded { time, a: 0, b: 0, task, cpu: 0, kind, flag };
    let events = [
        at(10, 0, Of::SwitchIn, 0),
        at(20, 0, Of::SwitchOut, Leave::Blocked as u8),
        at(25, NO_TASK, Of::Overhead, 0),
        at(25, 1, Of::SwitchIn, 0),
        at(30, 1, Of::SwitchOut, Leave::SliceEnd as u8),
        at(30, 1, Of::SwitchIn, 0),
        at(40, 1, Of::SwitchOut, Leave::Stopped as u8),
    ];
    let (_, heard) = hear(&record(&events, &Names::default()));
    let switches: Vec<_> = heard.found().iter().map(|event| (event.time, event.task, event.other)).collect();
    // The second task gets its processor back, which is no switch; it has it until the run stops.
    assert_eq!(switches, [(10, 0, 1), (20, 1, 2), (40, 2, 0)]);
}

#[test]
fn a_recording_that_is_cut_off_is_read_up_to_there() {
    let bytes = record(&sample::run(), &sample::names());
    let (head, heard) = hear(&bytes[..bytes.len() - 2]);
    assert_eq!(heard.found().len(), 13);
    let why = &head.unwrap().losses[0].why;
    assert!(why.starts_with("the recording is cut off after 22 events"), "{why}");
    let why = hear(&bytes[..10]).0.unwrap_err().to_string();
    assert!(why.starts_with("schedlab recording: this is not a recording"), "{why}");
}

proptest! {
    /// Stints of some length with or without a pause after each, on some processors.
    #[test]
    fn stints_of_tasks_are_chains_of_switches(stints in prop::collection::vec((0..3u16, 1..50u64, any::<bool>()), 1..60)) {
        let (mut events, mut now) = (Vec::new(), [0u64; 3]);
        let mut expected = [0u64; 3];
        for (task, (cpu, length, pause)) in (0..).zip(stints) {
            let now = &mut now[usize::from(cpu)];
            let at = |time, task, kind| Recorded { time, a: 0, b: 0, task, cpu, kind, flag: Leave::Blocked as u8 };
            events.extend([at(*now, task, Of::SwitchIn), at(*now + length, task, Of::SwitchOut)]);
            *now += length;
            if pause {
                events.push(at(*now, NO_TASK, Of::Idle));
                *now += 5;
            }
            expected[usize::from(cpu)] += length;
        }
        events.sort_by_key(|event| event.time);
        let (_, heard) = hear(&record(&events, &Names::default()));
        for cpu in 0..3 {
            let (mut current, mut since, mut ran) = (0, 0, 0);
            for switch in heard.found().iter().filter(|event| event.cpu == cpu) {
                prop_assert_eq!(switch.task, current);
                ran += if current == 0 { 0 } else { switch.time - since };
                (current, since) = (switch.other, switch.time);
            }
            prop_assert_eq!((current, ran), (0, expected[usize::from(cpu)]));
        }
    }

    #[test]
    fn damaged_recordings_end_in_events_and_losses(at in any::<prop::sample::Index>(), change in 1..=255u8, cut in any::<prop::sample::Index>()) {
        let mut bytes = record(&sample::run(), &sample::names());
        let at = at.index(bytes.len());
        bytes[at] ^= change;
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = hear(&bytes);
    }

    #[test]
    fn any_events_however_odd_are_given_in_order(
        odd in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>(), any::<u16>(), 0..28usize, any::<u8>()), 0..50),
    ) {
        const KINDS: [Of; 7] = [Of::Created, Of::Exited, Of::Wakeup, Of::SwitchIn, Of::SwitchOut, Of::Idle, Of::Migrated];
        let event = |(time, a, b, task, cpu, kind, flag): (u64, u64, u64, u32, u16, usize, u8)| {
            Recorded { time, a, b, task, cpu, kind: KINDS[kind % KINDS.len()], flag }
        };
        let mut events: Vec<_> = odd.into_iter().map(event).collect();
        events.sort_by_key(|event| event.time);
        let _ = hear(&record(&events, &sample::names()));
    }
}
