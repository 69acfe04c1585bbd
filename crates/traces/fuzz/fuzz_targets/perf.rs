//! Any bytes, read as perf.data, of a file or as it comes through a pipe. CONTRIBUTING.md has the command.
#![no_main]

mod promised;

libfuzzer_sys::fuzz_target!(|data: &[u8]| promised::file(data, |file, listener| schedlab_traces::kernel::perf::read(file, listener)));
