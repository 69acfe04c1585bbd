//! Processor time that idles while a task waits that may use it: by hand, and against the audit's own account of waits.

use schedlab_model::SECOND;
use schedlab_policies::schedulers::All;
use schedlab_testing::schedulers::figures::{hog, measure};

#[test]
fn what_a_quota_holds_back_is_wasted_on_each_processor_that_it_could_use() {
    let group = "groups.g = { quota = \"50ms\", period = \"100ms\" }\n";
    let one = measure::<All>(2, "name = \"eevdf\"", 10, &format!("{group}{}", hog("a", "group = \"g\"")), 1);
    let within = |metric: &str, low: f64, high: f64| {
        let value = one.get(metric);
        assert!((low..high).contains(&value), "{metric}: {value}");
    };
    // Of two processors, one could be used in half of each period.
    within("wasted", 23.0, 26.0);
    within("wasted.longest", 0.045, 0.056);
}

#[test]
fn bound_tasks_waste_no_processor_that_they_may_not_use() {
    let run = measure::<All>(2, "name = \"eevdf\"", 10, &hog("a", "count = 3, cpus = [1]"), 1);
    assert_eq!([run.get("wasted"), run.get("wasted.longest")], [0.0, 0.0]);
    assert_eq!(run.get("idle") * SECOND as f64, run.end as f64);
}

#[test]
fn a_task_that_binds_itself_to_a_busy_processor_wastes_none_from_then_on() {
    // For the first second the other processor could be used in half of each period.
    let jobs = "groups.g = { quota = \"50ms\", period = \"100ms\" }\n\
        workload.hog = { load = \"spin\", passes = \"forever\", cpus = [0] }\n\
        workload.held = { group = \"g\", steps = [{ compute = \"500ms\" }, { set = { cpus = [0] } }, { compute = \"100s\" }] }\n";
    let run = measure::<All>(2, "name = \"eevdf\"", 10, jobs, 1);
    assert!((2.3..2.8).contains(&run.get("wasted")), "{}", run.get("wasted"));
}
