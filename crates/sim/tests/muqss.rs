//! BFS and MuQSS: what virtual deadlines lead to, on one processor and on several.

use schedlab_model::{MILLISECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::Muqss;
use schedlab_testing::schedulers::{
    Run,
    measure::{Latency, S10, assert_near, copes_with_every_class, on, run_intervals, seconds, share, turns},
    run, scenario,
};

schedlab_testing::test_scheduler!(Muqss);

const BFS: &str = r#"name = "muqss", variant = "bfs""#;
const MUQSS: &str = r#"name = "muqss""#;
const VARIANTS: [&str; 2] = [BFS, MUQSS];

/// A run on one processor with 1000 ticks a second.
fn one(variant: &str, rest: &str) -> Run {
    on::<Muqss>(1, 1000, variant, rest)
}

fn hog(name: &str, more: &str) -> String {
    format!("workload.{name} = {{ load = \"spin\", passes = \"forever\"{more} }}\n")
}

/// The share of a hog of nice 0 against one of another nice level.
#[test]
fn two_hogs_share_by_whole_turns() {
    for variant in VARIANTS {
        for (nice, expected) in
            [(0, 50.0), (1, 50.0), (5, 80.0), (10, 91.7), (19, 97.1), (-5, 25.0), (-10, 20.0), (-20, 14.3)]
        {
            let b = hog("b", &format!(", nice = {nice}"));
            let run = one(variant, &format!("duration = \"100s\"\n{}{b}", hog("a", "")));
            assert_near(run.get("tasks.a.share"), expected, 0.3);
        }
    }
}

#[test]
fn equal_hogs_run_6_ms_at_a_time() {
    for variant in VARIANTS {
        let run = one(variant, &format!("duration = \"10s\"\n{}", hog("h", ", count = 3")));
        for task in 0..3 {
            assert!(turns(&run, task).iter().all(|&ms| ms == 6.0), "{variant}: {:?}", turns(&run, task));
        }
    }
}

#[test]
fn a_hog_of_nice_0_runs_24_ms_for_6_ms_of_nice_5() {
    for variant in VARIANTS {
        let run = one(variant, &format!("duration = \"10s\"\n{}{}", hog("a", ""), hog("b", ", nice = 5")));
        for (task, ms) in [(0, 24.0), (1, 6.0)] {
            let turns = turns(&run, task);
            assert!(turns[2..].iter().all(|&turn| turn == ms), "{variant}: {turns:?}");
        }
    }
}

#[test]
fn a_sleeper_of_10_percent_with_hogs() {
    for (hogs, latency) in [(1, [0.0, 0.0, 0.0]), (2, [0.15, 0.0, 3.3]), (4, [2.0, 11.0, 15.0]), (8, [6.0, 35.0, 39.0])]
    {
        let rest = format!("duration = \"200s\"\nworkload.s = {{ {S10} }}\n{}", hog("h", &format!(", count = {hogs}")));
        let run = one(BFS, &rest);
        let measured = Latency::of(&run, hogs, seconds(1)).summary();
        for (measured, expected) in measured.into_iter().zip(latency) {
            assert_near(measured, expected, 0.5);
        }
        // Waiting adds to its period of 10 ms: 6.3 % are left with eight hogs.
        assert_near(share(&run, hogs, seconds(1), seconds(200)), 100.0 / (10.0 + latency[0]), 0.3);
    }
}

#[test]
fn a_slice_of_muqss_ends_between_ticks_and_one_of_bfs_at_a_tick() {
    for (variant, ms) in [(BFS, 8.0), (MUQSS, 6.0)] {
        let run = on::<Muqss>(1, 250, variant, &format!("duration = \"10s\"\n{}", hog("h", ", count = 2")));
        assert!(turns(&run, 0).iter().all(|&turn| turn == ms), "{variant}: {:?}", turns(&run, 0));
    }
}

#[test]
fn classes_go_by_real_time_then_iso_then_normal_then_idle() {
    let job = |name: &str, more: &str| format!("workload.{name} = {{ load = \"spin\", compute = \"30ms\", {more} }}\n");
    let jobs = [
        job("a", r#"policy = "idle", nice = -20"#),
        job("b", "nice = 19"),
        job("c", r#"policy = "iso", nice = 19"#),
        job("d", r#"policy = "rr", priority = 1"#),
        job("e", r#"policy = "fifo", priority = 2"#),
    ];
    for variant in VARIANTS {
        // They start at the same time, one after the other: each preempts the one before, which goes on when it has ended.
        assert_eq!(one(variant, &jobs.concat()).order(), [0, 1, 2, 3, 4, 3, 2, 1, 0], "{variant}");
    }
}

#[test]
fn a_fifo_task_runs_to_its_end_and_rr_tasks_take_turns_of_6_ms() {
    for variant in VARIANTS {
        let real_time = |policy: &str| {
            one(
                variant,
                &format!(
                    "workload.r = {{ load = \"spin\", compute = \"30ms\", policy = \"{policy}\", priority = 5, count = 2 }}"
                ),
            )
        };
        assert_eq!(real_time("fifo").order(), [0, 1], "{variant}");
        assert_eq!(real_time("rr").order().len(), 10, "{variant}");
    }
}

/// It is real time until the average of its use is 70 %, and shares like an ordinary task until it is forgotten to 62 %.
#[test]
fn an_iso_task_is_real_time_up_to_70_percent() {
    // The average is over 5 s. BFS adds the use up, so that 8 % take 0.4 s; in MuQSS it is approached exponentially.
    let forgotten = 5.0 * (70.0f64 / 62.0).ln();
    for (variant, used) in [(BFS, 0.4), (MUQSS, 5.0 * (38.0f64 / 30.0).ln())] {
        let rest = format!("duration = \"100s\"\n{}{}", hog("h", ""), hog("i", r#", policy = "iso""#));
        let run = one(variant, &rest);
        let expected = 100.0 * (used + forgotten / 2.0) / (used + forgotten);
        assert_near(share(&run, 1, seconds(20), seconds(100)), expected, 1.0);
    }
}

#[test]
fn a_batch_task_waits_for_the_end_of_a_slice_when_it_wakes() {
    for variant in VARIANTS {
        let run = one(
            variant,
            &format!("duration = \"10s\"\nworkload.s = {{ {S10}, policy = \"batch\" }}\n{}", hog("h", "")),
        );
        let hog = run_intervals(&run, 0);
        assert!(hog.len() > 100, "{variant}");
        assert!(hog[..hog.len() - 1].iter().all(|(begin, end)| end - begin >= 6 * MILLISECOND), "{variant}: {hog:?}");
    }
}

#[test]
fn an_idle_task_has_only_unwanted_time() {
    for variant in VARIANTS {
        let rest = format!("duration = \"10s\"\nworkload.s = {{ {S10} }}\n{}", hog("i", r#", policy = "idle""#));
        let run = one(variant, &rest);
        assert_eq!(Latency::of(&run, 1, 0).summary(), [0.0; 3], "{variant}");
        assert_near(run.get("tasks.i.share"), 90.0, 0.3);
        let run = one(variant, &format!("duration = \"10s\"\n{}{}", hog("h", ""), hog("i", r#", policy = "idle""#)));
        assert_eq!(run.get("tasks.i.share"), 0.0, "{variant}");
    }
}

/// The order of two tasks of which the first yields after `after` ms.
fn yields(variant: &str, yield_type: u32, after: u32, other: &str) -> Vec<TaskId> {
    let rest = format!(
        "workload.y = {{ steps = [{{ compute = \"{after}ms\" }}, \"yield\", {{ compute = \"1ms\" }}] }}\n\
         workload.z = {{ load = \"spin\", compute = \"1ms\"{other} }}"
    );
    one(&format!("{variant}, yield_type = {yield_type}"), &rest).order()
}

#[test]
fn yielding_does_nothing_or_lets_a_better_deadline_run_or_gives_the_slice_up() {
    for variant in VARIANTS {
        assert_eq!(yields(variant, 0, 1, ""), [0, 1], "{variant}");
        assert_eq!(yields(variant, 1, 1, ""), [0, 1, 0], "{variant}");
        // The deadline of the other one, of nice 1, is 3.9 ms later, but a new slice after 5 ms has one that is 5 ms later.
        assert_eq!(yields(variant, 1, 5, ", nice = 1"), [0, 1], "{variant}");
        assert_eq!(yields(variant, 2, 5, ", nice = 1"), [0, 1, 0], "{variant}");
    }
}

#[test]
fn a_child_runs_first_on_half_of_the_slice() {
    let rest = r#"
        workload.p = { steps = [{ compute = "2ms" }, { fork = [{ compute = "20ms" }] }, { compute = "20ms" }] }
        workload.q = { load = "spin", compute = "20ms", start = "1ms" }
    "#;
    // BFS ends slices at ticks, which come up to a ms later.
    for (variant, late) in [(BFS, MILLISECOND), (MUQSS, 0)] {
        let run = one(variant, rest);
        let had = run.of(Kind::SwitchOut).take(4).map(|event| (event.task, event.a));
        for ((task, had), (who, ms)) in had.zip([(0, 2), (2, 2), (0, 2), (1, 6)]) {
            assert!(
                task == who && (ms * MILLISECOND..=ms * MILLISECOND + late).contains(&had),
                "{variant}: {task} {had}"
            );
        }
    }
}

#[test]
fn three_hogs_share_two_processors_alike() {
    for variant in [BFS, MUQSS] {
        let run = on::<Muqss>(2, 1000, variant, &format!("duration = \"20s\"\n{}", hog("h", ", count = 3")));
        for task in 0..3 {
            assert_near(share(&run, task, 0, seconds(20)), 66.7, 0.3);
        }
        assert_eq!(run.get("idle"), 0.0);
    }
}

#[test]
fn a_slice_is_twice_as_long_on_two_processors() {
    for variant in VARIANTS {
        let run = on::<Muqss>(2, 1000, variant, &format!("duration = \"5s\"\n{}", hog("h", ", count = 4")));
        assert!(turns(&run, 0).iter().all(|&ms| ms == 12.0), "{variant}: {:?}", turns(&run, 0));
    }
}

#[test]
fn an_idle_processor_takes_a_waiting_task_immediately_unless_it_may_not() {
    for variant in [BFS, MUQSS, r#"name = "muqss", interactive = false"#] {
        let pinned = r#"workload.p = { load = "spin", passes = "forever", cpus = [0], count = 2 }
            workload.q = { load = "spin", compute = "100ms", cpus = [1] }"#;
        let run = on::<Muqss>(2, 1000, variant, &format!("duration = \"1s\"\n{}{pinned}", hog("h", ", count = 2")));
        assert_eq!(run.get("idle"), 0.0, "{variant}");
        assert!(
            run.of(Kind::SwitchIn).filter(|event| event.task >= 2).all(|event| (event.cpu == 0) == (event.task < 4))
        );
    }
}

#[test]
fn a_woken_task_preempts_the_latest_deadline_of_any_processor() {
    for variant in VARIANTS {
        let rest = format!("duration = \"10s\"\nworkload.s = {{ {S10} }}\n{}{}", hog("a", ""), hog("b", ", nice = 19"));
        let run = on::<Muqss>(2, 1000, variant, &rest);
        assert_eq!(Latency::of(&run, 2, 0).summary(), [0.0; 3], "{variant}");
        assert_eq!(share(&run, 0, 0, seconds(10)), 100.0, "{variant}");
    }
}

#[test]
fn pinned_tasks_stay() {
    for variant in VARIANTS {
        let run = on::<Muqss>(2, 1000, variant, &format!("duration = \"5s\"\n{}", hog("p", ", count = 3, cpus = [0]")));
        assert!(run.of(Kind::SwitchIn).all(|event| event.cpu == 0));
        assert_near(run.get("idle"), 5.0, 0.001);
    }
}

#[test]
fn every_scheduling_policy_finds_its_place() {
    for variant in [BFS, MUQSS, r#"name = "muqss", interactive = false, yield_type = 0"#] {
        copes_with_every_class::<Muqss>(variant);
    }
}

#[test]
fn a_task_woken_together_with_a_better_one_goes_to_an_idle_processor() {
    let job = |name: &str, before: &str, more: &str| {
        let steps = format!("[{{ compute = \"{before}\" }}, {{ barrier = \"all\" }}, {{ compute = \"20ms\" }}]");
        format!("workload.{name} = {{ steps = {steps}, {more} }}\n")
    };
    let jobs = job("any", "1ms", "cpus = [0, 2]")
        + &job("bound", "1ms", "nice = -10, cpus = [0], start = \"2ms\"")
        + &job("last", "10ms", "cpus = [1]")
        + "shared.all = { barrier = 3 }\n";
    let run = on::<Muqss>(3, 1000, MUQSS, &jobs);
    assert_eq!([run.get("wasted"), run.get("tasks.any.real"), run.get("tasks.bound.real")], [0.0, 0.03, 0.028]);
}

/// Two memory nodes of two processors, and two cores of two threads, 0 and 2, 1 and 3.
const NODES: &str = "processors = 4, nodes = 2";
const THREADS: &str = "processors = 4, topology = { threads = 2, thread_speed = 0.6 }";

/// Where a sleeper wakes that slept on a processor on which a hog runs since.
fn wakes_next_to_a_hog(variant: &str, machine: &str, cpu: u16) -> u16 {
    let rest = format!(
        r#"
        machine = {{ preset = "uniform", {machine} }}
        scheduler = {{ {variant} }}
        workload.a_sleeper = {{ cpus = [{cpu}], steps = [{{ set = {{ cpus = [0, 1, 2, 3] }} }}, {{ sleep = "500ms" }}, {{ compute = "1ms" }}] }}
        workload.b_hog = {{ cpus = [{cpu}], load = "spin", passes = "forever" }}
        "#
    );
    let run = run::<Muqss>(&scenario(&rest), 1);
    run.of(Kind::Wakeup).filter(|e| e.task == 0).last().expect("it is woken").cpu
}

#[test]
fn a_woken_task_goes_to_an_idle_core_before_the_other_thread_of_a_busy_one_and_not_to_another_node() {
    for variant in VARIANTS {
        assert_eq!(wakes_next_to_a_hog(variant, THREADS, 0) % 2, 1, "{variant}");
        assert_eq!(wakes_next_to_a_hog(variant, NODES, 2), 3, "{variant}");
        assert_eq!(wakes_next_to_a_hog(variant, NODES, 1), 0, "{variant}");
    }
}

#[test]
fn without_interactive_a_processor_takes_tasks_of_its_own_list_and_of_longer_ones() {
    let shares = |rqshare: &str| {
        let variant = format!("{MUQSS}, interactive = false, rqshare = \"{rqshare}\"");
        let run = on::<Muqss>(2, 1000, &variant, &format!("duration = \"20s\"\n{}", hog("h", ", count = 3")));
        let mut shares: Vec<f64> = (0..3).map(|task| share(&run, task, 0, seconds(20))).collect();
        shares.sort_by(f64::total_cmp);
        shares
    };
    // Two take turns on one processor; the third one's list is never shorter.
    for (rqshare, expected) in [("none", [50.0, 50.0, 100.0]), ("mc", [66.7; 3])] {
        shares(rqshare).into_iter().zip(expected).for_each(|(share, expected)| assert_near(share, expected, 0.5));
    }
}

#[test]
fn a_task_that_is_switched_from_goes_to_an_idle_processor_at_once() {
    // The second one may use both processors, and is on the first when the tasks of the other end.
    let rest = r#"
        duration = "2s"
        workload.x = { load = "spin", passes = "forever", cpus = [0] }
        workload.y = { load = "spin", passes = "forever", start = "1ms" }
        workload.z = { load = "spin", compute = "99ms", cpus = [1], count = 2 }
    "#;
    let run = on::<Muqss>(2, 1000, MUQSS, rest);
    let there = run.of(Kind::SwitchIn).filter(|e| e.task == 1 && e.cpu == 1).last().expect("it moves").time;
    assert!(there < 212 * MILLISECOND, "{there}");
    assert!(run.of(Kind::Idle).all(|e| e.time <= there), "a processor idles after");
    assert_eq!(run.get("wasted"), 0.0);
}
