//! Where the sectors of a rotating drive lie: zone, cylinder, track, and angle.
//!
//! ```text
//!   n(z)      =  outer - (outer - inner) * z / (zones - 1)      sectors on a track of zone z = 0, 1, ...
//!   angle(k)  =  k * revolution / n                             when the k-th place of a track begins to pass, from place 0 on
//!   place(s)  =  where logical sector s of a track lies, counted on over as many turns as it takes to read the track in order
//! ```
//!
//! Zones are equally many cylinders wide. A zone's first sector follows the last one of the zone outside it. With
//! interleave k the next sector of a track is k places further, which gives the processor k sector times to be ready for
//! it. Tracks are not skewed: place 0 of every track passes at the same time, and changing heads takes none.

use schedlab_model::{Nanos, SECOND, machine, request::Sector};

/// Cylinders with equally many sectors on a track.
#[derive(Debug)]
pub(crate) struct Zone {
    first: Sector,
    end: Sector,
    first_cylinder: u64,
    /// Sectors on a track.
    pub sectors: u64,
    per_cylinder: u64,
    /// Place of each logical sector, counted on over turns; empty without interleave, when it is the sector itself.
    places: Vec<u64>,
    /// Turns that it takes to read a track in order, until its place 0 passes again.
    turns: u64,
}

impl Zone {
    fn new(first: Sector, first_cylinder: u64, cylinders: u64, heads: u64, sectors: u64, interleave: u64) -> Zone {
        let places = if interleave == 1 { Vec::new() } else { unrolled(&interleaved(sectors, interleave), sectors) };
        let turns = places.last().map_or(1, |last| last / sectors + 1);
        let per_cylinder = sectors * heads;
        Zone { first, end: first + cylinders * per_cylinder, first_cylinder, sectors, per_cylinder, places, turns }
    }

    fn place(&self, sector: u64) -> u64 {
        self.places.get(sector as usize).copied().unwrap_or(sector)
    }
}

/// A sector found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub zone: &'a Zone,
    pub cylinder: u64,
    /// Sectors of the cylinder before this one.
    offset: u64,
}

impl Found<'_> {
    /// Sectors from this one to the end of the cylinder, itself included.
    pub fn left_on_cylinder(&self) -> u64 {
        self.zone.per_cylinder - self.offset
    }
}

/// The surface of a drive.
#[derive(Debug)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    /// One revolution, rounded down to whole sectors of the outermost zone.
    pub revolution: Nanos,
}

impl Geometry {
    pub fn new(disk: &machine::Disk) -> Geometry {
        let outer = u64::from(disk.sectors.get());
        let inner = disk.inner_sectors.as_ref().map_or(outer, |inner| inner.get().into());
        let (cylinders, count) = (u64::from(disk.cylinders.get()), u64::from(disk.zones.get()));
        let mut zones: Vec<Zone> = Vec::new();
        for zone in 0..count {
            let (begin, end) = (zone * cylinders / count, (zone + 1) * cylinders / count);
            let sectors = outer - outer.saturating_sub(inner) * zone / (count - 1).max(1);
            let first = zones.last().map_or(0, |outside| outside.end);
            let interleave = u64::from(disk.interleave.get());
            zones.push(Zone::new(first, begin, end - begin, disk.heads.get().into(), sectors, interleave));
        }
        Geometry { zones, revolution: (turn(disk) / outer).max(1) * outer }
    }

    /// Sectors of the whole drive.
    pub fn sectors(&self) -> Sector {
        self.zones.last().map_or(0, |inner| inner.end)
    }

    /// Sectors of a cylinder of the outermost zone.
    pub fn per_cylinder(&self) -> u64 {
        self.zones[0].per_cylinder
    }

    /// A sector beyond the last is taken to lie on further cylinders like the innermost.
    pub fn find(&self, sector: Sector) -> Found<'_> {
        let inside = self.zones.len() - 1;
        let zone = &self.zones[self.zones[..inside].partition_point(|zone| zone.end <= sector)];
        let within = sector - zone.first;
        Found { zone, cylinder: zone.first_cylinder + within / zone.per_cylinder, offset: within % zone.per_cylinder }
    }

    /// When a place of a zone's tracks begins to pass, since its place 0 did.
    fn angle(&self, zone: &Zone, place: u64) -> Nanos {
        place * self.revolution / zone.sectors
    }

    /// When the sector begins to pass, since place 0 did; less than a revolution.
    pub fn begin(&self, found: Found<'_>) -> Nanos {
        let zone = found.zone;
        self.angle(zone, zone.place(found.offset % zone.sectors) % zone.sectors)
    }

    /// Time that a sector takes to pass.
    pub fn length(&self, found: Found<'_>) -> Nanos {
        self.read_on(found, 1)
    }

    /// Time to read so many sectors of one cylinder in order, from the beginning of the first to the end of the last.
    pub fn read_on(&self, from: Found<'_>, sectors: u64) -> Nanos {
        let zone = from.zone;
        let since_first = |offset: u64, more: u64| {
            let (track, sector) = (offset / zone.sectors, offset % zone.sectors);
            track * zone.turns * self.revolution + self.angle(zone, zone.place(sector) + more)
        };
        since_first(from.offset + sectors - 1, 1) - since_first(from.offset, 0)
    }
}

/// One turn of the drive, not rounded.
pub(crate) fn turn(disk: &machine::Disk) -> Nanos {
    (SECOND as f64 / disk.rotation.get().0) as Nanos
}

/// Places of the logical sectors 0, 1, ... of a track with the given interleave: each `step` places after the one before,
/// or the next free place after that.
fn interleaved(sectors: u64, step: u64) -> Vec<u64> {
    let mut taken = vec![false; sectors as usize];
    let mut place = 0;
    (0..sectors)
        .map(|_| {
            while taken[place as usize] {
                place = (place + 1) % sectors;
            }
            taken[place as usize] = true;
            let chosen = place;
            place = (place + step) % sectors;
            chosen
        })
        .collect()
}

/// The same places, counted on where the next sector lies before the last one: the head has to wait for the next turn.
fn unrolled(places: &[u64], sectors: u64) -> Vec<u64> {
    let mut turns = 0;
    let mut before = 0;
    places
        .iter()
        .map(|&place| {
            turns += u64::from(place < before);
            before = place;
            turns * sectors + place
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleave_is_a_permutation_of_the_track() {
        assert_eq!(interleaved(6, 2), [0, 2, 4, 1, 3, 5]);
        for (sectors, step) in [(17, 3), (17, 1), (26, 2), (8, 4), (1, 1)] {
            let mut places = interleaved(sectors, step);
            places.sort_unstable();
            assert_eq!(places, (0..sectors).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_track_with_interleave_takes_as_many_turns_as_its_sectors_lie_apart() {
        assert_eq!(unrolled(&interleaved(6, 2), 6), [0, 2, 4, 7, 9, 11]);
        assert_eq!(Zone::new(0, 0, 1, 1, 17, 3).turns, 3);
        assert_eq!(Zone::new(0, 0, 1, 1, 17, 1).turns, 1);
    }
}
