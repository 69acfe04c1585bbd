//! Faults are reported and leave nothing behind.

use super::{Fixture, PATIENCE, agent, is_root};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    process::Stdio,
    time::{Duration, Instant},
};

/// A run of everything that could be left behind.
fn lively(fixture: &Fixture) -> std::path::PathBuf {
    let hog = |group: &str| json!({ "load": "spin", "passes": "forever", "group": group, "count": 2 });
    fixture.plan(
        json!({
            "big": hog("all"),
            "tiny": hog("none"),
            "files": { "load": "stream", "size": "1MiB", "passes": "forever" },
            "forks": { "steps": [{ "fork": [{ "sleep": "100s" }] }, { "fork": [{ "sleep": "100s" }] }, "wait"] },
            "pool": { "arrivals": { "every": "1ms" }, "steps": [{ "compute": "10us" }] },
            "shell": { "load": "command", "run": format!("setsid sh -c ': {0}; sleep 100' & sleep 100; : {0}", fixture.path().display()) },
        }),
        json!({ "groups": { "all": { "weight": 262144 }, "none": { "weight": 2 } } }),
    )
}

/// Starts it, and stops it in the midst by a signal to the outer or the inner process; gives the exit status.
fn stopped_by(signal: Signal, inner: bool) -> std::process::ExitStatus {
    let fixture = Fixture::new();
    let mut run = fixture.start(&lively(&fixture));
    let outer = run.id() as i32;
    let deadline = Instant::now() + PATIENCE;
    // Outer, inner, restorer, and the tasks and children.
    while fixture.processes().len() < 12 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    let victim = if inner { children(outer)[0] } else { outer };
    kill(Pid::from_raw(victim), signal).unwrap();
    let status = run.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && !(fixture.processes().is_empty() && fixture.files().is_empty()) {
        std::thread::sleep(Duration::from_millis(5));
    }
    fixture.assert_nothing_left();
    status
}

#[test]
fn an_agent_that_gets_a_signal_restores_everything() {
    assert_eq!(stopped_by(Signal::SIGTERM, false).code(), Some(130));
    assert_eq!(stopped_by(Signal::SIGINT, false).code(), Some(130));
}

#[test]
fn a_killed_agent_leaves_nothing() {
    assert_eq!(stopped_by(Signal::SIGKILL, false).code(), None);
}

#[test]
fn a_killed_inner_process_leaves_nothing() {
    assert_eq!(stopped_by(Signal::SIGKILL, true).code(), Some(2));
}

#[test]
fn a_task_that_dies_is_reported_and_the_numbers_of_others_are_kept() {
    let fixture = Fixture::new();
    let dies = json!({ "steps": [{ "compute": "1ms" }, { "run": "kill -9 $PPID; sleep 1" }, { "compute": "1s" }] });
    let stays = json!({ "load": "spin", "compute": "200ms" });
    let seen = fixture.run(json!({ "dies": dies, "stays": stays }), json!({}));
    assert!(seen.warnings().contains("1 tasks of `dies` were ended by SIGKILL"), "{}", seen.warnings());
    assert_eq!(seen.find("tasks.dies.real"), None);
    assert_eq!(seen.get("tasks.stays.completed"), 1.0);
    assert!(seen.find("tasks.stays.real").is_some());
}

#[test]
fn without_root_it_does_what_is_allowed_and_says_what_is_not() {
    if !is_root("without_root_it_does_what_is_allowed_and_says_what_is_not") {
        return;
    }
    let fixture = Fixture::new();
    let job = |more: Value| {
        let mut job = json!({ "load": "spin", "compute": "20ms" });
        more.as_object().unwrap().iter().for_each(|(field, value)| job[field] = value.clone());
        job
    };
    let workload = json!({
        "plain": job(json!({})),
        "above": job(json!({ "nice": -5 })),
        "real_time": job(json!({ "policy": "fifo", "priority": 10 })),
        "grouped": job(json!({ "group": "some" })),
        "files": { "load": "stream", "size": "64KiB" },
    });
    let plan = fixture.plan(workload, json!({ "groups": { "some": {} } }));
    let seen = fixture.run_as_nobody(&plan);
    for job in ["plain", "above", "real_time", "grouped", "files"] {
        assert_eq!(seen.get(&format!("tasks.{job}.completed")), 1.0, "{job}");
    }
    let said = seen.warnings();
    for missing in [
        "`above` could not have their nice",
        "`real_time` could not have their policy",
        "group some",
        "the agent itself",
    ] {
        assert!(said.contains(missing), "{missing}: {said}");
    }
    fixture.assert_nothing_left();
}

/// Runs a job of that real-time priority that never sleeps, with an agent that has its processor only.
fn run_alone_with(priority: u32) -> super::Seen {
    let fixture = Fixture::new();
    let hog = json!({ "steps": [{ "compute": "4s" }], "policy": "fifo", "priority": priority });
    let plan = fixture.plan(json!({ "hog": hog }), json!({ "duration": "200ms" }));
    let (own, mut one) = (nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap(), nix::sched::CpuSet::new());
    one.set((0..).find(|&cpu| own.is_set(cpu).unwrap()).unwrap()).unwrap();
    nix::sched::sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    let run = fixture.start(&plan);
    nix::sched::sched_setaffinity(Pid::from_raw(0), &own).unwrap();
    let done = run.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fixture.assert_nothing_left();
    super::Seen(serde_json::from_slice(&done.stdout).unwrap())
}

#[test]
fn no_real_time_task_keeps_the_agent_from_ending_the_run() {
    if !is_root("no_real_time_task_keeps_the_agent_from_ending_the_run") {
        return;
    }
    for priority in [10, 98] {
        let seen = run_alone_with(priority);
        assert_eq!(seen.get("tasks.hog.completed"), 0.0, "{priority}");
        assert!(!seen.warnings().contains("SIGKILL"), "{priority}: {}", seen.warnings());
    }
    let seen = run_alone_with(99);
    assert_eq!(seen.get("tasks.hog.completed"), 0.0);
    assert!(seen.warnings().contains("priority 99, which is the agent's own"), "{}", seen.warnings());
}

#[test]
fn wrong_plans_are_refused_in_a_line() {
    let fixture = Fixture::new();
    let refused = |text: &str| {
        let mut run =
            agent().arg("run").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        run.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        let done = run.wait_with_output().unwrap();
        assert_eq!(done.status.code(), Some(2));
        String::from_utf8(done.stderr).unwrap()
    };
    let spin = json!({ "job": { "load": "spin", "compute": "1ms" } });
    let plan = |workload: &Value, rest: Value| fs::read_to_string(fixture.plan(workload.clone(), rest)).unwrap();
    assert!(refused("{").starts_with("error: the plan: "));
    let unknown = plan(&json!({ "job": { "load": "juggle" } }), json!({}));
    assert_eq!(refused(&unknown), "error: workload.job.load: \"juggle\" is no load\n");
    let many = plan(&spin, json!({ "machine": { "name": "host", "processors": 60000 } }));
    assert!(refused(&many).contains("60000 processors: there are "));
    let crowd = plan(&json!({ "job": { "load": "spin", "count": 1_000_000 } }), json!({}));
    assert!(refused(&crowd).contains("the workload has 1000000 tasks; at most 20000"));
    let full =
        json!({ "job": { "steps": [{ "open": { "files": 9000, "size": "4GiB" } }, { "read": "4KiB" }, "close"] } });
    assert!(refused(&plan(&full, json!({}))).contains("MiB free, and the run's files need"));
    fixture.assert_nothing_left();
}

/// The children of a process's first thread.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Starts a run of tasks in sessions of their own whose first step ends immediately, and stops all processes but the tasks so long
/// after the first leader of a session is there; gives those that it stopped.
fn stopped_early(fixture: &Fixture, after: Duration) -> (std::process::Child, Vec<i32>) {
    let task = |session: &str| json!({ "session": session, "count": 2, "steps": [{ "mark": "begun" }] });
    let run =
        fixture.start(&fixture.plan(json!({ "a": task("one"), "b": task("two"), "c": task("three") }), json!({})));
    let (outer, deadline) = (run.id() as i32, Instant::now() + PATIENCE);
    while !children(outer).iter().any(|&inner| !children(inner).is_empty()) && Instant::now() < deadline {}
    std::thread::sleep(after);
    let all: Vec<i32> = children(outer).into_iter().chain([outer]).collect();
    all.iter().for_each(|&pid| _ = kill(Pid::from_raw(pid), Signal::SIGSTOP));
    std::thread::sleep(Duration::from_millis(30));
    (run, all)
}

#[test]
fn an_agent_that_is_stopped_between_launch_and_start_loses_no_task() {
    for after in (0..20).map(|step| Duration::from_micros(200 * step)) {
        let fixture = Fixture::new();
        let (run, stopped) = stopped_early(&fixture, after);
        stopped.iter().for_each(|&pid| _ = kill(Pid::from_raw(pid), Signal::SIGCONT));
        let done = run.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "stopped after {after:?}: {said}");
        let answer: Value = serde_json::from_slice(&done.stdout).unwrap();
        let rows = answer["rows"].as_array().unwrap();
        for job in ["a", "b", "c"] {
            let completed = rows.iter().find(|row| row["metric"] == format!("tasks.{job}.completed")).unwrap();
            assert_eq!(completed["value"], 2.0, "stopped after {after:?}");
        }
    }
}

#[test]
fn tasks_that_wait_for_an_agent_end_with_it() {
    for after in (0..20).map(|step| Duration::from_micros(200 * step)) {
        let fixture = Fixture::new();
        let (mut run, stopped) = stopped_early(&fixture, after);
        stopped.iter().for_each(|&pid| _ = kill(Pid::from_raw(pid), Signal::SIGKILL));
        run.wait().unwrap();
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && !fixture.processes().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(fixture.processes(), Vec::<i32>::new(), "killed after {after:?}");
    }
}
