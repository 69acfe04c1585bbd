//! What schedulers with a runqueue a processor promise of several processors: how long one idles while a task waits that may use it, and
//! how often tasks move.

use super::{
    random::{Written, cases},
    runs::read,
    subject::Subject,
};
use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_model::{
    Nanos, SECOND,
    event::Kind,
    experiment::Format,
    scenario::{Choice, Scenario},
    units::spell_duration,
};
use serde_json::{Map, Value, json};
use std::{cell::Cell, collections::BTreeMap};

/// Random scenes of each law.
const SCENES: u32 = 60;
/// Tasks are left alone for so long before their moves count, and for so long they do.
const SETTLED: Nanos = 5 * SECOND;
const COUNTED: Nanos = 10 * SECOND;

/// A task that waits for a processor that idles is fetched within the promised time a processor.
#[track_caller]
pub fn finds_work(subject: Subject, within: Nanos) {
    in_random_scenes(subject, any_work(true), SCENES, |scenario, seed| {
        let longest = wasted(subject, scenario, seed);
        let allowed = within * Nanos::from(scenario.machine.processors.get());
        prop_assert!(
            longest <= allowed,
            "a processor idles for {} while a task waits; promised are {}",
            spell_duration(longest),
            spell_duration(allowed)
        );
        Ok(())
    });
}

/// Tasks that are always able to run move no more often than promised.
#[track_caller]
pub fn moves_at_most(subject: Subject, moves: u32) {
    in_random_scenes(subject, any_work(false), SCENES, |scenario, seed| {
        let moved = moved(subject, scenario, seed);
        prop_assert!(moved <= f64::from(moves), "{moved} moves a second and processor; promised are at most {moves}");
        Ok(())
    });
}

/// For the author of a policy: the worst of both numbers over random scenes.
pub fn survey(subject: Subject, random: u32) {
    let (idles, moves) = (Cell::new(0), Cell::new(0.0));
    in_random_scenes(subject, any_work(true), random, |scenario, seed| {
        let longest = wasted(subject, scenario, seed) / Nanos::from(scenario.machine.processors.get());
        idles.set(longest.max(idles.get()));
        Ok(())
    });
    in_random_scenes(subject, any_work(false), random, |scenario, seed| {
        moves.set(moved(subject, scenario, seed).max(moves.get()));
        Ok(())
    });
    let (name, idles) = (subject.info.name, spell_duration(idles.get()));
    println!("{name} finds work within {idles} a processor, moves {} times a second and processor", moves.get());
}

/// The longest time for which some processor idles while a task waits that may use it; the metric is in seconds.
fn wasted(subject: Subject, scenario: &Scenario, seed: u64) -> Nanos {
    let longest = subject.measure(scenario, seed).get("wasted.longest").expect("a metric of several processors");
    (longest * SECOND as f64) as Nanos
}

/// Moves a second and processor, once the tasks have settled.
fn moved(subject: Subject, scenario: &Scenario, seed: u64) -> f64 {
    let run = subject.run(scenario, seed);
    let moves = run.of(Kind::Migrated).filter(|event| event.time > SETTLED).count();
    moves as f64 / f64::from(scenario.machine.processors.get()) / (COUNTED / SECOND) as f64
}

fn in_random_scenes(
    subject: Subject,
    scenes: impl Strategy<Value = Written>,
    random: u32,
    law: impl Fn(&Scenario, u64) -> Result<(), TestCaseError>,
) {
    let scheduler = Choice { name: subject.info.name.to_owned(), settings: BTreeMap::new() };
    let outcome = TestRunner::new(cases(random)).run(&(scenes, any::<u64>()), |(Written(scenario), seed)| {
        law(&Scenario { scheduler: scheduler.clone(), ..scenario }, seed)
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", subject.info.name));
}

/// Tasks that only compute on a machine of several processors. On one whose processors share all the same, jobs may be bound to some of
/// them.
fn any_work(some_end: bool) -> impl Strategy<Value = Written> {
    let hz = prop::sample::select(vec![100, 250, 1000]);
    prop_oneof![flat(), layered()].prop_flat_map(move |machine| {
        let processors = machine["processors"].as_u64().expect("a number") as u16;
        let binds = machine.get("topology").is_none();
        let jobs = prop::collection::vec(job(processors, binds, some_end), 1..6);
        (jobs, hz.clone()).prop_map(move |(jobs, hz)| {
            let mut machine = machine.clone();
            machine["clock"] = json!({ "hz": format!("{hz}/s") });
            Written(scene(&machine, &jobs))
        })
    })
}

fn flat() -> BoxedStrategy<Value> {
    (2..=12u16).prop_map(|processors| json!({ "name": "any", "processors": processors })).boxed()
}

/// Every core has as many threads, every cache as many cores, every node as many caches. Cores may be favoured.
fn layered() -> BoxedStrategy<Value> {
    let threads = prop_oneof![Just((1, 1.0)), (0.4..1.0f64).prop_map(|speed| (2, speed))];
    let priorities = prop_oneof![Just(vec![]), prop::collection::vec(1..256u16, 1..5)];
    let shape = (1..=2u16, 1..=2u16, 2..=4u16, threads, priorities);
    let machine = shape.prop_map(|(nodes, caches, cores, (threads, speed), priorities)| {
        json!({
            "name": "any", "processors": nodes * caches * cores * threads, "nodes": nodes,
            "topology": {
                "threads": threads, "thread_speed": speed, "cores_per_cache": cores, "priorities": priorities,
            },
        })
    });
    machine.boxed()
}

fn job(processors: u16, binds: bool, some_end: bool) -> impl Strategy<Value = Value> {
    let cpus = prop::option::weighted(0.4, 1..1u64 << processors);
    let ends = prop::option::weighted(0.6, 1..4000u32);
    (1..6u32, cpus, ends, 0..500u32, any::<bool>()).prop_map(move |(count, cpus, ends, start, grouped)| {
        let length = ends.filter(|_| some_end).map_or_else(|| "1000s".to_owned(), |ms| format!("{ms}ms"));
        let mut job = json!({ "count": count, "steps": [{ "compute": length }], "start": format!("{start}ms") });
        if let Some(mask) = cpus.filter(|_| binds) {
            job["cpus"] = (0..processors).filter(|cpu| mask >> cpu & 1 == 1).collect();
        }
        if grouped {
            job["group"] = json!("some");
        }
        job
    })
}

#[track_caller]
fn scene(machine: &Value, jobs: &[Value]) -> Scenario {
    let workload: Map<String, Value> = jobs.iter().enumerate().map(|(n, job)| (format!("j{n}"), job.clone())).collect();
    let text = json!({
        "machine": machine, "scheduler": { "name": "fifo" }, "workload": workload, "groups": { "some": { "weight": 700 } },
        "duration": format!("{}s", (SETTLED + COUNTED) / SECOND),
    });
    read(&text.to_string(), Format::Json)
}
