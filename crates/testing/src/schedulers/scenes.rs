//! What promises are tested on: scenes of a few kinds on 1, 2, 3, 4 and 8 processors, some fixed and some random.
//! All tasks have the policy `other`.

use super::runs::scenario;
use proptest::prelude::*;
use schedlab_model::{
    info::{Info, Reach},
    scenario::{Choice, Scenario},
};
use std::{collections::BTreeMap, fmt};

pub const PROCESSORS: [u16; 5] = [1, 2, 3, 4, 8];

/// Tasks on a machine, as a user would write them.
#[derive(Clone)]
pub struct Scene {
    /// The least reach of a promise that covers all of its tasks.
    pub needs: Reach,
    machine: String,
    workload: String,
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\nmachine = {}\n{}", self.machine, self.workload)
    }
}

impl Scene {
    pub fn new(processors: u16, hz: u32, workload: String) -> Scene {
        let needs = match processors {
            1 => Reach::EachProcessor,
            _ if workload.contains("cpus") => Reach::Everywhere,
            _ => Reach::Unbound,
        };
        let machine = format!(r#"{{ preset = "uniform", processors = {processors}, clock = {{ hz = "{hz}/s" }} }}"#);
        Scene { needs, machine, workload }
    }

    /// The scene under a policy with its default parameters.
    #[track_caller]
    pub fn under(&self, info: &Info) -> Scenario {
        let text = format!("machine = {}\nscheduler = {{ name = \"fifo\" }}\n{}", self.machine, self.workload);
        let choice = Choice { name: info.name.to_owned(), settings: BTreeMap::new() };
        Scenario { scheduler: choice, ..scenario(&text) }
    }
}

/// A job of `count` tasks, and the processors they may use, if not all.
fn job(name: &str, count: u32, program: &str, cpus: Option<&[u16]>) -> String {
    let cpus = cpus.map_or_else(String::new, |cpus| format!(", cpus = {cpus:?}"));
    format!("workload.{name} = {{ count = {count}{cpus}, {program} }}\n")
}

const HOG: &str = r#"load = "spin", compute = "100s", passes = "forever""#;

/// Computes and sleeps for these times, in ms.
fn sleeper(run: u64, sleep: u64) -> String {
    format!(r#"steps = [{{ compute = "{run}ms" }}, {{ sleep = "{sleep}ms" }}], passes = "forever""#)
}

/// Forks a child that computes for this time, waits for it, and forks the next.
fn chain(us: u64) -> String {
    format!(r#"steps = [{{ compute = "1us" }}, {{ fork = [{{ compute = "{us}us" }}] }}, "wait"], passes = "forever""#)
}

/// Forks a child that computes for this time, and sleeps without waiting for it.
fn spawner(ms: u64, sleep: u64) -> String {
    format!(r#"steps = [{{ fork = [{{ compute = "{ms}ms" }}] }}, {{ sleep = "{sleep}ms" }}], passes = "forever""#)
}

/// Computes once; one starts after the other, `gap` ms apart on average.
fn visitor(ms: u64, gap: u64) -> String {
    format!(r#"load = "spin", compute = "{ms}ms", gap = {{ exp = "{gap}ms" }}"#)
}

/// The fixed scenes.
pub fn fixed() -> Vec<Scene> {
    let mut all = vec![bound_beside_a_crowd(), short_and_long(), woken_behind_a_bound_task(), passed_over()];
    for processors in PROCESSORS {
        let p = u32::from(processors);
        let last = processors - 1;
        let scene = |jobs: &[String]| Scene::new(processors, 1000, format!("duration = \"8s\"\n{}", jobs.concat()));
        all.push(scene(&[
            job("hog", p + 1, HOG, None),
            job("greedy", 1, &sleeper(98, 1), None),
            job("sleeper", p, &sleeper(5, 7), None),
        ]));
        for us in [500, 5_000, 50_000] {
            all.push(scene(&[job("hog", p, HOG, None), job("chain", 1, &chain(us), None)]));
        }
        all.push(scene(&[
            job("hog", p.div_ceil(2), HOG, None),
            job("spawner", 1, &spawner(4, 5), None),
            job("visitor", 20, &visitor(150, 200), None),
        ]));
        all.push(scene(&[
            job("first", 2, HOG, Some(&[0])),
            job("ends", 2, HOG, Some(&[0, last])),
            job("free", 1, &sleeper(20, 30), None),
            job("guest", 8, &visitor(100, 500), Some(&[last])),
            job("chain", 1, &chain(3_000), Some(&[last / 2])),
        ]));
    }
    all
}

/// The busiest processor has bound tasks only; a task that may use two waits on the other one.
fn bound_beside_a_crowd() -> Scene {
    let workload = [
        "duration = \"12s\"\n".to_owned(),
        job("crowd", 4, HOG, Some(&[0])),
        job("early", 4, r#"load = "spin", compute = "250ms""#, Some(&[2])),
        job("g0", 1, r#"load = "spin", compute = "5s", start = "0.1s""#, Some(&[1])),
        job("g1", 1, r#"load = "spin", compute = "5s", start = "0.1s""#, Some(&[1, 2])),
    ];
    Scene::new(3, 1000, workload.concat())
}

/// Two short tasks and two long ones, so that the long ones are left on one of two processors.
fn short_and_long() -> Scene {
    let spin = |name: &str, seconds: u32| job(name, 1, &format!(r#"load = "spin", compute = "{seconds}s""#), None);
    Scene::new(2, 100, [spin("a", 1), spin("b", 6), spin("c", 1), spin("d", 6)].concat())
}

/// A child ends on processor 0 and wakes its parent there. The processor then takes a bound task, which has waited for longer;
/// processor 2 idles.
fn woken_behind_a_bound_task() -> Scene {
    let parent = r#"steps = [{ compute = "2ms" }, { fork = [{ compute = "20ms" }] }, "wait", { compute = "30ms" }]"#;
    let bound = r#"steps = [{ compute = "1ms" }, { sleep = "3ms" }, { compute = "5ms" }]"#;
    let workload = [
        job("a_parent", 1, parent, None),
        job("bound", 1, bound, Some(&[0, 1])),
        job("on_1", 1, r#"load = "spin", compute = "100ms", start = "1.5ms""#, Some(&[1])),
        job("on_2", 1, r#"load = "spin", compute = "10ms""#, Some(&[2])),
    ];
    Scene::new(3, 250, workload.concat())
}

/// Tasks wake on idle processors that then pull an earlier deadline from another queue. Found by a random test.
fn passed_over() -> Scene {
    let workload = [
        "duration = \"1s\"\n".to_owned(),
        job("j0", 1, &spawner(9, 7), Some(&[0, 2, 3, 4])),
        job("j1", 2, HOG, Some(&[0, 1])),
        job("j2", 2, HOG, None),
        job("j3", 1, &chain(226), None),
        job("j4", 1, &chain(10_172), Some(&[0, 1, 2, 4, 6, 7])),
    ];
    Scene::new(8, 60, workload.concat())
}

fn program() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(HOG.to_owned()),
        2 => (1..100u64, 1..100u64).prop_map(|(run, sleep)| sleeper(run, sleep)),
        1 => Just(sleeper(98, 1)),
        1 => (200..50_000u64).prop_map(chain),
        1 => (1..20u64, 2..50u64).prop_map(|(ms, sleep)| spawner(ms, sleep)),
        2 => (1..1_000u64, 1..1_000u64).prop_map(|(ms, gap)| visitor(ms, gap)),
    ]
}

fn clock() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![60, 100, 250, 1000])
}

/// Any scene of tasks of one nice level; half of the jobs of half of the scenes are bound to some processors.
pub fn any_scene() -> impl Strategy<Value = Scene> {
    let machine = (prop::sample::select(&PROCESSORS[..]), clock(), any::<bool>());
    let nice = prop_oneof![3 => Just(0), 1 => -20..=19i8];
    (machine, nice).prop_flat_map(|((processors, hz, binds), nice)| {
        let bound = move |mask: Option<u64>| {
            let cpus = move |mask: u64| (0..processors).filter(|cpu| mask >> cpu & 1 == 1).collect::<Vec<_>>();
            mask.filter(|_| binds).map(cpus)
        };
        let one = (program(), 1..4u32, prop::option::of(1..1u64 << processors));
        prop::collection::vec(one, 1..6).prop_map(move |jobs| {
            let jobs = jobs.into_iter().enumerate();
            let text = jobs.map(|(n, (program, count, mask))| {
                let program = format!("nice = {nice}, {program}");
                job(&format!("j{n}"), count, &program, bound(mask).as_deref())
            });
            Scene::new(processors, hz, format!("duration = \"4s\"\n{}", text.collect::<String>()))
        })
    })
}

/// Tasks that are always able to run, in jobs of equals; all others are no equals of theirs.
pub fn of_equals() -> Vec<Scene> {
    let scene = |p: u16, jobs: &[String]| Scene::new(p, 1000, format!("duration = \"100s\"\n{}", jobs.concat()));
    let alone = [2, 3, 5, 7].map(|n| scene(1, &[job("equal", n, HOG, None)]));
    let mixed = scene(
        1,
        &[job("equal", 3, HOG, None), job("other", 1, &sleeper(3, 7), None), job("greedy", 1, &sleeper(98, 1), None)],
    );
    let bound = [2, 3, 4, 8].map(|p| {
        let jobs: Vec<_> =
            (0..p).map(|cpu| job(&format!("equal{cpu}"), 2 + u32::from(cpu % 3), HOG, Some(&[cpu]))).collect();
        Scene { needs: Reach::EachProcessor, ..scene(p, &jobs) }
    });
    let counts = |p: u16| [p + 1, 2 * p - 1, 2 * p, 3 * p + 2].map(|n| (p, u32::from(n)));
    let free = [2, 3, 4, 8].into_iter().flat_map(counts).map(|(p, n)| scene(p, &[job("equal", n, HOG, None)]));
    let overlapping = [3, 4].map(|p| {
        let jobs = [("equal0", 3, [0, 1]), ("equal1", 2, [1, 2])].map(|(name, n, cpus)| job(name, n, HOG, Some(&cpus)));
        scene(p, &jobs)
    });
    alone.into_iter().chain([mixed, light_next_to_heavy()]).chain(bound).chain(free).chain(overlapping).collect()
}

/// Equals of little weight wait for long, and what they are owed grows large.
fn light_next_to_heavy() -> Scene {
    let jobs = [job("equal", 4, &format!("nice = 12, {HOG}"), None), job("other", 1, &sleeper(53, 47), None)];
    Scene::new(1, 60, format!("duration = \"100s\"\n{}", jobs.concat()))
}

/// Equals on one processor, any number of them, next to others of any nice level that sleep now and then.
pub fn any_equals() -> impl Strategy<Value = Scene> {
    let nice = || prop_oneof![2 => Just(0), 1 => -20..=19i8];
    let others = prop::collection::vec((1..60u64, 20..100u64, nice()), 0..3);
    (2..12u32, clock(), nice(), others).prop_map(|(count, hz, own, others)| {
        let equal = job("equal", count, &format!("nice = {own}, {HOG}"), None);
        let other = |(n, (run, sleep, nice)): (usize, &(u64, u64, i8))| {
            job(&format!("other{n}"), 1, &format!("nice = {nice}, {}", sleeper(*run, *sleep)), None)
        };
        let others: String = others.iter().enumerate().map(other).collect();
        Scene::new(1, hz, format!("duration = \"100s\"\n{equal}{others}"))
    })
}
