//! What sar and vmstat count of drives, caches and memory.

use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Kind},
};

/// Flags of the events; see [`Kind`].
const FOUND: u8 = 1;
const LOOKUP_WRITE: u8 = 2;
const WRITE: u8 = 1;
const SWAP: u8 = 2;

/// A number that changes over time, its sum over the time.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Level {
    now: u64,
    since: Nanos,
    sum: u128,
    /// How long it was not 0.
    occupied: Nanos,
}

impl Level {
    pub fn set(&mut self, time: Nanos, value: u64) {
        let passed = time.saturating_sub(self.since);
        self.sum = self.sum.saturating_add(u128::from(self.now) * u128::from(passed));
        self.occupied += if self.now > 0 { passed } else { 0 };
        (self.now, self.since) = (value, time.max(self.since));
    }

    fn mean(&self, over: Nanos) -> Option<f64> {
        (over > 0).then(|| self.sum as f64 / over as f64)
    }
}

/// Counts of drives, the block cache and memory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Storage {
    pub lookups: u64,
    pub hits: u64,
    /// Sectors looked for in the cache to be read, and to be changed.
    looked: [u64; 2],
    /// Sectors that drives moved for files, from and to the drive, and for the swap area.
    files: [u64; 2],
    swap: [u64; 2],
    pub requests: u64,
    done: u64,
    /// Requests that the run's end cut off, and the age of the oldest.
    pub unfinished: u64,
    pub unfinished_longest: Nanos,
    /// Requests queued or in service, and those in service.
    queued: Level,
    in_service: Level,
    /// Pages of memory.
    free: Level,
    cached: Level,
    swapped: Level,
    /// Whether the run reported its memory.
    reported: bool,
    end: Nanos,
}

impl Storage {
    pub fn observe(&mut self, e: Event) {
        let (write, swap) = (usize::from(e.flag & WRITE), e.flag & SWAP != 0);
        match e.kind {
            Kind::CacheLookup => {
                self.lookups += 1;
                self.hits += u64::from(e.flag & FOUND);
                let looked = &mut self.looked[usize::from(e.flag & LOOKUP_WRITE != 0)];
                *looked = looked.saturating_add(e.b);
            }
            Kind::DiskQueued => self.queued.set(e.time, self.queued.now + 1),
            Kind::DiskStart => {
                self.requests += 1;
                let moved = if swap { &mut self.swap } else { &mut self.files };
                moved[write] = moved[write].saturating_add(e.b);
                self.in_service.set(e.time, self.in_service.now + 1);
            }
            Kind::DiskDone => {
                self.done += 1;
                self.in_service.set(e.time, self.in_service.now.saturating_sub(1));
                self.queued.set(e.time, self.queued.now.saturating_sub(1));
            }
            Kind::MemoryUse => {
                self.reported = true;
                self.free.set(e.time, e.a);
                self.cached.set(e.time, e.b >> 32);
                self.swapped.set(e.time, e.b & u64::from(u32::MAX));
            }
            Kind::Unfinished => {
                self.unfinished += 1;
                self.unfinished_longest = self.unfinished_longest.max(e.a);
            }
            _ => {}
        }
    }

    /// The run is over.
    pub fn finish(&mut self, end: Nanos) {
        self.end = end;
        for level in [&mut self.queued, &mut self.in_service, &mut self.free, &mut self.cached, &mut self.swapped] {
            level.set(end, level.now);
        }
    }

    fn per_second(&self, count: f64) -> Option<f64> {
        (self.end > 0).then(|| count / (self.end as f64 / SECOND as f64))
    }

    /// Bytes moved by drives.
    pub fn bytes(&self) -> u64 {
        let sectors = self.files.iter().chain(&self.swap).fold(0, |sum: u64, moved| sum.saturating_add(*moved));
        sectors.saturating_mul(512)
    }

    /// Blocks of 512 bytes a second: looked for to be read (0) or changed (1).
    pub fn looked_per_second(&self, write: usize) -> Option<f64> {
        self.per_second(self.looked[write] as f64)
    }

    /// Blocks of 512 bytes a second: moved between drive and files.
    pub fn moved_per_second(&self, write: usize) -> Option<f64> {
        self.per_second(self.files[write] as f64)
    }

    /// 1 - blocks moved / blocks looked for, as sar's %rcache and %wcache; 0 if more was moved than requested.
    pub fn cached_share(&self, write: usize) -> Option<f64> {
        (self.looked[write] > 0)
            .then(|| (100.0 * (1.0 - self.files[write] as f64 / self.looked[write] as f64)).max(0.0))
    }

    /// KiB moved between drive and files, as vmstat's pgpgin and pgpgout.
    pub fn file_kib(&self, write: usize) -> f64 {
        self.files[write] as f64 / 2.0
    }

    /// Bytes moved between memory and swap area.
    pub fn swap_bytes(&self, write: usize) -> u64 {
        self.swap[write].saturating_mul(512)
    }

    /// Share of the run in which the drive had a request in service.
    pub fn busy(&self) -> Option<f64> {
        (self.end > 0).then(|| 100.0 * self.in_service.occupied as f64 / self.end as f64)
    }

    /// Requests queued or in service, mean over the time when there was one.
    pub fn queue_length(&self) -> Option<f64> {
        self.queued.mean(self.queued.occupied)
    }

    /// Seconds from queueing to completion, mean: by Little's law, the sum of the queue over time by requests.
    pub fn wait(&self) -> Option<f64> {
        (self.done > 0).then(|| self.queued.sum as f64 / self.done as f64 / SECOND as f64)
    }

    /// Pages free, in the block cache and in the swap area, mean over the run.
    pub fn memory(&self) -> Option<[f64; 3]> {
        let means = [self.free.mean(self.end)?, self.cached.mean(self.end)?, self.swapped.mean(self.end)?];
        self.reported.then_some(means)
    }
}
