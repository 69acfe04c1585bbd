//! Any bytes, read as a recording of any format that is recognised, packed or not. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"", data));
