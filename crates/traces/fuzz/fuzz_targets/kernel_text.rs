//! Any bytes are a recording, read in order of time and with names known before their use, or one error. CONTRIBUTING.md has the command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_traces::kernel::{Event, Kind, Listener, read_stream};
use std::io::Cursor;

/// Checks what readers promise.
#[derive(Default)]
struct Checked {
    time: u64,
    names: u64,
}

impl Listener for Checked {
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

/// What recordings begin with; the first byte of the input chooses one, or none.
const BEGINNINGS: &[&[u8]] = &[
    b"",
    b"# tracer: nop\n",
    b"cpus=2\n",
    b"a 1 [000] 1.5: sched:sched_switch: ",
    b"  8,0 1 1 0.000000123 7 D WS 8 + 8 [a]\n",
    b"\x07tae",
    b"schedlab\x01\0\0\0",
    b"\x0a\x02\x40\x07",
];

fuzz_target!(|data: &[u8]| {
    let Some((choice, bytes)) = data.split_first() else { return };
    let beginning = BEGINNINGS[usize::from(*choice) % BEGINNINGS.len()];
    let recording = [beginning, bytes].concat();
    // perf.data is fuzzed on its own.
    if !recording.starts_with(b"PERFILE2") {
        let _ = read_stream(Cursor::new(recording), &mut Checked::default());
    }
});
