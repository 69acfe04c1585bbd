//! Programmed I/O: the processor moves the sectors, so it is paid whether the processor has anything else to do or not.

use crate::run;
use schedlab_model::SECOND;

/// A drive with a surface of 5 MB/s whose sectors the processor moves in 400 us each.
fn machine(sector_copy: &str) -> String {
    format!(
        r#"machine = {{ name = "programmed", processors = 1, files = {{ block = "4KiB", cache_blocks = 4000, direct_blocks = 100000,
    extent_blocks = 4000 }}, disk = {{ rotation = "100/s", cylinders = 1000, heads = 10, sectors = 100, interleave = 1, seek_track = "2ms",
    seek_full = "20ms", track_buffer = "32KiB", command = "100us", sector_copy = "{sector_copy}" }} }}
scheduler = {{ name = "round_robin", slice = "5ms" }}
"#
    )
}

const READER: &str = "workload.reader = { steps = [{ open = { files = 1, size = \"4MiB\" } }, { repeat = { times = 256, steps = [{ read = \"16KiB\" }] } }] }\n";
const HOG: &str = "workload.hog = { steps = [{ compute = \"30s\" }] }\n";

const SECTORS: f64 = 8192.0;
const COPY: f64 = 400e-6;

#[test]
fn an_idle_processor_moves_sectors_no_faster_than_a_busy_one() {
    let programmed = run(&format!("{}{READER}", machine("400us")), 1).get("tasks.reader.real");
    assert!(programmed >= SECTORS * COPY, "{programmed} s for {} s of moving", SECTORS * COPY);
    assert!(programmed < SECTORS * COPY * 1.2, "{programmed} s");
    let by_itself = run(&format!("{}{READER}", machine("0us")), 1).get("tasks.reader.real");
    assert!(by_itself < SECTORS * COPY / 2.0, "{by_itself} s");
}

#[test]
fn another_task_loses_the_time_of_every_sector() {
    let text = format!("{}{READER}{HOG}", machine("400us"));
    for seed in 1..4 {
        let both = run(&text, seed);
        let moved = both.get("disk_bytes") / 512.0 * COPY;
        let lost = both.end as f64 / SECOND as f64 - 30.0;
        assert!((lost - moved).abs() < 0.05 * moved, "{lost} s lost, {moved} s of moving");
    }
}
