//! What a tuner may change: the levels of ranges and lists, the value that the experiment has now, and the default, which is the
//! parameters of the policies that are named.

#![allow(clippy::result_large_err, reason = "a problem is met once, at the end")]

mod catalogue;

use catalogue::CATALOGUE;
use schedlab_model::experiment::{Dimension, Experiment, Format, expand, read, space};
use serde_json::{Value, json};

const BASE: &str = r#"machine = "ideal"
scheduler = { name = "minix", slice = "50ms" }
workload.hog = { load = "spin" }
duration = "1s"
"#;

fn parse(text: &str) -> Experiment {
    read(&format!("{BASE}{text}"), "test.toml", Format::Toml, &[], &CATALOGUE).unwrap()
}

fn found(text: &str) -> Vec<Dimension> {
    space(&parse(text), &CATALOGUE).unwrap()
}

fn only(text: &str) -> Dimension {
    let mut all = found(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn the_present_value_is_a_level_of_a_range_around_it() {
    let slice = only(
        r#"[space]
"scheduler.slice" = { low = "10ms", high = "100ms" }"#,
    );
    let expected = [
        "10ms", "12ms", "15ms", "18ms", "22ms", "27ms", "33ms", "39ms", "47ms", "50ms", "56ms", "68ms", "82ms", "100ms",
    ];
    assert_eq!(slice.levels, expected.map(Value::from));
    assert_eq!(slice.positions.unwrap()[9], 5e7);
    assert_eq!((slice.present, slice.unit, slice.logarithmic), (Some(9), "ns", true));
}

#[test]
fn a_value_outside_of_the_range_is_known_and_no_level() {
    let slice = only(
        r#"[space]
"scheduler.slice" = { low = "1ms", high = "10ms" }"#,
    );
    assert_eq!((slice.present, slice.value), (None, Some(json!("50ms"))));
    assert_eq!(slice.levels.len(), 13);
}

#[test]
fn lists_of_quantities_are_in_order_and_names_as_written() {
    let slice = only(
        r#"[space]
"scheduler.slice" = ["1s", "36ms", "0.05s"]"#,
    );
    assert_eq!(slice.levels, ["36ms", "0.05s", "1s"].map(Value::from));
    assert_eq!((slice.present, slice.logarithmic), (Some(1), true));
    let ready_at = only(
        r#"[space]
"scheduler.ready_at" = ["tail", "head"]"#,
    );
    assert_eq!(ready_at.levels, ["tail", "head"].map(Value::from));
    assert_eq!((ready_at.present, ready_at.positions, ready_at.logarithmic), (Some(0), None, false));
}

#[test]
fn fields_of_workload_and_machine_and_whole_policies_can_be_searched() {
    let all = found(
        r#"[space]
"workload.hog.nice" = { low = 0, high = 3 }
"machine.processors" = [1, 2]
"scheduler" = [{ name = "minix", slice = "50ms" }, { name = "minix" }]"#,
    );
    let of = |path: &str| all.iter().find(|one| one.path == path).unwrap();
    assert_eq!(of("workload.hog.nice").levels, [0, 1, 2, 3].map(Value::from));
    assert_eq!(of("workload.hog.nice").present, Some(0), "what is not written has a default");
    assert_eq!(of("machine.processors").positions, Some(vec![1.0, 2.0]));
    assert_eq!(of("machine.processors").value, Some(json!(4)));
    assert_eq!(of("scheduler").present, Some(0));
}

#[test]
fn without_a_space_it_is_the_parameters_of_the_policies_around_their_defaults() {
    let all = found("");
    let names: Vec<&str> = all.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(names, ["scheduler.slice", "scheduler.ready_at"]);
    let slice = &all[0];
    assert_eq!((slice.levels.first(), slice.levels.last()), (Some(&json!("1ms")), Some(&json!("10s"))));
    assert_eq!(slice.value, Some(json!("50ms")));
    assert_eq!(slice.levels[slice.present.unwrap()], json!("50ms"));
    // What is swept is a load under which settings are compared, and no setting.
    let left = found("[sweep]\n\"scheduler.slice\" = [\"1ms\", \"1s\"]");
    assert_eq!(left.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["scheduler.ready_at"]);
    assert_eq!(found("[sweep]\nscheduler = [{ name = \"minix\" }, { name = \"minix\", slice = \"1s\" }]"), []);
}

#[test]
fn a_swept_value_of_null_leaves_the_field_out() {
    let text = r#"{ "machine": "ideal", "scheduler": { "name": "minix", "slice": "50ms" }, "workload": { "hog": { "load": "spin" } },
        "duration": "1s", "sweep": { "scheduler.slice": [null, "36ms"] } }"#;
    let experiment = read(text, "test.json", Format::Json, &[], &CATALOGUE).unwrap();
    let cells = expand(&experiment, &CATALOGUE).unwrap();
    let slices: Vec<String> = cells.iter().map(|cell| cell.scenario.scheduler.settings["slice"].to_string()).collect();
    assert_eq!(slices, ["100ms", "36ms"], "the first is the default");
    assert_eq!(cells[0].factors["scheduler.slice"], "unset");
}

#[test]
fn conditions_are_read_in_the_unit_of_their_metric() {
    let goal = r#"[goal]
minimize = ["context_switches"]
keep = ["tasks.hog.wakeup_latency.p99 <= 5ms", "tasks.hog.wakeup_latency.count>0", "context_switches < 20%"]
weights = { context_switches = 2.5 }"#;
    let experiment = parse(goal);
    let conditions = experiment.goal.conditions(CATALOGUE.metrics).unwrap();
    let read: Vec<_> = conditions.iter().map(|one| (one.metric.as_str(), one.relation, one.bound)).collect();
    let expected = [
        ("tasks.hog.wakeup_latency.p99", "<=", 0.005),
        ("tasks.hog.wakeup_latency.count", ">", 0.0),
        ("context_switches", "<", 0.2),
    ];
    assert_eq!(read, expected);
    assert_eq!(experiment.goal.weights["context_switches"], 2.5);
}
