//! Any bytes, read as the text of blkparse. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"  8,0 1 1 0.000000123 7 D WS 8 + 8 [a]\n", data));
