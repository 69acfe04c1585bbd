//! What every policy of the table must do, found by its entry: it is covered by being there.

use crate::{
    audited::{Run, run, run_audited, scenario},
    random_scenarios::{Programs, Written, any_scenario, cases},
};
use proptest::{prelude::*, test_runner::TestRunner};
use schedlab_model::{
    Nanos, SECOND,
    event::{Kind, Leave},
    info::{Info, Params, Promise},
    scenario::{Choice, Scenario},
};
use schedlab_policies::schedulers::{self, SCHEDULERS, Scheduler, Visitor};
use schedlab_traces::{Names, gantt::Chart};
use std::collections::BTreeMap;

#[test]
fn every_policy_keeps_its_promises() {
    for info in SCHEDULERS {
        for promise in info.promises {
            match promise {
                Promise::WorkConserving => is_work_conserving(info),
                Promise::StarvationFree => starves_nobody(info),
                Promise::FairToEquals => gives_equals_equal_shares(info),
                Promise::RunsToBlock => takes_the_processor_from_nobody(info),
                Promise::Clairvoyant => asks_the_oracle(info),
            }
        }
    }
}

/// The policy with its default parameters, on a machine without costs.
#[track_caller]
fn under(info: &Info, rest: &str) -> Run {
    run(&scenario(&format!("scheduler = {{ name = \"{}\" }}\n{rest}", info.name)), 1)
}

/// Any scenario, under this policy with its default parameters.
fn in_any_scenario(info: &Info, test: impl Fn(Run)) {
    let strategy = (any_scenario(Programs::Wild), any::<u64>());
    let scheduler = Choice { name: info.name.to_owned(), settings: BTreeMap::new() };
    let outcome = TestRunner::new(cases(200)).run(&strategy, |(Written(scenario), seed)| {
        test(run_audited(&Scenario { scheduler: scheduler.clone(), ..scenario }, seed));
        Ok(())
    });
    outcome.unwrap_or_else(|why| panic!("{}: {why}", info.name));
}

/// The audit of a policy that promises it complains of an idle processor with a ready task.
fn is_work_conserving(info: &Info) {
    in_any_scenario(info, |run| assert!(run.violations.is_empty(), "{}", run.violations.join("\n")));
}

/// Beside tasks that never wait, everybody runs in every quarter of a minute.
fn starves_nobody(info: &Info) {
    let run = under(
        info,
        r#"
        machine = "uniform"
        duration = "60s"
        workload.hog = { load = "spin", passes = "forever", count = 7 }
        workload.sleeper = { load = "sleeper", passes = "forever" }
        "#,
    );
    for task in 0..8 {
        let quarters: Vec<Nanos> =
            run.of(Kind::SwitchIn).filter(|e| e.task == task).map(|e| e.time / (15 * SECOND)).collect();
        assert!((0..4).all(|quarter| quarters.contains(&quarter)), "{} starves task {task}", info.name);
    }
}

/// Equal tasks that never wait, as many on each processor: within a twentieth of each other after 100 s.
fn gives_equals_equal_shares(info: &Info) {
    for (processors, tasks) in [(1, 5), (2, 8)] {
        let run = under(
            info,
            &format!(
                r#"
                machine = {{ preset = "uniform", processors = {processors} }}
                duration = "100s"
                workload.hog = {{ load = "spin", passes = "forever", count = {tasks} }}
                "#
            ),
        );
        let mut had = vec![0; tasks];
        run.of(Kind::SwitchOut).for_each(|e| had[e.task as usize] += e.a);
        let fair = 100 * SECOND * processors / tasks as u64;
        let near = |had: &u64| had.abs_diff(fair) <= fair / 20;
        assert!(had.iter().all(near), "{} gives {had:?}, {fair} each would be fair", info.name);
    }
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
    in_any_scenario(info, |run| {
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
