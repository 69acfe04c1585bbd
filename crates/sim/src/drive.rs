//! A rotating drive: where its heads are, and when a sector will have passed under them.
//!
//! ```text
//!   seek(d)   =  t1 + (tmax - t1) * (d - 1) / Dmax     0 for d = 0; a stepper's straight line
//!   wait      =  (slot of the sector - slot under the head) mod track, as time
//!   transfer  =  one sector time
//! ```
//!
//! d distance in cylinders, t1 seek to the next cylinder, tmax seek over all Dmax cylinders (to a hair). With interleave k the next
//! sector of a file is k slots further on the track, which gives the processor k sector times to be ready for it.

use schedlab_model::{Nanos, SECOND, machine, rng::Rng};

/// Number of a block of 1 KiB (two sectors) on the drive.
pub(crate) type Block = u32;
/// Sectors of 512 bytes in a block.
const SECTORS_PER_BLOCK: u64 = 2;

/// The drive's geometry and present position.
#[derive(Debug)]
pub(crate) struct Drive {
    sector_time: Nanos,
    sectors: u64,
    sectors_per_cylinder: u64,
    cylinders: u64,
    seek_track: Nanos,
    seek_full: Nanos,
    /// Slot on the track of each logical sector.
    slots: Vec<u64>,
    /// Rotational position at time 0.
    phase: Nanos,
    cylinder: u64,
}

impl Drive {
    pub fn new(disk: &machine::Disk, rng: &mut Rng) -> Drive {
        let sectors = u64::from(disk.sectors.get());
        let revolution = (SECOND as f64 / disk.rotation.get().0) as Nanos;
        Drive {
            sector_time: (revolution / sectors).max(1),
            sectors,
            sectors_per_cylinder: sectors * u64::from(disk.heads.get()),
            cylinders: disk.cylinders.get().into(),
            seek_track: disk.seek_track.get().0,
            seek_full: disk.seek_full.get().0,
            slots: interleaved(sectors, disk.interleave.get().into()),
            phase: rng.below(revolution),
            cylinder: 0,
        }
    }

    /// Blocks on the whole drive.
    pub fn blocks(&self) -> u64 {
        self.cylinders * self.blocks_per_cylinder()
    }

    /// Blocks on one cylinder.
    pub fn blocks_per_cylinder(&self) -> u64 {
        (self.sectors_per_cylinder / SECTORS_PER_BLOCK).max(1)
    }

    fn seek(&self, distance: u64) -> Nanos {
        match distance {
            0 => 0,
            d => self.seek_track + self.seek_full.saturating_sub(self.seek_track) * (d - 1) / self.cylinders.max(2),
        }
    }

    /// Moves to the block and gives the times at which its two sectors have been read.
    pub fn access(&mut self, now: Nanos, block: Block) -> [Nanos; SECTORS_PER_BLOCK as usize] {
        let first = u64::from(block) * SECTORS_PER_BLOCK;
        let cylinder = first / self.sectors_per_cylinder;
        let mut at = now + self.seek(cylinder.abs_diff(self.cylinder));
        self.cylinder = cylinder;
        [first, first + 1].map(|sector| {
            at = self.passed(at, sector);
            at
        })
    }

    /// When the sector, waited for from `at` on, has passed under the head.
    fn passed(&self, at: Nanos, sector: u64) -> Nanos {
        let track = self.sectors * self.sector_time;
        let wanted = self.slots[(sector % self.sectors) as usize] * self.sector_time;
        let under_head = (at + self.phase) % track;
        at + (wanted + track - under_head) % track + self.sector_time
    }
}

/// Slots of the logical sectors 0, 1, ... of a track with the given interleave: each `step` slots after the one before,
/// or the next free slot after that.
fn interleaved(sectors: u64, step: u64) -> Vec<u64> {
    let mut taken = vec![false; sectors as usize];
    let mut slot = 0;
    (0..sectors)
        .map(|_| {
            while taken[slot as usize] {
                slot = (slot + 1) % sectors;
            }
            taken[slot as usize] = true;
            let chosen = slot;
            slot = (slot + step) % sectors;
            chosen
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drive(interleave: u32) -> Drive {
        let text = format!(
            r#"{{"rotation":"3600/min","cylinders":820,"heads":6,"sectors":17,"interleave":{interleave},
            "seek_track":"8ms","seek_full":"80ms","command":"0ns","sector_copy":"0ns"}}"#
        );
        Drive::new(&serde_json::from_str(&text).unwrap(), &mut Rng::stream(1, 1))
    }

    #[test]
    fn interleave_is_a_permutation_of_the_track() {
        assert_eq!(interleaved(6, 2), [0, 2, 4, 1, 3, 5]);
        for (sectors, step) in [(17, 3), (17, 1), (26, 2), (8, 4), (1, 1)] {
            let mut slots = interleaved(sectors, step);
            slots.sort_unstable();
            assert_eq!(slots, (0..sectors).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_next_sector_comes_interleave_slots_later() {
        let mut drive = drive(3);
        let [first, second] = drive.access(0, 100);
        assert_eq!(second - first, 3 * drive.sector_time);
    }

    #[test]
    fn without_interleave_a_late_command_loses_a_revolution() {
        let mut drive = drive(1);
        let [_, second] = drive.access(0, 100);
        let [next, _] = drive.access(second + 1, 101);
        assert!(next - second >= 16 * drive.sector_time, "{}", next - second);
    }

    #[test]
    fn seeks_grow_with_distance_up_to_the_full_stroke() {
        let drive = drive(3);
        assert_eq!(drive.seek(0), 0);
        assert_eq!(drive.seek(1), 8_000_000);
        assert!((2..820).all(|d| drive.seek(d) >= drive.seek(d - 1)));
        assert!(drive.seek(819) <= 80_000_000);
    }
}
