//! Files: reading, writing back, deleting, reading ahead.

use crate::{machine, run};
use schedlab_model::{MILLISECOND, event::Kind};
use schedlab_testing::schedulers::unobserved;

const PLAIN: &str = r#"files = { block = "4KiB", cache_blocks = 100, read_ahead = false }, "#;

/// Passes over a set of files, each read block by block.
fn reader(files: u32, blocks: u32, passes: u32) -> String {
    format!(
        r#"workload.reader = {{ steps = [{{ repeat = {{ times = {passes}, steps = [{{ repeat = {{ times = {files}, steps = [
            {{ open = {{ files = {files}, size = "{}KiB" }} }},
            {{ repeat = {{ times = {blocks}, steps = [{{ read = "4KiB" }}] }} }}, "close"] }} }}] }} }}] }}"#,
        4 * blocks
    )
}

#[test]
fn a_block_is_fetched_once_and_then_found() {
    let run = run(&format!("{}{}", machine(PLAIN), reader(1, 7, 3)), 1);
    // One block of inodes and seven of data, each fetched the first time.
    assert_eq!(run.get("disk_requests"), 8.0);
    assert_eq!(run.get("cache_lookups"), 3.0 * 8.0);
    assert!((run.get("rcache") - 100.0 * 2.0 / 3.0).abs() < 1e-9, "{}", run.get("rcache"));
}

#[test]
fn a_reader_waits_for_seek_rotation_and_transfer() {
    for seed in 1..20 {
        let run = run(&format!("{}{}", machine(PLAIN), reader(1, 1, 1)), seed);
        let took: Vec<u64> = run.of(Kind::DiskDone).map(|event| event.b).collect();
        // Eight sectors of 0.1 ms behind at most one revolution and one seek.
        assert!(took.iter().all(|&took| (MILLISECOND * 8 / 10..=31 * MILLISECOND).contains(&took)), "{took:?}");
        assert_eq!(run.get("io_wait"), run.get("elapsed"));
    }
}

#[test]
fn a_loop_over_more_than_an_lru_cache_never_hits() {
    let files = r#"files = { block = "4KiB", cache_blocks = 8, read_ahead = false, extent_blocks = 1 }, "#;
    let run = run(&format!("{}{}", machine(files), reader(2, 7, 6)), 1);
    // Twelve opens of one block of inodes, which is requested again before eight others; no block of data ever is.
    assert_eq!(run.get("cache_hit_ratio"), 100.0 * 11.0 / 96.0);
}

#[test]
fn what_was_written_goes_to_the_drive_when_it_is_old_enough() {
    let text = format!(
        r#"{}
workload.writer = {{ steps = [{{ create = {{ files = 1, size = "28KiB" }} }},
    {{ repeat = {{ times = 7, steps = [{{ write = "4KiB" }}] }} }}, "close", {{ sleep = "60s" }}] }}"#,
        machine(PLAIN)
    );
    let run = run(&text, 1);
    let writes: Vec<_> = run.of(Kind::DiskStart).filter(|event| event.flag == 1).collect();
    // Older than 30 s at the daemon's round at 35 s.
    assert!(writes.iter().all(|write| write.time >= 35_000 * MILLISECOND), "{writes:?}");
    // Seven blocks of data and the inode's.
    assert_eq!(writes.iter().map(|write| write.b).sum::<u64>(), 8 * 8);
}

#[test]
fn sync_waits_until_every_changed_block_is_on_the_drive() {
    let text = format!(
        r#"{}
workload.writer = {{ steps = [{{ create = {{ files = 1, size = "80KiB" }} }},
    {{ repeat = {{ times = 20, steps = [{{ write = "4KiB" }}] }} }}, "close", "sync"] }}"#,
        machine(r#"files = { block = "4KiB", write_back = { background = 100, limit = 100 } }, "#)
    );
    let run = run(&text, 1);
    let written: u64 = run.of(Kind::DiskStart).filter(|event| event.flag == 1).map(|event| event.b).sum();
    // Twenty of data, one of inodes, one that names the blocks beyond the seventh.
    assert_eq!(written, 22 * 8);
    assert_eq!(run.of(Kind::DiskStart).count(), run.of(Kind::DiskDone).count());
}

#[test]
fn a_deleted_file_is_never_written() {
    let text = format!(
        r#"{}
workload.writer = {{ steps = [{{ create = {{ files = 1, size = "28KiB", name = "f" }} }},
    {{ repeat = {{ times = 7, steps = [{{ write = "4KiB" }}] }} }}, "close",
    {{ delete = {{ files = 1, size = "28KiB", name = "f" }} }}, "sync"] }}"#,
        machine(PLAIN)
    );
    let run = run(&text, 1);
    let written: u64 = run.of(Kind::DiskStart).filter(|event| event.flag == 1).map(|event| event.b).sum();
    assert_eq!(written, 8, "the inode's block only");
}

#[test]
fn a_file_that_is_written_anew_while_the_drive_writes_it_loses_nothing() {
    let set = r#"{ files = 1, size = "28KiB", name = "f" }"#;
    let write =
        format!(r#"{{ create = {set} }}, {{ repeat = {{ times = 7, steps = [{{ write = "4KiB" }}] }} }}, "close""#);
    let text = format!(
        r#"{}
workload.writer = {{ steps = [{write}, {{ sleep = "1s" }}, {write}, {{ sleep = "1s" }}, "sync"] }}
workload.other = {{ start = "995ms", steps = ["sync"] }}"#,
        machine(PLAIN)
    );
    let run = run(&text, 1);
    let written: u64 = run.of(Kind::DiskStart).filter(|event| event.flag == 1).map(|event| event.b).sum();
    assert_eq!(written, 2 * 8 * 8, "twice the inode's block and seven of data");
}

#[test]
fn inodes_that_name_extents_need_no_other_block_to_find_one() {
    let files = r#"files = { block = "4KiB", cache_blocks = 100, read_ahead = false, direct_blocks = 1000 }, "#;
    let run = run(&format!("{}{}", machine(files), reader(1, 50, 1)), 1);
    assert_eq!(run.get("cache_lookups"), 51.0, "the inode's block and fifty of data");
}

#[test]
fn a_writer_waits_while_too_much_is_changed() {
    let files = r#"files = { block = "4KiB", cache_blocks = 100, write_back = { background = 10, limit = 20 } }, "#;
    let load = r#"workload.writer = { steps = [{ create = { files = 1, size = "2000KiB" } },
        { repeat = { times = 500, steps = [{ write = "4KiB" }] } }, "close"] }"#;
    let run = run(&format!("{}{load}", machine(files)), 1);
    let written: u64 = run.of(Kind::DiskStart).filter(|event| event.flag == 1).map(|event| event.b / 8).sum();
    // Blocks that name others change with each of them, and are written more than once.
    assert!((480..=530).contains(&written), "all but a limit's worth: {written}");
}

#[test]
fn reading_ahead_brings_a_sequential_reader_near_the_speed_of_the_surface() {
    let load = |window: &str| {
        let files = format!(
            r#"calls.read = "50us", files = {{ block = "4KiB", cache_blocks = 2000, extent_blocks = 4096, {window} }}, "#
        );
        run(&format!("{}{}", machine(&files), reader(1, 1000, 1)), 1).get("elapsed")
    };
    let (with, without) = (load(r#"read_ahead_window = "128KiB""#), load("read_ahead = false"));
    // 8000 sectors of 0.1 ms.
    assert!((0.8..1.2).contains(&with), "{with} s");
    assert!(without > 5.0, "a revolution lost for each block: {without} s");
}

#[test]
fn a_cache_that_has_filled_memory_still_reads_ahead() {
    let elapsed = |memory: &str| {
        let files = format!(
            r#"calls.read = "50us", files = {{ block = "4KiB", cache_blocks = 9000, extent_blocks = 4096 }}, memory = {{ {memory} }}, "#
        );
        run(&format!("{}{}", machine(&files), reader(1, 6000, 1)), 1).get("elapsed")
    };
    let (ample, short) = (elapsed(""), elapsed(r#"size = "12MiB""#));
    assert!(short < 1.1 * ample, "{short} s with a half of the file in memory, {ample} s with all of it");
}

#[test]
fn requests_that_touch_are_merged() {
    let files = r#"files = { block = "4KiB", cache_blocks = 2000, extent_blocks = 4096 }, "#;
    let run = run(&format!("{}{}", machine(files), reader(1, 1000, 1)), 1);
    assert!(run.get("disk_requests") < 50.0, "{} requests for 1000 blocks", run.get("disk_requests"));
}

#[test]
fn every_task_has_files_of_its_own_where_it_says_so() {
    let files = r#"files = { block = "4KiB", cache_blocks = 200 }, "#;
    let load = r#"workload.w = { count = 3, load = "stream", size = "80KiB", block = "8KiB" }"#;
    let run = run(&format!("{}{load}", machine(files)), 1);
    let places: std::collections::BTreeSet<u64> = run
        .of(Kind::DiskStart)
        .filter(|event| event.flag == 1)
        .flat_map(|event| (0..event.b / 8).map(move |n| event.a + 8 * n))
        .collect();
    // Twenty blocks of data and one of names each, and the one block of inodes; places are computed, and a few may fall on others.
    assert!((60..=3 * 21 + 1).contains(&places.len()), "{}", places.len());
    assert_eq!(run.get("tasks.w.completed"), 3.0);
}

#[test]
fn random_io_reads_and_writes_by_its_parameters() {
    let files = r#"files = { block = "4KiB", cache_blocks = 10, read_ahead = false }, "#;
    let load = r#"workload.r = { load = "random_io", size = "40MiB", rounds = 200, reads = 3, writes = 1 }"#;
    let run = run(&format!("{}{load}", machine(files)), 1);
    // The inode, and for most of the places a block of names in addition to the block of data.
    let lookups = run.get("cache_lookups");
    assert!((1.0 + 800.0..1.0 + 1600.5).contains(&lookups), "{lookups}");
    assert!(run.get("cache_hit_ratio") < 60.0);
    assert!(run.get("lwrit") > 0.0 && run.get("bwrit") > 0.0);
}

#[test]
fn a_kernel_whose_servers_cannot_write_says_so() {
    let text = r#"machine = "at_286"
scheduler = { name = "round_robin" }
workload.w = { load = "stream" }"#;
    let why = unobserved(&crate::scenario(text), 1).unwrap_err();
    assert_eq!(why, "workload.w: writes files or pages, which the servers of a message-passing machine do not");
}

#[test]
fn direct_reads_go_to_the_drive_each_time() {
    let run =
        run(&format!("{}{}", machine(PLAIN), reader(1, 7, 3).replace("28KiB\" }", "28KiB\", direct = true }")), 1);
    // The block of inodes once, the data at each of three passes.
    assert_eq!(run.get("disk_requests"), 1.0 + 3.0 * 7.0);
}

#[test]
fn a_direct_write_is_on_the_drive_when_the_call_returns() {
    let text = format!(
        r#"{}
workload.writer = {{ steps = [{{ create = {{ files = 1, size = "28KiB", direct = true }} }},
    {{ repeat = {{ times = 7, steps = [{{ write = "4KiB" }}] }} }}, "close"] }}"#,
        machine(PLAIN)
    );
    let writes = run(&text, 1).of(Kind::DiskStart).filter(|event| event.flag == 1).count();
    assert!(writes >= 7, "{writes} writes for seven calls");
}

#[test]
fn what_only_a_real_machine_has_is_refused() {
    let refused = |more: &str| {
        let text = format!("machine = \"uniform\"\nscheduler = {{ name = \"round_robin\" }}\n{more}");
        unobserved(&crate::scenario(&text), 1).unwrap_err()
    };
    let spin = "workload.w = { load = \"spin\" }";
    assert!(
        refused("workload.w = { load = \"command\", run = \"true\" }").starts_with("workload.w: \"true\": only a real")
    );
    assert!(
        refused("workload.w = { steps = [{ fork = [{ run = \"true\" }] }, \"wait\"] }")
            .starts_with("workload.w: \"true\"")
    );
    assert!(refused(&format!("{spin}\ntunables.swappiness = 10")).starts_with("tunables.swappiness: only a real"));
    assert!(refused(&format!("{spin}\ngroups.g.memory = \"64MiB\"")).starts_with("groups.g.memory: only a host"));
}

#[test]
fn a_file_emptied_while_it_is_being_written_back_can_be_written_again() {
    // The drive is at work on the old blocks when new ones get their names.
    let writer = r#"workload.w = { steps = [{ repeat = { times = 50, steps = [
        { create = { files = 1, size = "0B", name = "f" } }, { write = "40KiB" }, "close", { sleep = { exp = "30ms" } } ] } }, "sync"] }"#;
    let syncer =
        r#"workload.s = { steps = [{ repeat = { times = 100, steps = ["sync", { sleep = { exp = "20ms" } }] } }] }"#;
    let files = "files = { block = \"4KiB\", cache_blocks = 30, write_back = { period = \"1000s\" } }, ";
    for seed in 1..5 {
        let run = run(&format!("{}{writer}\n{syncer}\n", machine(files)), seed);
        assert_eq!(run.get("tasks.w.completed"), 1.0);
        assert!(run.get("page_out") > 0.0);
    }
}

#[test]
fn readers_that_want_more_blocks_together_than_the_cache_has_all_end() {
    // Each waits for its block while others have blocks read in its place: the waiter still gets it.
    let text = machine(r#"files = { cache_blocks = 4, direct_blocks = 1 }, "#)
        + "workload.readers = { count = 8, passes = 3, steps = [\n"
        + "{ open = { files = 1, size = \"9KiB\", own = true } }, { read = \"9KiB\" }, \"close\"] }\n"
        + "workload.writers = { count = 4, passes = 3, steps = [\n"
        + "{ open = { files = 1, size = \"9KiB\", own = true } }, { seek = \"random\" }, { write = \"100B\" }, \"close\"] }\n";
    for seed in 1..=20 {
        let run = run(&text, seed);
        assert_eq!((run.get("tasks.readers.completed"), run.get("tasks.writers.completed")), (8.0, 4.0), "seed {seed}");
    }
}

#[test]
fn a_direct_writer_waits_for_its_own_blocks_only() {
    // What lies about changed stays so: the write-back daemon has all the time of the world.
    let files = r#"files = { cache_blocks = 1000, write_back = { period = "100s", expire = "1000s" } }, "#;
    let text = format!(
        r#"{}
workload.lazy = {{ steps = [{{ create = {{ files = 1, size = "20KiB" }} }}, {{ write = "20KiB" }}, "close"] }}
workload.direct = {{ start = "1s", steps = [
    {{ open = {{ files = 1, size = "28KiB", direct = true }} }}, {{ write = "1KiB" }}, "close"] }}"#,
        machine(files)
    );
    let written: u64 = run(&text, 1).of(Kind::DiskStart).filter(|event| event.flag == 1).map(|event| event.b).sum();
    assert_eq!(written, 2, "one block of two sectors");
}
