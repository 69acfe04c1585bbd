//! Attention levels over real tasks: what the kernel says of a command that a task runs, which is treated as the task is.

use super::{Fixture, is_root};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Places in /proc/PID/stat, counted from the state: nice value, policy.
const NICE: usize = 16;
const POLICY: usize = 38;

/// A step that notes how the task is treated.
fn note(folder: &Path, name: &str) -> Value {
    json!({ "run": format!("cat /proc/self/stat > {}/{name}", folder.display()) })
}

/// The nice value and the policy noted.
fn noted(folder: &Path, name: &str) -> (i32, i32) {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap().split_whitespace().collect();
    (fields[NICE].parse().unwrap(), fields[POLICY].parse().unwrap())
}

/// Levels that differ in nice value and policy; attention is given and forgotten fast. A level is overloaded above that share.
fn levels(focus: Value, rules: Value, overload: f64) -> Value {
    json!({
        "focus": focus,
        "period": "100ms",
        "layout": {
            "level": [
                { "name": "foreground", "nice": 1, "slice": "1ms" },
                { "name": "background", "nice": 3 },
                { "name": "batch", "nice": 10, "policy": "batch", "slice": "20ms", "io": "idle" },
            ],
            "rule": rules,
            "attention": { "half_life": "1s", "dwell": "0s", "stay": "0s", "leave": 0.4, "rest": 0.02, "busy": 1000.0 },
            "overload": { "share": overload, "within": "1s", "calm": "1h", "margin": 0.0 },
        },
    })
}

#[test]
fn tasks_are_treated_as_the_level_of_their_job_says() {
    let (fixture, notes) = (Fixture::new(), tempfile::tempdir().unwrap());
    let notes = notes.path();
    let focused =
        json!({ "steps": [{ "sleep": "500ms" }, note(notes, "in"), { "sleep": "1500ms" }, note(notes, "out")] });
    let waits = |name: &str| json!([{ "sleep": "500ms" }, note(notes, name)]);
    let parent = json!({ "steps": [{ "sleep": "300ms" }, { "fork": [note(notes, "child")] }, "wait"] });
    let changes = json!({ "steps": [{ "sleep": "300ms" }, { "set": { "nice": 2 } }, { "sleep": "700ms" }, note(notes, "changes")] });
    let workload = json!({
        "focused": focused,
        "batch": { "steps": waits("batch") },
        "nice": { "steps": waits("nice"), "nice": 5 },
        "unknown": { "steps": waits("unknown") },
        "parent": parent,
        "changes": changes,
        "lazy": { "steps": waits("lazy"), "policy": "idle" },
    });
    let focus = json!([{ "at": "0s", "job": "focused" }, { "at": "1s" }]);
    let rules = json!([{ "name": "/^(batch|nice|parent|changes|lazy)$/", "level": "batch" }]);
    let seen = fixture.run(workload, json!({ "attention": levels(focus, rules, 1.0) }));
    assert!(!seen.warnings().contains("attention level says"), "{}", seen.warnings());
    let of = |name| noted(notes, name);
    assert_eq!((of("in"), of("out")), ((1, libc::SCHED_OTHER), (3, libc::SCHED_OTHER)), "with the focus, and without");
    assert_eq!((of("batch"), of("nice")), ((10, libc::SCHED_BATCH), (15, libc::SCHED_BATCH)));
    assert_eq!(of("unknown"), (0, libc::SCHED_OTHER), "it never had the focus, and no rule names it");
    assert_eq!(
        of("child"),
        (10, libc::SCHED_BATCH),
        "what its parent has by itself counts, not what that is treated as"
    );
    assert_eq!(of("changes").0, 2, "it has changed itself, and is left alone");
    assert_eq!(of("lazy"), (0, libc::SCHED_IDLE));
}

#[test]
fn what_children_use_is_their_jobs() {
    let (fixture, notes) = (Fixture::new(), tempfile::tempdir().unwrap());
    let notes = notes.path();
    // A level is overloaded from a small share on, so that whatever else uses the processor does not matter.
    let family = json!([{ "fork": [{ "compute": "20ms" }] }, "wait"]);
    let many = json!({ "steps": [{ "repeat": { "times": 120, "steps": family } }, note(notes, "large")] });
    let small = json!({ "steps": [{ "sleep": "1800ms" }, note(notes, "small")] });
    let rules = json!([{ "name": "*", "level": "foreground" }]);
    fixture.run(json!({ "large": many, "small": small }), json!({ "attention": levels(json!([]), rules, 0.05) }));
    assert!(noted(notes, "large").0 > 1, "its level was overloaded, by it");
    assert_eq!(noted(notes, "small").0, 1);
}

#[test]
fn shares_follow_the_levels() {
    let fixture = Fixture::new();
    let hog = json!({ "load": "spin", "passes": "forever" });
    let rules = json!([{ "name": "batch", "level": "batch" }]);
    let attention = levels(json!([{ "at": "0s", "job": "focused" }]), rules, 1.0);
    let seen =
        fixture.run(json!({ "focused": hog, "batch": hog }), json!({ "duration": "3s", "attention": attention }));
    let ratio = seen.get("tasks.focused.share") / seen.get("tasks.batch.share");
    // The weights of nice 1 and 10: 820 and 110.
    assert!((5.0..11.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_level_that_the_kernel_does_not_permit_is_named_in_a_warning() {
    if !is_root("a_level_that_the_kernel_does_not_permit_is_named_in_a_warning") {
        return;
    }
    let fixture = Fixture::new();
    let rules = json!([{ "name": "job", "level": "batch", "follows": true }]);
    let attention = levels(json!([{ "at": "500ms", "job": "job" }]), rules, 1.0);
    let plan = fixture.plan(json!({ "job": { "steps": [{ "sleep": "1s" }] } }), json!({ "attention": attention }));
    let seen = fixture.run_as_nobody(&plan);
    assert!(
        seen.warnings().contains("1 task could not be treated as their attention level says"),
        "{}",
        seen.warnings()
    );
}
