//! Waits and their ends, one by one: nothing wakes too early, too late, twice or the wrong task.

use crate::audited::{Run, run, scenario};
use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Kind, Leave},
    task::TaskId,
};

/// Runs jobs on one processor without costs, first come, first served.
#[track_caller]
fn fifo(workload: &str) -> Run {
    run(&scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\n{workload}")), 1)
}

/// When a task was woken, ms, its start included.
fn wakes(run: &Run, task: TaskId) -> Vec<Nanos> {
    run.of(Kind::Wakeup).filter(|e| e.task == task).map(|e| e.time / MILLISECOND).collect()
}

/// When a task ended, ms.
#[track_caller]
fn end(run: &Run, task: TaskId) -> Nanos {
    run.first(Kind::Exited, task) / MILLISECOND
}

#[test]
fn a_sleep_ends_at_its_time_whoever_runs() {
    let run = fifo(
        r#"
        workload.hog = { load = "spin", compute = "100ms" }
        workload.sleeper.steps = [{ sleep = "30ms" }, { sleep = "40ms" }]
        "#,
    );
    // It sleeps from 100 ms on, when the hog lets it begin.
    assert_eq!(wakes(&run, 1), [0, 130, 170]);
}

#[test]
fn those_that_wake_at_the_same_time_run_in_the_order_in_which_they_fell_asleep() {
    let run = fifo(
        r#"
        workload.a.steps = [{ sleep = "30ms" }, { compute = "1ms" }]
        workload.b.steps = [{ compute = "10ms" }, { sleep = "20ms" }, { compute = "1ms" }]
        workload.c.steps = [{ sleep = "20ms" }, { compute = "1ms" }]
        "#,
    );
    // All three wake at 30 ms; they had fallen asleep as a, b (at 10 ms), c (after b, at 10 ms).
    assert_eq!(run.order(), [0, 1, 2, 0, 1, 2]);
    assert_eq!((end(&run, 0), end(&run, 1), end(&run, 2)), (31, 32, 33));
}

#[test]
fn a_signal_ends_a_sleep_and_the_old_timer_does_not_end_the_next_one() {
    let run = fifo(
        r#"
        workload.job.steps = [
            { fork = [{ sleep = "50ms" }, { sleep = "100ms" }] },
            { sleep = "20ms" },
            "signal",
            { sleep = "500ms" },
        ]
        "#,
    );
    // The child's first sleep ends at 20 ms, its second at 120 ms and not at 50 ms.
    assert_eq!(wakes(&run, 1), [0, 20, 120]);
    assert_eq!(run.get("tasks.job.completed"), 2.0);
}

#[test]
fn a_pause_lasts_until_the_signal() {
    let run = fifo(
        r#"
        workload.job.steps = [{ fork = ["pause", { compute = "1ms" }] }, { sleep = "70ms" }, "signal", "wait"]
        "#,
    );
    assert_eq!((end(&run, 1), end(&run, 0)), (71, 71));
}

#[test]
fn a_parent_waits_for_each_child_whether_it_ends_before_or_after() {
    let run = fifo(
        r#"
        workload.make.steps = [
            { fork = [{ sleep = "10ms" }] },
            { fork = [{ sleep = "90ms" }] },
            { sleep = "30ms" },
            "wait",
            { mark = "first" },
            "wait",
            { mark = "second" },
            "wait",
        ]
        "#,
    );
    let marks: Vec<_> = run.of(Kind::Mark).map(|e| e.time / MILLISECOND).collect();
    assert_eq!(marks, [30, 90]);
    assert_eq!(end(&run, 0), 90);
}

#[test]
fn a_lock_goes_to_who_waited_longest() {
    let run = fifo(
        r#"
        workload.a.steps = [{ lock = "x" }, { sleep = "50ms" }, { unlock = "x" }, { compute = "1ms" }]
        workload.b.steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }]
        workload.c.steps = [{ lock = "x" }, { compute = "5ms" }, { unlock = "x" }]
        "#,
    );
    assert_eq!((end(&run, 1), end(&run, 2)), (56, 61));
    assert_eq!((wakes(&run, 1), wakes(&run, 2)), (vec![0, 50], vec![0, 56]));
}

#[test]
fn who_ends_with_a_lock_in_hand_gives_it_back() {
    let run = fifo(
        r#"
        workload.a.steps = [{ lock = "x" }, { sleep = "50ms" }, "exit"]
        workload.b.steps = [{ lock = "x" }, { compute = "5ms" }]
        "#,
    );
    assert_eq!(end(&run, 1), 55);
}

#[test]
fn a_message_wakes_one_receiver_and_is_kept_if_nobody_waits() {
    let run = fifo(
        r#"
        workload.a.steps = [{ receive = "p" }, { compute = "1ms" }]
        workload.b.steps = [{ receive = "p" }, { compute = "1ms" }]
        workload.late.steps = [{ sleep = "80ms" }, { receive = "p" }, { compute = "1ms" }]
        workload.sender.steps = [
            { sleep = "20ms" }, { send = "p" }, { sleep = "20ms" }, { send = "p" }, { sleep = "20ms" }, { send = "p" },
        ]
        "#,
    );
    assert_eq!((wakes(&run, 0), wakes(&run, 1), wakes(&run, 2)), (vec![0, 20], vec![0, 40], vec![0, 80]));
    assert_eq!(end(&run, 2), 81);
}

#[test]
fn a_run_in_which_everybody_waits_for_ever_ends() {
    for machine in ["uniform", "at_286"] {
        let text = format!(
            r#"
            machine = "{machine}"
            scheduler = {{ name = "minix" }}
            workload.a.steps = [{{ lock = "x" }}, {{ sleep = "1s" }}, {{ lock = "y" }}]
            workload.b.steps = [{{ lock = "y" }}, {{ sleep = "1s" }}, {{ lock = "x" }}]
            "#
        );
        let run = run(&scenario(&text), 1);
        assert_eq!(run.of(Kind::Exited).count(), 0);
        assert_eq!(run.get("tasks.a.completed"), 0.0);
        assert!(!run.report.warnings.is_empty());
    }
}

#[test]
fn a_period_is_met_or_missed_by_its_own_multiples() {
    let run = fifo(
        r#"
        workload.player.steps = [
            { compute = "4ms" }, { period = "10ms" },
            { compute = "35ms" }, { period = "10ms" },
            { compute = "1ms" }, { period = "10ms" },
        ]
        "#,
    );
    // Met at 10; the work for 20 ends at 45, so that 20, 30 and 40 are missed; 50 is met.
    let periods: Vec<_> = run.of(Kind::Period).map(|e| (e.flag, e.a / MILLISECOND)).collect();
    assert_eq!(periods, [(1, 0), (0, 25), (0, 15), (0, 5), (1, 0)]);
    assert_eq!(run.end, 50 * MILLISECOND);
}

#[test]
fn periods_of_two_lengths_each_count_from_the_start() {
    let run = fifo(
        r#"
        workload.player.steps = [{ period = "1ms" }, { period = "1ms" }, { period = "1ms" }, { period = "50ms" }]
        "#,
    );
    assert_eq!(run.end, 50 * MILLISECOND);
}

#[test]
fn a_yield_lets_the_others_go_first_and_a_lone_task_on() {
    let run = fifo(
        r#"
        workload.a.steps = [{ sleep = "1ms" }, "yield", { compute = "5ms" }, "yield", { compute = "5ms" }]
        workload.b.steps = [{ sleep = "8ms" }, { compute = "2ms" }]
        "#,
    );
    // Nobody else at 1 and 6 ms; b comes at 8 ms and waits for a's end.
    assert_eq!((end(&run, 0), end(&run, 1)), (11, 13));
    let yields = run.of(Kind::SwitchOut).filter(|e| e.flag == Leave::Yielded as u8).count();
    assert_eq!(yields, 0);
}

#[test]
fn the_drive_reads_ahead_after_what_was_asked_for() {
    let text = r#"
        scheduler = { name = "fifo" }
        workload.reader.steps = [
            { open = { files = 1, size = "7KiB" } },
            { repeat = { times = 7, steps = [{ read = "1KiB" }, { compute = "100ms" }] } },
        ]
        [machine]
        preset = "uniform"
        files = { track_blocks = 1, extent_blocks = 1, read_ahead = true }
        [machine.disk]
        rotation = "3600/min"
        cylinders = 100
        heads = 4
        sectors = 18
        interleave = 1
        seek_track = "3ms"
        seek_full = "30ms"
        command = "0us"
        sector_copy = "0us"
    "#;
    let run = run(&scenario(text), 1);
    // The inode and the first block are waited for; the six other blocks come while the task computes.
    let waited: Vec<_> = run.of(Kind::DiskStart).map(|e| e.task == 0).collect();
    assert_eq!(waited, [true, true, false, false, false, false, false, false]);
}
