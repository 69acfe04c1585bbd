//! Drives, caches and memory as the kernel uses them: what a call waits for, what is counted, and that nothing is lost.
//! A program of its own, since one scheduler is enough for it.

use schedlab_testing::schedulers::{Run, run_under, scenario};
mod direct;
mod every_policy;
mod files;
mod memory;
mod programmed_io;
mod standing_still;

use schedlab_policies::schedulers::RoundRobin;

/// A machine with a drive of round numbers: 100 revolutions a second, 100 sectors a track, so 0.1 ms a sector. `more` are fields
/// of the machine.
fn machine(more: &str) -> String {
    format!(
        r#"
machine = {{ name = "disked", processors = 1, {more}disk = {{ rotation = "100/s", cylinders = 1000, heads = 10,
    sectors = 100, interleave = 1, seek_track = "2ms", seek_full = "20ms", command = "0ns", sector_copy = "0ns" }} }}
scheduler = {{ name = "round_robin", slice = "5ms" }}
"#
    )
}

/// Runs it and holds it to the audit.
#[track_caller]
fn run(text: &str, seed: u64) -> Run {
    run_under::<RoundRobin>(&scenario(text), seed).sound()
}
