//! The table `[attention]` of an experiment: what it may leave out, what can be swept, and when two of them are the same.

mod catalogue;

use catalogue::CATALOGUE;
use schedlab_model::{
    attention::{Attending, Layout},
    experiment::{Cell, Format, expand, read, schema, write_rt_app},
};

const FILE: &str = r#"
machine = "ideal"
scheduler.name = "minix"
duration = "20s"
workload.editor = { load = "spin", passes = "forever" }
workload.hog = { load = "spin", passes = "forever" }
"#;

fn cells(more: &str) -> Vec<Cell> {
    let read = read(&format!("{FILE}{more}"), "x.toml", Format::Toml, &[], &CATALOGUE);
    expand(&read.unwrap_or_else(|problem| panic!("{problem}")), &CATALOGUE).unwrap()
}

fn attending(more: &str) -> Attending {
    cells(more)[0].scenario.attention.clone().unwrap()
}

#[test]
fn the_usual_levels_are_those_of_the_example_without_what_only_a_host_has() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/attention/desktop.toml");
    let mut desktop = Layout::read(&std::fs::read_to_string(path).unwrap(), "desktop.toml").unwrap();
    desktop.level.iter_mut().for_each(|level| level.weight = None);
    (desktop.title, desktop.rule) = (String::new(), Vec::new());
    assert_eq!(Layout::default(), desktop);
    assert_eq!(attending("attention.focus = [{ at = '0s', job = 'editor' }]").layout, desktop);
}

#[test]
fn a_layout_changes_what_it_names() {
    let found = attending(
        "[attention]\nfocus = [{ at = '1s', job = 'editor' }, { at = '2s' }]\n\
         layout = { title = 'x', attention = { dwell = '1s' }, rule = [{ name = 'h*', level = 'batch' }] }",
    );
    let usual = Layout::default();
    assert_eq!((found.layout.level.clone(), found.layout.overload.clone()), (usual.level, usual.overload));
    assert_eq!(found.layout.attention.dwell.0, schedlab_model::SECOND);
    assert_eq!(found.layout.attention.stay, usual.attention.stay);
    assert_eq!(found.home("hog").map(|home| (home.level, home.follows)), Some((2, false)));
    assert_eq!(found.home("editor"), None);
    assert_eq!(found.focus[1].job, None);
}

#[test]
fn what_is_not_enabled_is_an_experiment_without_it() {
    let plain = &cells("")[0];
    let both =
        cells("attention.focus = [{ at = '0s', job = 'editor' }]\n[sweep]\n\"attention.enabled\" = [false, true]");
    assert_eq!((&both[0].hash, &both[0].scenario), (&plain.hash, &plain.scenario));
    assert_ne!(both[1].hash, plain.hash);
    assert_eq!(both[1].factors["attention.enabled"], "true");
}

#[test]
fn parts_of_it_can_be_swept_and_a_title_decides_nothing() {
    let table = "attention.focus = [{ at = '0s', job = 'editor' }]\n";
    let all = cells(&format!(
        "{table}[sweep]\n\"attention.layout.attention.dwell\" = ['1s', '2s']\n\"attention.period\" = ['1s', '500ms']"
    ));
    let mut hashes: Vec<&String> = all.iter().map(|cell| &cell.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    assert_eq!(hashes.len(), 4);
    assert_eq!(cells(table)[0].hash, cells(&format!("{table}attention.layout.title = 'mine'"))[0].hash);
}

#[test]
fn the_schema_asks_for_no_levels_here() {
    let schema = schema(&CATALOGUE);
    assert_eq!(schema["properties"]["attention"]["$ref"], "#/$defs/Attending");
    assert_eq!(schema["$defs"]["Attending"]["properties"]["layout"]["$ref"], "#/$defs/AttentionLayout");
    let layout = &schema["$defs"]["AttentionLayout"];
    assert!(layout["properties"].get("level").is_some() && layout.get("required").is_none());
    assert_eq!(schema["$defs"]["Level"]["required"], serde_json::json!(["name", "nice"]));
}

#[test]
fn a_task_set_of_rt_app_has_none() {
    let cell = &cells("attention.focus = [{ at = '0s', job = 'editor' }]")[0];
    let why = write_rt_app(&cell.scenario, "x.toml").unwrap_err().to_string();
    assert_eq!(why, "x.toml: attention: rt-app runs its tasks without levels: leave it out");
}
