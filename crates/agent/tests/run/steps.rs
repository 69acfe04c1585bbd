//! Every step of the language does what it says.

use super::{Fixture, is_root};
use serde_json::json;

#[test]
fn one_task_at_a_time_has_a_lock() {
    let fixture = Fixture::new();
    let critical = json!([{ "lock": "door" }, { "compute": "2ms" }, { "unlock": "door" }]);
    let job = json!({ "count": 2, "steps": [{ "repeat": { "times": 60, "steps": critical } }] });
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(2);
    let machine = json!({ "name": "host", "processors": processors });
    let seen = fixture.run(json!({ "pair": job }), json!({ "machine": machine }));
    // However many processors there are, the work of both is done one after the other.
    assert!(seen.get("elapsed") > 1.9 * seen.used("pair"), "{} {}", seen.get("elapsed"), seen.used("pair"));
    assert_eq!(seen.get("tasks.pair.completed"), 2.0);
}

#[test]
fn messages_children_and_signals_come_through() {
    let fixture = Fixture::new();
    let seen = fixture.run(
        json!({
            "talk": { "load": "pingpong", "rounds": 200, "work": "1us" },
            "many": { "load": "hackbench" },
            "wake": { "count": 3, "steps": [{ "fork": [{ "sleep": "40ms" }, "signal"] }, "pause", "wait"] },
        }),
        json!({}),
    );
    assert_eq!(seen.get("tasks.talk.completed"), 2.0);
    assert_eq!(seen.get("tasks.wake.completed"), 6.0);
    assert_eq!(seen.get("tasks.talk.passes"), 1.0);
    assert!(seen.get("tasks.many.completed") > 1.0);
    assert!(seen.find("tasks.wake.real").is_some());
}

#[test]
fn the_real_time_of_a_task_does_not_include_children_left_behind() {
    let fixture = Fixture::new();
    let parent = json!({ "steps": [{ "fork": [{ "sleep": "100ms" }, { "compute": "1ms" }] }, { "compute": "1ms" }] });
    let seen = fixture.run(json!({ "parent": parent }), json!({}));
    assert_eq!(seen.get("tasks.parent.completed"), 2.0);
    assert!(seen.get("tasks.parent.turnaround.max") > 2.0 * seen.get("tasks.parent.real"));
}

#[test]
fn files_are_written_read_and_deleted() {
    let fixture = Fixture::new();
    let set = json!({ "files": 3, "size": "64KiB", "name": "data", "own": true });
    let direct = json!({ "files": 1, "size": "64KiB", "direct": true });
    let work = json!([
        { "create": set }, { "write": "64KiB" }, { "seek": "start" }, { "read": "16KiB" }, "sync", "close",
        { "open": set }, { "seek": "random" }, { "read": "4KiB" }, "close", { "delete": set },
        { "open": direct }, { "read": "4KiB" }, "close", { "print": "10KiB" }
    ]);
    let seen = fixture.run(
        json!({
            "files": { "count": 2, "steps": [{ "repeat": { "times": 2, "steps": work } }] },
            "stream": { "load": "stream", "size": "1MiB" },
            "random": { "load": "random_io", "size": "1MiB", "rounds": 20 },
        }),
        json!({}),
    );
    assert_eq!(seen.get("tasks.files.completed"), 2.0);
    assert!(!seen.warnings().contains("could not use a file"), "{}", seen.warnings());
}

#[test]
fn memory_is_touched_page_by_page() {
    let fixture = Fixture::new();
    let own = json!([{ "touch": { "size": "4MiB", "write": true, "times": 2 } }]);
    let image = json!([{ "touch": { "size": "1MiB", "image": "program", "order": "random" } }]);
    let seen = fixture.run(json!({ "own": { "steps": own }, "image": { "steps": image } }), json!({}));
    let faults = seen.get("tasks.own.minor_faults");
    assert!((1024.0..1200.0).contains(&faults), "{faults}: one for each of 1024 pages, and few of the program itself");
    let faults = seen.get("tasks.image.minor_faults") + seen.get("tasks.image.major_faults");
    assert!(faults > 64.0, "{faults}");
}

#[test]
fn a_demand_beyond_what_was_declared_ends_the_program() {
    let fixture = Fixture::new();
    let grow =
        |to: &str| json!({ "steps": [{ "grow": { "from": to, "to": to, "declared": "2MiB" } }, { "compute": "1ms" }] });
    let seen = fixture.run(json!({ "fits": grow("1MiB"), "not": grow("3MiB") }), json!({}));
    assert_eq!([seen.get("tasks.fits.memory_refused"), seen.get("tasks.not.memory_refused")], [0.0, 1.0]);
    assert_eq!([seen.get("tasks.fits.passes"), seen.get("tasks.not.passes")], [1.0, 0.0]);
    assert_eq!(seen.get("tasks.fits.memory_unused"), f64::from(1 << 20));
}

#[test]
fn the_memory_of_a_group_is_limited() {
    if !is_root("the_memory_of_a_group_is_limited") {
        return;
    }
    let fixture = Fixture::new();
    let set = json!({ "files": 4, "size": "8MiB", "name": "data" });
    let whole = json!([{ "open": set }, { "repeat": { "times": 128, "steps": [{ "read": "64KiB" }] } }, "close"]);
    let reads = json!({ "group": "small", "steps": [{ "repeat": { "times": 8, "steps": whole } }] });
    let run = |memory: &str| {
        let groups = json!({ "small": { "memory": memory } });
        fixture.run(json!({ "reads": reads }), json!({ "groups": groups }))
    };
    let (small, large) = (run("12MiB"), run("256MiB"));
    if small.warnings().contains("group") {
        return eprintln!("skipped: {}", small.warnings());
    }
    assert!(small.get("tasks.reads.voluntary_switches") > large.get("tasks.reads.voluntary_switches"));
}

#[test]
fn a_command_is_run_and_its_failure_reported() {
    let fixture = Fixture::new();
    let command = |text: &str| json!({ "load": "command", "run": text });
    let busy = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
    let seen = fixture.run(json!({ "good": command(busy), "bad": command("exit 3") }), json!({}));
    assert!(seen.used("good") > 5.0 * seen.used("bad"), "what it uses counts");
    assert!(seen.warnings().contains("`bad` ran a command that failed"), "{}", seen.warnings());
    assert!(!seen.warnings().contains("`good`"), "{}", seen.warnings());
}

#[test]
fn a_footprint_is_gone_through_in_the_asked_time_when_alone() {
    let fixture = Fixture::new();
    let job = |footprint: &str| json!({ "load": "spin", "compute": "200ms", "footprint": footprint });
    let seen = fixture.run(json!({ "small": job("64KiB"), "large": job("512KiB") }), json!({}));
    for name in ["small", "large"] {
        // Two take turns, so that the cache is not always what it was; and this machine may change its speed.
        let ratio = seen.used(name) / 0.2;
        assert!((0.6..1.7).contains(&ratio), "{name}: {ratio}");
    }
    assert!(!seen.warnings().contains("footprint"), "{}", seen.warnings());
}

#[test]
fn shares_never_add_up_to_more_than_all_processors() {
    let fixture = Fixture::new();
    let hog = |passes: &str| json!({ "load": "spin", "compute": "50ms", "passes": passes });
    let forks = json!({ "steps": [
        { "repeat": { "times": 8, "steps": [{ "fork": [{ "compute": "2ms" }] }, "wait"] } },
        { "fork": [{ "compute": "10s" }] }, { "sleep": "10ms" },
    ], "passes": "forever" });
    let touches = json!({ "steps": [
        { "touch": { "size": "16MiB", "write": true, "compute": "1us" } }, { "compute": "5ms" },
    ], "count": 4 });
    let arrivals = json!({ "steps": [{ "compute": "3ms" }], "count": 30, "gap": "4ms" });
    let workloads = [
        (json!({ "a": hog("forever"), "b": hog("forever") }), json!({ "duration": "150ms" })),
        (
            json!({ "a": { "steps": [{ "compute": "40ms" }] }, "b": { "steps": [{ "compute": "1ms" }], "count": 9 } }),
            json!({}),
        ),
        (json!({ "a": hog("forever"), "b": arrivals }), json!({})),
        (json!({ "a": hog("forever"), "b": touches }), json!({})),
        (json!({ "a": forks, "b": hog("forever") }), json!({ "duration": "200ms" })),
    ];
    for (workload, rest) in workloads {
        let seen = fixture.run(workload.clone(), rest);
        let shares = ["a", "b"].map(|job| seen.get(&format!("tasks.{job}.share")));
        assert!(
            shares.iter().all(|share| *share > 0.0) && shares.iter().sum::<f64>() <= 100.0,
            "{shares:?} {workload}"
        );
    }
}

#[test]
fn what_tasks_go_on_to_do_after_the_end_of_the_run_is_not_counted() {
    let fixture = Fixture::new();
    // The agent looks at each of many before it ends them; meanwhile a task begins children, and waits for them.
    let many = json!({ "steps": [{ "sleep": "60s" }], "count": 400 });
    let forks = json!([{ "fork": [{ "compute": "1ms" }] }, "wait"]);
    let mut forks = json!({ "steps": [{ "repeat": { "times": 1000, "steps": forks } }], "passes": "forever" });
    if is_root("among other tasks: what_tasks_go_on_to_do_after_the_end_of_the_run_is_not_counted") {
        (forks["policy"], forks["priority"]) = (json!("fifo"), json!(10));
    }
    for _ in 0..3 {
        let seen = fixture.run(json!({ "a": forks, "z": many }), json!({ "duration": "150ms" }));
        let share = seen.get("tasks.a.share");
        assert!((1.0..=100.0).contains(&share), "{share}");
    }
}

#[test]
fn a_childs_time_is_its_jobs_though_the_run_ends_before_it() {
    let fixture = Fixture::new();
    let job = json!({ "steps": [{ "fork": [{ "compute": "10s" }] }, { "sleep": "10s" }] });
    let seen = fixture.run(json!({ "a": job }), json!({ "duration": "300ms" }));
    // No other task of the run wants the processor: what it did not get, others of the host had.
    let share = seen.get("tasks.a.share");
    assert!(share + seen.foreign_percent() > 80.0, "{share} {}", seen.foreign_percent());
}

#[test]
fn the_agents_time_to_make_and_to_remove_a_task_is_reported_separately() {
    let fixture = Fixture::new();
    let seen = fixture.run(json!({ "a": { "steps": [{ "call": "1us" }], "count": 5 } }), json!({}));
    let [making, unmaking] = ["making_ns", "unmaking_ns"].map(|name| seen.environment(name));
    // It has made the process's memory stay, and given it back: each takes many times what its one call does.
    assert!(making > 0.0 && unmaking > 0.0, "{making} {unmaking}");
    assert!(seen.used("a") * 1e9 < making + unmaking, "{} {making} {unmaking}", seen.used("a"));
}
