//! Tasks that change how they are treated: what comes of it at once.

use schedlab_model::{
    MILLISECOND,
    event::{Attributes, Kind},
    task::Policy,
};
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{Run, run, scenario};

const REALTIME: [&str; 9] = ["cfs", "eevdf", "cfs_v3", "o1", "rsdl", "muqss", "bsd4_4x", "bsd4", "ule"];

fn on(machine: &str, scheduler: &str, text: &str) -> Run {
    run::<All>(&scenario(&format!("machine = {machine}\nscheduler = {{ name = \"{scheduler}\" }}\n{text}")), 1)
}

/// When a task ended, ms.
fn end(run: &Run, task: u32) -> u64 {
    run.first(Kind::Exited, task) / MILLISECOND
}

#[test]
fn a_task_that_lowers_its_priority_is_preempted_at_once_and_one_that_raises_it_is_not_any_more() {
    for scheduler in REALTIME {
        let text = r#"
            workload.a = { policy = "fifo", priority = 50, steps = [
                { compute = "10ms" }, { set = { policy = "fifo", priority = 10 } }, { compute = "10ms" }] }
            workload.b = { policy = "fifo", priority = 30, start = "1ms", steps = [
                { compute = "5ms" }, { set = { policy = "fifo", priority = 60 } }, { compute = "10ms" }] }
            workload.c = { policy = "fifo", priority = 55, start = "18ms", steps = [{ compute = "3ms" }] }
        "#;
        let run = on("\"uniform\"", scheduler, text);
        assert_eq!([0, 1, 2].map(|task| end(&run, task)), [38, 25, 28], "{scheduler}");
    }
}

#[test]
fn a_real_time_task_that_becomes_an_ordinary_one_waits_for_the_real_time_ones() {
    for scheduler in REALTIME {
        let text = r#"
            workload.a = { policy = "fifo", priority = 50, steps = [
                { compute = "10ms" }, { set = { policy = "other" } }, { compute = "10ms" }] }
            workload.b = { policy = "rr", priority = 30, start = "1ms", steps = [{ compute = "5ms" }] }
        "#;
        let run = on("\"uniform\"", scheduler, text);
        assert_eq!([end(&run, 0), end(&run, 1)], [25, 15], "{scheduler}");
    }
}

#[test]
fn an_ordinary_task_that_becomes_a_real_time_one_runs_until_it_ends() {
    for scheduler in REALTIME {
        let text = r#"
            workload.a = { steps = [{ compute = "1ms" }, { set = { policy = "fifo", priority = 1 } }, { compute = "50ms" }] }
            workload.b = { nice = -20, start = "2ms", steps = [{ compute = "50ms" }] }
        "#;
        let run = on("\"uniform\"", scheduler, text);
        assert_eq!([end(&run, 0), end(&run, 1)], [51, 101], "{scheduler}");
    }
}

#[test]
fn a_change_is_a_system_call_of_its_cost() {
    let machine = r#"{ preset = "uniform", calls = { manage = "2ms" }, costs = { trap = "1ms" } }"#;
    let text =
        r#"workload.a = { steps = [{ compute = "1ms" }, { set = { nice = 3 } }, { compute = "1ms" }], passes = 10 }"#;
    let run = on(machine, "fifo", text);
    assert_eq!((run.get("tasks.a.user"), run.get("tasks.a.sys")), (0.02, 0.031)); // the exit is one trap more
}

#[test]
fn a_server_changes_a_task_of_a_message_passing_kernel() {
    let text = r#"
        duration = "20s"
        workload.a.steps = [{ set = { nice = 5 } }, { compute = "100s" }]
        workload.b.steps = [{ compute = "100s" }]
    "#;
    let run =
        on(r#"{ preset = "uniform", personality = "message_passing", clock = { hz = "1000/s" } }"#, "stride", text);
    let ratio = run.get("tasks.b.user") / run.get("tasks.a.user");
    assert!((ratio - 1.25f64.powi(5)).abs() < 0.1, "{ratio}");
}

#[test]
fn children_inherit_what_their_parent_has_changed() {
    let text = r#"
        duration = "20s"
        workload.a.steps = [{ set = { nice = 5, cpus = [1] } }, { fork = [{ compute = "100s" }] }, "wait"]
        workload.b = { cpus = [1], steps = [{ compute = "100s" }] }
    "#;
    let run = on("{ preset = \"uniform\", processors = 2 }", "cfs", text);
    assert!(run.of(Kind::SwitchIn).all(|event| event.cpu == 1 || event.task == 0));
    let ratio = run.get("tasks.b.user") / run.get("tasks.a.user");
    assert!((ratio - 1024.0 / 335.0).abs() < 0.1, "{ratio}");
}

#[test]
fn a_task_that_asks_for_a_shorter_slice_is_served_sooner() {
    // It wants 2 ms in every 20, next to hogs with slices of 20 ms.
    let worst = |then: &str| {
        let text = format!(
            r#"
            duration = "10s"
            workload.a = {{ steps = [{{ set = {{ {then} }} }}, {{ repeat = {{ times = "forever", steps = [
                {{ compute = "2ms" }}, {{ sleep = "18ms" }}] }} }}] }}
            workload.hog = {{ count = 3, slice = "20ms", steps = [{{ compute = "100s" }}] }}
            "#
        );
        on(r#"{ preset = "uniform", clock = { hz = "1000/s" } }"#, "eevdf", &text).get("tasks.a.wakeup_latency.p99")
    };
    let [long, short] = ["slice = \"100ms\"", "slice = \"1ms\""].map(worst);
    assert!(short * 3.0 < long, "{short} {long}");
}

#[test]
fn the_drive_serves_a_task_by_the_class_that_it_asks_for() {
    // Two readers of one drive.
    let shares = |then: &str| {
        let reader = |first: &str| {
            format!(
                r#"passes = "forever", steps = [{first} {{ open = {{ files = 4, size = "1MiB", own = true, direct = true }} }},
                    {{ repeat = {{ times = 16, steps = [{{ read = "64KiB" }}] }} }}, "close"]"#
            )
        };
        let text = format!(
            "duration = \"20s\"\nelevator = {{ name = \"cfq\" }}\nworkload.a = {{ {} }}\nworkload.b = {{ {} }}",
            reader(""),
            reader(then)
        );
        let machine = r#"{ preset = "uniform", disk = { rotation = "7200/min", cylinders = 20000, heads = 4, sectors = 400, interleave = 1,
            seek_track = "1ms", seek_full = "15ms", command = "100us", sector_copy = "0s" } }"#;
        let run = on(machine, "cfs", &text);
        run.get("tasks.b.passes") / run.get("tasks.a.passes")
    };
    let equal = shares("");
    assert!((0.7..1.4).contains(&equal), "{equal}");
    let low = shares("{ set = { io_class = \"best_effort\", io_level = 7 } },");
    assert!(low < equal * 0.6, "{low} {equal}");
    let idle = shares("{ set = { io_class = \"idle\" } },");
    assert!(idle < low, "{idle} {low}");
}

#[test]
fn a_recording_says_how_each_task_is_treated_at_first_and_from_when_it_is_changed() {
    let text = r#"
        groups = { all = {}, some = { parent = "all" } }
        workload.a = { nice = 5, group = "some", steps = [
            { compute = "10ms" }, { set = { policy = "batch", nice = 7 } }, { fork = [{ compute = "1ms" }] }, "wait"] }
        workload.b = { policy = "rr", priority = 30, start = "1ms", steps = [{ compute = "5ms" }] }
        workload.c = { slice = "2ms", steps = [{ compute = "1ms" }] }
        workload.d = { nice = 3, steps = [{ compute = "1ms" }] }
    "#;
    let run = on("\"uniform\"", "eevdf", text);
    let of = |task| {
        let all = run.of(Kind::Treated).filter(move |event| event.task == task);
        all.map(|event| (i16::from(event.flag) - 128, Attributes::of(event.a), event.b)).collect::<Vec<_>>()
    };
    let like = |policy, priority, group| Attributes { policy, priority, group };
    let batch = (7, like(Policy::Batch, 0, 2), 0);
    assert_eq!(of(0), [(5, like(Policy::Other, 0, 2), 0), batch]);
    assert_eq!(of(1), [(0, like(Policy::Rr, 30, 0), 0)]);
    assert_eq!(of(2), [(0, like(Policy::Other, 0, 0), 2 * MILLISECOND)]);
    assert_eq!(of(3), [], "an ordinary task, but for its nice value, which its creation has");
    assert_eq!(of(4), [batch], "a child is treated as its parent");
    let made: Vec<_> = run.of(Kind::Created).map(|event| (event.task, i16::from(event.flag) - 128)).collect();
    assert_eq!(made, [(0, 5), (2, 0), (3, 3), (1, 0), (4, 7)]);
}

#[test]
fn a_recording_has_what_a_task_asks_for_itself_and_no_reservation_that_was_refused() {
    let text = r#"
        shared.x = { lock = { ceiling = 45 } }
        workload.lent = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { compute = "5ms" }, { fork = [{ compute = "1ms" }] }, { unlock = "x" }, "wait"] }
        workload.refused = { count = 2, policy = "deadline", reservation = { runtime = "6ms", period = "10ms" },
            steps = [{ compute = "20ms" }] }
    "#;
    let run = on("\"uniform\"", "eevdf", text);
    let of = |task| run.of(Kind::Treated).filter(move |event| event.task == task).map(|event| Attributes::of(event.a));
    let fifo = Attributes { policy: Policy::Fifo, priority: 10, group: 0 };
    assert_eq!(of(0).collect::<Vec<_>>(), [fifo], "what the lock lends is not its own");
    assert_eq!(of(3).last(), Some(fifo), "nor its child's");
    let refused: Vec<_> = run.of(Kind::Refused).map(|event| event.task).collect();
    let [refused] = refused[..] else { panic!("both have no room: {refused:?}") };
    let granted = of(3 - refused).map(|it| it.policy).collect::<Vec<_>>();
    assert_eq!((granted.as_slice(), of(refused).count()), (&[Policy::Deadline][..], 0));
}
