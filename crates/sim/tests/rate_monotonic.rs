//! Rate monotonic priorities: both tests of admission against the simulated truth, and the known sets.

use proptest::prelude::*;
use schedlab_policies::schedulers::{Edf, RateMonotonic};
use schedlab_testing::schedulers::{
    cases,
    periodic::{Work, any_work, granted, lateness, periodic},
};

type Policies = (RateMonotonic, Edf);

schedlab_testing::test_scheduler!(RateMonotonic);

fn under(admission: &str) -> String {
    format!("name = \"rate_monotonic\", admission = \"{admission}\"")
}

/// The set of n tasks that is hardest to grant: periods a factor of 2^(1/n) apart, each running for the difference to the
/// next one, so that all the time to twice the shortest period is used. Us.
fn hardest(n: u32) -> Vec<Work> {
    let period = |place: u32| (100_000.0 * 2f64.powf(f64::from(place) / f64::from(n))).round() as u64;
    (0..n).map(|place| Work::plain(period(place + 1) - period(place), period(place))).collect()
}

fn utilization(all: &[Work]) -> f64 {
    all.iter().map(|work| work.run as f64 / work.period as f64).sum()
}

#[test]
fn at_the_bound_of_liu_and_layland_nothing_is_late_and_the_least_more_is() {
    for n in 2..=6u32 {
        let mut all = hardest(n);
        let bound = f64::from(n) * (2f64.powf(1.0 / f64::from(n)) - 1.0);
        assert!((utilization(&all) - bound).abs() < 1e-4, "{n}");
        let late = |all: &[Work]| {
            let run = periodic::<Policies>(&under("none"), 1, all, 2_000);
            (0..all.len()).any(|task| lateness(&run, task, all[task]).is_some())
        };
        assert!(!late(&all), "{n} tasks at the bound are late");
        all[0].run += 1;
        assert!(late(&all), "{n} tasks with 1 us more than the bound are in time");
    }
}

#[test]
fn the_bound_grants_what_is_below_it_and_refuses_what_is_above() {
    for n in 2..=6u32 {
        for (scale, last) in [(0.999, true), (1.002, false)] {
            let mut all = hardest(n);
            all.iter_mut().for_each(|work| work.run = (work.run as f64 * scale) as u64);
            let run = periodic::<Policies>(&under("utilization"), 1, &all, 100);
            let judged: Vec<_> = (0..all.len()).map(|task| granted(&run, task)).collect();
            let expected: Vec<_> = (1..=n).map(|place| place < n || last).collect();
            assert_eq!(judged, expected, "{n} tasks at {scale} of the bound");
        }
    }
}

#[test]
fn two_fifths_and_four_sevenths_are_late_here_and_not_under_edf() {
    let all = [Work::plain(2_000, 5_000), Work::plain(4_000, 7_000)];
    let late = |scheduler: &str| {
        let run = periodic::<Policies>(scheduler, 1, &all, 3_500);
        [lateness(&run, 0, all[0]), lateness(&run, 1, all[1])]
    };
    // 5 ms of the first 7 are left to the first after its two jobs: 3 for the second, whose fourth comes at 8 ms.
    assert_eq!(late(&under("none")), [None, Some(1_000_000)]);
    assert_eq!(late("name = \"edf\""), [None, None]);
    for admission in ["utilization", "response_time"] {
        let run = periodic::<Policies>(&under(admission), 1, &all, 100);
        assert_eq!((granted(&run, 0), granted(&run, 1)), (true, false));
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn whatever_was_granted_is_kept(
        all in any_work(), processors in 1..4u16,
        admission in prop::sample::select(vec!["utilization", "response_time"]),
    ) {
        let run = periodic::<Policies>(&under(admission), processors, &all, 500);
        for task in (0..all.len()).filter(|&task| granted(&run, task)) {
            let late = lateness(&run, task, all[task]);
            prop_assert!(late.is_none(), "{task} of {all:?} is {late:?} ns late");
        }
    }

    /// All begin together, which is the worst case: the exact test refuses one exactly if a task would be late.
    #[test]
    fn the_exact_test_refuses_only_what_makes_a_task_late(all in any_work()) {
        let all: Vec<_> = all.into_iter().map(|work| Work { start: 0, ..work }).collect();
        let judged = periodic::<Policies>(&under("response_time"), 1, &all, 1);
        let accepted: Vec<_> = (0..all.len()).filter(|&task| granted(&judged, task)).map(|task| all[task]).collect();
        for refused in (0..all.len()).filter(|&task| !granted(&judged, task)) {
            // With those granted before it.
            let before = (0..refused).filter(|&task| granted(&judged, task)).map(|task| all[task]);
            let together: Vec<_> = before.chain([all[refused]]).collect();
            let run = periodic::<Policies>(&under("none"), 1, &together, 200);
            let late = (0..together.len()).any(|task| {
                let done = run.of(schedlab_model::event::Kind::Period).any(|event| event.task == task as u32);
                !done || lateness(&run, task, together[task]).is_some()
            });
            prop_assert!(late, "{:?} with {accepted:?} would have been in time", all[refused]);
        }
    }
}
