//! What every scheduler must do, and what its entry promises.

use super::{
    balancing, quotas,
    random::{Programs, Written, any_choice, any_scenario, cases, without_chance},
    runs::{Run, holds_back, read_with, run_under, treatments},
    scenes::{self, Scene},
    shares,
    subject::Subject,
    waits::waits,
};
use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_model::{
    event::{Kind, Leave, NO_TASK},
    experiment::Format,
    info::{Promise, Reach},
    machine::Sizing,
    scenario::{Choice, Scenario},
};
use schedlab_policies::schedulers::Fifo;
use std::collections::BTreeMap;

/// Whatever the machine, the parameters and the programs: the audit finds nothing, the processors' time adds up to the
/// nanosecond, and the same seed gives the same run.
#[track_caller]
pub fn the_audit_finds_nothing(subject: Subject) {
    in_any_scenario(subject, Programs::Wild, |scenario, seed| {
        let run = subject.run(scenario, seed);
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        prop_assert_eq!(run.totals, run.audited_totals);
        prop_assert_eq!(run.totals.sum(), run.end * u64::from(scenario.machine.processors.get()));
        prop_assert!(scenario.duration.is_none_or(|limit| run.end <= limit.0));
        prop_assert!(lives(&run).1 <= lives(&run).0);

        let again = subject.run(scenario, seed);
        prop_assert_eq!(&run.events, &again.events);
        prop_assert_eq!(run.report, again.report);
        Ok(())
    });
}

/// Where all programs end, all tasks do, and each job does the same work as under fifo.
#[track_caller]
pub fn no_task_is_lost(subject: Subject) {
    in_any_scenario(subject, Programs::Ending, |scenario, seed| {
        // What earlier runs of a program have held depends on which ran earlier.
        let mut scenario = scenario.clone();
        scenario.machine.memory.sizing = Sizing::Declared;
        let runs = [subject.run(&scenario, seed), run_under::<Fifo>(&scenario, seed)];
        for run in &runs {
            prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
            prop_assert_eq!(lives(run).0, lives(run).1);
        }
        // What work takes on a slower processor depends on where a task ran.
        if scenario.machine.topology().is_even() {
            prop_assert_eq!(user_times(&runs[0]), user_times(&runs[1]));
        }
        Ok(())
    });
}

/// A run that only measures, in which ticks may be passed over, gives the metrics of one of which every event is recorded.
#[track_caller]
pub fn recording_changes_nothing(subject: Subject) {
    in_any_scenario(subject, Programs::Wild, |scenario, seed| {
        prop_assert_eq!(subject.run(scenario, seed).report.rows, subject.measure(scenario, seed).rows);
        Ok(())
    });
}

/// A run that drew no random number is the same under another seed, event by event.
#[track_caller]
pub fn where_nothing_is_drawn_seeds_change_nothing(subject: Subject) {
    in_any_scenario(subject, Programs::Wild, |scenario, seed| {
        // Left as they are, hardly any draw nothing.
        let scenario = if seed.is_multiple_of(4) { scenario.clone() } else { without_chance(scenario) };
        if !subject.measure(&scenario, seed).seeded {
            let other = !seed;
            prop_assert!(!subject.measure(&scenario, other).seeded);
            prop_assert_eq!(subject.run(&scenario, seed).events, subject.run(&scenario, other).events);
            prop_assert_eq!(subject.measure(&scenario, seed), subject.measure(&scenario, other));
        }
        Ok(())
    });
}

/// What the entry promises holds, in fixed scenes and in random ones.
#[track_caller]
pub fn promises_are_kept(subject: Subject) {
    let mut found = Vec::new();
    for promise in subject.info.promises {
        match *promise {
            Promise::WorkConserving(reach) => {
                found.extend(broken(subject, idling, reach, 25));
                conserves_work_whatever_programs_do(subject, reach);
            }
            Promise::StarvationFree(reach) => found.extend(broken(subject, starving, reach, 25)),
            Promise::FairToEquals(reach) => found.extend(shares::unfair(subject, reach, 5)),
            Promise::FindsWork(within) => balancing::finds_work(subject, within),
            Promise::MovesAtMost(moves) => balancing::moves_at_most(subject, moves),
            Promise::LimitsGroups => quotas::limits_groups(subject),
            Promise::RunsToBlock => preempts_no_task(subject),
            Promise::Clairvoyant => found.extend(asks_no_oracle(subject)),
            Promise::OneProcessor => found.extend(runs_on_two(subject)),
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// For the author of a policy: prints what it breaks of the promises that it does not make, over `random` scenes each. It takes
/// minutes.
pub fn survey(subject: Subject, random: u32) {
    let name = subject.info.name;
    for reach in [Reach::EachProcessor, Reach::Unbound, Reach::Everywhere] {
        for (what, law) in [("idles", idling as Law), ("starves", starving)] {
            let broken = broken(subject, law, reach, random);
            println!("{name} {what} {reach:?}: {} {:?}", broken.len(), broken.first());
        }
        let unfair = shares::unfair(subject, reach, random / 5);
        println!("{name} unfair {reach:?}: {} {:?}", unfair.len(), unfair.first());
    }
    balancing::survey(subject, random / 5);
}

/// Tasks of the workload that were created, and those that ended.
pub fn lives(run: &Run) -> (usize, usize) {
    (run.of(Kind::Wakeup).filter(|event| event.flag == 1).count(), run.of(Kind::Exited).count())
}

/// True user time of each job.
fn user_times(run: &Run) -> BTreeMap<u64, u64> {
    let job: BTreeMap<_, _> = run.of(Kind::Created).map(|event| (event.task, event.a)).collect();
    run.of(Kind::SwitchOut).filter(|event| event.task != NO_TASK).fold(BTreeMap::new(), |mut all, event| {
        *all.entry(job[&event.task]).or_default() += event.a;
        all
    })
}

type Law = fn(Subject, &Scenario, Reach, Reach, u64) -> Option<String>;

/// What breaks the definition of work conservation in a run, whatever its scheduler promises.
fn idling(subject: Subject, scenario: &Scenario, needs: Reach, reach: Reach, seed: u64) -> Option<String> {
    let run = subject.run(scenario, seed);
    let own_queue = run.violations.iter().find(|line| line.contains("idles while")).cloned();
    own_queue.or_else(|| if needs <= reach { waits(scenario, &run).idled } else { None })
}

/// What breaks the definition of freedom from starvation.
fn starving(subject: Subject, scenario: &Scenario, needs: Reach, reach: Reach, seed: u64) -> Option<String> {
    let found = waits(scenario, &subject.run(scenario, seed));
    if needs <= reach { found.starved } else { found.bound_starved }
}

/// Where a policy breaks a law of that reach: in the fixed scenes, then in a number of random ones.
fn broken(subject: Subject, law: Law, reach: Reach, random: u32) -> Vec<String> {
    let name = subject.info.name;
    let in_scene = |scene: &Scene, seed: u64| {
        let scenario = scene.under(subject.info);
        if subject.suits(&scenario) { law(subject, &scenario, scene.needs, reach, seed) } else { None }
    };
    let fixed = scenes::fixed();
    let mut all: Vec<String> =
        fixed.iter().filter_map(|scene| Some(format!("{name}: {}: {scene:?}", in_scene(scene, 1)?))).collect();
    let drawn = TestRunner::new(cases(random)).run(&(scenes::any_scene(), any::<u64>()), |(scene, seed)| {
        in_scene(&scene, seed).map_or(Ok(()), |wrong| Err(TestCaseError::fail(wrong)))
    });
    all.extend(drawn.err().map(|why| format!("{name}: {why}")));
    all
}

fn conserves_work_whatever_programs_do(subject: Subject, reach: Reach) {
    by_default(subject, |scenario, run| {
        prop_assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
        let unbound =
            scenario.machine.processors.get() == 1 || scenario.workload.values().all(|job| job.cpus.is_empty());
        let needs = if unbound { Reach::Unbound } else { Reach::Everywhere };
        // One that leaves its idle state may find its task taken, and the next one asked then takes as long: the audit holds each to its own.
        let at_once = scenario.machine.idle_states.is_empty();
        if at_once && needs <= reach && !moves(scenario) && !holds_back(subject.info, scenario) {
            prop_assert_eq!(waits(scenario, &run).idled, None);
        }
        Ok(())
    });
}

/// Whether tasks change the processors that they may use: a task that leaves its own is moved, whatever the policy wants.
fn moves(scenario: &Scenario) -> bool {
    treatments(scenario).iter().any(|change| change.cpus.is_some())
}

fn preempts_no_task(subject: Subject) {
    let taken = [Leave::Preempted as u8, Leave::SliceEnd as u8];
    by_default(subject, |scenario, run| {
        let victim = run.of(Kind::SwitchOut).find(|e| taken.contains(&e.flag));
        prop_assert!(victim.is_none() || moves(scenario), "{victim:?}");
        Ok(())
    });
}

fn asks_no_oracle(subject: Subject) -> Option<String> {
    let name = subject.info.name;
    (!subject.features.clairvoyant).then(|| format!("{name} promises to be clairvoyant, and has no such feature"))
}

/// That two processors are not refused to a policy that is for one.
fn runs_on_two(subject: Subject) -> Option<String> {
    let name = subject.info.name;
    let text = |processors: u16| {
        format!(
            "machine = {{ preset = \"uniform\", processors = {processors} }}\nscheduler = {{ name = \"{name}\" }}\n\
             workload.a = {{ load = \"spin\" }}"
        )
    };
    let read = |processors| read_with(&text(processors), Format::Toml, std::slice::from_ref(subject.info));
    match [read(1).err(), read(2).err()] {
        [None, Some(why)] if why.contains("machine.processors = 1") => None,
        other => Some(format!("{name} is for one processor, but {other:?}")),
    }
}

/// Random scenarios under the policy with any parameters.
fn in_any_scenario(subject: Subject, programs: Programs, law: impl Fn(&Scenario, u64) -> Result<(), TestCaseError>) {
    let strategy = (any_scenario(programs), any_choice(subject.info), any::<u64>());
    let outcome = TestRunner::new(cases(100)).run(&strategy, |(Written(scenario), scheduler, seed)| {
        let scenario = Scenario { scheduler, ..scenario };
        if subject.suits(&scenario) { law(&scenario, seed) } else { Ok(()) }
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", subject.info.name));
}

/// Random scenarios under the policy with its default parameters.
fn by_default(subject: Subject, law: impl Fn(&Scenario, Run) -> Result<(), TestCaseError>) {
    let strategy = (any_scenario(Programs::Wild), any::<u64>());
    let scheduler = Choice { name: subject.info.name.to_owned(), settings: BTreeMap::new() };
    let outcome = TestRunner::new(cases(200)).run(&strategy, |(Written(scenario), seed)| {
        let scenario = Scenario { scheduler: scheduler.clone(), ..scenario };
        if subject.suits(&scenario) { law(&scenario, subject.run(&scenario, seed)) } else { Ok(()) }
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", subject.info.name));
}
