//! The ready-made loads of several tasks: what their documentation says can be counted, whatever the policy.

use proptest::prelude::*;
use schedlab_model::{MICROSECOND, Nanos, event::Kind};
use schedlab_policies::schedulers::All;
use schedlab_policies::schedulers::SCHEDULERS;
use schedlab_testing::schedulers::{Run, run, scenario};

fn any_scheduler() -> impl Strategy<Value = &'static str> {
    prop::sample::select(SCHEDULERS.iter().map(|info| info.name).collect::<Vec<_>>())
}

/// Whether a scheduler is for that many processors.
fn fits(scheduler: &str, processors: u64) -> bool {
    SCHEDULERS.iter().any(|info| info.name == scheduler && info.allows(processors as u16).is_ok())
}

fn loaded(scheduler: &str, processors: u64, trap: u64, job: &str) -> Run {
    let text = format!(
        r#"
        scheduler = {{ name = "{scheduler}" }}
        machine = {{ preset = "uniform", processors = {processors}, costs = {{ trap = "{trap}ns" }} }}
        workload.job = {{ {job} }}
        "#
    );
    run::<All>(&scenario(&text), 1)
}

/// True processor time of all tasks.
fn work(run: &Run) -> Nanos {
    run.totals.user
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_pass_of_pingpong_is_two_messages_a_round_and_a_pair_ends(
        scheduler in any_scheduler(), rounds in 1..200u64, us in 1..50u64, pairs in 1..4u64, processors in 1..3u64
    ) {
        let job = format!(r#"load = "pingpong", rounds = {rounds}, work = "{us}us", count = {pairs}"#);
        prop_assume!(fits(scheduler, processors));
        let run = loaded(scheduler, processors, 100, &job);
        // Both sides send and receive; fork, wait and the two ends.
        prop_assert_eq!(run.get("system_calls"), (pairs * (4 * rounds + 4)) as f64);
        prop_assert_eq!(work(&run), pairs * 2 * rounds * us * MICROSECOND);
        prop_assert_eq!(run.get("tasks.job.completed"), (2 * pairs) as f64);
    }

    #[test]
    fn a_pass_of_hackbench_sends_and_receives_every_message_once(
        scheduler in any_scheduler(), groups in 1..4u64, pairs in 1..5u64, loops in 1..6u64, processors in 1..5u64
    ) {
        let job = format!(r#"load = "hackbench", groups = {groups}, pairs = {pairs}, loops = {loops}"#);
        prop_assume!(fits(scheduler, processors));
        let run = loaded(scheduler, processors, 100, &job);
        let (tasks, messages) = (groups * 2 * pairs, groups * pairs * pairs * loops);
        // Two calls a message; a fork, an end and a wait for each task; the end of the first.
        prop_assert_eq!(run.get("system_calls"), (2 * messages + 3 * tasks + 1) as f64);
        prop_assert_eq!(work(&run), 2 * messages * MICROSECOND);
        prop_assert_eq!(run.get("tasks.job.completed"), (tasks + 1) as f64);
    }

    #[test]
    fn a_build_compiles_every_file_and_never_more_in_parallel_than_jobs(
        scheduler in any_scheduler(), files in 1..40u64, jobs in 1..6u64, processors in 1..4u64
    ) {
        let job = format!(r#"load = "compile", files = {files}, jobs = {jobs}, compute = "5ms", wait = "1ms""#);
        prop_assume!(fits(scheduler, processors));
        let run = loaded(scheduler, processors, 0, &job);
        prop_assert_eq!(run.get("tasks.job.completed"), (files + 1) as f64);
        let mut alive = 0;
        let mut most = 0;
        for event in run.events.iter().filter(|event| event.task != 0) {
            alive += i64::from(event.kind == Kind::Created) - i64::from(event.kind == Kind::Exited);
            most = most.max(alive);
        }
        prop_assert_eq!(most, jobs.min(files) as i64);
    }
}
