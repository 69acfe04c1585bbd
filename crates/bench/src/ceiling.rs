//! What this processor can do: the barest loops of the same loads. The same kind of queue and heap, the same random
//! numbers, the same ticks, a compact record of a task, the counters and the histogram; no policy, no machine, no events.
//!
//! Under the schedulers of [`Load`] they do the same simulated work to the nanosecond: as many switches, and the same waits.
//! Under the others the loops of hogs make as many switches and ticks, those of sleepers as many wakeups and ticks.

use crate::{
    flat::Queue,
    loads::{JOB, Load, RUN, SLICE, between_starts, sleep},
    structures::Structure,
};
use schedlab_metrics::Histogram;
use schedlab_model::{Nanos, SECOND, rng::Rng};
use std::{cmp::Reverse, collections::BinaryHeap};

/// What a loop came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Outcome {
    pub switches: u64,
    /// Ticks of the clock, of each processor.
    pub ticks: u64,
    /// Mean wait in the runqueue, s.
    pub mean_wait: f64,
    /// Processor time that the tasks had, ns.
    pub ran: Nanos,
    /// Passes that ended, where they are counted, and their mean length, s.
    pub passes: u64,
    pub mean_pass: f64,
}

/// How long a loop goes on, and how it passes.
#[derive(Debug, Clone, Copy)]
pub struct Course {
    pub tasks: u32,
    pub processors: u32,
    pub end: Nanos,
    /// Time between two ticks; none where the scheduler wants none.
    pub tick: Option<Nanos>,
    /// Mean length of a hog's turn. With ticks, a turn ends at the first tick after that.
    pub turn: Nanos,
    pub seed: u64,
}

/// Runs the load with a number of tasks and about a number of switches.
pub fn run(load: Load, tasks: u32, switches: u64, seed: u64) -> Outcome {
    let end = load.duration(tasks, switches);
    of::<Queue>(load, Course { tasks, processors: 1, end, tick: None, turn: SLICE, seed })
}

/// Runs a load with a structure. Hogs, whose ticks are looked at only where they end a turn, account for the others in one step.
pub fn of<S: Structure>(load: Load, course: Course) -> Outcome {
    match (load, course.tick, course.processors) {
        (Load::Ring, None, _) => ring::<S>(course),
        (Load::Ring, Some(tick), _) => ticking_ring::<S>(course, tick),
        (Load::Sleepers, None, 1) => sleepers::<S, false, false>(course),
        (Load::Sleepers, Some(_), 1) => sleepers::<S, true, false>(course),
        (Load::Passes, None, 1) => sleepers::<S, false, true>(course),
        (Load::Passes, Some(_), 1) => sleepers::<S, true, true>(course),
        (Load::Sleepers | Load::Passes, None, _) => crowd::<S, false>(course),
        (Load::Sleepers | Load::Passes, Some(_), _) => crowd::<S, true>(course),
    }
}

/// Counters and the histogram of waits.
struct Books {
    switches: u64,
    ticks: u64,
    waited: u128,
    waits: Histogram,
    passed: u128,
    passes: Histogram,
}

impl Books {
    fn new() -> Books {
        let (waits, passes) = (Histogram::default(), Histogram::default());
        Books { switches: 0, ticks: 0, waited: 0, waits, passed: 0, passes }
    }

    #[inline(always)]
    fn wait(&mut self, length: Nanos) {
        self.waited += u128::from(length);
        self.waits.record(length);
    }

    #[inline(always)]
    fn pass(&mut self, length: Nanos) {
        self.passed += u128::from(length);
        self.passes.record(length);
    }

    fn close(self, ran: Nanos) -> Outcome {
        let mean = |sum: u128, of: &Histogram| sum as f64 / of.count().max(1) as f64 / 1e9;
        let (mean_wait, mean_pass) = (mean(self.waited, &self.waits), mean(self.passed, &self.passes));
        Outcome { switches: self.switches, ticks: self.ticks, mean_wait, ran, passes: self.passes.count(), mean_pass }
    }
}

/// Notifies a structure of each second, at the first tick after it.
struct Seconds(Nanos);

impl Seconds {
    #[inline(always)]
    fn pass<S: Structure>(&mut self, now: Nanos, ready: &mut S) {
        while now >= self.0 {
            self.0 += SECOND;
            ready.second();
        }
    }
}

struct Turn {
    since: Nanos,
    ran: Nanos,
}

fn turns<S: Structure>(count: u32) -> (Vec<Turn>, S) {
    let mut ready = S::new(count);
    (0..count).for_each(|task| ready.wake(task));
    ((0..count).map(|_| Turn { since: 0, ran: 0 }).collect(), ready)
}

fn ring<S: Structure>(Course { tasks: count, end, turn, .. }: Course) -> Outcome {
    let (mut tasks, mut ready) = turns::<S>(count);
    let mut books = Books::new();
    let mut now = 0;
    while let Some(id) = ready.take() {
        let task = &mut tasks[id as usize];
        books.wait(now - task.since);
        if now + turn > end {
            break;
        }
        now += turn;
        task.ran += turn;
        task.since = now;
        books.switches += 1;
        ready.again(id, turn);
    }
    let ran = tasks.iter().map(|task| task.ran).sum::<Nanos>();
    books.close(ran + end - now)
}

/// Ticks charge the running task and look whether its turn is over. Those before the one that ends it only count, so they are
/// counted in one step; a structure receives the seconds among them before its next choice.
fn ticking_ring<S: Structure>(Course { tasks: count, end, turn, .. }: Course, tick: Nanos) -> Outcome {
    let (mut tasks, mut ready) = turns::<S>(count);
    let mut books = Books::new();
    let (mut now, mut over, mut seconds) = (0, turn, Seconds(SECOND));
    let (mut running, mut began) = (ready.take(), 0);
    while let Some(id) = running
        && now + tick <= end
    {
        let mut ticks = 1;
        if now + tick < over {
            ticks = (over - now).div_ceil(tick);
            if now + ticks * tick > end {
                ticks = (end - now) / tick;
            }
        }
        now += ticks * tick;
        books.ticks += ticks;
        seconds.pass(now, &mut ready);
        let task = &mut tasks[id as usize];
        task.ran += ticks * tick;
        if now < over {
            break;
        }
        over += turn;
        task.since = now;
        ready.again(id, now - began);
        running = ready.take();
        let Some(next) = running else { break };
        books.switches += u64::from(next != id);
        books.wait(now - tasks[next as usize].since);
        began = now;
    }
    let ran = tasks.iter().map(|task| task.ran).sum::<Nanos>();
    books.close(ran + end - now)
}

struct Sleeper {
    rng: Rng,
    woken: Nanos,
    ran: Nanos,
    /// When its pass began; the end of time before its first.
    pass_began: Nanos,
}

impl Sleeper {
    fn all(Course { tasks, seed, .. }: Course) -> Vec<Sleeper> {
        let one = |copy| Sleeper { rng: stream(seed, copy), woken: 0, ran: 0, pass_began: Nanos::MAX };
        (0..tasks).map(one).collect()
    }

    /// It runs again: a pass has ended, unless this is its first.
    #[inline(always)]
    fn pass(&mut self, now: Nanos, books: &mut Books) {
        let began = std::mem::replace(&mut self.pass_began, now);
        if began == Nanos::MAX {
            self.pass_began = self.woken;
        } else {
            books.pass(now - began);
        }
    }

    #[inline(always)]
    fn draw(&mut self, [low, high]: [Nanos; 2]) -> Nanos {
        low + self.rng.below(high - low + 1)
    }
}

/// What will happen, by time, and at equal times in the order in which it was set: both and whose it is in one number.
struct Alarms {
    heap: BinaryHeap<Reverse<u128>>,
    set: u32,
}

impl Alarms {
    /// With the first wakeup of each sleeper.
    fn new(Course { tasks, processors, .. }: Course) -> Alarms {
        let mut alarms = Alarms { heap: BinaryHeap::new(), set: 0 };
        (0..tasks).for_each(|task| alarms.set(u64::from(task) * between_starts() / u64::from(processors), task));
        alarms
    }

    #[inline(always)]
    fn set(&mut self, when: Nanos, whose: u32) {
        self.set = self.set.wrapping_add(1);
        self.heap.push(Reverse(u128::from(when) << 64 | u128::from(self.set) << 32 | u128::from(whose)));
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

fn sleepers<S: Structure, const TICKS: bool, const PASSES: bool>(course: Course) -> Outcome {
    let sleep = sleep(course.tasks);
    let (mut tasks, mut alarms, mut ready) = (Sleeper::all(course), Alarms::new(course), S::new(course.tasks));
    let mut books = Books::new();
    let tick = course.tick.unwrap_or(Nanos::MAX);
    let (mut next_tick, mut seconds) = (tick, Seconds(SECOND));
    // The running task, since when, when it was charged last, and until when it runs; the end of time while the processor idles.
    let (mut running, mut began, mut charged, mut done) = (0, 0, 0, Nanos::MAX);
    loop {
        let now = done.min(alarms.next());
        if TICKS && next_tick < now.min(course.end) {
            seconds.pass(next_tick, &mut ready);
            next_tick += tick;
            books.ticks += 1;
            if done < Nanos::MAX {
                tasks[running as usize].ran += next_tick - tick - charged;
                charged = next_tick - tick;
            }
            continue;
        }
        if now > course.end {
            break;
        }
        if now == done {
            let task = &mut tasks[running as usize];
            task.ran += now - charged;
            alarms.set(now + task.draw(sleep), running);
            ready.sleep(running, now - began);
            books.switches += 1;
            done = Nanos::MAX;
        } else if let Some(woken) = alarms.take() {
            tasks[woken as usize].woken = now;
            ready.wake(woken);
        }
        if done == Nanos::MAX
            && let Some(next) = ready.take()
        {
            let task = &mut tasks[next as usize];
            books.wait(now - task.woken);
            if PASSES {
                task.pass(now, &mut books);
            }
            (running, began, charged, done) = (next, now, now, now + task.draw(RUN));
        }
    }
    let last = if done == Nanos::MAX { 0 } else { course.end - charged };
    let ran = tasks.iter().map(|task| task.ran).sum::<Nanos>();
    books.close(ran + last)
}

/// A processor of a crowd: its running task, since when it is charged, and the waiting tasks.
struct Processor<S> {
    running: Option<u32>,
    began: Nanos,
    charged: Nanos,
    ready: S,
}

/// Sleepers on many processors, each of which has its own; whatever happens next on any of them is in one heap.
fn crowd<S: Structure, const TICKS: bool>(course: Course) -> Outcome {
    let Course { tasks: count, processors, end, .. } = course;
    let sleep = sleep(count / processors);
    let (mut tasks, mut alarms) = (Sleeper::all(course), Alarms::new(course));
    let idle = |_| Processor { running: None, began: 0, charged: 0, ready: S::new(count.div_ceil(processors)) };
    let mut all: Vec<Processor<S>> = (0..processors).map(idle).collect();
    let mut books = Books::new();
    let tick = course.tick.unwrap_or(Nanos::MAX);
    let (mut next_tick, mut next_second) = (tick, SECOND);
    loop {
        let now = alarms.next();
        if TICKS && next_tick < now.min(end) {
            let second = next_tick >= next_second;
            next_second += if second { SECOND } else { 0 };
            for processor in &mut all {
                books.ticks += 1;
                if second {
                    processor.ready.second();
                }
                if let Some(id) = processor.running {
                    tasks[id as usize].ran += next_tick - processor.charged;
                    processor.charged = next_tick;
                }
            }
            next_tick += tick;
            continue;
        }
        if now > end {
            break;
        }
        // The running task has no other timer than the end of its run.
        let Some(id) = alarms.take() else { break };
        let processor = &mut all[(id % processors) as usize];
        let task = &mut tasks[id as usize];
        if processor.running == Some(id) {
            task.ran += now - processor.charged;
            alarms.set(now + task.draw(sleep), id);
            processor.ready.sleep(id / processors, now - processor.began);
            books.switches += 1;
            processor.running = None;
        } else {
            task.woken = now;
            processor.ready.wake(id / processors);
        }
        if processor.running.is_none()
            && let Some(next) = processor.ready.take()
        {
            let next = next * processors + id % processors;
            let task = &mut tasks[next as usize];
            books.wait(now - task.woken);
            alarms.set(now + task.draw(RUN), next);
            (processor.running, processor.began, processor.charged) = (Some(next), now, now);
        }
    }
    books.close(tasks.iter().map(|task| task.ran).sum())
}

/// The random numbers that the simulator gives to the same task: those of its job's name (FNV-1a) and its number.
fn stream(seed: u64, copy: u32) -> Rng {
    let name = JOB
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    Rng::stream(seed, name << 32 ^ u64::from(copy))
}
