//! What FreeBSD's ULE of October 2007 does, statement by statement: numbers that follow from its rules by hand or by a separate
//! prototype of them. Its memory of sleep and run times is held in the policy's own tests (statements 5, 6, 9, 10, 13).

mod groups;
mod processors;

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::Ule;
use schedlab_testing::schedulers::{Run, run, scenario};

schedlab_testing::test_scheduler!(Ule);

const LADDER: [i8; 11] = [-20, -16, -12, -8, -4, 0, 4, 8, 12, 16, 20];
/// Long-run shares of eleven hogs of these nice levels, in percent.
const LADDER_SHARES: [f64; 11] = [21.35, 16.67, 12.66, 9.89, 8.31, 7.14, 6.06, 5.28, 4.64, 4.20, 3.81];
/// A tick of the statistics clock, ms.
const STAT_TICK: f64 = 1000.0 / 133.0;
const SLICE: f64 = 13.0 * STAT_TICK;
/// One processor without costs, on which sleeps end at ticks of the periodic clock, as FreeBSD's do.
const ONE: &str = r#"{ preset = "uniform", clock = { timers = "tick" } }"#;
const TWO: &str = r#"{ preset = "uniform", processors = 2, clock = { timers = "tick" } }"#;

/// Runs a workload on one processor under ULE with these parameters.
#[track_caller]
fn ule(parameters: &str, rest: &str) -> Run {
    ule_on(ONE, parameters, rest, 1)
}

#[track_caller]
fn ule_on(machine: &str, parameters: &str, rest: &str, seed: u64) -> Run {
    run::<Ule>(&scenario(&format!("machine = {machine}\nscheduler = {{ name = \"ule\"{parameters} }}\n{rest}")), seed)
}

/// A hog of each nice level, in order.
fn hogs(nice: &[i8]) -> String {
    let hog = |(n, nice)| format!("workload.h{n:02} = {{ load = \"spin\", passes = \"forever\", nice = {nice} }}\n");
    nice.iter().enumerate().map(hog).collect()
}

/// The share of each task, in percent.
fn shares(run: &Run, tasks: usize) -> Vec<f64> {
    let mut had = vec![0; tasks];
    let run_lengths = run.of(Kind::SwitchOut).filter(|e| (e.task as usize) < tasks);
    run_lengths.for_each(|e| had[e.task as usize] += e.a + e.b);
    had.iter().map(|had| 100.0 * *had as f64 / run.end as f64).collect()
}

/// Shares of hogs over 200 s.
fn shares_of(parameters: &str, nice: &[i8]) -> Vec<f64> {
    shares(&ule(parameters, &format!("duration = \"200s\"\n{}", hogs(nice))), nice.len())
}

/// Times on the processor of a task: from when to when.
fn turns(run: &Run, task: TaskId) -> Vec<(Nanos, Nanos)> {
    let mut turns = Vec::new();
    for event in run.events.iter().filter(|e| e.task == task) {
        match event.kind {
            Kind::SwitchIn => turns.push((event.time, run.end)),
            Kind::SwitchOut => turns.last_mut().expect("it was in").1 = event.time,
            _ => {}
        }
    }
    turns
}

/// A job that computes and waits in turn for a lock without priority inheritance; the other holder of the lock sleeps.
fn lock_waiter(compute: u64, wait: u64, nice: i8) -> String {
    format!(
        r#"
        workload.a_clock = {{ passes = "forever", steps = [{{ lock = "x" }}, {{ sleep = "{wait}ms" }}, {{ unlock = "x" }}] }}
        workload.b_waiter = {{ passes = "forever", nice = {nice}, start = "1us",
            steps = [{{ lock = "x" }}, {{ compute = "{compute}ms" }}, {{ unlock = "x" }}] }}
        "#
    )
}

fn sleeper(compute: u64, sleep: u64) -> String {
    format!(
        "workload.a_sleeper = {{ passes = \"forever\", steps = [{{ compute = \"{compute}ms\" }}, {{ sleep = \"{sleep}ms\" }}] }}\n"
    )
}

#[track_caller]
fn near(value: f64, wanted: f64, allowed: f64, what: &str) {
    assert!((value - wanted).abs() <= allowed, "{what}: {value}, not {wanted}");
}

#[test]
fn statement_01_equal_hogs_share_equally_in_slices_that_do_not_shrink() {
    for (n, gap) in [(2, 98.0), (3, 196.0), (10, 880.0), (30, 2840.0)] {
        let run = ule("", &format!("duration = \"100s\"\n{}", hogs(&vec![0; n])));
        let fair = 100.0 / n as f64;
        shares(&run, n).iter().for_each(|share| near(*share, fair, 0.02 * fair + 0.1, &format!("share of {n}")));
        near(run.of(Kind::SwitchIn).count() as f64 / 100.0, 10.3, 0.1, "switches a second");
        // Once they have a past of ten seconds: until then their shares, and so their days, are very unlike.
        let gaps = |task| {
            let late: Vec<_> = turns(&run, task).into_iter().filter(|turn| turn.0 > 10 * SECOND).collect();
            late.windows(2).map(|pair| pair[1].0 - pair[0].1).max().unwrap()
        };
        let longest = (0..n as TaskId).map(gaps).max().unwrap() as f64 / 1e6;
        near(longest, gap, 0.005 * gap, &format!("gap of {n}"));
    }
}

#[test]
fn statement_02_eleven_hogs_of_all_nice_levels_have_shares_of_one_to_five_and_a_half() {
    let run = ule("", &format!("duration = \"200s\"\n{}", hogs(&LADDER)));
    let shares = shares(&run, 11);
    for (share, wanted) in shares.iter().zip(LADDER_SHARES) {
        near(*share, wanted, 1.0, &format!("{shares:?}"));
    }
    near(shares[0] / shares[10], 5.6, 0.4, "-20 to 20");
    near(shares[5] / shares[10], 1.9, 0.2, "0 to 20");
    near(run.get("tasks.h10.longest_gap"), 2.8, 0.3, "gap of 20");
    near(run.get("tasks.h00.longest_gap"), 0.8, 0.1, "gap of -20");
}

#[test]
fn statement_03_two_hogs_share_equally_unless_their_days_differ_by_more_than_a_slice() {
    let pairs = [(0, 4, 50.0), (0, 8, 50.0), (0, 12, 50.0), (0, 13, 50.0), (0, 14, 52.1), (0, 16, 56.5), (0, 18, 60.6)];
    for (a, b, share) in pairs.into_iter().chain([(0, 20, 65.2), (-20, 0, 65.2), (-20, 20, 75.0)]) {
        near(shares_of("", &[a, b])[0], share, 0.5, &format!("nice {a} and {b}"));
    }
    near(shares_of(", stathz = \"128/s\"", &[0, 12])[0], 50.0, 0.5, "a slice of 12");
    assert!(shares_of(", stathz = \"128/s\"", &[0, 13])[0] > 51.0);
}

#[test]
fn statement_04_a_hog_of_nice_20_is_not_starved_by_any_number_of_hogs() {
    for (k, share) in [(1, 34.8), (2, 25.0), (4, 14.9), (8, 7.0), (16, 3.4)] {
        let mut nice = vec![0; k];
        nice.push(20);
        near(shares_of("", &nice)[k], share, 0.5, &format!("against {k}"));
    }
}

#[test]
fn statement_05_with_hogs_a_thread_runs_immediately_below_its_threshold_of_duty() {
    // Without a boost of its sleeps. Run over run and sleep, in percent: just below and well above the threshold.
    for (nice, below, above) in [(0, 35, 45), (10, 26, 38), (20, 14, 25), (-10, 42, 52)] {
        let median = |duty| {
            let run = ule("", &format!("duration = \"60s\"\n{}{}", lock_waiter(duty, 100 - duty, nice), hogs(&[0; 3])));
            run.get("tasks.b_waiter.wakeup_latency.p50")
        };
        assert!(median(below) == 0.0, "nice {nice} at {below} %: {} s", median(below));
        assert!(median(above) > 0.05, "nice {nice} at {above} %: {} s", median(above));
    }
}

#[test]
fn statement_07_a_thread_that_sleeps_more_than_it_runs_has_what_it_wants_and_another_without_boost_has_not() {
    for (compute, wait, share) in [(1, 9, 10.0), (2, 8, 20.0), (3, 7, 30.0), (37, 63, 37.0)] {
        let run = ule("", &format!("duration = \"60s\"\n{}{}", lock_waiter(compute, wait, 0), hogs(&[0; 3])));
        near(shares(&run, 2)[1], share, 0.5, "share");
        assert_eq!(run.get("tasks.b_waiter.wakeup_latency.p90"), 0.0);
    }
    // The clock has a processor of its own: on this one, its wakeup would preempt the job that woke it.
    for (compute, wait, share, latency) in [(5, 5, 5.0, 0.170), (4, 6, 22.0, 0.0)] {
        let clock = lock_waiter(compute, wait, 0).replacen("passes", "cpus = [1], passes", 1);
        let here = (clock + &hogs(&[0; 3])).replace("nice =", "cpus = [0], nice =");
        let run = ule_on(TWO, "", &format!("duration = \"200s\"\n{here}"), 1);
        near(shares(&run, 2)[1], share, 2.0, "share");
        near(run.get("tasks.b_waiter.wakeup_latency.p50"), latency, 0.005, "median latency");
    }
}

#[test]
fn statement_08_a_sleeper_with_a_kernel_priority_keeps_the_processor_to_the_end_of_its_burst() {
    for (compute, sleep) in [(5, 5), (8, 2), (40, 10), (80, 20)] {
        let run = ule("", &format!("duration = \"60s\"\n{}{}", sleeper(compute, sleep), hogs(&[0; 3])));
        let duty = 100.0 * compute as f64 / (compute + sleep) as f64;
        near(shares(&run, 1)[0], duty, 1.0, "share");
        assert_eq!(run.get("tasks.a_sleeper.wakeup_latency.p99"), 0.0);
        // No processor takes it away.
        assert!(run.get("tasks.a_sleeper.involuntary_switches") <= 2.0);
    }
}

#[test]
fn statement_09_a_shells_children_begin_with_one_stat_tick_and_run_before_older_hogs() {
    let shell = r#"
        duration = "20s"
        workload.a_shell.steps = [
            { sleep = "4500ms" }, { compute = "10us" },
            { fork = [{ compute = "2s" }] }, { fork = [{ compute = "2s" }] }, "wait", "wait",
        ]
        workload.b_hog = { load = "spin", passes = "forever" }
    "#;
    let run = ule("", shell);
    let lengths = |task| -> Vec<f64> { turns(&run, task).iter().map(|(from, to)| (to - from) as f64 / 1e6).collect() };
    for child in [2, 3] {
        assert!(lengths(child)[0] <= 1.01 * STAT_TICK, "{:?}", lengths(child));
        near(lengths(child)[1], SLICE, STAT_TICK, "second turn");
    }
    // Both are interactive for 40 ticks of the statistics clock, after which the fourth slice of each ends.
    let back = turns(&run, 1).iter().map(|turn| turn.0).find(|from| *from > 4600 * MILLISECOND).unwrap();
    near((back - 4500 * MILLISECOND) as f64 / 1e6, 2.0 * 40.0 * STAT_TICK, STAT_TICK, "the older hog waits");
}

#[test]
fn statement_10_a_hog_becomes_interactive_by_one_long_sleep() {
    let needs = |sleep| {
        let run = ule(
            "",
            &format!(
                r#"
                workload.a_hog.steps = [{{ compute = "8s" }}, {{ sleep = "{sleep}ms" }}, {{ compute = "250ms" }}]
                workload.b_hog = {{ load = "spin", passes = "forever", count = 3, start = "8100ms" }}
                "#
            ),
        );
        run.end / MILLISECOND - 8000 - sleep
    };
    // It runs immediately in any case, but keeps the processor beyond its first slice only if it is interactive.
    assert!(needs(6200) <= 251, "{} ms", needs(6200));
    assert!(needs(4900) > 500, "{} ms", needs(4900));
}

#[test]
fn statement_11_the_children_of_a_parent_whose_child_ran_for_long_begin_as_hogs() {
    let waits = |compute: &str| {
        let run = ule(
            "",
            &format!(
                r#"
                workload.make.steps = [
                    {{ sleep = "1s" }}, {{ compute = "10us" }}, {{ fork = [{{ compute = "{compute}" }}] }}, "wait",
                    {{ compute = "10us" }}, {{ fork = [{{ compute = "100ms" }}] }}, "wait",
                ]
                workload.old = {{ load = "spin", passes = "forever", count = 3, start = "4500ms" }}
                "#
            ),
        );
        let second = run.of(Kind::Created).filter(|e| e.b == 0).nth(1).expect("a second child");
        turns(&run, second.task).windows(2).map(|pair| pair[1].0 - pair[0].1).sum::<Nanos>()
    };
    // Slept for 1 + 3.6 s, ran for 3.6 s against slept for 1 s + 3.6 s and ran for next to nothing.
    assert_eq!(waits("20ms"), 0);
    assert!(waits("3600ms") > 50 * MILLISECOND, "{}", waits("3600ms"));
}

#[test]
fn statement_12_threads_that_look_interactive_starve_hogs() {
    let hog_against = |n| {
        let run = ule(
            "",
            &format!(
                r#"
                duration = "60s"
                workload.a = {{ passes = "forever", count = {n}, gap = "11ms", steps = [{{ compute = "35ms" }}, {{ sleep = "65ms" }}] }}
                workload.hog = {{ load = "spin", passes = "forever" }}
                "#
            ),
        );
        (run.get("tasks.hog.share"), run.get("tasks.hog.longest_gap"))
    };
    // Less than half of a fair quarter with three, which sometimes all sleep; almost nothing with five.
    assert!(hog_against(3).0 < 12.5, "{:?}", hog_against(3));
    assert!(hog_against(5).0 < 1.0 && hog_against(5).1 > 1.0, "{:?}", hog_against(5));
}

#[test]
fn statement_14_hogs_that_interrupts_preempt_go_on_first_and_keep_their_slice() {
    let calm = shares_of("", &LADDER);
    let machine = r#"{ preset = "uniform", devices = { card = { every = { exp = "3333us" } } } }"#;
    let run = ule_on(machine, "", &format!("duration = \"200s\"\n{}", hogs(&LADDER)), 1);
    for (disturbed, calm) in shares(&run, 11).iter().zip(&calm) {
        near(*disturbed, *calm, 0.2, "share");
    }
    near(run.of(Kind::SwitchIn).count() as f64 / 200.0, 10.3, 0.2, "switches a second");
}

#[test]
fn statement_15_at_a_slice_of_one_tick_nice_counts_from_a_difference_of_two_on() {
    let run = ule(", slice = 1", &format!("duration = \"100s\"\n{}", hogs(&[0, 0])));
    near(run.of(Kind::SwitchIn).count() as f64 / 100.0, 133.0, 1.0, "switches a second");
    for (nice, share) in [(1, 50.0), (2, 51.8), (4, 55.6), (8, 64.9)] {
        // The phase of the two clocks makes a difference of a point.
        let workload = format!("duration = \"200s\"\n{}", hogs(&[0, nice]));
        let of = |seed| shares(&ule_on(ONE, ", slice = 1", &workload, seed), 2)[0];
        near((1..=8).map(of).sum::<f64>() / 8.0, share, 0.5, &format!("nice 0 and {nice}"));
    }
}

/// A hog that shares the processor with another one wakes a thread: how long that one waits, and which task runs after it.
fn after_a_wakeup(preempt_thresh: &str) -> (Nanos, TaskId) {
    let workload = r#"
        workload.a_woken.steps = [{ receive = "p" }, { compute = "1ms" }]
        workload.b_waker.steps = [{ compute = "1s" }, { send = "p" }, { call = "20ms" }, { compute = "2s" }]
        workload.c_hog.steps = [{ compute = "3s" }]
    "#;
    let run = ule_on(r#"{ preset = "uniform", preemption = "none" }"#, preempt_thresh, workload, 1);
    let woken = run.of(Kind::Wakeup).filter(|e| e.task == 0).nth(1).unwrap().time;
    let next: Vec<_> = run.of(Kind::SwitchIn).filter(|e| e.time >= woken).take(2).collect();
    assert_eq!(next[0].task, 0);
    (next[0].time - woken, next[1].task)
}

#[test]
fn statement_16_a_thread_woken_by_a_running_one_waits_for_its_return_to_user_mode() {
    // The waker returns before its next call, and goes to the tail of its slot: the other hog is next.
    assert_eq!(after_a_wakeup(""), (0, 2));
    assert_eq!(after_a_wakeup(", preempt_thresh = 75"), (0, 2));
    // PRIBIO, 76, is as good as the threshold now: the waker is preempted immediately, and continues first.
    assert_eq!(after_a_wakeup(", preempt_thresh = 76"), (0, 1));
    assert_eq!(after_a_wakeup(", preempt_thresh = 224"), (0, 1));
}

#[test]
fn statement_28_a_thread_that_runs_between_two_ticks_of_the_statistics_clock_has_no_past() {
    // It runs for 6 ms of the 10 between two ticks: always before the tick or always over it, by the phase.
    let dodger = r#"
        duration = "20s"
        workload.a_dodger = { passes = "forever", start = "1ms", steps = [{ compute = "6ms" }, { period = "10ms" }] }
        workload.b_hog = { load = "spin", passes = "forever" }
    "#;
    let machine = r#"{ preset = "uniform", accounting = "sampled" }"#;
    let runs = (1..=20).map(|seed| ule_on(machine, ", hz = \"100/s\", stathz = \"100/s\"", dodger, seed));
    let sampled: Vec<f64> = runs
        .map(|run| {
            near(run.get("tasks.a_dodger.share"), 60.0, 1.0, "true share");
            run.get("tasks.a_dodger.user") / 20.0
        })
        .collect();
    assert!(sampled.iter().any(|share| *share < 0.01) && sampled.iter().any(|share| *share > 0.99), "{sampled:?}");
}

#[test]
fn statement_29_at_100_hz_shares_are_the_same() {
    let fast = shares_of("", &LADDER);
    for (slow, fast) in shares_of(", hz = \"100/s\"", &LADDER).iter().zip(&fast) {
        near(*slow, *fast, 0.2, "share");
    }
}

#[test]
fn statement_29_at_100_hz_only_sleeps_over_a_tick_count() {
    // It runs for 5 ms and sleeps for 5, which by the phase is a whole tick of sleep each time or none at all.
    let interactive = |hz: &str| {
        let workload = format!("duration = \"4s\"\n{}{}", lock_waiter(5, 5, 0), hogs(&[0; 3]))
            .replace("workload.h00 = {", "workload.h00 = { start = \"3s\",")
            .replace("workload.h01 = {", "workload.h01 = { start = \"3s\",")
            .replace("workload.h02 = {", "workload.h02 = { start = \"3s\",");
        let machine = r#""uniform""#;
        let at_once = |seed: &u64| {
            let run = ule_on(machine, &format!(", hz = \"{hz}/s\", stathz = \"1000/s\""), &workload, *seed);
            let woken = run.of(Kind::Wakeup).find(|e| e.task == 1 && e.time > 3050 * MILLISECOND).map(|e| e.time);
            turns(&run, 1).iter().any(|turn| Some(turn.0) == woken)
        };
        (1..=20).filter(at_once).count()
    };
    assert_eq!(interactive("1000"), 0);
    assert!((5..=15).contains(&interactive("100")), "{}", interactive("100"));
}

/// Shares of two hogs with a timeout at each tick, where one clock serves all purposes.
fn shares_with_one_clock(parameters: &str) -> Vec<f64> {
    let timeouts = "workload.timeouts = { passes = \"forever\", steps = [{ sleep = \"10ms\" }] }";
    let workload = format!("duration = \"20s\"\n{}{timeouts}", hogs(&[0, 0]));
    shares(&ule(&format!(", hz = \"100/s\", stathz = \"100/s\"{parameters}"), &workload), 2)
}

#[test]
fn a_softclock_in_the_interrupt_that_ends_a_slice_makes_it_forgotten_unless_it_may_not_preempt() {
    // Before the timeouts begin, it has had one slice of 100 ms, in 20 s.
    near(shares_with_one_clock("")[1], 0.25, 0.25, "after its first slice, nothing");
    near(shares_with_one_clock(", preempt_thresh = 50")[1], 50.0, 1.0, "without preemption");
    near(shares_with_one_clock(", variant = \"2011\"")[1], 50.0, 1.0, "in 2011");
}

#[test]
fn slices_of_2011_shrink_with_the_load_to_a_sixth() {
    for (n, ticks) in [(1, 13), (2, 13), (3, 6), (5, 3), (7, 2), (20, 2)] {
        let run = ule(", variant = \"2011\"", &format!("duration = \"20s\"\n{}", hogs(&vec![0; n])));
        let switches = if n == 1 { 0.0 } else { 133.0 / f64::from(ticks) };
        near(run.of(Kind::SwitchIn).count() as f64 / 20.0, switches, 0.2, &format!("switches of {n}"));
    }
}
