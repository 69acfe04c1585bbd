//! Semaphores, barriers, conditions, pipes and queues.

use super::{ROUNDS, all, condition, shared};
use crate::sync::{
    barrier::TaskBarrier,
    mutex::Mutex,
    pipes::{Message, Pipe},
    semaphore::Semaphore,
};
use std::{
    collections::BTreeSet,
    sync::{
        Mutex as StdMutex,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
};

#[test]
fn a_semaphore_gives_out_no_more_permits_than_it_has() {
    let (semaphore, inside) = (shared::<Semaphore>(), AtomicU64::new(0));
    semaphore.begin(2);
    all(5, |_| {
        for _ in 0..ROUNDS / 5 {
            semaphore.take();
            assert!(inside.fetch_add(1, SeqCst) < 2);
            inside.fetch_sub(1, SeqCst);
            semaphore.give();
        }
    });
    assert_eq!(semaphore.permits(), 2);
    semaphore.begin(u32::MAX);
    semaphore.give();
    assert_eq!(semaphore.permits(), u32::MAX);
}

#[test]
fn every_permit_that_is_given_lets_one_task_go_on() {
    let (there, back) = (shared::<Semaphore>(), shared::<Semaphore>());
    all(2, |number| {
        for _ in 0..ROUNDS {
            let (gives, takes) = if number == 0 { (there, back) } else { (back, there) };
            gives.give();
            takes.take();
        }
    });
    assert_eq!((there.permits(), back.permits()), (0, 0));
}

/// Groups of tasks at a barrier; of more tasks than it is for, if need be.
fn groups_at_a_barrier(tasks: u64, parties: u32, groups: u64) {
    let (barrier, begun, came) = (shared::<TaskBarrier>(), AtomicU64::new(0), AtomicU64::new(0));
    all(tasks, |_| {
        // Which of the tasks come is left to chance, not how many do.
        while begun.fetch_add(1, SeqCst) < groups * u64::from(parties) {
            came.fetch_add(1, SeqCst);
            let mut group = None;
            barrier.come(parties, |number| group = Some(number));
            let group = group.unwrap();
            assert!(barrier.has_gone(group));
            assert!(came.load(SeqCst) >= u64::from(parties) * (u64::from(group) + 1), "it waited for all of its group");
        }
    });
    assert!(barrier.has_gone(groups as u32 - 1) && !barrier.has_gone(groups as u32));
}

#[test]
fn a_barrier_waits_for_all_of_a_group_round_after_round() {
    groups_at_a_barrier(4, 4, ROUNDS / 10);
    groups_at_a_barrier(6, 3, ROUNDS / 10);
    groups_at_a_barrier(1, 1, 10);
}

#[test]
fn a_signal_lets_the_longest_waiter_go_on_and_is_not_remembered() {
    let condition = condition();
    condition.signal();
    condition.broadcast();
    let (first, second, third) = (condition.draw(), condition.draw(), condition.draw());
    let gone = || [first, second, third].map(|ticket| condition.is_signalled(ticket));
    assert_eq!(gone(), [false; 3]);
    condition.signal();
    assert_eq!(gone(), [true, false, false]);
    condition.broadcast();
    assert_eq!(gone(), [true; 3]);
    condition.signal();
    assert!(!condition.is_signalled(condition.draw()));
}

#[test]
fn no_signal_to_a_waiter_is_lost_and_none_serves_two() {
    let (condition, mutex) = (condition(), shared::<Mutex>());
    let (waiting, went_on) = (AtomicU64::new(0), AtomicU64::new(0));
    all(3, |number| {
        let task = number as u32 + 1;
        if number < 2 {
            for _ in 0..ROUNDS / 2 {
                mutex.take(task);
                waiting.fetch_add(1, SeqCst);
                let ticket = condition.draw();
                mutex.give_back(task);
                condition.wait(ticket);
                mutex.take(task);
                went_on.fetch_add(1, SeqCst);
                mutex.give_back(task);
            }
            return;
        }
        let mut signals = 0;
        while signals < ROUNDS {
            mutex.take(task);
            assert!(went_on.load(SeqCst) <= signals, "one signal, one task");
            // Under the lock, a waiter has its ticket.
            if waiting.load(SeqCst) > signals {
                condition.signal();
                signals += 1;
            }
            mutex.give_back(task);
            thread::yield_now();
        }
    });
    assert_eq!(went_on.load(SeqCst), ROUNDS);
}

#[test]
fn a_broadcast_lets_all_waiters_go_on() {
    let condition = condition();
    let tickets: Vec<u32> = (0..40).map(|_| condition.draw()).collect();
    let late = condition.draw();
    thread::scope(|scope| {
        for &ticket in &tickets {
            scope.spawn(move || condition.wait(ticket));
        }
        condition.broadcast();
    });
    assert!(condition.is_signalled(late) && !condition.is_signalled(condition.draw()));
}

#[test]
fn a_signal_that_would_choose_a_killed_waiter_chooses_the_next_one() {
    let condition = condition();
    let tickets: [u32; 5] = std::array::from_fn(|_| condition.draw());
    let gone = || tickets.map(|ticket| condition.is_signalled(ticket));
    condition.pass_on(tickets[0]);
    condition.pass_on(tickets[1]);
    condition.pass_on(tickets[3]);
    assert_eq!(gone(), [false; 5], "no signal has come");
    condition.signal();
    assert_eq!(gone(), [true, true, true, false, false]);
    condition.signal();
    assert_eq!(gone(), [true; 5]);
    let late = condition.draw();
    assert!(!condition.is_signalled(late));
}

#[test]
fn a_signal_passes_to_the_next_waiter_when_the_one_that_it_chose_is_killed() {
    let condition = condition();
    let [first, second, third] = std::array::from_fn(|_| condition.draw());
    condition.signal();
    condition.pass_on(first);
    assert!(condition.is_signalled(second) && !condition.is_signalled(third));
    condition.pass_on(second);
    assert!(condition.is_signalled(third));
    condition.pass_on(third);
    assert!(!condition.is_signalled(condition.draw()), "without a waiter it is not remembered");
}

#[test]
fn what_a_broadcast_gave_to_a_killed_waiter_is_no_signal_to_another() {
    let condition = condition();
    let [first, second] = std::array::from_fn(|_| condition.draw());
    condition.pass_on(first);
    condition.broadcast();
    let late = condition.draw();
    condition.pass_on(second);
    assert!(!condition.is_signalled(late));
    condition.signal();
    let later = condition.draw();
    assert!(condition.is_signalled(late) && !condition.is_signalled(later));
    condition.pass_on(late);
    assert!(condition.is_signalled(later), "a signal after the broadcast is passed on");
}

#[test]
fn a_waiter_that_sleeps_is_woken_by_the_signal_of_a_killed_one() {
    let condition = condition();
    let (killed, alive) = (condition.draw(), condition.draw());
    thread::scope(|scope| {
        scope.spawn(move || condition.wait(alive));
        condition.signal();
        condition.pass_on(killed);
    });
}

#[test]
fn each_signal_lets_a_living_waiter_go_on_whenever_others_are_killed() {
    const KILLED: u64 = 3;
    let (condition, mutex) = (condition(), shared::<Mutex>());
    let (waiting, went_on) = (AtomicU64::new(0), AtomicU64::new(0));
    all(3, |number| {
        let task = number as u32 + 1;
        for round in 0..if number < 2 { ROUNDS / 20 } else { 0 } {
            mutex.take(task);
            // One in three waiters is killed, before or after a signal chooses it.
            let killed = round % KILLED == number;
            waiting.fetch_add(u64::from(!killed), SeqCst);
            let ticket = condition.draw();
            mutex.give_back(task);
            if killed {
                condition.pass_on(ticket);
            } else {
                condition.wait(ticket);
                went_on.fetch_add(1, SeqCst);
            }
        }
        let mut signals = 0;
        while number == 2 && signals < 2 * (ROUNDS / 20) * (KILLED - 1) / KILLED {
            mutex.take(task);
            // As many waiters as there are signals: each must find one.
            if waiting.load(SeqCst) > signals {
                condition.signal();
                signals += 1;
            }
            mutex.give_back(task);
            thread::yield_now();
        }
    });
    assert_eq!(went_on.load(SeqCst), waiting.load(SeqCst));
}

#[test]
fn a_bounded_queue_loses_nothing_and_never_holds_more_than_it_is_for() {
    const CAPACITY: u32 = 3;
    let (pipe, room) = (Pipe::new("q", Some(CAPACITY)).unwrap(), shared::<Semaphore>());
    room.begin(CAPACITY);
    let (inside, seen) = (AtomicU64::new(0), StdMutex::new(BTreeSet::new()));
    let each = ROUNDS / 4;
    all(4, |number| {
        for round in 0..each {
            if number < 2 {
                room.take();
                assert!(inside.fetch_add(1, SeqCst) < u64::from(CAPACITY));
                assert!(pipe.write(&Message { sent: number, number: round }.bytes()));
            } else {
                let Message { sent, number } = pipe.receive().unwrap();
                inside.fetch_sub(1, SeqCst);
                room.give();
                assert!(seen.lock().unwrap().insert((sent, number)), "only once");
            }
        }
    });
    assert_eq!((seen.into_inner().unwrap().len() as u64, room.permits()), (2 * each, CAPACITY));
    assert!(!pipe.has_message());
}

#[test]
fn a_queue_holds_as_many_messages_as_it_is_for_whatever_was_read() {
    for capacity in [1, 255, 256, 4097, 20_000] {
        let pipe = Pipe::new("q", Some(capacity)).unwrap();
        let message = |number| Message { sent: u64::MAX, number }.bytes();
        // The first page of the pipe is read but for its last message.
        let shift = u64::from(capacity.min(255));
        (0..shift).for_each(|number| assert!(pipe.write(&message(number))));
        (1..shift).for_each(|_| assert!(pipe.receive().is_some()));
        // A write that would wait hangs this test.
        let last = shift + u64::from(capacity) - 1;
        (shift..last).for_each(|number| assert!(pipe.write(&message(number))));
        let left: Vec<u64> = pipe.drain().iter().map(|message| message.number).collect();
        assert_eq!(left, (shift - 1..last).collect::<Vec<_>>(), "{capacity}");
    }
}

#[test]
fn a_queue_that_no_pipe_can_hold_is_refused() {
    let refused = Pipe::new("q", Some(u32::MAX / 2)).map(drop).unwrap_err().to_string();
    assert!(refused.contains("\"q\"") && refused.contains("fs.pipe-max-size"), "{refused}");
}

#[test]
fn a_closed_pipe_gives_what_it_has_and_then_none() {
    let mut pipe = Pipe::new("p", None).unwrap();
    let messages = [Message { sent: 1, number: u64::MAX }, Message { sent: u64::MAX, number: 2 }];
    assert!(pipe.write(&messages.map(Message::bytes).concat()));
    pipe.close();
    assert_eq!([pipe.receive(), pipe.receive(), pipe.receive()], [Some(messages[0]), Some(messages[1]), None]);
    assert!(!pipe.write(&messages[0].bytes()));
}

#[test]
fn several_receivers_get_whole_messages() {
    const EACH: u64 = 20_000;
    let (pipe, taken) = (Pipe::new("p", None).unwrap(), AtomicU64::new(0));
    let batch: Vec<u8> = (0..256).flat_map(|number| Message { sent: !number, number }.bytes()).collect();
    all(4, |number| {
        if number > 0 {
            for _ in 0..EACH {
                let Message { sent, number } = pipe.receive().unwrap();
                assert_eq!(sent, !number);
                taken.fetch_add(1, Relaxed);
            }
            return;
        }
        // Of every length that is written as a whole.
        let mut left = 3 * EACH;
        while left > 0 {
            let length = left.min(1 + left * 7 % 256);
            assert!(pipe.write(&batch[..length as usize * 16]));
            left -= length;
        }
    });
    assert_eq!((taken.load(Relaxed), pipe.has_message()), (3 * EACH, false));
}
