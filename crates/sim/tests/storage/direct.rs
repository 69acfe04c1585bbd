//! Direct reads and writes: they do not use the cache, and transfer exactly what was requested.

use crate::{Run, machine, run};
use schedlab_model::event::Kind;

/// A cache of 40 blocks of 4 KiB. A file has ten blocks that its inode names itself; an indirect block names 2048.
const FILES: &str = r#"files = { block = "4KiB", cache_blocks = 40, direct_blocks = 10, read_ahead = false }, "#;

/// A task that reads `times` times at random places of a file of `mib` MiB, `kib` KiB each, past the cache or through it.
fn random_reader(mib: u32, times: u32, kib: u32, direct: bool) -> String {
    format!(
        "workload.reader = {{ start = \"500ms\", steps = [{{ open = {{ files = 1, size = \"{mib}MiB\", direct = {direct} }} }},\n\
         {{ repeat = {{ times = {times}, steps = [{{ seek = \"random\" }}, {{ read = \"{kib}KiB\" }}] }} }}] }}\n"
    )
}

/// A task that goes through 24 blocks again and again, which fit into the cache.
const NEIGHBOUR: &str = r#"workload.neighbour = { passes = 40, steps = [{ open = { files = 1, size = "96KiB" } },
    { repeat = { times = 24, steps = [{ read = "4KiB" }, { compute = "1ms" }] } }, "close"] }
"#;

/// Requests and blocks of the neighbour that were not found.
fn misses(run: &Run) -> usize {
    let neighbour = |event: &&schedlab_model::event::Event| event.task == 0 && event.flag & 1 == 0;
    run.of(Kind::CacheLookup).filter(neighbour).count()
}

#[test]
fn a_thousand_direct_reads_are_a_thousand_requests_and_their_metadata_once() {
    let run = run(&format!("{}{}", machine(FILES), random_reader(64, 1000, 4, true)), 1);
    // The inode, and the indirect blocks of 64 MiB: each is read once, before the data that it names.
    let indirect = (64 * 256_u32 - 10).div_ceil(2048);
    assert_eq!(run.get("disk_requests"), f64::from(1000 + 1 + indirect));
    assert!(run.get("lread") > 0.0, "metadata are looked up in the cache");
    // One request at a time: only the metadata say where the data lie.
    let mut open = 0;
    for event in run.events.iter().filter(|event| matches!(event.kind, Kind::DiskQueued | Kind::DiskDone)) {
        open += if event.kind == Kind::DiskQueued { 1 } else { -1 };
        assert!((0..=1).contains(&open), "{event:?}");
    }
}

#[test]
fn a_direct_reader_leaves_a_cached_neighbour_s_hits_as_they_are() {
    let alone = run(&format!("{}{NEIGHBOUR}", machine(FILES)), 1);
    for mib in [1, 8, 40] {
        let both = run(&format!("{}{NEIGHBOUR}{}", machine(FILES), random_reader(mib, 300, 64, true)), 1);
        assert_eq!(misses(&both), misses(&alone), "{mib} MiB");
        assert!(both.get("tasks.neighbour.real") < alone.get("tasks.neighbour.real") * 1.001);
    }
    let through = run(&format!("{}{NEIGHBOUR}{}", machine(FILES), random_reader(8, 300, 64, false)), 1);
    assert!(misses(&through) > misses(&alone), "through the cache it takes the neighbour's blocks");
}

#[test]
fn a_direct_read_requests_adjacent_blocks_together() {
    let files = r#"files = { block = "4KiB", cache_blocks = 40, direct_blocks = 1000, extent_blocks = 1000 }, "#;
    let text = machine(files)
        + "workload.reader = { steps = [{ open = { files = 1, size = \"1MiB\", direct = true } },\n\
           { repeat = { times = 8, steps = [{ read = \"128KiB\" }] } }] }\n";
    let run = run(&text, 3);
    let sectors: u64 = run.of(Kind::DiskStart).map(|event| event.b).sum();
    assert_eq!(sectors, 8 + 2048, "the inode's block and one mebibyte");
    // The file may lie in two extents.
    assert!(run.get("disk_requests") <= 1.0 + 8.0 + 1.0, "{} requests", run.get("disk_requests"));
}

#[test]
fn a_direct_read_sees_what_was_written_through_the_cache() {
    let lazy = r#"files = { block = "4KiB", cache_blocks = 40, direct_blocks = 10, read_ahead = false,
        write_back = { period = "100s", expire = "1000s" } }, "#;
    let text = machine(lazy)
        + "workload.a = { steps = [{ open = { files = 1, size = \"16KiB\", name = \"f\" } }, { write = \"16KiB\" }, \"close\"] }\n"
        + "workload.b = { start = \"1s\", steps = [{ open = { files = 1, size = \"16KiB\", name = \"f\", direct = true } }, { read = \"16KiB\" }] }\n";
    // Other options make it another set of files: the name has to be of the same set for both.
    let text = text.replace("size = \"16KiB\", name = \"f\" }", "size = \"16KiB\", name = \"f\", direct = true }");
    let run = run(&text, 1);
    let of = |flag: u8| -> u64 { run.of(Kind::DiskStart).filter(|e| e.flag == flag).map(|e| e.b).sum() };
    assert_eq!(of(1), 32, "written once, immediately");
    assert_eq!(of(0), 8 + 32, "the inode's block, and the data from the drive");
}
