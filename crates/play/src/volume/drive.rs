//! How long a modelled drive takes for a request: the description of a simulated drive, with the turn's mean in place of its
//! angle.
//!
//! ```text
//!   time      =  overhead + heads + turn + transfer
//!   heads     =  0                                                       on the same cylinder
//!                track + (full - track) * sqrt((d - 1) / (C - 2))        d cylinders away; linear: * (d - 1) / C
//!   turn      =  0 where the last request ended, else half a revolution
//!   transfer  =  bytes * revolution * interleave / bytes of a track
//! ```
//!
//! `track` and `full` are the drive's shortest and longest seek, C its cylinders. Departures from the simulated drive: half a
//! revolution is waited for and no angle is kept; one zone, with the mean of the outermost and innermost track; no track
//! buffer; what the processor does for a request (`command`, `sector_copy`, the bus) is left to the host.

use schedlab_model::{
    SECOND,
    machine::{Disk, SeekCurve},
};

/// Bytes of a sector.
const SECTOR: u64 = 512;

/// A drive and where its heads are.
#[derive(Debug, Clone, PartialEq)]
pub struct Drive {
    overhead: u64,
    track: u64,
    rest: u64,
    curve: SeekCurve,
    cylinders: u64,
    revolution: u64,
    /// Turns that reading a track takes.
    turns: u64,
    bytes_of_track: u64,
    bytes_of_cylinder: u64,
    /// The byte after the last one that was moved.
    at: u64,
}

impl Drive {
    /// With its heads on the first cylinder.
    pub fn new(disk: &Disk) -> Drive {
        let outer = u64::from(disk.sectors.get());
        let inner = disk.inner_sectors.as_ref().map_or(outer, |inner| u64::from(inner.get()));
        let bytes_of_track = ((outer + inner) / 2).max(1) * SECTOR;
        let track = disk.seek_track.get().0;
        Drive {
            overhead: disk.overhead.get().0,
            track,
            rest: disk.seek_full.get().0.saturating_sub(track),
            curve: disk.seek_curve,
            cylinders: u64::from(disk.cylinders.get()).max(1),
            revolution: (SECOND as f64 / disk.rotation.get().0) as u64,
            turns: u64::from(disk.interleave.get()).max(1),
            bytes_of_track,
            bytes_of_cylinder: bytes_of_track * u64::from(disk.heads.get()).max(1),
            at: 0,
        }
    }

    /// Bytes that it holds.
    pub fn capacity(&self) -> u64 {
        self.cylinders * self.bytes_of_cylinder
    }

    /// Time to move that many bytes from that offset on, ns; the heads stay behind them.
    pub fn serve(&mut self, offset: u64, bytes: u64) -> u64 {
        let distance = (offset / self.bytes_of_cylinder).abs_diff(self.at / self.bytes_of_cylinder);
        let turn = if offset == self.at { 0 } else { self.revolution / 2 };
        self.at = offset.saturating_add(bytes);
        let per_track = u128::from(self.revolution) * u128::from(self.turns);
        let transfer = (u128::from(bytes) * per_track / u128::from(self.bytes_of_track)) as u64;
        self.overhead + self.heads(distance) + turn + transfer
    }

    fn heads(&self, distance: u64) -> u64 {
        let share = match (distance, self.curve) {
            (0, _) => return 0,
            (d, SeekCurve::Linear) => (d - 1) as f64 / self.cylinders.max(2) as f64,
            (d, SeekCurve::Root) => ((d - 1) as f64 / self.cylinders.saturating_sub(2).max(1) as f64).sqrt(),
        };
        self.track + (self.rest as f64 * share.min(1.0)) as u64
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// 100 cylinders of 2 tracks of 20 sectors, 100 turns a second.
    pub fn disk() -> Disk {
        serde_json::from_value(serde_json::json!({
            "rotation": "6000/min", "cylinders": 100, "heads": 2, "sectors": 20, "interleave": 1,
            "seek_track": "1ms", "seek_full": "11ms", "seek_curve": "root", "overhead": "500us",
            "command": "0us", "sector_copy": "0us",
        }))
        .unwrap()
    }

    #[test]
    fn what_follows_the_last_request_waits_for_no_turn() {
        let mut drive = Drive::new(&disk());
        assert_eq!(drive.serve(0, 512), 500_000 + 500_000);
        assert_eq!(drive.serve(512, 1024), 500_000 + 1_000_000);
        assert_eq!(drive.serve(0, 512), 500_000 + 5_000_000 + 500_000);
    }

    #[test]
    fn the_longest_seek_takes_the_whole_time_and_the_shortest_that_of_a_track() {
        let (mut drive, cylinder) = (Drive::new(&disk()), 2 * 20 * 512);
        let turn_and_transfer = 500_000 + 5_000_000 + 500_000;
        assert_eq!(drive.capacity(), 100 * cylinder);
        assert_eq!(drive.serve(99 * cylinder, 512), 11_000_000 + turn_and_transfer);
        assert_eq!(drive.serve(98 * cylinder, 512), 1_000_000 + turn_and_transfer);
    }
}
