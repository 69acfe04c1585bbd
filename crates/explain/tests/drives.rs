//! What is said of drives: against requests that were thought up, blkparse's own totals, and a count of its lines.

mod made;

use made::Made;
use schedlab_explain::{Drive, Explainer, Group, Options, Report};
use schedlab_traces::kernel::{
    Kind::{self, BlockComplete, BlockIssue},
    Left, read,
};
use std::{collections::HashMap, path::Path};

const SDA: i32 = 8 << 20;
const SDB: i32 = 8 << 20 | 16;

#[track_caller]
fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{value}, expected {expected}");
}

/// Two requests of one drive overlap, one of another is alone; between them all drives are idle.
fn overlapping() -> Made {
    let mut made = Made::default();
    made.request(0, BlockIssue, SDA, 1000, 8, 0)
        .request(20, BlockIssue, SDA, 1008, 16, 1)
        .request(50, BlockComplete, SDA, 1000, 8, 0)
        .request(60, BlockIssue, SDB, 1024, 8, 2)
        .request(80, BlockComplete, SDA, 1008, 16, 1)
        .request(100, BlockComplete, SDB, 1024, 8, 2)
        .request(150, BlockIssue, SDA, 5000, 8, 0)
        .request(200, BlockComplete, SDA, 5000, 8, 0);
    made
}

#[test]
fn requests_are_counted_by_drive_and_kind_with_their_times() {
    let report = overlapping().report();
    let [a, b] = &report.drives[..] else { panic!("{:?}", report.drives) };
    assert_eq!((a.drive.as_str(), b.drive.as_str()), ("8,0", "8,16"));
    assert_eq!((a.read.requests, a.read.bytes, a.write.requests, a.write.bytes), (2, 8192, 1, 8192));
    assert_eq!((b.other.requests, b.other.bytes), (1, 4096));
    assert_eq!(
        (a.read.service_us.mean, a.read.service_us.max, a.write.service_us.p50),
        (Some(50.0), Some(50.0), Some(60.0))
    );
    assert_eq!(b.other.service_us.max_at_s, Some(0.0001));
    // A request was in flight from 0 to 80 and from 150 to 200 us of 200, two of them from 20 to 50.
    near(a.busy_pct, 65.0);
    near(a.in_flight, 0.8);
    near(b.busy_pct, 20.0);
    // Of two issues after the first one, one went on where that had ended.
    assert_eq!((a.sequential_pct, b.sequential_pct), (Some(50.0), None));
    assert_eq!((a.without_issue, a.without_completion), (0, 0));
}

#[test]
fn a_window_has_its_own_completions_and_its_own_time() {
    let window = Options { from: Some(40_000), to: Some(100_000), ..Options::default() };
    let report = overlapping().explain(&[], window).unwrap();
    let a = &report.drives[0];
    assert_eq!((a.read.requests, a.write.requests), (1, 1));
    // From 40 to 80 us of 60.
    near(a.busy_pct, 100.0 * 40.0 / 60.0);
    near(a.in_flight, (2.0 * 10.0 + 30.0) / 60.0);
    assert_eq!(a.read.service_us.max, Some(50.0), "all of it, though it began before");
}

#[test]
fn of_the_issues_in_a_window_no_more_are_sequential_than_there_are() {
    let mut made = Made::default();
    for one in 0..6u32 {
        let (at, sector) = (u64::from(one) * 100, u64::from(one) * 8);
        made.request(at, BlockIssue, SDA, sector, 8, 0).request(at + 50, BlockComplete, SDA, sector, 8, 0);
    }
    for (from, to) in [(0, 550_000), (90_000, 220_000), (190_000, 210_000)] {
        let window = Options { from: Some(from), to: Some(to), ..Options::default() };
        assert_eq!(made.explain(&[], window).unwrap().drives[0].sequential_pct, Some(100.0), "{from} to {to} ns");
    }
}

#[test]
fn where_events_are_lost_nothing_is_in_flight_for_ever() {
    let mut made = Made::default();
    made.request(0, BlockIssue, SDA, 8, 8, 0)
        .request(10, BlockComplete, SDA, 8, 8, 0)
        .request(20, BlockIssue, SDA, 16, 8, 0)
        .at(40, 0, Kind::Lost, 3)
        .request(900, BlockIssue, SDA, 24, 8, 0)
        .request(1000, BlockComplete, SDA, 24, 8, 0);
    let drive = &made.report().drives[0];
    // From 0 to 10, from 20 to at most 40, and from 900 to 1000 us.
    assert!((11.0..=13.0).contains(&drive.busy_pct), "{}", drive.busy_pct);
    assert_eq!((drive.read.requests, drive.without_completion), (2, 1));
}

#[test]
fn what_the_ends_cut_off_is_counted_and_has_no_time() {
    let mut made = Made::default();
    made.request(10, BlockComplete, SDA, 8, 8, 0)
        .request(20, BlockIssue, SDA, 16, 8, 0)
        .request(30, BlockIssue, SDA, 16, 8, 0)
        .request(40, BlockComplete, SDA, 16, 8, 0)
        .request(60, BlockIssue, SDA, 99, 8, 0)
        .request(70, BlockIssue, SDB, 1, 8, 0);
    let report = made.report();
    let a = &report.drives[0];
    assert_eq!((a.read.requests, a.without_issue, a.without_completion), (2, 1, 2));
    assert_eq!((a.read.service_us.mean, a.read.service_us.max), (Some(10.0), Some(10.0)));
    assert_eq!(report.drives[1].without_completion, 1);
}

#[test]
fn a_recording_with_tasks_and_requests_has_both_and_one_with_one_end_of_requests_has_no_drives() {
    let mut both = overlapping();
    both.switch(210, 0, 1, Left::Runnable, 2);
    let report = both.report();
    assert_eq!((report.drives.len(), report.processors.len()), (2, 1));
    assert!(report.warnings.iter().all(|warning| !warning.contains("requests to drives only")));
    let mut issues = Made::default();
    issues.request(10, BlockIssue, SDA, 8, 8, 0).switch(20, 0, 1, Left::Runnable, 2);
    assert!(issues.report().drives.is_empty());
    let refused = Made::default().request(10, BlockIssue, SDA, 8, 8, 0).explain(&[], Options::default()).unwrap_err();
    assert!(refused.contains("no sched:sched_switch events"), "{refused}");
}

#[test]
fn of_drives_alone_no_task_can_be_asked_for() {
    let made = overlapping();
    assert!(made.report().warnings[0].starts_with("requests to drives only: nothing is known of tasks"));
    let asked = [
        ("--task", Options { task: Some("dd".to_owned()), ..Options::default() }),
        ("--cpu", Options { cpu: Some(0), ..Options::default() }),
        ("--group", Options { groups: vec![Group::read("all=.*").unwrap()], ..Options::default() }),
        ("--html", Options { timeline: true, ..Options::default() }),
    ];
    for (option, asked) in asked {
        let refused = made.explain(&[], asked).unwrap_err();
        assert!(
            refused.starts_with(&format!("{option} is of tasks, and the recording has requests to drives")),
            "{refused}"
        );
        assert!(refused.contains("schedlab record"));
    }
    for asked in [Options { blocks: true, ..Options::default() }, Options { unfinished: true, ..Options::default() }] {
        assert!(made.explain(&[], asked).unwrap_err().contains("no sched:sched_switch events"));
    }
    let late = Options { from: Some(1_000_000), ..Options::default() };
    assert!(made.explain(&[], late).unwrap_err().contains("after the end of the recording"));
}

fn of_file(name: &str) -> Report {
    let mut explainer = Explainer::new(Options::default());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../traces/tests/data").join(name);
    let head = read(&path, &mut explainer).unwrap();
    explainer.report(&head).unwrap()
}

/// The number behind the words of the total of blkparse.
fn total(text: &str, words: &str) -> (u64, u64) {
    let all = text.split("Total (").nth(1).unwrap();
    let mut numbers = all.split(words).nth(1).unwrap().split(',');
    let mut number = || numbers.next().unwrap().trim().split("KiB").next().unwrap().trim().parse().unwrap();
    (number(), number() * 1024)
}

#[test]
fn the_numbers_are_those_of_blkparse() {
    let text = include_str!("../../traces/tests/data/blkparse.txt");
    let [drive] = &of_file("blkparse.txt").drives[..] else { panic!("one drive") };
    assert_eq!(drive.drive, "8,16");
    let Drive { read, write, other, .. } = drive;
    assert_eq!((read.requests, read.bytes), total(text, "Reads Completed:"));
    // blkparse counts discards among the writes.
    assert_eq!((write.requests + other.requests, write.bytes + other.bytes), total(text, "Writes Completed:"));
    // From D to C of the same first sector, by its lines.
    let mut issued: HashMap<&str, f64> = HashMap::new();
    let mut times: Vec<f64> = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("  8,16")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let time = words[3].parse::<f64>().unwrap() * 1e6;
        match words[5] {
            "D" => drop(issued.insert(words[7], time)),
            "C" if words[6].contains('R') => times.push(time - issued[words[7]]),
            _ => {}
        }
    }
    assert!(times.len() > 20);
    near(read.service_us.mean.unwrap(), times.iter().sum::<f64>() / times.len() as f64);
    near(read.service_us.max.unwrap(), times.iter().copied().fold(0.0, f64::max));
}

#[test]
fn the_binary_trace_has_the_same_drives_as_its_text() {
    assert_eq!(of_file("two-processors.blktrace").drives, of_file("blkparse.txt").drives);
}
