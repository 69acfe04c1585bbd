//! The 4BSD family against what is known of it: shares by nice, turns by the form of the quantum, priorities that climb and
//! decay, what children cost their parents. Numbers without another origin are those of a prototype of the same rules; its
//! shares are those of 100 s to 300 s after all began, while the load average is still on its way.
//! Long, because three policies are held to one list of statements.

use schedlab_model::{
    MILLISECOND, SECOND,
    event::{Kind, Leave},
    task::TaskId,
};
use schedlab_policies::schedulers::{Bsd4, Bsd44x, Bsd452};
use schedlab_testing::schedulers::{Run, run, scenario};
use std::collections::BTreeSet;

type Policies = (Bsd4, (Bsd44x, Bsd452));

mod processors;
mod watched;

use watched::{Line, Ps, watch};

schedlab_testing::test_scheduler!(Bsd4);

const HEAD: &str = r#"name = "bsd4""#;
const SLICE: &str = r#"name = "bsd4", quantum_form = "slice""#;
const EVANS: &str = r#"name = "bsd4", weights = "evans""#;
const OF_5_2: &str = r#"name = "bsd4_52""#;
const OF_4: &str = r#"name = "bsd4_4x""#;
/// The prototype of 4.x had as many statistics ticks as clock ticks.
const OF_4_AT_100: &str = r#"name = "bsd4_4x", stathz = "100/s""#;

const LADDER: [i32; 11] = [-20, -16, -12, -8, -4, 0, 4, 8, 12, 16, 20];

/// A machine without costs, and a device with that rate of interrupts per second, at random.
fn text(scheduler: &str, interrupts: u32, rest: &str) -> String {
    let devices = match interrupts {
        0 => String::new(),
        rate => format!(", devices = {{ other = {{ every = {{ exp = \"{}us\" }} }} }}", 1_000_000 / rate),
    };
    format!("machine = {{ preset = \"uniform\"{devices} }}\nscheduler = {{ {scheduler} }}\n{rest}")
}

#[track_caller]
fn under(scheduler: &str, interrupts: u32, rest: &str, seed: u64) -> Run {
    run::<Policies>(&scenario(&text(scheduler, interrupts, rest)), seed)
}

/// A run and what `ps` shows of each task at each statistics tick.
#[track_caller]
fn watched<S: Ps>(scheduler: &str, rest: &str) -> (Run, Vec<Line>) {
    watch::<S>(&scenario(&text(scheduler, 0, rest)), 1)
}

#[track_caller]
fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected} +- {tolerance}");
}

#[track_caller]
fn assert_all_near(values: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(values.len(), expected.len());
    let near = values.iter().zip(expected).all(|(value, expected)| (value - expected).abs() <= tolerance);
    assert!(near, "{values:.2?}, expected {expected:?} +- {tolerance}");
}

/// The mean over four seeds.
fn over_seeds(of: impl Fn(u64) -> f64) -> f64 {
    (1..=4).map(of).sum::<f64>() / 4.0
}

/// Hogs of these nice values: the share of each in percent between two times, in seconds, over four seeds.
fn shares(scheduler: &str, nice: &[i32], interrupts: u32, [from, to]: [u32; 2]) -> Vec<f64> {
    let hog = |(n, nice)| format!("workload.h{n:02} = {{ load = \"spin\", passes = \"forever\", nice = {nice} }}\n");
    let hogs: String = nice.iter().enumerate().map(hog).collect();
    let had = |seconds: u32, seed| -> Vec<f64> {
        let run = under(scheduler, interrupts, &format!("duration = \"{seconds}s\"\n{hogs}"), seed);
        (0..nice.len()).map(|n| run.get(&format!("tasks.h{n:02}.share")) * f64::from(seconds)).collect()
    };
    let mut shares = vec![0.0; nice.len()];
    for seed in 1..=4 {
        for (share, (before, all)) in shares.iter_mut().zip(had(from, seed).into_iter().zip(had(to, seed))) {
            *share += (all - before) / f64::from(to - from) / 4.0;
        }
    }
    shares
}

/// The shares that the prototype would have measured.
fn early_shares(scheduler: &str, nice: &[i32]) -> Vec<f64> {
    shares(scheduler, nice, 0, [100, 300])
}

/// The share of a hog at nice 0 against one of that nice value.
fn share_against(scheduler: &str, nice: i32) -> f64 {
    early_shares(scheduler, &[0, nice])[0]
}

/// Context switches per second of a number of equal hogs, and the longest wait of one of them.
fn turns(scheduler: &str, hogs: u32, interrupts: u32) -> (f64, f64) {
    let workload = format!("workload.hog = {{ load = \"spin\", passes = \"forever\", count = {hogs} }}");
    let of = |seed| under(scheduler, interrupts, &format!("duration = \"200s\"\n{workload}"), seed);
    (over_seeds(|seed| of(seed).get("context_switches") / 200.0), of(1).get("tasks.hog.longest_gap"))
}

#[test]
fn statement_4_a_hog_at_nice_20_against_k_at_nice_0() {
    for (k, expected) in [(1, 26.7), (2, 17.9), (4, 10.6), (8, 5.9), (16, 2.6)] {
        let nice: Vec<i32> = std::iter::repeat_n(0, k).chain([20]).collect();
        assert_near(early_shares(SLICE, &nice)[k], expected, 1.0);
    }
}

#[test]
fn table_5_1_eleven_hogs_by_form_of_the_quantum() {
    let slice = early_shares(SLICE, &LADDER);
    assert_all_near(&slice, &[44.8, 10.8, 9.4, 8.4, 7.3, 6.2, 5.0, 3.8, 2.8, 1.6, 0.0], 1.0);
    let head = early_shares(HEAD, &LADDER);
    assert_all_near(&head[1..], &[10.2, 8.9, 7.7, 6.6, 5.4, 4.3, 3.3, 2.1, 0.0, 0.0], 1.0);
    // The prototype had 51.7: after the pass the running task continued to the end of its quantum, which is half a quantum a
    // second on average. The kernel makes the pass in a thread that preempts it, and then chooses anew.
    assert!((51.7..51.7 + 5.0).contains(&head[0]), "{head:.1?}");
}

#[test]
fn table_5_3_two_hogs_by_nice() {
    for (nice, expected) in [(5, 57.0), (10, 61.5), (19, 72.0), (20, 73.0)] {
        assert_near(share_against(SLICE, nice), expected, 1.0);
    }
    for (nice, expected) in [(5, 58.0), (10, 70.0), (19, 100.0), (20, 100.0)] {
        assert_near(share_against(OF_4_AT_100, nice), expected, 1.0);
    }
}

#[test]
fn statement_18_a_lone_hogs_priority_climbs_by_its_ticks_and_then_saws_every_second() {
    let (_, lines) =
        watched::<Bsd4>(SLICE, "duration = \"200s\"\nworkload.hog = { load = \"spin\", passes = \"forever\" }");
    assert_eq!(lines[0].priority, 180);
    // Between two passes, a step every eight ticks, which is 60 ms.
    let steps: Vec<_> =
        lines.windows(2).filter(|two| two[1].priority == two[0].priority + 1).map(|two| two[1].time).collect();
    let (even, all) = (steps.windows(2).filter(|two| (two[1] - two[0]) / MILLISECOND == 60).count(), steps.len());
    assert!(even * 10 > all * 8, "{even} of {all}");
    let late = || lines.iter().filter(|line| line.time > 150 * SECOND);
    let (best, worst) = (late().map(|line| line.priority).min(), late().map(|line| line.priority).max());
    assert!(matches!((best, worst), (Some(203..=204), Some(216))), "{best:?} {worst:?}");
    let (least, most) = (late().map(|line| line.usage).min(), late().map(|line| line.usage).max());
    assert!(matches!((least, most), (Some(191..=198), Some(295))), "{least:?} {most:?}");
}

#[test]
fn statement_20_two_equal_hogs_rotate_by_the_quantum_form() {
    assert_near(turns(OF_4, 2, 0).0, 10.0, 0.5);
    for (interrupts, expected) in [(0, 9.2), (20, 4.1), (100, 2.7)] {
        assert_near(turns(SLICE, 2, interrupts).0, expected, expected / 20.0);
    }
    for interrupts in [0, 20, 100] {
        let (rate, gap) = turns(HEAD, 2, interrupts);
        assert!((2.2 * 0.95..2.7 * 1.05).contains(&rate), "{rate} a second with {interrupts} interrupts");
        assert!((0.5..0.7).contains(&gap), "{gap} s with {interrupts} interrupts");
    }
}

#[test]
fn statement_21_the_quantum_counts_in_statistics_ticks() {
    for (quantum, expected) in [(10, 67.0), (20, 44.0), (50, 18.5), (100, 9.5), (500, 2.0)] {
        let (rate, _) = turns(&format!("{SLICE}, quantum = \"{quantum}ms\""), 3, 0);
        assert_near(rate, expected, expected / 20.0);
    }
}

#[test]
fn statement_22_the_nicest_gets_nothing_against_the_least_nice() {
    assert_all_near(&early_shares(SLICE, &[-20, 20]), &[100.0, 0.0], 0.1);
    assert_near(early_shares(SLICE, &LADDER)[10], 0.0, 0.1);
}

#[test]
fn statement_23_in_4_x_nice_19_gets_nothing_and_nice_10_three_tenths() {
    for nice in [19, 20] {
        assert_near(share_against(OF_4, nice), 100.0, 0.1);
    }
    assert_near(share_against(OF_4_AT_100, 10), 70.0, 1.0);
}

#[test]
fn in_4_x_a_queued_task_better_than_any_user_keeps_its_priority() {
    // Its usage decays, but the pass moves only what is queued at 50 or worse.
    let (run, lines) = watched::<Bsd44x>(
        OF_4,
        r#"
        duration = "300s"
        workload.best = { load = "spin", passes = "forever", nice = -20 }
        workload.next = { load = "spin", passes = "forever", nice = -16 }
        workload.other = { load = "spin", passes = "forever", count = 3 }
        "#,
    );
    let last = run.of(Kind::SwitchOut).filter(|e| e.task == 1 && e.time < 299 * SECOND).map(|e| e.time).max().unwrap();
    assert!(last < 200 * SECOND, "{last}");
    let shown = |task| *lines.iter().rfind(|line| line.task == task).unwrap();
    assert!(shown(1).priority < shown(0).priority, "{:?} {:?}", shown(1), shown(0));
}

/// A shell next to four hogs forks one that computes for 3 s. The last lines of `ps` for both before the child's end, and the
/// next line for the shell after it.
fn shell<S: Ps>(scheduler: &str, shell: &str) -> [u32; 3] {
    let workload = format!(
        r#"
        duration = "400s"
        workload.hog = {{ load = "spin", passes = "forever", count = 4 }}
        workload.shell = {{ start = "300s", steps = [{{ fork = [{{ compute = "3s" }}] }}, {shell}] }}
        "#
    );
    let (run, lines) = watched::<S>(scheduler, &workload);
    let end = run.of(Kind::Exited).find(|e| e.task == 5).expect("the child ends").time;
    let usage = |line: Option<&Line>| line.expect("a line").usage;
    let before = |task: TaskId| usage(lines.iter().rfind(|line| line.task == task && line.time <= end));
    [before(4), before(5), usage(lines.iter().find(|line| line.task == 4 && line.time > end))]
}

#[test]
fn statement_24_a_parent_pays_for_its_children() {
    let waits = r#""wait", { sleep = "1h" }"#;
    let leaves = r#"{ sleep = "1h" }"#;
    let paid = |[shell, child, after]: [u32; 3]| {
        assert!(child > 200, "{child}");
        assert!(after.abs_diff((shell + child).min(295)) <= 1, "{shell} and {child} are not {after}");
    };
    paid(shell::<Bsd4>(SLICE, waits));
    paid(shell::<Bsd4>(SLICE, leaves));
    paid(shell::<Bsd452>(OF_5_2, waits));
    paid(shell::<Bsd44x>(OF_4, waits));
    let [before, _, after] = shell::<Bsd44x>(OF_4, leaves);
    assert_eq!((before, after), (0, 0));
}

#[test]
fn statement_24_a_child_begins_with_its_parents_usage() {
    let workload = r#"workload.make.steps = [{ compute = "2s" }, { fork = [{ sleep = "5ms" }, { compute = "2s" }] }, { compute = "2s" }]"#;
    let (_, lines) = watched::<Bsd4>(SLICE, workload);
    let first = lines.iter().find(|line| line.task == 1).expect("the child is seen");
    let parent = lines.iter().find(|line| line.task == 0 && line.time == first.time).unwrap();
    assert!(first.usage > 50 && parent.usage.abs_diff(first.usage) <= 1, "{first:?} {parent:?}");
}

#[test]
fn statement_25_a_sleeper_is_forgiven_a_second_for_a_second() {
    // At a load of 1 all the time: another hog takes over. Nine seconds' decay of 295 is 7.
    for (sleep, new) in [(8, false), (10, true)] {
        let workload = format!(
            r#"
            duration = "320s"
            workload.hog = {{ load = "spin", passes = "forever", start = "300s" }}
            workload.sleeper.steps = [{{ compute = "300s" }}, {{ sleep = "{sleep}s" }}, {{ compute = "1h" }}]
            "#
        );
        let (run, lines) = watched::<Bsd4>(SLICE, &workload);
        let woken = run.of(Kind::Wakeup).find(|e| e.task == 1 && e.time > 300 * SECOND).unwrap().time;
        let shown = lines.iter().find(|line| line.task == 1 && line.time > woken).unwrap();
        // It competes with a hog whose usage exceeds that of a priority, and has the rest of its burst to run.
        assert_eq!((shown.usage <= 8, shown.priority <= 181), (new, new), "{sleep} s: {shown:?}");
    }
}

/// How long a task of that nice value, woken by one at nice 0 that goes on running, waits for the processor, ms.
fn wait_for_a_waker(scheduler: &str, nice: i32) -> f64 {
    let workload = format!(
        r#"
        workload.waker.steps = [{{ lock = "x" }}, {{ sleep = "5ms" }}, {{ compute = "9ms" }}, {{ unlock = "x" }}, {{ compute = "1s" }}]
        workload.woken = {{ start = "1ms", nice = {nice}, steps = [{{ lock = "x" }}, {{ compute = "1ms" }}] }}
        "#
    );
    under(scheduler, 0, &workload, 1).get("tasks.woken.wakeup_latency.max") * 1e3
}

#[test]
fn statement_26_a_task_better_by_one_step_takes_over_and_in_4_x_only_by_a_list() {
    assert_eq!(wait_for_a_waker(SLICE, -1), 0.0);
    assert_eq!(wait_for_a_waker(OF_5_2, -1), 0.0);
    assert!(wait_for_a_waker(SLICE, 0) > 10.0);
    assert!(wait_for_a_waker(OF_4, -1) > 10.0);
    assert_eq!(wait_for_a_waker(OF_4, -2), 0.0);
}

#[test]
fn statement_26_priorities_of_one_list_take_turns() {
    // At nice 0 and 3 the priorities of tasks that used nothing yet are 180 and 183.
    let workload = "workload.a = { load = \"spin\", compute = \"1s\" }\nworkload.b = { load = \"spin\", compute = \"1s\", nice = 3 }";
    let run = under(&format!("{SLICE}, quantum = \"20ms\""), 0, workload, 1);
    let early = run.of(Kind::SwitchIn).filter(|e| e.time < 100 * MILLISECOND && e.task == 1).count();
    assert!(early >= 2, "{early}");
}

#[test]
fn statement_27_a_short_burst_after_a_sleep_runs_through_unless_interrupted() {
    let workload = r#"
        duration = "100s"
        workload.hog = { load = "spin", passes = "forever", count = 3 }
        workload.sleeper.passes = "forever"
        workload.sleeper.steps = [{ compute = "20ms" }, { sleep = { exp = "20ms" } }]
    "#;
    // The part of its bursts in which it lost the processor.
    let lost = |run: &Run| {
        let taken = run.of(Kind::SwitchOut).filter(|e| e.task == 3 && e.flag == Leave::Preempted as u8).count();
        taken as f64 / run.of(Kind::Wakeup).filter(|e| e.task == 3).count() as f64
    };
    let quiet = under(SLICE, 0, workload, 1);
    // The clock interrupts too, for the pass every second and for the load average every five: 1.2 * 20 ms of bursts are
    // hit, give or take.
    assert!(lost(&quiet) <= 2.0 * 1.2 * 0.02, "{}", lost(&quiet));
    let busy = under(SLICE, 300, workload, 1);
    // Where interrupts are many it loses often, to hogs that have used less.
    assert!(lost(&busy) > 2.0 * lost(&quiet), "{}", lost(&busy));
    assert!(busy.get("tasks.sleeper.share") < quiet.get("tasks.sleeper.share"));
    for run in [quiet, busy] {
        assert_eq!(run.get("tasks.sleeper.wakeup_latency.max"), 0.0);
    }
}

#[test]
fn statement_28_a_task_that_runs_between_two_ticks_only_has_used_nothing() {
    let text = r#"
        machine = { preset = "uniform", accounting = "sampled", clock = { hz = "100/s", timers = "tick" } }
        scheduler = { name = "bsd4", hz = "100/s", stathz = "100/s" }
        duration = "50s"
        workload.sly.passes = "forever"
        workload.sly.steps = [{ sleep = "1ms" }, { compute = "6ms" }]
        workload.hog = { load = "spin", passes = "forever" }
    "#;
    let (run, lines) = watch::<Bsd4>(&scenario(text), 1);
    let (sly, hog) = (1, 0);
    assert_near(run.get("tasks.sly.share"), 60.0, 1.0);
    assert_eq!(run.get("tasks.sly.user"), 0.0);
    assert!(lines.iter().all(|line| line.task != sly || line.usage == 0));
    assert!(lines.iter().any(|line| line.task == hog && line.usage >= 100));
    assert_near(run.get("tasks.sly.true_user") + run.get("tasks.hog.true_user"), 50.0, 1e-9);
}

#[test]
fn statement_29_shares_do_not_depend_on_hz() {
    assert_all_near(&early_shares(&format!("{SLICE}, hz = \"100/s\""), &LADDER), &early_shares(SLICE, &LADDER), 0.2);
}

#[test]
fn in_5_2_every_interrupt_ends_a_turn() {
    for (interrupts, most) in [(0, 11.0), (20, 31.0), (100, 111.0)] {
        // Now and then the hogs are in different lists.
        let (rate, _) = turns(OF_5_2, 2, interrupts);
        assert!((most * 0.75..=most).contains(&rate), "{rate} a second with {interrupts} interrupts");
    }
}

#[test]
fn evanss_weights_make_a_factor_of_1024() {
    let weights: Vec<f64> = LADDER.iter().map(|&nice| 2f64.powi(-nice / 4)).collect();
    let sum: f64 = weights.iter().sum();
    let expected: Vec<f64> = weights.iter().map(|weight| 100.0 * weight / sum).collect();
    // With a switch at every interrupt no slice is long; without, no task has less than a tenth of a second at a time.
    for interrupts in [0, 100] {
        assert_all_near(&shares(EVANS, &LADDER, interrupts, [300, 1300]), &expected, 1.0);
    }
    let long = shares(EVANS, &LADDER, 100, [300, 2300]);
    let ratio = long[0] / long[10];
    assert!((1024.0 * 0.8..1024.0 * 1.2).contains(&ratio), "{ratio}");
}

#[test]
fn two_processors_share_one_queue() {
    let workload = "duration = \"100s\"\nworkload.hog = { load = \"spin\", passes = \"forever\", count = 3 }";
    for scheduler in [HEAD, SLICE, OF_5_2, OF_4] {
        let text =
            format!("machine = {{ preset = \"uniform\", processors = 2 }}\nscheduler = {{ {scheduler} }}\n{workload}");
        let run = run::<Policies>(&scenario(&text), 1);
        let mut had = [0; 3];
        run.of(Kind::SwitchOut).for_each(|e| had[e.task as usize] += e.a);
        let fair = 200 * SECOND / 3;
        assert!(had.iter().all(|had| had.abs_diff(fair) < fair / 20), "{scheduler}: {had:?}");
        assert_eq!(run.totals.idle, 0);
    }
}

/// The first time at which a processor is idle for a while though a task is ready that may run there: task 0 on the first
/// processor only, the others on each.
fn idle_while_ready(run: &Run) -> Option<u64> {
    let (mut ready, mut idle) = (BTreeSet::new(), BTreeSet::new());
    let wasted = run.events.windows(2).find(|two| {
        let event = two[0];
        match event.kind {
            Kind::Wakeup => ready.insert(event.task),
            Kind::SwitchOut if event.flag <= Leave::Yielded as u8 => ready.insert(event.task),
            Kind::SwitchIn => ready.remove(&event.task) | idle.remove(&event.cpu),
            Kind::Idle => idle.insert(event.cpu),
            _ => false,
        };
        let wasted = ready.range(1..).next().is_some() && !idle.is_empty() || ready.contains(&0) && idle.contains(&0);
        wasted && two[1].time > event.time
    });
    wasted.map(|two| two[0].time)
}

#[test]
fn no_processor_is_idle_while_a_task_waits_that_may_run_there() {
    for scheduler in [HEAD, SLICE, OF_5_2, OF_4] {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", processors = 3 }}
            scheduler = {{ {scheduler} }}
            workload.bound = {{ load = "spin", compute = "900ms", cpus = [0] }}
            workload.free = {{ load = "sleeper", run = "13ms", sleep = "11ms", rounds = 40, count = 7 }}
            "#
        );
        assert_eq!(idle_while_ready(&run::<Policies>(&scenario(&text), 1)), None, "{scheduler}");
    }
}

#[test]
fn all_tasks_that_are_woken_together_find_the_idle_processors() {
    for scheduler in [HEAD, OF_5_2, OF_4] {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", processors = 4 }}
            scheduler = {{ {scheduler} }}
            workload.job.steps = [
                {{ repeat = {{ times = 3, steps = [{{ fork = ["pause", {{ compute = "20ms" }}] }}] }} }},
                {{ sleep = "5ms" }}, "signal", {{ compute = "20ms" }},
            ]
            "#
        );
        let run = run::<Policies>(&scenario(&text), 1);
        assert_eq!((idle_while_ready(&run), run.end), (None, 25 * MILLISECOND), "{scheduler}");
    }
}

#[test]
fn real_time_comes_first_and_the_idle_class_last() {
    for scheduler in [HEAD, SLICE, OF_5_2, OF_4] {
        let workload = r#"
            duration = "20s"
            workload.idle = { load = "spin", passes = "forever", policy = "idle" }
            workload.hog = { load = "spin", passes = "forever", nice = -20, start = "1s" }
            workload.real = { load = "sleeper", run = "40ms", sleep = "60ms", passes = "forever", policy = "fifo", priority = 50, start = "1s" }
        "#;
        let run = under(scheduler, 50, workload, 1);
        assert_near(run.get("tasks.real.share"), 0.4 * 95.0, 0.5);
        assert_near(run.get("tasks.idle.share"), 5.0, 0.1);
        assert_eq!(run.get("tasks.real.wakeup_latency.max"), 0.0, "{scheduler}");
    }
}
