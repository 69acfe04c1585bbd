//! What tasks synchronise with, used by several threads at once: futexes do not distinguish them from processes.

mod locks;
mod others;

use super::{
    condition::{Condition, ConditionWords},
    read_write::{ReadWrite, Words},
};
use schedlab_linux::shared::{Shareable, Shared};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

/// Enough for a lost wakeup to show.
const ROUNDS: u64 = 100_000;

fn shared<T: Shareable>() -> &'static T {
    &Shared::<T>::new(1).unwrap().values()[0]
}

/// A reader-writer lock for 128 tasks.
fn read_write() -> ReadWrite<'static> {
    let numbers = |count: usize| Shared::<AtomicU64>::new(count).unwrap().values();
    ReadWrite { words: shared::<Words>(), reading: numbers(2), marks: numbers(128) }
}

/// A condition variable for 128 tasks.
fn condition() -> Condition<'static> {
    Condition { words: shared::<ConditionWords>(), marks: Shared::<AtomicU64>::new(128).unwrap().values() }
}

/// The number by which the kernel knows this thread.
fn thread_number() -> u32 {
    nix::unistd::gettid().as_raw() as u32
}

/// Several threads at once, each with its number.
fn all(threads: u64, act: impl Fn(u64) + Sync) {
    thread::scope(|scope| {
        for number in 0..threads {
            let act = &act;
            scope.spawn(move || act(number));
        }
    });
}

/// A number that is wrong if two tasks add to it at once.
#[derive(Default)]
struct Unprotected(AtomicU64);

impl Unprotected {
    fn add(&self) {
        self.0.store(self.0.load(Relaxed) + 1, Relaxed);
    }
}
