//! Batches of jobs on one processor, and the least sum of turnaround times that any policy can reach.

use super::runs::{Run, run, scenario};
use proptest::prelude::*;
use schedlab_model::{MICROSECOND, event::Kind};
use schedlab_policies::schedulers::Table;
use std::fmt::Write;

/// Runs jobs (length, start), us, on one processor without costs.
pub fn batch<T: Table>(scheduler: &str, jobs: &[(u64, u64)]) -> Run {
    let mut text = format!("machine = \"uniform\"\nscheduler = {{ name = \"{scheduler}\" }}\n");
    for (job, (length, start)) in jobs.iter().enumerate() {
        writeln!(text, "workload.job{job:02} = {{ load = \"spin\", compute = \"{length}us\", start = \"{start}us\" }}")
            .unwrap();
    }
    run::<T>(&scenario(&text), 1)
}

/// The sum of the times from start to end, us.
pub fn turnarounds(run: &Run, jobs: &[(u64, u64)]) -> u64 {
    let ends: u64 = (0..jobs.len() as u32).map(|task| run.first(Kind::Exited, task) / MICROSECOND).sum();
    ends - jobs.iter().map(|(_, start)| start).sum::<u64>()
}

/// The least sum there can be (Schrage): at every instant a job with the least time left runs.
pub fn least(jobs: &[(u64, u64)]) -> u64 {
    let mut left: Vec<u64> = jobs.iter().map(|(length, _)| *length).collect();
    let (mut now, mut sum) = (0, 0);
    while left.iter().any(|left| *left > 0) {
        let open = |job: &usize| left[*job] > 0;
        let next = (0..jobs.len()).filter(open).map(|job| jobs[job].1).filter(|start| *start > now).min();
        match (0..jobs.len()).filter(open).filter(|&job| jobs[job].1 <= now).min_by_key(|&job| left[job]) {
            Some(job) => {
                let ran = left[job].min(next.map_or(u64::MAX, |next| next - now));
                (now, left[job]) = (now + ran, left[job] - ran);
                sum += if left[job] == 0 { now - jobs[job].1 } else { 0 };
            }
            None => now = next.expect("a job is still to come"),
        }
    }
    sum
}
/// Up to eight jobs.
pub fn jobs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..100_000u64, 0..200_000u64), 1..9)
}
