//! Any bytes, read as the text of trace-cmd report. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"cpus=2\n", data));
