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
//! it. The tracks of a cylinder are not skewed: place 0 of each passes at the same time, and changing heads takes none. Cylinders
//! may be, see `skew` in `rotating.rs`.

use schedlab_model::{Nanos, SECOND, machine, request::Sector};

/// Cylinders with equally many sectors on a track.
#[derive(Debug)]
pub(crate) struct Zone {
    first: Sector,
    end: Sector,
    first_cylinder: u64,
    /// Sectors on a track.
    pub sectors: u64,
    heads: u64,
    /// For each sector of a track, when it begins to pass and when it has passed, since place 0 first passed, while the track
    /// is read in order. A table, because a division for each takes longer.
    passes: Vec<(Nanos, Nanos)>,
    /// How long it takes to read a track in order, until its place 0 passes again.
    track: Nanos,
}

impl Zone {
    /// With a track whose sectors lie at these places.
    fn new(first: Sector, cylinders: std::ops::Range<u64>, heads: u64, places: &[u64], revolution: Nanos) -> Zone {
        let sectors = places.len() as u64;
        let angle = |place: u64| place * revolution / sectors;
        let turns = places.last().map_or(1, |last| last / sectors + 1);
        Zone {
            first,
            end: first + (cylinders.end - cylinders.start) * heads * sectors,
            first_cylinder: cylinders.start,
            sectors,
            heads,
            passes: places.iter().map(|&place| (angle(place), angle(place + 1))).collect(),
            track: turns * revolution,
        }
    }
}

/// A sector found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Found<'a> {
    pub zone: &'a Zone,
    pub cylinder: u64,
    head: u64,
    /// Its number on the track.
    sector: u64,
}

impl Found<'_> {
    /// Sectors from this one to the end of the cylinder, itself included.
    #[inline]
    pub fn left_on_cylinder(&self) -> u64 {
        (self.zone.heads - self.head) * self.zone.sectors - self.sector
    }

    /// When it begins to pass, since place 0 did, some turns ago.
    #[inline]
    pub fn begin(&self) -> Nanos {
        self.zone.passes[self.sector as usize].0
    }

    /// Time that it takes to pass.
    #[inline]
    pub fn length(&self) -> Nanos {
        let (begins, ends) = self.zone.passes[self.sector as usize];
        ends - begins
    }

    /// Time to read a number of sectors of the cylinder in order, from the beginning of this one to the end of the last.
    #[inline]
    pub fn read_on(&self, sectors: u64) -> Nanos {
        let mut last = self.sector + sectors - 1;
        let mut tracks = 0;
        if last >= self.zone.sectors {
            (tracks, last) = (last / self.zone.sectors, last % self.zone.sectors);
        }
        tracks * self.zone.track + self.zone.passes[last as usize].1 - self.begin()
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
        let revolution = (turn(disk) / outer).max(1) * outer;
        let mut zones: Vec<Zone> = Vec::new();
        for zone in 0..count {
            let own = zone * cylinders / count..(zone + 1) * cylinders / count;
            let sectors = outer - outer.saturating_sub(inner) * zone / (count - 1).max(1);
            let places = unrolled(&interleaved(sectors, disk.interleave.get().into()));
            let first = zones.last().map_or(0, |outside| outside.end);
            zones.push(Zone::new(first, own, disk.heads.get().into(), &places, revolution));
        }
        Geometry { zones, revolution }
    }

    /// Sectors of the whole drive.
    pub fn sectors(&self) -> Sector {
        self.zones.last().map_or(0, |inner| inner.end)
    }

    /// Sectors of a cylinder of the outermost zone.
    pub fn per_cylinder(&self) -> u64 {
        self.zones[0].sectors * self.zones[0].heads
    }

    /// A sector beyond the last is taken to lie on further cylinders like the innermost.
    #[inline]
    pub fn find(&self, sector: Sector) -> Found<'_> {
        let inside = self.zones.len() - 1;
        let zone = &self.zones[self.zones[..inside].partition_point(|zone| zone.end <= sector)];
        let within = sector - zone.first;
        let (track, sector) = (within / zone.sectors, within % zone.sectors);
        Found { zone, cylinder: zone.first_cylinder + track / zone.heads, head: track % zone.heads, sector }
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
fn unrolled(places: &[u64]) -> Vec<u64> {
    let sectors = places.len() as u64;
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
        assert_eq!(unrolled(&interleaved(6, 2)), [0, 2, 4, 7, 9, 11]);
        let track = |step| Zone::new(0, 0..1, 1, &unrolled(&interleaved(17, step)), 170).track;
        assert_eq!([1, 3].map(track), [170, 3 * 170]);
    }
}
