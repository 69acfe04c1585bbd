//! Shortest remaining time first gives the least sum of turnaround times that there is on one processor. That no other policy gives a lesser one is
//! tested in `kernel/least_turnaround.rs`.

use proptest::prelude::*;
use schedlab_model::{SECOND, event::Kind};
use schedlab_policies::schedulers::Srtf;
use schedlab_testing::schedulers::{
    Run,
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

#[test]
fn short_tasks_go_first_on_two_processors_which_leaves_both_long_ones_to_the_end() {
    let text = r#"
        machine = { preset = "uniform", processors = 2 }
        scheduler = { name = "srtf" }
        workload.a = { load = "spin", compute = "1s" }
        workload.b = { load = "spin", compute = "10s" }
        workload.c = { load = "spin", compute = "1s" }
        workload.d = { load = "spin", compute = "10s" }
    "#;
    let run = run::<Srtf>(&scenario(text), 1);
    let ends = [0, 1, 2, 3].map(|task| run.first(Kind::Exited, task) / SECOND);
    assert_eq!((ends, run.totals.idle), ([1, 11, 1, 11], 0));
}

#[test]
fn a_short_task_takes_the_processor_of_the_one_with_most_left() {
    let text = |costs: &str| {
        format!(
            r#"
            machine = {{ preset = "uniform", processors = 3{costs} }}
            scheduler = {{ name = "srtf" }}
            workload.a = {{ load = "spin", compute = "50ms" }}
            workload.b = {{ load = "spin", compute = "90ms" }}
            workload.c = {{ load = "spin", compute = "70ms" }}
            workload.d = {{ load = "spin", compute = "25ms", start = "30ms" }}
            workload.e = {{ load = "spin", compute = "10ms", start = "35ms", cpus = [0, 2] }}
            "#
        )
    };
    let two = |costs: &str| run::<Srtf>(&scenario(&text(costs)), 1);
    let first = |run: &Run, task| run.of(Kind::SwitchIn).find(|event| event.task == task).expect("it runs").cpu;
    let placed = |run: &Run| [3, 4].map(|task| first(run, task));
    let run = two("");
    // At 30 ms a, b and c have 20, 60 and 40 left; at 35 ms those of 0 and 2 have 15 and 35.
    assert_eq!(placed(&run), [1, 2]);
    // b goes on where a ends, at 50 ms, for 60 ms; d ends at 55 ms, and c, which goes on where e ends, at 80.
    assert_eq!((run.end, run.totals.idle), (110_000_000, 55_000_000 + 30_000_000));
    let costly = ", costs = { interrupt = \"20us\", context_switch = \"50us\" }, clock = { hz = \"1000/s\", interrupt = \"10us\" }";
    assert_eq!(placed(&two(costly)), [1, 2], "also where interrupts take some of their time");
}

#[test]
fn what_is_left_of_tasks_that_run_is_known_up_to_now() {
    let text = r#"
        machine = { preset = "uniform", processors = 2 }
        scheduler = { name = "srtf" }
        workload.a = { load = "spin", compute = "100ms" }
        workload.b = { load = "spin", compute = "70ms", start = "50ms" }
        workload.c = { load = "spin", compute = "10ms", start = "60ms" }
    "#;
    let run = run::<Srtf>(&scenario(text), 1);
    // At 60 ms a has 40 left and b 60.
    assert_eq!([0, 1, 2].map(|task| run.first(Kind::Exited, task) / 1_000_000), [100, 130, 70]);
}

#[test]
fn on_a_smaller_core_less_is_done_in_the_same_time() {
    let text = r#"
        machine = { preset = "uniform", processors = 2, topology = { capacities = [512, 1024] } }
        scheduler = { name = "srtf" }
        workload.a = { load = "spin", compute = "50ms", cpus = [0] }
        workload.b = { load = "spin", compute = "61ms", cpus = [1] }
        workload.c = { load = "spin", compute = "20ms", start = "40ms", cpus = [0] }
        workload.d = { load = "spin", compute = "10ms", start = "45ms" }
    "#;
    let run = run::<Srtf>(&scenario(text), 1);
    let begins = |task| run.of(Kind::SwitchIn).find(|event| event.task == task).expect("it runs");
    // At 40 ms a has 30 left, more than c. At 45 ms c has 17.5 left and b 16.
    assert_eq!((begins(2).time, begins(3).time, begins(3).cpu), (40_000_000, 45_000_000, 0));
}
