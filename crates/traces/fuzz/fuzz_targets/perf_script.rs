//! Any bytes, read as the text of perf script. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"a 1 [000] 1.5: sched:sched_switch: \n", data));
