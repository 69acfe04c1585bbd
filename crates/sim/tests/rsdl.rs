//! The staircase deadline scheduler against what its rules lead to. Shares, run lengths and waits are those of a prototype of the
//! same rules, and the closed forms behind them.

use schedlab_model::{MICROSECOND, MILLISECOND, SECOND, event::Kind};
use schedlab_policies::schedulers::Rsdl;
use schedlab_testing::schedulers::{
    Run,
    measure::{S10, copes_with_every_class, on, run_intervals, turns},
    run, scenario,
    sleeper::{HeldUp, at_1000_hz, share_against, with_hogs},
};

schedlab_testing::test_scheduler!(Rsdl);

const SD: &str = r#"name = "rsdl""#;

#[track_caller]
fn rsdl(duration: &str, workload: &str) -> Run {
    at_1000_hz::<Rsdl>(SD, duration, workload)
}

/// Slots of a nice level and ms in each, at an rr_interval of 8 ms.
fn slots_and_quota(nice: i64) -> (i64, i64) {
    let quota = match nice {
        ..-6 => 8 * nice * nice / 40,
        -6..=0 => 8,
        _ => 4,
    };
    (20 - nice, quota)
}

#[test]
fn two_hogs_share_by_their_quotas_and_one_slot_more_than_their_levels_have() {
    let published = [(0, 50.0), (1, 67.7), (5, 72.4), (10, 79.3), (19, 95.5), (-5, 44.7), (-10, 21.3), (-20, 4.9)];
    for (nice, expected) in published {
        let share = share_against::<Rsdl>(SD, &format!("nice = {nice}"));
        let per_rotation = |nice| {
            let (slots, quota) = slots_and_quota(nice);
            ((slots + 1) * quota) as f64
        };
        let formula = 100.0 * per_rotation(0) / (per_rotation(0) + per_rotation(nice));
        assert!((share - expected).abs() < 1.0 && (share - formula).abs() < 0.5, "{share} %, nice {nice}: {formula} %");
    }
}

#[test]
fn batch_at_the_same_nice_level_has_the_same_share() {
    let share = share_against::<Rsdl>(SD, r#"policy = "batch""#);
    assert!((share - 50.0).abs() < 1.0, "{share}");
}

#[test]
fn equal_hogs_take_turns_of_rr_interval() {
    for (interval, hogs) in [(8, 2), (8, 5), (20, 2), (1, 3)] {
        let scheduler = format!("{SD}, rr_interval = \"{interval}ms\"");
        let workload = format!("workload.hog = {{ load = \"spin\", passes = \"forever\", count = {hogs} }}");
        let run = at_1000_hz::<Rsdl>(&scheduler, "10s", &workload);
        let lengths = turns(&run, 1);
        assert!(lengths.iter().all(|&length| length == interval as f64), "{lengths:?}");
        let switches = run.get("context_switches") / 10.0;
        assert!((switches - 1000.0 / interval as f64).abs() < 1.0, "{switches} a second");
    }
}

/// Against a nice 0 hog, whose run lengths in ms lie in a range, those of a worse one are its quota of 4 ms.
#[track_caller]
fn run_lengths_against(nice: i64) -> Vec<f64> {
    let run = rsdl(
        "20s",
        &format!(
            r#"
            workload.a = {{ load = "spin", passes = "forever" }}
            workload.b = {{ load = "spin", passes = "forever", nice = {nice} }}
            "#
        ),
    );
    assert!(turns(&run, 1).iter().all(|&length| length == 4.0));
    let mut lengths = turns(&run, 0);
    lengths.sort_by(f64::total_cmp);
    lengths
}

#[test]
fn a_nice_0_hog_has_one_to_three_quotas_between_two_of_a_nice_10_hog() {
    let lengths = run_lengths_against(10);
    assert_eq!((lengths[0], lengths[lengths.len() / 2], lengths[lengths.len() - 1]), (8.0, 16.0, 24.0));
}

#[test]
fn a_nice_0_hog_has_all_its_slots_between_two_quotas_of_a_nice_19_hog() {
    let longest = run_lengths_against(19).pop().unwrap();
    assert!((160.0..=168.0).contains(&longest), "{longest}");
}

#[test]
fn no_wait_is_longer_than_a_rotation_of_the_hog() {
    for (nice, compute, sleep) in [(0, 4, 40), (0, 30, 30), (10, 5, 20), (10, 40, 40), (10, 40, 400), (19, 4, 40)] {
        let run = rsdl(
            "100s",
            &format!(
                r#"
                workload.hog = {{ load = "spin", passes = "forever" }}
                workload.other = {{ passes = "forever", nice = {nice},
                    steps = [{{ compute = {{ exp = "{compute}ms" }} }}, {{ sleep = {{ exp = "{sleep}ms" }} }}] }}
                "#
            ),
        );
        let gap = run.get("tasks.other.longest_gap");
        assert!(gap <= 21.0 * 0.008, "nice {nice} waits {gap} s");
    }
}

#[test]
fn a_sleeper_waits_when_it_has_used_its_early_slots() {
    let expected = [[0.76, 4.1, 7.7], [1.4, 7.1, 15.0], [3.4, 22.0, 30.0], [7.6, 54.0, 62.0]];
    for (hogs, row) in [1, 2, 4, 8].into_iter().zip(expected) {
        let found = with_hogs::<Rsdl>(SD, hogs);
        found.assert_near(&format!("{hogs} hogs"), row);
        assert_eq!(found.percentile(50), 0.0, "the median with {hogs} hogs");
    }
    assert!((with_hogs::<Rsdl>(SD, 8).share - 5.7).abs() < 0.1);
}

#[test]
fn with_an_rr_interval_of_20_ms_a_sleeper_waits_more_rarely_but_longer() {
    let expected = [[1.0, 0.0, 16.0], [1.7, 0.0, 35.0], [3.9, 0.0, 72.0], [7.9, 0.0, 151.0]];
    for (hogs, row) in [1, 2, 4, 8].into_iter().zip(expected) {
        with_hogs::<Rsdl>(&format!("{SD}, rr_interval = \"20ms\""), hogs).assert_near(&format!("{hogs} hogs"), row);
    }
}

#[test]
fn interactive_mode_lets_a_sleeper_go_back_to_its_early_slots() {
    let scheduler = format!("{SD}, interactive = true");
    let expected = [[0.26, 0.0, 7.3], [0.5, 0.0, 14.0], [0.7, 0.0, 27.0], [0.9, 0.0, 56.0]];
    for (hogs, row) in [1, 2, 4, 8].into_iter().zip(expected) {
        with_hogs::<Rsdl>(&scheduler, hogs).assert_near(&format!("{hogs} hogs"), row);
    }
    assert!((with_hogs::<Rsdl>(&scheduler, 8).share - 9.2).abs() < 0.1);
}

/// The load of the report of April 2007: two compiles at nice 5, and a nice 1 task that uses 13 % of the processor.
#[track_caller]
fn with_compiles(interval: u64, policy: &str) -> HeldUp {
    let workload = format!(
        r#"
        workload.compile = {{ load = "spin", passes = "forever", count = 2, nice = 5, policy = "{policy}" }}
        workload.player = {{ passes = "forever", nice = 1,
            steps = [{{ compute = "1300us" }}, {{ sleep = {{ uniform = ["6700us", "10700us"] }} }}] }}
        "#
    );
    let scheduler = format!("{SD}, rr_interval = \"{interval}ms\"");
    HeldUp::of(&at_1000_hz::<Rsdl>(&scheduler, "200s", &workload), "player", 2, 1300 * MICROSECOND)
}

#[test]
fn batch_compiles_never_hold_up_a_player_however_long_rr_interval_is() {
    for interval in [8, 20] {
        assert_eq!(with_compiles(interval, "batch").percentile(99), 0.0);
    }
}

#[test]
fn normal_compiles_hold_it_up_the_more_the_longer_rr_interval_is() {
    for (interval, expected) in [(8, 7.6), (20, 17.0)] {
        let p99 = with_compiles(interval, "other").percentile(99);
        assert!((p99 - expected).abs() < 0.2 * expected, "{p99} ms at {interval} ms");
    }
}

#[test]
fn a_forked_child_goes_first_and_both_have_half_of_the_quota() {
    let run = rsdl("1s", r#"workload.a = { steps = [{ fork = [{ compute = "20ms" }] }, { compute = "20ms" }] }"#);
    assert_eq!(run.order()[..4], [0, 1, 0, 1]);
    // The first tick comes within a millisecond.
    let lengths =
        |task| run_intervals(&run, task).iter().map(|(begin, end)| (end - begin) / MILLISECOND).collect::<Vec<_>>();
    assert_eq!((&lengths(1)[..2], &lengths(0)[1..3]), (&[4, 8][..], &[4, 8][..]));
}

#[test]
fn a_child_that_ends_early_gives_its_quota_back() {
    // What a fork takes its parent, and the start and the end of the child the child, us.
    for [fork, start, exit, wait] in [[0; 4], [300, 200, 100, 40]] {
        // In whole us, as the policy counts.
        for phase in [0, 1_000, 250_000, 500_000, 999_000] {
            let run = run::<Rsdl>(
                &scenario(&format!(
                    r#"
                    machine = {{ preset = "uniform", clock = {{ hz = "1000/s", phase = "{phase}ns" }}, calls = {{
                        fork = "{fork}us", start = "{start}us", exit = "{exit}us", wait = "{wait}us" }} }}
                    scheduler = {{ {SD} }}
                    duration = "1s"
                    workload.a = {{ steps = [{{ fork = [{{ compute = "1500us" }}] }}, "wait", {{ compute = "20ms" }}] }}
                    workload.b = {{ load = "spin", passes = "forever" }}
                    "#
                )),
                1,
            );
            // The child goes first. Each has half of what is left of 8 ms, and the child gives back what it does not use.
            let (used, half) = ((start + 1500 + exit) * MICROSECOND, (8 * MILLISECOND - fork * MICROSECOND) / 2);
            let begin = fork * MICROSECOND + used;
            let used_up = begin + half + (half - used);
            // Its turn ends with the tick that finds that.
            let tick = (used_up - phase).next_multiple_of(MILLISECOND) + phase;
            assert_eq!(run_intervals(&run, 0)[1], (begin, tick), "fork {fork} us, first tick at {phase} ns");
        }
    }
}

#[test]
fn a_quota_that_runs_out_between_two_ticks_ends_at_the_next_choice() {
    // The first quota is used up at 8 ms, and the next tick comes 0.29 ms later.
    let workload = r#"
        workload.a = { load = "spin", passes = "forever", count = 2 }
        workload.sleeper = { steps = [{ compute = "50us" }], start = "8100us", nice = -20 }
    "#;
    assert_eq!(rsdl("20ms", workload).order()[..3], [0, 2, 1]);
}

#[test]
fn a_task_that_yields_waits_for_the_next_rotation() {
    let run = rsdl(
        "1s",
        r#"
        workload.hog = { load = "spin", passes = "forever" }
        workload.polite = { steps = [{ compute = "1ms" }, "yield", { compute = "1ms" }] }
        "#,
    );
    let back = run.of(Kind::SwitchIn).filter(|event| event.task == 1).nth(1).unwrap().time;
    assert!((20 * 8..21 * 8).contains(&(back / MILLISECOND)), "after {back} ns");
}

#[test]
fn real_time_goes_before_all_others_and_only_rr_takes_turns() {
    for (policy, takes_turns) in [("rr", true), ("fifo", false)] {
        let run = rsdl(
            "1s",
            &format!(
                r#"
                workload.a = {{ load = "spin", passes = "forever", policy = "{policy}", priority = 3, count = 2 }}
                workload.b = {{ load = "spin", passes = "forever", nice = -20 }}
                "#
            ),
        );
        let lengths = turns(&run, 0);
        assert_eq!((run.get("tasks.b.share"), lengths.len() > 50), (0.0, takes_turns), "{policy}");
        assert!(lengths.iter().all(|&length| length == 8.0), "{policy}");
    }
}

#[test]
fn iso_has_the_processor_until_it_had_80_percent_of_5_s_and_is_normal_until_it_is_below_72() {
    let run = rsdl(
        "100s",
        r#"
        workload.iso = { load = "spin", passes = "forever", policy = "iso" }
        workload.normal = { load = "spin", passes = "forever" }
        "#,
    );
    let first = run.first(Kind::SwitchIn, 1);
    assert!((4050..4053).contains(&(first / MILLISECOND)), "{first}"); // 81 % of 5001 ticks
    // Then, for 9 % of the period, alone, and with half of the processor while the average falls by e^-x from 81 to 72 %.
    let (alone, shared) = (0.09, (81.0f64 / 72.0).ln());
    let share = 4.05 + (100.0 - 4.05) * (alone + 0.5 * shared) / (alone + shared);
    assert!((run.get("tasks.iso.share") - share).abs() < 1.0, "{} %, not {share}", run.get("tasks.iso.share"));
}

#[test]
fn idleprio_has_only_unwanted_time() {
    let run = rsdl(
        "10s",
        &format!(
            r#"
            workload.idle = {{ load = "spin", passes = "forever", policy = "idle" }}
            workload.sleeper = {{ {S10} }}
            "#
        ),
    );
    assert_eq!(HeldUp::of(&run, "sleeper", 1, MILLISECOND).percentile(99), 0.0);
    assert!((run.get("tasks.idle.share") - 90.0).abs() < 1.0);
}

#[test]
fn after_a_wait_for_the_drive_idleprio_is_not_starved() {
    let run = run::<Rsdl>(
        &scenario(&format!(
            r#"
            machine = {{ preset = "at_286", personality = "monolithic" }}
            scheduler = {{ {SD} }}
            duration = "60s"
            workload.hog = {{ load = "spin", passes = "forever", start = "5s" }}
            workload.idle = {{ load = "spin", passes = "forever", policy = "idle" }}
            workload.reader = {{ load = "read_files", passes = "forever", policy = "idle" }}
            "#
        )),
        1,
    );
    let last = |task| run.of(Kind::SwitchIn).filter(|event| event.task == task).last().unwrap().time / SECOND;
    assert!(last(1) < 6 && last(2) > 58, "SCHED_IDLEPRIO ran last at {} s, a reader at {} s", last(1), last(2));
}

#[test]
fn rr_interval_grows_with_the_processors() {
    for (processors, interval) in [(1, 8.0), (2, 16.0), (4, 24.0), (5, 24.0)] {
        let workload = r#"workload.hog = { load = "spin", passes = "forever", count = 2, cpus = [0] }"#;
        let run = on::<Rsdl>(
            processors,
            1000,
            SD,
            &format!(
                "duration = \"1s\"
{workload}"
            ),
        );
        assert!(turns(&run, 1).iter().all(|&length| length == interval), "{processors} processors");
    }
}

#[test]
fn an_idle_processor_pulls() {
    let workload = r#"
        workload.a = { steps = [{ compute = "100ms" }] }
        workload.b = { steps = [{ compute = "10ms" }] }
        workload.c = { steps = [{ compute = "100ms" }] }
        workload.d = { steps = [{ compute = "10ms" }] }
    "#;
    let run = on::<Rsdl>(2, 1000, SD, workload);
    assert!(run.get("elapsed") < 0.12, "{}", run.get("elapsed")); // 0.11 at best, 0.2 without
}

#[test]
fn a_busy_processor_pulls_where_loads_differ() {
    // They are spread three and three; then the pinned ones are gone, and one processor has three, the other one.
    let workload = r#"
        duration = "10s"
        workload.a = { steps = [{ compute = "50ms" }, { sleep = "1h" }], count = 2, cpus = [1] }
        workload.hog = { load = "spin", passes = "forever", count = 4 }
    "#;
    let run = on::<Rsdl>(2, 1000, SD, workload);
    let had = |task| run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.a).sum::<u64>();
    assert!((2..6).all(|task| had(task).abs_diff(5 * SECOND) < SECOND / 4), "{:?}", [2, 3, 4, 5].map(had));
}

#[test]
fn tasks_of_every_class_live_together() {
    copes_with_every_class::<Rsdl>(SD);
}
