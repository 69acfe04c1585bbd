//! Which format a recording has, and from where it comes.

use crate::text::{Heard, hear};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use schedlab_traces::kernel::{Context, Event, Head, Kind, ReadError, read};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const SAMPLES: &[(&str, &str)] = &[
    ("perf-script.txt", "perf script"),
    ("perf-script-chains.txt", "perf script"),
    ("tracefs.txt", "tracefs"),
    ("perfetto.trace", "Perfetto trace"),
    ("perfetto-compact.trace", "Perfetto trace"),
    ("two-processors.blktrace", "blktrace"),
    ("blkparse.txt", "blkparse"),
    ("file.perf", "perf.data"),
    ("pipe.perf", "perf.data"),
    ("t6.dat", "trace.dat"),
    ("t7.dat", "trace.dat"),
];
/// What is read here and there, and so not through a pipe.
const FILES: &[&str] = &["file.perf", "t6.dat", "t7.dat"];

fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read_file(path: &Path) -> (Result<Head, ReadError>, Heard) {
    let mut heard = Heard::default();
    (read(path, &mut heard), heard)
}

#[test]
fn a_format_is_recognised_by_the_content_and_not_by_the_name() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in SAMPLES {
        let path = folder.path().join("recording.odd");
        std::fs::write(&path, sample(name)).unwrap();
        let (head, heard) = read_file(&path);
        assert_eq!((head.unwrap().format.as_str(), heard.events.len() > 1), (*format, true), "{name}");
    }
}

#[test]
fn a_pipe_and_a_packed_file_tell_the_same_as_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed, fifo) = (folder.path().join("plain"), folder.path().join("packed"), folder.path().join("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (name, _) in SAMPLES.iter().filter(|(name, _)| !FILES.contains(name)) {
        std::fs::write(&plain, sample(name)).unwrap();
        let mut encoder = GzEncoder::new(File::create(&packed).unwrap(), Compression::fast());
        encoder.write_all(&sample(name)).unwrap();
        encoder.finish().unwrap();
        let (head, heard) = read_file(&plain);
        let head = head.unwrap();
        assert_eq!((read_file(&packed).0.unwrap(), &read_file(&packed).1), (head.clone(), &heard), "{name}");
        let mut writer = Command::new("cp").arg(&plain).arg(&fifo).stdin(Stdio::null()).spawn().unwrap();
        assert_eq!((read_file(&fifo).0.unwrap(), read_of_nothing(&mut writer)), (head, true), "{name}");
    }
}

/// Whether the writer of a pipe could write all.
fn read_of_nothing(writer: &mut std::process::Child) -> bool {
    writer.wait().unwrap().success()
}

#[test]
fn what_needs_a_file_says_so_and_a_folder_has_raw_buffers() {
    for name in FILES {
        let why = hear(&sample(name)).0.unwrap_err().to_string();
        assert!(why.contains("pipe"), "{why}");
    }
    let (head, heard) = read_file(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/raw")));
    assert_eq!((head.unwrap().format.as_str(), heard.events.len() > 1), ("raw buffers", true));
    let folder = tempfile::tempdir().unwrap();
    let why = read_file(folder.path()).0.unwrap_err().to_string();
    assert!(why.starts_with("raw buffers: "), "{why}");
    std::fs::write(folder.path().join("data"), sample("file.perf")).unwrap();
    let why = read_file(folder.path()).0.unwrap_err().to_string();
    assert!(why.contains("perf record --threads") && why.contains("perf script -i FOLDER"), "{why}");
}

/// `perf script --ns` of `task.perf`, by perf 6.1.
#[test]
fn the_text_of_a_binary_recording_tells_the_same() {
    let binary = read_file(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/task.perf"))).1;
    let text = hear(&sample("task-perf.txt")).1;
    let of = |heard: &Heard| -> Vec<_> {
        // perf's own records of names, forks and ends are not printed.
        let own = [Kind::Named, Kind::Member, Kind::Fork, Kind::Exec, Kind::Exit];
        let known = |event: &&Event| !own.contains(&event.kind);
        // The text does not say in what context something happened.
        let plain = |event: &Event| Event { bits: Event::bits(event.flag(), Context::Unknown), ..*event };
        heard.events.iter().filter(known).map(plain).collect()
    };
    assert!(of(&text).len() > 100);
    assert_eq!(of(&text), of(&binary));
}

#[test]
fn what_is_no_recording_is_named_with_its_first_bytes() {
    let why = |bytes: &[u8]| hear(bytes).0.unwrap_err().to_string();
    let found = why(b"\x89PNG\r\n\x1a\nrest of a picture");
    assert!(found.starts_with("no recording of a known format: it begins with \"\\x89PNG\\r\\n\\x1a\\nrest of a pictur\"; what is read: perf.data"), "{found}");
    assert!(why(b"").starts_with("the recording is empty; what is read: "));
    assert!(why(b"hello world\n").starts_with("no recording of a known format: it begins with \"hello world\\n\""));
    let packed = why(b"\xfd7zXZ\0\0\x04");
    assert!(packed.starts_with("is packed with xz, which is not read here: unpack it (xz -dc)"), "{packed}");
    let missing = read_file(Path::new("/no/such/file")).0.unwrap_err();
    assert!(matches!(missing, ReadError::Io(_)));
}

#[test]
fn a_packed_file_that_is_damaged_is_an_error_and_not_the_end() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&sample("perf-script.txt").repeat(20)).unwrap();
    let packed = encoder.finish().unwrap();
    let why = hear(&packed[..packed.len() / 2]).0.unwrap_err().to_string();
    assert!(why.contains("the gzip file is damaged or cut off"), "{why}");
}

proptest! {
    #[test]
    fn any_bytes_end_in_a_head_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = hear(&bytes);
    }

    #[test]
    fn any_bytes_behind_a_magic_end_in_a_head_or_an_error(
        magic in prop::sample::select(vec![&b"schedlab\x01\0\0\0"[..], b"\x07tae", b"\x0a\x10", b"eat\x07", b"cpus=2\n", b"# tracer: nop\n"]),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let _ = hear(&[magic, &bytes].concat());
    }
}
