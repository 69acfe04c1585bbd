//! What if: a recording given as an experiment and replayed, as a script asks for it.

use schedlab_bridge::{experiments, replaying, tables::CATALOGUE};
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

const RECORDING: &str = "../../examples/traces/player.txt";
const MEASURED: &str = r#"{"by": "comm"}"#;

/// The answer to a preparation, and the scenario of its experiment with what is changed there.
fn prepared(name: &str, change: impl FnOnce(&mut Value)) -> (Value, Value) {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let asked = format!(r#"{{"measured": {MEASURED}}}"#);
    let found: Value = serde_json::from_str(&replaying::prepare(Path::new(RECORDING), &asked, &work).unwrap()).unwrap();
    let mut document = found["document"].clone();
    document["recording"] = json!({ "file": work, "sha256": found["sha256"] });
    change(&mut document);
    let read = experiments::read(&document.to_string(), "replayed", "json", &[], &BTreeMap::new(), &CATALOGUE).unwrap();
    let cells: Value = serde_json::from_str(&experiments::expand(&read, 0, 1, &CATALOGUE).unwrap()).unwrap();
    (found, cells[0]["scenario"].clone())
}

fn run(scenario: &Value) -> Value {
    let run = json!({ "scenario": scenario, "seed": 1 }).to_string();
    serde_json::from_str(&replaying::replay(&run, MEASURED).unwrap()).unwrap()
}

/// The share of all tasks of a name, in percent of a processor.
fn share(report: &Value, name: &str) -> f64 {
    let rows = report["tasks"].as_array().unwrap();
    rows.iter().find(|row| row["comm"] == name).map_or(0.0, |row| row["share_pct"].as_f64().unwrap())
}

#[test]
fn a_recording_of_one_processor_is_replayed_on_one_and_gives_its_shares() {
    let (found, scenario) = prepared("as-recorded.work", |_| ());
    assert_eq!(scenario["machine"]["processors"], 1);
    let replayed = run(&scenario);
    for name in ["hog", "player"] {
        let (recorded, again) = (share(&found["recorded"], name), share(&replayed, name));
        assert!((recorded - again).abs() < 2.0, "{name}: recorded {recorded} %, replayed {again} %");
    }
}

#[test]
fn the_same_run_gives_the_same_numbers() {
    let (_, scenario) = prepared("twice.work", |_| ());
    assert_eq!(run(&scenario), run(&scenario));
}

#[test]
fn names_that_no_task_has_and_patterns_that_are_none_are_refused_with_their_option() {
    let none = "no task of the recording has such a name";
    let meant = "such a name; did you mean \"hog\"? (known: ";
    for (asked, option, why) in [
        (json!({ "treat": [["hok", "open"]] }), "--treat \"hok\"", meant),
        (json!({ "remove": ["hog", "og"] }), "--remove \"og\"", none),
        (json!({ "copies": [["hogs", 2]] }), "--copies \"hogs\"", meant),
        (json!({ "treat": [["(", "open"]] }), "--treat \"(\"", "is no regular expression"),
        (json!({ "remove": ["("] }), "--remove \"(\"", "is no regular expression"),
        (json!({ "copies": [["(", 2]] }), "--copies \"(\"", "is no regular expression"),
    ] {
        let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused.work");
        let mut whole = json!({ "measured": { "by": "comm" } });
        whole.as_object_mut().unwrap().extend(asked.as_object().unwrap().clone());
        let refused = replaying::prepare(Path::new(RECORDING), &whole.to_string(), &work).unwrap_err();
        assert!(refused.contains(option) && refused.contains(why), "{refused}");
        assert!(!work.exists());
    }
}
