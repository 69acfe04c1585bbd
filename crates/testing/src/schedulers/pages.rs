//! What a policy's file must say: its page, its entry and its features.

use super::{runs::read_with, subject::Subject};
use schedlab_model::{experiment::Format, info::Params, scenario::Scenario};
use schedlab_traces::{Names, gantt::Chart};

/// The page has its sections and nothing left to do, every default is allowed, and each feature has its hook.
#[track_caller]
pub fn the_entry_is_complete(subject: Subject) {
    let (info, source) = (subject.info, subject.info.source);
    Params::check(info, []).unwrap_or_else(|(name, why)| panic!("{}.{name}: {why}", info.name));
    let page = info.page();
    assert!(page.starts_with(&format!("# {}\n", info.name)), "the page of {}", info.name);
    for section in ["The idea", "A schedule", "Cost", "Good for, not for", "Departures", "References"] {
        assert!(page.contains(&format!("\n## {section}\n")), "the page of {} has no {section:?}", info.name);
    }
    let left = source.lines().position(|line| line.contains("TODO"));
    assert_eq!(left, None, "{} still has a TODO in a line of its file, counted from 0", info.name);
    for (feature, hook) in [
        ("ticks", "tick"),
        ("stat_ticks", "stat_tick"),
        ("interrupts", "interrupted"),
        ("user_returns", "return_to_user"),
        ("passes_ticks", "quiet_ticks"),
        ("passes_ticks", "pass_ticks"),
        ("passes_idle_ticks", "idle_ticks"),
    ] {
        let has = source.contains(&format!("    fn {hook}(&"));
        let wants = source.contains(&format!(" {feature}: true"));
        assert_eq!(has, wants, "{}: the hook `{hook}` and the feature `{feature}` belong together", info.name);
    }
}

/// The schedule on the page is a scenario and its chart: the simulator must draw the same.
#[track_caller]
pub fn the_drawn_schedule_is_what_the_simulator_draws(subject: Subject) {
    let info = subject.info;
    let page = info.page();
    let section = page.split("\n## A schedule\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.unwrap_or_else(|| panic!("{} has no schedule", info.name));
    let scenario = read_with(block(section, "toml"), Format::Toml, std::slice::from_ref(info));
    let scenario = scenario.unwrap_or_else(|problem| panic!("the schedule of {}: {problem}", info.name));
    let drawn = block(section, "text");
    let ours = draw(subject, &scenario, drawn);
    assert!(ours == drawn, "{} draws\n{ours}", info.name);
}

/// The fenced block of that language.
fn block<'a>(section: &'a str, language: &str) -> &'a str {
    let (start, end) = (format!("```{language}\n"), "```");
    let found = section.split_once(&start).and_then(|(_, rest)| rest.split_once(end));
    found.unwrap_or_else(|| panic!("no block of {language} in\n{section}")).0
}

/// The whole run, in columns of the length that the drawing states.
fn draw(subject: Subject, scenario: &Scenario, drawn: &str) -> String {
    let column = drawn.split("a column is ").nth(1).and_then(|rest| rest.lines().next());
    let column = column.unwrap_or_else(|| panic!("no column in\n{drawn}"));
    let column = schedlab_model::units::parse_duration(column).unwrap_or_else(|why| panic!("{column}: {why}"));
    let run = subject.run(scenario, 1).sound();
    let columns = run.end.div_ceil(column);
    let names = Names {
        processors: scenario.machine.processors.get(),
        jobs: scenario.workload.keys().cloned().collect(),
        ..Names::default()
    };
    Chart::new(&run.events, &names, columns * column).text(columns as usize)
}
