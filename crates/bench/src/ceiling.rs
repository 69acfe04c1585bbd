//! What this processor can do: the barest loops of the same loads. The same kind of queue and heap, the same random
//! numbers, a compact record of a task, the counters and the histogram; no policy, no machine, no events.
//!
//! They do the same simulated work to the nanosecond: as many switches, and the same waits.

use crate::loads::{JOB, Load, RUN, SLICE, between_starts, sleep};
use schedlab_metrics::Histogram;
use schedlab_model::{Nanos, rng::Rng};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// What a loop came to.
pub struct Outcome {
    pub switches: u64,
    /// Mean wait in the runqueue, s.
    pub mean_wait: f64,
    /// Processor time that the tasks had, ns.
    pub ran: Nanos,
}

/// Runs the load of so many tasks and about so many switches.
pub fn run(load: Load, tasks: u32, switches: u64, seed: u64) -> Outcome {
    let end = load.duration(tasks, switches);
    match load {
        Load::Ring => ring(tasks, end),
        Load::Sleepers => sleepers(tasks, end, seed),
    }
}

/// Counters and the histogram of waits.
struct Books {
    switches: u64,
    waited: u128,
    waits: Histogram,
}

impl Books {
    fn new() -> Books {
        Books { switches: 0, waited: 0, waits: Histogram::default() }
    }

    #[inline(always)]
    fn wait(&mut self, length: Nanos) {
        self.waited += u128::from(length);
        self.waits.record(length);
    }

    fn close(self, ran: Nanos) -> Outcome {
        let mean_wait = self.waited as f64 / self.waits.count().max(1) as f64 / 1e9;
        Outcome { switches: self.switches, mean_wait, ran }
    }
}

struct Turn {
    since: Nanos,
    ran: Nanos,
}

fn ring(count: u32, end: Nanos) -> Outcome {
    let mut tasks: Vec<Turn> = (0..count).map(|_| Turn { since: 0, ran: 0 }).collect();
    let mut queue: VecDeque<u32> = (0..count).collect();
    let mut books = Books::new();
    let mut now = 0;
    while let Some(id) = queue.pop_front() {
        let task = &mut tasks[id as usize];
        books.wait(now - task.since);
        if now + SLICE > end {
            break;
        }
        now += SLICE;
        task.ran += SLICE;
        task.since = now;
        books.switches += 1;
        queue.push_back(id);
    }
    let ran = tasks.iter().map(|task| task.ran).sum::<Nanos>();
    books.close(ran + end - now)
}

struct Sleeper {
    rng: Rng,
    woken: Nanos,
    ran: Nanos,
}

/// Sleepers by the time at which they wake, and for equal times in the order in which they went to sleep: both and the
/// task in one number.
struct Alarms {
    heap: BinaryHeap<Reverse<u128>>,
    set: u32,
}

impl Alarms {
    #[inline(always)]
    fn set(&mut self, when: Nanos, task: u32) {
        self.set = self.set.wrapping_add(1);
        self.heap.push(Reverse(u128::from(when) << 64 | u128::from(self.set) << 32 | u128::from(task)));
    }

    #[inline(always)]
    fn next(&self) -> Nanos {
        self.heap.peek().map_or(Nanos::MAX, |Reverse(first)| (first >> 64) as Nanos)
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        self.heap.pop().map(|Reverse(first)| first as u32)
    }
}

fn sleepers(count: u32, end: Nanos, seed: u64) -> Outcome {
    let draw = |[low, high]: [Nanos; 2], rng: &mut Rng| low + rng.below(high - low + 1);
    let sleep = sleep(count);
    let mut tasks: Vec<Sleeper> =
        (0..count).map(|copy| Sleeper { rng: stream(seed, copy), woken: 0, ran: 0 }).collect();
    let mut alarms = Alarms { heap: BinaryHeap::new(), set: 0 };
    (0..count).for_each(|task| alarms.set(u64::from(task) * between_starts(), task));
    let mut queue: VecDeque<u32> = VecDeque::new();
    let mut books = Books::new();
    // Who runs, since when and until when; the end of time while the processor is idle.
    let (mut running, mut began, mut done) = (0, 0, Nanos::MAX);
    loop {
        let now = done.min(alarms.next());
        if now > end {
            break;
        }
        if now == done {
            let task = &mut tasks[running as usize];
            task.ran += now - began;
            alarms.set(now + draw(sleep, &mut task.rng), running);
            books.switches += 1;
            done = Nanos::MAX;
        } else if let Some(woken) = alarms.take() {
            tasks[woken as usize].woken = now;
            queue.push_back(woken);
        }
        if done == Nanos::MAX
            && let Some(next) = queue.pop_front()
        {
            let task = &mut tasks[next as usize];
            books.wait(now - task.woken);
            (running, began, done) = (next, now, now + draw(RUN, &mut task.rng));
        }
    }
    let last = if done == Nanos::MAX { 0 } else { end - began };
    let ran = tasks.iter().map(|task| task.ran).sum::<Nanos>();
    books.close(ran + last)
}

/// The random numbers that the simulator gives to the same task: those of its job's name (FNV-1a) and its number.
fn stream(seed: u64, copy: u32) -> Rng {
    let name = JOB
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    Rng::stream(seed, name << 32 ^ u64::from(copy))
}
