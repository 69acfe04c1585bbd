//! What a page asks and what it is answered, on the machine that builds it: the module itself is tested by `tests/test_web_engine.py`.

use proptest::prelude::*;
use schedlab_catalogue::{VERSION, tables};
use schedlab_model::{
    Nanos,
    event::{Event, Kind, Observer},
    experiment::{Format, read, read_scenario},
    units::Duration,
};
use schedlab_policies::schedulers::{Fifo, Minix, RoundRobin};
use schedlab_traces::gantt::{Chart, Drafting};
use schedlab_web::LONGEST;
use serde_json::{Value, json};

/// The schedulers that are compiled for these tests.
type Few = (Fifo, (RoundRobin, Minix));

const EXPERIMENT: &str = r#"
question = "Who waits?"
machine = "uniform"
duration = "300ms"
seeds = [3, 8]
[scheduler]
name = "round_robin"
[workload]
hog = { load = "spin", compute = "7ms", passes = "forever", count = 2 }
keys = { passes = "forever", steps = [{ sleep = { exp = "5ms" } }, { compute = "1ms" }] }
[sweep]
"scheduler.slice" = ["10ms", "20ms"]
"machine.processors" = [1, 2]
"#;

/// An answer taken apart: its JSON, and what is behind it.
fn asked(question: &[u8]) -> (Value, Vec<u8>) {
    let answer = schedlab_web::answer::<Few>(question);
    let (length, rest) = answer.split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
    let json = serde_json::from_slice(&rest[..length]).unwrap();
    (json, answer[(4 + length).next_multiple_of(8).min(answer.len())..].to_vec())
}

fn ask(question: &Value) -> Value {
    asked(question.to_string().as_bytes()).0
}

fn resolved(text: &str) -> Value {
    ask(&json!({ "do": "resolve", "text": text }))
}

/// The scenario of a cell of the experiment.
fn scenario(cell: usize) -> Value {
    resolved(EXPERIMENT)["cells"][cell]["scenario"].clone()
}

/// The spans of a run: begin, end, task, processor.
fn spans(json: &Value, arrays: &[u8]) -> Vec<(f64, f64, u32, u16)> {
    let count = json["spans"].as_u64().unwrap() as usize;
    let mut left = arrays;
    let mut array = |width: usize| {
        let (this, rest) = left.split_at(count * width);
        left = &rest[(count * width).next_multiple_of(8).min(left.len()) - count * width..];
        this.chunks(width).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    let [begin, end, task, processor] = [8, 8, 4, 2].map(&mut array);
    assert!(left.is_empty());
    let float = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap());
    let span = |i: usize| {
        let task = u32::from_le_bytes(task[i][..].try_into().unwrap());
        (float(&begin[i]), float(&end[i]), task, u16::from_le_bytes(processor[i][..].try_into().unwrap()))
    };
    (0..count).map(span).collect()
}

fn fault(answer: &Value) -> &Value {
    assert!(answer["fault"]["message"].is_string(), "{answer} is no fault");
    &answer["fault"]
}

#[test]
fn the_catalog_is_that_of_every_bridge_with_the_engines_version() {
    let mut expected: Value = serde_json::from_str(&tables::catalogue().unwrap()).unwrap();
    expected["version"] = json!(VERSION);
    assert_eq!(ask(&json!({ "do": "catalog" })), expected);
}

#[test]
fn an_experiment_is_resolved_into_its_cells() {
    let answer = resolved(EXPERIMENT);
    assert_eq!(answer["question"], "Who waits?");
    assert_eq!((&answer["metrics"], &answer["seeds"], &answer["listed"]), (&Value::Null, &json!(2), &json!([3, 8])));
    let cells = answer["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 4);
    assert_eq!(cells[1]["factors"], json!({ "machine.processors": "1", "scheduler.slice": "20ms" }));
    assert_eq!(cells[1]["scenario"]["scheduler"]["slice"], "20ms");
}

#[test]
fn what_is_set_counts_as_after_set() {
    let set = json!({ "scheduler.slice": "5ms", "machine.processors": "2", "seeds": "4", "workload.hog.nice": "-3" });
    let answer = ask(&json!({ "do": "resolve", "text": EXPERIMENT, "set": set }));
    let [cell] = &answer["cells"].as_array().unwrap()[..] else { panic!("{answer} has several cells") };
    assert_eq!((&cell["scenario"]["scheduler"]["slice"], &answer["listed"]), (&json!("5ms"), &Value::Null));
    assert_eq!((&cell["scenario"]["workload"]["hog"]["nice"], &answer["seeds"]), (&json!(-3), &json!(4)));
}

#[test]
fn a_mistake_is_said_in_the_engines_words_with_its_line_and_field() {
    let text = EXPERIMENT.replace("load = \"spin\"", "laod = \"spin\"");
    let problem = read(&text, "mine.toml", Format::Toml, &[], &tables::SHIPPED).unwrap_err();
    let answer = ask(&json!({ "do": "resolve", "text": text, "label": "mine.toml" }));
    let message = problem.to_string();
    assert!(message.starts_with("mine.toml:9: workload.hog.laod: "), "{message}");
    let expected = json!({ "message": message, "line": 9, "column": null, "field": "workload.hog.laod" });
    assert_eq!(*fault(&answer), expected);
}

#[test]
fn what_is_no_toml_has_a_line_too() {
    let answer = resolved("question = \"why?\"\nmachine = \n");
    assert_eq!((&fault(&answer)["line"], &fault(&answer)["field"]), (&json!(2), &Value::Null));
}

#[test]
fn a_mistake_in_what_is_set_names_the_option() {
    let answer = ask(&json!({ "do": "resolve", "text": EXPERIMENT, "set": { "scheduler.slice": "soon" } }));
    let message = fault(&answer)["message"].as_str().unwrap();
    assert!(message.contains("--set scheduler.slice=soon"), "{message}");
    assert_eq!((&answer["fault"]["line"], &answer["fault"]["field"]), (&Value::Null, &json!("scheduler.slice")));
}

#[test]
fn a_large_sweep_is_refused() {
    let slices: Vec<String> = (1..1002).map(|n| format!("\"{n}us\"")).collect();
    let text = EXPERIMENT.replace("\"10ms\", \"20ms\"", &slices.join(", "));
    let text = text.replace("[1, 2]", "[1]");
    let said = fault(&resolved(&text))["message"].to_string();
    assert!(said.contains("at most 1000 cells") && said.contains("schedlab run"), "{said}");
}

#[test]
fn rows_are_those_of_the_simulator_to_the_last_bit_however_many_spans_are_wanted() {
    for cell in 0..4 {
        let text = scenario(cell).to_string();
        let parsed = read_scenario(&text, "cell", Format::Json, &tables::SHIPPED).unwrap();
        let report = schedlab_sim::run::<Few>(&parsed, 8).unwrap();
        // As text: what is read from it can be another float.
        let rows: Vec<Value> = report.rows.iter().map(|row| json!([row.metric, row.value, row.unit])).collect();
        let rows = format!("\"rows\":{}", json!(rows));
        for wanted in [0, 5, 1 << 20] {
            let question = json!({ "do": "run", "scenario": scenario(cell), "seed": 8, "spans": wanted });
            let bytes = schedlab_web::answer::<Few>(question.to_string().as_bytes());
            assert!(String::from_utf8_lossy(&bytes).contains(&rows), "cell {cell}");
            let answer = ask(&question);
            assert_eq!((&answer["elapsed"], &answer["seeded"]), (&json!(300_000_000), &json!(true)));
        }
    }
}

#[test]
fn spans_are_the_times_between_switches() {
    let question = json!({ "do": "run", "scenario": scenario(3), "seed": 3, "spans": 1_000_000 });
    let (json, arrays) = asked(question.to_string().as_bytes());
    let parsed = read_scenario(&scenario(3).to_string(), "cell", Format::Json, &tables::SHIPPED).unwrap();
    let mut events: Vec<Event> = Vec::new();
    schedlab_sim::observe::<Few, _>(&parsed, 3, &mut events).unwrap();
    let (mut since, mut expected): ([Nanos; 2], _) = ([0; 2], Vec::new());
    for event in events {
        match event.kind {
            Kind::SwitchIn => since[usize::from(event.cpu)] = event.time,
            Kind::SwitchOut => {
                let begin = since[usize::from(event.cpu)] as f64;
                expected.push((begin, event.time as f64, event.task, event.cpu));
            }
            _ => {}
        }
    }
    assert!(expected.len() > 20);
    assert_eq!((spans(&json, &arrays), &json["left_out"]), (expected, &json!(0)));
    let names: Vec<&str> =
        json["tasks"].as_array().unwrap().iter().map(|task| task["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hog#0", "hog#1", "keys#2"]);
    assert_eq!((&json["tasks"][2]["job"], &json["processors"]), (&json!("keys"), &json!(2)));
}

/// A stretch of a run that ends with it, drawn from all its events.
fn drawn(scenario: &Value, seed: u64, from: Nanos, to: Nanos) -> Chart {
    let mut parsed = read_scenario(&scenario.to_string(), "cell", Format::Json, &tables::SHIPPED).unwrap();
    parsed.duration = Some(Duration(to));
    let mut events: Vec<Event> = Vec::new();
    let end = schedlab_sim::observe::<Few, _>(&parsed, seed, &mut events).unwrap();
    let names = schedlab_sim::names(&parsed).unwrap();
    let mut drafting = Drafting::new(&names, from, to);
    events.into_iter().for_each(|event| drafting.observe(event));
    drafting.finish(end)
}

#[test]
fn a_stretch_is_drawn_as_from_all_events() {
    // Without the hogs, which end, the processor is idle between keys.
    let text = EXPERIMENT.replace("\"7ms\", passes = \"forever\"", "\"7ms\", passes = 3");
    let ending = resolved(&text.replace("passes = \"forever\"", "passes = 40"))["cells"][0].clone();
    for (scenario, from, to) in [
        (scenario(0), 0, 50_000_000),
        (scenario(3), 30_000_000, 123_000_000),
        (ending["scenario"].clone(), 20_000_000, 123_000_000),
    ] {
        let answer = ask(&json!({ "do": "draw", "scenario": scenario, "seed": 3, "from": from, "to": to }));
        let svg = answer["svg"].as_str().unwrap();
        assert_eq!(svg, drawn(&scenario, 3, from, to).svg("round_robin on uniform, seed 3"));
        assert!(svg.contains("keys#2, running for") && svg.contains(", ready for"), "{svg}");
        assert_eq!(svg.contains("when idle, idle for"), scenario == ending["scenario"]);
    }
}

#[test]
fn a_stretch_after_the_end_of_a_run_is_refused() {
    let question = json!({ "do": "draw", "scenario": scenario(0), "seed": 3, "from": 300_000_000, "to": 400_000_000 });
    assert_eq!(fault(&ask(&question))["message"], "nothing to draw from 300ms on: the run ends at 300ms");
}

#[test]
fn no_more_spans_are_given_than_wanted_and_the_others_are_counted() {
    let run = |spans: u64| {
        asked(json!({ "do": "run", "scenario": scenario(0), "seed": 3, "spans": spans }).to_string().as_bytes())
    };
    let (all, of_all) = run(1 << 20);
    let (few, of_few) = run(7);
    assert_eq!(spans(&few, &of_few), spans(&all, &of_all)[..7]);
    assert_eq!(few["left_out"].as_u64().unwrap(), all["spans"].as_u64().unwrap() - 7);
}

#[test]
fn waits_are_a_distribution_function_of_few_points() {
    let answer = ask(&json!({ "do": "run", "scenario": scenario(0), "seed": 3 }));
    let points = |job: &str| serde_json::from_value::<Vec<(f64, f64)>>(answer["waits"][job].clone()).unwrap();
    let value = |metric: &str| {
        let row = answer["rows"].as_array().unwrap().iter().find(|row| row[0] == metric);
        row.unwrap()[1].as_f64().unwrap()
    };
    assert_eq!(points("hog"), [], "it never sleeps");
    let keys = points("keys");
    assert!(keys.len() > 3 && keys.len() <= 200 && keys.is_sorted_by(|one, next| one.0 < next.0 && one.1 < next.1));
    assert_eq!(keys.last(), Some(&(value("tasks.keys.wakeup_latency.max"), 1.0)));
    assert!(keys.iter().any(|point| point.0 == value("tasks.keys.wakeup_latency.p50")));
}

#[test]
fn tasks_of_the_kernel_have_a_name_and_no_job() {
    let text = "machine = \"at_286\"\nduration = \"1s\"\n[scheduler]\nname = \"minix\"\n[workload]\nio = { load = \"read_files\", files = 1, size = \"4KiB\" }\n";
    let scenario = resolved(text)["cells"][0]["scenario"].clone();
    let answer = ask(&json!({ "do": "run", "scenario": scenario, "seed": 1, "spans": 100 }));
    let tasks = answer["tasks"].as_array().unwrap();
    let own: Vec<&str> =
        tasks.iter().filter(|task| task["job"].is_null()).filter_map(|task| task["name"].as_str()).collect();
    assert!(own.contains(&"files") && !own.iter().any(|name| name.contains('#')), "{own:?}");
    assert!(tasks.iter().any(|task| task["job"] == "io"));
}

#[test]
fn hostile_questions_are_answered_with_a_fault() {
    let run = |change: fn(&mut Value)| {
        let mut scenario = scenario(0);
        change(&mut scenario);
        json!({ "do": "run", "scenario": scenario, "seed": 1 }).to_string()
    };
    let recording = |scenario: &mut Value| scenario["recording"] = json!({ "file": "/etc/passwd", "sha256": "0" });
    let file = EXPERIMENT.replace("keys = {", "keys = { arrivals = { recorded = { file = \"/etc/passwd\" } },");
    let questions = [
        String::new(),
        "[".repeat(1 << 16),
        " ".repeat(LONGEST + 1),
        "{}".to_owned(),
        r#"{"do": "everything"}"#.to_owned(),
        r#"{"do": "run", "scenario": {}, "seed": -1}"#.to_owned(),
        r#"{"do": "run", "scenario": null, "seed": 1}"#.to_owned(),
        json!({ "do": "resolve", "text": EXPERIMENT, "format": "yaml" }).to_string(),
        json!({ "do": "resolve", "text": "a = ".to_owned() + &"[".repeat(1 << 20) }).to_string(),
        json!({ "do": "resolve", "text": "a.".repeat(1 << 19) }).to_string(),
        json!({ "do": "resolve", "text": EXPERIMENT, "set": { "": "", "seeds": "18446744073709551615" } }).to_string(),
        json!({ "do": "resolve", "text": file }).to_string(),
        json!({ "do": "resolve", "text": EXPERIMENT.replace("\"uniform\"", "\"host\"") }).to_string(),
        run(recording),
        run(|scenario| scenario["machine"]["processors"] = json!(0)),
        run(|scenario| scenario["machine"]["processors"] = json!(1_000_000)),
        run(|scenario| scenario["workload"]["hog"]["count"] = json!(0)),
        run(|scenario| scenario["workload"]["hog"]["load"] = json!("nothing")),
        run(|scenario| scenario["scheduler"]["slice"] = json!("0ms")),
        run(|scenario| scenario["scheduler"]["name"] = json!("eevdf")),
        run(|scenario| scenario["more"] = json!(1)),
    ];
    for question in questions {
        let (answer, _) = asked(question.as_bytes());
        assert!(answer["fault"]["message"].is_string(), "{}", &question[..question.len().min(300)]);
    }
}

/// The leaves of a value and what is around them, each as its path.
fn places(value: &Value, at: &str, into: &mut Vec<String>) {
    into.push(at.to_owned());
    match value {
        Value::Object(table) => {
            table.iter().for_each(|(name, inner)| places(inner, &format!("{at}/{}", name.replace('/', "~1")), into));
        }
        Value::Array(list) => list.iter().enumerate().for_each(|(i, inner)| places(inner, &format!("{at}/{i}"), into)),
        _ => {}
    }
}

fn hostile() -> impl Strategy<Value = Value> {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1),
        json!(0.5),
        json!(1e308),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\0"),
        json!("x"),
        json!("1ms"),
        json!("-1ms"),
        json!("1e999s"),
        json!([]),
        json!([[]]),
        json!({}),
        json!({ "exp": "0ms" }),
        json!({ "": null }),
        json!("forever"),
    ];
    prop::sample::select(values.to_vec())
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(question in prop::collection::vec(any::<u8>(), 0..200)) {
        asked(&question);
    }

    #[test]
    fn no_text_of_an_experiment_is_a_panic(text in "[ -~\n]{0,80}", at in any::<prop::sample::Index>()) {
        let mut written = EXPERIMENT.to_owned();
        written.insert_str(at.index(EXPERIMENT.len()), &text);
        resolved(&written);
    }

    #[test]
    fn no_wrong_value_in_a_question_is_a_panic(
        cell in 0..4usize, at in any::<prop::sample::Index>(), value in hostile(), spans in any::<u32>(),
    ) {
        let mut question = json!({ "do": "run", "scenario": scenario(cell), "seed": 1, "spans": spans % 100 });
        let mut all = Vec::new();
        places(&question, "", &mut all);
        let at = &all[at.index(all.len())];
        // A run without its duration would have no end.
        prop_assume!(!at.ends_with("/duration"));
        *question.pointer_mut(at).unwrap() = value;
        ask(&question);
    }
}
