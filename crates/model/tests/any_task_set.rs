//! What holds of every task set of rt-app: that no text does harm, and that what is written is read as the same.

mod catalogue;

use catalogue::CATALOGUE;
use proptest::prelude::*;
use schedlab_model::{
    experiment::{Experiment, Format, expand, is_rt_app, notes, read, spelled, write_rt_app},
    scenario::Scenario,
};
use serde_json::{Value, json};

fn overrides() -> [String; 2] {
    ["machine=ideal".to_owned(), "scheduler={ name = \"round_robin\" }".to_owned()]
}

fn experiment(text: &str) -> Result<Experiment, String> {
    read(text, "set.json", Format::RtApp, &overrides(), &CATALOGUE).map_err(|problem| problem.to_string())
}

fn scenario_of(experiment: &Experiment) -> Scenario {
    expand(experiment, &CATALOGUE).unwrap().remove(0).scenario
}

// What is written is read as the same.

fn event() -> impl Strategy<Value = Value> {
    let us = 1..2_000_000u32;
    let mode = prop::sample::select(vec!["relative", "absolute"]);
    prop_oneof![
        us.clone().prop_map(|us| json!({ "compute": format!("{us}us") })),
        us.clone().prop_map(|us| json!({ "busy": format!("{us}us") })),
        us.clone().prop_map(|us| json!({ "sleep": format!("{us}us") })),
        // A timer has one mode: its name says which.
        (us.clone(), mode)
            .prop_map(|(us, mode)| json!({ "timer": { "name": mode, "period": format!("{us}us"), "mode": mode } })),
        us.prop_map(|us| json!({ "timer": { "period": format!("{us}us") } })),
        Just(json!({ "condition_signal": "c" })),
        Just(json!({ "condition_broadcast": "c" })),
        Just(json!({ "release": "s" })),
        Just(json!({ "acquire": "s" })),
        Just(json!("yield")),
        (1..1_000_000u32).prop_map(|bytes| json!({ "print": format!("{bytes}B") })),
    ]
}

/// Events, with a lock around some of them, and so that time passes.
fn events() -> impl Strategy<Value = Vec<Value>> {
    (prop::collection::vec(event(), 1..5), any::<bool>(), any::<bool>()).prop_map(|(mut events, locked, waits)| {
        if locked {
            events.insert(0, json!({ "lock": "m" }));
            if waits {
                events.push(json!({ "condition_wait": { "condition": "c", "lock": "m" } }));
            }
            events.push(json!({ "unlock": "m" }));
        }
        events.push(json!({ "compute": "1us" }));
        events
    })
}

fn change() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20..20i8, any::<bool>())
            .prop_map(|(nice, batch)| json!({ "nice": nice, "policy": if batch { "batch" } else { "other" } })),
        (1..100u8).prop_map(|priority| json!({ "policy": "fifo", "priority": priority })),
        Just(json!({ "policy": "idle" })),
        Just(json!({ "nice": 4, "policy": "other", "slice": "3ms" })),
    ]
}

/// Phases: loops, and before some a change.
fn phases() -> impl Strategy<Value = Vec<Value>> {
    let phase = (events(), 2..20u32, prop::option::of(change()));
    prop::collection::vec(phase, 1..4).prop_map(|phases| {
        let steps = phases.into_iter().flat_map(|(events, times, change)| {
            let set = change.map(|change| json!({ "set": change }));
            set.into_iter().chain([json!({ "repeat": { "times": times, "steps": events } })])
        });
        steps.collect()
    })
}

fn job() -> impl Strategy<Value = Value> {
    let steps = prop_oneof![events(), phases()];
    let treated = prop_oneof![
        (-20..20i8).prop_map(|nice| json!({ "nice": nice, "slice": "2ms", "group": "g" })),
        (1..100u8).prop_map(|priority| json!({ "policy": "rr", "priority": priority })),
        Just(json!({ "policy": "deadline", "reservation": { "runtime": "1ms", "deadline": "4ms", "period": "8ms" } })),
    ];
    let placed = prop_oneof![Just(json!([])), Just(json!([1, 3]))];
    (steps, treated, placed, 1..4u32, prop::option::of(0..5_000u32)).prop_map(|(steps, treated, cpus, count, start)| {
        let real_time = treated.get("policy").is_some();
        let mut job = treated;
        job["steps"] = json!(steps);
        job["count"] = json!(count);
        job["session"] = json!("rt-app");
        if cpus != json!([]) {
            job["cpus"] = cpus;
        }
        if let Some(start) = start.filter(|&start| start > 0) {
            job["start"] = json!(format!("{start}us"));
        }
        if real_time {
            // A set may not leave the policy "deadline" half known; that of other jobs is checked by reading.
            job.as_object_mut().unwrap().remove("group");
        }
        job
    })
}

proptest! {
    #[test]
    fn a_task_set_that_is_written_is_read_as_the_same_experiment(
        jobs in prop::collection::vec(job(), 1..4), passes in prop_oneof![Just(json!("forever")), (1..9u32).prop_map(|n| json!(n))],
        inherits in any::<bool>(), seconds in 1..100u32
    ) {
        let mut workload: serde_json::Map<String, Value> = jobs.into_iter().enumerate().map(|(n, mut job)| {
            job["passes"] = passes.clone();
            (format!("job{n}"), job)
        }).collect();
        // Some task signals what others wait for.
        workload.insert("last".to_owned(), json!({ "passes": passes, "session": "rt-app", "steps": [
            { "lock": "m" }, { "condition_broadcast": "c" }, { "unlock": "m" }, { "compute": "1ms" }, { "barrier": "b" },
            { "release": "s" } ] }));
        let mut shared = json!({ "s": { "semaphore": 0 }, "b": { "barrier": 1 } });
        if inherits {
            shared["m"] = json!({ "lock": "inherit" });
        }
        let tree = json!({ "machine": "ideal", "scheduler": { "name": "round_robin" }, "duration": format!("{seconds}s"),
            "workload": workload, "shared": shared, "groups": { "g": {} } });
        let first = read(&tree.to_string(), "first", Format::Json, &[], &CATALOGUE);
        let first = scenario_of(&first.unwrap_or_else(|why| panic!("{why}\n{tree}")));
        let text = write_rt_app(&first, "first").unwrap_or_else(|why| panic!("{why}\n{tree}"));
        let mut again = scenario_of(&experiment(&text).unwrap_or_else(|why| panic!("{why}\n{text}")));
        // A group that no job is in is no part of a task set.
        again.groups.entry("g".to_owned()).or_insert_with(|| first.groups["g"].clone());
        prop_assert_eq!(first, again, "{}", text);
    }

    #[test]
    fn no_text_does_harm(text in mutated()) {
        let message = match read(&text, "any", Format::RtApp, &overrides(), &CATALOGUE) {
            Ok(experiment) => {
                // What was accepted can be written down and read again as TOML, and as a task set it is written or refused.
                let toml = spelled(&experiment).unwrap();
                let again = read(&toml, "again", Format::Toml, &[], &CATALOGUE);
                prop_assert_eq!(again.unwrap_or_else(|why| panic!("{why}\n{toml}")), experiment.clone());
                write_rt_app(&scenario_of(&experiment), "any").err().map(|why| why.to_string())
            }
            Err(problem) => Some(problem.to_string()),
        };
        if let Some(message) = message {
            prop_assert!(message.starts_with("any:") && !message.contains('\n'), "{}", message);
        }
        notes(&text);
    }

    #[test]
    fn bytes_do_no_harm(text in "\\PC{0,200}") {
        let _ = experiment(&text);
        let _ = experiment(&format!("{{ \"tasks\": {text} }}"));
        is_rt_app(&text);
    }
}

/// A task set with everything in it.
const GOOD: &str = r#"{ /* all */
 "tasks": {
  "a": { "instance": 2, "delay": 100, "priority": -3, "cpus": [0, 1], "loop": 3, "taskgroup": "/x/y",
   "phases": { "p": { "loop": 2, "run": 10, "timer": { "ref": "unique", "period": 100, "mode": "absolute" } },
    "q": { "cpus": [2], "lock": "m", "sync": { "ref": "c", "mutex": "m" }, "unlock": "m", "policy": "SCHED_FIFO", "priority": 7 } } },
  "b": { "loop": -1, "runtime": 20, "fork": "d", "signal": "c", "suspend": "b", "mem": 5000, "iorun": 7, "sem_post": "s", },
  "c": { "policy": "SCHED_DEADLINE", "dl-runtime": 10, "dl-period": 30, "run": 5, "resume": "b", "barrier": "z", "sem_wait": "s" },
  "d": { "instance": 0, "loop": 2, "run": 5, "sleep": 5, "yield": "" },
 },
 "global": { "duration": 2, "pi_enabled": true, "default_policy": "SCHED_OTHER", "mem_buffer_size": 4096, "calibration": "CPU0", }
}"#;

#[test]
fn the_task_set_that_the_random_ones_come_from_is_good() {
    experiment(GOOD).unwrap();
}

/// The good one with some pieces replaced, removed, doubled or swapped.
fn mutated() -> impl Strategy<Value = String> {
    let ends = [' ', '\n', '[', ']', '{', '}', ',', '"', ':'];
    let pieces: Vec<&str> = GOOD.split_inclusive(ends).collect();
    let odd = [
        "-1",
        "1e999",
        "\"\"",
        "2147483648",
        "18446744073709551616",
        "null",
        "[[",
        "{",
        "/*",
        "*/",
        "//",
        "0.5",
        "\u{0}",
        "true",
    ];
    let token = prop::sample::select(pieces.iter().copied().chain(odd).map(str::to_owned).collect::<Vec<_>>());
    let change = (0..pieces.len(), 0..pieces.len(), token, 0..4);
    prop::collection::vec(change, 1..4).prop_map(move |changes| {
        let mut pieces: Vec<String> = pieces.iter().map(|piece| piece.to_string()).collect();
        for (at, other, token, kind) in changes {
            match kind {
                0 => pieces[at] = token,
                1 => pieces[at].clear(),
                2 => pieces[at] = pieces[at].repeat(2),
                _ => pieces.swap(at, other),
            }
        }
        pieces.concat()
    })
}
