//! Each definition, on a recording of a few events whose numbers are known.
//!
//! Long, because every definition has its case here.

mod made;

use Left::{Dead, Runnable as R, Sleeping as S, Stopped as T, Uninterruptible as D};
use made::{Made, row};
use schedlab_explain::{By, Cause, Group, Options};
use schedlab_traces::kernel::{Call, Context, Event, Head, Kind, Left, state};

/// Seconds of microseconds.
fn us(us: u64) -> f64 {
    us as f64 / 1e6
}

#[test]
fn a_run_is_from_a_switch_in_to_the_next_switch_out() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1)
        .switch(30, 0, 1, S, 2)
        .switch(100, 0, 2, R, 1)
        .switch(110, 0, 1, S, 0)
        .switch(200, 0, 0, R, 1);
    let report = made.report();
    let first = row(&report, 1);
    assert_eq!((report.span_s, report.events), (us(200), 5));
    assert_eq!((first.run_s, first.share_pct), (us(40), 20.0));
    assert_eq!(
        (first.run_length_us.mean, first.run_length_us.max, first.run_length_us.max_at_s),
        (Some(20.0), Some(30.0), Some(us(30)))
    );
    assert_eq!(row(&report, 2).run_s, us(70));
    assert_eq!((first.switches_per_s, first.voluntary_switches, first.involuntary_switches), (2.0 / us(200), 2, 0));
    assert_eq!((row(&report, 2).preempted_per_s, row(&report, 2).involuntary_switches), (1.0 / us(200), 1));
}

#[test]
fn latency_lasts_from_the_waking_to_the_switch_in() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).waking(40, 0, 2, 1).switch(55, 0, 2, R, 1);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.wakeups, one.wakeup_us.max, one.wakeup_us.p50), (Some(1), Some(15.0), Some(15.0)));
    assert_eq!((one.blocked_s, one.blocked_by_s[&Cause::Task], one.wakeup_wait_s), (us(40), us(40), us(15)));
    assert_eq!(report.wakeups_from, Some("sched_waking"));
    let pair = &report.wakers[0];
    let of = |it: &Option<schedlab_explain::Neighbour>| it.as_ref().map(|it| it.pid);
    assert_eq!((of(&pair.waker), of(&pair.woken), pair.wakeups, pair.longest_us), (Some(2), Some(1), 1, 15.0));
}

#[test]
fn a_second_waking_of_a_runnable_task_is_none() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).waking(40, 0, 2, 1).waking(50, 0, 2, 1).switch(55, 0, 2, R, 1);
    made.waking(60, 1, 3, 2).switch(70, 0, 1, S, 2);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(15.0)));
    assert_eq!((row(&report, 2).wakeups, row(&report, 2).preempt_wait_s), (Some(0), us(15)));
}

#[test]
fn a_waking_of_a_running_task_counts_from_its_leaving_if_it_sleeps_and_comes_back_without_another() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(40, 1, 2, 1).switch(55, 0, 1, S, 3).switch(60, 0, 3, S, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(5.0)));
    assert_eq!((row(&report, 1).blocked_s, row(&report, 1).unwoken), (0.0, 0));
}

#[test]
fn a_waking_of_a_running_task_does_not_count_if_another_one_comes() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(40, 1, 2, 1).switch(55, 0, 1, S, 3).waking(58, 1, 2, 1).switch(60, 0, 3, S, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(2.0)));
    assert_eq!(row(&report, 1).blocked_s, us(3));
}

#[test]
fn a_waking_of_a_running_task_does_not_count_if_it_stays_runnable() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(40, 1, 2, 1).switch(55, 0, 1, R, 3).switch(60, 0, 3, S, 1).switch(70, 0, 1, S, 0);
    made.switch(90, 0, 0, R, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).preempt_wait_s), (Some(0), us(5)));
    assert_eq!((row(&report, 1).unwoken, row(&report, 1).blocked_by_s[&Cause::Unknown]), (1, us(20)));
}

#[test]
fn a_task_that_is_woken_before_its_first_switch_out_was_running() {
    let mut made = Made::default();
    made.switch(0, 1, 0, R, 2).waking(40, 1, 2, 1).switch(50, 0, 1, S, 0).waking(80, 1, 2, 1).switch(90, 0, 0, R, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(10.0)));
    assert_eq!((row(&report, 1).run_s, row(&report, 1).cut_s, row(&report, 1).blocked_s), (0.0, us(50), us(30)));
    assert_eq!(report.repaired, 0);
}

#[test]
fn the_first_run_of_a_forked_task_is_no_wakeup() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).add(5, 0, Kind::Fork, 1, 7, 0, 0).add(10, 0, Kind::New, 7, 1, 0, 0);
    made.switch(30, 0, 1, S, 7).switch(50, 0, 7, Dead, 0);
    let report = made.report();
    let child = row(&report, 7);
    assert_eq!((child.wakeups, child.wakeup_us.max, child.start_wait_s), (Some(0).filter(|_| false), None, us(20)));
    assert_eq!((child.run_s, child.voluntary_switches, child.preempt_wait_s), (us(20), 1, 0.0));
}

#[test]
fn a_number_that_is_given_again_is_another_task() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 7).switch(10, 0, 7, Dead, 1).add(20, 0, Kind::Fork, 1, 7, 0, 0).add(
        20,
        0,
        Kind::New,
        7,
        1,
        0,
        0,
    );
    made.switch(30, 0, 1, S, 7).switch(50, 0, 7, Dead, 0);
    let report = made.report();
    let runs: Vec<f64> = report.tasks.iter().filter(|row| row.pid == Some(7)).map(|row| row.run_s).collect();
    assert_eq!(runs, [us(20), us(10)]);
}

#[test]
fn without_wakings_wakeups_are_counted_from_the_runqueue_and_it_is_said() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).add(40, 0, Kind::Woken, 1, 2, 0, 0).switch(55, 0, 2, R, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(15.0)));
    assert_eq!(report.wakeups_from, Some("sched_wakeup"));
    assert!(
        report.warnings.iter().any(|said| said.contains("counted from sched:sched_wakeup")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn wakeups_before_the_first_waking_are_not_counted_from_the_runqueue() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).add(10, 0, Kind::Woken, 1, 2, 0, 0).switch(15, 0, 2, R, 1).switch(20, 0, 1, S, 2);
    made.waking(30, 0, 2, 1).add(31, 0, Kind::Woken, 1, 2, 0, 0).switch(37, 0, 2, R, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, row(&report, 1).wakeup_us.max), (Some(1), Some(7.0)));
    assert_eq!(report.wakeups_from, Some("sched_waking"));
}

#[test]
fn without_any_wakings_latency_is_unknown_and_the_events_to_record_are_named() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).switch(55, 0, 2, R, 1);
    let report = made.report();
    assert_eq!((row(&report, 1).wakeups, report.wakeups_from), (None, None));
    assert!(
        report.warnings[0].contains("perf record -e sched:sched_switch,sched:sched_waking"),
        "{:?}",
        report.warnings
    );
}

#[test]
fn what_wakes_in_an_interrupt_is_not_the_task_that_was_current() {
    let mut made = Made::default();
    let hard = Event::bits(0, Context::HardInterrupt);
    let soft = Event::bits(0, Context::SoftInterrupt);
    for task in 1..=6 {
        made.switch(task as u64, 1, task, if task == 3 { D } else { S }, task + 1);
    }
    made.switch(7, 1, 7, T, 0);
    made.at(10, 0, Kind::TimerExpire, 99).add(10, 0, Kind::Waking, 1, 9, 1, hard).at(11, 0, Kind::TimerDone, 99);
    made.at(20, 0, Kind::SoftirqEntry, 3).add(20, 0, Kind::Waking, 2, 9, 1, soft).at(21, 0, Kind::SoftirqExit, 3);
    made.at(30, 0, Kind::IrqEntry, 5).at(30, 0, Kind::BlockComplete, 8).add(30, 0, Kind::Waking, 3, 9, 1, hard).at(
        31,
        0,
        Kind::IrqExit,
        5,
    );
    made.at(40, 0, Kind::IrqEntry, 6).add(40, 0, Kind::Waking, 4, 9, 1, hard).at(41, 0, Kind::IrqExit, 6);
    made.at(50, 0, Kind::SoftirqEntry, 9).add(50, 0, Kind::Waking, 5, 9, 1, soft).at(51, 0, Kind::SoftirqExit, 9);
    made.waking(60, 0, 9, 6).waking(70, 0, 9, 7);
    made.switch(100, 1, 0, R, 1);
    let report = made.report();
    let causes =
        [Cause::Timer, Cause::Network, Cause::Disk, Cause::Interrupt, Cause::Softirq, Cause::Task, Cause::Stopped];
    for (task, cause) in (1..).zip(causes) {
        let slept = us(task as u64 * 9);
        let found = &row(&report, task).blocked_by_s;
        assert_eq!(
            found.iter().map(|it| (*it.0, (it.1 * 1e6).round())).collect::<Vec<_>>(),
            [(cause, slept * 1e6)],
            "task {task}"
        );
    }
    let timer = report.wakers.iter().find(|pair| pair.cause == Cause::Timer).unwrap();
    assert_eq!((timer.waker.is_none(), timer.woken.as_ref().unwrap().pid), (true, 1));
}

/// Task 1 sleeps in a system call until task 2 wakes it in another one; the cause of that, and whether the waker is named.
fn between(sleeper: Call, left: Left, waker: Call) -> (Cause, Option<i32>) {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).enters(5, 0, 1, sleeper).switch(10, 0, 1, left, 2).enters(20, 0, 2, waker);
    made.waking(30, 0, 2, 1).leaves(35, 0, 2).switch(40, 0, 2, S, 1).leaves(45, 0, 1).switch(60, 0, 1, S, 0);
    let report = made.report();
    let causes: Vec<_> = row(&report, 1).blocked_by_s.iter().map(|it| (*it.0, *it.1)).collect();
    let [(cause, slept)] = causes[..] else { panic!("{causes:?}") };
    assert_eq!(slept, us(20));
    let pair = report.wakers.iter().find(|pair| pair.woken.as_ref().is_some_and(|task| task.pid == 1)).unwrap();
    assert_eq!(pair.cause, cause);
    (cause, pair.waker.as_ref().map(|task| task.pid))
}

#[test]
fn a_task_that_sleeps_in_a_futex_call_until_another_one_is_in_one_waits_for_a_lock() {
    assert_eq!(between(Call::Futex, S, Call::Futex), (Cause::Lock, Some(2)));
    assert_eq!(between(Call::Futex, S, Call::Other), (Cause::Task, Some(2)), "by a signal, or at the end of a thread");
    assert_eq!(between(Call::Other, S, Call::Futex), (Cause::Task, Some(2)));
}

#[test]
fn a_task_that_sleeps_in_a_read_or_write_until_another_one_is_in_one_waits_for_a_message() {
    for sleeper in [Call::Receive, Call::Send, Call::Poll] {
        for waker in [Call::Receive, Call::Send] {
            assert_eq!(between(sleeper, S, waker), (Cause::Message, Some(2)), "{sleeper:?}, {waker:?}");
        }
        assert_eq!(between(sleeper, S, Call::Futex), (Cause::Task, Some(2)));
    }
    assert_eq!(
        between(Call::Receive, D, Call::Send),
        (Cause::Task, Some(2)),
        "a lock of the kernel's own, as of a file"
    );
}

#[test]
fn an_interrupt_that_wakes_in_a_system_call_is_the_cause_all_the_same() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).enters(5, 0, 1, Call::Futex).switch(10, 0, 1, S, 2).enters(20, 0, 2, Call::Futex);
    made.at(30, 0, Kind::TimerExpire, 7).interrupt_wakes(30, 0, Context::HardInterrupt, 1).switch(40, 0, 2, R, 1);
    assert_eq!(row(&made.report(), 1).blocked_by_s.keys().collect::<Vec<_>>(), [&Cause::Timer]);
}

#[test]
fn a_system_call_whose_exit_may_be_lost_says_nothing() {
    let cause = |lost_at: u64| {
        let mut made = Made::default();
        made.switch(0, 0, 0, R, 1).enters(5, 0, 1, Call::Futex).switch(10, 0, 1, S, 2).enters(20, 0, 2, Call::Futex);
        made.waking(30, 0, 2, 1).switch(40, 0, 2, S, 1);
        let place = made.0.iter().position(|event| event.time >= lost_at * 1000).unwrap();
        made.0.insert(place, Event { kind: Kind::Lost, time: lost_at * 1000, ..made.0[place] });
        *row(&made.report(), 1).blocked_by_s.keys().next().unwrap()
    };
    assert_eq!((cause(7), cause(15), cause(25)), (Cause::Task, Cause::Lock, Cause::Task));
}

#[test]
fn a_pair_that_wakes_by_a_lock_and_by_messages_has_a_row_for_each() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1);
    for (at, sleeper, waker) in [(10, Call::Futex, Call::Futex), (50, Call::Receive, Call::Send)] {
        made.enters(at, 0, 1, sleeper).switch(at + 1, 0, 1, S, 2).enters(at + 5, 0, 2, waker);
        made.waking(at + 10, 0, 2, 1).leaves(at + 11, 0, 2).switch(at + 20, 0, 2, S, 1).leaves(at + 21, 0, 1);
    }
    let pairs = made.report().wakers;
    let found: Vec<_> = pairs.iter().map(|pair| (pair.cause, pair.waker.as_ref().unwrap().pid, pair.wakeups)).collect();
    assert_eq!(found, [(Cause::Lock, 2, 1), (Cause::Message, 2, 1)]);
}

#[test]
fn migrations_are_those_that_the_kernel_recorded_or_else_changes_of_processor() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(10, 0, 1, S, 0).waking(20, 1, 2, 1).switch(30, 1, 2, S, 1).switch(35, 1, 1, S, 0);
    assert_eq!((row(&made.report(), 1).migrations, made.report().migrations_from), (1, "sched_switch"));
    made.add(40, 0, Kind::Migrate, 1, 0, 1 << 32, 0).add(50, 0, Kind::Migrate, 1, 0, 1, 0);
    assert_eq!((row(&made.report(), 1).migrations, made.report().migrations_from), (2, "sched_migrate_task"));
}

#[test]
fn a_processor_is_wasted_while_it_idles_and_a_task_waits_for_another_one() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(0, 1, 3, S, 0).waking(20, 0, 1, 2).switch(50, 1, 0, R, 3).switch(60, 0, 1, S, 2);
    made.switch(100, 0, 2, S, 0);
    let report = made.report();
    assert_eq!(report.wasted_s, us(30));
    let [zero, one] = &report.processors[..] else { panic!() };
    assert_eq!((zero.wasted_s, one.wasted_s), (0.0, us(30)));
    assert_eq!((zero.utilization_pct, one.utilization_pct), (100.0, 50.0));
    // Task 1 alone for 20, with task 2 in the queue for 40, task 2 alone for 40.
    assert_eq!((zero.run_queue.time_s[1], zero.run_queue.time_s[2], zero.run_queue.max), (us(60), us(40), 2));
    assert!((zero.run_queue.mean - 1.4).abs() < 1e-12);
    assert_eq!(zero.run_queue.over_time, [zero.run_queue.mean]);
}

#[test]
fn a_wakeup_to_an_idle_processor_wastes_nothing() {
    let mut made = Made::default();
    made.switch(0, 0, 2, S, 0).switch(0, 1, 3, S, 0).waking(20, 0, 0, 2).switch(50, 0, 0, R, 2).switch(60, 0, 2, S, 0);
    assert_eq!(made.report().wasted_s, 0.0);
}

#[test]
fn the_worst_wait_says_what_ran_meanwhile_and_who_woke() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).switch(0, 1, 8, S, 0).waking(10, 0, 2, 1).switch(40, 0, 2, R, 3).switch(45, 0, 3, S, 2);
    made.switch(60, 0, 2, S, 1).switch(70, 0, 1, S, 0);
    let report = made.report();
    let worst = &report.worst_waits[0];
    assert_eq!((worst.task.pid, worst.after, worst.wait_us, worst.cpu), (1, "wakeup", 50.0, 0));
    assert_eq!((worst.from_s, worst.to_s), (us(10), us(60)));
    assert_eq!((worst.cause, worst.by.as_ref().map(|by| by.pid)), (Some(Cause::Task), Some(2)));
    let ran: Vec<_> = worst.ran.iter().map(|it| (it.task.pid, it.us)).collect();
    assert_eq!(ran, [(2, 45.0), (3, 5.0)]);
    assert_eq!((worst.idle_us, worst.idle_elsewhere_us, worst.cut), (0.0, 50.0, false));
    let preempted = &report.worst_waits[1];
    assert_eq!(
        (preempted.task.pid, preempted.after, preempted.by.as_ref().map(|by| by.pid)),
        (2, "preempted", Some(3))
    );
}

#[test]
fn of_a_long_wait_all_is_known_that_ran() {
    let mut made = Made::default();
    // Task 1 is preempted, and two others take turns for 30,000 runs. On another processor there are as many, and a task waits on and on.
    made.switch(0, 1, 9, R, 8).switch(0, 0, 1, R, 2);
    let mut now = 0;
    for turn in 0..15_000 {
        made.switch(now + 3, 0, 2, S, 3).switch(now + 4, 0, 3, R, 4).switch(now + 4 + turn % 2, 0, 4, S, 0);
        made.switch(now + 5, 1, 8, R, 0).switch(now + 6, 1, 0, R, 8).switch(now + 10, 0, 0, R, 2);
        now += 10;
    }
    made.switch(now + 1, 0, 2, S, 1);
    let report = made.report();
    let worst = &report.worst_waits[0];
    assert_eq!((worst.task.pid, worst.wait_us, worst.cut), (1, 150_001.0, false));
    let ran: Vec<_> = worst.ran.iter().map(|it| (it.task.pid, it.us)).collect();
    assert_eq!(ran, [(2, 45_001.0), (3, 15_000.0), (4, 7500.0)]);
    assert_eq!((worst.others_us, worst.idle_us, worst.idle_elsewhere_us), (0.0, 82_500.0, 15_000.0));
}

#[test]
fn only_the_ten_longest_waits_are_kept() {
    let mut made = Made::default();
    let mut now = 0;
    made.switch(now, 0, 0, R, 1);
    for wait in (1..=30).map(|n| n * 7 % 31) {
        made.switch(now + 1, 0, 1, R, 2).switch(now + 1 + wait, 0, 2, S, 1);
        now += 1 + wait;
    }
    let waits: Vec<f64> = made.report().worst_waits.iter().map(|wait| wait.wait_us).collect();
    assert_eq!(waits, [30.0, 29.0, 28.0, 27.0, 26.0, 25.0, 24.0, 23.0, 22.0, 21.0]);
}

#[test]
fn a_broken_chain_is_repaired_by_what_tasks_were_charged() {
    let mut made = Made::default();
    // Task 1 leaves at 30 and task 2, woken at 25, comes; both switches are missing in the file.
    made.switch(0, 0, 2, S, 1).waking(25, 0, 1, 2).charged(30, 0, 1, 30).charged(50, 0, 2, 20).switch(50, 0, 2, S, 0);
    let report = made.report();
    assert_eq!((report.repaired, report.repaired_runs, report.unknown_runs), (1, 2, 0));
    assert_eq!((row(&report, 1).run_s, row(&report, 2).run_s), (us(30), us(20)));
    assert_eq!((row(&report, 2).wakeups, row(&report, 2).wakeup_us.max), (Some(1), Some(5.0)));
    assert_eq!((row(&report, 1).unknown_s, report.processors[0].busy_s), (us(20), us(50)));
}

#[test]
fn where_one_of_two_tasks_was_charged_one_switch_is_missing() {
    let mut made = Made::default();
    made.switch(0, 0, 2, S, 1).waking(25, 0, 1, 2).charged(50, 0, 2, 20).switch(50, 0, 2, S, 0);
    let report = made.report();
    assert_eq!((row(&report, 1).run_s, row(&report, 2).run_s), (us(30), us(20)));
    let mut made = Made::default();
    made.switch(0, 0, 2, S, 1).waking(25, 0, 1, 2).charged(30, 0, 1, 30).switch(50, 0, 2, S, 0);
    let report = made.report();
    assert_eq!((row(&report, 1).run_s, row(&report, 2).run_s), (us(30), us(20)));
    assert_eq!((report.repaired, report.repaired_runs, report.unknown_runs), (1, 2, 0));
}

#[test]
fn a_broken_chain_without_charges_is_counted_and_its_time_is_unknown() {
    let mut made = Made::default();
    made.switch(0, 0, 2, S, 1).waking(25, 0, 1, 2).switch(50, 0, 2, S, 0).switch(60, 0, 0, R, 1);
    let report = made.report();
    assert_eq!((report.repaired, report.repaired_runs, report.unknown_runs), (1, 0, 2));
    assert_eq!((row(&report, 1).run_s, row(&report, 2).run_s), (0.0, 0.0));
    assert_eq!(
        (row(&report, 2).wakeups, row(&report, 2).unmeasured_wakeups, row(&report, 2).wakeup_us.max),
        (Some(1), 1, None)
    );
    assert_eq!((row(&report, 1).unknown_s, row(&report, 2).unknown_s), (us(60), us(25)));
    assert!(report.warnings.iter().any(|said| said.starts_with("1 times a task left")), "{:?}", report.warnings);
}

#[test]
fn a_task_that_came_unseen_may_have_been_woken_while_it_ran() {
    // Task 1 sleeps from 0 on, is woken at 10 and comes at 15, which is missing in the file. It is woken again at 48, before it has left.
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 0).waking(10, 1, 2, 1).waking(48, 1, 2, 1).charged(50, 0, 1, 35).switch(50, 0, 1, S, 0);
    made.charged(60, 0, 1, 8).switch(60, 0, 1, S, 0);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.wakeups, one.wakeup_us.max, one.wakeup_wait_s), (us(43), Some(2), Some(5.0), us(7)));
    assert_eq!((one.blocked_s, one.unwoken, one.unknown_s), (us(10), 0, 0.0));
    // It is woken at 9, before it has left, so it can run from 10 on.
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(9, 1, 2, 1).switch(10, 0, 1, S, 0).waking(48, 1, 3, 1);
    made.charged(50, 0, 1, 35).switch(50, 0, 1, S, 0).switch(52, 0, 0, R, 1);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.wakeups, one.wakeup_us.max, one.wakeup_wait_s), (us(45), Some(2), Some(5.0), us(7)));
    assert_eq!((one.blocked_s, one.unwoken, one.unknown_s), (0.0, 0, 0.0));
    let wakers: Vec<_> = report.wakers.iter().map(|pair| (pair.waker.as_ref().unwrap().pid, pair.longest_us)).collect();
    assert_eq!(wakers.iter().copied().collect::<std::collections::BTreeMap<_, _>>(), [(2, 5.0), (3, 2.0)].into());
}

#[test]
fn a_preempted_task_that_came_unseen_is_woken_while_it_ran_too() {
    // Task 1 is preempted at 10 and comes back at 15, which is missing in the file. It is woken at 48, before it has left.
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(10, 0, 1, R, 2).waking(48, 1, 3, 1).charged(50, 0, 1, 35).switch(50, 0, 1, S, 0);
    made.switch(55, 0, 0, R, 1);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.preempt_wait_s, one.unwoken), (us(45), us(5), 0));
    assert_eq!((one.wakeups, one.wakeup_us.max), (Some(1), Some(5.0)));
}

#[test]
fn of_several_wakings_of_a_task_that_came_unseen_the_last_one_counts_next() {
    // Woken at 9, left at 10, came unseen at 15, woken at 30 and at 48.
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(9, 1, 2, 1).switch(10, 0, 1, S, 0).waking(30, 1, 2, 1).waking(48, 1, 2, 1);
    made.charged(50, 0, 1, 35).switch(50, 0, 1, S, 0).switch(52, 0, 0, R, 1);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.wakeups, one.wakeup_us.max, one.wakeup_wait_s), (us(45), Some(2), Some(5.0), us(7)));
}

#[test]
fn a_task_that_left_and_came_unseen_was_woken_while_it_ran() {
    // Task 1 leaves at 30 and task 2 comes; task 1 comes again at 60 and is woken at 90: no switch of it is in the file from 0 on.
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).charged(30, 0, 1, 30).charged(60, 0, 2, 30).switch(60, 0, 2, S, 3).waking(90, 1, 4, 1);
    made.charged(70, 0, 3, 10).charged(100, 0, 1, 30).switch(100, 0, 1, S, 0).switch(105, 0, 0, R, 1);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.unknown_s), (us(60), us(40)));
    assert_eq!((one.wakeups, one.wakeup_us.max, one.unwoken), (Some(1), Some(5.0), 0));
}

#[test]
fn a_waking_before_a_recorded_switch_says_nothing_of_later_runs() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).waking(5, 1, 2, 1).switch(10, 0, 1, S, 0).waking(12, 1, 2, 1).switch(15, 0, 0, R, 1);
    made.switch(1000, 0, 1, S, 0).charged(1100, 0, 1, 1095).switch(1100, 0, 1, S, 0);
    let report = made.report();
    let one = row(&report, 1);
    assert_eq!((one.run_s, one.wakeups, one.wakeup_wait_s), (us(1095), Some(1), us(3)));
}

#[test]
fn a_task_that_comes_to_a_second_processor_has_left_the_first_one() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1)
        .switch(0, 1, 5, S, 0)
        .charged(10, 0, 1, 10)
        .switch(40, 1, 0, R, 1)
        .switch(50, 1, 1, S, 0);
    made.switch(60, 0, 0, R, 6);
    let report = made.report();
    assert_eq!((report.repaired, row(&report, 1).run_s, row(&report, 1).unknown_s), (1, us(20), us(30)));
}

#[test]
fn a_window_cuts_times_and_takes_waits_that_end_within_it() {
    let mut made = Made::default();
    made.switch(0, 0, 1, S, 2).waking(40, 0, 2, 1).switch(55, 0, 2, R, 1).switch(80, 0, 1, S, 2).waking(85, 0, 2, 1);
    made.switch(90, 0, 2, R, 1).switch(100, 0, 1, S, 0);
    let options = Options { from: Some(50_000), to: Some(95_000), ..Options::default() };
    let report = made.explain(&[], options).unwrap();
    let one = row(&report, 1);
    assert_eq!((report.span_s, one.run_s, one.wakeups), (us(45), us(30), Some(2)));
    assert_eq!((one.wakeup_us.max, one.wakeup_wait_s), (Some(15.0), us(10)));
    assert_eq!((row(&report, 2).run_s, report.processors[0].busy_s), (us(15), us(45)));
}

#[test]
fn a_turn_that_the_end_cuts_off_is_a_run_where_that_is_asked_for() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(10, 0, 1, R, 2).switch(40, 1, 0, R, 3).switch(4_000, 1, 3, S, 0);
    let asked = |unfinished, to| {
        let options = Options { unfinished, to, blocks: true, ..Options::default() };
        let report = made.explain(&[], options).unwrap();
        let row = row(&report, 2).clone();
        let blocks = row.blocks.unwrap().iter().map(|block| block.run_s).sum::<f64>();
        (row.run_s, row.cut_run_s, row.run_length_us.max, (blocks * 1e9).round() / 1e9)
    };
    assert_eq!(asked(false, None), (0.0, us(3_990), None, 0.0));
    assert_eq!(asked(true, None), (us(3_990), 0.0, None, us(3_990)), "in its blocks, too; its length is not known");
    assert_eq!(asked(true, Some(2_000_000)), (us(1_990), 0.0, None, us(1_990)));
}

#[test]
fn with_a_processor_only_what_happened_there_counts() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(0, 1, 0, R, 2).switch(10, 0, 1, S, 0).waking(20, 1, 2, 1).switch(30, 1, 2, R, 1);
    made.switch(50, 1, 1, S, 2);
    let only = |cpu| made.explain(&[], Options { cpu: Some(cpu), ..Options::default() });
    let (zero, one) = (only(0).unwrap(), only(1).unwrap());
    assert_eq!((row(&zero, 1).run_s, row(&zero, 1).wakeup_us.max), (us(10), None));
    assert_eq!((row(&one, 1).run_s, row(&one, 1).wakeup_us.max), (us(20), Some(10.0)));
    assert_eq!(only(2).unwrap_err(), "processor 2 has no switches; those with switches: 0, 1");
}

fn two_named() -> (Made, [(i32, &'static str); 3]) {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).switch(10, 0, 1, S, 2).switch(30, 0, 2, S, 3).switch(60, 0, 3, S, 0);
    (made, [(1, "worker"), (2, "worker"), (3, "worker/2")])
}

#[test]
fn a_group_takes_tasks_whose_whole_name_matches() {
    let (made, names) = two_named();
    let groups = ["exact=worker", "all=work.*", "none=ork"].map(|text| Group::read(text).unwrap());
    let report = made.explain(&names, Options { groups: groups.into(), ..Options::default() }).unwrap();
    let found: Vec<_> = report.groups.iter().map(|(name, row)| (&name[..], row.tasks, row.run_s)).collect();
    assert_eq!(found, [("all", 3, us(60)), ("exact", 2, us(30)), ("none", 0, 0.0)]);
    assert!(Group::read("x=(").unwrap_err().starts_with("group x: \"(\":"));
    assert!(Group::read("worker").unwrap_err().contains("as in server=redis.*"));
}

#[test]
fn rows_by_control_group_are_those_at_the_start_and_of_what_was_made_in_them() {
    let mut made = Made::default();
    made.switch(0, 0, 0, R, 1).add(2, 0, Kind::Fork, 1, 5, 0, 0).add(3, 0, Kind::Fork, 5, 6, 0, 0);
    made.switch(10, 0, 1, S, 5).switch(30, 0, 5, S, 6).switch(60, 0, 6, S, 2).switch(100, 0, 2, S, 9);
    made.switch(105, 0, 9, S, 0);
    let task = |pid, group: &str| state::Task { pid, group: group.to_owned(), ..state::Task::default() };
    // The number 6 was another task's when the recording began.
    let tasks = vec![task(1, "/web"), task(2, "/"), task(6, "/batch")];
    let state = state::State { tasks, ..state::State::default() };
    let head = Head { state: Some(Box::new(state)), ..Head::default() };
    let report = made.explain_with(&[], Options { by: By::Cgroup, ..Options::default() }, &head).unwrap();
    let rows: Vec<_> = report.tasks.iter().map(|row| (row.comm.as_str(), row.tasks, row.run_s, row.pid)).collect();
    assert_eq!(
        rows,
        [("/web", 3, us(60), None), ("/", 1, us(40), None), ("(not known)", 1, us(5), None)],
        "the grandchild of 1 is in its group"
    );
}

#[test]
fn rows_are_tasks_or_names_or_processes() {
    let (mut made, names) = two_named();
    let by = |made: &Made, by| made.explain(&names, Options { by, ..Options::default() });
    let rows = |report: schedlab_explain::Report| -> Vec<_> {
        report.tasks.into_iter().map(|row| (row.comm, row.pid, row.tasks, (row.run_s * 1e6).round() as u64)).collect()
    };
    assert_eq!(
        rows(by(&made, By::Comm).unwrap()),
        [("worker".into(), None, 2, 30), ("worker/2".into(), Some(3), 1, 30)]
    );
    assert!(by(&made, By::Tgid).unwrap_err().contains("does not say which process"));
    assert!(by(&made, By::Cgroup).unwrap_err().contains("control group"));
    made.0.insert(0, Event { time: 0, value: 0, task: 3, other: 2, extra: 0, cpu: 0, kind: Kind::Member, bits: 0 });
    made.0.insert(0, Event { time: 0, value: 0, task: 2, other: 2, extra: 0, cpu: 0, kind: Kind::Member, bits: 0 });
    assert_eq!(
        rows(by(&made, By::Tgid).unwrap()),
        [("worker".into(), Some(2), 2, 50), ("worker".into(), Some(1), 1, 10)]
    );
}

#[test]
fn a_task_is_asked_for_by_name_or_number() {
    let (made, names) = two_named();
    let only = |task: &str| made.explain(&names, Options { task: Some(task.to_owned()), ..Options::default() });
    let pids = |task| only(task).unwrap().tasks.iter().map(|row| row.pid.unwrap()).collect::<Vec<_>>();
    assert_eq!((pids("worker"), pids("3")), (vec![2, 1], vec![3]));
    let refused = only("nobody").unwrap_err();
    assert_eq!(refused, "no task has the name or number \"nobody\"; those that ran most: worker/2, worker");
}

#[test]
fn a_recording_without_switches_is_refused_with_the_command_that_records_them() {
    let refused = Made::default().waking(3, 0, 1, 2).explain(&[], Options::default()).unwrap_err();
    assert!(refused.contains("no sched:sched_switch events"), "{refused}");
    assert!(refused.contains("`schedlab record -- sleep 10` or `perf record -e sched:sched_switch,"), "{refused}");
}

#[test]
fn a_window_outside_of_the_recording_is_refused() {
    let (made, names) = two_named();
    let window = |from, to| made.explain(&names, Options { from, to, ..Options::default() }).unwrap_err();
    assert!(window(Some(60_000), None).contains("which is 0.000060 s long"));
    for from in [50_000, 5_000_000_000] {
        let refused = window(Some(from), Some(40_000));
        assert_eq!(refused, format!("--to 0.00004 s must be after --from {} s", from as f64 / 1e9));
    }
}
