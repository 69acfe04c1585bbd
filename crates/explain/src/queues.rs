//! The processors with their runqueues, and the time for which one was idle while a task waited for another.
//!
//! A processor is *free* if it is idle and no task waits in its own runqueue: a task that was woken to an idle processor and has not been
//! switched in yet wastes nothing. Wasted at any moment is the lesser of the free processors and the tasks that wait
//! for busy ones. Whether such a task may use the free processor is not in a recording.

use crate::{
    blocks::Clock,
    processor::{LENGTHS, Processor},
};

/// Processors are added as their events come, up to the largest number that an event can have.
#[derive(Debug)]
pub(crate) struct Queues {
    pub all: Vec<Processor>,
    /// Tasks that wait for busy processors.
    stuck: u32,
    free: u32,
    now: u64,
    /// For how long some task was stuck so far: the clock of [`Processor::free_since`].
    stuck_for: u64,
    /// Wasted so far, processor ns.
    pub wasted: u64,
    /// When the recording begins, and where time counts: from and to.
    start: u64,
    pub window: (u64, u64),
    /// The blocks of time that curves and series are kept by.
    pub clock: Clock,
}

impl Queues {
    pub fn new(start: u64, window: (u64, u64)) -> Queues {
        let clock = Clock::new(window.0);
        Queues { all: Vec::new(), stuck: 0, free: 0, now: start, stuck_for: 0, wasted: 0, start, window, clock }
    }

    /// Makes sure that a processor is known.
    #[inline]
    pub fn ensure(&mut self, cpu: u16) {
        if usize::from(cpu) >= self.all.len() {
            let start = self.start;
            self.all.resize_with(usize::from(cpu) + 1, || Processor::new(start));
        }
    }

    /// A task begins or ends to wait for a processor.
    #[inline]
    pub fn wait(&mut self, cpu: u16, begins: bool, now: u64) {
        self.ensure(cpu);
        self.change(cpu, now, |processor| {
            processor.waiting = if begins { processor.waiting + 1 } else { processor.waiting.saturating_sub(1) };
        });
    }

    /// A processor that was met switches to a task, or to none.
    #[inline]
    pub fn switch(&mut self, cpu: u16, busy: bool, now: u64) {
        let processor = &mut self.all[usize::from(cpu)];
        if processor.busy == busy && processor.switches > 0 {
            processor.switches += 1;
            return;
        }
        self.change(cpu, now, |processor| {
            processor.busy = busy;
            processor.switches += 1;
        });
    }

    /// Counts time up to now, then changes a processor.
    #[inline]
    fn change(&mut self, cpu: u16, now: u64, change: impl FnOnce(&mut Processor)) {
        self.advance(now);
        let now = self.now;
        let stuck_for = self.stuck_for;
        let window = self.window;
        let processor = &mut self.all[usize::from(cpu)];
        count_length(processor, now, window, &self.clock);
        let before = (processor.is_free(), processor.stuck());
        change(processor);
        let after = (processor.is_free(), processor.stuck());
        self.stuck = self.stuck - before.1 + after.1;
        if before.0 != after.0 {
            self.free = self.free + u32::from(after.0) - u32::from(before.0);
            if after.0 {
                processor.free_since = Some(stuck_for);
            } else if let Some(since) = processor.free_since.take() {
                processor.wasted += stuck_for - since;
            }
        }
    }

    #[inline]
    fn advance(&mut self, now: u64) {
        if now > self.now {
            if self.stuck > 0 {
                let time = within(self.window, self.now, now);
                self.stuck_for += time;
                self.wasted = self.wasted.saturating_add(time.saturating_mul(self.stuck.min(self.free).into()));
            }
            self.now = now;
        }
    }

    /// Counts what is left at the end.
    pub fn end(&mut self, now: u64) {
        self.advance(now);
        for processor in &mut self.all {
            count_length(processor, now, self.window, &self.clock);
            if let Some(since) = processor.free_since.take() {
                processor.wasted += self.stuck_for - since;
            }
        }
    }
}

/// How much of a time lies in a window.
#[inline]
pub(crate) fn within(window: (u64, u64), from: u64, to: u64) -> u64 {
    to.min(window.1).saturating_sub(from.max(window.0))
}

#[inline]
fn count_length(processor: &mut Processor, now: u64, window: (u64, u64), clock: &Clock) {
    let time = within(window, processor.counted, now);
    let length = processor.length();
    processor.lengths[(length as usize).min(LENGTHS - 1)] += time;
    processor.queued += u128::from(length) * u128::from(time);
    // A length between two events of one time is none.
    if time > 0 {
        processor.longest = processor.longest.max(length);
        processor.curve.add(clock, processor.counted.max(window.0), now.min(window.1), u64::from(length));
    }
    processor.counted = now.max(processor.counted);
}

impl Processor {
    /// Tasks that want it, the running one included.
    #[inline]
    fn length(&self) -> u32 {
        self.waiting + u32::from(self.busy)
    }

    #[inline]
    fn is_free(&self) -> bool {
        // Before its first switch its state is unknown.
        !self.busy && self.waiting == 0 && self.switches > 0
    }

    #[inline]
    fn stuck(&self) -> u32 {
        if self.busy { self.waiting } else { 0 }
    }
}
