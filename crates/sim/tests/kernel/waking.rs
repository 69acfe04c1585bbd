//! Waits and their ends, one by one: nothing wakes too early, too late, twice or the wrong task.

use schedlab_model::{
    MILLISECOND, Nanos,
    event::{Irq, Kind, Leave, Waker},
    task::TaskId,
};
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::{Run, run, scenario};

/// Runs jobs on one processor without costs, first come, first served.
#[track_caller]
fn fifo(workload: &str) -> Run {
    run::<All>(&scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"fifo\" }}\n{workload}")), 1)
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
fn a_sleep_ends_at_its_time_whichever_task_runs() {
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
fn a_wakeup_says_what_woke_the_task_and_where() {
    let text = r#"
        scheduler = { name = "round_robin" }
        machine = { preset = "uniform", processors = 2 }
        workload.parent = { cpus = [0], steps = [{ compute = "10ms" }, { fork = [{ compute = "5ms" }] }, "wait", { send = "words" }] }
        workload.receiver = { cpus = [1], steps = [{ receive = "words" }, { sleep = "1ms" }] }
    "#;
    let run = run::<All>(&scenario(text), 1);
    let of = |task| run.of(Kind::Wakeup).filter(|e| e.task == task).map(|e| (Waker::of(e.a), e.b)).collect::<Vec<_>>();
    let nothing = (Waker::Unknown, 0);
    // Both are there from the start. The parent waits for its child, the receiver for words and then for a timer.
    assert_eq!(of(0), [nothing, (Waker::Task(2), 0)]);
    assert_eq!(of(1), [nothing, (Waker::Task(0), 0), (Waker::Interrupt, 1)]);
    assert_eq!(of(2), [(Waker::Task(0), 0)]);
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
fn a_lock_goes_to_the_longest_waiter() {
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
fn a_task_that_ends_with_a_lock_releases_it() {
    let run = fifo(
        r#"
        workload.a.steps = [{ lock = "x" }, { sleep = "50ms" }, "exit"]
        workload.b.steps = [{ lock = "x" }, { compute = "5ms" }]
        "#,
    );
    assert_eq!(end(&run, 1), 55);
}

#[test]
fn a_message_wakes_one_receiver_and_is_kept_if_none_waits() {
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
fn a_run_in_which_every_task_waits_endlessly_ends() {
    for machine in ["uniform", "at_286"] {
        let text = format!(
            r#"
            machine = "{machine}"
            scheduler = {{ name = "minix" }}
            workload.a.steps = [{{ lock = "x" }}, {{ sleep = "1s" }}, {{ lock = "y" }}]
            workload.b.steps = [{{ lock = "y" }}, {{ sleep = "1s" }}, {{ lock = "x" }}]
            "#
        );
        let run = run::<All>(&scenario(&text), 1);
        assert_eq!(run.of(Kind::Exited).count(), 0);
        assert_eq!(run.get("tasks.a.completed"), 0.0);
        assert_eq!((run.get("stuck"), run.get("deadlocks")), (2.0, 1.0));
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
    // No other task at 1 and 6 ms; b comes at 8 ms and waits for a's end.
    assert_eq!((end(&run, 0), end(&run, 1)), (11, 13));
    let yields = run.of(Kind::SwitchOut).filter(|e| e.flag == Leave::Yielded as u8).count();
    assert_eq!(yields, 0);
}

/// A machine with a drive, to be completed by what is said of files.
const DRIVE: &str = r#"
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
    [machine]
    preset = "uniform"
"#;

#[test]
fn the_drive_reads_ahead_after_the_requested_blocks() {
    let text = format!(
        r#"
        scheduler = {{ name = "fifo" }}
        workload.reader.steps = [
            {{ open = {{ files = 1, size = "7KiB" }} }},
            {{ repeat = {{ times = 7, steps = [{{ read = "1KiB" }}, {{ compute = "100ms" }}] }} }},
        ]
        {DRIVE}
        files = {{ track_blocks = 1, extent_blocks = 1, read_ahead = true }}
        "#
    );
    let run = run::<All>(&scenario(&text), 1);
    // The inode and the first block are waited for; the six other blocks come while the task computes.
    assert_eq!(run.of(Kind::DiskStart).count(), 8);
    let woken: Vec<_> = run.of(Kind::Wakeup).filter(|event| event.flag == 0).map(|event| event.time).collect();
    assert_eq!(woken.len(), 2);
    assert_eq!(run.of(Kind::DiskDone).filter(|event| event.time <= woken[1]).count(), 2);
}

#[test]
fn a_processor_waits_for_the_drive_only_while_a_task_does() {
    let text = format!(
        r#"
        scheduler = {{ name = "fifo" }}
        workload.reader.steps = [
            {{ sleep = "10ms" }}, {{ open = {{ files = 1, size = "2KiB" }} }}, {{ sleep = "20ms" }},
            {{ read = "1KiB" }}, {{ sleep = "30ms" }}, {{ read = "1KiB" }}, {{ compute = "5ms" }},
        ]
        {DRIVE}
        files = {{ track_blocks = 1, extent_blocks = 1, read_ahead = false }}
        "#
    );
    let run = run::<All>(&scenario(&text), 1);
    assert_eq!(run.of(Kind::DiskDone).count(), 3);
    assert_eq!(run.totals.io_wait, run.of(Kind::DiskDone).map(|e| e.b).sum::<Nanos>());
    assert_eq!((run.totals.idle, run.totals.user), (60 * MILLISECOND, 5 * MILLISECOND));
}

#[test]
fn a_slice_that_ends_while_no_task_waits_is_renewed() {
    let text = r#"
        machine = "uniform"
        scheduler = { name = "round_robin", slice = "10ms" }
        workload.a = { load = "spin", compute = "50ms" }
        workload.b = { load = "spin", compute = "5ms", start = "15ms" }
    "#;
    let run = run::<All>(&scenario(text), 1);
    assert_eq!((run.first(Kind::SwitchIn, 1), end(&run, 1), end(&run, 0)), (20 * MILLISECOND, 25, 55));
    let out: Vec<_> = run.of(Kind::SwitchOut).map(|e| e.flag).collect();
    assert_eq!(out, [Leave::SliceEnd as u8, Leave::Exited as u8, Leave::Exited as u8]);
}

#[test]
fn the_clock_ticks_from_a_random_phase_on_without_drift() {
    for (hz, millihertz) in [("60/s", 60_000), ("18.2/s", 18_200), ("100/s", 100_000)] {
        let text = format!(
            r#"
            machine = {{ preset = "uniform", accounting = "sampled", processors = 2, clock = {{ hz = "{hz}" }} }}
            scheduler = {{ name = "fifo" }}
            workload.hog = {{ load = "spin", compute = "100s" }}
            "#
        );
        let ticks = |seed| -> Vec<Nanos> {
            let run = run::<All>(&scenario(&text), seed);
            assert!(run.end == 100_000 * MILLISECOND && run.of(Kind::Interrupt).all(|e| e.a == Irq::Clock as u64));
            run.of(Kind::Interrupt).filter(|e| e.cpu == 1).map(|e| e.time).collect()
        };
        let (one, other) = (ticks(1), ticks(2));
        assert_ne!(one[0], other[0]);
        assert!(one.len() as u64 == 100 * millihertz / 1000);
        let exact = (0..one.len() as u64).map(|k| one[0] + k * 1_000_000_000_000 / millihertz);
        assert_eq!(one, exact.collect::<Vec<_>>());
    }
}

#[test]
fn a_clock_interrupt_takes_its_time_from_the_running_task() {
    let text = r#"
        machine = { preset = "uniform", clock = { hz = "100/s", interrupt = "1ms" } }
        scheduler = { name = "fifo" }
        workload.hog = { load = "spin", compute = "900ms" }
    "#;
    let run = run::<All>(&scenario(text), 1);
    let ticks = run.of(Kind::Interrupt).count() as u64;
    assert_eq!(ticks, 100);
    assert_eq!((run.totals.user, run.totals.overhead), (900 * MILLISECOND, ticks * MILLISECOND));
    assert_eq!(run.end, 1000 * MILLISECOND);
}

#[test]
fn the_interrupt_of_a_timer_takes_its_time_from_the_running_task_and_then_wakes() {
    let text = r#"
        machine = { preset = "uniform", clock = { timer_interrupt = "1ms" } }
        scheduler = { name = "round_robin", slice = "1s" }
        workload.hog = { load = "spin", compute = "50ms" }
        workload.early = { steps = [{ sleep = "10ms" }, { compute = "1ms" }] }
    "#;
    let run = run::<All>(&scenario(text), 1);
    let woken: Vec<_> = run.of(Kind::Wakeup).filter(|event| event.flag == 0).map(|event| event.time).collect();
    assert_eq!((woken, run.totals.overhead), (vec![11 * MILLISECOND], MILLISECOND));
    assert_eq!(run.end, 52 * MILLISECOND);
}
