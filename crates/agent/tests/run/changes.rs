//! Steps that change how a task is treated, as the kernel itself reports it to another process.

use super::{Fixture, PATIENCE, Seen, is_root};
use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use schedlab_linux::{io_priority::IoPriority, sched::Attributes};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

/// What the kernel says of a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Treated {
    scheduling: Attributes,
    /// Also under a policy that makes nothing of it.
    nice: i32,
    processors: Vec<usize>,
    /// Lines of its control groups.
    groups: String,
    io: IoPriority,
}

impl Treated {
    fn of(pid: i32) -> Treated {
        let set = sched_getaffinity(Pid::from_raw(pid)).unwrap();
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        // After the name: the state is the third field, the nice value the nineteenth.
        let nice = stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap();
        Treated {
            scheduling: Attributes::of(pid).unwrap(),
            nice,
            processors: (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect(),
            groups: fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap(),
            io: IoPriority::of(pid).unwrap(),
        }
    }

    pub(crate) fn policy(&self) -> (i32, u32) {
        (self.scheduling.policy as i32, self.scheduling.priority)
    }
}

/// A place where tasks stop to be looked at.
pub(crate) struct Halts(tempfile::TempDir);

impl Halts {
    pub(crate) fn new() -> Halts {
        Halts(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, number: usize) -> PathBuf {
        self.0.path().join(format!("{name}{number}"))
    }

    /// A step of the task that lets it be looked at: its command waits until that has happened.
    pub(crate) fn step(&self, number: usize) -> Value {
        let [here, begun, go] = ["here", "begun", "go"].map(|name| self.file(name, number).display().to_string());
        let wait = format!("while [ ! -e {go} ]; do sleep 0.01; done");
        json!({ "run": format!("echo $PPID > {begun}; mv {begun} {here}; {wait}") })
    }

    /// Waits for the task, looks at it, and lets it go on.
    pub(crate) fn look(&self, number: usize) -> Treated {
        let (began, here) = (Instant::now(), self.file("here", number));
        while !here.exists() {
            assert!(began.elapsed() < PATIENCE, "the task does not come to halt {number}");
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let treated = Treated::of(fs::read_to_string(here).unwrap().trim().parse().unwrap());
        fs::write(self.file("go", number), "").unwrap();
        treated
    }
}

/// Runs a job with a halt at its begin and after each of these changes; gives what was seen, and how it was treated.
fn run(mut job: Value, changes: &[Value], rest: Value) -> (Seen, Vec<Treated>) {
    let (fixture, halts) = (Fixture::new(), Halts::new());
    let after = changes.iter().enumerate().flat_map(|(n, change)| [json!({ "set": change }), halts.step(n + 1)]);
    job["steps"] = json!([halts.step(0)].into_iter().chain(after).collect::<Vec<_>>());
    let run = fixture.start(&fixture.plan(json!({ "job": job }), rest));
    let treated = (0..=changes.len()).map(|number| halts.look(number)).collect();
    let done = run.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    fixture.assert_nothing_left();
    (Seen(serde_json::from_slice(&done.stdout).unwrap()), treated)
}

#[test]
fn nice_policy_and_slice_are_changed_and_what_is_not_named_stays() {
    if !is_root("nice_policy_and_slice_are_changed_and_what_is_not_named_stays") {
        return;
    }
    let changes = [
        json!({ "nice": 7 }),
        json!({ "policy": "batch" }),
        json!({ "slice": "4ms" }),
        json!({ "policy": "fifo", "priority": 10 }),
        json!({ "nice": -3 }),
        json!({ "policy": "rr", "priority": 20 }),
        json!({ "policy": "idle" }),
        json!({ "policy": "other" }),
        json!({ "slice": "0s" }),
        json!({ "policy": "batch", "nice": 19, "slice": "2ms" }),
    ];
    let (seen, treated) = run(json!({ "slice": "3ms", "nice": 2 }), &changes, json!({}));
    let (other, batch, idle) = (libc::SCHED_OTHER, libc::SCHED_BATCH, libc::SCHED_IDLE);
    let (fifo, rr) = ((libc::SCHED_FIFO, 10), (libc::SCHED_RR, 20));
    let policies: Vec<_> = treated.iter().map(Treated::policy).collect();
    assert_eq!(
        policies,
        [(other, 0), (other, 0), (batch, 0), (batch, 0), fifo, fifo, rr, (idle, 0), (other, 0), (other, 0), (batch, 0)]
    );
    let nice: Vec<_> = treated.iter().map(|treated| treated.nice).collect();
    assert_eq!(nice, [2, 7, 7, 7, 7, -3, -3, -3, -3, -3, 19]);
    assert!(!seen.warnings().contains("policy") && !seen.warnings().contains("nice"), "{}", seen.warnings());
    if seen.warnings().contains("asked for a slice") {
        return eprintln!("skipped: no slices of tasks here: {}", seen.warnings());
    }
    let slice = |at: usize| treated[at].scheduling.runtime;
    assert_eq!([0, 1, 2, 3, 8, 10].map(slice), [3, 3, 3, 4, 4, 2].map(|ms| ms * 1_000_000));
    // The scheduler's own, which is none that was asked for.
    let own = Attributes::current().unwrap().runtime;
    assert_eq!(slice(9), own);
}

#[test]
fn tasks_of_a_job_get_other_processors_from_a_task_of_another_job() {
    let (fixture, halts) = (Fixture::new(), Halts::new());
    let last = std::thread::available_parallelism().unwrap().get() - 1;
    let machine = json!({ "machine": { "name": "host", "processors": last + 1 } });
    let jobs = json!({
        "bound": { "cpus": [0], "steps": [halts.step(0), { "receive": "done" }, halts.step(2)] },
        "other": { "cpus": [0], "steps": [halts.step(1), { "set": { "cpus": [last], "job": "bound" } }, { "send": "done" }, halts.step(3)] },
    });
    let run = fixture.start(&fixture.plan(jobs, machine));
    let treated: Vec<_> = (0..4).map(|number| halts.look(number).processors).collect();
    let done = run.wait_with_output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let allowed: Vec<usize> = (0..CpuSet::count()).filter(|&cpu| own.is_set(cpu).unwrap()).collect();
    assert_eq!(treated, [[allowed[0]], [allowed[0]], [allowed[last]], [allowed[0]]]);
    fixture.assert_nothing_left();
}

#[test]
fn a_task_goes_to_the_processors_that_it_names() {
    let processors = std::thread::available_parallelism().unwrap().get();
    let machine = json!({ "machine": { "name": "host", "processors": processors } });
    let last = processors - 1;
    let (seen, treated) = run(json!({ "cpus": [0] }), &[json!({ "cpus": [last] }), json!({ "nice": 1 })], machine);
    let own = sched_getaffinity(Pid::from_raw(0)).unwrap();
    let allowed: Vec<usize> = (0..CpuSet::count()).filter(|&cpu| own.is_set(cpu).unwrap()).collect();
    let where_it_was: Vec<_> = treated.iter().map(|treated| treated.processors.clone()).collect();
    assert_eq!(where_it_was, [[allowed[0]], [allowed[last]], [allowed[last]]]);
    assert!(!seen.warnings().contains("processors"), "{}", seen.warnings());
}

#[test]
fn a_task_goes_to_another_group_and_back_to_where_tasks_without_one_are() {
    if !is_root("a_task_goes_to_another_group_and_back_to_where_tasks_without_one_are") {
        return;
    }
    let changes = [json!({ "group": "other" }), json!({ "group": "/" }), json!({ "group": "inner" })];
    let groups = json!({ "some": {}, "other": { "weight": 512 }, "inner": { "parent": "some" } });
    let (seen, treated) = run(json!({ "group": "some" }), &changes, json!({ "groups": groups }));
    if seen.warnings().contains("group ") {
        return eprintln!("skipped: {}", seen.warnings());
    }
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    // Of the lines, those that tell a task of the run from this one.
    let where_it_was = |treated: &Treated| -> Vec<String> {
        let lines = treated.groups.lines().zip(own.lines());
        lines.filter(|(its, ours)| its != ours).map(|(its, _)| its.to_owned()).collect()
    };
    let places: Vec<_> = treated.iter().map(where_it_was).collect();
    assert_eq!(places[2], Vec::<String>::new(), "{places:?}");
    assert!([0, 1, 3].iter().all(|&at| places[at].len() == 1), "{places:?}");
    assert_ne!(places[0], places[1]);
    let some = Path::new(&places[0][0]).to_owned();
    assert_eq!(Path::new(&places[3][0]).parent(), Some(some.as_path()));
    assert!(!seen.warnings().contains("their group"), "{}", seen.warnings());
}

#[test]
fn requests_to_drives_have_the_class_and_the_level_of_the_job_and_then_of_the_step() {
    if !is_root("requests_to_drives_have_the_class_and_the_level_of_the_job_and_then_of_the_step") {
        return;
    }
    let changes = [
        json!({ "io_class": "real_time", "io_level": 1 }),
        json!({ "nice": 3 }),
        json!({ "io_class": "idle" }),
        json!({ "io_class": "best_effort" }),
    ];
    let (seen, treated) = run(json!({ "io_class": "best_effort", "io_level": 6 }), &changes, json!({}));
    let found: Vec<_> = treated.iter().map(|treated| treated.io).collect();
    let (first, then) = (IoPriority::best_effort(6), IoPriority::real_time(1));
    assert_eq!(found, [first, then, then, IoPriority::idle(), IoPriority::best_effort(4)]);
    assert!(!seen.warnings().contains("requests to drives"), "{}", seen.warnings());
}

#[test]
fn children_begin_as_their_parent_is_treated_and_change_only_themselves() {
    let (fixture, halts) = (Fixture::new(), Halts::new());
    let child = json!([halts.step(0), { "set": { "nice": 9 } }, halts.step(1)]);
    let steps = json!([{ "set": { "nice": 4, "policy": "batch" } }, { "fork": child }, "wait", halts.step(2)]);
    let run = fixture.start(&fixture.plan(json!({ "job": { "steps": steps } }), json!({})));
    let nice: Vec<_> =
        (0..3).map(|number| halts.look(number)).map(|treated| (treated.nice, treated.policy())).collect();
    let batch = (libc::SCHED_BATCH, 0);
    assert_eq!(nice, [(4, batch), (9, batch), (4, batch)]);
    assert!(run.wait_with_output().unwrap().status.success());
    fixture.assert_nothing_left();
}

#[test]
fn hogs_share_by_the_nice_values_that_they_set() {
    let fixture = Fixture::new();
    let used = |change: Value| {
        let a = json!({ "session": "one", "steps": [{ "compute": "200ms" }, { "set": change }, { "compute": "60s" }] });
        let b = json!({ "session": "one", "steps": [{ "compute": "60s" }] });
        let seen = fixture.run(json!({ "a": a, "b": b }), json!({ "duration": "3s" }));
        seen.used("b") / seen.used("a")
    };
    let (as_before, changed) = (used(json!({ "policy": "other" })), used(json!({ "nice": 19 })));
    assert!((0.8..1.25).contains(&as_before), "{as_before}");
    // From then on, one part in seventy: the 200 ms of work are the most of what it gets.
    assert!(changed > 3.0, "{changed}");
}

#[test]
fn a_group_that_a_task_goes_to_decides_its_share_and_what_it_uses_there_counts() {
    if !is_root("a_group_that_a_task_goes_to_decides_its_share_and_what_it_uses_there_counts") {
        return;
    }
    let fixture = Fixture::new();
    let hog = |group: &str| json!({ "group": "small", "steps": [{ "compute": "100ms" }, { "set": { "group": group } }, { "compute": "60s" }] });
    // Together they are heavy: what else runs on this processor takes little of it.
    let outer = json!({ "weight": 65536 });
    let groups = json!({
        "small": { "weight": 256, "parent": "outer" }, "large": { "weight": 2048, "parent": "outer" }, "outer": outer,
    });
    let workload = json!({ "stays": hog("small"), "goes": hog("large") });
    let seen = fixture.run(workload, json!({ "groups": groups, "duration": "3s" }));
    if seen.warnings().contains("group") {
        return eprintln!("skipped: {}", seen.warnings());
    }
    assert!(seen.used("goes") > 3.0 * seen.used("stays"), "{} {}", seen.used("goes"), seen.used("stays"));
    let share = seen.get("tasks.goes.share") + seen.get("tasks.stays.share");
    assert!(share + seen.foreign_percent() > 85.0, "{share} {}", seen.foreign_percent());
}

#[test]
fn what_the_kernel_does_not_have_is_said_of_steps_too() {
    let fixture = Fixture::new();
    let steps = json!([{ "set": { "nice": 20, "slice": "1s" } }, { "set": { "policy": "iso" } }, { "compute": "1ms" }]);
    let said = fixture.run(json!({ "odd": { "steps": steps } }), json!({})).warnings();
    for words in ["have nice 19", "asked for a slice of 1000000000 ns", "ran as ordinary tasks"] {
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[test]
fn without_root_what_is_not_permitted_is_said_and_the_rest_is_done() {
    if !is_root("without_root_what_is_not_permitted_is_said_and_the_rest_is_done") {
        return;
    }
    let fixture = Fixture::new();
    let job = |change: Value| json!({ "steps": [{ "set": change }, { "compute": "5ms" }] });
    let workload = json!({
        "above": job(json!({ "nice": -5, "policy": "batch" })),
        "real_time": job(json!({ "policy": "fifo", "priority": 10, "nice": 3 })),
        "grouped": job(json!({ "group": "some" })),
        "drives": job(json!({ "io_class": "real_time" })),
    });
    let plan = fixture.plan(workload, json!({ "groups": { "some": {} } }));
    let seen = fixture.run_as_nobody(&plan);
    for job in ["above", "real_time", "grouped", "drives"] {
        assert_eq!(seen.get(&format!("tasks.{job}.completed")), 1.0, "{job}");
    }
    let said = seen.warnings();
    for missing in [
        "`above` could not have their nice",
        "`real_time` could not have their policy",
        "`grouped` could not be moved",
        "`drives` could not have the class",
    ] {
        assert!(said.contains(missing), "{missing}: {said}");
    }
    for done in ["`above` could not have their policy", "`real_time` could not have their nice"] {
        assert!(!said.contains(done), "{done}: {said}");
    }
    fixture.assert_nothing_left();
}
