//! Tasks that change how they are treated while they run: a change counts as if it had always been so, and a task that is bound to
//! processors from then on runs on no other.

use super::{
    runs::{Run, scenario},
    subject::Subject,
};
use schedlab_model::{
    Nanos, SECOND,
    event::{Event, Kind},
    info::{Domain, Promise, Reach},
    scenario::{Choice, Scenario, Setting},
    task::TaskId,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a task is at first, what it does then, and what it is then.
const CHANGES: [[&str; 3]; 8] = [
    ["nice = 0", "nice = 5", "nice = 5"],
    ["nice = 5", "nice = -3", "nice = -3"],
    ["nice = 0", "policy = \"idle\"", "policy = \"idle\""],
    ["nice = -4", "policy = \"batch\", nice = 4", "policy = \"batch\", nice = 4"],
    ["nice = 3", "policy = \"batch\", nice = 0", "policy = \"batch\""],
    ["policy = \"rr\", priority = 7", "policy = \"other\"", "nice = 0"],
    ["slice = \"100ms\"", "slice = \"0s\"", "nice = 0"],
    ["group = \"some\"", "group = \"/\"", "nice = 0"],
];
/// When the change has been made, by a hog with a fifth of the processor or more, and the end.
const FROM: Nanos = 30 * SECOND;
const TO: Nanos = 100 * SECOND;
/// Farther from what it has without a change is too far, and farther than a twentieth of it: as for the shares of equals.
const TURNS: Nanos = SECOND / 5;

/// From a quarter of the run on, a hog that has changed how it is treated has the share of one that was always treated so.
#[track_caller]
pub fn a_change_counts_as_if_it_had_always_been(subject: Subject) {
    for [first, then, at_last] in CHANGES {
        let changes =
            format!(r#"{first}, steps = [{{ compute = "5s" }}, {{ set = {{ {then} }} }}, {{ compute = "200s" }}]"#);
        let always = format!(r#"{at_last}, steps = [{{ compute = "200s" }}]"#);
        let [changed, expected] = [changes, always].map(|job| had(&subject.run(&hogs(subject, &job), 1), 1));
        assert!(
            changed.abs_diff(expected) <= TURNS.max(expected / 20),
            "{}: {first}, then {then}: {changed} ns rather than {expected}",
            subject.info.name
        );
    }
}

/// Hogs that another task binds to a processor and releases again, running, queued or asleep, run on no other in between; and on all
/// before and after, under a policy that lets none of them idle.
#[track_caller]
pub fn tasks_are_bound_and_released_from_outside(subject: Subject) {
    let text = r#"
        machine = { preset = "uniform", processors = 4 }
        scheduler = { name = "fifo" }
        duration = "60s"
        [workload]
        hog = { count = 6, passes = "forever", steps = [{ compute = "10ms" }, { sleep = "1ms" }] }
        other = { steps = [{ sleep = "20s" }, { set = { cpus = [2], job = "hog" } }, { mark = "bound" }, { sleep = "20s" },
                           { set = { cpus = [0, 1, 2, 3], job = "hog" } }, { mark = "released" },
                           { sleep = "10s" }] }
    "#;
    let scenario = under(subject, text);
    if !subject.suits(&scenario) {
        return;
    }
    let run = subject.run(&scenario, 1);
    assert_eq!(run.violations, [""; 0], "{}", subject.info.name);
    let [bound, released] = [0, 1].map(|mark| run.of(Kind::Mark).nth(mark).expect("a mark").time);
    let used = |from: Nanos, to: Nanos| {
        let within = |event: &&Event| event.time > from && event.time < to && event.task < 6;
        run.of(Kind::SwitchIn).filter(within).map(|event| event.cpu).collect::<BTreeSet<_>>()
    };
    let name = subject.info.name;
    assert_eq!(used(bound, released), BTreeSet::from([2]), "{name}, while they are bound");
    let spreads =
        |promise: &Promise| matches!(promise, Promise::WorkConserving(reach) if *reach > Reach::EachProcessor);
    if subject.info.promises.iter().any(spreads) {
        assert_eq!(used(0, bound).len(), 4, "{name}, before");
        assert_eq!(used(released, TO).len(), 4, "{name}, afterwards");
    }
}

/// Such a job next to a hog.
fn hogs(subject: Subject, job: &str) -> Scenario {
    let text = format!(
        "machine = {{ preset = \"uniform\", clock = {{ hz = \"1000/s\" }} }}\n\
         scheduler = {{ name = \"fifo\" }}\nduration = \"{}s\"\ngroups.some.weight = 300\n\
         workload.a = {{ steps = [{{ compute = \"200s\" }}] }}\nworkload.b = {{ {job} }}",
        TO / SECOND
    );
    under(subject, &text)
}

/// Processor time of a task from [`FROM`] on.
fn had(run: &Run, task: TaskId) -> Nanos {
    let mut since = 0;
    run.events.iter().filter(|event| event.task == task).fold(0, |sum, event| match event.kind {
        Kind::SwitchIn => {
            since = event.time;
            sum
        }
        Kind::SwitchOut => sum + event.time.max(FROM) - since.max(FROM),
        _ => sum,
    })
}

/// A scenario under the policy, with slices of 1 ms where it has any: shares by chance come close to their means.
fn under(subject: Subject, text: &str) -> Scenario {
    let slices = subject.info.parameters.iter().filter(|it| it.name == "slice");
    let fine = slices.filter(|it| matches!(it.domain, Domain::Duration { .. }));
    let settings = fine.map(|it| (it.name.to_owned(), Setting::Text("1ms".to_owned()))).collect();
    Scenario { scheduler: Choice { name: subject.info.name.to_owned(), settings }, ..scenario(text) }
}

/// Tasks that go from processor to processor, a few more than there are, run where they are and nowhere else.
#[track_caller]
pub fn a_task_stays_where_it_is_bound(subject: Subject) {
    let bound = |cpu: u16| {
        let (other, length) = ((cpu + 1) % 4, 3 + cpu);
        format!(
            r#"{{ set = {{ cpus = [{cpu}] }} }}, {{ mark = "{cpu}" }}, {{ compute = "{length}ms" }}, {{ sleep = "1ms" }},
               {{ compute = "1ms" }}, {{ mark = "any" }}, {{ set = {{ cpus = [{cpu}, {other}] }} }}, {{ mark = "{cpu}{other}" }}, {{ compute = "2ms" }},
               {{ mark = "any" }},"#
        )
    };
    let jobs: String = (0..6u16)
        .map(|job| {
            let steps: String = (0..4).map(|step| bound((job + step * (job + 1)) % 4)).collect();
            format!("workload.j{job} = {{ nice = {job}, passes = 10, steps = [{steps}] }}\n")
        })
        .collect();
    let text =
        format!("machine = {{ preset = \"uniform\", processors = 4 }}\nscheduler = {{ name = \"fifo\" }}\n{jobs}");
    let scenario = under(subject, &text);
    if !subject.suits(&scenario) {
        return;
    }
    let run = subject.run(&scenario, 1);
    assert_eq!(run.violations, [""; 0], "{}", subject.info.name);
    let marks = schedlab_sim::names(&scenario).expect("a checked scenario").marks;
    let mut allowed: BTreeMap<TaskId, &str> = BTreeMap::new();
    for event in &run.events {
        if event.kind == Kind::Mark {
            allowed.insert(event.task, &marks[event.a as usize]);
        }
        let runs = matches!(event.kind, Kind::Mark | Kind::SwitchIn);
        if let Some(cpus) = allowed.get(&event.task).filter(|_| runs) {
            let here = event.cpu.to_string();
            assert!(
                cpus.contains(&here) || *cpus == "any",
                "{}: {} runs on {here}, not {cpus}",
                subject.info.name,
                event.task
            );
        }
    }
    assert_eq!(run.of(Kind::Exited).count(), 6, "{}", subject.info.name);
}
