//! Processors that become idle and pull a waiting task, or do not.

use super::*;

/// A recording of task 5, which sleeps on processor 0, and of 8 and 9, which share processor 1: first 150 short sleeps, and then ten long
/// ones. 9 comes from processor 0 if `moved`, and is pulled in every second sleep of those that `pulls` says are such.
fn sleeps(moved: bool, pulls: impl Fn(bool) -> bool) -> Recording {
    let mut history = History::default();
    let on = |cpu, of: Event| Event { cpu, ..of };
    let moves = |us, cpu, current| on(cpu, Event { value: cpu.into(), ..event(Kind::Migrate, us, 9, current, 0) });
    history.event(&event(Kind::Switch, 0, 0, if moved { 9 } else { 5 }, 0));
    history.event(&on(1, event(Kind::Switch, 1, 0, if moved { 8 } else { 9 }, 0)));
    if moved {
        history.event(&event(Kind::Switch, 2, 9, 5, 0));
        history.event(&moves(3, 1, 8));
        history.event(&on(1, event(Kind::Switch, 4, 8, 9, 0)));
    }
    history.event(&on(1, event(Kind::Switch, 5, 9, 8, 0)));
    let mut now = 10;
    for round in 0..170 {
        let long = round >= 150;
        if pulls(long) && round % 2 == 0 {
            history.event(&moves(now, 0, 5));
            history.event(&event(Kind::Switch, now + 1, 5, 9, 1));
            history.event(&on(1, event(Kind::Waking, now + 30, 5, 8, 0)));
            history.event(&event(Kind::Switch, now + 31, 9, 5, 0));
            history.event(&moves(now + 32, 1, 8));
        } else {
            history.event(&event(Kind::Switch, now, 5, 0, 1));
            now += if long { 900 } else { 20 };
            history.event(&on(1, event(Kind::Waking, now, 5, 8, 0)));
            history.event(&event(Kind::Switch, now + 2, 0, 5, 0));
        }
        now += 80;
    }
    history.finish()
}

#[test]
fn a_processor_that_pulls_only_after_long_times_shows_that_looking_is_dear() {
    assert!(sleeps(true, |long| long).looks_in_vain);
}

#[test]
fn one_that_always_pulls_shows_nothing_nor_do_tasks_that_may_be_bound() {
    assert!(!sleeps(true, |_| true).looks_in_vain);
    assert!(!sleeps(false, |long| long).looks_in_vain, "it moved later");
}
