//! Shortest remaining time first gives the least sum of responses that there is: against the theory, and against every
//! other policy.

use crate::{
    audited::{Run, run, scenario},
    random_scenarios::cases,
};
use proptest::prelude::*;
use schedlab_model::{MICROSECOND, event::Kind};
use schedlab_policies::schedulers::SCHEDULERS;
use std::fmt::Write;

/// Jobs (length, start), us, on one processor without costs.
fn batch(scheduler: &str, jobs: &[(u64, u64)]) -> Run {
    let mut text = format!("machine = \"uniform\"\nscheduler = {{ name = \"{scheduler}\" }}\n");
    for (job, (length, start)) in jobs.iter().enumerate() {
        writeln!(text, "workload.job{job:02} = {{ load = \"spin\", compute = \"{length}us\", start = \"{start}us\" }}")
            .unwrap();
    }
    run(&scenario(&text), 1)
}

/// The sum of the times from start to end, us.
fn responses(run: &Run, jobs: &[(u64, u64)]) -> u64 {
    let ends: u64 = (0..jobs.len() as u32).map(|task| run.first(Kind::Exited, task) / MICROSECOND).sum();
    ends - jobs.iter().map(|(_, start)| start).sum::<u64>()
}

/// The least sum there can be (Schrage): at every instant a task with the least left runs.
fn least(jobs: &[(u64, u64)]) -> u64 {
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
            None => now = next.expect("a task is still to come"),
        }
    }
    sum
}

fn jobs() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop::collection::vec((1..100_000u64, 0..200_000u64), 1..9)
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn no_order_has_a_lower_mean_response(jobs in jobs()) {
        let sum = responses(&batch("srtf", &jobs), &jobs);
        prop_assert_eq!(sum, least(&jobs));
        for other in SCHEDULERS {
            let theirs = responses(&batch(other.name, &jobs), &jobs);
            prop_assert!(sum <= theirs, "{}: {theirs} us against {sum}", other.name);
        }
    }

    #[test]
    fn a_batch_that_is_there_from_the_beginning_runs_in_order_of_length(lengths in prop::collection::vec(1..100_000u64, 1..9)) {
        let jobs: Vec<_> = lengths.iter().map(|length| (*length, 0)).collect();
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        let n = sorted.len() as u64;
        let expected: u64 = sorted.iter().zip(0..).map(|(length, before)| length * (n - before)).sum();
        prop_assert_eq!(responses(&batch("srtf", &jobs), &jobs), expected);
    }
}

#[test]
fn each_burst_counts_anew() {
    let run = run(
        &scenario(
            r#"
            machine = "uniform"
            scheduler = { name = "srtf" }
            workload.many = { load = "sleeper", run = "10ms", sleep = "10ms", rounds = 20 }
            workload.once = { load = "spin", compute = "95ms" }
            "#,
        ),
        1,
    );
    // 200 ms in all, but 10 at a time: shorter than what is left of the other until that is at its last 5 ms, at 180 ms.
    assert_eq!(run.get("tasks.many.wakeup_latency.max"), 0.005);
    assert_eq!((run.first(Kind::Exited, 1), run.end), (185_000_000, 405_000_000));
}
