//! How eevdf and cfs place and balance tasks over several processors: what the rules of Linux come to, and what kernels 6.1 and 6.17
//! on two processors gave for the same loads. Shares are of one processor.

use schedlab_model::{MILLISECOND, Nanos, SECOND, event::Kind, task::TaskId};
use schedlab_policies::schedulers::{Cfs, Eevdf};
use schedlab_testing::schedulers::{
    Run,
    figures::{Table, hog, measure, s10, share, used},
    run, scenario,
};

type Both = (Eevdf, Cfs);
const BOTH: [&str; 2] = ["name = \"eevdf\"", "name = \"cfs\""];
const SEEDS: std::ops::Range<u64> = 1..4;

fn moves(run: &Run) -> f64 {
    run.of(Kind::Migrated).count() as f64
}

/// When a task ended.
fn end(run: &Run, task: TaskId) -> f64 {
    let last = run.of(Kind::SwitchOut).filter(|event| event.task == task).map(|event| event.time).max();
    last.expect("it ran") as f64 / SECOND as f64
}

/// The shares of equal hogs, means of the runs of three seeds, and the moves a second.
fn equal_shares(scheduler: &str, processors: u16, hogs: u32, seconds: u64) -> (Vec<f64>, f64) {
    let runs: Vec<Run> = SEEDS
        .map(|seed| measure::<Both>(processors, scheduler, seconds, &hog("a", &format!("count = {hogs}")), seed))
        .collect();
    let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
    let shares = (0..hogs).map(|task| mean(&|run| share(run, task))).collect();
    (shares, mean(&|run| moves(run) / seconds as f64))
}

/// Measured were 65 to 70 % and 8.1 to 8.4 moves a second, within 0.9.
#[test]
fn three_on_two_rotate_so_that_each_has_two_thirds() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let (shares, moves) = equal_shares(scheduler, 2, 3, 15);
        shares.iter().for_each(|share| table.row(scheduler, 66.7, 2.8, *share));
        table.row(&format!("{scheduler}: moves"), 8.25, 0.9, moves);
    }
    table.check();
}

/// Measured were 39 to 41 % and 13 to 14 moves a second, within 4.
#[test]
fn five_on_two_rotate_so_that_each_has_two_fifths() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let (shares, moves) = equal_shares(scheduler, 2, 5, 15);
        shares.iter().for_each(|share| table.row(scheduler, 40.0, 1.0, *share));
        table.row(&format!("{scheduler}: moves"), 13.6, 4.0, moves);
    }
    table.check();
}

/// Worked through apart from the simulator, with load averages in whole numbers as the kernel computes them: 26.8 to 28.1 % in six runs of 60 s,
/// and 11.4 to 11.8 moves a second. By weight it would be 28.
#[test]
fn a_nicer_hog_next_to_two_others_gets_what_moves_and_weights_leave_it() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let jobs = hog("a", "count = 2") + &hog("n", "nice = 5");
        let runs: Vec<Run> = SEEDS.map(|seed| measure::<Both>(2, scheduler, 60, &jobs, seed)).collect();
        let mean = |of: &dyn Fn(&Run) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        table.row(scheduler, 27.4, 1.5, mean(&|run| share(run, 2)));
        table.row(&format!("{scheduler}: moves"), 11.6, 1.2, mean(&|run| moves(run) / 60.0));
    }
    table.check();
}

/// Each processor asks first the next one in its own ring, so that both of two overloaded ones are drained.
#[test]
fn on_four_processors_equal_hogs_have_equal_shares_over_ten_minutes() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for (hogs, low, high) in [(5, 79.7, 80.4), (6, 66.2, 67.2)] {
            let (shares, _) = equal_shares(scheduler, 4, hogs, 600);
            let name = format!("{scheduler}, {hogs}");
            shares.iter().for_each(|share| table.row(&name, f64::midpoint(low, high), (high - low) / 2.0, *share));
        }
    }
    table.check();
}

#[test]
fn equal_groups_of_one_and_two_keep_a_processor_each() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let jobs =
                hog("a", "group = \"g\"") + &hog("b", "group = \"k\", count = 2") + "groups = { g = {}, k = {} }\n";
            let run = measure::<Both>(2, scheduler, 60, &jobs, seed);
            table.row(&format!("{scheduler}: alone"), 100.0, 2.0, share(&run, 0));
            (1..3).for_each(|task| table.row(&format!("{scheduler}: one of two"), 50.0, 1.6, share(&run, task)));
            table.row(&format!("{scheduler}: moves"), 4.0, 4.0, moves(&run));
        }
    }
    table.check();
}

#[test]
fn equal_groups_of_one_and_six_keep_a_processor_each() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let jobs =
                hog("a", "group = \"g\"") + &hog("b", "group = \"k\", count = 6") + "groups = { g = {}, k = {} }\n";
            let run = measure::<Both>(2, scheduler, 60, &jobs, seed);
            table.row(&format!("{scheduler}: alone"), 100.0, 1.5, share(&run, 0));
            let six: f64 = (1..7).map(|task| share(&run, task)).sum();
            table.row(&format!("{scheduler}: six"), 100.0, 1.5, six);
            table.row(&format!("{scheduler}: moves"), 11.0, 11.0, moves(&run));
        }
    }
    table.check();
}

#[test]
fn a_group_of_twice_the_weight_and_number_gets_its_two_thirds() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let jobs = hog("a", "group = \"g\"")
                + &hog("b", "group = \"k\", count = 2")
                + "groups = { g = { weight = 1024 }, k = { weight = 2048 } }\n";
            let run = measure::<Both>(2, scheduler, 30, &jobs, seed);
            let name = format!("{scheduler}, {:.1} moves/s", moves(&run) / 30.0);
            (0..3).for_each(|task| table.row(&name, 66.7, 4.0, share(&run, task)));
        }
    }
    table.check();
}

#[test]
fn free_hogs_leave_the_processor_of_pinned_ones() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let run =
                measure::<Both>(2, scheduler, 10, &(hog("a", "count = 3, cpus = [0]") + &hog("b", "count = 2")), seed);
            let sum = |tasks: std::ops::Range<u32>| tasks.map(|task| share(&run, task)).sum::<f64>();
            table.row(&format!("{scheduler}: pinned"), 99.5, 1.0, sum(0..3));
            table.row(&format!("{scheduler}: free"), 100.2, 1.4, sum(3..5));
            table.row(&format!("{scheduler}: moves"), 3.0, 3.0, moves(&run));
        }
    }
    table.check();
}

#[test]
fn a_processor_looks_further_where_the_busiest_one_has_only_pinned_tasks() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for (hz, seed) in [(1000, 1), (1000, 2), (250, 1), (250, 2)] {
            let jobs = format!(
                "machine = {{ preset = \"uniform\", processors = 3, clock = {{ hz = \"{hz}/s\" }} }}\nscheduler = {{ {scheduler} }}\n{}{}{}{}",
                hog("a", "cpus = [0], count = 4"),
                "workload.b = { load = \"spin\", compute = \"10s\", cpus = [1], start = \"0.1s\" }\n",
                "workload.c = { load = \"spin\", compute = \"10s\", cpus = [1, 2], start = \"0.1s\" }\n",
                "workload.d = { load = \"spin\", compute = \"250ms\", cpus = [2], count = 4 }\n",
            );
            let run = run::<Both>(&scenario(&jobs), seed);
            table.row(&format!("{scheduler}, {hz} Hz"), 10.5, 0.1, end(&run, 5) - 0.1);
        }
    }
    table.check();
}

#[test]
fn idle_hogs_leave_a_processor_to_each_ordinary_one() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let run = measure::<Both>(
                2,
                scheduler,
                6,
                &(hog("a", "count = 2, policy = \"idle\"") + &hog("b", "count = 2")),
                seed,
            );
            table.row(scheduler, 198.6, 1.4, share(&run, 2) + share(&run, 3));
            table.row(&format!("{scheduler}: moves"), 3.0, 3.0, moves(&run));
        }
    }
    table.check();
}

#[test]
fn a_task_that_wakes_takes_a_processor_with_any_number_of_idle_hogs() {
    for scheduler in BOTH {
        let jobs =
            hog("a", "cpus = [0], policy = \"idle\", count = 3") + &hog("b", "cpus = [1], count = 2") + &s10("c", "");
        let run = measure::<Both>(2, scheduler, 5, &jobs, 1);
        let there = run.of(Kind::SwitchIn).filter(|event| event.task == 5 && event.cpu == 0).count();
        assert!(there > 400, "{scheduler}: {there}");
    }
}

#[test]
fn two_hogs_of_a_group_share_its_quota() {
    let mut table = Table::default();
    for scheduler in BOTH {
        let jobs = hog("a", "group = \"g\", count = 2") + "groups.g = { quota = \"50ms\", period = \"100ms\" }\n";
        let run = measure::<Both>(2, scheduler, 6, &jobs, 1);
        table.row(scheduler, 51.0, 1.0, share(&run, 0) + share(&run, 1));
        table.row(&format!("{scheduler}: moves"), 1.0, 1.0, moves(&run));
    }
    table.check();
}

#[test]
fn long_jobs_end_alone_on_a_processor_each() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for seed in SEEDS {
            let jobs: String = [1, 5, 1, 5]
                .into_iter()
                .enumerate()
                .map(|(n, length)| format!("workload.j{n} = {{ load = \"spin\", compute = \"{length}s\" }}\n"))
                .collect();
            let run = measure::<Both>(2, scheduler, 60, &jobs, seed);
            let last = [1, 3].map(|task| end(&run, task)).into_iter().fold(0.0, f64::max);
            table.row(scheduler, 6.05, 0.05, last);
        }
    }
    table.check();
}

#[test]
fn forked_children_begin_on_processors_of_their_own() {
    for scheduler in BOTH {
        let jobs = "workload.a = { load = \"spin\", compute = \"1s\", count = 4 }\n";
        let run = measure::<Both>(4, scheduler, 10, jobs, 1);
        let last = (0..4).map(|task| end(&run, task)).fold(0.0, f64::max);
        assert!(last < 1.01, "{scheduler}: {last} s");
        assert!((0..4).all(|task| used(&run, task) == SECOND), "{scheduler}");
        let placed: Vec<_> = (0..4)
            .map(|task| run.of(Kind::SwitchIn).find(|event| event.task == task).map(|event| (event.cpu, event.time)))
            .collect();
        assert!(
            placed.iter().all(|first| first.is_some_and(|(_, time)| time < MILLISECOND)),
            "{scheduler}: {placed:?}"
        );
    }
}

#[test]
fn the_best_real_time_tasks_have_a_processor_each() {
    let mut table = Table::default();
    for scheduler in BOTH {
        for order in [[1, 2, 3], [3, 2, 1], [2, 1, 3], [1, 3, 2]] {
            let job = |n: usize| hog(&format!("j{n}"), &format!("policy = \"fifo\", priority = {}", order[n]));
            let unlimited = format!("{scheduler}, rt_throttling = \"off\"");
            let run = measure::<Both>(2, &unlimited, 6, &(job(0) + &job(1) + &job(2)), 1);
            for (task, priority) in order.into_iter().enumerate() {
                let expected = if priority == 1 { 0.0 } else { 100.0 };
                table.row(&format!("{scheduler}, {order:?}: {priority}"), expected, 0.2, share(&run, task as TaskId));
            }
        }
    }
    table.check();
}

/// An idle processor has met bound tasks only, so that it looks more and more rarely. What it finds then moves at once.
#[test]
fn half_of_the_tasks_that_become_free_move_at_once() {
    for scheduler in BOTH {
        let jobs = hog("a", "count = 2, cpus = [0]")
            + "workload.b = { steps = [{ sleep = \"2s\" }, { set = { cpus = [0, 1] } }, \"yield\", { compute = \"100s\" }], \
               count = 64, cpus = [0] }\n";
        let run = measure::<Both>(2, scheduler, 4, &jobs, 1);
        let times: Vec<Nanos> = run.of(Kind::Migrated).map(|event| event.time).collect();
        let together = times.iter().filter(|time| **time == times[0]).count();
        assert!((23..=32).contains(&together), "{scheduler}: {together} of {}", times.len());
        assert!(times[0] < 2 * SECOND + 250 * MILLISECOND, "{scheduler}: {} ns", times[0]);
    }
}

#[test]
fn a_sleeper_stays_on_the_processor_that_is_idle_when_it_wakes() {
    for scheduler in BOTH {
        let run = measure::<Both>(2, scheduler, 10, &(hog("a", "") + &s10("b", "")), 1);
        assert!(share(&run, 0) > 99.9 && moves(&run) <= 1.0, "{scheduler}: {} moves", moves(&run));
    }
}

#[test]
fn a_receiver_wakes_on_its_own_idle_processor_rather_than_on_that_of_the_busy_sender() {
    for scheduler in BOTH {
        let jobs = r#"
            workload.a = { passes = "forever", steps = [{ send = "x" }, { compute = "5ms" }] }
            workload.b = { passes = "forever", steps = [{ receive = "x" }, { compute = "0.2ms" }] }
        "#;
        let run = measure::<Both>(2, scheduler, 5, jobs, 1);
        assert!(share(&run, 0) > 99.9 && moves(&run) == 0.0, "{scheduler}: {} moves", moves(&run));
    }
}
