//! Any bytes, read as a recording of a kernel in any binary format, end in events in order of time or in one message. CONTRIBUTING.md has the
//! command.
#![no_main]

use libfuzzer_sys::fuzz_target;
use schedlab_traces::kernel::{Event, Listener, dat, perf};
use std::io::{Seek, Write};

#[derive(Default)]
struct InOrder(u64);

impl Listener for InOrder {
    fn event(&mut self, event: &Event) {
        assert!(self.0 <= event.time);
        self.0 = event.time;
    }

    fn name(&mut self, _: u64, _: &str) {}
}

// The first byte chooses the format.
fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let mut file = tempfile::tempfile().expect("a file without a name");
    file.write_all(bytes).and_then(|()| file.rewind()).expect("it can be written");
    let mut listener = InOrder::default();
    let _ = if choice & 1 == 0 { perf::read(file, &mut listener) } else { dat::read(file, &mut listener) };
});
