//! Locks of all kinds.

use super::{ROUNDS, Unprotected, all, read_write, shared, thread_number};
use crate::sync::{
    inheriting::Inheriting,
    locks::{Hold, Locks, Taker},
    mutex::Mutex,
};
use schedlab_model::{
    program::{Step, Times},
    rng::Rng,
    scenario::Protocol,
};
use schedlab_workloads::Programs;
use std::{
    sync::{
        Barrier, Mutex as StdMutex,
        atomic::{
            AtomicU64,
            Ordering::{Relaxed, SeqCst},
        },
    },
    thread,
};

#[test]
fn a_mutex_is_held_by_one_task_at_a_time() {
    let (mutex, sum) = (shared::<Mutex>(), Unprotected::default());
    all(4, |number| {
        for _ in 0..ROUNDS / 4 {
            mutex.take(number as u32 + 1);
            assert_eq!(mutex.holder(), number as u32 + 1);
            sum.add();
            mutex.give_back(number as u32 + 1);
        }
    });
    assert_eq!((sum.0.load(Relaxed), mutex.holder()), (ROUNDS, 0));
}

#[test]
fn a_writer_is_alone_and_readers_are_not_with_it() {
    let (lock, sum) = (read_write(), Unprotected::default());
    let (readers, writers) = (AtomicU64::new(0), AtomicU64::new(0));
    all(4, |number| {
        let mut rng = Rng::stream(1, number);
        for _ in 0..ROUNDS / 4 {
            let (reads, task) = (rng.below(3) > 0, number as u32 + 1);
            lock.take(lock.draw(), reads, task);
            if reads {
                readers.fetch_add(1, SeqCst);
                assert_eq!(writers.load(SeqCst), 0);
                assert!(lock.holders().contains(&task));
                readers.fetch_sub(1, SeqCst);
            } else {
                assert_eq!(writers.fetch_add(1, SeqCst), 0);
                assert_eq!(readers.load(SeqCst), 0);
                writers.fetch_sub(1, SeqCst);
            }
            sum.0.fetch_add(1, Relaxed);
            lock.give_back(reads, task);
        }
    });
    assert_eq!((sum.0.load(Relaxed), lock.holders()), (ROUNDS, vec![]));
}

#[test]
fn writers_alone_lose_no_addition() {
    let (lock, sum) = (read_write(), Unprotected::default());
    all(4, |number| {
        for _ in 0..ROUNDS / 4 {
            lock.take(lock.draw(), false, number as u32 + 1);
            sum.add();
            lock.give_back(false, number as u32 + 1);
        }
    });
    assert_eq!(sum.0.load(Relaxed), ROUNDS);
}

#[test]
fn readers_have_the_lock_together() {
    let (lock, inside) = (read_write(), Barrier::new(3));
    // Each leaves only when all are inside. The numbers are in different words.
    all(3, |number| {
        let task = number as u32 * 40 + 1;
        lock.take(lock.draw(), true, task);
        inside.wait();
        lock.give_back(true, task);
    });
    assert!(lock.holders().is_empty());
}

#[test]
fn a_reader_behind_a_waiting_writer_waits_for_it() {
    let lock = read_write();
    lock.take(lock.draw(), true, 1);
    let (writer, behind) = (lock.draw(), lock.draw());
    assert!(!lock.admits(writer, false) && !lock.admits(behind, true), "the first reads");
    lock.give_back(true, 1);
    assert!(lock.admits(writer, false) && !lock.admits(behind, true), "the writer is next");
    lock.take(writer, false, 2);
    assert_eq!(lock.holders(), [2]);
    lock.give_back(false, 2);
    assert!(lock.admits(behind, true));
}

#[test]
fn waiters_get_a_reader_writer_lock_in_the_order_of_their_tickets() {
    let (lock, order) = (read_write(), StdMutex::new(Vec::new()));
    lock.take(lock.draw(), false, 1);
    let tickets: Vec<u32> = (0..40).map(|_| lock.draw()).collect();
    thread::scope(|scope| {
        // The last first: the order is not that of the threads. More than there are bits of the futex.
        for (number, &ticket) in tickets.iter().enumerate().rev() {
            let order = &order;
            scope.spawn(move || {
                lock.take(ticket, false, number as u32 + 2);
                order.lock().unwrap().push(number);
                lock.give_back(false, number as u32 + 2);
            });
        }
        lock.give_back(false, 1);
    });
    assert_eq!(order.into_inner().unwrap(), (0..40).collect::<Vec<_>>());
}

#[test]
fn the_turns_of_killed_waiters_are_passed_on_when_they_come() {
    let lock = read_write();
    lock.take(lock.draw(), false, 1);
    let [reads, writes, two, three, last] = std::array::from_fn(|_| lock.draw());
    lock.pass_on(two, true, 4);
    lock.pass_on(writes, false, 3);
    assert!(!lock.admits(reads, true), "the lock is held");
    lock.give_back(false, 1);
    assert!(lock.admits(reads, true) && !lock.admits(three, true), "a killed writer is between them");
    lock.take(reads, true, 2);
    assert!(!lock.admits(three, true) && !lock.admits(last, false), "and its turn has not come");
    lock.give_back(true, 2);
    assert!(lock.admits(three, true) && !lock.admits(last, false));
    // One whose turn has come.
    lock.pass_on(three, true, 5);
    assert!(lock.admits(last, false));
    lock.take(last, false, 6);
    assert_eq!(lock.holders(), [6]);
}

#[test]
fn a_reader_that_is_killed_when_it_has_entered_leaves() {
    let lock = read_write();
    let (first, writes) = (lock.draw(), lock.draw());
    lock.take(first, true, 1);
    assert!(!lock.admits(writes, false));
    lock.pass_on(first, true, 1);
    assert!(lock.admits(writes, false) && lock.holders().is_empty());
}

#[test]
fn waiters_may_be_killed_at_any_time() {
    let (lock, sum) = (read_write(), Unprotected::default());
    let (readers, writers) = (AtomicU64::new(0), AtomicU64::new(0));
    all(4, |number| {
        let mut rng = Rng::stream(2, number);
        for _ in 0..ROUNDS / 4 {
            let (reads, task, ticket) = (rng.below(2) > 0, number as u32 + 1, lock.draw());
            match rng.below(6) {
                0 | 1 => lock.pass_on(ticket, reads, task),
                2 => {
                    // Killed when it has the lock, or just before.
                    while !lock.admits(ticket, reads) {
                        thread::yield_now();
                    }
                    if rng.below(2) > 0 {
                        lock.take(ticket, reads, task);
                    }
                    lock.pass_on(ticket, reads, task);
                }
                _ => {
                    lock.take(ticket, reads, task);
                    if reads {
                        readers.fetch_add(1, SeqCst);
                        assert_eq!(writers.load(SeqCst), 0);
                        readers.fetch_sub(1, SeqCst);
                    } else {
                        assert_eq!((writers.fetch_add(1, SeqCst), readers.load(SeqCst)), (0, 0));
                        sum.add();
                        writers.fetch_sub(1, SeqCst);
                    }
                    lock.give_back(reads, task);
                }
            }
        }
    });
    assert!(sum.0.load(Relaxed) > 0 && lock.holders().is_empty());
    let last = lock.draw();
    assert!(lock.admits(last, false), "no turn is left over");
}

#[test]
fn an_inheriting_lock_is_held_by_one_task_at_a_time() {
    let (lock, sum) = (shared::<Inheriting>(), Unprotected::default());
    assert!(Inheriting::are_there());
    all(4, |number| {
        let (task, process) = (number as u32 + 1, thread_number());
        for _ in 0..ROUNDS / 4 {
            lock.take(task, process);
            assert_eq!(lock.holder(), task);
            sum.add();
            lock.give_back(task, process).unwrap();
        }
    });
    assert_eq!((sum.0.load(Relaxed), lock.holder()), (ROUNDS, 0));
    assert!(lock.give_back(1, thread_number()).is_err(), "it is not this task's");
}

#[test]
fn only_a_dead_holder_is_buried() {
    let (lock, process) = (shared::<Inheriting>(), thread_number());
    lock.bury(process);
    lock.take(1, process);
    lock.bury(process + 1);
    lock.give_back(1, process).unwrap();
    lock.take(2, process);
    lock.bury(process);
    assert!(lock.give_back(2, process).is_err());
    assert_eq!(lock.holder(), 2, "it keeps the lock");
}

#[test]
fn a_protocol_decides_what_a_lock_is() {
    let lock = |name: &str| Step::Lock(name.into());
    let steps = [lock("a"), lock("b"), lock("c"), lock("d")];
    let mut programs = Programs::compile([(&steps[..], Times::Count(1))]);
    programs.protocols = vec![Protocol::None, Protocol::Inherit, Protocol::Ceiling(9), Protocol::Inherit];
    let locks = Locks::new(&programs, 4).unwrap();
    let by = |task| Taker { task, process: thread_number() };
    (0..4).for_each(|lock| locks.take(lock, Hold::Alone, by(lock as u32 + 1), |_| panic!("it has no tickets")));
    let holders = || (0..4).map(|lock| locks.holders(lock)).collect::<Vec<_>>();
    assert_eq!(holders(), [[1], [2], [3], [4]]);
    // Only the kernel's locks know the process: one that others have.
    locks.was_killed(None, None, Taker { task: 1, process: thread_number() });
    let given: Vec<bool> = (0..4).map(|lock| locks.give_back(lock, Hold::Alone, by(lock as u32 + 1)).is_ok()).collect();
    assert_eq!((given, holders()), (vec![true, false, true, false], vec![vec![], vec![2], vec![], vec![4]]));
}

#[test]
fn only_locks_that_are_read_have_tickets() {
    let (lock, read) = (|name: &str| Step::Lock(name.into()), |name: &str| Step::ReadLock(name.into()));
    let (one, other) = ([lock("a"), lock("b"), lock("c")], [read("d"), read("b"), read("b")]);
    let programs = Programs::compile([(&one[..], Times::Count(1)), (&other[..], Times::Count(1))]);
    let locks = Locks::new(&programs, 65).unwrap();
    let has: Vec<bool> = (0..locks.len()).map(|lock| locks.has_tickets(lock)).collect();
    assert_eq!(
        (&programs.locks[..], &has[..]),
        (&["a", "b", "c", "d"].map(String::from)[..], &[false, true, false, true][..])
    );
    // Their bits are their own.
    let taker = |task| Taker { task, process: thread_number() };
    let mut drawn = Vec::new();
    for (lock, hold) in [(0, Hold::Alone), (1, Hold::Reading), (3, Hold::Reading)] {
        for task in if hold == Hold::Alone { vec![7] } else { vec![65, 1] } {
            locks.take(lock, hold, taker(task), |ticket| drawn.push((lock, ticket)));
        }
    }
    assert_eq!(drawn, [(1, 0), (1, 1), (3, 0), (3, 1)]);
    let holders = |lock| locks.holders(lock);
    assert_eq!([holders(0), holders(1), holders(2), holders(3)], [vec![7], vec![1, 65], vec![], vec![1, 65]]);
    locks.give_back(1, Hold::Reading, taker(65)).unwrap();
    locks.give_back(0, Hold::Alone, taker(7)).unwrap();
    assert_eq!([holders(0), holders(1), holders(3)], [vec![], vec![1], vec![1, 65]]);
}
