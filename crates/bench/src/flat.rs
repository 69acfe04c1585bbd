//! The structures that hold tasks as they are, without groups.

use crate::structures::Structure;
use schedlab_model::{MILLISECOND, Nanos, rng::Rng};
use std::collections::VecDeque;

/// First come, first served.
pub struct Queue(VecDeque<u32>);

impl Structure for Queue {
    fn new(_: u32) -> Self {
        Queue(VecDeque::new())
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        self.0.push_back(task);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, _: Nanos) {
        self.0.push_back(task);
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        self.0.pop_front()
    }
}

/// Queues by level, the lowest first.
pub struct Lists {
    queues: [VecDeque<u32>; 64],
    filled: u64,
    used: Vec<Nanos>,
}

impl Lists {
    #[inline(always)]
    fn push(&mut self, task: u32) {
        let level = (self.used[task as usize] >> 16).min(63);
        self.queues[level as usize].push_back(task);
        self.filled |= 1 << level;
    }
}

impl Structure for Lists {
    fn new(tasks: u32) -> Self {
        Lists { queues: std::array::from_fn(|_| VecDeque::new()), filled: 0, used: vec![0; tasks as usize] }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        self.push(task);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        self.sleep(task, ran);
        self.push(task);
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        let used = &mut self.used[task as usize];
        *used = *used / 2 + ran;
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        if self.filled == 0 {
            return None;
        }
        let level = self.filled.trailing_zeros();
        let queue = &mut self.queues[level as usize];
        let task = queue.pop_front();
        if queue.is_empty() {
            self.filled &= self.filled - 1;
        }
        task
    }
}

/// [`Lists`] by use that is halved each second: of a task, all halvings since it was looked at last are one shift.
pub struct Decay {
    lists: Lists,
    seconds: u32,
    /// The second up to which each task's use has been halved.
    halved: Vec<u32>,
}

impl Decay {
    #[inline(always)]
    fn halve(&mut self, task: u32) {
        let since = self.seconds - std::mem::replace(&mut self.halved[task as usize], self.seconds);
        let used = &mut self.lists.used[task as usize];
        *used = used.checked_shr(since).unwrap_or(0);
    }
}

impl Structure for Decay {
    fn new(tasks: u32) -> Self {
        Decay { lists: Lists::new(tasks), seconds: 0, halved: vec![0; tasks as usize] }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        self.halve(task);
        self.lists.push(task);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        self.sleep(task, ran);
        self.lists.push(task);
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        self.halve(task);
        self.lists.used[task as usize] += ran;
    }

    #[inline(always)]
    fn second(&mut self) {
        self.seconds += 1;
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        self.lists.take()
    }
}

/// Puts an entry into a sorted ring. Most come last, or nearly: hogs after all others, of sleepers few wait.
#[inline(always)]
fn insert<T: PartialOrd>(ring: &mut VecDeque<T>, entry: T) {
    match ring.back() {
        Some(last) if entry < *last => {
            let at = ring.partition_point(|other| *other < entry);
            ring.insert(at, entry);
        }
        _ => ring.push_back(entry),
    }
}

/// The least key first, and of equal keys the first to arrive: key, arrival and task in one number, in a sorted ring.
pub struct Sorted {
    ring: VecDeque<u128>,
    keys: Vec<u64>,
    arrivals: u32,
    /// The key of the last task taken: no woken task comes before it.
    floor: u64,
}

impl Sorted {
    #[inline(always)]
    fn push(&mut self, task: u32, key: u64) {
        self.arrivals = self.arrivals.wrapping_add(1);
        insert(&mut self.ring, u128::from(key) << 64 | u128::from(self.arrivals) << 32 | u128::from(task));
    }
}

impl Structure for Sorted {
    fn new(tasks: u32) -> Self {
        Sorted { ring: VecDeque::new(), keys: vec![0; tasks as usize], arrivals: 0, floor: 0 }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        let key = self.keys[task as usize].max(self.floor);
        self.keys[task as usize] = key;
        self.push(task, key);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        self.sleep(task, ran);
        self.push(task, self.keys[task as usize]);
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        self.keys[task as usize] += ran;
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        let first = self.ring.pop_front()?;
        self.floor = (first >> 64) as u64;
        Some(first as u32)
    }
}

/// Of those whose virtual time is at most the mean, the earliest deadline first.
pub struct Eligible {
    /// Deadline, task and virtual time, sorted.
    ring: VecDeque<(u64, u32, u64)>,
    virtual_times: Vec<u64>,
    deadlines: Vec<u64>,
    sum: u64,
    mean: u64,
}

/// A request of [`Eligible`].
const REQUEST: Nanos = MILLISECOND;

impl Eligible {
    #[inline(always)]
    fn push(&mut self, task: u32) {
        let (time, deadline) = (self.virtual_times[task as usize], self.deadlines[task as usize]);
        insert(&mut self.ring, (deadline, task, time));
        self.sum += time;
    }
}

impl Structure for Eligible {
    fn new(tasks: u32) -> Self {
        let zeros = vec![0; tasks as usize];
        Eligible { ring: VecDeque::new(), virtual_times: zeros.clone(), deadlines: zeros, sum: 0, mean: 0 }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        let time = self.virtual_times[task as usize].max(self.mean);
        self.virtual_times[task as usize] = time;
        self.deadlines[task as usize] = time + REQUEST;
        self.push(task);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        self.sleep(task, ran);
        let (time, deadline) = (self.virtual_times[task as usize], &mut self.deadlines[task as usize]);
        if time >= *deadline {
            *deadline = time + REQUEST;
        }
        self.push(task);
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        self.virtual_times[task as usize] += ran;
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        self.mean = self.sum.checked_div(self.ring.len() as u64)?;
        let at = self.ring.iter().position(|(_, _, time)| *time <= self.mean)?;
        let (_, task, time) = self.ring.remove(at)?;
        self.sum -= time;
        Some(task)
    }
}

/// A draw among those that wait, with equal chances.
pub struct Sums {
    /// A Fenwick tree of how many wait.
    sums: Vec<u32>,
    waiting: u32,
    rng: Rng,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, task: u32, change: i32) {
        let mut at = task as usize + 1;
        while at < self.sums.len() {
            self.sums[at] = self.sums[at].wrapping_add_signed(change);
            at += at & at.wrapping_neg();
        }
        self.waiting = self.waiting.wrapping_add_signed(change);
    }
}

impl Structure for Sums {
    fn new(tasks: u32) -> Self {
        let places = (tasks as usize + 1).next_power_of_two() + 1;
        Sums { sums: vec![0; places], waiting: 0, rng: Rng::stream(1, 0) }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        self.add(task, 1);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, _: Nanos) {
        self.add(task, 1);
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        if self.waiting == 0 {
            return None;
        }
        let mut left = self.rng.below(self.waiting.into()) as u32;
        let (mut at, mut step) = (0, self.sums.len() - 1);
        while step > 0 {
            if at + step < self.sums.len() && self.sums[at + step] <= left {
                at += step;
                left -= self.sums[at];
            }
            step /= 2;
        }
        self.add(at as u32, -1);
        Some(at as u32)
    }
}

/// The greatest counter first; when all are used up, all tasks get new ones.
pub struct Scan {
    ready: Vec<u32>,
    counters: Vec<u32>,
}

/// What a counter is of, and how many of them a task gets.
const TICK: Nanos = 10 * MILLISECOND;
const COUNT: u32 = 15;

impl Structure for Scan {
    fn new(tasks: u32) -> Self {
        Scan { ready: Vec::new(), counters: vec![COUNT; tasks as usize] }
    }

    #[inline(always)]
    fn wake(&mut self, task: u32) {
        self.ready.push(task);
    }

    #[inline(always)]
    fn again(&mut self, task: u32, ran: Nanos) {
        self.sleep(task, ran);
        self.ready.push(task);
    }

    #[inline(always)]
    fn sleep(&mut self, task: u32, ran: Nanos) {
        let counter = &mut self.counters[task as usize];
        *counter = counter.saturating_sub(ran.div_ceil(TICK) as u32);
    }

    #[inline(always)]
    fn take(&mut self) -> Option<u32> {
        let (mut best, mut most) = (self.ready.len().checked_sub(1)?, 0);
        for (at, &task) in self.ready.iter().enumerate() {
            let counter = self.counters[task as usize];
            if counter > most {
                (best, most) = (at, counter);
            }
        }
        if most == 0 {
            self.counters.iter_mut().for_each(|counter| *counter = *counter / 2 + COUNT);
        }
        Some(self.ready.swap_remove(best))
    }
}
