//! Shortest remaining time first gives the least sum of turnaround times that there is. That no other policy gives a lesser one is
//! tested in `kernel/least_turnaround.rs`.

use proptest::prelude::*;
use schedlab_model::event::Kind;
use schedlab_policies::schedulers::Srtf;
use schedlab_testing::schedulers::{
    batch::{batch, jobs, least, turnarounds},
    cases, run, scenario,
};

schedlab_testing::test_scheduler!(Srtf);

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn the_sum_of_responses_is_the_least_there_can_be(jobs in jobs()) {
        prop_assert_eq!(turnarounds(&batch::<Srtf>("srtf", &jobs), &jobs), least(&jobs));
    }

    #[test]
    fn a_batch_that_is_there_from_the_beginning_runs_in_order_of_length(lengths in prop::collection::vec(1..100_000u64, 1..9)) {
        let jobs: Vec<_> = lengths.iter().map(|length| (*length, 0)).collect();
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        let n = sorted.len() as u64;
        let expected: u64 = sorted.iter().zip(0..).map(|(length, before)| length * (n - before)).sum();
        prop_assert_eq!(turnarounds(&batch::<Srtf>("srtf", &jobs), &jobs), expected);
    }
}

#[test]
fn each_burst_counts_anew() {
    let run = run::<Srtf>(
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
