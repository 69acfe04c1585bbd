//! Tasks that give their processors to others by themselves.

use super::*;

/// Tasks 5 and 6 have a processor in turn, each 100 us; `before` says what comes there 1 us before they change, if anything.
fn in_turn(before: impl Fn(u64) -> Option<(Kind, u64)>) -> Recording {
    in_turn_with(crate::causes::LOCAL_TIMER, before)
}

/// The same, after an interrupt by that vector.
fn in_turn_with(vector: u64, before: impl Fn(u64) -> Option<(Kind, u64)>) -> Recording {
    let mut history = History::default();
    history.event(&Event { value: vector, ..event(Kind::VectorEntry, 0, 5, 5, 0) });
    for turn in 1..=60 {
        let (this, next) = if turn % 2 == 1 { (5, 6) } else { (6, 5) };
        if let Some((kind, value)) = before(turn) {
            let task = if kind == Kind::SyscallEnter { this } else { 7 };
            let flag = if kind == Kind::SyscallEnter { Call::Yield as u8 } else { 0 };
            history.event(&Event { value, ..event(kind, 100 * turn - 1, task, this, flag) });
        }
        history.event(&event(Kind::Switch, 100 * turn, this, next, 0));
    }
    history.finish()
}

#[test]
fn tasks_that_leave_without_a_reason_yield() {
    let yields = |recording: &Recording, how| {
        let all = recording.tasks.iter().flat_map(|task| &task.steps);
        all.filter(|step| **step == Step::Yielded(how)).count()
    };
    assert_eq!(yields(&in_turn(|_| None), Yield::Unexplained), 59, "but for the first, before which an interrupt came");
    let here_or_there = |cpu| move |turn| (turn % 4 < 2).then_some((Kind::Waking, cpu));
    assert_eq!(yields(&in_turn(here_or_there(0)), Yield::Unexplained), 0, "half of them are explained");
    assert_eq!(yields(&in_turn(here_or_there(1)), Yield::Unexplained), 59, "another processor is no reason");
    let called = in_turn(|turn| (turn == 9).then_some((Kind::SyscallEnter, 24)));
    assert_eq!(
        (yields(&called, Yield::Called), yields(&called, Yield::Unexplained)),
        (1, 30),
        "the other's are not recorded"
    );
    // Of a recording with other interrupts alone nothing is known of ticks, nor of one with timers that expire in software interrupts.
    const RESCHEDULE: u64 = 253;
    let others = in_turn_with(RESCHEDULE, |turn| (turn == 9).then_some((Kind::TimerExpire, 1)));
    assert_eq!(yields(&others, Yield::Unexplained), 0);
    let interrupted = in_turn(|_| Some((Kind::IrqEntry, 30)));
    assert_eq!(yields(&interrupted, Yield::Unexplained), 0);
}
