//! A rotating drive: where its heads are, and when a sector will have passed under them.
//!
//! ```text
//!   seek(d)   =  t1 + (tmax - t1) * (d - 1) / Dmax              0 for d = 0; a stepper's straight line
//!   seek(d)   =  t1 + (tmax - t1) * sqrt((d - 1) / (D - 1))     a voice coil
//!   wait      =  (angle of the sector - angle under the head) mod revolution, as time
//!   transfer  =  the sectors one after the other; from cylinder to cylinder a seek and a wait more
//!   done      =  max(end of the transfer + bus(1), first sector read + bus(all))     a read
//!   begin     =  max(end of the seek, command + bus(1), command + bus(all) - transfer)     a write
//! ```
//!
//! d distance in cylinders, t1 seek to the next cylinder, tmax seek over all Dmax cylinders (to a hair), D the longest
//! distance; bus(n) time of n sectors on the bus, which moves what has been read while the surface turns on.
//!
//! A drive with a *track buffer* reads on behind a read, to the end of the cylinder or until the buffer is full of what
//! has not been requested yet. Its contents are a function of time alone, so it needs no events: a read that
//! begins in the buffer is answered at the speed of the bus as far as its sectors have passed, and any other command, a
//! write included, ends the reading and loses the buffer. A drive gives up reading on if the first sector wanted is
//! more than a revolution away.

use crate::{
    Drive,
    geometry::{Found, Geometry, turn},
    on_bus,
};
use schedlab_model::{
    Nanos,
    machine::{self, SeekCurve},
    request::{Direction, SECTOR_SIZE, Sector},
    rng::{Rng, Seeded},
};

/// Number of a block of 1 KiB (two sectors) on the drive.
pub type Block = u32;
/// Sectors of 512 bytes in a block.
pub const SECTORS_PER_BLOCK: u64 = 2;
/// Binary places of the root of a distance; with them, distances of up to 2^20 cylinders have roots below 2^22.
const ROOT_BITS: u32 = 12;
/// Binary places of the time for a unit of such a root. Rests of up to a minute, below 2^36 ns, fit.
const PER_ROOT_BITS: u32 = 24;

/// Root of a distance, rounded down. The number fits into an f64 and IEEE's root is correctly rounded, so this is exactly
/// the integer root, in a quarter of its time. Processors convert signed numbers in one instruction, unsigned ones in several.
#[inline]
fn root(distance: u64) -> u64 {
    ((distance << (2 * ROOT_BITS)) as i64 as f64).sqrt() as i64 as u64
}

/// How long the heads move.
#[derive(Debug)]
struct Seek {
    track: Nanos,
    /// What the longest seek takes more.
    rest: Nanos,
    cylinders: u64,
    curve: SeekCurve,
    /// `rest` over the root of the longest distance.
    per_root: u64,
}

impl Seek {
    fn new(disk: &machine::Disk) -> Seek {
        let (track, cylinders) = (disk.seek_track.get().0, u64::from(disk.cylinders.get()));
        let rest = disk.seek_full.get().0.saturating_sub(track);
        // Rounded up, so that the longest seek is exact: the excess is below 2^22 of 2^-24 ns.
        let per_root = (rest << PER_ROOT_BITS).div_ceil(root(cylinders.saturating_sub(2)).max(1));
        Seek { track, rest, cylinders, curve: disk.seek_curve, per_root }
    }

    #[inline]
    fn time(&self, distance: u64) -> Nanos {
        match (distance, self.curve) {
            (0, _) => 0,
            (d, SeekCurve::Linear) => self.track + self.rest * (d - 1) / self.cylinders.max(2),
            (d, SeekCurve::Root) => self.track + ((root((d - 1).min(self.cylinders)) * self.per_root) >> PER_ROOT_BITS),
        }
    }

    /// A distance of d lies between 2 (C - d) of the C * C pairs.
    fn mean(&self) -> Nanos {
        let c = u128::from(self.cylinders);
        let all: u128 = (1..self.cylinders).map(|d| 2 * (c - u128::from(d)) * u128::from(self.time(d))).sum();
        (all / (c * c)) as Nanos
    }
}

/// What the drive reads behind a read.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    /// The buffer holds nothing before this sector.
    low: Sector,
    /// Reading on ends before this one.
    limit: Sector,
    /// Sectors before this one have been read.
    from: Sector,
    /// When that one begins to pass.
    begins: Nanos,
}

/// The drive's geometry and present position.
#[derive(Debug)]
pub struct Rotating {
    geometry: Geometry,
    seek: Seek,
    overhead: Nanos,
    bus_per_kib: Nanos,
    /// Size of the track buffer, in sectors.
    buffer: u64,
    /// Rotational position at time 0.
    phase: Seeded,
    /// How much later the first sector of a cylinder passes than that of the one before.
    skew: Nanos,
    cylinder: u64,
    ahead: Option<Ahead>,
}

impl Rotating {
    /// A drive with its heads on the first cylinder; where its surface is at time 0 is drawn.
    pub fn new(disk: &machine::Disk, rng: &mut Rng) -> Rotating {
        Rotating {
            geometry: Geometry::new(disk),
            seek: Seek::new(disk),
            overhead: disk.overhead.get().0,
            bus_per_kib: disk.bus_per_kib.get().0,
            buffer: disk.track_buffer.get().0 / SECTOR_SIZE,
            phase: rng.below_later(turn(disk)),
            skew: disk.skew.get().0,
            cylinder: 0,
            ahead: None,
        }
    }

    /// Blocks on the whole drive.
    pub fn blocks(&self) -> u64 {
        self.geometry.sectors() / SECTORS_PER_BLOCK
    }

    /// Blocks on one cylinder of the outermost zone.
    pub fn blocks_per_cylinder(&self) -> u64 {
        (self.geometry.per_cylinder() / SECTORS_PER_BLOCK).max(1)
    }

    /// Mean length of a seek from one random cylinder to another. Walks over all distances.
    pub fn mean_seek(&self) -> Nanos {
        self.seek.mean()
    }

    /// Moves to the block and gives the times at which its two sectors have been read: for a controller that hands over
    /// sector by sector, without buffer or bus.
    pub fn access(&mut self, now: Nanos, block: Block) -> [Nanos; SECTORS_PER_BLOCK as usize] {
        let first = u64::from(block) * SECTORS_PER_BLOCK;
        self.ahead = None;
        let mut at = self.move_to(now + self.overhead, self.geometry.find(first).cylinder);
        // A block whose second sector lies on the next cylinder costs no seek, as if the tracks of a cylinder were longer.
        [first, first + 1].map(|sector| {
            let found = self.geometry.find(sector);
            at = self.turn_to(at, found) + found.length();
            at
        })
    }

    fn move_to(&mut self, at: Nanos, cylinder: u64) -> Nanos {
        let distance = cylinder.abs_diff(self.cylinder);
        self.cylinder = cylinder;
        at + self.seek.time(distance)
    }

    /// When the sector, waited for from `at` on, begins to pass under the head.
    fn turn_to(&self, at: Nanos, sector: Found<'_>) -> Nanos {
        let revolution = self.geometry.revolution;
        let mut begin = sector.begin() + self.skew * sector.cylinder;
        if begin >= revolution {
            begin %= revolution;
        }
        let wait = begin + revolution - (at + self.phase.get()) % revolution;
        at + if wait >= revolution { wait - revolution } else { wait }
    }

    /// Moves to the sectors and lets them pass, one after the other: when the first one has, and the last.
    fn transfer(&mut self, mut at: Nanos, mut first: Sector, end: Sector) -> (Nanos, Nanos) {
        let mut first_passed = None;
        while first < end {
            let found = self.geometry.find(first);
            let sectors = found.left_on_cylinder().min(end - first);
            let distance = found.cylinder.abs_diff(self.cylinder);
            self.cylinder = found.cylinder;
            let begins = self.turn_to(at + self.seek.time(distance), found);
            first_passed.get_or_insert(begins + found.length());
            at = begins + found.read_on(sectors);
            first += sectors;
        }
        (first_passed.unwrap_or(at), at)
    }

    fn bus(&self, sectors: u64) -> Nanos {
        on_bus(self.bus_per_kib, sectors)
    }

    fn read(&mut self, ready: Nanos, first: Sector, end: Sector) -> Nanos {
        if let Some(ahead) = self.ahead.take()
            && (ahead.low..ahead.limit).contains(&first)
            && self.passed(&ahead, first) <= ready + self.geometry.revolution
        {
            return self.read_on(ahead, ready, end).max(ready + self.bus(end - first));
        }
        let (first_passed, last_passed) = self.transfer(ready, first, end);
        self.read_behind(end, last_passed);
        (last_passed + self.bus(1)).max(first_passed + self.bus(end - first))
    }

    /// A read that begins in the buffer: when its last sector is with the caller, as far as the surface decides it.
    fn read_on(&mut self, ahead: Ahead, ready: Nanos, end: Sector) -> Nanos {
        let stopped = self.passed(&ahead, ahead.limit - 1);
        if end > ahead.limit {
            let (_, last_passed) = self.transfer(ready.max(stopped), ahead.limit, end);
            self.read_behind(end, last_passed);
            return last_passed + self.bus(1);
        }
        let limit = self.limit(end - 1);
        let mut further = Ahead { low: end, limit, ..ahead };
        if stopped <= ready && ahead.limit < limit {
            // The buffer was full; now it has room again.
            (further.from, further.begins) = (ahead.limit, self.turn_to(ready, self.geometry.find(ahead.limit)));
        }
        self.ahead = Some(further);
        self.passed(&ahead, end - 1) + self.bus(1)
    }

    /// The heads go on behind the last sector, which passed at `at`.
    fn read_behind(&mut self, end: Sector, at: Nanos) {
        if self.buffer == 0 {
            return;
        }
        let limit = self.limit(end - 1);
        if limit > end {
            self.ahead = Some(Ahead { low: end, limit, from: end, begins: self.turn_to(at, self.geometry.find(end)) });
        }
    }

    /// Where reading on behind that sector ends.
    fn limit(&self, last: Sector) -> Sector {
        last + self.geometry.find(last).left_on_cylinder().min(self.buffer + 1)
    }

    /// When a sector has been read ahead, or some time before now if long ago.
    fn passed(&self, ahead: &Ahead, sector: Sector) -> Nanos {
        if sector < ahead.from {
            return 0;
        }
        ahead.begins + self.geometry.find(ahead.from).read_on(sector + 1 - ahead.from)
    }

    fn write(&mut self, ready: Nanos, first: Sector, end: Sector) -> Nanos {
        self.ahead = None;
        let found = self.geometry.find(first);
        let passing = (end - first - 1) * found.length();
        let supplied = self.bus(1).max(self.bus(end - first).saturating_sub(passing));
        let there = self.move_to(ready, found.cylinder).max(ready + supplied);
        self.transfer(there, first, end).1
    }
}

impl Drive for Rotating {
    fn serve(&mut self, now: Nanos, first: Sector, sectors: u32, direction: Direction) -> Nanos {
        let (ready, end) = (now + self.overhead, first + u64::from(sectors));
        match direction {
            Direction::Read => self.read(ready, first, end),
            Direction::Write => self.write(ready, first, end),
        }
    }

    fn depth(&self) -> u32 {
        1
    }

    fn rotational(&self) -> bool {
        true
    }

    fn sectors(&self) -> Sector {
        self.geometry.sectors()
    }

    /// Mean seek, half a revolution, and the transfer in the middle of the drive. Walks over all distances.
    fn mean_service(&self, sectors: u32, _: Direction) -> Nanos {
        let middle = self.geometry.find(self.geometry.sectors() / 2);
        let transfer = u64::from(sectors) * self.geometry.revolution / middle.zone.sectors;
        self.overhead + self.seek.mean() + self.geometry.revolution / 2 + transfer + self.bus(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_of_every_distance_is_the_integer_root() {
        assert!((0..=1 << 20).all(|distance: u64| root(distance) == (distance << (2 * ROOT_BITS)).isqrt()));
    }
}
