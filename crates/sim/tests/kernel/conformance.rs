//! What every policy of the table must do, found by its entry: it is covered by being there.

mod scenes;
mod shares;
mod waits;

use crate::{
    audited::{Run, holds_back, run, run_audited, scenario},
    random_scenarios::{Programs, Written, any_scenario, cases},
};
use proptest::{prelude::*, test_runner::TestRunner};
use scenes::Scene;
use schedlab_model::{
    event::{Kind, Leave},
    info::{Info, Params, Promise, Reach},
    scenario::{Choice, Scenario},
};
use schedlab_policies::schedulers::{self, SCHEDULERS, Scheduler, Visitor};
use schedlab_traces::{Names, gantt::Chart};
use std::collections::BTreeMap;
use waits::waits;

/// The policies that make a promise, each with its reach.
fn promising(which: impl Fn(&Promise) -> Option<Reach>) -> Vec<(&'static Info, Reach)> {
    let of = |info: &'static Info| Some((info, info.promises.iter().find_map(&which)?));
    SCHEDULERS.iter().filter_map(of).collect()
}

fn of_work(promise: &Promise) -> Option<Reach> {
    if let Promise::WorkConserving(reach) = promise { Some(*reach) } else { None }
}

fn of_waits(promise: &Promise) -> Option<Reach> {
    if let Promise::StarvationFree(reach) = promise { Some(*reach) } else { None }
}

fn of_shares(promise: &Promise) -> Option<Reach> {
    if let Promise::FairToEquals(reach) = promise { Some(*reach) } else { None }
}

/// What breaks the definition of work conservation in a run, whatever its scheduler promises.
fn idling(scenario: &Scenario, needs: Reach, reach: Reach, seed: u64) -> Option<String> {
    let run = run_audited(scenario, seed);
    let own_queue = run.violations.iter().find(|line| line.contains("idles while")).cloned();
    own_queue.or_else(|| if needs <= reach { waits(scenario, &run).idled } else { None })
}

/// What breaks the definition of freedom from starvation.
fn starving(scenario: &Scenario, needs: Reach, reach: Reach, seed: u64) -> Option<String> {
    let found = waits(scenario, &run_audited(scenario, seed));
    if needs <= reach { found.starved } else { found.bound_starved }
}

type Law = fn(&Scenario, Reach, Reach, u64) -> Option<String>;

/// Where a policy breaks a law of that reach: in the scenes written down, then in so many by chance.
fn broken(law: Law, info: &Info, reach: Reach, by_chance: u32) -> Vec<String> {
    let in_scene = |scene: &Scene, seed: u64| law(&scene.under(info.name), scene.needs, reach, seed);
    let fixed = scenes::fixed();
    let mut all: Vec<String> =
        fixed.iter().filter_map(|scene| Some(format!("{}: {}: {scene:?}", info.name, in_scene(scene, 1)?))).collect();
    let by_chance = TestRunner::new(cases(by_chance)).run(&(scenes::any_scene(), any::<u64>()), |(scene, seed)| {
        in_scene(&scene, seed).map_or(Ok(()), |wrong| Err(TestCaseError::fail(wrong)))
    });
    all.extend(by_chance.err().map(|why| format!("{}: {why}", info.name)));
    all
}

#[track_caller]
fn holds(broken: Vec<String>) {
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn no_processor_idles_beside_a_task_that_waits_for_it_where_work_conservation_is_promised() {
    holds(promising(of_work).into_iter().flat_map(|(info, reach)| broken(idling, info, reach, 25)).collect());
}

#[test]
fn nobody_waits_for_more_than_a_second_a_task_where_freedom_from_starvation_is_promised() {
    holds(promising(of_waits).into_iter().flat_map(|(info, reach)| broken(starving, info, reach, 25)).collect());
}

#[test]
fn equals_get_equal_shares_where_fairness_is_promised() {
    holds(promising(of_shares).into_iter().flat_map(|(info, reach)| shares::unfair(info, reach, 5)).collect());
}

#[test]
fn work_is_conserved_in_any_scenario_whatever_programs_do() {
    for (info, reach) in promising(of_work) {
        in_any_scenario(info, |scenario, run| {
            assert!(run.violations.is_empty(), "{}", run.violations.join("\n"));
            let unbound =
                scenario.machine.processors.get() == 1 || scenario.workload.values().all(|job| job.cpus.is_empty());
            let needs = if unbound { Reach::Unbound } else { Reach::Everywhere };
            if needs <= reach && !holds_back(info, scenario) {
                assert_eq!(waits(scenario, &run).idled, None);
            }
        });
    }
}

#[test]
fn who_promises_it_preempts_nobody_and_who_is_clairvoyant_asks_the_oracle() {
    for info in SCHEDULERS {
        for promise in info.promises {
            match promise {
                Promise::RunsToBlock => takes_the_processor_from_nobody(info),
                Promise::Clairvoyant => asks_the_oracle(info),
                Promise::WorkConserving(_) | Promise::StarvationFree(_) | Promise::FairToEquals(_) => {}
            }
        }
    }
}

/// For whoever writes a policy: what it breaks of the promises that it does not make.
#[test]
#[ignore = "a survey, which takes minutes: --ignored --nocapture"]
fn survey_of_what_each_policy_could_promise() {
    for info in SCHEDULERS {
        for (what, law) in [("idles", idling as Law), ("starves", starving)] {
            for reach in [Reach::EachProcessor, Reach::Unbound, Reach::Everywhere] {
                let broken = broken(law, info, reach, 500);
                println!("{} {what} {reach:?}: {} {:?}", info.name, broken.len(), broken.first());
            }
        }
        for reach in [Reach::EachProcessor, Reach::Unbound, Reach::Everywhere] {
            let unfair = shares::unfair(info, reach, 100);
            println!("{} unfair {reach:?}: {} {:?}", info.name, unfair.len(), unfair.first());
        }
    }
}

/// Any scenario, under this policy with its default parameters.
fn in_any_scenario(info: &Info, test: impl Fn(&Scenario, Run)) {
    let strategy = (any_scenario(Programs::Wild), any::<u64>());
    let scheduler = Choice { name: info.name.to_owned(), settings: BTreeMap::new() };
    let outcome = TestRunner::new(cases(200)).run(&strategy, |(Written(scenario), seed)| {
        let scenario = Scenario { scheduler: scheduler.clone(), ..scenario };
        test(&scenario, run_audited(&scenario, seed));
        Ok(())
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", info.name));
}

fn asks_the_oracle(info: &Info) {
    struct Asks;
    impl Visitor for Asks {
        type Output = bool;
        fn visit<S: Scheduler>(self) -> bool {
            S::CLAIRVOYANT
        }
    }
    assert_eq!(schedulers::visit(info.name, Asks), Some(true), "{}", info.name);
}

fn takes_the_processor_from_nobody(info: &Info) {
    let taken = [Leave::Preempted as u8, Leave::SliceEnd as u8];
    in_any_scenario(info, |_, run| {
        let victim = run.of(Kind::SwitchOut).find(|e| taken.contains(&e.flag));
        assert!(victim.is_none(), "{victim:?}");
    });
}

#[test]
fn every_default_is_allowed() {
    for info in SCHEDULERS {
        Params::check(info, []).unwrap_or_else(|(name, why)| panic!("{}.{name}: {why}", info.name));
    }
}

#[test]
fn every_page_tells_what_a_reader_asks() {
    const SECTIONS: [&str; 6] = ["The idea", "A schedule", "Cost", "Good for, not for", "Departures", "References"];
    for info in SCHEDULERS {
        let page = info.page();
        assert!(page.starts_with(&format!("# {}\n", info.name)), "the page of {}", info.name);
        for section in SECTIONS {
            assert!(page.contains(&format!("\n## {section}\n")), "the page of {} has no {section:?}", info.name);
        }
    }
}

#[test]
fn no_policy_is_left_unfinished() {
    for info in SCHEDULERS {
        let left = info.source.lines().position(|line| line.contains("TODO"));
        assert_eq!(left, None, "{} still has a TODO in a line of its file, counted from 0", info.name);
    }
}

/// A page's schedule is a scenario and the chart of it: the simulator must draw the same.
#[test]
fn every_drawn_schedule_is_what_the_simulator_draws() {
    for info in SCHEDULERS {
        let page = info.page();
        let section = page.split("\n## A schedule\n").nth(1).and_then(|rest| rest.split("\n## ").next());
        let section = section.unwrap_or_else(|| panic!("{} has no schedule", info.name));
        let scenario = scenario(block(section, "toml"));
        assert_eq!(scenario.scheduler.name, info.name, "the schedule of another policy");
        let drawn = block(section, "text");
        assert!(draw(&scenario, drawn) == drawn, "{} draws\n{}", info.name, draw(&scenario, drawn));
    }
}

/// The fenced block of that language.
fn block<'a>(section: &'a str, language: &str) -> &'a str {
    let (start, end) = (format!("```{language}\n"), "```");
    let found = section.split_once(&start).and_then(|(_, rest)| rest.split_once(end));
    found.unwrap_or_else(|| panic!("no block of {language} in\n{section}")).0
}

/// The whole run, in columns of the length that the drawing tells.
fn draw(scenario: &Scenario, drawn: &str) -> String {
    let column = drawn.split("a column is ").nth(1).and_then(|rest| rest.lines().next());
    let column = column.unwrap_or_else(|| panic!("no column in\n{drawn}"));
    let column = schedlab_model::units::parse_duration(column).unwrap();
    let run = run(scenario, 1);
    let columns = run.end.div_ceil(column);
    let names = Names {
        processors: scenario.machine.processors.get(),
        jobs: scenario.workload.keys().cloned().collect(),
        servers: Vec::new(),
        marks: Vec::new(),
    };
    Chart::new(&run.events, &names, columns * column).text(columns as usize)
}
