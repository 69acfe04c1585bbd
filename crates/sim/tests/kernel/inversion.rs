//! Priority inversion, and the protocols of locks that bound it. Times in ms, by hand: one processor, no costs, tasks under SCHED_FIFO.

use schedlab_model::{MILLISECOND, Nanos, event::Kind};
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{Run, run, scenario};

/// The policies that have real-time tasks, with nothing that holds them back.
const REALTIME: [&str; 9] = [
    "name = \"cfs\", rt_throttling = \"off\"",
    "name = \"eevdf\", rt_throttling = \"off\"",
    "name = \"cfs_v3\"",
    "name = \"o1\"",
    "name = \"rsdl\"",
    "name = \"muqss\"",
    "name = \"bsd4_4x\"",
    "name = \"bsd4\"",
    "name = \"ule\"",
];

/// The same jobs under each of them.
fn each(text: &str, holds: impl Fn(&str, &Run)) {
    for scheduler in REALTIME {
        let text = format!("machine = \"uniform\"\nscheduler = {{ {scheduler} }}\n{text}");
        holds(scheduler, &run::<All>(&scenario(&text), 1));
    }
}

/// When each task ended.
fn ends(run: &Run, tasks: u32) -> Vec<Nanos> {
    (0..tasks).map(|task| run.first(Kind::Exited, task) / MILLISECOND).collect()
}

/// A low task holds a lock when a high one wants it, and a medium one comes that does not.
fn inversion(lock: &str, low: &str) -> String {
    format!(
        r#"{lock}
        workload.a_low = {{ {low}, steps = [{{ lock = "x" }}, {{ compute = "10ms" }}, {{ unlock = "x" }}, {{ compute = "1ms" }}] }}
        workload.b_medium = {{ policy = "fifo", priority = 20, start = "3ms", steps = [{{ compute = "100ms" }}] }}
        workload.c_high = {{ policy = "fifo", priority = 30, start = "2ms", steps = [
            {{ lock = "x" }}, {{ compute = "5ms" }}, {{ unlock = "x" }}] }}
        "#
    )
}

const LOW: &str = "policy = \"fifo\", priority = 10";

#[test]
fn without_a_protocol_the_high_task_waits_for_the_medium_one() {
    for shared in ["", "shared.x = { lock = \"none\" }"] {
        each(&inversion(shared, LOW), |scheduler, run| {
            assert_eq!(ends(run, 3), [116, 103, 115], "{scheduler}");
            assert_eq!(run.get("tasks.c_high.lock_latency.max"), 0.108, "{scheduler}");
        });
    }
}

#[test]
fn a_holder_that_inherits_runs_until_it_gives_the_lock_back() {
    each(&inversion("shared.x = { lock = \"inherit\" }", LOW), |scheduler, run| {
        assert_eq!(ends(run, 3), [116, 115, 15], "{scheduler}");
        assert_eq!(run.get("tasks.c_high.lock_latency.max"), 0.008, "{scheduler}");
    });
}

#[test]
fn a_holder_at_its_ceiling_runs_until_it_gives_the_lock_back() {
    each(&inversion("shared.x = { lock = { ceiling = 30 } }", LOW), |scheduler, run| {
        assert_eq!(ends(run, 3), [116, 115, 15], "{scheduler}");
        // The high task had no processor before.
        assert_eq!(run.get("tasks.c_high.lock_latency.max"), 0.0, "{scheduler}");
    });
}

#[test]
fn an_ordinary_task_inherits_a_real_time_priority_and_gives_it_back() {
    each(&inversion("shared.x = { lock = \"inherit\" }", "nice = 5"), |scheduler, run| {
        assert_eq!(ends(run, 3), [116, 115, 15], "{scheduler}");
    });
}

/// The first task holds A; the second one holds B and waits for A; the third one waits for B.
fn chain(shared: &str) -> String {
    format!(
        r#"{shared}
        workload.a = {{ policy = "fifo", priority = 10, steps = [
            {{ lock = "a" }}, {{ compute = "10ms" }}, {{ unlock = "a" }}, {{ compute = "1ms" }}] }}
        workload.b = {{ policy = "fifo", priority = 20, start = "1ms", steps = [
            {{ lock = "b" }}, {{ lock = "a" }}, {{ compute = "5ms" }}, {{ unlock = "a" }}, {{ unlock = "b" }}, {{ compute = "1ms" }}] }}
        workload.c = {{ policy = "fifo", priority = 40, start = "2ms", steps = [
            {{ lock = "b" }}, {{ compute = "5ms" }}, {{ unlock = "b" }}] }}
        workload.d = {{ policy = "fifo", priority = 30, start = "3ms", steps = [{{ compute = "100ms" }}] }}
        "#
    )
}

#[test]
fn what_is_lent_goes_on_along_a_chain_of_holders() {
    let both = "shared.a = { lock = \"inherit\" }\nshared.b = { lock = \"inherit\" }";
    each(&chain(both), |scheduler, run| assert_eq!(ends(run, 4), [122, 121, 20, 120], "{scheduler}"));
    // A lock without a protocol in between ends it.
    let one = "shared.b = { lock = \"inherit\" }";
    each(&chain(one), |scheduler, run| assert_eq!(ends(run, 4), [122, 121, 120, 103], "{scheduler}"));
}

#[test]
fn a_holder_that_sleeps_wakes_up_with_what_was_lent_to_it() {
    let text = r#"
        shared.x = { lock = "inherit" }
        workload.a = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { sleep = "5ms" }, { compute = "5ms" }, { unlock = "x" }, { compute = "1ms" }] }
        workload.b = { policy = "fifo", priority = 20, start = "3ms", steps = [{ compute = "100ms" }] }
        workload.c = { policy = "fifo", priority = 30, start = "2ms", steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }] }
    "#;
    each(text, |scheduler, run| assert_eq!(ends(run, 3), [114, 113, 15], "{scheduler}"));
}

#[test]
fn a_holder_that_is_preempted_goes_on_with_what_was_lent_to_it() {
    // Without a lock it would wait for the task that preempts it at 1 ms.
    let text = r#"
        shared.x = { lock = "inherit" }
        workload.a = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { compute = "10ms" }, { unlock = "x" }, { compute = "1ms" }] }
        workload.b = { policy = "fifo", priority = 20, start = "1ms", steps = [{ compute = "100ms" }] }
        workload.c = { policy = "fifo", priority = 30, start = "2ms", steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }] }
    "#;
    each(text, |scheduler, run| assert_eq!(ends(run, 3), [116, 115, 16], "{scheduler}"));
}

#[test]
fn what_a_holder_asks_for_itself_counts_when_nothing_is_lent_to_it_any_more() {
    let text = r#"
        shared.x = { lock = "inherit" }
        workload.a = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { compute = "5ms" }, { set = { policy = "fifo", priority = 50 } }, { compute = "5ms" }, { unlock = "x" },
            { compute = "1ms" }] }
        workload.b = { policy = "fifo", priority = 20, start = "3ms", steps = [{ compute = "100ms" }] }
        workload.c = { policy = "fifo", priority = 90, start = "2ms", steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }] }
    "#;
    each(text, |scheduler, run| assert_eq!(ends(run, 3), [16, 116, 15], "{scheduler}"));
}

#[test]
fn a_child_has_what_its_parent_asked_for_and_nothing_that_was_lent() {
    let text = r#"
        shared.x = { lock = "inherit" }
        workload.a = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { compute = "5ms" }, { fork = [{ compute = "20ms" }] }, { compute = "5ms" }, { unlock = "x" },
            { compute = "1ms" }] }
        workload.b = { policy = "fifo", priority = 20, start = "3ms", steps = [{ compute = "100ms" }] }
        workload.c = { policy = "fifo", priority = 30, start = "2ms", steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }] }
    "#;
    each(text, |scheduler, run| {
        // The child takes turns with its parent under some.
        assert_eq!(ends(run, 3)[1..], [115, 15], "{scheduler}");
        assert_eq!(run.first(Kind::Exited, 3).max(run.first(Kind::Exited, 0)), 136 * MILLISECOND, "{scheduler}");
    });
}

#[test]
fn waiters_get_a_lock_by_their_priorities_and_ordinary_ones_in_the_order_of_their_requests() {
    let waiter = |name: &str, ask: &str, start: u32| {
        format!(
            "workload.{name} = {{ {ask}, start = \"{start}ms\", steps = [{{ lock = \"x\" }}, {{ sleep = \"5ms\" }}, {{ unlock = \"x\" }}] }}\n"
        )
    };
    let text = [
        "shared.x = { lock = \"inherit\" }\n".to_owned(),
        "workload.a.steps = [{ lock = \"x\" }, { sleep = \"10ms\" }, { unlock = \"x\" }]\n".to_owned(),
        waiter("b", "nice = 10", 1),
        waiter("c", "nice = -10", 2),
        waiter("d", "policy = \"fifo\", priority = 10", 3),
        waiter("e", "policy = \"rr\", priority = 20", 4),
        waiter("f", "policy = \"fifo\", priority = 10", 5),
    ];
    each(&text.concat(), |scheduler, run| assert_eq!(ends(run, 6), [10, 30, 35, 20, 15, 25], "{scheduler}"));
}

#[test]
fn a_signalled_task_waits_for_its_lock_with_its_priority() {
    let text = r#"
        shared.x = { lock = "inherit" }
        workload.a = { policy = "fifo", priority = 30, steps = [
            { lock = "x" }, { condition_wait = { condition = "c", lock = "x" } }, { compute = "5ms" }, { unlock = "x" }] }
        workload.b = { policy = "fifo", priority = 10, start = "1ms", steps = [
            { lock = "x" }, { condition_signal = "c" }, { compute = "10ms" }, { unlock = "x" }, { compute = "1ms" }] }
        workload.c = { policy = "fifo", priority = 20, start = "3ms", steps = [{ compute = "100ms" }] }
    "#;
    each(text, |scheduler, run| assert_eq!(ends(run, 3), [16, 117, 116], "{scheduler}"));
}

#[test]
fn the_highest_of_several_ceilings_counts_and_each_is_given_back() {
    let text = r#"
        shared.x = { lock = { ceiling = 45 } }
        shared.y = { lock = { ceiling = 90 } }
        workload.a = { policy = "fifo", priority = 10, steps = [
            { lock = "x" }, { lock = "y" }, { compute = "10ms" }, { unlock = "y" }, { compute = "10ms" }, { unlock = "x" }, { compute = "1ms" }] }
        workload.b = { policy = "fifo", priority = 70, start = "1ms", steps = [{ compute = "5ms" }] }
        workload.c = { policy = "fifo", priority = 25, start = "1ms", steps = [{ compute = "5ms" }] }
    "#;
    each(text, |scheduler, run| assert_eq!(ends(run, 3), [31, 15, 30], "{scheduler}"));
}

#[test]
fn a_policy_without_real_time_tasks_ignores_what_is_lent() {
    for scheduler in ["round_robin", "stride", "minix", "linux_1_0"] {
        let [plain, inherits] = ["", "shared.x = { lock = \"inherit\" }"].map(|lock| {
            let jobs = inversion(lock, LOW);
            run::<All>(
                &scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"{scheduler}\" }}\n{jobs}")),
                1,
            )
        });
        assert_eq!(plain.events, inherits.events, "{scheduler}");
    }
}
