//! Any bytes, read as a binary trace of drives. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"\x07tae", data));
