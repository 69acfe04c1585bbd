//! cfs against what a prototype of the rules of Linux 6.1 gave for the same loads: shares, run lengths, latencies.

use schedlab_model::event::{Kind, Leave};
use schedlab_policies::schedulers::Cfs;
use schedlab_testing::schedulers::figures::{
    Table, hog, latencies, mean, measure, quantile, run_lengths, s10, share, sleeper,
};

schedlab_testing::test_scheduler!(Cfs);

/// One processor with the parameters of two, and with those of one.
const TWO: &str = "name = \"cfs\", latency = \"12ms\", min_granularity = \"1.5ms\", wakeup_granularity = \"2ms\"";
const ONE: &str = "name = \"cfs\"";

#[test]
fn two_hogs_share_by_the_weights_of_their_nice_levels() {
    let mut table = Table::default();
    let rows = [(0, 50.0), (1, 55.5), (5, 75.35), (10, 90.3), (19, 98.56), (-5, 24.7), (-10, 9.7), (-20, 1.14)];
    for (nice, expected) in rows {
        let run = measure::<Cfs>(1, TWO, 20, &[hog("a", ""), hog("b", &format!("nice = {nice}"))].concat(), 1);
        table.row(&format!("nice {nice}"), expected, 0.3, share(&run, 0));
    }
    table.check();
}

#[test]
fn an_idle_hog_gets_3_of_1027_and_a_batch_hog_its_half() {
    let mut table = Table::default();
    for (policy, seconds, expected, tolerance) in [("idle", 60, 0.29, 0.03), ("batch", 20, 50.0, 0.3)] {
        let run =
            measure::<Cfs>(1, TWO, seconds, &[hog("a", ""), hog("b", &format!("policy = \"{policy}\""))].concat(), 1);
        table.row(policy, expected, tolerance, share(&run, 1));
    }
    table.check();
}

#[test]
fn a_turn_is_over_at_the_tick_after_it() {
    let mut table = Table::default();
    for (scheduler, count, expected) in [(TWO, 2, 8.0), (TWO, 3, 8.0), (TWO, 4, 4.0), (TWO, 8, 4.0), (ONE, 2, 4.0)] {
        let run = measure::<Cfs>(1, scheduler, 5, &hog("a", &format!("count = {count}")), 1);
        for task in 0..count {
            // The first turns are those of new tasks, which are placed one turn apart.
            for length in &run_lengths(&run, task)[3..] {
                table.row(&format!("{scheduler}: {count} hogs, a turn of {task}"), expected, 1e-3, *length);
            }
        }
    }
    table.check();
}

#[test]
fn what_is_left_out_grows_with_the_processors_and_what_is_given_does_not() {
    let mut table = Table::default();
    for (scheduler, processors, expected) in
        [(ONE, 1, 4.0), (ONE, 2, 8.0), (ONE, 4, 12.0), (TWO, 2, 8.0), (TWO, 8, 8.0)]
    {
        let run = measure::<Cfs>(processors, scheduler, 5, &hog("a", "count = 2, cpus = [0]"), 1);
        for length in &run_lengths(&run, 1)[3..] {
            table.row(&format!("{scheduler} on {processors} processors"), expected, 1e-3, *length);
        }
    }
    table.check();
}

#[test]
fn a_sleeper_of_a_tenth_does_not_wait_with_any_number_of_hogs() {
    let mut table = Table::default();
    for count in [1, 2, 4, 8] {
        let run = measure::<Cfs>(1, TWO, 60, &(hog("a", &format!("count = {count}")) + &s10("b", "")), 1);
        let all = latencies(&run, count);
        table.row(&format!("{count} hogs: mean"), 0.0, 0.1, mean(&all));
        table.row(&format!("{count} hogs: p99"), 0.0, 0.1, quantile(&all, 0.99));
    }
    table.check();
}

#[test]
fn a_sleeper_of_six_tenths_gets_half_or_nearly() {
    let mut table = Table::default();
    for (scheduler, expected) in [(TWO, 50.0), (ONE, 46.0)] {
        let runs: Vec<_> = (1..5)
            .map(|seed| measure::<Cfs>(1, scheduler, 60, &(hog("a", "") + &sleeper("b", 6000, 10_000, 1000, "")), seed))
            .collect();
        table.row(scheduler, expected, 0.5, mean(&runs.iter().map(|run| share(run, 1)).collect::<Vec<_>>()));
        if scheduler == TWO {
            table.latency(scheduler, 2.0, mean(&runs.iter().map(|run| mean(&latencies(run, 1))).collect::<Vec<_>>()));
        }
    }
    table.check();
}

/// A burst of 10 ms after a long sleep: half a period of 12 ms is over before it, a whole one is not.
#[test]
fn a_sleeper_is_ahead_by_half_a_period_or_a_whole_one_if_sleepers_are_not_gentle() {
    let preempted = |gentle: bool| {
        let scheduler = format!("{TWO}, gentle_sleepers = {gentle}");
        let burst = sleeper("b", 10_000, 200_000, 10_000, "");
        let run = measure::<Cfs>(1, &scheduler, 20, &(hog("a", "") + &burst), 1);
        run.of(Kind::SwitchOut).filter(|e| e.task == 1 && e.flag == Leave::Preempted as u8).count()
    };
    assert_eq!(preempted(false), 0);
    assert!(preempted(true) > 80, "{}", preempted(true));
}

#[test]
fn a_batch_task_does_not_preempt_and_no_task_waits_for_an_idle_one() {
    let mut table = Table::default();
    let run = measure::<Cfs>(1, TWO, 60, &(hog("a", "") + &s10("b", "policy = \"batch\"")), 1);
    assert!(mean(&latencies(&run, 1)) > 1.0, "{}", mean(&latencies(&run, 1)));
    let run = measure::<Cfs>(1, TWO, 60, &(hog("a", "policy = \"idle\"") + &s10("b", "nice = 19")), 1);
    table.row("beside an idle hog", 0.0, 1e-6, quantile(&latencies(&run, 1), 1.0));
    table.check();
}

/// A task that yields is passed over once, if the next one is not far ahead of it.
#[test]
fn a_task_that_yields_lets_the_next_one_run_first() {
    let polite = |name| {
        format!("workload.{name} = {{ passes = \"forever\", steps = [{{ compute = \"0.1ms\" }}, \"yield\"] }}\n")
    };
    let run = measure::<Cfs>(1, TWO, 1, &(polite("a") + &polite("b")), 1);
    let order = run.order();
    let turns = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(turns * 10 > order.len() * 9 && order.len() > 9000, "{turns} changes of {}", order.len());
}

/// A hog of weight 1024 and one of a group of weight 512 with 25 of each 100 ms: turns of up to 8 and 4 ms of 12. What the group is ahead
/// of the hog, in ms of the hog's time: -6 at the period's start; after 4 ms +2, at most 4; after 8 ms its turn is over, 10. The hog takes
/// 12. After 4 ms of the group's 18 - 12 > 4. The hog takes 12, to 24. After 4 ms 26 - 24 < 4, after 8 ms 34. So turns of 8 and 4 ms alternate, as
/// long as what the hog has had is known when the period starts, which coincides with a tick. (check_preempt_tick, unthrottle_cfs_rq of 6.1)
#[test]
fn a_group_begins_its_period_behind_what_its_rival_has_had_up_to_then() {
    let load = hog("a", "") + &hog("b", "group = \"limited\"");
    let group = "groups.limited = { weight = 512, quota = \"25ms\", period = \"100ms\" }\n";
    let run = measure::<Cfs>(1, TWO, 4, &(load + group), 1);
    let lengths: Vec<f64> = run_lengths(&run, 1).iter().map(|length| length.round()).collect();
    // The first period begins with new tasks.
    let later = &lengths[10..];
    let long = |pair: &&[f64]| pair[0] == 8.0 && pair[1] == 8.0;
    assert!(later.contains(&8.0) && later.contains(&4.0), "{later:?}");
    assert_eq!(later.windows(2).filter(long).count(), 0, "{later:?}");
}
