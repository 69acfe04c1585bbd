//! Sums by blocks of time, for intervals by bootstrap: at most [`MOST`] equal blocks, whatever the length of the recording.
//!
//! Blocks begin small. When the recording outgrows them, their length doubles and pairs of them become one.

/// Blocks of a recording.
const MOST: u64 = 64;
/// The length of the first blocks: 2^20 ns, about a millisecond.
const FIRST: u32 = 20;
/// Cells of a coarse distribution for each power of two.
const CELLS: u32 = 16;

/// The length of blocks at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    start: u64,
    shift: u32,
}

impl Clock {
    pub fn new(start: u64) -> Clock {
        Clock { start, shift: FIRST }
    }

    /// Makes room for a time.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        while now.saturating_sub(self.start) >> self.shift >= MOST {
            self.shift += 1;
        }
    }

    /// The length of a block, ns.
    pub fn width(&self) -> u64 {
        1 << self.shift
    }

    fn block(&self, time: u64) -> u64 {
        time.saturating_sub(self.start) >> self.shift
    }
}

/// What happened to a task in a block. Times in ns.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Sums {
    pub block: u64,
    pub run: u64,
    pub wakeup: u64,
    pub preempt_wait: u64,
    pub blocked: u64,
    pub switches: u64,
    pub preempted: u64,
    pub wakeups: u64,
    /// Latencies by coarse cell: cell and how many, in order of cells.
    pub latencies: Vec<(u16, u32)>,
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        self.run = self.run.saturating_add(other.run);
        self.wakeup = self.wakeup.saturating_add(other.wakeup);
        self.preempt_wait = self.preempt_wait.saturating_add(other.preempt_wait);
        self.blocked = self.blocked.saturating_add(other.blocked);
        self.switches += other.switches;
        self.preempted += other.preempted;
        self.wakeups += other.wakeups;
        for (cell, times) in &other.latencies {
            self.put(*cell, *times);
        }
    }

    fn put(&mut self, cell: u16, times: u32) {
        match self.latencies.binary_search_by_key(&cell, |it| it.0) {
            Ok(at) => self.latencies[at].1 = self.latencies[at].1.saturating_add(times),
            Err(at) => self.latencies.insert(at, (cell, times)),
        }
    }

    /// Adds a latency, ns.
    pub fn latency(&mut self, ns: u64) {
        self.wakeups += 1;
        self.wakeup = self.wakeup.saturating_add(ns);
        self.put(cell(ns), 1);
    }
}

/// The coarse cell of a duration.
fn cell(ns: u64) -> u16 {
    let octave = (ns | 1).ilog2();
    let within =
        if octave >= 4 { (ns >> (octave - 4)) as u32 & (CELLS - 1) } else { (ns << (4 - octave)) as u32 & (CELLS - 1) };
    (octave * CELLS + within) as u16
}

/// The least duration of a coarse cell, ns.
pub(crate) fn least_of(cell: u16) -> f64 {
    let (octave, within) = (u32::from(cell) / CELLS, u32::from(cell) % CELLS);
    f64::from(octave).exp2() * (1.0 + f64::from(within) / f64::from(CELLS))
}

/// The blocks of a task in which anything happened, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    shift: u32,
    filled: Vec<Sums>,
}

impl Series {
    /// The sums of the block that a time is in. Times come in order, but a run is given block by block when it ends.
    pub fn at(&mut self, clock: &Clock, time: u64) -> &mut Sums {
        self.coarsen(clock);
        let block = clock.block(time);
        let place = self.filled.partition_point(|sums| sums.block < block);
        if self.filled.get(place).is_none_or(|sums| sums.block != block) {
            self.filled.insert(place, Sums { block, ..Sums::default() });
        }
        &mut self.filled[place]
    }

    /// Adds a run from a time to another.
    pub fn run(&mut self, clock: &Clock, from: u64, to: u64) {
        let mut at = from.max(clock.start);
        while at < to {
            let end = clock.start.saturating_add((clock.block(at) + 1).saturating_mul(clock.width())).min(to);
            self.at(clock, at).run += end - at;
            at = end;
        }
    }

    /// Adds the blocks of another one of the same recording.
    pub fn merge(&mut self, clock: &Clock, other: &Series) {
        let mut other = other.clone();
        other.coarsen(clock);
        for sums in other.filled {
            let start = clock.start + sums.block * clock.width();
            self.at(clock, start).add(&sums);
        }
    }

    /// The filled blocks, in the length that the clock has now.
    pub fn blocks(&mut self, clock: &Clock) -> &[Sums] {
        self.coarsen(clock);
        &self.filled
    }

    fn coarsen(&mut self, clock: &Clock) {
        if self.shift == clock.shift {
            return;
        }
        let by = clock.shift.saturating_sub(self.shift.max(FIRST));
        self.shift = clock.shift;
        for mut sums in std::mem::take(&mut self.filled) {
            sums.block >>= by;
            match self.filled.last_mut() {
                Some(last) if last.block == sums.block => last.add(&sums),
                _ => self.filled.push(sums),
            }
        }
    }
}

/// Something that has a value at any time, summed up by blocks: value times ns.
#[derive(Debug, Clone, Default)]
pub(crate) struct Curve {
    shift: u32,
    cells: Vec<u64>,
}

impl Curve {
    /// Adds a value that was there from a time to another.
    #[inline]
    pub fn add(&mut self, clock: &Clock, from: u64, to: u64, value: u64) {
        if self.shift != clock.shift {
            self.coarsen(clock);
        }
        let block = clock.block(from);
        if clock.block(to) == block && (block as usize) < self.cells.len() {
            let cell = &mut self.cells[block as usize];
            *cell = cell.saturating_add((to - from).saturating_mul(value));
        } else {
            self.add_to_several(clock, from, to, value);
        }
    }

    #[cold]
    fn add_to_several(&mut self, clock: &Clock, from: u64, to: u64, value: u64) {
        self.cells.resize(MOST as usize, 0);
        let mut at = from.max(clock.start);
        while at < to && clock.block(at) < MOST {
            let end = clock.start.saturating_add((clock.block(at) + 1).saturating_mul(clock.width())).min(to);
            let cell = &mut self.cells[clock.block(at) as usize];
            *cell = cell.saturating_add((end - at).saturating_mul(value));
            at = end;
        }
    }

    #[cold]
    fn coarsen(&mut self, clock: &Clock) {
        let by = clock.shift.saturating_sub(self.shift.max(FIRST));
        self.shift = clock.shift;
        for (block, value) in std::mem::take(&mut self.cells).into_iter().enumerate() {
            let place = block >> by;
            self.cells.resize(self.cells.len().max(place + 1), 0);
            self.cells[place] = self.cells[place].saturating_add(value);
        }
        self.cells.resize(MOST as usize, 0);
    }

    /// The sums of the blocks up to a time.
    pub fn until(&mut self, clock: &Clock, end: u64) -> &[u64] {
        self.coarsen(clock);
        &self.cells[..(clock.block(end.saturating_sub(1)).min(MOST - 1) + 1) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_keep_all_of_a_run_and_are_never_too_many(
            runs in prop::collection::vec((0u64..1 << 34, 0u64..1 << 30), 1..100), start in 0u64..1 << 40,
        ) {
            let (mut clock, mut series, mut now, mut sum) = (Clock::new(start), Series::default(), start, 0);
            for (pause, length) in runs {
                let from = now + pause;
                now = from + length;
                clock.advance(now);
                series.run(&clock, from, now);
                series.at(&clock, now).latency(length);
                sum += length;
            }
            let blocks = series.blocks(&clock);
            prop_assert!(blocks.len() <= MOST as usize);
            prop_assert!(blocks.iter().all(|sums| sums.run <= clock.width() && sums.block < MOST));
            prop_assert_eq!(blocks.iter().map(|sums| sums.run).sum::<u64>(), sum);
            prop_assert!(blocks.iter().all(|it| it.latencies.iter().map(|it| u64::from(it.1)).sum::<u64>() == it.wakeups));
        }

        #[test]
        fn a_coarse_cell_begins_at_most_a_sixteenth_below_its_durations(ns in 16u64..1 << 50) {
            let least = least_of(cell(ns));
            prop_assert!(least <= ns as f64 && ns as f64 <= least * (1.0 + 1.0 / 16.0));
        }
    }
}
