//! What all readers of recordings promise, whatever the bytes: events in order of time, names before their use; or one error.

use schedlab_traces::kernel::{Event, Head, Kind, Listener, ReadError, read_stream};
use std::fs::File;
use std::io::{Cursor, Seek, Write};

/// Checks it.
#[derive(Default)]
pub struct Promised {
    time: u64,
    names: u64,
}

impl Listener for Promised {
    fn event(&mut self, event: &Event) {
        assert!(event.time >= self.time, "events are in order of time");
        assert!(event.kind != Kind::Named || event.value < self.names, "a name is known before it is used");
        self.time = event.time;
    }

    fn name(&mut self, number: u64, _: &str) {
        assert_eq!(number, self.names, "numbers are given from 0 on");
        self.names += 1;
    }
}

/// Reads a recording of the format that begins so.
#[allow(dead_code, reason = "some formats are read from files alone")]
pub fn stream(beginning: &'static [u8], data: &[u8]) {
    let recording = if data.starts_with(beginning) { data.to_vec() } else { [beginning, data].concat() };
    // These are read from files: each has a target of its own.
    if !recording.starts_with(b"PERFILE2") && !recording.starts_with(b"\x17\x08\x44tracing") {
        let _ = read_stream(Cursor::new(recording), &mut Promised::default());
    }
}

/// Reads a file with a reader.
#[allow(dead_code, reason = "most formats are read as streams")]
pub fn file(data: &[u8], read: impl FnOnce(File, &mut Promised) -> Result<Head, ReadError>) {
    let mut file = tempfile::tempfile().expect("a file without a name");
    file.write_all(data).and_then(|()| file.rewind()).expect("it can be written");
    let _ = read(file, &mut Promised::default());
}
