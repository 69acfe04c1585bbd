//! Lists that a reader types in: the numbers of textbooks, and what is said of a list that is wrong.

use proptest::prelude::*;
use schedlab_policies::schedulers::{Fifo, RoundRobin, Srtf};
use serde_json::{Value, json};

/// The schedulers that are compiled for these tests.
type Few = (Fifo, (RoundRobin, Srtf));

fn ask(question: &Value) -> Value {
    let answer = schedlab_web::answer::<Few>(question.to_string().as_bytes());
    let (length, rest) = answer.split_at(4);
    let length = u32::from_le_bytes(length.try_into().unwrap()) as usize;
    serde_json::from_slice(&rest[..length]).unwrap()
}

fn references(text: &str, policies: &str, frames: u32) -> Value {
    ask(&json!({ "do": "references", "text": text, "policies": policies, "frames": frames }))
}

fn cylinders(text: &str, elevators: &Value) -> Value {
    ask(&json!({ "do": "cylinders", "text": text, "head": 53, "cylinders": 200, "elevators": elevators }))
}

fn bursts(text: &str) -> Value {
    ask(&json!({ "do": "bursts", "text": text }))
}

/// What is said of a wrong list, and its line.
fn fault(answer: &Value) -> (String, Value) {
    let message = answer["fault"]["message"].as_str().unwrap_or_else(|| panic!("{answer} is no fault"));
    (message.to_owned(), answer["fault"]["line"].clone())
}

// Reference strings.

const BELADY: &str = "1 2 3 4 1 2 5 1 2 3 4 5";
/// Silberschatz's reference string.
const SILBERSCHATZ: &str = "7,0,1,2,0,3,0,4,2,3,0,3,2,1,2,0,1,7,0,1";

#[test]
fn faults_are_those_of_the_textbook() {
    let answer = references(BELADY, "fifo,lru", 3);
    assert_eq!(answer["frames"], json!([1, 2, 3, 4, 5]));
    assert_eq!(answer["policies"][0]["faults"], json!([12, 12, 9, 10, 5]));
    assert_eq!((&answer["policies"][0]["rises"], &answer["policies"][1]["rises"]), (&json!([3]), &json!([])));
    assert_eq!((&answer["policies"][1]["faults"][2], &answer["policies"][1]["faults"][3]), (&json!(10), &json!(8)));
    let answer = references(SILBERSCHATZ, "fifo,belady,lru", 0);
    let with_three = |place: usize| answer["policies"][place]["faults"][2].clone();
    assert_eq!([0, 1, 2].map(with_three), [15, 9, 12]);
    assert!(answer["policies"][0]["steps"].is_null());
}

#[test]
fn steps_are_the_contents_of_each_frame() {
    let answer = references("a b; a,c # behind it\n b", "lru", 2);
    assert_eq!((&answer["objects"], &answer["requests"]), (&json!(["a", "b", "c"]), &json!([0, 1, 0, 2, 1])));
    let steps = answer["policies"][0]["steps"].as_array().unwrap();
    let frames: Vec<&Value> = steps.iter().map(|step| &step["frames"]).collect();
    let expected = [json!([0, null]), json!([0, 1]), json!([0, 1]), json!([0, 2]), json!([1, 2])];
    assert!(frames.into_iter().eq(&expected));
    let faults: Vec<bool> = steps.iter().map(|step| step["fault"].as_bool().unwrap()).collect();
    assert_eq!(faults, [true, true, false, true, true]);
}

#[test]
fn a_wrong_reference_string_is_refused_at_its_line() {
    let (said, line) = fault(&references("", "fifo", 3));
    assert!(said.contains("there are no requests: write them"), "{said}");
    assert_eq!(line, 1);
    let long = format!("1 2\n3 {}", "x".repeat(41));
    let (said, line) = fault(&references(&long, "fifo", 3));
    assert!(said.starts_with("list:2: ") && said.contains("at most 40 characters"), "{said}");
    assert_eq!(line, 2);
    assert!(fault(&references(&"1 ".repeat(10_001), "fifo", 3)).0.contains("at most 10000 are read"));
    assert!(fault(&references(&"1 ".repeat(40_000), "fifo", 3)).0.contains("the list has 80000 bytes"));
    assert!(fault(&references("1", "lur", 3)).0.contains("did you mean \"lru\"?"));
    assert!(fault(&references("1", &"lru,".repeat(300), 3)).0.contains("at most 1000 are read"));
}

// Lists of cylinders.

/// Silberschatz's queue, with the heads at 53.
const QUEUE: &str = "98 183 37 122 14 124 65 67";
const MS: u64 = 1_000_000;

#[test]
fn elevators_move_the_heads_as_in_the_textbook() {
    for (elevator, travel, to_the_ends) in [
        (json!({ "name": "fifo" }), 640, Value::Null),
        (json!({ "name": "sstf" }), 236, Value::Null),
        (json!({ "name": "scan", "towards": "down" }), 208, json!(236)),
        (json!({ "name": "c_scan" }), 322, json!(382)),
        (json!({ "name": "look", "towards": "up" }), 299, Value::Null),
    ] {
        let answer = cylinders(QUEUE, &json!([elevator]));
        let found = &answer["elevators"][0];
        assert_eq!((&found["travel"], &found["to_the_ends"]), (&json!(travel), &to_the_ends), "{elevator}");
        let last = found["rows"].as_array().unwrap().last().unwrap();
        let ended = last["ended"].as_u64().unwrap();
        assert!((travel * MS..travel * MS + 1000).contains(&ended), "a cylinder takes a millisecond: {ended}");
    }
}

#[test]
fn a_request_is_not_served_before_it_arrives_and_starves_under_sstf_while_others_come() {
    let text = "190 54 48 55@4 46@10 54@18 49@26";
    let answer = cylinders(text, &json!([{ "name": "sstf" }, { "name": "c_look" }]));
    let place = |elevator: usize, request: u64| {
        let rows = answer["elevators"][elevator]["rows"].as_array().unwrap();
        rows.iter().position(|row| row["request"] == request).unwrap()
    };
    assert_eq!((place(0, 0), place(1, 0)), (6, 1));
    for elevator in answer["elevators"].as_array().unwrap() {
        let rows = elevator["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 7);
        for row in rows {
            let arrives = answer["requests"][row["request"].as_u64().unwrap() as usize]["arrives"].as_u64().unwrap();
            let [began, ended, wait, response] =
                ["began", "ended", "wait", "response"].map(|name| row[name].as_u64().unwrap());
            assert_eq!((arrives + wait, arrives + response), (began, ended));
            let seek = row["seek"].as_u64().unwrap() * MS;
            assert!((seek..=seek + 10).contains(&(ended - began)));
        }
    }
}

#[test]
fn a_wrong_list_of_cylinders_is_refused_at_its_line() {
    let of = |text: &str| fault(&cylinders(text, &json!([{ "name": "sstf" }])));
    assert!(of("").0.contains("there are no requests"));
    let (said, line) = of("98\n18x");
    assert_eq!(
        (said.starts_with("list:2: \"18x\" is no request: write a cylinder such as 98"), line),
        (true, json!(2))
    );
    assert!(of("98 200").0.contains("\"200\" is beyond the drive: its cylinders are numbered from 0 to 199"));
    assert!(of("98@soon").0.contains("\"soon\" is no time"));
    assert!(of("98@2h").0.contains("is too long: at most 1h"));
    assert!(of("-1").0.contains("is no request"));
    let elevator = |value: Value| fault(&cylinders(QUEUE, &value)).0;
    assert!(elevator(json!([{ "name": "lift" }])).contains("none is called \"lift\" (known: fifo, "));
    assert!(elevator(json!([{ "name": "scan", "towards": "left" }])).contains("scan: towards: "));
    assert!(elevator(json!([])).contains("name 1 to 4"));
    let at = |head: u32, cylinders: u32| {
        fault(&ask(&json!({ "do": "cylinders", "text": "1", "head": head, "cylinders": cylinders, "elevators": [{ "name": "sstf" }] }))).0
    };
    assert!(at(200, 200).contains("head: there is no cylinder 200: they are numbered from 0 to 199"));
    assert!(at(0, 0).contains("cylinders: 0 is not between 1 and 100000"));
}

#[test]
fn every_elevator_serves_every_request_once() {
    let catalog = ask(&json!({ "do": "catalog" }));
    for info in catalog["elevators"].as_array().unwrap() {
        let text = "98 98 183@3 37 37@500 122 14 0 199@80 53 98@1000";
        let answer = cylinders(text, &json!([{ "name": info["name"] }]));
        let rows = answer["elevators"][0]["rows"].as_array().unwrap_or_else(|| panic!("{answer}"));
        let mut served: Vec<u64> = rows.iter().map(|row| row["request"].as_u64().unwrap()).collect();
        served.sort_unstable();
        assert_eq!(served, (0..11).collect::<Vec<_>>(), "{}", info["name"]);
    }
}

// Sets of bursts.

/// Runs the experiment of a set.
fn ran(text: &str, scheduler: &str) -> Value {
    let set = json!({ "scheduler": scheduler });
    let scenario = ask(&json!({ "do": "resolve", "text": text, "set": set }))["cells"][0]["scenario"].clone();
    ask(&json!({ "do": "run", "scenario": scenario, "seed": 1 }))
}

/// A metric of a run, in ms.
fn of(answer: &Value, metric: &str) -> f64 {
    let rows = answer["rows"].as_array().unwrap_or_else(|| panic!("{answer}"));
    rows.iter().find(|row| row[0] == metric).unwrap()[1].as_f64().unwrap() * 1e3
}

/// Runs a set and gives a metric of it, in ms.
fn felt(text: &str, scheduler: &str, metric: &str) -> f64 {
    of(&ran(bursts(text)["text"].as_str().unwrap(), scheduler), metric)
}

/// What each task of a set felt, in the order of the list, in ms.
fn of_each(text: &str, scheduler: &str, metric: &str) -> Vec<f64> {
    let set = bursts(text);
    let answer = ran(set["text"].as_str().unwrap(), scheduler);
    let felt = |task: &Value| of(&answer, &format!("tasks.{}.{metric}.mean", task["job"].as_str().unwrap()));
    set["tasks"].as_array().unwrap().iter().map(|task| (felt(task) * 1e6).round() / 1e6).collect()
}

const FCFS: &str = "{ name = 'fifo' }";
const TURNS: &str = "{ name = 'round_robin', slice = '4ms' }";

/// Silberschatz's examples.
#[test]
fn mean_waits_are_those_of_the_textbook() {
    let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    let text = "P1 0 24\nP2 0 3\nP3 0 3";
    near(felt(text, FCFS, "waiting.mean"), 17.0);
    near(felt(text, TURNS, "waiting.mean"), 17.0 / 3.0);
    near(felt(text, TURNS, "tasks.P1.turnaround.mean"), 30.0);
    near(felt(text, TURNS, "tasks.P3.response.mean"), 7.0);
    near(felt("P1 0 3\nP2 0 3\nP3 0 24", "{ name = 'srtf' }", "waiting.mean"), 3.0);
    // Shortest remaining time first: P1 is preempted by P2, which is there after 1 ms.
    near(felt("P1 0 8\nP2 1 4\nP3 2 9\nP4 3 5", "{ name = 'srtf' }", "waiting.mean"), 6.5);
}

#[test]
fn tasks_that_arrive_at_one_moment_are_served_in_the_order_of_the_list() {
    for text in ["c 0 24\nb 0 3\na 0 3", "P9 5 1\nP10 5 2\nP11 5 3"] {
        assert!(of_each(text, FCFS, "response").is_sorted(), "{text}");
    }
}

/// Two tasks arrive as the slice of the first ends: both go before it, in the order of the list.
#[test]
fn names_do_not_change_what_a_list_gives() {
    let turns = "{ name = 'round_robin', slice = '3ms' }";
    for text in ["B 0 6\nC 3 2\nA 3 2", "A 0 6\nB 3 2\nC 3 2", "3 0 6\n1 3 2\n2 3 2"] {
        assert_eq!(of_each(text, turns, "waiting"), [4.0, 0.0, 2.0], "{text}");
        assert_eq!(of_each(text, turns, "turnaround"), [10.0, 2.0, 4.0], "{text}");
    }
    let tied = "{ name = 'srtf' }";
    assert_eq!(of_each("b 0 2\na 0 2\nc 0 2", tied, "waiting"), of_each("a 0 2\nb 0 2\nc 0 2", tied, "waiting"));
    let many: String = (0..100).rev().map(|n| format!("t{n} 0 1\n")).collect();
    assert_eq!(of_each(&many, FCFS, "waiting"), (0..100).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn jobs_are_numbered_where_the_list_is_not_in_the_order_of_its_names() {
    let answer = bursts("B 0 6\nC 3 2\nA 3 2");
    assert_eq!(answer["tasks"][2], json!({ "name": "A", "job": "3-A", "arrives": 3_000_000, "computes": 2_000_000 }));
    assert!(
        answer["text"].as_str().unwrap().ends_with("\n3-A = { steps = [{ compute = \"2ms\" }], start = \"3ms\" }\n")
    );
    let (said, line) = fault(&bursts("B 0 6\nA 3 2 nice=99"));
    assert!(said.starts_with("list:2: workload.A.nice: ") && line == 2, "{said}");
}

#[test]
fn a_set_of_bursts_is_an_experiment_file() {
    let answer = bursts("# name arrival burst\nP1, 0, 24\n\nP2\t1.5ms 3 nice=5\nP3 0 10us priority=7");
    let text = answer["text"].as_str().unwrap();
    assert!(text.contains("\nP1 = { steps = [{ compute = \"24ms\" }] }\n"), "{text}");
    assert!(text.contains("\nP2 = { steps = [{ compute = \"3ms\" }], start = \"1500us\", nice = 5 }\n"), "{text}");
    assert!(text.contains("\nP3 = { steps = [{ compute = \"10us\" }], policy = \"fifo\", priority = 7 }\n"), "{text}");
    assert_eq!(answer["tasks"][1], json!({ "name": "P2", "job": "P2", "arrives": 1_500_000, "computes": 3_000_000 }));
}

#[test]
fn a_wrong_set_of_bursts_is_refused_at_its_line() {
    for (text, line, said) in [
        ("", 1, "there is no task: write one a line, such as P1 0 24"),
        ("P1 0 24\nP2 0", 2, "list:2: there are 2 words: write a name, when it arrives and how long it computes"),
        ("P1", 1, "list:1: there is 1 word: write a name"),
        ("P1 0 0.1ns", 1, "list:1: \"0.1ns\" rounds to 0: the shortest time is 1ns"),
        ("P1 0.0000004 1", 1, "\"0.0000004\" rounds to 0"),
        ("\nP1 0 soon", 2, "list:2: \"soon\" is no time: write ms as a number such as 24"),
        ("P1 0 -3", 1, "\"-3\" is no time"),
        ("P1 0 3\nP.2 0 3", 2, "\"P.2\" is no name: write letters, digits, _ or -"),
        ("P1 0 3 fast", 1, "\"fast\" is neither a nice value such as 5"),
        ("P1 0 3 5 6", 1, "\"6\" is one word too many"),
        ("P1 0 3\nP2 0 3\nP1 0 3", 3, "\"P1\" is the name of line 1, too"),
        ("P1 0 3\n\nP2 0 3 nice=99", 3, "list:3: workload.P2.nice: "),
        ("P1 0 3\nP2 0 3 priority=0", 2, "list:2: workload.P2.priority: "),
        ("P1 0 900s\nP2 0 200s", 2, "compute for more than 1000s"),
    ] {
        let (found, at) = fault(&bursts(text));
        assert!(found.contains(said) && at == json!(line), "{text:?}: {found} at {at}");
    }
    let many: String = (0..101).map(|n| format!("P{n} 0 1\n")).collect();
    assert_eq!(fault(&bursts(&many)), ("list:101: there are 101 tasks; at most 100 are read".to_owned(), json!(101)));
    let long = format!("{} 0 1", "P".repeat(500));
    assert!(fault(&bursts(&long)).0.contains("is too long: a name has at most 40 characters"));
    assert!(bursts("P1 0ns 0.000").get("fault").is_none(), "0 is a time");
}

proptest! {
    #[test]
    fn no_typed_list_is_a_panic(
        text in "[ -~\n\t]{0,60}|([0-9a-c@#,;.\n ]{0,120})|([Pp=0-9ms \n-]{0,80})", frames in 0..40u32, head in 0..300u32, size in 0..300u32,
    ) {
        references(&text, "fifo,s3_fifo,lirs,belady", frames);
        let elevators = json!([{ "name": "cfq" }, { "name": "scan" }, { "name": "bfq" }]);
        ask(&json!({ "do": "cylinders", "text": text, "head": head, "cylinders": size, "elevators": elevators }));
        let answer = bursts(&text);
        if let Some(written) = answer["text"].as_str() {
            let resolved = ask(&json!({ "do": "resolve", "text": written }));
            prop_assert!(resolved["cells"].is_array(), "{resolved}");
        }
    }

    #[test]
    fn a_list_of_cylinders_is_served_whole(list in prop::collection::vec((0..50u32, 0..200u32), 1..40), name in 0..16usize) {
        let words: Vec<String> = list.iter().map(|(cylinder, ms)| format!("{cylinder}@{ms}")).collect();
        let catalog = ask(&json!({ "do": "catalog" }));
        let question = json!({
            "do": "cylinders", "text": words.join(" "), "head": 7, "cylinders": 50, "elevators": [{ "name": catalog["elevators"][name]["name"] }],
        });
        let answer = ask(&question);
        let found = &answer["elevators"][0];
        let rows = found["rows"].as_array().unwrap();
        prop_assert_eq!(rows.len(), list.len());
        let seeks: u64 = rows.iter().map(|row| row["seek"].as_u64().unwrap()).sum();
        prop_assert_eq!(&json!(seeks), &found["travel"]);
        prop_assert!(rows.is_sorted_by(|one, next| one["ended"].as_u64() <= next["began"].as_u64()));
    }
}
