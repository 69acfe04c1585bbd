//! What attention makes of tasks, looked at inside the kernel.

use super::*;
use schedlab_model::{MILLISECOND, SECOND, attention, request::IoClass, scenario::Scenario};
use schedlab_policies::schedulers::Eevdf;

type Simulated = Kernel<Eevdf, ()>;

/// The usual level of a class of requests; any, where there is none.
const ANY: u8 = 4;

/// A scenario of these jobs, these changes of focus and this layout, which has the usual levels if it names none. It is not checked here.
fn scene(processors: u16, workload: &str, focus: &str, layout: &str) -> Scenario {
    let text = format!(
        r#"{{ "machine": {{ "name": "m", "processors": {processors}, "clock": {{ "hz": "1000/s" }} }},
            "scheduler": {{ "name": "eevdf" }}, "duration": "1000s", "workload": {{ {workload} }},
            "attention": {{ "focus": [{focus}], "layout": {{ {layout} }} }} }}"#
    );
    let mut scene: serde_json::Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    let layout = scene["attention"]["layout"].as_object_mut().unwrap();
    layout.entry("level").or_insert(serde_json::json!(attention::Layout::default().level));
    serde_json::from_value(scene).unwrap()
}

fn booted(scenario: &Scenario) -> Simulated {
    Kernel::boot(scenario, 1, ()).unwrap()
}

/// Goes on to a time.
fn until(kernel: &mut Simulated, ms: u64) {
    kernel.limit = ms * MILLISECOND;
    kernel.run_to_limit();
}

fn nice(kernel: &Simulated) -> Vec<i8> {
    kernel.view.tasks.iter().map(|task| task.nice).collect()
}

const HOG: &str = r#""steps": [{ "compute": "1s" }], "passes": "forever""#;

#[test]
fn tasks_are_treated_as_the_level_of_their_job_says_and_as_by_themselves_after_it() {
    let jobs = format!(
        r#""a": {{ {HOG} }}, "b": {{ {HOG}, "nice": 12 }}, "c": {{ {HOG}, "slice": "7ms", "io_class": "best_effort" }},
           "d": {{ {HOG}, "policy": "idle" }}, "e": {{ {HOG} }}, "f": {{ "steps": ["pause"], "policy": "fifo", "priority": 3 }}"#
    );
    let layout = r#""overload": { "share": 1.0 }, "rule": [{ "name": "/^[bcdf]$/", "level": "batch" }], "level": [
        { "name": "foreground", "nice": -1, "slice": "1ms" }, { "name": "background", "nice": 3 },
        { "name": "batch", "nice": 10, "policy": "batch", "slice": "20ms", "io": "idle" }]"#;
    let focus = r#"{ "at": "1s", "job": "a" }, { "at": "10s" }"#;
    let mut kernel = booted(&scene(2, &jobs, focus, layout));
    until(&mut kernel, 999);
    assert_eq!(nice(&kernel), [0, 12, 0, 0, 0, 0], "no period has ended");
    until(&mut kernel, 1001);
    assert_eq!(nice(&kernel), [3, 19, 10, 0, 0, 0], "a has had the focus for less than dwell; e never had it");
    let records = |kernel: &Simulated| [0, 1, 2].map(|task| kernel.treatment(task));
    let [_, b, c] = records(&kernel);
    assert_eq!((b.policy, b.slice, b.io), (Policy::Batch, Some(20 * MILLISECOND), Some((IoClass::Idle, ANY))));
    assert_eq!((c.slice, c.io), (Some(7 * MILLISECOND), Some((IoClass::BestEffort, ANY))), "it has asked for these");
    until(&mut kernel, 1501);
    let [a, ..] = records(&kernel);
    assert_eq!((a.nice, a.slice, a.policy), (-1, Some(MILLISECOND), Policy::Other));
    until(&mut kernel, 120_000);
    let [a, ..] = records(&kernel);
    assert_eq!(
        (a.nice, a.slice, a.policy, a.io),
        (10, Some(20 * MILLISECOND), Policy::Batch, Some((IoClass::Idle, ANY)))
    );
}

#[test]
fn focus_that_goes_to_and_fro_moves_nothing_and_one_click_elsewhere_neither() {
    let jobs = format!(r#""a": {{ {HOG} }}, "b": {{ {HOG} }}, "c": {{ {HOG} }}"#);
    let changes = (0..20).map(|n| format!(r#"{{ "at": "{}ms", "job": "{}" }}"#, 20_000 + n * 300, ["b", "c"][n % 2]));
    let focus = [r#"{ "at": "0s", "job": "a" }"#.to_owned()].into_iter().chain(changes).collect::<Vec<_>>().join(",");
    let layout = r#""attention": { "foreground": 1, "busy": 1000 }, "overload": { "share": 1.0 }, "level": [
        { "name": "foreground", "nice": -3 }, { "name": "background", "nice": 3 }, { "name": "batch", "nice": 10 }]"#;
    let mut kernel = booted(&scene(4, &jobs, &focus, layout));
    until(&mut kernel, 19_999);
    assert_eq!(nice(&kernel), [-3, 0, 0]);
    for step in 0..58 {
        until(&mut kernel, 20_400 + step * 100);
        assert_eq!(nice(&kernel), [-3, 3, 3], "after {step}00 ms of clicks");
    }
    until(&mut kernel, 27_000);
    assert_eq!(nice(&kernel), [3, 3, -3], "the last one has the focus for long enough");
}

#[test]
fn the_largest_user_of_an_overloaded_level_goes_down_and_comes_back() {
    let small = r#""steps": [{ "compute": "20ms" }, { "sleep": "80ms" }], "passes": "forever""#;
    let jobs = format!(
        r#""large": {{ "steps": [{{ "compute": "30s" }}, {{ "sleep": "500s" }}], "count": 2, "passes": "forever" }},
           "small": {{ {small} }}"#
    );
    let mut kernel = booted(&scene(2, &jobs, "", r#""rule": [{ "name": "*", "level": "foreground" }]"#));
    let lowered =
        |kernel: &Simulated| [0, 1].map(|job| kernel.attended.as_ref().unwrap().placement(job).unwrap().lowered);
    until(&mut kernel, 5_999);
    assert_eq!(lowered(&kernel), [0, 0]);
    until(&mut kernel, 7_001);
    assert_eq!(lowered(&kernel), [1, 0], "above the share for `within`");
    assert_eq!(nice(&kernel), [3, 3, 0]);
    until(&mut kernel, 14_001);
    assert_eq!((lowered(&kernel), nice(&kernel)), ([2, 0], vec![10, 10, 0]), "that level has too much to do then");
    until(&mut kernel, 100_000);
    assert_eq!((lowered(&kernel), nice(&kernel)), ([0, 0], vec![0, 0, 0]), "it has slept for a long time");
}

#[test]
fn children_have_by_themselves_what_their_parents_have() {
    let family = r#""steps": [{ "sleep": "2s" }, { "fork": [{ "compute": "400s" }] },
        { "set": { "nice": 5 } }, { "fork": [{ "compute": "400s" }] }, { "compute": "400s" }]"#;
    let jobs = format!(r#""family": {{ {family} }}"#);
    let layout = r#""overload": { "share": 1.0 }, "attention": { "busy": 1000 }, "level": [
        { "name": "foreground", "nice": 1, "slice": "1ms" }, { "name": "background", "nice": 3 },
        { "name": "batch", "nice": 10 }]"#;
    let focus = r#"{ "at": "0s", "job": "family" }, { "at": "10s" }"#;
    let mut kernel = booted(&scene(4, &jobs, focus, layout));
    until(&mut kernel, 1_900);
    assert_eq!(nice(&kernel), [1]);
    until(&mut kernel, 9_000);
    assert_eq!(
        nice(&kernel),
        [5, 1, 6],
        "the parent is left alone: it has changed itself; its second child is seen at 5"
    );
    until(&mut kernel, 200_000);
    assert_eq!(nice(&kernel), [5, 3, 8], "without attention");
    assert_eq!(kernel.treatment(1).slice, None);
}

#[test]
fn a_job_has_used_what_its_tasks_have_run() {
    let jobs = r#""a": { "steps": [{ "compute": "100ms" }, { "sleep": "300ms" }], "passes": "forever", "count": 2 },
        "b": { "steps": [{ "compute": "1s" }], "passes": "forever" }"#;
    let focus = r#"{ "at": "0s", "job": "a" }, { "at": "1ms", "job": "b" }"#;
    let mut kernel = booted(&scene(4, jobs, focus, ""));
    until(&mut kernel, 4_000);
    let used = kernel.used_by_jobs();
    assert_eq!(used, [Some(2 * SECOND), Some(4 * SECOND)]);
    let at = |job| kernel.attended.as_ref().unwrap().placement(job).unwrap().used;
    assert_eq!([at(0), at(1)], [0.4, 1.0], "in the last period");
}
