//! Attention levels in runs: what they are worth, what they leave alone, and what holds under every policy.

use schedlab_model::scenario::Scenario;
use schedlab_policies::schedulers::{All, SCHEDULERS};
use schedlab_sim::run_batch;
use schedlab_testing::schedulers::{Run, run, scenario};

/// A program that draws a frame every 16 ms next to hogs on two processors, and a small one that is attended to later.
const FRAMES: &str = r#"
    duration = "30s"
    [workload]
    player = { load = "periodic", run = "5ms", period = "16ms", passes = "forever" }
    editor = { passes = "forever", steps = [{ sleep = { exp = "20ms" } }, { compute = { exp = "2ms" } }] }
    hog = { load = "spin", compute = "20ms", count = 4, passes = "forever" }
    [attention]
    focus = [{ at = "0s", job = "player" }, { at = "15s", job = "editor" }]
    layout = { rule = [{ name = "hog", level = "batch" }] }
"#;

fn under(scheduler: &str, machine: &str, text: &str) -> Scenario {
    scenario(&format!("machine = {machine}\nscheduler = {{ name = \"{scheduler}\" }}\n{text}"))
}

fn without(text: &str) -> String {
    let (before, _) = text.split_once("[attention]").unwrap();
    before.to_owned()
}

const TICKING: &str = r#"{ preset = "uniform", processors = 2, clock = { hz = "1000/s" } }"#;

fn missed(run: &Run) -> f64 {
    run.report.get("tasks.player.deadline_misses").unwrap()
}

#[test]
fn a_program_in_focus_misses_fewer_frames() {
    for scheduler in ["cfs", "eevdf"] {
        // It wants more than an equal share of two processors.
        let text = FRAMES.replace("run = \"5ms\"", "run = \"10ms\"").replace("count = 4", "count = 8");
        let [plain, attended] =
            [without(&text), text].map(|text| missed(&run::<All>(&under(scheduler, TICKING, &text), 1)));
        assert!(plain > 100.0, "{scheduler}: {plain} without");
        assert!(attended < plain / 4.0, "{scheduler}: {plain} without, {attended} with");
    }
}

#[test]
fn every_policy_takes_it_and_no_time_is_lost() {
    for info in SCHEDULERS {
        for machine in [TICKING, r#"{ preset = "uniform", processors = 1 }"#, "\"at_286\""] {
            if machine == TICKING && info.allows(2).is_err() {
                continue;
            }
            let text = FRAMES.replace("30s", "6s").replace("15s", "3s");
            // What the audit finds ends the run.
            let run = run::<All>(&under(info.name, machine, &text), 3);
            assert_eq!(run.totals, run.audited_totals, "{} {machine}", info.name);
        }
    }
}

#[test]
fn nice_values_of_levels_count_where_a_policy_has_them_and_nowhere_else() {
    let text = r#"
        duration = "10s"
        workload.a = { load = "spin", compute = "10ms", passes = "forever" }
        workload.b = { load = "spin", compute = "10ms", passes = "forever" }
        attention.layout.rule = [{ name = "b", level = "batch" }]
    "#;
    let share = |scheduler| {
        let run = run::<All>(&under(scheduler, &TICKING.replace("processors = 2", "processors = 1"), text), 1);
        run.report.get("tasks.a.share").unwrap()
    };
    for scheduler in ["round_robin", "minix"] {
        let share = share(scheduler);
        assert!((47.0..53.0).contains(&share), "{scheduler}: {share}");
    }
    for scheduler in ["cfs", "eevdf", "stride"] {
        let share = share(scheduler);
        assert!(share > 75.0, "{scheduler}: {share}");
    }
}

#[test]
fn levels_that_change_nothing_change_no_run() {
    let flat = r#"level = [{ name = "foreground", nice = 0 }, { name = "background", nice = 0 }, { name = "batch", nice = 0 }]"#;
    let text =
        FRAMES.replace("rule =", &format!("{flat}, rule =")).replace("[attention]", "[attention]\nperiod = \"1min\"");
    for info in SCHEDULERS.iter().filter(|info| info.allows(2).is_ok()) {
        let [plain, attended] =
            [without(FRAMES), text.clone()].map(|text| under(info.name, TICKING, &text.replace("30s", "4s")));
        assert!(run::<All>(&plain, 1).events == run::<All>(&attended, 1).events, "{}", info.name);
        // As a user runs it: ticks that only count are passed over.
        let [plain, attended] = [plain, attended].map(|scenario| schedlab_sim::run::<All>(&scenario, 1).unwrap().rows);
        assert_eq!(plain, attended, "{}", info.name);
    }
}

#[test]
fn results_are_the_same_on_any_number_of_threads() {
    let of = |scheduler, seed| (under(scheduler, TICKING, &FRAMES.replace("30s", "8s")), seed);
    let runs: Vec<_> = (1..4).flat_map(|seed| [of("eevdf", seed), of("cfs", seed)]).collect();
    let rows = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let reports = pool.install(|| run_batch::<All>(&runs));
        reports.into_iter().map(|report| report.unwrap().rows).collect::<Vec<_>>()
    };
    let alone = rows(1);
    assert!(alone[0] != alone[2], "seeds differ");
    assert_eq!([rows(2), rows(3)], [alone.clone(), alone]);
}

#[test]
fn a_run_that_can_go_no_further_ends_all_the_same() {
    let text = "workload.a = { steps = [{ receive = 'never' }, { send = 'never' }] }\n\
                [attention]\nfocus = [{ at = '0s', job = 'a' }, { at = '900h' }]";
    let warnings = schedlab_sim::run::<All>(&under("eevdf", TICKING, text), 1).unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.to_string().contains("can never go on")), "{warnings:?}");
}
