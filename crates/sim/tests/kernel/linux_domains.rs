//! How eevdf and cfs place and balance tasks over threads, caches and nodes.

use schedlab_model::{event::Kind, task::TaskId};
use schedlab_policies::schedulers::{Cfs, Eevdf};
use schedlab_testing::schedulers::{
    Run,
    figures::{Table, hog, s10, share},
    run, scenario,
};

type Both = (Eevdf, Cfs);
const BOTH: [&str; 4] = [
    "name = \"eevdf\"",
    "name = \"eevdf\", variant = \"6.12\"",
    "name = \"eevdf\", variant = \"6.17\"",
    "name = \"cfs\"",
];
const SMT: &str = "processors = 4, topology = { threads = 2, thread_speed = 0.6 }";
const CACHES: &str = "processors = 8, topology = { cores_per_cache = 4 }";
const NODES: &str = "processors = 8, nodes = 2";

fn on(machine: &str, scheduler: &str, seconds: u64, jobs: &str, seed: u64) -> Run {
    let head = format!("machine = {{ preset = \"uniform\", clock = {{ hz = \"250/s\" }}, {machine} }}\n");
    let text = format!("{head}scheduler = {{ {scheduler} }}\nduration = \"{seconds}s\"\n{jobs}");
    run::<Both>(&scenario(&text), seed)
}

/// Where a task ran last.
fn last_cpu(run: &Run, task: TaskId) -> u16 {
    run.of(Kind::SwitchOut).filter(|event| event.task == task).last().expect("it ran").cpu
}

/// A hog that is bound to some processors at first, and after 100 ms to none.
fn released(name: &str, cpus: &str) -> String {
    format!(
        "workload.{name} = {{ cpus = {cpus}, steps = [{{ compute = \"100ms\" }}, {{ set = {{ cpus = [0, 1, 2, 3] }} }}, \
         {{ compute = \"100s\" }}] }}\n"
    )
}

#[test]
fn two_hogs_begin_on_different_cores() {
    for scheduler in BOTH {
        let run = on(SMT, scheduler, 2, &hog("a", "count = 2"), 1);
        assert_ne!(last_cpu(&run, 0) % 2, last_cpu(&run, 1) % 2, "{scheduler}");
    }
}

/// Nothing waits, so only the stopper can move one of them (active balance).
#[test]
fn two_hogs_that_run_on_one_core_are_spread_over_two() {
    for scheduler in BOTH {
        let jobs = [released("a", "[0]"), released("b", "[2]")].concat();
        let run = on(SMT, scheduler, 3, &jobs, 1);
        assert_ne!(last_cpu(&run, 0) % 2, last_cpu(&run, 1) % 2, "{scheduler}");
        let moves: Vec<u64> = run.of(Kind::Migrated).map(|event| event.time / 1_000_000).collect();
        assert!(moves.len() == 1 && moves[0] < 600, "{scheduler}: {moves:?} ms");
    }
}

#[test]
fn a_woken_task_takes_an_idle_core_before_the_sibling_of_a_hog() {
    for scheduler in BOTH {
        let jobs = hog("a", "cpus = [0]") + &s10("b", "");
        let run = on(SMT, scheduler, 5, &jobs, 1);
        let on_sibling = run.of(Kind::SwitchIn).filter(|event| event.task == 1 && event.cpu == 2).count();
        assert!(on_sibling <= 1, "{scheduler}: {on_sibling}");
    }
}

#[test]
fn hogs_spread_over_caches_and_nodes() {
    for scheduler in BOTH {
        for machine in [CACHES, NODES] {
            let run = on(machine, scheduler, 2, &hog("a", "count = 4"), 1);
            let low = (0..4).filter(|&task| last_cpu(&run, task) < 4).count();
            assert_eq!(low, 2, "{scheduler} on {machine}");
        }
    }
}

#[test]
fn equal_hogs_on_several_nodes_get_equal_shares() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for machine in [CACHES, NODES] {
            let run = on(machine, scheduler, 60, &hog("a", "count = 16"), 1);
            for task in 0..16 {
                table.row(&format!("{scheduler}, {machine}: {task}"), 50.0, 8.0, share(&run, task));
            }
        }
    }
    table.check();
}

/// A woken task stays with the cache of its processor even where another node is idle.
#[test]
fn a_woken_task_does_not_leave_its_cache() {
    for scheduler in BOTH {
        let jobs = hog("a", "count = 4, cpus = [0, 1, 2, 3]") + &s10("b", "cpus = [0, 1, 2, 3]");
        let run = on(NODES, scheduler, 2, &jobs, 1);
        assert!(run.of(Kind::SwitchIn).all(|event| event.cpu < 4), "{scheduler}");
    }
}

/// By numbers 2 and 2 look even, but two of them share a processor: the imbalance is noted one level up.
#[test]
fn bound_hogs_that_hide_an_imbalance_are_found_from_the_other_cache() {
    for scheduler in BOTH {
        let run = on(CACHES, scheduler, 10, &hog("a", "count = 4, cpus = [3, 4, 5, 6]"), 1);
        let total: f64 = (0..4).map(|task| share(&run, task)).sum();
        assert!(total > 385.0, "{scheduler}: {total}");
    }
}

#[test]
fn a_real_time_task_that_must_wait_is_pushed_to_another_processor_at_once() {
    let waker = |name: &str, cpu: u16, first: u64| {
        format!(
            "workload.{name} = {{ policy = \"fifo\", priority = 20, cpus = [{cpu}], passes = \"forever\", start = \"{first}ms\", \
             steps = [{{ compute = \"3ms\" }}, {{ sleep = \"3ms\" }}] }}\n"
        )
    };
    for scheduler in BOTH {
        let scheduler = format!("{scheduler}, rt_throttling = \"off\"");
        let jobs = hog("a", "policy = \"fifo\", priority = 10") + &waker("b", 0, 1) + &waker("c", 1, 4);
        let run = on("processors = 2", &scheduler, 5, &jobs, 1);
        assert!(share(&run, 0) > 99.5, "{scheduler}: {}", share(&run, 0));
    }
}
