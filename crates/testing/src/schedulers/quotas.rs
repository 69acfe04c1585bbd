//! Groups with quotas: tasks of a group wait for its next period, and may sleep, wake and end meanwhile.

use super::{
    groups::group,
    random::{Written, cases},
    runs::{Run, read},
    subject::Subject,
    waits::waits,
};
use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_model::{
    Nanos, SECOND,
    event::Kind,
    experiment::Format,
    info::{Promise, Reach},
    scenario::{Choice, GroupSpec, Scenario},
    units::spell_duration,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Random scenes of each law.
const SCENES: u32 = 100;

/// Tasks of groups with quotas all end, whether the policy knows groups or not; where it promises freedom from starvation, none waits
/// for as long as that excludes, since every group gets some of each period.
#[track_caller]
pub fn no_task_of_a_group_is_lost(subject: Subject) {
    let bounded = subject.info.promises.contains(&Promise::StarvationFree(Reach::Everywhere));
    in_random_groups(subject, |scenario, run| {
        prop_assert_eq!(run.of(Kind::Created).count(), run.of(Kind::Exited).count());
        prop_assert_eq!(waits(scenario, run).starved.filter(|_| bounded), None);
        Ok(())
    });
}

/// No group has more than its quota of the periods that have begun.
#[track_caller]
pub fn limits_groups(subject: Subject) {
    in_random_groups(subject, |scenario, run| {
        prop_assert_eq!(exceeded(scenario, run), None);
        Ok(())
    });
}

fn in_random_groups(subject: Subject, law: impl Fn(&Scenario, &Run) -> Result<(), TestCaseError>) {
    let scheduler = Choice { name: subject.info.name.to_owned(), settings: BTreeMap::new() };
    let outcome = TestRunner::new(cases(SCENES)).run(&(any_groups(), any::<u64>()), |(Written(scenario), seed)| {
        let scenario = Scenario { scheduler: scheduler.clone(), ..scenario };
        if !subject.suits(&scenario) {
            return Ok(());
        }
        let run = subject.run(&scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        law(&scenario, &run)
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", subject.info.name));
}

/// The first group found to have had more than its quota. That a quota is used up may be noticed as late as at the next tick, and
/// what was used meanwhile is taken from the next period: each processor may owe a tick.
///
///   time used so far <= quota * periods begun + processors * tick
fn exceeded(scenario: &Scenario, run: &Run) -> Option<String> {
    let late = Nanos::from(scenario.machine.processors.get())
        * (SECOND as f64 / scenario.machine.clock.hz.get().0).ceil() as Nanos;
    let jobs: Vec<_> = scenario.workload.values().map(|job| above(scenario, job.group.as_deref())).collect();
    let job: BTreeMap<_, _> = run.of(Kind::Created).map(|event| (event.task, event.a as usize)).collect();
    let mut used: BTreeMap<&str, Nanos> = BTreeMap::new();
    for event in run.of(Kind::SwitchOut).filter(|event| job.contains_key(&event.task)) {
        for &(name, group) in &jobs[job[&event.task]] {
            let used = used.entry(name).or_default();
            *used += event.a + event.b;
            let Some(quota) = group.quota else { continue };
            let allowed = quota.0 * (event.time / group.period.0 + 1) + late;
            if *used > allowed {
                let [at, used, allowed] = [event.time, *used, allowed].map(spell_duration);
                return Some(format!("at {at}, {name} has had {used} of {allowed}"));
            }
        }
    }
    None
}

/// A group and those that contain it.
fn above<'s>(scenario: &'s Scenario, group: Option<&'s str>) -> Vec<(&'s str, &'s GroupSpec)> {
    let next = |name: &&'s str| scenario.groups[*name].parent.as_deref();
    std::iter::successors(group, next).map(|name| (name, &scenario.groups[name])).collect()
}

/// Hogs, sleepers and tasks that are now this, now that, in groups of which some contain others.
fn any_groups() -> impl Strategy<Value = Written> {
    let tree = || (group(None), group(Some("a")), group(Some("b")), group(None));
    let machine = (1..=4u16, prop::sample::select(vec![100, 250, 1000]));
    machine.prop_flat_map(move |(processors, hz)| {
        let jobs = prop::collection::vec(job(processors), 2..6);
        (tree(), jobs).prop_map(move |(groups, jobs)| {
            let (a, b, c, d) = groups;
            let jobs: Map<_, _> = jobs.into_iter().enumerate().map(|(n, job)| (format!("j{n}"), job)).collect();
            let text = json!({
                "machine": { "name": "any", "processors": processors, "clock": { "hz": format!("{hz}/s") } },
                "scheduler": { "name": "fifo" }, "workload": jobs,
                "groups": { "a": a, "b": b, "c": c, "d": d },
            });
            Written(read(&text.to_string(), Format::Json))
        })
    })
}

fn job(processors: u16) -> impl Strategy<Value = Value> {
    let group = prop::option::weighted(0.85, prop::sample::select(vec!["a", "b", "c", "d"]));
    let cpus = prop::option::weighted(0.2, 1..1u64 << processors);
    (1..4u32, group, cpus, 0..5_000u32, program()).prop_map(move |(count, group, cpus, gap, (passes, steps))| {
        let mut job = json!({ "count": count, "gap": format!("{gap}us"), "passes": passes, "steps": steps });
        group.into_iter().for_each(|group| job["group"] = json!(group));
        cpus.into_iter().for_each(|mask| job["cpus"] = (0..processors).filter(|cpu| mask >> cpu & 1 == 1).collect());
        job
    })
}

/// How often, and which steps: all times but those of hogs vary.
fn program() -> impl Strategy<Value = (u64, Vec<Value>)> {
    let varies =
        |step: &'static str, us: u64| json!({ step: { "uniform": [format!("{}us", us / 3), format!("{us}us")] } });
    let sleeper = (100..2_000u64, 500..10_000u64, 20..150u64)
        .prop_map(move |(run, sleep, passes)| (passes, vec![varies("compute", run), varies("sleep", sleep)]));
    let hog = (5..200u64).prop_map(|ms| (1, vec![json!({ "compute": format!("{ms}ms") })]));
    let both = (1..30u64, 100..2_000u64, 500..10_000u64, 1..10u64).prop_map(move |(ms, run, sleep, times)| {
        let naps = json!({ "repeat": { "times": times, "steps": [varies("compute", run), varies("sleep", sleep)] } });
        (5, vec![json!({ "compute": format!("{ms}ms") }), naps])
    });
    prop_oneof![3 => sleeper, 1 => hog, 1 => both]
}
