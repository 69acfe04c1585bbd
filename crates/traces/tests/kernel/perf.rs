//! Recordings by perf give the events that perf itself finds in them. Those in `../data/` were made on Linux 6.18 by perf 6.1.

use crate::listener::{Heard, counts, data, heard, heard_of_bytes};
use proptest::{collection::vec, prelude::*, sample::Index};
use schedlab_traces::kernel::{Head, Kind, ReadError, perf};
use std::path::Path;

fn read(path: &Path) -> Result<(Heard, Head), ReadError> {
    heard(perf::read, path)
}

/// Reads these bytes as a file.
fn read_bytes(bytes: &[u8]) -> Result<(Heard, Head), ReadError> {
    heard_of_bytes(perf::read, bytes)
}

/// How many events of each kind `perf script` prints of the recordings.
const RECORDINGS: &[(&str, &[(&str, u64)])] = &[
    (
        "file.perf",
        &[
            ("sched:sched_migrate_task", 5),
            ("sched:sched_prepare_exec", 1),
            ("sched:sched_process_exec", 1),
            ("sched:sched_process_exit", 2),
            ("sched:sched_process_fork", 1),
            ("sched:sched_process_wait", 1),
            ("sched:sched_stat_runtime", 328),
            ("sched:sched_switch", 272),
            ("sched:sched_wakeup", 127),
            ("sched:sched_wakeup_new", 1),
            ("sched:sched_waking", 127),
        ],
    ),
    ("pipe.perf", &[("sched:sched_stat_runtime", 213), ("sched:sched_switch", 167), ("sched:sched_waking", 76)]),
    ("task.perf", &[("sched:sched_switch", 65), ("sched:sched_wakeup", 42)]),
    (
        "mixed.perf",
        &[("irq:softirq_entry", 48), ("sched:sched_switch", 143), ("sched:sched_waking", 62), ("software:0x0", 519)],
    ),
    #[cfg(feature = "zstd")]
    (
        "zstd.perf",
        &[
            ("sched:sched_migrate_task", 4),
            ("sched:sched_prepare_exec", 1),
            ("sched:sched_process_exec", 1),
            ("sched:sched_process_exit", 2),
            ("sched:sched_process_fork", 1),
            ("sched:sched_process_free", 1),
            ("sched:sched_process_wait", 1),
            ("sched:sched_stat_runtime", 519),
            ("sched:sched_switch", 467),
            ("sched:sched_wakeup", 227),
            ("sched:sched_wakeup_new", 1),
            ("sched:sched_waking", 227),
        ],
    ),
    #[cfg(feature = "zstd")]
    (
        "zpipe.perf",
        &[
            ("sched:sched_migrate_task", 5),
            ("sched:sched_prepare_exec", 1),
            ("sched:sched_process_exec", 1),
            ("sched:sched_process_exit", 2),
            ("sched:sched_process_fork", 2),
            ("sched:sched_process_free", 1),
            ("sched:sched_process_wait", 1),
            ("sched:sched_stat_runtime", 245),
            ("sched:sched_switch", 189),
            ("sched:sched_wakeup", 86),
            ("sched:sched_wakeup_new", 2),
            ("sched:sched_waking", 86),
        ],
    ),
];

#[test]
fn every_event_that_perf_finds_is_read_once() {
    for (name, expected) in RECORDINGS {
        let (heard, head) = read(&data(name)).unwrap();
        assert_eq!(counts(&head), expected.iter().copied().collect(), "{name}");
        assert_eq!(head.losses, [], "{name}");
        let counted = |name| head.recorded.get(name).map_or(0, |it| it.events);
        assert_eq!(heard.count(Kind::Switch), counted("sched:sched_switch"), "{name}");
        assert_eq!(heard.count(Kind::Waking), counted("sched:sched_waking"), "{name}");
        assert_eq!(heard.count(Kind::Runtime), counted("sched:sched_stat_runtime"), "{name}");
    }
}

#[test]
fn a_processor_leaves_the_task_that_it_went_to() {
    // That of one task alone sees no other leave.
    for (name, _) in RECORDINGS.iter().filter(|(name, _)| *name != "task.perf") {
        let (heard, _) = read(&data(name)).unwrap();
        heard.assert_switches_are_chained(67);
        heard.assert_is_named("sched-pipe");
    }
}

#[test]
fn a_recording_says_of_what_it_is() {
    let (_, head) = read(&data("file.perf")).unwrap();
    assert_eq!((head.format.as_str(), head.processors), ("perf.data", 2));
    assert_eq!((head.clock.as_deref(), head.release.as_deref()), (Some("perf"), Some("6.18.44-example")));
    let (_, mixed) = read(&data("mixed.perf")).unwrap();
    assert_eq!(mixed.clock.as_deref(), Some("monotonic"));
}

/// The recording in the form of a file and that in the form of a pipe.
fn file_and_pipe() -> [Vec<u8>; 2] {
    ["file.perf", "pipe.perf"].map(|name| std::fs::read(data(name)).unwrap())
}

#[track_caller]
fn refusal(bytes: &[u8]) -> String {
    match read_bytes(bytes) {
        Err(why @ ReadError::Wrong { .. }) => why.to_string(),
        Err(why) => panic!("{why}"),
        Ok((_, head)) => panic!("it was read: {head:?}"),
    }
}

/// Puts a number into a file.
fn with(mut bytes: Vec<u8>, at: usize, number: u64) -> Vec<u8> {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    bytes
}

#[test]
fn a_recording_that_ends_early_gives_what_it_has_and_says_so() {
    let [_, pipe] = file_and_pipe();
    let (all, _) = read_bytes(&pipe).unwrap();
    let (heard, head) = read_bytes(&pipe[..pipe.len() - 1001]).unwrap();
    assert!(heard.count(Kind::Switch) > 100 && heard.count(Kind::Switch) < all.count(Kind::Switch));
    let [loss] = &head.losses[..] else { panic!("{:?}", head.losses) };
    assert!(loss.why.starts_with("the file ends within a record, at byte "), "{loss:?}");
    assert_eq!(head.lost(), 1);
}

#[test]
fn a_file_without_the_descriptions_behind_its_data_is_refused_with_a_way_out() {
    let [file, _] = file_and_pipe();
    // As perf leaves it if it is killed: the length of the data is not known yet, and nothing follows them.
    let end =
        u64::from_le_bytes(file[40..48].try_into().unwrap()) + u64::from_le_bytes(file[48..56].try_into().unwrap());
    let killed = with(file[..end as usize].to_vec(), 48, 0);
    for cut in [killed, file[..file.len() / 2].to_vec()] {
        let why = refusal(&cut);
        assert!(why.contains("perf record -o - > FILE"), "{why}");
    }
}

#[test]
fn what_is_no_recording_of_perf_is_refused() {
    let [file, _] = file_and_pipe();
    let mut swapped = file.clone();
    swapped[..8].reverse();
    for (bytes, why) in [
        (Vec::new(), "perf.data: it ends within its head"),
        (b"PERFILE2\x68".to_vec(), "perf.data: it ends within its head"),
        (file[..50].to_vec(), "perf.data: it ends within its head"),
        (vec![b'x'; 200], "perf.data: it does not begin with PERFILE2"),
        (swapped, "perf.data: it was written on a machine of another byte order; such files are not read"),
        (with(file.clone(), 8, 20), "perf.data: its head has 20 bytes; 104 are the least"),
        (with(file.clone(), 16, 8), "perf.data: its attrs have 8 bytes each; 80 to 4096 are possible"),
        (with(file, 32, 0), "perf.data: it says nothing of what was recorded (its section of attrs is empty)"),
    ] {
        assert_eq!(refusal(&bytes), why);
    }
    let folder = tempfile::tempdir().unwrap();
    let Err(why) = read(folder.path()) else { panic!("a folder was read") };
    assert!(why.to_string().starts_with("perf.data: a folder of `perf record --threads` is not read"), "{why}");
}

#[test]
fn tracepoints_without_what_they_say_or_when_are_refused() {
    let [_, pipe] = file_and_pipe();
    // The first attr follows the head of 16 bytes and that of its record, with what is sampled at its byte 24.
    let at = 16 + 8 + 24;
    let sampled = u64::from_le_bytes(pipe[at..at + 8].try_into().unwrap());
    let why = refusal(&with(pipe.clone(), at, sampled & !(1 << 10)));
    assert!(why.contains("PERF_SAMPLE_RAW") && why.contains("perf record --raw-samples"), "{why}");
    let why = refusal(&with(pipe, at, sampled & !(1 << 2)));
    assert!(why.contains("no times") && why.contains("perf record --timestamp"), "{why}");
}

/// The pipe with another period of the tracepoint of that place, and perhaps by frequency.
fn sampled(mut pipe: Vec<u8>, place: usize, period: u64, by_frequency: bool) -> Vec<u8> {
    let mut at = 16;
    let mut left = place;
    loop {
        let length = usize::from(u16::from_le_bytes([pipe[at + 6], pipe[at + 7]]));
        // A record of an attr (64) of a tracepoint (2).
        if pipe[at] == 64 && pipe[at + 8] == 2 {
            if left == 0 {
                break;
            }
            left -= 1;
        }
        at += length;
    }
    pipe[at + 8 + 40 + 1] |= u8::from(by_frequency) << 2;
    with(pipe, at + 8 + 16, period)
}

#[test]
fn sampled_switches_are_refused_and_other_sampled_tracepoints_are_lost() {
    let [_, pipe] = file_and_pipe();
    for (period, by_frequency, option) in [(99, true, "-F 99"), (7, false, "-c 7"), (1, true, "-F 1")] {
        let mut refused = 0;
        for place in 0..3 {
            match read_bytes(&sampled(pipe.clone(), place, period, by_frequency)) {
                Err(why) => {
                    let begin = format!("perf.data: sched:sched_switch was sampled (perf record {option})");
                    assert!(why.to_string().starts_with(&begin), "{why}");
                    refused += 1;
                }
                Ok((_, head)) => {
                    let [loss] = &head.losses[..] else { panic!("{:?}", head.losses) };
                    assert_eq!(loss.events, None);
                    assert!(loss.why.contains(&format!("was sampled (perf record {option})")), "{}", loss.why);
                }
            }
        }
        assert_eq!(refused, 1);
    }
    assert_eq!(read_bytes(&sampled(pipe, 0, 1, false)).unwrap().1.losses, [], "every event");
}

#[cfg(not(feature = "zstd"))]
#[test]
fn without_zstd_compressed_records_are_refused() {
    let why = refusal(&std::fs::read(data("zstd.perf")).unwrap());
    assert!(why.contains("record without perf's -z"), "{why}");
}

/// Makes records of a recording through a pipe.
fn append(pipe: &mut Vec<u8>, kind: u32, flags: u16, body: &[u8]) {
    pipe.extend(kind.to_le_bytes());
    pipe.extend(flags.to_le_bytes());
    pipe.extend((body.len() as u16 + 8).to_le_bytes());
    pipe.extend(body);
}

/// The end of a record of the recordings: process and thread, time, processor, id.
fn trailer(time: u64, cpu: u64) -> Vec<u8> {
    [0, time, cpu, 0].iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
}

#[test]
fn lost_events_are_counted_and_placed() {
    let [_, mut pipe] = file_and_pipe();
    let (_, before) = read_bytes(&pipe).unwrap();
    let end = before.span.unwrap().1;
    let counted = |count: u64, rest: &[u8]| [&0u64.to_le_bytes()[..], &count.to_le_bytes(), rest].concat();
    append(&mut pipe, 2, 0, &counted(17, &trailer(end + 10, 1)));
    append(&mut pipe, 13, 0, &[&5u64.to_le_bytes()[..], &trailer(end + 20, 0)].concat());
    append(&mut pipe, 5, 0, &[&[0; 24][..], &trailer(end + 30, 0)].concat());
    let (heard, head) = read_bytes(&pipe).unwrap();
    let losses: Vec<_> = head.losses.iter().map(|loss| (loss.time, loss.cpu, loss.events)).collect();
    let expected =
        [(Some(end + 10), Some(1), Some(17)), (Some(end + 20), Some(0), Some(5)), (Some(end + 30), Some(0), None)];
    assert_eq!(losses, expected);
    assert_eq!(head.lost(), 23);
    let lost: Vec<_> = heard.events.iter().filter(|it| it.kind == Kind::Lost).map(|it| (it.time, it.value)).collect();
    assert_eq!(lost, [(end + 10, 17), (end + 20, 5), (end + 30, 0)]);
}

/// What perf has counted of an event when it ends: no time and no processor.
fn count_at_the_end(pipe: &mut Vec<u8>, flags: u16, count: u64) {
    append(pipe, 13, flags, &[&count.to_le_bytes()[..], &trailer(0, 0)].concat());
}

#[test]
fn events_that_the_kernel_reported_lost_and_perf_counted_are_lost_once() {
    let [_, pipe] = file_and_pipe();
    let end = read_bytes(&pipe).unwrap().1.span.unwrap().1;
    let of = |reported: &[u64], counted: &[u64]| {
        let mut pipe = pipe.clone();
        for count in reported {
            let body = [&7u64.to_le_bytes()[..], &count.to_le_bytes(), &trailer(end + count, 1)].concat();
            append(&mut pipe, 2, 0, &body);
        }
        counted.iter().for_each(|&count| count_at_the_end(&mut pipe, 0, count));
        let (heard, head) = read_bytes(&pipe).unwrap();
        let losses: Vec<_> = head.losses.iter().map(|loss| (loss.time.is_some(), loss.cpu, loss.events)).collect();
        assert_eq!(heard.count(Kind::Lost), reported.len() as u64, "only those of a known time are events");
        (head.lost(), losses)
    };
    let (first, second) = ((true, Some(1), Some(17)), (true, Some(1), Some(20)));
    assert_eq!(of(&[17, 20], &[30, 7]), (37, vec![first, second]));
    assert_eq!(of(&[17, 20], &[30]), (37, vec![first, second]), "an older perf did not count all events");
    assert_eq!(of(&[17], &[15, 7]), (22, vec![first, (false, None, Some(5))]), "the last found no room for a report");
    assert_eq!(of(&[], &[15, 7]), (22, vec![(false, None, Some(22))]));
}

#[test]
fn events_that_a_filter_left_out_are_named_as_such() {
    let [_, mut pipe] = file_and_pipe();
    count_at_the_end(&mut pipe, 1 << 15, 40);
    let (_, head) = read_bytes(&pipe).unwrap();
    let [loss] = &head.losses[..] else { panic!("{:?}", head.losses) };
    assert_eq!((loss.events, loss.why.as_str()), (Some(40), "a filter of perf record left them out"));
}

#[test]
fn tasks_that_are_made_named_and_end_are_known_without_tracepoints_of_it() {
    let [_, mut pipe] = file_and_pipe();
    let time = read_bytes(&pipe).unwrap().1.span.unwrap().1 + 1;
    let tasks = |all: [u32; 4]| all.iter().flat_map(|task| task.to_le_bytes()).collect::<Vec<u8>>();
    let born = [&tasks([4000, 30, 4001, 31])[..], &time.to_le_bytes(), &trailer(time, 0)].concat();
    append(&mut pipe, 7, 0, &born);
    let named = [&tasks([4000, 4001, 0, 0])[..8], b"renamed\0", &trailer(time + 1, 0)].concat();
    append(&mut pipe, 3, 1 << 13, &named);
    append(&mut pipe, 4, 0, &[&tasks([4000, 30, 4001, 31])[..], &time.to_le_bytes(), &trailer(time + 2, 0)].concat());
    let (heard, head) = read_bytes(&pipe).unwrap();
    assert_eq!(head.losses, []);
    let found: Vec<_> =
        heard.events.iter().filter(|event| event.time >= time).map(|it| (it.kind, it.task, it.other)).collect();
    let expected = [
        (Kind::Fork, 31, 4001),
        (Kind::Member, 4001, 4000),
        (Kind::Member, 4001, 4000),
        (Kind::Named, 4001, -1),
        (Kind::Exec, 4001, 4001),
        (Kind::Exit, 4001, 4001),
    ];
    assert_eq!(found, expected);
    assert_eq!(heard.names.last().unwrap(), "renamed");
}

#[test]
fn a_record_shorter_than_its_head_ends_what_can_be_read() {
    let [_, mut pipe] = file_and_pipe();
    let (all, _) = read_bytes(&pipe).unwrap();
    pipe.extend([9, 0, 0, 0, 0, 0, 3, 0]);
    pipe.extend([0; 100]);
    let (heard, head) = read_bytes(&pipe).unwrap();
    assert_eq!(heard.count(Kind::Switch), all.count(Kind::Switch));
    let why = &head.losses[0].why;
    assert!(why.starts_with("a record has a length of 3 bytes; its head alone has 8. What follows"), "{why}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_fail(bytes in vec(any::<u8>(), 0..3000), start in 0usize..4) {
        let [file, pipe] = file_and_pipe();
        // The beginnings of a file, and of a pipe up to its first event and somewhat later.
        let beginning = [&file[..104], &pipe[..16], &pipe[..3000], &pipe[..40_000]][start];
        let _ = read_bytes(&[beginning, &bytes].concat());
    }

    #[test]
    fn no_damage_makes_the_reader_fail(
        which in 0usize..4,
        flips in vec((any::<Index>(), 0u8..8), 1..40),
        end in any::<Index>(),
        is_cut in any::<bool>(),
    ) {
        let name = ["file.perf", "pipe.perf", "mixed.perf", "zpipe.perf"][which];
        let mut bytes = std::fs::read(data(name)).unwrap();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        let _ = read_bytes(&bytes);
    }

    #[test]
    fn what_a_cut_pipe_gives_is_a_part_of_the_whole(end in any::<Index>()) {
        let [_, pipe] = file_and_pipe();
        let (all, _) = read_bytes(&pipe).unwrap();
        if let Ok((heard, head)) = read_bytes(&pipe[..end.index(pipe.len())]) {
            prop_assert!(heard.count(Kind::Switch) <= all.count(Kind::Switch));
            let read: u64 = head.recorded.values().map(|it| it.events).sum();
            let found = heard.count(Kind::Switch) + heard.count(Kind::Waking) + heard.count(Kind::Runtime);
            prop_assert_eq!(found, read);
        }
    }
}
