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
