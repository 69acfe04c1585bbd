//! The trace is JSON as viewers read it, and agrees with the run.

mod sample;

use sample::{MS, names, run};
use schedlab_model::event::{Event, Observer};
use schedlab_traces::chrome::Tracer;
use serde_json::Value;
use std::io::{self, Write};

fn trace(events: &[Event], until: Option<u64>) -> Vec<Value> {
    let mut tracer = Tracer::new(Vec::new(), &names(), until);
    events.iter().for_each(|&e| tracer.observe(e));
    let json: Value = serde_json::from_slice(&tracer.finish().unwrap()).unwrap();
    assert_eq!(json["displayTimeUnit"], "ns");
    json["traceEvents"].as_array().unwrap().clone()
}

/// (name, start, duration) in microseconds of the slices of a track.
fn slices(trace: &[Value], group: u64, track: u64) -> Vec<(String, f64, f64)> {
    let on_track = |e: &&Value| e["ph"] == "X" && e["pid"] == group && e["tid"] == track;
    let slice = |e: &Value| (e["name"].as_str().unwrap().into(), e["ts"].as_f64().unwrap(), e["dur"].as_f64().unwrap());
    trace.iter().filter(on_track).map(slice).collect()
}

/// What the format requires of a record of each phase, in addition to `name` (a text) and `pid` (a whole number).
fn asked(phase: &str) -> &'static [&'static str] {
    match phase {
        "X" => &["cat", "tid", "ts", "dur"],
        "i" => &["tid", "ts", "s"],
        "C" => &["tid", "ts", "args"],
        "M" => &["args"],
        _ => panic!("no such phase here: {phase}"),
    }
}

#[test]
fn every_record_has_what_the_format_asks_of_its_phase() {
    for record in trace(&run(), None) {
        let phase = record["ph"].as_str().unwrap();
        assert!(record["name"].is_string() && record["pid"].is_u64(), "{record}");
        for field in asked(phase) {
            let good = match *field {
                "cat" => record["cat"].as_str().is_some_and(|cat| !cat.is_empty()),
                "ts" | "dur" => record[field].as_f64().is_some_and(|micros| micros >= 0.0),
                "tid" => record["tid"].is_u64(),
                "s" => ["g", "p", "t"].contains(&record["s"].as_str().unwrap_or_default()),
                _ => record["args"].as_object().is_some_and(|args| !args.is_empty()),
            };
            assert!(good, "{field} of {record}");
        }
        let about_a_track = record["name"].as_str().is_some_and(|name| name.starts_with("thread_"));
        assert!(phase != "M" || !about_a_track || record["tid"].is_u64(), "{record}");
        assert!(phase != "C" || record["args"].as_object().unwrap().values().all(Value::is_number), "{record}");
    }
}

#[test]
fn a_processor_shows_the_tasks_that_ran_and_why_they_left() {
    let trace = trace(&run(), None);
    let on_cpu = slices(&trace, 1, 100);
    let expected = [("hog <&\"1\">#1", 10.0, 20.0), ("hog <&\"1\">#2", 30.0, 10.0), ("editor#0", 40.0, 8.0)];
    for (found, (name, from, length)) in on_cpu.iter().zip(expected) {
        assert_eq!(*found, (name.to_owned(), from * 1000.0, length * 1000.0));
    }
    let editor = trace.iter().find(|e| e["name"] == "editor#0" && e["ph"] == "X").unwrap();
    assert_eq!(editor["args"], serde_json::json!({"left": "blocked", "user_ns": 2 * MS, "system_ns": 6 * MS}));
}

#[test]
fn a_task_shows_its_states_without_gap_or_overlap() {
    let states = slices(&trace(&run(), None), 2, 1002);
    let names: Vec<_> = states.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["ready", "running", "ready", "running", "waiting"]);
    for pair in states.windows(2) {
        assert_eq!(pair[0].1 + pair[0].2, pair[1].1);
    }
}

#[test]
fn the_runqueue_counter_follows_the_ready_tasks() {
    let trace = trace(&run(), None);
    let counter = trace.iter().filter(|e| e["ph"] == "C").map(|e| e["args"]["tasks"].as_i64().unwrap());
    let counter: Vec<_> = counter.collect();
    assert!(counter.iter().all(|n| (0..=3).contains(n)), "{counter:?}");
    assert_eq!(*counter.last().unwrap(), 0);
}

#[test]
fn marks_signals_and_interrupts_are_instants() {
    let trace = trace(&run(), None);
    let instants: Vec<_> = trace.iter().filter(|e| e["ph"] == "i").map(|e| e["name"].as_str().unwrap()).collect();
    assert_eq!(instants, ["clock", "signal sent", "page \"3\"\n"]);
}

#[test]
fn nothing_is_drawn_after_the_limit() {
    let trace = trace(&run(), Some(35 * MS));
    for record in trace.iter().filter(|e| e["ph"] != "M") {
        let end = record["ts"].as_f64().unwrap() + record["dur"].as_f64().unwrap_or(0.0);
        assert!(end <= 35_000.0, "{record}");
    }
    assert_eq!(slices(&trace, 1, 100)[1], ("hog <&\"1\">#2".to_owned(), 30_000.0, 5_000.0));
}

struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::other("disk full"))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let mut tracer = Tracer::new(Full, &names(), None);
    (0..1000).flat_map(|_| run()).for_each(|e| tracer.observe(e));
    assert_eq!(tracer.finish().map(|_| ()).unwrap_err().to_string(), "disk full");
}
