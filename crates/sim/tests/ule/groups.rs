//! ULE on processors that share cores and caches, in its three versions: the groups of 2007, and the tree of FreeBSD 9 and later.

use super::{TWO, hogs, near, processors::idles_after_an_end, shares, ule_on};
use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_testing::schedulers::Run;

const TREES: [&str; 2] = ["2011", "2023"];
const ALL: [&str; 3] = ["2007", "2011", "2023"];

fn variant(name: &str) -> String {
    format!(", variant = \"{name}\"")
}

/// A machine like [`TWO`] with that in place of its number of processors.
fn machine(with: &str) -> String {
    TWO.replace("processors = 2", with)
}

/// Cores with two threads each. Processor n and n plus their number are a core.
fn cores(cores: u16) -> String {
    machine(&format!("processors = {}, topology = {{ threads = 2, thread_speed = 0.6 }}", 2 * cores))
}

/// The processor on which a task first runs from that time on, and when.
fn runs_from(run: &Run, task: TaskId, from: Nanos) -> (u16, Nanos) {
    let event = run.of(Kind::SwitchIn).find(|e| e.task == task && e.time >= from).expect("it runs");
    (event.cpu, event.time)
}

#[test]
fn hogs_that_start_together_have_a_core_each() {
    for name in ALL {
        let run = ule_on(&cores(4), &variant(name), &format!("duration = \"1s\"\n{}", hogs(&[0; 4])), 1);
        let mut on: Vec<u16> = run.of(Kind::SwitchIn).filter(|e| e.task < 4).map(|e| e.cpu % 4).collect();
        on.sort_unstable();
        assert_eq!(on, [0, 1, 2, 3], "{name}");
    }
}

/// Two nodes of two processors. Three hogs are bound to processor 0, one to each of 2 and 3; a reader that has slept on 1, which idles, from that time
/// on is woken after a second by a real-time thread on 0. Where it runs.
fn reader_next_to_a_loaded_processor(name: &str, asleep_from: &str) -> u16 {
    let workload = format!(
        r#"
        duration = "2s"
        workload.a_reader = {{ cpus = [1], steps = [{{ sleep = "{asleep_from}" }}, {{ compute = "100us" }}, {{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ receive = "p" }}, {{ compute = "1ms" }}] }}
        workload.b_writer = {{ cpus = [0], policy = "fifo", priority = 50, steps = [{{ sleep = "1s" }}, {{ send = "p" }}] }}
        workload.c = {{ load = "spin", passes = "forever", count = 3, cpus = [0] }}
        workload.d = {{ load = "spin", passes = "forever", cpus = [2] }}
        workload.e = {{ load = "spin", passes = "forever", cpus = [3] }}
        "#
    );
    let run = ule_on(&machine("processors = 4, nodes = 2"), &variant(name), &workload, 1);
    let woken = run.of(Kind::Wakeup).filter(|e| e.task == 0).last().expect("it is woken").time;
    assert_eq!(run.of(Kind::SwitchIn).filter(|e| e.task == 0 && e.time < woken).last().expect("it ran").cpu, 1);
    let (cpu, at) = runs_from(&run, 0, woken);
    assert_eq!(at, woken);
    cpu
}

#[test]
fn a_thread_whose_cache_is_cold_goes_to_the_least_loaded_path_and_not_to_the_processor_that_idles() {
    // Four threads on 0 and none on 1 are more than one on each of 2 and 3.
    for name in TREES {
        let cpu = reader_next_to_a_loaded_processor(name, "500ms");
        assert!(cpu >= 2, "{name}: {cpu}");
        assert_eq!(reader_next_to_a_loaded_processor(name, "998ms"), 1, "{name}, asleep for less than three ticks");
    }
    assert_eq!(reader_next_to_a_loaded_processor("2007", "500ms"), 1);
}

/// Two cores of two threads. A reader that has just slept on 0, whose core's other thread is 2, is woken from a busy processor.
fn reader_on_a_core(name: &str, busy: u16) -> u16 {
    let workload = format!(
        r#"
        duration = "2s"
        workload.a_reader = {{ cpus = [0], steps = [{{ sleep = "999ms" }}, {{ compute = "100us" }}, {{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ receive = "p" }}, {{ compute = "1ms" }}] }}
        workload.b_writer = {{ cpus = [{busy}], policy = "fifo", priority = 50, steps = [{{ sleep = "1s" }}, {{ send = "p" }}] }}
        workload.c = {{ load = "spin", passes = "forever", cpus = [{busy}] }}
        "#
    );
    let run = ule_on(&cores(2), &variant(name), &workload, 1);
    let woken = run.of(Kind::Wakeup).filter(|e| e.task == 0).last().expect("it is woken").time;
    runs_from(&run, 0, woken).0
}

#[test]
fn a_warm_processor_is_taken_again_only_if_its_whole_core_idles() {
    for name in TREES {
        assert_eq!(reader_on_a_core(name, 1), 0, "{name}");
        assert_eq!(reader_on_a_core(name, 2) % 2, 1, "{name}");
    }
    assert_eq!(reader_on_a_core("2007", 2), 0);
}

#[test]
fn today_a_thread_that_shares_a_core_moves_to_one_that_idles_when_the_balancer_comes() {
    let workload = r#"
        duration = "20s"
        workload.a = { load = "spin", passes = "forever", cpus = [0] }
        workload.b = { load = "spin", passes = "forever", cpus = [2] }
        workload.command.steps = [{ sleep = "1s" }, { set = { cpus = [0, 1, 2, 3], job = "a" } }, { set = { cpus = [0, 1, 2, 3], job = "b" } }, { sleep = "100s" }]
    "#;
    let moves = |name| {
        let run = ule_on(&cores(2), &variant(name), workload, 1);
        run.of(Kind::Migrated)
            .filter(|e| e.task < 2)
            .map(|e| (e.time, e.a % 2, u64::from(e.cpu) % 2))
            .collect::<Vec<_>>()
    };
    // Within one and a half seconds of the command, and never back.
    let today = moves("2023");
    assert!(matches!(today[..], [(SECOND..=2_600_000_000, 0, 1)]), "{today:?}");
    assert_eq!((moves("2007"), moves("2011")), (Vec::new(), Vec::new()));
}

#[test]
fn three_hogs_on_two_processors_have_two_thirds_each_in_every_version() {
    for name in TREES {
        let run = ule_on(TWO, &variant(name), &format!("duration = \"200s\"\n{}", hogs(&[0; 3])), 1);
        shares(&run, 3).into_iter().for_each(|share| near(share, 66.7, 5.0, name));
    }
}

/// Eight hogs that are let go from one of two processors after a second: when each is moved.
fn moves_of_eight(name: &str) -> Vec<Nanos> {
    let workload = r#"
        duration = "20s"
        workload.a = { load = "spin", passes = "forever", count = 8, cpus = [0] }
        workload.command.steps = [{ sleep = "1s" }, { set = { cpus = [0, 1], job = "a" } }, { sleep = "100s" }]
    "#;
    let run = ule_on(TWO, &variant(name), workload, 1);
    run.of(Kind::Migrated).filter(|e| e.task < 8).map(|e| e.time).collect()
}

#[test]
fn the_balancer_of_2011_and_later_moves_one_thread_at_a_time_and_rests_when_loads_are_equal() {
    for name in TREES {
        // One is stolen, which makes 7 and 1; three more make 4 and 4.
        let moves = moves_of_eight(name);
        assert_eq!(moves.len(), 4, "{name}: {moves:?}");
        assert!(moves.windows(2).skip(1).all(|pair| pair[1] - pair[0] > 490 * MILLISECOND), "{name}: {moves:?}");
    }
    // In 2007 half of the difference goes at once.
    let moves = moves_of_eight("2007");
    assert_eq!((moves[1], moves[2]), (moves[3], moves[3]), "{moves:?}");
}

#[test]
fn of_eight_processors_an_idle_one_takes_a_thread_from_two_immediately_only_today() {
    assert_eq!(idles_after_an_end(8, &variant("2023")), 0.0);
    assert!(idles_after_an_end(8, &variant("2011")) > 0.2);
}

#[test]
fn in_2007_and_2011_a_thread_that_waits_on_the_same_core_is_taken_however_few_wait() {
    // On eight processors three threads on one are needed elsewhere.
    let waits = |name: &str, other: u16| {
        let workload = format!(
            r#"
            duration = "3s"
            workload.a = {{ passes = "forever", cpus = [0], policy = "rr", priority = 50, steps = [{{ compute = "1s" }}] }}
            workload.b = {{ passes = "forever", cpus = [0], policy = "rr", priority = 50, steps = [{{ compute = "1s" }}] }}
            workload.command = {{ cpus = [7], steps = [{{ sleep = "1s" }}, {{ set = {{ cpus = [0, {other}], job = "b" }} }}, {{ sleep = "100s" }}] }}
            "#
        );
        let run = ule_on(&cores(4), &variant(name), &workload, 1);
        run.of(Kind::Migrated).find(|e| e.task == 1).map_or(Nanos::MAX, |e| e.time) - SECOND
    };
    for name in ["2007", "2011"] {
        assert!(waits(name, 4) <= MILLISECOND, "{name}: {}", waits(name, 4));
        assert!(waits(name, 1) > 2 * MILLISECOND, "{name}: {}", waits(name, 1));
    }
}

#[test]
fn today_a_thread_interrupts_another_processor_only_if_none_as_urgent_waits_there_already() {
    // The hog is in the kernel from about 480 to 540 ms; a timer of its processor wakes a sleeper, which waits for its return.
    let runs_at = |sleeper: bool| {
        let until = if sleeper { "390ms" } else { "1s" };
        let workload = format!(
            r#"
            duration = "1s"
            workload.a = {{ cpus = [1], steps = [{{ sleep = "100ms" }}, {{ compute = "1ms" }}, {{ sleep = "{until}" }}, {{ compute = "1ms" }}] }}
            workload.b = {{ cpus = [1], steps = [{{ sleep = "100ms" }}, {{ compute = "1ms" }}, {{ receive = "p" }}, {{ compute = "1ms" }}] }}
            workload.c = {{ cpus = [0], steps = [{{ sleep = "510ms" }}, {{ send = "p" }}] }}
            workload.hog = {{ cpus = [1], steps = [{{ compute = "480ms" }}, {{ call = "60ms" }}, {{ compute = "2s" }}] }}
            "#
        );
        let on = TWO.replace("uniform\"", "uniform\", preemption = \"none\"");
        runs_from(&ule_on(&on, &variant("2023"), &workload, 1), 1, 500 * MILLISECOND).1
    };
    assert!(runs_at(false) < 511 * MILLISECOND, "{}", runs_at(false));
    assert!(runs_at(true) >= 530 * MILLISECOND, "{}", runs_at(true));
}
