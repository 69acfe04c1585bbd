//! Rotating drives: the drive that published results were rebuilt on, zones, means, and the track buffer.

use crate::{disk, interval, rotating};
use schedlab_disk::{Drive, Rotating};
use schedlab_model::{
    Nanos, SECOND,
    machine::Disk,
    request::{Direction, Sector},
    rng::Rng,
};

/// The drive with one zone, sector by sector, as it was when the reports of 1990 to 2007 were rebuilt on it.
struct Former {
    sector_time: Nanos,
    sectors: u64,
    per_cylinder: u64,
    cylinders: u64,
    seek_track: Nanos,
    seek_full: Nanos,
    slots: Vec<u64>,
    phase: Nanos,
    cylinder: u64,
}

impl Former {
    fn new(disk: &Disk, rng: &mut Rng) -> Former {
        let sectors = u64::from(disk.sectors.get());
        let revolution = (SECOND as f64 / disk.rotation.get().0) as Nanos;
        let mut slots = Vec::new();
        let mut slot = 0;
        for _ in 0..sectors {
            while slots.contains(&slot) {
                slot = (slot + 1) % sectors;
            }
            slots.push(slot);
            slot = (slot + u64::from(disk.interleave.get())) % sectors;
        }
        Former {
            sector_time: (revolution / sectors).max(1),
            sectors,
            per_cylinder: sectors * u64::from(disk.heads.get()),
            cylinders: disk.cylinders.get().into(),
            seek_track: disk.seek_track.get().0,
            seek_full: disk.seek_full.get().0,
            slots,
            phase: rng.below(revolution),
            cylinder: 0,
        }
    }

    fn access(&mut self, now: Nanos, block: u32) -> [Nanos; 2] {
        let first = u64::from(block) * 2;
        let cylinder = first / self.per_cylinder;
        let seek = match cylinder.abs_diff(self.cylinder) {
            0 => 0,
            d => self.seek_track + self.seek_full.saturating_sub(self.seek_track) * (d - 1) / self.cylinders.max(2),
        };
        let mut at = now + seek;
        self.cylinder = cylinder;
        [first, first + 1].map(|sector| {
            let track = self.sectors * self.sector_time;
            let wanted = self.slots[(sector % self.sectors) as usize] * self.sector_time;
            at += (wanted + track - (at + self.phase) % track) % track + self.sector_time;
            at
        })
    }
}

const SHAPES: [&str; 6] = [
    "",
    "interleave = 3",
    "sectors = 26\ninterleave = 2\nheads = 7",
    "sectors = 17\nheads = 5\ninterleave = 4",
    "rotation = \"3211/min\"\nsectors = 62\ncylinders = 1001\nheads = 15\nseek_full = \"34ms\"\nseek_track = \"3ms\"",
    "cylinders = 1\nheads = 1\nsectors = 1",
];

#[test]
fn a_drive_with_one_zone_and_no_buffer_gives_the_former_results_to_the_nanosecond() {
    for shape in SHAPES {
        let disk = disk(shape);
        let mut former = Former::new(&disk, &mut Rng::stream(7, 3));
        let mut drive = Rotating::new(&disk, &mut Rng::stream(7, 3));
        let mut rng = Rng::stream(1, 1);
        let (mut now, mut block) = (0, 0);
        for _ in 0..2000 {
            // Often the next block, sometimes another one; often immediately, sometimes later.
            block = if rng.below(3) > 0 { block + 1 } else { rng.below(drive.blocks()) } % drive.blocks().max(1);
            now += [0, 1, rng.below(30_000_000)][rng.below(3) as usize];
            let passed = drive.access(now, block as u32);
            assert_eq!(passed, former.access(now, block as u32), "block {block} at {now} with {shape:?}");
            now = passed[rng.below(2) as usize];
        }
    }
}

#[test]
fn a_request_within_a_cylinder_takes_as_long_as_its_blocks_one_after_the_other() {
    // Shapes whose cylinders hold an even number of sectors, so that no block crosses the end of one.
    for shape in
        SHAPES.into_iter().filter(|shape| (disk(shape).sectors.get() * disk(shape).heads.get()).is_multiple_of(2))
    {
        let (mut whole, mut blocks) = (rotating(shape, 2), rotating(shape, 2));
        let mut rng = Rng::stream(2, 2);
        let per_cylinder = whole.blocks_per_cylinder();
        let mut now = 0;
        for _ in 0..500 {
            let count = 1 + rng.below(per_cylinder.min(40));
            let cylinder = rng.below(whole.blocks() / per_cylinder) * per_cylinder;
            let first = cylinder + rng.below(per_cylinder - count + 1);
            let done = whole.serve(now, first * 2, count as u32 * 2, Direction::Read);
            let singly = (first..first + count).fold(now, |at, block| blocks.access(at, block as u32)[1]);
            assert_eq!(done, singly, "{count} blocks from {first} on at {now} with {shape:?}");
            now = done + rng.below(20_000_000);
        }
    }
}

#[test]
fn a_zoned_drive_has_as_many_sectors_as_its_zones() {
    let drive = rotating("cylinders = 10\nheads = 3\nsectors = 100\ninner_sectors = 60\nzones = 3", 1);
    // Cylinders 0 to 2, 3 to 5, 6 to 9.
    assert_eq!(drive.sectors(), 3 * (3 * 100 + 3 * 80 + 4 * 60));
}

/// Reads or writes the whole drive in order, a number of sectors per command, and returns the time.
fn in_order(
    drive: &mut Rotating,
    range: std::ops::Range<Sector>,
    step: u32,
    direction: Direction,
    mut now: Nanos,
) -> Nanos {
    let began = now;
    for first in range.step_by(step as usize) {
        now = drive.serve(now, first, step, direction);
    }
    now - began
}

#[test]
fn a_cylinder_read_in_order_takes_a_revolution_for_each_track_in_every_zone() {
    // Sectors of 10 us and more: 600 sectors outside, 300 inside, at 6 ms a revolution.
    let zoned = "rotation = \"10000/min\"\ncylinders = 40\nheads = 4\nsectors = 600\ninner_sectors = 300\nzones = 4
        seek_track = \"1ms\"\nseek_full = \"10ms\"";
    let mut drive = rotating(zoned, 3);
    let mut first = 0;
    for sectors in [600_u64, 500, 400, 300] {
        let cylinder = 4 * sectors;
        let mut now = drive.serve(SECOND, first, 1, Direction::Read);
        // The ten cylinders of the zone, from behind its first sector to behind the first one of the last cylinder: on
        // each, four revolutions to read it and one that the seek to the next one costs, as tracks are not skewed.
        for cylinder in (0..9).map(|n| first + n * cylinder) {
            let done = drive.serve(now, cylinder + 1, (4 * sectors) as u32, Direction::Read);
            assert_eq!(done - now, 5 * 6_000_000, "{sectors} sectors on a track");
            now = done;
        }
        first += 10 * cylinder;
    }
    assert_eq!(first, drive.sectors());
}

#[test]
fn skewed_cylinders_read_in_order_cost_the_skew_and_no_revolution() {
    // 100 sectors of 100 us, four tracks a cylinder, 1 ms to the next one.
    let shape =
        "rotation = \"100/s\"\ncylinders = 40\nheads = 4\nsectors = 100\nseek_track = \"1ms\"\nseek_full = \"10ms\"";
    for (skew, each) in [("0ns", 50_000_000), ("900us", 50_900_000), ("1ms", 41_000_000), ("1500us", 41_500_000)] {
        let mut drive = rotating(&format!("{shape}\nskew = \"{skew}\""), 3);
        let mut now = drive.serve(SECOND, 0, 1, Direction::Read);
        for cylinder in 0..30 {
            let done = drive.serve(now, cylinder * 400 + 1, 400, Direction::Read);
            assert_eq!(done - now, each, "skew {skew}");
            now = done;
        }
    }
}

#[test]
fn random_reads_take_the_mean_seek_half_a_revolution_and_the_transfer() {
    for shape in
        ["", "seek_curve = \"root\"\noverhead = \"700us\"\nbus_per_kib = \"100us\"", "heads = 1\ncylinders = 2"]
    {
        let mut drive = rotating(shape, 4);
        let mut rng = Rng::stream(4, 4);
        let mut now = 0;
        let times: Vec<Nanos> = (0..20_000)
            .map(|_| {
                // Think time makes the angle at which a command comes independent of where the last one ended.
                now += rng.below(SECOND);
                let first = rng.below(drive.sectors() / 2) * 2;
                let done = drive.serve(now, first, 1, Direction::Read);
                let took = done - now;
                now = done;
                took
            })
            .collect();
        let (mean, half) = interval(&times);
        let expected = drive.mean_service(1, Direction::Read) as f64;
        assert!((mean - expected).abs() < half, "{mean} +- {half}, not {expected}, with {shape:?}");
    }
}

#[test]
fn a_root_seek_is_track_to_track_at_one_cylinder_and_full_at_all() {
    // One sector a track and one head: a write of the sector under the head takes the seek and up to a revolution.
    let shape = "rotation = \"6000000/min\"\ncylinders = 1001\nheads = 1\nsectors = 1\nseek_curve = \"root\"
        seek_track = \"1ms\"\nseek_full = \"11ms\"";
    for (distance, ms) in [
        (1, 1.0),
        (1000, 11.0),
        (251, 1.0 + 10.0 * (250.0_f64 / 999.0).sqrt()),
        (101, 1.0 + 10.0 * (100.0_f64 / 999.0).sqrt()),
    ] {
        let took = rotating(shape, 1).serve(0, distance, 1, Direction::Write);
        let seek = ms * 1e6;
        assert!((seek..seek + 20_000.0 + 10.0).contains(&(took as f64 + 5.0)), "{distance}: {took}, not {seek}");
    }
}

const BUFFERED: &str = "track_buffer = \"32KiB\"\nbus_per_kib = \"200us\"";

#[test]
fn a_read_that_lies_in_the_buffer_is_answered_at_the_speed_of_the_bus() {
    let mut drive = rotating(BUFFERED, 5);
    let done = drive.serve(0, 0, 8, Direction::Read);
    // A revolution later all of the next track's sectors have passed.
    let later = done + 40_000_000;
    assert_eq!(drive.serve(later, 8, 8, Direction::Read), later + 4 * 200_000);
    // So is one further on, and a part that the buffer had no room for is not.
    assert_eq!(drive.serve(later + 800_000, 20, 4, Direction::Read), later + 800_000 + 2 * 200_000);
    let beyond = drive.serve(later + 2_000_000, 92, 4, Direction::Read);
    assert!(beyond > later + 2_000_000 + 2 * 200_000, "{}", beyond - later);
}

#[test]
fn the_buffer_holds_no_more_than_its_size_until_it_is_read() {
    let mut drive = rotating("track_buffer = \"4KiB\"\nheads = 20", 5);
    let done = drive.serve(0, 0, 8, Direction::Read);
    let later = done + SECOND;
    assert_eq!(drive.serve(later, 8, 8, Direction::Read), later);
    // Room again only now: the next one has to come round.
    let next = drive.serve(later, 16, 1, Direction::Read);
    assert!(next > later && next <= later + 17_700_000, "{}", next - later);
}

#[test]
fn a_command_elsewhere_loses_the_buffer() {
    for (first, direction) in [(50_000, Direction::Read), (8, Direction::Write), (70_000, Direction::Write)] {
        let (mut kept, mut lost) = (rotating(BUFFERED, 6), rotating(BUFFERED, 6));
        let done = kept.serve(0, 0, 8, Direction::Read);
        lost.serve(0, 0, 8, Direction::Read);
        let later = lost.serve(done, first, 2, direction) + 50_000_000;
        let bus = 4 * 200_000;
        assert_eq!(kept.serve(later, 8, 8, Direction::Read) - later, bus);
        assert!(lost.serve(later, 8, 8, Direction::Read) - later > bus, "after {direction:?} at {first}");
    }
}

#[test]
fn with_a_buffer_reading_in_order_does_not_lose_a_revolution_to_the_overhead() {
    let range = 0..96;
    let slow = "overhead = \"500us\"";
    let without = in_order(&mut rotating(slow, 7), range.clone(), 8, Direction::Read, 0);
    let with = in_order(&mut rotating(&format!("{slow}\ntrack_buffer = \"32KiB\""), 7), range, 8, Direction::Read, 0);
    // Twelve commands on six tracks: a revolution each without, less than a revolution a track with it.
    assert!(without > 11 * 16_666_666, "{without}");
    assert!(with < 7 * 16_666_666 + 500_000, "{with}");
}

#[test]
fn a_buffer_never_makes_a_read_later_than_the_surface_allows() {
    // Against a drive without buffer that is given each command at the same time, a read in order is never later.
    let mut rng = Rng::stream(8, 8);
    let (mut with, mut without) = (rotating("track_buffer = \"16KiB\"", 8), rotating("", 8));
    let mut now = 0;
    let mut first = 0;
    for _ in 0..5000 {
        first = (if rng.below(20) == 0 { rng.below(80_000) } else { first + 4 }) % with.sectors();
        let sectors = (with.sectors() - first).min(4) as u32;
        let (fast, slow) =
            (with.serve(now, first, sectors, Direction::Read), without.serve(now, first, sectors, Direction::Read));
        assert!(fast <= slow, "{first} at {now}: {fast} with, {slow} without");
        now = slow + rng.below(5_000_000);
    }
}
