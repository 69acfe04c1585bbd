//! Processor time that equal tasks have had.

use super::{
    random::cases,
    scenes::{self, Scene},
    subject::Subject,
};
use proptest::test_runner::{TestCaseError, TestRunner};
use schedlab_model::{MILLISECOND, event::Kind, info::Reach};
use std::collections::BTreeMap;

/// The scenes covered by the reach in which equals get unequal shares: a line each. `random` scenes are drawn on top of the fixed ones.
pub fn unfair(subject: Subject, reach: Reach, random: u32) -> Vec<String> {
    let covered = scenes::of_equals().into_iter().filter(|scene| scene.needs <= reach);
    let mut all: Vec<String> = covered.filter_map(|scene| unequal(subject, &scene)).collect();
    let drawn = TestRunner::new(cases(random)).run(&scenes::any_equals(), |scene| {
        unequal(subject, &scene).map_or(Ok(()), |wrong| Err(TestCaseError::fail(wrong)))
    });
    all.extend(drawn.err().map(|why| why.to_string()));
    all
}

/// Farther than this from the mean is unequal, and farther than a twentieth of it.
const TURNS: u64 = 200 * MILLISECOND;

/// A job of equals of which one is too far from their mean.
fn unequal(subject: Subject, scene: &Scene) -> Option<String> {
    let scenario = scene.under(subject.info);
    if !subject.suits(&scenario) {
        return None;
    }
    let run = subject.run(&scenario, 1);
    let jobs: Vec<&String> = scenario.workload.keys().collect();
    let mut had: BTreeMap<(&str, u32), u64> = BTreeMap::new();
    let of: BTreeMap<u32, &str> = run.of(Kind::Created).map(|e| (e.task, jobs[e.a as usize].as_str())).collect();
    for (task, job) in of.iter().filter(|(_, job)| job.starts_with("equal")) {
        had.insert((job, *task), 0);
    }
    for event in run.of(Kind::SwitchOut) {
        if let Some(sum) = had.get_mut(&(of[&event.task], event.task)) {
            *sum += event.a + event.b;
        }
    }
    let wrong = jobs.iter().find_map(|job| {
        let times: Vec<u64> = had.iter().filter(|((name, _), _)| name == job).map(|(_, time)| *time).collect();
        let mean = times.iter().sum::<u64>() / (times.len() as u64).max(1);
        times.iter().any(|time| time.abs_diff(mean) > TURNS.max(mean / 20)).then(|| {
            let percent: Vec<_> = times.iter().map(|time| time / (run.end / 1000)).collect();
            format!("{job} has {percent:?} per mille of a processor")
        })
    });
    wrong.map(|wrong| format!("{}: {wrong}: {scene:?}", subject.info.name))
}
