//! Lottery scheduling: slices are won with the probability of their tickets, and a task that ends a slice early loses nothing.

use schedlab_policies::schedulers::Lottery;
use schedlab_testing::schedulers::{Run, run, scenario};

schedlab_testing::test_scheduler!(Lottery);

/// Standard deviations on either side that hold 99.9 % of a normal distribution.
const ONE: f64 = 3.29;
/// And those that hold all of sixteen such values with 99.9 %.
const SIXTEEN: f64 = 4.0;

#[track_caller]
fn lottery(rest: &str, seed: u64) -> Run {
    run::<Lottery>(
        &scenario(&format!("machine = \"uniform\"\nscheduler = {{ name = \"lottery\", slice = \"10ms\" }}\n{rest}")),
        seed,
    )
}

/// Three hundred thousand draws a seed.
#[test]
fn turns_are_won_as_a_binomial_distribution_has_it() {
    let draws = 300_000.0;
    let tickets = [("a", 1024.0), ("b", 655.0), ("c", 336.0), ("d", 3125.0)];
    let total: f64 = tickets.iter().map(|(_, tickets)| tickets).sum();
    let hog = "load = \"spin\", passes = \"forever\"";
    for seed in 1..=4 {
        let run = lottery(
            &format!(
                "duration = \"3000s\"\nworkload.a = {{ {hog} }}\nworkload.b = {{ {hog}, nice = 2 }}\n\
                 workload.c = {{ {hog}, nice = 5 }}\nworkload.d = {{ {hog}, nice = -5 }}\n"
            ),
            seed,
        );
        for (name, tickets) in tickets {
            let (won, chance) = (run.get(&format!("tasks.{name}.true_user")) / 0.010, tickets / total);
            let deviation = (draws * chance * (1.0 - chance)).sqrt();
            let off = (won - draws * chance) / deviation;
            assert!(off.abs() <= SIXTEEN, "{name} won {won} of {draws} turns, {off} deviations off, seed {seed}");
        }
    }
}

#[test]
fn a_task_that_uses_a_fifth_of_a_slice_wins_five_times_as_often() {
    for rest in ["\"yield\"", "{ sleep = \"1us\" }"] {
        let run = lottery(
            &format!(
                "duration = \"100s\"\nworkload.hog = {{ load = \"spin\", passes = \"forever\" }}\n\
                 workload.polite = {{ passes = \"forever\", steps = [{{ compute = \"2ms\" }}, {rest}] }}\n"
            ),
            1,
        );
        let share = run.get("tasks.polite.share");
        match rest {
            // Draws: one of 2 ms with chance 5/6, one of 10 ms with 1/6; 30 000 of them. The deviation of the share is
            // sqrt(5/36 / 30000) * 2 * 10 / (10/3)^2 = 0.39 %.
            "\"yield\"" => assert!((share - 50.0).abs() <= ONE * 0.39, "{share} %"),
            // It is not there when the next ticket is drawn, so it can win every other turn only: 2 ms, then the hog's 10.
            _ => assert!((12.0..2.0 / 12.0 * 100.0).contains(&share), "{share} %"),
        }
    }
}

/// The draw during a sleep is lost, and its winner has a whole slice: that no compensation makes good.
#[test]
fn a_task_that_sleeps_a_moment_after_most_of_each_slice_has_a_third_against_one_hog() {
    // (Run of the sleeper in ms of a slice of 10, hogs). Cycles of one turn of the sleeper, 1 lost draw and on average
    // m f further ones of m hogs; the number of these has variance m f (1 + m f).
    for (run_ms, hogs) in [(9.8f64, 1.0f64), (9.8, 3.0), (5.0, 1.0), (2.0, 2.0)] {
        let run = lottery(
            &format!(
                "duration = \"1000s\"\nworkload.hog = {{ load = \"spin\", passes = \"forever\", count = {hogs} }}\n\
                 workload.sleeper = {{ passes = \"forever\", steps = [{{ compute = \"{run_ms}ms\" }}, {{ sleep = \"0.1ms\" }}] }}\n"
            ),
            1,
        );
        let f = run_ms / 10.0;
        let cycle = f + 1.0 + hogs * f;
        let cycles = 1000.0 / (0.010 * cycle);
        let deviation = 100.0 * f / (cycle * cycle) * (hogs * f * (1.0 + hogs * f) / cycles).sqrt();
        let (share, expected) = (run.get("tasks.sleeper.share"), 100.0 * f / cycle);
        assert!((share - expected).abs() <= ONE * deviation, "{share} % for {expected} at {run_ms} ms, {hogs} hogs");
    }
}

#[test]
fn on_two_processors_the_task_whose_slice_ends_is_drawn_against_the_one_that_waits() {
    // Tickets 1.95 : 1 : 1. The slices of the two processors end 5 ms apart, so each draw is among two tasks.
    let hog = "load = \"spin\", passes = \"forever\"";
    let run = run::<Lottery>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", processors = 2 }}\nscheduler = {{ name = \"lottery\", slice = \"10ms\" }}\n\
             duration = \"2000s\"\nworkload.a = {{ {hog}, nice = -3 }}\nworkload.b = {{ {hog}, start = \"5ms\" }}\n\
             workload.c = {{ {hog}, start = \"6ms\" }}"
        )),
        1,
    );
    // Of all slots: p = w (1 - p), w the chance of a against one other. With 2 : 1 : 1 that is 0.4 of two processors, 80 %.
    let chance = 2000.0 / (2000.0 + 1024.0);
    let first = 200.0 * chance / (1.0 + chance);
    let shares = ["a", "b", "c"].map(|job| 2.0 * run.get(&format!("tasks.{job}.share")));
    for (share, expected) in shares.iter().zip([first, 100.0 - first / 2.0, 100.0 - first / 2.0]) {
        assert!((share - expected).abs() < 0.5, "{shares:?}, expected {expected}");
    }
}

#[test]
fn a_processor_draws_among_the_tasks_that_it_may_run() {
    let hog = "load = \"spin\", passes = \"forever\"";
    let run = run::<Lottery>(
        &scenario(&format!(
            "machine = {{ preset = \"uniform\", processors = 2 }}\nscheduler = {{ name = \"lottery\", slice = \"10ms\" }}\n\
             duration = \"1000s\"\nworkload.a = {{ {hog}, nice = -3, cpus = [0] }}\nworkload.b = {{ {hog}, cpus = [0] }}\n\
             workload.c = {{ {hog}, nice = -20, count = 2, cpus = [1] }}"
        )),
        1,
    );
    let shares = ["a", "b"].map(|job| 2.0 * run.get(&format!("tasks.{job}.share")));
    for (share, expected) in shares.iter().zip([200_000.0 / 3024.0, 102_400.0 / 3024.0]) {
        assert!((share - expected).abs() < 1.0, "{shares:?}, expected {expected}");
    }
}
