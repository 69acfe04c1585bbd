//! Any bytes, read as a Perfetto trace. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"\x0a", data));
