//! Short recordings, event by event, and what is made of them.

mod barriers;
mod calls;
mod connections;
mod inboxes;
mod looks;
mod strays;
mod timers;
mod yields;

use super::*;
use schedlab_traces::kernel::Context;

/// An event of processor 0 in a task's context, by when, µs.
fn event(kind: Kind, us: u64, task: Pid, other: Pid, flag: u8) -> Event {
    let bits = Event::bits(flag, Context::Task);
    Event { time: us * 1000, value: 0, task, other, extra: 0, cpu: 0, kind, bits }
}

/// Task 5 runs from 100 us on and wakes task 6 at 200; what comes then on the processor, by when, µs.
fn woken_by_5(at: u64, left: u8, next: Pid) -> Recording {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 6, 0, 1));
    history.event(&event(Kind::Switch, 100, 0, 5, 0));
    history.event(&event(Kind::Waking, 200, 6, 5, 0));
    history.event(&event(Kind::Switch, at, 5, next, left));
    history.event(&event(Kind::Switch, at + 100, next, 0, 1));
    history.finish()
}

fn work(recording: &Recording, pid: Pid) -> u64 {
    recording.tasks.iter().find(|task| task.pid == pid).map_or(0, Task::work)
}

#[test]
fn the_way_of_a_task_that_preempts_at_once_is_its_delay_and_not_work_of_the_other() {
    let recording = woken_by_5(203, 0, 6);
    assert_eq!(recording.delays[Waking::Task as usize], [3_000]);
    assert_eq!((work(&recording, 5), work(&recording, 6)), (100_000, 100_000));
}

#[test]
fn a_task_that_wakes_another_runs_though_no_switch_to_it_was_recorded() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 5, 6, 0));
    history.event(&event(Kind::Switch, 100, 6, 7, 1));
    // From 7 to 5, at some time.
    history.event(&event(Kind::Waking, 200, 6, 5, 0));
    history.event(&event(Kind::Switch, 300, 5, 6, 1));
    let recording = history.finish();
    assert_eq!(recording.repaired, 1);
    let steps = |pid| &recording.tasks.iter().find(|task| task.pid == pid).unwrap().steps;
    assert_eq!(steps(5)[1..3], [Step::Signal { edge: 0, here: true }, Step::Compute(100_000)]);
    assert!(steps(6).contains(&Step::Wait { from: 100_000, to: 200_000, cause: Cause::Task(0) }));
}

#[test]
fn a_program_is_executed_where_the_task_has_come() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 6, 5, 1));
    history.event(&event(Kind::Exec, 40, 5, 5, 0));
    history.event(&event(Kind::Switch, 100, 5, 6, 2));
    let recording = history.finish();
    let steps = &recording.tasks.iter().find(|task| task.pid == 5).unwrap().steps;
    let at = steps.iter().position(|step| *step == Step::Exec).expect("it is a step");
    assert_eq!((steps[at - 1], steps[at + 1]), (Step::Compute(40_000), Step::Compute(60_000)));
}

#[test]
fn a_task_seen_for_the_first_time_has_not_run_while_another_had_its_processor() {
    let switch = |us: u64, cpu, task, other| {
        let bits = Event::bits(1, Context::Task);
        Event { time: us * 1000, value: 0, task, other, extra: 0, cpu, kind: Kind::Switch, bits }
    };
    let mut history = History::default();
    history.event(&switch(0, 0, 5, 0));
    history.event(&switch(300, 1, 8, 0));
    // From the idle task to 7, and from that to 6, at some time.
    history.event(&switch(900, 0, 7, 0));
    history.event(&Event { kind: Kind::Waking, task: 5, other: 6, ..switch(1000, 0, 0, 0) });
    history.event(&switch(1100, 0, 6, 5));
    let recording = history.finish();
    assert_eq!((work(&recording, 7), work(&recording, 6)), (0, 100_000));
    assert_eq!(work(&recording, 8), 300_000, "on a processor of which nothing was seen before");
}

#[test]
fn of_a_task_that_no_event_was_recorded_of_while_it_ran_no_time_is_known() {
    let computed = |heard: bool| {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 5, 6, 1));
        if heard {
            history.event(&Event { value: 50_000, ..event(Kind::Runtime, 50, 6, 6, 0) });
        }
        // From 6 to the idle task and from that to 5, at some time.
        history.event(&event(Kind::Switch, 900, 5, 7, 1));
        work(&history.finish(), 6)
    };
    assert_eq!((computed(false), computed(true)), (0, 900_000));
}

#[test]
fn what_a_task_was_charged_says_when_it_came_and_the_one_before_it_slept_if_it_is_woken() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 0, 5, 0));
    history.event(&event(Kind::Switch, 100, 5, 6, 0));
    // The switch from 6 to 5 at 400 was not recorded; the clock tick at 4000 charges 5.
    history.event(&Event { value: 3_600_000, ..event(Kind::Runtime, 4000, 5, 5, 0) });
    history.event(&event(Kind::Waking, 5000, 6, 5, 0));
    history.event(&event(Kind::Switch, 6000, 5, 6, 1));
    history.event(&event(Kind::Switch, 6200, 6, 0, 1));
    let recording = history.finish();
    assert_eq!((work(&recording, 5), work(&recording, 6)), (5_700_000, 500_000));
    let steps = &recording.tasks.iter().find(|task| task.pid == 6).unwrap().steps;
    let slept = Step::Wait { from: 400_000, to: 5_000_000, cause: Cause::Task(0) };
    assert_eq!(steps[..2], [Step::Compute(300_000), slept]);
}

#[test]
fn the_way_to_an_idle_processor_is_known_by_the_charge_where_the_switch_was_not_recorded() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 5, 0, 1));
    // From processor 1, which is not idle: 7 wakes 5, which comes after 30 us, wakes 8 and leaves.
    history.event(&Event { cpu: 1, ..event(Kind::Switch, 10, 0, 7, 0) });
    history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 5, 7, 0) });
    history.event(&event(Kind::Waking, 150, 8, 5, 0));
    history.event(&Event { value: 70_000, ..event(Kind::Runtime, 200, 5, 5, 0) });
    history.event(&event(Kind::Switch, 200, 5, 0, 1));
    let recording = history.finish();
    assert_eq!(recording.delays[Waking::Idle as usize], [30_000]);
    assert_eq!(work(&recording, 5), 70_000);
}

#[test]
fn the_way_to_an_idle_processor_is_not_known_of_a_task_that_had_another_in_its_way() {
    let delays = |other_first, comes_to: u16| {
        let mut history = History::default();
        history.event(&event(Kind::Switch, 0, 5, 0, 1));
        history.event(&Event { cpu: 1, ..event(Kind::Switch, 10, 0, 7, 0) });
        history.event(&Event { cpu: 2, ..event(Kind::Switch, 10, 8, 0, 1) });
        history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 6, 7, 0) });
        history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 5, 7, 0) });
        if other_first {
            history.event(&event(Kind::Switch, 103, 0, 6, 0));
            history.event(&event(Kind::Switch, 4000, 6, 0, 1));
        }
        history.event(&Event { cpu: comes_to, ..event(Kind::Switch, 4001, 0, 5, 0) });
        history.finish().delays[Waking::Idle as usize].clone()
    };
    assert_eq!(delays(false, 0), [3_901_000], "the processor was idle all the time");
    assert_eq!(delays(true, 0), [3_000], "of the first alone: the second had that in its way");
    assert_eq!(delays(false, 2), [0; 0], "another processor, which had been idle, too, has pulled it");
}

#[test]
fn a_task_comes_as_long_after_the_begin_of_its_charge_as_those_whose_switch_was_recorded() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 5, 0, 1));
    // It is charged from 98 on, and comes at 100.
    history.event(&Event { cpu: 1, ..event(Kind::Waking, 90, 5, 7, 0) });
    history.event(&event(Kind::Switch, 100, 0, 5, 0));
    history.event(&Event { value: 52_000, ..event(Kind::Runtime, 150, 5, 5, 0) });
    history.event(&event(Kind::Switch, 150, 5, 0, 1));
    // It is charged from 228 on, and the switch to it was not recorded.
    history.event(&Event { cpu: 1, ..event(Kind::Waking, 200, 5, 7, 0) });
    history.event(&Event { value: 72_000, ..event(Kind::Runtime, 300, 5, 5, 0) });
    history.event(&event(Kind::Switch, 300, 5, 0, 1));
    let recording = history.finish();
    assert_eq!(recording.delays[Waking::Idle as usize], [10_000, 30_000]);
    assert_eq!(work(&recording, 5), 120_000);
}

#[test]
fn what_another_processor_charged_a_task_belongs_to_the_run_whose_begin_was_not_recorded() {
    let on_1 = |event: Event| Event { cpu: 1, ..event };
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 5, 0, 1));
    history.event(&on_1(event(Kind::Switch, 10, 0, 7, 0)));
    // 7 wakes 5, which comes after 20 us, and charges it when it has run for 40.
    history.event(&on_1(event(Kind::Waking, 100, 5, 7, 0)));
    history.event(&Event { value: 40_000, ..on_1(event(Kind::Runtime, 160, 5, 7, 0)) });
    history.event(&Event { value: 50_000, ..event(Kind::Runtime, 210, 5, 5, 0) });
    history.event(&event(Kind::Switch, 210, 5, 0, 1));
    assert_eq!(work(&history.finish(), 5), 90_000);
}

/// Task 5 waits on processor 1, on which 8 runs then, and is woken thirty times by 7 on processor 0, where others wait or not. It goes on where it
/// was, or comes to the waker's and is moved back later.
fn woken_elsewhere(stays: bool, others_wait: bool) -> Recording {
    let mut history = History::default();
    let mut say = |cpu, us, kind, task, other, flag, value| {
        history.event(&Event { cpu, value, ..event(kind, us, task, other, flag) });
    };
    if others_wait {
        say(0, 0, Kind::Switch, 9, 7, 0, 0);
    } else {
        say(0, 0, Kind::Switch, 0, 7, 0, 0);
    }
    say(1, 1, Kind::Switch, 0, 5, 0, 0);
    for begin in (0..30).map(|turn| 1000 * turn) {
        say(1, begin + 100, Kind::Switch, 5, 8, 1, 0);
        say(0, begin + 200, Kind::Waking, 5, 7, 0, 1);
        if !stays {
            say(0, begin + 210, Kind::Migrate, 5, 7, 0, 1 << 32);
            say(0, begin + 400, Kind::Switch, 7, 5, 0, 0);
            say(0, begin + 500, Kind::Switch, 5, 7, 0, 0);
        }
        say(1, begin + 600, Kind::Switch, 8, 5, 0, 0);
    }
    history.finish()
}

#[test]
fn a_task_that_goes_on_where_it_was_though_its_waker_is_alone_waits_for_locks() {
    let shown = |stays, others_wait| {
        let recording = woken_elsewhere(stays, others_wait);
        let [task, other] = [5, 8].map(|pid| recording.tasks.iter().find(|task| task.pid == pid).unwrap());
        (task.pairing.shown.locks(), task.locks(), other.locks())
    };
    assert_eq!(shown(true, false), (Some(true), true, true), "nothing else is known of the other");
    assert_eq!(shown(false, false), (Some(false), false, false), "its wakers say that they wait soon");
    assert_eq!(shown(true, true), (None, false, false), "with others in the queue it would have stayed anyway");
}

#[test]
fn what_a_task_was_charged_less_is_taken_from_what_it_did_first() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 5, 0, 1));
    history.event(&Event { cpu: 1, ..event(Kind::Switch, 10, 0, 7, 0) });
    history.event(&Event { cpu: 1, ..event(Kind::Waking, 100, 5, 7, 0) });
    // It came to its idle processor after 30 us, at 130, and wakes 8 at 150 and 9 at 180.
    history.event(&event(Kind::Waking, 150, 8, 5, 0));
    history.event(&event(Kind::Waking, 180, 9, 5, 0));
    history.event(&Event { value: 70_000, ..event(Kind::Runtime, 200, 5, 5, 0) });
    history.event(&event(Kind::Switch, 200, 5, 0, 1));
    let recording = history.finish();
    let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
    let computed = task.steps.iter().filter_map(|step| match step {
        Step::Compute(length) => Some(*length),
        _ => None,
    });
    assert_eq!(Vec::from_iter(computed), [20_000, 30_000, 20_000]);
}

#[test]
fn a_wakeup_for_another_processor_is_known_as_such() {
    let mut history = History::default();
    history.event(&event(Kind::Switch, 0, 0, 5, 0));
    history.event(&event(Kind::Waking, 100, 6, 5, 0));
    history.event(&Event { value: 1, ..event(Kind::Waking, 200, 7, 5, 0) });
    history.event(&event(Kind::Switch, 300, 5, 0, 1));
    let recording = history.finish();
    let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
    let here = task.steps.iter().filter_map(|step| match step {
        Step::Signal { here, .. } => Some(*here),
        _ => None,
    });
    assert_eq!(Vec::from_iter(here), [true, false]);
}

#[test]
fn a_last_wait_lasts_until_the_end_unless_the_task_mostly_waits_for_others() {
    let recording = woken_by_5(203, 1, 6);
    let last = |pid| recording.tasks.iter().find(|task| task.pid == pid).unwrap().steps.last().copied();
    assert!(matches!(last(5), Some(Step::Wait { to: 303_000, cause: Cause::Outside, .. })));
    assert_eq!(last(6), Some(Step::Compute(100_000)));
}

/// Task 5 of processor 0 wakes task 6 of processor 1 that many times without a wait; then once there, is preempted by it, and wakes it again.
fn wakes_again(times: u64) -> Recording {
    let mut history = History::default();
    let on = |cpu, event| Event { cpu, ..event };
    history.event(&event(Kind::Switch, 0, 0, 5, 0));
    history.event(&on(1, event(Kind::Switch, 1, 6, 0, 1)));
    for at in (1..=times).map(|turn| 100 * turn) {
        history.event(&event(Kind::Waking, at, 6, 5, 0));
        history.event(&on(1, event(Kind::Switch, at + 10, 0, 6, 0)));
        history.event(&on(1, event(Kind::Switch, at + 50, 6, 0, 1)));
    }
    let end = 100 * (times + 1);
    history.event(&event(Kind::Waking, end, 6, 5, 0));
    history.event(&event(Kind::Switch, end + 2, 5, 6, 0));
    history.event(&event(Kind::Switch, end + 40, 6, 5, 1));
    history.event(&event(Kind::Waking, end + 60, 6, 5, 0));
    history.event(&event(Kind::Switch, end + 70, 5, 6, 1));
    history.finish()
}

#[test]
fn an_answer_is_needed_unless_the_task_goes_on_without_it_where_it_can() {
    let found = |times| {
        let recording = wakes_again(times);
        let task = recording.tasks.iter().find(|task| task.pid == 5).unwrap();
        task.steps.iter().filter(|step| matches!(step, Step::Found(_))).count()
    };
    assert_eq!((found(0), found(10)), (1, 0));
}

#[test]
fn where_the_running_task_goes_on_until_it_waits_or_is_preempted_later_there_is_no_such_way() {
    for (at, left) in [(203, 1), (400, 0)] {
        let recording = woken_by_5(at, left, 6);
        assert!(recording.delays[Waking::Task as usize].is_empty(), "{at}");
        assert_eq!(work(&recording, 5), (at - 100) * 1000);
    }
    assert!(woken_by_5(203, 0, 7).delays[Waking::Task as usize].is_empty());
}

/// Tasks 5 and 6 wake each other in turn by packets, each 100 us; `before` says what comes right before the packets of a turn.
fn by_packets(turns: u64, before: impl Fn(u64) -> &'static [Kind]) -> Recording {
    let mut history = History::default();
    let event = |us: u64, kind, task, other, flag, value| {
        let bits = Event::bits(flag, Context::SoftInterrupt);
        Event { time: us * 1000, value, task, other, extra: 0, cpu: 0, kind, bits }
    };
    history.event(&event(0, Kind::Switch, 6, 5, 1, 0));
    for turn in 1..turns {
        let (this, next) = if turn % 2 == 1 { (5, 6) } else { (6, 5) };
        let at = 100 * turn;
        before(turn).iter().for_each(|&kind| history.event(&event(at, kind, this, this, 0, 30)));
        history.event(&event(at + 1, Kind::SoftirqEntry, this, this, 0, 3));
        history.event(&event(at + 1, Kind::Waking, next, this, 0, 0));
        history.event(&event(at + 1, Kind::SoftirqExit, this, this, 0, 3));
        history.event(&event(at + 5, Kind::Switch, this, next, 1, 0));
    }
    history.finish()
}

fn from_outside(recording: &Recording) -> usize {
    let steps = recording.tasks.iter().flat_map(|task| &task.steps);
    steps
        .filter(|step| matches!(step, Step::Wait { from: 1.., to, cause: Cause::Outside } if *to < recording.span))
        .count()
}

#[test]
fn an_interrupt_that_comes_before_packets_by_chance_does_not_make_them_come_from_outside() {
    const DEVICE: &[Kind] = &[Kind::IrqEntry, Kind::IrqExit];
    assert_eq!(from_outside(&by_packets(200, |turn| if turn == 100 { DEVICE } else { &[] })), 0);
    assert!(from_outside(&by_packets(200, |_| DEVICE)) > 190);
}

#[test]
fn timers_that_rarely_end_a_wait_are_timeouts() {
    let expires = |turn| if turn % 50 == 0 { &[Kind::VectorEntry, Kind::TimerExpire][..] } else { &[] };
    let recording = by_packets(1000, expires);
    let causes = crate::work::work(&recording, |_| crate::work::Wish::default()).causes;
    let (relative, absolute) = causes.iter().fold((0, 0), |sum, it| (sum.0 + it.relative, sum.1 + it.absolute));
    assert!(relative > 10 && absolute == 0, "{relative} {absolute}");
}

/// Task 5 wakes task 6 every 3 ms, thirty times; 6 runs on that processor, and once on processor 1 before and at last, which is idle otherwise,
/// but for `another`, which 5 has woken there right before.
#[test]
fn a_task_that_stays_next_to_an_idle_processor_though_it_can_go_there_shows_that_it_halts() {
    let halts = |goes_there: u16, at_last: bool, another: bool| {
        let mut history = History::default();
        let on = |cpu, event| Event { cpu, ..event };
        history.event(&on(1, event(Kind::Switch, 0, 0, 6, 0)));
        history.event(&on(1, event(Kind::Switch, 100, 6, 0, 1)));
        for at in (0..30).map(|round| 3_000 + 3_000 * round) {
            history.event(&event(Kind::Switch, at, 0, 5, 0));
            if another {
                history.event(&Event { value: 1, ..event(Kind::Waking, at + 99, 8, 5, 0) });
            }
            history.event(&event(Kind::Waking, at + 100, 6, 5, 0));
            if another {
                history.event(&on(1, event(Kind::Switch, at + 105, 0, 8, 0)));
                history.event(&on(1, event(Kind::Switch, at + 150, 8, 0, 1)));
            }
            match goes_there {
                0 => {
                    history.event(&event(Kind::Switch, at + 200, 5, 6, 1));
                    history.event(&event(Kind::Switch, at + 300, 6, 0, 1));
                }
                cpu => {
                    history.event(&on(cpu, event(Kind::Switch, at + 110, 0, 6, 0)));
                    history.event(&event(Kind::Switch, at + 200, 5, 0, 1));
                    history.event(&on(cpu, event(Kind::Switch, at + 210, 6, 0, 1)));
                }
            }
        }
        if at_last {
            history.event(&on(1, event(Kind::Switch, 100_000, 0, 6, 0)));
        }
        history.finish().halts
    };
    assert!(halts(0, true, false) && !halts(0, false, false) && !halts(1, true, false));
    assert!(!halts(0, true, true), "the other one was taken already");
}
