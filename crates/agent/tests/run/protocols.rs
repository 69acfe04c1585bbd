//! Locks with a protocol, and what killed tasks leave to those that wait for the same lock. Which task goes on is asserted, not when.

use super::{Fixture, Seen, changes::Halts, is_root};
use serde_json::{Value, json};

/// The two protocols, and none.
fn protocols() -> [Value; 3] {
    [json!({}), json!({ "bus": { "lock": "inherit" } }), json!({ "bus": { "lock": { "ceiling": 30 } } })]
}

/// A real-time job that begins `start_ms` after the start of the run.
fn real_time(priority: u32, start_ms: u32, steps: Value) -> Value {
    json!({ "policy": "fifo", "priority": priority, "start": format!("{start_ms}ms"), "steps": steps })
}

fn forever() -> Value {
    json!([{ "repeat": { "times": "forever", "steps": [{ "compute": "1ms" }] } }])
}

#[test]
fn a_protocol_bounds_the_wait_of_a_high_priority_behind_a_medium_one() {
    if !is_root("a_protocol_bounds_the_wait_of_a_high_priority_behind_a_medium_one") {
        return;
    }
    let fixture = Fixture::new();
    let critical = json!([{ "lock": "bus" }, { "compute": "150ms" }, { "unlock": "bus" }, { "compute": "60s" }]);
    let workload = json!({
        "low": real_time(10, 0, critical),
        "medium": real_time(20, 60, forever()),
        "high": real_time(30, 90, json!([{ "lock": "bus" }, { "compute": "1ms" }, { "unlock": "bus" }])),
    });
    let completed = protocols().map(|shared| {
        let seen = fixture.run(workload.clone(), json!({ "shared": shared, "duration": "1s" }));
        assert!(!seen.warnings().contains("could not"), "{}", seen.warnings());
        assert_eq!(seen.get("stuck"), 0.0, "{}", seen.warnings());
        seen.get("tasks.high.completed")
    });
    assert_eq!(completed, [0.0, 1.0, 1.0]);
}

#[test]
fn a_priority_is_inherited_along_a_chain_of_locks() {
    if !is_root("a_priority_is_inherited_along_a_chain_of_locks") {
        return;
    }
    let fixture = Fixture::new();
    let workload = json!({
        "low": real_time(10, 0, json!([{ "lock": "a" }, { "compute": "150ms" }, { "unlock": "a" }])),
        "middle": real_time(12, 30, json!([{ "lock": "b" }, { "lock": "a" }, { "unlock": "a" }, { "unlock": "b" }])),
        "hog": real_time(20, 60, forever()),
        "high": real_time(30, 90, json!([{ "lock": "b" }, { "unlock": "b" }])),
    });
    let completed = [json!({}), json!({ "a": { "lock": "inherit" }, "b": { "lock": "inherit" } })].map(|shared| {
        let seen = fixture.run(workload.clone(), json!({ "shared": shared, "duration": "1s" }));
        seen.get("tasks.high.completed")
    });
    assert_eq!(completed, [0.0, 1.0]);
}

#[test]
fn a_holder_has_the_highest_of_its_ceilings_and_then_its_own_priority() {
    if !is_root("a_holder_has_the_highest_of_its_ceilings_and_then_its_own_priority") {
        return;
    }
    let (fixture, halts) = (Fixture::new(), Halts::new());
    let changes = [
        json!({ "lock": "low" }),
        json!({ "lock": "high" }),
        json!({ "set": { "policy": "rr", "priority": 8 } }),
        json!({ "unlock": "high" }),
        json!({ "set": { "policy": "batch", "nice": 3 } }),
        json!({ "unlock": "low" }),
    ];
    let steps: Vec<Value> =
        changes.into_iter().enumerate().flat_map(|(number, change)| [change, halts.step(number)]).collect();
    let shared = json!({ "low": { "lock": { "ceiling": 20 } }, "high": { "lock": { "ceiling": 40 } } });
    let plan = fixture.plan(json!({ "job": real_time(5, 0, json!(steps)) }), json!({ "shared": shared }));
    let run = fixture.start(&plan);
    let seen: Vec<_> = (0..6).map(|number| halts.look(number)).map(|treated| treated.policy()).collect();
    let (fifo, rr) = (libc::SCHED_FIFO, libc::SCHED_RR);
    assert_eq!(seen, [(fifo, 20), (fifo, 40), (rr, 40), (rr, 20), (fifo, 20), (libc::SCHED_BATCH, 0)]);
    let done = run.wait_with_output().unwrap();
    let seen = Seen(serde_json::from_slice(&done.stdout).unwrap());
    assert!(!seen.warnings().contains("could not"), "{}", seen.warnings());
    fixture.assert_nothing_left();
}

#[test]
fn a_child_has_not_the_ceiling_of_a_lock_that_its_parent_holds() {
    if !is_root("a_child_has_not_the_ceiling_of_a_lock_that_its_parent_holds") {
        return;
    }
    let (fixture, halts) = (Fixture::new(), Halts::new());
    let steps = json!([{ "lock": "bus" }, { "fork": [halts.step(0)] }, "wait", halts.step(1), { "unlock": "bus" }]);
    let plan = fixture.plan(json!({ "job": real_time(5, 0, steps) }), json!({ "shared": protocols()[2] }));
    let run = fixture.start(&plan);
    let seen: Vec<_> = (0..2).map(|number| halts.look(number)).map(|treated| treated.policy().1).collect();
    assert_eq!(seen, [5, 30]);
    assert!(run.wait_with_output().unwrap().status.success());
    fixture.assert_nothing_left();
}

#[test]
fn a_condition_is_waited_for_with_such_a_lock() {
    if !is_root("a_condition_is_waited_for_with_such_a_lock") {
        return;
    }
    let fixture = Fixture::new();
    let waits = json!([
        { "lock": "bus" }, { "condition_wait": { "condition": "open", "lock": "bus" } }, { "sleep": "5ms" },
        { "unlock": "bus" },
    ]);
    for shared in protocols() {
        for wakes in ["condition_signal", "condition_broadcast"] {
            let mut job = real_time(10, 0, waits.clone());
            job["count"] = json!(3);
            let wake = json!([{ "lock": "bus" }, { wakes: "open" }, { "unlock": "bus" }, { "sleep": "10ms" }]);
            let wakes = real_time(20, 30, json!([{ "repeat": { "times": 3, "steps": wake } }]));
            let seen = fixture.run(json!({ "waits": job, "wakes": wakes }), json!({ "shared": shared }));
            assert_eq!([seen.get("tasks.waits.completed"), seen.get("stuck")], [3.0, 0.0], "{shared} {wakes}");
            assert_eq!(seen.get("tasks.waits.lock_latency.count"), 3.0, "taking it again is no request");
        }
    }
}

#[test]
fn ordinary_tasks_have_an_inheriting_lock_one_at_a_time_and_give_it_back_at_their_end() {
    let fixture = Fixture::new();
    let critical = json!([{ "lock": "bus" }, { "compute": "100us" }, { "unlock": "bus" }]);
    let steps = json!([{ "repeat": { "times": 200, "steps": critical } }, { "lock": "bus" }, { "sleep": "5ms" }]);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let rest = json!({ "shared": protocols()[1], "machine": { "name": "host", "processors": processors } });
    let seen = fixture.run(json!({ "job": { "count": 4, "steps": steps } }), rest);
    assert_eq!([seen.get("tasks.job.completed"), seen.get("stuck")], [4.0, 0.0], "{}", seen.warnings());
    assert_eq!(seen.get("tasks.job.lock_latency.count"), 804.0);
    assert!(seen.get("elapsed") >= 0.02);
}

#[test]
fn a_circle_of_inheriting_locks_is_a_deadlock_that_is_found() {
    let fixture = Fixture::new();
    let both =
        |first: &str, second: &str| json!({ "steps": [{ "lock": first }, { "sleep": "30ms" }, { "lock": second }] });
    let shared = json!({ "a": { "lock": "inherit" }, "b": { "lock": "inherit" } });
    let rest = json!({ "shared": shared, "duration": "300ms" });
    let seen = fixture.run(json!({ "one": both("a", "b"), "other": both("b", "a") }), rest);
    assert_eq!([seen.get("stuck"), seen.get("deadlocks")], [2.0, 1.0], "{}", seen.warnings());
}

#[test]
fn a_killed_holder_keeps_a_lock_with_a_protocol() {
    if !is_root("a_killed_holder_keeps_a_lock_with_a_protocol") {
        return;
    }
    let fixture = Fixture::new();
    for shared in protocols() {
        let kill = json!({ "run": "sleep 0.08; kill -9 $PPID; sleep 1" });
        let wants = |start_ms: u32| real_time(12, start_ms, json!([{ "lock": "bus" }, { "unlock": "bus" }]));
        let workload = json!({
            "dies": real_time(10, 0, json!([{ "lock": "bus" }, kill])),
            "waits": wants(40), "late": wants(250),
        });
        let seen = fixture.run(workload, json!({ "shared": shared, "duration": "400ms" }));
        assert!(seen.warnings().contains("1 tasks of `dies` were ended by SIGKILL"), "{}", seen.warnings());
        let stuck = ["waits", "late"].map(|job| seen.get(&format!("tasks.{job}.stuck")));
        assert_eq!(stuck, [1.0, 1.0], "{shared}: {}", seen.warnings());
        assert_eq!(seen.get("lock_latency.censored"), 2.0, "{shared}");
    }
}

#[test]
fn a_killed_waiter_of_a_lock_keeps_no_other_from_it() {
    for dies in ["lock", "read_lock"] {
        for child in [false, true] {
            let (fixture, notes) = (Fixture::new(), tempfile::tempdir().unwrap());
            let pid = notes.path().join("pid").display().to_string();
            let note = json!({ "run": format!("echo $PPID > {pid}.part; mv {pid}.part {pid}") });
            let waiter = json!([{ "sleep": "20ms" }, note, { dies: "r" }, { "sleep": "60s" }]);
            let waiter = if child { json!([{ "fork": waiter }, "wait"]) } else { waiter };
            let kill = format!("while [ ! -e {pid} ]; do sleep 0.01; done; sleep 0.1; kill -9 $(cat {pid})");
            let behind = |take: &str| {
                json!({ "steps": [{ "run": format!("while [ ! -e {pid} ]; do sleep 0.01; done; sleep 0.05") },
                    { take: "r" }, { "unlock": "r" }] })
            };
            let holds = json!([{ "lock": "r" }, { "run": format!("while [ ! -e {pid}.done ]; do sleep 0.01; done") },
                { "unlock": "r" }]);
            let workload = json!({
                "holds": { "steps": holds }, "dies": { "steps": waiter },
                "kills": { "steps": [{ "run": kill }, { "sleep": "50ms" }, { "run": format!("touch {pid}.done") }] },
                "writes": behind("lock"), "reads": behind("read_lock"),
            });
            let seen = fixture.run(workload, json!({ "duration": "10s" }));
            let completed = ["holds", "writes", "reads"].map(|job| seen.get(&format!("tasks.{job}.completed")));
            assert_eq!(completed, [1.0; 3], "{dies} {child}: {}", seen.warnings());
            assert!(seen.get("elapsed") < 9.0, "{dies} {child}: the run ends when all have: {}", seen.warnings());
        }
    }
}

#[test]
fn a_killed_waiter_of_a_condition_takes_no_signal_with_it() {
    for child in [false, true] {
        for chosen in [false, true] {
            let (fixture, notes) = (Fixture::new(), tempfile::tempdir().unwrap());
            let pid = notes.path().join("pid").display().to_string();
            let note = json!({ "run": format!("echo $PPID > {pid}.part; mv {pid}.part {pid}") });
            let wait = json!({ "condition_wait": { "condition": "c", "lock": "r" } });
            let waiter = json!([note, { "lock": "r" }, wait, { "sleep": "60s" }]);
            let waiter = if child { json!([{ "fork": waiter }, "wait"]) } else { waiter };
            let after =
                |seconds: &str| json!({ "run": format!("while [ ! -e {pid} ]; do sleep 0.01; done; sleep {seconds}") });
            let kill = json!({ "run": format!("kill -9 $(cat {pid}); sleep 0.1") });
            let (lock, signal, unlock) =
                (json!({ "lock": "r" }), json!({ "condition_signal": "c" }), json!({ "unlock": "r" }));
            // One that a signal has chosen waits for the lock.
            let signals = if chosen { [after("0.3"), lock, signal, kill] } else { [after("0.3"), kill, lock, signal] };
            let mut signals = signals.to_vec();
            signals.push(unlock);
            let next = json!([after("0.1"), { "lock": "r" }, wait, { "unlock": "r" }]);
            let workload = json!({
                "dies": { "steps": waiter }, "next": { "steps": next }, "signals": { "steps": signals },
            });
            let seen = fixture.run(workload, json!({ "duration": "10s" }));
            let completed = ["next", "signals"].map(|job| seen.get(&format!("tasks.{job}.completed")));
            assert_eq!(completed, [1.0; 2], "child: {child}, chosen: {chosen}: {}", seen.warnings());
            assert!(seen.get("elapsed") < 9.0, "child: {child}, chosen: {chosen}: {}", seen.warnings());
        }
    }
}

#[test]
fn a_ceiling_that_is_not_permitted_is_said() {
    if !is_root("a_ceiling_that_is_not_permitted_is_said") {
        return;
    }
    use std::os::unix::{fs::PermissionsExt, process::CommandExt};
    let fixture = Fixture::new();
    let job = real_time(10, 0, json!([{ "lock": "bus" }, { "compute": "1ms" }, { "unlock": "bus" }]));
    let plan = fixture.plan(json!({ "job": job }), json!({ "shared": protocols()[2] }));
    let copy = fixture.path().join("agent");
    std::fs::copy(env!("CARGO_BIN_EXE_schedlab-agent"), &copy).unwrap();
    std::fs::set_permissions(fixture.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let done = std::process::Command::new(&copy).arg("run").arg(&plan).uid(65534).gid(65534).output().unwrap();
    std::fs::remove_file(copy).unwrap();
    let seen = Seen(serde_json::from_slice(&done.stdout).unwrap());
    assert!(seen.warnings().contains("could not have the priority of a lock's ceiling"), "{}", seen.warnings());
    assert_eq!(seen.get("tasks.job.completed"), 1.0);
    fixture.assert_nothing_left();
}
