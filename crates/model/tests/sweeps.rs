//! What a good experiment means: its cells, overrides, hashes, seeds and schema.

#![allow(clippy::result_large_err, reason = "a problem is met once, at the end")]

mod catalogue;

use catalogue::{CATALOGUE, GOOD};
use schedlab_model::experiment::{
    Cell, Experiment, Files, Format, Problem, Seeds, expand, expand_some, hash, outline_read, outline_some, parameters,
    read, read_scenario, read_with, schema,
};
use schedlab_model::scenario::Scenario;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const PLAIN: &str = "machine = \"at_286\"\nscheduler = { name = \"minix\" }\nworkload.hog = { load = \"spin\" }\n";

fn parse(text: &str, overrides: &[&str]) -> Result<Experiment, Problem> {
    let overrides: Vec<String> = overrides.iter().map(|text| text.to_string()).collect();
    read(text, "test.toml", Format::Toml, &overrides, &CATALOGUE)
}

fn cells(text: &str, overrides: &[&str]) -> Vec<Cell> {
    expand(&parse(text, overrides).unwrap(), &CATALOGUE).unwrap()
}

/// The hash of the only cell.
fn only_hash(text: &str, overrides: &[&str]) -> String {
    let cells = cells(text, overrides);
    assert_eq!(cells.len(), 1);
    cells[0].hash.clone()
}

/// The hash by its definition: SHA-256 of the scenario as one JSON text, without the machine's title and sources.
fn hash_by_definition(scenario: &Scenario) -> String {
    fn without_sources(value: Value) -> Value {
        match value {
            Value::Object(mut table) => match table.contains_key("source").then(|| table.remove("value")).flatten() {
                Some(bare) => bare,
                None => table.into_iter().map(|(name, inner)| (name, without_sources(inner))).collect(),
            },
            other => other,
        }
    }
    let mut whole = serde_json::to_value(scenario).unwrap();
    let mut machine = whole["machine"].take();
    machine.as_object_mut().unwrap().remove("title");
    whole["machine"] = without_sources(machine);
    Sha256::digest(whole.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hashes_of_a_sweep_are_those_of_its_scenarios_one_by_one() {
    let all = r#"
        [sweep]
        "machine.processors" = [1, 2]
        "workload.hog.nice" = [0, 5]
        "scheduler.slice" = ["10ms", "20ms"]
        duration = ["1s", "2s"]
        "groups.one.weight" = [1, 2]
        "shared.pages.queue" = [1, 2]
        "tunables.swappiness" = [1, 2]
    "#;
    let more = "duration = \"1s\"\nelevator.name = \"fifo\"\n[groups.one]\n[shared]\npages = { queue = 9 }\n";
    for text in [PLAIN.to_owned(), GOOD.to_owned(), format!("{PLAIN}{more}{all}")] {
        let cells = cells(&text, &[]);
        assert!(cells.len() == 1 || cells.len() >= 8);
        for cell in cells {
            assert_eq!(cell.hash, hash_by_definition(&cell.scenario), "{:?}", cell.factors);
        }
    }
}

#[test]
fn a_cell_of_a_sweep_is_what_it_is_without_the_cells_before_it() {
    let two = PLAIN.replace("\"at_286\"", "{ preset = \"at_286\", processors = 2 }");
    let two = format!("{two}workload.some = {{ load = \"spin\", cpus = [0, 1] }}\n");
    let swept = [("machine.processors", ["2", "3", "2"]), ("workload.some.nice", ["0", "5", "0"])];
    for (field, values) in swept {
        let durations = r#"duration = ["1s", "2s", "3s"]"#;
        let text = format!("{two}[sweep.zip]\n{durations}\n\"{field}\" = [{}]\n", values.join(", "));
        let all = cells(&text, &[]);
        assert_eq!(all.len(), 3);
        for (cell, (value, duration)) in all.iter().zip(values.iter().zip(["1s", "2s", "3s"])) {
            let set = [format!("{field}={value}"), format!("duration={duration}")];
            let alone = cells(&two, &[&set[0], &set[1]]);
            assert_eq!((&cell.scenario, &cell.hash), (&alone[0].scenario, &alone[0].hash), "{set:?}");
        }
    }
}

#[test]
fn a_grid_and_a_zip_combine() {
    let cells = cells(GOOD, &[]);
    assert_eq!(cells.len(), 4 * 2);
    let column = |path: &str| cells.iter().map(|cell| cell.factors[path].clone()).collect::<Vec<_>>();
    assert_eq!(column("scheduler.slice"), ["100ms", "100ms", "50ms", "50ms", "36ms", "36ms", "18ms", "18ms"]);
    assert_eq!(column("workload.hog.nice"), ["0", "5", "0", "5", "0", "5", "0", "5"]);
    assert_eq!(column("workload.io.files"), ["700", "100", "700", "100", "700", "100", "700", "100"]);
    let last = &cells[7].scenario;
    assert_eq!(last.scheduler.settings["slice"].to_string(), "18ms");
    assert_eq!(last.workload["hog"].nice, 5);
    assert_eq!(last.workload["io"].settings["files"].to_string(), "100");
    assert_eq!(cells.iter().map(|cell| &cell.hash).collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn an_outline_has_the_hash_and_the_factors_of_its_cell() {
    let values: Vec<String> = (1..=600).map(|slice| format!("\"{slice}ms\"")).collect();
    let many = format!("{PLAIN}[sweep]\n\"scheduler.slice\" = [{}]\n", values.join(", "));
    for text in [GOOD, PLAIN, &many] {
        let read = read_with(text, "test.toml", Format::Toml, &[], &Files::new(), &CATALOGUE);
        let (experiment, digests) = read.unwrap();
        let cells = expand(&experiment, &CATALOGUE).unwrap();
        assert_eq!(digests.len(), cells.len());
        let (names, outlines) = outline_some(&experiment, &CATALOGUE, 0..u64::MAX).unwrap();
        assert_eq!(outlines.len(), cells.len());
        for (cell, (hash, values)) in cells.iter().zip(&outlines) {
            assert_eq!(hash, &cell.hash);
            assert_eq!(
                names.iter().cloned().zip(values.iter().cloned()).collect::<Vec<_>>(),
                Vec::from_iter(cell.factors.clone())
            );
        }
        for places in [0..0, 1..3, 7..u64::MAX] {
            let some = outline_some(&experiment, &CATALOGUE, places.clone()).unwrap();
            assert_eq!(outline_read(&experiment, &digests, places.clone()).unwrap(), some);
            let some = some.1;
            let same = expand_some(&experiment, &CATALOGUE, places).unwrap();
            assert!(some.iter().map(|(hash, _)| hash).eq(same.iter().map(|cell| &cell.hash)));
        }
    }
}

#[test]
fn several_zips_combine_with_each_other() {
    let text = format!(
        "{PLAIN}[[sweep.zip]]\n\"scheduler.slice\" = [\"1ms\", \"2ms\"]\n\"workload.hog.nice\" = [1, 2]\n\
         [[sweep.zip]]\n\"workload.hog.count\" = [1, 2, 3]\n"
    );
    assert_eq!(cells(&text, &[]).len(), 2 * 3);
}

#[test]
fn a_value_may_occur_twice_where_it_makes_other_cells() {
    let zip = "[sweep.zip]\n\"scheduler.slice\" = [\"1ms\", \"1ms\"]\n\"workload.hog.nice\" = [1, 2]\n";
    assert_eq!(cells(&format!("{PLAIN}{zip}"), &[]).len(), 2);
}

#[test]
fn a_lock_may_be_taken_again_after_it_was_given_back_or_where_nothing_is_reached() {
    for steps in [
        "[{ lock = \"a\" }, { unlock = \"a\" }, { lock = \"a\" }, { unlock = \"a\" }, { compute = \"1ms\" }]",
        "[{ lock = \"a\" }, { fork = [{ lock = \"a\" }, { compute = \"1ms\" }] }, { unlock = \"a\" }, { compute = \"1ms\" }]",
        "[{ lock = \"a\" }, { compute = \"1ms\" }, \"exit\", { lock = \"a\" }]",
        "[{ repeat = { times = \"forever\", steps = [{ compute = \"1ms\" }] } }, { lock = \"a\" }, { lock = \"a\" }]",
    ] {
        let set = format!("workload.hog={{ passes = 3, steps = {steps} }}");
        parse(PLAIN, &[&set, "duration=1s"]).unwrap();
    }
}

#[test]
fn without_a_sweep_there_is_one_cell() {
    let cells = cells(PLAIN, &[]);
    assert_eq!(cells.len(), 1);
    assert!(cells[0].factors.is_empty());
    assert_eq!(cells[0].scenario.machine.name, "at_286");
}

#[test]
fn machines_and_whole_schedulers_can_be_swept() {
    let text = r#"
        workload.hog = { load = "spin" }
        [sweep]
        machine = ["at_286", { preset = "ideal", processors = 2 }]
        scheduler = [{ name = "minix", ready_at = "head" }, { name = "round_robin" }]
        "machine.clock.hz" = ["60/s", "100/s"]
    "#;
    let cells = cells(text, &[]);
    assert_eq!(cells.len(), 8);
    assert_eq!(cells[0].factors["machine"], "at_286");
    assert_eq!(cells[0].factors["scheduler"], r#"{"name":"minix","ready_at":"head"}"#);
    let last = &cells[7].scenario;
    assert_eq!((last.machine.name.as_str(), last.machine.processors.get()), ("ideal", 2));
    assert_eq!(last.machine.clock.hz.get().0, 100.0);
    assert_eq!(last.scheduler.name, "round_robin");
}

#[test]
fn a_preset_takes_changes_field_by_field() {
    let text = PLAIN.replace(
        "\"at_286\"",
        "{ preset = \"at_286\", disk = { heads = 6 }, clock = { hz = { value = \"100/s\", source = \"mine\" } } }",
    );
    let machine = cells(&text, &[]).remove(0).scenario.machine;
    let disk = machine.disk.unwrap();
    assert_eq!((disk.heads.get(), disk.cylinders.get()), (6, 615));
    assert_eq!(machine.clock.hz.get().0, 100.0);
    assert_eq!(machine.costs.trap.get().0, 100_000);
}

#[test]
fn an_override_sets_any_field() {
    let with = |set: &str| cells(PLAIN, &[set]).remove(0).scenario;
    assert_eq!(with("scheduler.slice=36ms").scheduler.settings["slice"].to_string(), "36ms");
    assert_eq!(with("machine.processors=2").machine.processors.get(), 2);
    assert_eq!(with("machine.disk.heads = 8").machine.disk.unwrap().heads.get(), 8);
    assert_eq!(with("'workload'.\"hog\".nice=-5").workload["hog"].nice, -5);
    assert_eq!(with("workload.new={ steps = [{ compute = \"1ms\" }] }").workload.len(), 2);
    let forever = cells(PLAIN, &["workload.hog.passes=forever", "duration=3s"]).remove(0).scenario;
    assert_eq!(forever.workload["hog"].passes.count(), None);
    assert_eq!(parse(PLAIN, &["question=4"]).unwrap().question, "4");
    assert_eq!(parse(PLAIN, &["seeds=[7, 8]"]).unwrap().seeds, Seeds::List(vec![7, 8]));
}

#[test]
fn a_name_may_look_like_a_number() {
    let text = format!("{PLAIN}groups = {{ 1 = {{ weight = 2 }} }}\n");
    let job = cells(&text, &["workload.hog.group=1"]).remove(0).scenario.workload.remove("hog").unwrap();
    assert_eq!(job.group.as_deref(), Some("1"));
}

#[test]
fn an_overridden_field_is_no_longer_swept() {
    let cells_of = |set: &[&str]| cells(GOOD, set);
    let pinned = cells_of(&["scheduler.slice=36ms"]);
    assert_eq!(pinned.len(), 2);
    assert!(pinned.iter().all(|cell| cell.scenario.scheduler.settings["slice"].to_string() == "36ms"));
    assert_eq!(cells_of(&["workload.hog.nice=1", "workload.io.files=5"]).len(), 4);
    assert_eq!(cells_of(&["sweep.\"scheduler.slice\"=[\"20ms\"]"]).len(), 2);
    let steps = format!(
        "{PLAIN}[workload.s]\nsteps = [{{ compute = \"1ms\" }}]\n[sweep]\n\"workload.s.steps[0].compute\" = [\"1ms\", \"2ms\"]\n"
    );
    assert_eq!(cells(&steps, &["workload.s.steps.0.compute=5ms"]).len(), 1);
}

#[test]
fn spelling_does_not_change_the_hash() {
    let plain = only_hash(PLAIN, &[]);
    for same in [
        "scheduler.slice=100ms",
        "scheduler.slice=0.1s",
        "scheduler.slice=100000 us",
        "scheduler.ready_at=tail",
        "workload.hog.compute=1000ms",
        "workload.hog.count=1",
        "workload.hog.cpus=[0]",
        "workload.hog.passes=1",
        "machine={ preset = \"at_286\" }",
        "machine.clock.hz=3600/min",
        "machine.costs.trap={ value = \"0.1ms\", source = \"another\" }",
        "machine.title=Another title",
        "question=Another?",
        "seeds=3",
    ] {
        assert_eq!(only_hash(PLAIN, &[same]), plain, "{same}");
    }
}

#[test]
fn what_changes_a_run_changes_the_hash() {
    let different = [
        "scheduler.slice=99ms",
        "scheduler.ready_at=head",
        "scheduler.name=round_robin",
        "workload.hog.compute=2s",
        "workload.hog.count=2",
        "workload.hog.nice=1",
        "workload.hog.start=1ms",
        "machine.processors=2",
        "machine.costs.trap=99us",
        "duration=1s",
    ];
    let hashes: BTreeSet<String> = different.iter().map(|set| only_hash(PLAIN, &[set])).collect();
    assert_eq!(hashes.len(), different.len());
    assert!(!hashes.contains(&only_hash(PLAIN, &[])));
}

#[test]
fn a_cell_reads_back_as_a_scenario_with_its_hash() {
    for cell in cells(GOOD, &[]) {
        let text = serde_json::to_string(&cell.scenario).unwrap();
        let scenario = read_scenario(&text, "cell", Format::Json, &CATALOGUE).unwrap();
        assert_eq!(hash(&scenario), cell.hash);
        assert_eq!(scenario, cell.scenario);
        let back: Cell = serde_json::from_str(&serde_json::to_string(&cell).unwrap()).unwrap();
        assert_eq!(back, cell);
    }
}

#[test]
fn an_experiment_reads_back_from_its_json_unchanged() {
    for text in [GOOD, PLAIN] {
        let experiment = parse(text, &["duration=5s"]).unwrap();
        let json = serde_json::to_string(&experiment).unwrap();
        let back = read(&json, "json", Format::Json, &[], &CATALOGUE).unwrap();
        assert_eq!(back, experiment);
        assert_eq!(serde_json::to_string(&back).unwrap(), json);
    }
}

#[test]
fn null_in_json_means_left_out() {
    let json = r#"{"machine": "ideal", "scheduler": {"name": "minix", "slice": null}, "duration": null,
                   "workload": {"hog": {"load": "spin", "group": null}}, "metrics": null}"#;
    let experiment = read(json, "json", Format::Json, &[], &CATALOGUE).unwrap();
    assert_eq!(experiment.metrics, None);
    assert_eq!(expand(&experiment, &CATALOGUE).unwrap()[0].scenario.duration, None);
}

#[test]
fn seeds_are_a_count_or_a_list_and_ten_by_default() {
    let seeds = |set: &[&str]| parse(PLAIN, set).unwrap().seeds.iter().collect::<Vec<_>>();
    assert_eq!(seeds(&[]), (1..=10).collect::<Vec<_>>());
    assert_eq!(seeds(&["seeds=3"]), [1, 2, 3]);
    assert_eq!(seeds(&["seeds=[18446744073709551615, 0]"]), [u64::MAX, 0]);
}

#[test]
fn parameters_come_with_their_defaults() {
    let scenario = cells(PLAIN, &["workload.io={ load = \"read_files\", files = 7 }"]).remove(0).scenario;
    let parameters = parameters(&scenario, &CATALOGUE).unwrap();
    assert_eq!(parameters.scheduler.whole("slice"), 100_000_000);
    assert_eq!(parameters.scheduler.name("ready_at"), "tail");
    assert_eq!(parameters.loads["io"].whole("files"), 7);
    assert_eq!(parameters.loads["io"].whole("size"), 4096);
    assert_eq!(parameters.loads["hog"].whole("compute"), 1_000_000_000);
}

#[test]
fn where_memory_has_a_size_the_cache_has_the_lists_of_reclaim_unless_one_is_named() {
    const SMALL: &str = r#"machine={preset="ideal",memory={size="16MiB"}}"#;
    let cache = |set: &[&str]| cells(PLAIN, set).remove(0).scenario.cache.map(|cache| cache.name);
    assert_eq!(cache(&[SMALL, r#"reclaim.name="two_list""#]).as_deref(), Some("two_list"));
    assert_eq!(cache(&[SMALL]).as_deref(), Some("two_list"), "the policy of reclaim of an experiment that names none");
    assert_eq!(cache(&[SMALL, r#"cache.name="lru""#]).as_deref(), Some("lru"), "what is named stays");
    assert_eq!(cache(&[SMALL, r#"reclaim.name="by_age""#]), None, "there is no cache of that name");
    assert_eq!(cache(&[r#"machine="ideal""#, r#"reclaim.name="two_list""#]), None, "nothing is ever reclaimed");
    let (named, left_out) = (only_hash(PLAIN, &[SMALL, r#"cache.name="two_list""#]), only_hash(PLAIN, &[SMALL]));
    assert_eq!(named, left_out, "what is filled in is as if it were named");
}

#[test]
fn the_schema_offers_names_and_parameters() {
    let schema = schema(&CATALOGUE);
    let at = |pointer: &str| schema.pointer(pointer).unwrap_or_else(|| panic!("{pointer}: {schema:#}"));
    assert_eq!(at("/additionalProperties"), false);
    assert_eq!(at("/$defs/Seeds/anyOf/0/minimum"), 1);
    assert_eq!(at("/properties/machine/anyOf/0/enum"), &serde_json::json!(["at_286", "ideal", "host"]));
    assert_eq!(at("/properties/scheduler/oneOf/1/properties/name/const"), "minix");
    assert_eq!(at("/properties/scheduler/oneOf/1/properties/slice/default"), "100ms");
    assert_eq!(at("/properties/scheduler/oneOf/1/properties/ready_at/enum"), &serde_json::json!(["tail", "head"]));
    let loads = "/properties/workload/additionalProperties/oneOf";
    assert_eq!(at(&format!("{loads}/1/required")), &serde_json::json!(["load", "files"]));
    assert_eq!(at(&format!("{loads}/1/properties/files/description")), "How many files.");
    assert_eq!(at(&format!("{loads}/0/properties/nice/maximum")), 20);
    assert_eq!(at(&format!("{loads}/2/required")), &serde_json::json!(["steps"]));
    assert_eq!(at("/$defs/Metric/anyOf/3/pattern"), r"^tasks\.(\*|[\w-]+)\.real$");
    assert_eq!(at("/$defs/Metric/anyOf/6/pattern"), r"^nice\.(\*|-?\d+)\.load1$");
}
