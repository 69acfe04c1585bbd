//! Recordings by trace-cmd, and raw buffers, give the events that trace-cmd or the kernel finds in them. Those in `../data/` were made on Linux 6.18
//! by trace-cmd 3.1.6.

use crate::listener::{Heard, counts, data, heard, heard_of_bytes};
use proptest::{collection::vec, prelude::*, sample::Index};
use schedlab_traces::kernel::{Head, Kind, ReadError, dat, raw};
use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

fn read(path: &Path) -> Result<(Heard, Head), ReadError> {
    heard(dat::read, path)
}

/// Reads these bytes as a file.
fn read_bytes(bytes: &[u8]) -> Result<(Heard, Head), ReadError> {
    heard_of_bytes(dat::read, bytes)
}

/// How many events of each kind `trace-cmd report` prints of the recordings: of version 6, of version 7, packed, and with an instance besides.
const RECORDINGS: &[(&str, &[(&str, u64)])] = &[
    (
        "t6.dat",
        &[
            ("sched:sched_migrate_task", 13),
            ("sched:sched_process_exit", 12),
            ("sched:sched_process_fork", 12),
            ("sched:sched_stat_runtime", 560),
            ("sched:sched_switch", 413),
            ("sched:sched_wakeup", 218),
            ("sched:sched_wakeup_new", 12),
            ("sched:sched_waking", 218),
        ],
    ),
    (
        "t7.dat",
        &[
            ("sched:sched_migrate_task", 13),
            ("sched:sched_process_exit", 16),
            ("sched:sched_process_fork", 10),
            ("sched:sched_stat_runtime", 283),
            ("sched:sched_switch", 217),
            ("sched:sched_wakeup", 115),
            ("sched:sched_wakeup_new", 10),
            ("sched:sched_waking", 115),
        ],
    ),
    (
        "t7z.dat",
        &[
            ("sched:sched_migrate_task", 1),
            ("sched:sched_process_exit", 2),
            ("sched:sched_process_fork", 1),
            ("sched:sched_stat_runtime", 180),
            ("sched:sched_switch", 147),
            ("sched:sched_wakeup", 78),
            ("sched:sched_wakeup_new", 1),
            ("sched:sched_waking", 78),
        ],
    ),
    (
        "i6.dat",
        &[
            ("sched:sched_migrate_task", 1),
            ("sched:sched_process_exit", 2),
            ("sched:sched_process_fork", 1),
            ("sched:sched_stat_runtime", 310),
            ("sched:sched_switch", 127),
            ("sched:sched_wakeup", 59),
            ("sched:sched_wakeup_new", 1),
            ("sched:sched_waking", 59),
        ],
    ),
    (
        "i7z.dat",
        &[
            ("sched:sched_migrate_task", 1),
            ("sched:sched_process_exit", 6),
            ("sched:sched_process_fork", 5),
            ("sched:sched_stat_runtime", 308),
            ("sched:sched_switch", 119),
            ("sched:sched_wakeup", 58),
            ("sched:sched_wakeup_new", 5),
            ("sched:sched_waking", 58),
        ],
    ),
];

#[test]
fn every_event_that_trace_cmd_finds_is_read_once() {
    for (name, expected) in RECORDINGS {
        let (heard, head) = read(&data(name)).unwrap();
        assert_eq!(counts(&head), expected.iter().copied().collect(), "{name}: {:?}", head.losses);
        assert_eq!(head.losses, [], "{name}");
        assert_eq!(heard.count(Kind::Switch), head.recorded["sched:sched_switch"].events, "{name}");
        heard.assert_switches_are_chained(67);
        heard.assert_is_named("sched-pipe");
        heard.assert_is_named("kthreadd");
    }
}

#[test]
fn a_recording_says_of_what_it_is() {
    for (name, _) in RECORDINGS {
        let (_, head) = read(&data(name)).unwrap();
        assert_eq!((head.format.as_str(), head.processors), ("trace.dat", 2), "{name}");
        assert_eq!(
            (head.clock.as_deref(), head.release.as_deref()),
            (Some("local"), Some("6.18.44-example")),
            "{name}"
        );
    }
}

#[test]
fn raw_buffers_are_read_by_the_descriptions_next_to_them() {
    let mut heard = Heard::default();
    let head = raw::read(&data("raw"), &mut heard).unwrap();
    let expected = [
        ("irq:softirq_entry", 142),
        ("sched:sched_process_fork", 3),
        ("sched:sched_switch", 326),
        ("sched:sched_wakeup", 153),
        ("sched:sched_waking", 153),
    ];
    assert_eq!(counts(&head), expected.into());
    assert_eq!((head.losses.len(), head.processors, head.clock.as_deref()), (0, 2, Some("local")));
    heard.assert_switches_are_chained(67);
    heard.assert_is_named("sched-pipe");
}

#[test]
fn a_folder_without_what_is_needed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = || raw::read(folder.path(), &mut Heard::default()).unwrap_err().to_string();
    assert!(refusal().contains("events/header_page: No such file"), "{}", refusal());
    fs::create_dir_all(folder.path().join("events")).unwrap();
    fs::copy(data("raw/events/header_page"), folder.path().join("events/header_page")).unwrap();
    assert!(refusal().contains("per_cpu: No such file"), "{}", refusal());
    fs::create_dir_all(folder.path().join("per_cpu")).unwrap();
    assert!(refusal().contains("there is no cpuN/trace_pipe_raw"), "{}", refusal());
    fs::create_dir_all(folder.path().join("per_cpu/cpu0/trace_pipe_raw")).unwrap();
    assert!(refusal().contains("trace_pipe_raw: it is no ordinary file"), "{}", refusal());
}

#[test]
fn a_hostile_folder_is_refused() {
    let begin = |page: &[u8]| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("events/sched/sched_switch")).unwrap();
        fs::create_dir_all(folder.path().join("per_cpu/cpu0")).unwrap();
        fs::write(folder.path().join("events/header_page"), page).unwrap();
        folder
    };
    let page = fs::read(data("raw/events/header_page")).unwrap();
    let refusal = |folder: &tempfile::TempDir| raw::read(folder.path(), &mut Heard::default()).unwrap_err().to_string();
    let why = refusal(&begin(b""));
    assert!(why.contains("header_page: is empty, as the files of tracefs itself seem to be"), "{why}");
    for name in ["events/sched/sched_switch/format", "per_cpu/cpu0/trace_pipe_raw", "trace_clock", "saved_cmdlines"] {
        let folder = begin(&page);
        symlink("/dev/zero", folder.path().join(name)).unwrap();
        let why = refusal(&folder);
        assert!(why.contains("no ordinary file") || why.contains("no cpuN/trace_pipe_raw"), "{name}: {why}");
    }
    let folder = begin(&page);
    assert!(Command::new("mkfifo").arg(folder.path().join("per_cpu/cpu0/trace_pipe_raw")).status().unwrap().success());
    assert!(refusal(&folder).contains("trace_pipe_raw: it is no ordinary file"), "{}", refusal(&folder));
    let folder = begin(&page);
    fs::create_dir(folder.path().join("per_cpu/cpu007")).unwrap();
    assert!(refusal(&folder).contains("cpu007: a processor is named cpu7"), "{}", refusal(&folder));
    let folder = begin(&page);
    for number in 0..=1 << 15 {
        fs::write(folder.path().join(format!("events/sched/{number}")), "").unwrap();
    }
    assert!(refusal(&folder).contains("events/sched: it has more than 32768 entries"), "{}", refusal(&folder));
}

#[test]
fn what_is_no_recording_of_trace_cmd_is_refused() {
    let file = fs::read(data("t7.dat")).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut bytes = file.clone();
        bytes[at] = byte;
        bytes
    };
    for (bytes, why) in [
        (Vec::new(), "it ends within the description of its events"),
        (vec![b'x'; 100], "do not begin as they should"),
        (changed(10, b'8'), "it is of version \"8\"; 6 and 7 are read"),
        (changed(12, 1), "it was written on a big-endian machine"),
        (changed(18, b'x'), "it is packed by \"xone\"; none, zlib and zstd are read"),
        (file[..1000].to_vec(), "it ends within the description of its events"),
    ] {
        match read_bytes(&bytes) {
            Err(found @ ReadError::Wrong { .. }) => assert!(found.to_string().contains(why), "{found}"),
            other => panic!("{:?}", other.map(|(_, head)| head)),
        }
    }
}

#[test]
fn a_file_that_ends_early_gives_what_it_has_and_says_so() {
    let file = fs::read(data("t6.dat")).unwrap();
    let (all, _) = read_bytes(&file).unwrap();
    let (heard, head) = read_bytes(&file[..file.len() - 5000]).unwrap();
    assert!(heard.count(Kind::Switch) > 100 && heard.count(Kind::Switch) < all.count(Kind::Switch));
    let whys: Vec<_> = head.losses.iter().map(|loss| loss.why.as_str()).collect();
    assert_eq!(
        whys,
        ["the file ends within the buffer of processor 1", "the buffer of processor 1: it ends within a page"]
    );
}

/// Puts into each page of a raw buffer that some were lost before it.
#[test]
fn lost_events_are_counted_and_placed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["events/header_page", "events/sched/sched_switch/format", "per_cpu/cpu0/trace_pipe_raw"] {
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::copy(data("raw").join(name), folder.path().join(name)).unwrap();
    }
    let path = folder.path().join("per_cpu/cpu0/trace_pipe_raw");
    let mut bytes = fs::read(&path).unwrap();
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    // The second page: in its commit the flags that some are missing and that their number is stored, and that number behind its records.
    let page = 4096;
    let commit = number(&bytes, page + 8) - 400;
    bytes[page + 8..page + 16].copy_from_slice(&(commit | 1 << 31 | 1 << 30).to_le_bytes());
    let behind = page + 16 + commit as usize;
    bytes[behind..behind + 8].copy_from_slice(&1234u64.to_le_bytes());
    let time = number(&bytes, page);
    fs::write(&path, bytes).unwrap();
    let head = raw::read(folder.path(), &mut Heard::default()).unwrap();
    let losses: Vec<_> = head.losses.iter().map(|loss| (loss.time, loss.cpu, loss.events)).collect();
    assert!(losses.contains(&(Some(time), Some(0), Some(1234))), "{losses:?}");
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_fail(bytes in vec(any::<u8>(), 0..3000), keep in any::<Index>(), which in 0usize..2) {
        let file = fs::read(data(["t6.dat", "t7z.dat"][which])).unwrap();
        let _ = read_bytes(&[&file[..keep.index(file.len())], &bytes[..]].concat());
    }

    #[test]
    fn no_damage_makes_the_reader_fail(
        which in 0usize..RECORDINGS.len(),
        flips in vec((any::<Index>(), 0u8..8), 1..40),
        end in any::<Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut bytes = fs::read(data(RECORDINGS[which].0)).unwrap();
        for (at, bit) in flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if is_cut {
            bytes.truncate(end.index(bytes.len()));
        }
        let _ = read_bytes(&bytes);
    }

    /// Most of a file are its descriptions: this damages the buffers alone.
    #[test]
    fn no_damage_of_pages_makes_the_reader_fail(flips in vec((any::<Index>(), 0u8..8), 1..40)) {
        let mut bytes = fs::read(data("t6.dat")).unwrap();
        let begin = bytes.len() - 10 * 4096;
        for (at, bit) in flips {
            let at = begin + at.index(bytes.len() - begin);
            bytes[at] ^= 1 << bit;
        }
        let (heard, head) = read_bytes(&bytes).unwrap();
        let read: u64 = head.recorded.values().map(|it| it.events).sum();
        prop_assert!(heard.events.len() as u64 <= 3 * read + head.losses.len() as u64 + 100);
    }
}
