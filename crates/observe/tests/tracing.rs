//! What the recorder makes of the kernel's pages: made by hand, damaged, and of any bytes at all.
//!
//! Long, because each rule of what pages mean has a recording of its own.

mod ring;

use proptest::prelude::*;
use ring::{Ring, layout};
use schedlab_linux::Root;
use schedlab_model::{
    event::{Attributes, Event, Kind, Leave, Waker},
    processors::CpuSet,
    task::Policy,
};
use schedlab_observe::tracing::{Recorded, Recorder, Roster, RosterTask, layout::EventKind};
use schedlab_traces::recording::Reader;
use schedlab_tune::RunJournal;

const S: i64 = 1;
const R: i64 = 0;
const PREEMPTED: i64 = 256;
const Z: i64 = 32;
const MS: u64 = 1_000_000;

fn roster(pids: &[i32], processors: &[u16], (begin_ns, end_ns): (u64, u64)) -> Roster {
    let member = |(job, &pid): (usize, &i32)| RosterTask { pid, job: job as u32, nice: 0, parent: None };
    let jobs = pids.iter().map(|pid| format!("job{pid}")).collect();
    let tasks = pids.iter().enumerate().map(member).collect();
    Roster { jobs, tasks, processors: processors.to_vec(), begin_ns, end_ns, ..Roster::default() }
}

fn decode(rings: Vec<Ring>) -> Recorded {
    decode_with(rings, &[])
}

fn decode_with(rings: Vec<Ring>, overruns: &[u64]) -> Recorded {
    let pages = rings.into_iter().enumerate().map(|(cpu, mut ring)| {
        ring.flush();
        (cpu as u16, ring.bytes)
    });
    Recorded::decode(&layout(), pages.collect(), overruns, (0, 1 << 50))
}

fn row(recorded: &Recorded, roster: &Roster, metric: &str) -> Option<f64> {
    recorded.rows(roster).into_iter().find(|row| row.metric == metric).map(|row| row.value)
}

fn events_of(recorded: &Recorded, roster: &Roster, kind: Kind) -> Vec<Event> {
    recorded.events(roster).into_iter().filter(|event| event.kind == kind).collect()
}

/// Task 10 sleeps, is woken 5 ms into the run while 20 has the processor, and gets it 7 ms later.
fn a_wait() -> (Recorded, Roster) {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 20, S, 10);
    ring.switch(2 * MS, 10, S, 20);
    ring.waking(15 * MS, 20, 10, 0);
    ring.woken(15 * MS + 1000, 20, 10, 0);
    ring.switch(22 * MS, 20, PREEMPTED, 10);
    ring.switch(24 * MS, 10, Z, 20);
    (decode(vec![ring]), roster(&[10, 20], &[0], (10 * MS, 30 * MS)))
}

#[test]
fn a_wait_lasts_from_waking_to_the_switch() {
    let (recorded, roster) = a_wait();
    assert_eq!(recorded.lost(), 0);
    assert_eq!(row(&recorded, &roster, "tasks.job10.wakeup_latency.max"), Some(0.007));
    assert_eq!(row(&recorded, &roster, "tasks.job10.wakeup_latency.count"), Some(1.0));
    assert_eq!(row(&recorded, &roster, "tasks.job20.involuntary_switches"), Some(1.0));
    assert_eq!(row(&recorded, &roster, "tasks.job10.real"), Some(0.014));
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(10.0));
    assert_eq!(row(&recorded, &roster, "tasks.job20.share"), Some(90.0));
    assert_eq!(row(&recorded, &roster, "utilization"), Some(100.0));
}

#[test]
fn a_processor_is_wasted_as_far_as_it_is_known_that_a_waiting_task_may_use_it() {
    let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
    here.switch(MS, 0, R, 10);
    here.woken(2 * MS, 10, 20, 0);
    there.switch(3 * MS, 30, S, 0);
    here.switch(7 * MS, 10, S, 20);
    here.switch(9 * MS, 20, S, 0);
    let recorded = decode(vec![here, there]);
    let wasted = |allowed: &[CpuSet]| {
        let roster = Roster { allowed: allowed.to_vec(), ..roster(&[10, 20], &[0, 1], (0, 10 * MS)) };
        ["wasted", "wasted.longest"].map(|metric| row(&recorded, &roster, metric))
    };
    assert_eq!(
        wasted(&[CpuSet::all(2), CpuSet::all(2)]),
        [Some(20.0), Some(0.004)],
        "from 3 to 7 ms, of two processors"
    );
    assert_eq!(wasted(&[CpuSet::all(2), CpuSet::only(0)]), [Some(0.0), Some(0.0)]);
    assert_eq!(wasted(&[]), [None, None]);
}

#[test]
fn a_recording_of_a_run_says_how_its_jobs_are_treated() {
    let (recorded, roster) = a_wait();
    let real_time = Attributes { policy: Policy::Fifo, priority: 7, group: 0 };
    let treated = vec![(real_time, 0), (Attributes::default(), 0)];
    let text = |roster: &Roster| {
        let path = tempfile::NamedTempFile::new().unwrap();
        recorded.write(path.path(), roster).unwrap();
        let reader = Reader::new(std::fs::File::open(path.path()).unwrap()).unwrap();
        let (groups, tick) = (reader.names().groups.clone(), reader.names().tick);
        let events = reader.map(Result::unwrap).filter(|event| event.kind == Kind::Treated);
        (groups, events.map(|event| (event.task, Attributes::of(event.a))).collect::<Vec<_>>(), tick)
    };
    assert_eq!(text(&roster), (None, vec![], None), "where it is not known, nothing says that they are ordinary");
    let (groups, found, tick) = text(&Roster { treated, tick_ns: Some(4_000_000), ..roster });
    assert_eq!((groups.unwrap().len(), found.as_slice()), (0, &[(0, real_time)][..]));
    assert_eq!(tick, Some(4_000_000));
}

#[test]
fn rows_that_events_do_not_determine_are_left_out() {
    let (recorded, roster) = a_wait();
    for unknown in ["user", "system", "idle", "interrupts", "tasks.job10.user", "tasks.job10.true_sys", "disk_busy"] {
        assert_eq!(row(&recorded, &roster, unknown), None, "{unknown}");
    }
}

#[test]
fn the_running_task_before_the_first_event_is_known() {
    let mut ring = Ring::new(&layout());
    ring.switch(19 * MS, 20, PREEMPTED, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[20], &[0], (10 * MS, 20 * MS)));
    assert_eq!(row(&recorded, &roster, "tasks.job20.share"), Some(90.0));
    assert_eq!(row(&recorded, &roster, "utilization"), Some(90.0));
}

#[test]
fn a_task_made_meanwhile_did_not_have_its_processor_from_the_start() {
    let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
    here.fork(2 * MS, 10, 20);
    here.event(2 * MS + 1000, 10, EventKind::New, &[20, 120, 1]);
    // The switch to the new task was not recorded, nor anything before it.
    there.waking(3 * MS, 20, 30, 1);
    there.switch(4 * MS, 20, S, 30);
    there.switch(5 * MS, 30, S, 20);
    there.switch(9 * MS, 20, Z, 0);
    let (recorded, roster) = (decode(vec![here, there]), roster(&[20], &[1], (0, 10 * MS)));
    assert_eq!(row(&recorded, &roster, "tasks.job20.share"), Some(50.0), "from 3 to 4 and from 5 to 9 ms");
    assert_eq!(recorded.lost(), 1);
}

#[test]
fn a_task_woken_while_it_leaves_is_woken_when_it_has_left() {
    let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
    here.switch(MS, 0, R, 10);
    there.waking(3 * MS - 500, 20, 10, 0);
    here.switch(3 * MS, 10, S, 30);
    here.woken(3 * MS + 700, 30, 10, 0);
    here.switch(4 * MS, 30, PREEMPTED, 10);
    let (recorded, roster) = (decode(vec![here, there]), roster(&[10], &[0, 1], (0, 5 * MS)));
    assert_eq!(row(&recorded, &roster, "tasks.job10.wakeup_latency.max"), Some(0.001));
}

#[test]
fn a_task_woken_before_it_went_to_sleep_never_slept() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    ring.waking(2 * MS, 10, 10, 0);
    ring.woken(2 * MS + 100, 10, 10, 0);
    ring.switch(3 * MS, 10, S, 0);
    ring.waking(8 * MS, 0, 10, 0);
    ring.switch(9 * MS, 0, R, 10);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!(
        events_of(&recorded, &roster, Kind::Wakeup).iter().map(|event| event.time).collect::<Vec<_>>(),
        [8 * MS]
    );
}

#[test]
fn a_wakeup_on_another_processor_counts() {
    let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
    here.switch(MS, 10, S, 0);
    there.waking(4 * MS, 77, 10, 0);
    here.switch(6 * MS, 0, R, 10);
    let (recorded, roster) = (decode(vec![here, there]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!(row(&recorded, &roster, "tasks.job10.wakeup_latency.max"), Some(0.002));
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(50.0));
}

#[test]
fn a_wakeup_has_its_waker_and_where_that_was() {
    const IN_INTERRUPT: i64 = 0x08;
    let rings = || {
        let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
        there.switch(MS, 0, R, 20);
        here.switch(2 * MS, 0, R, 10);
        here.switch(3 * MS, 10, S, 0);
        there.waking(4 * MS, 20, 10, 0);
        here.switch(5 * MS, 0, R, 10);
        here.switch(6 * MS, 10, S, 0);
        there.flagged(7 * MS, 20, IN_INTERRUPT, EventKind::Waking, &[10, 120, 0]);
        here.switch(8 * MS, 0, R, 10);
        // Woken as it leaves.
        there.waking(9 * MS - 500, 20, 10, 0);
        here.switch(9 * MS, 10, S, 0);
        there.fork(10 * MS, 20, 30);
        there.event(11 * MS, 20, EventKind::New, &[30, 120, 0]);
        vec![here, there]
    };
    let wakers = |processors: &[u16]| {
        let (recorded, roster) = (decode(rings()), roster(&[10, 20], processors, (0, 12 * MS)));
        let of = |event: &Event| (Waker::of(event.a), event.b, event.cpu);
        events_of(&recorded, &roster, Kind::Wakeup).iter().map(of).collect::<Vec<_>>()
    };
    let by_task = (Waker::Task(1), 1, 0);
    assert_eq!(wakers(&[0, 1]), [by_task, (Waker::Interrupt, 1, 0), by_task, by_task]);
    // What happens on other processors is not part of the run.
    let elsewhere = (Waker::Unknown, 0, 0);
    assert_eq!(wakers(&[0]), [elsewhere; 4]);
}

#[test]
fn a_task_preempted_while_it_goes_to_sleep_can_run() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 10, PREEMPTED | S, 20);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 2 * MS)));
    assert_eq!(events_of(&recorded, &roster, Kind::SwitchOut)[0].flag, Leave::Preempted as u8);
}

#[test]
fn children_belong_to_the_job_of_their_parent() {
    let mut ring = Ring::new(&layout());
    ring.fork(MS, 10, 11);
    ring.switch(2 * MS, 10, S, 11);
    ring.fork(3 * MS, 11, 12);
    ring.switch(4 * MS, 11, Z, 12);
    ring.switch(6 * MS, 12, Z, 10);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(100.0));
    assert_eq!(row(&recorded, &roster, "tasks.job10.completed"), Some(2.0));
    let parents: Vec<u64> = events_of(&recorded, &roster, Kind::Created).iter().map(|event| event.b).collect();
    assert_eq!(parents, [u64::from(u32::MAX), 0, 1]);
}

#[test]
fn tasks_of_no_job_are_foreign() {
    let mut ring = Ring::new(&layout());
    ring.switch(2 * MS, 10, S, 50);
    ring.waking(3 * MS, 50, 60, 0);
    ring.woken(3 * MS, 50, 60, 0);
    ring.switch(4 * MS, 50, S, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!(recorded.foreign_percent(&roster), 20.0);
    assert_eq!(recorded.foreign_wakeups(&roster), 1);
    assert_eq!(row(&recorded, &roster, "utilization"), Some(40.0));
}

#[test]
fn run_lengths_are_reported_by_how_they_ended() {
    let (recorded, roster) = a_wait();
    let lengths = recorded.run_lengths(&roster);
    let [ten, twenty] = &lengths[..] else { panic!("two jobs: {lengths:?}") };
    assert_eq!(ten.left.map(|spread| (spread.count, spread.max_ns)), Some((1, 2 * MS)));
    assert_eq!(ten.taken, None);
    assert_eq!(twenty.taken.map(|spread| (spread.count, spread.max_ns)), Some((1, 12 * MS)));
}

#[test]
fn long_steps_absolute_stamps_and_withdrawn_records_are_read() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    // An absolute stamp of 500 ms, a withdrawn record of 12 bytes that took 7 ns, then a long step.
    let stamp: u64 = 500 * MS;
    ring.raw(&[31 | ((stamp % (1 << 27)) as u32) << 5, (stamp >> 27) as u32]);
    ring.raw(&[29 | 7 << 5, 8, 0]);
    ring.raw(&[30 | 3 << 5, 1]);
    ring.switch(MS, 10, S, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 1000 * MS)));
    let out = events_of(&recorded, &roster, Kind::SwitchOut);
    assert_eq!(out[0].time, 500 * MS + 7 + (1 << 27) + 3);
    assert_eq!((recorded.lost(), out[0].flag), (0, Leave::Blocked as u8));
}

#[test]
fn pages_that_say_what_is_missing_are_believed() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    ring.waking(2 * MS, 10, 20, 0);
    ring.lose(5000);
    ring.switch(8 * MS, 30, S, 20);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10, 20], &[0], (0, 10 * MS)));
    assert_eq!(recorded.lost(), 5000);
    // Neither the time of 10 nor the wait of 20 is made up.
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(10.0));
    assert_eq!(row(&recorded, &roster, "tasks.job20.wakeup_latency.count").unwrap_or(0.0), 0.0);
}

#[test]
fn the_counters_of_the_buffers_are_believed() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    assert_eq!(decode_with(vec![ring], &[17, 3]).lost(), 20);
}

#[test]
fn an_unrecorded_switch_is_detected() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    ring.switch(3 * MS, 10, PREEMPTED, 75);
    ring.waking(4 * MS, 75, 20, 0);
    ring.switch(8 * MS, 10, S, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!(recorded.lost(), 1);
    // It is put at the last event of the other task.
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(60.0));
    assert_eq!(recorded.foreign_percent(&roster), 10.0);
}

#[test]
fn an_unrecorded_switch_is_recovered_from_the_run_time_of_the_task() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 10, S, 0);
    ring.waking(4 * MS, 0, 10, 0);
    ring.event(6 * MS, 10, EventKind::Runtime, &[10, MS as i64]);
    ring.switch(6 * MS, 10, S, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!((recorded.lost(), recorded.mended()), (0, 1));
    assert_eq!(row(&recorded, &roster, "tasks.job10.wakeup_latency.max"), Some(0.001));
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(20.0));
    assert_eq!(row(&recorded, &roster, "utilization"), Some(20.0));
}

#[test]
fn an_unrecorded_switch_is_recovered_from_the_last_charge() {
    let mut ring = Ring::new(&layout());
    ring.switch(MS, 0, R, 10);
    ring.event(3 * MS, 10, EventKind::Runtime, &[10, 2 * MS as i64]);
    ring.waking(9 * MS, 0, 10, 0);
    let (recorded, roster) = (decode(vec![ring]), roster(&[10], &[0], (0, 10 * MS)));
    assert_eq!((recorded.lost(), recorded.mended()), (0, 1));
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(20.0));
}

/// While 10 has processor 0, that one puts a task into the runqueue of processor 1, and charges 20, which runs there.
#[test]
fn a_charge_belongs_to_the_processor_that_the_task_has() {
    let (mut here, mut there) = (Ring::new(&layout()), Ring::new(&layout()));
    here.switch(MS, 0, R, 10);
    there.switch(2 * MS, 0, R, 20);
    here.event(4 * MS, 10, EventKind::Runtime, &[20, 2 * MS as i64]);
    here.waking(5 * MS, 10, 30, 0);
    here.event(6 * MS, 10, EventKind::Runtime, &[10, 5 * MS as i64]);
    [&mut here, &mut there].into_iter().for_each(Ring::flush);
    let pages = vec![(0, here.bytes), (1, there.bytes)];
    let recorded = Recorded::decoded(&layout(), pages, &[], (0, 1 << 50), true);
    let roster = roster(&[10, 20], &[0, 1], (0, 10 * MS));
    assert_eq!((recorded.lost(), recorded.mended()), (0, 0), "no switch is missing");
    assert_eq!(row(&recorded, &roster, "tasks.job10.share"), Some(45.0), "of both processors");
    assert_eq!(row(&recorded, &roster, "tasks.job20.share"), Some(40.0));
    let charges = events_of(&recorded, &roster, Kind::Charged);
    let charges: Vec<_> = charges.iter().map(|it| (it.time / MS, it.cpu, it.task, it.a / MS)).collect();
    assert_eq!(charges, [(4, 1, 1, 2), (6, 0, 0, 5)]);
}

#[test]
fn a_recording_of_it_can_be_read() {
    let (recorded, roster) = a_wait();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.recording");
    recorded.write(&path, &roster).unwrap();
    let reader = Reader::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(reader.names().jobs, roster.jobs);
    assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), recorded.events(&roster));
}

#[test]
fn a_tree_without_tracefs_is_refused_with_advice() {
    let folder = tempfile::tempdir().unwrap();
    let fault = Recorder::start(&RunJournal::open(&Root::at(folder.path()), &folder.path().join("journal")), &[0], 64)
        .unwrap_err()
        .to_string();
    assert!(fault.contains("mount -t tracefs"), "{fault}");
}

/// A ring of real events, several pages of it.
fn sound() -> Vec<u8> {
    let mut ring = Ring::new(&layout());
    for i in 0..200 {
        ring.switch(i * MS, 10, S, 20);
        ring.waking(i * MS + 100, 20, 10, 0);
        ring.switch(i * MS + 500, 20, PREEMPTED, 10);
    }
    ring.flush();
    ring.bytes
}

fn all_answers(bytes: Vec<u8>) -> Recorded {
    let recorded = Recorded::decode(&layout(), vec![(0, bytes)], &[], (0, 300 * MS));
    let roster = roster(&[10, 20], &[0], (50 * MS, 150 * MS));
    let times: Vec<u64> = recorded.events(&roster).iter().map(|event| event.time).collect();
    assert!(times.is_sorted() && times.iter().all(|&time| time <= 100 * MS));
    recorded.rows(&roster);
    recorded.run_lengths(&roster);
    assert!(recorded.foreign_percent(&roster) <= 100.0);
    recorded
}

#[test]
fn a_page_that_is_cut_off_or_promises_too_much_is_seen() {
    let page = layout().head.page();
    let whole = sound();
    assert_eq!(all_answers(whole.clone()).lost(), 0);
    for (at, value) in [(page + 9, 0xff_u8), (page + 16, 0x00), (2 * page + 7, 0x01)] {
        let mut bytes = whole.clone();
        bytes[at] = value;
        assert!(all_answers(bytes).lost() > 0, "byte {at}");
    }
    assert!(all_answers(whole[..whole.len() - page + 100].to_vec()).lost() > 0);
}

proptest! {
    #[test]
    fn arbitrary_pages_are_decoded_without_harm(bytes in proptest::collection::vec(any::<u8>(), 0..20_000)) {
        all_answers(bytes);
    }

    #[test]
    fn damaged_pages_are_decoded_without_harm(damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
        let mut bytes = sound();
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        all_answers(bytes);
    }
}
