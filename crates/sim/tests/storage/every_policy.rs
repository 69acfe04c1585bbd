//! Every elevator, eviction policy and policy of reclaim under a load with some of everything.

use crate::{machine, run};
use proptest::prelude::*;
use schedlab_model::event::Kind;
use schedlab_policies::{caches::CACHES, elevators::ELEVATORS, reclaim::RECLAIMS};

/// Readers, writers that sync and delete, and programs that want more memory than there is.
fn mixed(policies: &str) -> String {
    let machine = machine(
        r#"calls.read = "100us", files = { block = "4KiB", cache_blocks = 60, read_ahead_window = "16KiB" },
        memory = { size = "400KiB", swap = "2MiB" }, queue = { requests = 16, writes = 10 }, "#,
    );
    format!(
        r#"{machine}{policies}
[workload.reader]
count = 3
steps = [{{ repeat = {{ times = 6, steps = [{{ open = {{ files = 4, size = "40KiB", name = "shared" }} }},
    {{ repeat = {{ times = 10, steps = [{{ read = "4KiB" }}] }} }}, {{ seek = "random" }}, {{ read = "9KiB" }}, "close"] }} }}]
[workload.writer]
count = 2
steps = [{{ repeat = {{ times = 4, steps = [{{ create = {{ files = 2, size = "60KiB", name = "out" }} }},
    {{ repeat = {{ times = 12, steps = [{{ write = "5KiB" }}] }} }}, "close", "sync",
    {{ delete = {{ files = 2, size = "60KiB", name = "out" }} }}] }} }}]
[workload.program]
count = 3
nice = 5
steps = [{{ touch = {{ image = "cc", size = "120KiB", compute = "100us" }} }},
    {{ touch = {{ size = "160KiB", times = 10, order = "random", write = true, compute = "200us" }} }}]
"#
    )
}

/// Everything ends, and the drive has served every request.
#[track_caller]
fn comes_to_an_end(policies: &str, seed: u64) {
    println!("{policies}");
    let run = run(&mixed(policies), seed);
    for job in ["reader", "writer", "program"] {
        let (created, completed) =
            (if job == "writer" { 2.0 } else { 3.0 }, run.get(&format!("tasks.{job}.completed")));
        assert_eq!(completed, created, "{job} under {policies}");
        assert_eq!(run.of(Kind::Exited).filter(|event| event.flag == 1).count(), 0, "cut off under {policies}");
    }
    let count = |kind| run.of(kind).count();
    assert!(count(Kind::DiskQueued) >= count(Kind::DiskStart) && count(Kind::DiskStart) - count(Kind::DiskDone) <= 1);
    assert!(run.get("swap_out") > 0.0, "memory is too small for all under {policies}");
}

#[test]
fn every_elevator_serves_a_mixed_load() {
    for info in ELEVATORS {
        comes_to_an_end(&format!("elevator = {{ name = \"{}\" }}\n", info.name), 1);
    }
}

#[test]
fn every_eviction_policy_serves_a_mixed_load() {
    for info in CACHES.iter().filter(|info| info.name != "belady") {
        comes_to_an_end(&format!("cache = {{ name = \"{}\" }}\n", info.name), 1);
    }
}

#[test]
fn every_policy_of_reclaim_serves_a_mixed_load() {
    for info in RECLAIMS {
        for seed in 1..10 {
            comes_to_an_end(&format!("reclaim = {{ name = \"{}\" }}\n", info.name), seed);
        }
    }
}

/// Here a reader finds nothing to gain and nothing under way while pages are free that the cache leaves to others.
#[test]
fn no_task_is_cut_off_while_pages_are_kept_free() {
    let names = [("elevator", "deadline"), ("cache", "lirs"), ("reclaim", "two_list")];
    comes_to_an_end(&names.map(|(field, name)| format!("{field} = {{ name = \"{name}\" }}\n")).concat(), 320);
}

#[test]
fn a_run_is_the_same_every_time() {
    let text = mixed("elevator = { name = \"writes_first\" }\nreclaim = { name = \"linux_1_0\" }\n");
    assert_eq!(run(&text, 3).events, run(&text, 3).events);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn any_combination_comes_to_an_end(
        elevator in 0..ELEVATORS.len(), cache in 0..CACHES.len(), reclaim in 0..RECLAIMS.len(), seed in 1u64..1000,
    ) {
        prop_assume!(CACHES[cache].name != "belady");
        let names = [("elevator", ELEVATORS[elevator].name), ("cache", CACHES[cache].name), ("reclaim", RECLAIMS[reclaim].name)];
        let policies: String = names.map(|(field, name)| format!("{field} = {{ name = \"{name}\" }}\n")).concat();
        comes_to_an_end(&policies, seed);
    }
}
