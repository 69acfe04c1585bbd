//! Task sets of rt-app: what each event becomes, and what is refused and why.

mod catalogue;

use catalogue::CATALOGUE;
use schedlab_model::experiment::{Experiment, Format, is_rt_app, notes, read};
use serde_json::{Value, json};

fn overrides() -> [String; 2] {
    ["machine=ideal".to_owned(), "scheduler={ name = \"round_robin\" }".to_owned()]
}

fn experiment(text: &str) -> Result<Experiment, String> {
    read(text, "set.json", Format::RtApp, &overrides(), &CATALOGUE).map_err(|problem| problem.to_string())
}

/// The jobs, groups and so on of a task set.
#[track_caller]
fn tree(text: &str) -> Value {
    serde_json::to_value(experiment(text).unwrap_or_else(|why| panic!("{why}\n{text}"))).unwrap()
}

/// The steps of a thread "t" that does these events once.
#[track_caller]
fn steps(events: &str) -> Value {
    tree(&format!("{{ \"tasks\": {{ \"t\": {{ \"loop\": 1, {events} }} }} }}"))["workload"]["t"]["steps"].clone()
}

/// Why a thread "t" with these events and settings is refused, without the file's name.
#[track_caller]
fn refused(events: &str) -> String {
    refused_set(&format!("{{ \"tasks\": {{ \"t\": {{ {events} }} }} }}"))
}

#[track_caller]
fn refused_set(text: &str) -> String {
    let why = experiment(text).expect_err(text);
    why.strip_prefix("set.json: ").unwrap_or(&why).to_owned()
}

#[test]
fn each_event_becomes_steps_of_its_meaning() {
    let touch = |size: &str, times: u32, write: bool, from: &str| json!({ "touch": { "from": from, "size": size, "times": times, "order": "sequential", "write": write, "compute": "0ns" } });
    let timer = |name: &str, mode: &str| match name {
        "" => json!({ "timer": { "period": "3ms", "mode": mode } }),
        _ => json!({ "timer": { "name": name, "period": "3ms", "mode": mode } }),
    };
    let cases = [
        (r#""run": 1500"#, json!([{ "compute": "1500us" }])),
        (r#""runtime1": 1500"#, json!([{ "busy": "1500us" }])),
        (r#""sleep": 2000, "run": 1"#, json!([{ "sleep": "2ms" }, { "compute": "1us" }])),
        (r#""run": 1, "sleep": 2, "run": 3"#, json!([{ "compute": "1us" }, { "sleep": "2us" }, { "compute": "3us" }])),
        (r#""timer": { "ref": "unique", "period": 3000 }"#, json!([timer("", "relative")])),
        (
            r#""timer0": { "ref": "uniqueA", "period": 3000 }, "timer1": { "ref": "uniqueA", "period": 3000, "mode": "absolute" }"#,
            json!([timer("A", "absolute"), timer("A", "absolute")]),
        ),
        (
            r#""timer0": { "ref": "tick", "period": 3000 }, "timer1": { "ref": "uniquetick", "period": 3000 }"#,
            json!([timer("tick", "relative"), timer("uniquetick", "relative")]),
        ),
        (r#""lock": "m", "run": 1, "unlock": "m""#, json!([{ "lock": "m" }, { "compute": "1us" }, { "unlock": "m" }])),
        (
            r#""lock": "m", "wait": { "ref": "c", "mutex": "m" }, "unlock": "m", "signal": "c", "broad": "c""#,
            json!([
                { "lock": "m" }, { "condition_wait": { "condition": "c", "lock": "m" } }, { "unlock": "m" },
                { "condition_signal": "c" }, { "condition_broadcast": "c" }
            ]),
        ),
        (
            r#""sync": { "ref": "c", "mutex": "m" }"#,
            json!([
                { "lock": "m" }, { "condition_signal": "c" }, { "condition_wait": { "condition": "c", "lock": "m" } },
                { "unlock": "m" }
            ]),
        ),
        (
            r#""resume": "t", "suspend": "any""#,
            json!([
                { "lock": "t" }, { "condition_broadcast": "t" }, { "unlock": "t" },
                { "lock": "t" }, { "condition_wait": { "condition": "t", "lock": "t" } }, { "unlock": "t" }
            ]),
        ),
        (r#""barrier": "b", "yield": """#, json!([{ "barrier": "b" }, "yield"])),
        (r#""sem_post": "s", "sem_wait": "s""#, json!([{ "release": "s" }, { "acquire": "s" }])),
        (r#""iorun": 100000"#, json!([{ "print": "100kB" }])),
        (
            r#""mem": 9437184, "memrun": { "type": "read", "size": 8192, "count": 100 }"#,
            json!([touch("4MiB", 2, true, "0B"), touch("1MiB", 1, true, "0B"), touch("100B", 1, false, "4MiB")]),
        ),
    ];
    for (events, expected) in cases {
        assert_eq!(steps(events), expected, "{events}");
    }
}

#[test]
fn a_task_is_a_job_that_is_treated_as_it_asks() {
    let job = |settings: &str| {
        tree(&format!("{{ \"tasks\": {{ \"t\": {{ \"run\": 1, {settings} }} }} }}"))["workload"]["t"].clone()
    };
    let nice = job(r#""instance": 3, "delay": 500, "priority": -19, "cpus": [2, 0], "dl-runtime": 100000"#);
    assert_eq!((&nice["count"], &nice["start"], &nice["nice"]), (&json!(3), &json!("500us"), &json!(-19)));
    assert_eq!((&nice["cpus"], &nice["slice"], &nice["passes"]), (&json!([0, 2]), &json!("100ms"), &json!("forever")));
    let fifo = job(r#""policy": "SCHED_FIFO""#);
    assert_eq!((&fifo["policy"], &fifo["priority"]), (&json!("fifo"), &json!(10)));
    let deadline = job(r#""policy": "SCHED_DEADLINE", "dl-runtime": 2000, "dl-period": 10000, "dl-deadline": 5000"#);
    assert_eq!(deadline["reservation"], json!({ "runtime": "2ms", "deadline": "5ms", "period": "10ms" }));
    let old = job(r#""policy": "SCHED_DEADLINE", "runtime": 2000, "period": 10000"#);
    assert_eq!(old["reservation"], json!({ "runtime": "2ms", "period": "10ms" }));
}

#[test]
fn phases_are_loops_and_change_what_they_name() {
    let text = r#"{ "tasks": { "t": { "cpus": [3], "loop": 2, "phases": {
        "p": { "loop": 4, "run": 10, "cpus": [0], "priority": 5, "taskgroup": "/a/b" },
        "q": { "run": 20, "sleep": 30 },
        "r": { "loop": 5, "policy": "SCHED_RR", "run": 1, "taskgroup": "" } } } }, "global": { "duration": 2 } }"#;
    let steps = &tree(text)["workload"]["t"]["steps"];
    let first = json!({ "set": { "nice": 5, "policy": "other", "cpus": [0], "group": "a_b" } });
    assert_eq!(steps[0], first);
    assert_eq!(steps[1], json!({ "repeat": { "times": 4, "steps": [{ "compute": "10us" }] } }));
    assert_eq!(steps[2], json!({ "set": { "cpus": [3] } }));
    assert_eq!(steps[5], json!({ "set": { "policy": "rr", "priority": 10 } }));
    assert_eq!(tree(text)["groups"]["a_b"]["parent"], "a");
    assert_eq!(tree(text)["duration"], "2s");
}

#[test]
fn a_fork_is_a_child_with_the_steps_and_settings_of_its_task() {
    let text = r#"{ "tasks": { "a": { "loop": 1, "fork": "b", "run": 1 },
        "b": { "instance": 0, "priority": 3, "loop": 2, "run": 7 } } }"#;
    let tree = tree(text);
    assert!(tree["workload"].get("b").is_none());
    let child = json!([{ "set": { "nice": 3, "policy": "other" } }, { "repeat": { "times": 2, "steps": [{ "compute": "7us" }] } }]);
    assert_eq!(tree["workload"]["a"]["steps"], json!([{ "fork": child }, { "compute": "1us" }]));
}

#[test]
fn what_threads_share_is_declared() {
    let text = r#"{ "tasks": { "a": { "instance": 2, "barrier": "x", "lock": "x", "unlock": "x", "sem_wait": "x" },
        "b": { "barrier": "x", "sem_post": "x", "run": 1 } }, "global": { "pi_enabled": true } }"#;
    let shared = tree(text)["shared"].clone();
    assert_eq!(shared, json!({ "x": { "barrier": 3 }, "x_2": { "lock": "inherit" }, "x_3": { "semaphore": 0 } }));
}

/// As rt-app: a run ends with its last thread, or after its duration.
#[test]
fn a_thread_that_ends_does_not_end_the_run_while_others_go_on() {
    let text = r#"{ "tasks": { "a": { "loop": 3, "run": 1 }, "b": { "run": 1 } } }"#;
    let tree = tree(text);
    assert_eq!((&tree["workload"]["a"]["passes"], &tree["duration"]), (&json!("forever"), &json!("10s")));
    assert_eq!(tree["workload"]["a"]["steps"][1], "exit");
    assert!(notes(text).iter().any(|note| note.contains("a run ends after 10s")), "{:?}", notes(text));
    let ends = r#"{ "tasks": { "a": { "loop": 3, "run": 1 } } }"#;
    assert_eq!(experiment(ends).unwrap().duration, None);
}

#[test]
fn what_changes_nothing_is_ignored_with_a_note() {
    let global =
        r#""logdir": "./", "ftrace": "none", "gnuplot": false, "lock_pages": true, "frag": 1, "calibration": 128"#;
    let text = format!(
        "{{ \"tasks\": {{ \"a b\": {{ \"loop\": 1, \"run\": 1 }}, \"c\": {{ \"instance\": 0, \"run\": 1 }} }}, \"global\": {{ {global} }}, \"resources\": {{}} }}"
    );
    let notes = notes(&text);
    for part in [
        "global.logdir, global.ftrace, global.gnuplot",
        "lock_pages",
        "global.frag",
        "128 ns",
        "resources",
        "\"a b\" is called a_b",
        "tasks.c never runs",
    ] {
        assert!(notes.iter().any(|note| note.contains(part)), "{part}: {notes:?}");
    }
}

#[test]
fn what_steps_cannot_express_is_refused_with_its_place_and_reason() {
    let cases = [
        (r#""run": -5"#, "tasks.t.run: -5 is not a whole number from 0 to 2147483647"),
        (r#""run": "long""#, "tasks.t.run: \"long\" is not a whole number"),
        (r#""slep": 5, "run": 1"#, "tasks.t.slep: unknown field; did you mean \"sleep\"?"),
        (r#""loop": 0, "run": 1"#, "tasks.t.loop: 0 is out of range"),
        (r#""loop": 1, "loop": 2, "run": 1"#, "tasks.t.loop: \"loop\" comes twice"),
        (r#""loop": 1"#, "tasks.t: has no event"),
        (r#""run": 1, "phases": { "p": { "run": 1 } }"#, "tasks.t.run: is an event next to phases"),
        (r#""phases": { "p": { "timer": { "ref": "unique" } } }"#, "tasks.t.phases.p.timer: has no period"),
        (
            r#""timer": { "ref": "unique", "period": 1, "mode": "absolut" }"#,
            "tasks.t.timer.mode: is not a mode of a timer; did you mean \"absolute\"?",
        ),
        (r#""instance": 2, "timer": { "ref": "x", "period": 1 }"#, "tasks.t.timer: \"x\" is shared by several threads"),
        (
            r#""wait": { "ref": "c", "mutex": "m" }, "signal": "c""#,
            "tasks.t.wait: the thread does not hold the mutex \"m\"",
        ),
        (r#""lock": "m", "lock": "m""#, "tasks.t.lock: the thread holds the mutex \"m\" here"),
        (r#""unlock": "m""#, "tasks.t.unlock: the thread does not hold"),
        (r#""suspend": "s""#, "tasks.t.suspend: no event resumes \"t\""),
        (r#""policy": "SCHED_FIFA", "run": 1"#, "tasks.t.policy: is not a policy; did you mean \"SCHED_FIFO\"?"),
        (r#""priority": 20, "run": 1"#, "tasks.t.priority: 20 is not a whole number from -20 to 19"),
        (r#""policy": "SCHED_DEADLINE", "run": 1"#, "tasks.t.dl-runtime: is missing"),
        (
            r#""policy": "SCHED_DEADLINE", "run": 1, "dl-runtime": 5, "dl-period": 3"#,
            "tasks.t.dl-deadline: 3 is not between",
        ),
        (
            r#""phases": { "p": { "run": 1, "policy": "SCHED_DEADLINE" } }"#,
            "tasks.t.phases.p.policy: a phase cannot ask",
        ),
        (r#""phases": { "p": { "run": 1, "cpus": [0] }, "q": { "run": 1 } }"#, "tasks.t.phases.q.cpus: is missing"),
        (r#""run": 1, "cpus": []"#, "tasks.t.cpus: names no processor"),
        (r#""run": 1, "util_max": 512"#, "tasks.t.util_max: utilisation clamps"),
        (r#""run": 1, "nodes_membind": [0]"#, "tasks.t.nodes_membind: memory cannot"),
        (r#""run": 1, "taskgroup": "tg1""#, "tasks.t.taskgroup: \"tg1\" is not the path"),
        (r#""run": 1, "taskgroup": "/a", "policy": "SCHED_RR""#, "tasks.t.taskgroup: only threads under"),
        (r#""memrun": { "type": "chase", "size": 1, "count": 1 }"#, "tasks.t.memrun.type: a chase"),
        (
            r#""memrun": { "type": "read", "size": 1, "count": 1, "ref": "x" }"#,
            "tasks.t.memrun.ref: a buffer that threads share",
        ),
        (r#""fork": "t""#, "tasks.t.fork: \"t\" would fork itself"),
        (r#""fork": "u""#, "tasks.t.fork: is not a task"),
    ];
    for (events, reason) in cases {
        let why = refused(events);
        assert!(why.starts_with(reason), "{why}\n{reason}");
    }
    let task = |global: &str| format!("{{ \"tasks\": {{ \"t\": {{ \"iorun\": 5 }} }}, \"global\": {{ {global} }} }}");
    assert!(refused_set(&task(r#""io_device": "/tmp/x""#)).starts_with("tasks.t.iorun: writes to \"/tmp/x\""));
    assert!(
        refused_set(&task(r#""calibration": "CPUx""#)).starts_with("global.calibration: \"CPUx\" is not a processor")
    );
    assert!(refused_set("{}").starts_with("tasks: is missing"));
    assert!(refused_set("{ \"tasks\": {}, \"task\": {} }").starts_with("task: unknown field; did you mean \"tasks\"?"));
    assert!(
        refused_set("{ \"tasks\": { \"t\": { \"instance\": 0, \"run\": 1 } } }").starts_with("tasks: has no task with")
    );
    assert!(
        refused_set("{ \"tasks\": { \"t\": { \"run\": 1 }, \"t\": { \"run\": 1 } } }")
            .starts_with("tasks.t: is the second")
    );
    let forked = |extra: &str| {
        format!("{{ \"tasks\": {{ \"a\": {{ \"fork\": \"b\" }}, \"b\": {{ \"instance\": 0, {extra} }} }} }}")
    };
    assert!(refused_set(&forked(r#""run": 1, "delay": 5"#)).starts_with("tasks.b.delay: is of a task that is forked"));
    assert!(
        refused_set(&forked(r#""timer": { "ref": "unique", "period": 5 }"#))
            .starts_with("tasks.b.timer: is a timer of a forked")
    );
    assert!(refused_set(&forked(r#""barrier": "x""#)).starts_with("tasks.b.barrier: is a barrier of a forked"));
    assert_eq!(experiment("{\n\"tasks\" 5 }").unwrap_err(), "set.json:2: is not JSON: expected `:`");
}

/// Each of a chain of tasks forks the next twice.
#[test]
fn forks_that_multiply_are_refused_not_followed() {
    let mut text = String::from("{ \"tasks\": {");
    for n in 0..40 {
        text += &format!(
            "\"t{n}\": {{ \"instance\": {}, \"loop\": 1, {} \"run\": 1 }},",
            u8::from(n == 0),
            format!("\"fork\": \"t{}\",", n + 1).repeat(30)
        );
    }
    text += "\"t40\": { \"instance\": 0, \"run\": 1 } } }";
    assert!(refused_set(&text).contains("fork"), "{}", refused_set(&text));
}

#[test]
fn a_task_set_is_told_from_toml_by_how_it_begins() {
    for text in ["{", " \n/* a */ // b\n {", "\u{feff}{}", "/* no end"] {
        assert!(is_rt_app(text), "{text}");
    }
    for text in ["", "[a]", "# {", "a = {}", "/ {"] {
        assert!(!is_rt_app(text), "{text}");
    }
}
