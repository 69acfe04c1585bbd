//! The machines of `machines/`: every one loads, every value has a source, and their topology is what their files say.

#![allow(clippy::result_large_err, reason = "a problem is met once, at the end")]

mod catalogue;

use catalogue::CATALOGUE;
use schedlab_model::{
    experiment::{Catalogue, Format, Problem, read_scenario},
    machine::Machine,
    processors::CpuSet,
    topology::{Place, Topology},
};
use std::{fs, path::PathBuf, sync::LazyLock};

type Presets = Vec<(&'static str, &'static str)>;

static MACHINES: LazyLock<Presets> = LazyLock::new(|| presets("machines"));
static DRIVES: LazyLock<Presets> = LazyLock::new(|| presets("machines/drives"));

/// Machines with a topology: how many nodes, last-level caches, cores and processors they have.
const REAL: [(&str, [usize; 4]); 4] = [
    ("xeon_6226r", [2, 2, 32, 64]),
    ("epyc_7452", [1, 8, 32, 64]),
    ("opteron_6272", [8, 8, 32, 64]),
    ("thinkpad_x13s", [1, 1, 8, 8]),
];

/// Names and texts of the presets in a folder.
fn presets(folder: &str) -> Presets {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(folder);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let named = |file: PathBuf| file.file_stem().unwrap().to_str().unwrap().to_owned().leak();
    let read = |file: PathBuf| (&*named(file.clone()), &*fs::read_to_string(&file).unwrap().leak());
    files.filter(|file| file.extension().is_some_and(|end| end == "toml")).map(read).collect()
}

/// The machine that an experiment names so.
fn machine(written: &str) -> Result<Machine, Problem> {
    let text = format!("machine = {written}\nscheduler.name = \"round_robin\"\nworkload.hog.load = \"spin\"\n");
    let catalogue = Catalogue { machines: &MACHINES, drives: &DRIVES, ..CATALOGUE };
    read_scenario(&text, "machine.toml", Format::Toml, &catalogue).map(|scenario| scenario.machine)
}

fn topology(written: &str) -> Topology {
    machine(written).unwrap_or_else(|problem| panic!("{written}: {problem}")).topology()
}

/// Nodes, last-level caches, cores and processors.
fn counts(topology: &Topology) -> [usize; 4] {
    let places: Vec<_> = (0..topology.processors()).map(|cpu| topology.place(cpu)).collect();
    let last = |of: fn(&Place) -> u16| 1 + usize::from(places.iter().map(of).max().expect("a machine has a processor"));
    [last(|place| place.node), last(|place| place.cache), last(|place| place.core), places.len()]
}

/// These processors.
fn mask(cpus: impl IntoIterator<Item = u16>) -> CpuSet {
    cpus.into_iter().collect()
}

#[test]
fn every_machine_loads_under_its_own_name() {
    assert!(MACHINES.len() >= 12);
    for (name, _) in MACHINES.iter() {
        let own = machine(&format!("{name:?}")).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(&own.name, name);
        assert!(own.title.len() > 10, "{name}");
        assert_eq!(own.topology().processors(), own.processors.get());
    }
}

#[test]
fn every_number_of_a_real_machine_has_a_source() {
    fn check(at: &str, value: &toml::Value) {
        match value {
            toml::Value::Table(own) if own.contains_key("value") => {
                assert!(own.get("source").is_some_and(|source| !source.as_str().unwrap().is_empty()), "{at}");
            }
            toml::Value::Table(own) => own.iter().for_each(|(field, inner)| check(&format!("{at}.{field}"), inner)),
            toml::Value::String(word) => {
                assert!(at.ends_with("title") || !word.starts_with(|c: char| c.is_ascii_digit()), "{at}: {word}");
            }
            toml::Value::Boolean(_) => {}
            other => panic!("{at}: {other}"),
        }
    }
    for (name, text) in MACHINES.iter().filter(|(name, _)| REAL.iter().any(|(real, _)| name == real)) {
        text.parse::<toml::Table>().unwrap().iter().for_each(|(field, value)| check(&format!("{name}.{field}"), value));
    }
}

#[test]
fn real_machines_have_the_nodes_caches_and_cores_of_their_data_sheets() {
    for (name, whole) in REAL {
        assert_eq!(counts(&topology(&format!("{name:?}"))), whole, "{name}");
    }
}

#[test]
fn the_second_threads_of_a_server_are_numbered_after_the_first_ones() {
    for name in ["xeon_6226r", "epyc_7452"] {
        let own = topology(&format!("{name:?}"));
        assert!((0..32).all(|cpu| own.threads(cpu) == mask([cpu, cpu + 32])), "{name}");
        assert!(own.thread_speed() < 1.0);
    }
    let xeon = topology("\"xeon_6226r\"");
    assert_eq!(xeon.sharing_cache(0), mask((0..16).chain(32..48)));
    assert_eq!((xeon.distance(0, 0), xeon.distance(0, 1), xeon.distances()), (10, 21, vec![21]));
    let epyc = topology("\"epyc_7452\"");
    assert_eq!(epyc.sharing_cache(5), mask((4..8).chain(36..40)));
    assert!(epyc.distances().is_empty());
}

#[test]
fn nodes_1_and_2_of_the_opterons_are_two_hops_apart_and_neighbours_of_0_and_3() {
    let own = topology("\"opteron_6272\"");
    assert!((0..64).all(|cpu| own.place(cpu).node == cpu / 8 && own.threads(cpu) == mask([cpu & !1, cpu | 1])));
    assert_eq!(own.distances(), [16, 22]);
    let near = |node: u16| -> Vec<u16> { (0..8).filter(|&to| own.distance(node, to) <= 16).collect() };
    assert_eq!((near(0), near(3)), (vec![0, 1, 2, 4, 6], vec![1, 2, 3, 4, 5, 7]));
    assert_eq!(own.distance(1, 2), 22);
    assert!((0..8).all(|from| (0..8).all(|to| own.distance(from, to) == own.distance(to, from))));
    assert_eq!(own.within(0, 16), mask((0..64).filter(|cpu| [0, 1, 2, 4, 6].contains(&(cpu / 8)))));
}

#[test]
fn the_laptop_has_small_cores_first_and_no_threads() {
    let own = topology("\"thinkpad_x13s\"");
    let capacities: Vec<u16> = (0..8).map(|cpu| own.place(cpu).capacity).collect();
    assert_eq!(capacities, [[490; 4], [1024; 4]].concat());
    assert!((0..8).all(|cpu| own.threads(cpu) == mask([cpu]) && own.sharing_cache(cpu) == CpuSet::all(8)));
}

#[test]
fn a_part_of_a_machine_has_the_distances_of_its_first_nodes() {
    let own = topology(r#"{ preset = "opteron_6272", processors = 24, nodes = 3 }"#);
    assert_eq!(counts(&own), [3, 3, 12, 24]);
    let rows: Vec<Vec<u16>> = (0..3).map(|from| (0..3).map(|to| own.distance(from, to)).collect()).collect();
    assert_eq!(rows, [[10, 16, 16], [16, 10, 22], [16, 22, 10]]);
    for name in ["xeon_6226r", "opteron_6272"] {
        let small = topology(&format!("{{ preset = {name:?}, processors = 2, nodes = 1 }}"));
        assert_eq!((counts(&small), small.distances()), ([1, 1, 1, 2], vec![]), "{name}");
    }
}

#[test]
fn a_part_with_more_nodes_than_cores_is_refused_with_the_number_of_cores() {
    let said = machine(r#"{ preset = "opteron_6272", processors = 2 }"#).unwrap_err().to_string();
    assert_eq!(
        said,
        "machine.toml:1: machine.nodes: 8 is out of range: from 1 to the number of cores, which is 1 with 2 processors"
    );
}

#[test]
fn more_nodes_than_rows_of_distances_are_refused() {
    let said = machine(r#"{ preset = "xeon_6226r", nodes = 4 }"#).unwrap_err().to_string();
    assert!(said.ends_with("2 rows of 2: write a row for each of the 4 nodes, with a distance to each"), "{said}");
}

#[test]
fn threads_that_do_not_fill_the_last_core_leave_it_with_fewer() {
    let own = topology(r#"{ preset = "epyc_7452", processors = 7 }"#);
    assert_eq!(counts(&own), [1, 1, 4, 7]);
    assert_eq!((own.threads(0), own.threads(3)), (mask([0, 4]), mask([3])));
    let own = topology(r#"{ preset = "epyc_7452", processors = 7, topology.numbering = "threads_first" }"#);
    assert_eq!((own.threads(0), own.threads(6)), (mask([0, 1]), mask([6])));
}
