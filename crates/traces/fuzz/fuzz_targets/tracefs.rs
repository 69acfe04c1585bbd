//! Any bytes, read as the text of tracefs. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::stream(b"# tracer: nop\n", data));
