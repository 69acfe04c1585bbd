//! The drives of `machines/drives/`: every value says where it comes from, and together they give what is known of the drive
//! as a whole.

use schedlab_disk::{AnyDrive, Drive, Rotating};
use schedlab_model::{
    Nanos,
    machine::{Disk, Machine},
    request::{Direction, Sector},
    rng::Rng,
};
use std::{fs, path::PathBuf};

/// The presets by name, without their titles.
fn presets() -> Vec<(String, toml::Table)> {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/drives"));
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let mut preset: toml::Table = fs::read_to_string(&file).unwrap().parse().unwrap();
        assert_eq!(preset.remove("name").unwrap().as_str(), Some(name.as_str()));
        assert!(preset.remove("title").unwrap().as_str().unwrap().len() > 10, "{name}");
        (name, preset)
    };
    files.map(read).collect()
}

#[test]
fn every_preset_is_one_drive_of_a_machine() {
    let presets = presets();
    assert!(presets.len() >= 8);
    for (name, mut preset) in presets {
        assert_eq!(u8::from(preset.contains_key("disk")) + u8::from(preset.contains_key("solid_state")), 1, "{name}");
        preset.extend([("name".to_owned(), name.clone().into()), ("processors".to_owned(), 1.into())]);
        let machine: Machine = preset.try_into().unwrap_or_else(|why| panic!("{name}: {why}"));
        let mut drive = AnyDrive::new(&machine, &mut Rng::stream(1, 1)).unwrap();
        assert!(drive.serve(0, 1000, 8, Direction::Read) > 0);
    }
}

#[test]
fn every_value_of_a_preset_has_a_source() {
    for (name, preset) in presets() {
        for (table, fields) in &preset {
            for (field, value) in fields.as_table().unwrap() {
                let sourced = value.get("source").is_some_and(|source| !source.as_str().unwrap().is_empty());
                assert!(sourced || field == "seek_curve", "{name}: {table}.{field}");
            }
        }
    }
}

#[test]
fn drives_have_the_size_and_the_mean_seek_of_their_data_sheets() {
    // Sectors and mean seek in us; the ST-251's stepper is given with 40 ms (older) and 28 ms (newer), 28 to 29 here.
    let known: [(&str, Sector, Nanos); 6] = [
        ("st251", 820 * 6 * 17, 28_600),
        ("st3144a", 1001 * 15 * 17, 16_000),
        ("cfs420a", 826 * 16 * 63, 14_000),
        ("st11200n", 1_050_000_000 / 512, 12_000),
        ("st380011a", 156_301_488, 8_500),
        ("st336753lw", 71_687_369, 3_600),
    ];
    for (name, sectors, seek) in known {
        let (_, preset) = presets().into_iter().find(|(own, _)| own == name).unwrap();
        let disk: Disk = preset["disk"].clone().try_into().unwrap();
        let drive = Rotating::new(&disk, &mut Rng::stream(1, 1));
        let near = |value: u64, known: u64| value.abs_diff(known) * 100 <= known * 2;
        assert!(near(drive.sectors(), sectors), "{name}: {} sectors, not {sectors}", drive.sectors());
        assert!(near(drive.mean_seek() / 1000, seek), "{name}: {} us, not {seek}", drive.mean_seek() / 1000);
    }
}

/// Bytes a second that the drive can deliver at most, by its own sheet: from its surface or chips, over its bus, and where the
/// processor moves the sectors, as fast as that does.
fn sheet(machine: &Machine) -> f64 {
    let per_second = |bytes: u64, time: Nanos| if time == 0 { f64::INFINITY } else { bytes as f64 * 1e9 / time as f64 };
    if let Some(disk) = &machine.disk {
        let surface = f64::from(disk.sectors.get()) * 512.0 * disk.rotation.get().0;
        let bus = per_second(1024, disk.bus_per_kib.get().0);
        return surface.min(bus).min(per_second(512, disk.sector_copy.get().0));
    }
    let chips = machine.solid_state.as_ref().unwrap();
    let fastest = chips.read.get().0.min(chips.write.get().0);
    let pages = per_second(chips.page.get().0 * u64::from(chips.channels.get()), fastest);
    pages.min(per_second(1024, chips.bus_per_kib.get().0))
}

/// Throughput of sequential requests, bytes/s, with as many in parallel as the drive takes.
fn throughput(machine: &Machine, sectors: u32, direction: Direction, stride: Sector) -> f64 {
    let mut drive = AnyDrive::new(machine, &mut Rng::stream(7, 1)).unwrap();
    let mut ends: Vec<Nanos> = vec![0; drive.depth().min(64) as usize];
    let mut bytes = 0.0;
    for n in 0..2000 {
        let next = (0..ends.len()).min_by_key(|&at| ends[at]).unwrap();
        ends[next] = drive.serve(ends[next], n * stride % (drive.sectors() / 2), sectors, direction);
        bytes += f64::from(sectors) * 512.0;
    }
    bytes * 1e9 / *ends.iter().max().unwrap() as f64
}

#[test]
fn no_drive_is_faster_than_its_sheet_in_any_mode() {
    let slow_bus = r#"[solid_state]
        size = "1GB"
        read = "10us"
        write = "10us"
        page = "4KiB"
        channels = 64
        queue_depth = 64
        bus_per_kib = "10us""#;
    let slow_copy = r#"[disk]
        rotation = "7200/min"
        cylinders = 1000
        heads = 4
        sectors = 500
        interleave = 1
        seek_track = "1ms"
        seek_full = "10ms"
        track_buffer = "2MiB"
        command = "10us"
        sector_copy = "430us""#;
    let own =
        [("slow bus", slow_bus), ("slow copy", slow_copy)].map(|(name, text)| (name.to_owned(), text.parse().unwrap()));
    for (name, mut preset) in presets().into_iter().chain(own) {
        preset.extend([("name".to_owned(), name.clone().into()), ("processors".to_owned(), 1.into())]);
        let machine: Machine = preset.try_into().unwrap();
        let sheet = sheet(&machine);
        for direction in [Direction::Read, Direction::Write] {
            for (sectors, stride) in [(1, 1), (8, 8), (256, 256), (1024, 1024), (8, 100_003)] {
                let reached = throughput(&machine, sectors, direction, stride);
                assert!(
                    reached <= sheet * 1.001,
                    "{name}: {reached} B/s of {sheet}, {direction:?} of {sectors} sectors"
                );
            }
        }
    }
}

#[test]
fn a_preset_says_of_its_skew_what_its_value_is() {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/drives"));
    for (name, preset) in presets() {
        let text = fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
        let comments = text.lines().filter(|line| line.starts_with('#')).collect::<Vec<_>>().join(" ");
        let skewed = preset.get("disk").is_some_and(|disk| disk.get("skew").is_some());
        assert_eq!(comments.contains("cylinders are skewed"), skewed, "{name}: {comments}");
    }
}

#[test]
fn a_skewed_drive_reads_in_order_without_losing_a_turn_at_each_cylinder() {
    for name in ["st380011a", "st336753lw"] {
        let (_, preset) = presets().into_iter().find(|(own, _)| own == name).unwrap();
        let disk: Disk = preset["disk"].clone().try_into().unwrap();
        let turn = (1e9 / disk.rotation.get().0) as Nanos;
        let per_cylinder = u64::from(disk.sectors.get() * disk.heads.get());
        let mut drive = Rotating::new(&disk, &mut Rng::stream(1, 1));
        let begin = drive.serve(0, 0, 1, Direction::Read);
        let cylinders = 20;
        let end = drive.serve(begin, 1, (cylinders * per_cylinder) as u32 - 1, Direction::Read);
        let each = (end - begin) / cylinders;
        let surface = u64::from(disk.heads.get()) * turn;
        assert!(each < surface + turn / 2, "{name}: {each} ns for a cylinder whose tracks pass in {surface}");
    }
}
