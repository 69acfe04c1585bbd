//! The refresh cycle: no refresh missed, batch work in the longest turns that leaves, interactive work within a refresh.

use schedlab_model::{Nanos, event::Kind};
use schedlab_policies::schedulers::{RefreshCycle, RoundRobin};
use schedlab_testing::schedulers::{Run, measure::share, run, scenario};

type Policies = (RefreshCycle, RoundRobin);

schedlab_testing::test_scheduler!(RefreshCycle);

const BATCH: &str =
    r#"workload.compile = { load = "spin", passes = "forever", policy = "batch", nice = 5, count = 3 }"#;
const AUDIO: &str =
    r#"workload.audio = { load = "periodic", run = "2ms", period = "20ms", periods = 100000, nice = -1 }"#;

#[track_caller]
fn desktop(scheduler: &str, rest: &str) -> Run {
    run::<Policies>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", costs = {{ context_switch = \"100us\" }} }}\nduration = \"20s\"\n\
             scheduler = {{ {scheduler} }}\n{rest}"
        )),
        1,
    )
}

#[test]
fn no_refresh_is_missed_and_batch_work_has_one_turn_in_each() {
    let run = desktop("name = \"refresh_cycle\"", &format!("{AUDIO}\n{BATCH}"));
    assert_eq!((run.get("tasks.audio.deadline_misses"), run.get("tasks.audio.wakeup_latency.max")), (0.0, 0.0));
    let cycles = run.get("tasks.audio.deadlines");
    let turns = run.of(Kind::SwitchIn).filter(|event| event.task != 0).count() as f64;
    assert!((turns - cycles).abs() <= 1.0, "{turns} batch turns in {cycles} cycles");
}

#[test]
fn throughput_is_higher_than_with_slices_short_enough_for_the_refresh() {
    let (cycle, turns) = (
        desktop("name = \"refresh_cycle\"", &format!("{AUDIO}\n{BATCH}")),
        desktop("name = \"round_robin\", slice = \"4ms\"", &format!("{AUDIO}\n{BATCH}")),
    );
    // Three slices of 4 ms and their switches go before the player's 2 ms; with longer ones it is late.
    assert_eq!(turns.get("tasks.audio.deadline_misses"), 0.0);
    let longer = desktop("name = \"round_robin\", slice = \"7ms\"", &format!("{AUDIO}\n{BATCH}"));
    assert!(longer.get("tasks.audio.deadline_misses") > 0.0);
    let batch = |run: &Run| run.get("tasks.compile.true_user");
    assert!(batch(&cycle) > 1.01 * batch(&turns), "{} s against {} s", batch(&cycle), batch(&turns));
}

#[test]
fn interactive_work_waits_for_a_refresh_at_most() {
    let shell =
        r#"workload.shell = { passes = "forever", steps = [{ compute = "1ms" }, { sleep = { exp = "70ms" } }] }"#;
    let run = desktop("name = \"refresh_cycle\"", &format!("{AUDIO}\n{BATCH}\n{shell}"));
    let worst = run.get("tasks.shell.wakeup_latency.max");
    // The rest of the batch slice, the player, and the switches.
    assert!(worst <= 0.0203 && worst > 0.015, "{worst} s");
    assert_eq!(run.get("tasks.audio.deadline_misses"), 0.0);
}

#[test]
fn an_unmarked_player_is_recognised_by_its_wakeups() {
    let player = AUDIO.replace("nice = -1", "nice = 1");
    let hogs = r#"workload.hog = { load = "spin", passes = "forever", count = 4 }"#;
    let run = desktop("name = \"refresh_cycle\"", &format!("{player}\n{hogs}"));
    let late = |event: &&schedlab_model::event::Event| event.kind == Kind::Period && event.flag == 0;
    let last = run.of(Kind::Period).filter(late).map(|event| event.time).max().unwrap_or(0);
    assert!(last < 1_000_000_000, "a period is missed at {last} ns");
    assert!(run.get("tasks.audio.wakeup_latency.p90") == 0.0);
}

#[test]
fn a_loop_in_a_favoured_program_is_batch_work_after_a_refresh() {
    let run = desktop(
        "name = \"refresh_cycle\"",
        &format!("{AUDIO}\n{BATCH}\nworkload.loop = {{ load = \"spin\", passes = \"forever\", nice = -5 }}"),
    );
    assert_eq!(run.get("tasks.audio.deadline_misses"), 0.0);
    let shares: Vec<Nanos> =
        (1..5).map(|task| run.of(Kind::SwitchOut).filter(|e| e.task == task).map(|e| e.a).sum()).collect();
    let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
    assert!(most - least < 100_000_000, "{shares:?}");
}

#[test]
fn two_processors_have_one_cycle_and_in_each_run_a_batch_task_apiece() {
    let run = run::<RefreshCycle>(
        &scenario(
            r#"
            machine = { preset = "uniform", processors = 2 }
            duration = "6s"
            scheduler = { name = "refresh_cycle", period = "20ms" }
            workload.first = { load = "spin", passes = "forever", policy = "batch" }
            workload.later = { load = "spin", passes = "forever", policy = "batch", start = "7ms", count = 2 }
            "#,
        ),
        1,
    );
    let period = 20_000_000;
    let begins: Vec<_> = run.of(Kind::SwitchIn).filter(|event| event.time >= period).collect();
    assert!(begins.iter().all(|event| event.time % period == 0), "the processors' slices end together");
    assert_eq!(run.totals.idle, 7_000_000);
    let turns = |task| begins.iter().filter(|event| event.task == task).count();
    // Two of three have a slice in each cycle; one that has two in a row may stay where it is.
    assert!((0..3).all(|task| (90..=200).contains(&turns(task))), "{:?}", [0, 1, 2].map(turns));
    for task in 0..3 {
        assert!((share(&run, task, 0, 6_000_000_000) - 66.7).abs() < 1.0);
    }
}

#[test]
fn refresh_work_takes_the_processor_of_the_task_of_the_last_kind() {
    let run = run::<RefreshCycle>(
        &scenario(
            r#"
            machine = { preset = "uniform", processors = 3 }
            duration = "1s"
            scheduler = { name = "refresh_cycle", period = "20ms" }
            workload.batch = { load = "spin", passes = "forever", policy = "batch" }
            workload.idle = { load = "spin", passes = "forever", policy = "idle" }
            workload.shell = { load = "spin", compute = "15ms", start = "495ms" }
            workload.refresh = { load = "spin", compute = "5ms", start = "500ms", nice = -1 }
            "#,
        ),
        1,
    );
    let cpu_of = |task| run.of(Kind::SwitchIn).find(|event| event.task == task).expect("it runs").cpu;
    assert_eq!(cpu_of(2), cpu_of(1));
    assert_eq!(run.first(Kind::Exited, 2), 505_000_000);
}
