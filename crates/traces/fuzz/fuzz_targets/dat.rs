//! Any bytes, read as a trace.dat of version 6 or 7. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::file(data, |file, listener| schedlab_traces::kernel::dat::read(file, listener)));
